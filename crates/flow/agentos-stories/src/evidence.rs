//! Reading the evidence of a repository or of an exported copy.
//!
//! Owns: which tape is opened, and against which keys and commits it is verified. Never: writes a record.

use std::path::{Path, PathBuf};

use agentos_api::NextStep;
use agentos_engine::Cause;
use agentos_engine::ports::EffectError;
use agentos_engine::recorded::unknown_run;
use agentos_evidence::{
    CommitLookup, ProviderStats, PublicKey, Record, RunSummary, Store, VerifyChecks, VerifyReport,
    is_own_evidence, trusted_keys,
};
use agentos_store::LedgerLock;
use schemars::JsonSchema;
use serde::Serialize;

use crate::Stories;
use crate::published::verify_all;
use crate::run_log::{LoggedRun, log_run};
use agentos_calls::ledger;
use agentos_calls::ledger::ledger_error;
use agentos_ground::Ground;
use agentos_ground::error::usage_error;
use agentos_ground::history::History;
use agentos_ground::run_ref::{find_newest, find_run};
use agentos_ground::tape::{evidence_error, open_store};
use agentos_ground::{clock, evidence_key, files, repository};

/// The output of `agentos evidence list --json`.
#[derive(Serialize, JsonSchema)]
pub struct RunList<'a> {
    /// Version of this shape: 1.
    pub version: u32,
    /// The runs, newest last.
    pub runs: &'a [RunSummary],
}

/// The output of `agentos evidence stats --json`.
#[derive(Serialize, JsonSchema)]
pub struct StatsReport {
    /// Version of this shape: 1.
    pub version: u32,
    /// Each provider with each model.
    pub providers: Vec<ProviderStats>,
}

/// The output of `agentos evidence show --json`.
#[derive(Serialize, JsonSchema)]
pub struct RunRecords<'a> {
    /// Version of this shape: 1.
    pub version: u32,
    /// The run.
    pub run: &'a str,
    /// Records of the run, in order.
    pub records: &'a [Record],
}

/// The order to verify evidence, and how strictly.
#[derive(Debug, Clone, Default)]
pub struct VerifySpec {
    /// An exported folder. `None` means the repository's own evidence.
    pub dir: Option<PathBuf>,
    /// True if the user's ledger is meant and no repository.
    pub ledger: bool,
    /// A commit or a range that must have evidence. `None` requires it of none.
    pub commits: Option<String>,
    /// A file of keys. `None` means the keys that the user trusts.
    pub keys: Option<PathBuf>,
    /// True if missing signatures and missing evidence are faults.
    pub require: bool,
}

