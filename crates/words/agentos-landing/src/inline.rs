//! Edits whose search text may be a part of a line: each text must occur in the file exactly once.
//!
//! Owns: finding such texts. Never: takes the first of two occurrences, or a part of a word for the word.

use crate::locate::{MissReason, PlaceMiss};
use crate::parse::{Hunk, PlaceCount, TextReplacement};
use crate::splice::{LineSplice, usual_ending};
use crate::text::{BOM, FileLines, LineEnding, TextLine, is_blank, leading_blanks, trim};

/// Places of all texts: for each edit the first line and the number of its places, and the splices of all.
pub(crate) type FoundTexts = (Vec<(usize, usize)>, Vec<LineSplice>);

/// Outcome of the search for the texts of a file's edits. It fails with the edits whose texts have no place of their own, if
/// not every text has as many places as its edit says, or if one overlaps another. `None` if at least one edit has no search
/// text, or its text does not occur as written: all are placed by lines.
type InlineSearch = Option<Result<FoundTexts, Vec<(usize, PlaceMiss)>>>;

/// Occurrence of the text of one edit.
struct InlineMatch<'h> {
    /// Index of the edit.
    index: usize,
    from: usize,
    to: usize,
    first: usize,
    last: usize,
    inline: &'h TextReplacement,
}

impl<'h> InlineMatch<'h> {
    /// Returns the occurrence that begins at the byte `from`.
    fn at(from: usize, lines: FileLines<'_>, index: usize, inline: &'h TextReplacement) -> Self {
        let to = from + inline.search.len();
        Self {
            index,
            from,
            to,
            first: lines.at_offset(from),
            // A text that ends in a line feed does not reach the next line.
            last: lines.at_offset(to.saturating_sub(1).max(from)),
            inline,
        }
    }
}

/// Searches for the text of every edit.
pub(crate) fn find_texts(lines: FileLines<'_>, content: &[u8], hunks: &[&Hunk]) -> InlineSearch {
    let edits: Vec<&TextReplacement> = hunks
        .iter()
        .map(|hunk| hunk.inline.as_ref())
        .collect::<Option<_>>()?;
    // Word borders need characters, and other encodings are left to the comparison by lines.
    let text = std::str::from_utf8(content).ok()?;
    let mut found: Vec<InlineMatch<'_>> = Vec::new();
    let mut misses = Vec::new();
    for (index, inline) in edits.into_iter().enumerate() {
        let search = inline.search.as_str();
        if inline.count != PlaceCount::One {
            match find_all(text, lines, index, inline) {
                Ok(mut all) => found.append(&mut all),
                Err(miss) => misses.push((index, miss)),
            }
            continue;
        }
        /// Maximum number of occurrences for a report.
        const SHOWN: usize = 16;
        let hits: Vec<usize> = overlapping_matches(text, search).take(SHOWN).collect();
        match hits.as_slice() {
            [] => return None,
            // These edits are placed by lines, which can shift the indentation and keep the file's line endings.
            [only] if begins_in_indentation(text, *only, search) => return None,
            [only] if begins_in_line_end(text, *only) => return None,
            [only] if leaves_indentation(text, *only, inline) => return None,
            [only] if is_inside_replacement(text, *only, inline) => {
                let line = lines.at_offset(*only);
                let reason = match is_whole_lines(text, *only, search) {
                    true => MissReason::Unproven,
                    false => MissReason::AlreadyApplied,
                };
                misses.push((index, PlaceMiss::new(reason, [line])));
            }
            [only] => {
                let hit = InlineMatch::at(*only, lines, index, inline);
                if in_word(text, *only) || in_word(text, hit.to) {
                    // `add(a)` must not be replaced inside `pad(a)`.
                    misses.push((index, PlaceMiss::new(MissReason::InWord, [hit.first])));
                } else if lines
                    .line(hit.first)
                    .is_some_and(|line| is_outdented(&line, inline))
                {
                    misses.push((index, PlaceMiss::new(MissReason::Outdented, [hit.first])));
                }
                found.push(hit);
            }
            // Other tools take the first of two occurrences and may change the wrong one.
            several => {
                let places: Vec<usize> = several.iter().map(|at| lines.at_offset(*at)).collect();
                return Some(Err(vec![(index, PlaceMiss::new(MissReason::Several, places))]));
            }
        }
    }
    if !misses.is_empty() {
        return Some(Err(misses));
    }
    splice_matches(lines, content, &found)
}

