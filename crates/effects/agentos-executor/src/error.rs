//! Failures to read a repository or to land a change.
//!
//! Owns: the errors, their stable codes and hints. Never: shows a message of libgit2 where we have a clearer one.

use std::io;
use std::path::{Path, PathBuf};

use agentos_durable::SyncError;

pub use kinds::{Operation, Unsupported};
pub use names::DirtyPath;
pub use places::{advise_unwritable, unwritable_code};

use names::{count_missing, quote_paths};
use places::kind_of;

mod kinds;
mod names;
mod places;
mod steps;

/// Failure to read a repository, or a state of it in which nothing can be landed.
#[derive(Debug, thiserror::Error)]
pub enum RepoError {
    /// The folder and those above it are no repository.
    #[error("`{}` is not in a git repository", .0.display())]
    NotARepository(PathBuf),
    /// The repository belongs to another user, so its configuration is not trusted.
    #[error("the repository `{}` belongs to another user", .0.display())]
    NotOwned(PathBuf),
    /// The repository's work tree is not where its git directory is.
    #[error("the repository's configuration puts its working tree elsewhere, at `{}`", .0.display())]
    WorkTreeElsewhere(PathBuf),
    /// The git directory belongs to another working tree, or does not confirm that it belongs to this one.
    #[error("the git directory `{}` does not name this folder as its working tree", .0.display())]
    ForeignGitDir(PathBuf),
    /// A path that a landing writes in the git directory is a link, and so leads out of it.
    #[error("`{}` is a symbolic link, which git does not create there", .0.display())]
    LinkInGitDir(PathBuf),
    /// The repository has a format that is not supported.
    #[error("the repository uses {0}, which is not supported")]
    Unsupported(Unsupported),
    /// The repository is bare, and no branch is named.
    #[error("the repository is bare: there is no checked-out branch to land on")]
    Bare,
    /// Only the working tree is to be written, and there is none.
    #[error("the repository is bare: there is no working tree to write to")]
    NoWorkTree,
    /// The branch has no commit yet.
    #[error("the branch `{0}` has no commit yet")]
    UnbornBranch(String),
    /// HEAD names a commit, not a branch.
    #[error("HEAD is detached: there is no branch to land on")]
    DetachedHead,
    /// A merge or a similar operation is in progress.
    #[error("a {} is in progress", .0.as_str())]
    InProgress(Operation),
    /// Files that an earlier landing left in the working tree do not fit to the present commit.
    #[error("later commits conflict with the files that this run left in the working tree")]
    Overtaken,
    /// The branch is checked out in another working tree.
    #[error("the branch `{branch}` is checked out at `{}`", at.display())]
    BranchCheckedOut {
        /// Name of the branch.
        branch: String,
        /// Path of the other working tree.
        at: PathBuf,
    },
    /// An operation in a working tree will move the branch when it ends.
    #[error("a {} of the branch `{branch}` is in progress at `{}`", operation.as_str(), at.display())]
    BranchInUse {
        /// Name of the branch.
        branch: String,
        /// Operation that is in progress.
        operation: Operation,
        /// Path of the working tree.
        at: PathBuf,
    },
    /// The text names no commit.
    #[error("`{0}` names no commit here")]
    UnknownRevision(String),
    /// The text is no valid name of a branch.
    #[error("`{0}` is not a valid branch name")]
    BadBranchName(String),
    /// A name would be both a branch and a folder of branches.
    #[error("the branch `{branch}` cannot be created while the branch `{other}` exists")]
    BranchConflict {
        /// Name of the branch to be created.
        branch: String,
        /// Name of the existing branch.
        other: String,
    },
    /// The branch is another name for a ref.
    #[error("the branch `{0}` is a symbolic ref")]
    SymbolicBranch(String),
    /// Name or e-mail address of author or committer are not known.
    #[error("there is no name and e-mail address for the commit")]
    NoIdentity,
    /// A setting has a value that git does not accept.
    #[error("`{name}` is set to `{value}`, which is not a valid value")]
    BadSetting {
        /// Name of the setting.
        name: &'static str,
        /// Value of the setting.
        value: String,
    },
    /// The configuration includes a file on a condition, which is not evaluated here.
    #[error("the setting `{0}` includes a file on a condition")]
    ConditionalConfig(String),
    /// A rule file of the base commit cannot be used.
    #[error("the policy cannot be read: `{path}` {why}")]
    UnreadablePolicy {
        /// Path of the file.
        path: String,
        /// Reason why it cannot be used.
        why: &'static str,
    },
    /// A file cannot be read.
    #[error("cannot read `{}`: {source}", path.display())]
    Io {
        /// Path of the file.
        path: PathBuf,
        /// Error that the system reported.
        source: io::Error,
    },
    /// A partial clone has not fetched files that are needed. git would fetch them when it reads them; nothing here does.
    #[error("{} not been fetched into this partial clone", count_missing(path, *more))]
    NotFetched {
        /// Path of the first such file.
        path: String,
        /// Number of further files.
        more: usize,
        /// Tree whose files are needed.
        tree: String,
    },
    /// Git's data cannot be read.
    #[error("cannot {action}: {why}")]
    Git {
        /// Attempted action, as in `read the base`.
        action: &'static str,
        /// Message that names what is wrong.
        why: String,
        /// Error behind it. `None` if the failure was found here.
        source: Option<Box<dyn std::error::Error + Send + Sync>>,
    },
}

