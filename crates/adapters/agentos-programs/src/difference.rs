//! The difference between the copy as it was shown and as the program left it, as one diff.
//!
//! Owns: reading both trees from outside, after the program has ended. Never: follows a link, opens an entry by a path of
//! several parts, recurses, asks git what changed, or drops a change silently: a change that a diff cannot express is
//! written so that landing refuses it by name.
//!
//! Reading is safe even if a process of the program were still alive and replaced folders by links: every folder is opened
//! from the top of its tree without following any link (see `agentos-beneath`), and every file is measured and read through
//! one descriptor. Such a race can cause an error, but cannot bring in a file from outside of the tree.

mod text;
mod tree;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;

use agentos_beneath::{EntryFacts, EntryKind, MAX_DEPTH, OpenFolder, TreeError};
use agentos_landing::{Change, FileState};

use self::text::{expressed_states, file_state, format_refused};
use self::tree::{ComparedTree, same_content};
use crate::AgentError;

/// Maximum bytes of all files before and after; landing's own limits are far below.
const MAX_BYTES: u64 = 64 << 20;
/// Maximum bytes of all paths that are walked, which bounds their number as well.
const MAX_PATHS: u64 = 128 << 20;
/// Maximum number of special files that notes name one by one.
const MAX_NAMED: usize = 16;

/// The program's answer.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct CopyDifference {
    /// The diff; empty if nothing changed.
    pub(crate) text: String,
    /// Sentences about changes that were left out, one for each kind.
    pub(crate) notes: Vec<String>,
}

/// Content of a path on one side of the comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
enum PathContent {
    File(FileState),
    Link(String),
}

/// The way in which the program was shown the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CopyView {
    /// Through an overlay: its writes are in a folder of their own.
    Overlaid,
    /// A full copy, which contains changed and unchanged files.
    Copied,
}

/// Compares `upper` (what was written, or the full copy) with `lower` (what was shown). New files for which `ignored`
/// returns true are left out of the answer.
///
/// # Errors
/// [`AgentError::TooDeep`], [`AgentError::TooLarge`] and [`AgentError::TooMany`] beyond the bounds; if something cannot be
/// read.
pub(crate) fn compare_trees(
    lower: &Path,
    upper: &Path,
    shown: CopyView,
    ignored: &dyn Fn(&str) -> bool,
) -> Result<CopyDifference, AgentError> {
    let mut walk = TreeWalk {
        lower: ComparedTree::open(lower)?,
        upper: ComparedTree::open(upper)?,
        shown,
        ignored,
        sides: BTreeMap::new(),
        bytes: 0,
        path_bytes: 0,
        special: Vec::new(),
        more_special: 0,
        unnamed: 0,
        left_out: 0,
    };
    walk.read_upper()?;
    match shown {
        CopyView::Overlaid => {}
        CopyView::Copied => walk.read_missing()?,
    }
    Ok(walk.write_diff())
}

struct TreeWalk<'a> {
    lower: ComparedTree<'a>,
    upper: ComparedTree<'a>,
    shown: CopyView,
    ignored: &'a dyn Fn(&str) -> bool,
    sides: BTreeMap<String, (Option<PathContent>, Option<PathContent>)>,
    bytes: u64,
    path_bytes: u64,
    special: Vec<String>,
    more_special: usize,
    unnamed: usize,
    left_out: usize,
}

/// An entry of the upper tree, with the folder of the lower tree in which its counterpart would lie.
struct UpperEntry<'a> {
    folder: &'a OpenFolder,
    /// `None` if there is no such folder.
    lower: Option<&'a OpenFolder>,
    name: &'a OsStr,
    path: &'a str,
}

