//! Implements the engine's repository port with the executor.
//!
//! Owns: the translation of targets, errors and receipts between the two, and the layers of policy. Never: writes to the
//! repository itself; the executor does.

use agentos_api::{Activity, Notice};
use agentos_evidence::SyncFile;
use std::any::Any;
use std::cell::RefCell;
use std::rc::Rc;

use agentos_engine::Cause;
use agentos_engine::ports::{
    self, AccountedRuns, ActivePolicy, EffectError, LandOrder, Landed, LandingPlace, LandingRecords,
    Measured, PastCommit, TargetInfo,
};
use agentos_engine::recorded::parse_record;
use agentos_evidence::{Record, RecordKind, Store, TapeEnd};
use agentos_executor::{
    ExecError, IdentityEnv, Intent, IntentSink, LandPlan, Measurement, Receipt, ReceiptFile, RepoError,
    Repository, Target, TargetSpec,
};
use agentos_landing::{Base, Change};
use agentos_policy::{Approved, PolicySet, PolicySource, TakenText};
use agentos_signer::SigningEnvironment;
use agentos_tool::StateMeasurement;

use crate::Ground;
use crate::commit_signing::{self, Wish};
use crate::control::StopFlag;
use crate::error::repo_error;
use crate::kept_files;
use crate::mails::name_author;
use crate::notice::uncommitted_notice;
use crate::policy_trust;
use crate::repository::exec_error;
use crate::repository::to_exec_target;
use crate::repository::to_target_info;
use crate::search_folder::SearchFolder;
use crate::tape::{TapeReader, evidence_error};
use crate::watched_base::WatchedBase;

/// The repository with one target, for one run.
pub struct RepositoryPort {
    repo: Repository,
    spec: RefCell<TargetSpec>,
    identity: IdentityEnv,
    /// The environment for the program that signs commits, such as `gpg`.
    surroundings: SigningEnvironment,
    ground: Ground,
    /// The flag that is set when the run is asked to stop.
    stop: StopFlag,
    layers: Vec<PolicySource>,
    /// The last policy that was loaded, with its target. `None` before the first.
    policy: RefCell<Option<(TargetInfo, Rc<ActivePolicy>)>>,
}

impl RepositoryPort {
    /// Makes a port for this target. `layers` are the sources of policy besides the repository's own.
    pub fn new(ground: &Ground, repo: Repository, spec: TargetSpec, layers: Vec<PolicySource>) -> Self {
        Self {
            surroundings: commit_signing::signing_environment(ground, &repo),
            ground: ground.clone(),
            stop: StopFlag::default(),
            repo,
            spec: RefCell::new(spec),
            identity: ground.environment().git_identity(),
            layers,
            policy: RefCell::new(None),
        }
    }

    /// Makes this flag end a signing program when it is set.
    pub fn stopped_by(mut self, stop: StopFlag) -> Self {
        self.stop = stop;
        self
    }

    /// Returns the repository behind the port.
    pub fn repo(&self) -> &Repository {
        &self.repo
    }
}

impl RepositoryPort {
    /// Resolves a target. A landing without a commit builds on earlier ones whose result is still there.
    fn resolve_on_landed(&self, spec: &TargetSpec) -> Result<Target, EffectError> {
        let resolve = |spec: &TargetSpec| self.repo.resolve(spec);
        let found = match self.with_landed(spec)? {
            // A later commit may need the place of such a file; then HEAD alone is the base.
            Some(wider) => resolve(&wider).or_else(|error| match error {
                RepoError::Overtaken => resolve(spec),
                other => Err(other),
            }),
            None => resolve(spec),
        };
        found.map_err(|error| repo_error(&error))
    }

