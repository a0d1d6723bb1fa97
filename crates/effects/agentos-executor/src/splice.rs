//! Inserts blobs into a tree. Only the folders above a changed path are read and written.
//!
//! Owns: the resulting tree, also if a file becomes a folder or a folder becomes a file. Never: lets one path silently
//! replace another.

use std::collections::BTreeMap;

use agentos_landing::FileMode;
use git2::{ObjectType, Oid, Repository, Tree};

use crate::{ExecError, ReceiptFile};

const FOLDER: i32 = 0o040_000;

/// Path relative to the folder that is built, and its new blob with mode. `None` if the path is deleted.
type PathEdit<'a> = (&'a str, Option<(Oid, i32)>);

/// Edits of one name of a folder.
#[derive(Default)]
struct NameEdits<'a> {
    /// Edit of the name itself. `None` if there is none.
    leaf: Option<Option<(Oid, i32)>>,
    /// Edits of paths below the name.
    below: Vec<PathEdit<'a>>,
}

/// Builds the tree that results from a change. Adds the id of every tree that it writes to `written`.
///
/// # Errors
/// [`ExecError::BaseDiffers`] if a new path needs the place of something that the change does not delete; others as libgit2
/// reports them.
pub(crate) fn splice_tree(
    git: &Repository,
    base: &Tree<'_>,
    files: &[ReceiptFile],
    written: &mut Vec<Oid>,
) -> Result<Oid, ExecError> {
    let mut edits = Vec::with_capacity(files.len());
    for file in files {
        let new = match &file.new {
            Some(new) => Some((parse_oid(&new.oid)?, mode_bits(new.mode))),
            None => None,
        };
        edits.push((file.path.as_str(), new));
    }
    match build_folder(git, Some(base), &edits, written)? {
        Some(id) => Ok(id),
        None => {
            let empty = git.treebuilder(None).and_then(|builder| builder.write());
            let empty = empty.map_err(ExecError::git("write a tree"))?;
            written.push(empty);
            Ok(empty)
        }
    }
}

/// Returns a mode as it is written in git's trees and indexes.
pub(crate) fn mode_bits(mode: FileMode) -> i32 {
    match mode {
        FileMode::Regular => 0o100_644,
        FileMode::Executable => 0o100_755,
        FileMode::Symlink => 0o120_000,
    }
}

pub(crate) fn parse_oid(text: &str) -> Result<Oid, ExecError> {
    Oid::from_str(text).map_err(ExecError::git("read an object id"))
}

/// Builds one folder. `None` if nothing is left in it, since git has no empty folders.
///
/// # Errors
/// Those of [`splice_tree`].
fn build_folder(
    git: &Repository,
    base: Option<&Tree<'_>>,
    edits: &[PathEdit<'_>],
    written: &mut Vec<Oid>,
) -> Result<Option<Oid>, ExecError> {
    let mut names: BTreeMap<&str, NameEdits<'_>> = BTreeMap::new();
    for (path, new) in edits {
        match path.split_once('/') {
            Some((first, rest)) => names.entry(first).or_default().below.push((rest, *new)),
            None => names.entry(path).or_default().leaf = Some(*new),
        }
    }
    let mut builder = git.treebuilder(base).map_err(ExecError::git("write a tree"))?;
    for (name, named) in names {
        let there = base
            .and_then(|base| base.get_name(name))
            .map(|entry| (entry.id(), entry.kind()));
        match resolve_name(git, name, &named, there, written)? {
            Some((id, mode)) => {
                builder
                    .insert(name, id, mode)
                    .map_err(ExecError::git("write a tree"))?;
            }
            None if there.is_some() => builder.remove(name).map_err(ExecError::git("write a tree"))?,
            None => {}
        }
    }
    if builder.is_empty() {
        return Ok(None);
    }
    let id = builder.write().map_err(ExecError::git("write a tree"))?;
    written.push(id);
    Ok(Some(id))
}

fn resolve_name(
    git: &Repository,
    name: &str,
    named: &NameEdits<'_>,
    there: Option<(Oid, Option<ObjectType>)>,
    written: &mut Vec<Oid>,
) -> Result<Option<(Oid, i32)>, ExecError> {
    let differs = || ExecError::BaseDiffers(name.to_owned());
    let sub = match there {
        Some((id, Some(ObjectType::Tree))) if !named.below.is_empty() => {
            let tree = git.find_tree(id).map_err(ExecError::git("read a tree"))?;
            build_folder(git, Some(&tree), &named.below, written)?
        }
        // No file in this folder is deleted, so it cannot become a file.
        Some((_, Some(ObjectType::Tree))) => return Err(differs()),
        // A file has this name: the change must delete it before the name can become a folder.
        Some(_) if !named.below.is_empty() && named.leaf != Some(None) => return Err(differs()),
        Some(_) | None => build_folder(git, None, &named.below, written)?,
    };
    match (named.leaf, sub) {
        (Some(Some(_)), Some(_)) => Err(differs()),
        (Some(Some(blob)), None) => Ok(Some(blob)),
        (Some(None) | None, sub) => Ok(sub.map(|id| (id, FOLDER))),
    }
}
