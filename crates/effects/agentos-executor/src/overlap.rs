//! Refuses a change of paths with uncommitted work that it touches, so that no work of the user is lost.
//!
//! Owns: finding uncommitted work, links and conversions at or above a path of the change. Never: writes. Another program
//! can still change a file between this look and the write: each file is looked at again directly before it is replaced, and
//! once more afterwards, under a temporary name (`displaced`).

use std::collections::BTreeSet;
use std::fs::{self, Metadata};
use std::path::Path;

use agentos_durable::LinkRule;
use agentos_index::IndexFile;
use agentos_landing::{Change, FileMode, FileState};
use git2::{AttrCheckFlags, Index};

use crate::conversion::{AttributeSource, FileConversion, NAMES};
use crate::error::DirtyPath;
use crate::filters::index_entry;
use crate::line_ends::LineEnds;
use crate::mentions::{AttributeMentions, is_odd, link_error};
use crate::own_work::{BusyFile, CheckedFile, OwnWork, WorkJoin};
use crate::preflight::{
    FileContent, ancestor_folders, attributes_in, is_base_content, link_is, look_at, mode_fits,
};
use crate::presence::{FilePresence, decide_presence, is_indexed_base};
use crate::splice::parse_oid;
use crate::{ExecError, FileId, ReceiptFile, RepoError, Repository};

mod named_files;

/// Maximum number of paths in one refusal.
const MAX_NAMED: usize = 50;

/// Checks every path of a change in index and working tree, and returns the present state of each. The caller holds the lock
/// of the index.
///
/// # Errors
/// [`ExecError::DirtyOverlap`] or [`ExecError::HiddenWork`] if a path has uncommitted work; others if it cannot be written
/// safely.
pub(crate) fn check_paths(
    repository: &Repository,
    index: &IndexFile,
    root: &Path,
    change: &Change,
    files: &[ReceiptFile],
) -> Result<Vec<CheckedFile>, ExecError> {
    let new: Vec<_> = change.files().iter().map(|file| file.new.as_ref()).collect();
    let mut found = WorkPaths::default();
    let mut checked = Vec::with_capacity(files.len());
    for state in look_at_paths(repository, index, root, files, &new)? {
        let work = match state.work {
            FoundWork::Nothing => None,
            FoundWork::Apart(work) => Some(*work),
            FoundWork::InTheWay(paths) => {
                found.dirty.extend(paths);
                None
            }
            FoundWork::Hidden(paths) => {
                found.hidden.extend(paths);
                None
            }
        };
        checked.push(CheckedFile {
            ends: state.ends,
            presence: state.presence,
            work,
        });
    }
    found.into_refusal().map_or(Ok(checked), Err)
}

/// Paths with uncommitted work that a change would overwrite.
#[derive(Default)]
struct WorkPaths {
    dirty: BTreeSet<DirtyPath>,
    hidden: BTreeSet<String>,
}

impl WorkPaths {
    /// Makes the refusal that names the paths. `None` if there are none.
    fn into_refusal(self) -> Option<ExecError> {
        let Self { dirty, hidden } = self;
        match (dirty.is_empty(), hidden.is_empty()) {
            (true, true) => None,
            (true, false) => Some(ExecError::HiddenWork(first_paths(hidden))),
            (false, _) => Some(ExecError::DirtyOverlap(first_paths(
                dirty.into_iter().chain(hidden.into_iter().map(DirtyPath::from)),
            ))),
        }
    }
}

/// Present state of one path, and the uncommitted work there.
struct PathState {
    ends: LineEnds,
    presence: FilePresence,
    work: FoundWork,
}

