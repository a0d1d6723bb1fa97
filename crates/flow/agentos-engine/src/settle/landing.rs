//! The executor's part, and what it records while it writes.
//!
//! Owns: intent and receipt on the tape, and the sentence about what was landed. Never: takes a landing back because it could not be recorded; that is told.

use agentos_evidence::{RecordKind, SyncFile};
use agentos_landing::Change;
use agentos_policy::{ApprovalHashes, Approved};
use serde_json::Value;

use super::proposal::{Deps, Proposal};
use crate::ports::{EffectError, Evidence, LandOrder, Landed, LandingRecords, RunPhase, TargetInfo, Writes};
use crate::records::{self, IntentBody};

/// What the executor did.
pub(super) struct Written {
    /// What was landed, and the hash of its receipt.
    pub landed: Result<(Landed, Result<String, EffectError>), EffectError>,
    /// The hash of the intent, if it came to that.
    pub intent: Option<String>,
}

/// Has the change written.
pub(super) fn write(
    deps: &mut Deps<'_>,
    proposal: &Proposal<'_>,
    target: &TargetInfo,
    approved: Approved<Change>,
) -> Written {
    let order = LandOrder {
        run: proposal.run.to_string(),
        message: proposal.message.clone(),
        trailers: proposal.trailers.clone(),
        now: deps.clock.now(),
    };
    let mut recorder = Recorder {
        hashes: approved.hashes().clone(),
        evidence: &mut *deps.evidence,
        intent: None,
        receipt: None,
    };
    let landed = deps.repo.land(approved, target, &order, &mut recorder);
    let (mut intent, receipt) = (recorder.intent, recorder.receipt);
    let landed = match landed {
        Ok(landed) => {
            let receipt = receipt
                .unwrap_or_else(|| end_run(deps.evidence, &landed.receipt, landed.recovered.as_ref(), None));
            Ok((landed, receipt))
        }
        Err(error) => {
            // Nobody shall wait for the tape while this one lands again.
            if deps.evidence.make_durable(RunPhase::Continues, None).is_err() {
                intent = None;
            }
            let recovered = error.details.recovered.as_ref();
            let recorded =
                recovered.map(|body| records::record_now(deps.evidence, RecordKind::Recovered, body));
            match recorded {
                Some(Err(error)) => Err(error),
                Some(Ok(_)) | None => Err(error),
            }
        }
    };
    Written { landed, intent }
}

struct Recorder<'a> {
    evidence: &'a mut dyn Evidence,
    hashes: ApprovalHashes,
    intent: Option<String>,
    /// The hash of the receipt, once the change is made.
    receipt: Option<Result<String, EffectError>>,
}

impl LandingRecords for Recorder<'_> {
    fn intent(&mut self, plan: Value) -> Result<String, EffectError> {
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
    if let Some(recovered) = recovered {
        records::record_at_sync(evidence, RecordKind::Recovered, recovered)?;
    }
    let head = records::record_at_sync(evidence, RecordKind::Receipt, receipt)?;
    evidence.make_durable(RunPhase::Ends, sync)?;
    Ok(head)
}

/// What was landed, in words.
pub(super) fn told(target: &TargetInfo, landed: &Landed, files: &[String]) -> String {
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
        .and_then(|commit| commit.get(..10))
        .unwrap_or_default();
    match target.writes {
        Writes::CommitAndWorkTree | Writes::CommitOnly => format!("landed {count} on {branch} as {short}"),
        Writes::WorkTreeOnly => format!("landed {count} in the work tree, without a commit"),
        Writes::Nothing => format!("{count} would land on {branch}; nothing was written"),
    }
}
