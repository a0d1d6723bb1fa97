//! Facts about added text that a policy may judge: credentials, and characters that a reader cannot see.
//!
//! Owns: what is looked for. Never: refuses anything, or repeats a secret it found.

mod entropy;
mod invisible;
mod secrets;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::compare::line_edits;
use crate::text::split_lines;
use crate::{Change, FileChange, RepoPath};

/// One finding in an added line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// The file.
    pub path: RepoPath,
    /// The line in the result; 1 is the first.
    pub line: u64,
    /// What it is, as in `private-key` or `bidi-control`. Never the text itself.
    pub kind: String,
}

/// What was found in the added lines of a change.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Findings {
    /// Credentials.
    pub secrets: Vec<Finding>,
    /// Direction-changing and tag characters: what is shown is not what is there.
    pub bidi: Vec<Finding>,
    /// NUL bytes.
    pub nul: Vec<Finding>,
    /// Characters of no width, which hide text but do not change what the rest shows.
    pub invisible: Vec<Finding>,
    /// Values that look random and have no known form: a hint, since digests and ids look like this, too.
    #[serde(default)]
    pub maybe_secrets: Vec<Finding>,
}

/// Looks at the added lines of a change. Lines that a renamed file brings along are not added.
#[must_use]
pub fn findings(change: &Change) -> Findings {
    let mut found = Findings::default();
    for file in change.files() {
        let Some(new) = &file.new else { continue };
        let old = old_content(change, file);
        let [old, new] = [old, &new.content].map(line_texts);
        for edit in line_edits(&old, &new) {
            let first = edit.new.start;
            let added = new.get(edit.new).unwrap_or_default();
            scan_lines(&mut found, &file.path, first, added);
        }
    }
    found
}

/// Looks at every line of a file, as if all of it were added.
#[must_use]
pub fn findings_in(path: &RepoPath, content: &[u8]) -> Findings {
    let mut found = Findings::default();
    scan_lines(&mut found, path, 0, &line_texts(content));
    found
}

/// The lines without their ends.
fn line_texts(content: &[u8]) -> Vec<&[u8]> {
    split_lines(content).iter().map(|line| line.text).collect()
}

fn old_content<'c>(change: &'c Change, file: &'c FileChange) -> &'c [u8] {
    let source = file
        .renamed_from
        .as_ref()
        .and_then(|from| change.files().iter().find(|other| other.path == *from));
    source
        .unwrap_or(file)
        .old
        .as_ref()
        .map(|state| state.content.as_ref())
        .unwrap_or_default()
}

fn scan_lines(found: &mut Findings, path: &RepoPath, first: usize, added: &[&[u8]]) {
    for (at, text) in added.iter().enumerate() {
        let finding = |kind: &str| Finding {
            path: path.clone(),
            line: (first + at) as u64 + 1,
            kind: kind.to_owned(),
        };
        let following = added.get(at + 1..).unwrap_or_default();
        let kinds = secrets::secret_kinds(text, following);
        if kinds.is_empty() && entropy::looks_random(text) {
            found.maybe_secrets.push(finding("high-entropy"));
        }
        found.secrets.extend(kinds.into_iter().map(finding));
        if text.contains(&0) {
            found.nul.push(finding("nul"));
        }
        let seen = invisible::scan_line(text, first + at == 0);
        found.bidi.extend(seen.bidi.map(finding));
        found.invisible.extend(seen.invisible.map(finding));
    }
}
