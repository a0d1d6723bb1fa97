//! A segment: some texts and their words, in one file that never changes.
//!
//! Owns: the layout of the file, and reading a few words of it. Never: reads all of a large file for one task, or relies on a
//! length or an offset that it read.
//!
//! | part | content |
//! |---|---|
//! | head | [`HEAD_BYTES`] bytes: mark, version, numbers of texts, buckets and words, length of the uses, checksums |
//! | texts | for each text: object id (20 bytes), number of its words (4; all ones if it is no text), bytes (4); sorted by id |
//! | buckets | for each bucket: number of its first word (4), checksum of its entries (4); then the number of words |
//! | words | for each word: key (8), offset (8), length (4) and checksum (4) of its uses; sorted by key |
//! | uses | for each word: for each text that has it, the difference of the text's number to the one before and the count |
//!
//! The highest bits of a key are the number of its bucket. A task of twenty words reads head, texts and buckets, and then twenty
//! buckets and twenty lists of uses; everything that is read is covered by a checksum.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};

use agentos_context::{WordKey, hash_bytes};

use crate::bytes::{ByteReader, push_varint};

/// First bytes of a segment. The last two are the version: a reader of another version makes segments of its own.
const MARK: &[u8; 8] = b"AOSseg\x00\x01";
/// Length of the head.
const HEAD_BYTES: usize = 64;
/// Length of the entry of a text, a bucket and a word.
const TEXT_BYTES: usize = 28;
const BUCKET_BYTES: usize = 8;
const WORD_BYTES: usize = 24;
/// Usual number of words in a bucket.
const BUCKET_WORDS: usize = 64;
/// Number of words of something that is no text.
const NO_TEXT: u32 = u32::MAX;

/// Content hash of a file, as git computes it.
pub(crate) type ObjectKey = [u8; 20];

/// File that is damaged, or was made by somebody else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DamagedSegment;

/// Text of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SegmentText {
    pub object: ObjectKey,
    /// Number of words. `None` if the content is no text, or too large to be one.
    pub length: Option<u32>,
    /// Size of the content; the largest number stands for all larger ones.
    pub bytes: u32,
}

/// Use of a word in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct WordUse {
    pub word: u64,
    pub text: u32,
    pub count: u32,
}

/// Makes the bytes of a segment.
#[derive(Debug, Default)]
pub(crate) struct SegmentBuilder {
    texts: Vec<SegmentText>,
    uses: Vec<WordUse>,
}

impl SegmentBuilder {
    /// Adds a text with its counted words.
    pub(crate) fn add_text(&mut self, text: SegmentText, words: impl IntoIterator<Item = (WordKey, u32)>) {
        let Ok(number) = u32::try_from(self.texts.len()) else {
            return;
        };
        self.texts.push(text);
        let uses = words.into_iter().map(|(word, count)| WordUse {
            word: word.0,
            text: number,
            count,
        });
        self.uses.extend(uses);
    }

    /// Adds a use of a word in the text that was added with this number.
    pub(crate) fn add_use(&mut self, found: WordUse) {
        self.uses.push(found);
    }

    pub(crate) fn count_texts(&self) -> usize {
        self.texts.len()
    }

    pub(crate) fn count_uses(&self) -> usize {
        self.uses.len()
    }

