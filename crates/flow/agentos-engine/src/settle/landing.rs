//! The executor's part, and the records that it leaves while it writes.
//!
//! Owns: intent and receipt on the tape, and the sentence about the landed files. Never: rolls a landing back because it
//! could not be recorded; the outcome reports that instead.

use agentos_evidence::{RecordKind, SyncFile};
use agentos_landing::Change;
use agentos_policy::{ApprovalHashes, Approved};
use agentos_tool::Timestamp;
use serde_json::Value;

use super::proposal::{Proposal, RunEffects};
use crate::open_requests::require_unanswered;
use crate::ports::{
    EffectError, Evidence, LandOrder, Landed, LandingRecords, RecordReader, RunPhase, TargetInfo, Writes,
};
use crate::records::{self, IntentBody};
use crate::request_drift::AnsweredRequest;

/// The result of the executor's work.
pub(super) struct WriteResult {
    /// The landing, and the hash of its receipt or why there is none.
    pub landed: Result<(Landed, Result<String, EffectError>), EffectError>,
    /// The hash of the intent. `None` if no intent is durable.
    pub intent: Option<String>,
}

/// Has the executor write the change, with intent and receipt recorded on the way.
pub(super) fn write_change(
    effects: &mut RunEffects<'_>,
    proposal: &Proposal<'_>,
    target: &TargetInfo,
    approved: Approved<Change>,
) -> WriteResult {
    let order = LandOrder {
        run: proposal.run.to_string(),
        message: proposal.message.clone(),
        trailers: proposal.trailers.clone(),
        author: proposal.author.clone(),
        now: effects.clock.now(),
    };
    let mut recorder = LandingRecorder {
        request: effects.requests.zip(proposal.answers.as_ref()),
        now: order.now.clone(),
        hashes: approved.hashes().clone(),
        evidence: &mut *effects.evidence,
        intent: None,
        receipt: None,
    };
    let landed = effects.repo.land(approved, target, &order, &mut recorder);
    let (mut intent, receipt) = (recorder.intent, recorder.receipt);
    let landed = match landed {
        Ok(landed) => {
            // The executor may report the receipt while it still syncs, so that both share one wait for the disk. A
            // landing that did not is recorded here.
            let receipt = receipt.unwrap_or_else(|| {
                end_run(effects.evidence, &landed.receipt, landed.recovered.as_ref(), None)
            });
            Ok((landed, receipt))
        }
        Err(error) => {
            // The intent may hold the tape's lock until it is durable. The answer may be landed again now, which reads files
            // and asks policy, and other runs must not wait for that.
            if effects.evidence.make_durable(RunPhase::Continues, None).is_err() {
                intent = None;
            }
            let recovered = error.details.recovered.as_ref();
            let recorded =
                recovered.map(|body| records::record_now(effects.evidence, RecordKind::Recovered, body));
            match recorded {
                Some(Err(error)) => Err(error),
                Some(Ok(_)) | None => Err(error),
            }
        }
    };
    WriteResult { landed, intent }
}

/// Records what the executor reports, and keeps the hashes.
struct LandingRecorder<'a> {
    /// The tape, and the request that the run answers. `None` if it answers none.
    request: Option<(&'a dyn RecordReader, &'a AnsweredRequest)>,
    now: Timestamp,
    evidence: &'a mut dyn Evidence,
    hashes: ApprovalHashes,
    /// The hash of the intent. `None` before it is recorded, or if it was lost.
    intent: Option<String>,
    /// The hash of the receipt. `None` until the change is made.
    receipt: Option<Result<String, EffectError>>,
}

impl LandingRecords for LandingRecorder<'_> {
    fn intent(&mut self, plan: Value) -> Result<String, EffectError> {
        // The executor holds its lock, so no denial can come between this and the receipt.
        if let Some((tape, request)) = self.request {
            require_unanswered(tape, &request.run, &self.now)?;
        }
        let body = IntentBody {
            plan,
            hashes: &self.hashes,
        };
        let hash = records::record_at_sync(self.evidence, RecordKind::Intent, &body)?;
        self.intent = Some(hash.clone());
        Ok(hash)
    }

    fn durable(&mut self, sync: &mut SyncFile<'_>) -> Result<(), EffectError> {
        let durable = self.evidence.make_durable(RunPhase::Continues, Some(sync));
        // An intent that is not durable is not on the tape: nothing may refer to it.
        if durable.is_err() {
            self.intent = None;
        }
        durable
    }

    fn receipt(&mut self, receipt: Value, recovered: Option<Value>, sync: &mut SyncFile<'_>) {
        self.receipt = Some(end_run(self.evidence, &receipt, recovered.as_ref(), Some(sync)));
    }
}

/// Records the receipt and ends the run, in one wait for the disk; returns the receipt's hash.
fn end_run(
    evidence: &mut dyn Evidence,
    receipt: &Value,
    recovered: Option<&Value>,
    sync: Option<&mut SyncFile<'_>>,
) -> Result<String, EffectError> {
    // The earlier landing ended before this one began, and the tape keeps that order.
    if let Some(recovered) = recovered {
        records::record_at_sync(evidence, RecordKind::Recovered, recovered)?;
    }
    let head = records::record_at_sync(evidence, RecordKind::Receipt, receipt)?;
    // Receipt and checkpoint in one wait for the disk.
    evidence.make_durable(RunPhase::Ends, sync)?;
    Ok(head)
}

/// Describes the landing in one sentence.
pub(super) fn describe_landed(target: &TargetInfo, landed: &Landed, files: &[String]) -> String {
    let count = if files.len() == 1 {
        "1 file".to_owned()
    } else {
        format!("{} files", files.len())
    };
    let branch = target
        .refname
        .strip_prefix("refs/heads/")
        .unwrap_or(&target.refname);
    let short = landed
        .commit
        .as_deref()
        // Ten digits of a commit id name it in most repositories.
        .and_then(|commit| commit.get(..10))
        .unwrap_or_default();
    match target.writes {
        Writes::CommitAndWorkTree | Writes::CommitOnly => format!("landed {count} on {branch} as {short}"),
        Writes::WorkTreeOnly => format!("landed {count} in the working tree, without a commit"),
        Writes::Nothing => format!("{count} would land on {branch}; nothing was written"),
    }
}
