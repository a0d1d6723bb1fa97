//! Bodies in blobs, opened so that they are checked as those on a line.
//!
//! Owns: their longest length, and the last one. Never: reports a blob that is missing or was changed.

use std::sync::Arc;

use serde_json::Value;

use crate::spilled::SpilledBody;
use crate::{EvidenceError, Store};

/// Longest body in a blob that is parsed. A parsed body takes many times its length.
const MOST_BYTES: u64 = 16 << 20;

/// Content of a blob with a body.
#[derive(Clone)]
pub(super) enum Opened {
    Body(Arc<Value>),
    /// The blob is missing or was changed.
    Missing,
    /// No body of such a record, with a sentence about it.
    Wrong(String),
}

/// The last body that was opened: many lines may name the same blob.
#[derive(Default)]
pub(super) struct LastOpened(Option<(String, u64, Opened)>);

impl LastOpened {
    /// Opens a body.
    ///
    /// # Errors
    /// Fails if the blob cannot be read.
    pub(super) fn open(&mut self, spilled: SpilledBody<'_>, blobs: &Store) -> Result<Opened, EvidenceError> {
        if let Some((id, bytes, opened)) = &self.0
            && id == spilled.id
            && *bytes == spilled.bytes
        {
            return Ok(opened.clone());
        }
        // The memory of the last one is free before this one is read.
        self.0 = None;
        let opened = read(spilled, blobs)?;
        if !matches!(opened, Opened::Missing) {
            self.0 = Some((spilled.id.to_owned(), spilled.bytes, opened.clone()));
        }
        Ok(opened)
    }
}

fn read(SpilledBody { id, bytes }: SpilledBody<'_>, blobs: &Store) -> Result<Opened, EvidenceError> {
    let wrong = |what: &str| {
        Ok(Opened::Wrong(format!(
            "the body of the record in the blob `{id}` {what}"
        )))
    };
    if bytes > MOST_BYTES {
        return wrong("is too long");
    }
    let read = match blobs.get_blob_of(id, bytes) {
        Ok(read) => read,
        Err(EvidenceError::NoBlob { .. } | EvidenceError::BlobChanged { .. }) => return Ok(Opened::Missing),
        Err(other) => return Err(other),
    };
    let Some(read) = read else {
        return wrong("does not have the length that its line gives");
    };
    match serde_json::from_slice::<Value>(&read) {
        Ok(body) if body.is_object() => Ok(Opened::Body(Arc::new(body))),
        _ => wrong("cannot be read"),
    }
}
