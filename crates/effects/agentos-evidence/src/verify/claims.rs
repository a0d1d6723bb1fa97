//! Judges the commits that name evidence without being the one that the record names, and those that left the history.
//!
//! Owns: which of them is a fault, and which a note. Never: compares content itself.
//!
//! A commit that names evidence claims to be what was recorded. If its change is another, that is a fault, whoever wrote
//! it and for what reason. A commit without that trailer claims nothing, and a history may lose commits at any time.

use std::collections::BTreeSet;

use super::bounds::{FindingList, MOST_KEPT, push_note};
use super::change::{ChangeSteps, RecordedChange};
use super::moved::{ChangeFit, Comparison, MoveSearch, MovedCommit, find_unexplained};
use super::{CommitInfo, CommitLookup, CommitStanding, Finding, Tampering};
use crate::{EvidenceError, Store};

/// Commit that names evidence in its trailer.
pub(super) struct PinnedCommit {
    pub commit: CommitInfo,
    /// True if a receipt names the commit.
    pub has_receipt: bool,
    /// Intent that the trailer names. `None` if it is not on the tape.
    pub intent: Option<PinnedIntent>,
}

/// Intent that a commit's trailer names.
pub(super) struct PinnedIntent {
    pub tree: Option<String>,
    /// `None` if the intent names no files, or not in the known form.
    pub change: Option<RecordedChange>,
    /// Commit that the run's receipt names. `None` if there is no receipt or it names none.
    pub landed: Option<String>,
}

/// Commit that landed and that nothing leads to now.
pub(super) struct GoneCommit {
    pub line: u64,
    pub id: String,
    pub change: RecordedChange,
    /// False if the object store does not have it.
    pub is_stored: bool,
    /// Commit without evidence that was made from it, by its marks. `None` if there is none.
    pub replaced_by: Option<String>,
}

/// Tape and blobs, to be read again.
pub(super) struct TapeSources<'a> {
    pub tape: &'a Store,
    /// Number of lines that were verified.
    pub lines: u64,
    pub blobs: &'a Store,
    /// Further tapes of the same history.
    pub others: &'a [&'a Store],
}

/// Verdicts about commits, with the findings and notes that they lead to.
pub(super) struct CommitVerdicts<'a> {
    history: &'a dyn CommitLookup,
    sources: &'a TapeSources<'a>,
    findings: &'a mut FindingList,
    notes: &'a mut Vec<String>,
    /// Recorded commits whose change is in another commit now, at most the first 1,000.
    pub moved: Vec<MovedCommit>,
    /// Ids of these commits, without a limit.
    found: BTreeSet<String>,
    /// Ids of commits that hold no other run's change: those that receipts name, and those that carry evidence of a change that
    /// they do not make.
    settled: BTreeSet<String>,
}

impl<'a> CommitVerdicts<'a> {
    pub fn new(
        history: &'a dyn CommitLookup,
        sources: &'a TapeSources<'a>,
        findings: &'a mut FindingList,
        notes: &'a mut Vec<String>,
        recorded: BTreeSet<String>,
    ) -> Self {
        Self {
            history,
            sources,
            findings,
            notes,
            moved: Vec::new(),
            found: BTreeSet::new(),
            settled: recorded,
        }
    }

