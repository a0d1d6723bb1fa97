//! Fences of an answer: one part as a whole, or a frame around other parts.
//!
//! Owns: what a fence is. Never: walks over the lines inside; `cut` does.

use super::{AnswerWalk, OpenFence, STEPS_PER_LINE};
use crate::Refusal;
use crate::parse::block::{COMMANDS, FenceBlock, NOT_FILES, begins_edit, opens_edit};
use crate::parse::calls::RawCall;
use crate::parse::cursor::{CodeFence, closes_fence, fence_body, split_margin};
use crate::parse::model::FileClaim;
use crate::parse::segment::SegmentKind;
use crate::parse::title::PathTitle;
use crate::parse::{heredoc, json, swap, unified};
use crate::refusal::{ambiguous, malformed};
use crate::text::{TextLine, contains, is_in, shown_name, trim, trim_end};

impl<'a> AnswerWalk<'a> {
    /// Handles a fence line: closes open fences, or opens one. Returns the next line to look at.
    pub(super) fn at_fence(
        &mut self,
        at: usize,
        open: CodeFence<'a>,
        margin: &'a [u8],
    ) -> Result<usize, Refusal> {
        self.close_diff(at);
        let text = split_margin(self.text(at).unwrap_or_default()).1;
        // A closing line also closes all fences inside the one that it matches: their own closing lines are missing.
        let is_closed = |fence: &OpenFence<'_>| closes_fence(&fence.open, text);
        if let Some(depth) = self.fences.iter().rposition(is_closed) {
            self.fences.truncate(depth);
            return Ok(self.behind_fence(at));
        }
        // The fence ends at the latest where its outer fence ends. An outer fence whose end was passed inside another part
        // is no limit any more.
        let mut outer = self.fences.iter().rev().map(|fence| fence.end);
        let outer = outer.find(|end| *end > at).unwrap_or(self.cut.lines.len());
        let margin = self.without_margin(at, &open, margin, outer);
        let end = self.fence_end(at, &open).min(outer);
        self.budget.spend(end.saturating_sub(at) * STEPS_PER_LINE)?;
        if margin.is_empty() {
            let block = self.block(at, end, open);
            if let Some((swap, end)) = swap::find_swap(&block) {
                return Ok(self.push(SegmentKind::Swap(swap), at, end, b""));
            }
            if let Some(kind) = self.fence_kind(&block) {
                self.push(kind, at, end + 1, b"");
                return Ok(match end < self.cut.lines.len() {
                    true => self.behind_fence(end),
                    false => end,
                });
            }
        }
        /// Maximum depth of nested fences. An answer does not need more, and each level costs work.
        const DEPTH: usize = 16;
        if self.fences.len() < DEPTH {
            self.fences.push(OpenFence {
                open,
                at,
                end,
                has_text: false,
            });
        }
        Ok(self.at_unnamed_hunk(at, end, open))
    }

    fn block(&self, at: usize, end: usize, open: CodeFence<'a>) -> FenceBlock<'_, 'a> {
        FenceBlock {
            lines: &self.cut.lines,
            at,
            open,
            end,
            is_tracked: self.cut.is_tracked,
        }
    }

    /// Returns the line to continue with behind a closing fence, which a tag or a mark may follow.
    fn behind_fence(&mut self, at: usize) -> usize {
        let text = self.text(at).unwrap_or_default();
        let tag = text.iter().position(|byte| *byte == b'<').unwrap_or(text.len());
        self.continue_behind(at, tag)
    }

