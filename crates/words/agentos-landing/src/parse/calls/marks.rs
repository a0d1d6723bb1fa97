//! Calls of tools in the text of an answer, as models write them for which the server has no reader: with marks of their
//! own, or in tags.
//!
//! Owns: the marks, where a call ends, and the texts of its arguments. Never: knows what a tool does.
//!
//! | form | written by |
//! |---|---|
//! | `<tool_call>{…}</tool_call>` | Qwen, Hermes |
//! | `[TOOL_CALLS]name[ARGS]{…}`, `[TOOL_CALLS][{…}]` | Devstral, Mistral |
//! | `<｜tool▁call▁begin｜>name<｜tool▁sep｜>{…}` | DeepSeek V3 and V3.1 |
//! | `<｜DSML｜invoke name="…">`, tags | DeepSeek V3.2 |
//! | `<\|tool_call_begin\|>functions.name:0<\|tool_call_argument_begin\|>{…}` | Kimi K2 |
//! | `<\|channel\|>commentary to=functions.name … <\|message\|>{…}<\|call\|>` | gpt-oss |
//! | `<\|python_tag\|>{…}`, `<function=name>{…}</function>` | Llama 3 |
//! | `<\|tool_call\|>[{…}]` | Granite, Phi 4 |
//! | `<tool_call>name`, `<arg_key>…</arg_key>`, `<arg_value>…</arg_value>` | GLM 4.5 and later |
//! | `<function=name><parameter=key>…` | Qwen Coder, OpenHands |
//! | `<invoke name="…"><parameter name="…">…` | Claude, MiniMax M2 |
//! | `<xai:function_call name="…"><parameter name="…">…` | Grok |
//! | `<write_to_file><path>…</path>…` | Cline, Roo |

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::RawCall;
use crate::Refusal;
use crate::parse::json::{JsonRead, read_value};
use crate::refusal::malformed;
use crate::text::{TextLine, is_in, join_lines, trim};

/// Mark in front of a call in JSON, and the mark between its name and its arguments.
const MARKS: [(&str, Option<&str>); 7] = [
    ("<tool_call>", None),
    ("[TOOL_CALLS]", Some("[ARGS]")),
    ("<|python_tag|>", None),
    ("<|tool_call|>", None),
    ("<｜tool▁call▁begin｜>", Some("<｜tool▁sep｜>")),
    ("<|tool_call_begin|>", Some("<|tool_call_argument_begin|>")),
    ("<|channel|>commentary to=", Some("<|message|>")),
];

/// Marks around calls that say nothing about them.
const AROUND: &str = "<｜tool▁calls▁begin｜>,<｜tool▁calls▁end｜>,<｜tool▁call▁end｜>,<｜end▁of▁sentence｜>,\
    <|tool_calls_section_begin|>,<|tool_calls_section_end|>,<|tool_call_end|>,<|/tool_call|>,</tool_call>,<|start|>assistant,\
    <|call|>,<|end|>,<|eot_id|>,<|im_end|>";

/// Tools whose tags are their names, and whose arguments are read here. Tools with search/replace blocks in them are not:
/// the reader of blocks finds their path in the tag above.
const TOOLS: &str = "write_to_file,write_file,search_and_replace,create_file,insert_content,delete_file,str_replace,\
    edit_file,edit";

/// Facts about an answer that were found before. Without it, each of many lines would search all lines below it.
#[derive(Default)]
pub(in crate::parse) struct MarkState {
    /// True if a repair of JSON was tried, which reads all of the answer.
    pub is_repaired: bool,
    /// Tags that have no end below.
    unended: HashSet<String>,
}

/// Calls that begin in a line, the line in which the last one ends, and the byte behind it.
pub(in crate::parse) type ReadCalls = (Vec<RawCall>, usize, usize);

