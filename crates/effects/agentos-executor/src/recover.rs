//! Finishing or rolling back what a killed landing left.
//!
//! Owns: the decision, from the journal and where the ref stands, and removing locks that a dead process of ours
//! holds. Never: overwrites what somebody edited since, writes where
//! another branch is checked out by now, or removes a lock that may be another program's.
#![doc = include_str!("crash-states.md")]

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use git2::{ErrorCode, Oid};

use crate::file_state::find_others;
use crate::index_lock::HeldIndex;
use crate::journal::Journal;
use crate::splice::oid;
use crate::{ExecError, Recovered, RecoveryOutcome, RepoError, Repository};
use crate::{disk, index, leftovers, opinion, worktree};

/// What the log of a branch says of a landing whose move of it was lost.
const RESTORED: &str = "agentos: moved again after a loss of power";

impl Repository {
    /// The run whose landing has not come to its end: cut short, or under way in another process. Looks only.
    ///
    /// # Errors
    /// When what it left cannot be read.
    pub fn unfinished(&self) -> Result<Option<String>, ExecError> {
        let journal = self.read_journal()?;
        Ok(journal
            .map(|journal| journal.run)
            .or_else(|| self.abandoned_index_lock()))
    }

    /// Finishes or takes back a landing that did not come to its end. None when there is nothing to do.
    ///
    /// # Errors
    /// When it cannot be finished; the journal stays, and the next call tries again.
    pub fn recover(&self) -> Result<Option<Recovered>, ExecError> {
        if self.unfinished()?.is_none() {
            return Ok(None);
        }
        let _lock = self.lock()?;
        self.recover_locked()
    }

    /// The same, for a caller that holds the lock.
    pub(crate) fn recover_locked(&self) -> Result<Option<Recovered>, ExecError> {
        let abandoned = self.release_abandoned_index()?;
        let Some(mut journal) = self.read_journal()? else {
            // Nothing, or one that was never durable: then nothing that rests on it was done.
            self.remove_journal()?;
            // It died before it had written anything but objects.
            return Ok(abandoned.map(|run| Recovered {
                run,
                outcome: RecoveryOutcome::RolledBack,
                commit: None,
                kept: Vec::new(),
            }));
        };
        let run = journal.run.clone();
        let brought = self.bring_to_an_end(&mut journal);
        let (outcome, kept) = brought.map_err(|why| ExecError::Blocked {
            run,
            why: Box::new(why),
        })?;
        tracing::info!(run = journal.run, ?outcome, "an earlier landing was cut short");
        let made = matches!(outcome, RecoveryOutcome::Finished | RecoveryOutcome::Superseded);
        let commit = journal.commit.filter(|_| made);
        Ok(Some(Recovered {
            run: journal.run,
            outcome,
            commit,
            kept,
        }))
    }

    /// What became of it, and the paths that hold somebody's later work; the journal is cleared then.
    fn bring_to_an_end(&self, journal: &mut Journal) -> Result<(RecoveryOutcome, Vec<String>), ExecError> {
        let owner = self.work_tree_of(journal);
        if journal.commit.is_some() {
            self.check_no_links(&journal.refname)?;
        }
        // A branch that is to be moved again must be free.
        self.release_abandoned_ref(journal)?;
        let mut outcome = self.outcome(journal, owner.as_ref())?;
        let mut kept = Vec::new();
        if let Some(owner) = &owner
            && let Some(root) = owner.work_dir()
        {
            owner.release_abandoned_index()?;
            kept = leftovers::clear(owner, root, &journal.files)?;
            if outcome == RecoveryOutcome::Finished && journal.writes.touches_work_tree() {
                let mut index = owner.hold_index(&journal.run)?;
                owner.check_head_is_free()?;
                if is_still_at(owner, journal)? {
                    let more = self.finish(owner, root, journal, &mut index)?;
                    kept.extend(
                        more.into_iter()
                            .filter(|path| !kept.contains(path))
                            .collect::<Vec<_>>(),
                    );
                } else {
                    outcome = RecoveryOutcome::Superseded;
                }
            }
        }
        if journal.commit.is_some() {
            // Who moved the branch may have died before it was on the disk: without the journal nobody would move it again.
            self.sync(&disk::ref_files(self.common_dir(), &journal.refname))?;
        }
        self.reach("recovered");
        self.clear_journal()?;
        self.reach("journal cleared");
        Ok((outcome, kept))
    }

