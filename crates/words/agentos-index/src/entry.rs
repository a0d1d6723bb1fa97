//! One entry: its fields, its place in memory, and the form of versions 2 and 3.
//!
//! Owns: the layout of an entry. Never: the order of entries, or the prefix compression of version 4.

use std::cmp::Ordering;
use std::fmt::Write as _;

use crate::IndexError;

/// Bytes of the header, before the first entry.
pub(crate) const HEADER: usize = 12;
/// Bytes of an entry up to its name, without extended flags.
const FIXED: usize = 62;
/// Flag: a second field of flags follows.
const EXTENDED: u16 = 0x4000;
/// Flag in the second field: a sparse checkout leaves the file out of the working tree.
const SKIP_WORKTREE: u16 = 0x4000;
/// Mode of an entry that represents a folder, in a sparse index.
const FOLDER: u32 = 0o040_000;
/// Mask of the name length; a name that is longer has this number itself.
const NAME_LENGTH: u16 = 0x0fff;

/// Position of an entry in the bytes of an index.
#[derive(Clone, Copy)]
pub(crate) struct EntrySlot {
    pub start: usize,
    pub name: usize,
    pub name_end: usize,
}

impl EntrySlot {
    /// Returns where the padding ends: the name is followed by one to eight zeros, so that the length is a multiple of
    /// eight.
    #[inline]
    pub fn end(self) -> usize {
        self.start + ((self.name_end - self.start + 8) & !7)
    }
}

/// Entry of an index.
#[derive(Clone, Copy)]
pub struct IndexEntry<'a> {
    head: &'a [u8],
    path: &'a [u8],
}

/// An entry that an edit adds, at stage 0.
pub struct NewEntry<'a> {
    /// Path from the top of the working tree, separated by `/`. That of a folder in a sparse index ends with `/`.
    pub path: &'a str,
    /// Mode as git's trees have it, for instance `0o100644`.
    pub mode: u32,
    /// Blob id.
    pub id: [u8; 20],
    /// File's stat data; the default makes git look at the file itself.
    pub stat: EntryStat,
    /// True if the file is left out of the working tree, or git is not to look at it there.
    pub skip_worktree: bool,
}

/// Stat data of a file by which git knows later that nobody changed it; of each number the low 32 bits.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct EntryStat {
    /// Seconds and nanoseconds of the last change of metadata (`ctime`).
    pub changed: (u32, u32),
    /// Seconds and nanoseconds of the last change of content (`mtime`).
    pub modified: (u32, u32),
    /// Device number.
    pub device: u32,
    /// Inode number.
    pub inode: u32,
    /// Owner's user id.
    pub user: u32,
    /// Owner's group id.
    pub group: u32,
    /// Size in bytes.
    pub size: u32,
}

impl NewEntry<'_> {
    /// Returns the bytes of the entry up to its name.
    pub(crate) fn head(&self) -> Vec<u8> {
        let EntryStat {
            changed,
            modified,
            device,
            inode,
            user,
            group,
            size,
        } = self.stat;
        let mut head = Vec::with_capacity(FIXED);
        for number in [
            changed.0, changed.1, modified.0, modified.1, device, inode, self.mode, user, group, size,
        ] {
            head.extend_from_slice(&number.to_be_bytes());
        }
        head.extend_from_slice(&self.id);
        // The field has 12 bits. Its largest number means that the name ends at the first zero.
        let length = u16::try_from(self.path.len()).map_or(NAME_LENGTH, |length| length.min(NAME_LENGTH));
        if self.skip_worktree {
            head.extend_from_slice(&(length | EXTENDED).to_be_bytes());
            head.extend_from_slice(&SKIP_WORKTREE.to_be_bytes());
        } else {
            head.extend_from_slice(&length.to_be_bytes());
        }
        head
    }
}

impl<'a> IndexEntry<'a> {
    #[inline]
    pub(crate) fn at(bytes: &'a [u8], slot: EntrySlot) -> Option<Self> {
        Some(Self {
            head: bytes.get(slot.start..slot.name)?,
            path: bytes.get(slot.name..slot.name_end)?,
        })
    }