    /// Returns the parts of the file.
    pub(crate) fn encode(mut self) -> Vec<Vec<u8>> {
        // The texts first: sorting them changes the numbers by which their uses are sorted.
        self.sort_texts();
        self.uses.sort_unstable();
        let mut texts = Vec::with_capacity(self.texts.len() * TEXT_BYTES);
        for text in &self.texts {
            texts.extend(text.object);
            texts.extend(text.length.unwrap_or(NO_TEXT).to_le_bytes());
            texts.extend(text.bytes.to_le_bytes());
        }
        let groups = self.uses.chunk_by(|a, b| a.word == b.word);
        let bits = bucket_bits(groups.clone().count());
        let mut words = Vec::new();
        let mut lists = Vec::new();
        // For each bucket the number of its first word, and after the last one the number of all words.
        let mut starts: Vec<u32> = Vec::new();
        for (number, group) in groups.enumerate() {
            let key = group.first().map_or(0, |found| found.word);
            while starts.len() <= bucket_of(key, bits) {
                starts.push(number as u32);
            }
            // Differences of sorted numbers are small, and most counts are 1: a use takes about two bytes.
            let offset = lists.len();
            let mut last = 0;
            for found in group {
                push_varint(&mut lists, found.text - last);
                push_varint(&mut lists, found.count);
                last = found.text;
            }
            let list = lists.get(offset..).unwrap_or_default();
            words.extend(key.to_le_bytes());
            words.extend((offset as u64).to_le_bytes());
            words.extend((list.len() as u32).to_le_bytes());
            words.extend(checksum(list).to_le_bytes());
        }
        let count = (words.len() / WORD_BYTES) as u32;
        starts.resize((1 << bits) + 1, count);
        let buckets = encode_buckets(&starts, &words);
        let head = encode_head(&texts, &buckets, bits, count, lists.len());
        vec![head, texts, buckets, words, lists]
    }

    /// Sorts the texts by object, and gives their uses the new numbers.
    fn sort_texts(&mut self) {
        let mut order: Vec<(SegmentText, u32)> = self.texts.iter().copied().zip(0_u32..).collect();
        order.sort_unstable();
        let mut numbers = vec![0_u32; order.len()];
        for (new, (_, old)) in (0_u32..).zip(&order) {
            if let Some(number) = numbers.get_mut(*old as usize) {
                *number = new;
            }
        }
        for found in &mut self.uses {
            found.text = numbers.get(found.text as usize).copied().unwrap_or(found.text);
        }
        self.texts = order.into_iter().map(|(text, _)| text).collect();
    }
}

fn encode_buckets(starts: &[u32], words: &[u8]) -> Vec<u8> {
    let mut buckets = Vec::with_capacity(starts.len() * BUCKET_BYTES);
    let ends = starts.iter().skip(1).chain(starts.last());
    for (start, end) in starts.iter().zip(ends) {
        let entries = words.get(*start as usize * WORD_BYTES..*end as usize * WORD_BYTES);
        buckets.extend(start.to_le_bytes());
        buckets.extend(checksum(entries.unwrap_or_default()).to_le_bytes());
    }
    buckets
}

fn encode_head(texts: &[u8], buckets: &[u8], bits: u32, words: u32, lists: usize) -> Vec<u8> {
    let mut head = Vec::with_capacity(HEAD_BYTES);
    head.extend(MARK);
    head.extend(((texts.len() / TEXT_BYTES) as u32).to_le_bytes());
    head.extend(bits.to_le_bytes());
    head.extend(words.to_le_bytes());
    head.extend(0_u32.to_le_bytes());
    head.extend((lists as u64).to_le_bytes());
    head.extend(hash_bytes(texts).to_le_bytes());
    head.extend(hash_bytes(buckets).to_le_bytes());
    head.extend(0_u64.to_le_bytes());
    let sum = hash_bytes(&head);
    head.extend(sum.to_le_bytes());
    head
}

fn checksum(bytes: &[u8]) -> u32 {
    hash_bytes(bytes) as u32
}

/// Returns how many bits of a key are the number of its bucket, for this number of words.
fn bucket_bits(words: usize) -> u32 {
    (words / BUCKET_WORDS).max(1).next_power_of_two().ilog2()
}

fn bucket_of(key: u64, bits: u32) -> usize {
    // A shift by all 64 bits is not defined, and one bucket has no bits.
    key.checked_shr(64 - bits).map_or(0, |bucket| bucket as usize)
}

/// Opened segment.
#[derive(Debug)]
pub(crate) struct Segment {
    file: File,
    pub texts: Vec<SegmentText>,
    /// First word of each bucket with the checksum of its entries, and the number of words at the end.
    buckets: Vec<(u32, u32)>,
    bits: u32,
    /// Number of words.
    words: u32,
    /// Offsets in the file, and the length of the uses.
    words_at: u64,
    lists_at: u64,
    lists: u64,
}

