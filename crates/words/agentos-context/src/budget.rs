//! The tokens of a context window, divided.
//!
//! Owns: how much of a window the instructions, the files and the answer get. Never: asks for the size of a window.

/// Share of the window that an answer without a limit gets, as a divisor.
const ANSWER_SHARE: u64 = 4;
/// Maximum tokens kept for an answer without a limit. Models write little more in one answer.
const MOST_ANSWER: u64 = 16_384;
/// Maximum tokens of files. Even a very large window is not filled: what a task needs is small, and every token costs.
const MOST_CONTEXT: u64 = 48_000;
/// Share of the window kept for what the estimate misses and for a refusal that is shown to the tool, as a divisor.
const RESERVE_SHARE: u64 = 32;
/// Limits of that reserve.
const RESERVE: (u64, u64) = (128, 1024);

/// Division of a context window, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WindowBudget {
    /// Tokens of prompt and answer together.
    pub window: u64,
    /// Tokens of the instructions and the task.
    pub prompt: u64,
    /// Tokens kept for the answer.
    pub answer: u64,
    /// Tokens kept for what the estimate misses.
    pub reserve: u64,
    /// Tokens for files.
    pub context: u64,
}

impl WindowBudget {
    /// Returns the tokens of the window that have no use, because files get no more than a fixed maximum.
    #[must_use]
    pub fn spare_tokens(&self) -> u64 {
        let used = self.prompt + self.answer + self.reserve + self.context;
        self.window.saturating_sub(used)
    }
}

/// Divides a window. `limit` is the maximum length of the answer, if one is set.
#[must_use]
pub fn divide_window(window: u64, prompt: u64, limit: Option<u64>) -> WindowBudget {
    // A limit says how long an answer may become, not how long it will be. Half of the window at most is kept for it, or a
    // generous limit would leave no room for the files.
    let answer = match limit {
        Some(limit) => limit.min(window / 2),
        None => (window / ANSWER_SHARE).min(MOST_ANSWER),
    };
    let reserve = (window / RESERVE_SHARE).clamp(RESERVE.0, RESERVE.1);
    let used = prompt.saturating_add(answer).saturating_add(reserve);
    WindowBudget {
        window,
        prompt,
        answer,
        reserve,
        context: window.saturating_sub(used).min(MOST_CONTEXT),
    }
}
