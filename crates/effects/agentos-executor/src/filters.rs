//! Checks a change's files against the attributes of the resulting tree.
//!
//! Owns: the refusal of files whose content a filter produces, as Git LFS does, for every kind of target; and the line ends
//! for the working tree. Never: runs a filter, or looks at the working tree; `overlap` does that.

use std::collections::BTreeSet;

use git2::{AttrCheckFlags, Index, IndexEntry, IndexTime, ObjectType};

use crate::base::find_entry;
use crate::conversion::{AttributeSource, FileConversion, NAMES};
use crate::line_ends::{FileLineEnds, LineEndSettings, LineEnds};
use crate::mentions::AttributeMentions;
use crate::preflight::{ancestor_folders, attributes_in};
use crate::prepare::PreparedChange;
use crate::splice::parse_oid;
use crate::{ExecError, FileId, ReceiptFile, RepoError, Repository};

/// Checks the files of a change, and returns their line-end conversions in the working tree. `before` has their present
/// conversions. If it is empty, no working tree is written and the result is empty too.
///
/// # Errors
/// When a filter or another conversion is set for a file, or its line ends would not be kept.
pub(crate) fn check_files(
    repository: &Repository,
    prepared: &PreparedChange,
    before: &[LineEnds],
) -> Result<Vec<FileLineEnds>, ExecError> {
    let mut found = TreeAttributes::read_tree(&repository.git, repository, prepared)?;
    // libgit2 is asked through another handle, because that handle answers from the attributes of this tree from then on.
    if found.is_asked(prepared, before) {
        found.check_by_libgit2(&repository.another_handle()?, repository, prepared, before)
    } else {
        found.check_each(
            &repository.git,
            AttributeSource::None,
            repository,
            prepared,
            before,
        )
    }
}

/// Checks as [`check_files`] does, on a handle that has the new objects. The handle cannot be used for anything else afterwards.
///
/// # Errors
/// Those of [`check_files`].
pub(crate) fn check_files_in(
    git: &git2::Repository,
    repository: &Repository,
    prepared: &PreparedChange,
    before: &[LineEnds],
) -> Result<Vec<FileLineEnds>, ExecError> {
    TreeAttributes::read_tree(git, repository, prepared)?.check_by_libgit2(git, repository, prepared, before)
}

/// Files of attributes in the resulting tree that apply to a change's files.
struct TreeAttributes {
    index: Index,
    mentions: AttributeMentions,
}

impl TreeAttributes {
    fn read_tree(
        git: &git2::Repository,
        repository: &Repository,
        prepared: &PreparedChange,
    ) -> Result<Self, ExecError> {
        let failed = || RepoError::git("read the attributes");
        let tree = git
            .find_tree(prepared.tree)
            .map_err(ExecError::git("read the new tree"))?;
        let mut folders = BTreeSet::from([""]);
        folders.extend(written_files(&prepared.files).flat_map(|file| ancestor_folders(file.path.as_str())));
        let mut index = Index::new().map_err(failed())?;
        let mut mentions = AttributeMentions::read_outside(repository)?;
        for folder in folders {
            let path = attributes_in(folder);
            let found = find_entry(&tree, &path).map_err(failed())?;
            // git reads no attributes through a link (gitattributes(5)).
            if let Some(found) = found.filter(|found| found.kind() == Some(ObjectType::Blob))
                && found.filemode() != 0o120_000
            {
                mentions.add_text(git.find_blob(found.id()).map_err(failed())?.content());
                index.add(&index_entry(path, found.id())).map_err(failed())?;
            }
        }
        Ok(Self { index, mentions })
    }

    /// Returns whether libgit2 must be asked: a file mentions an attribute that matters.
    fn is_asked(&self, prepared: &PreparedChange, before: &[LineEnds]) -> bool {
        let names = if before.is_empty() || !change_attributes(&prepared.files) {
            ["filter"].as_slice()
        } else {
            NAMES.as_slice()
        };
        names.iter().any(|name| self.mentions.may_set(name))
    }