    /// Returns the bytes of the entry up to its name.
    #[inline]
    pub(crate) fn head(&self) -> &'a [u8] {
        self.head
    }

    /// Returns the path: any bytes but zero, and not necessarily one that may be followed.
    #[inline]
    #[must_use]
    pub fn path(&self) -> &'a [u8] {
        self.path
    }

    /// Returns the blob's id, or that of a folder's tree, as 40 hexadecimal digits.
    #[must_use]
    pub fn blob_id(&self) -> String {
        let mut text = String::with_capacity(40);
        for byte in self.head.get(40..60).unwrap_or_default() {
            // Writing into a string cannot fail.
            let _ = write!(text, "{byte:02x}");
        }
        text
    }

    /// Returns the mode as git's trees have it.
    #[inline]
    #[must_use]
    pub fn mode(&self) -> u32 {
        self.number(24)
    }

    /// Returns the seconds of the file's last change of content.
    #[inline]
    #[must_use]
    pub fn modified_seconds(&self) -> u32 {
        self.number(8)
    }

    /// Returns the file's size; 0 also says that git must compare the content.
    #[inline]
    #[must_use]
    pub fn file_size(&self) -> u32 {
        self.number(36)
    }

    /// Returns 0, or the side of a conflict: 1 base, 2 ours, 3 theirs.
    #[inline]
    #[must_use]
    pub fn stage(&self) -> u16 {
        (self.flags(60) >> 12) & 3
    }

    /// Returns whether a sparse checkout leaves the file out of the working tree.
    #[must_use]
    pub fn is_skip_worktree(&self) -> bool {
        self.flags(62) & SKIP_WORKTREE != 0
    }

    /// Returns whether the entry represents a whole folder, as a sparse index has them for folders outside the sparse checkout.
    #[must_use]
    pub fn is_folder(&self) -> bool {
        self.mode() == FOLDER && self.path.ends_with(b"/")
    }

    /// Returns whether the entry only announces a file (`git add --intent-to-add`).
    #[must_use]
    pub fn is_intent_to_add(&self) -> bool {
        self.flags(62) & 0x2000 != 0
    }

    /// Returns whether the entry has any extended flag.
    #[inline]
    #[must_use]
    pub fn has_extended_flags(&self) -> bool {
        self.flags(62) != 0
    }

    /// Compares by name and stage, the order of an index.
    #[inline]
    pub(crate) fn compare(&self, path: &[u8], stage: u16) -> Ordering {
        self.path.cmp(path).then(self.stage().cmp(&stage))
    }

    #[inline]
    fn number(&self, at: usize) -> u32 {
        self.head.get(at..).and_then(read_u32).unwrap_or_default()
    }

    #[inline]
    fn flags(&self, at: usize) -> u16 {
        self.head.get(at..).and_then(read_u16).unwrap_or_default()
    }
}

/// Finds `count` entries that stand one after the other from the header on, and where they end.
pub(crate) fn locate_entries(content: &[u8], count: u32) -> Result<(Vec<EntrySlot>, usize), IndexError> {
    // The count is the file's own claim; each entry takes more than this many bytes.
    let most = content.len() / FIXED;
    let mut slots = Vec::with_capacity(most.min(usize::try_from(count).unwrap_or(most)));
    let mut start = HEADER;
    for _ in 0..count {
        let name = start + measure_head(content, start)?;
        let rest = content.get(name..).ok_or(IndexError::Truncated)?;
        let flags = content.get(start + 60..).and_then(read_u16);
        let length = match flags.ok_or(IndexError::Truncated)? & NAME_LENGTH {
            NAME_LENGTH => rest
                .iter()
                .position(|byte| *byte == 0)
                .ok_or(IndexError::Truncated)?,
            length => usize::from(length),
        };
        let text = rest.get(..length).ok_or(IndexError::Truncated)?;
        // A stated length that is not confirmed by the zero behind the name would let the next entry begin anywhere.
        if text.contains(&0) || rest.get(length) != Some(&0) {
            return Err(IndexError::InvalidName);
        }
        let slot = EntrySlot {
            start,
            name,
            name_end: name + length,
        };
        slots.push(slot);
        start = slot.end();
    }
    Ok((slots, start))
}

/// Checks that each entry has a name and comes after the one before it.
pub(crate) fn check_order(bytes: &[u8], slots: &[EntrySlot]) -> Result<(), IndexError> {
    let mut previous: Option<IndexEntry<'_>> = None;
    for slot in slots {
        let entry = IndexEntry::at(bytes, *slot).ok_or(IndexError::Truncated)?;
        if entry.path.is_empty() {
            return Err(IndexError::InvalidName);
        }
        // Entries are found by binary search, which needs this order.
        if previous.is_some_and(|previous| previous.compare(entry.path, entry.stage()) != Ordering::Less) {
            return Err(IndexError::WrongOrder);
        }
        previous = Some(entry);
    }
    Ok(())
}

/// Returns the number of bytes of an entry before its name.
#[inline]
pub(crate) fn measure_head(content: &[u8], start: usize) -> Result<usize, IndexError> {
    let flags = content.get(start + 60..).and_then(read_u16);
    let is_extended = flags.ok_or(IndexError::Truncated)? & EXTENDED != 0;
    Ok(if is_extended { FIXED + 2 } else { FIXED })
}

/// Appends an entry to others, in the form of versions 2 and 3.
#[inline]
pub(crate) fn append_entry(bytes: &mut Vec<u8>, head: &[u8], path: &[u8]) -> EntrySlot {
    let start = bytes.len();
    bytes.extend_from_slice(head);
    let name = bytes.len();
    bytes.extend_from_slice(path);
    let slot = EntrySlot {
        start,
        name,
        name_end: bytes.len(),
    };
    bytes.resize(slot.end(), 0);
    slot
}

/// Lists the folders above a path, outermost first.
pub(crate) fn list_parents(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').filter_map(|(at, _)| path.get(..at))
}

#[inline]
pub(crate) fn read_u32(bytes: &[u8]) -> Option<u32> {
    bytes.first_chunk().map(|four| u32::from_be_bytes(*four))
}

#[inline]
fn read_u16(bytes: &[u8]) -> Option<u16> {
    bytes.first_chunk().map(|two| u16::from_be_bytes(*two))
}
