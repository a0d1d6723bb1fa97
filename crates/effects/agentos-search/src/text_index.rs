//! The index of texts: all segments of a folder.
//!
//! Owns: which texts are in the index, adding those that are not, and counting the words of a task. Never: decides which text
//! belongs to a task, or keeps a text.

use std::collections::HashMap;
use std::path::Path;

use agentos_context::{IndexAnswer, IndexedText, ObjectUse, TextCounter, TextSource, WordKey, hash_bytes};

use crate::folder::IndexFolder;
use crate::segment::{DamagedSegment, ObjectKey, Segment, SegmentBuilder, SegmentText};

/// Beginning of the names of segments.
const SEGMENT: &str = "segment-";
/// Name of a file with the version of the layout, for people.
const VERSION: &str = "version";
/// Most uses of words that are collected in memory, 16 bytes each, before a segment is written: 64 MiB.
const MOST_USES: usize = 4 << 20;
/// Number of segments from which small ones are joined.
const MANY_SEGMENTS: usize = 24;
/// Most bytes of all segments. A repository that needs more is searched without an index.
const MOST_BYTES: u64 = 1 << 30;
/// Number of texts of other commits that are kept in any case.
const SPARE_TEXTS: usize = 10_000;

/// Index of the texts of a repository.
#[derive(Debug)]
pub struct TextIndex {
    folder: IndexFolder,
    segments: Vec<OpenSegment>,
}

#[derive(Debug)]
struct OpenSegment {
    name: String,
    bytes: u64,
    segment: Segment,
}

/// Place of a text in the segments.
type TextPlace = (usize, u32);

impl TextIndex {
    /// Opens the index in a folder, which need not exist. Damaged segments are removed.
    #[must_use]
    pub fn open(folder: &Path) -> Self {
        let mut index = Self {
            folder: IndexFolder::new(folder),
            segments: Vec::new(),
        };
        index.open_segments();
        index
    }

    fn open_segments(&mut self) {
        self.segments.clear();
        for found in self.folder.list_files(SEGMENT) {
            // It may have been joined with others by another process since it was listed.
            let Ok(file) = self.folder.open_file(&found.name) else {
                continue;
            };
            match Segment::open(file) {
                Ok(segment) => self.segments.push(OpenSegment {
                    name: found.name,
                    bytes: found.bytes,
                    segment,
                }),
                Err(DamagedSegment) => {
                    tracing::debug!(name = found.name, "a damaged segment is removed");
                    self.folder.remove_files([found.name.as_str()]);
                }
            }
        }
    }

    /// Counts the words in the texts of objects. Texts that are not in the index are read with `read` and added first. `None` if
    /// the index cannot be used: its folder cannot be written, would become too large, or `read` returns `None`.
    pub fn count_words(
        &mut self,
        objects: &[&str],
        words: &[WordKey],
        read: &mut dyn FnMut(usize) -> Option<TextSource>,
    ) -> Option<IndexAnswer> {
        let keys: Option<Vec<ObjectKey>> = objects.iter().map(|object| parse_object(object)).collect();
        let keys = keys?;
        // A segment may turn out to be damaged only when a word is looked up. It is removed then, and its texts are read again.
        for _ in 0..2 {
            let mut wanted = WantedObjects::new(&keys);
            wanted.find_places(&self.segments);
            let missing = wanted.list_missing();
            let mut answer = IndexAnswer {
                read: missing.len(),
                ..IndexAnswer::default()
            };
            if !missing.is_empty() {
                answer.read -= self.add_missing(&keys, &missing, read)?;
                wanted.find_places(&self.segments);
            }
            answer.texts = wanted.list_texts(&self.segments);
            match self.find_words(words, &wanted) {
                Ok(uses) => answer.uses = uses,
                Err(at) => {
                    self.remove_segment(at);
                    continue;
                }
            }
            // Only a run that added texts joins segments: all others only read, and stay as fast as they can be.
            if !missing.is_empty() {
                self.join_segments(&wanted);
            }
            return Some(answer);
        }
        None
    }

