//! What is needed to finish or take back a landing that was cut short, and the lock that keeps landers apart.
//!
//! Owns: `agentos/journal.json`, `agentos/lock` and `agentos/turn` in the common git directory. Never: decides what to do with a
//! journal; recovery does.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use agentos_landing::RepoPath;
use serde::{Deserialize, Serialize};

use crate::line_ends::Ends;
use crate::{ExecError, ReceiptFile, Repository, Writes};

/// One landing under way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Journal {
    pub v: u32,
    pub run: String,
    pub writes: Writes,
    pub refname: String,
    /// The commit before.
    pub parent: String,
    /// The commit that the ref is moved to; none for `--no-commit`.
    pub commit: Option<String>,
    /// True once the change counts as made although no ref moves.
    pub decided: bool,
    /// When the machine was started, by [`boot`]; empty in a journal of a version that waited for the branch to be on the
    /// disk before it went on.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub boot: String,
    /// The work tree that is written; it may be another one than the reader's.
    pub work_dir: Option<PathBuf>,
    pub files: Vec<JournalFile>,
}

/// One file of a landing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct JournalFile {
    pub file: ReceiptFile,
    /// Where its new content waits, relative to the work tree.
    pub temp: Option<String>,
    /// What is done to its line ends in the work tree.
    #[serde(default, skip_serializing_if = "Ends::are_kept")]
    pub ends: Ends,
}

impl Journal {
    /// May some of what was written have got lost, although what was written later is there? Only a start of the machine
    /// without an end before it does that.
    pub fn may_have_holes(&self) -> bool {
        !self.boot.is_empty() && (self.boot == UNKNOWN || self.boot != boot())
    }
}

/// Where nobody tells one start of the machine from another.
const UNKNOWN: &str = "unknown";

/// A name for the time since the machine was started (random(4), `boot_id`).
pub(crate) fn boot() -> String {
    let told = fs::read_to_string("/proc/sys/kernel/random/boot_id");
    let told = told.map(|text| text.trim().to_owned()).unwrap_or_default();
    if told.is_empty() { UNKNOWN.to_owned() } else { told }
}

impl JournalFile {
    /// A temporary name must be one of ours: it is removed without further questions.
    fn is_sound(&self) -> bool {
        self.temp.as_deref().is_none_or(|temp| {
            let name = temp.rsplit('/').next().unwrap_or(temp);
            RepoPath::new(temp).is_ok() && name.starts_with(".agentos-") && name.ends_with(".tmp")
        })
    }
}

/// Held while a landing is under way. Dies with its holder.
pub(crate) struct Lock {
    _file: File,
}

impl Repository {
    /// Waits for other landings to end.
    pub(crate) fn lock(&self) -> Result<Lock, ExecError> {
        self.lock_file("lock")
    }

    /// Waits for others whose base moved as well: one of them at a time lands again.
    pub(crate) fn wait_for_turn(&self) -> Result<Lock, ExecError> {
        self.lock_file("turn")
    }

