//! Whole files: a path, and a fence with the new text.
//!
//! Owns: distinguishing a file from an example. Never: runs if the answer has edits in another dialect, since the
//! other blocks are examples then.

use std::collections::HashSet;

use super::cursor::{CodeFence, closes_fence, fence_body, parse_fence, split_margin};
use super::model::{FileEdit, HeaderName, ParsedAnswer, SkippedBlock, SkippedPathPlace};
use super::name::strip_marks;
use super::owner::LineOwner;
use super::owners::begins_diff;
use super::title::{PathTitle, fence_title, read_title, without_bullet};
use crate::refusal::{ambiguous, malformed};
use crate::text::{TextLine, is_page};
use crate::{Refusal, RepoPath};

/// Kinds of fences that do not show a file.
const NOT_FILES: [&[u8]; 6] = [
    b"diff",
    b"patch",
    b"console",
    b"output",
    b"shell-session",
    b"terminal",
];

/// Reads every fence below a path.
///
/// # Errors
/// Fails if a block may be an example, or if its end is uncertain.
pub(crate) fn parse<'a>(lines: &[TextLine<'a>], parsed: &mut ParsedAnswer<'a>) -> Result<(), Refusal> {
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        let (margin, text) = split_margin(line.text);
        let Some(open) = parse_fence(text).filter(|_| margin.is_empty()) else {
            at += 1;
            continue;
        };
        let path = path_of(lines, at, &open);
        let end = fence_end(lines, at + 1, &open, path.is_some())?;
        // The file above may have contained a fence, which closed its block too early.
        if end == lines.len() && !parsed.files.is_empty() {
            let message =
                "a fence below a file's block has no end: where the file ends can be read in two ways";
            return Err(malformed(message).hint("use a longer fence around the file"));
        }
        if let Some(PathTitle {
            path, only_mentioned, ..
        }) = path
        {
            // "Look at `a.rs`:" above a block may introduce an excerpt, so the block is not taken for the file.
            if only_mentioned {
                let message = format!(
                    "a block below a sentence about `{}` could be that file, or an example",
                    shown_path(&path)
                );
                return Err(ambiguous(message).hint("write the path alone above each file"));
            }
            check_end(lines, end + 1, &open, &path)?;
            parsed.files.push(FileEdit::of_whole_file(
                lines.get(at + 1..end).unwrap_or_default(),
                &path,
            ));
        } else {
            let body = lines.get(at + 1..end).unwrap_or_default();
            let comment = body.first().and_then(|line| comment_path(line, &open));
            let is_path = |aside: &SkippedBlock| {
                let path = std::str::from_utf8(&aside.path);
                path.is_ok_and(|path| RepoPath::new(path).is_ok())
            };
            if let Some(named) = comment.filter(is_path) {
                let mut edit = FileEdit::of_whole_file(body, &named.path);
                edit.is_named_inside = true;
                parsed.files.push(edit);
            } else {
                parsed.notes.push("a block without a path was skipped".to_owned());
                parsed.asides.extend(line_path(lines, at));
            }
        }
        at = end + 1;
    }
    Ok(())
}

/// Checks the blocks next to edits of another dialect: a whole file must not be lost, and an example is noted.
/// `taken` marks the lines of the edits.
pub(super) fn check_next_to_edits<'a>(
    lines: &[TextLine<'a>],
    taken: &[bool],
    owners: &[LineOwner],
    parsed: &mut ParsedAnswer<'a>,
) -> Result<(), Refusal> {
    let names = edit_names(parsed);
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        let Some(open) = parse_fence(line.text) else {
            at += 1;
            continue;
        };
        let body = fence_body(lines, at + 1, &open);
        let end = at + 1 + body.len();
        let owned = owners.get(at + 1) == Some(&LineOwner::File);
        let edits = taken.get(at..end).unwrap_or_default().contains(&true)
            || body.iter().any(|line| begins_edit(line.text));
        if let Some(title) = path_of(lines, at, &open).filter(|_| owned || !edits) {
            let path = shown_path(&title.path);
            // The title states that the block is a file, so it is one next to edits of other files, too.
            if title.is_stated && !title.only_mentioned && !names.contains(&title.path) {
                let end = fence_end(lines, at + 1, &open, true)?;
                check_end(lines, end + 1, &open, &title.path)?;
                parsed.files.push(FileEdit::of_whole_file(body, &title.path));
                at = end + 1;
                continue;
            }
            // The file is not among the edited ones, so it would be lost.
            if !title.only_mentioned && !names.contains(&title.path) {
                let message = format!("the answer has edits in one dialect and the file `{path}` in another");
                return Err(malformed(message).hint("give all of the change in one dialect"));
            }
            parsed
                .notes
                .push(format!("a block below `{path}` was skipped next to the edits"));
            if !names.contains(&title.path) {
                parsed.asides.push(SkippedBlock {
                    path: title.path,
                    place: SkippedPathPlace::InSentence,
                });
            }
        } else if let (Some(first), false) = (lines.get(at + 1), edits) {
            let aside = comment_path(first, &open).or_else(|| line_path(lines, at));
            parsed
                .asides
                .extend(aside.filter(|aside| !names.contains(&aside.path)));
        }
        at = end + 1;
    }
    Ok(())
}

