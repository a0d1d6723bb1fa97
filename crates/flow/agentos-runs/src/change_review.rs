//! The review of a requested change: everything that a person needs to see before answering, as data.
//!
//! Owns: the diff by file, hunk and line, and the facts around it. Never: leaves out a line of the diff, words anything for one front
//! end, or answers.
//!
//! A consent counts for the `hashes` of a review and for nothing else. A front end that shows a review may therefore take its answer
//! later: if anything has changed by then, nothing lands.

use std::path::PathBuf;

use agentos_engine::ports::EffectError;
use agentos_landing::HunkReport;
use agentos_policy::{ApprovalHashes, Effect, Reason};
use schemars::JsonSchema;
use serde::Serialize;

use crate::Runs;
use crate::requests::PreviewedRequest;
use agentos_stories::Stories;
use agentos_stories::change_lines::{ReviewedEdit, ReviewedFile, read_files};

/// Year of a time without an end: the last one that RFC 3339 can write.
const NO_END: &str = "9999-";

/// The requested change as it would land now, for a person to read.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ChangeReview {
    /// Version of this shape: 1.
    pub version: u32,
    /// The run that asked.
    pub run: String,
    /// First line of the task. `None` if the run's beginning is not on the tape. Untrusted.
    pub task: Option<String>,
    /// Commit message. Untrusted.
    pub message: String,
    /// Provider that proposed the change.
    pub provider: String,
    /// Model that proposed it. `None` if there is none. Untrusted.
    pub model: Option<String>,
    /// Time of the request, RFC 3339, UTC.
    pub asked: String,
    /// Time until which it can be answered, RFC 3339, UTC. `None` if it waits until somebody answers.
    pub expires: Option<String>,
    /// Reason why the change cannot land now. `None` if it can. A request that cannot land can still be denied.
    pub obstacle: Option<String>,
    /// Decision of policy. `None` if the change cannot land now.
    pub effect: Option<Effect>,
    /// Reasons that decide.
    pub reasons: Vec<Reason>,
    /// Difference from the moment of the request, in words. `None` if there is none.
    pub drift: Option<String>,
    /// State that a consent is bound to. `None` if the change cannot land now.
    pub hashes: Option<ApprovalHashes>,
    /// Number of added lines.
    pub added: u64,
    /// Number of removed lines.
    pub removed: u64,
    /// Files of the change, in the order of its diff.
    pub files: Vec<ReviewedFile>,
}

impl Runs<'_> {
    /// Reads an open request for a person: the change as it would land now, else the requested one with the reason why it cannot land.
    ///
    /// # Errors
    /// If the request is not open, another branch is checked out, or the repository cannot be read.
    pub fn review_request(self, request: &str, policies: &[PathBuf]) -> Result<ChangeReview, EffectError> {
        let (open, requested) = self.open_request(request)?;
        let mut review = ChangeReview {
            version: 1,
            run: open.run.clone(),
            task: open.task,
            message: open.request.message,
            provider: open.request.tool.provider,
            model: open.request.tool.model,
            asked: open.asked,
            expires: Some(open.request.expires.as_str().to_owned()).filter(|end| !end.starts_with(NO_END)),
            obstacle: None,
            effect: None,
            reasons: open.reasons,
            drift: None,
            hashes: None,
            added: 0,
            removed: 0,
            files: Vec::new(),
        };
        match self.preview_request(&open.run, policies, None)? {
            PreviewedRequest::Placed(shown) => {
                review.files = read_files(shown.change.canonical_diff());
                review.effect = Some(shown.decision.effect());
                review.reasons = shown.decision.deciding().cloned().collect();
                review.drift = shown.drift.as_ref().map(|drift| drift.describe());
                review.hashes = Some(shown.hashes);
            }
            PreviewedRequest::Refused(why) => {
                review.files = read_files(&requested);
                review.obstacle = Some(why);
            }
        }
        self.add_placements(&mut review);
        review.added = review.files.iter().map(|file| file.added).sum();
        review.removed = review.files.iter().map(|file| file.removed).sum();
        Ok(review)
    }

    /// Adds how the edits of each file were placed. A landing that cannot be read leaves them out: the diff itself is complete.
    fn add_placements(self, review: &mut ChangeReview) {
        let Ok(Some(report)) = Stories::of(self.ground).landing_report(&review.run) else {
            return;
        };
        for placed in report.files {
            let Some(file) = review.files.iter_mut().find(|file| file.path == placed.path) else {
                continue;
            };
            file.repairs = placed.repairs.into_iter().map(|repair| repair.detail).collect();
            file.edits = placed.hunks.into_iter().map(describe_edit).collect();
            for rung in file.edits.iter().filter_map(|edit| edit.rung.as_ref()) {
                if !file.placed.contains(rung) {
                    file.placed.push(rung.clone());
                }
            }
        }
    }
}

fn describe_edit(hunk: HunkReport) -> ReviewedEdit {
    let word = hunk.rung.and_then(|rung| serde_json::to_value(rung).ok());
    ReviewedEdit {
        rung: word.and_then(|word| word.as_str().map(str::to_owned)),
        found_line: hunk.found_line,
        stated_line: hunk.stated_line,
        repairs: hunk.repairs.into_iter().map(|repair| repair.detail).collect(),
    }
}
