//! Request for a person's consent to one change, and the reply, as they are sent over a connection.
//!
//! Owns: both shapes and the state that binds them. Never: identifies the person; the service that authenticated them does.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Request for a person's consent: may this change land?
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConsentPrompt {
    /// Paths that the change touches, sorted.
    pub paths: Vec<String>,
    /// Canonical diff. Untrusted text; bytes that are not UTF-8 are replaced by U+FFFD.
    // A text, because JSON has no bytes. The binding is computed from the original bytes, not from this text.
    pub diff: String,
    /// Rules that ask, the strictest first.
    pub reasons: Vec<ConsentReason>,
    /// State that the reply is bound to. The reply repeats it.
    pub binding: ConsentBinding,
    /// Differences from the earlier request that is answered, as a sentence. Absent if there are none, or the run asks for
    /// itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since_request: Option<String>,
}

/// Policy rule that requires consent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConsentReason {
    /// Id of the rule.
    pub rule: String,
    /// File that contains the rule, or `built-in`.
    pub source: String,
    /// Reason as the rule words it. Untrusted text: the repository may have supplied the rule.
    pub why: String,
    /// Remedy as the rule words it. Absent if the rule has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
    /// Path that the rule matched. Absent if it matched the change as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

/// State that a request for consent and its reply are bound to. A reply for any other state is ignored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConsentBinding {
    /// SHA-256 of the canonical diff, 64 hex digits.
    pub diff_sha256: String,
    /// Commit that the change was judged against.
    pub base_commit: String,
    /// SHA-256 of the policy, 64 hex digits.
    // The policy is part of the binding: after a rule has changed, the same diff may need another decision.
    pub policy_sha256: String,
    /// Ref that would move, as in `refs/heads/main`.
    pub target_ref: String,
    /// Kind of landing: `commit-and-work-tree`, `commit-only`, `work-tree-only` or `nothing`.
    pub writes: String,
}

/// Reply of a person to a run's request for consent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
// Strict, unlike the shapes that are only read by front ends: a misspelt field of a consent must not be ignored
// silently. A field for the person's name is refused as well, because only the service that authenticated the
// person knows it.
#[serde(deny_unknown_fields)]
pub struct ConsentReply {
    /// Version of this shape: 1.
    pub version: u32,
    /// Id of the run that requested consent.
    pub run: String,
    /// True if the change may land.
    pub agrees: bool,
    /// State from the request, unchanged.
    pub binding: ConsentBinding,
}
