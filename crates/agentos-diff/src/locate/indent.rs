//! How the indentation of a hunk differs from the file's, when it differs by one rule for all its lines.
//!
//! Owns: finding the rule, and giving it to added lines. Never: accepts lines that differ each in its own way.

use super::key::{Level, indentation};
use crate::parse::HunkLine;
use crate::text::{Line, indent, trim};

/// The rule.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum Shift {
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
}

/// Finds the rule, if there is one.
pub(crate) fn shift(level: Level, old: &[&HunkLine<'_>], lines: &[Line<'_>]) -> Option<Shift> {
    if level < Level::Indent {
        return Some(Shift::Same);
    }
    let pairs: Vec<(Vec<u8>, Vec<u8>)> = old
        .iter()
        .zip(lines)
        .filter(|(old, _)| !trim(&old.text).is_empty())
        .map(|(old, line)| {
            (
                indentation(level, &old.text).into_owned(),
                indentation(level, line.text).into_owned(),
            )
        })
        .collect();
    if pairs.iter().all(|(hunk, file)| hunk == file) {
        return Some(Shift::Same);
    }
    prefix(&pairs).or_else(|| tabs(&pairs))
}

/// All lines have the same blanks more, or the same blanks less.
fn prefix(pairs: &[(Vec<u8>, Vec<u8>)]) -> Option<Shift> {
    let (hunk, file) = pairs.first()?;
    if let Some(extra) = file.strip_suffix(hunk.as_slice()) {
        let all = pairs
            .iter()
            .all(|(hunk, file)| file.strip_prefix(extra) == Some(hunk.as_slice()));
        if all && !extra.is_empty() {
            return Some(Shift::Deeper(extra.to_vec()));
        }
    }
    let extra = hunk.strip_suffix(file.as_slice())?;
    let all = pairs
        .iter()
        .all(|(hunk, file)| hunk.strip_prefix(extra) == Some(file.as_slice()));
    (all && !extra.is_empty()).then(|| Shift::Shallower(extra.to_vec()))
}

/// Tabs on one side are spaces on the other, at one width.
fn tabs(pairs: &[(Vec<u8>, Vec<u8>)]) -> Option<Shift> {
    let width = [4, 2, 8, 3, 1].into_iter().find(|width| {
        pairs
            .iter()
            .all(|(hunk, file)| columns(hunk, *width) == columns(file, *width))
    })?;
    let to_tabs = pairs
        .iter()
        .any(|(hunk, file)| hunk != file && file.contains(&b'\t'));
    Some(if to_tabs {
        Shift::ToTabs(width)
    } else {
        Shift::ToSpaces(width)
    })
}

fn columns(indent: &[u8], width: usize) -> usize {
    indent.iter().fold(0, |column, byte| match byte {
        b'\t' => (column / width + 1) * width,
        _ => column + 1,
    })
}

impl Shift {
    /// Added lines that already use the file's own kind of blank were not damaged, and stay.
    pub(crate) fn applies_to(&self, added: &[&HunkLine<'_>]) -> bool {
        let any = |blank: u8| added.iter().any(|line| indent(&line.text).contains(&blank));
        match self {
            Self::Same => false,
            Self::Deeper(_) | Self::Shallower(_) => true,
            Self::ToTabs(_) => !any(b'\t'),
            Self::ToSpaces(_) => !any(b' '),
        }
    }

    /// An added line under the rule; none when the rule cannot hold for it.
    pub(crate) fn apply(&self, text: &[u8]) -> Option<Vec<u8>> {
        let blanks = indent(text);
        let rest = text.get(blanks.len()..).unwrap_or_default();
        if rest.is_empty() {
            return Some(text.to_vec());
        }
        match self {
            Self::Same => Some(text.to_vec()),
            Self::Deeper(extra) => Some([extra, text].concat()),
            Self::Shallower(extra) => text.strip_prefix(extra.as_slice()).map(<[u8]>::to_vec),
            Self::ToTabs(width) => {
                let columns = columns(blanks, *width);
                let mut out = vec![b'\t'; columns / width];
                out.resize(out.len() + columns % width, b' ');
                out.extend_from_slice(rest);
                Some(out)
            }
            Self::ToSpaces(width) => {
                let mut out = vec![b' '; columns(blanks, *width)];
                out.extend_from_slice(rest);
                Some(out)
            }
        }
    }
}
