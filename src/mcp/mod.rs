//! The Model Context Protocol: its methods, fields and revisions, as pure functions.

pub mod lifecycle;
pub mod logging;
pub mod request;
