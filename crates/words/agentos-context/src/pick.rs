//! The best files that fit into a budget.
//!
//! Owns: where to stop. Never: cuts a file: a tool that sees half of a file writes edits that do not land.

use crate::rank::{RankReason, RankedFile};

/// Maximum amount of context that may be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContextBudget {
    /// Maximum number of bytes of text.
    pub bytes: u64,
    /// Maximum number of files.
    pub files: usize,
}

/// Picked files, and files that the task names but that do not fit.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PickedFiles {
    /// Picked files, best first.
    pub files: Vec<RankedFile>,
    /// Total size of the picked files in bytes.
    pub bytes: u64,
    /// Paths that the task names and that are too large for the rest of the budget.
    pub too_large: Vec<String>,
}

/// Minimum share of the best score. A file below it is probably about something else.
const MIN_SHARE: f64 = 0.3;

/// Picks the best files that fit. `size` returns the length of a file in bytes, or `None` if the file cannot be sent.
pub fn pick_files(
    ranked: Vec<RankedFile>,
    budget: ContextBudget,
    size: impl Fn(&RankedFile) -> Option<u64>,
) -> PickedFiles {
    let best = ranked.iter().map(|file| file.score).fold(0.0, f64::max);
    let mut picked = PickedFiles::default();
    for file in ranked {
        // A file that the task names is wanted whatever its words are.
        let named = file.why == RankReason::Named;
        if picked.files.len() >= budget.files || (!named && file.score < best * MIN_SHARE) {
            continue;
        }
        let Some(bytes) = size(&file) else { continue };
        if picked.bytes.saturating_add(bytes) <= budget.bytes {
            picked.bytes += bytes;
            picked.files.push(file);
        // The user must learn that a named file is missing; any other one is just replaced by the next.
        } else if named {
            picked.too_large.push(file.path);
        }
    }
    picked
}
