//! What comes back from one call of a tool: text, or the reason why there is none.
//!
//! Owns: `ToolOutput`, `ToolError`, token usage. Never: says whether the text is a good diff.

use std::fmt;

use agentos_api::NextStep;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Endpoint, ErrorCategory, HealthStatus};

/// Why a tool stopped writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// It was done: the only case in which an answer is whole.
    Stop,
    /// It ran into a token limit or the end of its context.
    Length,
    /// It was filtered or refused by the provider.
    ContentFilter,
    /// It asked for a tool of its own instead of answering.
    ToolCalls,
    /// The provider did not say.
    Unknown,
}

impl FinishReason {
    /// The word used in JSON and on the screen.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::Length => "length",
            Self::ContentFilter => "content_filter",
            Self::ToolCalls => "tool_calls",
            Self::Unknown => "unknown",
        }
    }
}

/// Tokens as the provider reported them. Missing is unknown, never 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Usage {
    /// Tokens of the prompt, cached ones included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// Of these, read from a cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached_tokens: Option<u64>,
    /// Tokens of the answer, reasoning included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    /// Of these, spent on reasoning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_tokens: Option<u64>,
}

impl Usage {
    /// True when the provider reported nothing.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        *self == Self::default()
    }
}

/// A tool's answer. Untrusted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolOutput {
    /// The answer's text, as it came.
    pub text: String,
    /// Why the tool stopped.
    pub finish: FinishReason,
    /// The model that answered, as the answer names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_id: Option<String>,
    /// Where it answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<Endpoint>,
    /// Tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// From request to the last byte, in milliseconds.
    pub latency_ms: u64,
    /// Things worth telling a person: another model answered than was asked for.
    pub warnings: Vec<String>,
}

/// How a call ended without an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ToolFailure {
    /// It failed.
    Failed,
    /// A time limit ran out.
    Timeout,
}

/// A call that gave no answer. The message is safe to show and to record: it holds no key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolError {
    /// Failed or out of time.
    pub failure: ToolFailure,
    /// What kind of thing went wrong.
    pub category: ErrorCategory,
    /// The machine-readable reason, as in `refused`, `unauthorized`, `read-timeout`.
    pub detail: String,
    /// The health state that a probe would have reported for the same thing, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub health: Option<HealthStatus>,
    /// What happened, in one sentence.
    pub message: String,
    /// What brought it about, from the outermost cause to the root, without keys.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<String>,
    /// What to do about it. Boxed, because results with this error are passed by value.
    #[serde(default)]
    pub advice: Box<ToolAdvice>,
    /// Where it should have answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<Endpoint>,
    /// From request to failure, in milliseconds.
    pub latency_ms: u64,
}

/// What a person can do about a call that gave no answer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolAdvice {
    /// A sentence that names no flag or verb of a front end. `None` if `next` says it all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
    /// Alternatives that a front end words, the best first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub next: Vec<NextStep>,
}

impl ToolAdvice {
    /// Returns advice that is a sentence, steps, or both.
    #[must_use]
    pub fn new(fix: Option<String>, next: Vec<NextStep>) -> Box<Self> {
        Box::new(Self { fix, next })
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ToolError {}