impl RepoError {
    /// Returns the stable code.
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
            // For a program it is the same case: files of the working tree are in the way.
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
            Self::NotFetched { .. } => "not-fetched",
            Self::Git { .. } => "unreadable-repository",
        }
    }

    /// Returns what to do next as a sentence that names no flag of a front end. `None` if the error needs no advice, or
    /// [`Self::next_steps`] has it.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NotOwned(_) => Some("if you trust it, add it to git's settings"),
            Self::WorkTreeElsewhere(_) => Some("unset `core.worktree` in the repository's configuration"),
            Self::ForeignGitDir(_) => Some(
                "if it is yours, run `git worktree repair` there for a linked working tree, or else set its `core.worktree`",
            ),
            Self::LinkInGitDir(_) => Some(
                "if it is yours, replace the link by the file or folder it leads to, or clone the repository",
            ),
            Self::BranchConflict { .. } => Some("choose another name, or rename the other branch"),
            Self::UnbornBranch(_) => Some("make a first commit, as with `git commit --allow-empty -m start`"),
            Self::InProgress(_) | Self::BranchInUse { .. } => {
                Some("finish or abort it first; `git status` says how")
            }
            Self::BranchCheckedOut { .. } => Some(
                "run the command in that working tree if no other has the branch, or name another branch",
            ),
            Self::NoIdentity => {
                Some("run `git config user.name \"Your Name\"` and `git config user.email you@example.com`")
            }
            Self::BadSetting { .. } => {
                Some("`git config --show-origin --get-all NAME` shows where it is set")
            }
            Self::ConditionalConfig(_) => Some(
                "while `GIT_CONFIG_GLOBAL`, `GIT_CONFIG_SYSTEM` or `GIT_CONFIG_NOSYSTEM` is set, use `include` without a condition",
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
            | Self::NotFetched { .. }
            | Self::Git { .. } => None,
        }
    }

    /// Adds the action to an error of libgit2. An error about a format that is not supported becomes
    /// [`Self::Unsupported`].
    pub(crate) fn git(action: &'static str) -> impl FnOnce(git2::Error) -> Self {
        // libgit2 has no error code for a format that it does not support; its message is all there is.
        move |error| match Unsupported::named_in(error.message()) {
            Some(what) => Self::Unsupported(what),
            None => Self::Git {
                action,
                why: error.message().to_owned(),
                source: Some(Box::new(error)),
            },
        }
    }

    /// Adds the path to a system's error.
    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { path, source }
    }
}

