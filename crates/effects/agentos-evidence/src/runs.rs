//! Reads the tape, which is the evidence's append-only log: line by line, record by record, and as summaries of runs.
//!
//! The tape has several files: full ones, which do not change any more, and the current one, which writers append to.
//! Readers see them as one sequence of lines.
//!
//! Owns: streaming of lines and records, and the summary of a run. Never: holds the whole tape in memory.

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _};
use std::path::PathBuf;

use agentos_api::normalize_code;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::head::{self, HeadFile};
use crate::line_view::LineView;
use crate::record::MAX_LINE;
use crate::{EvidenceError, Record, RecordKind, Store, plain_file, segments};

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

/// Summary of one run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunSummary {
    /// Id of the run.
    pub run: String,
    /// Command that began the run, as in `apply` or `run`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verb: Option<String>,
    /// Provider of the tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// Configured model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// First line of the task, shortened to 200 characters. Left out if the run failed before it began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// Branch or other ref that the change was made for, without `refs/heads/`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Last decision of the policy: `allow`, `ask` or `deny`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<String>,
    /// Paths that the last answer changes.
    pub paths: Vec<String>,
    /// True if the end of the run is signed. The signature is checked by the verification, not here.
    pub signed: bool,
    /// True if the run came to its end: only a run that was killed, or still works, has no checkpoint.
    #[serde(default)]
    pub ended_in_order: bool,
    /// Time of the first record.
    pub began: String,
    /// Time of the last record.
    pub ended: String,
    /// Number of records.
    pub records: u64,
    /// Kind of the last record before the checkpoint.
    pub last: RecordKind,
    /// Commit that the run made. Left out if it made none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Places that the landing wrote to, as in `work-tree-only` or `nothing`. Left out if the run did not land.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub writes: Option<String>,
    /// Code of the refusal. Left out if the run was not refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// End of a run that did not land: `refused`, `denied`, `consent-needed`, `nothing-to-do` or `failed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// Time until which a person may answer the request that the run left. Left out if it left none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked_until: Option<String>,
    /// Later answer of a person to that request: `approved`, after which another run landed the change, or `denied`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answered: Option<String>,
}

impl Store {
    /// Reads all records, from the first to the last. Each is checked by itself; [`Store::verify`] checks the chain.
    ///
    /// # Errors
    /// When the tape cannot be opened. A missing tape is no error and has no records.
    pub fn records(&self) -> Result<RecordIter, EvidenceError> {
        self.records_with(|_| true)
    }

    /// Reads all records, and parses the bodies of some kinds only.
    fn records_with(&self, reads_body: fn(RecordKind) -> bool) -> Result<RecordIter, EvidenceError> {
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

    /// Summarises all runs, in the order in which they began.
    ///
    /// # Errors
    /// When the tape cannot be read.
    pub fn runs(&self) -> Result<Vec<RunSummary>, EvidenceError> {
        let mut order: Vec<RunSummary> = Vec::new();
        let mut places: BTreeMap<String, usize> = BTreeMap::new();
        let mut answers = RequestAnswers::default();
        for record in self.records_with(is_summarised)? {
            let record = record?;
            let at = *places.entry(record.run.clone()).or_insert(order.len());
            if at == order.len() {
                order.push(RunSummary::begin(&record));
            }
            // The run that left the request began earlier, so its summary exists already.
            if let Some((earlier_run, answer)) = answers.answered_run(&record)
                && let Some(earlier) = places.get(&earlier_run).and_then(|at| order.get_mut(*at))
            {
                earlier.answered = Some(answer.to_owned());
            }
            if let Some(summary) = order.get_mut(at) {
                summary.records += 1;
                summary.ended.clone_from(&record.ts);
                // Every run ends with a checkpoint, so that kind does not show how far the run came.
                if record.kind != RecordKind::Checkpoint {
                    summary.last = record.kind;
                }
                summary.add_record(&record);
            }
        }
        Ok(order)
    }
}

/// Approvals of requests that earlier runs left. The key is the run that approves, the value the run that left the request.
#[derive(Default)]
struct RequestAnswers(BTreeMap<String, String>);

impl RequestAnswers {
    /// Returns the earlier run whose request this record answers, and the answer. `None` if it answers none. An approval
    /// counts only when the change has landed, so it is returned for the receipt and not for the consent.
    fn answered_run(&mut self, record: &Record) -> Option<(String, &'static str)> {
        if record.kind == RecordKind::Receipt {
            let earlier_run = self.0.get(&record.run)?;
            return Some((earlier_run.clone(), "approved"));
        }
        if record.kind != RecordKind::Consent {
            return None;
        }
        let earlier_run = record.body.get("answers")?.as_str()?.to_owned();
        let given = record.body.get("given").and_then(Value::as_bool) == Some(true);
        // Without a person in the record, the request was only shown and nobody answered.
        let has_person = record
            .body
            .get("consent")
            .is_some_and(|consent| !consent.is_null());
        if given {
            self.0.insert(record.run.clone(), earlier_run);
            return None;
        }
        has_person.then_some((earlier_run, "denied"))
    }
}

/// Returns whether a summary has facts from the bodies of this kind.
fn is_summarised(kind: RecordKind) -> bool {
    match kind {
        RecordKind::Task
        | RecordKind::Landing
        | RecordKind::Decision
        | RecordKind::Consent
        | RecordKind::Receipt
        | RecordKind::Refusal
        | RecordKind::Checkpoint => true,
        RecordKind::Attempt
        | RecordKind::Answer
        | RecordKind::ToolResult
        | RecordKind::Boundary
        | RecordKind::Check
        | RecordKind::Intent
        | RecordKind::Undo
        | RecordKind::Recovered => false,
    }
}

/// Most characters of a task in a summary.
const LONGEST_TITLE: usize = 200;

impl RunSummary {
    /// Makes the summary of a run without any facts of its first record.
    fn begin(record: &Record) -> Self {
        Self {
            run: record.run.clone(),
            verb: None,
            provider: None,
            model: None,
            task: None,
            branch: None,
            decision: None,
            paths: Vec::new(),
            signed: false,
            ended_in_order: false,
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
        }
    }

