//! Cuts an answer into its parts, once, from the top down.
//!
//! An answer can contain a text that only shows an edit, such as a README with an example diff. Such lines belong to the file
//! and must not be read as an edit.
//!
//! Owns: the first and the last line of each part. Never: reads an edit.
//!
//! The first line of a part decides: all lines of the part belong to it, and the walk continues below it, so a part never
//! contains another part. The exception is a code fence: unless the fence is itself a part, the walk enters it. A *margin* is
//! the blanks and `>` marks at the start of a line, as in quoted mail. Lines that no reader can read become a part, too, and
//! are refused only when the part is read: a mark further down may still show that all of it was reasoning.

mod fence;

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::slice::SliceIndex;

use super::block::{begins_diff, message_end};
use super::calls::{RawCall, marks};
use super::cursor::{CodeFence, LineCursor, answer_lines, parse_fence, split_margin};
use super::json::JsonRead;
use super::reasoning::{MarkKind, PairMark, ReasoningMark};
use super::segment::{DiffFrame, Segment, SegmentKind};
use super::title::{IsTracked, PathTitle};
use super::{blocks, envelope, hunk, json, reasoning, unified};
use crate::Refusal;
use crate::context::WorkBudget;
use crate::refusal::{ambiguous, malformed};
use crate::text::{TextLine, excerpt, trim};

/// Answer in parts.
pub(super) struct Cut<'a> {
    pub lines: Vec<TextLine<'a>>,
    /// Parts in the order of the answer. Lines between them are prose.
    pub segments: Vec<Segment<'a>>,
    /// Marks of unknown names in the prose.
    pub pair_marks: Vec<PairMark>,
    pub is_tracked: IsTracked<'a>,
}

impl<'a> Cut<'a> {
    /// Returns the lines outside of the parts of these kinds.
    pub(super) fn lines_outside(
        &self,
        of_kind: impl Fn(&SegmentKind<'_>) -> bool,
    ) -> impl Iterator<Item = &TextLine<'a>> {
        let parts = self.segments.iter().filter(move |segment| of_kind(&segment.kind));
        let end = self.lines.len()..self.lines.len();
        let mut at = 0;
        parts
            .map(|segment| segment.lines.clone())
            .chain([end])
            .flat_map(move |part| {
                let gap = at..part.start.max(at);
                at = part.end.max(at);
                self.lines.get(gap).unwrap_or_default()
            })
    }

    /// Returns true if a line is in reasoning.
    pub(super) fn is_reasoning(&self, line: usize) -> bool {
        let is_draft = |part: &Segment<'_>| matches!(part.kind, SegmentKind::Reasoning);
        let mut drafts = self.segments.iter().filter(|part| is_draft(part));
        drafts.any(|part| part.lines.contains(&line))
    }

    /// Returns true if the answer is calls or JSON, and nothing else but fences and blanks.
    pub(super) fn has_only_calls(&self) -> bool {
        let is_call = |segment: &Segment<'_>| matches!(segment.kind, SegmentKind::Calls(_));
        let mut outside = self.lines_outside(|_| true);
        self.segments.iter().all(is_call)
            && outside.all(|line| !line.says() || parse_fence(line.text).is_some())
    }
}

/// Cuts an answer into its parts.
///
/// # Errors
/// Fails if the work exceeds the budget.
pub(super) fn cut_answer<'a>(text: &'a [u8], is_tracked: IsTracked<'a>) -> Result<Cut<'a>, Refusal> {
    let lines = answer_lines(text);
    let last_diff = (0..lines.len()).rfind(|at| begins_diff(&lines, *at)).unwrap_or(0);
    let mut walk = AnswerWalk {
        cut: Cut {
            lines,
            segments: Vec::new(),
            pair_marks: Vec::new(),
            is_tracked,
        },
        budget: WorkBudget::for_bytes(text.len()),
        fences: Vec::new(),
        ends: HashMap::new(),
        last_diff,
        diff: None,
        is_unfinished: false,
        marks: marks::MarkState::default(),
        drafts: 0,
        applied_files: OnceCell::new(),
    };
    walk.read_string();
    let mut at = walk.cut.segments.last().map_or(0, |segment| segment.lines.end);
    while at < walk.cut.lines.len() {
        at = walk.step_over(at)?;
    }
    walk.close_diff(at);
    Ok(walk.cut)
}

