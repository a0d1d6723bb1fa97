//! Output of one call of a tool: text, or the reason why there is none.
//!
//! Owns: `ToolOutput`, `ToolError`, token usage. Never: judges whether the text is a valid diff.

use std::fmt;

use agentos_api::NextStep;
use schemars::JsonSchema;
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer, Serialize};

use crate::{Endpoint, ErrorCategory, ExactCost, HealthStatus, MOST_TOKENS};

/// Reason why a tool stopped writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// The answer is complete. With every other reason it may be incomplete.
    Stop,
    /// The token limit or the end of the context window was reached.
    Length,
    /// The provider filtered or refused the answer.
    ContentFilter,
    /// The model called a tool instead of answering.
    ToolCalls,
    /// The provider did not state a reason.
    Unknown,
}

impl FinishReason {
    /// Returns the name used in JSON and on the screen.
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

/// Token counts as the provider reported them. `None` if a count is unknown; never a guessed 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Usage {
    /// Tokens of the prompt, including cached ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// Tokens of the prompt that were read from a cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached_tokens: Option<u64>,
    /// Tokens of the prompt that were written to a cache, for which some vendors charge more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write_tokens: Option<u64>,
    /// Tokens of the answer, including reasoning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    /// Tokens of the answer that were spent on reasoning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_tokens: Option<u64>,
    /// Cost of the call in US dollars, as the server states it. `None` if it states none. It counts only where no price is known.
    #[serde(default, rename = "stated_cost_usd", skip_serializing_if = "Option::is_none")]
    pub stated_cost: Option<ExactCost>,
}

impl<'de> Deserialize<'de> for Usage {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Counts {
            input_tokens: Option<u64>,
            cached_tokens: Option<u64>,
            cache_write_tokens: Option<u64>,
            output_tokens: Option<u64>,
            reasoning_tokens: Option<u64>,
            stated_cost_usd: Option<StatedCost>,
        }
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum StatedCost {
            Text(String),
            Other(IgnoredAny),
        }
        let read = |stated: StatedCost| match stated {
            StatedCost::Text(text) => text.parse().ok().map(ExactCost::cap),
            StatedCost::Other(IgnoredAny) => None,
        };
        // Programs and confined processes write them too, and a number that no record takes would lose the record of their call.
        let cap = |count: Option<u64>| count.map(|count| count.min(MOST_TOKENS));
        let counts = Counts::deserialize(from)?;
        Ok(Self {
            input_tokens: cap(counts.input_tokens),
            cached_tokens: cap(counts.cached_tokens),
            cache_write_tokens: cap(counts.cache_write_tokens),
            output_tokens: cap(counts.output_tokens),
            reasoning_tokens: cap(counts.reasoning_tokens),
            stated_cost: counts.stated_cost_usd.and_then(read),
        })
    }
}

impl Usage {
    /// Returns true if the provider reported no count.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        *self == Self::default()
    }
}

/// Answer of a tool. Untrusted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolOutput {
    /// Text of the answer, unchanged.
    pub text: String,
    /// Reason why the tool stopped.
    pub finish: FinishReason,
    /// Model that answered, as the answer names it. `None` if it names none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_id: Option<String>,
    /// Address of the server that answered. `None` if the tool is a program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<Endpoint>,
    /// Token counts. `None` if the tool reports none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Time from the request to the last byte, in milliseconds.
    pub latency_ms: u64,
    /// Warnings for a person, such as that another model answered than the requested one.
    pub warnings: Vec<String>,
}

/// Kind of failure of a call without an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ToolFailure {
    /// The call failed.
    Failed,
    /// The time limit was reached.
    Timeout,
}

/// Failure of a call that gave no answer. The message contains no key, so it can be shown and recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolError {
    /// Kind of failure.
    pub failure: ToolFailure,
    /// Category of the failure.
    pub category: ErrorCategory,
    /// Machine-readable reason, as in `refused`, `unauthorized`, `read-timeout`.
    pub detail: String,
    /// Health state that a probe would report for the same failure. `None` if no state corresponds to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub health: Option<HealthStatus>,
    /// Description of the failure, in one sentence.
    pub message: String,
    /// Causes from the outermost to the root, without keys.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<String>,
    /// Remedies. Boxed, because results with this error are passed by value.
    #[serde(default)]
    pub advice: Box<ToolAdvice>,
    /// Address of the server that was called. `None` if the tool is a program, or no address is set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<Endpoint>,
    /// Time from the request to the failure, in milliseconds.
    pub latency_ms: u64,
}

/// Remedies for a call that gave no answer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolAdvice {
    /// Sentence that names no flag or verb of a front end. `None` if `next` says everything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
    /// Alternatives as data, the best first. A front end words them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub next: Vec<NextStep>,
    /// Tokens of the context window, as the server gives them when it refuses a request that is too long. `None` if the refusal has no number.
    /// Untrusted: it may only lower a window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stated_window: Option<u64>,
}

impl ToolAdvice {
    /// Creates advice from a sentence, steps, or both.
    #[must_use]
    pub fn new(fix: Option<String>, next: Vec<NextStep>) -> Box<Self> {
        Box::new(Self {
            fix,
            next,
            stated_window: None,
        })
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ToolError {}
