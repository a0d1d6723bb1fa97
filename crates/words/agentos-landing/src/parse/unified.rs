//! Unified diffs, from git or written by hand, in any state of health, between prose and in fences.
//!
//! Owns: files and their headers. Never: looks at the base; names are resolved later.

use super::cursor::{CodeFence, LineCursor};
use super::extended::{extended_line, read_binary_part, says_something};
use super::hunk;
use super::model::{EditBody, FileEdit, HeaderName, Hunk, HunkLine, LineMark, ParsedAnswer, new_repair};
use super::name::header_name;
use super::segment::DiffFrame;
use crate::refusal::malformed;
use crate::text::{TextLine, is_blank, is_in, strip_start, trim};
use crate::{Dialect, Refusal};

/// Reads the unified diffs in these lines. `at_end` is true if the answer ends with them. Returns the lines, counted from
/// the first of these, at which a file begins below prose.
///
/// # Errors
/// Fails with `malformed` if an edit would be lost, was cut off, or contradicts itself.
pub(super) fn read(
    lines: &[TextLine<'_>],
    (frame, margin): (&DiffFrame<'_>, &[u8]),
    at_end: bool,
    parsed: &mut ParsedAnswer,
) -> Result<Vec<usize>, Refusal> {
    // Example output that shows a diff must not land.
    if frame.in_other_text {
        return Err(malformed("a diff is in the middle of a block of another kind")
            .hint("put the diff alone into its fence"));
    }
    let mut reader = DiffReader {
        cursor: LineCursor::new(lines, margin),
        fence: frame.fence,
        open: None,
        in_header: false,
        ends_in_hunk: false,
        is_below_prose: true,
        starts: Vec::new(),
        files: std::mem::take(&mut parsed.files),
    };
    if let Some(title) = &frame.title {
        *reader.begin_file() = FileEdit::of_path(Dialect::UnifiedDiff, &title.path);
    }
    while !reader.cursor.is_done() {
        reader.read_next()?;
    }
    reader.finish_file()?;
    if at_end {
        reader.check_cut()?;
    }
    // Moved instead of appended: an answer may name 100,000 files, and `append` would hold both lists for a moment.
    parsed.files = reader.files;
    Ok(reader.starts)
}

struct DiffReader<'l, 'a> {
    cursor: LineCursor<'l, 'a>,
    /// Fence around the diffs. `None` outside of fences.
    fence: Option<CodeFence<'a>>,
    /// File that is being read. `None` between files.
    open: Option<FileEdit>,
    /// True while its header is read, before the first hunk.
    in_header: bool,
    /// True if the last hunk reaches the end of the answer.
    ends_in_hunk: bool,
    /// True below a line of prose.
    is_below_prose: bool,
    /// Lines at which files begin below prose.
    starts: Vec<usize>,
    files: Vec<FileEdit>,
}

impl<'a> DiffReader<'_, 'a> {
    /// Reads what begins at the cursor.
    fn read_next(&mut self) -> Result<(), Refusal> {
        let at = self.cursor.at;
        let raw = self.cursor.raw_line(at).unwrap_or_default();
        // A line without the margin of the diff is prose, or would be lost.
        let line = self.cursor.line(at).unwrap_or(raw);
        if self.starts_part(line) {
            return self.read_part();
        }
        if begins_with_mode(line) {
            self.mode_without_git_line(line)?;
        }
        let is_data = line.starts_with(crate::binary::HEADER);
        if self.open.is_some() && (is_data || self.in_header && line.starts_with(b"Binary files ")) {
            return self.read_binary();
        }
        // One of git's header lines between `diff --git` and the first hunk.
        if self.in_header
            && let Some(open) = self.open.as_mut()
            && extended_line(&mut open.extended, line)?
        {
            self.cursor.at += 1;
            return Ok(());
        }
        if self.implicit_hunk(line) {
            return self.hunk_below(b"@@");
        }
        if self.drops_an_edit(line) {
            return Err(malformed("changed lines are below the end of their hunk")
                .hint("keep the mark in front of every line of a hunk"));
        }
        self.is_below_prose |= !trim(line).is_empty();
        self.cursor.at += 1;
        Ok(())
    }

    /// Returns true if the line begins a file or a hunk.
    fn starts_part(&self, line: &[u8]) -> bool {
        line.starts_with(b"diff --git ")
            || (is_hunk_header(line) && (self.open.is_some() || self.fence.is_some() || self.cursor.at == 0))
            || begins_names(line, self.cursor.line(self.cursor.at + 1))
    }

    fn read_part(&mut self) -> Result<(), Refusal> {
        let at = self.cursor.at;
        let line = self.cursor.line(at).unwrap_or_default();
        if let Some(rest) = line.strip_prefix(b"diff --git ") {
            self.finish_file()?;
            let edit = self.begin_file();
            edit.extended.git_line = Some(rest.to_vec());
            self.cursor.at += 1;
            return Ok(());
        }
        if line.starts_with(b"@@") {
            self.cursor.at += 1;
            return self.hunk_below(line);
        }
        self.read_names(line)
    }

    fn read_names(&mut self, line: &'a [u8]) -> Result<(), Refusal> {
        let unreadable = || malformed("a name in a diff header cannot be read");
        let is_unnamed =
            |open: &FileEdit| open.old == HeaderName::Unstated && open.new == HeaderName::Unstated;
        if !self.in_header || !self.open.as_ref().is_some_and(is_unnamed) {
            self.finish_file()?;
            self.begin_file();
        }
        let mut old = HeaderName::Unstated;
        if let Some(rest) = line.strip_prefix(b"--- ") {
            old = header_name(rest).ok_or_else(unreadable)?;
            self.cursor.at += 1;
        }
        let next = self.cursor.line(self.cursor.at).unwrap_or_default();
        let new = next.strip_prefix(b"+++ ").unwrap_or_default();
        let new = header_name(new).ok_or_else(unreadable)?;
        self.cursor.at += 1;
        if let Some(open) = self.open.as_mut() {
            open.old = old;
            open.new = new;
        }
        Ok(())
    }

    fn begin_file(&mut self) -> &mut FileEdit {
        if std::mem::take(&mut self.is_below_prose) {
            self.starts.push(self.cursor.at);
        }
        self.in_header = true;
        self.open.insert(FileEdit::new(Dialect::UnifiedDiff))
    }

    /// Begins a file at a mode line without a `diff --git` line. It belongs to the names that follow.
    fn mode_without_git_line(&mut self, line: &[u8]) -> Result<(), Refusal> {
        if !self.names_read() && self.has_git_line() {
            return Ok(());
        }
        // Two mode lines in a row, or one that needs no names below it: nothing shows which file they belong to.
        if !self.names_read() || line.starts_with(b"old mode ") {
            return Err(malformed("a mode line belongs to no file").hint("keep the `diff --git` lines"));
        }
        self.finish_file()?;
        self.begin_file();
        Ok(())
    }

    /// Returns true if the open file began with a `diff --git` line.
    fn has_git_line(&self) -> bool {
        let open = self.open.as_ref();
        open.is_some_and(|open| open.extended.git_line.is_some())
    }

    /// Returns true if the names of the current header were read. Mode lines are above the names, so a later one
    /// belongs to the next file.
    fn names_read(&self) -> bool {
        let open = self.open.as_ref().filter(|_| self.in_header);
        open.is_none_or(|open| open.new != HeaderName::Unstated)
    }

    /// Returns true for a body that begins right after `+++`, without any `@@`.
    fn implicit_hunk(&self, line: &[u8]) -> bool {
        let is_named = |open: &FileEdit| open.new != HeaderName::Unstated;
        let names_just_read = self.in_header && self.open.as_ref().is_some_and(is_named);
        names_just_read && matches!(line.first(), Some(b' ' | b'+' | b'-'))
    }

    /// Returns true for a changed line below a hunk that has ended: it would be lost. Prose has no such lines, except
    /// lists, rules and signatures.
    fn drops_an_edit(&self, line: &[u8]) -> bool {
        // Where a context line lost its mark, the line that seemed to end the hunk may be one more of them.
        let last = self.open.iter().flat_map(FileEdit::hunks).next_back();
        let loses_marks =
            last.is_some_and(|hunk| hunk.repairs.iter().any(|repair| repair.kind == "missing-mark"));
        let changed = match line {
            // An empty line that comes or goes. Nobody would notice that it is left out, and prose has no such line.
            [b'+' | b'-'] => true,
            [b'+' | b'-', next, ..] => !next.is_ascii_whitespace() || line.len() > 2,
            _ => false,
        };
        let prose = hunk::is_rule(line) || (self.fence.is_none() && !loses_marks && is_list_item(line));
        self.open.is_some() && !self.in_header && changed && !prose
    }

    /// Reads the hunk at the cursor, which is below this header.
    fn hunk_below(&mut self, header: &'a [u8]) -> Result<(), Refusal> {
        let (stated, section) = hunk::parse_header(header).unwrap_or_default();
        let header_cr = self.cursor.at > 0 && self.cursor.ends_in_cr(self.cursor.at - 1);
        let around = hunk::HunkSurroundings {
            in_fence: self.fence.is_some(),
            after_git_line: self.has_git_line(),
            crlf_transport: header_cr,
        };
        let mut hunk = self.cursor.read_body(stated, around);
        hunk.section = (!section.is_empty()).then(|| section.to_vec());
        self.ends_in_hunk = self.cursor.is_done();
        self.in_header = false;
        if hunk.lines.is_empty() {
            return Err(malformed("a hunk has no lines").hint("the answer may have been cut off"));
        }
        match self.open.as_mut().map(|open| &mut open.body) {
            Some(EditBody::Hunks(hunks)) => {
                // Most files have one hunk. The first `push` alone would allocate room for four: 992 bytes for each
                // of the 100,000 files that an answer may name.
                if hunks.is_empty() {
                    hunks.reserve_exact(1);
                }
                hunks.push(hunk);
                Ok(())
            }
            Some(EditBody::Whole(_)) | None => Err(malformed("a hunk has no file name above it")),
        }
    }

    /// Reads the binary content of the open file.
    fn read_binary(&mut self) -> Result<(), Refusal> {
        let part = read_binary_part(&mut self.cursor)?;
        if let Some(open) = self.open.as_mut() {
            // A file has one new content.
            if open.extended.binary.is_some() {
                return Err(malformed("a file has two binary patches"));
            }
            open.extended.binary = Some(part);
        }
        Ok(())
    }

    fn finish_file(&mut self) -> Result<(), Refusal> {
        self.in_header = false;
        let Some(mut edit) = self.open.take() else {
            return Ok(());
        };
        if edit.hunks().is_empty() && !says_something(&edit.extended) {
            // `index` and names alone are no edit; a summary may show them.
            return Err(malformed("a diff header has no hunk").hint("the answer may have been cut off"));
        }
        if edit.extended.git_line.is_none() {
            edit.repairs.reserve_exact(1);
            edit.repairs
                .push(new_repair("no-git-header", "there is no `diff --git` line"));
        }
        self.files.push(edit);
        Ok(())
    }

    /// Refuses an answer that was cut off. Its last hunk is shorter than its header counts or has no counts in an
    /// open fence; or it is shorter, ends in a changed line, and the hunks above have correct counts.
    fn check_cut(&self) -> Result<(), Refusal> {
        let mut hunks = self.files.iter().flat_map(FileEdit::hunks).rev();
        let Some(hunk) = hunks.next() else {
            return Ok(());
        };
        // Half a line of context finds no place; half a changed line would land.
        let is_context = |line: &&HunkLine| line.mark == LineMark::Context;
        let changes = hunk.lines.last().is_some_and(|line| !is_context(&line));
        let unended = self.ends_in_hunk && self.cursor.lacks_final_newline() && changes;
        let counted = |hunk: &Hunk| hunk.repairs.iter().all(|repair| repair.kind != "wrong-count");
        let others: Vec<bool> = hunks.map(counted).collect();
        let breaks_off = self.ends_in_hunk && changes && !others.is_empty() && !others.contains(&false);
        let (old, new) = (hunk.old_lines().count() as u64, hunk.new_lines().count() as u64);
        // Fewer lines than counted. More lines are a wrong count, not a cut.
        let lost = |count: Option<u64>, have: u64| count.map_or(0, |count| count.saturating_sub(have));
        let (old, new) = (lost(hunk.stated.old_count, old), lost(hunk.stated.new_count, new));
        let short = old > 0 || new > 0;
        // Only context is missing, and no change: a change would be missing with context at both of its sides.
        let lead = hunk.lines.iter().take_while(is_context).count();
        let begins_file = hunk.stated.old_start == Some(1);
        let width = if begins_file { 3 } else { 3.min(lead as u64 + 1) };
        let only_context = old == new && old <= width;
        let breaks_off = breaks_off && !only_context;
        let unknown = hunk.stated.old_count.is_none() && self.fence.is_some();
        if unknown || (short && (self.fence.is_some() || unended || breaks_off)) {
            return Err(malformed("the answer ends inside a hunk: it was cut off"));
        }
        Ok(())
    }
}

/// Returns the line after a hunk whose header is here, as far as its lines have marks. Returns `None` if no header is.
pub(super) fn marked_end(lines: &[TextLine<'_>], at: usize) -> Option<usize> {
    lines.get(at).filter(|line| is_hunk_header(line.text))?;
    let is_marked = |line: &&TextLine<'_>| matches!(line.text.first(), Some(b' ' | b'+' | b'-' | b'\\'));
    Some(at + 1 + lines.iter().skip(at + 1).take_while(is_marked).count())
}

/// Returns true if the names of a file begin in the first of two lines. A new file may have no old name.
pub(super) fn begins_names(line: &[u8], next: Option<&[u8]>) -> bool {
    let follows = |mark: &[u8]| next.is_some_and(|next| next.starts_with(mark));
    (line.starts_with(b"--- ") && follows(b"+++ ")) || (line.starts_with(b"+++ ") && follows(b"@@"))
}

/// Returns true for `@@` followed by nothing, a blank or a number. Other text that begins with `@@` is code.
pub(super) fn is_hunk_header(line: &[u8]) -> bool {
    let rest = line
        .strip_prefix(b"@@")
        .map(|rest| rest.strip_prefix(b"@").unwrap_or(rest));
    rest.is_some_and(|rest| match rest {
        [] => true,
        [b'-' | b'+', digit, ..] => digit.is_ascii_digit(),
        [first, ..] => is_blank(*first),
    })
}

/// Returns true if the fence is marked as a diff and holds marked lines without any header.
pub(super) fn only_changed_lines(body: &[TextLine<'_>], open: CodeFence<'_>) -> bool {
    let lines = || body.iter().map(|line| line.text);
    let marked = |line: &[u8]| line.first().is_none_or(|mark| b" +-\\".contains(mark));
    let names = || {
        let mut pairs = lines().zip(lines().skip(1));
        pairs.any(|(old, new)| old.starts_with(b"--- ") && new.starts_with(b"+++ "))
    };
    is_in("diff,patch,udiff", open.info)
        && lines().next().is_some_and(|first| !first.is_empty())
        && lines().all(marked)
        && !names()
        && lines().any(|line| matches!(line.first(), Some(b'+' | b'-')))
}

/// Returns true for kinds of fences in which a diff may follow other text.
pub(super) fn holds_diffs(info: &[u8]) -> bool {
    const KINDS: &str = "diff,patch,udiff,git,text,txt,plaintext";
    let kind = info.split(|byte| *byte == b' ').next().unwrap_or_default();
    kind.is_empty() || is_in(KINDS, kind)
}

/// Returns true for a mode line, which is above the names.
pub(super) fn begins_with_mode(line: &[u8]) -> bool {
    let mode = |rest: &[u8]| trim(rest).len() == 6 && trim(rest).iter().all(u8::is_ascii_digit);
    strip_start("new file mode ;deleted file mode ;old mode ", line).is_some_and(mode)
}

/// Returns true for an item of a list in prose. Lists are written with `-`, and `- * text` is a removed line of a comment.
fn is_list_item(line: &[u8]) -> bool {
    let comment = matches!(line, [_, _, b'*', b' ' | b'/', ..] | [_, _, b'*']);
    line.starts_with(b"-") && hunk::is_bullet(line) && !comment && line.iter().any(u8::is_ascii_alphanumeric)
}
