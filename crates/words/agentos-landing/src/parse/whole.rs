//! Whole files: a fence below a path, or on a fence with a path.
//!
//! Owns: distinguishing a file from an example. Never: looks at the base; whether a title is enough for a file that the base
//! has is decided with both texts (`crate::whole`).
//!
//! | above the block, or on its fence | other edits in the answer | meaning |
//! |---|---|---|
//! | the path alone, a label, or a sentence that does nothing but state the file | no | the file |
//! | a label, or such a sentence | yes | the file |
//! | the path alone | yes | refused: one dialect, please |
//! | the path of a file that is edited | yes | an excerpt of the result: noted |
//! | a sentence with the path | no | refused: the file, or an example |
//! | a sentence with the path | yes | an example: noted, unless the path is new |
//! | a comment with the path in the first line | no | the file, if the base has it and it keeps most lines |

use std::collections::HashSet;

use super::cursor::{CodeFence, closes_fence, parse_fence, split_margin};
use super::cut::Cut;
use super::model::{FileClaim, FileEdit, HeaderName, ParsedAnswer};
use super::name::strip_marks;
use super::remark::says_complete;
use super::segment::SegmentKind;
use super::title::{IsTracked, PathTitle, fence_title, read_title, without_bullet};
use crate::refusal::{ambiguous, malformed};
use crate::text::{TextLine, excerpt, is_page, trim};
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

/// Kinds of fences with commands: below a sentence about a file, they use it.
const COMMANDS: [&[u8]; 6] = [b"bash", b"sh", b"shell", b"zsh", b"powershell", b"console"];

/// Returns the kind of a fence that holds no edit of another dialect. Returns `None` for a fence with edits in it.
pub(super) fn block_kind<'a>(
    lines: &[TextLine<'a>],
    at: usize,
    open: CodeFence<'a>,
    body: &[TextLine<'a>],
    has_end: bool,
    is_tracked: IsTracked<'_>,
) -> Option<SegmentKind<'a>> {
    let kind = fence_language(&open);
    let title = any_path_of(lines, at, &open, is_tracked).filter(|_| !NOT_FILES.contains(&kind));
    let is_command = COMMANDS.contains(&kind);
    if let Some(title) = title.filter(|title| !(title.only_mentioned && is_command)) {
        if title.only_mentioned && body.iter().any(opens_edit) {
            return None;
        }
        if !title.only_mentioned {
            match owns_block(&title, &open, body, is_tracked) {
                Ok(true) => {}
                Ok(false) => return None,
                Err(refusal) => return Some(SegmentKind::Broken(refusal)),
            }
        }
        let flaw = find_flaw(lines, at, &open, body, has_end, &title, is_tracked);
        let claim = match title_says_complete(lines, at, &open, is_tracked) {
            true => FileClaim::Complete,
            false => FileClaim::Title,
        };
        return Some(SegmentKind::File { title, claim, flaw });
    }
    if body.iter().any(opens_edit) {
        return None;
    }
    let comment = body
        .first()
        .and_then(|line| comment_path(line.text, kind, is_tracked));
    Some(match comment {
        Some(title) => SegmentKind::Commented { title },
        None => SegmentKind::Quotation {
            name: line_above(lines, at).and_then(|line| bare_name(line.text, kind)),
            has_end,
        },
    })
}

/// Returns true if an edit of another dialect may begin at this line.
fn opens_edit(line: &TextLine<'_>) -> bool {
    begins_edit(line.text) || super::blocks::opening_marks(line.text).is_some()
}

