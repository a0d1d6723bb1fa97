//! The target of a landing: the branch, the base commit, and the places that will be written to.
//!
//! Owns: resolving the user's request, and every refusal that follows from the repository's state. Never: changes anything.

use git2::{ErrorCode, ReferenceType, RepositoryState};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::Operation;
use crate::splice::splice_tree;
use crate::{ReceiptFile, RepoError, Repository, index, work_trees};

/// Target that the user requested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TargetSpec {
    /// The checked-out branch, with index and working tree.
    CurrentBranch,
    /// A branch by its name. It is created from HEAD if it does not exist.
    Branch(String),
    /// Index and working tree, without a commit.
    WorkTreeOnly,
    /// Index and working tree, without a commit, where both still have these files of an earlier landing without a commit.
    WorkTreeWith {
        /// Files of the earlier landing.
        files: Vec<ReceiptFile>,
    },
    /// Nothing is written; everything else is done as for this target, and refused where the real landing would be.
    DryRun(Box<TargetSpec>),
    /// Nothing is written. The base is HEAD's commit in any state of the repository, since the change is only looked at.
    AtHead,
}

impl TargetSpec {
    /// Returns whether landing here makes a commit, or would make one without the dry run.
    #[must_use]
    pub fn commits(&self) -> bool {
        match self {
            Self::CurrentBranch | Self::Branch(_) => true,
            Self::DryRun(real) => real.commits(),
            Self::WorkTreeOnly | Self::WorkTreeWith { .. } | Self::AtHead => false,
        }
    }
}

/// Places that a landing writes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Writes {
    /// A commit on the checked-out branch, index and working tree.
    CommitAndWorkTree,
    /// A commit on another branch.
    CommitOnly,
    /// Index and working tree, without a commit.
    WorkTreeOnly,
    /// Nothing at all.
    Nothing,
}

impl Writes {
    /// Returns the word in JSON, on the tape and in the text that a consent is bound to.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::CommitAndWorkTree => "commit-and-work-tree",
            Self::CommitOnly => "commit-only",
            Self::WorkTreeOnly => "work-tree-only",
            Self::Nothing => "nothing",
        }
    }

    /// Returns whether a commit is made.
    #[must_use]
    pub fn commits(self) -> bool {
        matches!(self, Self::CommitAndWorkTree | Self::CommitOnly)
    }

    /// Returns whether index and working tree are written.
    #[must_use]
    pub fn touches_work_tree(self) -> bool {
        matches!(self, Self::CommitAndWorkTree | Self::WorkTreeOnly)
    }
}

/// Target of a landing, resolved at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Target {
    /// Ref, as in `refs/heads/main`; `HEAD` if no branch moves and none is checked out.
    pub refname: String,
    /// Commit that the change is made for, and the parent of a new commit. [`NO_COMMIT`] if the branch has no commit yet.
    pub base_commit: String,
    /// Tree that the change is made for: that of the base commit, or one with files that were landed without a commit.
    pub base_tree: String,
    /// True if the branch does not exist yet.
    pub creates_branch: bool,
    /// Places that will be written to.
    pub writes: Writes,
}

/// Id that stands for the missing commit of a branch without commits, as in git's hooks and in the log of a ref.
pub const NO_COMMIT: &str = "0000000000000000000000000000000000000000";

/// Id of the tree without files.
pub(crate) const EMPTY_TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

impl Target {
    /// Returns whether the branch has no commit yet, so that a commit has no parent.
    #[must_use]
    pub fn is_unborn(&self) -> bool {
        self.base_commit == NO_COMMIT
    }
}

impl Repository {
    /// Resolves a target. Called again after the branch moved, it returns the new base.
    ///
    /// # Errors
    /// When nothing can be landed there in the present state of the repository.
    pub fn resolve(&self, spec: &TargetSpec) -> Result<Target, RepoError> {
        let target = self.resolve_ref(spec)?;
        if *spec != TargetSpec::AtHead {
            // Checked here already, so that no tool is called for a change that cannot land.
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
                let head = self.find_tree(&target.base_tree)?;
                // The base is HEAD's tree with the files of the earlier landing, which no commit contains.
                let tree = splice_tree(&self.git, &head, files, &mut Vec::new())
                    .map_err(|_| RepoError::Overtaken)?;
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
        if target.is_unborn() {
            self.check_room(target.refname.trim_start_matches("refs/heads/"))?;
        } else {
            self.check_direct(&target.refname)?;
        }
        if let Some(at) = work_trees::checked_out_at(self, &target.refname)? {
            // `git status` in that working tree would show the whole change as reverted.
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
        // git refuses these two as names of branches too (git-check-ref-format(1), `--branch`).
        let fits = !name.starts_with('-') && name != "HEAD" && git2::Reference::is_valid_name(&refname);
        if !fits {
            return Err(RepoError::BadBranchName(name.to_owned()));
        }
        // Moving the checked-out branch alone would make its whole change look reverted in the working tree.
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
                // In a bare repository without commits, the branch that HEAD names gets the first one.
                if self.head_ref().as_deref() == Some(refname.as_str()) {
                    return self.at_head(Writes::CommitOnly);
                }
                let head = self.head_commit()?;
                Target::new(refname, &head, true, Writes::CommitOnly)
            }
            Err(error) => Err(RepoError::git("read the branch")(error)),
        }
    }

    /// Checks that no other branch prevents the creation of this one. A branch is a file, and the parts of its name are
    /// folders, so `a` and `a/b` cannot both exist.
    ///
    /// # Errors
    /// [`RepoError::BranchConflict`] if one does.
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
        let refname = self.head_ref().unwrap_or_else(|| "HEAD".to_owned());
        match self.head_commit() {
            Ok(commit) => Target::new(refname, &commit, false, writes),
            Err(RepoError::UnbornBranch(_)) if refname.starts_with("refs/heads/") => Ok(Target {
                refname,
                base_commit: NO_COMMIT.to_owned(),
                base_tree: EMPTY_TREE.to_owned(),
                creates_branch: true,
                writes,
            }),
            Err(error) => Err(error),
        }
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

    /// Returns whether a landing on this target writes the working tree, or would write it without the dry run.
    pub(crate) fn concerns_work_tree(&self, target: &Target) -> bool {
        // `DryRun` replaces the places that are written by nothing. A branch that is checked out shows that the real landing
        // would write the working tree.
        let head = self.head_ref().unwrap_or_else(|| "HEAD".to_owned());
        target.writes.touches_work_tree()
            || (target.writes == Writes::Nothing && !self.is_bare() && target.refname == head)
    }

    /// Returns the ref that HEAD names. `None` if HEAD is detached.
    pub(crate) fn head_ref(&self) -> Option<String> {
        let head = self.git.find_reference("HEAD").ok()?;
        head.symbolic_target().ok().flatten().map(str::to_owned)
    }

    /// Checks that the ref is not symbolic: moving a symbolic ref would move another one.
    ///
    /// # Errors
    /// [`RepoError::SymbolicBranch`] if it is.
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
