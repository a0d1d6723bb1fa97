//! The difference between the copy as it was shown and as the program left it, as one diff.
//!
//! Owns: reading both trees from outside, after the program has ended. Never: follows a link, asks git what changed, or
//! drops a change silently: what a diff cannot say is written so that landing refuses it by name.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agentos_diff::{Change, FileMode, FileState, RepoPath};
use agentos_sandbox::Upper;

use crate::AgentError;

/// Bytes of all files before and after; landing's own limits are far below.
const MOST: u64 = 64 << 20;

/// The program's answer.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Difference {
    /// The diff; empty when nothing changed.
    pub(crate) text: String,
    /// What is not in it, and why.
    pub(crate) notes: Vec<String>,
}

/// What stands at a path.
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

/// Compares `upper` (what was written, or the whole copy) with `lower` (what was shown). New files that `ignored` names are no answer.
pub(crate) fn difference(
    lower: &Path,
    upper: &Path,
    shown: Shown,
    ignored: &dyn Fn(&str) -> bool,
) -> Result<Difference, AgentError> {
    let mut walk = Walk {
        lower,
        upper,
        shown,
        ignored,
        sides: BTreeMap::new(),
        bytes: 0,
        notes: Vec::new(),
        left_out: 0,
    };
    walk.folder("")?;
    match shown {
        Shown::Overlaid => {}
        Shown::Copied => walk.missing("")?,
    }
    Ok(walk.told())
}

struct Walk<'a> {
    lower: &'a Path,
    upper: &'a Path,
    shown: Shown,
    ignored: &'a dyn Fn(&str) -> bool,
    sides: BTreeMap<String, (Option<Side>, Option<Side>)>,
    bytes: u64,
    notes: Vec<String>,
    left_out: usize,
}

impl Walk<'_> {
    fn folder(&mut self, above: &str) -> Result<(), AgentError> {
        for name in names(&self.upper.join(above))? {
            let Some(name) = name.to_str() else {
                self.notes
                    .push("a file whose name is not UTF-8 was left out".to_owned());
                continue;
            };
            // The copy's own git directory is not the repository's, and no answer.
            if above.is_empty() && name == ".git" {
                continue;
            }
            let path = format!("{above}{name}");
            self.entry(&path)?;
        }
        Ok(())
    }

    fn entry(&mut self, path: &str) -> Result<(), AgentError> {
        let place = self.upper.join(path);
        match Upper::look(&place).map_err(AgentError::unreadable(&place))? {
            Upper::Folder { replaced } => {
                let was_folder = self.is_lower_folder(path);
                if !was_folder && (self.ignored)(&format!("{path}/")) {
                    self.left_out += 1;
                    return Ok(());
                }
                // A whole copy has no such marks but those that the program made.
                let replaced = replaced && self.shown == Shown::Overlaid;
                if replaced || !was_folder {
                    self.gone(path)?;
                }
                self.folder(&format!("{path}/"))
            }
            Upper::Deleted => self.gone(path),
            Upper::File { .. } if self.shown == Shown::Copied && self.is_as_it_was(path, &place)? => Ok(()),
            Upper::File { executable, length } => {
                self.count(length)?;
                let content = fs::read(&place).map_err(AgentError::unreadable(&place))?;
                self.put(path, Side::File(state(content, executable)))
            }
            Upper::Link => {
                let to = fs::read_link(&place).map_err(AgentError::unreadable(&place))?;
                self.put(path, Side::Link(to.to_string_lossy().into_owned()))
            }
            Upper::Special => {
                self.notes.push(format!("`{path}` is no file and was left out"));
                Ok(())
            }
        }
    }

    fn put(&mut self, path: &str, new: Side) -> Result<(), AgentError> {
        self.gone(path)?;
        let side = self.sides.entry(path.to_owned()).or_insert((None, None));
        if side.0.is_none() && (self.ignored)(path) {
            self.sides.remove(path);
            self.left_out += 1;
            return Ok(());
        }
        side.1 = Some(new);
        Ok(())
    }

    /// Everything that was shown at and below a path is gone, until something is put there.
    fn gone(&mut self, path: &str) -> Result<(), AgentError> {
        for file in self.lower_files(path)? {
            if !self.sides.contains_key(&file) {
                let old = self.lower_side(&file)?;
                self.sides.insert(file, (old, None));
            }
        }
        Ok(())
    }

    /// Is a file of a whole copy what was shown?
    fn is_as_it_was(&self, path: &str, place: &Path) -> Result<bool, AgentError> {
        let Some(shown) = self.lower_place(path) else {
            return Ok(false);
        };
        let look = |place: &Path| Upper::look(place).map_err(AgentError::unreadable(place));
        let read = |place: &Path| fs::read(place).map_err(AgentError::unreadable(place));
        let (old, new) = (look(&shown)?, look(place)?);
        Ok(old == new && read(&shown)? == read(place)?)
    }

    /// What was shown in a folder and is not in the whole copy any more is gone.
    fn missing(&mut self, above: &str) -> Result<(), AgentError> {
        for name in names(&self.lower.join(above))? {
            // The copy was made from git's own names, all of which are text.
            let path = format!("{above}{}", name.to_string_lossy());
            if place_in(self.upper, &path).is_none() {
                self.gone(&path)?;
            } else if self.is_lower_folder(&path) {
                self.missing(&format!("{path}/"))?;
            }
        }
        Ok(())
    }

    /// The place of a path in the lower tree.
    fn lower_place(&self, path: &str) -> Option<PathBuf> {
        place_in(self.lower, path)
    }

    fn is_lower_folder(&self, path: &str) -> bool {
        let found = self
            .lower_place(path)
            .and_then(|place| place.symlink_metadata().ok());
        found.is_some_and(|found| found.is_dir())
    }

    /// The files at and below a path of the lower tree.
    fn lower_files(&self, path: &str) -> Result<Vec<String>, AgentError> {
        let Some(place) = self.lower_place(path) else {
            return Ok(Vec::new());
        };
        if !self.is_lower_folder(path) {
            return Ok(vec![path.to_owned()]);
        }
        let mut all = Vec::new();
        for name in names(&place)? {
            // The copy was made from git's own names, all of which are text.
            let below = format!("{path}/{}", name.to_string_lossy());
            all.extend(self.lower_files(&below)?);
        }
        Ok(all)
    }

    fn lower_side(&mut self, path: &str) -> Result<Option<Side>, AgentError> {
        let Some(place) = self.lower_place(path) else {
            return Ok(None);
        };
        match Upper::look(&place).map_err(AgentError::unreadable(&place))? {
            Upper::File { executable, length } => {
                self.count(length)?;
                let content = fs::read(&place).map_err(AgentError::unreadable(&place))?;
                Ok(Some(Side::File(state(content, executable))))
            }
            Upper::Link => {
                let to = fs::read_link(&place).map_err(AgentError::unreadable(&place))?;
                Ok(Some(Side::Link(to.to_string_lossy().into_owned())))
            }
            Upper::Folder { .. } | Upper::Deleted | Upper::Special => Ok(None),
        }
    }

    fn count(&mut self, length: u64) -> Result<(), AgentError> {
        self.bytes = self.bytes.saturating_add(length);
        if self.bytes > MOST {
            return Err(AgentError::TooLarge(MOST));
        }
        Ok(())
    }

    fn told(mut self) -> Difference {
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
        if self.left_out > 0 {
            self.notes.push(format!(
                "{} new files or folders that the repository ignores are not part of the answer",
                self.left_out
            ));
        }
        let mut text = Change::new(states)
            .ok()
            .and_then(|change| String::from_utf8(change.canonical_diff().to_vec()).ok())
            .unwrap_or_default();
        text.push_str(&rest);
        Difference {
            text,
            notes: self.notes,
        }
    }
}