/// Reads the calls that begin at line `at`. Returns `None` if no call begins there, or if the call
/// has no end.
///
/// # Errors
/// Fails if a call breaks off or has text outside of its arguments.
pub(in crate::parse) fn read_calls(
    lines: &[TextLine<'_>],
    at: usize,
    state: &mut MarkState,
) -> Option<Result<ReadCalls, Refusal>> {
    let text = lines.get(at)?.text;
    if !matches!(trim(text).first(), Some(b'<' | b'[')) {
        return None;
    }
    let text = std::str::from_utf8(text).ok()?;
    match read_tags(lines, at, without_marks(text), state) {
        Some(read) => Some(read.map(|(call, end)| {
            let length = lines.get(end).map_or(0, |line| line.text.len());
            (vec![call], end, length)
        })),
        None => read_marked(lines, at, text, state),
    }
}

/// Returns the text behind the marks that say nothing about a call.
pub(in crate::parse) fn without_marks(text: &str) -> &str {
    let mut text = text.trim_start();
    while let Some(rest) = AROUND.split(',').find_map(|mark| text.strip_prefix(mark)) {
        text = rest.trim_start();
    }
    text
}

/// Reads the calls behind marks in a line, and further ones in the line in which each ends.
fn read_marked(
    lines: &[TextLine<'_>],
    at: usize,
    text: &str,
    state: &mut MarkState,
) -> Option<Result<ReadCalls, Refusal>> {
    let (mut line, mut rest) = (at, without_marks(text));
    let mut calls = Vec::new();
    // Llama writes further calls behind the first one, without a mark.
    let marked = |rest: &'_ str, follows: bool| match follows && rest.starts_with('{') {
        true => Some((None, 0)),
        false => MARKS
            .iter()
            .find_map(|(mark, separator)| rest.starts_with(mark).then_some((*separator, mark.len()))),
    };
    while let Some((separator, length)) = marked(rest, !calls.is_empty()) {
        let behind = rest.get(length..).unwrap_or_default();
        let (name, from) = match separator.and_then(|separator: &str| behind.split_once(separator)) {
            Some((name, arguments)) => (Some(name), arguments),
            None => (None, behind),
        };
        let Some((between, at, column)) = find_bracket(lines, line, from) else {
            // A mark alone may be text, as one in front of a call in tags.
            return (!calls.is_empty()).then_some(Ok((calls, line, usize::MAX)));
        };
        let JsonRead::Value(value, end, left) = read_value(lines, at, column, !state.is_repaired) else {
            state.is_repaired = true;
            return Some(Err(cut_call()));
        };
        // DeepSeek writes `function` as the type, and the name behind the separator.
        let name = between.split_whitespace().next().or(name).map(clean_name);
        calls.push(match (name.filter(|name| !name.is_empty()), value) {
            (Some(name), Value::Object(arguments)) => RawCall::Named(name, arguments),
            (_, value) => RawCall::Value(value),
        });
        line = end;
        let left = lines
            .get(end)
            .and_then(|line| line.text.get(left..))
            .unwrap_or_default();
        // Some models put commas between their calls.
        let left = std::str::from_utf8(left).unwrap_or_default();
        rest = without_marks(left.trim_start_matches([' ', ',', ';']));
    }
    let length = lines.get(line)?.text.len();
    (!calls.is_empty()).then_some(Ok((calls, line, length - rest.len().min(length))))
}

/// Returns the text up to the first bracket of the arguments, and the place of the bracket: in this line, or below it
/// behind a fence.
fn find_bracket(lines: &[TextLine<'_>], line: usize, from: &str) -> Option<(String, usize, usize)> {
    let opens = |text: &str| text.find(['{', '[']);
    if let Some(at) = opens(from) {
        let end = lines.get(line)?.text.len();
        return Some((from.get(..at)?.to_owned(), line, end - from.len() + at));
    }
    let below = (line + 1..lines.len()).find(|at| {
        let text = lines.get(*at).map(|line| trim(line.text)).unwrap_or_default();
        !text.is_empty() && !text.starts_with(b"```")
    })?;
    let text = std::str::from_utf8(lines.get(below)?.text).ok()?;
    let at = opens(text).filter(|at| text.get(..*at).is_some_and(|blank| blank.trim().is_empty()))?;
    Some((from.to_owned(), below, at))
}

/// Returns the name of a tool without what its dialect writes around it: `functions.edit:0 <|constrain|>json`.
fn clean_name(name: &str) -> String {
    let name = name.trim();
    let name = name.split([' ', '<']).next().unwrap_or_default();
    let name = name.strip_prefix("functions.").unwrap_or(name);
    let plain = name
        .rsplit_once(':')
        .filter(|(_, number)| number.parse::<u32>().is_ok());
    plain.map_or(name, |(name, _)| name).to_owned()
}

pub(in crate::parse) fn cut_call() -> Refusal {
    malformed("a tool call is not valid JSON: the answer may have been cut off")
}

/// Returns the tag in which a call begins, the tool's name, and the text behind.
fn opening(text: &str) -> Option<(String, String, &str)> {
    let text = text.strip_prefix('<')?;
    let (inner, behind) = text.split_once('>')?;
    let inner = inner.strip_prefix("｜DSML｜").unwrap_or(inner);
    let named = inner
        .split_once(" name=\"")
        .filter(|(tag, _)| ["invoke", "function_call"].contains(&tag.rsplit(':').next().unwrap_or_default()));
    if let Some((tag, name)) = named {
        return Some((tag.to_owned(), name.split('"').next()?.to_owned(), behind));
    }
    if let Some(name) = inner.strip_prefix("function=") {
        return Some(("function".to_owned(), name.to_owned(), behind));
    }
    // GLM: the name is behind the tag.
    let name = behind.trim();
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    if inner == "tool_call" && !name.is_empty() && name.bytes().all(is_name) {
        return Some((inner.to_owned(), name.to_owned(), ""));
    }
    let is_tool = is_in(TOOLS, inner) && (behind.trim().is_empty() || behind.trim().starts_with('<'));
    is_tool.then(|| (inner.to_owned(), inner.to_owned(), behind))
}

/// Reads a call in tags.
fn read_tags(
    lines: &[TextLine<'_>],
    at: usize,
    text: &str,
    state: &mut MarkState,
) -> Option<Result<(RawCall, usize), Refusal>> {
    let (tag, name, behind) = opening(text)?;
    if state.unended.contains(&tag) {
        return None;
    }
    let ends = [format!("</{tag}>"), format!("</｜DSML｜{tag}>")];
    let closes = |line: &TextLine<'_>| ends.iter().any(|end| trim(line.text).ends_with(end.as_bytes()));
    let Some(below) = lines.get(at..)?.iter().position(closes) else {
        state.unended.insert(tag);
        return None;
    };
    let text = join_lines(lines.get(at + 1..=at + below).unwrap_or_default());
    let text = match below {
        0 => behind.to_owned(),
        _ => format!("{behind}\n{}", std::str::from_utf8(&text).ok()?),
    };
    let inner = text.trim_end();
    let inner = ends.iter().find_map(|end| inner.strip_suffix(end.as_str()))?;
    let prefix = tag
        .rsplit_once(':')
        .map_or(String::new(), |(prefix, _)| format!("{prefix}:"));
    let inner = inner
        .replace("｜DSML｜", "")
        .replace(&format!("<{prefix}"), "<")
        .replace(&format!("</{prefix}"), "</");
    let arguments = read_arguments(&name, inner.trim());
    Some(arguments.map(|arguments| (RawCall::Named(name, arguments), at + below)))
}

/// Reads the arguments of a call: one JSON object, or tags.
fn read_arguments(name: &str, inner: &str) -> Result<Map<String, Value>, Refusal> {
    if inner.starts_with('{') {
        return serde_json::from_str(inner).map_err(|_| cut_call());
    }
    let message = format!("the call of `{name}` has text outside its arguments, or has one without an end");
    let broken = || malformed(message.as_str());
    let mut rest = inner;
    let mut found = Map::new();
    let mut key_above = None;
    while !rest.is_empty() {
        let (key, value, below) = read_argument(rest).ok_or_else(broken)?;
        rest = below.trim_start();
        let key = match key {
            "arg_key" => {
                key_above = Some(value.trim().to_owned());
                continue;
            }
            "arg_value" => key_above.take().ok_or_else(broken)?,
            key => key.to_owned(),
        };
        if found.insert(key, Value::String(value)).is_some() {
            return Err(broken());
        }
    }
    Ok(found)
}

/// Reads one argument: its name, its text, and the rest. Its end is the closing tag with nothing but another tag below.
fn read_argument(text: &str) -> Option<(&str, String, &str)> {
    let (tag, inner) = text.strip_prefix('<')?.split_once('>')?;
    let named = tag.strip_prefix("parameter name=\"");
    // Models with `<parameter=` put a line feed between a tag and the text, so the last line feed belongs to the tag.
    let own_lines = tag.strip_prefix("parameter=");
    let (key, close) = match (named, own_lines) {
        (Some(key), _) => (key.split('"').next()?, "</parameter>".to_owned()),
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
    // If a line feed follows the tag, the text begins below the tag and ends above the closing tag.
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
