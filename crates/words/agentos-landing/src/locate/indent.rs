//! Difference of indentation between a hunk and the file, if one rule explains it for all lines.
//!
//! Owns: finding the rule, and applying it to added lines. Never: accepts lines that differ each in its own way.
//!
//! Indentation carries meaning in Python and YAML. If each line could differ by itself, a hunk would match a place
//! with another nesting, and its added lines would have no certain depth there.

use super::SoughtHunk;
use super::key::{MatchLevel, indent_key};
use crate::parse::{Hunk, HunkLine, LineMark};
use crate::text::{FileLines, is_blank, leading_blanks, split_run, trim};

/// Rule for the difference.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum IndentShift {
    /// The indentation is equal.
    #[default]
    Same,
    /// The file has these blanks before the hunk's indentation.
    Deeper(Vec<u8>),
    /// The hunk has these blanks before the file's indentation.
    Shallower(Vec<u8>),
    /// The file has a tab for each group of this many spaces in the hunk.
    ToTabs(usize),
    /// The file has this many spaces for each tab in the hunk.
    ToSpaces(usize),
    /// The file has a tab for each group of this many spaces, and spaces for alignment behind the tabs. An added line
    /// that begins with spaces alone may mean either.
    Aligned(usize),
    /// The mark of each changed line replaced its first blank.
    LostBlank {
        /// True if the replaced blank was the only one of some line, so that an added line without indentation may
        /// have had one.
        bare: bool,
    },
}

/// Finds the rule. Returns `None` if no rule explains all lines.
pub(crate) fn find_shift(
    level: MatchLevel,
    one: &SoughtHunk<'_>,
    lines: FileLines<'_>,
) -> Option<IndentShift> {
    let (old, marked) = (&one.old, one.hunk.marked);
    // On the stricter rungs the indentation is part of the key, so it is equal already.
    if level < MatchLevel::Indent {
        return Some(IndentShift::Same);
    }
    let pairs = |mark: Option<LineMark>| -> IndentPairs {
        old.iter()
            .zip(lines.iter())
            .filter(|(old, _)| mark.is_none_or(|mark| old.mark == mark) && !trim(&old.text).is_empty())
            .map(|(old, line)| (indent_key(level, &old.text), indent_key(level, line.text)))
            .collect()
    };
    let removed = pairs(Some(LineMark::Remove));
    match uniform_shift(&pairs(None)) {
        // One blank more may be the mark of the context lines, which says nothing about the lines to add.
        Some(IndentShift::Deeper(extra)) if extra == b" " && removed.is_empty() && marked => None,
        Some(shift) => Some(shift),
        None if marked => shift_by_mark(&pairs(Some(LineMark::Context)), &removed),
        None => None,
    }
}

/// Returns true if the lines are those of the file except for one blank at the front, and nothing shows whether it is
/// the mark of context lines that lost theirs: the hunk may belong here.
pub(super) fn may_lack_marks(level: MatchLevel, one: &SoughtHunk<'_>, lines: FileLines<'_>) -> bool {
    let (old, marked) = (&one.old, one.hunk.marked);
    let all_context = old.iter().all(|old| old.mark == LineMark::Context);
    let indent = |text: &[u8]| leading_blanks(text).to_vec();
    marked
        && all_context
        && level >= MatchLevel::Indent
        && old.iter().zip(lines.iter()).all(|(old, line)| {
            trim(&old.text).is_empty() || [b" ", indent(&old.text).as_slice()].concat() == indent(line.text)
        })
}

/// Indentation of each line in the hunk and in the file.
type IndentPairs = Vec<(Vec<u8>, Vec<u8>)>;

/// Finds the one rule that holds for all lines.
fn uniform_shift(pairs: &IndentPairs) -> Option<IndentShift> {
    if pairs.iter().all(|(hunk, file)| hunk == file) {
        return Some(IndentShift::Same);
    }
    prefix_shift(pairs).or_else(|| tab_shift(pairs))
}

/// Finds a mark that replaced a blank, in context lines or in changed ones: the removed lines show how the added ones
/// were written. Lines without indentation have no blank to lose.
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

/// Finds blanks that all lines have more, or less, than the file.
fn prefix_shift(pairs: &IndentPairs) -> Option<IndentShift> {
    let deeper = extra_in_front(pairs.iter().map(|(hunk, file)| (hunk, file)));
    let shallower = || extra_in_front(pairs.iter().map(|(hunk, file)| (file, hunk)));
    let deeper = deeper.map(IndentShift::Deeper);
    deeper.or_else(|| shallower().map(IndentShift::Shallower))
}

