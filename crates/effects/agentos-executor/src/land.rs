//! Lands an approved change, completely or not at all.
//!
//! Owns: the order up to the first visible write: approval and base are checked, the index is locked, objects are written,
//! the result is compared with a second computation, and the intent is recorded. `publish` does the rest. Never: decides
//! whether a change may land.

use agentos_landing::{Change, FileChange, FileMode, FileState};
use agentos_policy::{ApprovalHashes, Approved};
use git2::{ObjectType, Oid, Signature, Time, Tree};
use sha2::{Digest, Sha256};

use crate::base::find_entry;
use crate::disk;
use crate::measure::lower_hex;
use crate::message::commit_message;
use crate::preflight::ancestor_folders;
use crate::prepare::{PreparedChange, prepare_change};
use crate::repository::LandingQueue;
use crate::splice::{mode_bits, parse_oid};
use crate::target::EMPTY_TREE;
use crate::{
    Authorship, CommitSigner, ExecError, FileId, Identity, Intent, IntentSink, Receipt, ReceiptFile,
    RepoError, Repository, Signed, Target, Writes, blob_id, embedded, filters, opinion, overlap, own_work,
    pack,
};

/// Instructions for landing a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LandPlan {
    /// Place that the change is written to.
    pub target: Target,
    /// SHA-256 of the active policy set.
    pub policy_sha256: String,
    /// Subject and body of the commit, without trailers. An empty one becomes a subject that names the changed files.
    pub message: String,
    /// Trailers to add before our own, in order.
    pub trailers: Vec<(String, String)>,
    /// Author and committer. May be `None` if the target makes no commit.
    pub authorship: Option<Authorship>,
    /// Time of the commit, in seconds since 1970.
    pub time_unix: i64,
    /// Minutes that the committer's clock is ahead of UTC; also the author's, if the authorship states no other time.
    pub utc_offset_minutes: i32,
    /// Id of the run.
    pub run: String,
}

impl Repository {
    /// Lands an approved change. Waits for other landings in this repository, and first finishes or rolls back one that
    /// was interrupted.
    ///
    /// # Errors
    /// When nothing was written. Only after [`ExecError::Unfinished`] the change is made; the next call brings working tree
    /// and index up to date.
    pub fn land(
        &self,
        approved: Approved<Change>,
        plan: &LandPlan,
        intents: &mut dyn IntentSink,
    ) -> Result<Receipt, ExecError> {
        self.land_signed(approved, plan, intents, None)
    }

    /// Lands an approved change as [`Repository::land`] does, with a commit that `signer` signs.
    ///
    /// # Errors
    /// Those of [`Repository::land`]. If signing fails, nothing visible is written.
    pub fn land_signed(
        &self,
        approved: Approved<Change>,
        plan: &LandPlan,
        intents: &mut dyn IntentSink,
        signer: Option<&dyn CommitSigner>,
    ) -> Result<Receipt, ExecError> {
        let (change, hashes) = approved.into_parts();
        check_approval(&change, &hashes, plan)?;
        let landed = self.land_once(&change, plan, intents, signer);
        if let LandingQueue::Willing(turn) = self.landing_queue() {
            match &landed {
                // Of many landings on one branch only one finds its base unmoved. Without a queue the others would all try
                // again at once, and again all but one would fail.
                Err(ExecError::BaseMoved { .. }) if turn.borrow().is_none() => {
                    turn.replace(Some(self.wait_for_turn()?));
                }
                Err(ExecError::BaseMoved { .. }) => {}
                Ok(_) | Err(_) => drop(turn.take()),
            }
        }
        landed
    }

