//! What an overlay's upper folder says.
//!
//! Owns: the kernel's marks for deleted and replaced files (kernel documentation, overlayfs: whiteouts and opaque
//! directories, with `userxattr`). Never: follows a link.

use std::io;
use std::path::Path;

/// One entry of an upper folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Upper {
    /// A file, new or changed.
    File {
        /// Its owner may execute it, which is what git keeps.
        executable: bool,
        /// Its length in bytes.
        length: u64,
    },
    /// A folder in which something changed.
    Folder {
        /// Nothing of the lower folder shows through.
        replaced: bool,
    },
    /// A symbolic link.
    Link,
    /// What stood here is gone.
    Deleted,
    /// A pipe, a socket or a device.
    Special,
}

impl Upper {
    /// Looks at one entry.
    ///
    /// # Errors
    /// When it cannot be looked at.
    #[cfg(unix)]
    pub fn look(place: &Path) -> io::Result<Self> {
        use std::os::unix::fs::{FileTypeExt, MetadataExt};
        let found = place.symlink_metadata()?;
        let kind = found.file_type();
        Ok(if kind.is_dir() {
            Self::Folder {
                replaced: is_opaque(place),
            }
        } else if kind.is_symlink() {
            Self::Link
        } else if kind.is_file() {
            Self::File {
                executable: found.mode() & 0o100 != 0,
                length: found.len(),
            }
        } else if kind.is_char_device() && found.rdev() == 0 {
            Self::Deleted
        } else {
            Self::Special
        })
    }

    /// Looks at one entry. There are no overlays and no executable bits here: git's own rule for them is that of the index.
    ///
    /// # Errors
    /// When it cannot be looked at.
    #[cfg(not(unix))]
    pub fn look(place: &Path) -> io::Result<Self> {
        let found = place.symlink_metadata()?;
        let kind = found.file_type();
        Ok(if kind.is_symlink() {
            Self::Link
        } else if kind.is_dir() {
            Self::Folder { replaced: false }
        } else if kind.is_file() {
            Self::File {
                executable: false,
                length: found.len(),
            }
        } else {
            Self::Special
        })
    }
}

#[cfg(target_os = "linux")]
fn is_opaque(folder: &Path) -> bool {
    let mut value = [0_u8; 4];
    let found = rustix::fs::lgetxattr(folder, "user.overlay.opaque", &mut value);
    found.is_ok_and(|length| value.get(..length) == Some(b"y"))
}

/// There are no overlays here.
#[cfg(all(unix, not(target_os = "linux")))]
fn is_opaque(_folder: &Path) -> bool {
    false
}
