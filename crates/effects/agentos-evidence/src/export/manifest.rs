//! `export.json`: facts about an export, and the digests of its files.
//!
//! Owns: its form, making it, and comparing it with the folder. Never: checks a signature.
//!
//! Version 2 lists every file except the two signatures, which cover it, and blobs, which records name by their digest.
//! Version 1, of earlier versions, contains only whether the export is redacted.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use agentos_chain::name_hash;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::{EvidenceError, plain_file};

/// Name of the file.
pub(crate) const NAME: &str = "export.json";
/// Maximum bytes of the file.
const MOST_BYTES: u64 = 64 << 10;
/// Name of the folder with each run's signed statements.
pub(crate) const ATTESTATIONS: &str = "attestations";
/// Maximum number of files in that folder; every run has one.
const MOST_ATTESTATIONS: usize = 1_000_000;
/// Maximum bytes of the page for a browser, which shows the newest runs.
const MOST_PAGE: u64 = 1 << 30;
/// Maximum bytes of any other listed file except the tape.
const MOST_LISTED: u64 = 1 << 20;
/// Names of the files that may be listed. No other name is opened: a list from elsewhere must not lead out of the folder.
const LISTED: [&str; 5] = [
    "README.txt",
    "allowed_signers",
    "head.json",
    "index.html",
    "tape.jsonl",
];
/// Names of the files that every export has.
const NEEDED: [&str; 2] = ["head.json", "tape.jsonl"];

/// Content of `export.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExportManifest {
    /// Version of this shape: 2, or 1 for exports of earlier versions.
    pub version: u64,
    /// True if content was left out.
    pub redacted: bool,
    /// Number of records on the tape.
    pub records: u64,
    /// Hash of the last record.
    pub head: String,
    /// Time of the export, RFC 3339. `None` in version 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created: Option<String>,
    /// Digest of each listed file, as in `sha256:…`.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
    /// Signed statements. `None` if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attestations: Option<AttestationList>,
}

/// Files of the folder `attestations/` as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AttestationList {
    /// Number of files.
    pub files: u64,
    /// Digest of a text with a line `NAME DIGEST` for each file, in the order of the names.
    pub sha256: String,
}

/// Listed file that was changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ListedFile {
    /// The file of this name.
    Named(String),
    /// A file of the folder `attestations/`.
    Attestations,
}

/// Reads the `export.json` of a folder. Returns its content and its bytes. `None` if the file does not exist.
///
/// # Errors
/// When the file exists and cannot be read, or has another form.
pub(crate) fn read_manifest(dir: &Path) -> Result<Option<(ExportManifest, Vec<u8>)>, EvidenceError> {
    let path = dir.join(NAME);
    let read = plain_file::open_regular(&path).and_then(|file| plain_file::read_limited(file, MOST_BYTES));
    let bytes = match read {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(EvidenceError::io_error("read", &path)(source)),
    };
    let refused = |error: serde_json::Error| EvidenceError::BadExport(error.to_string());
    let about: Value = serde_json::from_slice(&bytes).map_err(refused)?;
    let version = about.get("version").and_then(Value::as_u64).unwrap_or(1);
    let manifest = match version {
        // Nothing else of version 1 is compared with anything, so the other members are not read.
        1 => ExportManifest {
            version,
            redacted: about.get("redacted") == Some(&Value::Bool(true)),
            records: 0,
            head: String::new(),
            created: None,
            files: BTreeMap::new(),
            attestations: None,
        },
        2 => serde_json::from_value(about).map_err(refused)?,
        _ => return Err(EvidenceError::BadExport(format!("its version is {version}"))),
    };
    Ok(Some((manifest, bytes)))
}

/// Returns whether a folder lies in a git directory, as a repository's own evidence does.
pub(crate) fn lies_in_git_directory(dir: &Path) -> bool {
    // Links are resolved: `export.json` must not be believed in a git directory that a link leads to.
    let Ok(real) = fs::canonicalize(dir) else {
        return false;
    };
    let Some(above) = real.parent() else {
        return false;
    };
    // The git directory of a bare repository or a submodule is not named `.git`.
    let has_git =
        above.join("HEAD").is_file() && above.join("objects").is_dir() && above.join("refs").is_dir();
    has_git || above.file_name().is_some_and(|name| name == ".git")
}

