//! What is about to be written, and what was written.
//!
//! Owns: the intent, the receipt, and the way back from a receipt to a change. Never: holds content; object ids
//! stand for it.

use agentos_durable::SyncFile;
use std::sync::Arc;

use agentos_landing::{Change, FileMode, FileState, RepoPath};
use git2::Oid;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ExecError, RepoError, Repository, Signed, Writes};

/// A file's object id and mode.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileId {
    /// The blob's id, in hexadecimal.
    pub oid: String,
    /// Its mode.
    pub mode: FileMode,
}

/// One path of a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReceiptFile {
    /// The path.
    pub path: RepoPath,
    /// Before; none for a new file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old: Option<FileId>,
    /// After; none for a deleted file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new: Option<FileId>,
}

/// What is about to be written. Recorded before anything visible is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Intent {
    /// The run.
    pub run: String,
    /// The ref that will move.
    pub refname: String,
    /// What will be written.
    pub writes: Writes,
    /// The commit the change is made on.
    pub parent: String,
    /// The tree that will result.
    pub tree: String,
    /// SHA-256 of the canonical diff.
    pub diff_sha256: String,
    /// SHA-256 of the policy set.
    pub policy_sha256: String,
    /// The files.
    pub files: Vec<ReceiptFile>,
}

/// Takes what a landing does into the evidence.
pub trait IntentSink {
    /// Records the intent and gives the record's hash, as in `sha256:…`. When this fails, nothing is written.
    ///
    /// # Errors
    /// The reason, for people.
    fn intent(&mut self, intent: &Intent) -> Result<String, String>;

    /// Makes the intent durable, unless it is since [`IntentSink::intent`] returned. Nothing visible is written before.
    /// `sync` brings the file of the record to the disk, together with objects that nothing leads to; it need not be
    /// called.
    ///
    /// # Errors
    /// The reason, for people. Then nothing is written.
    fn durable(&mut self, _sync: &mut SyncFile<'_>) -> Result<(), String> {
        Ok(())
    }

    /// The change is made: the receipt, whose file `sync` brings to the disk, together with what makes the change
    /// durable. What a loss of power then leaves of the two is put right by the next call, and told.
    fn receipt(&mut self, _receipt: &Receipt, _sync: &mut SyncFile<'_>) {}
}

/// What was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Receipt {
    /// The run.
    pub run: String,
    /// The commit; none for `--no-commit` and a dry run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The resulting tree.
    pub tree: String,
    /// The commit the change was made on.
    pub parent: String,
    /// The ref that moved, or would have.
    pub refname: String,
    /// What was written.
    pub writes: Writes,
    /// SHA-256 of the canonical diff.
    pub diff_sha256: String,
    /// The files.
    pub files: Vec<ReceiptFile>,
    /// Whether the commit is signed, and how; none where none is made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signed: Option<Signed>,
    /// Index and work tree hold the result.
    pub work_tree_updated: bool,
    /// Paths of the work tree that were left alone because somebody edited them while the change landed.
    pub kept: Vec<String>,
    /// What an earlier landing left behind and this one finished or took back first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recovered: Option<Recovered>,
}

/// What was found of a landing that did not come to its end, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Recovered {
    /// The run that was cut short.
    pub run: String,
    /// What was done.
    pub outcome: RecoveryOutcome,
    /// Its commit, if it was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Paths that were left alone because somebody edited them meanwhile.
    pub kept: Vec<String>,
}

/// How a landing that was cut short was brought to an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RecoveryOutcome {
    /// Nothing visible had been written: what was prepared is gone.
    RolledBack,
    /// The change had been made: index and work tree hold it now.
    Finished,
    /// The branch moved on since, or is not checked out any more: work tree and index were left alone.
    Superseded,
}

impl Repository {
    /// The change that a receipt tells of, with its content read back from the object store.
    ///
    /// # Errors
    /// When an object is gone.
    pub fn change_of(&self, files: &[ReceiptFile]) -> Result<Change, ExecError> {
        let mut states = Vec::with_capacity(files.len());
        for file in files {
            let old = file.old.as_ref().map(|id| self.file_state(id)).transpose()?;
            let new = file.new.as_ref().map(|id| self.file_state(id)).transpose()?;
            states.push((file.path.clone(), old, new));
        }
        Change::new(states).map_err(|error| ExecError::SecondOpinion(error.to_string()))
    }

    fn file_state(&self, id: &FileId) -> Result<FileState, RepoError> {
        let blob = Oid::from_str(&id.oid).and_then(|oid| self.git.find_blob(oid));
        let blob = blob.map_err(RepoError::git("read a file of the change"))?;
        Ok(FileState {
            mode: id.mode,
            content: Arc::from(blob.content()),
        })
    }
}
