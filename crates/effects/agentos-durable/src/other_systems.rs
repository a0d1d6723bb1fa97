//! Systems without a usable call that syncs a whole file system.
//!
//! Owns: the same interface as `whole`, with nothing behind it. Never: syncs a whole file system.

use std::path::{Path, PathBuf};

use crate::{MissingFiles, SyncError};

/// File system that can be synced in one call. No value of this type exists here.
#[derive(Debug)]
pub(crate) enum WholeFileSystem {}

impl WholeFileSystem {
    /// Returns `None`: each file must be synced by itself.
    pub fn open(_: &Path) -> Option<Self> {
        None
    }

    /// Cannot be called, since there is no value to call it on.
    pub fn sync<'p>(&self, _: &'p [PathBuf], _: MissingFiles) -> Result<Vec<&'p PathBuf>, SyncError> {
        match *self {}
    }
}
