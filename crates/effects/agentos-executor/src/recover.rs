//! Finishes or rolls back a landing that was interrupted.
//!
//! Owns: the decision, from the journal and the ref, and removing locks of a process of ours that has ended. Never:
//! overwrites a file that was edited since, writes where another branch is checked out by now, or removes a lock that may
//! belong to another program.
#![doc = include_str!("crash-states.md")]

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use git2::{ErrorCode, Oid};

use crate::file_state::find_others;
use crate::index_lock::HeldIndex;
use crate::journal::{Journal, LandingLock};
use crate::splice::parse_oid;
use crate::target::EMPTY_TREE;
use crate::{ExecError, Recovered, RecoveryOutcome, RepoError, Repository};
use crate::{disk, index, leftovers, opinion, worktree};

/// Entry in the log of a branch that is moved again because a loss of power undid the move.
const RESTORED: &str = "agentos: moved again after a loss of power";

/// Time in which no landing is under way in a repository, and none begins. Dropping it ends that.
pub struct LandingPause {
    /// Landing that had been interrupted. `None` if there was none.
    pub recovered: Option<Recovered>,
    _lock: LandingLock,
}

impl Repository {
    /// Returns the run whose landing has not ended: interrupted, or under way in another process. `None` if there is none.
    /// Changes nothing.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub fn unfinished(&self) -> Result<Option<String>, ExecError> {
        let journal = self.read_journal()?;
        Ok(journal
            .map(|journal| journal.run)
            .or_else(|| self.abandoned_index_lock()))
    }

    /// Finishes or rolls back a landing that was interrupted. `None` if there is none.
    ///
    /// # Errors
    /// When it cannot be finished. The journal stays then, and the next call tries again.
    pub fn recover(&self) -> Result<Option<Recovered>, ExecError> {
        Ok(self.begin_recovery()?.and_then(|pause| pause.recovered))
    }

    /// Finishes or rolls back a landing that was interrupted, and lets none begin until the value is dropped, so that the caller can
    /// record it first. `None` if there is none.
    ///
    /// # Errors
    /// Those of [`Self::pause_landings`].
    pub fn begin_recovery(&self) -> Result<Option<LandingPause>, ExecError> {
        // Most calls find nothing, and need not wait for a landing of somebody else.
        self.unfinished()?.map(|_| self.pause_landings()).transpose()
    }

    /// Waits until no landing is under way, finishes or rolls back one that was interrupted, and lets none begin until the value is
    /// dropped.
    ///
    /// # Errors
    /// When an interrupted landing can be neither finished nor rolled back now, or the lock cannot be had.
    pub fn pause_landings(&self) -> Result<LandingPause, ExecError> {
        let lock = self.lock_landings()?;
        Ok(LandingPause {
            recovered: self.recover_locked()?,
            _lock: lock,
        })
    }

    /// Does the work of [`Self::recover`] for a caller that holds the repository's lock.
    ///
    /// # Errors
    /// [`ExecError::Blocked`] if the landing can be neither finished nor rolled back now.
    pub(crate) fn recover_locked(&self) -> Result<Option<Recovered>, ExecError> {
        let abandoned = self.release_abandoned_index()?;
        let Some(mut journal) = self.read_journal()? else {
            // There is no journal, or one that was never durable, on which nothing rests.
            self.remove_journal()?;
            // A lock of the index without a journal: the process ended before it had written anything but objects.
            return Ok(abandoned.map(|run| Recovered {
                run,
                outcome: RecoveryOutcome::RolledBack,
                commit: None,
                kept: Vec::new(),
            }));
        };
        let run = journal.run.clone();
        let brought = self.end_landing(&mut journal);
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

    /// Finishes or rolls back the landing of a journal, and removes the journal. Returns the outcome and the paths that
    /// contain somebody's later work.
    ///
    /// # Errors
    /// When a step fails. The journal stays then.
    fn end_landing(&self, journal: &mut Journal) -> Result<(RecoveryOutcome, Vec<String>), ExecError> {
        let owner = self.work_tree_of(journal);
        if journal.commit.is_some() {
            self.check_no_links(&journal.refname)?;
        }
        // The branch may have to be moved again below, which its lock would prevent.
        self.release_abandoned_ref(journal)?;
        let mut outcome = self.decide_outcome(journal, owner.as_ref())?;
        let mut kept = Vec::new();
        if let Some(owner) = &owner
            && let Some(root) = owner.work_dir()
        {
            owner.release_abandoned_index()?;
            kept = leftovers::clear_leftovers(owner, root, &journal.files)?;
            if outcome == RecoveryOutcome::Finished && journal.writes.touches_work_tree() {
                let mut index = owner.hold_index(&journal.run)?;
                owner.check_head_is_free()?;
                if is_still_at(owner, journal)? {
                    let more = self.finish_landing(owner, root, journal, &mut index)?;
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
            // The process that moved the branch may have ended before that was durable. Without the journal, nothing would
            // move the branch again after a loss of power.
            self.sync_paths(&disk::ref_files(self.common_dir(), &journal.refname))?;
        }
        self.reach("recovered");
        self.clear_journal()?;
        self.reach("journal cleared");
        Ok((outcome, kept))
    }

    /// Brings working tree and index to the landed state, and returns the paths that contain somebody's later work. The
    /// caller holds the lock of the index.
    ///
    /// # Errors
    /// When a file or the index cannot be written or synced. The next call tries again.
    fn finish_landing(
        &self,
        owner: &Repository,
        root: &Path,
        journal: &mut Journal,
        index: &mut HeldIndex,
    ) -> Result<Vec<String>, ExecError> {
        // The index is replaced last, after the working tree was durable. Whatever the files contain now, the user wrote.
        if index::is_up_to_date(owner, &index.index, &journal.files)? {
            let folder = agentos_durable::syncable_folder(owner.git.path().to_owned());
            owner.sync_paths(&Vec::from_iter(folder))?;
            return find_others(owner, root, &journal.files);
        }
        // Folders may have been created or removed since, so temporary names may have to lie in other folders. They are
        // written to the journal first, so that a second crash finds the files.
        worktree::plan_temps(root, &journal.run, &mut journal.files)?;
        self.replace_journal(journal)?;
        let mut unsynced = worktree::stage_files(
            owner,
            root,
            &journal.files,
            worktree::stored_contents(owner, &journal.files),
        )?;
        unsynced.extend(agentos_durable::syncable_folder(self.state_dir()));
        owner.sync_paths(&unsynced)?;
        self.reach("staged");
        let settled = worktree::settle_unless_edited(owner, index, root, &journal.files, Vec::new())?;
        disk::close_during(settled.replaced, || owner.sync_paths(&settled.unsynced))?;
        Ok(settled.kept)
    }

    /// Decides from journal and ref whether the change was made, and moves the branch again if a loss of power undid that.
    ///
    /// # Errors
    /// When the branch or its history cannot be read, or the branch cannot be moved.
    fn decide_outcome(
        &self,
        journal: &Journal,
        owner: Option<&Repository>,
    ) -> Result<RecoveryOutcome, ExecError> {
        let Some(commit) = &journal.commit else {
            return Ok(if journal.decided {
                RecoveryOutcome::Finished
            } else {
                RecoveryOutcome::RolledBack
            });
        };
        let commit = parse_oid(commit)?;
        if self.is_torn(journal, commit) {
            self.fill_ref(journal, commit)?;
        }
        let mut now = self.ref_target(&journal.refname)?;
        if self.lost_the_branch(journal, owner, now, commit)? {
            let parent = parse_oid(&journal.parent)?;
            let moved = if parent.is_zero() {
                // The branch had no commit before. If another program creates it in this moment, it exists.
                self.git.reference(&journal.refname, commit, false, RESTORED)
            } else {
                self.git
                    .reference_matching(&journal.refname, commit, true, parent, RESTORED)
            };
            moved.map_err(|error| match error.code() {
                ErrorCode::Locked => ExecError::RefLocked(journal.refname.clone()),
                _ => ExecError::git("move the branch")(error),
            })?;
            now = Some(commit);
        }
        let head = owner.and_then(Self::head_id);
        // HEAD is compared too: the user may have renamed the branch, and then the old name leads nowhere.
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
        // The branch is moved only to a durable commit. A commit that a loss of power took was never in the branch.
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

    /// Returns the commit that a ref leads to. `None` if the ref does not exist.
    ///
    /// # Errors
    /// When it cannot be read.
    fn ref_target(&self, refname: &str) -> Result<Option<Oid>, ExecError> {
        match self.git.find_reference(refname) {
            Ok(reference) => Ok(reference.target()),
            Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
            // A ref that cannot be read must not count as one that never moved: the change may have been made.
            Err(error) => Err(RepoError::git("read the branch")(error).into()),
        }
    }

    /// Returns whether a loss of power left the branch's file without its content. The log of the branch shows whether it
    /// was moved to another commit since.
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

    /// Writes the commit into a branch's file that has no content, through a lock file as git does. libgit2 does not move a
    /// branch that it cannot read. If this process is killed here, the content of the lock shows that it is ours.
    ///
    /// # Errors
    /// [`ExecError::RefLocked`] if another program holds the lock; other errors as the system reports them.
    fn fill_ref(&self, journal: &Journal, commit: Oid) -> Result<(), ExecError> {
        let lock = self.ref_lock_path(&journal.refname);
        let path = self.common_dir().join(&journal.refname);
        let taken = OpenOptions::new().write(true).create_new(true).open(&lock);
        let mut file = taken.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => ExecError::RefLocked(journal.refname.clone()),
            _ => ExecError::write("make", &lock)(error),
        })?;
        // Another program may have held the lock until a moment ago and moved the branch.
        let filled = if self.is_torn(journal, commit) {
            writeln!(file, "{commit}")
                .and_then(|()| agentos_durable::sync_alone(&lock))
                .and_then(|()| fs::rename(&lock, &path))
        } else {
            fs::remove_file(&lock)
        };
        filled.map_err(ExecError::write("replace", &path))
    }

    /// Returns whether this commit is the change of the journal and all its objects exist. The journal may come from another
    /// repository; or it may be durable while the objects are not, and then the branch never moved.
    fn is_the_change(&self, journal: &Journal, commit: Oid) -> bool {
        let failed = || ExecError::git("read the change");
        let check = || {
            let commit = self.git.find_commit(commit).map_err(failed())?;
            let parent = parse_oid(&journal.parent)?;
            let parents: Vec<Oid> = commit.parent_ids().collect();
            let base = match parents.as_slice() {
                [] if parent.is_zero() => self.find_tree(EMPTY_TREE)?,
                [only] if *only == parent => {
                    let parent = commit.parent(0).and_then(|parent| parent.tree());
                    parent.map_err(failed())?
                }
                _ => return Err(opinion::opinions_differ("the commit follows another one")),
            };
            let files: Vec<_> = journal.files.iter().map(|entry| entry.file.clone()).collect();
            opinion::check_tree(&self.git, &base, commit.tree_id(), &files)?;
            for new in files.iter().filter_map(|file| file.new.as_ref()) {
                self.git.find_blob(parse_oid(&new.oid)?).map_err(failed())?;
            }
            Ok::<_, ExecError>(())
        };
        check().is_ok()
    }

    /// Returns the commit that a ref was moved to last, according to its log. `None` if there is no log.
    fn last_move(&self, refname: &str) -> Option<Oid> {
        let log = self.git.reflog(refname).ok()?;
        log.get(0).map(|last| last.id_new())
    }

    /// Returns whether a ref was moved away from a commit, according to its log.
    fn was_left(&self, refname: &str, commit: Oid) -> bool {
        let log = self.git.reflog(refname);
        log.is_ok_and(|log| {
            let moved_on = log.iter().skip(1).any(|entry| entry.id_new() == commit);
            moved_on || log.iter().any(|entry| entry.id_old() == commit)
        })
    }

    /// Returns whether a loss of power undid the move of the branch, but not the later writes to its log or to the working
    /// tree. If somebody moved the branch back on purpose, its log shows that.
    ///
    /// # Errors
    /// When the working tree cannot be read.
    fn lost_the_branch(
        &self,
        journal: &Journal,
        owner: Option<&Repository>,
        now: Option<Oid>,
        commit: Oid,
    ) -> Result<bool, ExecError> {
        let parent = parse_oid(&journal.parent)?;
        let is_at_parent = now == Some(parent) || (now.is_none() && parent.is_zero());
        if !journal.may_have_holes() || !journal.writes.touches_work_tree() || !is_at_parent {
            return Ok(false);
        }
        let (Some(owner), Some(root)) = (owner, owner.and_then(Repository::work_dir)) else {
            return Ok(false);
        };
        let is_logged = self.last_move(&journal.refname) == Some(commit);
        let is_checked_out = owner.head_ref().as_deref() == Some(journal.refname.as_str());
        let may_be =
            is_checked_out && !self.was_left(&journal.refname, commit) && self.is_the_change(journal, commit);
        let holds_any =
            || Ok::<_, ExecError>(find_others(owner, root, &journal.files)?.len() < journal.written_files());
        // The log may be lost too. Then a single file of the change in the working tree proves the move, since the files are
        // put in place after it.
        Ok(may_be && (is_logged || holds_any()?))
    }

    /// Returns whether only the log says that the branch moved. libgit2 writes the log before the ref, so a landing can be
    /// killed in between. Moving a branch back adds to its log, and deleting a branch deletes its log.
    ///
    /// # Errors
    /// When the working tree cannot be read.
    fn is_only_logged(
        &self,
        journal: &Journal,
        owner: Option<&Repository>,
        now: Option<Oid>,
        commit: Oid,
    ) -> Result<bool, ExecError> {
        let parent = parse_oid(&journal.parent)?;
        if now.is_some_and(|now| now != parent) || self.last_move(&journal.refname) != Some(commit) {
            return Ok(false);
        }
        match (owner, owner.and_then(Repository::work_dir)) {
            (Some(owner), Some(root)) if journal.writes.touches_work_tree() => {
                Ok(find_others(owner, root, &journal.files)?.len() == journal.written_files())
            }
            (Some(_) | None, Some(_) | None) => Ok(true),
        }
    }

    /// Returns whether the branch led to this commit at any time. It may have been renamed, amended or reset since.
    fn was_made(&self, journal: &Journal, owner: Option<&Repository>, commit: Oid) -> bool {
        let is_logged = |repository: &Repository, name: &str| {
            let log = repository.git.reflog(name);
            log.is_ok_and(|log| log.iter().any(|entry| entry.id_new() == commit))
        };
        is_logged(self, &journal.refname) || owner.is_some_and(|owner| is_logged(owner, "HEAD"))
    }

    /// Returns the commit that is checked out. `None` if there is none.
    fn head_id(&self) -> Option<Oid> {
        self.git.head().ok()?.target()
    }

    /// Removes the lock of a ref if it belongs to the interrupted landing. That is known in two cases: the lock contains the
    /// commit of the journal, which no other program knew; or it is still empty and younger than the journal, since the ref
    /// was not locked when the journal was written.
    ///
    /// # Errors
    /// When the lock cannot be removed.
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
        // libgit2 creates the lock empty and then writes the commit into it; a kill can come in between.
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

    /// Opens the working tree that a journal names. `None` if it names none, or one that does not belong to this repository:
    /// a journal may come with an unpacked repository, and must not lead our writes to another one.
    fn work_tree_of(&self, journal: &Journal) -> Option<Repository> {
        let root = journal.work_dir.as_deref()?;
        let git = git2::Repository::open(root).ok()?;
        let found = Self::check_format(git)
            .ok()?
            .with_config(self.config_env.clone())
            .ok()?
            .with_fail_points(self.fail_points().clone());
        let same = |a: &Path, b: &Path| {
            a.canonicalize()
                .ok()
                .is_some_and(|a| b.canonicalize().is_ok_and(|b| a == b))
        };
        // Links are resolved on both sides, since a path may have been recorded through one.
        let is_ours = same(found.common_dir(), self.common_dir()) && same(found.work_dir()?, root);
        is_ours.then_some(found)
    }
}

/// Returns whether a name from a journal is a valid branch. Anybody may have written the journal.
fn is_branch(refname: &str) -> bool {
    refname.starts_with("refs/heads/") && git2::Reference::is_valid_name(refname)
}

/// Returns whether the working tree still has the journal's commit or branch checked out, even if the branch was renamed.
/// Otherwise it must not be written.
///
/// # Errors
/// When an id in the journal is not valid.
fn is_still_at(owner: &Repository, journal: &Journal) -> Result<bool, ExecError> {
    let at = owner.head_id();
    if let Some(commit) = &journal.commit {
        return Ok(at == Some(parse_oid(commit)?));
    }
    Ok(match owner.head_ref() {
        Some(branch) => branch == journal.refname,
        None => journal.refname == "HEAD" && at == Some(parse_oid(&journal.parent)?),
    })
}
