//! Work that would hold the loop up, as values. A worker runs it; tests run it in place.

/// Work for a worker.
#[derive(Debug)]
pub enum Job {}

/// What became of it.
#[derive(Debug)]
pub enum JobDone {}
