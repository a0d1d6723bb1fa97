//! The journal, from which an interrupted landing is finished or rolled back, and the lock that lets one landing at a time
//! run.
//!
//! Owns: `agentos/journal.json`, `agentos/lock` and `agentos/turn` in the common git directory. Never: decides what is done
//! with a journal; recovery does.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use agentos_landing::RepoPath;
use serde::{Deserialize, Serialize};

use crate::line_ends::FileLineEnds;
use crate::own_work::KeptWork;
use crate::presence::FilePresence;
use crate::splice::parse_oid;
use crate::{ExecError, ReceiptFile, Repository, Writes};

/// Journal of the landing that is under way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Journal {
    pub v: u32,
    pub run: String,
    pub writes: Writes,
    pub refname: String,
    /// Commit that the ref leads to before the landing.
    pub parent: String,
    /// Commit that the ref is moved to. `None` if the landing makes no commit.
    pub commit: Option<String>,
    /// True once the change counts as made in a landing that moves no ref.
    pub decided: bool,
    /// Name of the machine's last start, by [`boot_name`]. Empty in a journal of an earlier version, which made the branch durable
    /// before it wrote anything else.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub boot: String,
    /// Working tree that is written, which may be another one than that of the reader. `None` if none is written.
    pub work_dir: Option<PathBuf>,
    pub files: Vec<JournalFile>,
}

/// File of a landing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct JournalFile {
    pub file: ReceiptFile,
    /// Temporary name of its new content, relative to the working tree. `None` if the file is not written there.
    pub temp: Option<String>,
    /// Conversion of its line ends in the working tree.
    #[serde(default, skip_serializing_if = "FileLineEnds::are_kept")]
    pub ends: FileLineEnds,
    /// Presence in the working tree. A file that a sparse checkout leaves out has no temporary name.
    #[serde(default, skip_serializing_if = "FilePresence::is_checked_out")]
    pub presence: FilePresence,
    /// States of index and working tree with a person's uncommitted work. `None` if both had the base's content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<KeptWork>,
}

impl Journal {
    /// Counts the files that are written to the working tree. A sparse checkout leaves out the others.
    pub fn written_files(&self) -> usize {
        self.files
            .iter()
            .filter(|entry| entry.presence.is_written())
            .count()
    }

    /// Returns whether earlier writes may be lost although later ones are there. Only a loss of power or a crash of the
    /// system does that, so the machine must have been started since.
    pub fn may_have_holes(&self) -> bool {
        !self.boot.is_empty() && (self.boot == UNKNOWN || self.boot != boot_name())
    }
}

/// Value on a system that does not distinguish one start of the machine from another.
const UNKNOWN: &str = "unknown";

/// Returns a name for the machine's last start (random(4), `boot_id`).
pub(crate) fn boot_name() -> String {
    let boot_id = fs::read_to_string("/proc/sys/kernel/random/boot_id");
    let boot_id = boot_id.map(|text| text.trim().to_owned()).unwrap_or_default();
    if boot_id.is_empty() {
        UNKNOWN.to_owned()
    } else {
        boot_id
    }
}

impl JournalFile {
    /// Reads the exact bytes that the working tree gets. `None` if the file is deleted.
    ///
    /// # Errors
    /// When the object store does not have them.
    pub fn read_staged(&self, repository: &Repository) -> Result<Option<Vec<u8>>, ExecError> {
        let Some(new) = &self.file.new else {
            return Ok(None);
        };
        let id = self.work.as_ref().map_or(&new.oid, |work| &work.tree_new);
        let blob = repository.git.find_blob(parse_oid(id)?);
        let blob = blob.map_err(ExecError::git("read a new file"))?;
        Ok(Some(match &self.work {
            // These are the bytes themselves: they have the line ends of the working tree, and a conversion could change lines of
            // the person's.
            Some(_) => blob.content().to_vec(),
            None => self.ends.after.to_work_tree(blob.content()).into_owned(),
        }))
    }

    /// Returns whether the temporary name has the form of ours.
    fn is_sound(&self) -> bool {
        // Recovery removes files under this name. A journal that somebody else wrote must not choose which.
        self.temp.as_deref().is_none_or(|temp| {
            let name = temp.rsplit('/').next().unwrap_or(temp);
            RepoPath::new(temp).is_ok() && name.starts_with(".agentos-") && name.ends_with(".tmp")
        })
    }
}

