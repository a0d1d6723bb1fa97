//! Base that reads each object once.
//!
//! Owns: the contents that were read. Never: outlives the landing of one answer.
//!
//! Every part of an answer looks up its file by itself, and an answer may have a thousand parts of one file. Without
//! the cache each of them reads, inflates and keeps its own copy: 200 blocks (31 KB) for a file of 29 MiB then need
//! 6 GB.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use crate::{Base, BaseEntry, BaseError, DirEntry, KnownBlob};

/// Base whose contents are read once.
pub(crate) struct BaseCache<'b> {
    base: &'b dyn Base,
    // By object id, which names the content: an entry never becomes out of date, and equal files share one.
    contents: RefCell<HashMap<String, Arc<[u8]>>>,
}

impl<'b> BaseCache<'b> {
    /// Creates an empty cache above the base.
    pub(crate) fn new(base: &'b dyn Base) -> Self {
        Self {
            base,
            contents: RefCell::default(),
        }
    }
}

impl Base for BaseCache<'_> {
    fn entry(&self, path: &str) -> Result<Option<BaseEntry>, BaseError> {
        self.base.entry(path)
    }

    fn read(&self, id: &str) -> Result<Arc<[u8]>, BaseError> {
        if let Some(content) = self.contents.borrow().get(id) {
            return Ok(Arc::clone(content));
        }
        let content = self.base.read(id)?;
        self.contents
            .borrow_mut()
            .insert(id.to_owned(), Arc::clone(&content));
        Ok(content)
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
