//! Changes that have to do with files which policy withholds from their proposer.
//!
//! A proposer must not move the text of such a file to where it can be read, and must not learn from an answer whether a guess is in
//! the file:
//!
//! | the change | the decision | what the proposer is shown |
//! |---|---|---|
//! | adds lines that are in files alone which policy withholds from the proposer or from models of a cloud | asks | what it is shown of a change about which no rule asks |
//! | is placed by opening a withheld file (changes, deletes, renames or copies it) | asks | that it waits, in equal words whether it can be placed or not |
//! | comes after three of these within a day, and some file is withheld from its proposer | asks | as in the first line |
//!
//! Owns: whether a file is opened or its text taken, and the reasons for the decision. Never: decides who may read; policy does.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use agentos_context::IgnorePatterns;
use agentos_evidence::RecordKind;
use agentos_landing::{
    Base, BaseEntry, BaseError, Change, DirEntry, KnownBlob, LandError, LandOptions, LandedChange,
    LandingReport, land,
};
use agentos_policy::{
    Effect, PolicySet, Reason, TakenSearch, TakenText, ToolFacts, WITHHELD_TEXT, often_reason, opened_reason,
    taken_reason,
};
use agentos_tool::{ExecutionMode, Timestamp};
use serde_json::Value;

use crate::base_files::walk_files;
use crate::context::unreadable_base;
use crate::ports::{EffectError, RecordReader};
use crate::recorded::read_body;
use crate::tool_facts::{PATCH_PROVIDER, UNDO_PROVIDER};

/// Code of a change for which a file was opened that policy withholds from its proposer.
pub const WITHHELD_FILE: &str = "withheld-file";
/// Number of changes with withheld text in a day after which every change of such a proposer waits.
const OFTEN: usize = 3;
const DAY_SECONDS: i64 = 24 * 3600;
/// Largest file that is compared. A longer text is no text that a person wrote.
const LARGEST_TEXT: u64 = 8 << 20;

/// Returns the facts of those who may read less than everything: the proposer, and the model that it says it is. Empty for a change
/// that a person brought, or takes back.
#[must_use]
pub fn list_readers(tool: &ToolFacts, reported_model: Option<&str>) -> Vec<ToolFacts> {
    if [PATCH_PROVIDER, UNDO_PROVIDER].contains(&tool.provider.as_str()) {
        return Vec::new();
    }
    // Whether a file is withheld does not depend on how much the tool was shown before.
    let own = ToolFacts {
        context_bytes: 0,
        ..tool.clone()
    };
    let reported = reported_model.filter(|model| own.model.as_deref() != Some(*model));
    let reported = reported.map(|model| ToolFacts {
        model: Some(model.to_owned()),
        ..own.clone()
    });
    std::iter::once(own).chain(reported).collect()
}

/// Placed answer, and the withheld files that were opened for it.
#[derive(Debug)]
pub struct WatchedLanding {
    /// The change, or the report of a refusal.
    pub placed: Result<LandedChange, Box<LandingReport>>,
    /// Paths of the files.
    pub opened: BTreeSet<String>,
}

/// Places an answer, and notes which files it opens that policy withholds from one of the readers.
///
/// # Errors
/// If the base cannot be read.
pub fn land_watched(
    answer: &[u8],
    base: &dyn Base,
    options: &LandOptions,
    (policy, readers): (&PolicySet, &[ToolFacts]),
) -> Result<WatchedLanding, EffectError> {
    let watched = WatchedBase {
        base,
        policy,
        readers,
        paths: RefCell::default(),
        opened: RefCell::default(),
    };
    let landed = match readers.is_empty() {
        true => land(answer, base, options),
        false => land(answer, &watched, options),
    };
    let placed = match landed {
        Ok(found) => Ok(found),
        Err(LandError::Refused(report)) => Err(report),
        Err(LandError::Base(error)) => return Err(unreadable_base(&error)),
    };
    Ok(WatchedLanding {
        placed,
        opened: watched.opened.into_inner(),
    })
}

