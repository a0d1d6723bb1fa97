//! Findings in added text that a policy may judge: credentials, characters that a reader cannot see, and diffs in the
//! place of files.
//!
//! Owns: the kinds of findings. Never: refuses anything, or repeats a secret that it found.
//!
//! # The problem
//!
//! A model can copy a key from its context into a file, or be talked into hiding text from the reviewer. The finding
//! must be certain enough that policy can deny it: a check that fires on every digest and test fixture is switched
//! off.
//!
//! # The steps
//!
//! 1. Only added lines are scanned: those of the diff against the old content, and against the deleted file for a
//!    rename. A secret that is already committed does not block every later edit of its file.
//! 2. Tokens of known form, by their beginning (`ghp_`), or by their middle, end or division. These are secrets.
//! 3. Private keys with key material, passwords in addresses of other machines, and random values with the name of a
//!    secret. These are secrets.
//! 4. Documented examples and placeholders, such as `AKIAIOSFODNN7EXAMPLE`, count neither as tokens nor as named
//!    values.
//! 5. Values that look random without any of this are only a hint (`maybe_secrets`).
//! 6. NUL bytes in a file that was text, direction marks, tag characters and characters of no width.
//! 7. Files whose new text is a diff from its first to its last line, although the old text was not; lines that begin or end
//!    with a control mark of a chat template.
//!
//! # What goes wrong without a step
//!
//! | step | without it |
//! |---|---|
//! | added lines only | each change of an old file is denied for what was there before |
//! | a token begins where a word begins | `sha256=r8_…` of a package record, or a name with `sk-` inside, is a secret |
//! | placeholders | documentation cannot show a key |
//! | key material after a PEM header | every text about keys is a private key |
//! | the finding names kind and line only | the report and the evidence would store the secret |
//!
//! Of binary content only step 2 and 3 are true: in arbitrary bytes, three in a row are a direction mark by chance. That a
//! file is binary is a fact about it and no finding, except where it was text before: a NUL would hide the rest of it.
//!
//! Sources: the rules of gitleaks 8 and detect-secrets 1.5 and the vendors' documentation for the forms; "Trojan
//! Source" (CVE-2021-42574) for direction marks.

mod diff_text;
mod entropy;
mod invisible;
mod prefilter;
mod secrets;

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::compare::line_edits;
use crate::text::{split_lines, texts_of};
use crate::{Change, FileChange, RepoPath};

/// Finding in an added line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// Path of the file.
    pub path: RepoPath,
    /// Line in the result; 1 is the first.
    pub line: u64,
    /// Kind of the finding, such as `private-key` or `bidi-control`. Never the text itself.
    pub kind: String,
}

impl Finding {
    /// Creates a finding in a line of a file; 0 is the first.
    fn new(path: &RepoPath, at: usize, kind: &str) -> Self {
        Self {
            path: path.clone(),
            line: at as u64 + 1,
            kind: kind.to_owned(),
        }
    }
}

/// Findings in the added lines of a change.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Findings {
    /// Credentials.
    pub secrets: Vec<Finding>,
    /// Direction-changing and tag characters: the text shown differs from the text that is there.
    pub bidi: Vec<Finding>,
    /// NUL bytes in files that were text before.
    pub nul: Vec<Finding>,
    /// Characters of no width, which hide text but do not change how the rest is shown.
    pub invisible: Vec<Finding>,
    /// Values that look random and have no known form. This is a hint, since digests and ids look the same.
    #[serde(default)]
    pub maybe_secrets: Vec<Finding>,
    /// Files whose new text has a part of an answer in it: it is a diff and the old text was not, so an edit was probably
    /// written into the file that it should change; or a line begins or ends with a control mark of a chat template. At most
    /// one of each kind for each file.
    #[serde(default)]
    pub diff_texts: Vec<Finding>,
}

