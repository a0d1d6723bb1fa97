//! Edits whose search text may be a part of a line: each text must stand in the file exactly once.
//!
//! Owns: finding such texts. Never: takes the first of two.

use crate::parse::Hunk;
use crate::splice::Splice;
use crate::text::Line;

/// Where the texts of a file's edits stand.
pub(crate) enum Found {
    /// Each exactly once, none in another's way. One splice and first line for each.
    Once(Vec<(usize, Splice)>),
    /// Not all are such edits, or one is nowhere as it is written: lines decide.
    Lines,
    /// This edit's text stands at several places; the first lines.
    Several(usize, Vec<usize>),
}

/// Looks for every text.
pub(crate) fn find(lines: &[Line<'_>], content: &[u8], hunks: &[&Hunk<'_>]) -> Found {
    let Ok(text) = std::str::from_utf8(content) else {
        return Found::Lines;
    };
    let mut starts = Vec::with_capacity(lines.len() + 1);
    let mut offset = 0;
    for line in lines {
        starts.push(offset);
        offset += line.full.len();
    }
    let mut found: Vec<(usize, usize, &[u8])> = Vec::new();
    for (index, hunk) in hunks.iter().enumerate() {
        let Some(inline) = &hunk.inline else {
            return Found::Lines;
        };
        let Ok(search) = std::str::from_utf8(&inline.search) else {
            return Found::Lines;
        };
        /// Enough candidates for a report.
        const SHOWN: usize = 16;
        let hits: Vec<usize> = overlapping(text, search).take(SHOWN).collect();
        match hits.as_slice() {
            [] => return Found::Lines,
            [only] => found.push((*only, only + search.len(), &inline.replace)),
            several => {
                return Found::Several(index, several.iter().map(|at| line_at(&starts, *at)).collect());
            }
        }
    }
    splices(content, &starts, &found).map_or(Found::Lines, Found::Once)
}

/// All places of `needle`, also such that overlap.
fn overlapping<'t>(text: &'t str, needle: &'t str) -> impl Iterator<Item = usize> + 't {
    let mut from = 0;
    std::iter::from_fn(move || {
        let at = from + text.get(from..)?.find(needle)?;
        let step = text.get(at..)?.chars().next().map_or(1, char::len_utf8);
        from = at + step;
        Some(at)
    })
}

fn line_at(starts: &[usize], offset: usize) -> usize {
    starts.partition_point(|start| *start <= offset).saturating_sub(1)
}

/// Byte ranges as whole lines; none when two touch the same line.
fn splices(
    content: &[u8],
    starts: &[usize],
    found: &[(usize, usize, &[u8])],
) -> Option<Vec<(usize, Splice)>> {
    let mut out = Vec::with_capacity(found.len());
    for (from, to, replace) in found {
        let first = line_at(starts, *from);
        let last = line_at(starts, to.saturating_sub(1).max(*from));
        let line_start = *starts.get(first)?;
        let line_end = starts.get(last + 1).copied().unwrap_or(content.len());
        let bytes = [
            content.get(line_start..*from)?,
            replace,
            content.get(*to..line_end)?,
        ]
        .concat();
        out.push((
            first,
            Splice {
                start: first,
                end: last + 1,
                bytes,
            },
        ));
    }
    let mut order: Vec<(usize, usize)> = out.iter().map(|(_, splice)| (splice.start, splice.end)).collect();
    order.sort_unstable();
    let disjoint = order.windows(2).all(|pair| matches!(pair, [a, b] if a.1 <= b.0));
    disjoint.then_some(out)
}