    /// Removes the blanks in front of the lines of a fence, as in an item of a list. Returns the margin that is left.
    fn without_margin(
        &mut self,
        at: usize,
        open: &CodeFence<'_>,
        margin: &'a [u8],
        outer: usize,
    ) -> &'a [u8] {
        if margin.is_empty() || margin.contains(&b'>') {
            return margin;
        }
        let bare = |line: &TextLine<'a>| line.text.strip_prefix(margin).unwrap_or_default();
        let closes = |line: &TextLine<'a>| closes_fence(open, bare(line));
        let below = self.cut.lines.get(at + 1..outer).unwrap_or_default();
        let Some(length) = below.iter().position(closes) else {
            return margin;
        };
        let is_inside = |line: &TextLine<'a>| line.text.starts_with(margin) || trim(line.text).is_empty();
        if !below.iter().take(length).all(is_inside) {
            return margin;
        }
        for line in at..=at + 1 + length {
            let has = self.text(line).is_some_and(|text| text.starts_with(margin));
            self.cut_line(line, if has { margin.len() } else { 0 });
        }
        b""
    }

    /// Returns the kind of a fence that is one part. Returns `None` for a fence that holds other parts.
    fn fence_kind(&self, block: &FenceBlock<'_, 'a>) -> Option<SegmentKind<'a>> {
        let (body, open) = (block.body(), block.open);
        if unified::only_changed_lines(body, open) {
            return None;
        }
        if let Some(refusal) = self.refuse_patch_file(block) {
            return Some(SegmentKind::Broken(refusal));
        }
        if json::is_json(open.info) && json::begins_value(body) {
            let is_edits = json::names_edits(body);
            let title = block.title();
            if let Some(refusal) = title.as_ref().filter(|_| is_edits).and_then(refuse_json_file) {
                return Some(SegmentKind::Broken(refusal));
            }
            if is_edits || title.is_none_or(|title| title.only_mentioned) {
                match json::read_all(body) {
                    Some(values) => {
                        let calls = values.into_iter().map(RawCall::Value);
                        return Some(SegmentKind::Calls(calls.collect()));
                    }
                    None if is_edits => return Some(SegmentKind::Broken(json::broken_edits())),
                    None => {}
                }
            }
        }
        if let Some(script) = heredoc::read_script(open.info, body) {
            return Some(SegmentKind::Script(script));
        }
        kind_of(block)
    }

    /// Begins a diff for a fence that starts with a hunk, or a diff fence with changed lines only: its file is named on
    /// the fence or right above it. Returns the next line to look at.
    fn at_unnamed_hunk(&mut self, at: usize, end: usize, open: CodeFence<'a>) -> usize {
        let block = self.block(at, end, open);
        let only_marked = unified::only_changed_lines(block.body(), open);
        let first = self.text(at + 1).unwrap_or_default();
        let is_headed = unified::is_hunk_header(first) && first.len() > 2;
        if !only_marked && !is_headed {
            return at + 1;
        }
        let title = block.title();
        if title.is_none() {
            if only_marked {
                let message = "changed lines in a diff's block have no file named above them";
                let refusal = malformed(message).hint("write `--- a/path`, `+++ b/path` and `@@` above them");
                return self.push(SegmentKind::Broken(refusal), at + 1, end, b"");
            }
            return at + 1;
        }
        self.open_diff(at + 1, b"", title);
        if only_marked && !unified::is_hunk_header(first) {
            self.skip_hunk(at + 1, b"", b"@@")
        } else {
            at + 1
        }
    }

    /// Returns the refusal of a fence with a patch whose title is the path of a `.patch` or `.diff` file: the author may
    /// mean that the patch is applied, or that the file is created. Returns `None` if the answer has a command that applies
    /// the file.
    fn refuse_patch_file(&self, block: &FenceBlock<'_, '_>) -> Option<Refusal> {
        let first = block.body().iter().find(|line| line.says())?;
        if !begins_edit(first.text) {
            return None;
        }
        let path = block.title().filter(|title| !title.only_mentioned)?.path;
        let patch = path.ends_with(b".patch") || path.ends_with(b".diff");
        // A diff that adds the patch file itself is an ordinary edit.
        let adds_title = block
            .body()
            .iter()
            .any(|line| line.text.starts_with(b"+++ ") && trim_end(line.text).ends_with(&path));
        if !patch || adds_title || self.has_apply_command(&path) {
            return None;
        }
        let path = shown_name(&path);
        let message = format!("the patch below `{path}` could be that file, or the change itself");
        Some(ambiguous(message).hint(
            "give a patch that is a file as a diff that adds it; give the change itself without a file's name",
        ))
    }

    /// Returns true if a line of the answer is a command that applies this patch file.
    fn has_apply_command(&self, path: &[u8]) -> bool {
        const APPLY: [&[u8]; 4] = [b"git apply", b"git am", b"patch -", b"patch <"];
        let is_command = |line: &&TextLine<'_>| APPLY.iter().any(|word| contains(line.text, word));
        let find = || {
            let commands = self.cut.lines.iter().filter(is_command).map(|line| line.text);
            let words = commands.flat_map(|line| line.split(|byte| b" `\"'<>,;:()".contains(byte)));
            words
                .map(|word| word.strip_suffix(b".").unwrap_or(word))
                .collect()
        };
        self.applied_files.get_or_init(find).contains(path)
    }

    /// Returns the line that closes a fence, or the end of the answer.
    fn fence_end(&mut self, at: usize, open: &CodeFence<'_>) -> usize {
        let key = (open.mark, open.count);
        if let Some(end) = self.ends.get(&key).filter(|end| **end > at) {
            return *end;
        }
        let end = at + 1 + fence_body(&self.cut.lines, at + 1, open).len();
        self.ends.insert(key, end);
        end
    }
}

/// Returns the kind of a fence that holds no edit of another dialect. Returns `None` for a fence with edits in it.
fn kind_of<'a>(block: &FenceBlock<'_, 'a>) -> Option<SegmentKind<'a>> {
    let kind = block.language();
    let opens_edits = || block.body().iter().any(opens_edit);
    let title = block.title().filter(|_| !is_in(NOT_FILES, kind));
    if let Some(title) = title.filter(|title| !(title.only_mentioned && is_in(COMMANDS, kind))) {
        if title.only_mentioned && opens_edits() {
            return None;
        }
        if !title.only_mentioned {
            match block.is_owned_by(&title) {
                Ok(true) => {}
                Ok(false) => return None,
                Err(refusal) => return Some(SegmentKind::Broken(refusal)),
            }
        }
        let flaw = block.find_flaw(&title);
        let claim = match block.is_said_complete() {
            true => FileClaim::Complete,
            false => FileClaim::Title,
        };
        return Some(SegmentKind::File { title, claim, flaw });
    }
    if opens_edits() {
        return None;
    }
    Some(match block.comment() {
        Some(title) => SegmentKind::Commented { title },
        None => SegmentKind::Quotation {
            name: block.name_above(),
            has_end: block.end < block.lines.len(),
        },
    })
}

/// Returns the refusal of JSON with edits below the path of a JSON file: it could be that file, or the edits could be
/// meant. Returns `None` for another title.
fn refuse_json_file(title: &PathTitle) -> Option<Refusal> {
    const KINDS: [&[u8]; 5] = [b".json", b".jsonl", b".jsonc", b".json5", b".ipynb"];
    if title.only_mentioned || !KINDS.iter().any(|kind| title.path.ends_with(kind)) {
        return None;
    }
    let path = shown_name(&title.path);
    let message = format!("the JSON below `{path}` could be that file, or edits to apply");
    let hint = "give such a file as a diff that adds it; give edits without a file's name above them";
    Some(ambiguous(message).hint(hint))
}