    /// Adds the facts of one record. A later record of the same kind replaces those of an earlier one, because a run may
    /// have several attempts.
    fn add_record(&mut self, record: &Record) {
        let text = |pointer: &str| record.body.pointer(pointer)?.as_str().map(str::to_owned);
        match record.kind {
            RecordKind::Task => {
                self.verb = text("/verb");
                self.provider = text("/provider");
                self.model = text("/model");
                // Only a title: a task can be a page long, and a list of runs holds all of them in memory.
                let title = text("/instruction").unwrap_or_default();
                let title = title.lines().map(str::trim).find(|line| !line.is_empty());
                self.task = title.map(|line| line.chars().take(LONGEST_TITLE).collect());
                let target = text("/target/refname");
                self.branch = target.map(|name| name.trim_start_matches("refs/heads/").to_owned());
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
                self.commit = record_fact(record, "commit").or(self.commit.take());
                self.writes = record_fact(record, "writes");
                // The change landed, so a refusal of an earlier attempt is not the end of the run.
                self.code = None;
                self.outcome = None;
            }
            RecordKind::Refusal => {
                self.code = record_fact(record, "code").map(|code| normalize_code(&code).into_owned());
                self.outcome = record_fact(record, "outcome");
            }
            RecordKind::Consent => self.asked_until = text("/request/expires").or(self.asked_until.take()),
            // A checkpoint without a key says why it is not signed.
            RecordKind::Checkpoint => {
                self.signed = text("/key").is_some();
                self.ended_in_order = true;
            }
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

impl Iterator for RecordIter {
    type Item = Result<Record, EvidenceError>;

    fn next(&mut self) -> Option<Self::Item> {
        let lines = self.lines.as_mut()?;
        // A record without a line feed is refused too: its writer has not finished, or was killed.
        let item = match lines.next() {
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
    /// Files after the current one.
    later: VecDeque<TapeSource>,
    buffer: Vec<u8>,
    /// Number of lines read so far.
    pub count: u64,
    /// True after a line that was too long. Nothing after it is read.
    ended: bool,
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
                later.push_back(TapeSource::Current(path, tape, len));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(source) => return Err(EvidenceError::io_error("open", &path)(source)),
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

impl TapeSource {
    fn open(self) -> Result<(BufReader<io::Take<File>>, PathBuf), EvidenceError> {
        let (path, file, len) = match self {
            // A full file does not change any more, so it is read to its end.
            Self::Full(path) => {
                let file = plain_file::open_regular(&path).map_err(EvidenceError::io_error("open", &path))?;
                (path, file, u64::MAX)
            }
            Self::Current(path, file, len) => (path, file, len),
        };
        Ok((BufReader::with_capacity(1 << 18, file.take(len)), path))
    }
}
