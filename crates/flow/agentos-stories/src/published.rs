//! Evidence that travels with the repository: publishing a tape in a git ref, and verifying those that were fetched.
//!
//! Owns: when the parts that write refs, export and verify are called. Never: sends or fetches anything; git does.
//!
//! A publication is an export, by the same rules. What is in a ref came from elsewhere: every name, size and content is
//! checked before a file is written, and nothing is kept from one verification to the next.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use agentos_api::PublishReport;
use agentos_engine::Cause;
use agentos_engine::ports::{Clock as _, EffectError};
use agentos_evidence::{
    CommitInfo, CommitLookup, CommitStanding, EvidenceError, ExportedCopy, FileChange, Finding, MOST_FILES,
    MoveKind, PUBLISHED_REFS, PublicKey, SigningKey, Store, Tampering, VerifyChecks, VerifyReport,
    list_published, unpack_publication,
};
use agentos_executor::{Repository, ScratchFolder};
use serde_json::Value;

use crate::Stories;
use agentos_ground::clock::SystemClock;
use agentos_ground::error::repo_error;
use agentos_ground::history::{History, MOST_COMMITS, evidence_of};
use agentos_ground::repository::exec_error;
use agentos_ground::tape::evidence_error;
use agentos_ground::{evidence_key, repository};

/// Most published tapes that are verified, one for each machine.
const MOST_TAPES: usize = 1000;
/// Most bytes of all published tapes together. They are unpacked next to each other.
const MOST_UNPACKED: u64 = 4 << 30;
/// Most bytes of the list of a publication's files.
const MOST_LIST: usize = 64 << 10;

/// The order to publish evidence.
#[derive(Debug, Clone)]
pub struct PublishSpec {
    /// Remote that the evidence is meant for.
    pub remote: String,
    /// True if texts are published too. Otherwise they are left out as from a redacted export, except the diffs of landed
    /// changes that a branch of the remote already has.
    pub has_texts: bool,
}

impl Stories<'_> {
    /// Writes the evidence of the repository to a ref, which git can push.
    ///
    /// # Errors
    /// If there is no evidence, it is damaged, or the ref cannot be written.
    pub fn publish_evidence(self, spec: &PublishSpec) -> Result<PublishReport, EffectError> {
        let repo = repository::open(self.ground)?;
        let store = Store::open(&repo.state_dir()).map_err(|error| evidence_error(&error))?;
        let Some(tape) = store.tape_id().map_err(|error| evidence_error(&error))? else {
            return Err(evidence_error(&EvidenceError::NoTape));
        };
        let scratch = repo.create_scratch().map_err(|error| exec_error(&error))?;
        let copy = copy_public(&repo, &store, spec, scratch.path())?;
        let key = evidence_key::existing_key(self.ground)
            .ok()
            .flatten()
            .map(|kept| kept.key);
        let mut report = PublishReport {
            version: 1,
            refname: format!("{PUBLISHED_REFS}{tape}"),
            commit: String::new(),
            changed: false,
            records: copy.records,
            blobs: copy.blobs,
            redacted: copy.redacted,
            head: copy.head.clone(),
            signed_by: key.as_ref().map(|key| key.public().id()),
        };
        let signer = key.as_ref().map(SigningKey::public);
        if let Some(commit) = find_same(&repo, &report, signer) {
            report.commit = commit;
            return Ok(report);
        }
        let now = SystemClock.now();
        copy.seal(now.as_str(), key.as_ref())
            .map_err(|error| evidence_error(&error))?;
        let parts = list_published(scratch.path()).map_err(|error| evidence_error(&error))?;
        let mut files = parts.iter().map(|part| Ok((part.name.clone(), part.read()?)));
        let message = format!("{} records of evidence\n", copy.records);
        report.commit = repo
            .write_file_ref(&report.refname, &mut files, &message, now.unix_seconds())
            .map_err(|error| exec_error(&error))?;
        report.changed = true;
        Ok(report)
    }
}

