//! Calls of tools that are written in tags: `<write_to_file><path>…</path><content>…</content></write_to_file>`, and
//! `<invoke name="…"><parameter name="…">…</parameter></invoke>`.
//!
//! Owns: where a call ends, and the texts of its arguments. Never: knows what a tool does.

use std::collections::BTreeMap;

use super::calls::from_texts;
use crate::text::{TextLine, trim};
use crate::{Refusal, RefusalCode};

/// Name of a tool and its arguments.
type NamedCall = (String, serde_json::Map<String, serde_json::Value>);

/// Tools whose arguments are read here. Tools with search/replace blocks or patches in them are not: other readers know
/// those.
const TOOLS: [&str; 5] = [
    "write_to_file",
    "create_file",
    "insert_content",
    "delete_file",
    "str_replace",
];

/// Returns the tag in which a call begins, and the tool's name.
fn opening(line: &[u8]) -> Option<(&str, &str)> {
    let inner = std::str::from_utf8(trim(line))
        .ok()?
        .strip_prefix('<')?
        .strip_suffix('>')?;
    if let Some(name) = inner.strip_prefix("invoke name=\"") {
        return Some(("invoke", name.strip_suffix('"')?));
    }
    TOOLS.contains(&inner).then_some((inner, inner))
}

/// Counts the lines of the call that begins here. Returns `None` if none does, or if it has no end.
pub(super) fn call_length(lines: &[TextLine<'_>], at: usize) -> Option<usize> {
    let (tag, _) = opening(lines.get(at)?.text)?;
    let end = format!("</{tag}>");
    let rest = lines.get(at + 1..)?;
    let length = rest.iter().position(|line| trim(line.text) == end.as_bytes())?;
    Some(length + 2)
}

/// Reads a call. Returns `None` for a call of a tool with a patch or with blocks, which other readers read.
///
/// # Errors
/// Fails if the call has something else than arguments in it.
pub(super) fn read_call(lines: &[TextLine<'_>]) -> Result<Option<NamedCall>, Refusal> {
    let Some((_, name)) = lines.first().and_then(|line| opening(line.text)) else {
        return Ok(None);
    };
    let mut text = Vec::new();
    for line in lines.get(1..lines.len() - 1).unwrap_or_default() {
        line.write(&mut text);
    }
    let broken = || {
        let message =
            format!("the call of `{name}` has text outside its arguments, or has one without an end");
        Refusal::new(RefusalCode::Malformed, message)
    };
    let mut rest = std::str::from_utf8(&text).map_err(|_| broken())?.trim();
    let mut found = BTreeMap::new();
    while !rest.is_empty() {
        let (key, value, below) = read_argument(rest).ok_or_else(broken)?;
        if found.insert(key.to_owned(), value).is_some() {
            return Err(broken());
        }
        rest = below.trim_start();
    }
    Ok(Some((name.to_owned(), from_texts(found))))
}

/// Reads one argument: its name, its text, and the rest. Its end is the closing tag with nothing but another tag below.
fn read_argument(text: &str) -> Option<(&str, String, &str)> {
    let (tag, inner) = text.strip_prefix('<')?.split_once('>')?;
    let (key, close) = match tag.strip_prefix("parameter name=\"") {
        Some(key) => (key.strip_suffix('"')?, "</parameter>".to_owned()),
        None => (tag, format!("</{tag}>")),
    };
    let mut ends = inner.match_indices(&close);
    let (at, rest) = ends.find_map(|(at, _)| {
        let rest = inner.get(at + close.len()..)?;
        let below = rest.trim_start();
        (below.is_empty() || below.starts_with('<')).then_some((at, rest))
    })?;
    let value = inner.get(..at)?;
    // A text on lines of its own begins below its tag, and its last line ends above the closing tag.
    let own = value.strip_prefix("\r\n").or_else(|| value.strip_prefix('\n'));
    let value = match own {
        Some(lines) => lines.trim_end_matches([' ', '\t']),
        None => value,
    };
    Some((key, value.to_owned(), rest))
}
