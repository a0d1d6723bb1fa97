//! Evidence in an answer about the order of its parts.
//!
//! Owns: the evidence: a series of mails, and words for an alternative. Never: looks at the base.

use std::collections::{BTreeSet, HashMap};

use crate::parse::{
    CodeFence, FileEdit, HeaderName, closes_fence, git_pairs, parse_fence, same_file, without_prefix,
};

/// Returns true if a line outside fences states that one part replaces another: they are not meant together.
pub(super) fn offers_alternatives(answer: &[u8]) -> bool {
    const STARTS: [&str; 12] = [
        "alternatively",
        "option 2",
        "option b",
        "option two",
        "wait,",
        "wait ",
        "actually,",
        "scratch that",
        "on second thought",
        "correction:",
        "no, ",
        "or, ",
    ];
    let mut fenced: Option<CodeFence<'_>> = None;
    answer.split(|byte| *byte == b'\n').any(|line| {
        match (parse_fence(line), fenced) {
            // Inside a fence, "no, " or "actually," may be a line of the file.
            (Some(_), Some(open)) if closes_fence(&open, line) => fenced = None,
            (Some(open), None) => fenced = Some(open),
            (_, _) => {}
        }
        let text = line.trim_ascii_start();
        let text = text.get(..text.len().min(40)).unwrap_or(text);
        let text = String::from_utf8_lossy(text).to_lowercase();
        let text = text.trim_start_matches(['#', '*', ' ', '_']);
        fenced.is_none() && STARTS.iter().any(|start| text.starts_with(start))
    })
}

/// Returns true for two or more mails as `git format-patch` writes them: one for each commit, each made on the one
/// before.
pub(super) fn is_series(answer: &[u8]) -> bool {
    let begins = |line: &&[u8]| {
        line.strip_prefix(b"From ").is_some_and(|rest| {
            let id = rest.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
            (id == 40 || id == 64) && rest.get(id) == Some(&b' ')
        })
    };
    answer.split(|byte| *byte == b'\n').filter(begins).take(2).count() == 2
}

/// Indexes of the parts that share a file with others.
#[derive(Default)]
pub(super) struct SharedParts {
    /// All of them.
    pub all: BTreeSet<usize>,
    /// Indexes of the parts that share a file with an earlier one.
    pub later: BTreeSet<usize>,
}

/// Finds the parts that share a file.
pub(super) fn shared_parts(edits: &[FileEdit<'_>]) -> SharedParts {
    let mut by_name: HashMap<Vec<u8>, usize> = HashMap::new();
    let mut found = SharedParts::default();
    for (at, edit) in edits.iter().enumerate() {
        for name in part_names(edit) {
            if let Some(other) = by_name.insert(name, at).filter(|other| *other != at) {
                found.all.extend([other, at]);
                found.later.insert(at);
            }
        }
    }
    found
}

/// Returns the names of a part without prefixes.
fn part_names(edit: &FileEdit<'_>) -> Vec<Vec<u8>> {
    let bare = |name: &[u8]| without_prefix(name).unwrap_or(name).to_vec();
    let written = |name: &HeaderName| match name {
        HeaderName::Written(name) => Some(bare(name)),
        HeaderName::Unstated | HeaderName::Nothing => None,
    };
    let moved = [&edit.extended.from, &edit.extended.to]
        .into_iter()
        .flatten()
        .cloned();
    let mut names: Vec<Vec<u8>> = [written(&edit.old), written(&edit.new)]
        .into_iter()
        .flatten()
        .chain(moved)
        .collect();
    if names.is_empty()
        && let Some(git) = &edit.extended.git_line
    {
        let same = git_pairs(git).into_iter().filter(|(a, b)| same_file(a, b));
        names.extend(same.map(|(a, _)| bare(&a)));
    }
    names.sort_unstable();
    names.dedup();
    names
}
