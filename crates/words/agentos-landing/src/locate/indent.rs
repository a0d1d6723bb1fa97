//! How the indentation of a hunk differs from the file's, when it differs by one rule for all its lines.
//!
//! Owns: finding the rule, and giving it to added lines. Never: accepts lines that differ each in its own way.

use super::key::{MatchLevel, indent_key};
use crate::parse::{HunkLine, LineMark};
use crate::text::{TextLine, leading_blanks, trim};

/// The rule.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum IndentShift {
    /// No difference.
    #[default]
    Same,
    /// The file has these blanks in front of what the hunk has.
    Deeper(Vec<u8>),
    /// The hunk has these blanks in front of what the file has.
    Shallower(Vec<u8>),
    /// The file has a tab where the hunk has this many spaces.
    ToTabs(usize),
    /// The file has this many spaces where the hunk has a tab.
    ToSpaces(usize),
    /// The mark of changed lines took the place of their first blank.
    LostBlank {
        /// Of some line it was the only blank, so that a line without any may have had one.
        bare: bool,
    },
}

/// Finds the rule, if there is one.
///
/// `marked`: the dialect has a mark in front of each line.
pub(crate) fn find_shift(
    level: MatchLevel,
    old: &[&HunkLine<'_>],
    lines: &[TextLine<'_>],
    marked: bool,
) -> Option<IndentShift> {
    if level < MatchLevel::Indent {
        return Some(IndentShift::Same);
    }
    let pairs = |mark: Option<LineMark>| -> IndentPairs {
        old.iter()
            .zip(lines)
            .filter(|(old, _)| mark.is_none_or(|mark| old.mark == mark) && !trim(&old.text).is_empty())
            .map(|(old, line)| {
                (
                    indent_key(level, &old.text).into_owned(),
                    indent_key(level, line.text).into_owned(),
                )
            })
            .collect()
    };
    let removed = pairs(Some(LineMark::Remove));
    match uniform_shift(&pairs(None)) {
        // The blank may be the mark of context lines, which says nothing about the lines to add.
        Some(IndentShift::Deeper(extra)) if extra == b" " && removed.is_empty() && marked => None,
        Some(shift) => Some(shift),
        None if marked => shift_by_mark(&pairs(Some(LineMark::Context)), &removed),
        None => None,
    }
}

/// The indentation of each line in the hunk and in the file.
type IndentPairs = Vec<(Vec<u8>, Vec<u8>)>;

/// The one rule for all lines.
fn uniform_shift(pairs: &IndentPairs) -> Option<IndentShift> {
    if pairs.iter().all(|(hunk, file)| hunk == file) {
        return Some(IndentShift::Same);
    }
    prefix_shift(pairs).or_else(|| tab_shift(pairs))
}

/// A mark that took the place of a blank, in context lines or in changed ones: the removed lines tell how the
/// added ones were written. Lines without indentation have no blank to lose.
fn shift_by_mark(context: &IndentPairs, removed: &IndentPairs) -> Option<IndentShift> {
    let indented = |pairs: &IndentPairs| -> IndentPairs {
        let pairs = pairs
            .iter()
            .filter(|(hunk, file)| !(hunk.is_empty() && file.is_empty()));
        pairs.cloned().collect()
    };
    let one = IndentShift::Deeper(b" ".to_vec());
    let removed = indented(removed);
    if removed.is_empty() {
        return None;
    }
    match (uniform_shift(&indented(context))?, uniform_shift(&removed)?) {
        (IndentShift::Same, shift) | (shift, IndentShift::Same) if shift != one => None,
        (IndentShift::Same, _) => Some(IndentShift::LostBlank {
            bare: removed.iter().any(|(hunk, _)| hunk.is_empty()),
        }),
        (_, IndentShift::Same) => Some(IndentShift::Same),
        (_, _) => None,
    }
}

/// All lines have the same blanks more, or the same blanks less.
fn prefix_shift(pairs: &[(Vec<u8>, Vec<u8>)]) -> Option<IndentShift> {
    let (hunk, file) = pairs.first()?;
    if let Some(extra) = file.strip_suffix(hunk.as_slice()) {
        let all = pairs
            .iter()
            .all(|(hunk, file)| file.strip_prefix(extra) == Some(hunk.as_slice()));
        if all && !extra.is_empty() {
            return Some(IndentShift::Deeper(extra.to_vec()));
        }
    }
    let extra = hunk.strip_suffix(file.as_slice())?;
    let all = pairs
        .iter()
        .all(|(hunk, file)| hunk.strip_prefix(extra) == Some(file.as_slice()));
    (all && !extra.is_empty()).then(|| IndentShift::Shallower(extra.to_vec()))
}

/// Tabs on one side are spaces on the other, at one width.
fn tab_shift(pairs: &[(Vec<u8>, Vec<u8>)]) -> Option<IndentShift> {
    let width = [4, 2, 8, 3, 1].into_iter().find(|width| {
        pairs
            .iter()
            .all(|(hunk, file)| count_columns(hunk, *width) == count_columns(file, *width))
    })?;
    let to_tabs = pairs
        .iter()
        .any(|(hunk, file)| hunk != file && file.contains(&b'\t'));
    Some(if to_tabs {
        IndentShift::ToTabs(width)
    } else {
        IndentShift::ToSpaces(width)
    })
}

fn count_columns(indent: &[u8], width: usize) -> usize {
    indent.iter().fold(0, |column, byte| match byte {
        b'\t' => (column / width + 1) * width,
        _ => column + 1,
    })
}

impl IndentShift {
    /// Added lines that already use the file's own kind of blank were not damaged, and stay.
    pub(crate) fn applies_to(&self, added: &[&HunkLine<'_>]) -> bool {
        let any = |blank: u8| {
            added
                .iter()
                .any(|line| leading_blanks(&line.text).contains(&blank))
        };
        match self {
            Self::Same => false,
            Self::Deeper(_) | Self::Shallower(_) | Self::LostBlank { .. } | Self::ToSpaces(_) => true,
            Self::ToTabs(_) => !any(b'\t'),
        }
    }

    /// An added line under the rule; none when the rule cannot hold for it.
    pub(crate) fn apply_to(&self, text: &[u8]) -> Option<Vec<u8>> {
        let blanks = leading_blanks(text);
        let rest = text.get(blanks.len()..).unwrap_or_default();
        let converts = matches!(self, Self::ToTabs(_) | Self::ToSpaces(_));
        if rest.is_empty() && !converts {
            return Some(text.to_vec());
        }
        match self {
            Self::Same => Some(text.to_vec()),
            Self::Deeper(extra) => Some([extra, text].concat()),
            Self::Shallower(extra) => text.strip_prefix(extra.as_slice()).map(<[u8]>::to_vec),
            Self::ToTabs(width) => {
                let columns = count_columns(blanks, *width);
                let mut out = vec![b'\t'; columns / width];
                out.resize(out.len() + columns % width, b' ');
                out.extend_from_slice(rest);
                Some(out)
            }
            // A line that uses the file's own kind of blanks was not damaged.
            Self::ToSpaces(_) if !blanks.contains(&b'\t') => Some(text.to_vec()),
            Self::LostBlank { bare } if blanks.is_empty() => (!bare).then(|| text.to_vec()),
            Self::LostBlank { .. } => Some([b" ", text].concat()),
            Self::ToSpaces(width) => {
                let mut out = vec![b' '; count_columns(blanks, *width)];
                out.extend_from_slice(rest);
                Some(out)
            }
        }
    }
}
