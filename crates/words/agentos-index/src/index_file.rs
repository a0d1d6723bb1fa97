//! One index in memory: entries found, replaced and written.
//!
//! Owns: the edit. Never: decodes an entry that it only passes on.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::ops::Range;

use sha1::{Digest, Sha1};

use crate::entry::{
    EntrySlot, HEADER, IndexEntry, NewEntry, append_entry, check_order, list_parents, locate_entries,
    read_u32,
};
use crate::extension::KeptExtensions;
use crate::{IndexError, cache_tree, prefix_compression};

/// Bytes of the SHA-1 at the end.
const CHECKSUM: usize = 20;
/// Bytes of an entry that hold the file's size.
const SIZE: Range<usize> = 36..40;

/// Index, held in memory as a whole.
pub struct IndexFile {
    version: u32,
    /// Entries in the form of versions 2 and 3, in any order, and other bytes between them that mean nothing.
    bytes: Vec<u8>,
    /// Positions of the entries, ordered by name and stage.
    slots: Vec<EntrySlot>,
    extensions: KeptExtensions,
}

impl Default for IndexFile {
    fn default() -> Self {
        Self::new()
    }
}

impl IndexFile {
    /// Creates the index of a repository in which nothing was ever staged.
    #[must_use]
    pub fn new() -> Self {
        Self {
            version: 2,
            bytes: Vec::new(),
            slots: Vec::new(),
            extensions: KeptExtensions::default(),
        }
    }

    /// Parses the bytes of an index file. Takes them over, so that a large index is not copied.
    ///
    /// # Errors
    /// If the bytes are damaged or of a kind that is not understood; see the crate's documentation.
    pub fn parse(bytes: Vec<u8>) -> Result<Self, IndexError> {
        let (content, checksum) = bytes
            .split_last_chunk::<CHECKSUM>()
            .filter(|(content, _)| content.len() >= HEADER)
            .ok_or(IndexError::Truncated)?;
        // Git leaves the checksum out where `index.skipHash` says so.
        if *checksum != [0; CHECKSUM] && Sha1::digest(content).as_slice() != checksum {
            return Err(IndexError::ChecksumMismatch);
        }
        let version = match content.strip_prefix(b"DIRC").and_then(read_u32) {
            Some(version @ 2..=4) => version,
            Some(_) | None => return Err(IndexError::UnsupportedVersion),
        };
        let count = content.get(8..).and_then(read_u32).ok_or(IndexError::Truncated)?;
        let mut expanded = None;
        let (slots, after) = if version == 4 {
            let (entries, slots, after) = prefix_compression::expand_entries(content, HEADER, count)?;
            expanded = Some(entries);
            (slots, after)
        } else {
            locate_entries(content, count)?
        };
        // Before the names, since the entries of a split index may have none.
        let extensions = KeptExtensions::parse(content.get(after..).ok_or(IndexError::Truncated)?)?;
        check_order(expanded.as_deref().unwrap_or(content), &slots)?;
        Ok(Self {
            version,
            slots,
            extensions,
            bytes: expanded.unwrap_or(bytes),
        })
    }

