//! The ports: traits through which effects reach the flow.
//!
//! Owns: the traits and the shape of a failed effect. Never: implements one; the host does, from the executor, the
//! evidence store, a front end's person and a clock.

use std::any::Any;
use std::error::Error;
use std::rc::Rc;
use std::time::Duration;

use agentos_api::{NextStep, list_causes, word_full_disk};
use agentos_evidence::{RecordKind, SyncFile};
use agentos_landing::{Base, Change};
use agentos_policy::{Approved, LandingTarget, PolicySet, TakenText};
use agentos_tool::{BoxFuture, ProgressSink, StateMeasurement, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Cause, Tried};

mod consent;
mod context_index;
mod hooks;
mod recorded;
mod succession;

pub use agentos_context::PastCommit;
pub use consent::{Answer, ConsentFuture, ConsentPort, ConsentQuestion};
pub use context_index::ContextIndex;
pub use recorded::{
    LandingCommit, LandingHistory, RecordReader, RecordStream, RecordedLanding, ReplayObjects,
};

/// The error of an effect that did not happen. It contains everything that a person needs, and nothing secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct EffectError {
    /// Stable code, such as `dirty-overlap`.
    pub code: String,
    /// Kind of the failure, from which a front end derives the exit code.
    pub cause: Cause,
    /// Description of the failure and its object, in one sentence.
    pub message: String,
    /// Advice on the next step, in a sentence that names no flag or verb of a front end. `None` if there is none.
    pub hint: Option<String>,
    /// Possible next steps as data, the best first. A front end words them.
    pub next: Vec<NextStep>,
    /// True if the branch moved meanwhile: landing again on the new base may succeed.
    pub base_moved: bool,
    /// True if the change was written all the same, and only a later step failed.
    pub written: bool,
    /// Parts that few errors have. Boxed, because results with this error are passed by value, and clippy's limit for them is 128
    /// bytes.
    pub details: Box<EffectDetails>,
}

/// Parts of a failed effect that few errors have, or few readers need.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EffectDetails {
    /// Causes from the outermost to the root. The message may contain their words already.
    pub causes: Vec<String>,
    /// Record of an earlier, interrupted landing that was finished before this failed. `None` if there was none.
    pub recovered: Option<serde_json::Value>,
}

impl EffectError {
    /// Makes the error of a failed effect.
    #[must_use]
    pub fn new(cause: Cause, code: &str, message: impl Into<String>) -> Self {
        Self {
            code: code.to_owned(),
            cause,
            message: word_full_disk(&message.into()),
            hint: None,
            next: Vec::new(),
            base_moved: false,
            written: false,
            details: Box::default(),
        }
    }

    /// Makes a failed effect of an error whose own words are the message. The error's sources are the causes.
    #[must_use]
    pub fn from_error(cause: Cause, code: &str, error: &dyn Error) -> Self {
        Self::new(cause, code, error.to_string()).caused_by(list_causes(error))
    }

    /// Makes a failed effect with its own message. The error is the first cause, and the error's sources follow.
    #[must_use]
    pub fn from_source(cause: Cause, code: &str, message: impl Into<String>, error: &dyn Error) -> Self {
        // The message is another text here, so the error itself is a cause as well.
        let causes = std::iter::once(error.to_string()).chain(list_causes(error));
        Self::new(cause, code, message).caused_by(causes)
    }

    /// Adds causes, from the outermost to the root.
    #[must_use]
    pub fn caused_by(mut self, causes: impl IntoIterator<Item = String>) -> Self {
        let causes = causes.into_iter().map(|cause| word_full_disk(&cause));
        self.details.causes.extend(causes);
        self
    }

    /// Returns the causes, from the outermost to the root.
    #[must_use]
    pub fn causes(&self) -> &[String] {
        &self.details.causes
    }

    /// Adds advice on the next step.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds possible next steps.
    #[must_use]
    pub fn suggest_steps(mut self, steps: impl IntoIterator<Item = NextStep>) -> Self {
        self.next.extend(steps);
        self
    }
}

/// The resolved target of a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TargetInfo {
    /// The full ref name, such as `refs/heads/main`.
    pub refname: String,
    /// The commit the change is judged against.
    pub base_commit: String,
    /// The tree of the base commit.
    pub base_tree: String,
    /// True if the branch does not exist yet.
    pub creates_branch: bool,
    /// Parts of the repository that landing will write.
    pub writes: Writes,
}

