//! Checks a tape against itself, its blobs, its signatures and the repository's history, offline.
//!
//! Owns: the first broken line, and the kind of tampering that explains it. Never: changes anything, or holds more of the
//! tape in memory than one line, the runs that have not ended, and the links to the commits that it was given.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::head::{self, HeadFile};
use crate::record::GENESIS;
use crate::{EvidenceError, PublicKey, Store};

mod answers;
mod bounds;
mod chain;
mod change;
mod claims;
mod cost;
mod exported;
mod history;
mod merged;
mod moved;
mod opened;
mod patch;
mod removed;
mod signed;

pub use change::{FileChange, FileVersion};
pub use merged::PublishedTape;
pub use moved::{CommitProperty, MoveKind, MovedCommit};

use claims::TapeSources;
pub use exported::ExportSummary;
use exported::{ExportFolder, TapeEnd};

/// Facts about one commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitInfo {
    /// Id in hexadecimal.
    pub id: String,
    /// Id of the commit's tree.
    pub tree: String,
    /// Ids of the parents, in order.
    pub parents: Vec<String>,
    /// Name, address and time of the author.
    pub author: String,
    /// The message, or a digest of it.
    pub message: String,
    /// Trailers, in order.
    pub trailers: Vec<(String, String)>,
}

/// Relation of a commit in the object store to the history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommitStanding {
    /// The commit can be reached from a branch or HEAD.
    Held,
    /// Nothing leads to the commit, as after a reset or when a branch was deleted.
    Gone,
    /// Nothing leads to the commit, and this commit without evidence was made from it: it has the same tree and parents,
    /// or the same author and second and also its subject or parents.
    Replaced(String),
}

/// History of the repository, as far as evidence refers to it. The caller reads it through the executor.
pub trait CommitLookup {
    /// Finds a commit by its id, anywhere in the object store. `None` if there is none.
    fn commit(&self, id: &str) -> Option<CommitInfo>;

    /// Returns whether a commit that the tape names is in the history. Called only for commits that are not pinned.
    fn standing(&self, id: &str) -> CommitStanding;

    /// Lists the commits to be checked that have the trailer `AgentOS-Evidence`.
    fn pinned(&self) -> Vec<CommitInfo>;

    /// Lists the ids of commits to be checked that have no such trailer. Called only if evidence is required.
    fn bare(&self) -> Vec<String>;

    /// Lists the files that differ between a commit and its first parent, sorted. `None` if one of the two is not there, or
    /// more files differ than are compared.
    fn changes(&self, id: &str) -> Option<Vec<FileChange>>;

    /// Calls `visit` with each commit in the history that has at most one parent and changes one of the paths, newest
    /// first, and with the files on these paths, until it returns false. Returns false if the history is longer than what is
    /// searched.
    fn search(&self, paths: &BTreeSet<String>, visit: &mut dyn FnMut(&str, &[FileChange]) -> bool) -> bool;

    /// Returns whether a commit is another one or leads to it.
    fn precedes(&self, id: &str, other: &str) -> bool;

    /// Reads the content of a file by the id of its blob. `None` if it is not there, or longer than what is compared.
    fn content(&self, oid: &str) -> Option<Vec<u8>>;
}

/// Sources, besides the tape itself, that it is checked against.
#[derive(Default)]
pub struct VerifyChecks<'a> {
    /// Commits of the repository. `None` if they are not to be checked.
    pub history: Option<&'a dyn CommitLookup>,
    /// Keys whose signatures count. If the list is empty, any key may sign a run; a signature of an export by an unknown
    /// key is then a fault if signatures are required.
    pub keys: Vec<PublicKey>,
    /// True if these are faults: a commit without evidence, a run or an export without a signature by a key that counts,
    /// and a record that nothing proves.
    pub require: bool,
    /// True if the folder is an export. An export may say that content was left out, and its last record is signed. Never
    /// set this for a repository's own evidence: anybody who may write there could then leave content out.
    pub export: bool,
    /// True if the repository may lack every commit that the tape names, as a clone may when the tape is another machine's.
    pub partial_history: bool,
    /// Further tapes of the same history. A commit that several runs were squashed into may contain runs of each.
    pub others: Vec<&'a Store>,
}

impl VerifyChecks<'_> {
    /// Returns whether a run may be signed by this key.
    fn counts_for_run(&self, key: &PublicKey) -> bool {
        self.keys.is_empty() || self.keys.contains(key)
    }

    /// Returns whether an export may be signed by this key. An export comes from elsewhere, so an unknown key proves
    /// nothing: whoever cut the tape could have signed the rest with a key of their own.
    fn counts_for_export(&self, key: &PublicKey) -> bool {
        self.keys.contains(key) || (self.keys.is_empty() && !self.require)
    }
}

