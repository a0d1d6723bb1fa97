//! The best files that fit.
//!
//! Owns: where to stop. Never: cuts a file: a tool that sees half of one writes edits that do not land.

use crate::rank::{Ranked, Why};

/// What may be sent at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Bytes of text.
    pub bytes: u64,
    /// Files.
    pub files: usize,
}

/// What was picked, and what was named and does not fit.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Picked {
    /// The files, best first.
    pub files: Vec<Ranked>,
    /// Bytes of them.
    pub bytes: u64,
    /// Named in the task, and too large for what is left of the budget.
    pub too_large: Vec<String>,
}

/// A file that scores less than this part of the best one is another matter.
const WORTH: f64 = 0.3;

/// Takes the best files that fit; `size` is the length of a file in bytes, none when it cannot be sent.
pub fn pick(ranked: Vec<Ranked>, budget: Budget, size: impl Fn(&Ranked) -> Option<u64>) -> Picked {
    let best = ranked.iter().map(|file| file.score).fold(0.0, f64::max);
    let mut picked = Picked::default();
    for file in ranked {
        let named = file.why == Why::Named;
        if picked.files.len() >= budget.files || (!named && file.score < best * WORTH) {
            continue;
        }
        let Some(bytes) = size(&file) else { continue };
        if picked.bytes.saturating_add(bytes) <= budget.bytes {
            picked.bytes += bytes;
            picked.files.push(file);
        } else if named {
            picked.too_large.push(file.path);
        }
    }
    picked
}
