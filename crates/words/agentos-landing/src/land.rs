//! Landing: an untrusted answer and a base make a change, or a refusal with a report.
//!
//! Owns: the way from bytes to `Change`. Never: does I/O, reads a clock, or lands a part of an answer unasked.

use std::sync::Arc;

use crate::budget::WorkBudget;
use crate::parse::{HeaderName, ParsedAnswer, SkippedPathPlace, parse};
use crate::readings::{has_entities, has_raw_marks, other_readings, undo_escaping};
use crate::{
    Base, BaseError, Change, Dialect, EntryKind, FileChange, FileReport, LandingReport, Refusal, RefusalCode,
    RepoPath, ResultFacts, checks, sequence,
};

/// Bounds on what an answer and its files may be. Above any of them the answer is refused as `too-large`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of the whole answer.
    pub answer_bytes: usize,
    /// Bytes of one line of the answer.
    pub line_bytes: usize,
    /// Files the answer touches.
    pub files: usize,
    /// Hunks or edits in all.
    pub hunks: usize,
    /// Bytes of one file, before or after.
    pub file_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            answer_bytes: 16 << 20,
            line_bytes: 1 << 20,
            files: 5_000,
            hunks: 50_000,
            file_bytes: 64 << 20,
        }
    }
}

/// A file as it was sent to the tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenFile {
    /// The path it was sent under.
    pub path: RepoPath,
    /// The bytes that were sent.
    pub content: Arc<[u8]>,
}

/// How to land.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LandOptions {
    /// Bounds.
    pub limits: Limits,
    /// The context that was sent to the tool, if it is known: evidence of the state the answer was made for.
    pub seen: Vec<SeenFile>,
    /// Land what has one place and leave out what has none, where there are both. What is dangerous or
    /// contradicts itself still refuses the whole answer.
    pub partial: bool,
}

/// An answer that landed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Landed {
    /// What it means.
    pub change: Change,
    /// Facts of the tree that it results in, for policy.
    pub facts: ResultFacts,
    /// How it was read; its `refusal` is none.
    pub report: LandingReport,
}

/// An answer that did not land.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LandError {
    /// The answer is refused; the report's `refusal` is set.
    #[error("{}", .0.refusal.as_ref().map_or("the answer does not land", |refusal| refusal.message.as_str()))]
    Refused(Box<LandingReport>),
    /// The base could not be read.
    #[error(transparent)]
    Base(#[from] BaseError),
}

/// Lands an answer on a base: all of it, or nothing, unless a part was asked for.
///
/// # Errors
/// A refusal with its report, or a base that cannot be read.
pub fn land(answer: &[u8], base: &dyn Base, options: &LandOptions) -> Result<Landed, LandError> {
    let whole = LandOptions {
        partial: false,
        ..options.clone()
    };
    let as_written = match land_as_written(answer, base, &whole) {
        Ok(landed) => return refuse_if_escaped(answer, landed, base, &whole),
        Err(LandError::Refused(report)) => report,
        Err(LandError::Base(error)) => return Err(LandError::Base(error)),
    };
    if as_written.refusal.as_ref().is_some_and(may_be_read_otherwise) {
        for reading in other_readings(answer) {
            if let Ok(mut landed) = self::land_as_written(&reading.text, base, &whole)
                && (!reading.needs_exact_lines || landed.report.files.iter().all(sequence::is_exact))
            {
                landed.report.notes.push(reading.note.to_owned());
                return refuse_if_escaped(&reading.text, landed, base, &whole);
            }
        }
    }
    if options.partial {
        let landed = self::land_as_written(answer, base, options)?;
        return refuse_if_escaped(answer, landed, base, options);
    }
    Err(LandError::Refused(as_written))
}

