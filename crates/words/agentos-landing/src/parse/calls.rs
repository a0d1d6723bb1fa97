//! Calls of the edit tools of agents: their arguments, in JSON or in tags, as a model writes them.
//!
//! Owns: the names of tools and arguments, and what they mean. Never: runs a tool, or leaves one call out of several.
//!
//! | arguments besides the path | meaning | written by |
//! |---|---|---|
//! | an old and a new text, or a list of both | the old text, which is in the file once, is replaced | Claude (`str_replace`, `Edit`), Gemini (`replace`), Cursor, Windsurf |
//! | a text | the whole file | Claude (`create`, `Write`), Gemini (`write_file`), Cline (`write_to_file`) |
//! | a line and a text | an insertion, which nothing in the file confirms: refused | Claude (`insert`), Roo |
//! | none, and the tool deletes | the file is deleted | Cursor |
//!
//! Patches in calls are texts of their own; `readings` unwraps them. Search/replace blocks in tags are read by
//! `blocks`, which finds their path in the tag above.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, Read};

use serde_json::Value;

use super::json::{JsonEdit, JsonEdits, fenced_json, replacement_edit};
use super::model::{EditBody, FileEdit, Hunk, HunkLine, LineMark, ParsedAnswer, StatedLines};
use super::owner::LineOwner;
use super::{tags, whole};
use crate::refusal::malformed;
use crate::text::{LineEnding, TextLine, empty_lines, join_lines, split_lines, trim};
use crate::{Dialect, Refusal};

/// Arguments of one call.
type Arguments = serde_json::Map<String, Value>;

const PATH: &[&str] = &[
    "path",
    "file_path",
    "filePath",
    "target_file",
    "TargetFile",
    "filename",
];
const OLD: &[&str] = &[
    "old_str",
    "old_string",
    "oldString",
    "old_text",
    "TargetContent",
    "search",
];
const NEW: &[&str] = &[
    "new_str",
    "new_string",
    "newString",
    "new_text",
    "ReplacementContent",
];
const TEXT: &[&str] = &["file_text", "content", "contents", "CodeContent"];
const LINE: &[&str] = &["insert_line", "line"];
const EDITS: &[&str] = &["edits", "ReplacementChunks", "replacements"];
/// Arguments that say nothing about the edit.
const ASIDE: &[&str] = &[
    "command",
    "mode",
    "type",
    "id",
    "instruction",
    "instructions",
    "Instruction",
    "explanation",
    "description",
    "Description",
    "display_description",
    "replace_all",
    "replaceAll",
    "expected_replacements",
    "AllowMultiple",
    "StartLine",
    "EndLine",
    "line_count",
    "TargetLintErrorIds",
    "CodeMarkdownLanguage",
    "Complexity",
    "EmptyFile",
    "Overwrite",
    "insert_text",
];
/// Tools that change no file.
const READERS: &[&str] = &[
    "view",
    "read",
    "read_file",
    "list_dir",
    "list_files",
    "list_directory",
    "ls",
    "glob",
    "grep",
    "grep_search",
    "search_files",
    "codebase_search",
    "think",
    "todo_write",
    "update_plan",
    "attempt_completion",
];

/// Marks that models of Qwen, Mistral and Meta begin a call with.
const MARKS: [&[u8]; 3] = [b"<tool_call>", b"[TOOL_CALLS]", b"<|python_tag|>"];

/// Reads the calls of an answer that is JSON, of fences that are JSON, and of tags; hides their lines.
///
/// # Errors
/// Fails with `malformed` if a call is of an unknown kind next to one that edits, and if its arguments are.
pub(super) fn parse<'a>(
    lines: &mut [TextLine<'a>],
    owners: &[LineOwner],
    parsed: &mut ParsedAnswer<'a>,
) -> Result<(), Refusal> {
    let first = lines.iter().find(|line| !trim(line.text).is_empty());
    let begins = |text: &[u8]| matches!(text.first(), Some(b'{' | b'[')) && !text.starts_with(MARKS[1]);
    if first.is_some_and(|line| begins(trim(line.text))) {
        let end = lines.len();
        return read_json(lines, 0, end, true, parsed);
    }
    for part in fenced_json(lines, owners) {
        if whole::any_path_of(lines, part.from - 1, &part.open).is_none() {
            read_json(lines, part.from, part.to, false, parsed)?;
        }
    }
    // All calls between prose together: one that is not understood must not be lost next to the others.
    let mut calls = FoundCalls::default();
    let mut at = 0;
    while at < lines.len() {
        at = match owners.get(at) {
            Some(LineOwner::Call) => read_tags(lines, at, &mut calls)?,
            Some(LineOwner::Free) => read_bare(lines, at, &mut calls)?.unwrap_or(at + 1),
            Some(_) | None => at + 1,
        };
    }
    calls.finish(parsed).map(|_| ())
}

