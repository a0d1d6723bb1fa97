//! JSON edits: `{"edits":[{"path","search","replace"}]}`, as the whole answer or in a fence.
//!
//! Owns: the shape, whose schema is published. Never: accepts a field that it does not know.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cursor::{CodeFence, closes_fence, fence_body, parse_fence};
use super::model::{EditBody, FileEdit, Hunk, ParsedAnswer, TextReplacement};
use super::owner::LineOwner;
use super::pair::pair_lines;
use crate::refusal::malformed;
use crate::text::{TextLine, empty_lines, join_lines, split_lines};
use crate::{Dialect, Refusal};

/// Edit: a text of the file and its replacement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JsonEdit {
    /// Path of the file.
    pub path: String,
    /// Text that occurs in the file exactly once; empty for a new file.
    pub search: String,
    /// Text that replaces it.
    pub replace: String,
}

/// Answer in JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JsonEdits {
    /// Edits, in any order.
    pub edits: Vec<JsonEdit>,
}

/// Reads the answer if it is JSON as a whole, and every fence that is JSON.
///
/// # Errors
/// Fails with `malformed` if the edits are not valid JSON of this shape.
pub(super) fn parse<'a>(
    all: &mut [TextLine<'a>],
    owners: &[LineOwner],
    parsed: &mut ParsedAnswer<'a>,
) -> Result<(), Refusal> {
    let first = all
        .iter()
        .find(|line| !line.text.iter().all(u8::is_ascii_whitespace));
    if first.is_some_and(|line| crate::text::trim(line.text).starts_with(b"{")) {
        let end = last_bracket(all).map_or(all.len(), |at| at + 1);
        return read_object(all, 0, end, parsed);
    }
    // Models often write a sentence before and after the object.
    if let Some((from, to)) = between_prose(all, owners) {
        return read_object(all, from, to, parsed);
    }
    for part in fenced_json(all, owners) {
        read_object(all, part.from, part.to, parsed)?;
    }
    Ok(())
}

/// Fence that holds JSON.
pub(super) struct JsonFence<'a> {
    /// Opening fence.
    pub open: CodeFence<'a>,
    /// First line inside.
    pub from: usize,
    /// Line of the closing fence.
    pub to: usize,
}

/// Returns the fences that belong to no other part and begin with JSON, also those inside a longer fence.
pub(super) fn fenced_json<'a>(lines: &[TextLine<'a>], owners: &[LineOwner]) -> Vec<JsonFence<'a>> {
    /// Maximum depth of nested fences, as in the walk that finds the owners.
    const DEPTH: usize = 16;
    let mut found = Vec::new();
    let mut around: Vec<CodeFence<'_>> = Vec::new();
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        let free = owners.get(at) == Some(&LineOwner::Free);
        at += 1;
        let Some(open) = parse_fence(line.text).filter(|_| free) else {
            continue;
        };
        // The end of another fence looks like the beginning of a bare one.
        if let Some(depth) = around.iter().rposition(|outer| closes_fence(outer, line.text)) {
            around.truncate(depth);
            continue;
        }
        let rest = lines.get(at..).unwrap_or_default();
        let said = rest
            .iter()
            .find(|line| !line.text.iter().all(u8::is_ascii_whitespace));
        let begins =
            said.is_some_and(|line| matches!(crate::text::trim(line.text).first(), Some(b'{' | b'[')));
        if is_json(open.info) && begins {
            let to = at + fence_body(lines, at, &open).len();
            found.push(JsonFence { open, from: at, to });
            at = to + 1;
        } else if around.len() < DEPTH {
            around.push(open);
        }
    }
    found
}

fn is_json(info: &[u8]) -> bool {
    [b"".as_slice(), b"json", b"jsonc", b"json5"]
        .iter()
        .any(|kind| info.eq_ignore_ascii_case(kind))
}

/// Reads the object that begins here. JSON without `edits` is not ours and stays.
fn read_object<'a>(
    all: &mut [TextLine<'a>],
    from: usize,
    to: usize,
    parsed: &mut ParsedAnswer<'a>,
) -> Result<(), Refusal> {
    let text = join_lines(all.get(from..to).unwrap_or_default());
    // Other JSON in the answer, such as a configuration that is quoted, is not an attempt at edits.
    let found = text.windows(7).any(|window| window == b"\"edits\"");
    if !found {
        return Ok(());
    }
    // Strict JSON first, so that a repair cannot change the strings of valid JSON.
    let read = serde_json::from_slice(&text);
    let answer: JsonEdits = read
        .or_else(|error| serde_json::from_slice(&repair_json(&text)).map_err(|_| error))
        .map_err(|error| {
            let line = error.line();
            malformed(format!(
                "the edits are not valid JSON of the documented shape (line {line})"
            ))
        })?;
    parsed.files.extend(answer.edits.iter().map(replacement_edit));
    empty_lines(all, from..to);
    Ok(())
}

