//! The reader and writer of git's index, opened for fuzzing.
//!
//! Owns: a thin way to bytes that no caller of the product may hand in. Never: touches a disk, and nothing here is
//! part of the crate's interface.

use crate::index::{Fault, IndexFile, NewEntry, Stat};

/// One entry of an index, as its bytes say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexEntry {
    /// The path; any bytes but zero.
    pub path: Vec<u8>,
    /// 0, or which side of a conflict it is: 1 to 3.
    pub stage: u16,
    /// The mode, as in git's trees.
    pub mode: u32,
    /// The blob's id in 40 hexadecimal digits.
    pub id: String,
}

/// An index in memory.
pub struct ParsedIndex(IndexFile);

impl ParsedIndex {
    /// Reads an index file with its checksum.
    ///
    /// # Errors
    /// The reason in words, when it is not an index of version 2 to 4 that is whole and in order.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        let parsed = IndexFile::parse(bytes.to_vec());
        parsed.map(Self).map_err(|fault: Fault| fault.to_string())
    }

    /// The entries in their order.
    #[must_use]
    pub fn entries(&self) -> Vec<IndexEntry> {
        let entries = self.0.entries().map(|entry| IndexEntry {
            path: entry.path.to_vec(),
            stage: entry.stage(),
            mode: entry.mode(),
            id: entry.id(),
        });
        entries.collect()
    }

    /// Removes the entries of some paths, then sets others to this blob as executable files, as a landing does.
    pub fn edit(&mut self, removed: &[&str], set: &[&str], id: [u8; 20]) {
        let entries: Vec<NewEntry<'_>> = set
            .iter()
            .map(|path| NewEntry {
                path,
                mode: 0o100_755,
                id,
                stat: Stat::default(),
            })
            .collect();
        self.0.edit(removed.iter().copied(), &[]);
        self.0.edit(std::iter::empty(), &entries);
        self.0.forget_trees_of(removed.iter().chain(set).copied());
    }

    /// The bytes of the index file, with its checksum.
    ///
    /// # Errors
    /// When it has more entries than an index can hold.
    pub fn write(&self) -> std::io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.0.write(&mut bytes)?;
        Ok(bytes)
    }
}
