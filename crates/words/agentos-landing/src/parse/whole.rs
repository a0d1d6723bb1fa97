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

use super::blocks;
use super::cursor::{CodeFence, closes_fence, parse_fence, split_margin};
use super::cut::Cut;
use super::model::{FileClaim, FileEdit, HeaderName, ParsedAnswer};
use super::name::strip_marks;
use super::remark::says_complete;
use super::segment::SegmentKind;
use super::title::{IsTracked, PathTitle, fence_title, read_title, without_bullet};
use crate::refusal::{ambiguous, malformed};
use crate::text::{TextLine, begins_as, excerpt, is_in, is_page, line_above, trim};
use crate::{Refusal, RepoPath};

/// Kinds of fences that do not show a file.
const NOT_FILES: &str = "diff,patch,console,output,shell-session,terminal";

/// Kinds of fences with commands: below a sentence about a file, they use it.
const COMMANDS: &str = "bash,sh,shell,zsh,powershell,console";

/// Fence with what is around it.
pub(super) struct FenceBlock<'l, 'a> {
    pub lines: &'l [TextLine<'a>],
    /// Line of its opening.
    pub at: usize,
    pub open: CodeFence<'a>,
    /// Line that closes it, or the end of the answer.
    pub end: usize,
    pub is_tracked: IsTracked<'l>,
}

