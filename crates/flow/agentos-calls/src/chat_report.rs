//! The report of a single message's answer.
//!
//! Owns: its published shape, and why an answer is not a whole one. Never: sends a message.

use agentos_api::{NextStep, RunLimit};
use agentos_engine::Cause;
use agentos_engine::ports::EffectError;
use agentos_model::ChatMessage;
use agentos_tool::{Endpoint, FinishReason, Usage};
use schemars::JsonSchema;
use serde::Serialize;

/// The output of `agentos chat send --json`: a complete answer.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ChatReport {
    /// Version of this shape: 1.
    pub version: u32,
    /// The provider.
    pub provider: String,
    /// Model that answered, as the answer names it. `None` if it names none.
    pub model_id: Option<String>,
    /// Reason why the model stopped. Only with `stop` is the answer certainly complete.
    pub finish: FinishReason,
    /// The text of the answer. Untrusted.
    pub text: String,
    /// The message of the model with all its parts, thinking included. Untrusted.
    pub message: ChatMessage,
    /// Tokens. `None` if the server did not report them.
    pub usage: Option<Usage>,
    /// Cost of the tokens by the profile's price, in millionths of a US dollar. `None` if it is unknown.
    pub cost_micro_usd: Option<u64>,
    /// Address of the server that answered. `None` if it is unknown.
    pub endpoint: Option<Endpoint>,
    /// Milliseconds from the request to the last byte.
    pub latency_ms: u64,
    /// Warnings for a person.
    pub warnings: Vec<String>,
}

impl ChatReport {
    /// Returns why the answer is not a whole one, with the exit status. `None` if it is whole, or the server gave no reason for its
    /// end.
    #[must_use]
    pub fn find_fault(&self) -> Option<EffectError> {
        let fault = |cause, message: &str| EffectError::new(cause, "unfinished-answer", message);
        match self.finish {
            FinishReason::Stop | FinishReason::Unknown => None,
            FinishReason::Length => Some(
                fault(Cause::Limit, "the answer was cut off by the token limit").suggest_steps([
                    NextStep::RaiseLimit {
                        limit: RunLimit::OutputTokens,
                    },
                ]),
            ),
            FinishReason::ContentFilter => {
                let refused = fault(Cause::Tool, "the provider filtered or refused the answer");
                Some(refused.hint("ask in other words, or ask another provider"))
            }
            FinishReason::ToolCalls => {
                let called = fault(Cause::Tool, "the model called a tool instead of answering");
                Some(called.hint("no tool was offered: ask for an answer in words, or ask another model"))
            }
        }
    }
}
