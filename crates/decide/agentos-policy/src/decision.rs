//! The answer of policy to one change, with the reasons for it.
//!
//! Owns: the effect, its reasons, and the facts they are about. Never: evaluates a rule; `set` does.

use std::borrow::Cow;
use std::fmt;

use agentos_landing::RefusalCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::reasons::{WITHHELD_OFTEN, WITHHELD_TEXT};
use crate::{Layer, RuleGroup, group};

/// Answer of one rule, and of policy as a whole. Ordered from mild to strict, so that the strictest answer is the
/// maximum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// The change may be written, or the file read.
    Allow,
    /// A person has to agree first.
    Ask,
    /// Refused. No consent overrides this.
    Deny,
}

impl Effect {
    /// Returns the word used in JSON, in rules and on the screen.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

/// Rule that matched, with the path it matched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reason {
    /// Id of the rule.
    pub rule: String,
    /// Layer of the file that holds the rule.
    pub layer: Layer,
    /// Name of the file that holds the rule, or `built-in`.
    pub source: String,
    /// Line on which the rule begins. `None` if no rule matched and this is the default answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// Effect of the rule.
    pub effect: Effect,
    /// Purpose of the rule, in its own words.
    pub why: String,
    /// Detail of the match, as in `72 of 75 lines` for a loss that the rule limits, or `also reached as X` for a link X that leads to
    /// the path. `None` if the rule needs no detail. Untrusted: it names paths.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<String>,
    /// Remedy, in the rule's own words. `None` if the rule names none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
    /// Path that matched. `None` if the rule matched the change as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Number of further questions that an allowing rule answered. Such a rule is listed once, with its first path. 0
    /// for ask and deny.
    pub and_more: u64,
    /// Class of a refusal for this reason.
    pub code: RefusalCode,
}

impl Reason {
    /// Returns the purpose of the rule, followed by the detail of the match.
    #[must_use]
    pub fn sentence(&self) -> Cow<'_, str> {
        match &self.found {
            Some(found) => Cow::Owned(format!("{}: {found}", self.why)),
            None => Cow::Borrowed(&self.why),
        }
    }
}

impl Reason {
    /// Returns true if the reason shows something about the text of a file that policy withholds from the proposer of the change.
    #[must_use]
    pub fn is_about_withheld(&self) -> bool {
        self.layer == Layer::Floor && (self.rule == WITHHELD_TEXT || self.rule == WITHHELD_OFTEN)
    }
}

impl fmt::Display for Reason {
    /// Writes one line, as in `deny src/a.rs: it adds a credential (floor.secrets, built-in/floor.toml:3)`. The line
    /// quotes untrusted paths and repository text: escape it for a terminal.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.as_deref().unwrap_or("the change");
        write!(f, "{} {path}", self.effect.as_str())?;
        if self.and_more > 0 {
            write!(f, " and {} more", self.and_more)?;
        }
        write!(f, ": {} ({}, {}", self.sentence(), self.rule, self.source)?;
        match self.line {
            Some(line) => write!(f, ":{line})"),
            None => f.write_str(")"),
        }
    }
}

/// Numbers and words that summarise the change that was judged.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FactsSummary {
    /// Number of paths that the change touches.
    pub files: u64,
    /// Number of lines added.
    pub added: u64,
    /// Number of lines removed.
    pub removed: u64,
    /// Number of paths created.
    pub created: u64,
    /// Number of paths deleted.
    pub deleted: u64,
    /// Parts of the project that the change touches, as in `dependencies` or `ci`; sorted.
    pub touches: Vec<String>,
    /// Findings in the change, as in `secret`; sorted.
    pub findings: Vec<String>,
}

/// Decision about one change, or about one file to be read.
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
        // Default deny: without a matching rule there is no reason, and without a reason there is no permission.
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

    /// Returns the decision with further reasons, which can only make it stricter.
    #[must_use]
    pub fn with_reasons(self, more: Vec<Reason>) -> Self {
        if more.is_empty() {
            return self;
        }
        let strictest = more.iter().map(|reason| reason.effect).max();
        Self {
            effect: self.effect.max(strictest.unwrap_or(self.effect)),
            reasons: group::sort_reasons(self.reasons.into_iter().chain(more).collect()),
            ..self
        }
    }

    /// Returns the decision without the reasons about withheld text, as whoever may not read that text may be shown it.
    #[must_use]
    pub fn without_withheld(&self) -> Self {
        let told = self.reasons.iter().filter(|reason| !reason.is_about_withheld());
        Self::new(
            told.cloned().collect(),
            self.facts.clone(),
            self.diff_sha256.clone(),
            self.policy_sha256.clone(),
        )
    }

    /// Returns true if the change has text of a file that policy withholds from its proposer.
    #[must_use]
    pub fn is_about_withheld(&self) -> bool {
        self.reasons.iter().any(Reason::is_about_withheld)
    }

    /// Returns the answer: the strictest effect among the reasons.
    #[must_use]
    pub fn effect(&self) -> Effect {
        self.effect
    }

    /// Returns the reasons: strictest first, then grouped by rule, the rule with the fewest reasons first.
    #[must_use]
    pub fn reasons(&self) -> &[Reason] {
        &self.reasons
    }

    /// Returns the reasons that decided: those with the decision's own effect.
    pub fn deciding(&self) -> impl Iterator<Item = &Reason> {
        self.reasons.iter().filter(|reason| reason.effect == self.effect)
    }

    /// Groups the reasons by rule, in the order of [`Decision::reasons`]. Every rule has a group, however many paths
    /// another rule matched.
    #[must_use]
    pub fn grouped(&self) -> Vec<RuleGroup<'_>> {
        group::group_reasons(&self.reasons)
    }

    /// Returns the class of the first deciding reason. `None` if the answer is allow.
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

    /// Describes the decision: the answer, each reason on its own line, each remedy once. The text quotes untrusted
    /// text: escape it for a terminal.
    #[must_use]
    pub fn explanation(&self) -> String {
        let mut lines = vec![self.effect.as_str().to_owned()];
        // Rules of one kind share a remedy; it is printed once below the reasons instead of with each of them.
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

    /// Returns the summary of the change that was judged.
    #[must_use]
    pub fn facts(&self) -> &FactsSummary {
        &self.facts
    }

    /// Returns the SHA-256 of the canonical diff of the judged change. `None` if the decision is about reading a
    /// file.
    #[must_use]
    pub fn diff_sha256(&self) -> Option<&str> {
        self.diff_sha256.as_deref()
    }

    /// Returns the SHA-256 of the policy set that judged.
    #[must_use]
    pub fn policy_sha256(&self) -> &str {
        &self.policy_sha256
    }
}
