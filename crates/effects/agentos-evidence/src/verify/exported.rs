//! What an export says of itself: the list of its files, its head, and the signatures of both.
//!
//! Owns: reading `export.json` and checking the two signatures against the keys that count. Never: believes an account
//! that lies in a git directory: nothing may be left out of a repository's own evidence.
//!
//! `head.json.sig` signs the head: a tape whose end was cut off has another last record. `export.json.sig` signs the
//! list, which names the time of the export, whether it is redacted, and the digest of every file: a signature of
//! another export, of an older one with this tape, or of this one with another page fits nothing here. An older export
//! as a whole is a genuine export, and only its time tells it from the newest.

use std::io;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bounds::{Findings, push_note};
use super::{Checks, Finding, Tampering};
use crate::export::{self, ListedFile, Manifest};
use crate::record::RecordForm;
use crate::{EvidenceError, PublicKey, plain_file};

/// Bytes of a signature file beyond which it is none.
const MOST_SIGNATURE: u64 = 4 << 10;

/// What the verification of an export says of it as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExportSummary {
    /// When it was made, RFC 3339. Left out if the export does not say, as those of earlier versions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created: Option<String>,
    /// Content was left out of it.
    pub redacted: bool,
    /// The fingerprint of the key that signed its last record. Left out if none did, or the signature does not hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signed_by: Option<String>,
    /// That key is one of those that count.
    pub trusted: bool,
    /// The list of its files, the time and the redaction are signed by a key that counts.
    pub files_signed: bool,
}

/// An export before its tape is read.
pub(super) struct ExportFolder {
    manifest: Option<(Manifest, Vec<u8>)>,
    /// Bodies and blobs may be missing.
    pub redacted: bool,
}

/// The end of the tape as it was read.
pub(super) struct TapeEnd {
    /// Bytes that were read.
    pub bytes: u64,
    /// The newest form of its records. `None` if there is none.
    pub form: Option<RecordForm>,
    /// Records whose kind, time and run their own hash does not prove.
    pub unproved: u64,
    /// The line of the first of them. `None` if there is none.
    pub first_unproved: Option<u64>,
}

impl ExportFolder {
    /// Reads the account of a folder, if it has one.
    pub fn read(dir: &Path) -> Result<Self, EvidenceError> {
        let manifest = export::read_manifest(dir)?;
        let says = manifest.as_ref().is_some_and(|(found, _)| found.redacted);
        Ok(Self {
            redacted: says && !export::lies_in_git_directory(dir),
            manifest,
        })
    }

    /// Returns whether the folder says of itself that it is an export.
    pub fn has_account(&self) -> bool {
        self.manifest.is_some()
    }

    /// Checks signatures and files when the tape has been read.
    pub fn check(
        self,
        dir: &Path,
        end: &TapeEnd,
        checks: &Checks<'_>,
        findings: &mut Findings,
        notes: &mut Vec<String>,
    ) -> Result<ExportSummary, EvidenceError> {
        let head = read_signed(&dir.join("head.json"))?.unwrap_or_default();
        let head_key = Signature::read(&dir.join("head.json.sig"), &head)?.judge(
            "the last record, `head.json`",
            checks,
            findings,
            notes,
        );
        let mut summary = ExportSummary {
            created: None,
            redacted: self.redacted,
            signed_by: head_key.map(|key| key.id()),
            trusted: head_key.is_some_and(|key| checks.keys.contains(&key)),
            files_signed: false,
        };
        let listed = self.manifest.as_ref().filter(|(found, _)| found.version == 2);
        // Versions that write records in form 2 sign the list, so it cannot be taken away from their exports.
        if listed.is_some() || end.form == Some(RecordForm::CoversBodyDigest) {
            let bytes = self.manifest.as_ref().map_or(&[][..], |(_, bytes)| bytes);
            let key = Signature::read(&dir.join("export.json.sig"), bytes)?.judge(
                "the list of files, `export.json`",
                checks,
                findings,
                notes,
            );
            let mut unchanged = false;
            if let Some((manifest, _)) = listed {
                unchanged = check_files(dir, manifest, end.bytes, findings)?;
                summary.created.clone_from(&manifest.created);
            } else if checks.require || self.manifest.is_some() {
                // A folder without any account is no export: that is a fault where one is required.
                findings.push(Finding::new(
                    Tampering::ExportChanged,
                    None,
                    "the list of files, `export.json`, is gone or is that of an earlier version",
                ));
            }
            summary.files_signed = unchanged && key.is_some_and(|key| checks.keys.contains(&key));
        }
        judge_unproved(end, summary.files_signed, checks, findings, notes);
        Ok(summary)
    }
}

