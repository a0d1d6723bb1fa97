//! The share of a context window that an answer gets.
//!
//! Owns: the size of a window as a turn needs it, and what is kept free for an answer. Never: asks a server for its window.

use agentos_api::WindowSource as Stated;
use agentos_engine::context_search::ModelWindow;
use agentos_window::{WindowSize, WindowSource};

/// Largest part of the window that is kept free for an answer without a limit: a quarter.
const ANSWER_SHARE: u64 = 4;
/// Most tokens that are kept free for an answer without a limit.
const LARGEST_RESERVE: u64 = 8_192;

/// Returns the tokens of a window that are kept free for an answer. `most` is the limit on an answer.
pub fn reserve_answer(window: WindowSize, most: Option<u64>) -> u64 {
    most.unwrap_or_else(|| (window.tokens / ANSWER_SHARE).min(LARGEST_RESERVE))
}

/// Returns the size of a window as a turn needs it. An unknown one is assumed to be the smallest.
pub fn measure_window(window: Option<ModelWindow>) -> WindowSize {
    window.map_or_else(WindowSize::assume_smallest, |window| WindowSize {
        tokens: window.tokens,
        source: match window.source {
            Stated::Server => WindowSource::Server,
            Stated::Catalogue => WindowSource::Catalog,
            // Both are files of the user; a turn's record does not tell them apart.
            Stated::Profile | Stated::UserModel => WindowSource::Profile,
            Stated::Assumed => WindowSource::Assumed,
        },
    })
}
