//! Reads the bytes of an answer: cuts them once into parts, and reads each part in the dialect that its form claims.
//!
//! Owns: what is an edit, and what only shows one. Never: decides where an edit belongs.
//!
//! # The rule
//!
//! An answer is prose, fences and edits in an unknown dialect, or in several. The text of an edit can itself contain an
//! edit: a README that documents a diff, a test with a search/replace block. **An edit exists only where its form claims
//! it.** What claims nothing is prose, whatever it looks like.
//!
//! # The claims
//!
//! [`cut`] goes down the answer once and tries these claims at each line, in this order. The first claim that holds takes
//! all lines of its part; the walk continues below them.
//!
//! | order | claim | part | reader |
//! |---|---|---|---|
//! | 1 | the head of a mail or of a commit, above a diff | message: never read | |
//! | 2 | a model's mark of a call, or the tags of an edit tool | calls | [`calls`] |
//! | 3 | a fence: JSON with edits or calls | calls | [`calls`] |
//! | | a fence: a shell script that writes files | script | [`heredoc`] |
//! | | a fence below a path, or with a path on it | file, or example | [`whole`] |
//! | | a fence whose first line is a comment with a path | file, or example | [`whole`] |
//! | | a fence without edits in it | quotation: never read | |
//! | | any other fence | the walk goes into it | |
//! | 4 | `<<<<<<< SEARCH` | block | [`blocks`] |
//! | 5 | `*** Begin Patch`, `*** Update File:` | envelope | [`envelope`] |
//! | 6 | JSON between prose | calls | [`calls`] |
//! | 7 | `diff --git`, `---` and `+++`, `@@` in a diff or a fence | diff, with the prose between its hunks | [`unified`] |
//! | 8 | a mark of reasoning | reasoning: never read | [`reasoning`] |
//! | 9 | nothing | prose | |
//!
//! # The checks of all parts together
//!
//! | two parts | outcome |
//! |---|---|
//! | an edit, and the sentence above it takes it back ([`remark`]) | refused |
//! | edits inside and outside of marks of one unknown name ([`reasoning`]) | refused |
//! | edits behind quote marks, and others | refused |
//! | edits, and a call of another tool | refused |
//! | edits, and a script that writes a file | refused |
//!
//! A text inside a call, as a patch or a diff, is an answer by itself and is cut and read in the same way.

mod block;
mod blocks;
mod calls;
mod cursor;
mod cut;
mod envelope;
mod extended;
mod heredoc;
mod hunk;
mod json;
mod model;
mod name;
mod reasoning;
mod remark;
mod segment;
mod swap;
mod title;
mod unified;
mod whole;

pub(crate) use cursor::{LineCursor, parse_fence};
pub(crate) use extended::read_binary_data;
pub(crate) use hunk::{LineCount, parse_header as hunk_header};
pub use json::{JsonEdit, JsonEdits};
pub(crate) use model::{
    BinaryPart, EditBody, FileClaim, FileEdit, HeaderName, Hunk, HunkLine, LineMark, ParsedAnswer,
    PartNumber, PlaceCount, StatedLines, TextReplacement, new_repair,
};
pub(crate) use name::{bare_name, git_pairs, same_file, without_prefix};

use cut::Cut;
use segment::{Segment, SegmentKind};
pub(crate) use title::IsTracked;
use title::read_title;

use crate::refusal::{ambiguous, malformed};
use crate::text::{TextLine, begins_as, contains, excerpt, line_above, trim};
use crate::{Refusal, RefusalCode, limits};

/// Parses an answer. `is_tracked` returns whether the base has a file of this path: such a line is a title, whatever its
/// characters.
///
/// # Errors
/// Fails with `no-diff` if no edit is found, with `too-large` above a limit, and with another code if an edit cannot
/// be read in exactly one way.
pub(crate) fn parse(answer: &[u8], is_tracked: IsTracked<'_>) -> Result<ParsedAnswer, Refusal> {
    check_size(answer)?;
    let mut parsed = read_parts(answer, is_tracked, 0)?;
    check_parsed(&parsed)?;
    // Each hunk gets the number of its part. Hunks of different parts may edit the same file, and only the order within one
    // part is evidence.
    for (at, edit) in parsed.files.iter_mut().enumerate() {
        if let EditBody::Hunks(hunks) = &mut edit.body {
            hunks.iter_mut().for_each(|hunk| hunk.part = PartNumber(at));
        }
    }
    Ok(parsed)
}

