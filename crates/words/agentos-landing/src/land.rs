//! Landing: an untrusted answer and a base make a change, or a refusal with a report.
//!
//! Owns: the way from bytes to `Change`. Never: does I/O, reads a clock, or lands a part of an answer without a
//! request.

use std::cell::RefCell;
use std::sync::Arc;

use crate::context::{LandingContext, WorkBudget};
use crate::overlay::BaseOverlay;
use crate::parse::{ParsedAnswer, parse};
use crate::readings::{
    READINGS, ReadingProof, has_entities, has_raw_ampersand, has_raw_marks, undo_escaping,
};
use crate::refusal::{ambiguous, malformed};
use crate::resolve::{StopReason, turned_kind_refusal};
use crate::{
    Base, BaseError, Change, ChangeError, Dialect, EntryKind, FileChange, FileReport, LandingReport, Refusal,
    RefusalCode, RepoPath, ResultFacts, checks, results, sequence,
};

/// File content that was sent to the tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenFile {
    /// Path under which the content was sent.
    pub path: RepoPath,
    /// Bytes of the whole file.
    pub content: Arc<[u8]>,
    /// Lines that were sent, as first and last line counted from 1. Empty if the whole file was sent.
    pub lines: Vec<(u64, u64)>,
}

/// Options of one landing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LandOptions {
    /// Files that were sent to the tool, if they are known. They show which state of a file the answer was made for.
    pub seen: Vec<SeenFile>,
    /// Land the edits that have exactly one place and leave out those that have none. A dangerous or contradictory
    /// part still refuses the whole answer.
    pub partial: bool,
}

impl LandOptions {
    /// Returns what was sent to the tool of a file. Returns `None` if that is not known.
    pub(crate) fn seen_file(&self, path: &str) -> Option<&SeenFile> {
        self.seen.iter().find(|seen| seen.path.as_str() == path)
    }
}

/// Outcome of an answer that landed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LandedChange {
    /// Change that the answer describes.
    pub change: Change,
    /// Facts of the resulting tree, for policy.
    pub facts: ResultFacts,
    /// Report of how the answer was read. Its `refusal` is `None`.
    pub report: LandingReport,
}

/// Reason why an answer did not land.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LandError {
    /// The answer is refused. The `refusal` of the report is set.
    #[error("{}", .0.refusal.as_ref().map_or("the answer does not land", |refusal| refusal.message.as_str()))]
    Refused(Box<LandingReport>),
    /// The base could not be read.
    #[error(transparent)]
    Base(#[from] BaseError),
}

/// Lands an answer on a base: the whole answer or nothing, unless the options allow a part of it.
///
/// # Errors
/// Fails with [`LandError::Refused`] and the report if the answer is refused, and with [`LandError::Base`] if the
/// base cannot be read.
pub fn land(answer: &[u8], base: &dyn Base, options: &LandOptions) -> Result<LandedChange, LandError> {
    use RefusalCode::{DoesNotApply, Malformed, NoDiff};
    let whole = LandOptions {
        partial: false,
        ..options.clone()
    };
    // The answer is first read exactly as it was written. A repaired reading is tried only after that fails, so that
    // an answer that is correct can never be changed by a repair.
    let as_written = match land_as_written(answer, base, &whole) {
        Ok(landed) => return refuse_if_escaped(answer, landed, base, &whole),
        Err(LandError::Refused(report)) => report,
        Err(LandError::Base(error)) => return Err(LandError::Base(error)),
    };
    // The other refusals, such as `path-escape`, are about a text that was understood. A reading in which they
    // disappear would have another meaning.
    let code = as_written.refusal.as_ref().map(|refusal| refusal.code);
    if matches!(code, Some(NoDiff | Malformed | DoesNotApply)) {
        for (undo, proof, note) in READINGS {
            if let Some(text) = undo(answer)
                && let Ok(mut landed) = land_as_written(&text, base, &whole)
                && is_proven(proof, answer, &landed)
            {
                landed.report.notes.push(note.to_owned());
                return refuse_if_escaped(&text, landed, base, &whole);
            }
        }
    }
    // A partial landing comes last: a reading in which everything lands is better evidence of what was meant.
    if options.partial {
        let landed = land_as_written(answer, base, options)?;
        return refuse_if_escaped(answer, landed, base, options);
    }
    Err(LandError::Refused(as_written))
}

