//! What `tests/environments.sh` made, and what to do where it is absent.

use std::path::{Path, PathBuf};

/// Whether nothing may be skipped.
pub(crate) fn all_required() -> bool {
    std::env::var("CI").is_ok_and(|value| value == "true") || std::env::var_os("PMCP_REQUIRE_ALL").is_some()
}

/// Says that a test is skipped and why; where nothing may be skipped, fails instead.
#[track_caller]
pub(crate) fn skip(why: &str) {
    assert!(!all_required(), "nothing may be skipped here, but {why}");
    leave_out(why);
}

/// Says that a part of a test is left out, also where nothing may be skipped: what no environment
/// promises, and what the rest of the test stands in for.
pub(crate) fn leave_out(why: &str) {
    // Not through the test harness, which would keep it to itself for a test that passes.
    use std::io::Write;
    let name = std::thread::current().name().unwrap_or("a test").to_string();
    let _ = writeln!(std::io::stderr(), "SKIPPED {name}: {why}");
}

/// A file of an environment, or `None` after [`skip`] has said that it is not there.
#[track_caller]
pub(crate) fn file(relative: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("PMCP_TEST_ENV")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("target/env"), PathBuf::from);
    let file = folder.join(relative);
    if file.exists() {
        return Some(file);
    }
    skip(&format!("{} is absent: tests/environments.sh makes it", file.display()));
    None
}

/// A file of the tests' own folder.
pub(crate) fn source(relative: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(relative)
}