/// Reads a call in tags. Returns the line after it.
fn read_tags(lines: &mut [TextLine<'_>], at: usize, calls: &mut FoundCalls) -> Result<usize, Refusal> {
    let end = at + tags::call_length(lines, at).unwrap_or(1);
    if let Some((name, arguments)) = tags::read_call(lines.get(at..end).unwrap_or_default())? {
        calls.add(Some(&name), &arguments)?;
    }
    empty_lines(lines, at..end);
    Ok(end)
}

/// Reads a call that is JSON between prose, maybe with the mark that a model begins its calls with. Returns the line
/// after it, or `None` if none begins here.
fn read_bare(
    lines: &mut [TextLine<'_>],
    at: usize,
    calls: &mut FoundCalls,
) -> Result<Option<usize>, Refusal> {
    let line = lines.get(at).map(|line| line.text).unwrap_or_default();
    let marked = MARKS.iter().find_map(|mark| line.strip_prefix(*mark));
    // The call may begin below its mark.
    let from = at + usize::from(marked.is_some_and(|rest| trim(rest).is_empty()));
    let below = lines.get(from).map(|line| line.text).unwrap_or_default();
    let text = marked.filter(|_| from == at).unwrap_or(below);
    let begins = matches!(trim(text).first(), Some(b'{' | b'['));
    if !begins || (marked.is_none() && calls.is_unfinished) {
        return Ok(None);
    }
    let mut reader = LineReader {
        lines: lines.get(from..).unwrap_or_default(),
        skipped: below.len() - text.len(),
    };
    let mut stream = serde_json::Deserializer::from_reader(&mut reader).into_iter::<Value>();
    let value = match stream.next() {
        Some(Ok(value)) => value,
        Some(Err(_)) | None if marked.is_some() => return Err(cut_call()),
        Some(Err(error)) if error.is_eof() => {
            // Of a list that was cut off, the calls inside are not all that was meant.
            calls.is_unfinished = true;
            let rest = lines.get(from..).unwrap_or_default();
            let cut = rest.iter().any(|line| names_file(line.text));
            return if cut { Err(cut_call()) } else { Ok(None) };
        }
        Some(Err(_)) | None => return Ok(None),
    };
    let mut left = stream.byte_offset() + below.len() - text.len();
    let mut end = from;
    while let Some(line) = lines.get(end).filter(|line| left > line.text.len()) {
        left = left.saturating_sub(line.full.len());
        end += 1;
    }
    let behind = lines
        .get(end)
        .and_then(|line| line.text.get(left..))
        .unwrap_or_default();
    if !trim(behind).is_empty() && trim(behind) != b"</tool_call>" {
        return Ok(None);
    }
    let before = calls.edits.len();
    calls.walk(&value, 0)?;
    if calls.edits.len() == before {
        return Ok(None);
    }
    empty_lines(lines, at..end + 1);
    Ok(Some(end + 1))
}

/// Reads lines as one text without copying them: many lines may begin a value, and few are the beginning of a call.
struct LineReader<'l, 'a> {
    lines: &'l [TextLine<'a>],
    /// Bytes of the first line that were read.
    skipped: usize,
}

impl Read for LineReader<'_, '_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while let Some((first, rest)) = self.lines.split_first() {
            let count = first.full.get(self.skipped..).unwrap_or_default().read(out)?;
            self.skipped += count;
            if count > 0 {
                return Ok(count);
            }
            (self.lines, self.skipped) = (rest, 0);
        }
        Ok(0)
    }
}

/// Returns true if the line of JSON has an argument with the path of a file.
fn names_file(line: &[u8]) -> bool {
    let text = String::from_utf8_lossy(line);
    PATH.iter().any(|key| text.contains(&format!("\"{key}\"")))
}

fn cut_call() -> Refusal {
    malformed("a tool call is not valid JSON: the answer may have been cut off")
}

