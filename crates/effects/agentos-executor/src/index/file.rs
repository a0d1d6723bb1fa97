//! The file of git's index: entries read, found, replaced and written; all others stay as they were, byte for byte.
//!
//! Owns: versions 2 to 4 as git's `gitformat-index` page has them. Never: touches a disk, or judges what an entry says.
//!
//! libgit2 reads and writes an index as well; for 90,000 entries that took it four times as long as all the rest of a
//! landing, most of it for a checksum that withstands forgery, which an index needs not.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::io::{self, Write};

use sha1::{Digest, Sha1};

use super::{cache_tree, compressed};
use crate::preflight::ancestors;

/// An entry up to its name: ten numbers, the blob's id and the flags.
pub(super) const FIXED: usize = 62;
/// Of the SHA-1 at the end.
const CHECKSUM: usize = 20;
const HEADER: usize = 12;
/// Flags: a second field of flags follows.
const EXTENDED: u16 = 0x4000;
/// Flags: the length of the name, or this for all that are longer.
const NAME: u16 = 0x0fff;

/// What is wrong with an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Fault {
    /// It says that it cannot be understood without this.
    #[error("it needs the extension `{}`, which is not known", String::from_utf8_lossy(.0))]
    Needs([u8; 4]),
    #[error("it is of another version than 2, 3 or 4")]
    Version,
    #[error("it ends too early")]
    Short,
    #[error("its checksum is another")]
    Checksum,
    #[error("the name of an entry is not one")]
    Name,
    #[error("its entries are not in order")]
    Order,
}

/// One index, whole in memory.
pub(crate) struct IndexFile {
    version: u32,
    /// Entries as versions 2 and 3 have them, in any order; what else is there is not looked at.
    bytes: Vec<u8>,
    /// The entries in the order of their names and stages.
    slots: Vec<Slot>,
    /// The extensions that stay, with their heads.
    cache_tree: Vec<u8>,
    undo: Vec<u8>,
}

/// Where an entry is.
#[derive(Clone, Copy)]
pub(super) struct Slot {
    start: usize,
    name: usize,
    name_end: usize,
}

impl Slot {
    /// The name is followed by one to eight zeros, so that the length is a multiple of eight.
    fn end(self) -> usize {
        self.start + ((self.name_end - self.start + 8) & !7)
    }
}

/// One entry.
#[derive(Clone, Copy)]
pub(crate) struct Entry<'a> {
    bytes: &'a [u8],
    pub path: &'a [u8],
}

/// A file's entry, as it shall be.
pub(crate) struct NewEntry<'a> {
    pub path: &'a str,
    pub mode: u32,
    pub id: [u8; 20],
    pub stat: Stat,
}

/// What a new entry says of the file, as `stat` has it; the low 32 bits of each number.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stat {
    pub changed: (u32, u32),
    pub modified: (u32, u32),
    pub device: u32,
    pub inode: u32,
    pub user: u32,
    pub group: u32,
    pub size: u32,
}

impl IndexFile {
    /// Of a repository in which nothing was ever staged.
    pub fn empty() -> Self {
        Self {
            version: 2,
            bytes: Vec::new(),
            slots: Vec::new(),
            cache_tree: Vec::new(),
            undo: Vec::new(),
        }
    }

    pub fn parse(bytes: Vec<u8>) -> Result<Self, Fault> {
        let (content, checksum) = bytes
            .split_last_chunk::<CHECKSUM>()
            .filter(|(content, _)| content.len() >= HEADER)
            .ok_or(Fault::Short)?;
        // Git leaves the checksum out where `index.skipHash` says so.
        if *checksum != [0; CHECKSUM] && Sha1::digest(content).as_slice() != checksum {
            return Err(Fault::Checksum);
        }
        let version = match content.strip_prefix(b"DIRC").and_then(number) {
            Some(version @ 2..=4) => version,
            Some(_) | None => return Err(Fault::Version),
        };
        let count = content.get(8..).and_then(number).ok_or(Fault::Short)?;
        let mut unpacked = None;
        let (slots, after) = if version == 4 {
            let (entries, slots, after) = compressed::entries(content, HEADER, count)?;
            unpacked = Some(entries);
            (slots, after)
        } else {
            entries(content, count)?
        };
        // First, since the entries of a split index have no names of their own.
        let (cache_tree, undo) = extensions(content.get(after..).ok_or(Fault::Short)?)?;
        check_names(unpacked.as_deref().unwrap_or(content), &slots)?;
        Ok(Self {
            version,
            slots,
            cache_tree,
            undo,
            bytes: unpacked.unwrap_or(bytes),
        })
    }

