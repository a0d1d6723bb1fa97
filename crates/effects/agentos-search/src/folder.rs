//! The folder of the index, and its files as a whole.
//!
//! Owns: writing a file completely or not at all, reading one up to a limit, and removing old ones. Never: follows a link out
//! of the folder, removes a file of another name, or waits for the disk.
//!
//! Nothing here is made durable: after a loss of power a file may be empty or cut. Then its checksum is wrong, and it is
//! rebuilt. An `fsync` would cost more than that.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

use agentos_durable::{LinkRule, open_regular_file, read_regular_file};

/// Beginning of the names of unfinished files.
const UNFINISHED: &str = "unfinished-";
/// Age at which an unfinished file was left behind: no write takes so long.
const LEFT_BEHIND: Duration = Duration::from_secs(3600);
/// Most names that are read from the folder. We make a few dozen; more were put there by somebody else.
const MOST_NAMES: usize = 4096;

/// Number of the next unfinished file of this process.
static NEXT_FILE: AtomicU32 = AtomicU32::new(0);

/// Folder of the index.
#[derive(Debug, Clone)]
pub(crate) struct IndexFolder {
    path: PathBuf,
}

/// File of the index, as it is found in its folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FoundFile {
    pub name: String,
    pub bytes: u64,
    pub modified: SystemTime,
}

impl IndexFolder {
    pub(crate) fn new(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
        }
    }

    /// Returns true if the folder is there, and is no link: an unpacked repository could lead us somewhere else by one.
    fn is_plain(&self) -> bool {
        let above = self.path.parent();
        let folders = [Some(self.path.as_path()), above];
        folders
            .into_iter()
            .flatten()
            .all(|path| path.symlink_metadata().is_ok_and(|found| found.is_dir()))
    }

    /// Lists the files whose names begin and end like this, sorted by name.
    pub(crate) fn list_files(&self, beginning: &str) -> Vec<FoundFile> {
        if !self.is_plain() {
            return Vec::new();
        }
        let names = fs::read_dir(&self.path).into_iter().flatten().take(MOST_NAMES);
        let mut found: Vec<FoundFile> = names
            .filter_map(|entry| {
                let entry = entry.ok()?;
                let name = entry.file_name().into_string().ok()?;
                let about = entry.metadata().ok()?;
                (name.starts_with(beginning) && about.is_file()).then(|| FoundFile {
                    name,
                    bytes: about.len(),
                    modified: about.modified().unwrap_or(SystemTime::UNIX_EPOCH),
                })
            })
            .collect();
        found.sort_by(|a, b| a.name.cmp(&b.name));
        found
    }

    pub(crate) fn open_file(&self, name: &str) -> io::Result<fs::File> {
        if !self.is_plain() {
            return Err(io::ErrorKind::NotFound.into());
        }
        open_regular_file(&self.path.join(name), LinkRule::Refused)
    }

    pub(crate) fn read_file(&self, name: &str, limit: u64) -> io::Result<Vec<u8>> {
        if !self.is_plain() {
            return Err(io::ErrorKind::NotFound.into());
        }
        read_regular_file(&self.path.join(name), LinkRule::Refused, limit)
    }

    /// Writes a file under its name once it is complete. Another process may write the same file at the same time: both have
    /// the same content, and the last one stays.
    ///
    /// # Errors
    /// If the folder cannot be written, or the disk is full. Nothing is left behind.
    pub(crate) fn write_file(&self, name: &str, pieces: &[&[u8]]) -> io::Result<()> {
        fs::create_dir_all(&self.path)?;
        if !self.is_plain() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "the folder of the index is a link",
            ));
        }
        let number = NEXT_FILE.fetch_add(1, Ordering::Relaxed);
        let unfinished = self
            .path
            .join(format!("{UNFINISHED}{}-{number}", std::process::id()));
        let written =
            write_new(&unfinished, pieces).and_then(|()| fs::rename(&unfinished, self.path.join(name)));
        if written.is_err() {
            // A file that could not be written is not there, or cannot be removed either.
            let _ = fs::remove_file(&unfinished);
        }
        written
    }

    /// Removes files. A failure is ignored: such a file is removed at another time, or only costs space.
    pub(crate) fn remove_files<'n>(&self, names: impl IntoIterator<Item = &'n str>) {
        if self.is_plain() {
            for name in names {
                let _ = fs::remove_file(self.path.join(name));
            }
        }
    }

    /// Keeps the newest files whose names begin like this, and removes the others, and those that an ended process left
    /// unfinished.
    pub(crate) fn remove_old(&self, beginning: &str, keep: usize) {
        let mut found = self.list_files(beginning);
        found.sort_by(|a, b| b.modified.cmp(&a.modified).then_with(|| a.name.cmp(&b.name)));
        self.remove_files(found.iter().skip(keep).map(|file| file.name.as_str()));
        // The newest file was written just now, so its time is the time of day.
        let Some(newest) = found.first().map(|file| file.modified) else {
            return;
        };
        let unfinished = self.list_files(UNFINISHED);
        let is_old = |file: &&FoundFile| {
            newest
                .duration_since(file.modified)
                .is_ok_and(|age| age > LEFT_BEHIND)
        };
        self.remove_files(unfinished.iter().filter(is_old).map(|file| file.name.as_str()));
    }
}

fn write_new(path: &Path, pieces: &[&[u8]]) -> io::Result<()> {
    // A name that exists already may be a link that somebody put there.
    let mut file = fs::OpenOptions::new().write(true).create_new(true).open(path)?;
    pieces.iter().try_for_each(|piece| file.write_all(piece))
}
