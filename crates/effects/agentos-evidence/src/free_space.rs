//! Free space for more evidence.
//!
//! Owns: asking the system for free space and the permission to write. Never: writes.

use std::path::Path;

use crate::Store;

/// Free space in the folder of evidence, or in the nearest existing folder above it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FreeSpace {
    /// Bytes that this user may still write. `None` if the system does not report them.
    pub free_bytes: Option<u64>,
    /// True if this user may write in the folder.
    pub writable: bool,
    /// True if nobody may write there, because the file system is mounted read-only.
    pub read_only: bool,
}

impl Store {
    /// Asks the system how much more evidence fits.
    #[must_use]
    pub fn free_space(&self) -> FreeSpace {
        let mut places = self.dir().ancestors();
        let place = places.find(|place| place.is_dir()).unwrap_or(self.dir());
        ask_system(place)
    }
}

#[cfg(unix)]
fn ask_system(place: &Path) -> FreeSpace {
    use rustix::fs::{Access, access, statvfs};
    let permitted = access(place, Access::WRITE_OK | Access::EXEC_OK);
    // `f_bavail` leaves out the blocks that are reserved for root (statvfs(3)). Creating a file in a folder needs the
    // permission to write and to search it, which is called execute.
    FreeSpace {
        free_bytes: statvfs(place)
            .ok()
            .map(|found| found.f_bavail.saturating_mul(found.f_frsize)),
        writable: permitted.is_ok(),
        read_only: permitted == Err(rustix::io::Errno::ROFS),
    }
}

#[cfg(not(unix))]
fn ask_system(place: &Path) -> FreeSpace {
    let read_only = std::fs::metadata(place).is_ok_and(|found| found.permissions().readonly());
    FreeSpace {
        free_bytes: None,
        writable: !read_only,
        read_only: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_is_not_there_yet_has_the_room_of_the_one_above() {
        let above = tempfile::tempdir().unwrap();
        let room = Store::open(&above.path().join("not/yet")).unwrap().free_space();
        assert!(room.writable);
        assert!(room.free_bytes.is_none_or(|bytes| bytes > 0));
        assert!(!above.path().join("not").exists());
    }
}