    /// Checks with the answers of libgit2. The handle cannot be used for anything else afterwards.
    ///
    /// # Errors
    /// Those of [`check_files`].
    fn check_by_libgit2(
        &mut self,
        git: &git2::Repository,
        repository: &Repository,
        prepared: &PreparedChange,
        before: &[LineEnds],
    ) -> Result<Vec<FileLineEnds>, ExecError> {
        git.set_index(&mut self.index)
            .map_err(RepoError::git("read the attributes"))?;
        let attributes = AttributeSource::Ask {
            git,
            from: AttrCheckFlags::INDEX_ONLY,
            mentions: &self.mentions,
        };
        self.check_each(git, attributes, repository, prepared, before)
    }

    fn check_each(
        &self,
        git: &git2::Repository,
        attributes: AttributeSource<'_>,
        repository: &Repository,
        prepared: &PreparedChange,
        before: &[LineEnds],
    ) -> Result<Vec<FileLineEnds>, ExecError> {
        let conversion = FileConversion {
            attributes,
            // Without a work tree nothing is done to line ends.
            settings: match before {
                [] => LineEndSettings::default(),
                [_, ..] => repository.line_end_settings()?,
            },
        };
        for file in written_files(&prepared.files) {
            conversion.refuse_attribute(file.path.as_str(), "filter")?;
        }
        if before.is_empty() {
            return Ok(Vec::new());
        }
        find_line_ends(git, &conversion, &prepared.files, before)
    }
}

fn written_files(files: &[ReceiptFile]) -> impl Iterator<Item = &ReceiptFile> {
    files.iter().filter(|file| file.new.is_some())
}

/// Returns whether a change edits attributes.
fn change_attributes(files: &[ReceiptFile]) -> bool {
    files
        .iter()
        .any(|file| file.path.as_str().rsplit('/').next() == Some(".gitattributes"))
}

/// Determines the conversion of each file before and after the change. Refuses content whose line ends git would change with
/// the next `git add`, unless the file in the base has such already.
///
/// # Errors
/// [`ExecError::LineEnds`] for such a file; others if an attribute or a blob cannot be read.
fn find_line_ends(
    git: &git2::Repository,
    conversion: &FileConversion<'_>,
    files: &[ReceiptFile],
    before: &[LineEnds],
) -> Result<Vec<FileLineEnds>, ExecError> {
    // Only then the conversion after the change may be another one than before.
    let change_attributes = change_attributes(files);
    let comes_back = |file: &FileId, ends: LineEnds| {
        let blob = git.find_blob(parse_oid(&file.oid)?);
        let blob = blob.map_err(RepoError::git("read a file of the change"))?;
        Ok::<_, ExecError>(ends.come_back(blob.content()))
    };
    let mut both = Vec::with_capacity(files.len());
    for (file, &before) in files.iter().zip(before) {
        let after = match &file.new {
            Some(_) if change_attributes => conversion.line_ends_of(file.path.as_str())?,
            Some(_) | None => before,
        };
        if let Some(new) = &file.new
            && !after.are_kept()
            && !comes_back(new, after)?
            && file
                .old
                .as_ref()
                .map_or(Ok(true), |old| comes_back(old, before))?
        {
            return Err(ExecError::LineEnds(file.path.as_str().to_owned()));
        }
        both.push(FileLineEnds { before, after });
    }
    Ok(both)
}

pub(crate) fn index_entry(path: String, id: git2::Oid) -> IndexEntry {
    IndexEntry {
        ctime: IndexTime::new(0, 0),
        mtime: IndexTime::new(0, 0),
        dev: 0,
        ino: 0,
        mode: 0o100_644,
        uid: 0,
        gid: 0,
        file_size: 0,
        id,
        flags: 0,
        flags_extended: 0,
        path: path.into_bytes(),
    }
}
