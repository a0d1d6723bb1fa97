//! Lists the files of a base, and those of them that a copy shows.
//!
//! Owns: reading them from a tree, and the file in which a copy keeps the list. Never: relies on that file being complete: a
//! list that cannot be read counts as missing.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::Path;

use agentos_landing::{Refusal, RefusalCode, RepoPath, check_view_path};
use git2::{ObjectType, Oid, Tree};

use super::objects::{GITLINK, LINK};
use super::{ShownFiles, owner_name, write_new};
use crate::base::has_promisor;
use crate::{ExecError, RepoError};

/// Name of the file in a copy.
pub(super) const FILE: &str = "listing";

/// Maximum bytes of a path; no system accepts a longer one (`PATH_MAX` of Linux).
const LONGEST_PATH: usize = 4096;

/// Id and mode of a file, and whether it is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ListedEntry {
    pub(super) id: Oid,
    pub(super) mode: i32,
    pub(super) shown: bool,
}

/// Listing that a copy keeps.
pub(super) struct KeptListing {
    /// Key of the decision about shown files.
    pub(super) key: String,
    pub(super) files: FileListing,
}

/// Files of a base, with their paths.
#[derive(Debug, Default)]
pub(super) struct FileListing(Vec<(String, ListedEntry)>);

impl FileListing {
    /// Lists a tree. For a file that is the same in `known`, the decision is taken from there.
    ///
    /// # Errors
    /// When the tree cannot be read, or contains a name that must not be written and that git itself never creates.
    pub(super) fn list_tree(
        git: &git2::Repository,
        tree: &Tree<'_>,
        shown: &ShownFiles<'_>,
        known: &HashMap<&str, ListedEntry>,
    ) -> Result<Self, ExecError> {
        let mut all = Vec::new();
        walk_tree(git, tree, &mut all)?;
        check_fetched(git, tree, &all)?;
        let decide = |(path, mut listed): (String, ListedEntry)| {
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

    /// Lists the files that are shown.
    pub(super) fn shown_files(&self) -> impl Iterator<Item = (&str, ListedEntry)> {
        let all = self.0.iter().filter(|(_, listed)| listed.shown);
        all.map(|(path, listed)| (path.as_str(), *listed))
    }

    /// Lists the paths of the files that are not shown.
    pub(super) fn withheld_paths(&self) -> impl Iterator<Item = &str> {
        let all = self.0.iter().filter(|(_, listed)| !listed.shown);
        all.map(|(path, _)| path.as_str())
    }

    /// Maps the path of each file to its entry.
    pub(super) fn by_path(&self) -> HashMap<&str, ListedEntry> {
        let all = self.0.iter();
        all.map(|(path, listed)| (path.as_str(), *listed)).collect()
    }

    /// Writes the listing to a copy, with the key of the decision and the owner of the files.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn write(&self, copy: &Path, key: &str, owner: Option<u32>) -> Result<(), ExecError> {
        let mut text = format!("{key}\n{}\n", owner_name(owner));
        for (path, listed) in &self.0 {
            let shown = u8::from(listed.shown);
            text.push_str(&format!("{:o} {} {shown} {path}\n", listed.mode, listed.id));
        }
        write_new(&copy.join(FILE), text.as_bytes())
    }

    /// Reads the listing of a copy that belongs to `owner`. `None` if it cannot be read, or belongs to another owner.
    pub(super) fn read(copy: &Path, owner: Option<u32>) -> Option<KeptListing> {
        let text = fs::read_to_string(copy.join(FILE)).ok()?;
        let (key, rest) = text.split_once('\n')?;
        let (_, rest) = rest
            .split_once('\n')
            .filter(|(named, _)| *named == owner_name(owner))?;
        // The last line of a file that was cut off has no line feed.
        if !rest.is_empty() && !rest.ends_with('\n') {
            return None;
        }
        let entries = rest.split('\n').filter(|line| !line.is_empty()).map(|line| {
            // The path is last, since it may contain blanks. It contains no line feed: `check_view_path` refuses control characters.
            let mut parts = line.splitn(4, ' ');
            let mode = i32::from_str_radix(parts.next()?, 8).ok()?;
            let id = Oid::from_str(parts.next()?).ok()?;
            let shown = parts.next()? == "1";
            Some((parts.next()?.to_owned(), ListedEntry { id, mode, shown }))
        });
        Some(KeptListing {
            key: key.to_owned(),
            files: Self(entries.collect::<Option<_>>()?),
        })
    }
}

/// Checks that a partial clone has fetched every file. A file that is missing would be shown as deleted, and the policy would
/// decide about an empty content.
///
/// # Errors
/// [`RepoError::NotFetched`] if one has not been fetched.
fn check_fetched(
    git: &git2::Repository,
    tree: &Tree<'_>,
    all: &[(String, ListedEntry)],
) -> Result<(), ExecError> {
    if !has_promisor(git) {
        return Ok(());
    }
    let odb = git
        .odb()
        .map_err(ExecError::git("open the repository's objects"))?;
    let is_missing = |listed: &ListedEntry| listed.mode != GITLINK && !odb.exists(listed.id);
    let mut missing = all.iter().filter(|(_, listed)| is_missing(listed));
    let Some((path, _)) = missing.next() else {
        return Ok(());
    };
    let error = RepoError::NotFetched {
        path: path.clone(),
        more: missing.count(),
        tree: tree.id().to_string(),
    };
    Err(error.into())
}

/// Lists the files of a tree in git's order.
///
/// # Errors
/// When the tree cannot be read or contains a name that must not be written.
fn walk_tree(
    git: &git2::Repository,
    tree: &Tree<'_>,
    all: &mut Vec<(String, ListedEntry)>,
) -> Result<(), ExecError> {
    // A list of open entries and no recursion: a hostile base may be nested deeper than the stack of a thread allows.
    let mut open = entries_of(tree, "")?;
    while let Some(entry) = open.pop() {
        if entry.is_folder {
            let below = git.find_tree(entry.id);
            let below = below.map_err(ExecError::git("read a folder of the base"))?;
            open.extend(entries_of(&below, &format!("{}/", entry.path))?);
            continue;
        }
        // The rules of a change would be too strict: a copy is not written to the repository, and with a name that it must not have,
        // no check, hook or tool could run.
        if let Err(refusal) = check_view_path(&entry.path) {
            return Err(copy_refused(&entry.path, refusal.message));
        }
        // Git checks out no such link (`verify_path` in read-cache.c): it would read addresses from wherever the link leads.
        let names_modules = |refusal: Refusal| refusal.code == RefusalCode::Submodule;
        if entry.mode == LINK && RepoPath::new(&entry.path).is_err_and(names_modules) {
            return Err(copy_refused(
                &entry.path,
                "a link is no list of submodules".to_owned(),
            ));
        }
        let listed = ListedEntry {
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

/// Lists the entries of a tree, the last one first.
///
/// # Errors
/// When the path is too long.
fn entries_of(tree: &Tree<'_>, above: &str) -> Result<Vec<TreeEntry>, ExecError> {
    if above.len() > LONGEST_PATH {
        return Err(copy_refused(above, "the path is too long".to_owned()));
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

fn copy_refused(path: &str, why: String) -> ExecError {
    let bad = io::Error::new(io::ErrorKind::InvalidFilename, why);
    ExecError::write("copy", Path::new(path))(bad)
}