impl<'l, 'a> FenceBlock<'l, 'a> {
    /// Returns the lines inside.
    pub(super) fn body(&self) -> &'l [TextLine<'a>] {
        self.lines.get(self.at + 1..self.end).unwrap_or_default()
    }

    /// Returns the path on the fence or above it. Returns `None` if there is none.
    pub(super) fn title(&self) -> Option<PathTitle> {
        let above = || {
            let above = self.lines.get(line_above(self.lines, self.at, ABOVE)?)?;
            read_title(above.text, self.is_tracked).filter(|title| title.is_certain)
        };
        fence_title(self.open.info, self.is_tracked).or_else(above)
    }

    fn language(&self) -> &'a [u8] {
        let mut words = self.open.info.split(|byte| *byte == b' ' || *byte == b':');
        words.next().unwrap_or_default()
    }

    /// Returns the kind of a fence that holds no edit of another dialect. Returns `None` for a fence with edits in it.
    pub(super) fn kind(&self) -> Option<SegmentKind<'a>> {
        let kind = self.language();
        let opens_edits = || self.body().iter().any(opens_edit);
        let title = self.title().filter(|_| !is_in(NOT_FILES, kind));
        if let Some(title) = title.filter(|title| !(title.only_mentioned && is_in(COMMANDS, kind))) {
            if title.only_mentioned && opens_edits() {
                return None;
            }
            if !title.only_mentioned {
                match self.is_owned_by(&title) {
                    Ok(true) => {}
                    Ok(false) => return None,
                    Err(refusal) => return Some(SegmentKind::Broken(refusal)),
                }
            }
            let flaw = self.find_flaw(&title);
            let claim = match self.is_said_complete() {
                true => FileClaim::Complete,
                false => FileClaim::Title,
            };
            return Some(SegmentKind::File { title, claim, flaw });
        }
        if opens_edits() {
            return None;
        }
        let first = self.body().first();
        let comment = first.and_then(|line| comment_path(line.text, kind, self.is_tracked));
        Some(match comment {
            Some(title) => SegmentKind::Commented { title },
            None => SegmentKind::Quotation {
                name: line_above(self.lines, self.at, ABOVE)
                    .and_then(|above| bare_name(self.lines.get(above)?.text, kind)),
                has_end: self.end < self.lines.len(),
            },
        })
    }

    /// Returns true if the block below a path is that file, whatever it contains: it holds an edit only if it begins
    /// with one.
    ///
    /// # Errors
    /// Fails if the block may be the file, or the edits in it may be meant.
    fn is_owned_by(&self, title: &PathTitle) -> Result<bool, Refusal> {
        let (body, count) = (self.body(), self.open.count);
        let mut said = body.iter().filter(|line| line.says());
        // A path may be between the fence and the edit.
        let first = said.next();
        let named = first.is_some_and(|line| {
            read_title(line.text, self.is_tracked).is_some_and(|title| title.is_certain)
                || comment_path(line.text, self.language(), self.is_tracked).is_some()
        });
        let shows = |at: usize| blocks::block_end(body, at).is_some() || super::cut::begins_diff(body, at);
        let second = said.next().filter(|_| named);
        if first.into_iter().chain(second).any(opens_edit) {
            return Ok(false);
        }
        // Fences inside explain why the outer one is longer: it is a file that shows them.
        let fences = body.iter().any(|line| parse_fence(line.text).is_some());
        if count > 3 && !fences && (0..body.len()).any(shows) {
            // Nothing in it marks the edits as shown, so their own reader decides.
            return Ok(false);
        }
        // A fence longer than three marks states that its content is shown. With three marks, both readings are possible.
        if count == 3 && (0..body.len()).any(shows) {
            let path = shown_path(&title.path);
            let message = format!("a block below `{path}` could be that file, or edits to apply");
            return Err(ambiguous(message).hint(
                "use a longer fence around a file that shows edits; put edits alone into their fence",
            ));
        }
        Ok(true)
    }

    /// Returns the reason why the end of a file's block is uncertain. Returns `None` if the end is certain.
    fn find_flaw(&self, title: &PathTitle) -> Option<Refusal> {
        // A longer fence, or one of the other mark, cannot close this block.
        let open = &self.open;
        let is_nested = |line: &TextLine<'_>| {
            parse_fence(line.text).is_some_and(|inner| inner.mark == open.mark && inner.count >= open.count)
        };
        let longer = |message: &str| Some(malformed(message).hint("use a longer fence around the file"));
        if self.body().iter().any(is_nested) {
            return longer("a file's block has another fence in it: where it ends can be read in two ways");
        }
        if self.end >= self.lines.len() {
            return Some(malformed("a file's block has no end: the answer was cut off"));
        }
        // A bare fence inside a page seems to close its block, and the rest of the page then seems to begin another
        // block.
        let page = is_in("markdown,md", self.language()) || is_page(&title.path);
        // Text directly below the closing line belongs to the file, too.
        let goes_on = self.lines.get(self.end + 1).is_some_and(TextLine::says);
        let mut below = self.lines.iter().enumerate().skip(self.end + 1);
        let (at, next) = below.find_map(|(at, line)| {
            let next = parse_fence(line.text).filter(|next| next.mark == open.mark)?;
            Some((at, next))
        })?;
        let is_untitled = || {
            FenceBlock {
                at,
                open: next,
                ..*self
            }
            .title()
            .is_none()
        };
        if (page || goes_on) && next.info.is_empty() && is_untitled() {
            return longer(
                "below a file's block a bare fence begins: where the file ends can be read in two ways",
            );
        }
        None
    }

    /// Returns true if the sentence or title above a block, or the line above the title, says that the block is the
    /// complete file.
    fn is_said_complete(&self) -> bool {
        let mut about = super::lines_about(self.lines, self.at, self.is_tracked).enumerate();
        // The line above a title must introduce the block.
        let speaks =
            |(index, line): (usize, &[u8])| says_complete(line) && (index == 0 || trim(line).ends_with(b":"));
        about.any(speaks) || says_complete(self.open.info)
    }
}

/// Number of lines above a block that are searched for its title.
const ABOVE: usize = 2;

/// Returns true if an edit of another dialect may begin at this line.
fn opens_edit(line: &TextLine<'_>) -> bool {
    begins_edit(line.text) || blocks::opening_marks(line.text).is_some()
}