    /// The entries in their order.
    pub fn entries(&self) -> impl Iterator<Item = Entry<'_>> {
        self.slots.iter().filter_map(|slot| Entry::at(&self.bytes, *slot))
    }

    /// One entry; stage 0 is the only one where nothing is in conflict.
    pub fn get(&self, path: &str, stage: u16) -> Option<Entry<'_>> {
        let at = self.find(path.as_bytes(), stage).ok()?;
        self.slots.get(at).and_then(|slot| Entry::at(&self.bytes, *slot))
    }

    /// The entries whose names begin like this.
    pub fn below<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = Entry<'a>> {
        let from = self
            .find(prefix.as_bytes(), 0)
            .unwrap_or_else(|insertion| insertion);
        self.slots
            .iter()
            .skip(from)
            .filter_map(|slot| Entry::at(&self.bytes, *slot))
            .take_while(move |entry| entry.path.starts_with(prefix.as_bytes()))
    }

    /// Takes away the entries of paths, and sets others. What cannot stand beside those goes as well, as git does it: the
    /// entries of a conflict, of a folder with the name, and of a file with the name of a folder above.
    pub fn edit<'a>(&mut self, gone: impl Iterator<Item = &'a str>, new: &[NewEntry<'a>]) {
        let mut removed: BTreeSet<usize> = gone
            .filter_map(|path| self.find(path.as_bytes(), 0).ok())
            .collect();
        for entry in new {
            removed.extend((0..=3).filter_map(|stage| self.find(entry.path.as_bytes(), stage).ok()));
            removed.extend(ancestors(entry.path).filter_map(|above| self.find(above.as_bytes(), 0).ok()));
            let folder = format!("{}/", entry.path);
            let (Ok(from) | Err(from)) = self.find(folder.as_bytes(), 0);
            removed.extend(from..from + self.below(&folder).count());
        }
        let mut added: Vec<(usize, Slot)> = Vec::with_capacity(new.len());
        for entry in new {
            let (Ok(at) | Err(at)) = self.find(entry.path.as_bytes(), 0);
            added.push((at, append(&mut self.bytes, &entry.head(), entry.path.as_bytes())));
        }
        added.sort_by_key(|(at, slot)| (*at, self.bytes.get(slot.name..slot.name_end)));
        let mut slots = Vec::with_capacity(self.slots.len() + added.len());
        let mut added = added.into_iter().peekable();
        for (at, slot) in self.slots.iter().enumerate() {
            while let Some((_, new)) = added.next_if(|(before, _)| *before <= at) {
                slots.push(new);
            }
            if !removed.contains(&at) {
                slots.push(*slot);
            }
        }
        slots.extend(added.map(|(_, new)| new));
        self.slots = slots;
    }

    /// Lets git look at the files of these entries again: their sizes say that they are not what is there.
    pub fn distrust(&mut self, is_meant: impl Fn(&Entry<'_>) -> bool) {
        for slot in &self.slots {
            let meant = Entry::at(&self.bytes, *slot).is_some_and(|entry| is_meant(&entry));
            if meant && let Some(size) = self.bytes.get_mut(slot.start + 36..slot.start + 40) {
                size.fill(0);
            }
        }
    }

    /// What git remembers of whole folders holds no longer where these paths are.
    pub fn forget_trees_of<'a>(&mut self, paths: impl Iterator<Item = &'a str>) {
        self.cache_tree = cache_tree::without(&self.cache_tree, paths).unwrap_or_default();
    }

    /// Writes it, with its checksum.
    pub fn write(&self, to: &mut impl Write) -> io::Result<()> {
        let mut to = Hashing {
            to,
            hash: Sha1::new(),
        };
        let too_many = |_| io::Error::other("an index cannot hold so many entries");
        let count = u32::try_from(self.slots.len()).map_err(too_many)?;
        to.write_all(b"DIRC")?;
        to.write_all(&self.version.to_be_bytes())?;
        to.write_all(&count.to_be_bytes())?;
        if self.version == 4 {
            to.write_all(&compressed::packed(self.entries()))?;
        } else {
            for range in self.ranges() {
                to.write_all(self.bytes.get(range).unwrap_or_default())?;
            }
        }
        for (name, extension) in [(b"TREE", &self.cache_tree), (b"REUC", &self.undo)] {
            if let Ok(length @ 1..) = u32::try_from(extension.len()) {
                to.write_all(name)?;
                to.write_all(&length.to_be_bytes())?;
                to.write_all(extension)?;
            }
        }
        to.to.write_all(&to.hash.finalize())
    }

    /// The entries as the fewest pieces of what is in memory.
    fn ranges(&self) -> Vec<std::ops::Range<usize>> {
        let mut ranges: Vec<std::ops::Range<usize>> = Vec::new();
        for slot in &self.slots {
            match ranges.last_mut() {
                Some(last) if last.end == slot.start => last.end = slot.end(),
                Some(_) | None => ranges.push(slot.start..slot.end()),
            }
        }
        ranges
    }

    fn find(&self, path: &[u8], stage: u16) -> Result<usize, usize> {
        self.slots.binary_search_by(|slot| {
            Entry::at(&self.bytes, *slot).map_or(Ordering::Less, |entry| {
                entry.path.cmp(path).then(entry.stage().cmp(&stage))
            })
        })
    }
}