/// A text that lands as it stands and, with its entities undone, as something else can be read in two ways.
fn refuse_if_escaped(
    answer: &[u8],
    landed: Landed,
    base: &dyn Base,
    options: &LandOptions,
) -> Result<Landed, LandError> {
    let other = undo_escaping(answer).map(|text| land_as_written(&text, base, options));
    let differs = match other {
        // Raw marks stand somewhere in the answer, but none in what it edits.
        None => only_entities_come(&landed.change),
        Some(Ok(other)) => other.change != landed.change,
        Some(Err(LandError::Refused(other))) => {
            // Files as they stand, and edits without: those have no place, yet are no text of a file.
            let files = |report: &LandingReport| {
                let mut dialects = report.files.iter().map(|file| file.dialect);
                dialects.all(|dialect| dialect == Dialect::WholeFile)
            };
            let cut = other
                .refusal
                .as_ref()
                .is_some_and(|refusal| refusal.code == RefusalCode::Malformed);
            files(&landed.report) && (cut || !files(&other))
        }
        Some(Err(LandError::Base(error))) => return Err(LandError::Base(error)),
    };
    if !differs {
        return Ok(landed);
    }
    let message = "the answer may be escaped for a web page: it lands as it stands, and differently without";
    let refusal = Refusal::new(RefusalCode::Ambiguous, message);
    refuse(
        landed.report,
        refusal.hint("send plain text, with context that has `<`, `>` or `&` in it"),
    )
}

/// The change brings entities into files that have none, and no mark that they stand for is near.
fn only_entities_come(change: &Change) -> bool {
    let known = |file: &FileChange| file.old.as_ref().is_some_and(|old| has_entities(&old.content));
    let diff = change.canonical_diff();
    let body = || {
        diff.split(|byte| *byte == b'\n')
            .filter(|line| !line.starts_with(b"--- ") && !line.starts_with(b"+++ "))
            .filter(|line| matches!(line.first(), Some(b' ' | b'+' | b'-')))
    };
    let comes = body().any(|line| line.starts_with(b"+") && has_entities(line));
    comes && !body().any(has_raw_marks) && !change.files().iter().any(known)
}

/// The text itself may be damaged, rather than be meant for another place.
fn may_be_read_otherwise(refusal: &Refusal) -> bool {
    [
        RefusalCode::NoDiff,
        RefusalCode::Malformed,
        RefusalCode::DoesNotApply,
    ]
    .contains(&refusal.code)
}

/// Lands the answer as it stands.
fn land_as_written(answer: &[u8], base: &dyn Base, options: &LandOptions) -> Result<Landed, LandError> {
    let mut report = LandingReport {
        version: 1,
        refusal: None,
        files: Vec::new(),
        notes: Vec::new(),
        partial: false,
    };
    let parsed = match parse(answer, &options.limits) {
        Ok(parsed) => parsed,
        Err(refusal) => return refuse(report, refusal),
    };
    let dropped = find_dropped_file(&parsed, base)?;
    if let (Some(refusal), false) = (&dropped, options.partial) {
        report.notes = parsed.notes;
        return refuse(report, refusal.clone());
    }
    let mut budget = WorkBudget::for_bytes(answer.len());
    let outcome = sequence::plan_sequence(answer, &parsed, base, options, &mut budget)?;
    report.notes = parsed.notes;
    report.files = outcome.reports;
    let Some(states) = outcome.states else {
        let refusal = first_refusal(&report);
        return refuse(report, refusal);
    };
    report.partial = outcome.partial || dropped.is_some();
    if report.partial {
        report.notes.extend(left_out_notes(&report.files));
        report
            .notes
            .extend(dropped.map(|refusal| format!("left out: {refusal}")));
    }
    if let Some(refusal) = checks::find_conflict(&states, base)? {
        return refuse(report, refusal);
    }
    match Change::new(states) {
        Ok(change) if change.is_empty() => {
            let refusal = Refusal::new(RefusalCode::Empty, "the answer changes nothing");
            refuse(report, refusal)
        }
        Ok(change) => Ok(Landed {
            facts: ResultFacts::read(&change, base)?,
            change,
            report,
        }),
        Err(error) => refuse(report, Refusal::new(RefusalCode::Malformed, error.to_string())),
    }
}

