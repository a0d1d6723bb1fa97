//! A base in memory, with real git blob ids.
//!
//! Owns: the test double of `Base`. Never: walks a disk.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use agentos_landing::{Base, BaseEntry, BaseError, Change, DirEntry, EntryKind, FileMode};
use sha1::{Digest, Sha1};

/// Files by path: git mode and content.
pub type Tree = BTreeMap<String, (String, Arc<[u8]>)>;

/// One state of a repository, and other blobs of its object store.
#[derive(Default)]
pub struct Memory {
    pub tree: Tree,
    blobs: BTreeMap<String, Arc<[u8]>>,
    dirs: BTreeSet<String>,
    /// Number of contents that were read.
    pub reads: Cell<usize>,
}

pub fn blob_id(content: &[u8]) -> String {
    let mut hash = Sha1::new();
    hash.update(format!("blob {}\0", content.len()));
    hash.update(content);
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Memory {
    pub fn put(&mut self, path: &str, mode: &str, content: &[u8]) {
        let content: Arc<[u8]> = Arc::from(content);
        self.blobs.insert(blob_id(&content), Arc::clone(&content));
        self.tree.insert(path.to_owned(), (mode.to_owned(), content));
        for (at, _) in path.match_indices('/') {
            self.dirs.insert(path.split_at(at).0.to_owned());
        }
    }

    /// A blob that is known but in no file.
    pub fn know(&mut self, content: &[u8]) {
        self.blobs.insert(blob_id(content), Arc::from(content));
    }

    /// A state of regular files.
    pub fn of(files: &[(&str, &[u8])]) -> Self {
        let mut memory = Self::default();
        for (path, content) in files {
            memory.put(path, "100644", content);
        }
        memory
    }

    /// The tree after a change.
    pub fn after(&self, change: &Change) -> Tree {
        let mut tree = self.tree.clone();
        for file in change.files() {
            tree.remove(file.path.as_str());
        }
        for file in change.files() {
            if let Some(new) = &file.new {
                let mode = new.mode.as_git().to_owned();
                tree.insert(file.path.as_str().to_owned(), (mode, Arc::clone(&new.content)));
            }
        }
        tree
    }
}

fn kind(mode: &str) -> EntryKind {
    match mode {
        "120000" => EntryKind::Symlink,
        "160000" => EntryKind::Gitlink,
        "100755" => EntryKind::File(FileMode::Executable),
        _ => EntryKind::File(FileMode::Regular),
    }
}

impl Base for Memory {
    fn entry(&self, path: &str) -> Result<Option<BaseEntry>, BaseError> {
        if let Some((mode, content)) = self.tree.get(path) {
            return Ok(Some(BaseEntry {
                kind: kind(mode),
                id: blob_id(content),
            }));
        }
        Ok(self.dirs.contains(path).then(|| BaseEntry {
            kind: EntryKind::Directory,
            id: String::new(),
        }))
    }

    fn read(&self, id: &str) -> Result<Arc<[u8]>, BaseError> {
        self.reads.set(self.reads.get() + 1);
        self.blobs
            .get(id)
            .cloned()
            .ok_or_else(|| BaseError::Unreadable(id.to_owned()))
    }

    fn list(&self, dir: &str) -> Result<Vec<DirEntry>, BaseError> {
        let prefix = if dir.is_empty() {
            String::new()
        } else {
            format!("{dir}/")
        };
        let names: BTreeSet<&str> = self
            .tree
            .keys()
            .filter_map(|path| path.strip_prefix(&prefix))
            .filter_map(|rest| rest.split('/').next())
            .collect();
        names
            .into_iter()
            .map(|name| {
                let entry = self.entry(&format!("{prefix}{name}"))?;
                Ok(DirEntry {
                    name: name.as_bytes().to_vec(),
                    entry: entry.ok_or_else(|| BaseError::Unreadable(name.to_owned()))?,
                })
            })
            .collect()
    }

    fn blob_by_prefix(&self, prefix: &str) -> Result<Option<(String, Arc<[u8]>)>, BaseError> {
        let mut found = self.blobs.iter().filter(|(id, _)| id.starts_with(prefix));
        Ok(match (found.next(), found.next()) {
            (Some((id, content)), None) => Some((id.clone(), Arc::clone(content))),
            _ => None,
        })
    }

    fn paths_ending_with(&self, suffix: &str, limit: usize) -> Result<Vec<String>, BaseError> {
        Ok(self
            .tree
            .keys()
            .filter(|path| *path == suffix || path.ends_with(&format!("/{suffix}")))
            .take(limit)
            .cloned()
            .collect())
    }
}