/// Budget for each line of a fence. It is more than one step, because several readers look at the line.
const STEPS_PER_LINE: usize = 16;

/// Fence that the walk is in.
struct OpenFence<'a> {
    open: CodeFence<'a>,
    /// Line of its opening.
    at: usize,
    /// Line at which it ends.
    end: usize,
    /// True if it has text that belongs to no part.
    has_text: bool,
}

/// Diff that the walk is in.
struct OpenDiff<'a> {
    from: usize,
    margin: &'a [u8],
    frame: DiffFrame<'a>,
}

struct AnswerWalk<'a> {
    /// Answer as far as it is cut.
    cut: Cut<'a>,
    budget: WorkBudget,
    /// Fences that are open at the current line, outermost first.
    fences: Vec<OpenFence<'a>>,
    /// Next closing line for fences of this mark and count. Without this cache, each of many nested fences would search
    /// all lines below it.
    ends: HashMap<(u8, usize), usize>,
    /// Line at which the last diff without a margin begins. 0 if there is none.
    last_diff: usize,
    diff: Option<OpenDiff<'a>>,
    /// True below JSON that has no end.
    is_unfinished: bool,
    marks: marks::MarkState,
    /// Number of parts that are above a closing mark of reasoning.
    drafts: usize,
    /// Words of the commands that apply a patch. Searched for once, when a fence first needs them.
    applied_files: OnceCell<HashSet<&'a [u8]>>,
}

