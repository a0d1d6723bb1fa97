//! One of the two trees that are compared.
//!
//! Owns: opening its folders, reading its entries, and naming the place in an error. Never: takes a step by path name.

use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::path::Path;

use agentos_beneath::{EntryFacts, OpenFolder, TreeError};

use crate::AgentError;

/// Names in one folder; landing's own limits are far below.
const MAX_NAMES: u64 = 1 << 20;
/// Bytes that are compared at a time.
const PIECE: usize = 64 << 10;

/// A tree, by its opened top folder.
pub(super) struct Tree<'a> {
    path: &'a Path,
    top: OpenFolder,
}

impl<'a> Tree<'a> {
    /// Opens the top folder of a tree.
    pub(super) fn open(path: &'a Path) -> Result<Self, AgentError> {
        let top = OpenFolder::open_root(path).map_err(|error| unreadable(path, error))?;
        Ok(Self { path, top })
    }

    /// Opens a folder of the tree; the empty path is its top.
    pub(super) fn folder(&self, path: &str) -> Result<OpenFolder, AgentError> {
        self.top.open_path(Path::new(path)).map_err(self.failed(path))
    }

    /// Opens a folder of the tree. `None` if there is none, or a part of the path is no folder, which could lead elsewhere.
    pub(super) fn find_folder(&self, path: &str) -> Result<Option<OpenFolder>, AgentError> {
        match self.top.open_path(Path::new(path)) {
            Ok(folder) => Ok(Some(folder)),
            Err(TreeError::NotAFolder(_)) => Ok(None),
            Err(error) if error.is_missing() => Ok(None),
            Err(error) => Err(self.failed(path)(error)),
        }
    }

    /// Lists a folder's names, sorted.
    pub(super) fn names(&self, folder: &OpenFolder, path: &str) -> Result<Vec<OsString>, AgentError> {
        folder.read_names(MAX_NAMES).map_err(self.failed(path))
    }

    /// Returns the facts about an entry. `None` if it is not there.
    pub(super) fn inspect(
        &self,
        folder: &OpenFolder,
        name: &OsStr,
        path: &str,
    ) -> Result<Option<EntryFacts>, AgentError> {
        folder.inspect_entry(name).map_err(self.failed(path))
    }

    /// Translates an error at a path of the tree.
    pub(super) fn failed(&self, path: &str) -> impl FnOnce(TreeError) -> AgentError {
        let place = self.path.join(path);
        move |error| unreadable(&place, error)
    }
}

fn unreadable(place: &Path, error: TreeError) -> AgentError {
    match error {
        TreeError::TooDeep(limit) => AgentError::TooDeep(limit),
        TreeError::TooMany(limit) => AgentError::TooMany(limit),
        error => AgentError::unreadable(place)(error.into()),
    }
}

/// Compares two regular files of the same name, without holding either of them whole.
pub(super) fn same_content(one: &OpenFolder, other: &OpenFolder, name: &OsStr) -> Result<bool, TreeError> {
    let failed = |source| TreeError::Io {
        action: "read",
        name: name.to_string_lossy().into_owned(),
        source,
    };
    let ((mut one, _), (mut other, _)) = (one.open_file(name)?, other.open_file(name)?);
    let (mut left, mut right) = (Vec::with_capacity(PIECE), Vec::with_capacity(PIECE));
    loop {
        for (file, piece) in [(&mut one, &mut left), (&mut other, &mut right)] {
            piece.clear();
            file.take(PIECE as u64).read_to_end(piece).map_err(failed)?;
        }
        if left != right {
            return Ok(false);
        }
        if left.is_empty() {
            return Ok(true);
        }
    }
}
