//! The part of the page that a consent is bound to: the whole review of a change.
//!
//! Owns: its HTML and its SHA-256. Never: depends on a clock, a session or a setting: the same review always gives the same bytes.

use agentos_host::{
    ChangeReview, Effect, FileChangeKind, Reason, ReviewedEdit, ReviewedFile, ReviewedHunk, ReviewedLine,
    ReviewedLineKind,
};
use askama::Template;
use sha2::{Digest as _, Sha256};

use crate::marked_text::{has_hidden, mark};

/// Largest review that a page shows whole, in bytes of HTML. A browser shows it within seconds.
const LARGEST_REVIEW: usize = 8 << 20;
/// Rungs that need no word: the edit is exactly where the answer says, or the file is new.
const USUAL_RUNGS: [&str; 2] = ["exact-stated", "whole-file"];
/// Most lines before a hunk at which an edit of it may begin.
const LINES_AROUND: u64 = 10;
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
    task: String,
    message: String,
    about: String,
    target: String,
    hashes: String,
    drift: String,
    obstacle: String,
    reasons: Vec<ShownReason>,
    /// Repairs that every file needed.
    repairs: Vec<String>,
    added: u64,
    removed: u64,
    folders: Vec<ShownFolder>,
    files: Vec<ShownFile>,
}

/// Folder of the tree, with the files in it.
struct ShownFolder {
    name: String,
    files: Vec<TreeFile>,
}

struct TreeFile {
    number: usize,
    name: String,
    added: u64,
    removed: u64,
    has_warning: bool,
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
    placed: Vec<String>,
    warnings: Vec<String>,
    reasons: Vec<ShownReason>,
    hunks: Vec<ShownHunk>,
}

