//! Replaces and removes files of the working tree so that a file that is saved in the last moment is not lost.
//!
//! Owns: moving a file from its path to a temporary name, the look at it there, and moving it back. Never: removes content
//! of which it cannot prove that the object store has it.
//!
//! # The problem
//!
//! Every file is looked at before it is replaced or removed, but another program may save it between the look and the step.
//! `rename(2)` would discard that save without a trace.
//!
//! # The steps
//!
//! 1. A file that is replaced exchanges names with the staged one. A file that is removed is renamed to a temporary name.
//!    Neither discards anything.
//! 2. The file is looked at again, under the temporary name, where no other program looks for it. If it equals neither the
//!    base nor the change, it goes back to its path and is reported as kept.
//! 3. Otherwise it waits until a number of other files are at their paths, because a program may still write into the file
//!    that it opened before step 1.
//! 4. It is removed if no program has it open for writing, which a lease shows (fcntl(2)), and it was not written since
//!    step 2. Otherwise it goes back.
//!
//! One gap remains: on a system or file system without leases, and for files of another user, a program that opened the
//! file before step 1 and writes only after step 4 writes into a file without a name.
//!
//! | At the path | Under the temporary name | What is done |
//! |---|---|---|
//! | staged content | equals base or change | it is removed |
//! | staged content | anything else | the names are exchanged back; the path is kept |
//! | saved again during that | staged content before | the newest save stays; the older one gets a name next to it |
//! | nothing (removal) | equals the base | it is removed |
//! | nothing (removal) | anything else | it is moved back; the path is kept |
//! | saved again (removal) | anything but the base | both stay, the older one under a name next to it |
//!
//! The module `leftovers` has the same table for a landing that was killed.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use agentos_durable::{LinkRule, has_writer, open_regular_file};

use crate::disk::ReplacedFiles;
use crate::exchange::{ExchangeResult, exchange, move_to_free_name, spare_name};
use crate::file_state::{FileStamp, OnDisk, read_state};
use crate::journal::JournalFile;
use crate::preflight::look_at;
use crate::{ExecError, Repository};

/// Maximum number of files that wait under temporary names. Together with those that [`ReplacedFiles`] keeps open they are fewer
/// than the 256 open files that macOS allows a process.
const MOST_WAITING: usize = 64;
/// Maximum number of names tried for a save whose path is taken.
const MOST_NAMES: u32 = 1000;

/// Files that were moved from their paths to temporary names.
pub(crate) struct DisplacedFiles<'a> {
    repository: &'a Repository,
    waiting: Vec<DisplacedFile<'a>>,
    /// Paths that contain somebody's later work, and names under which such work was saved.
    pub kept: Vec<String>,
    /// Removed files that are still open.
    pub replaced: ReplacedFiles,
}

/// File that equals the base or the change, under a temporary name.
struct DisplacedFile<'a> {
    entry: &'a JournalFile,
    /// Temporary name.
    temp: PathBuf,
    /// Path in the working tree.
    place: PathBuf,
    /// Stamp at the time of the look.
    stamp: FileStamp,
    /// Open file, for the question whether another program writes it. `None` if it is a link.
    file: Option<File>,
}

impl<'a> DisplacedFiles<'a> {
    pub(crate) fn new(repository: &'a Repository) -> Self {
        Self {
            repository,
            waiting: Vec::new(),
            kept: Vec::new(),
            replaced: ReplacedFiles::default(),
        }
    }

    /// Notes a path that contains somebody's work.
    pub(crate) fn keep_path(&mut self, path: &str) {
        if !self.kept.iter().any(|kept| kept == path) {
            self.kept.push(path.to_owned());
        }
    }

    /// Moves a staged file to a path that has a file. Afterwards the path is kept or has the staged content.
    ///
    /// # Errors
    /// When a name cannot be changed.
    pub(crate) fn replace_file(
        &mut self,
        entry: &'a JournalFile,
        temp: PathBuf,
        place: PathBuf,
    ) -> Result<(), ExecError> {
        match exchange(self.repository, &temp, &place) {
            Ok(ExchangeResult::Wholly) => {
                self.repository.reach("names exchanged");
                self.look_at_displaced(entry, temp, place)
            }
            Ok(ExchangeResult::SavedMeanwhile) => {
                self.keep_path(entry.file.path.as_str());
                remove_temp(&temp)?;
                self.settle_orphan(entry, &spare_name(&temp))
            }
            // Another program removed the file in this moment. Its removal counts as work and is kept.
            Err(error) if error.kind() == io::ErrorKind::NotFound && look_at(&place)?.is_none() => {
                self.keep_path(entry.file.path.as_str());
                remove_temp(&temp)
            }
            Err(error) => Err(ExecError::write("replace", &place)(error)),
        }
    }