/// Returns whether a path names a repository's own evidence: a folder in a folder `.git`. Nothing signs the end of such a
/// tape, which the next run continues. Links are not resolved: an export that is a link to such a folder is still checked
/// as an export.
#[must_use]
pub fn is_own_evidence(dir: &Path) -> bool {
    dir.parent()
        .and_then(Path::file_name)
        .is_some_and(|name| name == ".git")
}

/// Hashes the files of an export. A tape with more than `tape` bytes gets no digest: it was not read to its end, and
/// hashing a file with a hole of any size could take forever.
///
/// # Errors
/// When a file cannot be read.
pub(crate) fn list_files(dir: &Path, tape: u64) -> Result<BTreeMap<String, String>, EvidenceError> {
    let mut files = BTreeMap::new();
    for name in LISTED {
        let mut limit = match name {
            "tape.jsonl" => tape,
            "index.html" => MOST_PAGE,
            _ => MOST_LISTED,
        };
        if let Some(digest) = digest_listed(&dir.join(name), &mut limit)? {
            files.insert(name.to_owned(), digest);
        }
    }
    Ok(files)
}

/// Hashes the signed statements. `None` if there are none. The tape contains all of them too, so together they cannot have
/// more bytes than the tape, which is the limit.
///
/// # Errors
/// When a file cannot be read, or there are too many.
pub(crate) fn list_attestations(dir: &Path, tape: u64) -> Result<Option<AttestationList>, EvidenceError> {
    let folder = dir.join(ATTESTATIONS);
    let failed = || EvidenceError::io_error("read", &folder);
    let found = match fs::symlink_metadata(&folder) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed()(error)),
    };
    if !found.is_dir() {
        let source = io::Error::new(io::ErrorKind::InvalidInput, "it is not a folder");
        return Err(failed()(source));
    }
    let mut names = Vec::new();
    for entry in fs::read_dir(&folder).map_err(failed())? {
        if names.len() == MOST_ATTESTATIONS {
            return Err(EvidenceError::TooMuch("statements"));
        }
        names.push(entry.map_err(failed())?.file_name());
    }
    names.sort();
    let (mut hasher, mut left) = (Sha256::new(), tape);
    for name in &names {
        // No export has a name that is not UTF-8. It changes the digest, which is all that is needed here.
        let name = name.to_string_lossy();
        let digest = digest_listed(&folder.join(&*name), &mut left)?.unwrap_or_default();
        hasher.update(format!("{name} {digest}\n"));
    }
    Ok(Some(AttestationList {
        files: u64::try_from(names.len()).unwrap_or(u64::MAX),
        sha256: name_hash(&hasher.finalize()),
    }))
}

/// Lists the files that do not match `export.json`. `tape` is the number of bytes of the tape that were read.
///
/// # Errors
/// When a file cannot be read.
pub(crate) fn changed_files(
    dir: &Path,
    manifest: &ExportManifest,
    tape: u64,
) -> Result<Vec<ListedFile>, EvidenceError> {
    let mut changed = Vec::new();
    let present = list_files(dir, tape)?;
    // Names from both sides: a file may be missing in the folder or in the list, and some must be in both.
    let names: std::collections::BTreeSet<&str> = manifest
        .files
        .keys()
        .map(String::as_str)
        .chain(present.keys().map(String::as_str))
        .chain(NEEDED)
        .collect();
    for name in names {
        let listed = manifest.files.get(name);
        // The name comes from the export, so it is shortened before it is shown.
        if listed.is_none() || present.get(name) != listed {
            changed.push(ListedFile::Named(name.chars().take(64).collect()));
        }
    }
    if list_attestations(dir, tape)? != manifest.attestations {
        changed.push(ListedFile::Attestations);
    }
    Ok(changed)
}

/// Hashes a listed file, and subtracts its bytes from the limit. `None` if it does not exist. Returns a text that no digest
/// equals if it is no regular file or has more bytes than the limit.
///
/// # Errors
/// When it cannot be read.
fn digest_listed(path: &Path, limit: &mut u64) -> Result<Option<String>, EvidenceError> {
    let read = plain_file::open_regular(path).and_then(|file| plain_file::digest_file(file, *limit));
    match read {
        Ok((digest, left)) => {
            *limit = left;
            Ok(Some(digest))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) if plain_file::is_odd(&error) || error.kind() == io::ErrorKind::FileTooLarge => {
            Ok(Some("not a regular file".to_owned()))
        }
        Err(error) => Err(EvidenceError::io_error("read", path)(error)),
    }
}