/// Returns true if the block below a path is that file, whatever it contains: it holds an edit only if it begins with
/// one.
///
/// # Errors
/// Fails if the block may be the file, or the edits in it may be meant.
fn owns_block(
    title: &PathTitle,
    open: &CodeFence<'_>,
    body: &[TextLine<'_>],
    is_tracked: IsTracked<'_>,
) -> Result<bool, Refusal> {
    let mut said = body.iter().filter(|line| !trim(line.text).is_empty());
    // A path may be between the fence and the edit.
    let first = said.next();
    let kind = fence_language(open);
    let named = first.is_some_and(|line| {
        read_title(line.text, is_tracked).is_some_and(|title| title.is_certain)
            || comment_path(line.text, kind, is_tracked).is_some()
    });
    let shows = |at: usize| super::blocks::block_end(body, at).is_some() || super::cut::begins_diff(body, at);
    let second = said.next().filter(|_| named);
    if first.into_iter().chain(second).any(opens_edit) {
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
            shown_path(&title.path)
        );
        return Err(ambiguous(message)
            .hint("use a longer fence around a file that shows edits; put edits alone into their fence"));
    }
    Ok(true)
}

/// Returns the reason why the end of a file's block is uncertain. Returns `None` if the end is certain.
fn find_flaw(
    lines: &[TextLine<'_>],
    at: usize,
    open: &CodeFence<'_>,
    body: &[TextLine<'_>],
    has_end: bool,
    title: &PathTitle,
    is_tracked: IsTracked<'_>,
) -> Option<Refusal> {
    // A longer fence, or one of the other mark, cannot close this block.
    let is_nested = |line: &TextLine<'_>| {
        parse_fence(line.text).is_some_and(|inner| inner.mark == open.mark && inner.count >= open.count)
    };
    let longer = |message: &str| Some(malformed(message).hint("use a longer fence around the file"));
    if body.iter().any(is_nested) {
        return longer("a file's block has another fence in it: where it ends can be read in two ways");
    }
    if !has_end {
        return Some(malformed("a file's block has no end: the answer was cut off"));
    }
    // A bare fence inside a page seems to close its block, and the rest of the page then seems to begin another block.
    let page = [b"markdown".as_slice(), b"md"].contains(&fence_language(open)) || is_page(&title.path);
    let end = at + 1 + body.len();
    let mut below = lines.iter().enumerate().skip(end + 1);
    let next = below.find_map(|(at, line)| {
        let next = parse_fence(line.text).filter(|next| next.mark == open.mark)?;
        Some((at, next))
    });
    // Text directly below the closing line belongs to the file, too.
    let goes_on = lines.get(end + 1).is_some_and(|line| !trim(line.text).is_empty());
    match next {
        Some((at, next))
            if (page || goes_on)
                && next.info.is_empty()
                && any_path_of(lines, at, &next, is_tracked).is_none() =>
        {
            longer("below a file's block a bare fence begins: where the file ends can be read in two ways")
        }
        Some(_) | None => None,
    }
}

/// Reads the files of an answer after its edits in other dialects. Returns the heads of the files that were read.
///
/// # Errors
/// Fails if a block may be an example, or if its end is uncertain.
pub(super) fn read_files<'a>(
    cut: &Cut<'a>,
    is_tracked: IsTracked<'_>,
    parsed: &mut ParsedAnswer<'a>,
) -> Result<Vec<usize>, Refusal> {
    let names = edit_names(parsed);
    let has_edits = !parsed.files.is_empty();
    let is_new = |title: &PathTitle| !is_tracked(&title.path) && is_valid(&title.path);
    let mut read = Vec::new();
    for segment in &cut.segments {
        let lines = cut.lines.get(segment.lines.clone()).unwrap_or_default();
        let before = parsed.files.len();
        match &segment.kind {
            SegmentKind::File { title, .. } if has_edits && names.contains(&title.path) => {
                let path = shown_path(&title.path);
                parsed
                    .notes
                    .push(format!("a block below `{path}` was skipped next to the edits"));
                // A file in marks of an unknown name may still be a draft.
                read.extend((!title.only_mentioned).then_some(segment.head));
            }
            SegmentKind::File { title, claim, flaw } => {
                read_file(lines, title, *claim, flaw.as_ref(), &names, is_new, parsed)?
            }
            SegmentKind::Commented { title } => {
                let is_path = std::str::from_utf8(&title.path).is_ok_and(|path| RepoPath::new(path).is_ok());
                if !has_edits && is_path {
                    let edit = FileEdit::of_whole_file(block_body(lines), &title.path, FileClaim::Comment);
                    parsed.files.push(edit);
                } else if is_path && !names.contains(&title.path) {
                    return Err(may_be_file(&title.path));
                }
            }
            SegmentKind::Quotation { name, has_end } => {
                // The file above may have contained a fence, which closed its block too early.
                if !has_end && !has_edits && !parsed.files.is_empty() {
                    let message = "a fence below a file's block has no end: where the file ends can be read in two ways";
                    return Err(malformed(message).hint("use a longer fence around the file"));
                }
                if let Some(name) = name {
                    let name = shown_path(name);
                    let message =
                        format!("a block below `{name}` could be a new file of that name, or an example");
                    return Err(
                        ambiguous(message).hint("write the name of a new file as `name`, or give a diff")
                    );
                }
                parsed.notes.push("a block without a path was skipped".to_owned());
            }
            SegmentKind::Message { .. }
            | SegmentKind::Reasoning
            | SegmentKind::Calls(_)
            | SegmentKind::Envelope { .. }
            | SegmentKind::Block { .. }
            | SegmentKind::Swap(_)
            | SegmentKind::Diff(_)
            | SegmentKind::Script(_)
            | SegmentKind::Broken(_) => {}
        }
        if parsed.files.len() > before {
            read.push(segment.head);
        }
    }
    Ok(read)
}

