//! Reading the tape back: record by record, and run by run.
//!
//! Owns: streaming and the summary of a run. Never: holds the whole tape in memory.

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _};
use std::path::PathBuf;

use agentos_api::normalize_code;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::glimpse::Glimpse;
use crate::head::{self, HeadFile};
use crate::record::MAX_LINE;
use crate::{EvidenceError, Record, RecordKind, Store, plain_file, segments};

/// The records of a tape, first to last. Stops after the first that cannot be read.
#[derive(Debug)]
pub struct Records {
    lines: Option<Lines>,
}

/// Where a tape ends at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TapeEnd {
    /// There is no record yet.
    Empty,
    /// After the record of this number.
    After(u64),
    /// It cannot be told.
    Unknown,
}

/// One run in short.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunSummary {
    /// The run.
    pub run: String,
    /// How it was begun, as in `apply` or `run`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verb: Option<String>,
    /// The provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The model that was configured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What policy said last: `allow`, `ask` or `deny`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<String>,
    /// The paths of its last answer.
    pub paths: Vec<String>,
    /// Its end is signed; whether the signature holds is for the verification to say.
    pub signed: bool,
    /// When its first record was made.
    pub began: String,
    /// When its last record was made.
    pub ended: String,
    /// How many records it has.
    pub records: u64,
    /// The kind of its last record but the checkpoint.
    pub last: RecordKind,
    /// The commit it made, if it made one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// What a landing wrote, as in `work-tree-only` or `nothing`, if it landed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub writes: Option<String>,
    /// The code it was refused with, if it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// How it ended without landing: `refused`, `denied`, `consent-needed`, `nothing-to-do` or `failed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// Until when a person may answer what it asked for, if it left a request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked_until: Option<String>,
    /// What a person answered later: `approved`, and another run landed it, or `denied`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answered: Option<String>,
}

impl Store {
    /// All records, first to last. Each is checked by itself; the chain is checked by [`Store::verify`].
    ///
    /// # Errors
    /// When the tape cannot be opened. No tape is no records.
    pub fn records(&self) -> Result<Records, EvidenceError> {
        Ok(Records {
            lines: Lines::open(self)?,
        })
    }

    /// Returns where the tape ends, as `head.json` has it.
    #[must_use]
    pub fn tape_end(&self) -> TapeEnd {
        match head::read(&self.dir().join("head.json")) {
            Ok(HeadFile::Says(head)) => TapeEnd::After(head.seq),
            Ok(HeadFile::Missing) => TapeEnd::Empty,
            Ok(HeadFile::Unreadable) | Err(_) => TapeEnd::Unknown,
        }
    }

    /// The records of one run.
    ///
    /// # Errors
    /// When the tape cannot be read.
    pub fn run(&self, run: &str) -> Result<Vec<Record>, EvidenceError> {
        self.records()?
            .filter(|record| record.as_ref().map_or(true, |record| record.run == run))
            .collect()
    }

    /// All runs, in the order in which they began.
    ///
    /// # Errors
    /// When the tape cannot be read.
    pub fn runs(&self) -> Result<Vec<RunSummary>, EvidenceError> {
        let mut order: Vec<RunSummary> = Vec::new();
        let mut places: BTreeMap<String, usize> = BTreeMap::new();
        let mut answers = Answers::default();
        for record in self.records()? {
            let record = record?;
            let at = *places.entry(record.run.clone()).or_insert(order.len());
            if at == order.len() {
                order.push(RunSummary {
                    run: record.run.clone(),
                    verb: None,
                    provider: None,
                    model: None,
                    decision: None,
                    paths: Vec::new(),
                    signed: false,
                    began: record.ts.clone(),
                    ended: record.ts.clone(),
                    records: 0,
                    last: record.kind,
                    commit: None,
                    writes: None,
                    code: None,
                    outcome: None,
                    asked_until: None,
                    answered: None,
                });
            }
            if let Some((of, answer)) = answers.take(&record)
                && let Some(asked) = places.get(&of).and_then(|at| order.get_mut(*at))
            {
                asked.answered = Some(answer.to_owned());
            }
            if let Some(summary) = order.get_mut(at) {
                summary.records += 1;
                summary.ended.clone_from(&record.ts);
                if record.kind != RecordKind::Checkpoint {
                    summary.last = record.kind;
                }
                summary.take(&record);
            }
        }
        Ok(order)
    }
}