    /// Brings work tree and index to the landed state; gives the paths that hold somebody's later work. The caller
    /// holds the index.
    fn finish(
        &self,
        owner: &Repository,
        root: &Path,
        journal: &mut Journal,
        index: &mut HeldIndex,
    ) -> Result<Vec<String>, ExecError> {
        if index::is_brought_up(&index.index, &journal.files) {
            let folder = agentos_durable::folder(owner.git.path().to_owned());
            owner.sync(&Vec::from_iter(folder))?;
            return find_others(owner, root, &journal.files);
        }
        // Folders came and went: new content may have to wait elsewhere, and a second crash must find it there.
        worktree::plan_temps(root, &journal.run, &mut journal.files)?;
        self.replace_journal(journal)?;
        let mut unsynced = worktree::stage(
            owner,
            root,
            &journal.files,
            worktree::stored(owner, &journal.files),
        )?;
        unsynced.extend(agentos_durable::folder(self.state_dir()));
        owner.sync(&unsynced)?;
        self.reach("staged");
        let settled = worktree::settle_unless_edited(owner, index, root, &journal.files, Vec::new())?;
        disk::beside(settled.replaced, || owner.sync(&settled.unsynced))?;
        Ok(settled.kept)
    }

    fn outcome(&self, journal: &Journal, owner: Option<&Repository>) -> Result<RecoveryOutcome, ExecError> {
        let Some(commit) = &journal.commit else {
            return Ok(if journal.decided {
                RecoveryOutcome::Finished
            } else {
                RecoveryOutcome::RolledBack
            });
        };
        let commit = oid(commit)?;
        if self.is_torn(journal, commit) {
            self.fill_ref(journal, commit)?;
        }
        let mut now = self.at(&journal.refname)?;
        if self.lost_the_branch(journal, owner, now, commit)? {
            let parent = oid(&journal.parent)?;
            self.git
                .reference_matching(&journal.refname, commit, true, parent, RESTORED)
                .map_err(|error| match error.code() {
                    ErrorCode::Locked => ExecError::RefLocked(journal.refname.clone()),
                    _ => ExecError::git("move the branch")(error),
                })?;
            now = Some(commit);
        }
        let head = owner.and_then(Self::head_id);
        // A branch that was renamed since is checked out under its new name.
        if now == Some(commit) || head == Some(commit) {
            return Ok(RecoveryOutcome::Finished);
        }
        if self.is_only_logged(journal, owner, now, commit)? {
            return Ok(RecoveryOutcome::RolledBack);
        }
        if self.was_made(journal, owner, commit) {
            return Ok(RecoveryOutcome::Superseded);
        }
        let Some(now) = now else {
            return Ok(RecoveryOutcome::RolledBack);
        };
        // The branch moves only to a commit that is on the disk: one that a loss of power took it never moved to.
        if self.git.find_commit(commit).is_err() {
            return Ok(RecoveryOutcome::RolledBack);
        }
        let followed = match self.git.graph_descendant_of(now, commit) {
            Ok(followed) => followed,
            Err(error) => return Err(RepoError::git("read the branch's history")(error).into()),
        };
        Ok(if followed {
            RecoveryOutcome::Superseded
        } else {
            RecoveryOutcome::RolledBack
        })
    }

    /// Where a ref stands.
    fn at(&self, refname: &str) -> Result<Option<Oid>, ExecError> {
        match self.git.find_reference(refname) {
            Ok(reference) => Ok(reference.target()),
            Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
            // What cannot be read may have been made all the same.
            Err(error) => Err(RepoError::git("read the branch")(error).into()),
        }
    }