    /// Removes a file of the working tree. Afterwards the path is kept or free.
    ///
    /// # Errors
    /// When a name cannot be changed.
    pub(crate) fn remove_file(
        &mut self,
        entry: &'a JournalFile,
        temp: PathBuf,
        place: PathBuf,
    ) -> Result<(), ExecError> {
        match move_to_free_name(self.repository, &place, &temp) {
            Ok(()) => {
                self.repository.reach("file moved aside");
                self.look_at_displaced(entry, temp, place)
            }
            // Another program removed it in this moment, which is what was to be done.
            Err(error) if error.kind() == io::ErrorKind::NotFound && look_at(&place)?.is_none() => Ok(()),
            Err(error) => Err(ExecError::write("remove", &place)(error)),
        }
    }

    /// Looks at a file under its temporary name, and moves it back unless it equals one side of the change.
    ///
    /// # Errors
    /// When it cannot be looked at or moved.
    fn look_at_displaced(
        &mut self,
        entry: &'a JournalFile,
        temp: PathBuf,
        place: PathBuf,
    ) -> Result<(), ExecError> {
        let Some(found) = look_at(&temp)? else {
            // Another program removed the folder with everything in it.
            return Ok(());
        };
        // The stamp is taken before the content is read, so that a write in between shows as a difference in `remove_waiting`.
        let stamp = FileStamp::from_metadata(&found);
        if !self.is_known(entry, &temp)? {
            return self.give_back(entry, &temp, &place);
        }
        let file = found
            .is_file()
            .then(|| open_regular_file(&temp, LinkRule::Refused).ok())
            .flatten();
        self.waiting.push(DisplacedFile {
            entry,
            temp,
            place,
            stamp,
            file,
        });
        if self.waiting.len() >= MOST_WAITING {
            self.remove_waiting()?;
        }
        Ok(())
    }

    /// Removes the waiting files. A file that another program is writing, or has written since the look, is moved back.
    ///
    /// # Errors
    /// When a file cannot be removed or moved.
    pub(crate) fn remove_waiting(&mut self) -> Result<(), ExecError> {
        for displaced in std::mem::take(&mut self.waiting) {
            let DisplacedFile {
                entry,
                temp,
                place,
                stamp,
                file,
            } = displaced;
            // First the question for a writer, then the stamp: a writer that ends between the two has changed the stamp. In
            // the other order its write would be missed.
            let is_written = file.as_ref().and_then(has_writer).unwrap_or(false);
            let found = look_at(&temp)?;
            let is_same = found.is_none_or(|found| FileStamp::from_metadata(&found) == stamp);
            if is_written || !is_same {
                self.give_back(entry, &temp, &place)?;
                continue;
            }
            remove_temp(&temp)?;
            self.replaced.extend(file);
            self.repository.reach("file removed");
        }
        Ok(())
    }

    /// Returns whether a file equals one side of the change, so that removing it loses nothing. Returns false for a file that
    /// cannot be read.
    ///
    /// # Errors
    /// When the name cannot be looked at.
    pub(crate) fn is_known(&self, entry: &JournalFile, temp: &Path) -> Result<bool, ExecError> {
        if look_at(temp)?.is_none_or(|found| found.is_dir()) {
            return Ok(false);
        }
        let state = read_state(self.repository, temp, entry).unwrap_or(OnDisk::Other);
        Ok(state != OnDisk::Other)
    }

