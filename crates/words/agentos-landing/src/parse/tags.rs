//! Calls of tools that are written in tags: `<write_to_file><path>…</path><content>…</content></write_to_file>`,
//! `<invoke name="…"><parameter name="…">…</parameter></invoke>`, and `<function=…><parameter=…>…</parameter></function>`.
//!
//! Owns: where a call ends, and the texts of its arguments. Never: knows what a tool does.

use std::collections::BTreeMap;

use super::calls::from_texts;
use crate::Refusal;
use crate::refusal::malformed;
use crate::text::{TextLine, join_lines, trim};

/// Name of a tool and its arguments.
type NamedCall = (String, serde_json::Map<String, serde_json::Value>);

/// Tools whose arguments are read here. Tools with search/replace blocks or patches in them are not: other readers know
/// those.
const TOOLS: [&str; 6] = [
    "write_to_file",
    "search_and_replace",
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
    if let Some(name) = inner.strip_prefix("function=") {
        return Some(("function", name));
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
    let text = join_lines(lines.get(1..lines.len() - 1).unwrap_or_default());
    let broken = || {
        let message =
            format!("the call of `{name}` has text outside its arguments, or has one without an end");
        malformed(message)
    };
    let mut rest = std::str::from_utf8(&text).map_err(|_| broken())?.trim();
    let mut found = BTreeMap::new();
    while !rest.is_empty() {
        let (key, value, below) = read_argument(rest).ok_or_else(broken)?;
        // The names of Roo, which in JSON are those of the documented edits.
        let key = match (name, key) {
            ("search_and_replace", "search") => "old_str",
            ("search_and_replace", "replace") => "new_str",
            (_, key) => key,
        };
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
    let named = tag.strip_prefix("parameter name=\"");
    // Models with `<parameter=` put each text on lines of its own, so its last line feed belongs to the tag.
    let own_lines = tag.strip_prefix("parameter=");
    let (key, close) = match (named, own_lines) {
        (Some(key), _) => (key.strip_suffix('"')?, "</parameter>".to_owned()),
        (None, Some(key)) => (key, "</parameter>".to_owned()),
        (None, None) => (tag, format!("</{tag}>")),
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
    let value = value
        .strip_suffix('\n')
        .filter(|_| own.is_some() && own_lines.is_some())
        .unwrap_or(value);
    Some((key, value.to_owned(), rest))
}
