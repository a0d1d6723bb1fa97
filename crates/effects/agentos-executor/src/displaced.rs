//! Replacing and removing files of the working tree so that nothing saved in the last moment is lost.
//!
//! Owns: taking a file out of its place, the look at what came out, and giving it back. Never: removes what it cannot
//! prove to be in the object store already.
//!
//! Every file is looked at before it is replaced or removed, but another program may save it between the look and the
//! step. So a step never discards: a file that is replaced changes names with the staged one, a file that is removed is
//! moved to a name of ours, and what came out is looked at under that name, where nobody else looks for it. Only what
//! equals the base or the change is removed then. Anything else goes back to its place and is reported as kept.
//!
//! A program may also write into the file that it opened before, which is now under our name. What came out therefore
//! waits until a number of files are in their places, and is removed only if nobody has it open for writing (a lease
//! says so, fcntl(2)) and it was not written since the look. What remains: on a system or file system without leases,
//! and for files that belong to another user, a program that opened the file before the exchange and writes only after
//! the removal writes into a file without a name.
//!
//! | In the path | Under our name | What is done |
//! |---|---|---|
//! | staged content | equals base or change | it is removed |
//! | staged content | anything else | the names are exchanged back; the path is kept |
//! | saved once more while that happens | staged content, before | the newest save stays; the older one gets a name next to it |
//! | nothing (removal) | equals the base | it is removed |
//! | nothing (removal) | anything else | it is moved back; the path is kept |
//! | saved again (removal) | anything but the base | both stay, the older one under a name next to it |
//!
//! The module `leftovers` has the same table for a landing that was killed.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use agentos_durable::{Links, has_writer, open_plain_file};

use crate::disk::Replaced;
use crate::exchange::{Exchanged, exchange, move_to_free_name, spare_name};
use crate::file_state::{FileStamp, OnDisk, read_state};
use crate::journal::JournalFile;
use crate::preflight::look_at;
use crate::{ExecError, Repository};

/// Files that wait under our names at a time. With those that [`Replaced`] keeps they are fewer than the 256 open files
/// that macOS allows a process.
const MOST_WAITING: usize = 64;
/// Names tried for a save that has lost its place.
const MOST_NAMES: u32 = 1000;

/// Files taken out of their places.
pub(crate) struct DisplacedFiles<'a> {
    repository: &'a Repository,
    waiting: Vec<DisplacedFile<'a>>,
    /// Paths that hold somebody's later work, and names under which such work was saved.
    pub kept: Vec<String>,
    /// Files that were removed, to be closed at leisure.
    pub replaced: Replaced,
}

/// A file that equals the base or the change, under a name of ours.
struct DisplacedFile<'a> {
    entry: &'a JournalFile,
    /// The name of ours.
    temp: PathBuf,
    /// Its own path.
    place: PathBuf,
    /// How it was when it was looked at.
    stamp: FileStamp,
    /// `None` if it is a link.
    file: Option<File>,
}

impl<'a> DisplacedFiles<'a> {
    pub(crate) fn new(repository: &'a Repository) -> Self {
        Self {
            repository,
            waiting: Vec::new(),
            kept: Vec::new(),
            replaced: Replaced::default(),
        }
    }

    /// Notes a path that holds somebody's work.
    pub(crate) fn keep(&mut self, path: &str) {
        if !self.kept.iter().any(|kept| kept == path) {
            self.kept.push(path.to_owned());
        }
    }

    /// Brings a staged file to a path that holds a file. Afterwards the path is kept or holds the staged content.
    pub(crate) fn replace(
        &mut self,
        entry: &'a JournalFile,
        temp: PathBuf,
        place: PathBuf,
    ) -> Result<(), ExecError> {
        match exchange(self.repository, &temp, &place) {
            Ok(Exchanged::Wholly) => {
                self.repository.reach("names exchanged");
                self.look(entry, temp, place)
            }
            Ok(Exchanged::SavedMeanwhile) => {
                self.keep(entry.file.path.as_str());
                remove(&temp)?;
                self.settle_orphan(entry, &spare_name(&temp))
            }
            // Somebody removed the file in this moment.
            Err(error) if error.kind() == io::ErrorKind::NotFound && look_at(&place)?.is_none() => {
                self.keep(entry.file.path.as_str());
                remove(&temp)
            }
            Err(error) => Err(ExecError::write("replace", &place)(error)),
        }
    }

    /// Takes a file away. Afterwards the path is kept or holds nothing.
    pub(crate) fn remove(
        &mut self,
        entry: &'a JournalFile,
        temp: PathBuf,
        place: PathBuf,
    ) -> Result<(), ExecError> {
        match move_to_free_name(self.repository, &place, &temp) {
            Ok(()) => {
                self.repository.reach("file moved aside");
                self.look(entry, temp, place)
            }
            // Somebody else removed it in this moment.
            Err(error) if error.kind() == io::ErrorKind::NotFound && look_at(&place)?.is_none() => Ok(()),
            Err(error) => Err(ExecError::write("remove", &place)(error)),
        }
    }

    /// Looks at what came out, and gives it back unless it equals one side of the change.
    fn look(&mut self, entry: &'a JournalFile, temp: PathBuf, place: PathBuf) -> Result<(), ExecError> {
        let Some(found) = look_at(&temp)? else {
            // Somebody removed the folder with all that was in it.
            return Ok(());
        };
        let stamp = FileStamp::from_metadata(&found);
        if !self.is_known(entry, &temp)? {
            return self.give_back(entry, &temp, &place);
        }
        let file = found
            .is_file()
            .then(|| open_plain_file(&temp, Links::Refused).ok())
            .flatten();
        self.waiting.push(DisplacedFile {
            entry,
            temp,
            place,
            stamp,
            file,
        });
        if self.waiting.len() >= MOST_WAITING {
            self.finish()?;
        }
        Ok(())
    }

