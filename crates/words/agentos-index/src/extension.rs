//! The extensions behind the entries: which of them stay.
//!
//! Owns: splitting them, and the choice. Never: looks into one (`cache_tree` does).

use std::io;

use crate::IndexError;
use crate::entry::read_u32;

const CACHE_TREE: &[u8; 4] = b"TREE";
const RESOLVE_UNDO: &[u8; 4] = b"REUC";
const SPARSE_DIRECTORIES: &[u8; 4] = b"sdir";
const SPLIT_INDEX: &[u8; 4] = b"link";

/// Contents of the extensions that are written back; an empty content is not written.
#[derive(Default)]
pub(crate) struct KeptExtensions {
    pub cache_tree: Vec<u8>,
    pub resolve_undo: Vec<u8>,
    /// True if entries may represent whole folders.
    pub has_folders: bool,
}

impl KeptExtensions {
    /// Parses what follows the entries, without the checksum.
    pub fn parse(mut rest: &[u8]) -> Result<Self, IndexError> {
        let mut kept = Self::default();
        while !rest.is_empty() {
            let (signature, after) = rest.split_first_chunk::<4>().ok_or(IndexError::Truncated)?;
            let length = read_u32(after).and_then(|length| usize::try_from(length).ok());
            let end = length.and_then(|length| length.checked_add(4));
            let end = end.ok_or(IndexError::Truncated)?;
            let content = after.get(4..end).ok_or(IndexError::Truncated)?;
            match signature {
                CACHE_TREE => kept.cache_tree = content.to_vec(),
                RESOLVE_UNDO => kept.resolve_undo = content.to_vec(),
                // The extension has no content: its presence alone says that entries may represent folders.
                SPARSE_DIRECTORIES => kept.has_folders = true,
                SPLIT_INDEX => return Err(IndexError::SplitIndex),
                // Optional by its first letter, so it may be dropped.
                [b'A'..=b'Z', ..] => {}
                _ => return Err(IndexError::UnknownExtension(*signature)),
            }
            rest = after.get(end..).ok_or(IndexError::Truncated)?;
        }
        Ok(kept)
    }

    /// Passes the bytes of each extension to `write`, in git's order.
    pub fn write_with(&self, mut write: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        for (signature, content) in [(CACHE_TREE, &self.cache_tree), (RESOLVE_UNDO, &self.resolve_undo)] {
            if let Ok(length @ 1..) = u32::try_from(content.len()) {
                write(signature)?;
                write(&length.to_be_bytes())?;
                write(content)?;
            }
        }
        if self.has_folders {
            write(SPARSE_DIRECTORIES)?;
            write(&0_u32.to_be_bytes())?;
        }
        Ok(())
    }
}