/// Lock of a landing that is under way. The system releases it when its holder ends, even by a kill.
pub(crate) struct LandingLock {
    _file: File,
}

impl Repository {
    /// Waits for other landings to end, and locks the repository against new ones.
    ///
    /// # Errors
    /// When the lock file cannot be opened or locked.
    pub(crate) fn lock_landings(&self) -> Result<LandingLock, ExecError> {
        self.lock_file("lock")
    }

    /// Waits for other landings whose base moved too, so that one of them at a time lands again.
    ///
    /// # Errors
    /// When the lock file cannot be opened or locked.
    pub(crate) fn wait_for_turn(&self) -> Result<LandingLock, ExecError> {
        self.lock_file("turn")
    }

    fn lock_file(&self, name: &str) -> Result<LandingLock, ExecError> {
        let dir = self.own_dir()?;
        let path = dir.join(name);
        // A link would let us create or lock a file elsewhere, and a FIFO would keep us waiting.
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
        Ok(LandingLock { _file: file })
    }

    /// Returns the folder for our own state, and creates it if necessary.
    ///
    /// # Errors
    /// When it cannot be created, or something else has its name: a link would lead our writes elsewhere.
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
            // Another process was quicker.
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

    /// Returns the path of the lock file that git and libgit2 create to move a ref.
    pub(crate) fn ref_lock_path(&self, refname: &str) -> PathBuf {
        self.common_dir().join(format!("{refname}.lock"))
    }

    pub(crate) fn journal_path(&self) -> PathBuf {
        self.state_dir().join("journal.json")
    }

    /// Reads the journal. `None` if there is none, or a loss of power left only a part of one that was not durable yet.
    ///
    /// # Errors
    /// [`ExecError::BadJournal`] if it is not a journal of ours; other errors as the system reports them.
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
        // A journal becomes durable before anything rests on it, so behind a torn one nothing has happened.
        if is_torn(&bytes) {
            return Ok(None);
        }
        let journal = serde_json::from_slice::<Journal>(&bytes).ok();
        let journal =
            journal.filter(|journal| journal.v == 1 && journal.files.iter().all(JournalFile::is_sound));
        journal.map(Some).ok_or(ExecError::BadJournal(path))
    }

    /// Writes the first journal of a landing and returns the paths that must be synced for it to be durable. Nothing may
    /// rest on it before: a loss of power can leave its name without its content.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(crate) fn begin_journal(&self, journal: &Journal) -> Result<Vec<PathBuf>, ExecError> {
        self.put_journal(journal, |_| Ok(()))?;
        let mut unsynced = vec![self.journal_path()];
        unsynced.extend(agentos_durable::syncable_folder(self.state_dir()));
        Ok(unsynced)
    }

    /// Replaces the journal in one step. Its content is durable then; its name only after [`Repository::sync_state_dir`].
    ///
    /// # Errors
    /// When it cannot be written or synced. The old journal is unchanged then.
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
                // A crash may have left a file there, which is ours. A link in its place must not be written through.
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

    /// Makes the names in our state folder durable: that the journal exists, or that it is removed.
    ///
    /// # Errors
    /// When the folder cannot be synced.
    pub(crate) fn sync_state_dir(&self) -> Result<(), ExecError> {
        let dir = self.state_dir();
        agentos_durable::sync_folder(&dir).map_err(ExecError::not_synced)
    }

    pub(crate) fn remove_journal(&self) -> Result<(), ExecError> {
        let path = self.journal_path();
        remove_if_there(&path).map_err(ExecError::write("remove", &path))
    }

    /// Removes the journal and makes the removal durable.
    ///
    /// # Errors
    /// When it cannot be removed or the folder cannot be synced.
    pub(crate) fn clear_journal(&self) -> Result<(), ExecError> {
        self.remove_journal()?;
        self.sync_state_dir()
    }
}

/// Returns whether this is the content that a loss of power leaves of a file that was not durable: file systems leave
/// nothing, zeros, or the first blocks.
fn is_torn(bytes: &[u8]) -> bool {
    const BLOCK: usize = 4096;
    // A whole journal ends with a brace. One of several whole blocks without it lost its end; an empty one is such a case.
    let is_cut = bytes.len().is_multiple_of(BLOCK) && bytes.last() != Some(&b'}');
    is_cut || bytes.contains(&0)
}

/// Removes a file. A missing one is no error.
///
/// # Errors
/// When it exists and cannot be removed.
pub(crate) fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}