    /// Finds the uses of words. Fails with the number of a damaged segment.
    fn find_words(
        &mut self,
        words: &[WordKey],
        wanted: &WantedObjects<'_>,
    ) -> Result<Vec<Vec<ObjectUse>>, usize> {
        let mut uses = vec![Vec::new(); words.len()];
        for (at, open) in self.segments.iter_mut().enumerate() {
            let owners = wanted.owners.get(at).map_or(&[][..], Vec::as_slice);
            for (word, uses) in words.iter().zip(&mut uses) {
                let found = open.segment.find_uses(*word, |text, count| {
                    let owner = owners.get(text as usize).copied().unwrap_or(NO_OWNER);
                    for object in wanted.objects_of(owner) {
                        let object = *object as usize;
                        uses.push(ObjectUse { object, count });
                    }
                });
                found.map_err(|DamagedSegment| at)?;
            }
        }
        for uses in &mut uses {
            uses.sort_unstable();
        }
        Ok(uses)
    }

    /// Adds texts. Returns how many could not be read. `None` if they cannot be added.
    fn add_missing(
        &mut self,
        keys: &[ObjectKey],
        missing: &[usize],
        read: &mut dyn FnMut(usize) -> Option<TextSource>,
    ) -> Option<usize> {
        // Tried first, so that a folder that cannot be written does not cost a reading of all texts.
        self.folder.write_file(VERSION, &[b"1\n"]).ok()?;
        let mut counter = TextCounter::default();
        let mut builder = SegmentBuilder::default();
        let mut unknown = 0;
        for at in missing {
            let Some(key) = keys.get(*at) else { continue };
            let (bytes, counted) = match read(*at)? {
                TextSource::Unknown => {
                    unknown += 1;
                    continue;
                }
                TextSource::TooLarge(bytes) => (bytes, None),
                TextSource::Bytes(bytes) => (bytes.len() as u64, counter.count_text(&bytes)),
            };
            let text = SegmentText {
                object: *key,
                length: counted.as_ref().map(|counted| counted.length),
                bytes: u32::try_from(bytes).unwrap_or(u32::MAX),
            };
            builder.add_text(text, counted.unwrap_or_default().words);
            if builder.count_uses() >= MOST_USES && !self.write_segment(std::mem::take(&mut builder)) {
                return None;
            }
        }
        let is_added = builder.count_texts() == 0 || self.write_segment(builder);
        is_added.then_some(unknown)
    }

    /// Writes a segment and opens it. Returns false if it cannot be written.
    fn write_segment(&mut self, builder: SegmentBuilder) -> bool {
        let parts = builder.encode();
        let pieces: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
        let bytes: u64 = pieces.iter().map(|piece| piece.len() as u64).sum();
        // The limit is checked before the disk is written, so that a full index does not grow by one segment at each run.
        let used: u64 = self.segments.iter().map(|open| open.bytes).sum();
        if used + bytes > MOST_BYTES {
            return false;
        }
        // The head has the checksums of all texts and buckets, and so of the words: two processes that read the same texts make
        // one file of them.
        let name = format!("{SEGMENT}{:016x}", hash_bytes(pieces.first().unwrap_or(&&[][..])));
        if let Err(error) = self.folder.write_file(&name, &pieces) {
            tracing::debug!(%error, "the index cannot be written");
            return false;
        }
        // Opened from the disk and not from memory, so that a segment that cannot be read back is noticed before it is used.
        let opened = self
            .folder
            .open_file(&name)
            .map_err(|_| DamagedSegment)
            .and_then(Segment::open);
        let Ok(segment) = opened else { return false };
        self.segments.push(OpenSegment { name, bytes, segment });
        true
    }

    fn remove_segment(&mut self, at: usize) {
        if at < self.segments.len() {
            let damaged = self.segments.remove(at);
            tracing::debug!(name = damaged.name, "a damaged segment is removed");
            self.folder.remove_files([damaged.name.as_str()]);
        }
    }