/// The kind of tampering, or damage, that fits what is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Tampering {
    /// A line was changed after it was written.
    Mutated,
    /// Records are missing between two others.
    Dropped,
    /// Records are in another order than they were written.
    Reordered,
    /// A record is on the tape twice.
    Duplicated,
    /// A genuine record follows one that it was not written after.
    Spliced,
    /// The end of the tape was cut off.
    CutOff,
    /// The last line is incomplete.
    TornTail,
    /// `head.json`, which names the last record, is missing or was changed.
    HeadChanged,
    /// A blob that a record refers to is missing.
    BlobMissing,
    /// The content of a blob does not match its hash.
    BlobChanged,
    /// The recorded cost of a call is not that of its recorded tokens and prices.
    CostWrong,
    /// A commit names evidence that is not on the tape.
    CommitWithoutRecord,
    /// No commit that the receipts name is in the repository, nor any that they were made on.
    RecordWithoutCommit,
    /// A commit carries evidence and makes another change than the recorded one, or a commit without evidence replaced a
    /// recorded one and makes another change.
    CommitRewritten,
    /// A commit of the range has no evidence, and evidence is required.
    CommitWithoutEvidence,
    /// A signature does not match the bytes that it should cover.
    SignatureInvalid,
    /// A checkpoint is signed by a key that is not trusted here.
    KeyUnknown,
    /// An approval is signed by the key of a device that the tape revoked before, or that it does not pair although it pairs others.
    DeviceUnknown,
    /// A run has no signature that counts, and signatures are required.
    RunUnsigned,
    /// A record in form 1 follows one in form 2. In form 1, kind, time and run could be changed if the body is left out.
    FormDowngraded,
    /// The body of a record in form 1 was left out, and no signature proves its kind, time and run.
    RecordUnproved,
    /// The end of an export, or the list of its files, is not signed, and signatures are required.
    ExportUnsigned,
    /// A file of an export does not match the list of its files.
    ExportChanged,
    /// The files of a published tape are not those of a publication, or it lies in the ref of another tape.
    PublicationInvalid,
}

impl Tampering {
    /// Returns whether the tape or its blobs themselves were changed. No command can repair that.
    #[must_use]
    pub fn is_of_tape(self) -> bool {
        match self {
            Self::Mutated
            | Self::Dropped
            | Self::Reordered
            | Self::Duplicated
            | Self::Spliced
            | Self::CutOff
            | Self::HeadChanged
            | Self::BlobMissing
            | Self::BlobChanged
            | Self::CostWrong
            | Self::FormDowngraded => true,
            // The next run moves a torn line into a blob.
            Self::TornTail
            | Self::CommitWithoutRecord
            | Self::RecordWithoutCommit
            | Self::CommitRewritten
            | Self::CommitWithoutEvidence
            | Self::SignatureInvalid
            | Self::KeyUnknown
            | Self::DeviceUnknown
            | Self::RunUnsigned
            | Self::RecordUnproved
            | Self::ExportUnsigned
            | Self::ExportChanged
            | Self::PublicationInvalid => false,
        }
    }
}

/// Fault that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// Kind of tampering or damage that explains it.
    pub tampering: Tampering,
    /// Line of the tape, 1 for the first. Left out if the fault is not in a line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// Description for people, one sentence.
    pub detail: String,
}

/// Key that signed checkpoints of this tape.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KeyUse {
    /// Fingerprint of the key, as in `SHA256:…`.
    pub id: String,
    /// True if it is one of the keys that count.
    pub trusted: bool,
    /// Number of runs whose end it signed.
    pub signed: u64,
}

/// Result of a verification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VerifyReport {
    /// Version of this shape: 1.
    pub version: u32,
    /// True if and only if nothing is wrong.
    pub ok: bool,
    /// Number of lines read.
    pub records: u64,
    /// Number of blobs checked.
    pub blobs: u64,
    /// Number of commits checked, in both directions. Left out if there was no history to check against.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commits: Option<u64>,
    /// Recorded commits whose change is in another commit now, as after an amend, a rebase or a squash; at most the first
    /// 1,000. No faults. Left out if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub moved: Vec<MovedCommit>,
    /// Number of runs whose end is signed.
    pub signed: u64,
    /// Number of runs without a signature: cut short, or made without a key.
    pub unsigned: u64,
    /// Number of records of a redacted copy whose body was left out. Their hash proves everything else in them, except for
    /// the records counted in `unproved`.
    pub redacted: u64,
    /// Number of redacted records that an earlier version wrote. Their hash does not prove kind, time and run; a trusted
    /// signature over the whole export does.
    pub unproved: u64,
    /// Tapes that were published in refs of the repository and verified too; the numbers above and below include them. Left
    /// out if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tapes: Vec<PublishedTape>,
    /// The export as a whole. Left out if the evidence is a repository's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub export: Option<ExportSummary>,
    /// Keys that signed.
    pub keys: Vec<KeyUse>,
    /// Hash of the last record. Left out if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    /// Faults in the order of the tape, at most the first 1,000.
    pub findings: Vec<Finding>,
    /// Number of further faults.
    pub more_findings: u64,
    /// Notes that are no faults, for example crashes that were repaired.
    pub notes: Vec<String>,
}

