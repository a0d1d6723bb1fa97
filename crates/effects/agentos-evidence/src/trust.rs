//! The keys whose signatures count: a file in the form of OpenSSH's `allowed_signers`.
//!
//! Owns: reading it and adding to it. Never: removes a key; a key that is not used any more still counts for the runs that
//! it signed. `ssh-keygen -Y verify` can use the same file.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::Path;

use crate::{EvidenceError, PublicKey, blob, plain_file};

/// Namespace of our signatures, which keeps a signature for another purpose from counting here (ssh-keygen(1), `-n`).
pub(crate) const NAMESPACE: &str = "agentos-evidence";
/// Size in bytes above which a file is no list of keys.
const MOST_BYTES: u64 = 1 << 20;

/// Key of the file, with its owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustedKey {
    /// Name of the owner, as written in the file.
    pub name: String,
    /// Public key.
    pub key: PublicKey,
}

/// Reads the keys of a file. The list is empty if there is no file. Lines with other types of keys are skipped.
///
/// # Errors
/// When it cannot be read.
pub fn trusted_keys(path: &Path) -> Result<Vec<TrustedKey>, EvidenceError> {
    let read = plain_file::open_user_file(path)
        .and_then(|file| plain_file::read_limited(file, MOST_BYTES))
        .and_then(|bytes| {
            String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
        });
    let text = match read {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(EvidenceError::io_error("read", path)(error)),
    };
    let lines = text.lines().map(str::trim).filter(|line| !line.starts_with('#'));
    Ok(lines
        .filter_map(|line| {
            let key = PublicKey::from_line(line)?;
            let name = line.split_ascii_whitespace().next()?.to_owned();
            Some(TrustedKey { name, key })
        })
        .collect())
}

/// Adds a key to the file, and creates the file if necessary. Returns false if the file has the key already.
///
/// # Errors
/// When the name is not valid, or the file cannot be written.
pub fn trust_key(path: &Path, name: &str, key: &PublicKey) -> Result<bool, EvidenceError> {
    // A blank, a comma or a quote in the name would change the meaning of the line (ssh-keygen(1), "ALLOWED SIGNERS").
    let fits = (1..=128).contains(&name.len())
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'@' | b'.' | b'-' | b'_' | b'+'));
    if !fits {
        return Err(EvidenceError::BadField {
            what: "name of a key's owner",
            value: name.chars().take(64).collect(),
        });
    }
    if trusted_keys(path)?.iter().any(|known| known.key == *key) {
        return Ok(false);
    }
    blob::make_dir(path.parent().unwrap_or(path))?;
    let line = format!("{name} namespaces=\"{NAMESPACE}\" {}\n", key.line());
    // Appended and not rewritten, so that a line that the user adds at the same time is not lost.
    let mut file = OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)
        .map_err(EvidenceError::io_error("open", path))?;
    file.write_all(line.as_bytes())
        .and_then(|()| file.sync_all())
        .map_err(EvidenceError::io_error("write", path))?;
    Ok(true)
}
