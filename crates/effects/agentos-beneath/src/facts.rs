//! Facts about one entry of a folder.
//!
//! Owns: their types. Never: asks the system.

/// The kind of an entry. A link is reported as a link, never as what it leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link.
    Link,
    /// A character device 0/0, with which overlayfs marks a deleted entry (kernel documentation, overlayfs.rst,
    /// "whiteouts and opaque directories").
    Whiteout,
    /// A FIFO, a socket or a device.
    Special,
}

/// The facts about one entry at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EntryFacts {
    /// Kind of the entry.
    pub kind: EntryKind,
    /// Permission bits; 0 on a system that has none.
    pub mode: u32,
    /// Length in bytes.
    pub length: u64,
    /// Bytes that the entry takes on the disk; the length on a system that does not report them.
    pub disk_bytes: u64,
    /// Owner; user and group 0 on a system that has none.
    pub owner: FolderOwner,
    /// Numbers of the device and the inode. Together they identify the entry as long as it exists; 0 on a system without
    /// them.
    pub identity: (u64, u64),
}

impl EntryFacts {
    /// Returns true if its owner may execute it. git keeps this permission bit and no other.
    #[must_use]
    pub fn is_executable(&self) -> bool {
        self.mode & 0o100 != 0
    }
}

/// The user and group that an entry belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FolderOwner {
    /// The user.
    pub user: u32,
    /// The group.
    pub group: u32,
}

impl FolderOwner {
    /// Returns the user together with the group of the same number.
    #[must_use]
    pub fn with_own_group(user: u32) -> Self {
        Self { user, group: user }
    }
}

/// The content of a regular file and the facts taken from the same descriptor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileContent {
    /// The bytes that were read.
    pub bytes: Vec<u8>,
    /// The facts before reading.
    pub facts: EntryFacts,
}