    /// Removes what waits under our names, unless somebody writes it or wrote it since it was looked at: then it is
    /// given back.
    pub(crate) fn finish(&mut self) -> Result<(), ExecError> {
        for displaced in std::mem::take(&mut self.waiting) {
            let DisplacedFile {
                entry,
                temp,
                place,
                stamp,
                file,
            } = displaced;
            // The writer is asked for first: one that has ended by then has left another stamp.
            let is_written = file.as_ref().and_then(has_writer).unwrap_or(false);
            let found = look_at(&temp)?;
            let is_same = found.is_none_or(|found| FileStamp::from_metadata(&found) == stamp);
            if is_written || !is_same {
                self.give_back(entry, &temp, &place)?;
                continue;
            }
            remove(&temp)?;
            self.replaced.extend(file);
            self.repository.reach("file removed");
        }
        Ok(())
    }

    /// Is this a file of one of the two sides, so that nothing is lost with it? What cannot be read is not.
    pub(crate) fn is_known(&self, entry: &JournalFile, temp: &Path) -> Result<bool, ExecError> {
        if look_at(temp)?.is_none_or(|found| found.is_dir()) {
            return Ok(false);
        }
        let state = read_state(self.repository, temp, entry).unwrap_or(OnDisk::Other);
        Ok(state != OnDisk::Other)
    }

    /// Brings somebody's work back to its place, where nothing or our content is now.
    pub(crate) fn give_back(
        &mut self,
        entry: &JournalFile,
        temp: &Path,
        place: &Path,
    ) -> Result<(), ExecError> {
        self.keep(entry.file.path.as_str());
        let failed = || ExecError::write("give back", place);
        if entry.file.new.is_some() {
            match exchange(self.repository, temp, place) {
                Ok(Exchanged::Wholly) => {
                    self.repository.reach("file given back");
                    return self.check_returned(entry, temp, place);
                }
                Ok(Exchanged::SavedMeanwhile) => {
                    self.settle_orphan(entry, &spare_name(temp))?;
                    return self.rescue(entry, temp);
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(failed()(error)),
            }
        }
        match move_to_free_name(self.repository, temp, place) {
            Ok(()) => self.repository.reach("file given back"),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => self.rescue(entry, temp)?,
            // Somebody removed the folder with all that was in it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed()(error)),
        }
        Ok(())
    }

    /// Removes our content that came back for somebody's work. If it is not ours, the path was saved once more: the
    /// newer save goes back, and the older one gets a name of its own.
    fn check_returned(&mut self, entry: &JournalFile, temp: &Path, place: &Path) -> Result<(), ExecError> {
        if self.is_ours(entry, temp)? {
            return remove(temp);
        }
        if look_at(temp)?.is_none() {
            return Ok(());
        }
        match exchange(self.repository, temp, place) {
            Ok(Exchanged::Wholly) => self.rescue(entry, temp),
            Ok(Exchanged::SavedMeanwhile) => {
                self.rescue(entry, &spare_name(temp))?;
                self.rescue(entry, temp)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => self.rescue(entry, temp),
            Err(error) => Err(ExecError::write("give back", place)(error)),
        }
    }

    /// Is it the content of the change, which nobody is writing?
    fn is_ours(&self, entry: &JournalFile, temp: &Path) -> Result<bool, ExecError> {
        let is_file = look_at(temp)?.is_some_and(|found| found.is_file());
        let state = read_state(self.repository, temp, entry).unwrap_or(OnDisk::Other);
        let is_written = || {
            let file = open_plain_file(temp, Links::Refused);
            file.is_ok_and(|file| has_writer(&file).unwrap_or(false))
        };
        Ok(is_file && state == OnDisk::New && !is_written())
    }

    /// Removes a file whose path holds another save by now, if it equals one side of the change; else gives it a name
    /// of its own.
    pub(crate) fn settle_orphan(&mut self, entry: &JournalFile, temp: &Path) -> Result<(), ExecError> {
        if self.is_known(entry, temp)? {
            return remove(temp);
        }
        self.rescue(entry, temp)
    }

    /// Gives somebody's work that has lost its place a name next to it, and reports that name.
    pub(crate) fn rescue(&mut self, entry: &JournalFile, temp: &Path) -> Result<(), ExecError> {
        let path = entry.file.path.as_str();
        self.keep(path);
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        // A file waits in the folder of its path or above it.
        let folder = match temp.parent() {
            Some(above) if above.ends_with(folder) => folder,
            Some(_) | None => "",
        };
        for number in 1..MOST_NAMES {
            let saved = temp.with_file_name(format!("{name}.agentos-saved-{number}"));
            match move_to_free_name(self.repository, temp, &saved) {
                Ok(()) => {
                    let separator = if folder.is_empty() { "" } else { "/" };
                    self.keep(&format!("{folder}{separator}{name}.agentos-saved-{number}"));
                    return Ok(());
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
                // It stays under our name, and the error names it.
                Err(error) => return Err(ExecError::write("save", temp)(error)),
            }
        }
        Err(ExecError::write("save", temp)(
            io::ErrorKind::AlreadyExists.into(),
        ))
    }
}

/// Removes a file under a name of ours, as far as it is there.
pub(crate) fn remove(temp: &Path) -> Result<(), ExecError> {
    match fs::remove_file(temp) {
        Ok(()) => Ok(()),
        // Nor is it there if the folder it was in became a file.
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
