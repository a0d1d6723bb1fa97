//! Edits whose search text may be a part of a line: each text must stand in the file exactly once.
//!
//! Owns: finding such texts. Never: takes the first of two, or a part of a word for the word.

use crate::locate::Miss;
use crate::parse::{Hunk, Inline};
use crate::splice::{Splice, usual};
use crate::text::{Eol, Line, indent, is_blank, trim};

/// Where the texts of a file's edits stand.
pub(crate) enum Found {
    /// Each exactly once, none in another's way: the first line of each, and the splices of all.
    Once(Vec<usize>, Vec<Splice>),
    /// Not all are such edits, or one is nowhere as it is written: lines decide.
    Lines,
    /// This edit's text has no place of its own.
    Missed(usize, Miss),
}

/// One text that was found.
struct Hit<'h> {
    from: usize,
    to: usize,
    first: usize,
    last: usize,
    inline: &'h Inline<'h>,
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
    let mut found: Vec<Hit<'_>> = Vec::new();
    let mut inside = None;
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
            [only] if begins_in_indentation(text, *only, search) => return Found::Lines,
            [only] if begins_in_line_end(text, *only) => return Found::Lines,
            [only] if stands_around(text, *only, inline) => {
                inside = inside.or(Some((index, Miss::There(line_at(&starts, *only)))));
            }
            [only] => {
                let to = only + search.len();
                let first = line_at(&starts, *only);
                let last = line_at(&starts, to.saturating_sub(1).max(*only));
                if in_word(text, *only) || in_word(text, to) {
                    inside = inside.or(Some((index, Miss::InWord(first))));
                }
                if lines.get(first).is_some_and(|line| stands_out(line, inline)) {
                    inside = inside.or(Some((index, Miss::Outdented(first))));
                }
                found.push(Hit {
                    from: *only,
                    to,
                    first,
                    last,
                    inline,
                });
            }
            several => {
                let places = several.iter().map(|at| line_at(&starts, *at)).collect();
                return Found::Missed(index, Miss::Several(places));
            }
        }
    }
    match inside {
        Some((index, miss)) => Found::Missed(index, miss),
        None => placed(lines, content, &starts, &found),
    }
}

/// The text begins with blanks, and the file's indentation with more of them: other lines of the replacement would
/// stand too far left.
fn begins_in_indentation(text: &str, at: usize, search: &str) -> bool {
    let before = at.checked_sub(1).and_then(|at| text.as_bytes().get(at));
    search.bytes().next().is_some_and(is_blank) && before.copied().is_some_and(is_blank)
}

/// The text is of one line, and what takes its place has more, of which one stands further left than the line that the
/// text is in: its writer may have left that line's indentation out everywhere.
fn stands_out(line: &Line<'_>, inline: &Inline<'_>) -> bool {
    let search = inline.search.strip_suffix(b"\n").unwrap_or(&inline.search);
    let mut more = inline.replace.split(|byte| *byte == b'\n').skip(1);
    let indentation = indent(line.text);
    !search.contains(&b'\n') && more.any(|line| !trim(line).is_empty() && !line.starts_with(indentation))
}

/// The text begins with a line feed, and the file has a carriage return before it: line ends are the file's own.
fn begins_in_line_end(text: &str, at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|at| text.as_bytes().get(at));
    before == Some(&b'\r') && text.as_bytes().get(at) == Some(&b'\n')
}

/// There is a letter or digit on both sides. Scripts without case have no blanks between words, so theirs do not
/// count.
fn in_word(text: &str, at: usize) -> bool {
    let of_word = |character: char| {
        character.is_ascii_digit() || character == '_' || character.is_lowercase() || character.is_uppercase()
    };
    let before = text.get(..at).and_then(|text| text.chars().next_back());
    let behind = text.get(at..).and_then(|text| text.chars().next());
    before.is_some_and(of_word) && behind.is_some_and(of_word)
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

/// The replacement has the text in it, and stands in the file around this place already.
fn stands_around(text: &str, at: usize, inline: &Inline<'_>) -> bool {
    let (Ok(search), Ok(replace)) = (
        std::str::from_utf8(&inline.search),
        std::str::from_utf8(&inline.replace),
    ) else {
        return false;
    };
    replace.len() > search.len()
        && replace.match_indices(search).any(|(inside, _)| {
            let from = at.checked_sub(inside);
            from.and_then(|from| text.get(from..from + replace.len())) == Some(replace)
        })
}

fn line_at(starts: &[usize], offset: usize) -> usize {
    starts.partition_point(|start| *start <= offset).saturating_sub(1)
}

/// Byte ranges as whole lines; those that share a line are one splice.
fn placed(lines: &[Line<'_>], content: &[u8], starts: &[usize], found: &[Hit<'_>]) -> Found {
    let mut order: Vec<(usize, &Hit<'_>)> = found.iter().enumerate().collect();
    order.sort_by_key(|(_, hit)| (hit.from, hit.to));
    let meet = order.windows(2).find_map(|pair| match pair {
        [(_, a), (index, b)] if b.from < a.to => Some((*index, b.first)),
        _ => None,
    });
    if let Some((index, line)) = meet {
        return Found::Missed(index, Miss::Overlap(vec![line]));
    }
    let splices = order
        .chunk_by(|(_, a), (_, b)| b.first <= a.last)
        .map(|together| splice(lines, content, starts, together))
        .collect::<Option<Vec<_>>>();
    match splices {
        Some(splices) => Found::Once(found.iter().map(|hit| hit.first).collect(), splices),
        None => Found::Lines,
    }
}

fn splice(
    lines: &[Line<'_>],
    content: &[u8],
    starts: &[usize],
    together: &[(usize, &Hit<'_>)],
) -> Option<Splice> {
    let (start, end) = (together.first()?.1.first, together.last()?.1.last + 1);
    let mut bytes = Vec::new();
    let mut at = *starts.get(start)?;
    for (_, hit) in together {
        bytes.extend_from_slice(content.get(at..hit.from)?);
        bytes.extend_from_slice(&replacement(lines, hit)?);
        at = hit.to;
    }
    let line_end = starts.get(end).copied().unwrap_or(content.len());
    bytes.extend_from_slice(content.get(at..line_end)?);
    Some(Splice { start, end, bytes })
}

/// The new text. A search text without line ends says nothing of the file's, so the replacement gets those.
fn replacement(lines: &[Line<'_>], hit: &Hit<'_>) -> Option<Vec<u8>> {
    let replace = hit.inline.replace.as_ref();
    if hit.inline.search.contains(&b'\n') || !replace.contains(&b'\n') {
        return Some(replace.to_vec());
    }
    let here = lines.get(hit.first..=hit.first)?;
    let eol = match here.first()?.eol {
        Eol::Missing => usual(lines, here),
        eol @ (Eol::Lf | Eol::CrLf) => eol,
    };
    let pieces: Vec<&[u8]> = replace
        .split(|byte| *byte == b'\n')
        .map(|piece| piece.strip_suffix(b"\r").unwrap_or(piece))
        .collect();
    Some(pieces.join(eol.bytes()))
}