/// Finds every place of a text, as its edit asks for.
fn find_all<'h>(
    text: &str,
    lines: FileLines<'_>,
    index: usize,
    inline: &'h TextReplacement,
) -> Result<Vec<InlineMatch<'h>>, PlaceMiss> {
    /// Maximum number of places. Each costs more than the byte that it may be.
    const MOST: usize = 100_000;
    let places: Vec<usize> = text
        .match_indices(&inline.search)
        .map(|(at, _)| at)
        .take(MOST)
        .collect();
    let is_count = match inline.count {
        PlaceCount::Exactly(count) => !places.is_empty() && places.len() as u64 == count,
        PlaceCount::One | PlaceCount::All => !places.is_empty() && places.len() < MOST,
    };
    if !is_count {
        let starts = places.iter().take(16).map(|at| lines.at_offset(*at));
        return Err(PlaceMiss::new(MissReason::OtherCount, starts.collect::<Vec<_>>()));
    }
    let matches = places
        .into_iter()
        .map(|from| InlineMatch::at(from, lines, index, inline));
    Ok(matches.collect())
}

/// Returns true if the text begins with blanks and the line of the file has more of them before it: the other lines
/// of the replacement would be indented too little.
fn begins_in_indentation(text: &str, at: usize, search: &str) -> bool {
    let before = at.checked_sub(1).and_then(|at| text.as_bytes().get(at));
    search.bytes().next().is_some_and(is_blank) && before.copied().is_some_and(is_blank)
}

/// Returns true if the text begins behind the indentation of a line, and by bytes that indentation would come in front
/// of another line: the replacement does not continue the line, or begins with another one.
fn leaves_indentation(text: &str, at: usize, inline: &TextReplacement) -> bool {
    let above = text.get(..at).unwrap_or_default();
    let before = above.rsplit('\n').next().unwrap_or_default();
    let before = before.trim_start_matches('\u{feff}').as_bytes();
    let first = inline.replace.bytes().next();
    let continues = first.is_some_and(|first| !first.is_ascii_whitespace());
    let ends = inline.search.ends_with('\n');
    // The first line of one side is a later line of the other one: lines were added above it, or removed.
    let moves = |one: &str, other: &str| {
        let first = one.split('\n').next().unwrap_or_default();
        !trim(first.as_bytes()).is_empty() && other.split('\n').skip(1).any(|line| line == first)
    };
    let again = moves(&inline.search, &inline.replace) || moves(&inline.replace, &inline.search);
    !before.is_empty() && trim(before).is_empty() && ((ends && !continues) || again)
}

/// Returns true if the text is one line, and its replacement has a further line with less indentation than the line
/// that the text is in: the author may have left out that indentation everywhere.
fn is_outdented(line: &TextLine<'_>, inline: &TextReplacement) -> bool {
    let search = inline.search.strip_suffix('\n').unwrap_or(&inline.search);
    let mut more = inline.replace.split('\n').skip(1).map(str::as_bytes);
    let indentation = leading_blanks(line.text.strip_prefix(BOM).unwrap_or(line.text));
    !search.contains('\n') && more.any(|line| !trim(line).is_empty() && !line.starts_with(indentation))
}

/// Returns true if the text begins with a line feed and the file has a carriage return before it. By bytes, the
/// carriage return would stay behind.
fn begins_in_line_end(text: &str, at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|at| text.as_bytes().get(at));
    before == Some(&b'\r') && text.as_bytes().get(at) == Some(&b'\n')
}

/// Returns true if a letter or digit is on both sides of the offset. Scripts without case have no blanks between
/// words, so their letters do not count.
fn in_word(text: &str, at: usize) -> bool {
    let of_word = |character: char| {
        character.is_ascii_digit() || character == '_' || character.is_lowercase() || character.is_uppercase()
    };
    let before = text.get(..at).and_then(|text| text.chars().next_back());
    let behind = text.get(at..).and_then(|text| text.chars().next());
    before.is_some_and(of_word) && behind.is_some_and(of_word)
}

