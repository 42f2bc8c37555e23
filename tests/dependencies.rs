//! What is linked into the bridge: few packages, no async runtime, licences that allow it.

use std::collections::BTreeMap;
use std::process::Command;

/// Packages that would bring a second event loop, or C.
const UNWANTED: [&str; 13] = [
    "async-io",
    "async-std",
    "cc",
    "futures",
    "hyper",
    "native-tls",
    "openssl-sys",
    "polling",
    "ring",
    "smol",
    "tokio",
    "zstd-sys",
    "libz-sys",
];

/// All that a binary under MIT or Apache-2.0 may be made of.
const LICENCES: [&str; 10] = [
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "MIT",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// All packages, ours and derive macros included, may be this many; some thirty of them are the
/// parts that an elliptic curve is cut into.
const PACKAGES_MAX: usize = 70;

/// The packages that the library or the binary needs, with their licences.
fn tree(options: &[&str]) -> BTreeMap<String, String> {
    let output = Command::new(env!("CARGO"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(["tree", "--locked", "--edges", "normal,build", "--prefix", "none", "--format", "{p}|{l}"])
        .args(options)
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = String::from_utf8(output.stdout).expect("cargo writes UTF-8");
    let package = |line: &str| {
        let (package, licence) = line.split_once('|')?;
        let licence = licence.trim_end_matches(" (*)");
        Some((package.split(' ').next()?.to_string(), licence.to_string()))
    };
    lines.lines().filter_map(package).collect()
}

/// An SPDX expression: AND binds tighter than OR; old manifests write a slash for OR.
fn is_allowed(licence: &str) -> bool {
    let licence = licence.trim();
    let alternatives = parts(licence, &[" OR ", "/"]);
    if alternatives.len() > 1 {
        return alternatives.into_iter().any(is_allowed);
    }
    let together = parts(licence, &[" AND "]);
    if together.len() > 1 {
        return together.into_iter().all(is_allowed);
    }
    match licence.strip_prefix('(').and_then(|inside| inside.strip_suffix(')')) {
        Some(inside) => is_allowed(inside),
        None => LICENCES.contains(&licence),
    }
}

/// An expression cut at the separators that stand outside of its parentheses.
fn parts<'a>(expression: &'a str, separators: &[&str]) -> Vec<&'a str> {
    let mut parts = Vec::new();
    let mut start = 0;
    let mut depth = 0;
    for (at, character) in expression.char_indices() {
        match character {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        let separator = separators.iter().find(|separator| expression[at..].starts_with(*separator));
        if let Some(separator) = separator.filter(|_| depth == 0 && at >= start) {
            parts.push(&expression[start..at]);
            start = at + separator.len();
        }
    }
    parts.push(&expression[start..]);
    parts
}

#[test]
fn few_packages_without_an_async_runtime() {
    for options in [&[] as &[&str], &["--target", "x86_64-unknown-linux-musl"]] {
        let tree = tree(options);
        assert!(tree.contains_key("prost") && tree.contains_key("mio"), "{tree:?}");
        for unwanted in UNWANTED {
            assert!(!tree.contains_key(unwanted), "{unwanted} is in the tree");
        }
        assert!(tree.len() <= PACKAGES_MAX, "{} packages: {tree:?}", tree.len());
    }
}

#[test]
fn the_sdk_alone_needs_prost_and_serde_json() {
    let output = Command::new(env!("CARGO"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(["tree", "--locked", "--edges", "normal", "--prefix", "none", "--depth", "1"])
        .args(["--no-default-features", "--format", "{p}"])
        .output()
        .expect("cargo runs");
    let text = String::from_utf8(output.stdout).expect("cargo writes UTF-8");
    let direct: Vec<&str> = text.lines().skip(1).filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(direct, ["prost", "serde_json"]);
}

#[test]
fn every_licence_is_allowed() {
    for (package, licence) in tree(&["--target", "x86_64-unknown-linux-musl"]) {
        assert!(is_allowed(&licence), "{package} is licensed as {licence:?}");
    }
}

#[test]
fn a_licence_is_read_as_it_is_meant() {
    for licence in ["MIT", "MIT OR GPL-3.0", "Unlicense/MIT", "(MIT OR X) AND Zlib", "X OR MIT AND Zlib"] {
        assert!(is_allowed(licence), "{licence}");
    }
    for licence in ["", "GPL-3.0", "MIT AND GPL-3.0", "X OR Y", "(MIT OR X) AND Y"] {
        assert!(!is_allowed(licence), "{licence}");
    }
}
