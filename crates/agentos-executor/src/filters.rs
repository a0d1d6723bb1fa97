//! What the attributes of the resulting tree say about a change's files.
//!
//! Owns: the refusal of content that a filter makes, as that of Git LFS is, whatever is written to; and the line ends
//! that a work tree gets. Never: runs a filter, or looks at the work tree; `preflight` does that.

use std::collections::BTreeSet;
use std::path::Path;

use git2::{AttrCheckFlags, AttrValue, Index, IndexEntry, IndexTime, ObjectType, Tree};

use crate::base::lookup;
use crate::conversion::Conversion;
use crate::land::Prepared;
use crate::line_ends::{Ends, LineEnds, Settings};
use crate::preflight::ancestors;
use crate::splice::oid;
use crate::{ExecError, FileId, ReceiptFile, RepoError, Repository};

/// Looks at the attributes of the resulting tree, and gives what is done to line ends in the work tree, with `before` as
/// they are treated now; nothing, where `before` is empty.
pub(crate) fn check(
    repository: &Repository,
    prepared: &Prepared,
    before: &[LineEnds],
) -> Result<Vec<Ends>, ExecError> {
    let git = repository.another_handle()?;
    check_in(&git, repository, prepared, before)
}

/// The same on a handle that has the new objects. It is used up by this: it answers from the attributes of this tree
/// from then on.
pub(crate) fn check_in(
    git: &git2::Repository,
    repository: &Repository,
    prepared: &Prepared,
    before: &[LineEnds],
) -> Result<Vec<Ends>, ExecError> {
    let tree = git
        .find_tree(prepared.tree)
        .map_err(ExecError::git("read the new tree"))?;
    refuse_filtered(git, &tree, &prepared.files)?;
    if before.is_empty() {
        return Ok(Vec::new());
    }
    line_ends(git, repository.line_end_settings()?, &prepared.files, before)
}

/// Refuses content that git itself would have passed through a filter.
fn refuse_filtered(git: &git2::Repository, tree: &Tree<'_>, files: &[ReceiptFile]) -> Result<(), ExecError> {
    let failed = || RepoError::git("read the attributes");
    let written = || files.iter().filter(|file| file.new.is_some());
    let mut folders = BTreeSet::from([""]);
    folders.extend(written().flat_map(|file| ancestors(file.path.as_str())));
    let mut index = Index::new().map_err(failed())?;
    for folder in folders {
        let separator = if folder.is_empty() { "" } else { "/" };
        let path = format!("{folder}{separator}.gitattributes");
        let found = lookup(tree, &path).map_err(failed())?;
        // Git follows no link here either.
        if let Some(found) = found.filter(|found| found.kind() == Some(ObjectType::Blob))
            && found.filemode() != 0o120_000
        {
            index.add(&entry(path, found.id())).map_err(failed())?;
        }
    }
    git.set_index(&mut index).map_err(failed())?;
    for file in written() {
        let path = file.path.as_str();
        let found = git.get_attr(Path::new(path), "filter", AttrCheckFlags::INDEX_ONLY);
        let by = match AttrValue::from_string(found.map_err(failed())?) {
            AttrValue::Unspecified | AttrValue::False => continue,
            AttrValue::True => "filter".to_owned(),
            AttrValue::String(name) => format!("filter={name}"),
            AttrValue::Bytes(name) => format!("filter={}", String::from_utf8_lossy(name)),
        };
        return Err(ExecError::FilteredPath {
            path: path.to_owned(),
            by,
        });
    }
    Ok(())
}

/// What is done to line ends. A commit whose line ends git
/// would replace by itself with the next `git add` is refused, unless the base has such already.
fn line_ends(
    git: &git2::Repository,
    settings: Settings,
    files: &[ReceiptFile],
    before: &[LineEnds],
) -> Result<Vec<Ends>, ExecError> {
    // Else the attributes stay as they are.
    let is_attributes = |file: &ReceiptFile| file.path.as_str().rsplit('/').next() == Some(".gitattributes");
    let change_attributes = files.iter().any(is_attributes);
    let conversion = Conversion {
        git,
        from: AttrCheckFlags::INDEX_ONLY,
        settings,
    };
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
