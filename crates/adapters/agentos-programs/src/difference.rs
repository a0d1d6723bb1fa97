//! The difference between the copy as it was shown and as the program left it, as one diff.
//!
//! Owns: reading both trees from outside, after the program has ended. Never: follows a link, takes a step by path name,
//! recurses, asks git what changed, or drops a change silently: what a diff cannot say is written so that landing
//! refuses it by name.
//!
//! Reading is safe even if something of the program's were still there and put links in the place of folders: every
//! folder is opened from the top of its tree without following any (see `agentos-beneath`), and every file is measured
//! and read through one descriptor. What then comes out may be an error, never a file from elsewhere.

mod text;
mod tree;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;

use agentos_beneath::{EntryFacts, EntryKind, MAX_DEPTH, OpenFolder, TreeError};
use agentos_landing::{Change, FileState};

use self::text::{expressible, inexpressible, state};
use self::tree::{Tree, same_content};
use crate::AgentError;

/// Bytes of all files before and after; landing's own limits are far below.
const MOST: u64 = 64 << 20;
/// Bytes of all paths that are walked, which bounds their number as well.
const MAX_PATHS: u64 = 128 << 20;
/// Entries that are no files and are named one by one.
const NAMED: usize = 16;

/// The program's answer.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Difference {
    /// The diff; empty if nothing changed.
    pub(crate) text: String,
    /// What is not in it, and why.
    pub(crate) notes: Vec<String>,
}

/// The content of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Side {
    File(FileState),
    Link(String),
}

/// How the program saw the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shown {
    /// Through an overlay: what was written lies apart.
    Overlaid,
    /// As a copy of all of them.
    Copied,
}

/// Compares `upper` (what was written, or the whole copy) with `lower` (what was shown). New files that `ignored` names
/// are no answer.
///
/// # Errors
/// [`AgentError::TooDeep`], [`AgentError::TooLarge`] and [`AgentError::TooMany`] beyond the bounds; if something cannot be
/// read.
pub(crate) fn difference(
    lower: &Path,
    upper: &Path,
    shown: Shown,
    ignored: &dyn Fn(&str) -> bool,
) -> Result<Difference, AgentError> {
    let mut walk = Walk {
        lower: Tree::open(lower)?,
        upper: Tree::open(upper)?,
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
        Shown::Overlaid => {}
        Shown::Copied => walk.read_missing()?,
    }
    Ok(walk.finish())
}

struct Walk<'a> {
    lower: Tree<'a>,
    upper: Tree<'a>,
    shown: Shown,
    ignored: &'a dyn Fn(&str) -> bool,
    sides: BTreeMap<String, (Option<Side>, Option<Side>)>,
    bytes: u64,
    path_bytes: u64,
    special: Vec<String>,
    more_special: usize,
    unnamed: usize,
    left_out: usize,
}

/// An entry of the upper tree, with the folder of the lower tree in which its counterpart would lie.
struct Entry<'a> {
    folder: &'a OpenFolder,
    /// `None` if there is no such folder.
    lower: Option<&'a OpenFolder>,
    name: &'a OsStr,
    path: &'a str,
}

