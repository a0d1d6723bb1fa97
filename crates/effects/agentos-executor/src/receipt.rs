//! The intent, recorded before a change is written, and the receipt, recorded after it.
//!
//! Owns: their forms, and building a change from a receipt. Never: contains content, only object ids.

use agentos_durable::SyncFile;
use std::sync::Arc;

use agentos_landing::{Change, FileMode, FileState, RepoPath};
use git2::Oid;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ExecError, RepoError, Repository, Signed, Writes};

/// Object id and mode of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileId {
    /// Id of the blob, in hexadecimal.
    pub oid: String,
    /// Mode of the file.
    pub mode: FileMode,
}

/// Path of a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReceiptFile {
    /// Path of the file.
    pub path: RepoPath,
    /// File before the change. Left out for a new file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old: Option<FileId>,
    /// File after the change. Left out for a deleted file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new: Option<FileId>,
}

/// Change that is about to be written. It is recorded before anything visible is written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Intent {
    /// Id of the run.
    pub run: String,
    /// Ref that will move.
    pub refname: String,
    /// Places that will be written to.
    pub writes: Writes,
    /// Commit that the change is made on.
    pub parent: String,
    /// Tree that will result.
    pub tree: String,
    /// SHA-256 of the canonical diff.
    pub diff_sha256: String,
    /// SHA-256 of the policy set.
    pub policy_sha256: String,
    /// Files of the change.
    pub files: Vec<ReceiptFile>,
}

/// Recorder of a landing's intent and receipt in the evidence.
pub trait IntentSink {
    /// Records the intent and returns the record's hash, as in `sha256:…`.
    ///
    /// # Errors
    /// The reason, for people. Then nothing is written.
    fn intent(&mut self, intent: &Intent) -> Result<String, String>;

    /// Makes the intent durable, unless [`IntentSink::intent`] has done so. Nothing visible is written before. An
    /// implementation may sync the file of the record by `sync`, which syncs the landing's objects in the same wait.
    ///
    /// # Errors
    /// The reason, for people. Then nothing is written.
    fn durable(&mut self, _sync: &mut SyncFile<'_>) -> Result<(), String> {
        Ok(())
    }

    /// Records the receipt after the change was made. `sync` syncs the file of the record and the change in the same wait. If
    /// a loss of power leaves only one of the two, the next call repairs and reports that.
    fn receipt(&mut self, _receipt: &Receipt, _sync: &mut SyncFile<'_>) {}
}

/// Change that was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Receipt {
    /// Id of the run.
    pub run: String,
    /// Commit that was made. Left out for a landing without a commit and for a dry run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Tree that resulted.
    pub tree: String,
    /// Commit that the change was made on.
    pub parent: String,
    /// Ref that moved, or would have moved.
    pub refname: String,
    /// Places that were written to.
    pub writes: Writes,
    /// SHA-256 of the canonical diff.
    pub diff_sha256: String,
    /// Files of the change.
    pub files: Vec<ReceiptFile>,
    /// Signature of the commit. Left out if no commit was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signed: Option<Signed>,
    /// True if index and working tree have the result.
    pub work_tree_updated: bool,
    /// Paths of the working tree that were left alone because somebody edited them while the change landed.
    pub kept: Vec<String>,
    /// Paths with uncommitted work that the change does not touch: index and working tree have both. Left out if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub merged: Vec<String>,
    /// Earlier landing that was interrupted, and that this one finished or rolled back first. Left out if there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recovered: Option<Recovered>,
}

/// Landing that was interrupted, and the result of its recovery.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Recovered {
    /// Run that was interrupted.
    pub run: String,
    /// Result of the recovery.
    pub outcome: RecoveryOutcome,
    /// Commit of the run. Left out if it made none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Paths that were left alone because somebody edited them meanwhile.
    pub kept: Vec<String>,
}

/// Result of the recovery of a landing that was interrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RecoveryOutcome {
    /// Nothing visible had been written, and the prepared files were removed.
    RolledBack,
    /// The change had been made, and index and working tree have it now.
    Finished,
    /// The branch has moved since or is not checked out any more. Working tree and index were left alone.
    Superseded,
}

impl Repository {
    /// Builds the change of a receipt, with its content from the object store.
    ///
    /// # Errors
    /// When an object is missing.
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