impl Segment {
    /// Opens a segment and checks its head, its texts and its buckets.
    pub(crate) fn open(mut file: File) -> Result<Self, DamagedSegment> {
        let size = file.metadata().map_err(|_| DamagedSegment)?.len();
        // A file that is shorter than a head fails here, as any that ends too early.
        let head = read_at(&mut file, 0, HEAD_BYTES as u64)?;
        let head = SegmentHead::decode(&head).ok_or(DamagedSegment)?;
        let (texts, buckets) = (head.texts_bytes(), head.buckets_bytes());
        let words_at = HEAD_BYTES as u64 + texts + buckets;
        let lists_at = words_at + u64::from(head.words) * WORD_BYTES as u64;
        // Before anything of these sizes is allocated: a damaged number would claim more memory than there is.
        if lists_at.checked_add(head.lists) != Some(size) {
            return Err(DamagedSegment);
        }
        let table = read_at(&mut file, HEAD_BYTES as u64, texts + buckets)?;
        let (texts, buckets) = table.split_at_checked(texts as usize).ok_or(DamagedSegment)?;
        if hash_bytes(texts) != head.texts_sum || hash_bytes(buckets) != head.buckets_sum {
            return Err(DamagedSegment);
        }
        let texts = decode_texts(texts).ok_or(DamagedSegment)?;
        let buckets = decode_buckets(buckets, head.words).ok_or(DamagedSegment)?;
        Ok(Self {
            file,
            texts,
            buckets,
            bits: head.bits,
            words: head.words,
            words_at,
            lists_at,
            lists: head.lists,
        })
    }

    /// Calls `each` with the text and the count of every use of a word.
    pub(crate) fn find_uses(
        &mut self,
        word: WordKey,
        mut each: impl FnMut(u32, u32),
    ) -> Result<(), DamagedSegment> {
        let number = bucket_of(word.0, self.bits);
        let entries = self.read_bucket(number)?;
        let (entries, _) = entries.as_chunks::<WORD_BYTES>();
        // A bucket has about 64 entries, which a search by halves would not find faster.
        for entry in entries {
            let entry = WordEntry::decode(entry).ok_or(DamagedSegment)?;
            if entry.key == word.0 {
                return self.read_uses(&entry, &mut each);
            }
        }
        Ok(())
    }

    /// Calls `each` with every use of every word.
    pub(crate) fn for_each_use(&mut self, mut each: impl FnMut(WordUse)) -> Result<(), DamagedSegment> {
        for number in 0..self.buckets.len().saturating_sub(1) {
            let entries = self.read_bucket(number)?;
            let (entries, _) = entries.as_chunks::<WORD_BYTES>();
            for entry in entries {
                let entry = WordEntry::decode(entry).ok_or(DamagedSegment)?;
                let word = entry.key;
                self.read_uses(&entry, &mut |text, count| each(WordUse { word, text, count }))?;
            }
        }
        Ok(())
    }

    /// Returns about how many uses there are: no use is shorter than two bytes.
    pub(crate) fn most_uses(&self) -> u64 {
        self.lists / 2
    }

    fn read_bucket(&mut self, number: usize) -> Result<Vec<u8>, DamagedSegment> {
        let (Some((start, sum)), Some((end, _))) = (self.buckets.get(number), self.buckets.get(number + 1))
        else {
            return Err(DamagedSegment);
        };
        if start > end || *end > self.words {
            return Err(DamagedSegment);
        }
        let offset = self.words_at + u64::from(*start) * WORD_BYTES as u64;
        let (sum, length) = (*sum, u64::from(end - start) * WORD_BYTES as u64);
        let entries = read_at(&mut self.file, offset, length)?;
        match checksum(&entries) == sum {
            true => Ok(entries),
            false => Err(DamagedSegment),
        }
    }