/// A block that was set aside may be a file that the answer means to change or to make.
fn find_dropped_file(parsed: &ParsedAnswer<'_>, base: &dyn Base) -> Result<Option<Refusal>, BaseError> {
    for aside in &parsed.asides {
        let Some(path) = std::str::from_utf8(&aside.path)
            .ok()
            .and_then(|path| RepoPath::new(path).ok())
        else {
            continue;
        };
        let there = base.entry(path.as_str())?.map(|entry| entry.kind);
        let file = match (aside.place, there) {
            (SkippedPathPlace::FirstLine, _)
            | (SkippedPathPlace::LineAbove, Some(EntryKind::File(_) | EntryKind::Symlink)) => true,
            (SkippedPathPlace::InSentence, None) => looks_like_file(&path, parsed),
            (SkippedPathPlace::LineAbove | SkippedPathPlace::InSentence, _) => false,
        };
        if file {
            let message = format!("a block that `{path}` stands with could be that file, or an example");
            let refusal = Refusal::new(RefusalCode::Ambiguous, message).at(path.as_str());
            return Ok(Some(refusal.hint(
                "give all of the change in one dialect, each file below its path",
            )));
        }
    }
    Ok(None)
}

/// A sentence has names with dots in it that are no files: this one has a folder, or the ending of a file that is
/// edited or common.
fn looks_like_file(path: &RepoPath, parsed: &ParsedAnswer<'_>) -> bool {
    const COMMON: [&[u8]; 10] = [
        b"toml", b"json", b"yaml", b"yml", b"md", b"txt", b"cfg", b"ini", b"sh", b"lock",
    ];
    let ending = |name: &[u8]| {
        name.rsplit(|byte| *byte == b'.')
            .next()
            .unwrap_or_default()
            .to_vec()
    };
    let this = ending(path.as_str().as_bytes());
    let edited = parsed
        .files
        .iter()
        .flat_map(|edit| [&edit.old, &edit.new])
        .any(|name| match name {
            HeaderName::Written(name) => ending(name) == this,
            HeaderName::Unstated | HeaderName::Nothing => false,
        });
    path.as_str().contains('/') || edited || COMMON.contains(&this.as_slice())
}

fn refuse(mut report: LandingReport, refusal: Refusal) -> Result<Landed, LandError> {
    report.refusal = Some(refusal);
    report.partial = false;
    Err(LandError::Refused(Box::new(report)))
}

/// A note for each file and hunk that a partial landing leaves out.
fn left_out_notes(files: &[FileReport]) -> Vec<String> {
    /// More than this are in the report, hunk by hunk.
    const SHOWN: usize = 100;
    let notes = files.iter().flat_map(|file| {
        let whole = file.refusal.as_ref();
        let hunks = file.hunks.iter().filter(move |_| whole.is_none());
        let hunks = hunks.filter_map(|hunk| {
            let refusal = hunk.refusal.as_ref()?;
            Some(format!(
                "left out: hunk {} of `{}`: {refusal}",
                hunk.index, file.path
            ))
        });
        whole
            .map(|refusal| format!("left out: `{}`: {refusal}", file.path))
            .into_iter()
            .chain(hunks)
    });
    notes.take(SHOWN).collect()
}

/// The first reason in the answer's order. That everything is there already counts only if nothing else is wrong.
fn first_refusal(report: &LandingReport) -> Refusal {
    let reasons = || report.files.iter().filter_map(|file| file.refusal.clone());
    let landed = report.files.iter().any(|file| file.refusal.is_none());
    match reasons()
        .find(|refusal| refusal.code != RefusalCode::Empty)
        .or_else(|| reasons().next())
    {
        Some(mut refusal) if landed && refusal.code == RefusalCode::Empty => {
            // Other files would change: the answer was made for another state.
            refusal.code = RefusalCode::DoesNotApply;
            refusal
        }
        Some(refusal) => refusal,
        None => Refusal::new(RefusalCode::DoesNotApply, "the answer does not land"),
    }
}