/// Copies what may be published into an empty folder.
///
/// # Errors
/// If the evidence is damaged, or something cannot be read or written.
fn copy_public(
    repo: &Repository,
    store: &Store,
    spec: &PublishSpec,
    folder: &Path,
) -> Result<ExportedCopy, EffectError> {
    let history = History::read(repo)?;
    let checks = VerifyChecks {
        history: Some(&history),
        ..VerifyChecks::default()
    };
    let found = store.verify(&checks).map_err(|error| evidence_error(&error))?;
    // A fault of a commit is to be found by others too. Nobody can distinguish a damaged tape from a forged one.
    let is_damaged =
        |finding: &&Finding| finding.tampering.is_of_tape() || finding.tampering == Tampering::TornTail;
    if let Some(finding) = found.findings.iter().find(is_damaged) {
        let message = format!(
            "the evidence is damaged, so nothing was published: {}",
            finding.detail
        );
        return Err(EffectError::new(Cause::Evidence, "evidence-broken", message));
    }
    let mut copy = store
        .export(folder, !spec.has_texts)
        .map_err(|error| evidence_error(&error))?;
    if copy.redacted {
        // A clone needs the diff to compare a commit that was rebased onto changes of the same file. Where the remote has
        // a commit that makes exactly this change, it has every line of the diff already.
        let there = repo.remote_commits(&spec.remote, MOST_COMMITS);
        let moved = found.moved.iter().filter(|moved| moved.how != MoveKind::Squashed);
        let places: BTreeMap<&str, &str> = moved
            .map(|moved| (moved.commit.as_str(), moved.to.as_str()))
            .collect();
        let is_public =
            |commit: &str| there.contains(commit) || places.get(commit).is_some_and(|to| there.contains(*to));
        store
            .add_diffs(&mut copy, &is_public)
            .map_err(|error| evidence_error(&error))?;
    }
    Ok(copy)
}

/// Returns the commit of a publication that holds the same records and blobs, signed by the same key. `None` if there is
/// none.
fn find_same(repo: &Repository, report: &PublishReport, signer: Option<PublicKey>) -> Option<String> {
    let files = repo.ref_files(&report.refname, MOST_FILES)?;
    let read = |name: &str| {
        let file = files.iter().find(|file| file.name == name)?;
        repo.blob_content(&file.oid, MOST_LIST)
    };
    let blobs = files
        .iter()
        .filter(|file| file.name.starts_with("blobs/"))
        .count();
    let text = read("export.json")?;
    let signed_by = read("export.json.sig").and_then(|sig| PublicKey::of_ssh_signature(&sig, &text));
    let list: Value = serde_json::from_slice(&text).ok()?;
    let same = list.get("head").and_then(Value::as_str) == Some(&report.head)
        && list.get("redacted").and_then(Value::as_bool) == Some(report.redacted)
        && signed_by == signer
        && u64::try_from(blobs) == Ok(report.blobs);
    same.then(|| repo.ref_commit(&report.refname)).flatten()
}

/// Published tape that was unpacked.
struct UnpackedTape {
    refname: String,
    /// The tape, or why it cannot be verified.
    store: Result<Store, String>,
}

/// Verifies the repository's own evidence together with the published tapes that its refs hold.
///
/// # Errors
/// If the own evidence, the refs or the history cannot be read.
pub(crate) fn verify_all(
    repo: &Repository,
    history: &History<'_>,
    keys: &[PublicKey],
    require: bool,
) -> Result<VerifyReport, EffectError> {
    let own = Store::open(&repo.state_dir()).map_err(|error| evidence_error(&error))?;
    let own_id = own.tape_id().map_err(|error| evidence_error(&error))?;
    let (tapes, _scratch) = unpack_all(repo, own_id.as_deref())?;
    // Each commit that names evidence is checked against the tape that has it, and the others against the own one.
    let mut left = history.pinned();
    let mut claims: Vec<Vec<CommitInfo>> = Vec::new();
    for tape in &tapes {
        let wanted: BTreeSet<String> = left.iter().filter_map(evidence_of).map(str::to_owned).collect();
        let has = match &tape.store {
            Ok(store) => store
                .find_intents(&wanted)
                .map_err(|error| evidence_error(&error))?,
            Err(_) => BTreeSet::new(),
        };
        let is_here = |commit: &CommitInfo| evidence_of(commit).is_some_and(|hash| has.contains(hash));
        let (here, rest) = left.into_iter().partition(is_here);
        claims.push(here);
        left = rest;
    }
    let others = |but: Option<&UnpackedTape>| -> Vec<&Store> {
        let stores = tapes
            .iter()
            .filter(|tape| but.is_none_or(|but| but.refname != tape.refname));
        let stores = stores.filter_map(|tape| tape.store.as_ref().ok());
        stores.chain(but.map(|_| &own)).collect()
    };
    let part = TapeHistory {
        history,
        pinned: left,
        bare: history.bare(),
    };
    let mut report = own
        .verify(&VerifyChecks {
            history: Some(&part),
            keys: keys.to_vec(),
            require,
            export: false,
            partial_history: false,
            others: others(None),
        })
        .map_err(|error| evidence_error(&error))?;
    for (tape, pinned) in tapes.iter().zip(claims) {
        let store = match &tape.store {
            Ok(store) => store,
            Err(detail) => {
                report.add_unreadable(&tape.refname, detail);
                continue;
            }
        };
        let part = TapeHistory {
            history,
            pinned,
            bare: Vec::new(),
        };
        let checks = VerifyChecks {
            history: Some(&part),
            keys: keys.to_vec(),
            require,
            export: true,
            partial_history: true,
            others: others(Some(tape)),
        };
        match store.verify(&checks) {
            Ok(found) => report.add_published(&tape.refname, found),
            Err(error) => report.add_unreadable(&tape.refname, &error.to_string()),
        }
    }
    Ok(report)
}

