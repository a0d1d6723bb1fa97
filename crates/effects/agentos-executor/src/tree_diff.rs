//! Compares two trees and lists the files that differ.
//!
//! Owns: the comparison, which reads only folders that differ. libgit2's comparison reads every folder of both trees.
//! Never: looks at content.

use std::collections::BTreeMap;

use git2::{ObjectType, Oid, Repository, Tree};

/// Id and mode of a file in a tree.
pub(crate) type TreeFile = (Oid, i32);

/// Path as bytes, with the file that each of the two trees has there. `None` if a tree has none.
pub(crate) type TreeDifference = (Vec<u8>, Option<TreeFile>, Option<TreeFile>);

/// Name in two folders, with the file or folder that each has under it.
#[derive(Default)]
struct NameEntry {
    files: [Option<TreeFile>; 2],
    folders: [Option<Oid>; 2],
}

/// Compares two trees and lists the differences, sorted by path.
///
/// # Errors
/// When a tree cannot be read.
pub(crate) fn list_differences(
    git: &Repository,
    old: &Tree<'_>,
    new: &Tree<'_>,
) -> Result<Vec<TreeDifference>, git2::Error> {
    let ids = [Some(old.id()), Some(new.id())];
    Ok(list_differences_within(git, ids, usize::MAX)?.unwrap_or_default())
}

/// Compares two trees, each of which may be missing, and lists the differences, sorted by path. `None` if more than `most`
/// files and folders differ: a hostile tree of a few kilobytes can have more files than any disk.
///
/// # Errors
/// When a tree cannot be read.
pub(crate) fn list_differences_within(
    git: &Repository,
    trees: [Option<Oid>; 2],
    most: usize,
) -> Result<Option<Vec<TreeDifference>>, git2::Error> {
    let mut found = Vec::new();
    let mut folders_left = most;
    let mut open = vec![(Vec::new(), trees)];
    while let Some((prefix, folders)) = open.pop() {
        // Equal ids mean equal content, with everything below.
        if folders[0] == folders[1] {
            continue;
        }
        for (name, at) in list_names(git, folders)? {
            let path = [prefix.as_slice(), &name].concat();
            let [old, new] = at.files;
            if old != new {
                found.push((path.clone(), old, new));
            }
            let [old, new] = at.folders;
            if old != new {
                open.push(([path.as_slice(), b"/"].concat(), at.folders));
            }
        }
        let Some(left) = folders_left.checked_sub(1).filter(|_| found.len() <= most) else {
            return Ok(None);
        };
        folders_left = left;
    }
    found.sort();
    Ok(Some(found))
}

fn list_names(
    git: &Repository,
    folders: [Option<Oid>; 2],
) -> Result<BTreeMap<Vec<u8>, NameEntry>, git2::Error> {
    let mut names: BTreeMap<Vec<u8>, NameEntry> = BTreeMap::new();
    let [old, new] = folders;
    for (id, is_new) in [(old, false), (new, true)] {
        let Some(id) = id else { continue };
        for entry in &git.find_tree(id)? {
            let name = names.entry(entry.name_bytes().to_vec()).or_default();
            let [old_file, new_file] = &mut name.files;
            let [old_folder, new_folder] = &mut name.folders;
            let (file, folder) = if is_new {
                (new_file, new_folder)
            } else {
                (old_file, old_folder)
            };
            if entry.kind() == Some(ObjectType::Tree) {
                *folder = Some(entry.id());
            } else {
                *file = Some((entry.id(), entry.filemode()));
            }
        }
    }
    Ok(names)
}