/// Reads the calls in these lines if they are JSON values. `alone` is true if they are the whole answer.
fn read_json(
    lines: &mut [TextLine<'_>],
    from: usize,
    to: usize,
    alone: bool,
    parsed: &mut ParsedAnswer<'_>,
) -> Result<(), Refusal> {
    let text = join_lines(lines.get(from..to).unwrap_or_default());
    let mut calls = FoundCalls {
        alone,
        ..FoundCalls::default()
    };
    for value in serde_json::Deserializer::from_slice(&text).into_iter::<Value>() {
        match value {
            // The documented shape has a reader of its own.
            Ok(value) if serde_json::from_value::<JsonEdits>(value.clone()).is_ok() => return Ok(()),
            Ok(value) => calls.walk(&value, 0)?,
            Err(_) if calls.edits.is_empty() => return Ok(()),
            Err(_) => {
                return Err(cut_call());
            }
        }
    }
    if calls.finish(parsed)? {
        empty_lines(lines, from..to);
    }
    Ok(())
}

/// Calls of one text.
#[derive(Default)]
struct FoundCalls {
    alone: bool,
    edits: Vec<FileEdit<'static>>,
    notes: Vec<String>,
    /// Name of a call that is none of the known ones.
    unknown: Option<String>,
    /// True below JSON that has no end.
    is_unfinished: bool,
}

impl FoundCalls {
    /// Stores the edits. Returns false if there are none.
    fn finish(self, parsed: &mut ParsedAnswer<'_>) -> Result<bool, Refusal> {
        if self.edits.is_empty() {
            return Ok(false);
        }
        if let Some(name) = self.unknown {
            let message =
                format!("the answer calls `{name}` next to calls that edit files: its effect would be lost");
            return Err(malformed(message));
        }
        parsed.files.extend(self.edits);
        parsed.notes.extend(self.notes);
        Ok(true)
    }

    /// Collects the calls in a value, in their order.
    fn walk(&mut self, value: &Value, depth: usize) -> Result<(), Refusal> {
        /// Maximum depth. The messages of providers are nested less deeply.
        const DEPTH: usize = 10;
        match value {
            _ if depth > DEPTH => Ok(()),
            Value::Array(values) => values.iter().try_for_each(|value| self.walk(value, depth + 1)),
            Value::Object(object) => self.walk_object(object, depth),
            Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
        }
    }

    fn walk_object(&mut self, object: &Arguments, depth: usize) -> Result<(), Refusal> {
        let name = ["name", "tool", "tool_name"]
            .iter()
            .find_map(|key| object.get(*key)?.as_str());
        let held = ["input", "arguments", "args", "parameters", "params"]
            .iter()
            .find_map(|key| object.get(*key));
        match (name, held) {
            (Some(name), Some(Value::Object(arguments))) => self.add(Some(name), arguments),
            (Some(name), Some(Value::String(text))) => match serde_json::from_str(text) {
                Ok(Value::Object(arguments)) => self.add(Some(name), &arguments),
                Ok(_) | Err(_) => {
                    self.unknown.get_or_insert_with(|| name.to_owned());
                    Ok(())
                }
            },
            (_, _) => {
                let has = |keys: &[&str]| keys.iter().any(|key| object.get(*key).is_some());
                // In a fence next to prose, a path and a text may be an example of any JSON.
                let whole = has(TEXT) && (self.alone || object.get("command").is_some());
                if has(PATH) && (has(OLD) || has(EDITS) || whole || has(&["insert_line"])) {
                    return self.add(None, object);
                }
                object.values().try_for_each(|value| self.walk(value, depth + 1))
            }
        }
    }

    /// Adds the edits of one call.
    fn add(&mut self, name: Option<&str>, arguments: &Arguments) -> Result<(), Refusal> {
        let text = |keys: &[&str]| keys.iter().find_map(|key| arguments.get(*key)?.as_str());
        let command = name.into_iter().chain(text(&["command"]));
        if command.clone().any(|name| READERS.contains(&name)) {
            let name = name.unwrap_or("view");
            self.notes
                .push(format!("a call of `{name}` was skipped: it changes no file"));
            return Ok(());
        }
        let known = [PATH, OLD, NEW, TEXT, LINE, EDITS, ASIDE];
        let odd = arguments
            .keys()
            .find(|key| !known.iter().any(|keys| keys.contains(&key.as_str())));
        let list = EDITS.iter().find_map(|key| read_list(arguments.get(*key)?));
        let each = list.iter().flatten().map(|edit| text_of(edit, PATH));
        let path = text(PATH).or_else(|| each.flatten().next()).map(str::trim);
        let (Some(path), None) = (path, odd) else {
            let what = name.or(odd.map(String::as_str)).unwrap_or("a tool");
            self.unknown.get_or_insert_with(|| what.to_owned());
            return Ok(());
        };
        let line = LINE.iter().find_map(|key| read_number(arguments.get(*key)?));
        match (text(OLD), text(NEW), text(TEXT), &list) {
            (Some(old), Some(new), None, None) => self.edits.push(replace(path, old, new)),
            (None, None, None, Some(list)) => {
                for edit in list {
                    // Copilot names the file in each edit of the list.
                    let path = text_of(edit, PATH).or_else(|| text(PATH)).map(str::trim);
                    let (Some(path), Some(old), Some(new)) = (path, text_of(edit, OLD), text_of(edit, NEW))
                    else {
                        return Err(malformed(
                            "an edit in the list of a tool call has no path, no old or no new text",
                        ));
                    };
                    self.edits.push(replace(path, old, new));
                }
            }
            (None, new, content, None) if line.is_some() => {
                let inserted = new.or(content).or(text(&["insert_text"])).unwrap_or_default();
                self.edits.push(insert(path, line.unwrap_or_default(), inserted));
            }
            (None, None, Some(content), None) => self.edits.push(whole_file(path, content)),
            (None, None, None, None) if name.is_some_and(|name| name.contains("delete")) => {
                let mut edit = FileEdit::of_path(Dialect::JsonEdits, path.as_bytes());
                edit.delete = true;
                self.edits.push(edit);
            }
            (_, _, _, _) => {
                let message = format!("a tool call about `{}` cannot be read in one way", shown(path));
                return Err(malformed(message));
            }
        }
        Ok(())
    }
}

/// Returns the text of the first of these arguments. Returns `None` if there is none.
fn text_of<'v>(arguments: &'v Value, keys: &[&str]) -> Option<&'v str> {
    keys.iter().find_map(|key| arguments.get(*key)?.as_str())
}

