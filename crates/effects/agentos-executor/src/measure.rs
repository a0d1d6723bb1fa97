//! The state of a repository at one moment, so that a tool's boundary is measured and not claimed.
//!
//! Owns: what is looked at (HEAD, refs, index, work tree, git's own files) and naming what differs. Never: follows
//! a link, reads a work-tree file's content, or looks at our own state folder.

use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::io;
use std::num::NonZero;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::Builder;

use agentos_tool::StateMeasurement;
use sha2::{Digest, Sha256};

use crate::{RepoError, Repository};

mod account;

/// `info/refs`, and the names it has before it is in place.
const SERVER_LIST: &[u8] = b"refs";

/// A measurement that can be compared with a later one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Measurement {
    state: StateMeasurement,
    /// Each ref as one line, sorted: name, target, symbolic target.
    refs: Vec<String>,
    /// The index file. `None` if there is none.
    index: Option<Vec<u8>>,
    /// In the order of the walk, which is the same for the same paths.
    seen: Vec<Seen>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Seen {
    path: Vec<u8>,
    stamp: Stamp,
}

/// What a change to a file cannot leave as it was.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Stamp {
    mode: u32,
    size: u64,
    inode: u64,
    modified: i128,
    changed: i128,
}

impl Measurement {
    /// The digests.
    #[must_use]
    pub fn state(&self) -> &StateMeasurement {
        &self.state
    }

    /// Work-tree paths that are not the same in both, at most `limit`. A folder is named only if nothing in it is.
    #[must_use]
    pub fn changed_paths(&self, other: &Self, limit: usize) -> Vec<String> {
        let mut changed: Vec<&[u8]> = Vec::new();
        let (mut ours, mut theirs) = (self.seen.iter().peekable(), other.seen.iter().peekable());
        loop {
            let path = match (ours.peek(), theirs.peek()) {
                (None, None) => break,
                (Some(a), Some(b)) if a.path == b.path => {
                    let same = a.stamp == b.stamp;
                    let path = a.path.as_slice();
                    ours.next();
                    theirs.next();
                    if same {
                        continue;
                    }
                    path
                }
                (Some(a), Some(b)) if order(&a.path, &b.path).is_lt() => {
                    let path = a.path.as_slice();
                    ours.next();
                    path
                }
                (Some(a), None) => {
                    let path = a.path.as_slice();
                    ours.next();
                    path
                }
                (Some(_) | None, Some(b)) => {
                    let path = b.path.as_slice();
                    theirs.next();
                    path
                }
            };
            changed.push(path);
        }
        name_the_innermost(&changed, limit)
    }
}

impl Repository {
    /// Measures HEAD, refs, index, work tree and git's own files.
    ///
    /// # Errors
    /// When git's files cannot be read. A folder of the work tree that cannot be read is measured as such.
    pub fn measure(&self) -> Result<Measurement, RepoError> {
        let mut seen = Vec::new();
        if let Some(root) = self.work_dir() {
            let git_dirs = [self.git.path(), self.common_dir()].map(|dir| dir.canonicalize().ok());
            let inside = |path: &Path| git_dirs.iter().flatten().any(|dir| dir == path);
            let root = root.canonicalize().map_err(RepoError::io(root))?;
            seen = walk_wide(&root, &inside);
        }
        let refs = self.ref_lines()?;
        let index = read_if_there(&self.git.path().join("index"))?;
        let state = StateMeasurement {
            head: self.head_line(),
            refs: hex(&Sha256::digest(refs.join("\n").as_bytes())),
            index: digest_of(index.as_deref()),
            worktree: worktree_digest(&seen),
            git_files: self.git_files_digest()?,
        };
        Ok(Measurement {
            state,
            refs,
            index,
            seen,
        })
    }

    fn head_line(&self) -> String {
        let commit = self.git.head().ok().and_then(|head| head.target());
        let commit = commit.map_or_else(|| "no commit".to_owned(), |id| id.to_string());
        match self.head_ref() {
            Some(name) => format!("{name} {commit}"),
            None => format!("detached {commit}"),
        }
    }