impl TreeWalk<'_> {
    /// Reads the upper tree, folder by folder.
    fn read_upper(&mut self) -> Result<(), AgentError> {
        // A list instead of recursion: the program decides how deep its folders are, and must not overflow our stack.
        let mut waiting = vec![String::new()];
        while let Some(above) = waiting.pop() {
            let folder = self.upper.open_folder(&above)?;
            let lower = self.lower.find_folder(&above)?;
            // The kernel marks a folder that replaces one of the lower tree as opaque. In a full copy only the program itself
            // can have set that mark, so it means nothing there.
            let is_replaced = self.shown == CopyView::Overlaid && folder.is_opaque();
            if is_replaced && lower.is_some() {
                self.delete_below(&above)?;
            }
            let first = waiting.len();
            for name in self.upper.list_names(&folder, &above)? {
                // The copy has a git directory of its own, which is no part of the repository's files.
                if above.is_empty() && name == ".git" {
                    continue;
                }
                let Some(text) = name.to_str() else {
                    self.unnamed += 1;
                    continue;
                };
                let path = join_path(&above, text);
                self.count_path(&path)?;
                let entry = UpperEntry {
                    folder: &folder,
                    lower: lower.as_ref(),
                    name: &name,
                    path: &path,
                };
                if self.read_entry(&entry)? {
                    waiting.push(path);
                }
            }
            // `pop` takes the last folder first; reversed, the notes keep the order of the names.
            waiting.get_mut(first..).unwrap_or_default().reverse();
        }
        Ok(())
    }

    /// Reads one entry of the upper tree. Returns true if it is a folder that has to be read.
    fn read_entry(&mut self, entry: &UpperEntry<'_>) -> Result<bool, AgentError> {
        let path = entry.path;
        let gone = || AgentError::unreadable_at(Path::new(path))(std::io::ErrorKind::NotFound.into());
        let found = self
            .upper
            .inspect_entry(entry.folder, entry.name, path)?
            .ok_or_else(gone)?;
        match found.kind {
            EntryKind::Folder => return self.begin_folder(entry),
            EntryKind::Whiteout => self.delete_path(entry.lower, entry.name, path)?,
            EntryKind::File if self.is_as_it_was(entry, &found)? => {}
            EntryKind::File | EntryKind::Link => self.record_content(entry, found.kind)?,
            EntryKind::Special if self.special.len() < MAX_NAMED => self.special.push(path.to_owned()),
            EntryKind::Special => self.more_special += 1,
        }
        Ok(false)
    }

    fn begin_folder(&mut self, entry: &UpperEntry<'_>) -> Result<bool, AgentError> {
        let path = entry.path;
        let lower = self.find_lower(entry.lower, entry.name, path)?;
        if lower.is_none_or(|lower| lower.kind != EntryKind::Folder) {
            // As in git, an ignored folder is not entered: `target` or `node_modules` may hold a million files.
            if (self.ignored)(&format!("{path}/")) {
                self.left_out += 1;
                return Ok(false);
            }
            self.delete_path(entry.lower, entry.name, path)?;
        }
        if path.split('/').count() > MAX_DEPTH {
            return Err(AgentError::TooDeep(MAX_DEPTH));
        }
        Ok(true)
    }

    /// Records the new content of a path, a file or a link. A new path that is ignored is not read.
    fn record_content(&mut self, entry: &UpperEntry<'_>, kind: EntryKind) -> Result<(), AgentError> {
        let (folder, name, path) = (entry.folder, entry.name, entry.path);
        let was = self.find_lower(entry.lower, name, path)?.map(|was| was.kind);
        self.delete_path(entry.lower, name, path)?;
        if !matches!(was, Some(EntryKind::File | EntryKind::Link)) && (self.ignored)(path) {
            self.left_out += 1;
            return Ok(());
        }
        let new = match kind {
            EntryKind::Link => read_link(&self.upper, folder, name, path)?,
            _ => read_file(&self.upper, folder, name, path, &mut self.bytes)?,
        };
        self.sides.entry(path.to_owned()).or_insert((None, None)).1 = Some(new);
        Ok(())
    }

    /// Records everything that was shown at and below a path as deleted.
    fn delete_path(
        &mut self,
        lower: Option<&OpenFolder>,
        name: &OsStr,
        path: &str,
    ) -> Result<(), AgentError> {
        match (lower, self.find_lower(lower, name, path)?) {
            (Some(_), Some(found)) if found.kind == EntryKind::Folder => self.delete_below(path),
            (Some(folder), Some(found)) => self.delete_one(folder, name, path, &found),
            _ => Ok(()),
        }
    }

    /// Records every file of a folder that was shown as deleted.
    fn delete_below(&mut self, path: &str) -> Result<(), AgentError> {
        let mut waiting = vec![path.to_owned()];
        while let Some(above) = waiting.pop() {
            let folder = self.lower.open_folder(&above)?;
            for name in self.lower.list_names(&folder, &above)? {
                // The copy was made from git's own names, all of which are text.
                let path = join_path(&above, &name.to_string_lossy());
                match self.lower.inspect_entry(&folder, &name, &path)? {
                    None => {}
                    Some(found) if found.kind == EntryKind::Folder => waiting.push(path),
                    Some(found) => self.delete_one(&folder, &name, &path, &found)?,
                }
            }
        }
        Ok(())
    }

    fn delete_one(
        &mut self,
        folder: &OpenFolder,
        name: &OsStr,
        path: &str,
        found: &EntryFacts,
    ) -> Result<(), AgentError> {
        if self.sides.contains_key(path) {
            return Ok(());
        }
        let old = match found.kind {
            EntryKind::File => Some(read_file(&self.lower, folder, name, path, &mut self.bytes)?),
            EntryKind::Link => Some(read_link(&self.lower, folder, name, path)?),
            EntryKind::Folder | EntryKind::Whiteout | EntryKind::Special => None,
        };
        self.sides.insert(path.to_owned(), (old, None));
        Ok(())
    }

    /// Records files that were shown and are missing from the full copy as deleted.
    fn read_missing(&mut self) -> Result<(), AgentError> {
        let mut waiting = vec![String::new()];
        while let Some(above) = waiting.pop() {
            let folder = self.lower.open_folder(&above)?;
            let upper = self.upper.find_folder(&above)?;
            for name in self.lower.list_names(&folder, &above)? {
                let path = join_path(&above, &name.to_string_lossy());
                let left = match &upper {
                    Some(upper) => self.upper.inspect_entry(upper, &name, &path)?,
                    None => None,
                };
                let was = self.lower.inspect_entry(&folder, &name, &path)?;
                match (left, was) {
                    (None, _) => self.delete_path(Some(&folder), &name, &path)?,
                    (Some(_), Some(was)) if was.kind == EntryKind::Folder => waiting.push(path),
                    (Some(_), _) => {}
                }
            }
        }
        Ok(())
    }

    /// Returns true if a file of a full copy is unchanged.
    fn is_as_it_was(&self, entry: &UpperEntry<'_>, found: &EntryFacts) -> Result<bool, AgentError> {
        // In an overlay, every file of the upper tree was written to.
        let (CopyView::Copied, Some(lower)) = (self.shown, entry.lower) else {
            return Ok(false);
        };
        let Some(was) = self.lower.inspect_entry(lower, entry.name, entry.path)? else {
            return Ok(false);
        };
        let is_alike = was.kind == EntryKind::File
            && was.is_executable() == found.is_executable()
            && was.length == found.length;
        Ok(is_alike
            && same_content(lower, entry.folder, entry.name).map_err(self.upper.error_at(entry.path))?)
    }

    /// Returns the facts about the entry that was shown at a path. `None` if there was none.
    fn find_lower(
        &self,
        folder: Option<&OpenFolder>,
        name: &OsStr,
        path: &str,
    ) -> Result<Option<EntryFacts>, AgentError> {
        folder.map_or(Ok(None), |folder| self.lower.inspect_entry(folder, name, path))
    }

    fn count_path(&mut self, path: &str) -> Result<(), AgentError> {
        self.path_bytes = self.path_bytes.saturating_add(path.len() as u64);
        if self.path_bytes > MAX_PATHS {
            return Err(AgentError::TooMany(MAX_PATHS));
        }
        Ok(())
    }

    fn write_diff(mut self) -> CopyDifference {
        let mut states = Vec::new();
        let mut rest = String::new();
        for (path, (old, new)) in std::mem::take(&mut self.sides) {
            // An overlay copies a file up on the first open for writing, even if the content stays the same.
            if old == new {
                continue;
            }
            match expressed_states(&path, old.as_ref(), new.as_ref()) {
                Some(state) => states.push(state),
                None => rest.push_str(&format_refused(&path, old.as_ref(), new.as_ref())),
            }
        }
        let mut text = Change::new(states)
            .ok()
            .and_then(|change| String::from_utf8(change.canonical_diff().to_vec()).ok())
            .unwrap_or_default();
        text.push_str(&rest);
        CopyDifference {
            text,
            notes: self.list_notes(),
        }
    }

    /// Words a note for each kind of change that is not part of the answer.
    fn list_notes(&self) -> Vec<String> {
        let special = self.special.iter();
        let mut notes: Vec<String> = special
            .map(|path| format!("`{path}` is neither a file, a folder nor a link, and was left out"))
            .collect();
        if self.more_special > 0 {
            notes.push(format!("{} more such entries were left out", self.more_special));
        }
        match self.unnamed {
            0 => {}
            1 => notes.push("a file was left out because its name is not UTF-8".to_owned()),
            many => notes.push(format!(
                "{many} files were left out because their names are not UTF-8"
            )),
        }
        if self.left_out > 0 {
            notes.push(format!(
                "{} new files or folders were left out because the repository ignores them",
                self.left_out
            ));
        }
        notes
    }
}