/// Looks at the path of each file, which is to have the content in `new` at the same position.
///
/// # Errors
/// When a path cannot be written safely, or cannot be read.
fn look_at_paths(
    repository: &Repository,
    index: &IndexFile,
    root: &Path,
    files: &[ReceiptFile],
    new: &[Option<&FileState>],
) -> Result<Vec<PathState>, ExecError> {
    let deleted = files
        .iter()
        .filter(|file| file.new.is_none())
        .map(|file| file.path.as_str())
        .collect();
    let patterns = repository.sparse_patterns()?;
    let mut presences = Vec::with_capacity(files.len());
    for file in files {
        let is_there = look_at(&root.join(file.path.as_str()))?.is_some();
        presences.push(decide_presence(index, patterns.as_ref(), file, is_there));
    }
    let written: Vec<&str> = files
        .iter()
        .zip(&presences)
        .filter_map(|(file, presence)| presence.is_written().then_some(file.path.as_str()))
        .collect();
    let asked = choose_query(repository, index, root, &written)?;
    let conversion = FileConversion {
        attributes: asked.source(),
        settings: repository.line_end_settings()?,
    };
    let look = PathChecks {
        repository,
        root,
        index,
        deleted,
    };
    let mut states = Vec::with_capacity(files.len());
    for ((file, presence), new) in files.iter().zip(presences).zip(new) {
        let ends = match &file.old {
            _ if presence == FilePresence::LeftOut => LineEnds::Kept,
            // A link has no lines, and no attribute counts for it.
            _ if is_link(file.old.as_ref()) || is_link(file.new.as_ref()) => LineEnds::Kept,
            Some(_) | None => conversion.line_ends_of(file.path.as_str())?,
        };
        let work = look.find_work(file, ends, presence, *new)?;
        states.push(PathState { ends, presence, work });
    }
    Ok(states)
}

fn is_link(id: Option<&FileId>) -> bool {
    id.is_some_and(|id| id.mode == FileMode::Symlink)
}

fn first_paths<T>(paths: impl IntoIterator<Item = T>) -> Vec<T> {
    paths.into_iter().take(MAX_NAMED).collect()
}

/// Source of attributes.
enum AttributeQuery {
    /// No source: no file mentions an attribute that matters.
    Nobody,
    /// Working tree, then an index that has the staged attributes for these paths and nothing else. libgit2 would take long
    /// to read a large index, and cannot read a sparse one.
    Files(git2::Repository, AttributeMentions),
}

impl AttributeQuery {
    fn source(&self) -> AttributeSource<'_> {
        match self {
            Self::Nobody => AttributeSource::None,
            Self::Files(git, mentions) => AttributeSource::Ask {
                git,
                from: AttrCheckFlags::FILE_THEN_INDEX,
                mentions,
            },
        }
    }
}

/// Chooses the source of attributes for the paths of a change. git takes attributes from the index if the working tree has
/// no such file. libgit2 is not asked at all if no file mentions an attribute that matters.
///
/// # Errors
/// When a file of attributes is a link or a FIFO and libgit2 would have to read it, or staged attributes cannot be read.
fn choose_query(
    repository: &Repository,
    index: &IndexFile,
    root: &Path,
    paths: &[&str],
) -> Result<AttributeQuery, ExecError> {
    let mut folders = BTreeSet::from([""]);
    folders.extend(paths.iter().flat_map(|path| ancestor_folders(path)));
    let mut mentions = AttributeMentions::read_outside(repository)?;
    let failed = || RepoError::git("read the attributes");
    let mut staged = Index::new().map_err(failed())?;
    let mut odd = None;
    for folder in folders {
        let path = attributes_in(folder);
        let place = root.join(&path);
        if is_odd(&place) {
            odd = odd.or(Some(place));
        } else if place.is_file() {
            mentions.add_file(&place, LinkRule::Refused);
        } else if let Some(entry) = index.find_entry(&path, 0)
            && !entry.is_intent_to_add()
        {
            let id = parse_oid(&entry.blob_id())?;
            let blob = repository.git.find_blob(id).map_err(failed())?;
            mentions.add_text(blob.content());
            staged.add(&index_entry(path, id)).map_err(failed())?;
        }
    }
    if !NAMES.iter().any(|name| mentions.may_set(name)) {
        return Ok(AttributeQuery::Nobody);
    }
    if let Some(place) = odd {
        // libgit2 would have to be asked, and it would follow the link or wait at the FIFO.
        return Err(link_error(&place).into());
    }
    let git = repository.another_handle()?;
    git.set_index(&mut staged).map_err(failed())?;
    Ok(AttributeQuery::Files(git, mentions))
}

