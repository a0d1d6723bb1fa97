//! Makes a prepared change visible, in an order that a crash cannot break.
//!
//! Owns: the order of journal, staged files, ref, working tree, index, and the removal of the journal. Before the ref moves,
//! nothing is visible; after it, everything can be repeated from the journal. Never: checks whether a change may land.
//!
//! The steps, and a table of the states that a crash can leave, are in `crash-states.md`.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::{fs, iter};

use agentos_landing::Change;
use git2::{ErrorCode, Oid};

use crate::disk;
use crate::index_lock::HeldIndex;
use crate::journal::{Journal, JournalFile, boot_name};
use crate::land::base_moved;
use crate::line_ends::FileLineEnds;
use crate::prepare::PreparedChange;
use crate::presence::FilePresence;
use crate::splice::parse_oid;
use crate::worktree::{self, SettledTree};
use crate::{ExecError, IntentSink, LandPlan, Receipt, Repository};

impl Repository {
    /// Writes journal and staged files and makes them durable with objects and intent; then moves the ref, and writes working
    /// tree, index and receipt.
    ///
    /// # Errors
    /// When nothing was written, or everything was removed again; [`ExecError::Unfinished`] after the ref moved.
    pub(crate) fn publish_change(
        &self,
        plan: &LandPlan,
        change: &Change,
        prepared: &PreparedChange,
        receipt: &mut Receipt,
        held: Option<HeldIndex>,
        records: &mut dyn IntentSink,
    ) -> Result<(), ExecError> {
        let target = &plan.target;
        let root = self.work_dir().filter(|_| target.writes.touches_work_tree());
        let commit = receipt.commit.as_deref().map(parse_oid).transpose()?;
        // These lists are empty if no working tree is written, and then every file of the journal gets the default.
        let ends = prepared
            .ends
            .iter()
            .copied()
            .chain(iter::repeat(FileLineEnds::default()));
        let presence = prepared
            .presence
            .iter()
            .copied()
            .chain(iter::repeat(FilePresence::default()));
        let work = prepared.work.iter().cloned().chain(iter::repeat(None));
        let files = prepared.files.iter().zip(ends.zip(presence).zip(work));
        let files = files.map(|(file, ((ends, presence), work))| JournalFile {
            file: file.clone(),
            temp: None,
            ends,
            presence,
            work,
        });
        let mut journal = Journal {
            v: 1,
            run: plan.run.clone(),
            writes: target.writes,
            refname: target.refname.clone(),
            parent: target.base_commit.clone(),
            commit: receipt.commit.clone(),
            decided: false,
            boot: boot_name(),
            work_dir: root.map(Path::to_owned),
            files: files.collect(),
        };
        if let Some(root) = root {
            worktree::plan_temps(root, &plan.run, &mut journal.files)?;
        }
        if commit.is_some() {
            self.check_ref_is_free(&target.refname)?;
        }
        let ready = self
            .make_ready(&journal, change, root, prepared.unsynced.clone(), records)
            .and_then(|()| self.decide_landing(plan, &mut journal, root, commit));
        if let Err(error) = ready {
            self.discard_landing(root, &journal)?;
            return Err(error);
        }
        let completed = match (root, held) {
            (Some(root), Some(held)) => self.complete_work_tree(&journal, root, held, receipt, records),
            (None, _) | (_, None) => self.complete_ref(&journal, receipt, records),
        };
        completed.map_err(|error| ExecError::Unfinished(Box::new(error)))
    }

    /// Writes journal and staged files, and then makes everything durable that must be so before the change is made. One wait
    /// is enough for all of it, in any order: no reader follows one of these files to another before the ref moves.
    ///
    /// # Errors
    /// When something cannot be written or synced, or the intent is not durable.
    fn make_ready(
        &self,
        journal: &Journal,
        change: &Change,
        root: Option<&Path>,
        mut unsynced: Vec<PathBuf>,
        records: &mut dyn IntentSink,
    ) -> Result<(), ExecError> {
        unsynced.extend(self.begin_journal(journal)?);
        self.reach("journal written");
        if let Some(root) = root {
            let contents = change.files().iter().zip(&journal.files).map(|(file, entry)| {
                // The change has the content without the person's work. The merged bytes are in the object store only.
                if entry.work.is_some() {
                    return Ok(entry.read_staged(self)?.map(Cow::Owned));
                }
                let state = file.new.as_ref();
                Ok(state.map(|state| entry.ends.after.to_work_tree(&state.content)))
            });
            unsynced.extend(worktree::stage_files(self, root, &journal.files, contents)?);
            self.reach("staged");
        }
        let (durable, synced) = self.sync_together(unsynced, |sync| records.durable(sync));
        synced?;
        durable.map_err(ExecError::EvidenceNotDurable)?;
        self.reach("intent durable");
        Ok(())
    }

    /// Writes working tree, index and receipt after the ref has moved, and removes the journal.
    ///
    /// Working tree and branch become durable in one wait. If a loss of power takes the branch alone, the next call finds the
    /// working tree changed and moves the branch again. The journal stays until index and receipt are durable. Its removal
    /// need not be durable: if it reappears after a loss of power, the index shows that nothing is left to do.
    ///
    /// # Errors
    /// When a file cannot be written or synced. The next call finishes the landing from the journal.
    fn complete_work_tree(
        &self,
        journal: &Journal,
        root: &Path,
        mut held: HeldIndex,
        receipt: &mut Receipt,
        records: &mut dyn IntentSink,
    ) -> Result<(), ExecError> {
        let branch = match journal.commit {
            Some(_) => disk::ref_files(self.common_dir(), &journal.refname),
            None => Vec::new(),
        };
        let SettledTree {
            kept,
            unsynced,
            replaced,
        } = worktree::settle_unless_edited(self, &mut held, root, &journal.files, branch)?;
        receipt.kept = kept;
        receipt.work_tree_updated = true;
        self.reach("settled");
        disk::close_during(replaced, || self.record_receipt(unsynced, receipt, records))?;
        self.reach("receipt durable");
        // Unlocked before the journal is removed: recovery takes a lock of ours without a journal to mean that nothing was
        // written.
        drop(held);
        self.reach("index let go");
        self.remove_journal()?;
        self.reach("journal cleared");
        Ok(())
    }