    fn land_once(
        &self,
        change: &Change,
        plan: &LandPlan,
        intents: &mut dyn IntentSink,
        signer: Option<&dyn CommitSigner>,
    ) -> Result<Receipt, ExecError> {
        if plan.target.writes == Writes::Nothing {
            return self.dry_run(change, plan);
        }
        let _lock = self.lock_landings()?;
        self.reach("locked");
        let recovered = self.recover_locked()?;
        self.note_recovered(recovered);
        self.check_target(&plan.target)?;
        self.check_no_links(&plan.target.refname)?;
        let signatures = author_signatures(plan)?;
        let base = self.base_tree(&plan.target)?;
        let files = receipt_files(&base, change)?;
        let mut held = None;
        let mut checked = Vec::new();
        if plan.target.writes.touches_work_tree() {
            let index = held.insert(self.hold_index(&plan.run)?);
            // Between the first check and the lock, another program may have switched branches.
            self.check_again(&plan.target)?;
            let root = self.work_dir().ok_or(RepoError::NoWorkTree)?;
            checked = overlap::check_paths(self, &index.index, root, change, &files)?;
            embedded::check_change(root, change)?;
        }
        self.reach("checked");
        let mut prepared = if files.len() < pack::FROM_FILES {
            let memory = opinion::memory_repository()?;
            let prepared = prepare_change(&self.git, &memory, &base, change, files, self.fail_points())?;
            let unsynced = disk::object_files(self.common_dir(), &prepared.objects);
            PreparedChange { unsynced, ..prepared }
        } else {
            pack::prepare_packed(self, &base, change, files)?
        };
        let before: Vec<_> = checked.iter().map(|file| file.ends).collect();
        prepared.ends = filters::check_files(self, &prepared, &before)?;
        prepared.presence = checked.iter().map(|file| file.presence).collect();
        own_work::store_work(self, &checked, &mut prepared)?;
        let intent = intents.intent(&intent_of(plan, change, &prepared));
        let pin = intent.map_err(ExecError::EvidenceNotDurable)?;
        self.reach("intent recorded");
        if signer.is_some() {
            // A signing program may ask a person. Making the intent durable now releases the lock of the tape, so that
            // other runs need not wait for that person.
            let durable = intents.durable(&mut agentos_durable::sync_alone);
            durable.map_err(ExecError::EvidenceNotDurable)?;
        }
        let commit = match &signatures {
            Some(by) => Some(self.write_commit(plan, by, &prepared, &pin, signer)?),
            None => None,
        };
        self.reach("commit written");
        let made = disk::object_files(self.common_dir(), commit.as_slice());
        prepared.unsynced.extend(made);
        let mut receipt = receipt_of(plan, change, &prepared);
        receipt.merged = own_work::list_merged(&checked, &prepared);
        receipt.commit = commit.map(|id| id.to_string());
        receipt.signed = commit.map(|_| signer.map_or(Signed::No, CommitSigner::format));
        self.publish_change(plan, change, &prepared, &mut receipt, held, intents)?;
        Ok(receipt)
    }

    /// Does a dry run: every check, and everything up to the resulting tree. Objects are kept in memory only.
    fn dry_run(&self, change: &Change, plan: &LandPlan) -> Result<Receipt, ExecError> {
        let git = self.another_handle()?;
        let objects = git.odb().map_err(RepoError::git("open the object store"))?;
        // libgit2 writes to the backend with the highest priority; its own have 1 and 2 (`odb.c`).
        let _memory = objects
            .add_new_mempack_backend(1000)
            .map_err(RepoError::git("open the object store"))?;
        let base = find_base(&git, &plan.target.base_tree)?;
        let files = receipt_files(&base, change)?;
        self.check_target(&plan.target)?;
        self.check_no_links(&plan.target.refname)?;
        let mut checked = Vec::new();
        if self.concerns_work_tree(&plan.target) {
            self.check_index_is_free()?;
            self.check_head_is_free()?;
            let index = crate::index::read_index(&self.index_path())?;
            let root = self.work_dir().ok_or(RepoError::NoWorkTree)?;
            checked = overlap::check_paths(self, &index, root, change, &files)?;
        }
        self.check_ref_is_free(&plan.target.refname)?;
        let before: Vec<_> = checked.iter().map(|file| file.ends).collect();
        let mut prepared = prepare_change(&git, &git, &base, change, files, self.fail_points())?;
        prepared.ends = filters::check_files_in(&git, self, &prepared, &before)?;
        // A landing checks this before it stores the merged blobs, which a dry run does not write.
        own_work::check_conversions(&checked, &prepared)?;
        let mut receipt = receipt_of(plan, change, &prepared);
        receipt.merged = own_work::list_merged(&checked, &prepared);
        Ok(receipt)
    }

    /// Computes the tree that results from a change of another tree, with objects in memory only. Since nothing is written,
    /// the state of the repository does not matter: a recorded landing can be computed again after its branch has moved.
    ///
    /// # Errors
    /// When the base cannot be read, or the change was not made for it.
    pub fn tree_of(&self, change: &Change, base_tree: &str) -> Result<String, ExecError> {
        let git = self.another_handle()?;
        let objects = git.odb().map_err(RepoError::git("open the object store"))?;
        let _memory = objects
            .add_new_mempack_backend(1000)
            .map_err(RepoError::git("open the object store"))?;
        let base = find_base(&git, base_tree)?;
        let files = receipt_files(&base, change)?;
        let prepared = prepare_change(&git, &git, &base, change, files, self.fail_points())?;
        Ok(prepared.tree.to_string())
    }