/// Cuts a text and reads its parts. `depth` counts the texts around it.
fn read_parts(text: &[u8], is_tracked: IsTracked<'_>, depth: usize) -> Result<ParsedAnswer, Refusal> {
    let cut = cut::cut_answer(text, is_tracked)?;
    let mut parsed = ParsedAnswer::default();
    let read_text = |text: &[u8]| read_held(text, is_tracked, depth);
    let only_calls = cut.has_only_calls();
    for segment in &cut.segments {
        let lines = cut.lines.get(segment.lines.clone()).unwrap_or_default();
        let at_end = segment.lines.end == cut.lines.len();
        let before = parsed.files.len();
        match &segment.kind {
            SegmentKind::Calls(calls) => calls::read(calls, only_calls, &read_text, &mut parsed)?,
            SegmentKind::Envelope { begun } => {
                envelope::read(lines, segment.margin, *begun, at_end, &mut parsed)?
            }
            SegmentKind::Block { title, middle } => {
                parsed.files.push(blocks::read(lines, title.as_ref(), *middle)?);
            }
            SegmentKind::Swap(swap) => parsed.files.push(swap.read(&cut.lines)),
            SegmentKind::Diff(frame) => {
                let starts = unified::read(lines, (frame, segment.margin), at_end, &mut parsed)?;
                parsed.heads.extend(starts.into_iter().map(|start| match start {
                    0 => segment.head,
                    start => segment.lines.start + start,
                }));
                continue;
            }
            SegmentKind::Broken(refusal) => return Err(refusal.clone()),
            SegmentKind::Message { is_mail } => parsed.mails += usize::from(*is_mail),
            // Nothing in it is read, or it is read after all edits in other dialects.
            _ => {}
        }
        if parsed.files.len() > before {
            parsed.heads.push(segment.head);
        }
    }
    whole::read_files(&cut, &mut parsed)?;
    read_scripts(&cut.segments, &mut parsed)?;
    parsed.heads.sort_unstable();
    check_together(&cut, &mut parsed)?;
    Ok(parsed)
}

/// Reads a text that a call holds.
fn read_held(text: &[u8], is_tracked: IsTracked<'_>, depth: usize) -> Result<Vec<FileEdit>, Refusal> {
    /// Maximum depth of texts in texts. A patch in a shell command in a call has two.
    const DEPTH: usize = 3;
    if depth == DEPTH {
        let message = "a text in a tool call holds texts of tool calls, too deep to be read";
        return Err(malformed(message));
    }
    let parsed = read_parts(text, is_tracked, depth + 1)?;
    if parsed.files.is_empty() {
        let message = "a text in a tool call begins as an edit, and no edit can be read from it";
        return Err(malformed(message));
    }
    Ok(parsed.files)
}

