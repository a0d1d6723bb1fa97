//! Evidence in an answer about the order of its parts.
//!
//! Owns: the evidence: a series of mails, and chains of `index` lines. Never: looks at the base.

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::parse::{
    CodeFence, FileEdit, HeaderName, ParsedAnswer, closes_fence, git_pairs, parse_fence, same_file,
    without_prefix,
};

/// Order in which parts of one file are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PartOrder {
    /// No file has two parts.
    Once,
    /// All parts were made for the base.
    Base,
    /// Each part was made for the result of the ones before it.
    InTurn,
    /// The answer does not show it.
    Unknown,
}

/// Reads the order from the answer.
pub(super) fn part_order(answer: &[u8], parsed: &ParsedAnswer<'_>) -> PartOrder {
    let repeated = repeated_parts(parsed.files.iter());
    if repeated.is_empty() {
        return PartOrder::Once;
    }
    // `git format-patch` writes one mail for each commit, and each commit is made on the one before.
    if is_series(answer) {
        return PartOrder::InTurn;
    }
    let mut last: HashMap<Vec<u8>, &(String, String)> = HashMap::new();
    let mut signs = BTreeSet::new();
    for edit in repeated.iter().filter_map(|at| parsed.files.get(*at)) {
        let Some(index) = &edit.extended.index else {
            signs.insert(IndexSign::None);
            continue;
        };
        for name in part_names(edit) {
            if let Some(before) = last.insert(name, index) {
                signs.insert(compare_index_lines(before, index));
            }
        }
    }
    let mut signs = signs.into_iter();
    match (signs.next(), signs.next()) {
        // The order is known only if all pairs of `index` lines agree.
        (Some(IndexSign::Base), None) => PartOrder::Base,
        (Some(IndexSign::Chain), None) => PartOrder::InTurn,
        (Some(_) | None, _) => PartOrder::Unknown,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum IndexSign {
    Base,
    Chain,
    None,
}

/// Compares two `index` lines of one file: the same old blob, or the new blob of the one before.
fn compare_index_lines(before: &(String, String), this: &(String, String)) -> IndexSign {
    // Git abbreviates ids to different lengths, at least 7 digits.
    let same = |a: &str, b: &str| a.len() >= 7 && b.len() >= 7 && (a.starts_with(b) || b.starts_with(a));
    match (same(&before.0, &this.0), same(&before.1, &this.0)) {
        (true, _) => IndexSign::Base,
        (false, true) => IndexSign::Chain,
        (false, false) => IndexSign::None,
    }
}

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

/// Returns true for two or more mails as `git format-patch` writes them.
fn is_series(answer: &[u8]) -> bool {
    let begins = |line: &&[u8]| {
        line.strip_prefix(b"From ").is_some_and(|rest| {
            let id = rest.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
            (id == 40 || id == 64) && rest.get(id) == Some(&b' ')
        })
    };
    answer.split(|byte| *byte == b'\n').filter(begins).take(2).count() == 2
}

/// Returns the indexes of the parts that share a file with another part.
pub(super) fn repeated_parts<'e, 'a: 'e>(edits: impl Iterator<Item = &'e FileEdit<'a>>) -> BTreeSet<usize> {
    let mut by_name: HashMap<Vec<u8>, usize> = HashMap::new();
    let mut found = BTreeSet::new();
    for (at, edit) in edits.enumerate() {
        for name in part_names(edit) {
            if let Some(other) = by_name.insert(name, at).filter(|other| *other != at) {
                found.extend([other, at]);
            }
        }
    }
    found
}

/// Returns the indexes of the parts that share a file with an earlier one.
pub(super) fn later_parts<'e, 'a: 'e>(edits: impl Iterator<Item = &'e FileEdit<'a>>) -> BTreeSet<usize> {
    let mut seen: HashSet<Vec<u8>> = HashSet::new();
    let mut found = BTreeSet::new();
    for (at, edit) in edits.enumerate() {
        for name in part_names(edit) {
            if !seen.insert(name) {
                found.insert(at);
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
