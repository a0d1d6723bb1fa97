//! Disk space that a tree takes.
//!
//! Owns: the walk and its limits. Never: opens a file, or fails because a process is still writing the tree.

use std::path::PathBuf;

use crate::{EntryKind, MAX_DEPTH, OpenFolder, TreeError};

/// Maximum number of entries of one tree that are looked at.
const MAX_ENTRIES: u64 = 4 << 20;

/// Disk space that a tree takes, as far as it could be seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TreeSize {
    /// Bytes of all entries that were looked at. A file with several names counts once for each name.
    pub bytes: u64,
    /// False if a part was not looked at: a folder that could not be opened or listed, entries deeper than [`MAX_DEPTH`], or
    /// entries beyond the limits of a walk.
    pub is_whole: bool,
}

impl OpenFolder {
    /// Adds up the bytes that everything beneath this folder takes on the disk. Stops as soon as they are more than `enough`,
    /// or when `go_on`, which is called for each folder, returns false. Entries that are removed during the walk count
    /// nothing. Files that are open and have no name any more cannot be found by any walk.
    #[must_use]
    pub fn measure_tree(&self, enough: u64, go_on: &mut dyn FnMut() -> bool) -> TreeSize {
        let mut size = TreeSize {
            bytes: 0,
            is_whole: true,
        };
        let mut waiting = vec![PathBuf::new()];
        let mut left = MAX_ENTRIES;
        while let Some(path) = waiting.pop() {
            if !go_on() {
                size.is_whole = false;
                return size;
            }
            let opened = self.open_path(&path);
            // Removed since its parent was listed; a tool that is still running does that.
            if opened.as_ref().is_err_and(TreeError::is_missing) {
                continue;
            }
            let listed = opened.and_then(|folder| Ok((folder.read_names(left)?, folder)));
            let Ok((names, folder)) = listed else {
                size.is_whole = false;
                continue;
            };
            left = left.saturating_sub(names.len() as u64);
            for name in &names {
                let Ok(Some(found)) = folder.inspect_entry(name) else {
                    continue;
                };
                size.bytes = size.bytes.saturating_add(found.disk_bytes);
                if size.bytes > enough {
                    return size;
                }
                if found.kind == EntryKind::Folder {
                    if path.components().count() < MAX_DEPTH {
                        waiting.push(path.join(name));
                    } else {
                        size.is_whole = false;
                    }
                }
            }
        }
        size
    }

    /// Returns the bytes that this process may still write on the disk of this folder. `None` if the system does not report
    /// them.
    #[must_use]
    pub fn free_bytes(&self) -> Option<u64> {
        #[cfg(unix)]
        {
            let found = rustix::fs::fstatvfs(self.descriptor()).ok()?;
            // `f_bavail`, not `f_bfree`, which also counts blocks reserved for root (statvfs(3)).
            Some(found.f_bavail.saturating_mul(found.f_frsize))
        }
        #[cfg(not(unix))]
        None
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_tree_takes_what_its_files_take_and_no_more_is_looked_at_than_is_needed() {
        let top = tempfile::tempdir().unwrap();
        let folder = OpenFolder::open_root(top.path()).unwrap();
        let below = folder.create_folder("a".as_ref(), 0o700).unwrap();
        for name in ["one", "two"] {
            let mut file = below.create_file(name.as_ref(), 0o600).unwrap();
            file.write_all(&vec![7; 100_000]).unwrap();
        }
        below.create_link("link".as_ref(), "/usr".as_ref()).unwrap();
        let whole = folder.measure_tree(u64::MAX, &mut || true);
        assert!(
            (200_000..1_000_000).contains(&whole.bytes) && whole.is_whole,
            "{whole:?}"
        );
        let part = folder.measure_tree(1, &mut || true).bytes;
        assert!(part > 1 && part <= whole.bytes, "{part}");
        assert!(
            !folder.measure_tree(u64::MAX, &mut || false).is_whole,
            "it was stopped"
        );
    }

    #[test]
    fn a_folder_that_is_too_deep_makes_the_sum_a_part() {
        let top = tempfile::tempdir().unwrap();
        let folder = OpenFolder::open_root(top.path()).unwrap();
        let mut deepest = folder.create_folder("d".as_ref(), 0o700).unwrap();
        for _ in 0..=MAX_DEPTH {
            deepest = deepest.create_folder("d".as_ref(), 0o700).unwrap();
        }
        assert!(!folder.measure_tree(u64::MAX, &mut || true).is_whole);
        drop(deepest);
        folder.remove_tree("d".as_ref()).unwrap();
    }

    #[test]
    fn a_sparse_file_takes_what_was_written() {
        let top = tempfile::tempdir().unwrap();
        let folder = OpenFolder::open_root(top.path()).unwrap();
        let file = folder.create_file("sparse".as_ref(), 0o600).unwrap();
        file.set_len(1 << 40).unwrap();
        let whole = folder.measure_tree(u64::MAX, &mut || true);
        assert!(whole.bytes < 1 << 20, "{whole:?}");
    }
}