    /// Joins small segments if there are many, and leaves out texts of other commits if most are.
    fn join_segments(&mut self, wanted: &WantedObjects<'_>) {
        let all: usize = self.segments.iter().map(|open| open.segment.texts.len()).sum();
        let live = wanted.keys.len();
        let is_mostly_old = all > 2 * live + SPARE_TEXTS;
        if self.segments.len() <= MANY_SEGMENTS && !is_mostly_old {
            return;
        }
        let mut order: Vec<usize> = (0..self.segments.len()).collect();
        order.sort_by_key(|at| self.segments.get(*at).map_or(0, |open| open.segment.most_uses()));
        let (mut joined, mut uses) = (Vec::new(), 0);
        for at in order {
            let more = self.segments.get(at).map_or(0, |open| open.segment.most_uses());
            // Without old texts the result is smaller than its parts, by how much is not known beforehand.
            if uses + more <= MOST_USES as u64 * if is_mostly_old { 2 } else { 1 } {
                uses += more;
                joined.push(at);
            }
        }
        if joined.len() > 1 || (is_mostly_old && !joined.is_empty()) {
            self.write_joined(&joined, is_mostly_old.then_some(wanted));
        }
    }

    /// Writes one segment with the texts of others and removes those. Texts that are not `wanted` are left out.
    fn write_joined(&mut self, joined: &[usize], wanted: Option<&WantedObjects<'_>>) {
        let mut builder = SegmentBuilder::default();
        let mut known: HashMap<ObjectKey, ()> = HashMap::new();
        let mut names = Vec::new();
        for at in joined {
            let Some(open) = self.segments.get_mut(*at) else {
                continue;
            };
            let mut numbers: Vec<Option<u32>> = Vec::with_capacity(open.segment.texts.len());
            for text in &open.segment.texts {
                let is_wanted = wanted.is_none_or(|wanted| wanted.has_object(&text.object));
                let is_new = is_wanted && known.insert(text.object, ()).is_none();
                numbers.push(is_new.then_some(builder.count_texts() as u32));
                if is_new {
                    builder.add_text(*text, []);
                }
            }
            let read = open.segment.for_each_use(|found| {
                if let Some(text) = numbers.get(found.text as usize).copied().flatten() {
                    builder.add_use(crate::segment::WordUse { text, ..found });
                }
            });
            if read.is_err() {
                return self.remove_segment(*at);
            }
            names.push(open.name.clone());
        }
        if self.write_segment(builder) {
            let new = self.segments.last().map(|open| open.name.clone());
            // The result has the name of one of its parts if that had all the texts.
            names.retain(|name| Some(name) != new.as_ref());
            self.segments.retain(|open| !names.contains(&open.name));
            self.folder.remove_files(names.iter().map(String::as_str));
        }
    }
}

/// Number of an object that is not wanted.
const NO_OWNER: u32 = u32::MAX;

/// Objects of a question, without repetitions, and their places in the segments.
struct WantedObjects<'k> {
    /// Each object once, sorted.
    keys: Vec<&'k ObjectKey>,
    /// For each object, where its positions in the question begin; and the number of all positions.
    starts: Vec<u32>,
    /// Positions in the question, sorted by object.
    positions: Vec<u32>,
    /// For each object its place. `None` if it is in no segment.
    places: Vec<Option<TextPlace>>,
    /// For each segment and each of its texts the object; [`NO_OWNER`] if it is not wanted, or another segment has it too.
    owners: Vec<Vec<u32>>,
}