impl Stories<'_> {
    /// Lists the runs on the repository's tape, the newest last.
    ///
    /// # Errors
    /// If there is no repository, or its tape cannot be read.
    pub fn list_runs(self) -> Result<Vec<RunSummary>, EffectError> {
        open_store(self.ground)?
            .runs()
            .map_err(|error| evidence_error(&error))
    }

    /// Lists the newest runs, the newest first. The list is empty if they cannot be read. Creates no folder.
    #[must_use]
    pub fn newest_runs(self, most: usize) -> Vec<LoggedRun> {
        // Shell completion calls this, where an error would only disturb the line that is typed.
        let Ok(repo) = repository::open(self.ground) else {
            return Vec::new();
        };
        let dir = repo.state_dir();
        if !dir.is_dir() {
            return Vec::new();
        }
        let newest = Store::open(&dir).and_then(|store| store.newest_runs(most));
        let runs = newest.map(|newest| newest.runs).unwrap_or_default();
        runs.iter().rev().map(|run| log_run(run, &clock::now())).collect()
    }

    /// Lists the local branches. The list is empty if they cannot be read.
    #[must_use]
    pub fn branch_names(self) -> Vec<String> {
        // Shell completion calls this too.
        let repo = repository::open(self.ground).ok();
        repo.and_then(|repo| repo.branch_names().ok()).unwrap_or_default()
    }

    /// Reads the records of the run that a reference names, of the newest if there is none. Returns its id with them.
    ///
    /// # Errors
    /// If there is no such run, or the tape cannot be read.
    pub fn run_records(self, run: Option<&str>) -> Result<(String, Vec<Record>), EffectError> {
        let store = open_store(self.ground)?;
        let run = match run {
            Some(reference) => find_run(&store, reference, None)?,
            None => newest_run(&store)?.run,
        };
        let records = store.run(&run).map_err(|error| evidence_error(&error))?;
        if records.is_empty() {
            return Err(unknown_run(&run));
        }
        Ok((run, records))
    }

    /// Counts runs by provider and model.
    ///
    /// # Errors
    /// If there is no repository, or its tape cannot be read.
    pub fn run_stats(self) -> Result<Vec<ProviderStats>, EffectError> {
        open_store(self.ground)?
            .stats()
            .map_err(|error| evidence_error(&error))
    }

    /// Verifies the user's ledger: its chain, texts and signatures, and every cost.
    fn verify_ledger(self, spec: &VerifySpec) -> Result<VerifyReport, EffectError> {
        let tape = ledger::existing_tape(self.ground).ok_or_else(|| {
            usage_error("there is no ledger yet").hint("it begins with the first call of a model")
        })?;
        let keys = read_trusted_keys(self.ground, spec.keys.as_deref())?;
        let checks = VerifyChecks {
            keys,
            require: spec.require,
            ..VerifyChecks::default()
        };
        // Between the record of a deletion and the removal of its texts the ledger looks damaged. A folder that cannot be written, such
        // as one on a read-only disk, has no deletion to wait for.
        let _kept = tape.parent().map(LedgerLock::keep_texts);
        let store = Store::open(&tape).map_err(|error| ledger_error(&error))?;
        store.verify(&checks).map_err(|error| ledger_error(&error))
    }

    /// Verifies the tape, its blobs, its signatures and the commits that name it. The report lists the faults of the evidence.
    ///
    /// # Errors
    /// If there is nothing to verify, or it cannot be read.
    pub fn verify_evidence(self, spec: &VerifySpec) -> Result<VerifyReport, EffectError> {
        if spec.ledger {
            return self.verify_ledger(spec);
        }
        // A reviewer has the export but not the repository.
        let repo = match (&spec.dir, self.ground.named_repository(), &spec.commits) {
            (Some(_), None, None) => None,
            (Some(_) | None, _, _) => Some(repository::open(self.ground)?),
        };
        let history = match (&repo, &spec.commits) {
            (Some(repo), Some(range)) => Some(History::read_range(repo, range)?),
            (Some(repo), None) => Some(History::read(repo)?),
            (None, _) => None,
        };
        let keys = read_trusted_keys(self.ground, spec.keys.as_deref())?;
        if let (None, Some(repo), Some(history)) = (&spec.dir, &repo, &history) {
            return verify_all(repo, history, &keys, spec.require);
        }
        let dir = match (&spec.dir, &repo) {
            (Some(dir), _) => find_export(self.ground, &self.ground.environment().cwd.join(dir))?,
            (None, Some(repo)) => repo.state_dir(),
            (None, None) => return Err(usage_error("there is no evidence to verify")),
        };
        let store = Store::open(&dir).map_err(|error| evidence_error(&error))?;
        let checks = VerifyChecks {
            history: history.as_ref().map(|history| history as &dyn CommitLookup),
            keys,
            require: spec.require,
            // An export may leave content out and has a signed end. The repository's own evidence has neither, and must not
            // pass as an export, or missing content would be accepted.
            export: spec.dir.is_some() && !is_own(&dir, repo.as_ref().map(|repo| repo.state_dir())),
            partial_history: false,
            others: Vec::new(),
        };
        store.verify(&checks).map_err(|error| evidence_error(&error))
    }
}

/// Returns true if a named folder is the evidence of a repository itself.
fn is_own(dir: &Path, of_repository: Option<PathBuf>) -> bool {
    // Links and relative paths give one folder several names, so the resolved paths are compared.
    let same = |other: PathBuf| match (dir.canonicalize(), other.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        (_, _) => false,
    };
    is_own_evidence(dir) || of_repository.is_some_and(same)
}

fn find_export(ground: &Ground, dir: &Path) -> Result<PathBuf, EffectError> {
    if dir.is_dir() {
        return Ok(dir.to_owned());
    }
    Err(usage_error(format!(
        "there is no folder `{}`",
        ground.environment().shorten_path(dir)
    ))
    .suggest_steps([NextStep::NameExport]))
}

/// Returns the keys whose signatures are trusted.
fn read_trusted_keys(ground: &Ground, file: Option<&Path>) -> Result<Vec<PublicKey>, EffectError> {
    let known = match file {
        Some(file) => {
            let file = ground.environment().cwd.join(file);
            let name = ground.environment().shorten_path(&file);
            // A missing list counts as empty for `trusted_keys`. One that the user named must exist: a typo would trust nobody.
            if let Err(error) = std::fs::metadata(&file) {
                return Err(files::unreadable_file(&name, &error));
            }
            let known = trusted_keys(&file).map_err(|error| evidence_error(&error))?;
            if known.is_empty() {
                return Err(usage_error(format!("there is no Ed25519 key in `{name}`")).hint(
                    "write lines as `NAME ssh-ed25519 AAAA…`, as OpenSSH's `allowed_signers` has them",
                ));
            }
            known
        }
        None => evidence_key::read_trusted_keys(ground)?,
    };
    Ok(known.iter().map(|known| known.key).collect())
}

/// Returns the last run, as `@` names it.
///
/// # Errors
/// If there is none, or the tape cannot be read.
pub(crate) fn newest_run(store: &Store) -> Result<RunSummary, EffectError> {
    find_newest(store)?.ok_or_else(|| {
        EffectError::new(Cause::Usage, "no-runs", "there are no runs on the tape yet")
            .suggest_steps([NextStep::LandDiff, NextStep::RunTask { provider: None }])
    })
}