    fn lock_file(&self, name: &str) -> Result<Lock, ExecError> {
        let dir = self.own_dir()?;
        let path = dir.join(name);
        if fs::symlink_metadata(&path).is_ok_and(|found| !found.is_file()) {
            let source = io::Error::new(io::ErrorKind::InvalidInput, "it is not a file");
            return Err(ExecError::Write {
                action: "use",
                path,
                source,
            });
        }
        let open = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path);
        let file = open.map_err(ExecError::write("open", &path))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                tracing::info!(
                    name,
                    "another landing is under way in this repository; waiting for it"
                );
                file.lock().map_err(ExecError::write("lock", &path))?;
            }
            Err(TryLockError::Error(source)) => {
                return Err(ExecError::Write {
                    action: "lock",
                    path,
                    source,
                });
            }
        }
        Ok(Lock { _file: file })
    }

    /// The folder for our own state, made if it is not there. A link in its place would lead us elsewhere.
    fn own_dir(&self) -> Result<PathBuf, ExecError> {
        let dir = self.state_dir();
        match fs::symlink_metadata(&dir) {
            Ok(found) if found.is_dir() => return Ok(dir),
            Ok(_) => {
                let source = io::Error::new(io::ErrorKind::NotADirectory, "it is not a folder");
                return Err(ExecError::Write {
                    action: "use",
                    path: dir,
                    source,
                });
            }
            Err(_) => {}
        }
        match fs::create_dir(&dir) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(source) => {
                return Err(ExecError::Write {
                    action: "make",
                    path: dir,
                    source,
                });
            }
        }
        Ok(dir)
    }

    /// The lock that libgit2 takes to move a ref.
    pub(crate) fn ref_lock_path(&self, refname: &str) -> PathBuf {
        self.common_dir().join(format!("{refname}.lock"))
    }

    pub(crate) fn journal_path(&self) -> PathBuf {
        self.state_dir().join("journal.json")
    }

    pub(crate) fn read_journal(&self) -> Result<Option<Journal>, ExecError> {
        let path = self.journal_path();
        if fs::symlink_metadata(&path).is_ok_and(|found| !found.is_file()) {
            return Err(ExecError::BadJournal(path));
        }
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => {
                return Err(ExecError::Write {
                    action: "read",
                    path,
                    source,
                });
            }
        };
        if is_torn(&bytes) {
            return Ok(None);
        }
        let journal = serde_json::from_slice::<Journal>(&bytes).ok();
        let journal =
            journal.filter(|journal| journal.v == 1 && journal.files.iter().all(JournalFile::is_sound));
        journal.map(Some).ok_or(ExecError::BadJournal(path))
    }

    /// Writes the first journal of a landing; gives what is to be synced for it to be durable. Before that nothing may
    /// rest on it: a loss of power can leave its name without its content, which is no journal then.
    pub(crate) fn begin_journal(&self, journal: &Journal) -> Result<Vec<PathBuf>, ExecError> {
        self.put_journal(journal, |_| Ok(()))?;
        let mut unsynced = vec![self.journal_path()];
        unsynced.extend(agentos_durable::folder(self.state_dir()));
        Ok(unsynced)
    }

    /// Replaces the journal in one step. Its content is durable then; its name is with [`Repository::sync_state_dir`].
    pub(crate) fn replace_journal(&self, journal: &Journal) -> Result<(), ExecError> {
        self.put_journal(journal, agentos_durable::sync_alone)
    }

    fn put_journal(
        &self,
        journal: &Journal,
        sync: impl FnOnce(&Path) -> io::Result<()>,
    ) -> Result<(), ExecError> {
        let path = self.journal_path();
        let written = serde_json::to_vec(journal)
            .map_err(io::Error::other)
            .and_then(|text| {
                let temp = path.with_extension("json.tmp");
                // What a crash left there is ours; a link that somebody put there must not be written through.
                remove_if_there(&temp)?;
                let mut file = OpenOptions::new().write(true).create_new(true).open(&temp)?;
                self.reach("journal opened");
                file.write_all(&text)?;
                sync(&temp)?;
                self.reach("journal ready");
                fs::rename(&temp, &path)?;
                self.reach("journal in place");
                Ok(())
            });
        written.map_err(ExecError::write("write", &path))
    }

    /// Makes durable that the journal is there, or is not.
    pub(crate) fn sync_state_dir(&self) -> Result<(), ExecError> {
        let dir = self.state_dir();
        agentos_durable::sync_folder(&dir).map_err(ExecError::not_synced)
    }

    pub(crate) fn remove_journal(&self) -> Result<(), ExecError> {
        let path = self.journal_path();
        remove_if_there(&path).map_err(ExecError::write("remove", &path))
    }

    /// Removes the journal for good.
    pub(crate) fn clear_journal(&self) -> Result<(), ExecError> {
        self.remove_journal()?;
        self.sync_state_dir()
    }
}

/// Is it what a loss of power leaves of a file that was not on the disk yet? File systems leave nothing of it, zeros, or
/// its first blocks.
fn is_torn(bytes: &[u8]) -> bool {
    const BLOCK: usize = 4096;
    let is_cut = bytes.len().is_multiple_of(BLOCK) && bytes.last() != Some(&b'}');
    is_cut || bytes.contains(&0)
}

pub(crate) fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}
