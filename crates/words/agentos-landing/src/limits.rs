//! Limits on an answer and its files. An answer above any of them is refused as `too-large`.
//!
//! Owns: the numbers. Never: measures anything; the modules that read and write do.

/// Maximum size of the whole answer in bytes.
pub(crate) const ANSWER_BYTES: usize = 16 << 20;

/// Maximum size of one line of the answer in bytes.
pub(crate) const LINE_BYTES: usize = 1 << 20;

/// Maximum number of lines of an answer.
pub(crate) const LINES: usize = 2_000_000;

/// Maximum number of files that the answer touches.
pub(crate) const FILES: usize = 5_000;

/// Maximum number of hunks or edits in the whole answer.
pub(crate) const HUNKS: usize = 50_000;

/// Maximum size of one file in bytes, before and after the change.
pub(crate) const FILE_BYTES: usize = 64 << 20;

/// Maximum size in bytes of the contents that binary patches change, old and new and all files together. The canonical
/// diff holds all of them, and the diff that undoes it is an answer, too.
pub(crate) const BINARY_BYTES: usize = 8 << 20;
