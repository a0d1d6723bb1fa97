//! Finds the owner of each line of an answer: the outermost part that contains the line.
//!
//! An answer can contain a text that shows an edit and is none, such as a README with an example diff. Such lines belong to
//! the file and must not be read as an edit of their own.
//!
//! Owns: where a hunk, a block, an envelope, a titled file, a here-document and a commit message end. Never: reads an
//! edit.
//!
//! The walk goes down the answer once. Where a part begins, all its lines get its owner and the walk continues below it,
//! so nothing can begin inside. A code fence may contain other parts, so the walk enters a fence unless it is a whole
//! file. A *margin* is the blanks and `>` marks at the start of a line, as in quoted mail.

use std::collections::HashMap;

use super::cursor::{CodeFence, LineCursor, closes_fence, fence_body, parse_fence, split_margin};
use super::owner::LineOwner;
use super::{blocks, envelope, hunk, json, tags, unified, whole};
use crate::Refusal;
use crate::budget::WorkBudget;
use crate::refusal::ambiguous;
use crate::text::{TextLine, trim, trim_end};

/// Returns the owner of each line.
///
/// # Errors
/// Fails if a part can be read as a file and as an edit, or if the work exceeds the budget.
pub(super) fn find_owners(
    lines: &[TextLine<'_>],
    budget: &mut WorkBudget,
) -> Result<Vec<LineOwner>, Refusal> {
    let mut walk = OwnerWalk {
        lines,
        budget,
        owners: vec![LineOwner::Free; lines.len()],
        fences: Vec::new(),
        ends: HashMap::new(),
        last_diff: (0..lines.len()).rfind(|at| begins_diff(lines, *at)).unwrap_or(0),
        diff: None,
    };
    let first = lines.iter().find(|line| !trim(line.text).is_empty());
    // The whole answer is JSON, so a text that looks like a diff is inside its strings.
    if first.is_some_and(|line| trim(line.text).starts_with(b"{")) {
        return Ok(walk.owners);
    }
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        at = walk.step_over(at, line.text)?.max(at + 1);
    }
    Ok(walk.owners)
}

/// Replaces the lines of whole files and of messages by empty ones, so that the parsers of other parts do not read them.
/// Returns the lines with their positions.
pub(super) fn hide_lines<'a>(lines: &mut [TextLine<'a>], owners: &[LineOwner]) -> Vec<(usize, TextLine<'a>)> {
    let mut hidden = Vec::new();
    for (at, (line, owner)) in lines.iter_mut().zip(owners).enumerate() {
        match owner {
            LineOwner::File | LineOwner::Message => {
                hidden.push((at, std::mem::replace(line, TextLine::EMPTY)))
            }
            LineOwner::Free | LineOwner::Hunk | LineOwner::Block | LineOwner::Envelope | LineOwner::Call => {}
        }
    }
    hidden
}

/// Puts the lines that [`hide_lines`] replaced back.
pub(super) fn restore_lines<'a>(lines: &mut [TextLine<'a>], hidden: Vec<(usize, TextLine<'a>)>) {
    for (at, line) in hidden {
        if let Some(place) = lines.get_mut(at) {
            *place = line;
        }
    }
}

/// Budget for each line of a fence. It is more than one step, because several parsers read the line.
const STEPS_PER_LINE: usize = 16;

struct OwnerWalk<'l, 'a> {
    lines: &'l [TextLine<'a>],
    budget: &'l mut WorkBudget,
    owners: Vec<LineOwner>,
    /// Fences that are open at the current line, outermost first, and the line at which each ends.
    fences: Vec<(CodeFence<'a>, usize)>,
    /// Next closing line for fences of this mark and count. Without this cache, each of many nested fences would search
    /// all lines below it.
    ends: HashMap<(u8, usize), usize>,
    /// Line at which the last diff without a margin begins. 0 if there is none.
    last_diff: usize,
    /// Margin of the current diff. `None` outside of a diff.
    diff: Option<&'a [u8]>,
}

