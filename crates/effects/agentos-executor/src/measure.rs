//! Measures the state of a repository before and after a tool's run, so that a change by the tool is noticed.
//!
//! Owns: looking at HEAD, refs, index, working tree and git's own files, and naming the differences. Never: follows a link,
//! reads the content of a file in the working tree, or looks at our own state folder.

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

/// Beginning of `info/refs`, and of the temporary names that it has while it is written.
const SERVER_LIST: &[u8] = b"refs";

/// Measurement that can be compared with a later one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Measurement {
    state: StateMeasurement,
    /// Each ref as one line, sorted: name, target, symbolic target.
    refs: Vec<String>,
    /// Content of the index file. `None` if there is none.
    index: Option<Vec<u8>>,
    /// Entries of the working tree in the order of the walk, which is the same for the same paths.
    seen: Vec<SeenEntry>,
}

/// Entry of the working tree.

#[derive(Debug, Clone, PartialEq, Eq)]
struct SeenEntry {
    path: Vec<u8>,
    stamp: EntryStamp,
}

/// Properties of a file of which every change to it changes at least one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct EntryStamp {
    mode: u32,
    size: u64,
    inode: u64,
    modified: i128,
    changed: i128,
}

impl Measurement {
    /// Returns the digests.
    #[must_use]
    pub fn state(&self) -> &StateMeasurement {
        &self.state
    }

    /// Lists at most `limit` paths of the working tree that differ. A folder is listed only if nothing in it is.
    #[must_use]
    pub fn changed_paths(&self, other: &Self, limit: usize) -> Vec<String> {
        let mut changed: Vec<&[u8]> = Vec::new();
        let (mut ours, mut theirs) = (self.seen.iter().peekable(), other.seen.iter().peekable());
        // Both lists have the same order, so one pass over both finds the differences without a map.
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
                (Some(a), Some(b)) if compare_paths(&a.path, &b.path).is_lt() => {
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
    /// Measures HEAD, refs, index, working tree and git's own files.
    ///
    /// # Errors
    /// When git's files cannot be read. A folder of the working tree that cannot be read is measured as unreadable.
    pub fn measure(&self) -> Result<Measurement, RepoError> {
        let mut seen = Vec::new();
        if let Some(root) = self.work_dir() {
            let git_dirs = [self.git.path(), self.common_dir()].map(|dir| dir.canonicalize().ok());
            // Every git command may add objects there. The files that matter are hashed by `git_files_digest`.
            let inside = |path: &Path| git_dirs.iter().flatten().any(|dir| dir == path);
            let root = root.canonicalize().map_err(RepoError::io(root))?;
            seen = walk_wide(&root, &inside);
        }
        let refs = self.ref_lines()?;
        let index = read_if_there(&self.git.path().join("index"))?;
        let state = StateMeasurement {
            head: self.head_line(),
            refs: lower_hex(&Sha256::digest(refs.join("\n").as_bytes())),
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
                // A ref that cannot be read is part of the state too: a tool may have damaged it.
                Err(error) => format!("unreadable {}", error.message()),
            });
        }
        lines.sort();
        Ok(lines)
    }

    /// Hashes configuration, hooks and `info/`: the files that make git run programs or change what it does.
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
            walk_folder(&folder, &mut Vec::new(), &|_| false, &mut seen);
            if folder.ends_with("info") {
                // `info/refs` is a list for file servers (git-update-server-info(1)). Every `git gc` writes it, and a tool
                // need not have run for that.
                seen.retain(|entry| !entry.path.starts_with(SERVER_LIST));
            }
            digest.update(worktree_digest(&seen));
        }
        Ok(lower_hex(&digest.finalize()))
    }
}

/// Name in a folder, with its facts. They are `None` if the system does not report them.
type NamedEntry = (OsString, Option<Metadata>);

/// Number of folders from which on several threads are faster than one.
const WORTH_THREADS: usize = 16;