/// Failure to land a change. Nothing was written, unless the error says otherwise.
#[derive(Debug, thiserror::Error)]
pub enum ExecError {
    /// The repository cannot be read, or is not in a state to be landed on.
    #[error(transparent)]
    Repo(#[from] RepoError),
    /// The approval was given for something else.
    #[error("the approval is void: it was given for another {what} (`{approved}`, now `{found}`)")]
    ApprovalVoid {
        /// Property that differs, as in `base commit`.
        what: &'static str,
        /// Value that was approved.
        approved: String,
        /// Value that was found.
        found: String,
    },
    /// The branch moved after the policy decided about the change.
    #[error("`{refname}` moved from `{expected}` to `{found}`")]
    BaseMoved {
        /// Name of the ref.
        refname: String,
        /// Commit that the decision was made for.
        expected: String,
        /// Commit that the ref leads to now; empty if the ref is gone.
        found: String,
    },
    /// The change contains no file.
    #[error("the change is empty")]
    Empty,
    /// The change was made for another state of a file.
    #[error("`{0}` is not in the state that the change was made for")]
    BaseDiffers(String),
    /// A path leads through a symbolic link, or is one.
    #[error("`{0}` leads through a symbolic link")]
    SymlinkTraversal(String),
    /// Paths of the change have uncommitted work.
    #[error("uncommitted work is in the way: {}", quote_paths(.0))]
    DirtyOverlap(Vec<DirtyPath>),
    /// Paths of the change have uncommitted work that `git status` does not show, because a person set a flag for them.
    #[error(
        "uncommitted work is in the way, which git hides since `git update-index --skip-worktree`: {}",
        quote_paths(.0)
    )]
    HiddenWork(Vec<String>),
    /// Together with files in the working tree, the folder of this path would be a git directory.
    #[error(
        "`{0}` cannot be written: with the files in the working tree, its folder would be a git directory, and git runs programs that such a folder names"
    )]
    GitDirectory(String),
    /// A filter or conversion changes content between the commit and the working tree.
    #[error("`{path}` is converted on checkout ({by}), which is not supported")]
    FilteredPath {
        /// Path of the file.
        path: String,
        /// Attribute or setting that converts it.
        by: String,
    },
    /// The next `git add` would change the line ends of this content.
    #[error("`{0}` has line ends that git would change with the next `git add`: its attributes make it text")]
    LineEnds(String),
    /// Another program has locked the index.
    #[error("the index is locked by `{}`", .0.display())]
    IndexLocked(PathBuf),
    /// Another program is about to switch branches.
    #[error("HEAD is locked by `{}`: another program is switching branches", .0.display())]
    HeadLocked(PathBuf),
    /// The path belongs to another repository inside this working tree.
    #[error("`{path}` is in another repository, `{repository}`, that lies in this working tree")]
    Nested {
        /// Path of the file.
        path: String,
        /// Folder of the other repository.
        repository: String,
    },
    /// Another program has locked the branch.
    #[error("`{0}` is locked by another program")]
    RefLocked(String),
    /// Two independent computations of the result differ: a fault of ours or of libgit2. Nothing was written.
    #[error("two independent computations of the result differ: {0}")]
    SecondOpinion(String),
    /// The intent could not be recorded, so nothing was written.
    #[error("the intent could not be recorded: {0}")]
    EvidenceNotDurable(String),
    /// The configuration requests signed commits, and there is no signature.
    #[error("the commit could not be signed: {0}")]
    NotSigned(String),
    /// The user stopped it before anything visible was written.
    #[error("stopped by the user")]
    Interrupted,
    /// An earlier landing that was interrupted can be neither finished nor rolled back now, so no new one is begun.
    #[error("run `{run}` was interrupted and cannot be finished now: {why}")]
    Blocked {
        /// Id of the earlier run.
        run: String,
        /// Failure of its recovery.
        why: Box<ExecError>,
    },
    /// The journal is not one that a landing writes.
    #[error("the journal `{}` cannot be read", .0.display())]
    BadJournal(PathBuf),
    /// A file could not be written. Everything written before was removed again.
    #[error("cannot {action} `{}`: {source}", path.display())]
    Write {
        /// Attempted action, as in `write`.
        action: &'static str,
        /// Path of the file or folder.
        path: PathBuf,
        /// Error that the system reported.
        source: io::Error,
    },
    /// Git's objects or refs could not be written. Everything written before was removed again.
    #[error("cannot {action}: {why}")]
    Git {
        /// Attempted action, as in `write the commit`.
        action: &'static str,
        /// Message that names what is wrong.
        why: String,
        /// Error behind it. `None` if the failure was found here.
        source: Option<Box<dyn std::error::Error + Send + Sync>>,
    },
    /// The change is made and recorded, but the working tree is not completely updated yet.
    #[error("the change was made, but the working tree could not be updated: {0}")]
    Unfinished(Box<ExecError>),
}