impl<'a> OwnerWalk<'_, 'a> {
    /// Sets the owner of the part that begins at `at`. Returns the line after it.
    fn step_over(&mut self, at: usize, line: &'a [u8]) -> Result<usize, Refusal> {
        // A message belongs to the diff below it, so below the last diff there is none.
        if at < self.last_diff
            && let Some(end) = message_end(self.lines, at)
        {
            self.set_owner(at, end, LineOwner::Message);
            return Ok(end);
        }
        if let Some(length) = tags::call_length(self.lines, at) {
            self.budget.spend(length)?;
            self.set_owner(at, at + length, LineOwner::Call);
            return Ok(at + length);
        }
        let (margin, text) = split_margin(line);
        if let Some(mark) = parse_fence(text) {
            return self.at_fence(at, mark, margin.is_empty());
        }
        if let Some(end) = blocks::block_end(self.lines, at) {
            self.set_owner(at, end + 1, LineOwner::Block);
            return Ok(end + 1);
        }
        // Inside a diff, an envelope with a margin is a context line of that diff.
        if self.diff.is_none_or(|_| margin.is_empty()) && envelope::opens_envelope(text) {
            let end = self.envelope_end(at, margin);
            self.set_owner(at, end, LineOwner::Envelope);
            self.diff = None;
            return Ok(end);
        }
        if json::begins_edits(self.lines, at) && self.fences.is_empty() {
            // The JSON reader decides where the object ends.
            return Ok(self.lines.len());
        }
        let next = self.raw_line(at + 1).and_then(|next| next.strip_prefix(margin));
        // A diff begins. Its first hunk may have no `@@` line; then its lines follow the names directly.
        let names = text.starts_with(b"--- ") && next.is_some_and(|next| next.starts_with(b"+++ "));
        if text.starts_with(b"diff --git ") || names {
            self.diff = Some(margin);
            let implicit = names
                .then(|| self.raw_line(at + 2)?.strip_prefix(margin))
                .flatten();
            let marked = implicit.is_some_and(|line| matches!(line.first(), Some(b' ' | b'+' | b'-')));
            return Ok(if marked {
                self.own_hunk(at + 2, margin, b"@@")
            } else {
                at + 1 + usize::from(names)
            });
        }
        // Any other line is of interest only if it is the header of a hunk, in a diff or directly in a fence.
        let margin = self.diff.or(self.fences.last().map(|_| b"".as_slice()));
        match margin.and_then(|margin| Some((margin, line.strip_prefix(margin)?))) {
            Some((margin, line)) if unified::is_hunk_header(line) => Ok(self.own_hunk(at + 1, margin, line)),
            Some(_) | None => Ok(at + 1),
        }
    }

    /// Refuses a fence with a patch whose title is the path of a `.patch` or `.diff` file: the author may mean that the
    /// patch is applied, or that the file is created. If the answer has a command that applies the file, it is applied.
    fn refuse_patch_file(
        &mut self,
        at: usize,
        open: &CodeFence<'_>,
        body: &[TextLine<'_>],
    ) -> Result<(), Refusal> {
        let Some(title) = whole::any_path_of(self.lines, at, open).filter(|title| !title.only_mentioned)
        else {
            return Ok(());
        };
        let path = title.path;
        let patch = path.ends_with(b".patch") || path.ends_with(b".diff");
        let first = body.iter().find(|line| !trim(line.text).is_empty());
        let edits = first.is_some_and(|line| whole::begins_edit(line.text));
        // A diff that adds the patch file itself is an ordinary edit.
        let adds_title = body
            .iter()
            .any(|line| line.text.starts_with(b"+++ ") && trim_end(line.text).ends_with(&path));
        if !patch || !edits || adds_title || self.has_apply_command(&path)? {
            return Ok(());
        }
        let path = crate::text::excerpt(&path, 200);
        let message = format!("the patch below `{path}` could be that file, or the change itself");
        Err(ambiguous(message).hint(
            "give a patch that is a file as a diff that adds it; give the change itself without a file's name",
        ))
    }

    /// Refuses JSON with edits below the path of a JSON file: it could be that file, or the edits could be meant.
    fn refuse_json_file(&self, at: usize, open: &CodeFence<'_>) -> Result<(), Refusal> {
        const KINDS: [&[u8]; 5] = [b".json", b".jsonl", b".jsonc", b".json5", b".ipynb"];
        let title = whole::any_path_of(self.lines, at, open).filter(|title| !title.only_mentioned);
        let Some(title) = title.filter(|title| KINDS.iter().any(|kind| title.path.ends_with(kind))) else {
            return Ok(());
        };
        let path = crate::text::excerpt(&title.path, 200);
        let message = format!("the JSON below `{path}` could be that file, or edits to apply");
        Err(ambiguous(message)
            .hint("give such a file as a diff that adds it; give edits without a file's name above them"))
    }

    /// Returns true if a line of the answer is a command that applies this patch file.
    fn has_apply_command(&mut self, path: &[u8]) -> Result<bool, Refusal> {
        const APPLY: [&[u8]; 4] = [b"git apply", b"git am", b"patch -", b"patch <"];
        self.budget
            .spend(self.lines.iter().map(|line| line.text.len()).sum())?;
        let has = |text: &[u8], word: &[u8]| text.windows(word.len()).any(|window| window == word);
        let mut lines = self.lines.iter().map(|line| line.text);
        Ok(lines.any(|text| has(text, path) && APPLY.iter().any(|command| has(text, command))))
    }

    fn raw_line(&self, at: usize) -> Option<&'a [u8]> {
        self.lines.get(at).map(|line| line.text)
    }

    fn set_owner(&mut self, from: usize, to: usize, owner: LineOwner) {
        self.owners
            .get_mut(from..to.min(self.lines.len()))
            .unwrap_or_default()
            .fill(owner);
    }

    /// Handles a fence line: closes open fences, or opens one. `unquoted` is true for a fence without a margin. Returns the
    /// next line to look at.
    fn at_fence(&mut self, at: usize, mark: CodeFence<'a>, unquoted: bool) -> Result<usize, Refusal> {
        self.diff = None;
        let text = split_margin(self.raw_line(at).unwrap_or_default()).1;
        // A closing line also closes all fences inside the one that it matches: their own closing lines are missing.
        if let Some(depth) = self.fences.iter().rposition(|(open, _)| closes_fence(open, text)) {
            self.fences.truncate(depth);
            return Ok(at + 1);
        }
        // The fence ends at the latest where its outer fence ends. An outer fence whose end was passed inside another part
        // is no limit any more.
        let mut outer = self.fences.iter().rev().map(|(_, end)| *end);
        let outer = outer.find(|end| *end > at).unwrap_or(self.lines.len());
        let end = self.fence_end(at, &mark).min(outer);
        self.budget.spend(end.saturating_sub(at) * STEPS_PER_LINE)?;
        let body = self.lines.get(at + 1..end).unwrap_or_default();
        if unquoted {
            self.refuse_patch_file(at, &mark, body)?;
            // JSON edits are left to their own parser, which also refuses broken ones.
            if json::is_edits_block(&mark, body) {
                self.refuse_json_file(at, &mark)?;
                return Ok(end + 1);
            }
            if whole::owns_block(self.lines, at, &mark, body)? {
                self.set_owner(at + 1, end, LineOwner::File);
                return Ok(end + 1);
            }
        }
        /// Maximum depth of nested fences. An answer does not need more, and each level costs work.
        const DEPTH: usize = 16;
        if self.fences.len() < DEPTH {
            self.fences.push((mark, end));
        }
        Ok(at + 1)
    }

    /// Returns the line that closes a fence, or the end of the answer.
    fn fence_end(&mut self, at: usize, open: &CodeFence<'_>) -> usize {
        let key = (open.mark, open.count);
        if let Some(end) = self.ends.get(&key).filter(|end| **end > at) {
            return *end;
        }
        let end = at + 1 + fence_body(self.lines, at + 1, open).len();
        self.ends.insert(key, end);
        end
    }

    /// Sets the owner of the marked lines of a hunk. Returns the line after the hunk.
    fn own_hunk(&mut self, from: usize, margin: &'a [u8], header: &'a [u8]) -> usize {
        let mut cursor = LineCursor::new(self.lines);
        cursor.margin = margin;
        cursor.at = from;
        let around = hunk::HunkSurroundings {
            in_fence: !self.fences.is_empty(),
            after_git_line: false,
            crlf_transport: false,
        };
        let (stated, _) = hunk::parse_header(header).unwrap_or_default();
        hunk::read_body(&mut cursor, stated, around);
        for at in from..cursor.at {
            let marked = cursor
                .line(at)
                .is_some_and(|line| matches!(line.first(), None | Some(b' ' | b'+' | b'-' | b'\\')));
            if !marked {
                // The line may have lost its mark, or begin a search/replace block.
                if blocks::block_end(self.lines, at).is_some() {
                    return at;
                }
                continue;
            }
            self.set_owner(at, at + 1, LineOwner::Hunk);
        }
        cursor.at
    }

    /// Returns the line after an envelope: after its end line, or the first line that cannot be in an envelope.
    fn envelope_end(&self, at: usize, margin: &[u8]) -> usize {
        let belongs = |line: &&TextLine<'_>| {
            let text = line.text.strip_prefix(margin).unwrap_or(line.text);
            matches!(text.first(), None | Some(b' ' | b'+' | b'-'))
                || text.starts_with(b"@@")
                || (text.starts_with(b"*** ") && !envelope::closes_envelope(text))
        };
        let rest = self.lines.get(at + 1..).unwrap_or_default();
        at + 1 + rest.iter().take_while(belongs).count()
    }
}