    /// Returns the target that includes the results of earlier landings without a commit. `None` if there are none, or the
    /// target is another one.
    fn with_landed(&self, spec: &TargetSpec) -> Result<Option<TargetSpec>, EffectError> {
        Ok(match spec {
            TargetSpec::WorkTreeOnly => {
                let receipts = receipts_since(&self.open_store()?, TapeEnd::Empty)?;
                let files = self.repo.landed_uncommitted(&receipts);
                let files = files.map_err(|error| exec_error(&error))?;
                (!files.is_empty()).then_some(TargetSpec::WorkTreeWith { files })
            }
            TargetSpec::DryRun(real) => self
                .with_landed(real)?
                .map(|wider| TargetSpec::DryRun(Box::new(wider))),
            TargetSpec::CurrentBranch
            | TargetSpec::Branch(_)
            | TargetSpec::WorkTreeWith { .. }
            | TargetSpec::AtHead => None,
        })
    }

    /// Opens the evidence, for reading.
    fn open_store(&self) -> Result<Store, EffectError> {
        Store::open(&self.repo.state_dir()).map_err(|error| evidence_error(&error))
    }
}

impl ports::Repository for RepositoryPort {
    fn aim(&self, place: &LandingPlace) -> Result<(), EffectError> {
        *self.spec.borrow_mut() = spec_of(place)?;
        Ok(())
    }

    fn target(&self) -> Result<TargetInfo, EffectError> {
        let spec = self.spec.borrow();
        let target = self.resolve_on_landed(&spec)?;
        let info = to_target_info(&target);
        if spec.commits() {
            // Author and signature are needed only for the commit, but they are checked now, before the model is called.
            // Otherwise its answer would be paid for and could not be committed.
            let by = self
                .repo
                .authorship(&self.identity)
                .map_err(|error| repo_error(&error))?;
            commit_signing::read_signing(&self.repo, &by.committer, &self.surroundings)?;
        }
        Ok(info)
    }

    fn list_changed_paths(&self, target: &TargetInfo, limit: usize) -> Vec<PastCommit> {
        SearchFolder::new(&self.repo).list_changed_paths(&self.repo, &target.base_commit, limit)
    }

    fn open_index(&self) -> Option<Box<dyn ports::ContextIndex>> {
        Some(Box::new(SearchFolder::new(&self.repo)))
    }

    fn keep_withheld(&self, taken: &[TakenText]) -> Result<(), EffectError> {
        kept_files::add_kept(&self.repo, taken)
    }