    /// Did a loss of power leave the branch's file without its content? That it was moved to another commit since is in
    /// its log.
    fn is_torn(&self, journal: &Journal, commit: Oid) -> bool {
        let path = self.common_dir().join(&journal.refname);
        let is_empty = || {
            let is_file = fs::symlink_metadata(&path).is_ok_and(|found| found.is_file());
            is_file && fs::read(&path).is_ok_and(|bytes| bytes.iter().all(|byte| *byte == 0))
        };
        let last = || self.last_move(&journal.refname).map(|to| to.to_string());
        journal.may_have_holes()
            && is_branch(&journal.refname)
            && is_empty()
            && last().is_none_or(|to| to == commit.to_string() || to == journal.parent)
            && self.is_the_change(journal, commit)
    }

    /// Gives a branch whose file has no content the commit that was to be in it, as git replaces such a file; libgit2
    /// does not move a branch that it cannot read. The lock is known as ours by its content, should we die here.
    fn fill_ref(&self, journal: &Journal, commit: Oid) -> Result<(), ExecError> {
        let lock = self.ref_lock_path(&journal.refname);
        let path = self.common_dir().join(&journal.refname);
        let taken = OpenOptions::new().write(true).create_new(true).open(&lock);
        let mut file = taken.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => ExecError::RefLocked(journal.refname.clone()),
            _ => ExecError::write("make", &lock)(error),
        })?;
        // Who held the lock a moment ago may have moved it.
        let filled = if self.is_torn(journal, commit) {
            writeln!(file, "{commit}")
                .and_then(|()| agentos_durable::sync_alone(&lock))
                .and_then(|()| fs::rename(&lock, &path))
        } else {
            fs::remove_file(&lock)
        };
        filled.map_err(ExecError::write("replace", &path))
    }

    /// Is this commit the change that the journal tells of, and all of it there? The journal may be another's, and may
    /// have come to the disk without the rest: then the branch never moved.
    fn is_the_change(&self, journal: &Journal, commit: Oid) -> bool {
        let failed = || ExecError::git("read the change");
        let check = || {
            let commit = self.git.find_commit(commit).map_err(failed())?;
            let parent = commit.parent(0).map_err(failed())?;
            if commit.parent_count() != 1 || parent.id() != oid(&journal.parent)? {
                return Err(opinion::disagree("the commit follows another one"));
            }
            let files: Vec<_> = journal.files.iter().map(|entry| entry.file.clone()).collect();
            let base = parent.tree().map_err(failed())?;
            opinion::check_tree(&self.git, &base, commit.tree_id(), &files)?;
            for new in files.iter().filter_map(|file| file.new.as_ref()) {
                self.git.find_blob(oid(&new.oid)?).map_err(failed())?;
            }
            Ok::<_, ExecError>(())
        };
        check().is_ok()
    }

    /// Where a ref went last, as its log says.
    fn last_move(&self, refname: &str) -> Option<Oid> {
        let log = self.git.reflog(refname).ok()?;
        log.get(0).map(|last| last.id_new())
    }

    /// Was a ref moved away from a commit, as its log says?
    fn was_left(&self, refname: &str, commit: Oid) -> bool {
        let log = self.git.reflog(refname);
        log.is_ok_and(|log| {
            let moved_on = log.iter().skip(1).any(|entry| entry.id_new() == commit);
            moved_on || log.iter().any(|entry| entry.id_old() == commit)
        })
    }

    /// Did a loss of power take back that the branch moved, but not its log, or what was written to the work tree after it?
    /// Somebody who moved it back has left word of that.
    fn lost_the_branch(
        &self,
        journal: &Journal,
        owner: Option<&Repository>,
        now: Option<Oid>,
        commit: Oid,
    ) -> Result<bool, ExecError> {
        let parent = oid(&journal.parent)?;
        if !journal.may_have_holes() || !journal.writes.touches_work_tree() || now != Some(parent) {
            return Ok(false);
        }
        let (Some(owner), Some(root)) = (owner, owner.and_then(Repository::work_dir)) else {
            return Ok(false);
        };
        let is_told = self.last_move(&journal.refname) == Some(commit);
        let is_checked_out = owner.head_ref().as_deref() == Some(journal.refname.as_str());
        let may_be =
            is_checked_out && !self.was_left(&journal.refname, commit) && self.is_the_change(journal, commit);
        let holds_any =
            || Ok::<_, ExecError>(find_others(owner, root, &journal.files)?.len() < journal.files.len());
        Ok(may_be && (is_told || holds_any()?))
    }

    /// Returns whether the log says that the branch moved, and nothing else does. libgit2 writes the log before the ref, so
    /// a landing can die in between. Whoever moves a branch back adds to its log, and who deletes one deletes its log.
    fn is_only_logged(
        &self,
        journal: &Journal,
        owner: Option<&Repository>,
        now: Option<Oid>,
        commit: Oid,
    ) -> Result<bool, ExecError> {
        let parent = oid(&journal.parent)?;
        if now.is_some_and(|now| now != parent) || self.last_move(&journal.refname) != Some(commit) {
            return Ok(false);
        }
        match (owner, owner.and_then(Repository::work_dir)) {
            (Some(owner), Some(root)) if journal.writes.touches_work_tree() => {
                Ok(find_others(owner, root, &journal.files)?.len() == journal.files.len())
            }
            (Some(_) | None, Some(_) | None) => Ok(true),
        }
    }

    /// Did the branch ever lead to this commit? It may have been renamed, amended or reset since.
    fn was_made(&self, journal: &Journal, owner: Option<&Repository>, commit: Oid) -> bool {
        let told = |repository: &Repository, name: &str| {
            let log = repository.git.reflog(name);
            log.is_ok_and(|log| log.iter().any(|entry| entry.id_new() == commit))
        };
        told(self, &journal.refname) || owner.is_some_and(|owner| told(owner, "HEAD"))
    }

    /// The commit that is checked out.
    fn head_id(&self) -> Option<Oid> {
        self.git.head().ok()?.target()
    }

    /// Removes the lock of a process that died while it moved the ref. Two things are known to be of its making: a
    /// lock that names its commit, which nobody else knew, and one that is still empty and younger than its journal,
    /// since the ref was free when the journal was written.
    fn release_abandoned_ref(&self, journal: &Journal) -> Result<(), ExecError> {
        let Some(commit) = &journal.commit else {
            return Ok(());
        };
        let path = self.ref_lock_path(&journal.refname);
        let Ok(found) = fs::symlink_metadata(&path) else {
            return Ok(());
        };
        if !is_branch(&journal.refname) || !found.is_file() {
            return Ok(());
        }
        let younger = || {
            let written = fs::symlink_metadata(self.journal_path()).and_then(|journal| journal.modified());
            written.is_ok_and(|written| found.modified().is_ok_and(|locked| locked >= written))
        };
        let is_ours = if found.len() == 0 {
            younger()
        } else {
            fs::read_to_string(&path).is_ok_and(|text| text.trim_end() == commit)
        };
        if is_ours {
            fs::remove_file(&path).map_err(ExecError::write("remove", &path))?;
        }
        Ok(())
    }

    /// The work tree a journal names, if it is one of this repository's. A journal is a file that a repository from
    /// elsewhere may bring along: it must not lead us out.
    fn work_tree_of(&self, journal: &Journal) -> Option<Repository> {
        let root = journal.work_dir.as_deref()?;
        let git = git2::Repository::open(root).ok()?;
        let found = Self::checked(git)
            .ok()?
            .with_config(self.config_env.clone())
            .ok()?
            .with_fail_points(self.fail_points().clone());
        let same = |a: &Path, b: &Path| {
            a.canonicalize()
                .ok()
                .is_some_and(|a| b.canonicalize().is_ok_and(|b| a == b))
        };
        let is_ours = same(found.common_dir(), self.common_dir()) && same(found.work_dir()?, root);
        is_ours.then_some(found)
    }
}

/// A journal is a file like any other: a name that it holds need not be one.
fn is_branch(refname: &str) -> bool {
    refname.starts_with("refs/heads/") && git2::Reference::is_valid_name(refname)
}

/// Is what the journal tells of still checked out there, under whatever name? Another commit's work tree is not ours to
/// write.
fn is_still_at(owner: &Repository, journal: &Journal) -> Result<bool, ExecError> {
    let at = owner.head_id();
    if let Some(commit) = &journal.commit {
        return Ok(at == Some(oid(commit)?));
    }
    Ok(match owner.head_ref() {
        Some(branch) => branch == journal.refname,
        None => journal.refname == "HEAD" && at == Some(oid(&journal.parent)?),
    })
}
