//! Why a repository cannot be read, or nothing was written.
//!
//! Owns: the errors, their stable codes and hints. Never: shows libgit2's words where we know better ones.

use std::io;
use std::path::{Path, PathBuf};

use agentos_durable::SyncError;

pub use kinds::{Operation, Unsupported};
pub use places::{mend, unwritable};

use places::kind_of;

mod kinds;
mod places;
mod steps;

/// The repository is not in a state to be read or landed on.
#[derive(Debug, thiserror::Error)]
pub enum RepoError {
    /// No repository here or above.
    #[error("`{}` is not in a git repository", .0.display())]
    NotARepository(PathBuf),
    /// Somebody else's repository; its configuration is not trusted.
    #[error("the repository `{}` belongs to another user", .0.display())]
    NotOwned(PathBuf),
    /// The repository's work tree is not where its git directory is.
    #[error("the repository's configuration puts its work tree elsewhere, at `{}`", .0.display())]
    WorkTreeElsewhere(PathBuf),
    /// The git directory is another work tree's, or is not known to be this one's.
    #[error("the git directory `{}` does not name this folder as its work tree", .0.display())]
    ForeignGitDir(PathBuf),
    /// What would be written leads elsewhere.
    #[error("`{}` is a symbolic link, which git does not make there", .0.display())]
    LinkInGitDir(PathBuf),
    /// A format we cannot keep safe.
    #[error("the repository uses {0}, which is not supported")]
    Unsupported(Unsupported),
    /// Bare, and no branch is named.
    #[error("the repository is bare: there is no checked-out branch to land on")]
    Bare,
    /// Only the work tree is to be written, and there is none.
    #[error("the repository is bare: there is no work tree to write to")]
    NoWorkTree,
    /// No commit yet.
    #[error("the branch `{0}` has no commit yet")]
    UnbornBranch(String),
    /// HEAD names a commit, not a branch.
    #[error("HEAD is detached: there is no branch to land on")]
    DetachedHead,
    /// A merge or the like is under way.
    #[error("a {} is in progress", .0.as_str())]
    InProgress(Operation),
    /// What an earlier landing left in the work tree cannot stand beside the present commit.
    #[error("later commits are in the way of what this run left in the work tree")]
    Overtaken,
    /// The branch is another work tree's.
    #[error("the branch `{branch}` is checked out at `{}`", at.display())]
    BranchCheckedOut {
        /// The branch.
        branch: String,
        /// The other work tree.
        at: PathBuf,
    },
    /// The branch will be moved by what a work tree is in the middle of.
    #[error("a {} of the branch `{branch}` is in progress at `{}`", operation.as_str(), at.display())]
    BranchInUse {
        /// The branch.
        branch: String,
        /// What is in progress.
        operation: Operation,
        /// The work tree.
        at: PathBuf,
    },
    /// Not a commit.
    #[error("`{0}` names no commit here")]
    UnknownRevision(String),
    /// Not a branch name.
    #[error("`{0}` is not a valid branch name")]
    BadBranchName(String),
    /// One name would have to be a branch and a folder of branches.
    #[error("the branch `{branch}` cannot be made beside the branch `{other}`")]
    BranchConflict {
        /// The branch.
        branch: String,
        /// The one that is there.
        other: String,
    },
    /// The branch is another name for a ref.
    #[error("the branch `{0}` is a symbolic ref")]
    SymbolicBranch(String),
    /// Nobody to name as author.
    #[error("there is no name and e-mail address for the commit")]
    NoIdentity,
    /// A setting has a value that git does not know.
    #[error("`{name}` is set to `{value}`, which is not known")]
    BadSetting {
        /// The setting.
        name: &'static str,
        /// Its value.
        value: String,
    },
    /// The configuration depends on conditions that are not decided here.
    #[error("the setting `{0}` includes a file on a condition")]
    ConditionalConfig(String),
    /// A rule file of the base commit cannot be used.
    #[error("the policy cannot be read: `{path}` {why}")]
    UnreadablePolicy {
        /// Its path.
        path: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A file cannot be read.
    #[error("cannot read `{}`: {source}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Git's data cannot be read.
    #[error("cannot {action}: {why}")]
    Git {
        /// What was tried.
        action: &'static str,
        /// What is wrong with it, in words.
        why: String,
        /// The error behind it, where there is one.
        source: Option<Box<dyn std::error::Error + Send + Sync>>,
    },
}

impl RepoError {
    /// The stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotARepository(_) => "not-a-repository",
            Self::NotOwned(_) => "not-owned",
            Self::WorkTreeElsewhere(_) => "work-tree-elsewhere",
            Self::ForeignGitDir(_) => "foreign-git-dir",
            Self::LinkInGitDir(_) => "link-in-git-dir",
            Self::Unsupported(what) => what.code(),
            Self::Bare => "bare-without-branch",
            Self::NoWorkTree => "no-work-tree",
            Self::UnbornBranch(_) => "unborn-branch",
            Self::DetachedHead => "detached-head",
            Self::InProgress(operation) => operation.code(),
            Self::Overtaken => "dirty-overlap",
            Self::BranchCheckedOut { .. } => "branch-checked-out",
            Self::BranchInUse { .. } => "branch-in-use",
            Self::UnknownRevision(_) => "unknown-revision",
            Self::BadBranchName(_) => "bad-branch-name",
            Self::BranchConflict { .. } => "branch-conflict",
            Self::SymbolicBranch(_) => "symbolic-branch",
            Self::NoIdentity => "no-identity",
            Self::BadSetting { .. } | Self::ConditionalConfig(_) => "bad-setting",
            Self::UnreadablePolicy { .. } => "unreadable-policy",
            Self::Io { .. } => "unreadable-file",
            Self::Git { .. } => "unreadable-repository",
        }
    }

    /// Returns what to do next, where that is a sentence which names no flag of a front end.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NotOwned(_) => Some("if you trust it, add it to git's `safe.directory`"),
            Self::WorkTreeElsewhere(_) => Some("unset `core.worktree` in the repository's configuration"),
            Self::ForeignGitDir(_) => Some(
                "if it is yours, run `git worktree repair` there for a linked work tree, or else set its `core.worktree`",
            ),
            Self::LinkInGitDir(_) => {
                Some("if it is yours, put what it leads to in its place, or clone the repository")
            }
            Self::BranchConflict { .. } => Some("choose another name, or rename the other branch"),
            Self::UnbornBranch(_) => Some("make a first commit, as with `git commit --allow-empty -m start`"),
            Self::InProgress(_) | Self::BranchInUse { .. } => {
                Some("finish or abort it first; `git status` says how")
            }
            Self::BranchCheckedOut { .. } => {
                Some("run the command in that work tree if no other has the branch, or name another branch")
            }
            Self::NoIdentity => {
                Some("run `git config user.name \"Your Name\"` and `git config user.email you@example.com`")
            }
            Self::BadSetting { .. } => Some("`git config --show-origin --get-all NAME` says where it is set"),
            Self::ConditionalConfig(_) => Some(
                "with `GIT_CONFIG_GLOBAL`, `GIT_CONFIG_SYSTEM` or `GIT_CONFIG_NOSYSTEM` set, name files with `include` alone",
            ),
            Self::Overtaken => Some("the files have changed since; edit them by hand"),
            Self::NotARepository(_)
            | Self::Bare
            | Self::DetachedHead
            | Self::Unsupported(_)
            | Self::NoWorkTree
            | Self::UnknownRevision(_)
            | Self::BadBranchName(_)
            | Self::SymbolicBranch(_)
            | Self::UnreadablePolicy { .. }
            | Self::Io { .. }
            | Self::Git { .. } => None,
        }
    }

    /// Wraps libgit2's error, in our words where a format is not supported.
    pub(crate) fn git(action: &'static str) -> impl FnOnce(git2::Error) -> Self {
        move |error| match Unsupported::named_in(error.message()) {
            Some(what) => Self::Unsupported(what),
            None => Self::Git {
                action,
                why: error.message().to_owned(),
                source: Some(Box::new(error)),
            },
        }
    }

    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { path, source }
    }
}

