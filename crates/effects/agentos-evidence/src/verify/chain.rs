//! Checks the chain of the tape: each line by itself, its link to the line before, and the blobs that it refers to.
//!
//! A record is *genuine* if its hash matches its content. Every record has a number, which counts from 1, and the hash of
//! the record before it. From these two follows the kind of a fault:
//!
//! | line | fault |
//! |---|---|
//! | not a genuine record | `Mutated`; `TornTail` if the line has no line feed |
//! | expected number, another previous hash | `Spliced` |
//! | higher number | `Reordered` if the missing record is further down, else `Dropped` |
//! | lower number, same record as the one before | `Duplicated` |
//! | lower number, another record | `Reordered` |
//!
//! Owns: one pass over the tape, and the kind of each fault. Never: stops at the first fault; it continues with the next
//! genuine record.

use std::sync::Arc;

use agentos_chain::parse_hash;
use serde_json::Value;

use super::answers::RequestAnswers;
use super::bounds::{FindingList, push_note};
use super::cost;
use super::history::CommitPins;
use super::opened::{LastOpened, Opened};
use super::removed::MissingTexts;
use super::signed::CheckpointTotals;
use super::{Finding, Tampering, VerifyChecks};
use crate::approval::find_wrong_proof;
use crate::head::{self, HeadFile};
use crate::line_view::LineView;
use crate::paired::PairedKeys;
use crate::record::{GENESIS, RecordForm};
use crate::runs::{LineEnd, TapeLines, fact_of};
use crate::spilled::{MixedBody, SpilledBody};
use crate::{EvidenceError, RecordKind, Store, blob};

/// Results of one pass over the tape.
pub(super) struct ChainReport {
    /// Number of lines read.
    pub lines: u64,
    /// Number of bytes read.
    pub bytes: u64,
    /// Number of blobs checked.
    pub blobs: u64,
    /// Number of records whose body was left out.
    pub withheld: u64,
    /// Number of these records whose kind, time and run cannot be proved, because their hash covers the missing body.
    pub unproved: u64,
    /// Line of the first record counted in `unproved`. `None` if there is none.
    pub first_unproved: Option<u64>,
    /// Newest form of a genuine record. `None` if there is none.
    pub form: Option<RecordForm>,
    /// Number of searches for a missing record further down.
    searches: usize,
    /// True if bodies and blobs may have been left out.
    redacted: bool,
    /// Highest record number so far. Each line that could not be read counts as one record.
    pub seq: u64,
    /// Hash of the last genuine record. `None` if there is none, or if a line after it could not be read.
    pub hash: Option<String>,
    /// Hash of the record whose number `head.json` names. `None` if there is no such record.
    pub at_head: Option<String>,
    pub findings: FindingList,
    pub notes: Vec<String>,
    pub pins: CommitPins,
    pub signed: CheckpointTotals,
    answers: RequestAnswers,
    devices: PairedKeys,
    seen_blobs: RecentBlobs,
    opened: LastOpened,
    texts: MissingTexts,
}

/// Number and previous hash that the next record must have.
struct ExpectedLink {
    seq: u64,
    /// Expected value of `prev`. `None` after a line that could not be read: then any value is accepted once.
    hash: Option<String>,
}

/// Maximum number of searches for missing records further down. Each search reads the tape again, so without a limit the
/// time for a tape full of gaps would grow with the square of its length.
const MOST_SEARCHES: usize = 16;

