//! Next steps after a failure to read a repository or to land, as data.
//!
//! Owns: the steps for each error. Never: puts one into words: flags and verbs belong to a front end.

use agentos_api::{BranchChoice, NextStep};

use crate::target::EMPTY_TREE;

use super::names::quote_argument;
use super::{ExecError, RepoError, Unsupported};

impl RepoError {
    /// Returns what can be done next, as alternatives that a front end puts into words.
    #[must_use]
    pub fn next_steps(&self) -> Vec<NextStep> {
        let git = |command: &str| NextStep::RunGit {
            command: command.to_owned(),
        };
        let branch = |choice| NextStep::NameBranch { choice };
        match self {
            Self::NotARepository(_) => vec![NextStep::NameRepository],
            Self::Bare => vec![branch(BranchChoice::Any)],
            Self::DetachedHead => vec![branch(BranchChoice::CheckOutOrName)],
            // Formats that git converts back by one command. For the others there is no such command.
            Self::Unsupported(what) => match what {
                Unsupported::SplitIndex => vec![git("git update-index --no-split-index")],
                // git needs it no more: `remote.NAME.promisor`, which every partial clone has as well, says the same.
                Unsupported::PartialClone => vec![git("git config --unset extensions.partialClone")],
                Unsupported::Reftable | Unsupported::Sha256 | Unsupported::Extension => Vec::new(),
            },
            // Comparing with the empty tree makes git fetch all missing files in one request, and prints one line.
            Self::NotFetched { tree, .. } => vec![git(&format!("git diff --shortstat {EMPTY_TREE} {tree}"))],
            // The command that git itself proposes for such a repository.
            Self::NotOwned(path) => vec![git(&format!(
                "git config --global --add safe.directory {}",
                quote_argument(&path.display().to_string())
            ))],
            Self::WorkTreeElsewhere(_)
            | Self::ForeignGitDir(_)
            | Self::LinkInGitDir(_)
            | Self::NoWorkTree
            | Self::UnbornBranch(_)
            | Self::InProgress(_)
            | Self::Overtaken
            | Self::BranchCheckedOut { .. }
            | Self::BranchInUse { .. }
            | Self::UnknownRevision(_)
            | Self::BadBranchName(_)
            | Self::BranchConflict { .. }
            | Self::SymbolicBranch(_)
            | Self::NoIdentity
            | Self::BadSetting { .. }
            | Self::ConditionalConfig(_)
            | Self::UnreadablePolicy { .. }
            | Self::Io { .. }
            | Self::Git { .. } => Vec::new(),
        }
    }
}

impl ExecError {
    /// Returns what can be done next, as alternatives that a front end puts into words.
    #[must_use]
    pub fn next_steps(&self) -> Vec<NextStep> {
        let branch = |choice| NextStep::NameBranch { choice };
        match self {
            Self::Repo(error) => error.next_steps(),
            Self::Blocked { why, .. } => why.next_steps(),
            Self::DirtyOverlap(paths) => vec![
                NextStep::ClearWork {
                    paths: paths.iter().map(|dirty| dirty.path.clone()).collect(),
                },
                branch(BranchChoice::Other),
            ],
            Self::HiddenWork(paths) => {
                let show = |path: &String| NextStep::RunGit {
                    command: format!("git update-index --no-skip-worktree -- {}", quote_argument(path)),
                };
                let shown = paths.iter().take(3).map(show);
                shown.chain([branch(BranchChoice::Other)]).collect()
            }
            Self::FilteredPath { by, .. } if by.starts_with("filter") => Vec::new(),
            Self::FilteredPath { .. } => vec![branch(BranchChoice::OtherThenMerge)],
            Self::ApprovalVoid { .. }
            | Self::BaseMoved { .. }
            | Self::Empty
            | Self::BaseDiffers(_)
            | Self::SymlinkTraversal(_)
            | Self::GitDirectory(_)
            | Self::LineEnds(_)
            | Self::IndexLocked(_)
            | Self::HeadLocked(_)
            | Self::Nested { .. }
            | Self::RefLocked(_)
            | Self::SecondOpinion(_)
            | Self::EvidenceNotDurable(_)
            | Self::NotSigned(_)
            | Self::Interrupted
            | Self::BadJournal(_)
            | Self::Write { .. }
            | Self::Git { .. }
            | Self::Unfinished(_) => Vec::new(),
        }
    }
}
