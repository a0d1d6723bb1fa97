//! Effects in memory, for the tests of the flow.
//!
//! Owns: a repository whose branch moves as a test says, a tape, a clock that stands still, and a person who is not there.
//! Never: part of the product.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use agentos_landing::{Base, Change, FileMode, FileState, MemoryBase, RepoPath};
use agentos_policy::{Approved, Layer, PolicySet, PolicySource, TakenText};
use agentos_tool::{StateMeasurement, Timestamp};
use serde_json::json;

use crate::Cause;
use crate::ports::{
    AccountedRuns, ActivePolicy, Clock, ContextIndex, EffectError, IsOver, LandOrder, Landed, LandingCommit,
    LandingHistory, LandingPlace, LandingRecords, Measured, PastCommit, RecordedLanding, ReplayObjects,
    Repository, TargetInfo, Writes,
};
use crate::test_runs::no_pause;

mod tape;

pub(crate) use tape::TestTape;

/// Everything that the effects were asked to do, in order.
pub(crate) type EffectLog = Rc<RefCell<Vec<String>>>;

/// The files of one commit.
type TestFiles = BTreeMap<String, Vec<u8>>;

/// A repository with one branch, which is checked out.
pub(crate) struct TestRepository {
    /// The branch's commits, oldest first.
    commits: RefCell<Vec<TestFiles>>,
    /// Places to which changes were directed.
    aims: RefCell<Vec<LandingPlace>>,
    /// The commits that landings made.
    landings: RefCell<Vec<LandingCommit>>,
    /// No branch has the name that a landing recorded.
    has_no_branch: Cell<bool>,
    /// Files with uncommitted work that is in the way of any change.
    busy: RefCell<BTreeSet<String>>,
    /// The policy file of the repository. Empty for the built-in rules alone.
    policy: RefCell<String>,
    pub(crate) kept: RefCell<Vec<TakenText>>,
    /// `None` if there is no index of texts.
    pub(crate) index: RefCell<Option<Box<dyn ContextIndex>>>,
}

impl TestRepository {
    /// A repository with one commit of these files.
    pub(crate) fn with_files(files: &[(&str, &str)]) -> Self {
        let new = Self {
            commits: RefCell::new(vec![TestFiles::new()]),
            aims: RefCell::default(),
            landings: RefCell::default(),
            has_no_branch: Cell::new(false),
            busy: RefCell::default(),
            policy: RefCell::default(),
            kept: RefCell::default(),
            index: RefCell::default(),
        };
        new.commit_files(files);
        new
    }

    /// Moves the branch on, as somebody else would: a commit in which these files have this text.
    pub(crate) fn commit_files(&self, files: &[(&str, &str)]) {
        let mut commits = self.commits.borrow_mut();
        let mut next = commits.last().cloned().unwrap_or_default();
        for (path, text) in files {
            next.insert((*path).to_owned(), text.as_bytes().to_vec());
        }
        commits.push(next);
    }

    /// Lets uncommitted work be in the way of any change of a file.
    pub(crate) fn add_work(&self, path: &str) {
        self.busy.borrow_mut().insert(path.to_owned());
    }

    /// Gives the repository a policy file.
    pub(crate) fn set_policy(&self, text: &str) {
        text.clone_into(&mut self.policy.borrow_mut());
    }

    /// Returns the text of a file at the end of the branch. `None` if it is not there.
    pub(crate) fn text(&self, path: &str) -> Option<String> {
        let commits = self.commits.borrow();
        let bytes = commits.last()?.get(path)?;
        Some(String::from_utf8_lossy(bytes).into_owned())
    }

    /// Returns the places to which changes were directed, in order.
    pub(crate) fn aims(&self) -> Vec<LandingPlace> {
        self.aims.borrow().clone()
    }

    /// Lets the branch have another name than landings recorded.
    pub(crate) fn rename_branch(&self) {
        self.has_no_branch.set(true);
    }

    /// Lets no commit of a landing be found any more.
    pub(crate) fn forget_landings(&self) {
        self.landings.borrow_mut().clear();
    }

    /// Returns true if the run writes nothing.
    fn is_dry(&self) -> bool {
        let aims = self.aims.borrow();
        matches!(aims.last(), Some(LandingPlace::DryRun(_) | LandingPlace::AtHead))
    }

    fn tip(&self) -> String {
        commit_id(self.commits.borrow().len() - 1)
    }
}

fn commit_id(at: usize) -> String {
    format!("{at:040x}")
}

