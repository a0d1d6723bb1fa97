//! The part of the page that a consent is bound to: the whole review of a change.
//!
//! Owns: its HTML and its SHA-256. Never: depends on a clock, a session or a setting: the same review always gives the same bytes.

use agentos_host::{ChangeReview, FileChangeKind, Reason, ReviewedFile, ReviewedLine, ReviewedLineKind};
use askama::Template;
use sha2::{Digest as _, Sha256};

use crate::marked_text::{has_hidden, mark};

/// Largest review that a page shows whole, in bytes of HTML. A browser shows it within seconds.
const LARGEST_REVIEW: usize = 8 << 20;
/// Characters from which a line is marked as long: its end may be far from where a reader looks.
const LONG_LINE: usize = 400;

/// Review as HTML.
pub struct ShownReview {
    /// The HTML.
    pub html: String,
    /// SHA-256 of the HTML, 64 hexadecimal digits.
    pub sha256: String,
    /// True if the page cannot show the review whole, so that nobody can approve it there.
    pub is_too_long: bool,
}

#[derive(Template)]
#[template(path = "review.html")]
struct ReviewBody {
    title: String,
    message: String,
    about: String,
    target: String,
    hashes: String,
    drift: String,
    obstacle: String,
    reasons: Vec<ShownReason>,
    added: u64,
    removed: u64,
    files: Vec<ShownFile>,
}

struct ShownReason {
    effect: String,
    rule: String,
    why: String,
}

struct ShownFile {
    number: usize,
    path: String,
    kind: &'static str,
    added: u64,
    removed: u64,
    notes: Vec<String>,
    placed: String,
    warnings: Vec<String>,
    reasons: Vec<ShownReason>,
    hunks: Vec<ShownHunk>,
}

struct ShownHunk {
    header: String,
    lines: Vec<ShownLine>,
}

struct ShownLine {
    class: &'static str,
    old: String,
    new: String,
    sign: &'static str,
    text: String,
}

/// Shows a review.
pub fn show_review(review: &ChangeReview) -> ShownReview {
    let body = ReviewBody {
        title: mark(review.task.as_deref().unwrap_or("Change without a task")),
        message: mark(review.message.trim_end()),
        about: mark(&match &review.model {
            Some(model) => format!("{} ({model})", review.provider),
            None => review.provider.clone(),
        }),
        target: mark(&review.hashes.as_ref().map_or_else(
            String::new,
            |hashes| match hashes.writes.as_str() {
                "work-tree-only" => "the working tree, without a commit".to_owned(),
                _ => hashes.target_ref.trim_start_matches("refs/heads/").to_owned(),
            },
        )),
        hashes: review.hashes.as_ref().map_or_else(String::new, |hashes| {
            mark(&format!(
                "diff {}\nbase {}\npolicy {}\nref {}\nwrites {}",
                hashes.diff_sha256,
                hashes.base_commit,
                hashes.policy_sha256,
                hashes.target_ref,
                hashes.writes
            ))
        }),
        drift: mark(review.drift.as_deref().unwrap_or_default()),
        obstacle: mark(review.obstacle.as_deref().unwrap_or_default()),
        reasons: review
            .reasons
            .iter()
            .filter(|reason| reason.path.is_none())
            .map(show_reason)
            .collect(),
        added: review.added,
        removed: review.removed,
        // Every file, also without lines: a changed mode is a change.
        files: review
            .files
            .iter()
            .enumerate()
            .map(|(at, file)| show_file(at + 1, file, &review.reasons))
            .collect(),
    };
    // A template writes into a text, which does not fail; an empty review cannot be approved, because its hash is of no page.
    let html = body.render().unwrap_or_default();
    let digest = Sha256::digest(html.as_bytes());
    ShownReview {
        is_too_long: html.is_empty() || html.len() > LARGEST_REVIEW,
        sha256: digest.iter().map(|byte| format!("{byte:02x}")).collect(),
        html,
    }
}

fn show_reason(reason: &Reason) -> ShownReason {
    ShownReason {
        effect: format!("{:?}", reason.effect).to_lowercase(),
        rule: mark(&reason.rule),
        why: mark(&reason.why),
    }
}

fn show_file(number: usize, file: &ReviewedFile, reasons: &[Reason]) -> ShownFile {
    let lines = || file.hunks.iter().flat_map(|hunk| &hunk.lines);
    let mut warnings = Vec::new();
    if lines().any(|line| has_hidden(line.text.trim_end_matches('\r'))) || has_hidden(&file.path) {
        warnings.push("hidden characters, shown as ⟦U+…⟧".to_owned());
    }
    let long = lines().filter(|line| is_long(line)).count();
    if long > 0 {
        warnings.push(format!("{long} very long lines"));
    }
    if file.is_lossy {
        warnings.push("not UTF-8: bytes that are no text are shown as �".to_owned());
    }
    let own = reasons
        .iter()
        .filter(|reason| reason.path.as_ref() == Some(&file.path));
    ShownFile {
        number,
        path: mark(&file.path),
        kind: match file.kind {
            FileChangeKind::Changed => "changed",
            FileChangeKind::Added => "new file",
            FileChangeKind::Removed => "removed",
        },
        added: file.added,
        removed: file.removed,
        notes: file.notes.iter().map(|note| mark(note)).collect(),
        placed: mark(&file.placed.join(", ")),
        warnings,
        reasons: own.map(show_reason).collect(),
        hunks: file
            .hunks
            .iter()
            .map(|hunk| ShownHunk {
                header: mark(&hunk.header),
                lines: hunk.lines.iter().map(show_line).collect(),
            })
            .collect(),
    }
}

fn is_long(line: &ReviewedLine) -> bool {
    line.text.len() > LONG_LINE
}

fn show_line(line: &ReviewedLine) -> ShownLine {
    let (class, sign) = match line.kind {
        ReviewedLineKind::Same => ("", " "),
        ReviewedLineKind::Added => ("add", "+"),
        ReviewedLineKind::Removed => ("del", "-"),
        ReviewedLineKind::Note => ("note", " "),
    };
    let number = |number: Option<u64>| number.map(|number| number.to_string()).unwrap_or_default();
    ShownLine {
        class,
        old: number(line.old),
        new: number(line.new),
        sign,
        text: mark(&line.text),
    }
}