/// Reads the block below one title.
fn read_file<'a>(
    lines: &[TextLine<'a>],
    title: &PathTitle,
    claim: FileClaim,
    flaw: Option<&Refusal>,
    names: &HashSet<Vec<u8>>,
    is_new: impl Fn(&PathTitle) -> bool,
    parsed: &mut ParsedAnswer<'a>,
) -> Result<(), Refusal> {
    let path = shown_path(&title.path);
    let has_edits = !names.is_empty();
    if title.only_mentioned && !has_edits {
        // "Look at `a.rs`:" above a block may introduce an excerpt, so the block is not taken for the file.
        let message = format!("a block below a sentence about `{path}` could be that file, or an example");
        return Err(ambiguous(message)
            .hint("write the path alone above each file, and give diffs for parts of files"));
    }
    if title.only_mentioned {
        // A path in a sentence is most often an explanation, so it counts only for a new file.
        if is_new(title) && looks_like_file(&title.path, names) {
            return Err(may_be_file(&title.path));
        }
        parsed
            .notes
            .push(format!("a block below `{path}` was skipped next to the edits"));
        return Ok(());
    }
    // The file is not among the edited ones, so it would be lost.
    if has_edits && !title.is_stated {
        let message = format!("the answer has edits in one dialect and the file `{path}` in another");
        return Err(malformed(message).hint("give all of the change in one dialect"));
    }
    if let Some(flaw) = flaw {
        return Err(flaw.clone());
    }
    parsed
        .files
        .push(FileEdit::of_whole_file(block_body(lines), &title.path, claim));
    Ok(())
}

/// Returns the refusal of a block next to edits that may be a new file: to land the rest would leave it out in silence.
fn may_be_file(path: &[u8]) -> Refusal {
    let path = shown_path(path);
    ambiguous(format!(
        "a block next to `{path}` could be that file, or an example"
    ))
    .at(path)
    .hint("give all of the change in one dialect, each file below its path")
}

/// Returns true if a name from a sentence is a file. Sentences contain names with dots that are not files, as `node.js`: a
/// file has a folder, a common extension, or the extension of a file that the answer edits.
fn looks_like_file(path: &[u8], names: &HashSet<Vec<u8>>) -> bool {
    const COMMON: &str = "toml,json,yaml,yml,md,txt,cfg,ini,sh,lock";
    let ending = |name: &[u8]| {
        name.rsplit(|byte| *byte == b'.')
            .next()
            .unwrap_or_default()
            .to_vec()
    };
    let this = ending(path);
    path.contains(&b'/')
        || names.iter().any(|name| ending(name) == this)
        || COMMON.split(',').any(|common| common.as_bytes() == this)
}

