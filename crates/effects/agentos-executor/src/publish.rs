//! Making a prepared change visible, in an order that a crash cannot break.
//!
//! Owns: journal, staged files, ref, index and work tree, journal cleared. Before the ref moves, nothing is visible;
//! after it, everything can be redone from the journal. Never: checks whether a change may land.
//!
//! The states that a crash can leave are a table in the documentation of `recover`.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::{fs, iter};

use agentos_landing::Change;
use git2::{ErrorCode, Oid};

use crate::disk;
use crate::index_lock::HeldIndex;
use crate::journal::{Journal, JournalFile, boot};
use crate::land::moved;
use crate::line_ends::Ends;
use crate::prepare::Prepared;
use crate::splice::oid;
use crate::worktree::{self, Settled};
use crate::{ExecError, IntentSink, LandPlan, Receipt, Repository};

impl Repository {
    /// Journal, staged files, both on the disk with objects and intent; then ref, work tree, index, receipt.
    pub(crate) fn publish(
        &self,
        plan: &LandPlan,
        change: &Change,
        prepared: &Prepared,
        receipt: &mut Receipt,
        held: Option<HeldIndex>,
        records: &mut dyn IntentSink,
    ) -> Result<(), ExecError> {
        let target = &plan.target;
        let root = self.work_dir().filter(|_| target.writes.touches_work_tree());
        let commit = receipt.commit.as_deref().map(oid).transpose()?;
        let ends = prepared.ends.iter().copied().chain(iter::repeat(Ends::default()));
        let files = prepared.files.iter().zip(ends).map(|(file, ends)| JournalFile {
            file: file.clone(),
            temp: None,
            ends,
        });
        let mut journal = Journal {
            v: 1,
            run: plan.run.clone(),
            writes: target.writes,
            refname: target.refname.clone(),
            parent: target.base_commit.clone(),
            commit: receipt.commit.clone(),
            decided: false,
            boot: boot(),
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
            .and_then(|()| self.decide(plan, &mut journal, root, commit));
        if let Err(error) = ready {
            self.take_back(root, &journal)?;
            return Err(error);
        }
        let completed = match (root, held) {
            (Some(root), Some(held)) => self.complete(&journal, root, held, receipt, records),
            (None, _) | (_, None) => self.complete_ref(&journal, receipt, records),
        };
        completed.map_err(|error| ExecError::Unfinished(Box::new(error)))
    }

    /// Journal and staged files; then everything that must be on the disk before the change is made, brought there at
    /// once: nothing of it leads to anything else of it that a reader would miss.
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
            let contents = change.files().iter().map(|file| file.new.as_ref());
            let contents = contents.map(|state| state.map(|state| Cow::Borrowed(&*state.content)));
            unsynced.extend(worktree::stage(self, root, &journal.files, contents.map(Ok))?);
            self.reach("staged");
        }
        let (durable, synced) = self.sync_together(unsynced, |sync| records.durable(sync));
        synced?;
        durable.map_err(ExecError::EvidenceNotDurable)?;
        self.reach("intent durable");
        Ok(())
    }

    /// What follows once the change is made. Work tree and branch come to the disk in one wait: should a loss of power
    /// take the branch alone, the next call finds the work tree changed, and moves it again. The journal stays until
    /// index and receipt are there, too. That it is gone need not come there: the index tells the next call that nothing
    /// is left to do.
    fn complete(
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
        let Settled {
            kept,
            unsynced,
            replaced,
        } = worktree::settle_unless_edited(self, &mut held, root, &journal.files, branch)?;
        receipt.kept = kept;
        receipt.work_tree_updated = true;
        self.reach("settled");
        disk::beside(replaced, || self.tell(unsynced, receipt, records))?;
        self.reach("receipt durable");
        // Before the journal: a lock of ours without a journal tells the next call that nothing was made.
        drop(held);
        self.reach("index let go");
        self.remove_journal()?;
        self.reach("journal cleared");
        Ok(())
    }

    /// The same where only a ref was moved. The journal stays until ref and receipt are on the disk: should only the
    /// receipt come there, the next call says that the change was not made. That it is gone need not come there: what
    /// it tells is so.
    fn complete_ref(
        &self,
        journal: &Journal,
        receipt: &mut Receipt,
        records: &mut dyn IntentSink,
    ) -> Result<(), ExecError> {
        let paths = disk::ref_files(self.common_dir(), &journal.refname);
        self.tell(paths, receipt, records)?;
        self.reach("branch durable");
        self.remove_journal()?;
        self.reach("journal cleared");
        Ok(())
    }

    /// Has the receipt recorded, and brings something to the disk with it.
    fn tell(
        &self,
        unsynced: Vec<PathBuf>,
        receipt: &mut Receipt,
        records: &mut dyn IntentSink,
    ) -> Result<(), ExecError> {
        receipt.recovered = self.take_recovered();
        let ((), synced) = self.sync_together(unsynced, |sync| records.receipt(receipt, sync));
        synced
    }

    /// The one step after which the change is made.
    fn decide(
        &self,
        plan: &LandPlan,
        journal: &mut Journal,
        root: Option<&Path>,
        commit: Option<Oid>,
    ) -> Result<(), ExecError> {
        if root.is_some() {
            self.check_again(&plan.target)?;
        }
        if let Some(commit) = commit {
            return self.move_ref(plan, commit);
        }
        journal.decided = true;
        let written = self.replace_journal(journal);
        let written = written.and_then(|()| self.sync_state_dir());
        if written.is_err() {
            journal.decided = false;
        }
        written
    }

    fn take_back(&self, root: Option<&Path>, journal: &Journal) -> Result<(), ExecError> {
        if let Some(root) = root {
            worktree::discard(root, &journal.files)?;
        }
        self.clear_journal()
    }

    /// A ref that somebody else holds now is not ours to recover later.
    pub(crate) fn check_ref_is_free(&self, refname: &str) -> Result<(), ExecError> {
        if fs::symlink_metadata(self.ref_lock_path(refname)).is_ok() {
            return Err(ExecError::RefLocked(refname.to_owned()));
        }
        Ok(())
    }

    /// Moves the ref if it still stands at the base.
    fn move_ref(&self, plan: &LandPlan, commit: Oid) -> Result<(), ExecError> {
        let target = &plan.target;
        let log = format!("agentos: {}", subject(&plan.message));
        let result = if target.creates_branch {
            self.git.reference(&target.refname, commit, false, &log)
        } else {
            let base = oid(&target.base_commit)?;
            self.git
                .reference_matching(&target.refname, commit, true, base, &log)
        };
        match result {
            Ok(_) => {
                self.reach("branch moved");
                self.let_go_of(&target.refname, commit);
                Ok(())
            }
            Err(error) if error.code() == ErrorCode::Locked => {
                Err(ExecError::RefLocked(target.refname.clone()))
            }
            Err(error) => {
                let now = self.tip(&target.refname).unwrap_or_default();
                let expected = if target.creates_branch {
                    ""
                } else {
                    target.base_commit.as_str()
                };
                if matches!(error.code(), ErrorCode::Modified | ErrorCode::Exists) || now != expected {
                    return Err(moved(&target.refname, expected, now));
                }
                Err(ExecError::git("move the branch")(error))
            }
        }
    }

    /// Of a branch without a file of its own libgit2 makes the file by giving its lock a second name, and says nothing
    /// when it cannot take the first one away.
    fn let_go_of(&self, refname: &str, commit: Oid) {
        let path = self.ref_lock_path(refname);
        let is_ours = fs::read_to_string(&path).is_ok_and(|text| text.trim_end() == commit.to_string());
        if is_ours {
            // What cannot be removed now is told by whoever wants the branch next.
            let _ = fs::remove_file(&path);
        }
    }
}

fn subject(message: &str) -> String {
    let line = message.trim().lines().next().unwrap_or_default();
    line.chars().filter(|c| !c.is_control()).collect()
}