/// Returns an id that files with the same content share: `DefaultHasher::new` has no random seed.
fn tree_id(files: Option<&TestFiles>) -> String {
    let mut hasher = DefaultHasher::new();
    files.hash(&mut hasher);
    format!("{:040x}", hasher.finish())
}

/// Makes a change on files.
fn change_files(change: &Change, files: &mut TestFiles) {
    for file in change.files() {
        match &file.new {
            Some(new) => files.insert(file.path.to_string(), new.content.to_vec()),
            None => files.remove(file.path.as_str()),
        };
    }
}

impl Repository for TestRepository {
    fn keep_withheld(&self, taken: &[TakenText]) -> Result<(), EffectError> {
        self.kept.borrow_mut().extend_from_slice(taken);
        Ok(())
    }

    fn pause_landings(&self) -> Result<crate::ports::LandingPause, EffectError> {
        Ok(no_pause())
    }

    fn aim(&self, place: &LandingPlace) -> Result<(), EffectError> {
        self.aims.borrow_mut().push(place.clone());
        Ok(())
    }

    fn list_changed_paths(&self, _target: &TargetInfo, _limit: usize) -> Vec<PastCommit> {
        Vec::new()
    }

    fn open_index(&self) -> Option<Box<dyn ContextIndex>> {
        self.index.take()
    }

    fn target(&self) -> Result<TargetInfo, EffectError> {
        Ok(TargetInfo {
            refname: "refs/heads/main".to_owned(),
            base_commit: self.tip(),
            base_tree: tree_id(self.commits.borrow().last()),
            creates_branch: false,
            writes: match self.is_dry() {
                true => Writes::Nothing,
                false => Writes::CommitAndWorkTree,
            },
        })
    }

    fn base(&self, target: &TargetInfo) -> Result<Box<dyn Base + '_>, EffectError> {
        let commits = self.commits.borrow();
        let mut found = commits
            .iter()
            .filter(|files| tree_id(Some(files)) == target.base_tree);
        let files = found
            .next()
            .ok_or_else(|| failed(Cause::Repository, "no-such-tree"))?;
        let mut base = MemoryBase::default();
        for (path, bytes) in files {
            base.put(path, Arc::from(bytes.as_slice()));
        }
        Ok(Box::new(base))
    }

    fn policy(&self, _target: &TargetInfo) -> Result<Rc<ActivePolicy>, EffectError> {
        let text = self.policy.borrow();
        let own = (!text.is_empty()).then(|| PolicySource {
            layer: Layer::Repository,
            name: "own.toml".to_owned(),
            text: text.clone(),
        });
        load_policy(own.as_slice())
    }

    fn check_named(&self, _target: &TargetInfo, paths: &[String]) -> Result<(), EffectError> {
        let is_busy = |path: &String| self.busy.borrow().contains(path);
        if paths.iter().all(is_busy) {
            return Err(failed(Cause::Repository, "dirty-overlap"));
        }
        Ok(())
    }

    fn count_commits(&self, old: &str, new: &str) -> Option<u64> {
        let number = |id: &str| u64::from_str_radix(id, 16).ok();
        number(new)?.checked_sub(number(old)?)
    }

    fn measure(&self) -> Result<Box<dyn Measured>, EffectError> {
        Ok(Box::new(UnchangedState))
    }

    fn account_for(&self, _before: &dyn Measured) -> Result<Option<AccountedRuns>, EffectError> {
        Ok(None)
    }

    fn land(
        &self,
        approved: Approved<Change>,
        target: &TargetInfo,
        order: &LandOrder,
        records: &mut dyn LandingRecords,
    ) -> Result<Landed, EffectError> {
        // As the executor's compare-and-swap of the ref.
        if target.base_commit != self.tip() {
            return Err(EffectError {
                base_moved: true,
                ..failed(Cause::Repository, "base-moved")
            });
        }
        let mut commits = self.commits.borrow_mut();
        let mut receipt = json!({
            "run": order.run, "parent": target.base_commit, "refname": target.refname, "writes": target.writes,
            "files": { "old": commits.len() - 1, "new": commits.len() },
        });
        records.intent(receipt.clone())?;
        records.durable(&mut |_: &Path| Ok(()))?;
        let mut next = commits.last().cloned().unwrap_or_default();
        change_files(approved.value(), &mut next);
        let tree = tree_id(Some(&next));
        receipt["tree"] = json!(tree);
        let commit = (target.writes != Writes::Nothing).then(|| commit_id(commits.len()));
        if let Some(commit) = &commit {
            commits.push(next);
            self.landings.borrow_mut().push(LandingCommit {
                id: commit.clone(),
                run: Some(order.run.clone()),
            });
            receipt["commit"] = json!(commit);
        }
        Ok(Landed {
            commit,
            tree,
            kept: Vec::new(),
            recovered: None,
            receipt,
        })
    }
}