/// Returns what stands in front of the first text of each pair in its second one. Returns `None` if that is nothing, or not
/// the same in all pairs.
fn extra_in_front<'p>(mut pairs: impl Iterator<Item = (&'p Vec<u8>, &'p Vec<u8>)>) -> Option<Vec<u8>> {
    let (short, long) = pairs.next()?;
    let extra = long
        .strip_suffix(short.as_slice())
        .filter(|extra| !extra.is_empty())?;
    let all = pairs.all(|(short, long)| long.strip_prefix(extra) == Some(short));
    all.then(|| extra.to_vec())
}

/// Finds the tab width at which tabs on one side equal the spaces on the other. The rule must make the file's exact
/// indentation of every line: in a file that mixes tabs and spaces, an added line has no certain one.
fn tab_shift(pairs: &[(Vec<u8>, Vec<u8>)]) -> Option<IndentShift> {
    // The widths in use, commonest first.
    let widths = [4, 2, 8, 3, 1];
    let mut rules = widths
        .into_iter()
        .flat_map(|width| [IndentShift::ToTabs(width), IndentShift::ToSpaces(width)]);
    let makes = |rule: &IndentShift, hunk: &[u8], file: &[u8]| {
        let line = rule.apply_to(&[hunk, b"x"].concat());
        line.is_some_and(|line| line.strip_suffix(b"x") == Some(file))
    };
    let exact = rules.find(|rule| pairs.iter().all(|(hunk, file)| makes(rule, hunk, file)));
    let aligned = |width: &usize| {
        pairs
            .iter()
            .all(|(hunk, file)| !hunk.contains(&b'\t') && count_columns(file, *width) == hunk.len())
    };
    exact.or_else(|| widths.into_iter().find(aligned).map(IndentShift::Aligned))
}

fn count_columns(indent: &[u8], width: usize) -> usize {
    indent.iter().fold(0, |column, byte| match byte {
        b'\t' => (column / width + 1) * width,
        _ => column + 1,
    })
}

impl IndentShift {
    /// Returns true if the rule applies to the added lines. Lines that already use the file's kind of blanks were not
    /// damaged.
    pub(crate) fn applies_to(&self, added: &[&HunkLine]) -> bool {
        let has_tab = |line: &&HunkLine| leading_blanks(&line.text).contains(&b'\t');
        match self {
            Self::Same => false,
            Self::ToTabs(_) => !added.iter().any(has_tab),
            _ => true,
        }
    }

    /// Returns true if the rule makes tabs of the spaces that an added line of the hunk begins with.
    pub(crate) fn adds_tabs(&self, hunk: &Hunk) -> bool {
        let mut added = hunk.lines.iter().filter(|line| line.mark == LineMark::Add);
        matches!(self, Self::ToTabs(_)) && added.any(|line| line.text.starts_with(b" "))
    }

    /// Applies the rule to an added line. Returns `None` if it cannot hold for that line.
    pub(crate) fn apply_to(&self, text: &[u8]) -> Option<Vec<u8>> {
        let (blanks, rest) = split_run(text, is_blank);
        let converts = matches!(self, Self::ToTabs(_) | Self::ToSpaces(_));
        // A blank line may have lost its indentation everywhere, so the rule must not add any.
        if rest.is_empty() && !converts {
            return Some(text.to_vec());
        }
        match self {
            Self::Same => Some(text.to_vec()),
            Self::Deeper(extra) => Some([extra, text].concat()),
            Self::Shallower(extra) => text.strip_prefix(extra.as_slice()).map(<[u8]>::to_vec),
            Self::ToTabs(width) => {
                let columns = count_columns(blanks, *width);
                let (tabs, spaces) = (vec![b'\t'; columns / width], vec![b' '; columns % width]);
                Some([&tabs, &spaces, rest].concat())
            }
            Self::Aligned(_) => (blanks.is_empty() || blanks.contains(&b'\t')).then(|| text.to_vec()),
            // A line that uses the file's kind of blanks was not damaged.
            Self::ToSpaces(_) if !blanks.contains(&b'\t') => Some(text.to_vec()),
            // A tab was not damaged, or had a blank in front of it.
            Self::LostBlank { .. } if blanks.starts_with(b"\t") => None,
            Self::LostBlank { bare } if blanks.is_empty() => (!bare).then(|| text.to_vec()),
            Self::LostBlank { .. } => Some([b" ", text].concat()),
            Self::ToSpaces(width) => {
                let spaces = vec![b' '; count_columns(blanks, *width)];
                Some([&spaces, rest].concat())
            }
        }
    }
}
