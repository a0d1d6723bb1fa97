//! Base that reads each object once, with the results of some parts of an answer on top: the state that the next part is
//! read against.
//!
//! Owns: the contents that were read, and the states on top of the base. Never: forgets the first state of a path, or
//! outlives the landing of one answer.
//!
//! Every part of an answer looks up its file by itself, and an answer may have a thousand parts of one file. Without
//! the stored contents each of them reads, inflates and keeps its own copy: 200 blocks (31 KB) for a file of 29 MiB then
//! need 6 GB.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::file_change::{PathState, PathStates};
use crate::{Base, BaseEntry, BaseError, DirEntry, EntryKind, FileMode, FileState, KnownBlob};

/// Prefix of the ids of contents that no object store has. No object id begins with it.
const MADE: &str = "made:";

/// Base with the changes on top of it.
pub(crate) struct BaseOverlay<'b> {
    base: &'b dyn Base,
    // By object id, which names the content: an entry never becomes out of date, and equal files share one.
    contents: RefCell<HashMap<String, Arc<[u8]>>>,
    /// First and current state of each changed path.
    touched: BTreeMap<String, PathState>,
}

impl<'b> BaseOverlay<'b> {
    /// Creates an overlay without changes.
    pub(crate) fn new(base: &'b dyn Base) -> Self {
        Self {
            base,
            contents: RefCell::default(),
            touched: BTreeMap::new(),
        }
    }

    /// Applies the result of one part.
    pub(crate) fn put_states(&mut self, states: PathStates) {
        for (path, old, new) in states {
            let touched = self.touched.entry(path.as_str().to_owned());
            let (_, _, now) = touched.or_insert((path, old, None));
            *now = new;
        }
    }

    /// Returns the first state of a changed path. Returns `None` if the path was not changed, or did not exist at
    /// first.
    pub(crate) fn first_state(&self, path: &str) -> Option<&FileState> {
        let (_, first, _) = self.touched.get(path)?;
        first.as_ref()
    }

    /// Returns all changed paths with their first and last state.
    pub(crate) fn into_states(self) -> PathStates {
        self.touched
            .into_values()
            // A file that one part creates and a later one deletes leaves no trace.
            .filter(|(_, first, now)| first.is_some() || now.is_some())
            .collect()
    }

    /// Returns true if a file below this directory was created.
    fn made_below(&self, dir: &str) -> bool {
        let below = format!("{dir}/");
        self.touched
            .range(below.clone()..)
            .take_while(|(path, _)| path.starts_with(&below))
            .any(|(_, (_, _, now))| now.is_some())
    }
}

impl Base for BaseOverlay<'_> {
    fn entry(&self, path: &str) -> Result<Option<BaseEntry>, BaseError> {
        if let Some((_, _, now)) = self.touched.get(path) {
            let made = |state: &FileState| BaseEntry {
                kind: match state.mode {
                    FileMode::Regular | FileMode::Executable => EntryKind::File(state.mode),
                    FileMode::Symlink => EntryKind::Symlink,
                },
                id: format!("{MADE}{path}"),
            };
            return Ok(now.as_ref().map(made));
        }
        let there = self.base.entry(path)?;
        let (kind, id) = (EntryKind::Directory, String::new());
        Ok(there.or_else(|| self.made_below(path).then_some(BaseEntry { kind, id })))
    }

    fn read(&self, id: &str) -> Result<Arc<[u8]>, BaseError> {
        if let Some(path) = id.strip_prefix(MADE) {
            let state = self.touched.get(path).and_then(|(_, _, now)| now.as_ref());
            return state
                .map(|state| Arc::clone(&state.content))
                .ok_or_else(|| BaseError::Unreadable(format!("`{path}` is gone")));
        }
        if let Some(content) = self.contents.borrow().get(id) {
            return Ok(Arc::clone(content));
        }
        let content = self.base.read(id)?;
        let mut contents = self.contents.borrow_mut();
        contents.insert(id.to_owned(), Arc::clone(&content));
        Ok(content)
    }

    fn list(&self, dir: &str) -> Result<Vec<DirEntry>, BaseError> {
        // Name collisions are checked against the real base, after all parts.
        self.base.list(dir)
    }

    fn blob_by_prefix(&self, prefix: &str) -> Result<Option<KnownBlob>, BaseError> {
        self.base.blob_by_prefix(prefix)
    }

    fn paths_ending_with(&self, suffix: &str, limit: usize) -> Result<Vec<String>, BaseError> {
        self.base.paths_ending_with(suffix, limit)
    }
}
