//! Ports for reading earlier runs, on the tape and in the repository.
//!
//! Owns: the traits and the data types that they return. Never: interprets a record; see [`recorded`](crate::recorded).

use agentos_evidence::Record;
use agentos_landing::{Base, Change};
use serde::Deserialize;
use serde_json::Value;

use super::{EffectError, TargetInfo, Writes};

/// The records of a tape, first to last. Nothing follows an error.
pub type RecordStream<'a> = Box<dyn Iterator<Item = Result<Record, EffectError>> + 'a>;

/// The tape of every run, for reading.
pub trait RecordReader {
    /// Reads every record, first to last.
    ///
    /// # Errors
    /// If the tape cannot be opened. A tape that does not exist has no records.
    fn records(&self) -> Result<RecordStream<'_>, EffectError>;

    /// Reads the records of one run. Empty if there is no such run.
    ///
    /// # Errors
    /// If the tape cannot be read.
    fn run_records(&self, run: &str) -> Result<Vec<Record>, EffectError> {
        let of_run =
            |record: &Result<Record, EffectError>| record.as_ref().map_or(true, |record| record.run == run);
        self.records()?.filter(of_run).collect()
    }

    /// Reads bytes by the SHA-256 under which they were stored.
    ///
    /// # Errors
    /// If they are missing or damaged.
    fn load_blob(&self, id: &str) -> Result<Vec<u8>, EffectError>;
}

/// A landing as its receipt or its intent describes it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct RecordedLanding {
    /// The run.
    pub run: String,
    /// The commit. `None` if none was made, or an intent is read, which comes before it.
    #[serde(default)]
    pub commit: Option<String>,
    /// The commit the change was made on.
    pub parent: String,
    /// The ref that moved, or would have.
    pub refname: String,
    /// Parts of the repository that were written.
    pub writes: Writes,
    /// The files with the ids of their contents, as the executor recorded them and reads them again.
    pub files: Value,
}

/// A commit that a landing made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LandingCommit {
    /// The commit's id.
    pub id: String,
    /// The run that its trailer names. `None` if it names none.
    pub run: Option<String>,
}

/// The landings of earlier runs, as the repository has them.
pub trait LandingHistory {
    /// Lists the commits of landings that HEAD or a branch leads to, newest first, looking at no more than `limit` commits.
    ///
    /// # Errors
    /// If the history cannot be read.
    fn landing_commits(&self, limit: usize) -> Result<Vec<LandingCommit>, EffectError>;

    /// Reads the change of a landing back from the object store.
    ///
    /// # Errors
    /// If the landing was recorded in a form that cannot be read, or an object is missing.
    fn read_change(&self, landing: &RecordedLanding) -> Result<Change, EffectError>;

    /// Returns true if a branch of this name exists.
    ///
    /// # Errors
    /// If the repository is in no state to land there.
    fn has_branch(&self, name: &str) -> Result<bool, EffectError>;
}

/// The objects from which recorded runs are derived again. Nothing is written.
pub trait ReplayObjects {
    /// Opens a target's base for reading.
    ///
    /// # Errors
    /// If its tree cannot be read.
    fn base(&self, target: &TargetInfo) -> Result<Box<dyn Base + '_>, EffectError>;

    /// Returns the tree of a commit. `None` if the commit is not in the object store.
    fn commit_tree(&self, commit: &str) -> Option<String>;

    /// Returns the folder in the working tree from which git runs hooks. `None` if it is not in the working tree.
    fn hooks_path(&self) -> Option<String>;

    /// Lists the symbolic links of a tree: the path of each, and its target.
    ///
    /// # Errors
    /// If the tree cannot be read.
    fn base_links(&self, tree: &str) -> Result<Vec<(String, String)>, EffectError>;

    /// Returns the tree that a change makes of another tree, wherever the branch stands now.
    ///
    /// # Errors
    /// If the base cannot be read, or the change was not made on it.
    fn derive_tree(&self, change: &Change, base_tree: &str) -> Result<String, EffectError>;
}