/// Reads the files that shell scripts write.
fn read_scripts(segments: &[Segment<'_>], parsed: &mut ParsedAnswer) -> Result<(), Refusal> {
    let (has_edits, before) = (!parsed.files.is_empty(), parsed.heads.len());
    let mut is_unread = false;
    for segment in segments {
        if let SegmentKind::Script(files) = &segment.kind {
            is_unread |= files.is_empty();
            parsed.files.extend_from_slice(files);
            parsed.heads.push(segment.head);
        }
    }
    if (has_edits && parsed.heads.len() > before) || is_unread {
        // The script may be an explanation, or a part of the change that would be lost.
        let message = match has_edits {
            true => "the answer has edits in one dialect and a shell command that writes a file",
            false => "a shell command writes a file in a way that is not read",
        };
        return Err(malformed(message).hint("give all of the change in one dialect"));
    }
    Ok(())
}

/// Checks the parts that were read, with the sentences and marks around them.
fn check_together(cut: &Cut<'_>, parsed: &mut ParsedAnswer) -> Result<(), Refusal> {
    for (at, head) in parsed.heads.iter().enumerate() {
        for line in lines_about(&cut.lines, *head, cut.is_tracked) {
            if remark::takes_back(line) {
                let line = excerpt(trim(line), 120);
                let message = format!("the sentence `{line}` above an edit says that the edit is not meant");
                return Err(ambiguous(message).hint("leave out examples and earlier attempts"));
            }
            parsed.has_alternatives |= at > 0 && remark::replaces_above(line);
        }
    }
    let mut edits = cut.segments.iter().filter(|segment| segment.kind.may_edit());
    // A mail that is quoted as a whole is forwarded. A quotation next to other text is an example.
    let prose = |line: &TextLine<'_>| line.says() && !trim(line.text).starts_with(b">");
    let is_forwarded = || !cut.lines.iter().any(prose);
    if edits.clone().any(Segment::is_quoted)
        && !edits.all(|edit| edit.is_quoted() && !edit.margin.contains(&b'>'))
        && !is_forwarded()
    {
        let message = "an indented or quoted patch is next to other text: it may be an example";
        return Err(ambiguous(message).hint("give the change without quote marks, and all of it in one form"));
    }
    reasoning::check_pairs(&cut.pair_marks, &parsed.heads)?;
    if !parsed.files.is_empty() {
        check_unread(cut)?;
    }
    match &parsed.other_call {
        Some(name) if !parsed.files.is_empty() => {
            let name = excerpt(name, 120);
            let message =
                format!("the answer calls `{name}` next to calls that edit files: its effect would be lost");
            Err(malformed(message))
        }
        Some(_) | None => Ok(()),
    }
}

/// Refuses a line of prose that begins as an edit or a call: no reader took it, so it would be lost next to the edits.
fn check_unread(cut: &Cut<'_>) -> Result<(), Refusal> {
    const STARTS: &str = "<<<<<<<;>>>>>>>;*** Add File;*** Update File;*** Delete File;*** Begin Patch;<invoke ;<function=;<|tool;<｜tool;\
        <write_to_file;<write_file;<create_file;<delete_file;<edit_file;<str_replace;<execute_command;<move_file;<file path;<edit path;[TOOL_CALLS]";
    const MARKS: &str = "<tool_call>;<|tool_call;<｜tool▁call;[TOOL_CALLS];<|python_tag|>;to=functions.;\
        \"old_str;\"oldText\";\"old_text\"";
    let begins = |line: &&TextLine<'_>| {
        let text = trim(line.text);
        let is_script = text.starts_with(b"cat >") && contains(text, b"<<");
        let is_mark = |mark: &str| text.len() > mark.len() && contains(text, mark.as_bytes());
        let holds = !text.contains(&b'`') && MARKS.split(';').any(is_mark);
        is_script || holds || begins_as(STARTS, text)
    };
    // A call in a quotation is a call all the same.
    let mut unread = cut.lines_outside(|kind| !matches!(kind, SegmentKind::Quotation { .. }));
    match unread.find(begins) {
        Some(line) => {
            let line = excerpt(trim(line.text), 120);
            let message = format!("the line `{line}` begins as an edit or a call, and is not read as one");
            Err(malformed(message).hint("give all of the change in one form"))
        }
        None => Ok(()),
    }
}

/// Returns the sentences that speak of the part whose first line is `head`: the nearest line above it, and if that is a
/// title, the line above the title.
fn lines_about<'l, 'a: 'l>(
    lines: &'l [TextLine<'a>],
    head: usize,
    is_tracked: IsTracked<'l>,
) -> impl Iterator<Item = &'a [u8]> + 'l {
    /// Number of lines that are searched for each sentence.
    const REACH: usize = 3;
    let above = move |at: usize| {
        let at = line_above(lines, at, REACH)?;
        Some((at, lines.get(at)?.text))
    };
    let first = above(head);
    let second = first
        .filter(|(_, line)| read_title(line, is_tracked).is_some())
        .and_then(|(at, _)| above(at));
    [first, second].into_iter().flatten().map(|(_, line)| line)
}

fn too_large(what: &str) -> Result<(), Refusal> {
    Err(Refusal::new(RefusalCode::TooLarge, what))
}

fn check_size(answer: &[u8]) -> Result<(), Refusal> {
    if answer.iter().all(u8::is_ascii_whitespace) {
        return Err(Refusal::new(RefusalCode::Empty, "the answer is empty"));
    }
    if answer.len() > limits::ANSWER_BYTES {
        return too_large("the answer is larger than the limit");
    }
    let lines = || answer.split(|byte| *byte == b'\n');
    if lines().any(|line| line.len() > limits::LINE_BYTES) {
        return too_large("a line of the answer is longer than the limit");
    }
    if lines().count() > limits::LINES {
        return too_large("the answer has more lines than the limit");
    }
    Ok(())
}

fn check_parsed(parsed: &ParsedAnswer) -> Result<(), Refusal> {
    if parsed.files.is_empty() {
        let why = match (&parsed.other_call, parsed.notes.first()) {
            (Some(name), _) => format!(": `{}` is not read as one", excerpt(name, 120)),
            (None, Some(note)) => format!(": {note}"),
            (None, None) => String::new(),
        };
        let message = format!("no edit was found in the answer{why}");
        return Err(Refusal::new(RefusalCode::NoDiff, message)
            .hint("answer with a unified diff, or with search/replace blocks under the file's path"));
    }
    let hunks: usize = parsed.files.iter().map(|file| file.hunks().len()).sum();
    if parsed.files.len() > limits::FILES || hunks > limits::HUNKS {
        return too_large("the answer touches more files or has more hunks than the limit");
    }
    Ok(())
}
