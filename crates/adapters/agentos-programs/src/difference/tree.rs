//! One of the two trees that are compared.
//!
//! Owns: opening its folders, reading its entries, and naming the path in an error. Never: opens an entry by a path of
//! several parts.

use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::path::Path;

use agentos_beneath::{EntryFacts, OpenFolder, TreeError};

use crate::AgentError;

/// Maximum number of names in one folder; landing's own limits are far below.
const MAX_NAMES: u64 = 1 << 20;
/// Bytes that are read and compared at a time.
const PIECE: usize = 64 << 10;

/// A tree, by its opened top folder.
pub(super) struct ComparedTree<'a> {
    path: &'a Path,
    top: OpenFolder,
}

impl<'a> ComparedTree<'a> {
    /// Opens the top folder of a tree.
    pub(super) fn open(path: &'a Path) -> Result<Self, AgentError> {
        let top = OpenFolder::open_root(path).map_err(|error| tree_error(path, error))?;
        Ok(Self { path, top })
    }

    /// Opens a folder of the tree; the empty path is its top.
    pub(super) fn open_folder(&self, path: &str) -> Result<OpenFolder, AgentError> {
        self.top.open_path(Path::new(path)).map_err(self.error_at(path))
    }

    /// Opens a folder of the tree. `None` if it does not exist, or a part of its path is a link or a file.
    pub(super) fn find_folder(&self, path: &str) -> Result<Option<OpenFolder>, AgentError> {
        match self.top.open_path(Path::new(path)) {
            Ok(folder) => Ok(Some(folder)),
            Err(TreeError::NotAFolder(_)) => Ok(None),
            Err(error) if error.is_missing() => Ok(None),
            Err(error) => Err(self.error_at(path)(error)),
        }
    }

    /// Lists a folder's names, sorted.
    pub(super) fn list_names(&self, folder: &OpenFolder, path: &str) -> Result<Vec<OsString>, AgentError> {
        folder.read_names(MAX_NAMES).map_err(self.error_at(path))
    }

    /// Returns the facts about an entry. `None` if it does not exist.
    pub(super) fn inspect_entry(
        &self,
        folder: &OpenFolder,
        name: &OsStr,
        path: &str,
    ) -> Result<Option<EntryFacts>, AgentError> {
        folder.inspect_entry(name).map_err(self.error_at(path))
    }

    /// Translates an error at a path of the tree.
    pub(super) fn error_at(&self, path: &str) -> impl FnOnce(TreeError) -> AgentError {
        let place = self.path.join(path);
        move |error| tree_error(&place, error)
    }
}

fn tree_error(place: &Path, error: TreeError) -> AgentError {
    match error {
        TreeError::TooDeep(limit) => AgentError::TooDeep(limit),
        TreeError::TooMany(limit) => AgentError::TooMany(limit),
        error => AgentError::unreadable_at(place)(error.into()),
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
    // `take` with `read_to_end` fills each piece even if a read returns less, so that both sides stay aligned.
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