/// The place of a path in a tree; none where a part above it is no folder, which could lead elsewhere.
fn place_in(top: &Path, path: &str) -> Option<PathBuf> {
    let mut place = top.to_owned();
    let (above, last) = path.rsplit_once('/').unwrap_or(("", path));
    for part in above.split('/').filter(|part| !part.is_empty()) {
        place.push(part);
        if !place.symlink_metadata().is_ok_and(|found| found.is_dir()) {
            return None;
        }
    }
    place.push(last);
    place.symlink_metadata().is_ok().then_some(place)
}

type State = (RepoPath, Option<FileState>, Option<FileState>);

/// A change of text files under names that may be touched.
fn expressible(path: &str, old: Option<&Side>, new: Option<&Side>) -> Option<State> {
    let file = |side: Option<&Side>| match side {
        None => Some(None),
        Some(Side::File(state)) if is_text(&state.content) => Some(Some(state.clone())),
        Some(Side::File(_) | Side::Link(_)) => None,
    };
    Some((RepoPath::new(path).ok()?, file(old)?, file(new)?))
}

fn is_text(content: &[u8]) -> bool {
    !content.contains(&0) && std::str::from_utf8(content).is_ok()
}

/// A change that no text diff can say, as git would print it: landing refuses it and names why.
fn inexpressible(path: &str, old: Option<&Side>, new: Option<&Side>) -> String {
    let name = |side: Option<&Side>, prefix: &str| match side {
        Some(_) => format!("{prefix}/{path}"),
        None => "/dev/null".to_owned(),
    };
    let (before, after) = (name(old, "a"), name(new, "b"));
    let head = format!("diff --git a/{path} b/{path}\n");
    match (old, new) {
        (_, Some(Side::Link(to))) => format!(
            "{head}new file mode 120000\n--- {before}\n+++ {after}\n@@ -0,0 +1 @@\n+{}\n\\ No newline at end of file\n",
            to.replace(['\n', '\r'], "?")
        ),
        (Some(Side::Link(to)), None) => format!(
            "{head}deleted file mode 120000\n--- {before}\n+++ /dev/null\n@@ -1 +0,0 @@\n-{}\n\\ No newline at end of \
             file\n",
            to.replace(['\n', '\r'], "?")
        ),
        _ => format!("{head}Binary files {before} and {after} differ\n"),
    }
}

fn state(content: Vec<u8>, executable: bool) -> FileState {
    FileState {
        mode: if executable {
            FileMode::Executable
        } else {
            FileMode::Regular
        },
        content: Arc::from(content),
    }
}

/// A folder's names, sorted.
fn names(folder: &Path) -> Result<Vec<std::ffi::OsString>, AgentError> {
    let entries = fs::read_dir(folder).map_err(AgentError::unreadable(folder))?;
    let mut names = Vec::new();
    for entry in entries {
        names.push(entry.map_err(AgentError::unreadable(folder))?.file_name());
    }
    names.sort_by(|a, b| OsStr::cmp(a, b));
    Ok(names)
}

#[cfg(test)]
mod tests;