/// Returns true if the landing of a reading has the proof that the reading needs.
fn is_proven(proof: ReadingProof, answer: &[u8], landed: &LandedChange) -> bool {
    let own_entities = |file: &FileChange| {
        let old = file.old.as_ref();
        file.new.is_some() && old.is_none_or(|old| has_entities(&old.content))
    };
    // Nothing in the base shows whether the entities of a new page are its own.
    let is_new_page = |file: &FileChange| {
        const PAGES: [&str; 5] = [".xml", ".html", ".htm", ".svg", ".xhtml"];
        file.old.is_none() && PAGES.iter().any(|page| file.path.as_str().contains(page))
    };
    match proof {
        ReadingProof::Landing => true,
        ReadingProof::ExactLines => landed.report.files.iter().all(sequence::is_exact),
        ReadingProof::ForeignEntities => {
            let files = landed.change.files();
            !(files.iter().any(is_new_page) || has_raw_ampersand(answer) && files.iter().any(own_entities))
        }
    }
}

/// Refuses an answer that lands as it is and has another meaning with its HTML entities decoded: nothing shows which
/// of the two was meant.
fn refuse_if_escaped(
    answer: &[u8],
    landed: LandedChange,
    base: &dyn Base,
    options: &LandOptions,
) -> Result<LandedChange, LandError> {
    let other = undo_escaping(answer).map(|text| land_as_written(&text, base, options));
    let differs = match other {
        // The answer has raw `<`, `>` or `&` somewhere, so it was not escaped as a whole. The edited lines may have
        // been.
        None => only_entities_come(&landed.change),
        Some(Ok(other)) => other.change != landed.change,
        Some(Err(LandError::Refused(other))) => {
            // As it is the answer gives whole files, and decoded it has edits: the entities hid a diff. Edits that
            // have no place still differ from a file, since they are not the text of one.
            let files = |report: &LandingReport| {
                let mut dialects = report.files.iter().map(|file| file.dialect);
                dialects.all(|dialect| dialect == Dialect::WholeFile)
            };
            let refusal = other.refusal.as_ref();
            let cut = refusal.is_some_and(|refusal| refusal.code == RefusalCode::Malformed);
            files(&landed.report) && (cut || !files(&other))
        }
        Some(Err(LandError::Base(error))) => return Err(LandError::Base(error)),
    };
    if !differs {
        return Ok(landed);
    }
    let message = "the answer may be HTML-escaped: it lands as written, and with another result when decoded";
    let refusal = ambiguous(message);
    let refusal = refusal.hint("send plain text, with context that has `<`, `>` or `&` in it");
    refuse(landed.report, refusal)
}

