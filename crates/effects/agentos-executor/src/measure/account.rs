//! Explains differences between two measurements by landings of other runs.
//!
//! Owns: comparing every difference with the receipts of other runs. Never: trusts a receipt about the content of a file: the
//! file is read and hashed again.
//!
//! Two runs may work on one working tree at once. While the tool of one works, the other may land, and then the repository
//! has changed although no tool wrote to it. The receipt of a landing names the ref that it moved, from which commit to
//! which, and the content that it left at each path. A difference is accounted for in these cases only:
//!
//! | difference | accounted for if |
//! |---|---|
//! | a ref | receipts lead from its target before to its target now, each from the one before it |
//! | HEAD | it names the same branch, which is accounted for |
//! | an entry of the index | a receipt names its path, and the entry is what the last such receipt left |
//! | a file of the working tree | a receipt names its path; each path that a receipt names has the content that the last such receipt left |
//! | a folder of the working tree | something in it is accounted for |
//! | configuration, hooks, attributes | never |
//!
//! If one difference is not accounted for, none is: the tool counts as having written outside its copy.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::Bound;
use std::path::Path;

use agentos_index::{IndexEntry, IndexFile};
use agentos_landing::FileMode;

use super::{Measurement, SeenEntry};
use crate::blob_id::is_blob;
use crate::preflight::{link_is, look_at, mode_fits};
use crate::splice::mode_bits;
use crate::{ExecError, FileId, Receipt, Repository};

/// Content that the last of several landings left at each path. `None` for a path that it deleted.
type LastContent<'a> = BTreeMap<&'a str, Option<&'a FileId>>;

impl Repository {
    /// Measures while no landing is under way, so that a measurement contains a landing completely or not at all.
    ///
    /// # Errors
    /// When the lock of landings cannot be taken, or git's files cannot be read.
    pub fn measure_settled(&self) -> Result<Measurement, ExecError> {
        let _lock = self.lock_landings()?;
        Ok(self.measure()?)
    }

    /// Returns whether these landings, in the order in which they were made, explain every difference between two
    /// measurements.
    #[must_use]
    pub fn accounts_for(&self, before: &Measurement, after: &Measurement, landed: &[Receipt]) -> bool {
        // No landing writes configuration or hooks.
        if before.state.git_files != after.state.git_files {
            return false;
        }
        let contents = last_contents(landed);
        refs_follow(before, after, landed)
            && head_follows(before, after)
            && index_follows(before, after, &contents)
            && self.files_follow(before, after, &contents)
    }

    fn files_follow(&self, before: &Measurement, after: &Measurement, contents: &LastContent<'_>) -> bool {
        let Some(root) = self.work_dir() else {
            return true;
        };
        // A file that a landing created and that was deleted since is in neither measurement. So every path of the landings is
        // looked at, not only those that differ.
        let mut stated = contents.iter();
        let changed = changed_paths(&before.seen, &after.seen);
        let mut changed = changed.into_iter().map(std::str::from_utf8);
        stated.all(|(path, content)| holds_content(self, &root.join(path), *content))
            && changed
                .all(|path| path.is_ok_and(|path| contents.contains_key(path) || is_above(path, contents)))
    }
}

/// Collects the content that the landings left at each path of the working tree. A path that a landing left alone contains
/// somebody's work and is not explained by it.
fn last_contents(landed: &[Receipt]) -> LastContent<'_> {
    let mut contents = LastContent::new();
    for receipt in landed.iter().filter(|receipt| receipt.work_tree_updated) {
        let others = receipt.kept.iter().chain(&receipt.merged);
        let kept: BTreeSet<&str> = others.map(String::as_str).collect();
        for file in &receipt.files {
            let path = file.path.as_str();
            if kept.contains(path) {
                contents.remove(path);
            } else {
                contents.insert(path, file.new.as_ref());
            }
        }
    }
    contents
}

/// Returns whether receipts lead from each ref's earlier target to its later one.
fn refs_follow(before: &Measurement, after: &Measurement, landed: &[Receipt]) -> bool {
    let (old, new) = (by_name(&before.refs), by_name(&after.refs));
    let names: BTreeSet<&str> = old.keys().chain(new.keys()).copied().collect();
    names.into_iter().all(|name| {
        let (old, new) = (old.get(name), new.get(name));
        if old == new {
            return true;
        }
        // A line also has the name to which a symbolic ref points. No landing makes such a ref, so with one it never fits.
        let (old, Some(new)) = (old.map(|old| old.trim_end()), new.map(|new| new.trim_end())) else {
            return false;
        };
        let mut at = old;
        for receipt in landed.iter().filter(|receipt| receipt.refname == name) {
            if let Some(commit) = &receipt.commit
                && at.is_none_or(|at| at == receipt.parent)
            {
                at = Some(commit);
            }
        }
        at == Some(new)
    })
}