/// Base that notes which withheld files are opened. Landing learns what is in a file by opening it and in no other way, so an answer for
/// which none was opened shows nothing about their texts.
struct WatchedBase<'a> {
    base: &'a dyn Base,
    policy: &'a PolicySet,
    readers: &'a [ToolFacts],
    /// Paths that were asked about, by object id.
    paths: RefCell<HashMap<String, BTreeSet<String>>>,
    opened: RefCell<BTreeSet<String>>,
}

impl WatchedBase<'_> {
    fn note_opened(&self, path: &str, content: &[u8]) {
        let withholds = |reader| self.policy.decide_read(path, content, reader).effect() != Effect::Allow;
        if self.readers.iter().any(withholds) {
            self.opened.borrow_mut().insert(path.to_owned());
        }
    }
}

impl Base for WatchedBase<'_> {
    fn entry(&self, path: &str) -> Result<Option<BaseEntry>, BaseError> {
        let entry = self.base.entry(path)?;
        if let Some(entry) = &entry {
            let mut paths = self.paths.borrow_mut();
            paths.entry(entry.id.clone()).or_default().insert(path.to_owned());
        }
        Ok(entry)
    }

    fn read(&self, id: &str) -> Result<Arc<[u8]>, BaseError> {
        let content = self.base.read(id)?;
        for path in self.paths.borrow().get(id).into_iter().flatten() {
            self.note_opened(path, &content);
        }
        Ok(content)
    }

    fn size(&self, id: &str) -> Option<u64> {
        self.base.size(id)
    }

    fn list(&self, dir: &str) -> Result<Vec<DirEntry>, BaseError> {
        self.base.list(dir)
    }

    fn blob_by_prefix(&self, prefix: &str) -> Result<Option<KnownBlob>, BaseError> {
        let Some((id, content)) = self.base.blob_by_prefix(prefix)? else {
            return Ok(None);
        };
        // Whoever guesses a whole file can compute its id and would learn that it exists.
        let listed = list_files(self.base).map_err(|error| BaseError::Unreadable(error.message))?;
        for (path, _) in listed.iter().filter(|(_, other)| *other == id) {
            self.note_opened(path, &content);
        }
        Ok(Some((id, content)))
    }

    fn paths_ending_with(&self, suffix: &str, limit: usize) -> Result<Vec<String>, BaseError> {
        self.base.paths_ending_with(suffix, limit)
    }
}

/// Withheld files and a change.
#[derive(Debug, Default)]
pub(crate) struct WithheldFindings {
    /// Reasons for which a person is asked.
    pub(crate) reasons: Vec<Reason>,
    /// Text of withheld files that the change adds to other files.
    pub(crate) taken: Vec<TakenText>,
    /// True if some file is withheld from a reader. False also if the change adds nothing, since that is not found out then.
    is_withheld: bool,
}

/// Finds what a change has of files that policy withholds from its readers. `opened` are the withheld files that were opened for it.
///
/// # Errors
/// If the base cannot be read.
pub(crate) fn find_withheld(
    base: &dyn Base,
    (policy, readers): (&PolicySet, &[ToolFacts]),
    change: &Change,
    opened: &BTreeSet<String>,
) -> Result<WithheldFindings, EffectError> {
    let mut findings = WithheldFindings {
        is_withheld: !opened.is_empty(),
        ..WithheldFindings::default()
    };
    // A proposer that may read a file must not make it readable for others either.
    let cloud = readers.first().map(|own| ToolFacts {
        provider: String::new(),
        model: None,
        execution_mode: ExecutionMode::Cloud,
        ..own.clone()
    });
    let named = readers
        .iter()
        .map(|reader| (reader, Some(reader.provider.as_str())));
    for (reader, name) in named.chain(cloud.iter().map(|cloud| (cloud, None))) {
        let found = find_taken(base, policy, reader, change, opened)?;
        findings.is_withheld |= found.is_some() && name.is_some();
        for taken in found.into_iter().flatten() {
            if !findings.taken.contains(&taken) {
                findings.reasons.push(taken_reason(&taken, name));
                findings.taken.push(taken);
            }
        }
    }
    if let Some(reader) = readers.first() {
        let mut others = opened
            .iter()
            .filter(|path| !findings.taken.iter().any(|taken| taken.from == **path));
        let reasons = others.by_ref().map(|path| opened_reason(path, &reader.provider));
        let reasons: Vec<Reason> = reasons.collect();
        findings.reasons.extend(reasons);
    }
    Ok(findings)
}

