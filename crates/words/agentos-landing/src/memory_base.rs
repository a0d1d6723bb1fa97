//! A [`Base`] in memory, so that a benchmark or a fuzzer measures nothing but landing.
//!
//! Owns: blob ids, computed once. Never: walks a disk; the executor's base reads a repository.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::canonical::blob_id;
use crate::path::split_name;
use crate::{Base, BaseEntry, BaseError, DirEntry, EntryKind, FileMode, KnownBlob};

/// Base that holds regular files by path.
#[derive(Debug, Default)]
pub struct MemoryBase {
    /// Object id of each path.
    ids: BTreeMap<String, String>,
    blobs: BTreeMap<String, Arc<[u8]>>,
    dirs: BTreeMap<String, BTreeMap<String, BaseEntry>>,
}

impl MemoryBase {
    /// Adds a file and the directories above it.
    pub fn put(&mut self, path: &str, content: Arc<[u8]>) {
        let id = blob_id(&content);
        self.ids.insert(path.to_owned(), id.clone());
        self.blobs.insert(id.clone(), content);
        let (mut rest, mut kind, mut id) = (path, EntryKind::File(FileMode::Regular), id);
        loop {
            let (dir, name) = split_name(rest);
            let entry = BaseEntry { kind, id };
            self.dirs
                .entry(dir.to_owned())
                .or_default()
                .insert(name.to_owned(), entry);
            if dir.is_empty() {
                return;
            }
            // Each folder above the file is an entry of the folder above it, up to the root.
            (rest, kind, id) = (dir, EntryKind::Directory, String::new());
        }
    }
}

impl Base for MemoryBase {
    fn entry(&self, path: &str) -> Result<Option<BaseEntry>, BaseError> {
        let (dir, name) = split_name(path);
        Ok(self.dirs.get(dir).and_then(|names| names.get(name)).cloned())
    }

    fn read(&self, id: &str) -> Result<Arc<[u8]>, BaseError> {
        self.blobs
            .get(id)
            .cloned()
            .ok_or_else(|| BaseError::Unreadable(id.to_owned()))
    }

    fn list(&self, dir: &str) -> Result<Vec<DirEntry>, BaseError> {
        let names = self.dirs.get(dir).into_iter().flatten();
        let entry = |(name, entry): (&String, &BaseEntry)| DirEntry {
            name: name.clone().into_bytes(),
            entry: entry.clone(),
        };
        Ok(names.map(entry).collect())
    }

    fn blob_by_prefix(&self, prefix: &str) -> Result<Option<KnownBlob>, BaseError> {
        let mut found = self
            .blobs
            .range(prefix.to_owned()..)
            .take_while(|(id, _)| id.starts_with(prefix));
        Ok(match (found.next(), found.next()) {
            (Some((id, content)), None) => Some((id.clone(), Arc::clone(content))),
            _ => None,
        })
    }

    fn paths_ending_with(&self, suffix: &str, limit: usize) -> Result<Vec<String>, BaseError> {
        let ends = |path: &&String| {
            let before = path.strip_suffix(suffix);
            before.is_some_and(|before| before.is_empty() || before.ends_with('/'))
        };
        Ok(self.ids.keys().filter(ends).take(limit).cloned().collect())
    }
}