/// Returns all occurrences of `needle`, including those that overlap.
pub(crate) fn overlapping_matches<'t>(text: &'t str, needle: &'t str) -> impl Iterator<Item = usize> + 't {
    let mut from = 0;
    std::iter::from_fn(move || {
        let at = from + text.get(from..)?.find(needle)?;
        // One character on, not one match on: `aa` occurs twice in `aaa`.
        let step = text.get(at..)?.chars().next().map_or(1, char::len_utf8);
        from = at + step;
        Some(at)
    })
}

/// Returns true if the replacement contains the text and is already in the file around this occurrence.
fn is_inside_replacement(text: &str, at: usize, inline: &TextReplacement) -> bool {
    let (search, replace) = (inline.search.as_str(), inline.replace.as_str());
    let begins_line = |at: usize| begins_line(text, at);
    replace.len() > search.len()
        && replace.match_indices(search).any(|(inside, _)| {
            let from = at.checked_sub(inside);
            from.and_then(|from| text.get(from..from + replace.len())) == Some(replace)
                // The line end above an empty line is none of the lines that the edit adds.
                && from.is_some_and(|from| !begins_line(at) || begins_line(from))
        })
}

/// Returns true if the text at this offset begins and ends with its lines. Lines that an edit adds next to it may have
/// been there before, as a bracket below a bracket; a longer word at its place was not.
fn is_whole_lines(text: &str, at: usize, search: &str) -> bool {
    let to = at + search.len();
    begins_line(text, at)
        && (begins_line(text, to) || matches!(text.as_bytes().get(to), None | Some(b'\n' | b'\r')))
}

fn begins_line(text: &str, at: usize) -> bool {
    at == 0 || text.as_bytes().get(at - 1) == Some(&b'\n')
}

/// Turns byte ranges into splices of whole lines. Ranges that share a line become one splice.
fn splice_matches(lines: FileLines<'_>, content: &[u8], found: &[InlineMatch<'_>]) -> InlineSearch {
    let mut order: Vec<(usize, &InlineMatch<'_>)> = found.iter().enumerate().collect();
    // Edits come in any order, and texts that overlap can only be seen side by side.
    order.sort_by_key(|(_, hit)| (hit.from, hit.to));
    if let Some([_, (index, hit)]) = order.array_windows().find(|[(_, a), (_, b)]| b.from < a.to) {
        return Some(Err(vec![(
            *index,
            PlaceMiss::new(MissReason::Overlap, [hit.first]),
        )]));
    }
    let splices = order
        .chunk_by(|(_, a), (_, b)| b.first <= a.last)
        .map(|together| splice_group(lines, content, together))
        .collect::<Option<Vec<_>>>()?;
    // The places of one edit follow each other.
    let places = found
        .chunk_by(|a, b| a.index == b.index)
        .filter_map(|places| Some((places.first()?.first, places.len())));
    Some(Ok((places.collect(), splices)))
}

fn splice_group(
    lines: FileLines<'_>,
    content: &[u8],
    together: &[(usize, &InlineMatch<'_>)],
) -> Option<LineSplice> {
    let (start, end) = (together.first()?.1.first, together.last()?.1.last + 1);
    let mut bytes = Vec::new();
    let mut at = lines.offset(start)?;
    for (_, hit) in together {
        bytes.extend_from_slice(content.get(at..hit.from)?);
        bytes.extend_from_slice(&replacement_bytes(lines, hit)?);
        at = hit.to;
    }
    let line_end = lines.offset(end)?;
    bytes.extend_from_slice(content.get(at..line_end)?);
    Some(LineSplice { start, end, bytes })
}

/// Returns the replacement text. A search text without line ends does not show those of the file, so the replacement
/// gets the file's. Returns `None` if the line of the match is missing.
fn replacement_bytes(lines: FileLines<'_>, hit: &InlineMatch<'_>) -> Option<Vec<u8>> {
    let replace = &hit.inline.replace;
    if hit.inline.search.contains('\n') || !replace.contains('\n') {
        return Some(replace.as_bytes().to_vec());
    }
    let here = lines.get(hit.first..hit.first + 1)?;
    let eol = match here.line(0)?.eol {
        LineEnding::Missing => usual_ending(lines, here),
        eol @ (LineEnding::Lf | LineEnding::CrLf) => eol,
    };
    let pieces = replace
        .split('\n')
        .map(|piece| piece.strip_suffix('\r').unwrap_or(piece));
    let pieces: Vec<&[u8]> = pieces.map(str::as_bytes).collect();
    Some(pieces.join(eol.bytes()))
}