/// Nothing was written, unless the error says what was.
#[derive(Debug, thiserror::Error)]
pub enum ExecError {
    /// The repository is not in a state to land.
    #[error(transparent)]
    Repo(#[from] RepoError),
    /// The approval was given for something else.
    #[error("the approval is void: it was given for another {what} (`{approved}`, now `{found}`)")]
    ApprovalVoid {
        /// What differs.
        what: &'static str,
        /// As approved.
        approved: String,
        /// As found.
        found: String,
    },
    /// The branch moved after the change was judged.
    #[error("`{refname}` moved from `{expected}` to `{found}`")]
    BaseMoved {
        /// The ref.
        refname: String,
        /// The commit the change was judged against.
        expected: String,
        /// Where it stands; empty when it is gone.
        found: String,
    },
    /// Nothing would change.
    #[error("the change is empty")]
    Empty,
    /// The change was made for another state of a file.
    #[error("`{0}` is not in the state that the change was made for")]
    BaseDiffers(String),
    /// A path leads through or over a link.
    #[error("`{0}` leads through a symbolic link")]
    SymlinkTraversal(String),
    /// Work that is not committed is in the way.
    #[error("uncommitted work is in the way: {}", quoted(.0))]
    DirtyOverlap(Vec<String>),
    /// With what stands in the work tree, the folder of this path would be a git directory.
    #[error(
        "`{0}` cannot be written: with what is in the work tree its folder is a git directory, and git runs what that names"
    )]
    GitDirectory(String),
    /// A filter or conversion stands between the commit and the work tree.
    #[error("`{path}` is converted on checkout ({by}), which is not supported")]
    FilteredPath {
        /// The path.
        path: String,
        /// The attribute or setting.
        by: String,
    },
    /// Git would put other line ends into the next commit than this one has.
    #[error("`{0}` would be committed with line ends that git does not keep: it is text by its attributes")]
    LineEnds(String),
    /// Another program works on the index.
    #[error("the index is locked by `{}`", .0.display())]
    IndexLocked(PathBuf),
    /// Another program is about to switch branches.
    #[error("HEAD is locked by `{}`: another program switches branches here", .0.display())]
    HeadLocked(PathBuf),
    /// The path belongs to a repository of its own that lies in this work tree.
    #[error("`{path}` is in another repository, `{repository}`, that lies in this work tree")]
    Nested {
        /// The path.
        path: String,
        /// The folder that holds the other repository.
        repository: String,
    },
    /// Another program works on the branch.
    #[error("`{0}` is locked by another program")]
    RefLocked(String),
    /// Two independent ways to the result do not agree. A fault of ours or of libgit2; nothing was written.
    #[error("the two ways to compute the result do not agree: {0}")]
    SecondOpinion(String),
    /// The intent could not be recorded, so nothing was written.
    #[error("the intent could not be recorded: {0}")]
    EvidenceNotDurable(String),
    /// The user wants commits signed, and there is no signature.
    #[error("the commit could not be signed: {0}")]
    NotSigned(String),
    /// The user stopped it before anything visible was written.
    #[error("stopped by the user")]
    Interrupted,
    /// What an earlier landing left cannot be brought to its end now, so nothing new is begun.
    #[error("run `{run}` was cut short, and cannot be brought to its end: {why}")]
    Blocked {
        /// The earlier run.
        run: String,
        /// What stands in the way.
        why: Box<ExecError>,
    },
    /// Another landing left a journal that cannot be read.
    #[error("the journal `{}` cannot be read", .0.display())]
    BadJournal(PathBuf),
    /// Something could not be written; what had been begun was taken back.
    #[error("cannot {action} `{}`: {source}", path.display())]
    Write {
        /// What was tried.
        action: &'static str,
        /// Where.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Git's objects or refs could not be written; what had been begun was taken back.
    #[error("cannot {action}: {why}")]
    Git {
        /// What was tried.
        action: &'static str,
        /// What is wrong with it, in words.
        why: String,
        /// The error behind it, where there is one.
        source: Option<Box<dyn std::error::Error + Send + Sync>>,
    },
    /// The change is made and recorded, but the work tree is not yet wholly updated.
    #[error("the change is made, but the work tree could not be brought up to it: {0}")]
    Unfinished(Box<ExecError>),
}