impl<'k> WantedObjects<'k> {
    fn new(objects: &'k [ObjectKey]) -> Self {
        // Their first bytes as a number decide nearly every comparison.
        let starts = objects.iter().map(|key| {
            let (start, _) = key.split_first_chunk::<8>().unwrap_or((&[0; 8], &[]));
            u64::from_be_bytes(*start)
        });
        let mut order: Vec<(u64, &ObjectKey, u32)> = starts
            .zip(objects)
            .zip(0_u32..)
            .map(|((start, key), at)| (start, key, at))
            .collect();
        order.sort_unstable();
        let mut wanted = Self {
            keys: Vec::new(),
            starts: Vec::new(),
            positions: Vec::with_capacity(order.len()),
            places: Vec::new(),
            owners: Vec::new(),
        };
        for (_, key, position) in order {
            if wanted.keys.last() != Some(&key) {
                wanted.keys.push(key);
                wanted.starts.push(wanted.positions.len() as u32);
            }
            wanted.positions.push(position);
        }
        wanted.starts.push(wanted.positions.len() as u32);
        wanted
    }

    fn has_object(&self, object: &ObjectKey) -> bool {
        self.keys.binary_search(&object).is_ok()
    }

    /// Finds the objects in the segments: both are sorted, so one pass over both is enough.
    fn find_places(&mut self, segments: &[OpenSegment]) {
        self.places = vec![None; self.keys.len()];
        self.owners.clear();
        for (at, open) in segments.iter().enumerate() {
            let mut owners = vec![NO_OWNER; open.segment.texts.len()];
            let mut keys = self.keys.iter().zip(&mut self.places).zip(0_u32..).peekable();
            for ((text, owner), number) in open.segment.texts.iter().zip(&mut owners).zip(0_u32..) {
                while keys.next_if(|((key, _), _)| ***key < text.object).is_some() {}
                if let Some(((_, place), object)) = keys.next_if(|((key, _), _)| ***key == text.object)
                    // Two processes may have added the same text; it must count once.
                    && place.is_none()
                {
                    *place = Some((at, number));
                    *owner = object;
                }
            }
            self.owners.push(owners);
        }
    }

    /// Returns the first position of each object that is in no segment, in the order of the question.
    fn list_missing(&self) -> Vec<usize> {
        let places = self.places.iter().zip(&self.starts);
        let missing = places.filter(|(place, _)| place.is_none());
        let mut missing: Vec<usize> = missing
            .filter_map(|(_, start)| self.positions.get(*start as usize))
            .map(|position| *position as usize)
            .collect();
        // In this order neighbouring files follow each other, which git reads faster.
        missing.sort_unstable();
        missing
    }

    /// Returns the positions of an object in the question.
    fn objects_of(&self, object: u32) -> &[u32] {
        let at = object as usize;
        let range = self.starts.get(at).zip(self.starts.get(at.saturating_add(1)));
        let range = range.and_then(|(start, end)| self.positions.get(*start as usize..*end as usize));
        range.unwrap_or_default()
    }

    fn list_texts(&self, segments: &[OpenSegment]) -> Vec<IndexedText> {
        let mut texts = vec![IndexedText::default(); self.positions.len()];
        for (place, object) in self.places.iter().zip(0_u32..) {
            let found = place.and_then(|(at, number)| segments.get(at)?.segment.texts.get(number as usize));
            let Some(found) = found else { continue };
            for position in self.objects_of(object) {
                if let Some(text) = texts.get_mut(*position as usize) {
                    *text = IndexedText {
                        length: found.length,
                        bytes: u64::from(found.bytes),
                    };
                }
            }
        }
        texts
    }
}

/// Parses a full object id. `None` for another kind of id.
pub(crate) fn parse_object(object: &str) -> Option<ObjectKey> {
    let (digits, rest) = object.as_bytes().as_chunks::<2>();
    if digits.len() != 20 || !rest.is_empty() {
        return None;
    }
    let mut key = [0; 20];
    for (byte, [high, low]) in key.iter_mut().zip(digits) {
        *byte = value_of(*high)? << 4 | value_of(*low)?;
    }
    Some(key)
}

/// Returns the value of a hexadecimal digit. `None` for another letter.
fn value_of(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}
