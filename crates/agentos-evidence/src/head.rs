//! `head.json`: the number and hash of the last record, beside the tape.
//!
//! Owns: noticing a tape that was cut off. Never: is trusted for anything else. It is written after the tape, so a
//! crash can leave it behind the tape but never ahead of it.

use std::fs;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::EvidenceError;

/// The last record that was acknowledged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Head {
    pub v: u64,
    pub seq: u64,
    pub hash: String,
}

/// What the file says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum HeadFile {
    Missing,
    Unreadable,
    Says(Head),
}

impl Head {
    pub(crate) fn new(seq: u64, hash: &str) -> Self {
        Self {
            v: 1,
            seq,
            hash: hash.to_owned(),
        }
    }
}

/// Reads the head.
pub(crate) fn read(path: &Path) -> Result<HeadFile, EvidenceError> {
    match fs::read(path) {
        Ok(bytes) => Ok(serde_json::from_slice::<Head>(&bytes)
            .ok()
            .filter(|head| head.v == 1)
            .map_or(HeadFile::Unreadable, HeadFile::Says)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(HeadFile::Missing),
        Err(source) => Err(EvidenceError::Io {
            action: "read",
            path: path.to_owned(),
            source,
        }),
    }
}

/// Replaces the head in one step. Not synced on its own: after a loss of power it may be behind, which the next
/// append repairs and tells.
pub(crate) fn write(path: &Path, head: &Head) -> Result<(), EvidenceError> {
    let text = serde_json::to_string(head).map_err(|error| EvidenceError::Json(error.to_string()))?;
    let temp = path.with_extension("json.tmp");
    let written = crate::blob::write_plain(&temp, format!("{text}\n").as_bytes());
    written
        .and_then(|()| fs::rename(&temp, path))
        .map_err(EvidenceError::io("write", path))
}