    fn base(&self, target: &TargetInfo) -> Result<Box<dyn Base + '_>, EffectError> {
        let stage = self.stop.open_base()?;
        let base = self.repo.base(&to_exec_target(target));
        let base = base.map_err(|error| repo_error(&error))?;
        Ok(Box::new(WatchedBase::new(base, stage)))
    }

    fn policy(&self, target: &TargetInfo) -> Result<Rc<ActivePolicy>, EffectError> {
        // The policy is kept, because compiling its rules takes longer than landing a small change. It depends only on the
        // base.
        if let Some((base, policy)) = &*self.policy.borrow()
            && base == target
        {
            return Ok(Rc::clone(policy));
        }
        let sources = crate::policy::all_sources(&self.ground, &self.repo, &self.layers, target)?;
        let set = PolicySet::load(&sources).map_err(|error| crate::policy::policy_error(&error))?;
        let notice = policy_trust::not_agreed_notice(&set);
        notice.into_iter().for_each(|notice| self.ground.notify(notice));
        let set = crate::policy::in_repository(set, &self.repo, &target.base_tree)?;
        let recorded = sources.iter().map(|source| {
            serde_json::json!({ "layer": source.layer.as_str(), "name": source.name, "text": source.text })
        });
        let policy = Rc::new(ActivePolicy {
            set,
            sources: recorded.collect(),
        });
        *self.policy.borrow_mut() = Some((target.clone(), Rc::clone(&policy)));
        Ok(policy)
    }

    fn check_named(&self, target: &TargetInfo, paths: &[String]) -> Result<(), EffectError> {
        let names: Vec<&str> = paths.iter().map(String::as_str).collect();
        let busy = self.repo.check_named_files(&to_exec_target(target), &names);
        let busy = busy.map_err(|error| exec_error(&error))?;
        if !busy.is_empty() {
            self.ground.notify(uncommitted_notice(&busy));
        }
        Ok(())
    }

    fn count_commits(&self, old: &str, new: &str) -> Option<u64> {
        self.repo.count_commits(old, new)
    }

    fn measure(&self) -> Result<Box<dyn Measured>, EffectError> {
        // The end of the tape is read before the measurement. A landing that ends in between is then measured and also
        // listed later, which does no harm. In the other order its receipt would be missing.
        let tape_end = self.open_store()?.tape_end();
        let measured = self.repo.measure().map_err(|error| repo_error(&error))?;
        Ok(Box::new(MeasuredState { measured, tape_end }))
    }

    fn account_for(&self, before: &dyn Measured) -> Result<Option<AccountedRuns>, EffectError> {
        let Some(before) = before.as_any().downcast_ref::<MeasuredState>() else {
            return Ok(None);
        };
        let after = self.repo.measure_settled().map_err(|error| exec_error(&error))?;
        let receipts = receipts_since(&self.open_store()?, before.tape_end)?;
        let is_accounted = self.repo.accounts_for(&before.measured, &after, &receipts);
        Ok(is_accounted.then(|| AccountedRuns {
            after: after.state().clone(),
            runs: receipts.into_iter().map(|receipt| receipt.run).collect(),
        }))
    }

    fn land(
        &self,
        approved: Approved<Change>,
        target: &TargetInfo,
        order: &LandOrder,
        records: &mut dyn LandingRecords,
    ) -> Result<Landed, EffectError> {
        // The hash of the policy that is active now. The executor compares it with the approval's, and refuses a change that
        // was approved by other rules.
        let policy_sha256 = self.policy(target)?.set.sha256().to_owned();
        let target = to_exec_target(target);
        let mut wish = Wish::default();
        let authorship = match target.writes.commits() {
            true => {
                let by = self
                    .repo
                    .authorship(&self.identity)
                    .map_err(|error| repo_error(&error))?;
                wish = commit_signing::read_signing(&self.repo, &by.committer, &self.surroundings)?;
                wish.stop_by(&self.stop);
                if wish.commit_signer().is_some() {
                    self.ground.observer().on_activity(Activity::SigningCommit);
                }
                Some(match &order.author {
                    Some(author) => name_author(by, author),
                    None => by,
                })
            }
            false => None,
        };
        let plan = LandPlan {
            run: order.run.clone(),
            message: order.message.clone(),
            trailers: order.trailers.clone(),
            authorship,
            time_unix: order.now.unix_seconds(),
            utc_offset_minutes: 0,
            policy_sha256,
            target,
        };
        let mut sink = RecordSink {
            records,
            failed: None,
        };
        let _journal = self.stop.open_journal()?;
        let receipt = self
            .repo
            .land_signed(approved, &plan, &mut sink, wish.commit_signer());
        let receipt = match (receipt, sink.failed) {
            (Ok(receipt), _) => receipt,
            (Err(error), from_sink) => {
                // The tape's error is reported only if the executor names the evidence as the cause. If the repository's files
                // cannot be written, the tape fails as well, because both are synced in the same call.
                let from_sink = from_sink.filter(|_| matches!(error, ExecError::EvidenceNotDurable(_)));
                let mut error = from_sink.unwrap_or_else(|| exec_error(&error));
                let recovered = self.repo.take_recovered();
                error.details.recovered = recovered.as_ref().map(to_json).transpose()?;
                return Err(error);
            }
        };
        if let Some(note) = wish.unsigned_note() {
            self.ground.notify(Notice::new("commit-unsigned", note));
        }
        let json = to_json(&receipt)?;
        let recovered = receipt.recovered.as_ref().map(to_json).transpose()?;
        Ok(Landed {
            commit: receipt.commit,
            tree: receipt.tree,
            kept: receipt.kept,
            recovered,
            receipt: json,
        })
    }

    fn pause_landings(&self) -> Result<ports::LandingPause, EffectError> {
        let pause = self.repo.pause_landings().map_err(|error| exec_error(&error))?;
        Ok(ports::LandingPause {
            recovered: pause.recovered.as_ref().map(to_json).transpose()?,
            lock: Box::new(pause),
        })
    }
}