    fn read_uses(
        &mut self,
        entry: &WordEntry,
        each: &mut impl FnMut(u32, u32),
    ) -> Result<(), DamagedSegment> {
        // The checksum of the bucket covers these numbers, but whoever wrote the file may have written both.
        let end = entry.offset.checked_add(u64::from(entry.length));
        if end.is_none_or(|end| end > self.lists) {
            return Err(DamagedSegment);
        }
        let list = read_at(
            &mut self.file,
            self.lists_at + entry.offset,
            u64::from(entry.length),
        )?;
        if checksum(&list) != entry.sum {
            return Err(DamagedSegment);
        }
        let mut reader = ByteReader(&list);
        let mut text = 0_u32;
        while !reader.0.is_empty() {
            let (step, count) = reader
                .take_varint()
                .zip(reader.take_varint())
                .ok_or(DamagedSegment)?;
            text = text.checked_add(step).ok_or(DamagedSegment)?;
            if text as usize >= self.texts.len() {
                return Err(DamagedSegment);
            }
            each(text, count);
        }
        Ok(())
    }
}

/// Entry of a word.
struct WordEntry {
    key: u64,
    offset: u64,
    length: u32,
    sum: u32,
}

impl WordEntry {
    fn decode(bytes: &[u8]) -> Option<Self> {
        let mut reader = ByteReader(bytes);
        Some(Self {
            key: reader.take_u64()?,
            offset: reader.take_u64()?,
            length: reader.take_u32()?,
            sum: reader.take_u32()?,
        })
    }
}

/// Head of a segment.
struct SegmentHead {
    texts: u32,
    bits: u32,
    words: u32,
    lists: u64,
    texts_sum: u64,
    buckets_sum: u64,
}

impl SegmentHead {
    fn decode(bytes: &[u8]) -> Option<Self> {
        let (covered, sum) = bytes.split_last_chunk::<8>()?;
        if u64::from_le_bytes(*sum) != hash_bytes(covered) {
            return None;
        }
        let mut reader = ByteReader(covered);
        if reader.take_array::<8>()? != *MARK {
            return None;
        }
        let (texts, bits, words) = (reader.take_u32()?, reader.take_u32()?, reader.take_u32()?);
        reader.take_u32()?;
        let head = Self {
            texts,
            bits,
            words,
            lists: reader.take_u64()?,
            texts_sum: reader.take_u64()?,
            buckets_sum: reader.take_u64()?,
        };
        (head.bits < 32).then_some(head)
    }

    fn texts_bytes(&self) -> u64 {
        u64::from(self.texts) * TEXT_BYTES as u64
    }

    fn buckets_bytes(&self) -> u64 {
        ((1 << self.bits) + 1) * BUCKET_BYTES as u64
    }
}

fn decode_texts(bytes: &[u8]) -> Option<Vec<SegmentText>> {
    let (entries, _) = bytes.as_chunks::<TEXT_BYTES>();
    let texts = entries.iter().map(|entry| {
        let mut reader = ByteReader(entry);
        Some(SegmentText {
            object: reader.take_array()?,
            length: reader
                .take_u32()
                .map(|length| (length != NO_TEXT).then_some(length))?,
            bytes: reader.take_u32()?,
        })
    });
    let texts: Option<Vec<SegmentText>> = texts.collect();
    // Looking up an object relies on the order.
    texts.filter(|texts| texts.is_sorted_by(|a, b| a.object < b.object))
}

fn decode_buckets(bytes: &[u8], words: u32) -> Option<Vec<(u32, u32)>> {
    let (entries, _) = bytes.as_chunks::<BUCKET_BYTES>();
    let buckets = entries.iter().map(|entry| {
        let mut reader = ByteReader(entry);
        reader.take_u32().zip(reader.take_u32())
    });
    let buckets: Option<Vec<(u32, u32)>> = buckets.collect();
    buckets.filter(|buckets| buckets.last().is_some_and(|(count, _)| *count == words))
}

/// Reads so many bytes at an offset. The caller has compared both with the size of the file.
fn read_at(file: &mut File, offset: u64, length: u64) -> Result<Vec<u8>, DamagedSegment> {
    let length = usize::try_from(length).map_err(|_| DamagedSegment)?;
    let mut bytes = vec![0; length];
    let read = file
        .seek(SeekFrom::Start(offset))
        .and_then(|_| file.read_exact(&mut bytes));
    read.map_err(|_| DamagedSegment)?;
    Ok(bytes)
}