fn shown_path(path: &[u8]) -> String {
    crate::text::excerpt(path, 200)
}

pub(super) fn begins_edit(line: &[u8]) -> bool {
    let line = split_margin(line).1;
    [b"@@".as_slice(), b"--- ", b"+++ ", b"diff --git ", b"*** "]
        .iter()
        .any(|start| line.starts_with(start))
}

/// Returns the names of all edits that were read, with and without their prefixes.
fn edit_names(parsed: &ParsedAnswer<'_>) -> HashSet<Vec<u8>> {
    let mut found = HashSet::new();
    for name in parsed.files.iter().flat_map(|edit| [&edit.old, &edit.new]) {
        if let HeaderName::Written(name) = name {
            found.extend(super::without_prefix(name).map(<[u8]>::to_vec));
            found.insert(name.clone());
        }
    }
    found
}

/// Returns the path in the first line of a block, if that is a comment such as `# src/a.py`. Returns `None`
/// otherwise.
fn comment_path(line: &TextLine<'_>, open: &CodeFence<'_>) -> Option<SkippedBlock> {
    // Only the first word of the fence line is the language; the rest may be a path.
    let kind = open.info.split(|byte| *byte == b' ').next().unwrap_or_default();
    let leader = [b"# ".as_slice(), b"// ", b"-- ", b"; ", b"<!-- ", b"/* "]
        .iter()
        .find_map(|leader| line.text.strip_prefix(*leader))?;
    let path = leader
        .strip_suffix(b"-->")
        .or_else(|| leader.strip_suffix(b"*/"))
        .unwrap_or(leader);
    let title = read_title(path)
        .filter(|title| title.is_certain && !title.only_mentioned && !NOT_FILES.contains(&kind))?;
    Some(SkippedBlock {
        path: title.path,
        place: SkippedPathPlace::FirstLine,
    })
}

/// Returns the line above a block, which may be a path although nothing marks it as one. Returns `None` if there is
/// no text.
fn line_path(lines: &[TextLine<'_>], at: usize) -> Option<SkippedBlock> {
    /// Maximum length of a path.
    const LONGEST: usize = 4_096;
    let above = line_above(lines, at)?.text;
    let text = strip_marks(without_bullet(above));
    let path = strip_marks(text.strip_suffix(b":").unwrap_or(text));
    (!path.is_empty() && path.len() <= LONGEST).then(|| SkippedBlock {
        path: path.to_vec(),
        place: SkippedPathPlace::LineAbove,
    })
}

/// Returns the nearest line with text right above a block. Returns `None` if there is none.
fn line_above<'l, 'a>(lines: &'l [TextLine<'a>], at: usize) -> Option<&'l TextLine<'a>> {
    let mut above = lines.get(..at)?.iter().rev().take(2);
    above.find(|line| !line.text.iter().all(u8::is_ascii_whitespace))
}

