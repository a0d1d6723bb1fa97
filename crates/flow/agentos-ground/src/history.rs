//! The commits of a repository, for the verification of its evidence.
//!
//! Owns: which commits are read, and when. Never: writes.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use agentos_engine::ports::EffectError;
use agentos_evidence::{CommitInfo, CommitLookup, CommitStanding, FileChange, FileVersion};
use agentos_executor::{CommitChange, CommitFile, EVIDENCE_TRAILER, Repository};

use crate::error::repo_error;

/// The commits of a repository, for the verification of its evidence.
pub struct History<'a> {
    repo: &'a Repository,
    pinned: Vec<CommitInfo>,
    bare: Vec<String>,
    /// Every reachable commit. Read on first use, because a verification rarely needs it and a history can be long.
    reached: OnceCell<ReachedCommits>,
}

/// The commits that a branch or HEAD leads to.
#[derive(Default)]
struct ReachedCommits {
    ids: BTreeSet<String>,
    /// Ids of the commits without evidence, by each of their marks.
    bare: BTreeMap<String, String>,
}

/// Returns the properties that an amended or rebased commit shares with the original.
fn commit_marks(commit: &agentos_executor::CommitInfo) -> [String; 3] {
    // `git commit --amend` keeps the author with its time and the parents, and the tree if only the message changed.
    // `git rebase` keeps the author with its time, and usually the subject.
    let (author, parents) = (&commit.author, commit.parents.join(" "));
    [
        format!("{} on {parents}", commit.tree),
        format!("{author} on {parents}"),
        format!("{author} says {}", commit.subject),
    ]
}

/// Most commits that are read when evidence is verified, far above the length of a usual history.
pub const MOST_COMMITS: usize = 1_000_000;
/// Most commits that are searched for the changes of commits that left the history, the newest ones.
const MOST_SEARCHED: usize = 100_000;
/// Most files and folders of one commit that are compared.
const MOST_CHANGES: usize = 20_000;
/// Most bytes of a file whose lines are compared.
const MOST_CONTENT: usize = 16 << 20;

impl<'a> History<'a> {
    /// Reads the commits that name evidence.
    ///
    /// # Errors
    /// If the history cannot be read: a verification without it would prove too little.
    pub fn read(repo: &'a Repository) -> Result<Self, EffectError> {
        let commits = repo
            .agentos_commits(MOST_COMMITS)
            .map_err(|error| repo_error(&error))?;
        Ok(Self {
            repo,
            pinned: commits.into_iter().map(to_commit_info).collect(),
            bare: Vec::new(),
            reached: OnceCell::new(),
        })
    }

    /// Reads one commit or a range, with those that name no evidence.
    ///
    /// # Errors
    /// If the range names no commits, or the history cannot be read.
    pub fn read_range(repo: &'a Repository, range: &str) -> Result<Self, EffectError> {
        let commits = repo
            .commits_in(range, MOST_COMMITS)
            .map_err(|error| repo_error(&error))?;
        let (pinned, bare): (Vec<_>, Vec<_>) = commits
            .into_iter()
            .partition(|commit| commit.trailer(EVIDENCE_TRAILER).is_some());
        Ok(Self {
            repo,
            pinned: pinned.into_iter().map(to_commit_info).collect(),
            bare: bare.into_iter().map(|commit| commit.id).collect(),
            reached: OnceCell::new(),
        })
    }

    fn read_reached(&self) -> &ReachedCommits {
        self.reached.get_or_init(|| {
            let mut reached = ReachedCommits::default();
            // An unreadable history was already reported when it was read first.
            for commit in self.repo.all_commits(MOST_COMMITS).unwrap_or_default() {
                if commit.trailer(EVIDENCE_TRAILER).is_none() {
                    let marks = commit_marks(&commit).map(|mark| (mark, commit.id.clone()));
                    reached.bare.extend(marks);
                }
                reached.ids.insert(commit.id);
            }
            reached
        })
    }
}

impl CommitLookup for History<'_> {
    fn commit(&self, id: &str) -> Option<CommitInfo> {
        self.repo.commit(id).map(to_commit_info)
    }

    fn standing(&self, id: &str) -> CommitStanding {
        let reached = self.read_reached();
        if reached.ids.contains(id) {
            return CommitStanding::Held;
        }
        let commit = self.repo.commit(id);
        let other = commit.and_then(|commit| {
            commit_marks(&commit)
                .iter()
                .find_map(|mark| reached.bare.get(mark))
        });
        match other {
            Some(other) => CommitStanding::Replaced(other.clone()),
            None => CommitStanding::Gone,
        }
    }

    fn pinned(&self) -> Vec<CommitInfo> {
        self.pinned.clone()
    }

    fn bare(&self) -> Vec<String> {
        self.bare.clone()
    }

    fn changes(&self, id: &str) -> Option<Vec<FileChange>> {
        let changes = self.repo.commit_changes(id, MOST_CHANGES)?;
        Some(changes.iter().map(to_file_change).collect())
    }

    fn search(&self, paths: &BTreeSet<String>, visit: &mut dyn FnMut(&str, &[FileChange]) -> bool) -> bool {
        let walked = self.repo.walk_changes(paths, MOST_SEARCHED, &mut |id, changes| {
            let changes: Vec<FileChange> = changes.iter().map(to_file_change).collect();
            visit(id, &changes)
        });
        // Where a part of the history cannot be read, not all of it was searched.
        walked.unwrap_or(false)
    }

    fn precedes(&self, id: &str, other: &str) -> bool {
        self.repo.precedes(id, other)
    }

    fn content(&self, oid: &str) -> Option<Vec<u8>> {
        self.repo.blob_content(oid, MOST_CONTENT)
    }
}

/// Returns the hash of the record that a commit names. `None` if it names none.
pub fn evidence_of(commit: &CommitInfo) -> Option<&str> {
    let found = commit
        .trailers
        .iter()
        .rfind(|(name, _)| name.eq_ignore_ascii_case(EVIDENCE_TRAILER));
    found.map(|(_, value)| value.as_str())
}

fn to_file_change(change: &CommitChange) -> FileChange {
    let version = |file: &CommitFile| FileVersion {
        oid: file.oid.clone(),
        mode: file.mode.clone(),
    };
    FileChange {
        path: change.path.clone(),
        old: change.old.as_ref().map(version),
        new: change.new.as_ref().map(version),
    }
}

fn to_commit_info(commit: agentos_executor::CommitInfo) -> CommitInfo {
    CommitInfo {
        id: commit.id,
        tree: commit.tree,
        parents: commit.parents,
        author: commit.author_line,
        message: commit.message_id,
        trailers: commit.trailers,
    }
}
