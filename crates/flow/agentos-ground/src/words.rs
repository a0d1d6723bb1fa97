//! Wording that several messages share.
//!
//! Owns: numbers with their nouns. Never: layout.

/// Writes a number and what it counts, as in `1 file` and `2 files`.
#[must_use]
pub fn count_noun(count: u64, noun: &str) -> String {
    if count == 1 {
        format!("1 {noun}")
    } else {
        format!("{count} {noun}s")
    }
}