    fn ref_lines(&self) -> Result<Vec<String>, RepoError> {
        let mut lines = Vec::new();
        for reference in self.git.references().map_err(RepoError::git("read the refs"))? {
            lines.push(match reference {
                Ok(reference) => {
                    let target = reference.target().map(|id| id.to_string());
                    let symbolic = reference.symbolic_target_bytes().map(String::from_utf8_lossy);
                    format!(
                        "{} {} {}",
                        String::from_utf8_lossy(reference.name_bytes()),
                        target.unwrap_or_default(),
                        symbolic.unwrap_or_default()
                    )
                }
                Err(error) => format!("unreadable {}", error.message()),
            });
        }
        lines.sort();
        Ok(lines)
    }

    /// Configuration, hooks and `info/`: what git runs or obeys.
    fn git_files_digest(&self) -> Result<String, RepoError> {
        let mut digest = Sha256::new();
        let (own, common) = (self.git.path(), self.common_dir());
        for file in [
            common.join("config"),
            own.join("config.worktree"),
            common.join("objects/info/alternates"),
        ] {
            digest.update(file_digest(&file)?);
        }
        for folder in [common.join("hooks"), common.join("info")] {
            let mut seen = Vec::new();
            walk(&folder, &mut Vec::new(), &|_| false, &mut seen);
            if folder.ends_with("info") {
                // A list for servers that know nothing of git: it writes that by itself, with every `git gc`.
                seen.retain(|entry| !entry.path.starts_with(SERVER_LIST));
            }
            digest.update(worktree_digest(&seen));
        }
        Ok(hex(&digest.finalize()))
    }
}

/// A name in a folder.
type Named = (OsString, Option<Metadata>);

/// Folders for which helpers are worth their coming and going.
const WORTH: usize = 16;