/// Records in form 1 without their body are as good as the signature over the whole tape, if there is one.
fn judge_unproved(
    end: &TapeEnd,
    files_signed: bool,
    checks: &Checks<'_>,
    findings: &mut Findings,
    notes: &mut Vec<String>,
) {
    let count = end.unproved;
    if count == 0 {
        return;
    }
    if files_signed {
        let note = format!(
            "kind, time and run of {count} redacted records are proved by the signature of the export alone"
        );
        push_note(notes, note);
    } else if checks.require {
        let detail = format!(
            "kind, time and run of {count} redacted records from here on are not proved: an earlier version wrote them; \
             ask for a new export, whose list of files is signed"
        );
        findings.push(Finding::new(
            Tampering::RecordUnproved,
            end.first_unproved,
            detail,
        ));
    } else {
        let note = format!(
            "kind, time and run of {count} redacted records are not proved: an earlier version wrote them"
        );
        push_note(notes, note);
    }
}

/// Reports the files that are not those that the list names. Returns whether there are none.
fn check_files(
    dir: &Path,
    manifest: &Manifest,
    tape: u64,
    findings: &mut Findings,
) -> Result<bool, EvidenceError> {
    let changed = export::changed_files(dir, manifest, tape)?;
    let unchanged = changed.is_empty();
    for changed in changed {
        let detail = match changed {
            ListedFile::Named(name) => format!("`{name}` is not the file that the export lists"),
            ListedFile::Attestations => "`attestations/` does not hold what the export lists".to_owned(),
        };
        findings.push(Finding::new(Tampering::ExportChanged, None, detail));
    }
    Ok(unchanged)
}

/// A signature file.
enum Signature {
    Missing,
    Invalid,
    By(PublicKey),
}

impl Signature {
    fn read(path: &Path, message: &[u8]) -> Result<Self, EvidenceError> {
        Ok(match read_signed(path)? {
            None => Self::Missing,
            Some(text) => PublicKey::of_ssh_signature(&text, message).map_or(Self::Invalid, Self::By),
        })
    }

    /// Reports what is wrong with it. Returns the key that signed; `None` if none did.
    fn judge(
        self,
        what: &str,
        checks: &Checks<'_>,
        findings: &mut Findings,
        notes: &mut Vec<String>,
    ) -> Option<PublicKey> {
        match self {
            Self::Missing if checks.require => {
                let detail = format!("{what}, is not signed");
                findings.push(Finding::new(Tampering::ExportUnsigned, None, detail));
                None
            }
            Self::Missing => {
                push_note(
                    notes,
                    format!("{what}, is not signed: a change of it would not be found"),
                );
                None
            }
            Self::Invalid => {
                let detail = format!("the signature of {what}, does not hold");
                findings.push(Finding::new(Tampering::SignatureInvalid, None, detail));
                None
            }
            Self::By(key) => {
                if !checks.counts_for_export(&key) {
                    let id = key.id();
                    let detail = format!("{what}, is signed by `{id}`, a key that is not trusted here");
                    findings.push(Finding::new(Tampering::KeyUnknown, None, detail));
                }
                Some(key)
            }
        }
    }
}

/// Reads a small file. `None` if there is none; empty, which no signature covers, if it is too large.
fn read_signed(path: &Path) -> Result<Option<Vec<u8>>, EvidenceError> {
    let read = plain_file::open_regular(path).and_then(|file| plain_file::read_limited(file, MOST_SIGNATURE));
    match read {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::FileTooLarge => Ok(Some(Vec::new())),
        Err(error) => Err(EvidenceError::io("read", path)(error)),
    }
}