/// Returns a list, which may be written as a text. Returns `None` for any other value.
fn read_list(value: &Value) -> Option<Vec<Value>> {
    match value {
        Value::Array(list) => Some(list.clone()),
        Value::String(text) => serde_json::from_str(text).ok(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}

fn read_number(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.trim().parse().ok())
}

fn shown(path: &str) -> String {
    crate::text::excerpt(path.as_bytes(), 200)
}

fn replace(path: &str, old: &str, new: &str) -> FileEdit<'static> {
    replacement_edit(&JsonEdit {
        path: path.to_owned(),
        search: old.to_owned(),
        replace: new.to_owned(),
    })
}

fn added_lines(text: &str) -> Vec<HunkLine<'static>> {
    split_lines(text.as_bytes())
        .iter()
        .map(|line| HunkLine {
            mark: LineMark::Add,
            text: Cow::Owned(line.text.to_vec()),
            cr: line.eol == LineEnding::CrLf,
            no_newline: line.eol == LineEnding::Missing,
        })
        .collect()
}

fn whole_file(path: &str, text: &str) -> FileEdit<'static> {
    let mut edit = FileEdit::of_path(Dialect::WholeFile, path.as_bytes());
    edit.body = EditBody::Whole(added_lines(text));
    edit
}

/// Returns an insertion below a line. It has no context, so it has a place in an empty file only.
///
/// With the file as it was shown (`LandOptions::seen`) a number could be counted in it. It is refused all the same: the
/// number is the only evidence, models count wrong by a line or two, and nothing in the file contradicts a wrong one.
/// Seen content proves which file was meant and not which line. The refusal asks for the lines around the place; every
/// agent with `insert` also has `str_replace`, which quotes them.
fn insert(path: &str, line: u64, text: &str) -> FileEdit<'static> {
    let mut edit = FileEdit::of_path(Dialect::JsonEdits, path.as_bytes());
    let mut lines = added_lines(text);
    lines.iter_mut().for_each(|line| line.no_newline = false);
    edit.body = EditBody::Hunks(vec![Hunk {
        stated: StatedLines {
            old_start: Some(line),
            old_count: Some(0),
            ..StatedLines::default()
        },
        lines,
        ..Hunk::default()
    }]);
    edit
}

/// Arguments that were read from tags.
pub(super) fn from_texts(texts: BTreeMap<String, String>) -> Arguments {
    texts
        .into_iter()
        .map(|(key, text)| (key, Value::String(text)))
        .collect()
}