impl NewEntry<'_> {
    /// All of it up to the name.
    fn head(&self) -> Vec<u8> {
        let Stat {
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
        let length = u16::try_from(self.path.len()).map_or(NAME, |length| length.min(NAME));
        head.extend_from_slice(&length.to_be_bytes());
        head
    }
}

impl<'a> Entry<'a> {
    pub(super) fn at(bytes: &'a [u8], slot: Slot) -> Option<Self> {
        Some(Self {
            bytes: bytes.get(slot.start..slot.name)?,
            path: bytes.get(slot.name..slot.name_end)?,
        })
    }

    /// All of it up to the name.
    pub(super) fn head(&self) -> &'a [u8] {
        self.bytes
    }

    /// The blob's id in hexadecimal digits.
    pub fn id(&self) -> String {
        use std::fmt::Write as _;
        let mut text = String::with_capacity(40);
        for byte in self.bytes.get(40..60).unwrap_or_default() {
            // Writing into a string cannot fail.
            let _ = write!(text, "{byte:02x}");
        }
        text
    }

    pub fn mode(&self) -> u32 {
        self.number(24)
    }

    /// When the file was modified, in seconds.
    pub fn modified(&self) -> u32 {
        self.number(8)
    }

    pub fn size(&self) -> u32 {
        self.number(36)
    }

    /// 0, or which side of a conflict it is.
    pub fn stage(&self) -> u16 {
        (self.flags(60) >> 12) & 3
    }

    /// Is it one that a checkout leaves out?
    pub fn is_skipped(&self) -> bool {
        self.flags(62) & 0x4000 != 0
    }

    /// Does it only say that a file will be added?
    pub fn is_intent_to_add(&self) -> bool {
        self.flags(62) & 0x2000 != 0
    }

    /// Has it flags of the kind that few entries have?
    pub fn is_special(&self) -> bool {
        self.flags(62) != 0
    }

    fn order(&self, other: &Entry<'_>) -> Ordering {
        self.path.cmp(other.path).then(self.stage().cmp(&other.stage()))
    }

    fn number(&self, at: usize) -> u32 {
        self.bytes.get(at..).and_then(number).unwrap_or_default()
    }

    fn flags(&self, at: usize) -> u16 {
        let two = self.bytes.get(at..).and_then(|bytes| bytes.first_chunk());
        two.map_or(0, |two| u16::from_be_bytes(*two))
    }
}

