//! Joins a change with a person's uncommitted work in the same file, if the two do not touch.
//!
//! Owns: when that is done, what index and working tree get, and the blobs by which it can be repeated or taken back after a
//! crash. Never: decides between two edits of one line, or changes a byte of the person's outside the edits of the change.
//!
//! The commit has the change on top of the base, and nothing of the person's work. Index and working tree each get the edits
//! of the change on top of what they have:
//!
//! | | Base of the merge | Own side | Other side |
//! |---|---|---|---|
//! | working tree | the base as a checkout writes it | the file's bytes | the changed file as a checkout writes it |
//! | index | the base | the staged blob | the changed blob |
//!
//! Every edit of the change must have an unchanged line between itself and the next edit of the person's
//! ([`agentos_landing::merge_apart`]), in both. libgit2 merges the same three contents, and must get the same bytes: two
//! ways of aligning repeated lines would be a guess. A file with a NUL byte, a larger one, a change of mode, a rename and
//! a deletion are refused as before.
//!
//! # After a crash
//!
//! The journal has the exact bytes of all four states as blobs, written and made durable with the other objects, before the
//! branch moves. So recovery compares and writes content as for any other file: what equals the bytes before is replaced by
//! the bytes after, what equals those is done, and anything else is a later save, which stays. Nothing is merged again.
//!
//! | Place | Before the landing | After it |
//! |---|---|---|
//! | commit | `file.old` | `file.new` |
//! | index | `index_old` | `index_new` |
//! | working tree | `tree_old` | `tree_new` |

use std::path::Path;

use agentos_durable::{LinkRule, read_regular_file};
use agentos_index::IndexFile;
use agentos_landing::{FileMode, FileState, MergeConflict, merge_apart};
use git2::{MergeFileInput, Oid};
use serde::{Deserialize, Serialize};

use crate::disk::object_files;
use crate::error::DirtyPath;
use crate::line_ends::LineEnds;
use crate::preflight::{look_at, mode_fits};
use crate::prepare::PreparedChange;
use crate::presence::FilePresence;
use crate::splice::{mode_bits, parse_oid};
use crate::{ExecError, ReceiptFile, RepoError, Repository};

/// State of a file of a change in the working tree, before the change.
#[derive(Debug, Clone)]
pub(crate) struct CheckedFile {
    /// Present conversion of its line ends.
    pub ends: LineEnds,
    /// Presence, which the landing keeps.
    pub presence: FilePresence,
    /// Uncommitted work that does not touch the change, and what it becomes. `None` if there is none.
    pub work: Option<OwnWork>,
}

/// Maximum bytes of a file that is merged. A larger one with uncommitted work is refused.
const LARGEST: u64 = 4 << 20;

/// A person's uncommitted work in one file, and what it becomes.
#[derive(Debug, Clone)]
pub(crate) struct OwnWork {
    /// Bytes of the file in the working tree.
    pub tree_old: Vec<u8>,
    /// Bytes of that file after the landing.
    pub tree_new: Vec<u8>,
    /// Blob in the index.
    pub index_old: String,
    /// Content in the index after the landing.
    pub index_new: Vec<u8>,
}

/// Ids of the blobs with the states of [`OwnWork`], for the journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct KeptWork {
    pub tree_old: String,
    pub tree_new: String,
    pub index_old: String,
    pub index_new: String,
}

/// Outcome of joining a change with uncommitted work.
pub(crate) enum WorkJoin {
    Joined(OwnWork),
    /// Both edit these lines of the person's version, or nothing is between their edits.
    Overlaps((usize, usize)),
    /// Content or mode rules out a merge: binary, too large, deleted, or with another mode.
    Unfit,
}

/// File of a change that has uncommitted work.
pub(crate) struct BusyFile<'a> {
    pub repository: &'a Repository,
    pub index: &'a IndexFile,
    pub root: &'a Path,
    pub file: &'a ReceiptFile,
    /// Present conversion of its line ends.
    pub ends: LineEnds,
}

impl BusyFile<'_> {
    /// Joins the work with a change to `new`. The caller has looked at the folders above the path.
    ///
    /// # Errors
    /// When the file or a blob cannot be read.
    pub(crate) fn join_change(&self, new: Option<&FileState>) -> Result<WorkJoin, ExecError> {
        let (Some(old), Some(new)) = (&self.file.old, new) else {
            return Ok(WorkJoin::Unfit);
        };
        let path = self.file.path.as_str();
        let is_conflicted = (1..=3).any(|stage| self.index.find_entry(path, stage).is_some());
        let Some(entry) = self.index.find_entry(path, 0) else {
            return Ok(WorkJoin::Unfit);
        };
        let full = self.root.join(path);
        let Some(found) = look_at(&full)?.filter(|found| found.is_file() && found.len() <= LARGEST) else {
            return Ok(WorkJoin::Unfit);
        };
        // Only lines can be joined. A mode and the target of a link are one value each, and an entry in conflict or of
        // `git add -N` has no content that could be the staged side.
        let is_fit = old.mode == new.mode
            && old.mode != FileMode::Symlink
            && !is_conflicted
            && !entry.is_intent_to_add()
            && i64::from(entry.mode()) == i64::from(mode_bits(old.mode))
            && mode_fits(self.repository, &found, old.mode);
        if !is_fit {
            return Ok(WorkJoin::Unfit);
        }
        let base = self.read_blob(&old.oid)?;
        let tree_old = read_regular_file(&full, LinkRule::Refused, LARGEST).map_err(RepoError::io(&full))?;
        let base_on_disk = self.ends.to_work_tree(&base);
        let new_on_disk = self.ends.to_work_tree(&new.content);
        // Only the bytes that were read here count. An earlier look may have seen the file before a save.
        let tree = if *tree_old == *base_on_disk {
            Merged::Clean(new_on_disk.to_vec())
        } else {
            merge_twice(&base_on_disk, &tree_old, &new_on_disk)?
        };
        // Merged on its own: `git add -p` leaves a staged content that neither the base nor the working tree has.
        let index_old = entry.blob_id();
        let index = if index_old == old.oid {
            Merged::Clean(new.content.to_vec())
        } else {
            merge_twice(&base, &self.read_blob(&index_old)?, &new.content)?
        };
        Ok(match (tree, index) {
            (Merged::Clean(tree_new), Merged::Clean(index_new)) => WorkJoin::Joined(OwnWork {
                tree_old,
                tree_new,
                index_old,
                index_new,
            }),
            // Both are refused. An overlap comes first, because its refusal can name the lines.
            (Merged::Overlaps(lines), _) | (_, Merged::Overlaps(lines)) => WorkJoin::Overlaps(lines),
            (Merged::Unfit, _) | (_, Merged::Unfit) => WorkJoin::Unfit,
        })
    }

    fn read_blob(&self, id: &str) -> Result<Vec<u8>, ExecError> {
        let blob = self.repository.git.find_blob(parse_oid(id)?);
        let blob = blob.map_err(RepoError::git("read a file of the base"))?;
        Ok(blob.content().to_vec())
    }
}