/// Returns the lines between the two fences of a block.
fn block_body<'l, 'a>(lines: &'l [TextLine<'a>]) -> &'l [TextLine<'a>] {
    match lines {
        [open, body @ .., last]
            if parse_fence(open.text).is_some_and(|open| closes_fence(&open, last.text)) =>
        {
            body
        }
        [_, body @ ..] => body,
        [] => &[],
    }
}

fn is_valid(path: &[u8]) -> bool {
    std::str::from_utf8(path).is_ok_and(|path| RepoPath::new(path).is_ok())
}

fn fence_language<'a>(open: &CodeFence<'a>) -> &'a [u8] {
    open.info
        .split(|byte| *byte == b' ' || *byte == b':')
        .next()
        .unwrap_or_default()
}

fn shown_path(path: &[u8]) -> String {
    excerpt(path, 200)
}

/// Returns true for a line that begins an edit of a dialect with marked lines.
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
fn comment_path(line: &[u8], kind: &[u8], is_tracked: IsTracked<'_>) -> Option<PathTitle> {
    let leader = [b"# ".as_slice(), b"// ", b"-- ", b"; ", b"<!-- ", b"/* "]
        .iter()
        .find_map(|leader| line.strip_prefix(*leader))?;
    let path = leader
        .strip_suffix(b"-->")
        .or_else(|| leader.strip_suffix(b"*/"))
        .unwrap_or(leader);
    read_title(path, is_tracked)
        .filter(|title| title.is_certain && !title.only_mentioned && !NOT_FILES.contains(&kind))
}

/// Returns the name of a file that a single word above a block may be, as `VERSION` or `Brewfile`. Returns `None` for a
/// label, a language, and any other line.
fn bare_name(line: &[u8], kind: &[u8]) -> Option<Vec<u8>> {
    let name = strip_marks(without_bullet(line));
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-".contains(byte);
    let is_code = trim(line).starts_with(b"`");
    let is_capital =
        name.len() > 1 && name.iter().any(u8::is_ascii_uppercase) && !name.iter().any(u8::is_ascii_lowercase);
    let is_file = name.len() > 4 && name.ends_with(b"file");
    let is_other = name.eq_ignore_ascii_case(kind) || NOT_FILES.contains(&kind) || COMMANDS.contains(&kind);
    (name.iter().all(is_name) && (is_capital || is_file || is_code) && !is_other).then(|| name.to_vec())
}

/// Returns the nearest line with text right above a block. Returns `None` if there is none.
pub(super) fn line_above<'l, 'a>(lines: &'l [TextLine<'a>], at: usize) -> Option<&'l TextLine<'a>> {
    let mut above = lines.get(..at)?.iter().rev().take(2);
    above.find(|line| !trim(line.text).is_empty())
}

/// Returns the path on a fence of any kind, or above it. Returns `None` if there is none.
pub(super) fn any_path_of(
    lines: &[TextLine<'_>],
    at: usize,
    open: &CodeFence<'_>,
    is_tracked: IsTracked<'_>,
) -> Option<PathTitle> {
    if let Some(title) = fence_title(open.info, is_tracked) {
        return Some(title);
    }
    read_title(line_above(lines, at)?.text, is_tracked).filter(|title| title.is_certain)
}

/// Returns true if the sentence or title above a block, or the line above the title, says that the block is the complete
/// file.
fn title_says_complete(
    lines: &[TextLine<'_>],
    at: usize,
    open: &CodeFence<'_>,
    is_tracked: IsTracked<'_>,
) -> bool {
    let mut about = super::lines_about(lines, at, is_tracked).enumerate();
    // The line above a title must introduce the block.
    let speaks =
        |(index, line): (usize, &[u8])| says_complete(line) && (index == 0 || trim(line).ends_with(b":"));
    about.any(speaks) || says_complete(open.info)
}
