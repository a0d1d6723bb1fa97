//! How much of the disk a tree takes.
//!
//! Owns: the walk and its bounds. Never: opens a file, or fails because somebody is still writing the tree.

use std::path::PathBuf;

use crate::{EntryKind, MAX_DEPTH, OpenFolder};

/// Entries of one tree that are looked at.
const MAX_ENTRIES: u64 = 4 << 20;

impl OpenFolder {
    /// Adds up the bytes that everything beneath this folder takes on the disk, and stops as soon as they are more than
    /// `enough`. A file with several names counts once for each. What cannot be looked at, for instance because it is gone
    /// meanwhile or lies deeper than [`MAX_DEPTH`], counts nothing: the sum is a lower bound for a tree that changes.
    #[must_use]
    pub fn measure_tree(&self, enough: u64) -> u64 {
        let mut waiting = vec![PathBuf::new()];
        let (mut sum, mut left) = (0_u64, MAX_ENTRIES);
        while let Some(path) = waiting.pop() {
            let Ok(folder) = self.open_path(&path) else {
                continue;
            };
            let Ok(names) = folder.read_names(left) else {
                continue;
            };
            left = left.saturating_sub(names.len() as u64);
            for name in &names {
                let Ok(Some(found)) = folder.inspect_entry(name) else {
                    continue;
                };
                sum = sum.saturating_add(found.disk_bytes);
                if sum > enough {
                    return sum;
                }
                if found.kind == EntryKind::Folder && path.components().count() < MAX_DEPTH {
                    waiting.push(path.join(name));
                }
            }
        }
        sum
    }

    /// Returns the bytes that are free for us on the disk where this folder lies. `None` if the system does not tell.
    #[must_use]
    pub fn free_bytes(&self) -> Option<u64> {
        #[cfg(unix)]
        {
            let found = rustix::fs::fstatvfs(self.descriptor()).ok()?;
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
        let whole = folder.measure_tree(u64::MAX);
        assert!((200_000..1_000_000).contains(&whole), "{whole}");
        assert!(folder.measure_tree(1) <= whole);
        assert!(folder.measure_tree(1) > 1);
    }

    #[test]
    fn a_sparse_file_takes_what_was_written() {
        let top = tempfile::tempdir().unwrap();
        let folder = OpenFolder::open_root(top.path()).unwrap();
        let file = folder.create_file("sparse".as_ref(), 0o600).unwrap();
        file.set_len(1 << 40).unwrap();
        let whole = folder.measure_tree(u64::MAX);
        assert!(whole < 1 << 20, "{whole}");
    }
}
