//! The base of a run, with a note that the run reads it.
//!
//! Owns: how long the note stands. Never: changes what the base says.

use std::sync::Arc;

use agentos_landing::{Base, BaseEntry, BaseError, DirEntry, KnownBlob};

use crate::control::OpenStage;

/// Base of a run. While it exists, a signal may end the process.
pub(crate) struct WatchedBase<B> {
    base: B,
    _stage: OpenStage,
}

impl<B: Base> WatchedBase<B> {
    /// Makes a base whose note stands until it is dropped.
    pub(crate) fn new(base: B, stage: OpenStage) -> Self {
        Self { base, _stage: stage }
    }
}

impl<B: Base> Base for WatchedBase<B> {
    fn entry(&self, path: &str) -> Result<Option<BaseEntry>, BaseError> {
        self.base.entry(path)
    }

    fn read(&self, id: &str) -> Result<Arc<[u8]>, BaseError> {
        self.base.read(id)
    }

    fn size(&self, id: &str) -> Option<u64> {
        self.base.size(id)
    }

    fn list(&self, dir: &str) -> Result<Vec<DirEntry>, BaseError> {
        self.base.list(dir)
    }

    fn blob_by_prefix(&self, prefix: &str) -> Result<Option<KnownBlob>, BaseError> {
        self.base.blob_by_prefix(prefix)
    }

    fn paths_ending_with(&self, suffix: &str, limit: usize) -> Result<Vec<String>, BaseError> {
        self.base.paths_ending_with(suffix, limit)
    }
}
