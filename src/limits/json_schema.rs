//! Bounds of what is checked against a JSON Schema.

use super::FLAG_MESSAGE_MAX;

/// Longest text that is checked against a JSON Schema; positions in it take 32 bits.
pub const JSON_SCHEMA_TEXT_MAX: usize = FLAG_MESSAGE_MAX;

/// Deepest nesting of a value that is checked: what a message may bring in.
pub const JSON_SCHEMA_INSTANCE_DEPTH_MAX: usize = 128;

/// How deep schemas may be applied within each other at one place of a value: each level of a
/// recursive schema takes some three of them. A level takes less than a KiB of the stack.
pub const JSON_SCHEMA_DEPTH_MAX: usize = 4 * JSON_SCHEMA_INSTANCE_DEPTH_MAX;

/// Schemas that one schema may consist of; each takes some hundred bytes.
pub const JSON_SCHEMA_SUBSCHEMAS_MAX: usize = 65_536;

/// What one check may do, in steps of some ten nanoseconds: combined schemas can take time that
/// grows exponentially with their size. One step for each byte of the value comes on top.
pub const JSON_SCHEMA_STEPS: usize = 1_000_000;

/// What a regular expression of a schema may take in memory; repetitions of repetitions are
/// written out in it.
pub const JSON_SCHEMA_PATTERN_MAX: usize = 256 * 1024;

/// Faults of one value that are told. Nobody mends more at once.
pub const JSON_SCHEMA_FINDINGS_MAX: usize = 10;

/// Allowed values or names that a fault lists.
pub const JSON_SCHEMA_CHOICES_SHOWN: usize = 12;

/// How often strings are read as what they hold: strings in values in strings.
pub const JSON_SCHEMA_SPELLED_ROUNDS: usize = 3;