/// Uncommitted work at a path of a change.
enum FoundWork {
    Nothing,
    /// Work that the change does not touch.
    Apart(Box<OwnWork>),
    /// Work that the change would overwrite.
    InTheWay(Vec<DirtyPath>),
    /// Such work in a file whose edits `git status` does not show.
    Hidden(Vec<String>),
}

/// Checks of one change.
struct PathChecks<'a> {
    repository: &'a Repository,
    root: &'a Path,
    index: &'a IndexFile,
    deleted: BTreeSet<&'a str>,
}

impl PathChecks<'_> {
    /// Finds work at a path that is to have the content `new`.
    ///
    /// # Errors
    /// When the path cannot be written safely, or cannot be read.
    fn find_work(
        &self,
        file: &ReceiptFile,
        ends: LineEnds,
        presence: FilePresence,
        new: Option<&FileState>,
    ) -> Result<FoundWork, ExecError> {
        let staged = self.find_staged(file)?;
        let on_disk = self.list_on_disk(file, ends, presence)?;
        if staged.is_none() && on_disk.is_empty() {
            return Ok(FoundWork::Nothing);
        }
        let path = file.path.as_str();
        // A file above the path and files below it have no lines in common with the change. A file whose edits `git status`
        // does not show is reported below, as hidden work.
        if presence.is_checked_out() && on_disk.iter().all(|found| found == path) {
            let busy = BusyFile {
                repository: self.repository,
                index: self.index,
                root: self.root,
                file,
                ends,
            };
            match busy.join_change(new)? {
                WorkJoin::Joined(work) => return Ok(FoundWork::Apart(Box::new(work))),
                WorkJoin::Overlaps(lines) => {
                    return Ok(FoundWork::InTheWay(vec![DirtyPath {
                        path: path.to_owned(),
                        lines: Some(lines),
                    }]));
                }
                WorkJoin::Unfit => {}
            }
        }
        Ok(match (presence, staged) {
            (FilePresence::Marked, None) => FoundWork::Hidden(on_disk),
            (_, staged) => {
                let mut paths: BTreeSet<String> = on_disk.into_iter().collect();
                paths.extend(staged);
                FoundWork::InTheWay(paths.into_iter().map(DirtyPath::from).collect())
            }
        })
    }

    /// Finds staged work: the entry in the index must equal the base. `None` if it does.
    ///
    /// # Errors
    /// When the index cannot be read.
    fn find_staged(&self, file: &ReceiptFile) -> Result<Option<String>, ExecError> {
        let path = file.path.as_str();
        let dirty = Ok(Some(path.to_owned()));
        // Stages 1 to 3 are the sides of a merge conflict.
        if (1..=3).any(|stage| self.index.find_entry(path, stage).is_some()) {
            return dirty;
        }
        let entry = self.index.find_entry(path, 0);
        // `git add -N` writes an entry whose content is not staged yet.
        let is_announced = entry.is_some_and(|entry| entry.is_intent_to_add());
        // If the base has the file and the index does not, the user has staged its deletion.
        if is_announced || !is_indexed_base(self.repository, self.index, file)? {
            return dirty;
        }
        Ok(match file.old {
            Some(_) => None,
            None => self.staged_around(path),
        })
    }

    /// Finds, for a new path, a staged file above it or below it that this change does not delete. `None` if there is none.
    fn staged_around(&self, path: &str) -> Option<String> {
        let stays = |path: &str| !self.deleted.contains(path);
        let above =
            ancestor_folders(path).find(|above| self.index.find_entry(above, 0).is_some() && stays(above));
        if let Some(above) = above {
            return Some(above.to_owned());
        }
        let prefix = format!("{path}/");
        let below = self.index.list_entries_below(&prefix);
        let mut below = below.map(|entry| String::from_utf8_lossy(entry.path()).into_owned());
        below.find(|found| stays(found))
    }

    /// Lists paths with work that is not staged, and files that git does not track.
    ///
    /// # Errors
    /// When the path leads through a link or lies in another repository, or cannot be read.
    fn list_on_disk(
        &self,
        file: &ReceiptFile,
        ends: LineEnds,
        presence: FilePresence,
    ) -> Result<Vec<String>, ExecError> {
        let path = file.path.as_str();
        if presence == FilePresence::LeftOut {
            // Nothing is written there; but git would take a file at this path for an edited one.
            let is_there = look_at(&self.root.join(path))?.is_some();
            return Ok(is_there.then(|| path.to_owned()).into_iter().collect());
        }
        for above in ancestor_folders(path) {
            match look_at(&self.root.join(above))? {
                Some(found) if found.is_symlink() => {
                    return Err(ExecError::SymlinkTraversal(path.to_owned()));
                }
                Some(found) if found.is_dir() => {
                    // git leaves the content of such a folder to the other repository, and would not commit this file.
                    if look_at(&self.root.join(above).join(".git"))?.is_some() {
                        return Err(ExecError::Nested {
                            path: path.to_owned(),
                            repository: above.to_owned(),
                        });
                    }
                }
                // The change deletes a file and creates a folder with its name.
                Some(_) if self.deleted.contains(above) => return Ok(Vec::new()),
                Some(_) => return Ok(vec![above.to_owned()]),
                // Without the folder a new file is free to come; a file of the base was deleted by the user.
                None => return Ok(file.old.iter().map(|_| path.to_owned()).collect()),
            }
        }
        let full = self.root.join(path);
        let is_clean = match (look_at(&full)?, &file.old) {
            (None, None) => true,
            (Some(found), None) if found.is_dir() => return self.unknown_below(path),
            (Some(_), Some(old)) if old.mode == FileMode::Symlink => link_is(&full, &old.oid)?,
            (Some(found), Some(old)) if found.is_file() => self.is_base(&full, &found, old, ends)?,
            (None, Some(_)) | (Some(_), Some(_) | None) => false,
        };
        Ok(if is_clean {
            Vec::new()
        } else {
            vec![path.to_owned()]
        })
    }

    fn is_base(
        &self,
        full: &Path,
        found: &Metadata,
        old: &FileId,
        ends: LineEnds,
    ) -> Result<bool, ExecError> {
        Ok(mode_fits(self.repository, found, old.mode)
            && is_base_content(self.repository, &FileContent::at_path(full), &old.oid, ends)?)
    }

    /// Lists files below a folder that a new file needs the place of, and that this change does not delete.
    ///
    /// # Errors
    /// When a folder cannot be read.
    fn unknown_below(&self, path: &str) -> Result<Vec<String>, ExecError> {
        let mut unknown = Vec::new();
        let mut folders = vec![path.to_owned()];
        while let Some(folder) = folders.pop() {
            let full = self.root.join(&folder);
            for entry in fs::read_dir(&full).map_err(RepoError::io(&full))? {
                let entry = entry.map_err(RepoError::io(&full))?;
                let name = format!("{folder}/{}", entry.file_name().to_string_lossy());
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    folders.push(name);
                } else if !self.deleted.contains(name.as_str()) {
                    unknown.push(name);
                    if unknown.len() >= MAX_NAMED {
                        return Ok(unknown);
                    }
                }
            }
        }
        Ok(unknown)
    }
}