impl ExecError {
    /// Returns the stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Repo(error) => error.code(),
            Self::ApprovalVoid { .. } => "approval-void",
            Self::BaseMoved { .. } => "base-moved",
            Self::Empty => "empty",
            Self::BaseDiffers(_) => "stale",
            Self::SymlinkTraversal(_) => "symlink-traversal",
            Self::DirtyOverlap(_) | Self::HiddenWork(_) => "dirty-overlap",
            Self::GitDirectory(_) => "git-dir",
            Self::FilteredPath { .. } => "filtered-path",
            Self::LineEnds(_) => "line-ends",
            Self::IndexLocked(_) => "index-locked",
            Self::HeadLocked(_) => "head-locked",
            // The code says what it usually is. Any other repository in the working tree is treated alike.
            Self::Nested { .. } => "submodule",
            Self::RefLocked(_) => "ref-locked",
            Self::SecondOpinion(_) => "second-opinion",
            Self::EvidenceNotDurable(_) => "evidence-not-durable",
            Self::NotSigned(_) => "not-signed",
            Self::Interrupted => "interrupted",
            Self::Blocked { .. } => "recovery-blocked",
            Self::BadJournal(_) => "bad-journal",
            // A full disk has one code, whether a write of ours failed or one of libgit2.
            Self::Write { source, .. } => unwritable_code(source.kind()).unwrap_or("write-failed"),
            Self::Git { why, .. } => unwritable_code(kind_of(why)).unwrap_or("write-failed"),
            Self::Unfinished(_) => "unfinished",
        }
    }

    /// Returns what to do next as a sentence that names no flag of a front end. `None` if the error needs no advice, or
    /// [`Self::next_steps`] has it.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Repo(error) => error.hint(),
            Self::BaseMoved { .. } => Some("run the command again: it lands on the new base"),
            Self::GitDirectory(_) => {
                Some("move `HEAD` or `commondir` out of that folder, or leave the folder out of the change")
            }
            // A filter is refused for every target. Other conversions matter for the working tree only, and landing on
            // another branch avoids them; `next_steps` says that.
            Self::FilteredPath { by, .. } if by.starts_with("filter") => {
                Some("change this file with git, which runs the filter")
            }
            Self::LineEnds(_) => Some(
                "end its lines with LF alone, as git does in a commit; or set `-text` for it in `.gitattributes`",
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
            // Removing that obstacle is all that the user has to do.
            Self::Blocked { why, .. } => why.hint(),
            Self::BadJournal(_) => Some("compare the working tree with `git status`, then remove the file"),
            Self::Write { source, .. } => Some(advise_unwritable(source.kind())),
            Self::Git { why, .. } => Some(advise_unwritable(kind_of(why))),
            Self::Unfinished(_) => {
                Some("remove the cause and run any command: the landing is finished first")
            }
            Self::DirtyOverlap(_)
            | Self::HiddenWork(_)
            | Self::FilteredPath { .. }
            | Self::ApprovalVoid { .. }
            | Self::Empty
            | Self::Interrupted
            | Self::BaseDiffers(_)
            | Self::SecondOpinion(_)
            | Self::EvidenceNotDurable(_) => None,
        }
    }

    /// Returns true for a fault of ours, as opposed to a state of the repository in which nothing can be landed.
    #[must_use]
    pub fn is_internal(&self) -> bool {
        // A caller that lands with an approval for something else has made an error; no state of a repository causes that.
        matches!(self, Self::SecondOpinion(_) | Self::ApprovalVoid { .. })
    }

    /// Adds the action to an error of libgit2.
    pub(crate) fn git(action: &'static str) -> impl FnOnce(git2::Error) -> Self {
        move |error| Self::Git {
            action,
            why: error.message().to_owned(),
            source: Some(Box::new(error)),
        }
    }

    /// Converts the failure of a sync.
    pub(crate) fn not_synced(error: SyncError) -> Self {
        let SyncError { path, source } = error;
        Self::Write {
            action: "sync",
            path,
            source,
        }
    }

    /// Adds the action and the path to a system's error.
    pub(crate) fn write(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Write { action, path, source }
    }
}