/// Checks the tape in `store` and its blobs in `blobs`. `redacted` says that bodies and blobs may have been left out.
///
/// # Errors
/// When a file cannot be read. Faults of the tape are no errors; they are in the report.
pub(super) fn read(
    store: &Store,
    blobs: &Store,
    checks: &VerifyChecks<'_>,
    redacted: bool,
) -> Result<ChainReport, EvidenceError> {
    let mut chain = ChainReport::new(checks, redacted);
    let Some(mut lines) = TapeLines::open(store)? else {
        return Ok(chain);
    };
    let head_seq = match head::read(&store.head_path())? {
        HeadFile::Says(head) => head.seq,
        HeadFile::Missing | HeadFile::Unreadable => 0,
    };
    // `head.json` is created with number 0 and updated after each record. If it still names 0 here, the first writer was
    // killed before the update, which is no fault.
    chain.at_head = (head_seq == 0).then(|| GENESIS.to_owned());
    let mut link = ExpectedLink {
        seq: 1,
        hash: Some(GENESIS.to_owned()),
    };
    while let Some(line) = lines.next()? {
        let at = chain.lines + 1;
        chain.lines = at;
        chain.bytes += line.bytes();
        let end = line.end();
        let view = parse_genuine(line.text(), redacted);
        let Some(view) = view.filter(|_| end == LineEnd::Whole) else {
            chain.add_unreadable(at, end);
            link = ExpectedLink {
                seq: link.seq + 1,
                hash: None,
            };
            continue;
        };
        if let Some((tampering, detail)) = find_misfit(&link, &view, chain.hash.as_deref()) {
            let tampering = match tampering {
                Tampering::Dropped if chain.finds_later(store, at, link.seq)? => Tampering::Reordered,
                other => other,
            };
            chain.findings.push(Finding::new(tampering, Some(at), detail));
        }
        if view.seq == head_seq {
            chain.at_head = Some(view.hash.to_owned());
        }
        chain.add_record(at, &view, blobs, checks)?;
        link = ExpectedLink {
            seq: view.seq + 1,
            hash: Some(view.hash.to_owned()),
        };
    }
    chain.report_texts();
    Ok(chain)
}

/// Returns the record on a line. `None` if it is not genuine. With `redacted`, a record without its body is accepted too.
fn parse_genuine(line: &[u8], redacted: bool) -> Option<LineView<'_>> {
    match LineView::parse_line(line) {
        None if redacted => LineView::parse_withheld(line),
        other => other,
    }
}

impl ChainReport {
    /// Returns the report before the first line.
    fn new(checks: &VerifyChecks<'_>, redacted: bool) -> Self {
        Self {
            lines: 0,
            bytes: 0,
            blobs: 0,
            withheld: 0,
            unproved: 0,
            first_unproved: None,
            form: None,
            searches: 0,
            redacted,
            seq: 0,
            hash: None,
            at_head: None,
            findings: FindingList::default(),
            notes: Vec::new(),
            pins: CommitPins::new(checks),
            signed: CheckpointTotals::new(checks),
            answers: RequestAnswers::default(),
            devices: PairedKeys::default(),
            seen_blobs: RecentBlobs::default(),
            opened: LastOpened::default(),
            texts: MissingTexts::new(),
        }
    }

    /// Adds the fault of a line that is not a genuine record.
    fn add_unreadable(&mut self, at: u64, end: LineEnd) {
        // The line counts as one record, so that a damaged last record is not reported as cut off too.
        self.seq += 1;
        self.hash = None;
        let (tampering, detail) = match end {
            LineEnd::Whole => (
                Tampering::Mutated,
                "the line was changed: its hash does not match its content",
            ),
            LineEnd::Torn => (
                Tampering::TornTail,
                "the last line is incomplete: a crash interrupted it, or it was cut",
            ),
            LineEnd::TooLong => (
                Tampering::Mutated,
                "the line is longer than a record can be; nothing after it was read",
            ),
        };
        self.findings.push(Finding::new(tampering, Some(at), detail));
    }

    /// Returns whether a missing record is further down. Returns false without reading after [`MOST_SEARCHES`] searches.
    fn finds_later(&mut self, store: &Store, after_line: u64, seq: u64) -> Result<bool, EvidenceError> {
        self.searches += 1;
        Ok(self.searches <= MOST_SEARCHES && is_further_down(store, after_line, seq, self.redacted)?)
    }

    /// Checks that the form of a record is not older than that of the records before it, and counts records without a body.
    fn check_form(&mut self, at: u64, record: &LineView<'_>) {
        // In the older form, kind, time and run are not proved if the body is left out. So a record could be rewritten in
        // that form and then changed. Such a record is genuine by itself; only the newer records before it show the fault.
        if self.form.is_some_and(|form| record.form < form) {
            let detail = format!(
                "record {} is in the form of earlier versions, after a newer one",
                record.seq
            );
            self.findings
                .push(Finding::new(Tampering::FormDowngraded, Some(at), detail));
        }
        self.form = self.form.max(Some(record.form));
        self.withheld += u64::from(record.withheld);
        if record.is_unproved() {
            self.unproved += 1;
            self.first_unproved = self.first_unproved.or(Some(at));
        }
    }