/// Returns true if the change adds entities to files that had none, and no raw mark near the edit shows that entities
/// are meant literally.
fn only_entities_come(change: &Change) -> bool {
    // An HTML or XML file that already has entities may get more of them.
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

/// Lands the answer exactly as it was written, without repairs of the whole text.
fn land_as_written(answer: &[u8], base: &dyn Base, options: &LandOptions) -> Result<LandedChange, LandError> {
    let mut report = LandingReport {
        version: 1,
        ..LandingReport::default()
    };
    // The reader of titles cannot fail, so the first failure to read the base is kept until it returns.
    let failure = RefCell::new(None);
    let is_tracked = |path: &[u8]| {
        is_file_of(base, path).unwrap_or_else(|error| {
            failure.borrow_mut().get_or_insert(error);
            false
        })
    };
    let parsed = parse(answer, &is_tracked);
    if let Some(error) = failure.take() {
        return Err(LandError::Base(error));
    }
    let landed = parsed
        .map_err(StopReason::Refused)
        .and_then(|parsed| land_parts(parsed, answer.len(), base, options, &mut report));
    match landed {
        Ok((change, facts)) => Ok(LandedChange {
            change,
            facts,
            report,
        }),
        Err(StopReason::Refused(refusal)) => refuse(report, refusal),
        Err(StopReason::Base(error)) => Err(error.into()),
    }
}

/// Lands the parts of an answer of this many bytes, and reports about them.
fn land_parts(
    parsed: ParsedAnswer,
    bytes: usize,
    base: &dyn Base,
    options: &LandOptions,
    report: &mut LandingReport,
) -> Result<(Change, ResultFacts), StopReason> {
    let context = LandingContext {
        base: &BaseOverlay::new(base),
        options,
        budget: &WorkBudget::for_bytes(bytes),
    };
    let outcome = context.plan_sequence(&parsed)?;
    (report.notes, report.files) = (parsed.notes, outcome.reports);
    // Of the edits, only the ids of the results that `index` lines state are kept while the change is rendered, which takes the
    // most memory.
    let ids = parsed.files.into_iter().filter_map(|edit| edit.extended.index);
    let stated: Vec<String> = ids.map(|(_, new)| new).collect();
    // The states exist only if every part landed, or enough of them for a partial landing.
    let states = outcome.states.ok_or_else(|| first_refusal(report))?;
    report.partial = report.files.iter().any(FileReport::has_refusal);
    if report.partial {
        report.notes.extend(left_out_notes(&report.files));
    }
    // Only now are all paths of the change known: a file may take the name of one that another part deletes.
    checks::check_paths(&states, base)?;
    let change = Change::new(states).map_err(|error| match error {
        ChangeError::Link(_) => turned_kind_refusal(error),
        error => malformed(error.to_string()),
    })?;
    if change.is_empty() {
        return Err(Refusal::new(RefusalCode::Empty, "the answer changes nothing").into());
    }
    results::check_results(&change, &report.files, &stated)?;
    let facts = ResultFacts::read(&change, base)?;
    Ok((change, facts))
}

/// Returns true if the base has a file or a link of this path.
fn is_file_of(base: &dyn Base, path: &[u8]) -> Result<bool, BaseError> {
    /// Maximum length of a path that is looked up.
    const LONGEST: usize = 1_024;
    let path = std::str::from_utf8(path)
        .ok()
        .filter(|path| path.len() <= LONGEST);
    // A name that leaves the repository is not in the base.
    let Some(path) = path.and_then(|path| RepoPath::of_base(path).ok()) else {
        return Ok(false);
    };
    let entry = base.entry(path.as_str())?;
    Ok(entry.is_some_and(|entry| matches!(entry.kind, EntryKind::File(_) | EntryKind::Symlink)))
}

fn refuse(mut report: LandingReport, refusal: Refusal) -> Result<LandedChange, LandError> {
    report.refusal = Some(refusal);
    report.partial = false;
    Err(LandError::Refused(Box::new(report)))
}

/// Lists a note for each file and hunk that a partial landing leaves out.
fn left_out_notes(files: &[FileReport]) -> Vec<String> {
    /// Maximum number of notes. The report has every refusal, hunk by hunk.
    const SHOWN: usize = 100;
    let notes = files.iter().flat_map(|file| {
        let whole = file.refusal.as_ref();
        let hunks = file.hunks.iter().filter(move |_| whole.is_none());
        let hunks = hunks.filter_map(|hunk| {
            let (index, path, refusal) = (hunk.index, &file.path, hunk.refusal.as_ref()?);
            Some(format!("left out: hunk {index} of `{path}`: {refusal}"))
        });
        whole
            .map(|refusal| format!("left out: `{}`: {refusal}", file.path))
            .into_iter()
            .chain(hunks)
    });
    notes.take(SHOWN).collect()
}

/// Returns the first refusal in the order of the answer. `empty` ("already applied") is returned only if nothing else
/// is wrong.
fn first_refusal(report: &LandingReport) -> Refusal {
    let reasons = || report.files.iter().filter_map(|file| file.refusal.clone());
    let landed = report.files.iter().any(|file| file.refusal.is_none());
    match reasons()
        .find(|refusal| refusal.code != RefusalCode::Empty)
        .or_else(|| reasons().next())
    {
        Some(mut refusal) if landed && refusal.code == RefusalCode::Empty => {
            // Another file of the answer would still change, so the answer was not applied before. It was made for
            // another state.
            refusal.code = RefusalCode::DoesNotApply;
            refusal
        }
        Some(refusal) => refusal,
        None => Refusal::new(RefusalCode::DoesNotApply, "the answer does not land"),
    }
}