impl<'a> AnswerWalk<'a> {
    fn text(&self, at: usize) -> Option<&'a [u8]> {
        self.cut.lines.get(at).map(|line| line.text)
    }

    /// Returns these bytes of a line. Empty if the line has fewer.
    fn part_of(&self, at: usize, bytes: impl SliceIndex<[u8], Output = [u8]>) -> &'a [u8] {
        let line = self.text(at).unwrap_or_default();
        line.get(bytes).unwrap_or_default()
    }

    /// Adds a part. Returns the line after it.
    fn push(&mut self, kind: SegmentKind<'a>, from: usize, to: usize, margin: &'a [u8]) -> usize {
        self.close_diff(from);
        self.add(kind, from, to, margin)
    }

    fn add(&mut self, kind: SegmentKind<'a>, from: usize, to: usize, margin: &'a [u8]) -> usize {
        let to = to.min(self.cut.lines.len());
        // A part that is first in its fence is introduced by the sentence above the fence.
        let fence = self.fences.last().filter(|fence| !fence.has_text);
        let head = fence.map(|fence| fence.at);
        self.cut.segments.push(Segment {
            kind,
            lines: from..to,
            head: head.unwrap_or(from).min(from),
            margin,
            in_fence: !self.fences.is_empty(),
        });
        if let Some(fence) = self.fences.last_mut() {
            fence.has_text = true;
        }
        to.max(from + 1)
    }

    /// Adds a part that cannot be read, of one line. Returns the line after it.
    fn push_broken(&mut self, refusal: Refusal, at: usize) -> usize {
        self.push(SegmentKind::Broken(refusal), at, at + 1, b"")
    }

    fn open_diff(&mut self, from: usize, margin: &'a [u8], title: Option<PathTitle>) {
        // A quotation ends where its margin does.
        if self.diff.as_ref().is_some_and(|diff| diff.margin != margin) {
            self.close_diff(from);
        }
        if self.diff.is_none() {
            let fence = self.fences.last();
            let in_other_text =
                fence.is_some_and(|fence| fence.has_text && !unified::holds_diffs(fence.open.info));
            self.diff = Some(OpenDiff {
                from,
                margin,
                frame: DiffFrame {
                    fence: fence.map(|fence| fence.open),
                    title,
                    in_other_text,
                },
            });
        }
    }

    fn close_diff(&mut self, to: usize) {
        if let Some(OpenDiff { from, margin, frame }) = self.diff.take() {
            self.add(SegmentKind::Diff(frame), from, to, margin);
        }
    }

    /// Handles the part that begins at `at`. Returns the line after it.
    fn step_over(&mut self, at: usize) -> Result<usize, Refusal> {
        let Some(line) = self.text(at) else {
            return Ok(at + 1);
        };
        // A message belongs to the diff below it, so no message is sought below the last diff.
        if at < self.last_diff
            && let Some(end) = message_end(&self.cut.lines, at)
        {
            let is_mail = line.starts_with(b"From ");
            return Ok(self.push(SegmentKind::Message { is_mail }, at, end, b""));
        }
        if let Some(read) = marks::read_calls(&self.cut.lines, at, &mut self.marks) {
            return self.at_calls(at, read);
        }
        let (margin, text) = split_margin(line);
        if let Some(mark) = parse_fence(text) {
            return self.at_fence(at, mark, margin);
        }
        if let Some(length) = blocks::opening_marks(line) {
            return Ok(self.at_block(at, length));
        }
        // Inside a diff, an envelope with a margin is a context line of that diff.
        if (self.diff.is_none() || margin.is_empty()) && envelope::opens_envelope(text) {
            let (begun, end) = envelope::envelope_end(&self.cut.lines, at, margin);
            return Ok(self.push(SegmentKind::Envelope { begun }, at, end, margin));
        }
        if self.fences.is_empty()
            && (self.diff.is_none() || json::has_key(line))
            && let Some(end) = self.at_json(at, line)
        {
            return Ok(end);
        }
        if let Some(next) = self.at_diff(at, line, margin) {
            return Ok(next);
        }
        if let Some(mark) = reasoning::find_mark(line) {
            return Ok(self.at_mark(at, mark));
        }
        if self.fences.is_empty() {
            self.cut.pair_marks.extend(reasoning::pair_marks(line, at));
        } else if let (Some(fence), None, false) = (self.fences.last_mut(), &self.diff, trim(line).is_empty())
        {
            fence.has_text = true;
        }
        Ok(at + 1)
    }

    fn at_calls(&mut self, at: usize, read: Result<marks::ReadCalls, Refusal>) -> Result<usize, Refusal> {
        let (calls, last, behind) = match read {
            Ok(read) => read,
            Err(refusal) => return Ok(self.push_broken(refusal, at)),
        };
        self.budget.spend(last.saturating_sub(at))?;
        // The rest of the last line is read again.
        let next = self.continue_behind(last, behind);
        self.push(SegmentKind::Calls(calls), at, next, b"");
        Ok(next)
    }

    fn at_block(&mut self, at: usize, length: usize) -> usize {
        let (middle, end) = match blocks::find_clear_borders(&self.cut.lines, at, length) {
            Ok(borders) => borders,
            Err(refusal) => return self.push_broken(refusal, at),
        };
        let creates = middle == at + 1;
        // A single word on a line is a path only if the file exists; a new file needs a clearer name.
        let title = blocks::path_above(&self.cut.lines, at, self.cut.is_tracked);
        let title = title.filter(|title| title.is_certain || !creates);
        // Consecutive blocks edit one file, as long as nothing but fences is between them.
        let title = title.or_else(|| match self.cut.segments.last() {
            Some(Segment {
                kind: SegmentKind::Block { title, .. },
                lines,
                ..
            }) if blocks::only_fences(&self.cut.lines, lines.end, at) => title.clone(),
            Some(_) | None => None,
        });
        let middle = middle - at;
        self.push(SegmentKind::Block { title, middle }, at, end + 1, b"")
    }

    /// Handles an answer that is one JSON string.
    fn read_string(&mut self) {
        let Some(first) = self.cut.lines.iter().position(|line| !trim(line.text).is_empty()) else {
            return;
        };
        if self.text(first).is_some_and(|line| trim(line).starts_with(b"\""))
            && let Some(values) = json::read_all(&self.cut.lines)
        {
            let calls = values.into_iter().map(RawCall::Value).collect();
            self.push(SegmentKind::Calls(calls), first, self.cut.lines.len(), b"");
        }
    }

    /// Handles JSON between prose. Returns `None` if none begins here.
    fn at_json(&mut self, at: usize, line: &'a [u8]) -> Option<usize> {
        let from = line.len() - crate::text::trim_start(line).len();
        if !matches!(line.get(from), Some(b'{' | b'[')) || self.is_unfinished {
            return None;
        }
        // A repair reads all of the answer, so it is tried once.
        let read = json::read_value(&self.cut.lines, at, from, !self.marks.is_repaired);
        self.marks.is_repaired |= json::has_key_near(self.cut.lines.get(at..).unwrap_or_default());
        match read {
            JsonRead::Value(value, end, behind) => {
                let behind = std::str::from_utf8(self.text(end)?.get(behind..)?).ok()?;
                // Some models put commas between their calls.
                let behind = marks::without_marks(behind.trim_matches([' ', ',', ';']));
                behind.trim().is_empty().then(|| {
                    let calls = vec![RawCall::Value(value)];
                    self.push(SegmentKind::Calls(calls), at, end + 1, b"")
                })
            }
            JsonRead::Cut => {
                // Of a list that was cut off, the calls inside are not all that was meant.
                self.is_unfinished = true;
                let rest = self.cut.lines.get(at..).unwrap_or_default();
                let is_call = |segment: &Segment<'_>| matches!(segment.kind, SegmentKind::Calls(_));
                let follows = self.cut.segments.iter().any(is_call);
                let cut = follows || rest.iter().any(|line| json::has_key(line.text));
                cut.then(|| self.push_broken(marks::cut_call(), at))
            }
            JsonRead::Invalid => {
                let broken = json::begins_edits(&self.cut.lines, at);
                broken.then(|| self.push_broken(json::broken_edits(), at))
            }
        }
    }

    /// Handles the header of a diff or of a hunk. Returns `None` for another line.
    fn at_diff(&mut self, at: usize, line: &'a [u8], margin: &'a [u8]) -> Option<usize> {
        let text = line.get(margin.len()..)?;
        let next = self.text(at + 1).and_then(|next| next.strip_prefix(margin));
        // A diff begins. Its first hunk may have no `@@` line; then its lines follow the names directly.
        let is_named = unified::begins_names(text, next);
        if text.starts_with(b"diff --git ") || is_named {
            let old = is_named && text.starts_with(b"--- ");
            self.open_diff(at, margin, None);
            let implicit = old.then(|| self.text(at + 2)?.strip_prefix(margin)).flatten();
            let marked = implicit.is_some_and(|line| matches!(line.first(), Some(b' ' | b'+' | b'-')));
            return Some(if marked {
                self.skip_hunk(at + 2, margin, b"@@")
            } else {
                at + 1 + usize::from(old)
            });
        }
        let mode = self.diff.is_none() && unified::begins_with_mode(line);
        if mode {
            self.open_diff(at, b"", None);
            return Some(at + 1);
        }
        // Any other line is of interest only if it is the header of a hunk, in a diff or directly in a fence.
        let margin = self.diff.as_ref().map_or(b"".as_slice(), |diff| diff.margin);
        let line = line.strip_prefix(margin)?;
        // Outside of both, a header without numbers is read as text. A header with numbers has no file, so it is refused
        // and not lost.
        let is_free = self.diff.is_none() && self.fences.is_empty();
        let has_numbers = hunk::parse_header(line).is_some_and(|(stated, _)| stated.old_count.is_some());
        (unified::is_hunk_header(line) && (!is_free || has_numbers)).then(|| {
            self.open_diff(at, margin, None);
            self.skip_hunk(at + 1, margin, line)
        })
    }

    /// Returns the line after a hunk.
    fn skip_hunk(&mut self, from: usize, margin: &'a [u8], header: &'a [u8]) -> usize {
        let mut cursor = LineCursor::new(&self.cut.lines, margin);
        cursor.at = from;
        let around = hunk::HunkSurroundings {
            in_fence: !self.fences.is_empty(),
            ..hunk::HunkSurroundings::default()
        };
        let (stated, _) = hunk::parse_header(header).unwrap_or_default();
        let (end, _) = cursor.body_extent(stated, around);
        // A line without a mark may have lost it, or begin a search/replace block.
        let begins_block = |at: &usize| {
            let marked = cursor
                .line(*at)
                .is_some_and(|line| matches!(line.first(), None | Some(b' ' | b'+' | b'-' | b'\\')));
            !marked && blocks::block_end(&self.cut.lines, *at).is_some()
        };
        (from..end).find(begins_block).unwrap_or(end).max(from)
    }

    /// Handles a mark of reasoning. Returns the line to continue with: the one behind the mark, whose rest is read again.
    fn at_mark(&mut self, at: usize, mark: ReasoningMark) -> usize {
        let limit = self.fences.last().map_or(self.cut.lines.len(), |fence| fence.end);
        match mark.kind {
            MarkKind::Opens(ends) => {
                let (lines, state) = (&self.cut.lines, &mut self.marks);
                let mut barren = 0;
                let edit_end = |at: usize| match marks::read_calls(lines, at, state) {
                    Some(read) => read.ok().map(|(_, last, behind)| (last, behind)),
                    None => {
                        let end = blocks::block_end(lines, at).map(|end| end + 1);
                        let end = end.or_else(|| envelope::complete_end(lines, at, &mut barren));
                        end.or_else(|| unified::marked_end(lines, at)).map(|end| (end, 0))
                    }
                };
                match reasoning::find_end(lines, (at, mark.place.end), limit, &ends, edit_end) {
                    Some((line, behind)) => {
                        self.push(SegmentKind::Reasoning, at, line, b"");
                        self.cut_line(line, behind);
                        line
                    }
                    None if mark.is_mentioned => at + 1,
                    None if self.fences.is_empty() => {
                        let shown = excerpt(self.part_of(at, mark.place.clone()), 60);
                        let message =
                            format!("the reasoning that `{shown}` begins has no end: the answer was cut off");
                        self.push(SegmentKind::Broken(malformed(message)), at, limit, b"")
                    }
                    None => self.push(SegmentKind::Reasoning, at, limit, b""),
                }
            }
            MarkKind::Closes => {
                self.close_diff(at);
                let before = self.part_of(at, ..mark.place.start);
                let is_word = before.ends_with(b" ") && !trim(before).is_empty();
                let may_edit = self.cut.segments.iter().any(|segment| segment.kind.may_edit());
                if self.fences.is_empty() && !(is_word && may_edit) {
                    // The server removed the opening mark.
                    for segment in self.cut.segments.iter_mut().skip(self.drafts) {
                        segment.kind = SegmentKind::Reasoning;
                    }
                    self.drafts = self.cut.segments.len();
                    self.cut.pair_marks.clear();
                } else if may_edit {
                    let message = "a mark that ends reasoning is below edits, in a fence or a sentence: they may be a draft";
                    self.push_broken(ambiguous(message), at);
                }
                self.cut_line(at, mark.place.end);
                at
            }
            MarkKind::Answer => {
                self.cut_line(at, mark.place.end);
                at
            }
        }
    }

    /// Returns the line to continue with behind a part that ends in this line: the line itself, if it has more text.
    fn continue_behind(&mut self, line: usize, behind: usize) -> usize {
        if trim(self.part_of(line, behind..)).is_empty() {
            return line + 1;
        }
        self.cut_line(line, behind);
        line
    }

    /// Removes the first bytes of a line.
    fn cut_line(&mut self, at: usize, bytes: usize) {
        if let Some(line) = self.cut.lines.get_mut(at) {
            line.text = line.text.get(bytes..).unwrap_or_default();
            line.full = line.full.get(bytes..).unwrap_or_default();
        }
    }
}