impl ExecError {
    /// The stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Repo(error) => error.code(),
            Self::ApprovalVoid { .. } => "approval-void",
            Self::BaseMoved { .. } => "base-moved",
            Self::Empty => "empty",
            Self::BaseDiffers(_) => "stale",
            Self::SymlinkTraversal(_) => "symlink-traversal",
            Self::DirtyOverlap(_) => "dirty-overlap",
            Self::GitDirectory(_) => "git-dir",
            Self::FilteredPath { .. } => "filtered-path",
            Self::LineEnds(_) => "line-ends",
            Self::IndexLocked(_) => "index-locked",
            Self::HeadLocked(_) => "head-locked",
            Self::Nested { .. } => "submodule",
            Self::RefLocked(_) => "ref-locked",
            Self::SecondOpinion(_) => "second-opinion",
            Self::EvidenceNotDurable(_) => "evidence-not-durable",
            Self::NotSigned(_) => "not-signed",
            Self::Interrupted => "interrupted",
            Self::Blocked { .. } => "recovery-blocked",
            Self::BadJournal(_) => "bad-journal",
            Self::Write { source, .. } => unwritable(source.kind()).unwrap_or("write-failed"),
            Self::Git { why, .. } => unwritable(kind_of(why)).unwrap_or("write-failed"),
            Self::Unfinished(_) => "unfinished",
        }
    }

    /// Returns what to do next, where that is a sentence which names no flag of a front end.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Repo(error) => error.hint(),
            Self::BaseMoved { .. } => Some("run the command again: it lands on the new base"),
            Self::GitDirectory(_) => {
                Some("take `HEAD` or `commondir` out of that folder, or leave the folder out of the change")
            }
            Self::FilteredPath { by, .. } if by.starts_with("filter") => {
                Some("change this file with git, which runs the filter")
            }
            Self::LineEnds(_) => Some(
                "end its lines with LF alone, as git does in a commit; or give it `-text` in `.gitattributes`",
            ),
            Self::Nested { .. } => Some("run the command in that repository"),
            Self::IndexLocked(_) | Self::HeadLocked(_) => {
                Some("wait for the other program; if there is none, remove the file")
            }
            Self::RefLocked(_) => {
                Some("wait for the other program; if there is none, remove the ref's `.lock` file")
            }
            Self::SymlinkTraversal(_) => Some("remove the link, or name the real path"),
            Self::NotSigned(_) => Some(
                "try `git commit -S --allow-empty`; to land without a signature, `git config commit.gpgsign false`",
            ),
            Self::Blocked { why, .. } => why.hint(),
            Self::BadJournal(_) => Some("compare the work tree with `git status`, then remove the file"),
            Self::Write { source, .. } => Some(mend(source.kind())),
            Self::Git { why, .. } => Some(mend(kind_of(why))),
            Self::Unfinished(_) => {
                Some("put right what stands in the way and run any command: it is finished first")
            }
            Self::DirtyOverlap(_)
            | Self::FilteredPath { .. }
            | Self::ApprovalVoid { .. }
            | Self::Empty
            | Self::Interrupted
            | Self::BaseDiffers(_)
            | Self::SecondOpinion(_)
            | Self::EvidenceNotDurable(_) => None,
        }
    }

    /// True for faults of ours, as opposed to a repository that is not in a state to land.
    #[must_use]
    pub fn is_internal(&self) -> bool {
        matches!(self, Self::SecondOpinion(_) | Self::ApprovalVoid { .. })
    }

    pub(crate) fn git(action: &'static str) -> impl FnOnce(git2::Error) -> Self {
        move |error| Self::Git {
            action,
            why: error.message().to_owned(),
            source: Some(Box::new(error)),
        }
    }

    pub(crate) fn not_synced(error: SyncError) -> Self {
        let SyncError { path, source } = error;
        Self::Write {
            action: "sync",
            path,
            source,
        }
    }

    pub(crate) fn write(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Write { action, path, source }
    }
}

fn quoted(paths: &[String]) -> String {
    let shown: Vec<String> = paths.iter().take(5).map(|path| format!("`{path}`")).collect();
    let more = paths.len().saturating_sub(shown.len());
    let tail = if more == 0 {
        String::new()
    } else {
        format!(" and {more} more")
    };
    shown.join(", ") + &tail
}