/// Passes the executor's records on to the engine, which writes them to the tape.
struct RecordSink<'a> {
    records: &'a mut dyn LandingRecords,
    /// The engine's error with all its details. `None` if nothing failed.
    failed: Option<EffectError>,
}

impl RecordSink<'_> {
    /// Returns an error's message for the executor, which accepts only text, and keeps the whole error in `failed`.
    fn keep_error<T>(&mut self, result: Result<T, EffectError>) -> Result<T, String> {
        result.map_err(|error| {
            let message = error.message.clone();
            self.failed = Some(error);
            message
        })
    }
}

impl IntentSink for RecordSink<'_> {
    fn intent(&mut self, intent: &Intent) -> Result<String, String> {
        let json = serde_json::to_value(intent).map_err(|error| error.to_string())?;
        let recorded = self.records.intent(json);
        self.keep_error(recorded)
    }

    fn durable(&mut self, sync: &mut SyncFile<'_>) -> Result<(), String> {
        let durable = self.records.durable(sync);
        self.keep_error(durable)
    }

    fn receipt(&mut self, receipt: &Receipt, sync: &mut SyncFile<'_>) {
        let recovered = receipt.recovered.as_ref().map(to_json).transpose();
        // This function cannot return an error. `land` converts the same receipt again and reports the failure.
        if let (Ok(json), Ok(recovered)) = (to_json(receipt), recovered) {
            self.records.receipt(json, recovered, sync);
        }
    }
}

/// A measurement of the repository, with the end of the tape before it.
struct MeasuredState {
    measured: Measurement,
    /// End of the tape before the measurement.
    tape_end: TapeEnd,
}

/// Reads the receipts that were recorded after this position on the tape. Returns none if the position is unknown.
fn receipts_since(store: &Store, tape_end: TapeEnd) -> Result<Vec<Receipt>, EffectError> {
    let is_later = |record: &Record| match tape_end {
        TapeEnd::Empty => true,
        TapeEnd::After(end) => record.seq > end,
        TapeEnd::Unknown => false,
    };
    let mut receipts = Vec::new();
    for record in store.records().map_err(|error| evidence_error(&error))? {
        let record = record.map_err(|error| evidence_error(&error))?;
        if record.kind == RecordKind::Receipt && is_later(&record) {
            receipts.push(parse_record(&TapeReader(store), &record)?);
        }
    }
    Ok(receipts)
}

impl Measured for MeasuredState {
    fn state(&self) -> StateMeasurement {
        self.measured.state().clone()
    }

    fn changed_paths(&self, later: &dyn Measured, limit: usize) -> Vec<String> {
        later
            .as_any()
            .downcast_ref::<Self>()
            .map(|later| self.measured.changed_paths(&later.measured, limit))
            .unwrap_or_default()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

fn to_json<T: serde::Serialize>(value: &T) -> Result<serde_json::Value, EffectError> {
    serde_json::to_value(value).map_err(|error| EffectError::from_error(Cause::Internal, "receipt", &error))
}

/// Reads the files of a landing as the executor recorded them.
///
/// # Errors
/// If they have an unexpected form.
pub fn receipt_files(recorded: &serde_json::Value) -> Result<Vec<ReceiptFile>, EffectError> {
    serde::Deserialize::deserialize(recorded).map_err(|error| {
        let message = format!("the files of a landing have an unexpected form: {error}");
        EffectError::new(Cause::Evidence, "evidence-invalid-record", message)
    })
}

/// Converts a place to the executor's type.
fn spec_of(place: &LandingPlace) -> Result<TargetSpec, EffectError> {
    Ok(match place {
        LandingPlace::CheckedOut => TargetSpec::CurrentBranch,
        LandingPlace::Branch(name) => TargetSpec::Branch(name.clone()),
        LandingPlace::WorkTree => TargetSpec::WorkTreeOnly,
        LandingPlace::WorkTreeWith { files } => TargetSpec::WorkTreeWith {
            files: receipt_files(files)?,
        },
        LandingPlace::AtHead => TargetSpec::AtHead,
        LandingPlace::DryRun(real) => TargetSpec::DryRun(Box::new(spec_of(real)?)),
    })
}
