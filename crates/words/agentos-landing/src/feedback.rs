//! Feedback for a model: which edits did not land, the real lines of the file, and what to change.
//!
//! Owns: the wording. Never: gives instructions that repository content wrote; that content is quoted in fences
//! longer than any fence it contains.

use crate::{FileReport, HunkReport, HunkStatus, LandingReport, Refusal, RefusalCode};

/// Maximum number of files that are listed.
const FILES: usize = 20;
/// Maximum number of hunks that are listed for one file.
const HUNKS: usize = 10;

impl LandingReport {
    /// Returns the report as text that a model can act on: why nothing was changed, hunk by hunk, with the real lines
    /// of the file.
    #[must_use]
    pub fn feedback(&self) -> String {
        let mut text = FeedbackText::default();
        match &self.refusal {
            Some(refusal) => {
                let why = capitalized(&refusal.message);
                text.line(&format!("Nothing was changed. {why}."));
                if let Some(hint) = &refusal.hint {
                    text.line(&format!("{}.", capitalized(hint)));
                }
                text.files(&self.files, "would land; keep them as they are");
                text.line("");
                text.line(advice_for(refusal.code));
            }
            None if self.partial => {
                text.line("A part of the change landed. The rest was left out:");
                text.files(&self.files, "landed; leave them out");
                text.line("");
                text.line("Send only the rest again, made for the files as they are now.");
            }
            None => text.line("The change landed."),
        }
        text.0
    }
}

fn capitalized(text: &str) -> String {
    let mut characters = text.chars();
    let first: String = characters.by_ref().take(1).flat_map(char::to_uppercase).collect();
    escape_invisible(&first) + &escape_invisible(characters.as_str())
}

/// Escapes characters that are invisible or that change the direction of the text, so that a path or a message from
/// the answer cannot hide an instruction from the person who reads the feedback.
fn escape_invisible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control() || crate::path::is_ignorable(character) {
            out.extend(character.escape_unicode());
        } else {
            out.push(character);
        }
    }
    out
}

fn format_reason(refusal: &Refusal) -> String {
    match &refusal.hint {
        Some(hint) => format!("{}; {}", capitalized(&refusal.message), escape_invisible(hint)),
        None => capitalized(&refusal.message),
    }
}

/// Lines of the feedback so far.
#[derive(Default)]
struct FeedbackText(String);

impl FeedbackText {
    fn line(&mut self, line: &str) {
        self.0.push_str(line);
        self.0.push('\n');
    }

    fn files(&mut self, files: &[FileReport], landed_ones: &str) {
        let mut told = files.iter().filter(|file| file.has_refusal());
        for one in told.by_ref().take(FILES) {
            self.file(one, landed_ones);
        }
        self.remaining(told.count(), "files");
    }

    /// States how many more there are, if not all are listed.
    fn remaining(&mut self, more: usize, what: &str) {
        if more > 0 {
            self.line(&format!("- and {more} more {what} that do not land."));
        }
    }

    fn file(&mut self, file: &FileReport, landed_ones: &str) {
        self.line("");
        self.line(&format!("File `{}`:", escape_invisible(&file.path)));
        // With reasons for single hunks, the reason of the file only repeats the first of them.
        if let Some(refusal) = &file.refusal
            && file.hunks.iter().all(|hunk| hunk.refusal.is_none())
        {
            self.line(&format!("- {}.", format_reason(refusal)));
        }
        let landed = file.hunks.iter().filter(|hunk| hunk.status == HunkStatus::Landed);
        let (landed, all) = (landed.count(), file.hunks.len());
        if landed > 0 {
            self.line(&format!("- {landed} of its {all} hunks {landed_ones}."));
        }
        let mut told = file.hunks.iter().filter(|hunk| hunk.refusal.is_some());
        for one in told.by_ref().take(HUNKS) {
            self.hunk(one);
        }
        self.remaining(told.count(), "hunks");
    }

    fn hunk(&mut self, hunk: &HunkReport) {
        let Some(refusal) = &hunk.refusal else { return };
        self.line(&format!("- Hunk {}: {}.", hunk.index, format_reason(refusal)));
        if !hunk.expected.is_empty() {
            self.line("  It expects these lines:");
            self.quoted(&hunk.expected);
        }
        let lines: Vec<String> = hunk.candidates.iter().map(u64::to_string).collect();
        match lines.as_slice() {
            [] => {}
            _ if hunk.actual.is_empty() => {}
            // The expected lines were just shown and the candidates are equal to them, so only the line numbers are new.
            [only] if refusal.code == RefusalCode::Ambiguous => {
                self.line(&format!("  This is at line {only}."))
            }
            all if refusal.code == RefusalCode::Ambiguous => {
                self.line(&format!("  They are at lines {}.", all.join(", ")));
            }
            [first, ..] => {
                self.line(&format!("  The file has these lines from line {first} on:"));
                self.quoted(&hunk.actual);
            }
        }
    }

    /// Quotes lines in a fence that none of them can close.
    fn quoted(&mut self, lines: &[String]) {
        // With a fence of fixed length a line of the file could close it, and the rest would read as our own words.
        let marks = |line: &String| line.chars().take_while(|character| *character == '`').count();
        let longest = lines.iter().map(marks).max().unwrap_or(0);
        let fence = "`".repeat(longest.max(2) + 1);
        self.line(&fence);
        for line in lines {
            self.line(line);
        }
        self.line(&fence);
    }
}

fn advice_for(code: RefusalCode) -> &'static str {
    match code {
        RefusalCode::NoDiff => {
            "Answer with one unified diff (`--- a/path`, `+++ b/path`, `@@` hunks) or with search/replace blocks."
        }
        RefusalCode::Malformed | RefusalCode::Encoding | RefusalCode::Binary | RefusalCode::TooLarge => {
            "Send the whole change again in one well-formed answer."
        }
        RefusalCode::DoesNotApply | RefusalCode::Stale => {
            "Send the whole change again, with context and removed lines copied exactly from the file."
        }
        RefusalCode::Ambiguous => {
            "Send the whole change again, with enough lines around each edit that it has only one place."
        }
        RefusalCode::Empty => "Nothing needs to be done if the file is already as it should be.",
        RefusalCode::PathEscape
        | RefusalCode::GitDir
        | RefusalCode::SymlinkTraversal
        | RefusalCode::Submodule
        | RefusalCode::ModeChange
        | RefusalCode::CaseCollision
        | RefusalCode::ReservedName
        | RefusalCode::Secret
        | RefusalCode::Bidi
        | RefusalCode::ProtectedPath => "This is not allowed. Send the change without it.",
    }
}
