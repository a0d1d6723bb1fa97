//! Where a change shall land: the branch, the commit it is judged against, and what will be written.
//!
//! Owns: resolving what the user asked for, and every refusal that follows from the repository's state. Never:
//! changes anything.

use git2::{ErrorCode, ReferenceType, RepositoryState};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{Operation, Unsupported};
use crate::splice::splice;
use crate::{ReceiptFile, RepoError, Repository, index, work_trees};

/// What the user asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TargetSpec {
    /// The checked-out branch, with index and work tree.
    CurrentBranch,
    /// A branch by its name; made from HEAD if it is not there.
    Branch(String),
    /// Index and work tree, no commit.
    WorkTreeOnly,
    /// The same, on a work tree and index that still hold these files of an earlier landing without a commit.
    WorkTreeWith {
        /// The files as they were landed.
        files: Vec<ReceiptFile>,
    },
    /// Nothing: what would happen to this target. Refused where the real call would be.
    DryRun(Box<TargetSpec>),
    /// Nothing, on HEAD's commit, whatever state the repository is in: a change is only looked at.
    AtHead,
}

impl TargetSpec {
    /// Does landing here make a commit, or would it without the dry run?
    #[must_use]
    pub fn commits(&self) -> bool {
        match self {
            Self::CurrentBranch | Self::Branch(_) => true,
            Self::DryRun(real) => real.commits(),
            Self::WorkTreeOnly | Self::WorkTreeWith { .. } | Self::AtHead => false,
        }
    }
}

/// What landing writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Writes {
    /// A commit on the checked-out branch, index and work tree.
    CommitAndWorkTree,
    /// A commit on another branch.
    CommitOnly,
    /// Index and work tree, no commit.
    WorkTreeOnly,
    /// Nothing.
    Nothing,
}

impl Writes {
    /// The word in JSON, on the tape and in what a consent is bound to.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::CommitAndWorkTree => "commit-and-work-tree",
            Self::CommitOnly => "commit-only",
            Self::WorkTreeOnly => "work-tree-only",
            Self::Nothing => "nothing",
        }
    }

    /// Is a commit made?
    #[must_use]
    pub fn commits(self) -> bool {
        matches!(self, Self::CommitAndWorkTree | Self::CommitOnly)
    }

    /// Are index and work tree written?
    #[must_use]
    pub fn touches_work_tree(self) -> bool {
        matches!(self, Self::CommitAndWorkTree | Self::WorkTreeOnly)
    }
}

/// Where a change shall land, resolved at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Target {
    /// The ref, as in `refs/heads/main`; `HEAD` where no branch moves and none is checked out.
    pub refname: String,
    /// The commit the change is judged against, and will be the parent.
    pub base_commit: String,
    /// Its tree; with files that are in index and work tree alone, where those are the base.
    pub base_tree: String,
    /// The branch is not there yet.
    pub creates_branch: bool,
    /// What will be written.
    pub writes: Writes,
}

impl Repository {
    /// Resolves a target. Called again after the branch moved, it gives the new base.
    ///
    /// # Errors
    /// When the repository is not in a state to land there.
    pub fn resolve(&self, spec: &TargetSpec) -> Result<Target, RepoError> {
        let target = self.resolve_ref(spec)?;
        if *spec != TargetSpec::AtHead {
            // Before anybody is asked for a change that cannot land.
            self.check_no_links(&target.refname)?;
        }
        Ok(target)
    }

    fn resolve_ref(&self, spec: &TargetSpec) -> Result<Target, RepoError> {
        match spec {
            TargetSpec::CurrentBranch => self.current_branch(),
            TargetSpec::Branch(name) => self.named_branch(name),
            TargetSpec::WorkTreeOnly => self.work_tree_only(),
            TargetSpec::WorkTreeWith { files } => {
                let mut target = self.work_tree_only()?;
                let head = self.tree(&target.base_tree)?;
                let tree =
                    splice(&self.git, &head, files, &mut Vec::new()).map_err(|_| RepoError::Overtaken)?;
                target.base_tree = tree.to_string();
                Ok(target)
            }
            TargetSpec::DryRun(real) => Ok(Target {
                writes: Writes::Nothing,
                ..self.resolve(real)?
            }),
            TargetSpec::AtHead => self.at_head(Writes::Nothing),
        }
    }

    fn current_branch(&self) -> Result<Target, RepoError> {
        if self.is_bare() {
            return Err(RepoError::Bare);
        }
        self.check_work_tree_state()?;
        let target = self.at_head(Writes::CommitAndWorkTree)?;
        if target.refname == "HEAD" {
            return Err(RepoError::DetachedHead);
        }
        self.check_direct(&target.refname)?;
        if let Some(at) = work_trees::checked_out_at(self, &target.refname)? {
            // It would be seen there as if all of the change had been taken back.
            return Err(RepoError::BranchCheckedOut {
                branch: target.refname.trim_start_matches("refs/heads/").to_owned(),
                at,
            });
        }
        Ok(target)
    }

    fn work_tree_only(&self) -> Result<Target, RepoError> {
        if self.is_bare() {
            return Err(RepoError::NoWorkTree);
        }
        self.check_work_tree_state()?;
        self.at_head(Writes::WorkTreeOnly)
    }

