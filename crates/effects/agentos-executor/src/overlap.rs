//! What a user has in index and work tree is never lost: everything a change touches must be as the base has it.
//!
//! Owns: finding uncommitted work, links and conversions at or above a touched path. Never: writes. Another program
//! can still change a file between this look and the write; each file is looked at again right before it is
//! replaced, and what came out is looked at afterwards (`displaced`).

use std::collections::BTreeSet;
use std::fs::{self, Metadata};
use std::path::Path;

use agentos_durable::Links;
use agentos_index::IndexFile;
use agentos_landing::FileMode;
use git2::{AttrCheckFlags, Index};

use crate::conversion::{Attributes, Conversion, NAMES};
use crate::error::Unsupported;
use crate::line_ends::LineEnds;
use crate::mentions::{Mentions, is_odd, refused};
use crate::preflight::{Content, ancestors, attributes_in, is_base_content, link_is, look_at, mode_fits};
use crate::splice::mode_bits;
use crate::{ExecError, FileId, ReceiptFile, RepoError, Repository};

/// Paths named in one refusal.
const MAX_NAMED: usize = 50;

/// Looks at every path of a change, and gives what is done to its line ends now. The caller holds the index.
pub(crate) fn check(
    repository: &Repository,
    index: &IndexFile,
    root: &Path,
    files: &[ReceiptFile],
) -> Result<Vec<LineEnds>, ExecError> {
    let deleted = files
        .iter()
        .filter(|file| file.new.is_none())
        .map(|file| file.path.as_str())
        .collect();
    let asked = asked(repository, index, root, files)?;
    let conversion = Conversion {
        attributes: asked.attributes(repository),
        settings: repository.line_end_settings()?,
    };
    let look = Look {
        repository,
        root,
        index,
        deleted,
    };
    let mut dirty = BTreeSet::new();
    let mut line_ends = Vec::with_capacity(files.len());
    for file in files {
        let ends = match &file.old {
            Some(old) if old.mode == FileMode::Symlink => LineEnds::Kept,
            Some(_) | None => conversion.of(file.path.as_str())?,
        };
        line_ends.push(ends);
        dirty.extend(look.staged(file)?);
        dirty.extend(look.on_disk(file, ends)?);
    }
    if dirty.is_empty() {
        return Ok(line_ends);
    }
    Err(ExecError::DirtyOverlap(
        dirty.into_iter().take(MAX_NAMED).collect(),
    ))
}

/// Where attributes are looked up.
enum Asked {
    /// Nowhere.
    Nobody,
    /// In the work tree, then in the index, which libgit2 reads again for it.
    Staged,
    /// In the work tree: with an index that names no attributes, the answer is the same.
    OnDisk(git2::Repository, Mentions),
}

impl Asked {
    fn attributes<'a>(&'a self, repository: &'a Repository) -> Attributes<'a> {
        let (git, mentions) = match self {
            Self::Nobody => return Attributes::None,
            Self::Staged => (&repository.git, &Mentions::Anything),
            Self::OnDisk(git, mentions) => (git, mentions),
        };
        Attributes::Ask {
            git,
            from: AttrCheckFlags::FILE_THEN_INDEX,
            mentions,
        }
    }
}

/// Git asks the index for attributes where the work tree has no such file. Where no path of the change can be meant,
/// the index need not be read for it; where no file can mean anything, nobody is asked.
fn asked(
    repository: &Repository,
    index: &IndexFile,
    root: &Path,
    files: &[ReceiptFile],
) -> Result<Asked, ExecError> {
    let mut folders = BTreeSet::from([""]);
    folders.extend(files.iter().flat_map(|file| ancestors(file.path.as_str())));
    let mut mentions = Mentions::outside(repository)?;
    let (mut is_staged, mut odd) = (false, None);
    for folder in folders {
        let path = attributes_in(folder);
        let place = root.join(&path);
        if is_odd(&place) {
            odd = odd.or(Some(place));
        } else if place.is_file() {
            mentions.add_file(&place, Links::Refused);
        } else {
            is_staged = is_staged || index.find_entry(&path, 0).is_some();
        }
    }
    if !is_staged && !NAMES.iter().any(|name| mentions.hold(name)) {
        return Ok(Asked::Nobody);
    }
    if let Some(place) = odd {
        // Only libgit2 knows the answer, and would follow it.
        return Err(refused(&place).into());
    }
    if is_staged {
        return Ok(Asked::Staged);
    }
    let git = repository.another_handle()?;
    let mut empty = Index::new().map_err(RepoError::git("read the attributes"))?;
    git.set_index(&mut empty)
        .map_err(RepoError::git("read the attributes"))?;
    Ok(Asked::OnDisk(git, mentions))
}

struct Look<'a> {
    repository: &'a Repository,
    root: &'a Path,
    index: &'a IndexFile,
    deleted: BTreeSet<&'a str>,
}

impl Look<'_> {
    /// Staged work: the index must hold what the base holds.
    fn staged(&self, file: &ReceiptFile) -> Result<Option<String>, ExecError> {
        let path = file.path.as_str();
        let dirty = Ok(Some(path.to_owned()));
        if (1..=3).any(|stage| self.index.find_entry(path, stage).is_some()) {
            return dirty;
        }
        let Some(entry) = self.index.find_entry(path, 0) else {
            if file.old.is_some() {
                return dirty;
            }
            return Ok(self.staged_around(path));
        };
        if entry.is_skip_worktree() {
            return Err(RepoError::Unsupported(Unsupported::SparseCheckout).into());
        }
        let same = file.old.as_ref().is_some_and(|old| {
            entry.blob_id() == old.oid && i64::from(entry.mode()) == i64::from(mode_bits(old.mode))
        });
        if same && !entry.is_intent_to_add() {
            Ok(None)
        } else {
            dirty
        }
    }

    /// For a new path: a staged file above it, or staged files below it, that this change does not delete.
    fn staged_around(&self, path: &str) -> Option<String> {
        let stays = |path: &str| !self.deleted.contains(path);
        let above = ancestors(path).find(|above| self.index.find_entry(above, 0).is_some() && stays(above));
        if let Some(above) = above {
            return Some(above.to_owned());
        }
        let prefix = format!("{path}/");
        let below = self.index.list_entries_below(&prefix);
        let mut below = below.map(|entry| String::from_utf8_lossy(entry.path()).into_owned());
        below.find(|found| stays(found))
    }

    /// Work that is not staged, and files that git does not know.
    fn on_disk(&self, file: &ReceiptFile, ends: LineEnds) -> Result<Vec<String>, ExecError> {
        let path = file.path.as_str();
        for above in ancestors(path) {
            match look_at(&self.root.join(above))? {
                Some(found) if found.is_symlink() => {
                    return Err(ExecError::SymlinkTraversal(path.to_owned()));
                }
                Some(found) if found.is_dir() => {
                    if look_at(&self.root.join(above).join(".git"))?.is_some() {
                        return Err(ExecError::Nested {
                            path: path.to_owned(),
                            repository: above.to_owned(),
                        });
                    }
                }
                Some(_) if self.deleted.contains(above) => return Ok(Vec::new()),
                Some(_) => return Ok(vec![above.to_owned()]),
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
            && is_base_content(self.repository, &Content::of(full), &old.oid, ends)?)
    }

    /// Files below a folder that must make room and that this change does not delete.
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
