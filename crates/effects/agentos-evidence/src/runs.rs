//! Reads the tape, which is the evidence's append-only log: line by line and record by record.
//!
//! The tape has several files: full ones, which do not change any more, and the current one, which writers append to.
//! Readers see them as one sequence of lines.
//!
//! Owns: streaming of lines and records. Never: holds the whole tape in memory.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::PathBuf;

use serde_json::Value;

use crate::head::{self, HeadFile};
use crate::line_view::LineView;
use crate::record::MAX_LINE;
use crate::{EvidenceError, PairedKeys, Record, RecordKind, Store, TapeMark, plain_file, segments};

/// Iterator over the records of a tape, from the first to the last. It ends after the first line that cannot be read.
#[derive(Debug)]
pub struct RecordIter {
    /// `None` if there is no tape, or after an error.
    lines: Option<TapeLines>,
    /// Kinds whose bodies are parsed. The body of another record is null.
    reads_body: fn(RecordKind) -> bool,
}

/// End of a tape at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TapeEnd {
    /// The tape has no record yet.
    Empty,
    /// The record of this number is the last one.
    After(u64),
    /// The end is not known, because `head.json` cannot be read.
    Unknown,
}

impl Store {
    /// Reads all records, from the first to the last. Each is checked by itself; [`Store::verify`] checks the chain.
    ///
    /// # Errors
    /// When the tape cannot be opened. A missing tape is no error and has no records.
    pub fn records(&self) -> Result<RecordIter, EvidenceError> {
        self.records_with(|_| true)
    }

    /// Reads the devices that the tape has paired and revoked.
    ///
    /// # Errors
    /// When the tape cannot be read.
    pub fn paired_keys(&self) -> Result<PairedKeys, EvidenceError> {
        let mut keys = PairedKeys::default();
        for record in self.records_with(|kind| kind == RecordKind::Consent)? {
            let record = record?;
            if record.kind == RecordKind::Consent {
                keys.take(&record.body);
            }
        }
        Ok(keys)
    }

    /// Reads all records, and parses the bodies of some kinds only.
    pub(crate) fn records_with(
        &self,
        reads_body: fn(RecordKind) -> bool,
    ) -> Result<RecordIter, EvidenceError> {
        Ok(RecordIter {
            lines: TapeLines::open(self)?,
            reads_body,
        })
    }

    /// Returns the end of the tape according to `head.json`.
    #[must_use]
    pub fn tape_end(&self) -> TapeEnd {
        match head::read(&self.dir().join("head.json")) {
            Ok(HeadFile::Says(head)) => TapeEnd::After(head.seq),
            Ok(HeadFile::Missing) => TapeEnd::Empty,
            Ok(HeadFile::Unreadable) | Err(_) => TapeEnd::Unknown,
        }
    }

    /// Reads the records of one run.
    ///
    /// # Errors
    /// When the tape cannot be read.
    pub fn run(&self, run: &str) -> Result<Vec<Record>, EvidenceError> {
        self.records()?
            .filter(|record| record.as_ref().map_or(true, |record| record.run == run))
            .collect()
    }
}

impl Iterator for RecordIter {
    type Item = Result<Record, EvidenceError>;

    fn next(&mut self) -> Option<Self::Item> {
        let lines = self.lines.as_mut()?;
        let item = match lines.next_written() {
            Ok(None) => return None,
            Ok(Some(line)) => match LineView::parse_line(line.text()) {
                Some(view) if line.is_whole() => match (self.reads_body)(view.kind) {
                    // Parsing bodies takes most of the time, and a tape has many that a reader does not need.
                    true => view.build_record(),
                    false => Ok(view.build_header()),
                },
                Some(_) | None => Err(EvidenceError::BrokenRecord { line: lines.count }),
            },
            Err(error) => Err(error),
        };
        if item.is_err() {
            self.lines = None;
        }
        Some(item)
    }
}

/// Returns a fact of an intent or receipt: a text member of the body itself, or of its member `plan` or `receipt`. `None`
/// if none of them has it.
pub(crate) fn fact_of(body: &Value, name: &str) -> Option<String> {
    [Some(body), body.get("plan"), body.get("receipt")]
        .into_iter()
        .flatten()
        .find_map(|object| object.get(name)?.as_str().map(str::to_owned))
}

/// Returns a fact of a record, as [`fact_of`] does of a body.
pub(crate) fn record_fact(record: &Record, name: &str) -> Option<String> {
    fact_of(&record.body, name)
}

/// Reader of the lines of a tape, one at a time and none longer than the limit, through all files of the tape.
#[derive(Debug)]
pub(crate) struct TapeLines {
    tape: BufReader<io::Take<File>>,
    path: PathBuf,
    /// True if the file is the one to which writers append.
    is_current: bool,
    /// Files after this one.
    later: VecDeque<TapeSource>,
    buffer: Vec<u8>,
    /// Number of lines read so far.
    pub count: u64,
    /// True after a line that was too long. Nothing after it is read.
    ended: bool,
    /// Number of files before the one that is being read.
    pub file: usize,
    /// Bytes of this file that were read.
    pub offset: u64,
}

/// File of the tape that is still to be read.
#[derive(Debug)]
enum TapeSource {
    /// Full file, which does not change any more.
    Full(PathBuf),
    /// Current file, opened while nobody wrote, and its length then. Later appends are not read.
    Current(PathBuf, File, u64),
}

/// Line of the tape, with its line feed if it has one.
pub(crate) struct TapeLine<'a>(&'a [u8]);

/// End of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineEnd {
    /// The line ends with a line feed.
    Whole,
    /// The file ends before a line feed.
    Torn,
    /// There is no line feed within the maximum length of a record. No writer makes such a line. The next line feed is not
    /// searched for, because a sparse file may have none for a terabyte.
    TooLong,
}

