//! Preview of an answer to a request: what would land now, and what differs from the request.
//!
//! Owns: placing and deciding a requested change without a run. Never: records or writes anything.

use agentos_landing::{LandOptions, LandedChange};
use agentos_policy::{ApprovalHashes, Decision};
use agentos_tool::{RunId, Timestamp};

use super::{OpenRequest, RevisedDiff, place_of, propose_request, read_open, require_target};
use crate::ports::{EffectError, RecordReader, Repository};
use crate::records::refusal_of;
use crate::request_drift::RequestDrift;
use crate::settle::decide_change;
use crate::withheld::{WatchedLanding, find_withheld, land_watched, list_readers};

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
    let policy = repo.policy(&target)?;
    let (tool, model) = (proposal.tool_at(&target), proposal.reported_model.as_deref());
    let readers = list_readers(&tool, model);
    let asked = (&policy.set, readers.as_slice());
    let WatchedLanding { placed, opened } =
        land_watched(answer, base.as_ref(), &LandOptions::default(), asked)?;
    let change = match placed {
        Ok(landed) => {
            let withheld = find_withheld(base.as_ref(), asked, &landed.change, &opened)?;
            let decision = decide_change(&policy.set, &landed, &tool, model).with_reasons(withheld.reasons);
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
        Err(report) => PreviewedChange::Refused(refusal_of(&report).message),
    };
    Ok(RequestPreview { open, change })
}