    fn named_branch(&self, name: &str) -> Result<Target, RepoError> {
        let refname = format!("refs/heads/{name}");
        let fits = !name.starts_with('-') && name != "HEAD" && git2::Reference::is_valid_name(&refname);
        if !fits {
            return Err(RepoError::BadBranchName(name.to_owned()));
        }
        if !self.is_bare() && self.head_ref().as_deref() == Some(refname.as_str()) {
            return self.current_branch();
        }
        if let Some(at) = work_trees::checked_out_at(self, &refname)? {
            return Err(RepoError::BranchCheckedOut {
                branch: name.to_owned(),
                at,
            });
        }
        if let Some((operation, at)) = work_trees::moved_by(self, &refname)? {
            return Err(RepoError::BranchInUse {
                branch: name.to_owned(),
                operation,
                at,
            });
        }
        match self.git.find_reference(&refname) {
            Ok(reference) => {
                self.check_direct(&refname)?;
                let commit = reference
                    .peel_to_commit()
                    .map_err(RepoError::git("read the branch"))?;
                Target::new(refname, &commit, false, Writes::CommitOnly)
            }
            Err(error) if error.code() == ErrorCode::NotFound => {
                self.check_room(name)?;
                let head = self.head_commit()?;
                Target::new(refname, &head, true, Writes::CommitOnly)
            }
            Err(error) => Err(RepoError::git("read the branch")(error)),
        }
    }

    /// A branch is a file and its name's parts are folders: `a` and `a/b` cannot both be.
    fn check_room(&self, name: &str) -> Result<(), RepoError> {
        let conflict = |other: &str| RepoError::BranchConflict {
            branch: name.to_owned(),
            other: other.to_owned(),
        };
        for above in name.match_indices('/').filter_map(|(at, _)| name.get(..at)) {
            if self.git.find_reference(&format!("refs/heads/{above}")).is_ok() {
                return Err(conflict(above));
            }
        }
        let below = self.git.references_glob(&format!("refs/heads/{name}/*"));
        let mut below = below.map_err(RepoError::git("read the branches"))?;
        let first = below
            .names()
            .next()
            .and_then(Result::ok)
            .map(|found| conflict(found.trim_start_matches("refs/heads/")));
        first.map_or(Ok(()), Err)
    }

    fn at_head(&self, writes: Writes) -> Result<Target, RepoError> {
        let commit = self.head_commit()?;
        let refname = self.head_ref().unwrap_or_else(|| "HEAD".to_owned());
        Target::new(refname, &commit, false, writes)
    }

    fn head_commit(&self) -> Result<git2::Commit<'_>, RepoError> {
        let head = self.git.head().map_err(|error| match error.code() {
            ErrorCode::UnbornBranch | ErrorCode::NotFound => {
                let branch = self.head_ref().unwrap_or_default();
                RepoError::UnbornBranch(branch.trim_start_matches("refs/heads/").to_owned())
            }
            _ => RepoError::git("read HEAD")(error),
        })?;
        head.peel_to_commit().map_err(RepoError::git("read HEAD"))
    }

    /// Does a landing on this target write the work tree here, or would it without the dry run?
    pub(crate) fn concerns_work_tree(&self, target: &Target) -> bool {
        let head = self.head_ref().unwrap_or_else(|| "HEAD".to_owned());
        target.writes.touches_work_tree()
            || (target.writes == Writes::Nothing && !self.is_bare() && target.refname == head)
    }

    /// The ref that HEAD names; none when it is detached.
    pub(crate) fn head_ref(&self) -> Option<String> {
        let head = self.git.find_reference("HEAD").ok()?;
        head.symbolic_target().ok().flatten().map(str::to_owned)
    }

    /// The ref must hold a commit itself: moving a symbolic one would move another.
    fn check_direct(&self, refname: &str) -> Result<(), RepoError> {
        let reference = self
            .git
            .find_reference(refname)
            .map_err(RepoError::git("read the branch"))?;
        if reference.kind() == Some(ReferenceType::Direct) {
            return Ok(());
        }
        Err(RepoError::SymbolicBranch(
            refname.trim_start_matches("refs/heads/").to_owned(),
        ))
    }

    fn check_work_tree_state(&self) -> Result<(), RepoError> {
        let operation = match self.git.state() {
            RepositoryState::Clean => None,
            RepositoryState::Merge => Some(Operation::Merge),
            RepositoryState::Revert | RepositoryState::RevertSequence => Some(Operation::Revert),
            RepositoryState::CherryPick | RepositoryState::CherryPickSequence => Some(Operation::CherryPick),
            RepositoryState::Bisect => Some(Operation::Bisect),
            RepositoryState::Rebase | RepositoryState::RebaseInteractive | RepositoryState::RebaseMerge => {
                Some(Operation::Rebase)
            }
            RepositoryState::ApplyMailbox | RepositoryState::ApplyMailboxOrRebase => {
                Some(Operation::ApplyMailbox)
            }
        };
        if let Some(operation) = operation {
            return Err(RepoError::InProgress(operation));
        }
        if self.is_on("core.sparsecheckout") {
            return Err(RepoError::Unsupported(Unsupported::SparseCheckout));
        }
        index::check_kind(self)
    }
}

impl Target {
    fn new(
        refname: String,
        commit: &git2::Commit<'_>,
        creates_branch: bool,
        writes: Writes,
    ) -> Result<Self, RepoError> {
        Ok(Self {
            refname,
            base_commit: commit.id().to_string(),
            base_tree: commit.tree_id().to_string(),
            creates_branch,
            writes,
        })
    }
}
