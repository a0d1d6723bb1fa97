//! The report as text for a model: what did not land, the real lines nearby, and what to change.
//!
//! Owns: the wording. Never: gives instructions that the repository's content wrote; that content is quoted in
//! fences longer than any it holds.

use std::fmt::Write;

use crate::{FileReport, HunkReport, HunkStatus, LandingReport, Refusal, RefusalCode};

/// More files than this are not spelled out.
const FILES: usize = 20;
/// Nor more hunks of one file.
const HUNKS: usize = 10;

impl LandingReport {
    /// Text that a model can act on: why nothing was changed, hunk by hunk, with the real lines nearby.
    #[must_use]
    pub fn feedback(&self) -> String {
        let mut out = String::new();
        let Some(refusal) = &self.refusal else {
            return self.landed();
        };
        push(
            &mut out,
            &format!("Nothing was changed. {}.", sentence(&refusal.message)),
        );
        if let Some(hint) = &refusal.hint {
            push(&mut out, &format!("{}.", sentence(hint)));
        }
        files(&mut out, &self.files, "would land; keep them as they are");
        push(&mut out, "");
        push(&mut out, advice(refusal.code));
        out
    }

    fn landed(&self) -> String {
        if !self.partial {
            return "The change landed.\n".to_owned();
        }
        let mut out = String::new();
        push(&mut out, "A part of the change landed. The rest was left out:");
        files(&mut out, &self.files, "landed; leave them out");
        push(&mut out, "");
        push(
            &mut out,
            "Send only the rest again, made for the files as they are now.",
        );
        out
    }
}

fn push(out: &mut String, line: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(out, "{line}");
}

fn sentence(text: &str) -> String {
    let mut characters = text.chars();
    let first: String = characters
        .next()
        .into_iter()
        .flat_map(char::to_uppercase)
        .collect();
    visible(&first) + &visible(characters.as_str())
}

/// Characters that nobody can see, or that turn the rest around, by their number.
fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control() || crate::path::ignorable(character) {
            out.extend(character.escape_unicode());
        } else {
            out.push(character);
        }
    }
    out
}

fn tells(file: &FileReport) -> bool {
    file.refusal.is_some() || file.hunks.iter().any(|hunk| hunk.refusal.is_some())
}

fn files(out: &mut String, files: &[FileReport], landed_ones: &str) {
    let mut told = files.iter().filter(|file| tells(file));
    for one in told.by_ref().take(FILES) {
        file(out, one, landed_ones);
    }
    rest(out, told.count(), "files");
}

/// Says how many more there are, where not all are spelled out.
fn rest(out: &mut String, more: usize, what: &str) {
    if more > 0 {
        push(out, &format!("- and {more} more {what} that do not land."));
    }
}

fn file(out: &mut String, file: &FileReport, landed_ones: &str) {
    push(out, "");
    push(out, &format!("File `{}`:", visible(&file.path)));
    if let Some(refusal) = &file.refusal
        && file.hunks.iter().all(|hunk| hunk.refusal.is_none())
    {
        push(out, &format!("- {}.", reason(refusal)));
    }
    let landed = file
        .hunks
        .iter()
        .filter(|hunk| hunk.status == HunkStatus::Landed)
        .count();
    if landed > 0 {
        push(
            out,
            &format!("- {landed} of its {} hunks {landed_ones}.", file.hunks.len()),
        );
    }
    let mut told = file.hunks.iter().filter(|hunk| hunk.refusal.is_some());
    for one in told.by_ref().take(HUNKS) {
        hunk(out, one);
    }
    rest(out, told.count(), "hunks");
}

fn reason(refusal: &Refusal) -> String {
    match &refusal.hint {
        Some(hint) => format!("{}; {}", sentence(&refusal.message), visible(hint)),
        None => sentence(&refusal.message),
    }
}

fn hunk(out: &mut String, hunk: &HunkReport) {
    let Some(refusal) = &hunk.refusal else { return };
    push(out, &format!("- Hunk {}: {}.", hunk.index, reason(refusal)));
    if !hunk.expected.is_empty() {
        push(out, "  It expects these lines:");
        quoted(out, &hunk.expected);
    }
    let lines: Vec<String> = hunk.candidates.iter().map(u64::to_string).collect();
    if let (Some(first), false) = (lines.first(), hunk.actual.is_empty()) {
        if refusal.code == RefusalCode::Ambiguous {
            let (they, s) = if lines.len() == 1 {
                ("This is", "")
            } else {
                ("They are", "s")
            };
            push(out, &format!("  {they} at line{s} {}.", lines.join(", ")));
        } else {
            push(out, &format!("  The file has these lines from line {first} on:"));
            quoted(out, &hunk.actual);
        }
    }
}

/// Lines between fences that none of them can close.
fn quoted(out: &mut String, lines: &[String]) {
    let longest = lines
        .iter()
        .map(|line| line.chars().take_while(|character| *character == '`').count())
        .max()
        .unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    push(out, &fence);
    for line in lines {
        push(out, line);
    }
    push(out, &fence);
}

fn advice(code: RefusalCode) -> &'static str {
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