impl OwnWork {
    /// Writes the blobs of all states, and adds their ids to `written`.
    ///
    /// # Errors
    /// When a blob cannot be written.
    pub(crate) fn store(
        &self,
        git: &git2::Repository,
        written: &mut Vec<Oid>,
    ) -> Result<KeptWork, ExecError> {
        let mut store = |content: &[u8]| {
            let id = git.blob(content);
            let id = id.map_err(ExecError::git("write a file's content"))?;
            written.push(id);
            Ok::<_, ExecError>(id.to_string())
        };
        Ok(KeptWork {
            tree_old: store(&self.tree_old)?,
            tree_new: store(&self.tree_new)?,
            // Not written: the index names this blob, so the object store has it.
            index_old: self.index_old.clone(),
            index_new: store(&self.index_new)?,
        })
    }
}

/// Writes the blobs of all uncommitted work of a landing, to be made durable with its other objects.
///
/// # Errors
/// Those of [`check_conversions`], and when a blob cannot be written.
pub(crate) fn store_work(
    repository: &Repository,
    checked: &[CheckedFile],
    prepared: &mut PreparedChange,
) -> Result<(), ExecError> {
    check_conversions(checked, prepared)?;
    let mut written = Vec::new();
    for file in checked {
        let work = file.work.as_ref();
        let stored = work.map(|work| work.store(&repository.git, &mut written));
        prepared.work.push(stored.transpose()?);
    }
    if !written.is_empty() {
        repository.reach("own work stored");
    }
    // Durable with the other objects, before the branch moves: recovery writes these bytes and merges nothing again.
    let paths = object_files(repository.common_dir(), &written);
    prepared.unsynced.extend(paths);
    Ok(())
}

/// Checks that the change leaves the conversion of files with uncommitted work as it is: with another one, every line of such
/// a file would change.
///
/// # Errors
/// [`ExecError::DirtyOverlap`] if it does not.
pub(crate) fn check_conversions(checked: &[CheckedFile], prepared: &PreparedChange) -> Result<(), ExecError> {
    let files = checked.iter().zip(&prepared.files).zip(&prepared.ends);
    let converted = files.filter(|((file, _), ends)| file.work.is_some() && ends.before != ends.after);
    let paths: Vec<DirtyPath> = converted
        .map(|((_, file), _)| file.path.as_str().to_owned().into())
        .collect();
    if paths.is_empty() {
        Ok(())
    } else {
        Err(ExecError::DirtyOverlap(paths))
    }
}

/// Lists the paths with uncommitted work that is joined with the change.
pub(crate) fn list_merged(checked: &[CheckedFile], prepared: &PreparedChange) -> Vec<String> {
    let files = checked.iter().zip(&prepared.files);
    let merged = files.filter(|(file, _)| file.work.is_some());
    merged.map(|(_, file)| file.path.as_str().to_owned()).collect()
}

/// Result of one merge.
enum Merged {
    Clean(Vec<u8>),
    Overlaps((usize, usize)),
    Unfit,
}

/// Merges by our own rule and by libgit2.
///
/// # Errors
/// When libgit2 fails.
fn merge_twice(base: &[u8], own: &[u8], other: &[u8]) -> Result<Merged, ExecError> {
    // The sizes of base and change were not looked at yet. A NUL byte means binary content to git, which merges no lines
    // of it.
    let is_too_large = |content: &[u8]| u64::try_from(content.len()).is_ok_and(|length| length > LARGEST);
    if [base, own, other]
        .iter()
        .any(|content| is_too_large(content) || content.contains(&0))
    {
        return Ok(Merged::Unfit);
    }
    let merged = match merge_apart(base, own, other) {
        Ok(merged) => merged,
        Err(MergeConflict { own_lines }) => return Ok(Merged::Overlaps(own_lines)),
    };
    let [base, own, other] = [base, own, other].map(|content| {
        let mut input = MergeFileInput::new();
        input.content(content);
        input
    });
    // libgit2 alone aligns repeated lines in one of several ways. Where the two results differ, each of them is a guess.
    let second = git2::merge_file(&base, &own, &other, None);
    let second = second.map_err(ExecError::git("compare two merges of a file"))?;
    Ok(if second.is_automergeable() && second.content() == merged {
        Merged::Clean(merged)
    } else {
        Merged::Unfit
    })
}
