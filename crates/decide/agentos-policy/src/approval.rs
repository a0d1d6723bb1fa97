//! The only key to the executor: an approval that binds a change to the state and the rules it was judged by.
//!
//! Owns: `Approved` and the one place that mints it. Never: derives `Clone`, `Default` or `Deserialize` for it;
//! each of these would forge the key.

use std::fmt;

use agentos_landing::Change;
use agentos_tool::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Decision, Effect};

/// A value that policy allowed, with or without a person's consent. Its fields are private and nothing but
/// [`approve`] makes one.
#[derive(Debug)]
pub struct Approved<T> {
    value: T,
    hashes: Hashes,
}

impl<T> Approved<T> {
    /// What was approved.
    #[must_use]
    pub fn value(&self) -> &T {
        &self.value
    }

    /// What the approval is bound to.
    #[must_use]
    pub fn hashes(&self) -> &Hashes {
        &self.hashes
    }

    /// Spends the approval.
    #[must_use]
    pub fn into_parts(self) -> (T, Hashes) {
        (self.value, self.hashes)
    }
}

/// What an approval and a consent are bound to: change, base, policy and target, and what is written there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Hashes {
    /// SHA-256 of the canonical diff, 64 hex digits.
    pub diff_sha256: String,
    /// The commit the change was judged against.
    pub base_commit: String,
    /// SHA-256 of the policy set, 64 hex digits.
    pub policy_sha256: String,
    /// The ref to be moved, as in `refs/heads/main`.
    pub target_ref: String,
    /// What is written: `commit-and-work-tree`, `commit-only`, `work-tree-only` or `nothing`.
    pub writes: String,
}

/// Where an approved change goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place<'a> {
    /// The commit the change was judged against.
    pub base_commit: &'a str,
    /// The ref to be moved.
    pub target_ref: &'a str,
    /// What is written, in the words of [`Hashes::writes`].
    pub writes: &'a str,
}

impl Hashes {
    /// What a decision on a change is bound to when it goes there.
    #[must_use]
    pub fn of(change: &Change, decision: &Decision, place: &Place<'_>) -> Self {
        Self {
            diff_sha256: change.sha256().to_owned(),
            base_commit: place.base_commit.to_owned(),
            policy_sha256: decision.policy_sha256().to_owned(),
            target_ref: place.target_ref.to_owned(),
            writes: place.writes.to_owned(),
        }
    }
}

/// One of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BoundTo {
    /// The canonical diff.
    Diff,
    /// The base commit.
    BaseCommit,
    /// The policy set.
    Policy,
    /// The target ref.
    TargetRef,
    /// What is written.
    Writes,
}

impl fmt::Display for BoundTo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Diff => "change",
            Self::BaseCommit => "base commit",
            Self::Policy => "policy",
            Self::TargetRef => "target ref",
            Self::Writes => "kind of landing",
        })
    }
}

/// A person's yes to what policy answered with ask.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Consent {
    /// Who said yes, as git names people.
    pub who: String,
    /// When.
    pub when: Timestamp,
    /// How it was said: `terminal`, `--yes`, `approve` or `policy init`.
    pub how: String,
    /// What was agreed to. Void when any of it differs.
    pub hashes: Hashes,
}

/// Why a change is not approved.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotApproved {
    /// Policy denies it. No consent overrides this.
    #[error("the policy denies this change")]
    Denied,
    /// A person must agree to exactly this.
    #[error("this change needs a person's consent")]
    ConsentNeeded(Hashes),
    /// A consent was given for something else.
    #[error("the consent is void: it was given for another {bound_to} (`{agreed}`, now `{now}`)")]
    ConsentVoid {
        /// What differs; the first in the order diff, base commit, policy, target ref, what is written.
        bound_to: BoundTo,
        /// As it was when the consent was given.
        agreed: String,
        /// As it is now.
        now: String,
    },
    /// The decision was made for another change, or for a read.
    #[error("the decision was made for another change")]
    OtherChange,
}

/// Mints the approval of a change: from an allow, or from an ask with a consent bound to the same hashes, place and writes.
///
/// # Errors
/// The change is denied, needs a consent, comes with a consent for something else, or with a decision that was
/// made for another change.
pub fn approve(
    change: Change,
    decision: &Decision,
    place: &Place<'_>,
    consent: Option<&Consent>,
) -> Result<Approved<Change>, NotApproved> {
    if decision.diff_sha256() != Some(change.sha256()) {
        return Err(NotApproved::OtherChange);
    }
    let hashes = Hashes::of(&change, decision, place);
    match decision.effect() {
        Effect::Deny => return Err(NotApproved::Denied),
        Effect::Ask => check_consent(consent, &hashes)?,
        Effect::Allow => {}
    }
    Ok(Approved {
        value: change,
        hashes,
    })
}

fn check_consent(consent: Option<&Consent>, now: &Hashes) -> Result<(), NotApproved> {
    let Some(consent) = consent else {
        return Err(NotApproved::ConsentNeeded(now.clone()));
    };
    let agreed = &consent.hashes;
    let pairs = [
        (BoundTo::Diff, &agreed.diff_sha256, &now.diff_sha256),
        (BoundTo::BaseCommit, &agreed.base_commit, &now.base_commit),
        (BoundTo::Policy, &agreed.policy_sha256, &now.policy_sha256),
        (BoundTo::TargetRef, &agreed.target_ref, &now.target_ref),
        (BoundTo::Writes, &agreed.writes, &now.writes),
    ];
    match pairs.into_iter().find(|(_, agreed, now)| agreed != now) {
        None => Ok(()),
        Some((bound_to, agreed, now)) => Err(NotApproved::ConsentVoid {
            bound_to,
            agreed: agreed.clone(),
            now: now.clone(),
        }),
    }
}
