//! Fence with the lines around it: its path, and what says that it is a file.
//!
//! Owns: distinguishing a file from an example by the block alone. Never: knows the other parts of the answer.

use super::blocks;
use super::cursor::{CodeFence, parse_fence, split_margin};
use super::name::strip_marks;
use super::remark::says_complete;
use super::title::{IsTracked, PathTitle, fence_title, read_title, without_bullet};
use crate::Refusal;
use crate::refusal::{ambiguous, malformed};
use crate::text::{TextLine, begins_as, is_in, is_page, line_above, shown_name, trim};

/// Kinds of fences that do not show a file.
pub(super) const NOT_FILES: &str = "diff,patch,console,output,shell-session,terminal";

/// Kinds of fences with commands: below a sentence about a file, they use it.
pub(super) const COMMANDS: &str = "bash,sh,shell,zsh,powershell,console";

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
        let above = || title_above(self.lines, self.at, self.is_tracked);
        fence_title(self.open.info, self.is_tracked).or_else(above)
    }

    /// Returns the language that the fence names.
    pub(super) fn language(&self) -> &'a [u8] {
        let mut words = self.open.info.split(|byte| *byte == b' ' || *byte == b':');
        words.next().unwrap_or_default()
    }

    /// Returns the path in a comment in the first line. Returns `None` if there is none.
    pub(super) fn comment(&self) -> Option<PathTitle> {
        comment_path(self.body().first()?.text, self.language(), self.is_tracked)
    }

    /// Returns the word above the fence that may name a new file. Returns `None` if there is none.
    pub(super) fn name_above(&self) -> Option<Vec<u8>> {
        let above = line_above(self.lines, self.at, ABOVE)?;
        bare_name(self.lines.get(above)?.text, self.language())
    }

    /// Returns true if the block below a path is that file, whatever it contains: it holds an edit only if it begins
    /// with one.
    ///
    /// # Errors
    /// Fails if the block may be the file, or the edits in it may be meant.
    pub(super) fn is_owned_by(&self, title: &PathTitle) -> Result<bool, Refusal> {
        let (body, count) = (self.body(), self.open.count);
        let mut said = body.iter().filter(|line| line.says());
        // A path may be between the fence and the edit.
        let first = said.next();
        let named = first.is_some_and(|line| {
            read_title(line.text, self.is_tracked).is_some_and(|title| title.is_certain)
                || comment_path(line.text, self.language(), self.is_tracked).is_some()
        });
        let shows = |at: usize| blocks::block_end(body, at).is_some() || begins_diff(body, at);
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
            let path = shown_name(&title.path);
            let message = format!("a block below `{path}` could be that file, or edits to apply");
            return Err(ambiguous(message).hint(
                "use a longer fence around a file that shows edits; put edits alone into their fence",
            ));
        }
        Ok(true)
    }

    /// Returns the reason why the end of a file's block is uncertain, and the line that shows it. Returns `None` if the end is
    /// certain.
    pub(super) fn find_flaw(&self, title: &PathTitle) -> Option<(Refusal, usize)> {
        // A longer fence, or one of the other mark, cannot close this block.
        let open = &self.open;
        let is_nested = |line: &TextLine<'_>| {
            parse_fence(line.text).is_some_and(|inner| inner.mark == open.mark && inner.count >= open.count)
        };
        let longer = |message: &str| malformed(message).hint("use a longer fence around the file");
        if self.body().iter().any(is_nested) {
            let message = "a file's block has another fence in it: where it ends can be read in two ways";
            return Some((longer(message), self.at));
        }
        if self.end >= self.lines.len() {
            let message = "a file's block has no end: the answer was cut off";
            return Some((malformed(message), self.at));
        }
        // A bare fence inside a page seems to close its block, and the rest of the page then seems to begin another
        // block.
        let page = is_in("markdown,md", self.language()) || is_page(&title.path);
        // Text directly below the closing line belongs to the file, too.
        let goes_on = self.lines.get(self.end + 1).is_some_and(TextLine::says);
        let mut below = self.lines.iter().enumerate().skip(self.end + 1);
        let (at, open) = below.find_map(|(at, line)| {
            let next = parse_fence(line.text).filter(|next| next.mark == open.mark)?;
            Some((at, next))
        })?;
        let is_untitled = || FenceBlock { at, open, ..*self }.title().is_none();
        let message = "below a file's block a bare fence begins: where the file ends can be read in two ways";
        let is_flawed = (page || goes_on) && open.info.is_empty() && is_untitled();
        is_flawed.then(|| (longer(message), at))
    }

    /// Returns true if the sentence or title above a block, or the line above the title, says that the block is the
    /// complete file.
    pub(super) fn is_said_complete(&self) -> bool {
        let mut about = super::lines_about(self.lines, self.at, self.is_tracked).enumerate();
        // The line above a title must introduce the block.
        let speaks =
            |(index, line): (usize, &[u8])| says_complete(line) && (index == 0 || trim(line).ends_with(b":"));
        about.any(speaks) || says_complete(self.open.info)
    }
}

/// Returns the certain title above a line. Returns `None` if there is none.
pub(super) fn title_above(lines: &[TextLine<'_>], at: usize, is_tracked: IsTracked<'_>) -> Option<PathTitle> {
    let above = lines.get(line_above(lines, at, ABOVE)?)?;
    read_title(above.text, is_tracked).filter(|title| title.is_certain)
}

/// Number of lines above a block that are searched for its title.
const ABOVE: usize = 2;

/// Returns true if an edit of another dialect may begin at this line.
pub(super) fn opens_edit(line: &TextLine<'_>) -> bool {
    begins_edit(line.text) || blocks::opening_marks(line.text).is_some()
}

/// Returns true for a line that begins an edit of a dialect with marked lines.
pub(super) fn begins_edit(line: &[u8]) -> bool {
    let line = split_margin(line).1;
    begins_as("@@;--- ;+++ ;diff --git ;*** ", line)
}

/// Returns true if a diff without a margin begins here.
pub(super) fn begins_diff(lines: &[TextLine<'_>], at: usize) -> bool {
    let starts = |at: usize, mark: &[u8]| lines.get(at).is_some_and(|line| line.text.starts_with(mark));
    starts(at, b"diff --git ") || (starts(at, b"--- ") && starts(at + 1, b"+++ "))
}

/// Returns the line at which the diff begins below the head of a mail (`git format-patch`) or of a commit (`git
/// show`). Returns `None` if no such head is at `at`.
pub(super) fn message_end(lines: &[TextLine<'_>], at: usize) -> Option<usize> {
    let text = |at: usize| lines.get(at).map(|line| line.text);
    let id = |rest: &[u8]| {
        rest.get(..40)
            .is_some_and(|id| id.iter().all(u8::is_ascii_hexdigit))
    };
    let line = text(at)?;
    let next = text(at + 1)?;
    let headers = [b"From: ".as_slice(), b"Subject: ", b"Date: "];
    let mail =
        line.strip_prefix(b"From ").is_some_and(id) && headers.iter().any(|header| next.starts_with(header));
    let commit = line.strip_prefix(b"commit ").is_some_and(id)
        && (next.starts_with(b"Author: ") || next.starts_with(b"Merge: "));
    (mail || commit).then(|| (at + 1..lines.len()).find(|at| begins_diff(lines, *at)))?
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
