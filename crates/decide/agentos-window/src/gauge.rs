//! The gauge of a window: its tokens by part.
//!
//! Owns: the numbers for the screen. Never: rounds or words them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::plan::WindowInput;
use crate::size::WindowSize;

/// Tokens of a window by part, estimated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WindowGauge {
    /// Size of the window and its origin.
    pub window: WindowSize,
    /// System prompt.
    pub system: u64,
    /// Pinned texts.
    pub pins: u64,
    /// Tool definitions.
    pub tools: u64,
    /// Summary of earlier messages.
    pub summary: u64,
    /// Messages.
    pub messages: u64,
    /// Reserved for the answer.
    pub reserve: u64,
    /// Free. 0 if the request does not fit.
    pub free: u64,
}

impl WindowGauge {
    /// Measures a request.
    #[must_use]
    pub fn measure(input: &WindowInput<'_>) -> Self {
        Self {
            window: input.window,
            system: input.system,
            pins: input.pins,
            tools: input.tools,
            summary: input.summary,
            messages: input.count_messages(),
            reserve: input.reserve,
            free: input.room().saturating_sub(input.count_prompt()),
        }
    }

    /// Returns the tokens of the prompt, which are all parts without the reserve.
    #[must_use]
    pub fn count_prompt(&self) -> u64 {
        [self.system, self.pins, self.tools, self.summary, self.messages]
            .into_iter()
            .fold(0, u64::saturating_add)
    }

    /// Returns the percentage of the room that the prompt fills. More than 100 if it does not fit.
    #[must_use]
    pub fn filled_percent(&self) -> u64 {
        let room = self.window.tokens.saturating_sub(self.reserve).max(1);
        self.count_prompt().saturating_mul(100) / room
    }
}