fn path_of(lines: &[TextLine<'_>], at: usize, open: &CodeFence<'_>) -> Option<PathTitle> {
    let kind = open.info.split(|byte| *byte == b' ').next().unwrap_or_default();
    (!NOT_FILES.contains(&kind)).then(|| any_path_of(lines, at, open))?
}

/// Returns the path on a fence of any kind, or above it. Returns `None` if there is none.
pub(super) fn any_path_of(lines: &[TextLine<'_>], at: usize, open: &CodeFence<'_>) -> Option<PathTitle> {
    if let Some(title) = fence_title(open.info) {
        return Some(title);
    }
    read_title(line_above(lines, at)?.text).filter(|title| title.is_certain)
}

/// Returns true if the block below a path is that file, whatever it contains: it holds an edit only if it begins with
/// one.
///
/// # Errors
/// Fails if the block may be the file, or the edits in it may be meant.
pub(super) fn owns_block(
    lines: &[TextLine<'_>],
    at: usize,
    open: &CodeFence<'_>,
    body: &[TextLine<'_>],
) -> Result<bool, Refusal> {
    let Some(file) = path_of(lines, at, open).filter(|title| !title.only_mentioned) else {
        return Ok(false);
    };
    let opens = |text: &[u8]| begins_edit(text) || super::blocks::opening_marks(text).is_some();
    let mut said = body
        .iter()
        .filter(|line| !line.text.iter().all(u8::is_ascii_whitespace));
    // A path may be between the fence and the edit.
    let first = said.next();
    let named = first.is_some_and(|line| {
        read_title(line.text).is_some_and(|title| title.is_certain) || comment_path(line, open).is_some()
    });
    let shows = |at: usize| super::blocks::block_end(body, at).is_some() || begins_diff(body, at);
    let second = said.next().filter(|_| named);
    if first.into_iter().chain(second).any(|line| opens(line.text)) {
        return Ok(false);
    }
    // Fences inside explain why the outer one is longer: it is a file that shows them.
    let fences = body.iter().any(|line| parse_fence(line.text).is_some());
    if open.count > 3 && !fences && (0..body.len()).any(shows) {
        // Nothing in it marks the edits as shown, so their own reader decides.
        return Ok(false);
    }
    // A fence longer than three marks states that its content is shown. With three marks, both readings are possible.
    if open.count == 3 && (0..body.len()).any(shows) {
        let message = format!(
            "a block below `{}` could be that file, or edits to apply",
            shown_path(&file.path)
        );
        return Err(ambiguous(message)
            .hint("use a longer fence around a file that shows edits; put edits alone into their fence"));
    }
    Ok(true)
}

/// Returns the line of the closing fence.
///
/// # Errors
/// Fails if the block of a file has no end, or if a second opening fence makes its end uncertain.
fn fence_end(
    lines: &[TextLine<'_>],
    from: usize,
    open: &CodeFence<'_>,
    is_file: bool,
) -> Result<usize, Refusal> {
    for (at, line) in lines.iter().enumerate().skip(from) {
        if closes_fence(open, line.text) {
            return Ok(at);
        }
        // A longer fence, or one of the other mark, cannot close this block.
        let nested =
            parse_fence(line.text).is_some_and(|inner| inner.mark == open.mark && inner.count >= open.count);
        if nested && is_file {
            return Err(malformed(
                "a file's block has another fence in it: where it ends can be read in two ways",
            )
            .hint("use a longer fence around the file"));
        }
    }
    if is_file {
        return Err(malformed("a file's block has no end: the answer was cut off"));
    }
    Ok(lines.len())
}

/// Checks the end of a Markdown page. A bare fence inside the page seems to close its block, and the rest of the page
/// then seems to begin another one.
fn check_end(lines: &[TextLine<'_>], from: usize, open: &CodeFence<'_>, path: &[u8]) -> Result<(), Refusal> {
    let kind = open.info.split(|byte| *byte == b' ').next().unwrap_or_default();
    let page = [b"markdown".as_slice(), b"md"].contains(&kind) || is_page(path);
    let next = lines
        .iter()
        .enumerate()
        .skip(from)
        .find_map(|(at, line)| Some((at, parse_fence(line.text).filter(|next| next.mark == open.mark)?)));
    match next {
        Some((at, next)) if page && next.info.is_empty() && path_of(lines, at, &next).is_none() => {
            Err(malformed(
                "below a page's block a bare fence begins: where the page ends can be read in two ways",
            )
            .hint("use a longer fence around the file"))
        }
        Some(_) | None => Ok(()),
    }
}