impl VerifyReport {
    /// Returns the first fault that is in a line, else the first fault. `None` if there is none.
    #[must_use]
    pub fn first(&self) -> Option<&Finding> {
        self.findings
            .iter()
            .find(|finding| finding.line.is_some())
            .or(self.findings.first())
    }
}

impl Finding {
    fn new(tampering: Tampering, line: Option<u64>, detail: impl Into<String>) -> Self {
        Self {
            tampering,
            line,
            detail: detail.into(),
        }
    }
}

impl Store {
    /// Verifies the tape, its blobs, its signatures and, if it is given, the history.
    ///
    /// # Errors
    /// When the tape cannot be read at all. Faults of the tape are no errors; the report lists them.
    pub fn verify(&self, checks: &VerifyChecks<'_>) -> Result<VerifyReport, EvidenceError> {
        self.verify_with_blobs_of(self, checks)
    }

    /// Verifies this tape with the blobs of another store, for a copy that has no blobs.
    pub(crate) fn verify_with_blobs_of(
        &self,
        blobs: &Store,
        checks: &VerifyChecks<'_>,
    ) -> Result<VerifyReport, EvidenceError> {
        let folder = match checks.export {
            true => Some(ExportFolder::read(self.dir())?),
            false => None,
        };
        // Only an export may leave content out. In a repository's own evidence a missing body or blob is a fault.
        let redacted = folder.as_ref().is_some_and(|folder| folder.redacted);
        let mut chain = chain::read(self, blobs, checks, redacted)?;
        // A copy without `export.json` is a copy of evidence in use, whose `head.json` may name an earlier record.
        // With signatures required it is judged as an export all the same.
        let is_ended = folder
            .as_ref()
            .is_some_and(|folder| folder.has_manifest() || checks.require);
        let head = self.head_finding(chain.seq, chain.hash.as_deref(), &chain.at_head, is_ended)?;
        chain.findings.extend(head);
        let sources = TapeSources {
            tape: self,
            lines: chain.lines,
            blobs,
            others: &checks.others,
        };
        let commits = chain
            .pins
            .finish(checks, &sources, &mut chain.findings, &mut chain.notes)?;
        let signed = chain.signed.finish(checks, &mut chain.findings, &mut chain.notes);
        let end = TapeEnd {
            bytes: chain.bytes,
            form: chain.form,
            unproved: chain.unproved,
            first_unproved: chain.first_unproved,
        };
        let export = folder
            .map(|folder| {
                folder.check_export(self.dir(), &end, checks, &mut chain.findings, &mut chain.notes)
            })
            .transpose()?;
        Ok(VerifyReport {
            version: 1,
            ok: chain.findings.kept.is_empty(),
            records: chain.lines,
            blobs: chain.blobs,
            commits: commits.checked,
            moved: commits.moved,
            signed: signed.signed,
            unsigned: signed.unsigned,
            redacted: chain.withheld,
            unproved: chain.unproved,
            tapes: Vec::new(),
            export,
            keys: signed.keys,
            head: chain.hash,
            findings: chain.findings.kept,
            more_findings: chain.findings.more,
            notes: chain.notes,
        })
    }

    /// Compares `head.json` with the tape. It may name an earlier record after a crash; in an export, which nobody appends
    /// to, that is a fault: the tape or the head was replaced.
    fn head_finding(
        &self,
        seq: u64,
        hash: Option<&str>,
        at_head: &Option<String>,
        is_ended: bool,
    ) -> Result<Option<Finding>, EvidenceError> {
        let changed = |detail: &str| Some(Finding::new(Tampering::HeadChanged, None, detail));
        Ok(match head::read(&self.head_path())? {
            // A tape without records, or whose first record was just written by an earlier version, may have no head yet.
            HeadFile::Missing if seq <= 1 && !is_ended => None,
            HeadFile::Missing => changed("`head.json`, which names the last record, is missing"),
            HeadFile::Unreadable => changed("`head.json`, which names the last record, cannot be read"),
            // The head is written after its record, so a crash can leave it behind the tape, but never ahead of it.
            HeadFile::Says(head) if head.seq > seq => Some(Finding::new(
                Tampering::CutOff,
                Some(seq + 1),
                format!("{} records were written, but the tape has {seq}", head.seq),
            )),
            HeadFile::Says(head) if head.seq == seq && hash.unwrap_or(GENESIS) != head.hash => {
                changed("the last record is not the one that `head.json` names")
            }
            HeadFile::Says(head) if head.seq < seq && at_head.as_deref() != Some(head.hash.as_str()) => {
                changed("the record that `head.json` names is not on the tape")
            }
            HeadFile::Says(head) if is_ended && head.seq < seq => {
                changed("more records follow the one that `head.json` names as the last of the export")
            }
            HeadFile::Says(_) => None,
        })
    }
}
