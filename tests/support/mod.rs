//! What the tests stand on: a folder that is removed, the program under test, a scripted host,
//! and a tool process whose bytes a test writes itself.

pub(crate) mod dir;
pub(crate) mod environment;
pub(crate) mod host;
pub(crate) mod pmcp;
pub(crate) mod process;
pub(crate) mod raw_tool;
pub(crate) mod scripted_tool;
pub(crate) mod served;
pub(crate) mod transcript;
pub(crate) mod web;

use std::time::{Duration, Instant};

/// The longest that a test waits for what must happen. Generous: it bounds a failure, it is never
/// waited out by a test that passes.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// Looks every few milliseconds until `condition` holds, for things that nobody announces: a file,
/// a number in `/proc`, the end of a process that is not our child.
#[track_caller]
pub(crate) fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !condition() {
        assert!(begin.elapsed() < PATIENCE, "waited {PATIENCE:?} in vain: {what}");
        std::thread::sleep(Duration::from_millis(3));
    }
}