/// Walks from a root as [`walk_folder`] does, in as many threads as there are processors. Each takes one folder of the root at a
/// time.
fn walk_wide(root: &Path, skip: &(dyn Fn(&Path) -> bool + Sync)) -> Vec<SeenEntry> {
    let mut seen = Vec::new();
    let found = list_names(root).unwrap_or_default();
    let folders = found
        .iter()
        .filter(|(_, found)| is_folder(found.as_ref()))
        .count();
    if folders < WORTH_THREADS {
        walk_folder(root, &mut Vec::new(), skip, &mut seen);
        return seen;
    }
    let parts: Vec<OnceLock<Vec<SeenEntry>>> = found.iter().map(|_| OnceLock::new()).collect();
    let next = AtomicUsize::new(0);
    let part = |named: &NamedEntry| {
        let mut seen = Vec::new();
        look_at_entry(root, named, &mut Vec::new(), skip, &mut seen);
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
            // If a thread cannot be started, the others take its folders.
            let _ = Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
    // In the order of the names, whichever thread was first. A part that no thread finished is walked here.
    for (named, place) in found.iter().zip(parts) {
        seen.extend(place.into_inner().unwrap_or_else(|| part(named)));
    }
    seen
}

/// Looks at everything below a folder, sorted by name, without following links.
fn walk_folder(folder: &Path, prefix: &mut Vec<u8>, skip: &dyn Fn(&Path) -> bool, seen: &mut Vec<SeenEntry>) {
    let Some(found) = list_names(folder) else {
        let mut path = prefix.clone();
        path.extend_from_slice(b"(unreadable)");
        return seen.push(SeenEntry {
            path,
            stamp: EntryStamp::default(),
        });
    };
    for named in &found {
        look_at_entry(folder, named, prefix, skip, seen);
    }
}

/// Lists a folder, sorted by name. `None` if it cannot be read.
fn list_names(folder: &Path) -> Option<Vec<NamedEntry>> {
    let mut found: Vec<NamedEntry> = fs::read_dir(folder)
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

/// Looks at one name of a folder and everything below it.
fn look_at_entry(
    folder: &Path,
    (name, found): &NamedEntry,
    prefix: &mut Vec<u8>,
    skip: &dyn Fn(&Path) -> bool,
    seen: &mut Vec<SeenEntry>,
) {
    let full = folder.join(name);
    if is_folder(found.as_ref()) && skip(&full) {
        return;
    }
    let length = prefix.len();
    prefix.extend_from_slice(name.as_encoded_bytes());
    seen.push(SeenEntry {
        path: prefix.clone(),
        stamp: found.as_ref().map(EntryStamp::from_metadata).unwrap_or_default(),
    });
    if is_folder(found.as_ref()) {
        prefix.push(b'/');
        walk_folder(&full, prefix, skip, seen);
    }
    prefix.truncate(length);
}

impl EntryStamp {
    #[cfg(unix)]
    fn from_metadata(metadata: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        let nanos = |seconds: i64, nanos: i64| i128::from(seconds) * 1_000_000_000 + i128::from(nanos);
        // Some file systems change the size of a folder without a change in it. Its times change with every change.
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
    fn from_metadata(metadata: &Metadata) -> Self {
        let modified = metadata
            .modified()
            .ok()
            .and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
        Self {
            mode: u32::from(metadata.permissions().readonly()),
            size: metadata.len(),
            // There is no inode here. The kind of the entry takes its place, so that a file replaced by a folder differs.
            inode: u64::from(metadata.is_dir()) + 2 * u64::from(metadata.is_symlink()),
            modified: modified
                .and_then(|since| i128::try_from(since.as_nanos()).ok())
                .unwrap_or(0),
            changed: 0,
        }
    }
}

fn worktree_digest(seen: &[SeenEntry]) -> String {
    let mut digest = Sha256::new();
    for SeenEntry { path, stamp } in seen {
        digest.update(path);
        digest.update([0]);
        digest.update(stamp.mode.to_le_bytes());
        digest.update(stamp.size.to_le_bytes());
        digest.update(stamp.inode.to_le_bytes());
        digest.update(stamp.modified.to_le_bytes());
        digest.update(stamp.changed.to_le_bytes());
    }
    lower_hex(&digest.finalize())
}

fn file_digest(path: &Path) -> Result<String, RepoError> {
    Ok(digest_of(read_if_there(path)?.as_deref()))
}

fn digest_of(content: Option<&[u8]>) -> String {
    content.map_or_else(|| "none".to_owned(), |bytes| lower_hex(&Sha256::digest(bytes)))
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

/// Compares two paths in the order of the walk: by name within a folder, and a folder before its content.
fn compare_paths(a: &[u8], b: &[u8]) -> std::cmp::Ordering {
    a.split(|byte| *byte == b'/').cmp(b.split(|byte| *byte == b'/'))
}

/// Lists paths without the folders that differ only because something in them does.
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

/// Formats bytes as lower-case hexadecimal digits.
pub(crate) fn lower_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
