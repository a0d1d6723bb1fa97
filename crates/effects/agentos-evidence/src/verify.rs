//! Checks a tape against itself, its blobs, its signatures and the repository's history, offline.
//!
//! Owns: naming the first broken line and the kind of tampering that fits. Never: changes anything, or holds more
//! of the tape than one line, the runs that have not ended, and what ties it to the commits it was given.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::head::{self, HeadFile};
use crate::record::GENESIS;
use crate::{EvidenceError, PublicKey, Store};

mod bounds;
mod chain;
mod exported;
mod history;
mod signed;

pub use exported::ExportSummary;
use exported::{ExportFolder, TapeEnd};

/// What a commit says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitInfo {
    /// Its id, in hexadecimal.
    pub id: String,
    /// Its tree.
    pub tree: String,
    /// Its trailers, in order.
    pub trailers: Vec<(String, String)>,
}

/// Where a commit of the object store stands in the history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// A branch or HEAD leads to it.
    Held,
    /// Nothing leads to it, as after a reset or when a branch was deleted.
    Gone,
    /// Nothing leads to it, and this commit, without evidence, is what became of it: its tree on its parents, or its
    /// author and second with its subject or on its parents.
    Replaced(String),
}

/// The repository's history, as far as evidence is concerned; the caller has it from the executor.
pub trait CommitLookup {
    /// A commit by its id, wherever it is in the object store.
    fn commit(&self, id: &str) -> Option<CommitInfo>;

    /// Where a commit that the tape names stands; asked of those only that are not among the pinned ones.
    fn standing(&self, id: &str) -> Standing;

    /// The commits with the trailer `AgentOS-Evidence` that are to be checked.
    fn pinned(&self) -> Vec<CommitInfo>;

    /// The ids of commits to be checked that have no such trailer; asked for only when evidence is required.
    fn bare(&self) -> Vec<String>;
}

/// What a tape is checked against, besides itself.
#[derive(Default)]
pub struct Checks<'a> {
    /// The commits.
    pub history: Option<&'a dyn CommitLookup>,
    /// The keys whose signatures count. Without any, signatures are checked for themselves alone; those of an export are
    /// faults then if they are required.
    pub keys: Vec<PublicKey>,
    /// A commit without evidence, a run or an export without a signature by a key that counts, and a record that is
    /// not proved are faults.
    pub require: bool,
    /// The folder is an export: it may say that content was left out, and its last record is signed. Never to be said
    /// of a repository's own evidence.
    pub export: bool,
}

impl Checks<'_> {
    /// Returns whether a run may be signed by this key.
    fn counts(&self, key: &PublicKey) -> bool {
        self.keys.is_empty() || self.keys.contains(key)
    }

    /// Returns whether an export may be signed by this key. It comes from elsewhere, so a key that nobody here knows says
    /// nothing: whoever cut the tape could have signed the rest.
    fn counts_for_export(&self, key: &PublicKey) -> bool {
        self.keys.contains(key) || (self.keys.is_empty() && !self.require)
    }
}

/// The kind of tampering, or damage, that fits what is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Tampering {
    /// A line is not what was written.
    Mutated,
    /// Records are missing between two others.
    Dropped,
    /// Records stand in another order.
    Reordered,
    /// A record is there twice.
    Duplicated,
    /// A genuine record follows one that it was not written after.
    Spliced,
    /// The tape is shorter than it was.
    CutOff,
    /// The last line was not written to its end.
    TornTail,
    /// The note of the last record is gone or is not what was written.
    HeadChanged,
    /// A blob that a record refers to is gone.
    BlobMissing,
    /// A blob is not what was stored.
    BlobChanged,
    /// A commit names evidence that is not on the tape.
    CommitWithoutRecord,
    /// A receipt names a commit that is not there.
    RecordWithoutCommit,
    /// A commit carries the evidence of another one: amended, rebased, copied or forged.
    CommitRewritten,
    /// A commit of the range has no evidence, and evidence is required.
    CommitWithoutEvidence,
    /// A signature does not fit what it stands for.
    SignatureInvalid,
    /// A checkpoint is signed by a key that is not trusted here.
    KeyUnknown,
    /// A run has no signature that counts, and signatures are required.
    RunUnsigned,
    /// A record in form 1, whose content can be left out and the rest changed, follows one in form 2.
    FormDowngraded,
    /// The content of a record in form 1 was left out, and nothing signed says what kind, time and run it had.
    RecordUnproved,
    /// The end of an export, or the list of its files, is not signed, and signatures are required.
    ExportUnsigned,
    /// A file of an export is not the one that it lists.
    ExportChanged,
}

impl Tampering {
    /// The tape or its blobs themselves are not what was written: no command mends that.
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
            | Self::FormDowngraded => true,
            // The next run puts a torn line aside.
            Self::TornTail
            | Self::CommitWithoutRecord
            | Self::RecordWithoutCommit
            | Self::CommitRewritten
            | Self::CommitWithoutEvidence
            | Self::SignatureInvalid
            | Self::KeyUnknown
            | Self::RunUnsigned
            | Self::RecordUnproved
            | Self::ExportUnsigned
            | Self::ExportChanged => false,
        }
    }
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// What kind of tampering fits.
    pub tampering: Tampering,
    /// The line of the tape, 1 for the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// One sentence for people.
    pub detail: String,
}

