//! Margin of a diff: how each hunk of the answer was placed.
//!
//! Owns: the assignment of diff lines to hunks of the report. Never: guesses: a line that belongs to no reported hunk has an
//! empty margin.

use agentos_landing::{FileReport, HunkStatus, LandingReport, Rung};

use super::rows::{Line, LineKind};
use crate::printer::{paint, style};

/// Columns of the longest word, and one blank before the numbers.
const MARGIN: usize = 8;

/// Margin with a word for each hunk, at the first line that the hunk changes.
pub struct RungMargin<'a> {
    report: Option<&'a LandingReport>,
    file: Option<&'a FileReport>,
    /// Hunk that was shown last.
    shown: Option<u32>,
}

impl<'a> RungMargin<'a> {
    pub fn new(report: Option<&'a LandingReport>) -> Self {
        Self {
            report,
            file: None,
            shown: None,
        }
    }

    /// Starts another file.
    pub fn start_file(&mut self, path: &str) {
        let files = self.report.iter().flat_map(|report| &report.files);
        self.file = files.into_iter().find(|file| file.path == path);
        self.shown = None;
    }

    /// Returns the columns of the margin, 0 without a report.
    pub fn margin_width(&self) -> usize {
        if self.report.is_some() { MARGIN } else { 0 }
    }

    /// Returns the margin of a line, or of a heading.
    pub fn next_margin(&mut self, line: Option<&Line<'_>>) -> String {
        let width = self.margin_width();
        if width == 0 {
            return String::new();
        }
        let word = line.and_then(|line| self.hunk_word(line)).unwrap_or_default();
        let blanks = " ".repeat(width.saturating_sub(word.chars().count()));
        let painted = match word {
            "" => String::new(),
            "exact" | "whole" => paint(style::DIM, word),
            word => paint(style::WARN, word),
        };
        painted + &blanks
    }

    /// Returns the word of the hunk that changes this line. `None` if there is no such hunk or its word was already shown.
    fn hunk_word(&mut self, line: &Line<'_>) -> Option<&'static str> {
        if line.kind == LineKind::Same {
            return None;
        }
        let landed = self
            .file?
            .hunks
            .iter()
            .filter(|hunk| hunk.status == HunkStatus::Landed);
        // The report names the line at which a hunk was found, so a changed line belongs to the last hunk that begins
        // at or above it. A new file has no line 0, but its hunk is found at 1.
        let above = landed.filter(|hunk| hunk.found_line.is_none_or(|found| found <= line.at.max(1)));
        let hunk = above.max_by_key(|hunk| hunk.found_line)?;
        // The word stands at the first changed line only. Repeating it would make one hunk look like several.
        if self.shown.replace(hunk.index) == Some(hunk.index) {
            return None;
        }
        hunk.rung.map(rung_word)
    }
}

/// Returns a rung as one word.
fn rung_word(rung: Rung) -> &'static str {
    match rung {
        Rung::ExactStated => "exact",
        Rung::ExactMoved => "moved",
        Rung::TrailingBlanks => "ends",
        Rung::Indentation => "indent",
        Rung::Blanks => "blanks",
        Rung::Typography => "quotes",
        Rung::Merged => "merged",
        Rung::WholeFile => "whole",
    }
}