impl<'a> TapeLine<'a> {
    /// Returns the line without its line feed.
    pub fn text(&self) -> &'a [u8] {
        self.0.strip_suffix(b"\n").unwrap_or(self.0)
    }

    /// Counts its bytes, including the line feed.
    pub fn bytes(&self) -> u64 {
        u64::try_from(self.0.len()).unwrap_or(u64::MAX)
    }

    /// Returns how the line ends.
    pub fn end(&self) -> LineEnd {
        if self.0.ends_with(b"\n") {
            LineEnd::Whole
        } else if self.0.len() > MAX_LINE {
            LineEnd::TooLong
        } else {
            LineEnd::Torn
        }
    }

    /// Returns false for a torn last line, and for a line that is too long.
    pub fn is_whole(&self) -> bool {
        self.end() == LineEnd::Whole
    }
}

impl TapeLines {
    /// Opens the tape for reading up to its present end. `None` if there is no tape.
    ///
    /// # Errors
    /// When a file of the tape cannot be opened.
    pub fn open(store: &Store) -> Result<Option<Self>, EvidenceError> {
        Self::open_at(store, &TapeMark::default())
    }

    /// Opens the tape for reading from a mark up to its present end. `None` if there is no tape, or no file with this mark.
    ///
    /// # Errors
    /// When a file of the tape cannot be opened.
    pub fn open_at(store: &Store, mark: &TapeMark) -> Result<Option<Self>, EvidenceError> {
        // Under the lock no writer can rename the current file between the listing and the opening, and the last
        // record is complete when the length is read. Without a lock file (nobody has written yet, or the folder is a
        // copy) there is no writer to wait for.
        let _lock = segments::lock_to_read(store.dir());
        let mut later: VecDeque<TapeSource> = segments::full_files(store.dir())?
            .into_iter()
            .map(TapeSource::Full)
            .collect();
        let path = store.tape_path();
        match plain_file::open_regular(&path) {
            Ok(tape) => {
                let len = tape
                    .metadata()
                    .map_err(EvidenceError::io_error("read", &path))?
                    .len();
                if later.len() == mark.file && mark.offset > len {
                    return Err(EvidenceError::WrongMark);
                }
                later.push_back(TapeSource::Current(path, tape, len));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(source) => return Err(EvidenceError::io_error("open", &path)(source)),
        }
        // A file that becomes full is renamed and keeps its place among the others, so a mark stays true.
        let mut later = later.split_off(mark.file.min(later.len()));
        let Some(first) = later.pop_front() else {
            return Ok(None);
        };
        let is_current = first.is_current();
        let (tape, path) = first.open(mark.offset)?;
        Ok(Some(Self {
            tape,
            path,
            is_current,
            later,
            buffer: Vec::new(),
            count: 0,
            ended: false,
            file: mark.file,
            offset: mark.offset,
        }))
    }

    /// Reads the next line that was written to its end. `None` after the last one, also at what a crash left of a record: nothing rests
    /// on it, and the next writer moves it into a blob.
    ///
    /// # Errors
    /// When a file of the tape cannot be read.
    pub fn next_written(&mut self) -> Result<Option<TapeLine<'_>>, EvidenceError> {
        let Some(end) = self.next()?.map(|line| line.end()) else {
            return Ok(None);
        };
        // Only the current file is written to. A line of a full one is damaged.
        let is_cut = end == LineEnd::Torn && self.is_current;
        Ok((!is_cut).then_some(TapeLine(&self.buffer)))
    }

    /// Reads the next line. `None` after the last one.
    ///
    /// # Errors
    /// When a file of the tape cannot be read.
    pub fn next(&mut self) -> Result<Option<TapeLine<'_>>, EvidenceError> {
        self.buffer.clear();
        if self.ended {
            return Ok(None);
        }
        // One byte more than the longest line, to tell a line that is too long from one of exactly that length.
        let limit = u64::try_from(MAX_LINE + 1).unwrap_or(u64::MAX);
        loop {
            (&mut self.tape)
                .take(limit)
                .read_until(b'\n', &mut self.buffer)
                .map_err(EvidenceError::io_error("read", &self.path))?;
            if !self.buffer.is_empty() {
                self.count += 1;
                let line = TapeLine(&self.buffer);
                self.offset += line.bytes();
                self.ended = line.end() == LineEnd::TooLong;
                return Ok(Some(line));
            }
            let Some(next) = self.later.pop_front() else {
                return Ok(None);
            };
            self.is_current = next.is_current();
            (self.tape, self.path) = next.open(0)?;
            self.file += 1;
            self.offset = 0;
        }
    }
}

impl TapeSource {
    fn is_current(&self) -> bool {
        match self {
            Self::Full(_) => false,
            Self::Current(..) => true,
        }
    }

    /// Opens the file for reading from this byte on.
    fn open(self, offset: u64) -> Result<(BufReader<io::Take<File>>, PathBuf), EvidenceError> {
        let (path, mut file, len) = match self {
            // A full file does not change any more, so it is read to its end.
            Self::Full(path) => {
                let file = plain_file::open_regular(&path).map_err(EvidenceError::io_error("open", &path))?;
                (path, file, u64::MAX)
            }
            Self::Current(path, file, len) => (path, file, len.saturating_sub(offset)),
        };
        if offset > 0 {
            let sought = file.seek(SeekFrom::Start(offset));
            sought.map_err(EvidenceError::io_error("read", &path))?;
        }
        Ok((BufReader::with_capacity(1 << 18, file.take(len)), path))
    }
}