/// Repairs JSON that a model wrote by hand: raw line ends and tabs in strings, and a comma after the last element.
/// Both can be read in one way only.
fn repair_json(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let (mut in_string, mut escaped) = (false, false);
    for byte in text {
        if in_string {
            match byte {
                b'\n' => out.extend_from_slice(b"\\n"),
                b'\r' => out.extend_from_slice(b"\\r"),
                b'\t' => out.extend_from_slice(b"\\t"),
                other => out.push(*other),
            }
            // An escaped quote does not end the string.
            in_string = *byte != b'"' || escaped;
            escaped = *byte == b'\\' && !escaped;
            continue;
        }
        if matches!(byte, b']' | b'}') {
            let end = out.iter().rposition(|byte: &u8| !byte.is_ascii_whitespace());
            if let Some(end) = end.filter(|end| out.get(*end) == Some(&b',')) {
                out.truncate(end);
            }
        }
        out.push(*byte);
        in_string = *byte == b'"';
    }
    out
}

/// Returns true if an object of edits begins here.
pub(super) fn begins_edits(all: &[TextLine<'_>], at: usize) -> bool {
    let rest = |index: usize| {
        all.get(index)
            .map(|line| crate::text::trim(line.text))
            .unwrap_or_default()
    };
    let behind = crate::text::trim(rest(at).strip_prefix(b"{").unwrap_or_default());
    let next = if behind.is_empty() { rest(at + 1) } else { behind };
    rest(at).starts_with(b"{") && next.starts_with(b"\"edits\"")
}

/// Returns true if a block is read as edits, or refused as such.
pub(super) fn is_edits_block(open: &CodeFence<'_>, body: &[TextLine<'_>]) -> bool {
    let mut said = body
        .iter()
        .map(|line| crate::text::trim(line.text))
        .filter(|line| !line.is_empty());
    let named = |line: &TextLine<'_>| line.text.windows(7).any(|window| window == b"\"edits\"");
    is_json(open.info) && said.next().is_some_and(|line| line.starts_with(b"{")) && body.iter().any(named)
}

/// Returns the lines of an object between prose: from the line that begins it to the last one that ends in a bracket.
/// Returns `None` if there is none, or if a fence is above it.
fn between_prose(all: &[TextLine<'_>], owners: &[LineOwner]) -> Option<(usize, usize)> {
    let free = |at: &usize| owners.get(*at) == Some(&LineOwner::Free);
    let from = (0..all.len()).find(|at| free(at) && begins_edits(all, *at))?;
    let to = last_bracket(all)?;
    let fenced = all
        .get(..from)?
        .iter()
        .any(|line| parse_fence(line.text).is_some());
    (from <= to && !fenced).then_some((from, to + 1))
}

/// Returns the last line that ends in a bracket. Models often write a sentence below the object.
fn last_bracket(all: &[TextLine<'_>]) -> Option<usize> {
    all.iter()
        .rposition(|line| crate::text::trim_end(line.text).ends_with(b"}"))
}

/// Returns the part of an answer that replaces one text.
pub(super) fn replacement_edit<'a>(edit: &JsonEdit) -> FileEdit<'a> {
    let texts = |text: &str| -> Vec<Vec<u8>> {
        split_lines(text.as_bytes())
            .iter()
            .map(|line| line.text.to_vec())
            .collect()
    };
    let (search, replace) = (texts(&edit.search), texts(&edit.replace));
    let old: Vec<&[u8]> = search.iter().map(Vec::as_slice).collect();
    let new: Vec<&[u8]> = replace.iter().map(Vec::as_slice).collect();
    let mut out = FileEdit::of_path(Dialect::JsonEdits, edit.path.as_bytes());
    let mut hunk = Hunk {
        lines: pair_lines(&old, &new),
        ..Hunk::default()
    };
    // An empty search text occurs everywhere; it marks a new file.
    if !edit.search.is_empty() {
        hunk.inline = Some(TextReplacement {
            search: Cow::Owned(edit.search.clone().into_bytes()),
            replace: Cow::Owned(edit.replace.clone().into_bytes()),
        });
    }
    out.body = EditBody::Hunks(vec![hunk]);
    out
}
