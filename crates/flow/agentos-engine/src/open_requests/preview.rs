//! Preview of an answer to a request: what would land now, and what differs from the request.
//!
//! Owns: placing and deciding a requested change without a run. Never: records or writes anything.

use agentos_landing::{LandError, LandOptions, LandedChange, land};
use agentos_policy::{ApprovalHashes, Decision, ToolFacts};
use agentos_tool::{RunId, Timestamp};

use super::{OpenRequest, RevisedDiff, place_of, propose_request, read_open, require_target};
use crate::context::unreadable_base;
use crate::ports::{EffectError, RecordReader, Repository};
use crate::records::refusal_of;
use crate::request_drift::RequestDrift;
use crate::settle::decide_change;

/// A request, and what a yes to it would land now.
#[derive(Debug, Clone)]
pub struct RequestPreview {
    /// The request.
    pub open: OpenRequest,
    /// The change, or why there is none.
    pub change: PreviewedChange,
}

/// The change that would land now.
#[derive(Debug, Clone)]
pub enum PreviewedChange {
    /// The change has its place.
    Placed(Box<PlacedChange>),
    /// The change does not land, for this reason.
    Refused(String),
}

/// A change with its place and its decision.
#[derive(Debug, Clone)]
pub struct PlacedChange {
    /// The change, and how it was placed.
    pub landed: LandedChange,
    /// Policy's decision about it.
    pub decision: Decision,
    /// The hashes to which a consent is bound.
    pub hashes: ApprovalHashes,
    /// Differences from the request. `None` if there are none.
    pub drift: Option<RequestDrift>,
}

/// Places and decides a request's change, or what a person made of it, as [`super::approve_request`] would now.
///
/// # Errors
/// If the request is not open, its change is not on the tape, another branch is checked out, or the repository cannot be
/// read.
pub fn preview_request(
    repo: &dyn Repository,
    tape: &dyn RecordReader,
    (run, id): (&RunId, &str),
    revised: Option<&RevisedDiff>,
    now: &Timestamp,
) -> Result<RequestPreview, EffectError> {
    let (open, diff) = read_open(tape, id, now)?;
    repo.aim(&place_of(&open.request))?;
    let target = repo.target()?;
    require_target(&open.request, &target)?;
    let answer = revised.map_or(diff.as_slice(), |revised| revised.text.as_slice());
    let revision = revised.map(|revised| revised.revision);
    let proposal = propose_request(run, answer, (&open, &diff), &target, revision, now.clone());
    let base = repo.base(&target)?;
    let change = match land(answer, base.as_ref(), &LandOptions::default()) {
        Ok(landed) => {
            let tool = ToolFacts {
                target_ref: Some(target.refname.clone()),
                ..proposal.tool.clone()
            };
            let policy = repo.policy(&target)?;
            let decision = decide_change(&policy.set, &landed, &tool, proposal.reported_model.as_deref());
            let hashes = ApprovalHashes::of(&landed.change, &decision, &target.place());
            let count_commits = |old: &str, new: &str| repo.count_commits(old, new);
            let drift = proposal
                .answers
                .as_ref()
                .and_then(|request| request.find_drift(&landed.change, &decision, &hashes, count_commits));
            PreviewedChange::Placed(Box::new(PlacedChange {
                landed,
                decision,
                hashes,
                drift,
            }))
        }
        Err(LandError::Refused(report)) => PreviewedChange::Refused(refusal_of(&report).message),
        Err(LandError::Base(error)) => return Err(unreadable_base(&error)),
    };
    Ok(RequestPreview { open, change })
}
