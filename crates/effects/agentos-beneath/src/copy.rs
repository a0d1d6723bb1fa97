//! Copying a tree into an opened folder.
//!
//! Owns: the walk and its limits. Never: follows a link of either tree, or replaces an existing entry.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::shown;
use crate::{EntryKind, FolderOwner, MAX_DEPTH, OpenFolder, TreeError};

/// Maximum number of entries of one folder, and of a whole tree.
const MAX_ENTRIES: u64 = 4 << 20;

impl OpenFolder {
    /// Copies everything in `from` into this folder, links as links. New entries are given to `owner`; with `None` they
    /// keep the owner of this process. FIFOs, sockets and devices are left out.
    ///
    /// # Errors
    /// When an entry cannot be read or created, or its name is taken; [`TreeError::TooDeep`] and [`TreeError::TooMany`]
    /// beyond the limits of a walk.
    pub fn copy_tree(&self, from: &Self, owner: Option<FolderOwner>) -> Result<(), TreeError> {
        // A list of waiting folders instead of recursion: a tool that nests folders thousands deep would overflow the
        // stack.
        let mut waiting = vec![PathBuf::new()];
        let mut left = MAX_ENTRIES;
        while let Some(path) = waiting.pop() {
            if path.components().count() > MAX_DEPTH {
                return Err(TreeError::TooDeep(MAX_DEPTH));
            }
            let (source, target) = (from.open_path(&path)?, self.open_path(&path)?);
            let names = source.read_names(left)?;
            left = left.saturating_sub(names.len() as u64);
            for name in &names {
                if copy_entry(&source, &target, name, owner)? == EntryKind::Folder {
                    waiting.push(path.join(name));
                }
            }
        }
        Ok(())
    }
}

/// Copies one entry and returns its kind. A folder is created empty.
fn copy_entry(
    from: &OpenFolder,
    to: &OpenFolder,
    name: &OsStr,
    owner: Option<FolderOwner>,
) -> Result<EntryKind, TreeError> {
    let Some(found) = from.inspect_entry(name)? else {
        // It was removed since the folder was listed. There is nothing to copy, as with a FIFO.
        return Ok(EntryKind::Special);
    };
    match found.kind {
        EntryKind::Folder => {
            to.create_folder(name, 0o755)?;
        }
        EntryKind::Link => to.create_link(name, &from.read_link(name)?)?,
        EntryKind::File => copy_file(from, to, name)?,
        EntryKind::Whiteout | EntryKind::Special => return Ok(found.kind),
    }
    if let Some(owner) = owner {
        to.give_entry(name, owner)?;
    }
    Ok(found.kind)
}

/// Copies a file with its permission bits, without set-user-ID, set-group-ID and the sticky bit.
fn copy_file(from: &OpenFolder, to: &OpenFolder, name: &OsStr) -> Result<(), TreeError> {
    let (mut source, found) = from.open_file(name)?;
    let mut target = to.create_file(name, found.mode & 0o777)?;
    // On Linux this is copy_file_range, which shares blocks where the file system can.
    let copied = io::copy(&mut source, &mut target).map_err(TreeError::io("copy", name))?;
    // Somebody truncated it while it was copied: the copy is neither the old file nor the new one.
    if copied < found.length {
        let short = io::Error::new(
            io::ErrorKind::UnexpectedEof,
            "it was truncated while it was copied",
        );
        return Err(TreeError::io("copy", Path::new(&shown(name)).as_os_str())(short));
    }
    // Build tools compare these times: with new ones, in the order of the copy, everything would seem out of date. A file system
    // that keeps no times only makes a build longer.
    if let Ok(modified) = source.metadata().and_then(|found| found.modified()) {
        let _ = target.set_modified(modified);
    }
    Ok(())
}
