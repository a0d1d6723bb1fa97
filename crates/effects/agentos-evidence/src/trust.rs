//! The keys whose signatures count: a file in the form of OpenSSH's `allowed_signers`.
//!
//! Owns: reading it and adding to it. Never: takes a key away; a key that once signed goes on counting for what it
//! signed. The same file serves `ssh-keygen -Y verify`.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::Path;

use crate::{EvidenceError, PublicKey, blob, plain_file};

/// What our signatures are for, in OpenSSH's words.
pub(crate) const NAMESPACE: &str = "agentos-evidence";
/// More than this is not a list of keys.
const MOST_BYTES: u64 = 1 << 20;

/// One key of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustedKey {
    /// Whose it is, as the file says.
    pub name: String,
    /// The key.
    pub key: PublicKey,
}

/// The keys of a file; none where there is no file. Lines for other kinds of keys are passed over.
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
        Err(error) => return Err(EvidenceError::io("read", path)(error)),
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

/// Adds a key to the file, which is made if need be; false when it is there already.
///
/// # Errors
/// When the name does not fit, or the file cannot be written.
pub fn trust_key(path: &Path, name: &str, key: &PublicKey) -> Result<bool, EvidenceError> {
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
    let mut file = OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)
        .map_err(EvidenceError::io("open", path))?;
    file.write_all(line.as_bytes())
        .and_then(|()| file.sync_all())
        .map_err(EvidenceError::io("write", path))?;
    Ok(true)
}
