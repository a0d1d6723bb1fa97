//! What the attributes of the resulting tree say about a change's files.
//!
//! Owns: the refusal of content that a filter makes, as that of Git LFS is, whatever is written to; and the line ends
//! that a work tree gets. Never: runs a filter, or looks at the work tree; `overlap` does that.

use std::collections::BTreeSet;

use git2::{AttrCheckFlags, Index, IndexEntry, IndexTime, ObjectType};

use crate::base::lookup;
use crate::conversion::{Attributes, Conversion, NAMES};
use crate::line_ends::{Ends, LineEnds, Settings};
use crate::mentions::Mentions;
use crate::preflight::{ancestors, attributes_in};
use crate::prepare::Prepared;
use crate::splice::oid;
use crate::{ExecError, FileId, ReceiptFile, RepoError, Repository};

/// Looks at the attributes of the resulting tree, and gives what is done to line ends in the work tree, with `before` as
/// they are treated now; nothing, where `before` is empty.
pub(crate) fn check(
    repository: &Repository,
    prepared: &Prepared,
    before: &[LineEnds],
) -> Result<Vec<Ends>, ExecError> {
    let mut found = Found::of(&repository.git, repository, prepared)?;
    // A handle is used up by asking: it answers from the attributes of this tree from then on.
    if found.is_asked(prepared, before) {
        found.ask(&repository.another_handle()?, repository, prepared, before)
    } else {
        found.check(&repository.git, Attributes::None, repository, prepared, before)
    }
}

/// The same on a handle that has the new objects, and is used up by this.
pub(crate) fn check_in(
    git: &git2::Repository,
    repository: &Repository,
    prepared: &Prepared,
    before: &[LineEnds],
) -> Result<Vec<Ends>, ExecError> {
    Found::of(git, repository, prepared)?.ask(git, repository, prepared, before)
}

/// The files of attributes that hold for a change's files in the resulting tree.
struct Found {
    index: Index,
    mentions: Mentions,
}

impl Found {
    fn of(git: &git2::Repository, repository: &Repository, prepared: &Prepared) -> Result<Self, ExecError> {
        let failed = || RepoError::git("read the attributes");
        let tree = git
            .find_tree(prepared.tree)
            .map_err(ExecError::git("read the new tree"))?;
        let mut folders = BTreeSet::from([""]);
        folders.extend(written(&prepared.files).flat_map(|file| ancestors(file.path.as_str())));
        let mut index = Index::new().map_err(failed())?;
        let mut mentions = Mentions::outside(repository)?;
        for folder in folders {
            let path = attributes_in(folder);
            let found = lookup(&tree, &path).map_err(failed())?;
            // Git follows no link here either.
            if let Some(found) = found.filter(|found| found.kind() == Some(ObjectType::Blob))
                && found.filemode() != 0o120_000
            {
                mentions.add(git.find_blob(found.id()).map_err(failed())?.content());
                index.add(&entry(path, found.id())).map_err(failed())?;
            }
        }
        Ok(Self { index, mentions })
    }

    /// Is there anything that libgit2 must say?
    fn is_asked(&self, prepared: &Prepared, before: &[LineEnds]) -> bool {
        let names = if before.is_empty() || !change_attributes(&prepared.files) {
            ["filter"].as_slice()
        } else {
            NAMES.as_slice()
        };
        names.iter().any(|name| self.mentions.hold(name))
    }

    /// Has libgit2 answer, on a handle that is used up by this.
    fn ask(
        &mut self,
        git: &git2::Repository,
        repository: &Repository,
        prepared: &Prepared,
        before: &[LineEnds],
    ) -> Result<Vec<Ends>, ExecError> {
        git.set_index(&mut self.index)
            .map_err(RepoError::git("read the attributes"))?;
        let attributes = Attributes::Ask {
            git,
            from: AttrCheckFlags::INDEX_ONLY,
            mentions: &self.mentions,
        };
        self.check(git, attributes, repository, prepared, before)
    }

    fn check(
        &self,
        git: &git2::Repository,
        attributes: Attributes<'_>,
        repository: &Repository,
        prepared: &Prepared,
        before: &[LineEnds],
    ) -> Result<Vec<Ends>, ExecError> {
        let conversion = Conversion {
            attributes,
            // Without a work tree nothing is done to line ends.
            settings: match before {
                [] => Settings::default(),
                [_, ..] => repository.line_end_settings()?,
            },
        };
        for file in written(&prepared.files) {
            conversion.refuse(file.path.as_str(), "filter")?;
        }
        if before.is_empty() {
            return Ok(Vec::new());
        }
        line_ends(git, &conversion, &prepared.files, before)
    }
}

fn written(files: &[ReceiptFile]) -> impl Iterator<Item = &ReceiptFile> {
    files.iter().filter(|file| file.new.is_some())
}

/// Else the attributes stay as they are.
fn change_attributes(files: &[ReceiptFile]) -> bool {
    files
        .iter()
        .any(|file| file.path.as_str().rsplit('/').next() == Some(".gitattributes"))
}

/// What is done to line ends. A commit whose line ends git would replace by itself with the next `git add` is refused,
/// unless the base has such already.
fn line_ends(
    git: &git2::Repository,
    conversion: &Conversion<'_>,
    files: &[ReceiptFile],
    before: &[LineEnds],
) -> Result<Vec<Ends>, ExecError> {
    let change_attributes = change_attributes(files);
    let comes_back = |file: &FileId, ends: LineEnds| {
        let blob = git.find_blob(oid(&file.oid)?);
        let blob = blob.map_err(RepoError::git("read a file of the change"))?;
        Ok::<_, ExecError>(ends.come_back(blob.content()))
    };
    let mut both = Vec::with_capacity(files.len());
    for (file, &before) in files.iter().zip(before) {
        let after = match &file.new {
            Some(_) if change_attributes => conversion.of(file.path.as_str())?,
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
        both.push(Ends { before, after });
    }
    Ok(both)
}

fn entry(path: String, id: git2::Oid) -> IndexEntry {
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