/// A key that signed checkpoints of this tape.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KeyUse {
    /// Its fingerprint, as in `SHA256:…`.
    pub id: String,
    /// Is it one of those that count?
    pub trusted: bool,
    /// Runs whose end it signed.
    pub signed: u64,
}

/// What a verification found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VerifyReport {
    /// Version of this shape: 1.
    pub version: u32,
    /// True if and only if nothing is wrong.
    pub ok: bool,
    /// Lines read.
    pub records: u64,
    /// Blobs checked.
    pub blobs: u64,
    /// Commits checked, in both directions; none where there was no history to check against.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commits: Option<u64>,
    /// Runs whose end is signed.
    pub signed: u64,
    /// Runs without a signature: cut short, or made where no key could be had.
    pub unsigned: u64,
    /// Records of a redacted copy whose content was left out. Everything else they say is proved by their hash, but for
    /// those counted in `unproved`.
    pub redacted: u64,
    /// Redacted records that an earlier version wrote: their hash does not prove kind, time and run. With a trusted
    /// signature over the whole export that signature does.
    pub unproved: u64,
    /// The export as a whole. Left out if the evidence is a repository's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub export: Option<ExportSummary>,
    /// Who signed.
    pub keys: Vec<KeyUse>,
    /// The hash of the last record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    /// What is wrong, in the order of the tape: the first 1,000.
    pub findings: Vec<Finding>,
    /// How many more things are wrong.
    pub more_findings: u64,
    /// What is worth knowing and not wrong: crashes that were put right.
    pub notes: Vec<String>,
}

impl VerifyReport {
    /// The first broken line.
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
    /// Verifies the tape, its blobs, its signatures and, where given, the history.
    ///
    /// # Errors
    /// When the tape cannot be read at all. Everything that is wrong with it is in the report.
    pub fn verify(&self, checks: &Checks<'_>) -> Result<VerifyReport, EvidenceError> {
        self.verify_with_blobs_of(self, checks)
    }

    /// Verifies this tape with the blobs of another store: for a copy of the tape alone.
    pub(crate) fn verify_with_blobs_of(
        &self,
        blobs: &Store,
        checks: &Checks<'_>,
    ) -> Result<VerifyReport, EvidenceError> {
        let folder = match checks.export {
            true => Some(ExportFolder::read(self.dir())?),
            false => None,
        };
        let redacted = folder.as_ref().is_some_and(|folder| folder.redacted);
        let mut chain = chain::read(self, blobs, checks, redacted)?;
        // A copy without an account is a copy of evidence that goes on, whose note may be one record behind.
        let is_ended = folder
            .as_ref()
            .is_some_and(|folder| folder.has_account() || checks.require);
        let head = self.head_finding(chain.seq, chain.hash.as_deref(), &chain.at_head, is_ended)?;
        chain.findings.extend(head);
        let commits = chain.pins.finish(checks, &mut chain.findings, &mut chain.notes);
        let signed = chain.signed.finish(checks, &mut chain.findings, &mut chain.notes);
        let end = TapeEnd {
            bytes: chain.bytes,
            form: chain.form,
            unproved: chain.unproved,
            first_unproved: chain.first_unproved,
        };
        let export = folder
            .map(|folder| folder.check(self.dir(), &end, checks, &mut chain.findings, &mut chain.notes))
            .transpose()?;
        Ok(VerifyReport {
            version: 1,
            ok: chain.findings.kept.is_empty(),
            records: chain.lines,
            blobs: chain.blobs,
            commits,
            signed: signed.signed,
            unsigned: signed.unsigned,
            redacted: chain.withheld,
            unproved: chain.unproved,
            export,
            keys: signed.keys,
            head: chain.hash,
            findings: chain.findings.kept,
            more_findings: chain.findings.more,
            notes: chain.notes,
        })
    }

    /// Compares the note of the last record with the tape. One record behind is what a crash leaves; in an export, which
    /// nobody appends to, it is what remains of a longer or shorter one.
    fn head_finding(
        &self,
        seq: u64,
        hash: Option<&str>,
        at_head: &Option<String>,
        is_ended: bool,
    ) -> Result<Option<Finding>, EvidenceError> {
        let changed = |detail: &str| Some(Finding::new(Tampering::HeadChanged, None, detail));
        Ok(match head::read(&self.head_path())? {
            HeadFile::Missing if seq <= 1 && !is_ended => None,
            HeadFile::Missing => changed("the note of the last record, `head.json`, is gone"),
            HeadFile::Unreadable => changed("the note of the last record, `head.json`, cannot be read"),
            HeadFile::Says(head) if head.seq > seq => Some(Finding::new(
                Tampering::CutOff,
                Some(seq + 1),
                format!("{} records were written, {seq} are there", head.seq),
            )),
            HeadFile::Says(head) if head.seq == seq && hash.unwrap_or(GENESIS) != head.hash => {
                changed("the last record is not the one that was noted when it was written")
            }
            HeadFile::Says(head) if head.seq < seq && at_head.as_deref() != Some(head.hash.as_str()) => {
                changed("the noted record is not on the tape")
            }
            HeadFile::Says(head) if is_ended && head.seq < seq => {
                changed("records follow the last one of the export")
            }
            HeadFile::Says(_) => None,
        })
    }
}
