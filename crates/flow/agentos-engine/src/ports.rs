//! The doors through which effects reach the flow.
//!
//! Owns: the traits and the shape of a failed effect. Never: implements one; the host does, from the executor, the
//! evidence store, a front end's person and a clock.

use std::error::Error;
use std::pin::Pin;
use std::rc::Rc;
use std::time::Duration;

use agentos_api::{NextStep, list_causes};
use agentos_evidence::{RecordKind, SyncFile};
use agentos_landing::{Base, Change};
use agentos_policy::{ApprovalHashes, Approved, Consent, Decision, LandingTarget, PolicySet};
use agentos_tool::{BoxFuture, ProgressSink, StateMeasurement, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Cause, Tried};

mod recorded;

pub use recorded::{
    LandingCommit, LandingHistory, RecordReader, RecordStream, RecordedLanding, ReplayObjects,
};

/// An effect did not happen. Everything a person needs is in it; nothing secret is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct EffectError {
    /// Stable code, as in `dirty-overlap`.
    pub code: String,
    /// What kind of failure it is; decides the exit code.
    pub cause: Cause,
    /// What and where, in one sentence.
    pub message: String,
    /// What to do next, as a sentence that names no flag or verb of a front end.
    pub hint: Option<String>,
    /// What to do next, as alternatives that a front end words, the best first.
    pub next: Vec<NextStep>,
    /// Set when the branch moved under us: landing again on the new base may succeed.
    pub base_moved: bool,
    /// Set when the change was made all the same, and only what follows it was not.
    pub written: bool,
    /// What few errors or few readers need. Boxed, because results with this error are passed by value.
    pub details: Box<EffectDetails>,
}

/// What few errors have, or few readers need.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EffectDetails {
    /// What brought it about, from the outermost cause to the root. The message may hold their words already.
    pub causes: Vec<String>,
    /// An earlier landing that was cut short and brought to an end before this failed, for the evidence.
    pub recovered: Option<serde_json::Value>,
}

impl EffectError {
    /// A failed effect.
    #[must_use]
    pub fn new(cause: Cause, code: &str, message: impl Into<String>) -> Self {
        Self {
            code: code.to_owned(),
            cause,
            message: message.into(),
            hint: None,
            next: Vec::new(),
            base_moved: false,
            written: false,
            details: Box::default(),
        }
    }

    /// Makes a failed effect of an error whose own words are the message. Its sources are the causes.
    #[must_use]
    pub fn from_error(cause: Cause, code: &str, error: &dyn Error) -> Self {
        Self::new(cause, code, error.to_string()).caused_by(list_causes(error))
    }

    /// Makes a failed effect with words of its own. The error is its first cause, and the error's sources follow.
    #[must_use]
    pub fn from_source(cause: Cause, code: &str, message: impl Into<String>, error: &dyn Error) -> Self {
        let causes = std::iter::once(error.to_string()).chain(list_causes(error));
        Self::new(cause, code, message).caused_by(causes)
    }

    /// Adds what brought it about, from the outermost cause to the root.
    #[must_use]
    pub fn caused_by(mut self, causes: impl IntoIterator<Item = String>) -> Self {
        self.details.causes.extend(causes);
        self
    }

    /// Returns what brought it about, from the outermost cause to the root.
    #[must_use]
    pub fn causes(&self) -> &[String] {
        &self.details.causes
    }

    /// Says what to do next.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds alternatives to what can be done next.
    #[must_use]
    pub fn suggest_steps(mut self, steps: impl IntoIterator<Item = NextStep>) -> Self {
        self.next.extend(steps);
        self
    }
}

/// Where a change shall land, resolved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TargetInfo {
    /// The ref, as in `refs/heads/main`.
    pub refname: String,
    /// The commit the change is judged against.
    pub base_commit: String,
    /// That commit's tree.
    pub base_tree: String,
    /// The branch is not there yet.
    pub creates_branch: bool,
    /// What will be written.
    pub writes: Writes,
}

impl TargetInfo {
    /// What an approval is bound to.
    #[must_use]
    pub fn place(&self) -> LandingTarget<'_> {
        LandingTarget {
            base_commit: &self.base_commit,
            target_ref: &self.refname,
            writes: self.writes.as_str(),
        }
    }
}

/// What landing writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Writes {
    /// A commit on the checked-out branch, index and work tree.
    CommitAndWorkTree,
    /// A commit on another branch.
    CommitOnly,
    /// Index and work tree, no commit.
    WorkTreeOnly,
    /// Nothing.
    Nothing,
}

impl Writes {
    /// The word in JSON, on the tape and in what a consent is bound to.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::CommitAndWorkTree => "commit-and-work-tree",
            Self::CommitOnly => "commit-only",
            Self::WorkTreeOnly => "work-tree-only",
            Self::Nothing => "nothing",
        }
    }
}

/// What the executor did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Landed {
    /// The commit made, if one was asked for.
    pub commit: Option<String>,
    /// The resulting tree.
    pub tree: String,
    /// Paths that somebody edited while the change was written; their work was left alone.
    pub kept: Vec<String>,
    /// An earlier landing that was cut short and brought to an end first, for the evidence.
    pub recovered: Option<serde_json::Value>,
    /// The executor's receipt, for the evidence.
    pub receipt: serde_json::Value,
}

/// What is asked of the executor besides the approved change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LandOrder {
    /// The run, for journal, trailers and reflog.
    pub run: String,
    /// Commit message without trailers.
    pub message: String,
    /// Trailers besides run and evidence hash.
    pub trailers: Vec<(String, String)>,
    /// Now.
    pub now: Timestamp,
}

