//! Feedback for a model: which edits did not land, the real lines of the file, and what to change.
//!
//! Owns: the wording. Never: gives instructions that repository content wrote; that content is quoted in fences
//! longer than any fence it contains.

use std::fmt::Write;

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
        let mut out = String::new();
        let Some(refusal) = &self.refusal else {
            return self.landed_text();
        };
        push_line(
            &mut out,
            &format!("Nothing was changed. {}.", capitalized(&refusal.message)),
        );
        if let Some(hint) = &refusal.hint {
            push_line(&mut out, &format!("{}.", capitalized(hint)));
        }
        push_files(&mut out, &self.files, "would land; keep them as they are");
        push_line(&mut out, "");
        push_line(&mut out, advice_for(refusal.code));
        out
    }

    fn landed_text(&self) -> String {
        if !self.partial {
            return "The change landed.\n".to_owned();
        }
        let mut out = String::new();
        push_line(&mut out, "A part of the change landed. The rest was left out:");
        push_files(&mut out, &self.files, "landed; leave them out");
        push_line(&mut out, "");
        push_line(
            &mut out,
            "Send only the rest again, made for the files as they are now.",
        );
        out
    }
}

fn push_line(out: &mut String, line: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(out, "{line}");
}

fn capitalized(text: &str) -> String {
    let mut characters = text.chars();
    let first: String = characters
        .next()
        .into_iter()
        .flat_map(char::to_uppercase)
        .collect();
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

fn has_refusal(file: &FileReport) -> bool {
    file.refusal.is_some() || file.hunks.iter().any(|hunk| hunk.refusal.is_some())
}

fn push_files(out: &mut String, files: &[FileReport], landed_ones: &str) {
    let mut told = files.iter().filter(|file| has_refusal(file));
    for one in told.by_ref().take(FILES) {
        push_file(out, one, landed_ones);
    }
    push_remaining(out, told.count(), "files");
}

/// States how many more there are, if not all are listed.
fn push_remaining(out: &mut String, more: usize, what: &str) {
    if more > 0 {
        push_line(out, &format!("- and {more} more {what} that do not land."));
    }
}

fn push_file(out: &mut String, file: &FileReport, landed_ones: &str) {
    push_line(out, "");
    push_line(out, &format!("File `{}`:", escape_invisible(&file.path)));
    // With reasons for single hunks, the reason of the file only repeats the first of them.
    if let Some(refusal) = &file.refusal
        && file.hunks.iter().all(|hunk| hunk.refusal.is_none())
    {
        push_line(out, &format!("- {}.", format_reason(refusal)));
    }
    let landed = file
        .hunks
        .iter()
        .filter(|hunk| hunk.status == HunkStatus::Landed)
        .count();
    if landed > 0 {
        push_line(
            out,
            &format!("- {landed} of its {} hunks {landed_ones}.", file.hunks.len()),
        );
    }
    let mut told = file.hunks.iter().filter(|hunk| hunk.refusal.is_some());
    for one in told.by_ref().take(HUNKS) {
        push_hunk(out, one);
    }
    push_remaining(out, told.count(), "hunks");
}

fn format_reason(refusal: &Refusal) -> String {
    match &refusal.hint {
        Some(hint) => format!("{}; {}", capitalized(&refusal.message), escape_invisible(hint)),
        None => capitalized(&refusal.message),
    }
}

fn push_hunk(out: &mut String, hunk: &HunkReport) {
    let Some(refusal) = &hunk.refusal else { return };
    push_line(
        out,
        &format!("- Hunk {}: {}.", hunk.index, format_reason(refusal)),
    );
    if !hunk.expected.is_empty() {
        push_line(out, "  It expects these lines:");
        push_quoted(out, &hunk.expected);
    }
    let lines: Vec<String> = hunk.candidates.iter().map(u64::to_string).collect();
    if let (Some(first), false) = (lines.first(), hunk.actual.is_empty()) {
        // The expected lines were just shown and the candidates are equal to them, so only the line numbers are new.
        if refusal.code == RefusalCode::Ambiguous {
            let (they, s) = if lines.len() == 1 {
                ("This is", "")
            } else {
                ("They are", "s")
            };
            push_line(out, &format!("  {they} at line{s} {}.", lines.join(", ")));
        } else {
            push_line(out, &format!("  The file has these lines from line {first} on:"));
            push_quoted(out, &hunk.actual);
        }
    }
}

/// Quotes lines in a fence that none of them can close.
fn push_quoted(out: &mut String, lines: &[String]) {
    // With a fence of fixed length a line of the file could close it, and the rest would read as our own words.
    let longest = lines
        .iter()
        .map(|line| line.chars().take_while(|character| *character == '`').count())
        .max()
        .unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    push_line(out, &fence);
    for line in lines {
        push_line(out, line);
    }
    push_line(out, &fence);
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
