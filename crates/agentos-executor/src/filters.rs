//! Paths whose bytes in a commit are made by a filter, as those of Git LFS are.
//!
//! Owns: what the attributes of the resulting tree say, whatever is written to. Never: runs a filter, or looks at the
//! work tree; `preflight` does that.

use std::collections::BTreeSet;
use std::path::Path;

use git2::{AttrCheckFlags, AttrValue, Index, IndexEntry, IndexTime, ObjectType, Tree};

use crate::base::lookup;
use crate::preflight::ancestors;
use crate::{ExecError, ReceiptFile, RepoError};

/// Refuses content that git itself would have passed through a filter. The handle is used up by this: it answers
/// from the attributes of this tree from then on.
pub(crate) fn check(git: &git2::Repository, tree: &Tree<'_>, files: &[ReceiptFile]) -> Result<(), ExecError> {
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