/// The answers to requests of earlier runs: which run said yes to which.
#[derive(Default)]
struct Answers(BTreeMap<String, String>);

impl Answers {
    /// The run whose request is answered by this record, and how. A yes counts once it has landed.
    fn take(&mut self, record: &Record) -> Option<(String, &'static str)> {
        if record.kind == RecordKind::Receipt {
            let of = self.0.get(&record.run)?;
            return Some((of.clone(), "approved"));
        }
        if record.kind != RecordKind::Consent {
            return None;
        }
        let of = record.body.get("answers")?.as_str()?.to_owned();
        let given = record.body.get("given").and_then(Value::as_bool) == Some(true);
        // Without a person's word it was only looked at.
        let said = record
            .body
            .get("consent")
            .is_some_and(|consent| !consent.is_null());
        if given {
            self.0.insert(record.run.clone(), of);
            return None;
        }
        said.then_some((of, "denied"))
    }
}

impl RunSummary {
    fn take(&mut self, record: &Record) {
        let text = |pointer: &str| record.body.pointer(pointer)?.as_str().map(str::to_owned);
        match record.kind {
            RecordKind::Task => {
                self.verb = text("/verb");
                self.provider = text("/provider");
                self.model = text("/model");
            }
            RecordKind::Landing => {
                let files = record.body.pointer("/report/files").and_then(Value::as_array);
                let paths = files
                    .into_iter()
                    .flatten()
                    .filter_map(|file| file.get("path")?.as_str());
                self.paths = paths.map(str::to_owned).collect();
            }
            RecordKind::Decision => self.decision = text("/decision/effect"),
            RecordKind::Receipt => {
                self.commit = fact(record, "commit").or(self.commit.take());
                self.writes = fact(record, "writes");
                self.code = None;
                self.outcome = None;
            }
            RecordKind::Refusal => {
                self.code = fact(record, "code").map(|code| normalize_code(&code).into_owned());
                self.outcome = fact(record, "outcome");
            }
            RecordKind::Consent => self.asked_until = text("/request/expires").or(self.asked_until.take()),
            RecordKind::Checkpoint => self.signed = text("/key").is_some(),
            RecordKind::Attempt
            | RecordKind::Answer
            | RecordKind::ToolResult
            | RecordKind::Boundary
            | RecordKind::Check
            | RecordKind::Intent
            | RecordKind::Undo
            | RecordKind::Recovered => {}
        }
    }
}

impl Iterator for Records {
    type Item = Result<Record, EvidenceError>;

