//! Checks, before there is a change, whether files that a task names can be changed in the working tree at all.
//!
//! Owns: the check that a call of a tool is not lost to work that is in the way of any change. Never: writes, or predicts where a
//! change will edit.

use agentos_landing::{FileMode, FileState, RepoPath};
use git2::Tree;

use super::{FoundWork, WorkPaths, look_at_paths};
use crate::base::find_entry;
use crate::index::read_index;
use crate::{ExecError, FileId, ReceiptFile, RepoError, Repository, Target};

impl Repository {
    /// Checks whether existing files can be changed in the working tree at all, whatever the change is. Returns those of them
    /// that have uncommitted work; a change that touches other lines of such a file can land.
    ///
    /// # Errors
    /// [`ExecError::DirtyOverlap`] and others if none of the files can be changed. One that can be is enough to succeed.
    pub fn check_named_files(&self, target: &Target, paths: &[&str]) -> Result<Vec<String>, ExecError> {
        if !self.concerns_work_tree(target) {
            return Ok(Vec::new());
        }
        let root = self.work_dir().ok_or(RepoError::NoWorkTree)?;
        let index = read_index(&self.index_path())?;
        let base = self.find_tree(&target.base_tree)?;
        let (mut busy, mut found) = (Vec::new(), WorkPaths::default());
        let (mut is_free, mut failed) = (false, None);
        for path in paths {
            // A file that the base lacks is refused where the files are read.
            let Some((file, content)) = self.unchanged_file(&base, path)? else {
                is_free = true;
                continue;
            };
            // The content of the base as the new content: no edit can be apart from the work if even no edit is not.
            let states = look_at_paths(self, &index, root, std::slice::from_ref(&file), &[Some(&content)]);
            match states.map(|states| states.into_iter().next().map(|state| state.work)) {
                Ok(None | Some(FoundWork::Nothing)) => is_free = true,
                Ok(Some(FoundWork::Apart(_))) => {
                    is_free = true;
                    busy.push((*path).to_owned());
                }
                Ok(Some(FoundWork::InTheWay(paths))) => {
                    busy.push((*path).to_owned());
                    found.dirty.extend(paths);
                }
                Ok(Some(FoundWork::Hidden(paths))) => {
                    busy.push((*path).to_owned());
                    found.hidden.extend(paths);
                }
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        match found.into_refusal().or(failed) {
            Some(refusal) if !is_free => Err(refusal),
            Some(_) | None => Ok(busy),
        }
    }

    /// Returns a file of the base as a change that leaves its content as it is. `None` if the base has no such file.
    ///
    /// # Errors
    /// When the base cannot be read.
    fn unchanged_file(
        &self,
        base: &Tree<'_>,
        path: &str,
    ) -> Result<Option<(ReceiptFile, FileState)>, ExecError> {
        let failed = || RepoError::git("read a file of the base");
        let (Some(entry), Ok(path)) = (find_entry(base, path).map_err(failed())?, RepoPath::new(path)) else {
            return Ok(None);
        };
        let mode = match entry.filemode() {
            0o100_644 => FileMode::Regular,
            0o100_755 => FileMode::Executable,
            // Folders, links and submodules are not shown to a tool.
            _ => return Ok(None),
        };
        let blob = self.git.find_blob(entry.id()).map_err(failed())?;
        let id = FileId {
            oid: entry.id().to_string(),
            mode,
        };
        let file = ReceiptFile {
            path,
            old: Some(id.clone()),
            new: Some(id),
        };
        let content = FileState {
            mode,
            content: blob.content().into(),
        };
        Ok(Some((file, content)))
    }
}