/// Returns the line at which the diff begins below the head of a mail (`git format-patch`) or of a commit (`git
/// show`). Returns `None` if no such head is at `at`.
fn message_end(lines: &[TextLine<'_>], at: usize) -> Option<usize> {
    let text = |at: usize| lines.get(at).map(|line| line.text);
    let id = |rest: &[u8]| {
        rest.get(..40)
            .is_some_and(|id| id.iter().all(u8::is_ascii_hexdigit))
    };
    let line = text(at)?;
    let next = text(at + 1)?;
    let mail = line.strip_prefix(b"From ").is_some_and(id) && next.starts_with(b"From: ");
    let commit = line.strip_prefix(b"commit ").is_some_and(id)
        && (next.starts_with(b"Author: ") || next.starts_with(b"Merge: "));
    (mail || commit).then(|| (at + 1..lines.len()).find(|at| begins_diff(lines, *at)))?
}

/// Returns true if a diff without a margin begins here.
pub(super) fn begins_diff(lines: &[TextLine<'_>], at: usize) -> bool {
    let starts = |at: usize, mark: &[u8]| lines.get(at).is_some_and(|line| line.text.starts_with(mark));
    starts(at, b"diff --git ") || (starts(at, b"--- ") && starts(at + 1, b"+++ "))
}