    /// Checks that the ref has not moved since the policy decided about the change.
    ///
    /// # Errors
    /// [`ExecError::BaseMoved`] if it has.
    fn check_target(&self, target: &Target) -> Result<(), ExecError> {
        let head = self.head_ref().unwrap_or_else(|| "HEAD".to_owned());
        if target.writes.touches_work_tree() && head != target.refname {
            return Err(base_moved("HEAD", &target.refname, head));
        }
        let now = self.ref_tip(&target.refname);
        let fits = match &now {
            Some(now) => !target.creates_branch && *now == target.base_commit,
            None => target.creates_branch,
        };
        if fits {
            Ok(())
        } else {
            Err(base_moved(
                &target.refname,
                &target.base_commit,
                now.unwrap_or_default(),
            ))
        }
    }

    /// Repeats [`Self::check_target`] under the lock of the index. git moves HEAD after it has released that lock, so a lock
    /// of HEAD means that a switch of branches is under way.
    ///
    /// # Errors
    /// When HEAD is locked or the ref has moved.
    pub(crate) fn check_again(&self, target: &Target) -> Result<(), ExecError> {
        self.check_head_is_free()?;
        self.check_target(target)
    }

    /// Returns the commit that a ref leads to. `None` if it does not exist or leads nowhere.
    pub(crate) fn ref_tip(&self, refname: &str) -> Option<String> {
        let reference = self
            .git
            .find_reference(refname)
            .and_then(|reference| reference.resolve())
            .ok()?;
        reference.target().map(|id| id.to_string())
    }

    fn base_tree(&self, target: &Target) -> Result<Tree<'_>, ExecError> {
        if target.writes.commits() && !target.is_unborn() {
            // The diff of a commit is the one against its parent, so the parent's tree counts and not `base_tree`, which may
            // contain files that were never committed.
            let commit = self.git.find_commit(parse_oid(&target.base_commit)?);
            let commit = commit.map_err(RepoError::git("read the base"))?;
            return Ok(commit.tree().map_err(RepoError::git("read the base"))?);
        }
        Ok(self.find_tree(&target.base_tree)?)
    }

    /// Writes the commit object and signs it if there is a signer. It is synced together with the other objects.
    ///
    /// # Errors
    /// When the commit cannot be written or signed.
    fn write_commit(
        &self,
        plan: &LandPlan,
        (author, committer): &(Signature<'_>, Signature<'_>),
        prepared: &PreparedChange,
        pin: &str,
        signer: Option<&dyn CommitSigner>,
    ) -> Result<Oid, ExecError> {
        let parent = match plan.target.is_unborn() {
            true => None,
            false => {
                let parent = self.git.find_commit(parse_oid(&plan.target.base_commit)?);
                Some(parent.map_err(ExecError::git("read the base"))?)
            }
        };
        let parents: Vec<_> = parent.iter().collect();
        let tree = self
            .git
            .find_tree(prepared.tree)
            .map_err(ExecError::git("read the new tree"))?;
        let message = commit_message(plan, &prepared.files, pin);
        let failed = || ExecError::git("write the commit");
        let id = match signer {
            None => self
                .git
                .commit(None, author, committer, &message, &tree, &parents),
            Some(signer) => {
                let unsigned = self
                    .git
                    .commit_create_buffer(author, committer, &message, &tree, &parents);
                let unsigned = unsigned.map_err(failed())?;
                let text = std::str::from_utf8(&unsigned)
                    .map_err(|error| ExecError::NotSigned(error.to_string()))?;
                let signature = signer.sign(text)?;
                self.git.commit_signed(text, &signature, None)
            }
        };
        id.map_err(failed())
    }
}

/// Finds a tree through another handle than the repository's own.
///
/// # Errors
/// When it cannot be read.
fn find_base<'git>(git: &'git git2::Repository, id: &str) -> Result<Tree<'git>, ExecError> {
    if id == EMPTY_TREE {
        // libgit2 needs an object for it, which git does not.
        let empty = git.treebuilder(None).and_then(|builder| builder.write());
        empty.map_err(RepoError::git("read the base"))?;
    }
    let tree = git.find_tree(parse_oid(id)?);
    Ok(tree.map_err(RepoError::git("read the base"))?)
}

/// Checks again that the approval was given for this change, base, policy and target.
///
/// # Errors
/// [`ExecError::ApprovalVoid`] if one of them differs.
fn check_approval(change: &Change, hashes: &ApprovalHashes, plan: &LandPlan) -> Result<(), ExecError> {
    if change.is_empty() {
        return Err(ExecError::Empty);
    }
    // Hashed again here, instead of taking the change's own word for it.
    let diff = lower_hex(&Sha256::digest(change.canonical_diff()));
    let writes = plan.target.writes.as_str().to_owned();
    let pairs = [
        ("change", &hashes.diff_sha256, &diff),
        ("base commit", &hashes.base_commit, &plan.target.base_commit),
        ("policy", &hashes.policy_sha256, &plan.policy_sha256),
        ("target ref", &hashes.target_ref, &plan.target.refname),
        ("kind of landing", &hashes.writes, &writes),
    ];
    match pairs.into_iter().find(|(_, approved, found)| approved != found) {
        None => Ok(()),
        Some((what, approved, found)) => Err(ExecError::ApprovalVoid {
            what,
            approved: approved.clone(),
            found: found.clone(),
        }),
    }
}