/// Unpacks every published tape except that of this repository, which is older than its own. The folder is removed when it is
/// dropped; `None` if there is no such tape.
fn unpack_all(
    repo: &Repository,
    own: Option<&str>,
) -> Result<(Vec<UnpackedTape>, Option<ScratchFolder>), EffectError> {
    let mut names = repo
        .list_refs(PUBLISHED_REFS, MOST_TAPES)
        .map_err(|error| repo_error(&error))?;
    names.retain(|name| name.strip_prefix(PUBLISHED_REFS) != own);
    if names.is_empty() {
        return Ok((Vec::new(), None));
    }
    let scratch = repo.create_scratch().map_err(|error| exec_error(&error))?;
    let mut left = MOST_UNPACKED;
    let unpacked = names
        .into_iter()
        .enumerate()
        .map(|(number, refname)| UnpackedTape {
            store: unpack(
                repo,
                &refname,
                &scratch.path().join(number.to_string()),
                &mut left,
            ),
            refname,
        });
    Ok((unpacked.collect(), Some(scratch)))
}

/// Unpacks one published tape. The error says why it cannot be verified.
fn unpack(repo: &Repository, refname: &str, folder: &Path, left: &mut u64) -> Result<Store, String> {
    let Some(files) = repo.ref_files(refname, MOST_FILES) else {
        return Err("it holds something else than the files of a publication".to_owned());
    };
    let bytes = files
        .iter()
        .fold(0_u64, |sum, file| sum.saturating_add(file.size));
    *left = left
        .checked_sub(bytes)
        .ok_or("the published tapes are larger than what is verified at once")?;
    let listed: Vec<(String, u64)> = files.iter().map(|file| (file.name.clone(), file.size)).collect();
    let mut read = |at: usize| {
        let file = files.get(at)?;
        repo.blob_content(&file.oid, usize::try_from(file.size).ok()?)
    };
    unpack_publication(&listed, &mut read, folder).map_err(|error| error.to_string())?;
    let store = Store::open(folder).map_err(|error| error.to_string())?;
    // Otherwise an old copy of a tape could lie under another name next to the new one.
    match store.tape_id() {
        Ok(Some(found)) if refname.strip_prefix(PUBLISHED_REFS) == Some(&found) => Ok(store),
        Ok(_) => Err("its first record is not the one that the ref is named after".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// The history, with the commits that are checked against one of several tapes.
struct TapeHistory<'a> {
    history: &'a History<'a>,
    pinned: Vec<CommitInfo>,
    bare: Vec<String>,
}

impl CommitLookup for TapeHistory<'_> {
    fn commit(&self, id: &str) -> Option<CommitInfo> {
        self.history.commit(id)
    }

    fn standing(&self, id: &str) -> CommitStanding {
        self.history.standing(id)
    }

    fn pinned(&self) -> Vec<CommitInfo> {
        self.pinned.clone()
    }

    fn bare(&self) -> Vec<String> {
        self.bare.clone()
    }

    fn changes(&self, id: &str) -> Option<Vec<FileChange>> {
        self.history.changes(id)
    }

    fn search(&self, paths: &BTreeSet<String>, visit: &mut dyn FnMut(&str, &[FileChange]) -> bool) -> bool {
        self.history.search(paths, visit)
    }

    fn precedes(&self, id: &str, other: &str) -> bool {
        self.history.precedes(id, other)
    }

    fn content(&self, oid: &str) -> Option<Vec<u8>> {
        self.history.content(oid)
    }
}
