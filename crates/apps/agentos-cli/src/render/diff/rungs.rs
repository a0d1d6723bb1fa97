//! The margin: how each hunk of the answer was placed.
//!
//! Owns: which hunk of the report a line of the diff belongs to. Never: guesses; a line below no reported hunk gets no
//! word.

use agentos_landing::{FileReport, HunkStatus, LandingReport, Rung};

use super::rows::{Kind, Line};
use crate::printer::{paint, style};

/// Columns of the longest word, and one between it and the numbers.
const MARGIN: usize = 8;

/// Words for the margin, each shown once, at the first line that its hunk changes.
pub struct Rungs<'a> {
    report: Option<&'a LandingReport>,
    file: Option<&'a FileReport>,
    /// The hunk that was shown last.
    shown: Option<u32>,
}

impl<'a> Rungs<'a> {
    pub fn new(report: Option<&'a LandingReport>) -> Self {
        Self {
            report,
            file: None,
            shown: None,
        }
    }

    /// Another file begins.
    pub fn file(&mut self, path: &str) {
        let files = self.report.iter().flat_map(|report| &report.files);
        self.file = files.into_iter().find(|file| file.path == path);
        self.shown = None;
    }

    /// Columns of the margin: none without a report.
    pub fn width(&self) -> usize {
        if self.report.is_some() { MARGIN } else { 0 }
    }

    /// The margin beside a line, or beside a heading.
    pub fn margin(&mut self, line: Option<&Line<'_>>) -> String {
        let width = self.width();
        if width == 0 {
            return String::new();
        }
        let word = line.and_then(|line| self.word(line)).unwrap_or_default();
        let blanks = " ".repeat(width.saturating_sub(word.chars().count()));
        let painted = match word {
            "" => String::new(),
            "exact" | "whole" => paint(style::DIM, word),
            word => paint(style::WARN, word),
        };
        painted + &blanks
    }

    /// The word of the hunk that changes this line, the first time.
    fn word(&mut self, line: &Line<'_>) -> Option<&'static str> {
        if line.kind == Kind::Same {
            return None;
        }
        let landed = self
            .file?
            .hunks
            .iter()
            .filter(|hunk| hunk.status == HunkStatus::Landed);
        let above = landed.filter(|hunk| hunk.found_line.is_none_or(|found| found <= line.at.max(1)));
        let hunk = above.max_by_key(|hunk| hunk.found_line)?;
        if self.shown.replace(hunk.index) == Some(hunk.index) {
            return None;
        }
        hunk.rung.map(word)
    }
}

/// A rung in a word.
fn word(rung: Rung) -> &'static str {
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
