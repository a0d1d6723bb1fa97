//! A question to a person about one change, and the answer, as they go over a wire.
//!
//! Owns: both shapes and what binds them. Never: says who answered; the service that knows the person does.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Question to a person: may this change land?
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConsentPrompt {
    /// Paths that the change touches, sorted.
    pub paths: Vec<String>,
    /// Canonical diff. Untrusted text; bytes that are not UTF-8 are replaced by U+FFFD.
    pub diff: String,
    /// Rules that ask, the strictest first.
    pub reasons: Vec<ConsentReason>,
    /// State that an answer is bound to. An answer repeats it.
    pub binding: ConsentBinding,
}

/// One rule that asks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConsentReason {
    /// Id of the rule.
    pub rule: String,
    /// File that the rule is in, or `built-in`.
    pub source: String,
    /// Reason in the rule's words. Untrusted text: a rule may be a repository's.
    pub why: String,
    /// Remedy in the rule's words. Absent if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
    /// Path that it matched. Absent if it matched the change as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

/// State that a question and its answer are bound to. An answer to any other state is ignored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConsentBinding {
    /// SHA-256 of the canonical diff, 64 hex digits.
    pub diff_sha256: String,
    /// Commit that the change was judged against.
    pub base_commit: String,
    /// SHA-256 of the policy, 64 hex digits.
    pub policy_sha256: String,
    /// Ref that would move, as in `refs/heads/main`.
    pub target_ref: String,
    /// Kind of landing: `commit-and-work-tree`, `commit-only`, `work-tree-only` or `nothing`.
    pub writes: String,
}

/// Answer of a person to the question of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConsentReply {
    /// Version of this shape: 1.
    pub version: u32,
    /// The run that asked.
    pub run: String,
    /// True if the change may land.
    pub agrees: bool,
    /// State of the question, as it was sent.
    pub binding: ConsentBinding,
}
