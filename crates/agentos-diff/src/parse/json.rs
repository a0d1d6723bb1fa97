//! JSON edits: `{"edits":[{"path","search","replace"}]}`, as the whole answer or in a fence.
//!
//! Owns: the shape, whose schema is published. Never: accepts a field it does not know.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cursor::{closes, fence};
use super::model::{Body, FileEdit, Hunk, Inline, Name, Parsed};
use super::pair::paired;
use crate::text::{Eol, Line, lines};
use crate::{Dialect, Refusal, RefusalCode};

/// One edit: a text of the file and what takes its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JsonEdit {
    /// The file.
    pub path: String,
    /// Text that stands in the file exactly once; empty for a new file.
    pub search: String,
    /// What takes its place.
    pub replace: String,
}

/// An answer in JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JsonEdits {
    /// The edits, in any order.
    pub edits: Vec<JsonEdit>,
}

/// Reads the answer if it is JSON as a whole, and every fence that is.
pub(crate) fn parse<'a>(all: &mut [Line<'a>], parsed: &mut Parsed<'a>) -> Result<(), Refusal> {
    let first = all
        .iter()
        .find(|line| !line.text.iter().all(u8::is_ascii_whitespace));
    if first.is_some_and(|line| crate::text::trim(line.text).starts_with(b"{")) {
        return object(all, 0, all.len(), parsed);
    }
    let mut at = 0;
    while let Some(line) = all.get(at) {
        at += 1;
        let Some(open) = fence(line.text).filter(|open| matches!(open.info, b"" | b"json" | b"JSON")) else {
            continue;
        };
        let rest = all.get(at..).unwrap_or_default();
        let length = rest
            .iter()
            .position(|line| closes(&open, line.text))
            .unwrap_or(rest.len());
        let begins = rest
            .iter()
            .take(length)
            .find(|line| !line.text.iter().all(u8::is_ascii_whitespace))
            .is_some_and(|line| crate::text::trim(line.text).starts_with(b"{"));
        if begins {
            object(all, at, at + length, parsed)?;
        }
        at += length + 1;
    }
    Ok(())
}

/// Reads one object. One without `edits` is none of ours.
fn object<'a>(all: &mut [Line<'a>], from: usize, to: usize, parsed: &mut Parsed<'a>) -> Result<(), Refusal> {
    let mut text = Vec::new();
    for line in all.get(from..to).unwrap_or_default() {
        line.write(&mut text);
    }
    let found = text.windows(7).any(|window| window == b"\"edits\"");
    if !found {
        return Ok(());
    }
    let answer: JsonEdits = serde_json::from_slice(&text).map_err(|error| {
        let message = format!(
            "the edits are not valid JSON of the agreed shape (line {})",
            error.line()
        );
        Refusal::new(RefusalCode::Malformed, message)
    })?;
    for edit in &answer.edits {
        parsed.files.push(file(edit));
    }
    for line in all.get_mut(from..to).unwrap_or_default() {
        *line = Line {
            text: b"",
            eol: Eol::Lf,
            full: b"\n",
        };
    }
    Ok(())
}

fn file<'a>(edit: &JsonEdit) -> FileEdit<'a> {
    let texts = |text: &str| -> Vec<Vec<u8>> {
        lines(text.as_bytes())
            .iter()
            .map(|line| line.text.to_vec())
            .collect()
    };
    let (search, replace) = (texts(&edit.search), texts(&edit.replace));
    let old: Vec<&[u8]> = search.iter().map(Vec::as_slice).collect();
    let new: Vec<&[u8]> = replace.iter().map(Vec::as_slice).collect();
    let mut out = FileEdit::new(Dialect::JsonEdits);
    out.old = Name::Written(edit.path.clone().into_bytes());
    out.new = Name::Written(edit.path.clone().into_bytes());
    let mut hunk = Hunk {
        lines: paired(&old, &new),
        ..Hunk::default()
    };
    if !edit.search.is_empty() {
        hunk.inline = Some(Inline {
            search: Cow::Owned(edit.search.clone().into_bytes()),
            replace: Cow::Owned(edit.replace.clone().into_bytes()),
        });
    }
    out.body = Body::Hunks(vec![hunk]);
    out
}
