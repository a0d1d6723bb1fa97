//! What policy answers, and why.
//!
//! Owns: the effect, its reasons, and what they were made for. Never: decides; `decide` does.

use std::fmt;

use agentos_landing::RefusalCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Group, Layer, group};

/// What a rule, and policy as a whole, answers. Ordered from mild to strict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Goes ahead.
    Allow,
    /// Goes ahead when a person agrees.
    Ask,
    /// Does not go ahead.
    Deny,
}

impl Effect {
    /// The word used in JSON, in rules and on the screen.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

/// One rule that matched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reason {
    /// The rule's id.
    pub rule: String,
    /// Where its file stands among the sources.
    pub layer: Layer,
    /// The file it is in, or `built-in`.
    pub source: String,
    /// The line on which it begins; none for the answer to a question that no rule matches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// What it answers.
    pub effect: Effect,
    /// Why it is there, in the rule's words.
    pub why: String,
    /// What to do about it, in the rule's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
    /// The path it matched; none when it matched the change as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// An allow is listed once, with the first path: how many further questions it answered. 0 for ask and deny.
    pub and_more: u64,
    /// The class of a refusal for this reason.
    pub code: RefusalCode,
}

impl fmt::Display for Reason {
    /// One line, as in `deny src/a.rs: it adds a credential (floor.secrets, built-in/floor.toml:3)`. Quotes untrusted
    /// paths and repository text: escape it for a terminal.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.as_deref().unwrap_or("the change");
        write!(f, "{} {path}", self.effect.as_str())?;
        if self.and_more > 0 {
            write!(f, " and {} more", self.and_more)?;
        }
        write!(f, ": {} ({}, {}", self.why, self.rule, self.source)?;
        match self.line {
            Some(line) => write!(f, ":{line})"),
            None => f.write_str(")"),
        }
    }
}

/// What the decision was made on, in numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FactsSummary {
    /// Paths touched.
    pub files: u64,
    /// Lines added.
    pub added: u64,
    /// Lines removed.
    pub removed: u64,
    /// Paths created.
    pub created: u64,
    /// Paths deleted.
    pub deleted: u64,
    /// What the change touches, as in `dependencies` or `ci`; sorted.
    pub touches: Vec<String>,
    /// What was found in it, as in `secret`; sorted.
    pub findings: Vec<String>,
}

/// A decision on one change, or on one file to be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Decision {
    effect: Effect,
    reasons: Vec<Reason>,
    facts: FactsSummary,
    #[serde(skip_serializing_if = "Option::is_none")]
    diff_sha256: Option<String>,
    policy_sha256: String,
}

impl Decision {
    pub(crate) fn new(
        reasons: Vec<Reason>,
        facts: FactsSummary,
        diff_sha256: Option<String>,
        policy_sha256: String,
    ) -> Self {
        // No reason at all is no permission.
        let effect = reasons
            .iter()
            .map(|reason| reason.effect)
            .max()
            .unwrap_or(Effect::Deny);
        Self {
            effect,
            reasons,
            facts,
            diff_sha256,
            policy_sha256,
        }
    }

    /// The answer: the strictest of the reasons.
    #[must_use]
    pub fn effect(&self) -> Effect {
        self.effect
    }

    /// Every rule that matched: strictest first, then by rule, the rule with the fewest reasons first.
    #[must_use]
    pub fn reasons(&self) -> &[Reason] {
        &self.reasons
    }

    /// The reasons that decided: those with the decision's own effect.
    pub fn deciding(&self) -> impl Iterator<Item = &Reason> {
        self.reasons.iter().filter(|reason| reason.effect == self.effect)
    }

    /// The reasons rule by rule, in the order of [`Decision::reasons`]; every rule is there, however many paths
    /// another one matched.
    #[must_use]
    pub fn grouped(&self) -> Vec<Group<'_>> {
        group::groups(&self.reasons)
    }

    /// The class of the first deciding reason; none when the answer is allow.
    #[must_use]
    pub fn code(&self) -> Option<RefusalCode> {
        match self.effect {
            Effect::Allow => None,
            Effect::Ask | Effect::Deny => Some(
                self.deciding()
                    .next()
                    .map_or(RefusalCode::ProtectedPath, |reason| reason.code),
            ),
        }
    }

    /// The decision in words: the answer, each reason on its own line, each remedy once. Quotes untrusted text:
    /// escape it for a terminal.
    #[must_use]
    pub fn explanation(&self) -> String {
        let mut lines = vec![self.effect.as_str().to_owned()];
        let mut remedies: Vec<&str> = Vec::new();
        for reason in &self.reasons {
            lines.push(format!("  {reason}"));
            if let Some(fix) = reason.fix.as_deref()
                && !remedies.contains(&fix)
            {
                remedies.push(fix);
            }
        }
        lines.extend(remedies.into_iter().map(|fix| format!("  fix: {fix}")));
        lines.join("\n")
    }

    /// What the decision was made on.
    #[must_use]
    pub fn facts(&self) -> &FactsSummary {
        &self.facts
    }

    /// SHA-256 of the canonical diff of the change that was judged; none for a read.
    #[must_use]
    pub fn diff_sha256(&self) -> Option<&str> {
        self.diff_sha256.as_deref()
    }

    /// SHA-256 of the policy set that judged.
    #[must_use]
    pub fn policy_sha256(&self) -> &str {
        &self.policy_sha256
    }
}