/// Reads a file and adds its length to `bytes`, the length of all files read so far.
///
/// # Errors
/// [`AgentError::TooLarge`] if `bytes` would exceed the limit.
fn read_file(
    tree: &ComparedTree<'_>,
    folder: &OpenFolder,
    name: &OsStr,
    path: &str,
    bytes: &mut u64,
) -> Result<PathContent, AgentError> {
    match folder.read_file(name, MAX_BYTES.saturating_sub(*bytes)) {
        Ok(read) => {
            *bytes = bytes.saturating_add(read.bytes.len() as u64);
            Ok(PathContent::File(file_state(
                read.bytes,
                read.facts.is_executable(),
            )))
        }
        Err(TreeError::TooLarge(_)) => Err(AgentError::TooLarge(MAX_BYTES)),
        Err(error) => Err(tree.error_at(path)(error)),
    }
}

/// Reads the target of a link as text.
fn read_link(
    tree: &ComparedTree<'_>,
    folder: &OpenFolder,
    name: &OsStr,
    path: &str,
) -> Result<PathContent, AgentError> {
    let to = folder.read_link(name).map_err(tree.error_at(path))?;
    Ok(PathContent::Link(to.to_string_lossy().into_owned()))
}

fn join_path(above: &str, name: &str) -> String {
    if above.is_empty() {
        name.to_owned()
    } else {
        format!("{above}/{name}")
    }
}

#[cfg(test)]
mod tests;
