//! Reasons why bytes are not an index that can be edited.
//!
//! Owns: the error and its words. Never: repairs.

/// Reason why an index was refused; the crate's documentation says why each is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IndexError {
    /// The stored checksum is not the one of the content.
    #[error("checksum mismatch: the index file is damaged")]
    ChecksumMismatch,
    /// An entry has an empty name, a zero byte in its name, or a name that its length field contradicts.
    #[error("the name of an entry is not a valid path")]
    InvalidName,
    /// The prefix-compressed names of version 4 expand to more than 1 GiB.
    #[error("the names of the entries take more than 1 GiB")]
    NamesTooLarge,
    /// Most entries are in a shared index file (`core.splitIndex` of git-config(1)).
    #[error("the index is split: most entries are in another file")]
    SplitIndex,
    /// The file ends before what its numbers announce.
    #[error("the index file is truncated")]
    Truncated,
    /// An extension whose signature says that the index cannot be understood without it.
    #[error("the index needs the extension `{}`, which is unknown", String::from_utf8_lossy(.0))]
    UnknownExtension([u8; 4]),
    /// No index, or not one of version 2, 3 or 4.
    #[error("the index is not of version 2, 3 or 4")]
    UnsupportedVersion,
    /// Entries are not in ascending order of name and stage.
    #[error("the entries of the index are not in order")]
    WrongOrder,
}