    fn next(&mut self) -> Option<Self::Item> {
        let lines = self.lines.as_mut()?;
        let item = match lines.next() {
            Ok(None) => return None,
            Ok(Some(line)) => match Glimpse::of(line.text()) {
                Some(glimpse) if line.is_whole() => glimpse.record(),
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

/// A fact of an intent or receipt: a text member of the body itself, or of its member `plan` or `receipt`.
pub(crate) fn fact_of(body: &Value, name: &str) -> Option<String> {
    [Some(body), body.get("plan"), body.get("receipt")]
        .into_iter()
        .flatten()
        .find_map(|object| object.get(name)?.as_str().map(str::to_owned))
}

/// The same of a record.
pub(crate) fn fact(record: &Record, name: &str) -> Option<String> {
    fact_of(&record.body, name)
}

/// The lines of a tape, one at a time, none longer than the limit, through all its files.
#[derive(Debug)]
pub(crate) struct Lines {
    tape: BufReader<io::Take<File>>,
    path: PathBuf,
    /// The files after this one.
    later: VecDeque<Source>,
    buffer: Vec<u8>,
    pub count: u64,
    /// A line was too long: nothing after it is read.
    ended: bool,
}

/// A file of the tape that is still to be read.
#[derive(Debug)]
enum Source {
    /// Full: it changes no more.
    Full(PathBuf),
    /// The current one, opened while nobody wrote; what is appended later is not looked at.
    Current(PathBuf, File, u64),
}

/// One line with its end, if it has one.
pub(crate) struct Line<'a>(&'a [u8]);

/// How a line ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineEnd {
    /// With a line end.
    Whole,
    /// With the file.
    Torn,
    /// Not within the bytes that a record can have. It is not read further, and neither is anything after it: a file
    /// with a hole of a terabyte has no line end, and nobody who wrote a tape made such a line.
    TooLong,
}

impl<'a> Line<'a> {
    /// The line without its end.
    pub fn text(&self) -> &'a [u8] {
        self.0.strip_suffix(b"\n").unwrap_or(self.0)
    }

    /// Counts its bytes, its end included.
    pub fn bytes(&self) -> u64 {
        u64::try_from(self.0.len()).unwrap_or(u64::MAX)
    }

    /// Returns how it ends.
    pub fn end(&self) -> LineEnd {
        if self.0.ends_with(b"\n") {
            LineEnd::Whole
        } else if self.0.len() > MAX_LINE {
            LineEnd::TooLong
        } else {
            LineEnd::Torn
        }
    }

    /// False for a torn last line, and for one over the limit.
    pub fn is_whole(&self) -> bool {
        self.end() == LineEnd::Whole
    }
}

impl Lines {
    /// Opens the tape for reading as far as it goes now. None when there is no tape.
    pub fn open(store: &Store) -> Result<Option<Self>, EvidenceError> {
        let _lock = segments::lock_to_read(store.dir());
        let mut later: VecDeque<Source> = segments::full(store.dir())?
            .into_iter()
            .map(Source::Full)
            .collect();
        let path = store.tape_path();
        match plain_file::open_regular(&path) {
            Ok(tape) => {
                let len = tape.metadata().map_err(EvidenceError::io("read", &path))?.len();
                later.push_back(Source::Current(path, tape, len));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(source) => return Err(EvidenceError::io("open", &path)(source)),
        }
        let Some(first) = later.pop_front() else {
            return Ok(None);
        };
        let (tape, path) = first.open()?;
        Ok(Some(Self {
            tape,
            path,
            later,
            buffer: Vec::new(),
            count: 0,
            ended: false,
        }))
    }

    /// The next line.
    pub fn next(&mut self) -> Result<Option<Line<'_>>, EvidenceError> {
        self.buffer.clear();
        if self.ended {
            return Ok(None);
        }
        let limit = u64::try_from(MAX_LINE + 1).unwrap_or(u64::MAX);
        loop {
            (&mut self.tape)
                .take(limit)
                .read_until(b'\n', &mut self.buffer)
                .map_err(EvidenceError::io("read", &self.path))?;
            if !self.buffer.is_empty() {
                self.count += 1;
                let line = Line(&self.buffer);
                self.ended = line.end() == LineEnd::TooLong;
                return Ok(Some(line));
            }
            let Some(next) = self.later.pop_front() else {
                return Ok(None);
            };
            (self.tape, self.path) = next.open()?;
        }
    }
}

impl Source {
    fn open(self) -> Result<(BufReader<io::Take<File>>, PathBuf), EvidenceError> {
        let (path, file, len) = match self {
            Self::Full(path) => {
                let file = plain_file::open_regular(&path).map_err(EvidenceError::io("open", &path))?;
                (path, file, u64::MAX)
            }
            Self::Current(path, file, len) => (path, file, len),
        };
        Ok((BufReader::with_capacity(1 << 18, file.take(len)), path))
    }
}