    /// Adds a genuine record and checks what it refers to: commits, signatures and blobs.
    fn add_record(
        &mut self,
        at: u64,
        record: &LineView<'_>,
        blobs: &Store,
        checks: &VerifyChecks<'_>,
    ) -> Result<(), EvidenceError> {
        self.seq = self.seq.max(record.seq);
        self.hash = Some(record.hash.to_owned());
        self.check_form(at, record);
        // These kinds refer to commits. Any other body matters only if it refers to a blob, else it need not be parsed.
        let refers_to_commit = matches!(
            record.kind,
            RecordKind::Intent | RecordKind::Receipt | RecordKind::Recovered
        );
        let states_cost = cost::states_cost(record.kind);
        let is_removal = record.kind == RecordKind::Removed;
        let is_consent = record.kind == RecordKind::Consent;
        let line_body = if refers_to_commit || states_cost || is_removal || is_consent || record.may_refer() {
            record.parse_body()?
        } else {
            Value::Null
        };
        let is_opened = states_cost || is_removal || is_consent;
        let spilled = self.open_spilled(at, &line_body, blobs, is_opened)?;
        let body = spilled.as_deref().unwrap_or(&line_body);
        self.pins.take(at, record, body, checks, &mut self.findings)?;
        self.signed.take(at, record, body, checks, &mut self.findings)?;
        if let Some(note) = self.answers.take(at, (record.kind, record.run), body) {
            push_note(&mut self.notes, note);
        }
        if record.kind == RecordKind::Recovered {
            let what = fact_of(body, "what").unwrap_or_else(|| "something that a crash left".to_owned());
            // The tape is untrusted and this text is shown to people, so its length is limited.
            let what: String = what.chars().take(64).collect();
            push_note(
                &mut self.notes,
                format!("line {at}: the state that a crash left was repaired ({what})"),
            );
        }
        if is_removal {
            let named = body.get("blobs").and_then(Value::as_array);
            for id in named.into_iter().flatten().filter_map(Value::as_str) {
                self.texts.take_removed(id);
                // A later record that refers to it needs it again.
                self.seen_blobs.forget(id);
            }
        }
        if let Some(detail) = cost::find_wrong_cost(record.kind, body) {
            self.findings
                .push(Finding::new(Tampering::CostWrong, Some(at), detail));
        }
        if let Some(detail) = find_wrong_proof(body).filter(|_| is_consent) {
            self.findings
                .push(Finding::new(Tampering::SignatureInvalid, Some(at), detail));
        } else if is_consent {
            self.check_device(at, body);
        }
        self.check_blobs(at, record.kind, &line_body, blobs)
    }

    /// Opens a body that was too long for its line, if `is_opened`: its signature and its cost must hold as in a short body. `None` if
    /// the body is on the line, or its blob is not there or was changed, which is reported with the blob.
    ///
    /// # Errors
    /// Fails if the blob cannot be read.
    fn open_spilled(
        &mut self,
        at: u64,
        body: &Value,
        blobs: &Store,
        is_opened: bool,
    ) -> Result<Option<Arc<Value>>, EvidenceError> {
        let found = match SpilledBody::find(body) {
            Ok(Some(found)) if is_opened => self.opened.open(found, blobs)?,
            Ok(_) => return Ok(None),
            Err(MixedBody) => {
                Opened::Wrong("the body of the record is partly on the line and partly in a blob".to_owned())
            }
        };
        match found {
            Opened::Body(body) => Ok(Some(body)),
            Opened::Missing => Ok(None),
            Opened::Wrong(detail) => {
                self.findings
                    .push(Finding::new(Tampering::Mutated, Some(at), detail));
                Ok(None)
            }
        }
    }

    /// Checks whose key signed an approval, or notes which key a person pairs or revokes here.
    fn check_device(&mut self, at: u64, body: &Value) {
        // First, so that an approval does not pair its own key.
        let checked = self.devices.check_signer(body);
        self.devices.take(body);
        match checked {
            Ok(()) => {}
            Err((true, detail)) => {
                self.findings
                    .push(Finding::new(Tampering::DeviceUnknown, Some(at), detail));
            }
            Err((false, detail)) => push_note(&mut self.notes, format!("line {at}: {detail}")),
        }
    }

    /// Reports the texts that are gone, after the last record.
    fn report_texts(&mut self) {
        let texts = std::mem::replace(&mut self.texts, MissingTexts::new());
        if texts.removed > 0 {
            let note = format!(
                "texts of conversations that were removed on purpose: {}",
                texts.removed
            );
            push_note(&mut self.notes, note);
        }
        for (id, line) in texts.into_unexplained() {
            let detail = format!("the blob `{id}` is missing");
            self.findings
                .push(Finding::new(Tampering::BlobMissing, Some(line), detail));
        }
    }