impl TargetInfo {
    /// Returns the target to which an approval is bound.
    #[must_use]
    pub fn place(&self) -> LandingTarget<'_> {
        LandingTarget {
            base_commit: &self.base_commit,
            target_ref: &self.refname,
            writes: self.writes.as_str(),
        }
    }
}

/// Parts of the repository that a landing writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Writes {
    /// A commit on the checked-out branch, the index and the working tree.
    CommitAndWorkTree,
    /// A commit on another branch.
    CommitOnly,
    /// The index and the working tree, without a commit.
    WorkTreeOnly,
    /// Nothing.
    Nothing,
}

impl Writes {
    /// Returns the name in JSON, on the tape and in the hashes of a consent.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        // The tape and the hashes of every consent contain these words: another spelling would void the requests that
        // wait, and runs of earlier versions could not be replayed.
        match self {
            Self::CommitAndWorkTree => "commit-and-work-tree",
            Self::CommitOnly => "commit-only",
            Self::WorkTreeOnly => "work-tree-only",
            Self::Nothing => "nothing",
        }
    }
}

/// A landing that the executor has written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Landed {
    /// The commit made. `None` if the target takes no commit.
    pub commit: Option<String>,
    /// The resulting tree.
    pub tree: String,
    /// Paths that somebody edited while the change was written; their work was left alone.
    pub kept: Vec<String>,
    /// The record of an earlier, interrupted landing that was finished first. `None` if there was none.
    pub recovered: Option<serde_json::Value>,
    /// The executor's receipt, for the evidence.
    pub receipt: serde_json::Value,
}

/// The author of a change, if it is not the person who lands it: a mail names one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CommitAuthor {
    /// Name. Not trusted: anybody can write any name.
    pub name: String,
    /// E-mail address.
    pub email: String,
    /// Time at which the author wrote the change, in seconds since 1970. `None` if it is the time of the commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unix_seconds: Option<i64>,
    /// Minutes that the author's clock was ahead of UTC at that time.
    #[serde(default)]
    pub utc_offset_minutes: i32,
}

/// The executor's order, besides the approved change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LandOrder {
    /// The run, for journal, trailers and reflog.
    pub run: String,
    /// Commit message without trailers.
    pub message: String,
    /// Trailers besides run and evidence hash.
    pub trailers: Vec<(String, String)>,
    /// The author whom the proposal names. `None` if the person who lands it is the author.
    pub author: Option<CommitAuthor>,
    /// The current time.
    pub now: Timestamp,
}

/// Records the steps of a landing while it is under way.
pub trait LandingRecords {
    /// Records the intent and returns its hash. It need not be durable before [`LandingRecords::durable`] returns.
    ///
    /// # Errors
    /// If it cannot be recorded: then nothing is written.
    fn intent(&mut self, intent: serde_json::Value) -> Result<String, EffectError>;

    /// Makes the intent durable; the tape's file is synced by `sync`. Nothing visible is written before this returns.
    ///
    /// # Errors
    /// If it cannot be made durable: then nothing is written.
    fn durable(&mut self, sync: &mut SyncFile<'_>) -> Result<(), EffectError>;

    /// Records the receipt of a change that is written, after the record of an earlier, recovered landing, and ends the
    /// run; the tape's file is synced by `sync`. A failure is reported at the end of the run: the change stands.
    fn receipt(
        &mut self,
        receipt: serde_json::Value,
        recovered: Option<serde_json::Value>,
        sync: &mut SyncFile<'_>,
    );
}

/// The active rules, and their text for the evidence.
#[derive(Debug)]
pub struct ActivePolicy {
    /// The rules.
    pub set: PolicySet,
    /// Every source except the built-in ones, with its layer and name.
    pub sources: serde_json::Value,
}

/// A measurement of the repository that can be compared with a later one.
pub trait Measured {
    /// Returns the digests.
    fn state(&self) -> StateMeasurement;
    /// Returns the paths of the working tree that differ from `later`, at most `limit`.
    fn changed_paths(&self, later: &dyn Measured, limit: usize) -> Vec<String>;
    // Measurements reach the flow as trait objects, and only their implementation knows the fields to compare. It gets
    // its own type back here; no run accounts for the differences of a foreign one.
    /// Returns the concrete value, for comparison inside one implementation.
    fn as_any(&self) -> &dyn std::any::Any;
}

/// Runs that account for what differs between two measurements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountedRuns {
    /// The state now.
    pub after: StateMeasurement,
    /// The runs, in the order in which they landed.
    pub runs: Vec<String>,
}