/// Finds the text that a change takes from files which policy withholds from a reader by their names, or that were opened. `None` if there
/// is no such file.
fn find_taken(
    base: &dyn Base,
    policy: &PolicySet,
    reader: &ToolFacts,
    change: &Change,
    opened: &BTreeSet<String>,
) -> Result<Option<Vec<TakenText>>, EffectError> {
    let reading = policy.read_policy(reader);
    if opened.is_empty() && !reading.may_withhold_names() {
        return Ok(None);
    }
    let is_withheld = |path: &str| opened.contains(path) || reading.withholds_name(path);
    let mut search = TakenSearch::new(change, is_withheld);
    if search.is_empty() {
        return Ok(None);
    }
    let (withheld, readable): (Vec<_>, Vec<_>) = list_files(base)?
        .into_iter()
        .partition(|(path, _)| is_withheld(path));
    if withheld.is_empty() {
        return Ok(None);
    }
    for (path, id) in &withheld {
        if let Some(text) = read_text(base, id)? {
            search.add_withheld(path, &text);
        }
    }
    for (_, id) in &readable {
        if !search.has_findings() {
            break;
        }
        if let Some(text) = read_text(base, id)? {
            search.add_readable(&text);
        }
    }
    Ok(Some(search.into_findings()))
}

/// Reads a file. `None` if it is too large.
fn read_text(base: &dyn Base, id: &str) -> Result<Option<Arc<[u8]>>, EffectError> {
    if base.size(id).is_some_and(|size| size > LARGEST_TEXT) {
        return Ok(None);
    }
    base.read(id).map(Some).map_err(|error| unreadable_base(&error))
}

fn list_files(base: &dyn Base) -> Result<Vec<(String, String)>, EffectError> {
    let mut files = Vec::new();
    walk_files(base, &IgnorePatterns::default(), |path, id| {
        files.push((path, id))
    })?;
    Ok(files)
}

impl WithheldFindings {
    /// Adds the reason of a proposer whose changes have had withheld text several times. `tape` is the one of every run.
    ///
    /// # Errors
    /// If the tape cannot be read.
    pub(crate) fn add_often(&mut self, tape: &dyn RecordReader, now: &Timestamp) -> Result<(), EffectError> {
        if !self.is_withheld || !self.reasons.is_empty() {
            return Ok(());
        }
        let count = count_recent(tape, now)?;
        if count >= OFTEN {
            self.reasons.push(often_reason(count));
        }
        Ok(())
    }
}

/// Counts the runs of the last day whose change had text of withheld files, or opened one.
fn count_recent(tape: &dyn RecordReader, now: &Timestamp) -> Result<usize, EffectError> {
    let mut runs = HashSet::new();
    for record in tape.records()? {
        let record = record?;
        let is_recent = Timestamp::parse(&record.ts)
            .is_ok_and(|made| now.unix_seconds().saturating_sub(made.unix_seconds()) <= DAY_SECONDS);
        let is_one = is_recent
            && match record.kind {
                RecordKind::Decision => has_withheld_reason(&read_body(tape, &record)?),
                RecordKind::Refusal => record.body.get("code").and_then(Value::as_str) == Some(WITHHELD_FILE),
                _ => false,
            };
        if is_one {
            runs.insert(record.run);
        }
    }
    Ok(runs.len())
}

/// Returns true if a recorded decision has a reason about withheld text.
pub(crate) fn has_withheld_reason(decision: &Value) -> bool {
    let reasons = decision.pointer("/decision/reasons").and_then(Value::as_array);
    let mut reasons = reasons.into_iter().flatten();
    reasons.any(|reason| reason.get("rule").and_then(Value::as_str) == Some(WITHHELD_TEXT))
}

#[cfg(test)]
mod tests;