    /// Writes the receipt after a landing that moves a ref only, and removes the journal.
    ///
    /// The journal stays until ref and receipt are durable: if only the receipt survived a loss of power, the next call would
    /// report that the change was not made. The removal of the journal need not be durable: if it reappears, its content is
    /// still true.
    ///
    /// # Errors
    /// When the ref cannot be synced or the journal cannot be removed.
    fn complete_ref(
        &self,
        journal: &Journal,
        receipt: &mut Receipt,
        records: &mut dyn IntentSink,
    ) -> Result<(), ExecError> {
        let paths = disk::ref_files(self.common_dir(), &journal.refname);
        self.record_receipt(paths, receipt, records)?;
        self.reach("branch durable");
        self.remove_journal()?;
        self.reach("journal cleared");
        Ok(())
    }

    /// Records the receipt, and syncs `unsynced` in the same wait.
    ///
    /// # Errors
    /// When a path cannot be synced.
    fn record_receipt(
        &self,
        unsynced: Vec<PathBuf>,
        receipt: &mut Receipt,
        records: &mut dyn IntentSink,
    ) -> Result<(), ExecError> {
        receipt.recovered = self.take_recovered();
        let ((), synced) = self.sync_together(unsynced, |sync| records.receipt(receipt, sync));
        synced
    }

    /// Does the one step after which the change is made: moves the ref, or marks the journal as decided.
    ///
    /// # Errors
    /// When the base has moved, or the step fails. The change is not made then.
    fn decide_landing(
        &self,
        plan: &LandPlan,
        journal: &mut Journal,
        root: Option<&Path>,
        commit: Option<Oid>,
    ) -> Result<(), ExecError> {
        if root.is_some() {
            // git moves HEAD after it has released the lock of the index. So a switch of branches that began before this landing
            // may end only now.
            self.check_again(&plan.target)?;
        }
        if let Some(commit) = commit {
            return self.move_ref(plan, commit);
        }
        journal.decided = true;
        let written = self.replace_journal(journal);
        let written = written.and_then(|()| self.sync_state_dir());
        if written.is_err() {
            // The caller removes the staged files that this journal lists, and then the journal.
            journal.decided = false;
        }
        written
    }

    /// Removes staged files and the journal of a landing that was not decided.
    ///
    /// # Errors
    /// When one of them cannot be removed.
    fn discard_landing(&self, root: Option<&Path>, journal: &Journal) -> Result<(), ExecError> {
        if let Some(root) = root {
            worktree::discard_staged(root, &journal.files)?;
        }
        self.clear_journal()
    }

    /// Checks that no program has locked a ref.
    ///
    /// # Errors
    /// [`ExecError::RefLocked`] if one has.
    pub(crate) fn check_ref_is_free(&self, refname: &str) -> Result<(), ExecError> {
        // Recovery relies on this: an empty lock that is younger than the journal is taken to be ours.
        if fs::symlink_metadata(self.ref_lock_path(refname)).is_ok() {
            return Err(ExecError::RefLocked(refname.to_owned()));
        }
        Ok(())
    }

    /// Moves the ref if it still leads to the base.
    ///
    /// # Errors
    /// [`ExecError::BaseMoved`] or [`ExecError::RefLocked`]; other errors as libgit2 reports them.
    fn move_ref(&self, plan: &LandPlan, commit: Oid) -> Result<(), ExecError> {
        let target = &plan.target;
        let written = self
            .git
            .find_commit(commit)
            .map_err(ExecError::git("read the commit"))?;
        let log = format!(
            "agentos: {}",
            written.summary().ok().flatten().unwrap_or_default()
        );
        let result = if target.creates_branch {
            self.git.reference(&target.refname, commit, false, &log)
        } else {
            // libgit2 compares the ref with the base under the ref's lock, so another program cannot move it in between.
            let base = parse_oid(&target.base_commit)?;
            self.git
                .reference_matching(&target.refname, commit, true, base, &log)
        };
        match result {
            Ok(_) => {
                self.reach("branch moved");
                self.remove_own_lock(&target.refname, commit);
                Ok(())
            }
            Err(error) if error.code() == ErrorCode::Locked => {
                Err(ExecError::RefLocked(target.refname.clone()))
            }
            Err(error) => {
                let now = self.ref_tip(&target.refname).unwrap_or_default();
                let expected = if target.creates_branch {
                    ""
                } else {
                    target.base_commit.as_str()
                };
                if matches!(error.code(), ErrorCode::Modified | ErrorCode::Exists) || now != expected {
                    return Err(base_moved(&target.refname, expected, now));
                }
                Err(ExecError::git("move the branch")(error))
            }
        }
    }

    /// Removes the lock of a branch that libgit2 may have left. For a branch without a file of its own, libgit2 creates the
    /// file as a hard link to its lock, and reports no error if it then cannot remove the lock.
    fn remove_own_lock(&self, refname: &str, commit: Oid) {
        let path = self.ref_lock_path(refname);
        let is_ours = fs::read_to_string(&path).is_ok_and(|text| text.trim_end() == commit.to_string());
        if is_ours {
            // If it cannot be removed, the next program that wants the branch reports it as locked.
            let _ = fs::remove_file(&path);
        }
    }
}