/// Reads the files of an answer after its edits in other dialects.
///
/// # Errors
/// Fails if a block may be an example, or if its end is uncertain.
pub(super) fn read_files<'a>(
    cut: &Cut<'a>,
    is_tracked: IsTracked<'_>,
    parsed: &mut ParsedAnswer<'a>,
) -> Result<(), Refusal> {
    let names = edit_names(parsed);
    let has_edits = !parsed.files.is_empty();
    let is_new = |title: &PathTitle| !is_tracked(&title.path) && is_valid(&title.path);
    for segment in &cut.segments {
        let lines = cut.lines.get(segment.lines.clone()).unwrap_or_default();
        let read = match &segment.kind {
            SegmentKind::File { title, claim, flaw } => {
                let is_edited = names.contains(&title.path);
                if title.only_mentioned {
                    check_mentioned(title, is_edited, &names, is_new)?;
                } else if is_edited {
                    // A file in marks of an unknown name may still be a draft.
                    parsed.heads.push(segment.head);
                } else {
                    check_titled(title, flaw.as_ref(), &names)?;
                }
                if title.only_mentioned || is_edited {
                    let path = shown_path(&title.path);
                    let note = format!("a block below `{path}` was skipped next to the edits");
                    parsed.notes.push(note);
                    continue;
                }
                Some((title, *claim))
            }
            SegmentKind::Commented { title } if !has_edits && is_valid(&title.path) => {
                Some((title, FileClaim::Comment))
            }
            SegmentKind::Commented { title } if is_valid(&title.path) && !names.contains(&title.path) => {
                return Err(may_be_file(&title.path));
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
                    let refusal = ambiguous(message);
                    return Err(refusal.hint("write the name of a new file as `name`, or give a diff"));
                }
                parsed.notes.push("a block without a path was skipped".to_owned());
                None
            }
            _ => None,
        };
        if let Some((title, claim)) = read {
            let edit = FileEdit::of_whole_file(block_body(lines), &title.path, claim);
            parsed.files.push(edit);
            parsed.heads.push(segment.head);
        }
    }
    Ok(())
}

/// Refuses a block below a sentence with a path, unless it is certainly no file. `names` are those of the edits.
fn check_mentioned(
    title: &PathTitle,
    is_edited: bool,
    names: &HashSet<Vec<u8>>,
    is_new: impl Fn(&PathTitle) -> bool,
) -> Result<(), Refusal> {
    if names.is_empty() {
        // "Look at `a.rs`:" above a block may introduce an excerpt, so the block is not taken for the file.
        let path = shown_path(&title.path);
        let message = format!("a block below a sentence about `{path}` could be that file, or an example");
        return Err(ambiguous(message)
            .hint("write the path alone above each file, and give diffs for parts of files"));
    }
    // A path in a sentence is most often an explanation, so it counts only for a new file.
    if !is_edited && is_new(title) && looks_like_file(&title.path, names) {
        return Err(may_be_file(&title.path));
    }
    Ok(())
}

/// Refuses a block below a title next to edits, unless it is stated to be the file, and one without a certain end.
fn check_titled(title: &PathTitle, flaw: Option<&Refusal>, names: &HashSet<Vec<u8>>) -> Result<(), Refusal> {
    // The file is not among the edited ones, so it would be lost.
    if !names.is_empty() && !title.is_stated {
        let path = shown_path(&title.path);
        let message = format!("the answer has edits in one dialect and the file `{path}` in another");
        return Err(malformed(message).hint("give all of the change in one dialect"));
    }
    flaw.map_or(Ok(()), |flaw| Err(flaw.clone()))
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
    fn ending(name: &[u8]) -> &[u8] {
        name.rsplit(|byte| *byte == b'.').next().unwrap_or_default()
    }
    let this = ending(path);
    path.contains(&b'/') || names.iter().any(|name| ending(name) == this) || is_in(COMMON, this)
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

fn shown_path(path: &[u8]) -> String {
    excerpt(path, 200)
}

/// Returns true for a line that begins an edit of a dialect with marked lines.
pub(super) fn begins_edit(line: &[u8]) -> bool {
    let line = split_margin(line).1;
    begins_as("@@;--- ;+++ ;diff --git ;*** ", line)
}

/// Returns the names of all edits that were read, with and without their prefixes.
fn edit_names(parsed: &ParsedAnswer<'_>) -> HashSet<Vec<u8>> {
    let mut found = HashSet::new();
    let names = parsed.files.iter().flat_map(|edit| [&edit.old, &edit.new]);
    for name in names.filter_map(HeaderName::written) {
        found.extend([name, super::bare_name(name)].map(<[u8]>::to_vec));
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
        .filter(|title| title.is_certain && !title.only_mentioned && !is_in(NOT_FILES, kind))
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
    let is_other = name.eq_ignore_ascii_case(kind) || is_in(NOT_FILES, kind) || is_in(COMMANDS, kind);
    (name.iter().all(is_name) && (is_capital || is_file || is_code) && !is_other).then(|| name.to_vec())
}