    /// Moves somebody's work back to its path, where our content or nothing is now.
    ///
    /// # Errors
    /// When a name cannot be changed.
    pub(crate) fn give_back(
        &mut self,
        entry: &JournalFile,
        temp: &Path,
        place: &Path,
    ) -> Result<(), ExecError> {
        self.keep_path(entry.file.path.as_str());
        let failed = || ExecError::write("give back", place);
        if entry.file.new.is_some() {
            match exchange(self.repository, temp, place) {
                Ok(ExchangeResult::Wholly) => {
                    self.repository.reach("file given back");
                    return self.check_returned(entry, temp, place);
                }
                Ok(ExchangeResult::SavedMeanwhile) => {
                    self.settle_orphan(entry, &spare_name(temp))?;
                    return self.save_elsewhere(entry, temp);
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(failed()(error)),
            }
        }
        match move_to_free_name(self.repository, temp, place) {
            Ok(()) => self.repository.reach("file given back"),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => self.save_elsewhere(entry, temp)?,
            // Another program removed the folder with everything in it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed()(error)),
        }
        Ok(())
    }

    /// Removes our content after it was exchanged for somebody's work. If it is not our content, the path was saved again in
    /// between: the newer save goes back to the path, and the older one gets a name of its own.
    ///
    /// # Errors
    /// When a name cannot be changed.
    fn check_returned(&mut self, entry: &JournalFile, temp: &Path, place: &Path) -> Result<(), ExecError> {
        if self.is_ours(entry, temp)? {
            return remove_temp(temp);
        }
        if look_at(temp)?.is_none() {
            return Ok(());
        }
        match exchange(self.repository, temp, place) {
            Ok(ExchangeResult::Wholly) => self.save_elsewhere(entry, temp),
            Ok(ExchangeResult::SavedMeanwhile) => {
                self.save_elsewhere(entry, &spare_name(temp))?;
                self.save_elsewhere(entry, temp)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => self.save_elsewhere(entry, temp),
            Err(error) => Err(ExecError::write("give back", place)(error)),
        }
    }

    /// Returns whether a file has the content of the change, and no program is writing it.
    ///
    /// # Errors
    /// When the name cannot be looked at.
    fn is_ours(&self, entry: &JournalFile, temp: &Path) -> Result<bool, ExecError> {
        // A link cannot be open for writing, and its target is compared as a whole.
        let found = look_at(temp)?;
        let is_link = found.as_ref().is_some_and(|found| found.is_symlink());
        let is_file = is_link || found.is_some_and(|found| found.is_file());
        let state = read_state(self.repository, temp, entry).unwrap_or(OnDisk::Other);
        let is_written = || {
            let file = open_regular_file(temp, LinkRule::Refused);
            file.is_ok_and(|file| has_writer(&file).unwrap_or(false))
        };
        Ok(is_file && state == OnDisk::New && (is_link || !is_written()))
    }

    /// Removes a file whose path has another file by now, if it equals one side of the change. Otherwise gives it a name of
    /// its own.
    ///
    /// # Errors
    /// When a name cannot be changed.
    pub(crate) fn settle_orphan(&mut self, entry: &JournalFile, temp: &Path) -> Result<(), ExecError> {
        if self.is_known(entry, temp)? {
            return remove_temp(temp);
        }
        self.save_elsewhere(entry, temp)
    }

    /// Gives somebody's work whose path is taken a name next to that path, and reports the name.
    ///
    /// # Errors
    /// When it cannot be renamed. It stays under its temporary name then.
    pub(crate) fn save_elsewhere(&mut self, entry: &JournalFile, temp: &Path) -> Result<(), ExecError> {
        let path = entry.file.path.as_str();
        self.keep_path(path);
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        // The temporary name may be in a folder above the path, if the path's own folder did not exist when it was chosen.
        let folder = match temp.parent() {
            Some(above) if above.ends_with(folder) => folder,
            Some(_) | None => "",
        };
        for number in 1..MOST_NAMES {
            let saved = temp.with_file_name(format!("{name}.agentos-saved-{number}"));
            match move_to_free_name(self.repository, temp, &saved) {
                Ok(()) => {
                    let separator = if folder.is_empty() { "" } else { "/" };
                    self.keep_path(&format!("{folder}{separator}{name}.agentos-saved-{number}"));
                    return Ok(());
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
                // The error names the temporary name, where the file stays.
                Err(error) => return Err(ExecError::write("save", temp)(error)),
            }
        }
        Err(ExecError::write("save", temp)(
            io::ErrorKind::AlreadyExists.into(),
        ))
    }
}

/// Removes a file under a temporary name. A missing one is no error.
///
/// # Errors
/// When it exists and cannot be removed.
pub(crate) fn remove_temp(temp: &Path) -> Result<(), ExecError> {
    match fs::remove_file(temp) {
        Ok(()) => Ok(()),
        // NotADirectory: its folder was replaced by a file.
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            Ok(())
        }
        Err(error) => Err(ExecError::write("remove", temp)(error)),
    }
}
