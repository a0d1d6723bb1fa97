//! Mints the approval of a change: the only value that the executor accepts.
//!
//! An approval binds one change to the base commit, the policy and the target that it was judged with. If any of them
//! differs when the change is written, the executor refuses it.
//!
//! Owns: `Approved` and the one function that constructs it. Never: derives `Clone`, `Default` or `Deserialize` for
//! `Approved`; each of these would let other code forge or reuse an approval.

use std::fmt;

use agentos_landing::Change;
use agentos_tool::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Decision, Effect};

/// Value that policy allowed, with or without a person's consent. Its fields are private, and only [`approve`]
/// constructs one.
// Not `Clone`: one decision approves one landing.
#[derive(Debug)]
pub struct Approved<T> {
    value: T,
    hashes: ApprovalHashes,
}

impl<T> Approved<T> {
    /// Returns the approved value.
    #[must_use]
    pub fn value(&self) -> &T {
        &self.value
    }

    /// Returns the hashes that this approval is bound to.
    #[must_use]
    pub fn hashes(&self) -> &ApprovalHashes {
        &self.hashes
    }

    /// Consumes the approval and returns its value and hashes, so that it cannot be used a second time.
    #[must_use]
    pub fn into_parts(self) -> (T, ApprovalHashes) {
        (self.value, self.hashes)
    }
}

/// State that an approval and a consent are bound to: change, base commit, policy, target ref, and what is written
/// there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ApprovalHashes {
    /// SHA-256 of the canonical diff, 64 hex digits.
    pub diff_sha256: String,
    /// Commit that the change was judged against.
    pub base_commit: String,
    /// SHA-256 of the policy set, 64 hex digits.
    pub policy_sha256: String,
    /// Ref that will be moved, as in `refs/heads/main`.
    pub target_ref: String,
    /// Kind of landing: `commit-and-work-tree`, `commit-only`, `work-tree-only` or `nothing`.
    pub writes: String,
}

/// Target of an approved change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LandingTarget<'a> {
    /// Commit that the change was judged against.
    pub base_commit: &'a str,
    /// Ref that will be moved.
    pub target_ref: &'a str,
    /// Kind of landing, in the words of [`ApprovalHashes::writes`].
    pub writes: &'a str,
}

impl ApprovalHashes {
    /// Binds a change and the decision about it to a landing target.
    #[must_use]
    pub fn of(change: &Change, decision: &Decision, place: &LandingTarget<'_>) -> Self {
        Self {
            diff_sha256: change.sha256().to_owned(),
            base_commit: place.base_commit.to_owned(),
            policy_sha256: decision.policy_sha256().to_owned(),
            target_ref: place.target_ref.to_owned(),
            writes: place.writes.to_owned(),
        }
    }
}

/// Part of [`ApprovalHashes`] in which a consent and the current state differ.
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
    /// Kind of landing.
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

/// A person's agreement to a change that policy answered with ask.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Consent {
    /// Person who agreed, as git writes a name: `Name <address>` or a name alone.
    pub who: String,
    /// Time of the agreement.
    pub when: Timestamp,
    /// Way in which the person agreed, such as `terminal`, `--yes`, `approve` or `policy init`.
    pub how: String,
    /// State that the person agreed to. The consent is void if any part of it differs.
    pub hashes: ApprovalHashes,
    /// Signature of the person's device. `None` if no device signed. It restricts nothing here: whoever takes a consent from a device
    /// verifies it first, and whoever verifies the evidence does so again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<Box<ConsentProof>>,
    /// True if the person releases text of withheld files that the change has. Otherwise whoever may not read those files may not
    /// read the changed ones either.
    #[serde(default, skip_serializing_if = "is_false")]
    pub releases_withheld: bool,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes fields by reference"
)]
fn is_false(value: &bool) -> bool {
    !*value
}

/// Signature of a person's device over the hashes of a consent and over what it showed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConsentProof {
    /// Name that the person gave to the device. Untrusted.
    pub device: String,
    /// Public key of the device, as OpenSSH writes it.
    pub key: String,
    /// SHA-256 of what the device showed, 64 hex digits.
    pub rendering_sha256: String,
    /// Ed25519 signature of the statement, in base64.
    pub signature: String,
}

/// Reason why a change is not approved.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotApproved {
    /// Policy denies the change. No consent overrides this.
    #[error("the policy denies this change")]
    Denied,
    /// A person must agree to exactly this state.
    #[error("this change needs a person's consent")]
    ConsentNeeded(ApprovalHashes),
    /// The consent was given for a different state.
    #[error("the consent is void: it was given for another {bound_to} (`{agreed}`, now `{now}`)")]
    ConsentVoid {
        /// First difference, in the order diff, base commit, policy, target ref, kind of landing.
        bound_to: BoundTo,
        /// Value at the time of the consent.
        agreed: String,
        /// Current value.
        now: String,
    },
    /// The decision is about another change, or about reading a file.
    #[error("the decision was made for another change")]
    OtherChange,
}

/// Mints the approval of a change: from an allow, or from an ask together with a consent that is bound to the same
/// hashes.
///
/// # Errors
/// If the change is denied, needs a consent, comes with a consent for a different state, or comes with a decision
/// that was made for another change.
pub fn approve(
    change: Change,
    decision: &Decision,
    place: &LandingTarget<'_>,
    consent: Option<&Consent>,
) -> Result<Approved<Change>, NotApproved> {
    // Both arguments come from the caller: an allow for one change must not approve another one.
    if decision.diff_sha256() != Some(change.sha256()) {
        return Err(NotApproved::OtherChange);
    }
    let hashes = ApprovalHashes::of(&change, decision, place);
    match decision.effect() {
        // A deny is final. A consent is not even compared, so that no consent can override it.
        Effect::Deny => return Err(NotApproved::Denied),
        Effect::Ask => check_consent(consent, &hashes)?,
        Effect::Allow => {}
    }
    Ok(Approved {
        value: change,
        hashes,
    })
}

fn check_consent(consent: Option<&Consent>, now: &ApprovalHashes) -> Result<(), NotApproved> {
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
    // Every part is compared, not only the diff: the same diff is a different act on another branch, on another base
    // or under other rules.
    match pairs.into_iter().find(|(_, agreed, now)| agreed != now) {
        None => Ok(()),
        Some((bound_to, agreed, now)) => Err(NotApproved::ConsentVoid {
            bound_to,
            agreed: agreed.clone(),
            now: now.clone(),
        }),
    }
}
