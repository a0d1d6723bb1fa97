//! Checks an export as a whole: the list of its files, its head, and the signatures of both.
//!
//! Owns: reading `export.json` and checking the two signatures against the keys that count. Never: believes an
//! `export.json` in a git directory: nothing may be left out of a repository's own evidence.
//!
//! `head.json.sig` signs the head: a tape whose end was cut off has another last record. `export.json.sig` signs the list
//! of files, which holds the time of the export, whether it is redacted, and the digest of every file. So a signature of
//! another export, or of an earlier one, does not match. An earlier export as a whole is a genuine export, and only its
//! time distinguishes it from the newest.

use std::io;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bounds::{FindingList, push_note};
use super::{Finding, Tampering, VerifyChecks};
use crate::export::{self, ExportManifest, ListedFile};
use crate::record::RecordForm;
use crate::{EvidenceError, PublicKey, plain_file};

/// Size in bytes above which a file is no signature.
const MOST_SIGNATURE: u64 = 4 << 10;

/// Result of verifying an export as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExportSummary {
    /// Time of the export, RFC 3339. Left out if the export does not contain it, as those of earlier versions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created: Option<String>,
    /// True if content was left out of it.
    pub redacted: bool,
    /// Fingerprint of the key that signed the last record. Left out if none did, or the signature is not valid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signed_by: Option<String>,
    /// True if that key is one of the keys that count.
    pub trusted: bool,
    /// True if the list of files, the time and the redaction are signed by a key that counts.
    pub files_signed: bool,
}

/// Export before its tape is read.
pub(super) struct ExportFolder {
    manifest: Option<(ExportManifest, Vec<u8>)>,
    /// True if bodies and blobs may be missing.
    pub redacted: bool,
}

/// Facts about the tape after it was read.
pub(super) struct TapeEnd {
    /// Number of bytes that were read.
    pub bytes: u64,
    /// Newest form of its records. `None` if there is none.
    pub form: Option<RecordForm>,
    /// Number of records whose own hash does not prove kind, time and run.
    pub unproved: u64,
    /// Line of the first of them. `None` if there is none.
    pub first_unproved: Option<u64>,
}

impl ExportFolder {
    /// Reads the `export.json` of a folder, if it has one.
    ///
    /// # Errors
    /// When the file exists and cannot be read or has another form.
    pub fn read(dir: &Path) -> Result<Self, EvidenceError> {
        let manifest = export::read_manifest(dir)?;
        // Otherwise somebody could put an `export.json` into a repository's evidence and then remove bodies and blobs.
        let says = manifest.as_ref().is_some_and(|(found, _)| found.redacted);
        Ok(Self {
            redacted: says && !export::lies_in_git_directory(dir),
            manifest,
        })
    }

    /// Returns whether the folder has an `export.json`.
    pub fn has_manifest(&self) -> bool {
        self.manifest.is_some()
    }

    /// Checks signatures and files, after the tape was read.
    ///
    /// # Errors
    /// When a file exists and cannot be read.
    pub fn check_export(
        self,
        dir: &Path,
        end: &TapeEnd,
        checks: &VerifyChecks<'_>,
        findings: &mut FindingList,
        notes: &mut Vec<String>,
    ) -> Result<ExportSummary, EvidenceError> {
        let head = read_signed(&dir.join("head.json"))?.unwrap_or_default();
        let head_key = SignatureFile::read(&dir.join("head.json.sig"), &head)?.report_key(
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
        // Versions that write records in form 2 also sign the list. So removing it from their exports is noticed.
        if listed.is_some() || end.form == Some(RecordForm::CoversBodyDigest) {
            let bytes = self.manifest.as_ref().map_or(&[][..], |(_, bytes)| bytes);
            let key = SignatureFile::read(&dir.join("export.json.sig"), bytes)?.report_key(
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
                // A folder without `export.json` is no export, which is a fault only if signatures are required.
                findings.push(Finding::new(
                    Tampering::ExportChanged,
                    None,
                    "the list of files, `export.json`, is missing or has the form of an earlier version",
                ));
            }
            summary.files_signed = unchanged && key.is_some_and(|key| checks.keys.contains(&key));
        }
        report_unproved(end, summary.files_signed, checks, findings, notes);
        Ok(summary)
    }
}

/// Reports records in form 1 without their body. Only a signature over the whole export proves their kind, time and run.
fn report_unproved(
    end: &TapeEnd,
    files_signed: bool,
    checks: &VerifyChecks<'_>,
    findings: &mut FindingList,
    notes: &mut Vec<String>,
) {
    let count = end.unproved;
    if count == 0 {
        return;
    }
    if files_signed {
        let note = format!(
            "kind, time and run of {count} redacted records are proved only by the signature of the export"
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

/// Reports the files that do not match the list. Returns whether all match.
fn check_files(
    dir: &Path,
    manifest: &ExportManifest,
    tape: u64,
    findings: &mut FindingList,
) -> Result<bool, EvidenceError> {
    let changed = export::changed_files(dir, manifest, tape)?;
    let unchanged = changed.is_empty();
    for changed in changed {
        let detail = match changed {
            ListedFile::Named(name) => format!("`{name}` does not match the list in `export.json`"),
            ListedFile::Attestations => {
                "the files in `attestations/` do not match the list in `export.json`".to_owned()
            }
        };
        findings.push(Finding::new(Tampering::ExportChanged, None, detail));
    }
    Ok(unchanged)
}

/// Content of a signature file.
enum SignatureFile {
    Missing,
    Invalid,
    By(PublicKey),
}

impl SignatureFile {
    fn read(path: &Path, message: &[u8]) -> Result<Self, EvidenceError> {
        Ok(match read_signed(path)? {
            None => Self::Missing,
            Some(text) => PublicKey::of_ssh_signature(&text, message).map_or(Self::Invalid, Self::By),
        })
    }

    /// Reports a fault of the signature and returns the key that signed. `None` if there is no valid signature.
    fn report_key(
        self,
        what: &str,
        checks: &VerifyChecks<'_>,
        findings: &mut FindingList,
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
                    format!("{what}, is not signed: a change of it would not be noticed"),
                );
                None
            }
            Self::Invalid => {
                let detail = format!("the signature of {what}, is not valid");
                findings.push(Finding::new(Tampering::SignatureInvalid, None, detail));
                None
            }
            Self::By(key) => {
                // A key that does not count is returned too: the report names it, so that the user can decide to trust it.
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

/// Reads a small file. `None` if it does not exist. A file that is too large reads as empty, which no signature covers.
///
/// # Errors
/// When it exists and cannot be read.
fn read_signed(path: &Path) -> Result<Option<Vec<u8>>, EvidenceError> {
    let read = plain_file::open_regular(path).and_then(|file| plain_file::read_limited(file, MOST_SIGNATURE));
    match read {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::FileTooLarge => Ok(Some(Vec::new())),
        Err(error) => Err(EvidenceError::io_error("read", path)(error)),
    }
}