impl LandingHistory for TestRepository {
    fn landing_commits(&self, _limit: usize) -> Result<Vec<LandingCommit>, EffectError> {
        Ok(self.landings.borrow().clone())
    }

    fn read_change(&self, landing: &RecordedLanding) -> Result<Change, EffectError> {
        let commits = self.commits.borrow();
        let files = |which: &str| {
            let at = usize::try_from(landing.files[which].as_u64()?).ok()?;
            commits.get(at)
        };
        let (Some(old), Some(new)) = (files("old"), files("new")) else {
            return Err(failed(Cause::Evidence, "evidence-invalid-record"));
        };
        let state = |files: &TestFiles, path: &String| {
            Some(FileState {
                mode: FileMode::Regular,
                content: Arc::from(files.get(path)?.as_slice()),
            })
        };
        let paths: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
        let states = paths.into_iter().map(|path| {
            let known = RepoPath::new(path).map_err(|_| failed(Cause::Internal, "path"))?;
            Ok((known, state(old, path), state(new, path)))
        });
        let states = states.collect::<Result<Vec<_>, EffectError>>()?;
        Change::new(states).map_err(|error| EffectError::new(Cause::Internal, "x", error.to_string()))
    }

    fn has_branch(&self, name: &str) -> Result<bool, EffectError> {
        Ok(name == "main" && !self.has_no_branch.get())
    }
}

impl ReplayObjects for TestRepository {
    fn base(&self, target: &TargetInfo) -> Result<Box<dyn Base + '_>, EffectError> {
        Repository::base(self, target)
    }

    fn commit_tree(&self, commit: &str) -> Option<String> {
        let commits = self.commits.borrow();
        let mut found = commits.iter().enumerate();
        let (_, files) = found.find(|(at, _)| commit_id(*at) == commit)?;
        Some(tree_id(Some(files)))
    }

    fn hooks_path(&self) -> Option<String> {
        None
    }

    fn base_links(&self, _tree: &str) -> Result<Vec<(String, String)>, EffectError> {
        Ok(Vec::new())
    }

    fn derive_tree(&self, change: &Change, base_tree: &str) -> Result<String, EffectError> {
        let commits = self.commits.borrow();
        let base = commits.iter().find(|files| tree_id(Some(files)) == base_tree);
        let mut files = base
            .cloned()
            .ok_or_else(|| failed(Cause::Repository, "no-such-tree"))?;
        change_files(change, &mut files);
        Ok(tree_id(Some(&files)))
    }
}

/// Returns the built-in rules alone.
pub(crate) fn built_in_policy() -> Result<Rc<ActivePolicy>, EffectError> {
    load_policy(&[])
}

fn load_policy(sources: &[PolicySource]) -> Result<Rc<ActivePolicy>, EffectError> {
    let set = PolicySet::load(sources);
    let set = set.map_err(|error| EffectError::new(Cause::Policy, "x", error.to_string()))?;
    Ok(Rc::new(ActivePolicy {
        set,
        sources: json!([]),
    }))
}

pub(crate) fn failed(cause: Cause, code: &str) -> EffectError {
    EffectError::new(cause, code, "the reason")
}

/// A measurement of a repository that nothing writes.
pub(crate) struct UnchangedState;

impl Measured for UnchangedState {
    fn state(&self) -> StateMeasurement {
        let same = String::new;
        StateMeasurement {
            head: same(),
            refs: same(),
            index: same(),
            worktree: same(),
            git_files: same(),
        }
    }

    fn changed_paths(&self, _later: &dyn Measured, _limit: usize) -> Vec<String> {
        Vec::new()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// A clock that stands still.
#[derive(Default)]
pub(crate) struct NoonClock {
    /// Every timer is over as soon as it is started.
    pub(crate) is_late: bool,
}

impl Clock for NoonClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_unix_seconds(43_200)
    }

    fn start_timer(&self, _limit: Duration) -> IsOver {
        let is_late = self.is_late;
        Box::new(move || is_late)
    }
}