/// Returns author and committer. `None` if the target makes no commit.
///
/// # Errors
/// [`RepoError::NoIdentity`] if a commit is to be made and the names are missing or not valid.
fn author_signatures(plan: &LandPlan) -> Result<Option<(Signature<'static>, Signature<'static>)>, ExecError> {
    if !plan.target.writes.commits() {
        return Ok(None);
    }
    let by = plan.authorship.as_ref().ok_or(RepoError::NoIdentity)?;
    let time = Time::new(plan.time_unix, plan.utc_offset_minutes);
    let written = by.written.map_or(time, |written| {
        Time::new(written.unix_seconds, written.utc_offset_minutes)
    });
    let signature = |who: &Identity, time: &Time| {
        Signature::new(&who.name, &who.email, time).map_err(|_| RepoError::NoIdentity)
    };
    Ok(Some((
        signature(&by.author, &written)?,
        signature(&by.committer, &time)?,
    )))
}

/// Lists the files of a change for the receipt, and checks that each old state is that of the base.
///
/// # Errors
/// [`ExecError::BaseDiffers`] if one is not.
fn receipt_files(base: &Tree<'_>, change: &Change) -> Result<Vec<ReceiptFile>, ExecError> {
    change
        .files()
        .iter()
        .map(|file| receipt_file(base, file))
        .collect()
}

fn receipt_file(base: &Tree<'_>, file: &FileChange) -> Result<ReceiptFile, ExecError> {
    let path = file.path.as_str();
    // A file below a link or a submodule would be written outside the tree that was judged.
    for above in ancestor_folders(path) {
        match find_entry(base, above)
            .map_err(RepoError::git("read the base"))?
            .map(|entry| entry.filemode())
        {
            Some(0o120_000) => return Err(ExecError::SymlinkTraversal(path.to_owned())),
            Some(0o160_000) => return Err(ExecError::BaseDiffers(path.to_owned())),
            Some(_) | None => {}
        }
    }
    let old = file.old.as_ref().map(file_id).transpose()?;
    let new = file.new.as_ref().map(file_id).transpose()?;
    let found = find_entry(base, path).map_err(RepoError::git("read the base"))?;
    let fits = match (&found, &old) {
        (None, None) => true,
        // The folder must be emptied by deletions of the same change; building the tree checks that.
        (Some(found), None) => found.kind() == Some(ObjectType::Tree),
        (None, Some(_)) => false,
        (Some(found), Some(old)) => {
            found.id().to_string() == old.oid && found.filemode() == mode_bits(old.mode)
        }
    };
    if fits {
        Ok(ReceiptFile {
            path: file.path.clone(),
            old,
            new,
        })
    } else {
        Err(ExecError::BaseDiffers(path.to_owned()))
    }
}

fn file_id(state: &FileState) -> Result<FileId, ExecError> {
    Ok(FileId {
        oid: blob_id::compute_id(&state.content)?.to_string(),
        mode: FileMode::clone(&state.mode),
    })
}

fn intent_of(plan: &LandPlan, change: &Change, prepared: &PreparedChange) -> Intent {
    Intent {
        run: plan.run.clone(),
        refname: plan.target.refname.clone(),
        writes: plan.target.writes,
        parent: plan.target.base_commit.clone(),
        tree: prepared.tree.to_string(),
        diff_sha256: change.sha256().to_owned(),
        policy_sha256: plan.policy_sha256.clone(),
        files: prepared.files.clone(),
    }
}

fn receipt_of(plan: &LandPlan, change: &Change, prepared: &PreparedChange) -> Receipt {
    Receipt {
        run: plan.run.clone(),
        commit: None,
        tree: prepared.tree.to_string(),
        parent: plan.target.base_commit.clone(),
        refname: plan.target.refname.clone(),
        writes: plan.target.writes,
        diff_sha256: change.sha256().to_owned(),
        files: prepared.files.clone(),
        signed: None,
        work_tree_updated: false,
        kept: Vec::new(),
        merged: Vec::new(),
        recovered: None,
    }
}

pub(crate) fn base_moved(refname: &str, expected: &str, found: String) -> ExecError {
    ExecError::BaseMoved {
        refname: refname.to_owned(),
        expected: expected.to_owned(),
        found,
    }
}
