//! The files of a base, and which of them a copy shows.
//!
//! Owns: reading them from a tree, and the file in which a copy keeps them. Never: trusts that file to be whole: a
//! listing that cannot be read is none.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::Path;

use agentos_landing::RepoPath;
use git2::{ObjectType, Oid, Tree};

use super::{Shown, owner_name, put};
use crate::ExecError;

/// In a copy, beside its files.
pub(super) const FILE: &str = "listing";

/// Bytes of a path from which on no system takes it (`PATH_MAX` of Linux).
const LONGEST_PATH: usize = 4096;

/// What git knows of a file, and whether it is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Listed {
    pub(super) id: Oid,
    pub(super) mode: i32,
    pub(super) shown: bool,
}

/// Listing that a copy keeps.
pub(super) struct KeptListing {
    /// Key of its answers.
    pub(super) key: String,
    pub(super) files: Listing,
}

/// Every file of a base, by its path.
#[derive(Debug, Default)]
pub(super) struct Listing(Vec<(String, Listed)>);

impl Listing {
    /// Lists a tree. What `known` says of a file that is the same there is not asked again.
    ///
    /// # Errors
    /// When the tree cannot be read, or holds a name that must not be written, as no proper git makes.
    pub(super) fn of(
        git: &git2::Repository,
        tree: &Tree<'_>,
        shown: &Shown<'_>,
        known: &HashMap<&str, Listed>,
    ) -> Result<Self, ExecError> {
        let mut all = Vec::new();
        walk(git, tree, &mut all)?;
        let decide = |(path, mut listed): (String, Listed)| {
            let before = known.get(path.as_str());
            let same = before.filter(|before| (before.id, before.mode) == (listed.id, listed.mode));
            let content = || git.find_blob(listed.id).map(|blob| blob.content().to_vec());
            listed.shown = match same {
                Some(same) => same.shown,
                None => (shown.may)(&path, &|| content().unwrap_or_default()),
            };
            (path, listed)
        };
        Ok(Self(all.into_iter().map(decide).collect()))
    }

    /// The files that are shown.
    pub(super) fn shown(&self) -> impl Iterator<Item = (&str, Listed)> {
        let all = self.0.iter().filter(|(_, listed)| listed.shown);
        all.map(|(path, listed)| (path.as_str(), *listed))
    }

    /// The files that are not.
    pub(super) fn withheld(&self) -> impl Iterator<Item = &str> {
        let all = self.0.iter().filter(|(_, listed)| !listed.shown);
        all.map(|(path, _)| path.as_str())
    }

    /// All of them, by path.
    pub(super) fn by_path(&self) -> HashMap<&str, Listed> {
        let all = self.0.iter();
        all.map(|(path, listed)| (path.as_str(), *listed)).collect()
    }

    /// Keeps the listing in a copy, under the key of its answers and the owner of its files.
    pub(super) fn write(&self, copy: &Path, key: &str, owner: Option<u32>) -> Result<(), ExecError> {
        let mut text = format!("{key}\n{}\n", owner_name(owner));
        for (path, listed) in &self.0 {
            let shown = u8::from(listed.shown);
            text.push_str(&format!("{:o} {} {shown} {path}\n", listed.mode, listed.id));
        }
        put(&copy.join(FILE), text.as_bytes())
    }

    /// Reads the listing of a copy that belongs to `owner`. `None` if it cannot be read, or is another owner's.
    pub(super) fn read(copy: &Path, owner: Option<u32>) -> Option<KeptListing> {
        let text = fs::read_to_string(copy.join(FILE)).ok()?;
        let (key, rest) = text.split_once('\n')?;
        let (_, rest) = rest
            .split_once('\n')
            .filter(|(named, _)| *named == owner_name(owner))?;
        // A line that was cut off has no end.
        if !rest.is_empty() && !rest.ends_with('\n') {
            return None;
        }
        let entries = rest.split('\n').filter(|line| !line.is_empty()).map(|line| {
            let mut parts = line.splitn(4, ' ');
            let mode = i32::from_str_radix(parts.next()?, 8).ok()?;
            let id = Oid::from_str(parts.next()?).ok()?;
            let shown = parts.next()? == "1";
            Some((parts.next()?.to_owned(), Listed { id, mode, shown }))
        });
        Some(KeptListing {
            key: key.to_owned(),
            files: Self(entries.collect::<Option<_>>()?),
        })
    }
}

/// Lists the files of a tree in git's order, the folders one after the other: a hostile base may be nested deeper than the stack
/// of a thread allows.
fn walk(git: &git2::Repository, tree: &Tree<'_>, all: &mut Vec<(String, Listed)>) -> Result<(), ExecError> {
    let mut open = entries_of(tree, "")?;
    while let Some(entry) = open.pop() {
        if entry.is_folder {
            let below = git.find_tree(entry.id);
            let below = below.map_err(ExecError::git("read a folder of the base"))?;
            open.extend(entries_of(&below, &format!("{}/", entry.path))?);
            continue;
        }
        if let Err(refusal) = RepoPath::new(&entry.path) {
            return Err(refused(&entry.path, refusal.message));
        }
        let listed = Listed {
            id: entry.id,
            mode: entry.mode,
            shown: false,
        };
        all.push((entry.path, listed));
    }
    Ok(())
}

/// Entry of a tree by its whole path.
struct TreeEntry {
    path: String,
    id: Oid,
    mode: i32,
    is_folder: bool,
}

/// Returns the entries of a tree, the last one first.
fn entries_of(tree: &Tree<'_>, above: &str) -> Result<Vec<TreeEntry>, ExecError> {
    if above.len() > LONGEST_PATH {
        return Err(refused(above, "the path is too long".to_owned()));
    }
    let entries = tree.iter().rev();
    Ok(entries
        .map(|entry| TreeEntry {
            path: format!("{above}{}", String::from_utf8_lossy(entry.name_bytes())),
            id: entry.id(),
            mode: entry.filemode(),
            is_folder: entry.kind() == Some(ObjectType::Tree),
        })
        .collect())
}

fn refused(path: &str, why: String) -> ExecError {
    let bad = io::Error::new(io::ErrorKind::InvalidFilename, why);
    ExecError::write("copy", Path::new(path))(bad)
}
