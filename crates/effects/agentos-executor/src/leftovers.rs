//! Files that a landing left under its temporary names when it was killed while writing the working tree.
//!
//! Owns: distinguishing our content from somebody's work there, and moving the latter back. Never: removes content of which
//! it cannot prove that the object store has it, regardless of the outcome of the landing.
//!
//! Each file of a change has one temporary name in the journal, and a spare one that is used only on systems that cannot
//! exchange names ([`crate::exchange`]). `new` is the content of the change, `base` that of the base, `work` anything else;
//! `part` is the beginning of `new`, as staging leaves it when it is killed.
//!
//! | Killed | In the path | Temporary name | Spare name | What is done |
//! |---|---|---|---|---|
//! | while staging | any | part | - | it is removed: the branch never moved |
//! | staged, not exchanged | base or work | new | - | it is removed, and staged again if the change is made |
//! | exchanged | new | base | - | it is removed |
//! | exchanged, the file had been saved just before | new | work | - | the names are exchanged back; the path is kept |
//! | moved back | work | new | - | it is removed; the path is kept |
//! | saved again, or another branch checked out since | work | work | - | it gets a name next to the path |
//! | new file with both names | same file | same file | - | the temporary name is removed |
//! | renamed to be removed | nothing | base | - | it is removed |
//! | renamed, the file had been saved just before | nothing | work | - | it is moved back; the path is kept |
//! | between the steps of an exchange | nothing | new | any | the spare one is moved back to the path |
//! | between the steps of an exchange | new | nothing | any | it is under the temporary name then; see above |
//! | between the steps, and saved meanwhile | work | new | any | the spare one is removed if known, else saved |
//!
//! A loss of power can leave each of these states too, since names of one folder become durable together.

use std::path::Path;

use agentos_durable::{LinkRule, read_regular_file};

use crate::displaced::{DisplacedFiles, remove_temp};
use crate::exchange::{move_to_free_name, spare_name};
use crate::file_state::{OnDisk, are_one_file, read_state};
use crate::journal::JournalFile;
use crate::preflight::look_at;
use crate::worktree::safe_path;
use crate::{ExecError, Repository};

/// Clears the temporary names of a landing that was killed. Returns the paths that contain somebody's work.
///
/// # Errors
/// When a file cannot be moved or removed. Nothing is lost then, and the next call tries again.
pub(crate) fn clear_leftovers(
    repository: &Repository,
    root: &Path,
    files: &[JournalFile],
) -> Result<Vec<String>, ExecError> {
    let mut displaced = DisplacedFiles::new(repository);
    for entry in files {
        let Some(temp) = &entry.temp else {
            continue;
        };
        // If a folder above has been replaced by a link, the files behind it are not ours.
        let (Ok(temp), Ok(place)) = (safe_path(root, temp), safe_path(root, entry.file.path.as_str())) else {
            continue;
        };
        let leftover = LeftoverFile {
            repository,
            entry,
            place: &place,
        };
        leftover.clear_spare(&mut displaced, &temp, &spare_name(&temp))?;
        leftover.clear_temp(&mut displaced, &temp)?;
        repository.reach("leftover cleared");
    }
    Ok(displaced.kept)
}

/// File of a landing that was killed.
struct LeftoverFile<'a> {
    repository: &'a Repository,
    entry: &'a JournalFile,
    place: &'a Path,
}

impl LeftoverFile<'_> {
    fn clear_spare(
        &self,
        displaced: &mut DisplacedFiles<'_>,
        temp: &Path,
        spare: &Path,
    ) -> Result<(), ExecError> {
        if look_at(spare)?.is_none() {
            return Ok(());
        }
        if self.leads_to_the_path(spare)? {
            return remove_temp(spare);
        }
        // The spare name holds the original file. It goes back to the first name that is free: the path, or the temporary
        // name, where `clear_temp` looks at it next.
        let to = match (look_at(self.place)?, look_at(temp)?) {
            (None, _) => self.place,
            (Some(_), None) => temp,
            (Some(_), Some(_)) => return displaced.settle_orphan(self.entry, spare),
        };
        let moved = move_to_free_name(self.repository, spare, to);
        moved.map_err(ExecError::write("give back", spare))
    }

    fn clear_temp(&self, displaced: &mut DisplacedFiles<'_>, temp: &Path) -> Result<(), ExecError> {
        if look_at(temp)?.is_none() {
            return Ok(());
        }
        let is_ours =
            self.leads_to_the_path(temp)? || displaced.is_known(self.entry, temp)? || self.is_begun(temp)?;
        if is_ours {
            return remove_temp(temp);
        }
        let is_there = look_at(self.place)?.is_some();
        let is_new = || read_state(self.repository, self.place, self.entry).unwrap_or(OnDisk::Other);
        if !is_there || (self.entry.file.new.is_some() && is_new() == OnDisk::New) {
            return displaced.give_back(self.entry, temp, self.place);
        }
        displaced.save_elsewhere(self.entry, temp)
    }

    /// Returns whether a name leads to the same file as the path.
    fn leads_to_the_path(&self, name: &Path) -> Result<bool, ExecError> {
        Ok(match (look_at(name)?, look_at(self.place)?) {
            (Some(one), Some(other)) => are_one_file(&one, &other),
            (None, _) | (_, None) => false,
        })
    }

    /// Returns whether a file is the beginning of the change's content, as staging leaves it when it is killed.
    fn is_begun(&self, temp: &Path) -> Result<bool, ExecError> {
        let Ok(bytes) = read_regular_file(temp, LinkRule::Refused, u64::MAX - 1) else {
            return Ok(false);
        };
        Ok(match self.entry.read_staged(self.repository) {
            Ok(Some(content)) => content.starts_with(&bytes),
            // The empty file by which staging tries whether files can be removed from a folder.
            Ok(None) => bytes.is_empty(),
            // Objects are durable before anything is exchanged. So without the object nothing was exchanged, and the temporary
            // name can only hold our own staged content.
            Err(_) => true,
        })
    }
}