/// The place where the change of a run goes, not yet resolved to a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LandingPlace {
    /// The checked-out branch, with index and working tree.
    CheckedOut,
    /// The branch of this name; made from HEAD if it does not exist.
    Branch(String),
    /// Index and working tree, without a commit.
    WorkTree,
    /// Index and working tree, which still hold an earlier landing without a commit.
    WorkTreeWith {
        /// The files as they were landed: [`RecordedLanding::files`].
        files: serde_json::Value,
    },
    /// Nowhere: the change is judged on HEAD's commit, and nothing is written.
    AtHead,
    /// Nowhere, but refused where this place would refuse it.
    DryRun(Box<LandingPlace>),
}

/// The repository as the flow sees it: one target, read and written through the executor.
pub trait Repository {
    /// Chooses another target than the run was started with, for a run that goes back to an earlier one.
    ///
    /// # Errors
    /// If the place is not one that the repository knows.
    fn aim(&self, place: &LandingPlace) -> Result<(), EffectError>;

    /// Resolves the target again, at the branch's current commit.
    ///
    /// # Errors
    /// If the repository is not in a state to land.
    fn target(&self) -> Result<TargetInfo, EffectError>;

    /// Opens the target's base for reading.
    ///
    /// # Errors
    /// If the base cannot be read.
    fn base(&self, target: &TargetInfo) -> Result<Box<dyn Base + '_>, EffectError>;

    /// Loads the active policy for the target; the repository's own rules are those of its base commit.
    ///
    /// # Errors
    /// If a rule file cannot be read or is invalid: then nothing is allowed.
    fn policy(&self, target: &TargetInfo) -> Result<Rc<ActivePolicy>, EffectError>;

    /// Checks whether existing files can be changed at all in the present state of index and working tree, whatever the change
    /// is. A person is notified of uncommitted work in them.
    ///
    /// # Errors
    /// With the error of a landing, if none of the files can be changed.
    fn check_named(&self, target: &TargetInfo, paths: &[String]) -> Result<(), EffectError>;

    /// Counts the commits by which a branch moved from one commit to another. `None` if the first does not lead to the second,
    /// as after a rebase.
    fn count_commits(&self, old: &str, new: &str) -> Option<u64>;

    /// Lists the commits from which the target's base was made, newest first, with the paths that each changed; at most
    /// `limit`. The list is empty where the history cannot be read: it only improves a ranking.
    fn list_changed_paths(&self, target: &TargetInfo, limit: usize) -> Vec<PastCommit>;

    /// Opens the index of the repository's texts. `None` if there is none: then the search reads all texts.
    fn open_index(&self) -> Option<Box<dyn ContextIndex>>;

    /// Measures the state of HEAD, refs, index, working tree and git's own files.
    ///
    /// # Errors
    /// If something cannot be read.
    fn measure(&self) -> Result<Box<dyn Measured>, EffectError>;

    /// Measures again while no landing is under way, and returns the runs whose landings account for every difference from
    /// an earlier measurement. `None` if something differs that no landing accounts for.
    ///
    /// # Errors
    /// If something cannot be read.
    fn account_for(&self, before: &dyn Measured) -> Result<Option<AccountedRuns>, EffectError>;

    /// Writes an approved change, completely or not at all. The receipt may already be recorded when this returns; it is in
    /// the returned value as well.
    ///
    /// # Errors
    /// If nothing was written, with the reason; or, with [`EffectError::written`], if a step after the change failed.
    fn land(
        &self,
        approved: Approved<Change>,
        target: &TargetInfo,
        order: &LandOrder,
        records: &mut dyn LandingRecords,
    ) -> Result<Landed, EffectError>;

    /// Withholds the files to which a change adds text of withheld files from the same readers, from now on.
    ///
    /// # Errors
    /// If that cannot be stored: then the change must not be written.
    fn keep_withheld(&self, taken: &[TakenText]) -> Result<(), EffectError>;

    /// Waits until no landing is under way, finishes or rolls back one that was interrupted, and lets none begin until the value is
    /// dropped. A landing that this waits for has its receipt on the tape, unless that could not be written.
    ///
    /// # Errors
    /// If an interrupted landing can be neither finished nor rolled back now, or landings cannot be locked out.
    fn pause_landings(&self) -> Result<LandingPause, EffectError>;
}