/// Each entry has a name, after the one before it.
fn check_names(bytes: &[u8], slots: &[Slot]) -> Result<(), Fault> {
    let mut before: Option<Entry<'_>> = None;
    for slot in slots {
        let entry = Entry::at(bytes, *slot).ok_or(Fault::Short)?;
        if entry.path.is_empty() {
            return Err(Fault::Name);
        }
        if before.is_some_and(|before| before.order(&entry) != Ordering::Less) {
            return Err(Fault::Order);
        }
        before = Some(entry);
    }
    Ok(())
}

/// Entries one after the other, and where they end.
fn entries(content: &[u8], count: u32) -> Result<(Vec<Slot>, usize), Fault> {
    // The count is the file's own word; each entry takes more than this many bytes.
    let most = content.len() / FIXED;
    let mut slots = Vec::with_capacity(most.min(usize::try_from(count).unwrap_or(most)));
    let mut start = HEADER;
    for _ in 0..count {
        let name = start + head_length(content, start)?;
        let rest = content.get(name..).ok_or(Fault::Short)?;
        let length = match content.get(start + 60..).and_then(|bytes| bytes.first_chunk()) {
            Some(flags) if u16::from_be_bytes(*flags) & NAME < NAME => {
                usize::from(u16::from_be_bytes(*flags) & NAME)
            }
            Some(_) => rest.iter().position(|byte| *byte == 0).ok_or(Fault::Short)?,
            None => return Err(Fault::Short),
        };
        let text = rest.get(..length).ok_or(Fault::Short)?;
        if text.contains(&0) || rest.get(length) != Some(&0) {
            return Err(Fault::Name);
        }
        let slot = Slot {
            start,
            name,
            name_end: name + length,
        };
        slots.push(slot);
        start = slot.end();
    }
    Ok((slots, start))
}

/// The bytes of an entry before its name.
pub(super) fn head_length(content: &[u8], start: usize) -> Result<usize, Fault> {
    let flags = content
        .get(start + 60..)
        .and_then(|bytes| bytes.first_chunk())
        .ok_or(Fault::Short)?;
    let is_extended = u16::from_be_bytes(*flags) & EXTENDED != 0;
    Ok(if is_extended { FIXED + 2 } else { FIXED })
}

/// Adds an entry to others, in the form of versions 2 and 3.
pub(super) fn append(bytes: &mut Vec<u8>, head: &[u8], path: &[u8]) -> Slot {
    let start = bytes.len();
    bytes.extend_from_slice(head);
    let name = bytes.len();
    bytes.extend_from_slice(path);
    let slot = Slot {
        start,
        name,
        name_end: bytes.len(),
    };
    bytes.resize(slot.end(), 0);
    slot
}

/// The two extensions that stay: what git remembers of folders, and of conflicts that were resolved. Others speak of
/// places in the file or of the whole work tree; git makes them again.
fn extensions(mut rest: &[u8]) -> Result<(Vec<u8>, Vec<u8>), Fault> {
    let (mut cache_tree, mut undo) = (Vec::new(), Vec::new());
    while !rest.is_empty() {
        let (name, after) = rest.split_first_chunk::<4>().ok_or(Fault::Short)?;
        let length = number(after).and_then(|length| usize::try_from(length).ok());
        let end = length
            .and_then(|length| length.checked_add(4))
            .ok_or(Fault::Short)?;
        let content = after.get(4..end).ok_or(Fault::Short)?;
        match name {
            b"TREE" => cache_tree = content.to_vec(),
            b"REUC" => undo = content.to_vec(),
            [first, ..] if first.is_ascii_uppercase() => {}
            _ => return Err(Fault::Needs(*name)),
        }
        rest = after.get(end..).ok_or(Fault::Short)?;
    }
    Ok((cache_tree, undo))
}

fn number(bytes: &[u8]) -> Option<u32> {
    bytes.first_chunk().map(|four| u32::from_be_bytes(*four))
}

/// Passes on what is written, and sums it up.
struct Hashing<'a, W> {
    to: &'a mut W,
    hash: Sha1,
}

impl<W: Write> Hashing<'_, W> {
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.hash.update(bytes);
        self.to.write_all(bytes)
    }
}