    fn comparison(&self) -> Comparison<'a> {
        Comparison {
            history: self.history,
            blobs: self.sources.blobs,
        }
    }

    /// Checks the commits that name evidence and that no receipt names.
    ///
    /// # Errors
    /// When the tape cannot be read again, or has too many changes of the same files.
    pub fn check_claims(&mut self, claims: &[&PinnedCommit]) -> Result<(), EvidenceError> {
        // Few commits need the recorded changes of other runs. The tape is read again once for all of them.
        let mut paths = BTreeSet::new();
        let mut fits = Vec::new();
        for pinned in claims {
            let fit = self.compare_claim(pinned);
            if matches!(fit, Some(Err(_))) {
                let made = self.history.changes(&pinned.commit.id).unwrap_or_default();
                paths.extend(made.into_iter().map(|file| file.path));
            }
            fits.push(fit);
        }
        let mut steps = ChangeSteps::default();
        if !paths.is_empty() {
            steps.read(self.sources.tape, self.sources.lines, &paths)?;
            for other in self.sources.others {
                steps.read(other, u64::MAX, &paths)?;
            }
        }
        for (pinned, fit) in claims.iter().zip(fits) {
            match (&pinned.intent, fit) {
                (Some(intent), Some(fit)) => self.report_claim(pinned, intent, fit, &steps),
                (Some(_), None) => self.note_interrupted(&pinned.commit.id),
                (None, _) => {
                    let detail = format!(
                        "the commit `{}` names evidence that is not on the tape",
                        pinned.commit.id
                    );
                    self.findings
                        .push(Finding::new(Tampering::CommitWithoutRecord, None, detail));
                }
            }
        }
        Ok(())
    }

    /// Compares the change of a commit with the recorded one. `None` if the commit is the one that was about to be made,
    /// or no intent is known. The error says what differs.
    fn compare_claim(&self, pinned: &PinnedCommit) -> Option<Result<(), String>> {
        let intent = pinned.intent.as_ref()?;
        let is_intended = intent
            .tree
            .as_ref()
            .is_none_or(|tree| *tree == pinned.commit.tree);
        // A crash after the ref moved and before the receipt was written leaves such a commit. It is the one that policy
        // allowed, so it is no fault.
        if intent.landed.is_none() && is_intended {
            return None;
        }
        let Some(recorded) = &intent.change else {
            return Some(Err("the record names no files to compare".to_owned()));
        };
        Some(match self.history.changes(&pinned.commit.id) {
            Some(made) => self.comparison().find_difference(&made, recorded),
            None => Err(
                "its parent is not in this repository, or it changes too many files to compare".to_owned(),
            ),
        })
    }

    fn report_claim(
        &mut self,
        pinned: &PinnedCommit,
        intent: &PinnedIntent,
        fit: Result<(), String>,
        steps: &ChangeSteps,
    ) {
        let commit = &pinned.commit;
        let explained = || -> Option<()> {
            let made = self.history.changes(&commit.id)?;
            find_unexplained(&made, intent.change.as_ref()?, steps).ok()
        };
        let fit = match fit {
            Ok(()) => ChangeFit::Same,
            Err(_) if explained().is_some() => ChangeFit::Contained,
            Err(difference) => {
                let whose = match &intent.landed {
                    Some(other) => format!("the evidence of `{other}`"),
                    None => "the evidence of an interrupted run".to_owned(),
                };
                let detail = format!(
                    "the commit `{}` carries {whose} and makes another change: {difference}",
                    commit.id
                );
                self.findings
                    .push(Finding::new(Tampering::CommitRewritten, None, detail));
                // A commit with false evidence proves nothing about other commits, so the search for those that left the
                // history leaves it out.
                self.settled.insert(commit.id.clone());
                return;
            }
        };
        match &intent.landed {
            Some(other) => {
                let is_held = self.history.standing(other) == CommitStanding::Held;
                self.add_moved(MovedCommit::compare(self.history, other, commit, fit, is_held));
            }
            None => self.note_interrupted(&commit.id),
        }
    }

    fn note_interrupted(&mut self, id: &str) {
        let note =
            format!("the commit `{id}` has an intent on the tape but no receipt: its run was interrupted");
        push_note(self.notes, note);
    }

    fn add_moved(&mut self, moved: MovedCommit) {
        push_note(self.notes, moved.sentence());
        self.found.insert(moved.commit.clone());
        if self.moved.len() < MOST_KEPT {
            self.moved.push(moved);
        }
    }

    /// Searches the commits that left the history, and reports those that are not found.
    pub fn check_gone(&mut self, gone: &[GoneCommit], more_gone: u64) {
        let wanted: Vec<&GoneCommit> = gone
            .iter()
            .filter(|gone| !self.found.contains(&gone.id) && !gone.change.files.is_empty())
            .collect();
        if !wanted.is_empty() {
            let changes = wanted.iter().map(|gone| &gone.change).collect();
            let mut steps = ChangeSteps::default();
            gone.iter()
                .flat_map(|gone| &gone.change.files)
                .for_each(|file| steps.add(file));
            let search = MoveSearch::new(self.comparison(), changes, steps, &self.settled);
            let (found, is_whole) = search.run();
            for (at, (fit, to)) in &found {
                if let (Some(gone), Some(to)) = (wanted.get(*at), self.history.commit(to)) {
                    self.add_moved(MovedCommit::compare(self.history, &gone.id, &to, *fit, false));
                }
            }
            if !is_whole && found.len() < wanted.len() {
                push_note(
                    self.notes,
                    "the history is long: only its newest commits were searched for those that left it"
                        .to_owned(),
                );
            }
        }
        let (mut left, mut missing) = (more_gone, 0_u64);
        for gone in gone.iter().filter(|gone| !self.found.contains(&gone.id)) {
            match (&gone.replaced_by, gone.is_stored) {
                (Some(other), _) => {
                    let detail = format!(
                        "the commit `{}` is no longer in the history; `{other}`, without evidence and with another change, replaced it",
                        gone.id
                    );
                    self.findings
                        .push(Finding::new(Tampering::CommitRewritten, Some(gone.line), detail));
                }
                (None, true) => left += 1,
                (None, false) => missing += 1,
            }
        }
        self.note_count(left, "no longer in the history: a reset, or a deleted branch");
        self.note_count(
            missing,
            "not in this repository: removed after a reset, or never fetched",
        );
    }

    fn note_count(&mut self, count: u64, what: &str) {
        match count {
            0 => {}
            1 => self.notes.push(format!("1 commit that landed is {what}")),
            many => self.notes.push(format!("{many} commits that landed are {what}")),
        }
    }

    /// Reports that the history is not the one that the tape was written for.
    pub fn report_foreign(&mut self, count: u64, gone: &[GoneCommit]) {
        let detail = format!(
            "none of the commits that the tape names ({count}) is in this repository, nor any that they were made on: another \
             repository, or a clone without its history"
        );
        let line = gone.first().map(|gone| gone.line);
        self.findings
            .push(Finding::new(Tampering::RecordWithoutCommit, line, detail));
    }
}
