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
    /// Its kind.
    pub kind: EntryKind,
    /// Its permission bits; 0 where the system has none.
    pub mode: u32,
    /// Its length in bytes.
    pub length: u64,
    /// Bytes that it takes on the disk; its length where the system does not tell.
    pub disk_bytes: u64,
    /// Its owner; user and group 0 where the system has none.
    pub owner: FolderOwner,
    /// The numbers of its device and inode, which together name it as long as it exists; 0 where the system has none.
    pub identity: (u64, u64),
}

impl EntryFacts {
    /// Returns true if its owner may execute it, which is the bit that git keeps.
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