    /// Lists the entries, ordered by name and stage.
    pub fn list_entries(&self) -> impl Iterator<Item = IndexEntry<'_>> {
        self.slots
            .iter()
            .filter_map(|slot| IndexEntry::at(&self.bytes, *slot))
    }

    /// Returns the entry of a path at a stage, or `None` if there is none. Stage 0 is the one without a conflict.
    #[must_use]
    pub fn find_entry(&self, path: &str, stage: u16) -> Option<IndexEntry<'_>> {
        let at = self.find_slot(path.as_bytes(), stage).ok()?;
        let slot = self.slots.get(at)?;
        IndexEntry::at(&self.bytes, *slot)
    }

    /// Returns the entry of a sparse index that represents a folder above this path. `None` if there is none.
    #[must_use]
    pub fn find_folder_above(&self, path: &str) -> Option<IndexEntry<'_>> {
        if !self.extensions.has_folders {
            return None;
        }
        list_parents(path).find_map(|above| {
            let entry = self.find_entry(&format!("{above}/"), 0)?;
            entry.is_folder().then_some(entry)
        })
    }

    /// Lists the entries whose names begin with `prefix`.
    pub fn list_entries_below<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = IndexEntry<'a>> {
        let (Ok(from) | Err(from)) = self.find_slot(prefix.as_bytes(), 0);
        self.slots
            .iter()
            .skip(from)
            .filter_map(|slot| IndexEntry::at(&self.bytes, *slot))
            .take_while(move |entry| entry.path().starts_with(prefix.as_bytes()))
    }

    /// Removes the entries of the paths `removed`, and sets `added`. Entries that cannot stand next to an added one go
    /// as well, as `git update-index --replace` does it: those of a conflict at its path, those below its path as if it
    /// were a folder, and files where a folder above it must be.
    pub fn replace_entries<'a>(&mut self, removed: impl Iterator<Item = &'a str>, added: &[NewEntry<'a>]) {
        let mut gone: BTreeSet<usize> = removed
            .filter_map(|path| self.find_slot(path.as_bytes(), 0).ok())
            .collect();
        for entry in added {
            // Stages 1 to 3 are the sides of a conflict, which adding the path resolves.
            gone.extend((0..=3).filter_map(|stage| self.find_slot(entry.path.as_bytes(), stage).ok()));
            gone.extend(
                // A file cannot stay where the added path needs a folder.
                list_parents(entry.path).filter_map(|above| self.find_slot(above.as_bytes(), 0).ok()),
            );
            let folder = format!("{}/", entry.path);
            let (Ok(from) | Err(from)) = self.find_slot(folder.as_bytes(), 0);
            gone.extend(from..from + self.list_entries_below(&folder).count());
        }
        if self.version == 2 && added.iter().any(|entry| entry.skip_worktree) {
            // Version 2 has no second field of flags; otherwise the two versions are the same.
            self.version = 3;
        }
        let mut new: Vec<(usize, EntrySlot)> = Vec::with_capacity(added.len());
        for entry in added {
            let (Ok(at) | Err(at)) = self.find_slot(entry.path.as_bytes(), 0);
            let slot = append_entry(&mut self.bytes, &entry.head(), entry.path.as_bytes());
            new.push((at, slot));
        }
        // Several new entries may belong before the same old one; among themselves they are sorted by name.
        new.sort_by_key(|(at, slot)| (*at, self.bytes.get(slot.name..slot.name_end)));
        let mut slots = Vec::with_capacity(self.slots.len() + new.len());
        let mut new = new.into_iter().peekable();
        for (at, slot) in self.slots.iter().enumerate() {
            while let Some((_, slot)) = new.next_if(|(before, _)| *before <= at) {
                slots.push(slot);
            }
            if !gone.contains(&at) {
                slots.push(*slot);
            }
        }
        slots.extend(new.map(|(_, slot)| slot));
        self.slots = slots;
    }

    /// Sets the file size of the entries that `is_racy` selects to 0, so that git compares the files' content with them:
    /// what git's `racy-git` page calls smudging.
    pub fn smudge_entries(&mut self, is_racy: impl Fn(&IndexEntry<'_>) -> bool) {
        for slot in &self.slots {
            let is_meant = IndexEntry::at(&self.bytes, *slot).is_some_and(|entry| is_racy(&entry));
            let place = slot.start + SIZE.start..slot.start + SIZE.end;
            if is_meant && let Some(size) = self.bytes.get_mut(place) {
                size.fill(0);
            }
        }
    }

    /// Invalidates the cached tree ids of the folders above `paths`.
    pub fn invalidate_trees<'a>(&mut self, paths: impl Iterator<Item = &'a str>) {
        let kept = cache_tree::invalidate_parents(&self.extensions.cache_tree, paths);
        self.extensions.cache_tree = kept.unwrap_or_default();
    }

    /// Writes the index file with its checksum, in as few pieces as its entries lie in.
    ///
    /// # Errors
    /// If `to` fails, or there are more entries than the format can count.
    pub fn write_to(&self, to: &mut dyn Write) -> io::Result<()> {
        let mut to = HashingWriter {
            to,
            hash: Sha1::new(),
        };
        let too_many = |_| io::Error::other("an index cannot hold so many entries");
        let count = u32::try_from(self.slots.len()).map_err(too_many)?;
        to.write_all(b"DIRC")?;
        to.write_all(&self.version.to_be_bytes())?;
        to.write_all(&count.to_be_bytes())?;
        if self.version == 4 {
            to.write_all(&prefix_compression::compress_entries(&self.bytes, &self.slots))?;
        } else {
            for range in self.merge_ranges() {
                to.write_all(self.bytes.get(range).unwrap_or_default())?;
            }
        }
        self.extensions.write_with(|bytes| to.write_all(bytes))?;
        to.to.write_all(&to.hash.finalize())
    }

    /// Returns the entries as the fewest ranges of the bytes in memory.
    fn merge_ranges(&self) -> Vec<Range<usize>> {
        let mut ranges: Vec<Range<usize>> = Vec::new();
        for slot in &self.slots {
            match ranges.last_mut() {
                Some(last) if last.end == slot.start => last.end = slot.end(),
                Some(_) | None => ranges.push(slot.start..slot.end()),
            }
        }
        ranges
    }

    /// Returns where an entry is in `slots`, or as an error where it would be inserted.
    fn find_slot(&self, path: &[u8], stage: u16) -> Result<usize, usize> {
        self.slots.binary_search_by(|slot| {
            IndexEntry::at(&self.bytes, *slot).map_or(Ordering::Less, |entry| entry.compare(path, stage))
        })
    }
}

/// Passes on what is written, and hashes it.
struct HashingWriter<'a> {
    to: &'a mut dyn Write,
    hash: Sha1,
}

impl HashingWriter<'_> {
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.hash.update(bytes);
        self.to.write_all(bytes)
    }
}