    fn check_blobs(
        &mut self,
        at: u64,
        kind: RecordKind,
        body: &Value,
        blobs: &Store,
    ) -> Result<(), EvidenceError> {
        for id in blob::find_references(body) {
            // A blob that is missing so far is checked again: another kind of record may not be without it.
            if !self.seen_blobs.is_new(&id) && !self.texts.contains(&id) {
                continue;
            }
            self.blobs += 1;
            let tampering = match blobs.check_blob(&id) {
                Ok(()) => continue,
                // A redacted copy has no blobs.
                Err(EvidenceError::NoBlob { .. }) if self.redacted => {
                    self.blobs -= 1;
                    continue;
                }
                Err(EvidenceError::NoBlob { .. }) if MissingTexts::may_go(kind) => {
                    self.blobs -= 1;
                    self.texts.add(id, at)?;
                    continue;
                }
                Err(EvidenceError::NoBlob { .. }) => (Tampering::BlobMissing, "is missing"),
                Err(EvidenceError::BlobChanged { .. }) => (
                    Tampering::BlobChanged,
                    "was changed: its content does not match its hash",
                ),
                Err(other) => return Err(other),
            };
            self.findings.push(Finding::new(
                tampering.0,
                Some(at),
                format!("the blob `{id}` {}", tampering.1),
            ));
        }
        Ok(())
    }
}

/// Blobs that were checked recently, in a table of fixed size: a new blob replaces the one in its slot. So a blob that many
/// records refer to is read about once, and the memory does not grow with the tape.
struct RecentBlobs(Vec<Option<String>>);

impl Default for RecentBlobs {
    fn default() -> Self {
        Self(vec![None; 1 << 12])
    }
}

impl RecentBlobs {
    fn find_slot(&mut self, id: &str) -> Option<&mut Option<String>> {
        // Three hexadecimal digits select one of 4,096 slots.
        let first = parse_hash(id).and_then(|hex| usize::from_str_radix(hex.get(..3)?, 16).ok());
        first.and_then(|at| self.0.get_mut(at))
    }

    /// Makes a blob new again.
    fn forget(&mut self, id: &str) {
        if let Some(slot) = self.find_slot(id)
            && slot.as_deref() == Some(id)
        {
            *slot = None;
        }
    }

    fn is_new(&mut self, id: &str) -> bool {
        let Some(slot) = self.find_slot(id) else {
            return true;
        };
        if slot.as_deref() == Some(id) {
            return false;
        }
        *slot = Some(id.to_owned());
        true
    }
}

/// Returns the fault of a genuine record on this line, and a sentence about it. `None` if its number and previous hash are
/// as expected. `before` is the hash of the record before it.
fn find_misfit(
    link: &ExpectedLink,
    record: &LineView<'_>,
    before: Option<&str>,
) -> Option<(Tampering, String)> {
    let fits = link.hash.as_ref().is_none_or(|hash| *hash == record.prev);
    if record.seq == link.seq {
        let detail = || {
            format!(
                "record {} was not written after the record on the line before",
                record.seq
            )
        };
        return (!fits).then(|| (Tampering::Spliced, detail()));
    }
    if record.seq > link.seq {
        let last = record.seq - 1;
        let detail = if link.seq == last {
            format!("record {last} is missing before this line")
        } else {
            format!("records {} to {last} are missing before this line", link.seq)
        };
        return Some((Tampering::Dropped, detail));
    }
    if before == Some(record.hash) {
        return Some((
            Tampering::Duplicated,
            format!("record {} is on the tape twice", record.seq),
        ));
    }
    let detail = format!("record {} is in the place of record {}", record.seq, link.seq);
    Some((Tampering::Reordered, detail))
}

/// Returns whether a missing record is further down the tape. Called only after a fault was found.
///
/// # Errors
/// When the tape cannot be read.
fn is_further_down(store: &Store, after_line: u64, seq: u64, redacted: bool) -> Result<bool, EvidenceError> {
    let Some(mut lines) = TapeLines::open(store)? else {
        return Ok(false);
    };
    let mut at = 0;
    while let Some(line) = lines.next()? {
        at += 1;
        if at <= after_line {
            continue;
        }
        let record = parse_genuine(line.text(), redacted);
        if record.is_some_and(|record| record.seq == seq) {
            return Ok(true);
        }
    }
    Ok(false)
}