/// Maps each ref's name to the rest of its line.
fn by_name(refs: &[String]) -> BTreeMap<&str, &str> {
    refs.iter().filter_map(|line| line.split_once(' ')).collect()
}

/// Returns whether HEAD names the same branch as before. The commit of that branch is checked with the refs.
fn head_follows(before: &Measurement, after: &Measurement) -> bool {
    let (old, new) = (&before.state.head, &after.state.head);
    let branch = |head: &str| {
        let (name, _) = head.split_once(' ')?;
        name.starts_with("refs/").then(|| name.to_owned())
    };
    old == new || (branch(old).is_some() && branch(old) == branch(new))
}

fn index_follows(before: &Measurement, after: &Measurement, contents: &LastContent<'_>) -> bool {
    if before.index == after.index {
        return true;
    }
    let parsed = |index: &Option<Vec<u8>>| match index {
        Some(bytes) => IndexFile::parse(bytes.clone()).ok(),
        None => Some(IndexFile::new()),
    };
    let (Some(old), Some(new)) = (parsed(&before.index), parsed(&after.index)) else {
        return false;
    };
    let (old, new) = (entry_contents(&old), entry_contents(&new));
    let keys: BTreeSet<&(Vec<u8>, u16)> = old.keys().chain(new.keys()).collect();
    keys.into_iter().all(|key| {
        let (old, new) = (old.get(key), new.get(key));
        if old == new {
            return true;
        }
        let (path, stage) = key;
        let content = std::str::from_utf8(path).ok().and_then(|path| contents.get(path));
        match (stage, content, new) {
            (0, Some(Some(id)), Some((oid, mode, flags))) => {
                *oid == id.oid
                    && i64::from(*mode) == i64::from(mode_bits(id.mode))
                    && *flags == (false, false)
            }
            (0, Some(None), None) => true,
            (_, _, _) => false,
        }
    })
}

/// Content of an index entry without its stat data: id, mode, and the flags skip-worktree and intent-to-add.
type EntryContent = (String, u32, (bool, bool));

fn entry_contents(index: &IndexFile) -> BTreeMap<(Vec<u8>, u16), EntryContent> {
    let stated = |entry: IndexEntry<'_>| {
        let flags = (entry.is_skip_worktree(), entry.is_intent_to_add());
        let key = (entry.path().to_vec(), entry.stage());
        (key, (entry.blob_id(), entry.mode(), flags))
    };
    index.list_entries().map(stated).collect()
}

/// Lists the paths that differ.
fn changed_paths<'a>(before: &'a [SeenEntry], after: &'a [SeenEntry]) -> Vec<&'a [u8]> {
    let by_path = |seen: &'a [SeenEntry]| -> BTreeMap<&'a [u8], &'a SeenEntry> {
        seen.iter().map(|seen| (seen.path.as_slice(), seen)).collect()
    };
    let (old, new) = (by_path(before), by_path(after));
    let paths: BTreeSet<&[u8]> = old.keys().chain(new.keys()).copied().collect();
    let differs = |path: &&[u8]| old.get(*path) != new.get(*path);
    paths.into_iter().filter(differs).collect()
}

/// Returns whether a path of the landings lies below this one.
fn is_above(folder: &str, contents: &LastContent<'_>) -> bool {
    let prefix = format!("{folder}/");
    let mut below = contents.range::<str, _>((Bound::Included(prefix.as_str()), Bound::Unbounded));
    below.next().is_some_and(|(path, _)| path.starts_with(&prefix))
}

/// Returns whether a path has exactly this content. Lines may end in CRLF, as a checkout may write them. Returns false if
/// the path cannot be read.
fn holds_content(repository: &Repository, place: &Path, content: Option<&FileId>) -> bool {
    let Ok(found) = look_at(place) else {
        return false;
    };
    let (found, id) = match (found, content) {
        (None, None) => return true,
        (None, Some(_)) | (Some(_), None) => return false,
        (Some(found), Some(id)) => (found, id),
    };
    if id.mode == FileMode::Symlink {
        return link_is(place, &id.oid).unwrap_or(false);
    }
    if !found.is_file() || !mode_fits(repository, &found, id.mode) {
        return false;
    }
    let Ok(bytes) = fs::read(place) else {
        return false;
    };
    // Which line ends a checkout writes depends on settings and attributes at the time of the landing. Both are accepted here.
    is_content(&bytes, id) || is_content(&without_returns(&bytes), id)
}

fn is_content(content: &[u8], id: &FileId) -> bool {
    is_blob(content, &id.oid).unwrap_or(false)
}

fn without_returns(bytes: &[u8]) -> Vec<u8> {
    let mut kept = Vec::with_capacity(bytes.len());
    let mut rest = bytes.iter().peekable();
    while let Some(byte) = rest.next() {
        if *byte != b'\r' || rest.peek() != Some(&&b'\n') {
            kept.push(*byte);
        }
    }
    kept
}