/// Scans the added lines of a change. Lines that a renamed file brings along are not added.
#[must_use]
pub fn scan_change(change: &Change) -> Findings {
    let mut found = Findings::default();
    for file in change.files() {
        let Some(new) = &file.new else { continue };
        let old = old_content(change, file);
        if diff_text::becomes_diff(file.path.as_str(), old, &new.content) {
            found.diff_texts.push(Finding::new(&file.path, 0, "diff-text"));
        }
        if new.is_binary() {
            scan_binary(&mut found, &file.path, old, &new.content);
            continue;
        }
        let before = old;
        let [old, new] = [old, &new.content].map(line_texts);
        let mut marked = None;
        for edit in line_edits(&old, &new) {
            let first = edit.new.start;
            let added = new.get(edit.new).unwrap_or_default();
            scan_added(&mut found, &file.path, first, added);
            let mark = || added.iter().position(|line| diff_text::has_control_mark(line));
            marked = marked.or_else(|| Some(first + mark()?));
        }
        if let Some(at) = marked.filter(|_| !diff_text::holds_control_marks(file.path.as_str(), before)) {
            found
                .diff_texts
                .push(Finding::new(&file.path, at, "control-mark"));
        }
    }
    found
}

/// Scans the lines of binary content that the old content does not have, for credentials alone.
fn scan_binary(found: &mut Findings, path: &RepoPath, old: &[u8], new: &[u8]) {
    let there: HashSet<&[u8]> = line_texts(old).into_iter().collect();
    for (at, text) in line_texts(new).into_iter().enumerate() {
        if prefilter::is_suspect(text) && !there.contains(text) {
            let kinds = secrets::secret_kinds(text, &[]).into_iter();
            found
                .secrets
                .extend(kinds.map(|kind| Finding::new(path, at, kind)));
        }
    }
    if !old.is_empty() && !crate::binary::is_binary(old) {
        let before = new.iter().take_while(|byte| **byte != 0);
        let at = before.filter(|byte| **byte == b'\n').count();
        found.nul.push(Finding::new(path, at, "nul"));
    }
}

/// Scans every line of a file, as if all of it were added.
#[must_use]
pub fn scan_file(path: &RepoPath, content: &[u8]) -> Findings {
    let mut found = Findings::default();
    scan_added(&mut found, path, 0, &line_texts(content));
    found
}

/// Scans every line of a file in full, so that tests can compare.
#[cfg(test)]
fn scan_every_line(path: &RepoPath, content: &[u8]) -> Findings {
    let mut found = Findings::default();
    let lines = line_texts(content);
    for (at, text) in lines.iter().enumerate() {
        let following = lines.get(at + 1..).unwrap_or_default();
        scan_line(&mut found, path, at, (text, following));
    }
    found
}

/// Returns the lines without their endings.
fn line_texts(content: &[u8]) -> Vec<&[u8]> {
    texts_of(&split_lines(content))
}

fn old_content<'c>(change: &'c Change, file: &'c FileChange) -> &'c [u8] {
    // A renamed file is compared with its deleted source, so that old secrets in it are not reported as added.
    let path = file.renamed_from.as_ref().unwrap_or(&file.path);
    let source = change.files().iter().find(|other| other.path == *path);
    let old = source.unwrap_or(file).old.as_ref();
    old.map(|state| state.content.as_ref()).unwrap_or_default()
}

/// Scans added lines, of which the first has this position in the file.
fn scan_added(found: &mut Findings, path: &RepoPath, first: usize, added: &[&[u8]]) {
    for (at, text) in added.iter().enumerate() {
        if prefilter::is_suspect(text) {
            // The key below an added header is added together with it.
            let following = added.get(at + 1..).unwrap_or_default();
            scan_line(found, path, first + at, (text, following));
        }
    }
}

/// Scans one line in full, which has this position in the file.
fn scan_line(found: &mut Findings, path: &RepoPath, at: usize, (text, following): (&[u8], &[&[u8]])) {
    let finding = |kind: &str| Finding::new(path, at, kind);
    let kinds = secrets::secret_kinds(text, following);
    // The hint is for lines without a certain finding: one line must not be reported twice.
    if kinds.is_empty() && entropy::looks_random(text) {
        found.maybe_secrets.push(finding("high-entropy"));
    }
    found.secrets.extend(kinds.into_iter().map(finding));
    if text.contains(&0) {
        found.nul.push(finding("nul"));
    }
    let seen = invisible::scan_line(text, at == 0);
    found.bidi.extend(seen.bidi.map(finding));
    found.invisible.extend(seen.invisible.map(finding));
}
