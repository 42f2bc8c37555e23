//! Changes of files: which files count, whether they are other than before, and when it is quiet.
//!
//! What lives here: the patterns ([`glob`], [`gitignore`]) and the [`rules`] that are made of
//! them, what was seen of each file ([`contents`]), the wait until a storm is over ([`changes`]),
//! and which file systems keep changes to themselves ([`mounts`]). What does not: looking, which
//! [`crate::os`] does. Imports: layer 0.

pub mod changes;
pub mod contents;
pub mod gitignore;
pub mod glob;
pub mod mounts;
pub mod rules;
pub mod sources;