impl Walk<'_> {
    /// Reads the upper tree, folder by folder.
    fn read_upper(&mut self) -> Result<(), AgentError> {
        let mut waiting = vec![String::new()];
        while let Some(above) = waiting.pop() {
            let folder = self.upper.folder(&above)?;
            let lower = self.lower.find_folder(&above)?;
            // A whole copy has no such marks but those that the program made.
            let is_replaced = self.shown == Shown::Overlaid && folder.is_opaque();
            if is_replaced && lower.is_some() {
                self.take_away_below(&above)?;
            }
            let first = waiting.len();
            for name in self.upper.names(&folder, &above)? {
                // The copy's own git directory is not the repository's, and no answer.
                if above.is_empty() && name == ".git" {
                    continue;
                }
                let Some(text) = name.to_str() else {
                    self.unnamed += 1;
                    continue;
                };
                let path = join(&above, text);
                self.count_path(&path)?;
                let entry = Entry {
                    folder: &folder,
                    lower: lower.as_ref(),
                    name: &name,
                    path: &path,
                };
                if self.read_entry(&entry)? {
                    waiting.push(path);
                }
            }
            // The last one is next: the order of the notes is that of the names.
            waiting.get_mut(first..).unwrap_or_default().reverse();
        }
        Ok(())
    }

    /// Reads one entry of the upper tree. Returns true if it is a folder that has to be read.
    fn read_entry(&mut self, entry: &Entry<'_>) -> Result<bool, AgentError> {
        let path = entry.path;
        let gone = || AgentError::unreadable(Path::new(path))(std::io::ErrorKind::NotFound.into());
        let found = self
            .upper
            .inspect(entry.folder, entry.name, path)?
            .ok_or_else(gone)?;
        match found.kind {
            EntryKind::Folder => return self.begin_folder(entry),
            EntryKind::Whiteout => self.take_away(entry.lower, entry.name, path)?,
            EntryKind::File if self.is_as_it_was(entry, &found)? => {}
            EntryKind::File | EntryKind::Link => self.put(entry, found.kind)?,
            EntryKind::Special if self.special.len() < NAMED => self.special.push(path.to_owned()),
            EntryKind::Special => self.more_special += 1,
        }
        Ok(false)
    }

    fn begin_folder(&mut self, entry: &Entry<'_>) -> Result<bool, AgentError> {
        let path = entry.path;
        let lower = self.find_lower(entry.lower, entry.name, path)?;
        if lower.is_none_or(|lower| lower.kind != EntryKind::Folder) {
            if (self.ignored)(&format!("{path}/")) {
                self.left_out += 1;
                return Ok(false);
            }
            self.take_away(entry.lower, entry.name, path)?;
        }
        if path.split('/').count() > MAX_DEPTH {
            return Err(AgentError::TooDeep(MAX_DEPTH));
        }
        Ok(true)
    }

    /// Records what is at a path now, a file or a link. A new one that is ignored is not even read.
    fn put(&mut self, entry: &Entry<'_>, kind: EntryKind) -> Result<(), AgentError> {
        let (folder, name, path) = (entry.folder, entry.name, entry.path);
        let was = self.find_lower(entry.lower, name, path)?.map(|was| was.kind);
        self.take_away(entry.lower, name, path)?;
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

    /// Records that everything that was shown at and below a path is gone, until something is put there.
    fn take_away(&mut self, lower: Option<&OpenFolder>, name: &OsStr, path: &str) -> Result<(), AgentError> {
        match (lower, self.find_lower(lower, name, path)?) {
            (Some(_), Some(found)) if found.kind == EntryKind::Folder => self.take_away_below(path),
            (Some(folder), Some(found)) => self.take_away_one(folder, name, path, &found),
            _ => Ok(()),
        }
    }

    /// Records that everything in a folder that was shown is gone.
    fn take_away_below(&mut self, path: &str) -> Result<(), AgentError> {
        let mut waiting = vec![path.to_owned()];
        while let Some(above) = waiting.pop() {
            let folder = self.lower.folder(&above)?;
            for name in self.lower.names(&folder, &above)? {
                // The copy was made from git's own names, all of which are text.
                let path = join(&above, &name.to_string_lossy());
                match self.lower.inspect(&folder, &name, &path)? {
                    None => {}
                    Some(found) if found.kind == EntryKind::Folder => waiting.push(path),
                    Some(found) => self.take_away_one(&folder, &name, &path, &found)?,
                }
            }
        }
        Ok(())
    }

    fn take_away_one(
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

    /// Reads what was shown in a folder and is not in the whole copy any more.
    fn read_missing(&mut self) -> Result<(), AgentError> {
        let mut waiting = vec![String::new()];
        while let Some(above) = waiting.pop() {
            let folder = self.lower.folder(&above)?;
            let upper = self.upper.find_folder(&above)?;
            for name in self.lower.names(&folder, &above)? {
                let path = join(&above, &name.to_string_lossy());
                let left = match &upper {
                    Some(upper) => self.upper.inspect(upper, &name, &path)?,
                    None => None,
                };
                let was = self.lower.inspect(&folder, &name, &path)?;
                match (left, was) {
                    (None, _) => self.take_away(Some(&folder), &name, &path)?,
                    (Some(_), Some(was)) if was.kind == EntryKind::Folder => waiting.push(path),
                    (Some(_), _) => {}
                }
            }
        }
        Ok(())
    }

    /// Returns true if a file of a whole copy is what was shown.
    fn is_as_it_was(&self, entry: &Entry<'_>, found: &EntryFacts) -> Result<bool, AgentError> {
        let (Shown::Copied, Some(lower)) = (self.shown, entry.lower) else {
            return Ok(false);
        };
        let Some(was) = self.lower.inspect(lower, entry.name, entry.path)? else {
            return Ok(false);
        };
        let is_alike = was.kind == EntryKind::File
            && was.is_executable() == found.is_executable()
            && was.length == found.length;
        Ok(is_alike
            && same_content(lower, entry.folder, entry.name).map_err(self.upper.failed(entry.path))?)
    }

    /// Returns the facts about what was shown at a path. `None` if nothing was.
    fn find_lower(
        &self,
        folder: Option<&OpenFolder>,
        name: &OsStr,
        path: &str,
    ) -> Result<Option<EntryFacts>, AgentError> {
        folder.map_or(Ok(None), |folder| self.lower.inspect(folder, name, path))
    }

    fn count_path(&mut self, path: &str) -> Result<(), AgentError> {
        self.path_bytes = self.path_bytes.saturating_add(path.len() as u64);
        if self.path_bytes > MAX_PATHS {
            return Err(AgentError::TooMany(MAX_PATHS));
        }
        Ok(())
    }

    fn finish(mut self) -> Difference {
        let mut states = Vec::new();
        let mut rest = String::new();
        for (path, (old, new)) in std::mem::take(&mut self.sides) {
            if old == new {
                continue;
            }
            match expressible(&path, old.as_ref(), new.as_ref()) {
                Some(state) => states.push(state),
                None => rest.push_str(&inexpressible(&path, old.as_ref(), new.as_ref())),
            }
        }
        let mut text = Change::new(states)
            .ok()
            .and_then(|change| String::from_utf8(change.canonical_diff().to_vec()).ok())
            .unwrap_or_default();
        text.push_str(&rest);
        Difference {
            text,
            notes: self.notes(),
        }
    }

    /// Words what is not part of the answer.
    fn notes(&self) -> Vec<String> {
        let special = self.special.iter();
        let mut notes: Vec<String> = special
            .map(|path| format!("`{path}` is no file and was left out"))
            .collect();
        if self.more_special > 0 {
            notes.push(format!(
                "{} more are no files and were left out",
                self.more_special
            ));
        }
        match self.unnamed {
            0 => {}
            1 => notes.push("a file whose name is not UTF-8 was left out".to_owned()),
            many => notes.push(format!("{many} files whose names are not UTF-8 were left out")),
        }
        if self.left_out > 0 {
            notes.push(format!(
                "{} new files or folders that the repository ignores are not part of the answer",
                self.left_out
            ));
        }
        notes
    }
}

/// Reads a file, as long as all of them together, which `bytes` counts, stay below the limit.
fn read_file(
    tree: &Tree<'_>,
    folder: &OpenFolder,
    name: &OsStr,
    path: &str,
    bytes: &mut u64,
) -> Result<Side, AgentError> {
    match folder.read_file(name, MOST.saturating_sub(*bytes)) {
        Ok(read) => {
            *bytes = bytes.saturating_add(read.bytes.len() as u64);
            Ok(Side::File(state(read.bytes, read.facts.is_executable())))
        }
        Err(TreeError::TooLarge(_)) => Err(AgentError::TooLarge(MOST)),
        Err(error) => Err(tree.failed(path)(error)),
    }
}

/// Reads where a link leads, as text.
fn read_link(tree: &Tree<'_>, folder: &OpenFolder, name: &OsStr, path: &str) -> Result<Side, AgentError> {
    let to = folder.read_link(name).map_err(tree.failed(path))?;
    Ok(Side::Link(to.to_string_lossy().into_owned()))
}

fn join(above: &str, name: &str) -> String {
    if above.is_empty() {
        name.to_owned()
    } else {
        format!("{above}/{name}")
    }
}

#[cfg(test)]
mod tests;
