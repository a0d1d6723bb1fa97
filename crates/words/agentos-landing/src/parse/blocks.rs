//! Search/replace blocks: `<<<<<<< SEARCH`, `=======`, `>>>>>>> REPLACE`, inside or outside of a fence, with the path
//! above or on the fence.
//!
//! Owns: the blocks and their files. Never: searches for the text.

use super::cursor::parse_fence;
use super::model::{FileEdit, Hunk, StatedLines};
use super::title::{IsTracked, PathTitle, fence_title, read_title};
use crate::refusal::malformed;
use crate::text::{TextLine, split_run, texts_of, trim, trim_end};
use crate::{Dialect, Refusal};

/// Reads the block that these lines are, with its divider in line `middle`.
///
/// # Errors
/// Fails with `malformed` if nothing names its file.
pub(super) fn read(
    lines: &[TextLine<'_>],
    title: Option<&PathTitle>,
    middle: usize,
) -> Result<FileEdit, Refusal> {
    let Some(title) = title else {
        return Err(malformed("a search/replace block has no path above it")
            .hint("write the file's path alone on the line above the block"));
    };
    let end = lines.len().saturating_sub(1);
    let texts = |from: usize, to: usize| texts_of(lines.get(from..to).unwrap_or_default());
    let (stated, first) = read_line_note(lines, 1, middle);
    let search = texts(first, middle);
    let replace = texts(middle + 1, end);
    // A line of `=` in the file may have been read as the divider, and the real divider be missing. The lines below
    // it are kept as a possible continuation that the file may confirm.
    let divider = lines
        .get(middle)
        .map(|line| line.text)
        .filter(|_| !replace.is_empty());
    let below = divider.into_iter().chain(replace.iter().copied());
    let hunk = Hunk {
        stated,
        continuation: below.map(<[u8]>::to_vec).collect(),
        ..Hunk::of_texts(&search, &replace)
    };
    Ok(FileEdit::of_hunk(Dialect::SearchReplace, &title.path, hunk))
}

/// Returns the last line of the block that begins here. Returns `None` if no complete block does.
pub(super) fn block_end(lines: &[TextLine<'_>], at: usize) -> Option<usize> {
    let length = lines.get(at).and_then(|line| opening_marks(line.text))?;
    find_clear_borders(lines, at, length).ok().map(|(_, end)| end)
}

/// Returns the lines of the divider and of the end.
pub(super) fn find_clear_borders(
    lines: &[TextLine<'_>],
    at: usize,
    length: usize,
) -> Result<(usize, usize), Refusal> {
    find_borders(lines, at, Some(length)).or_else(|strict| {
        // The model may have written marks of different lengths; that is accepted if it leaves one reading.
        find_borders(lines, at, None).map_err(|_| strict)
    })
}

/// Marks in front of the words that begin a block, and of the words that end it.
const OPENING: [(u8, &[u8]); 3] = [(b'<', b" SEARCH"), (b'<', b" ORIGINAL"), (b'-', b" SEARCH")];
const CLOSING: [(u8, &[u8]); 3] = [(b'>', b" REPLACE"), (b'>', b" UPDATED"), (b'+', b" REPLACE")];

/// Counts the marks of an opening line. Returns `None` for any other line.
pub(super) fn opening_marks(text: &[u8]) -> Option<usize> {
    marks_of(&OPENING, text)
}

fn marks_of(table: &[(u8, &[u8])], text: &[u8]) -> Option<usize> {
    let text = trim_end(text);
    table
        .iter()
        .find_map(|(mark, word)| count_marks(text, *mark, word))
}

/// Counts five to nine marks that are followed by this word in any case, maybe with a colon or a note in brackets.
/// Returns `None` otherwise.
fn count_marks(text: &[u8], mark: u8, word: &[u8]) -> Option<usize> {
    let (marks, rest) = split_run(text, |byte| byte == mark);
    let count = marks.len();
    let (said, behind) = rest.split_at_checked(word.len())?;
    let is_note = behind.starts_with(b" (") && behind.ends_with(b")");
    let ends = behind.is_empty() || (!word.is_empty() && (behind == b":" || is_note));
    ((5..=9).contains(&count) && said.eq_ignore_ascii_case(word) && ends).then_some(count)
}

/// Finds the divider and the end, for marks of this length or of any length.
fn find_borders(
    lines: &[TextLine<'_>],
    start: usize,
    length: Option<usize>,
) -> Result<(usize, usize), Refusal> {
    let counts =
        |marks: Option<usize>| marks.is_some_and(|marks| length.is_none_or(|wanted| wanted == marks));
    let mut middle = None;
    for (at, line) in lines.iter().enumerate().skip(start + 1) {
        if counts(count_marks(trim_end(line.text), b'=', b"")) {
            // A file can contain a line of `=`. Which of two is the divider changes both texts, so it is not guessed.
            if middle.is_some() {
                return Err(malformed(
                    "a search/replace block has two dividers: it can be read in two ways",
                ));
            }
            middle = Some(at);
        } else if counts(marks_of(&CLOSING, line.text)) {
            return match middle {
                Some(middle) => Ok((middle, at)),
                None => Err(malformed("a search/replace block has no divider")),
            };
        } else if opening_marks(line.text).is_some() {
            return Err(malformed("a search/replace block begins inside another one"));
        }
    }
    Err(malformed(
        "a search/replace block has no end: the answer may have been cut off",
    ))
}

/// Returns the path on the fence or on the nearest line above with text. Returns `None` if there is none.
pub(super) fn path_above(
    lines: &[TextLine<'_>],
    start: usize,
    is_tracked: IsTracked<'_>,
) -> Option<PathTitle> {
    /// Number of lines above the block that are searched for its path.
    const REACH: usize = 4;
    for line in lines.get(..start)?.iter().rev().take(REACH) {
        // A tool's call has its path in a tag above the tag of the blocks.
        if line.text.iter().all(u8::is_ascii_whitespace) || is_wrapping_tag(line.text) {
            continue;
        }
        if let Some(path) = path_tag(line.text) {
            return Some(PathTitle::certain(path));
        }
        match parse_fence(trim_end(line.text)) {
            // The fence that opens the block itself carries no path, so the line above it is read.
            Some(fence) if fence.info.is_empty() => continue,
            Some(fence) => match fence_title(fence.info, is_tracked) {
                Some(title) => return Some(title),
                None => continue,
            },
            None => return read_title(line.text, is_tracked),
        }
    }
    None
}

fn is_wrapping_tag(line: &[u8]) -> bool {
    const TAGS: [&[u8]; 4] = [b"<diff>", b"<content>", b"<parameter name=\"diff\">", b"<edits>"];
    TAGS.contains(&trim(line))
}

/// Returns the text of `<path>src/a.rs</path>`. Returns `None` for another line.
fn path_tag(line: &[u8]) -> Option<&[u8]> {
    const TAGS: [(&[u8], &[u8]); 3] = [
        (b"<path>", b"</path>"),
        (b"<file_path>", b"</file_path>"),
        (b"<parameter name=\"path\">", b"</parameter>"),
    ];
    TAGS.iter().find_map(|(open, close)| {
        let path = trim(trim(line).strip_prefix(*open)?.strip_suffix(*close)?);
        (!path.is_empty() && !path.contains(&b'<')).then_some(path)
    })
}

pub(super) fn only_fences(lines: &[TextLine<'_>], from: usize, to: usize) -> bool {
    let mut between = lines.get(from..to).unwrap_or_default().iter();
    between.all(|line| line.text.iter().all(u8::is_ascii_whitespace) || parse_fence(line.text).is_some())
}

/// Reads `:start_line:7`, maybe `:end_line:9`, and a rule below, as some agents write above the search text. Returns
/// the stated line and where the search text begins.
fn read_line_note(lines: &[TextLine<'_>], from: usize, to: usize) -> (StatedLines, usize) {
    let mut stated = StatedLines::default();
    for (at, line) in lines.iter().enumerate().take(to).skip(from) {
        let line = trim_end(line.text);
        if let Some(number) = line.strip_prefix(b":start_line:") {
            let number = std::str::from_utf8(trim(number)).ok();
            stated.old_start = number.and_then(|number| number.parse().ok());
        } else if at > from && line == b"-------" {
            return (stated, at + 1);
        } else if !line.starts_with(b":end_line:") {
            break;
        }
    }
    (StatedLines::default(), from)
}