/// Takes what a landing has to record while it is under way.
pub trait LandingRecords {
    /// Records the intent and gives its hash. It need not be durable before [`LandingRecords::durable`] returns.
    ///
    /// # Errors
    /// When it cannot be recorded: then nothing is written.
    fn intent(&mut self, intent: serde_json::Value) -> Result<String, EffectError>;

    /// Makes durable what was recorded, its file by `sync`. Nothing visible is written before this has returned.
    ///
    /// # Errors
    /// When it cannot be made durable: then nothing is written.
    fn durable(&mut self, sync: &mut SyncFile<'_>) -> Result<(), EffectError>;

    /// The change is made: records the receipt, after what an earlier landing left, and ends the run, its file made
    /// durable by `sync`. A failure is told with the end of the run: the change stands.
    fn receipt(
        &mut self,
        receipt: serde_json::Value,
        recovered: Option<serde_json::Value>,
        sync: &mut SyncFile<'_>,
    );
}

/// The rules that judge, and their text for the evidence.
#[derive(Debug)]
pub struct PolicyInForce {
    /// The rules.
    pub set: PolicySet,
    /// Every source beside the built-in ones, with its layer and name.
    pub sources: serde_json::Value,
}

/// A measurement of the repository that can be compared with a later one.
pub trait Measured {
    /// The digests.
    fn state(&self) -> StateMeasurement;
    /// Work-tree paths that differ from `later`, at most `limit`.
    fn changed_paths(&self, later: &dyn Measured, limit: usize) -> Vec<String>;
    /// The concrete value, for comparison inside one implementation.
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

/// Where the change of a run goes, before it is known where that stands.
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

    /// Resolves the target again: where the branch stands now.
    ///
    /// # Errors
    /// When the repository is not in a state to land.
    fn target(&self) -> Result<TargetInfo, EffectError>;

    /// Read access to the target's base.
    ///
    /// # Errors
    /// When the base cannot be read.
    fn base(&self, target: &TargetInfo) -> Result<Box<dyn Base + '_>, EffectError>;

    /// The policy in force for the target: the repository's own rules are those of its base commit.
    ///
    /// # Errors
    /// When a rule file cannot be read or is wrong: then nothing is allowed.
    fn policy(&self, target: &TargetInfo) -> Result<Rc<PolicyInForce>, EffectError>;

    /// The state of HEAD, refs, index, work tree and git's own files.
    ///
    /// # Errors
    /// When something cannot be read.
    fn measure(&self) -> Result<Box<dyn Measured>, EffectError>;

    /// Measures again while no landing is under way, and returns the runs whose landings account for every difference from an earlier
    /// measurement. `None` if something differs that no landing accounts for.
    ///
    /// # Errors
    /// When something cannot be read.
    fn account_for(&self, before: &dyn Measured) -> Result<Option<AccountedRuns>, EffectError>;

    /// Writes an approved change: everything or nothing. The receipt may have been recorded when this returns; it is in
    /// the answer as well.
    ///
    /// # Errors
    /// When nothing was written, and why.
    fn land(
        &self,
        approved: Approved<Change>,
        target: &TargetInfo,
        order: &LandOrder,
        records: &mut dyn LandingRecords,
    ) -> Result<Landed, EffectError>;
}

/// What holds for a record when [`Evidence::record`] returns.
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

/// Whether more records of the run follow what is made durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunPhase {
    /// More may follow.
    Continues,
    /// None follows: the run's checkpoint is made durable with what came before, in the same wait.
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

/// Asks a person, or speaks for one who said yes beforehand.
pub trait ConsentPort {
    /// Puts the question and waits for the answer. Dropping the future withdraws the question.
    fn ask<'a>(&'a mut self, question: ConsentQuestion<'a>) -> ConsentFuture<'a>;
}

/// Waits for a person's answer. It lives on the thread of its run.
pub type ConsentFuture<'a> = Pin<Box<dyn Future<Output = Answer> + 'a>>;

/// What a person is asked to consent to.
#[derive(Debug, Clone, Copy)]
pub struct ConsentQuestion<'a> {
    /// The change.
    pub change: &'a Change,
    /// Which rules ask, and why.
    pub decision: &'a Decision,
    /// What an answer is bound to.
    pub hashes: &'a ApprovalHashes,
}

/// A person's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Yes, by whom, when and how.
    Yes(Consent),
    /// No.
    No,
    /// Nobody could be asked.
    Nobody,
}

/// Tries a candidate where it can do no harm.
pub trait Check {
    /// Makes the change on a copy of the target's commit, runs the user's command on it, and says how that ended. What it
    /// writes goes to `progress` as it comes.
    fn check<'a>(
        &'a self,
        target: &'a TargetInfo,
        change: &'a Change,
        attempt: u32,
        progress: &'a dyn ProgressSink,
    ) -> BoxFuture<'a, Result<Tried, EffectError>>;
}

/// A clock.
pub trait Clock {
    /// Now.
    fn now(&self) -> Timestamp;

    /// Starts a timer that does not follow changes of the time of day. The function that it returns is true once `limit` is
    /// over.
    fn start_timer(&self, limit: Duration) -> IsOver;
}

/// Says whether a timer has ended.
pub type IsOver = Box<dyn Fn() -> bool>;

/// Becomes ready when the user wants to stop.
pub type Cancel<'a> = BoxFuture<'a, ()>;