/// Time in which no landing is under way in a repository, and none begins. Dropping it ends that.
pub struct LandingPause {
    /// Record of a landing that had been interrupted. `None` if there was none.
    pub recovered: Option<serde_json::Value>,
    /// Lock, released when it is dropped.
    pub lock: Box<dyn Any>,
}

/// How durable a record is when [`Evidence::record`] returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// The record has its place and its hash, but nothing of it is on the disk: a crash loses it until
    /// [`Evidence::make_durable`] or a record with [`Durability::Now`] returns. Other writers of the tape wait until
    /// then, so nothing slow may come in between.
    AtSync,
    /// The record is on the disk, after every blob it refers to and every record before it.
    Now,
    /// The record is valid and in memory, without a place or a hash. The next record that gets a place comes after it.
    /// For steps on which nothing visible rests until that record is durable: it saves them a wait for the disk.
    WithNext,
}

/// Position in a run at which its records are made durable: the run goes on, or it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunPhase {
    /// More records of the run may follow.
    Continues,
    /// No record follows: the run's checkpoint is made durable together with the records before it, in the same wait.
    Ends,
}

/// The evidence tape of one run.
///
/// A keyring can take seconds to answer, so the key that signs the run's checkpoint is looked up before anything is locked:
/// the first record that is not [`Durability::Now`] does it. A landing begins with one long before it locks the
/// repository, and a run that only leaves records with `Now` holds no lock when it ends.
pub trait Evidence {
    /// Records one step of the run. Returns the record's hash; `None` with [`Durability::WithNext`], where it has none yet.
    ///
    /// # Errors
    /// If the body cannot be recorded, or `durability` cannot be had: then the record is not on the tape.
    fn record(
        &mut self,
        kind: RecordKind,
        body: serde_json::Value,
        durability: Durability,
    ) -> Result<Option<String>, EffectError>;

    /// Makes every record that has a place durable, after the blobs they refer to, in one wait. The tape's file is synced
    /// by `sync`, which may flush other files in the same call; by itself if that is `None`.
    ///
    /// # Errors
    /// If the records cannot be made durable: then they are not on the tape. A checkpoint that cannot be made is no error,
    /// but reported to the user: what was done is recorded.
    fn make_durable(&mut self, phase: RunPhase, sync: Option<&mut SyncFile<'_>>) -> Result<(), EffectError>;

    /// Stores bytes by content and returns their SHA-256. They are on the disk before any record that is placed later.
    ///
    /// # Errors
    /// If they cannot be stored.
    fn store_blob(&mut self, bytes: &[u8]) -> Result<String, EffectError>;
}

/// Runs the user's check, away from the repository.
pub trait Check {
    /// Makes the change on a copy of the target's commit, runs the user's command there, and returns how it ended. Without a
    /// change, the command runs on the commit as it is. The command's output goes to `progress` as it arrives.
    fn check<'a>(
        &'a self,
        target: &'a TargetInfo,
        change: Option<&'a Change>,
        attempt: u32,
        progress: &'a dyn ProgressSink,
    ) -> BoxFuture<'a, Result<Tried, EffectError>>;

    /// Returns what is known of the command on a commit without a change. `None` if it never ran there.
    fn recall_base(&self, base_commit: &str) -> Option<BaseCheck>;
}

pub use hooks::{CommitHooks, HookResult, HookedCommit};
pub use succession::{FoundSuccessor, SuccessorTool, ToolSuccession, WindowMemory};

/// The result of the user's check on a commit without a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BaseCheck {
    /// Success, in this run or an earlier one.
    Passed,
    /// Failure in an earlier run. The machine may have changed since.
    FailedBefore,
    /// Failure in this run.
    Failed(Box<Tried>),
}

/// The time of day, and timers.
pub trait Clock {
    /// Returns the current time.
    fn now(&self) -> Timestamp;

    /// Starts a timer that does not follow changes of the time of day. The function that it returns is true once `limit` is
    /// over.
    fn start_timer(&self, limit: Duration) -> IsOver;
}

/// Returns true once a timer has ended.
pub type IsOver = Box<dyn Fn() -> bool>;

/// Becomes ready when the user wants to stop.
pub type CancelSignal<'a> = BoxFuture<'a, ()>;