/// As [`walk`] from a root, with the folders in it shared out among as many helpers as there are processors.
fn walk_wide(root: &Path, skip: &(dyn Fn(&Path) -> bool + Sync)) -> Vec<Seen> {
    let mut seen = Vec::new();
    let found = names(root).unwrap_or_default();
    let folders = found
        .iter()
        .filter(|(_, found)| is_folder(found.as_ref()))
        .count();
    if folders < WORTH {
        walk(root, &mut Vec::new(), skip, &mut seen);
        return seen;
    }
    let parts: Vec<OnceLock<Vec<Seen>>> = found.iter().map(|_| OnceLock::new()).collect();
    let next = AtomicUsize::new(0);
    let part = |named: &Named| {
        let mut seen = Vec::new();
        look(root, named, &mut Vec::new(), skip, &mut seen);
        seen
    };
    let work = || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let (Some(named), Some(place)) = (found.get(at), parts.get(at)) else {
                return;
            };
            place.get_or_init(|| part(named));
        }
    };
    std::thread::scope(|scope| {
        let hands = std::thread::available_parallelism().map_or(1, NonZero::get);
        for _ in 1..hands {
            // Without a helper the others do its part.
            let _ = Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
    for (named, place) in found.iter().zip(parts) {
        seen.extend(place.into_inner().unwrap_or_else(|| part(named)));
    }
    seen
}

/// Looks at everything below a folder, sorted by name, without following links.
fn walk(folder: &Path, prefix: &mut Vec<u8>, skip: &dyn Fn(&Path) -> bool, seen: &mut Vec<Seen>) {
    let Some(found) = names(folder) else {
        let mut path = prefix.clone();
        path.extend_from_slice(b"(unreadable)");
        return seen.push(Seen {
            path,
            stamp: Stamp::default(),
        });
    };
    for named in &found {
        look(folder, named, prefix, skip, seen);
    }
}

/// What is in a folder, sorted by name; none if it cannot be read.
fn names(folder: &Path) -> Option<Vec<Named>> {
    let mut found: Vec<Named> = fs::read_dir(folder)
        .ok()?
        .flatten()
        .map(|entry| (entry.file_name(), entry.metadata().ok()))
        .collect();
    found.sort_by(|a, b| a.0.cmp(&b.0));
    Some(found)
}

fn is_folder(found: Option<&Metadata>) -> bool {
    found.is_some_and(Metadata::is_dir)
}

/// One name of a folder, and what is below it.
fn look(
    folder: &Path,
    (name, found): &Named,
    prefix: &mut Vec<u8>,
    skip: &dyn Fn(&Path) -> bool,
    seen: &mut Vec<Seen>,
) {
    let full = folder.join(name);
    if is_folder(found.as_ref()) && skip(&full) {
        return;
    }
    let length = prefix.len();
    prefix.extend_from_slice(name.as_encoded_bytes());
    seen.push(Seen {
        path: prefix.clone(),
        stamp: found.as_ref().map(Stamp::of).unwrap_or_default(),
    });
    if is_folder(found.as_ref()) {
        prefix.push(b'/');
        walk(&full, prefix, skip, seen);
    }
    prefix.truncate(length);
}

impl Stamp {
    #[cfg(unix)]
    fn of(metadata: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        let nanos = |seconds: i64, nanos: i64| i128::from(seconds) * 1_000_000_000 + i128::from(nanos);
        // A folder's size depends on the file system's moods; its times do not.
        let size = if metadata.is_dir() { 0 } else { metadata.size() };
        Self {
            mode: metadata.mode(),
            size,
            inode: metadata.ino(),
            modified: nanos(metadata.mtime(), metadata.mtime_nsec()),
            changed: nanos(metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    #[cfg(not(unix))]
    fn of(metadata: &Metadata) -> Self {
        let modified = metadata
            .modified()
            .ok()
            .and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
        Self {
            mode: u32::from(metadata.permissions().readonly()),
            size: metadata.len(),
            inode: u64::from(metadata.is_dir()) + 2 * u64::from(metadata.is_symlink()),
            modified: modified
                .and_then(|since| i128::try_from(since.as_nanos()).ok())
                .unwrap_or(0),
            changed: 0,
        }
    }
}

fn worktree_digest(seen: &[Seen]) -> String {
    let mut digest = Sha256::new();
    for Seen { path, stamp } in seen {
        digest.update(path);
        digest.update([0]);
        digest.update(stamp.mode.to_le_bytes());
        digest.update(stamp.size.to_le_bytes());
        digest.update(stamp.inode.to_le_bytes());
        digest.update(stamp.modified.to_le_bytes());
        digest.update(stamp.changed.to_le_bytes());
    }
    hex(&digest.finalize())
}

fn file_digest(path: &Path) -> Result<String, RepoError> {
    Ok(digest_of(read_if_there(path)?.as_deref()))
}

fn digest_of(content: Option<&[u8]>) -> String {
    content.map_or_else(|| "none".to_owned(), |bytes| hex(&Sha256::digest(bytes)))
}

/// Reads a file. `None` if it is not there.
fn read_if_there(path: &Path) -> Result<Option<Vec<u8>>, RepoError> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(RepoError::Io {
            path: path.to_owned(),
            source,
        }),
    }
}

/// The order of the walk: by name within a folder, a folder before what is in it.
fn order(a: &[u8], b: &[u8]) -> std::cmp::Ordering {
    a.split(|byte| *byte == b'/').cmp(b.split(|byte| *byte == b'/'))
}

/// Leaves out a folder that differs only because something in it does.
fn name_the_innermost(changed: &[&[u8]], limit: usize) -> Vec<String> {
    let followed = changed.iter().skip(1).map(Some).chain([None]);
    changed
        .iter()
        .zip(followed)
        .filter(|(path, next)| {
            !next.is_some_and(|next| {
                next.strip_prefix(**path)
                    .is_some_and(|rest| rest.starts_with(b"/"))
            })
        })
        .map(|(path, _)| String::from_utf8_lossy(path).into_owned())
        .take(limit)
        .collect()
}

/// Lower-case hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