struct ShownHunk {
    header: String,
    placed: Vec<String>,
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
    let shared = list_shared_repairs(&review.files);
    let body = ReviewBody {
        title: mark(title_of(review)),
        task: mark(task_of(review)),
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
        reasons: list_reasons(&review.reasons),
        repairs: shared.iter().map(|repair| mark(repair)).collect(),
        added: review.added,
        removed: review.removed,
        folders: list_folders(&review.files),
        // Every file, also without lines: a changed mode is a change.
        files: review
            .files
            .iter()
            .enumerate()
            .map(|(at, file)| show_file(at + 1, file, &review.reasons, &shared))
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

/// Returns the first line of the commit message, else of the task.
fn title_of(review: &ChangeReview) -> &str {
    let first = |text: &'_ str| !text.trim().is_empty();
    let line = review.message.lines().find(|line| first(line));
    line.or(review.task.as_deref()).unwrap_or("Change without a task")
}

/// Returns the task, if the title does not say it already.
fn task_of(review: &ChangeReview) -> &str {
    let task = review.task.as_deref().unwrap_or_default();
    if task == title_of(review) { "" } else { task }
}

/// Lists the files by folder, in the order of the diff, so that a number leads to the same file everywhere.
fn list_folders(files: &[ReviewedFile]) -> Vec<ShownFolder> {
    let mut folders: Vec<ShownFolder> = Vec::new();
    for (at, file) in files.iter().enumerate() {
        let (folder, name) = file.path.rsplit_once('/').unwrap_or(("", &file.path));
        let shown = TreeFile {
            number: at + 1,
            name: mark(name),
            added: file.added,
            removed: file.removed,
            has_warning: !list_warnings(file).is_empty(),
        };
        let folder = mark(folder);
        match folders.last_mut() {
            Some(last) if last.name == folder => last.files.push(shown),
            Some(_) | None => folders.push(ShownFolder {
                name: folder,
                files: vec![shown],
            }),
        }
    }
    folders
}

/// Lists what a reviewer must know first: each rule that asks or denies, once, with the files that it is about. If none does, the
/// rules that let the change as a whole through.
fn list_reasons(reasons: &[Reason]) -> Vec<ShownReason> {
    let mut shown: Vec<(&Reason, Vec<&str>)> = Vec::new();
    let asks = reasons.iter().any(|reason| reason.effect != Effect::Allow);
    let told = reasons.iter().filter(|reason| match asks {
        true => reason.effect != Effect::Allow,
        false => reason.path.is_none(),
    });
    for reason in told {
        let same = |(known, _): &&mut (&Reason, Vec<&str>)| {
            known.rule == reason.rule && known.sentence() == reason.sentence()
        };
        match shown.iter_mut().find(same) {
            Some((_, paths)) => paths.extend(reason.path.as_deref()),
            None => shown.push((reason, reason.path.as_deref().into_iter().collect())),
        }
    }
    let word = |(reason, paths): (&Reason, Vec<&str>)| {
        let place = match paths.as_slice() {
            [] => String::new(),
            [path] => format!(" ({path})"),
            several => format!(" ({} files)", several.len()),
        };
        ShownReason {
            why: mark(&format!("{}{place}", reason.sentence())),
            ..show_reason(reason)
        }
    };
    shown.into_iter().map(word).collect()
}

/// Lists the repairs that every one of several files needed, so that they are shown once.
fn list_shared_repairs(files: &[ReviewedFile]) -> Vec<String> {
    match files {
        [first, others @ ..] if !others.is_empty() => {
            let is_shared = |repair: &&String| others.iter().all(|file| file.repairs.contains(repair));
            first.repairs.iter().filter(is_shared).cloned().collect()
        }
        _ => Vec::new(),
    }
}

fn show_reason(reason: &Reason) -> ShownReason {
    ShownReason {
        effect: format!("{:?}", reason.effect).to_lowercase(),
        rule: mark(&reason.rule),
        why: mark(&reason.sentence()),
    }
}

/// Lists what a reader may overlook in a file.
fn list_warnings(file: &ReviewedFile) -> Vec<String> {
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
    warnings
}

fn show_file(number: usize, file: &ReviewedFile, reasons: &[Reason], shared: &[String]) -> ShownFile {
    // That an ordinary file may be changed is said once, above; here only what a reader must know of this file.
    let own = reasons
        .iter()
        .filter(|reason| reason.path.as_ref() == Some(&file.path) && reason.effect != Effect::Allow);
    // An edit belongs to the hunk that changes its line. One that fits none, as after the branch has moved, is shown at the file.
    let mut lone: Vec<&ReviewedEdit> = file.edits.iter().collect();
    let hunks = file.hunks.iter().map(|hunk| {
        let is_in = |edit: &ReviewedEdit| edit.found_line.is_some_and(|line| has_line(hunk, line));
        let own: Vec<&ReviewedEdit> = lone.iter().copied().filter(|edit| is_in(edit)).collect();
        lone.retain(|edit| !is_in(edit));
        ShownHunk {
            header: mark(&hunk.header),
            placed: own.into_iter().flat_map(describe_edit).collect(),
            lines: hunk.lines.iter().map(show_line).collect(),
        }
    });
    let hunks = hunks.collect();
    let repairs = file.repairs.iter().filter(|repair| !shared.contains(repair));
    let repairs = repairs.map(|repair| mark(&format!("repaired: {repair}")));
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
        placed: repairs.chain(lone.into_iter().flat_map(describe_edit)).collect(),
        warnings: list_warnings(file),
        reasons: own.map(show_reason).collect(),
        hunks,
    }
}

/// Returns whether a hunk has this line of the old file.
fn has_line(hunk: &ReviewedHunk, line: u64) -> bool {
    let mut old = hunk.lines.iter().filter_map(|shown| shown.old);
    let Some(first) = old.next() else {
        // A new file has no old lines.
        return true;
    };
    let last = old.next_back().unwrap_or(first);
    // An answer may show more lines around its edit than the canonical diff does, and an edit that only adds lines is found at the
    // line before or after them.
    (first.saturating_sub(LINES_AROUND)..=last.saturating_add(1)).contains(&line)
}

/// Words how an edit was placed, and what had to be repaired. An exact place at the stated line needs no word.
fn describe_edit(edit: &ReviewedEdit) -> Vec<String> {
    let mut told = Vec::new();
    if let Some(rung) = edit.rung.as_deref().filter(|rung| !USUAL_RUNGS.contains(rung)) {
        let place = match (edit.found_line, edit.stated_line) {
            (Some(found), Some(stated)) if found != stated => {
                format!(": line {found}, the answer says {stated}")
            }
            (Some(found), Some(_) | None) => format!(": line {found}"),
            (None, _) => String::new(),
        };
        told.push(mark(&format!("placed {rung}{place}")));
    }
    told.extend(
        edit.repairs
            .iter()
            .map(|repair| mark(&format!("repaired: {repair}"))),
    );
    told
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
