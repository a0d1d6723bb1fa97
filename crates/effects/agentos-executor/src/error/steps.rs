//! Next steps after a failure to read a repository or to land, as data.
//!
//! Owns: the steps for each error. Never: puts one into words: flags and verbs belong to a front end.

use agentos_api::{BranchChoice, NextStep};

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
                Unsupported::SparseCheckout => {
                    vec![branch(BranchChoice::Other), git("git sparse-checkout disable")]
                }
                Unsupported::SplitIndex => vec![git("git update-index --no-split-index")],
                Unsupported::SparseIndex => vec![git("git sparse-checkout init --no-sparse-index")],
                Unsupported::Reftable
                | Unsupported::Sha256
                | Unsupported::PartialClone
                | Unsupported::Extension => Vec::new(),
            },
            Self::NotOwned(_)
            | Self::WorkTreeElsewhere(_)
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
                NextStep::ClearWork { paths: paths.clone() },
                branch(BranchChoice::Other),
            ],
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
