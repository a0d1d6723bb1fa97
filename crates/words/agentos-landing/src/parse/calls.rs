//! Calls of the edit tools of agents: what their arguments mean.
//!
//! Owns: the edits of a call. Never: runs a tool, or leaves a call out without a refusal or a note.
//!
//! | arguments besides the path | meaning | written by |
//! |---|---|---|
//! | an old and a new text, or a list of both | the old text, which is in the file once, is replaced | Claude (`str_replace`, `Edit`), Gemini (`replace`), Cursor, Windsurf |
//! | a text, in a call of a tool that writes files | the whole file | Claude (`create`, `Write`), Gemini (`write_file`), Cline (`write_to_file`) |
//! | a line and a text | an insertion, which nothing in the file confirms: refused | Claude (`insert`), Roo |
//! | none, and the tool deletes | the file is deleted | Cursor |
//! | a patch, hunks or blocks | an answer by itself, which is read like one | Codex (`apply_patch`), Cline, Roo |
//!
//! Arguments that change the meaning are obeyed: all places, a number of places, the mode, a dry run. An argument of an
//! unknown name is reported where an old text must fit, and refuses a call that writes, deletes or inserts.

mod edits;
pub(super) mod marks;
mod patch;
mod table;

use serde_json::{Map, Value};

use super::model::{FileClaim, FileEdit, ParsedAnswer, PlaceCount};
use crate::refusal::malformed;
use crate::text::{excerpt, is_in, shown_name};
use crate::{Dialect, Refusal};

use edits::{insert, replace, replace_cell, whole_file};
use patch::{
    BEGIN_PATCH, END_PATCH, begins_edit, holds_patch, patch_in, patch_operation, shell_patch, with_names,
};
use table::{
    ALL, APPEND, APPLY, CELL, COUNT, DRY_RUN, EDITS, LINE, MODE, NEW, OLD, OVERWRITE, PATCH, PATH, PATTERN,
    TEXT, ToolKind, is_known_mode, is_remark, kind_of,
};

/// Arguments of one call.
type Arguments = Map<String, Value>;

/// Call as it was written.
pub(super) enum RawCall {
    /// Call with a name and its arguments.
    Named(String, Arguments),
    /// JSON that may hold calls.
    Value(Value),
}

/// Reads a text that a call holds in the same way as a complete answer.
pub(super) type ReadText<'r> = &'r dyn Fn(&[u8]) -> Result<Vec<FileEdit>, Refusal>;

/// Reads the calls of one part. `alone` is true if they are the whole answer: a text in any JSON may then be the edit.
///
/// # Errors
/// Fails with `malformed` if a call cannot be read in one way.
pub(super) fn read(
    calls: &[RawCall],
    alone: bool,
    read_text: ReadText<'_>,
    parsed: &mut ParsedAnswer,
) -> Result<(), Refusal> {
    let mut found = FoundCalls::default();
    for call in calls {
        match call {
            RawCall::Named(name, arguments) => found.add(Some(name), arguments)?,
            RawCall::Value(value) => found.walk(value, alone, 0)?,
        }
    }
    let named = calls.iter().any(|call| matches!(call, RawCall::Named(..)));
    for text in std::mem::take(&mut found.patches) {
        found.edits.extend(read_text(text.as_bytes())?);
    }
    // Of several texts in other JSON, only patches that state their ends are read one after the other.
    let is_patch =
        |text: &&String| text.trim_start().starts_with(BEGIN_PATCH) && text.trim_end().ends_with(END_PATCH);
    let read_texts = alone
        && found.edits.is_empty()
        && (found.texts.len() == 1 || found.texts.iter().all(|text| is_patch(&text)));
    for text in found.texts.iter().filter(|_| read_texts) {
        found.edits.extend(read_text(text.as_bytes())?);
    }
    if !found.texts.is_empty() && !read_texts {
        found.skip("a text in JSON that begins as an edit")?;
        found.runs = true;
    }
    // JSON in a fence may show any call, unless it is one that edits or runs something.
    if found.runs || named || alone || !found.edits.is_empty() {
        parsed.other_call = parsed.other_call.take().or(found.other);
        parsed.notes.append(&mut found.notes);
    }
    parsed.files.extend(found.edits);
    Ok(())
}

/// Calls of one part.
#[derive(Default)]
struct FoundCalls {
    edits: Vec<FileEdit>,
    /// Patches of calls.
    patches: Vec<String>,
    /// Texts in other JSON that begin as edits.
    texts: Vec<String>,
    notes: Vec<String>,
    /// Name of a call that does something else. `None` if every call was read.
    other: Option<String>,
    /// True if that call runs a command, or a text or a file in JSON was not read.
    runs: bool,
}

impl FoundCalls {
    /// Collects the calls in a value, in their order.
    fn walk(&mut self, value: &Value, alone: bool, depth: usize) -> Result<(), Refusal> {
        /// Maximum depth, which bounds the recursion. `serde_json` reads no deeper value.
        const DEPTH: usize = 128;
        match value {
            _ if depth > DEPTH => Ok(()),
            Value::Array(values) => {
                let mut values = values.iter();
                values.try_for_each(|value| self.walk(value, alone, depth + 1))
            }
            Value::Object(object) => self.walk_object(object, alone, depth),
            Value::String(text) => self.walk_text(text, depth),
            _ => Ok(()),
        }
    }

    fn walk_text(&mut self, text: &str, depth: usize) -> Result<(), Refusal> {
        if begins_edit(text) {
            self.texts.push(text.to_owned());
        } else if text.trim_start().starts_with('{')
            && let Ok(inner) = serde_json::from_str(text)
        {
            return self.walk(&inner, true, depth + 1);
        }
        Ok(())
    }

    fn walk_object(&mut self, object: &Arguments, alone: bool, depth: usize) -> Result<(), Refusal> {
        let name = find_argument(object, "name,tool,tool_name,recipient_name", Value::as_str);
        let held = find_argument(object, "input,arguments,args,parameters,params,action", Some);
        match (name, held) {
            (Some(name), Some(Value::Object(arguments))) => return self.add(Some(name), arguments),
            (Some(name), Some(Value::String(text))) => {
                return match serde_json::from_str(text) {
                    Ok(Value::Object(arguments)) => self.add(Some(name), &arguments),
                    // A tool of free text.
                    _ if begins_edit(text) => self.add_patch(text.clone()),
                    _ => self.skip(name),
                };
            }
            (_, _) => {}
        }
        if let Some(patch) = patch_operation(object) {
            return self.add_patch(patch);
        }
        let has = |keys: &str| find_argument(object, keys, Some).is_some();
        let edits = has(OLD) && has(NEW) || has("command") && has(TEXT) || has("insert_line");
        if has(EDITS) && (has(PATH) || lists_edits(object)) || has(PATH) && (edits || holds_patch(object)) {
            return self.add(None, object);
        }
        if is_off(object) {
            return self.skip("an edit with `apply: false` or `dry_run: true`");
        }
        if let Some(Value::Array(files)) = object.get("files") {
            let is_file = |file: &Value| text_of(file, PATH).is_some() && text_of(file, TEXT).is_some();
            self.runs |= !alone && files.iter().any(is_file);
            if self.runs {
                return self.skip("a list of files in JSON");
            }
            return files.iter().try_for_each(|file| self.add_file(file, depth));
        }
        object
            .values()
            .try_for_each(|value| self.walk(value, alone, depth + 1))
    }

    /// Adds a file of a list that says by its name that it holds files.
    fn add_file(&mut self, file: &Value, depth: usize) -> Result<(), Refusal> {
        let is_known = |key: &String| is_in(PATH, key) || is_in(TEXT, key) || is_remark(key);
        match (text_of(file, PATH), text_of(file, TEXT), file.as_object()) {
            (Some(path), Some(content), Some(object)) if object.keys().all(is_known) => {
                let edit = whole_file(path.trim(), content, FileClaim::Title);
                self.edits.push(edit);
                Ok(())
            }
            (_, _, _) => self.walk(file, true, depth + 1),
        }
    }

    /// Remembers a call that does something else than an edit.
    fn skip(&mut self, name: &str) -> Result<(), Refusal> {
        self.other.get_or_insert_with(|| name.to_owned());
        Ok(())
    }

    fn add_patch(&mut self, patch: String) -> Result<(), Refusal> {
        self.patches.push(patch);
        Ok(())
    }

    /// Adds the edits of one call.
    fn add(&mut self, name: Option<&str>, arguments: &Arguments) -> Result<(), Refusal> {
        let text = |keys: &str| find_argument(arguments, keys, Value::as_str);
        let kind = match flag(arguments, APPEND) {
            Some(true) => ToolKind::Appends,
            _ => kind_of(name, text(MODE)),
        };
        let called = name.unwrap_or("edit");
        if kind == ToolKind::Reads || is_off(arguments) {
            self.notes
                .push(format!("a call of `{called}` was skipped: it changes no file"));
            return Ok(());
        }
        let list = find_argument(arguments, EDITS, read_list);
        let has_more = text(TEXT).or(text(OLD)).is_some() || list.is_some();
        if has_more && text(PATCH).is_some_and(begins_edit) {
            return Err(malformed(format!(
                "a call of `{called}` has a patch and other edits, which cannot be read in one way"
            )));
        }
        if let Some(patch) = text(PATCH)
            && let Some(patch) = with_names(text(PATH), patch)
        {
            let name = text(PATH).and_then(|path| path.trim().rsplit('/').next());
            if let Some(name) = name.filter(|name| !patch.contains(*name)) {
                let name = shown_name(name);
                return Err(malformed(format!(
                    "the patch in a call of `{called}` is not for `{name}`, which the call names"
                )));
            }
            return self.add_patch(patch);
        }
        if kind == ToolKind::Runs {
            if let Some(patch) = shell_patch(arguments) {
                return self.add_patch(patch);
            }
            self.runs = true;
            return self.skip(called);
        }
        if let (None, Some(edit)) = (text(EDITS), patch_in(arguments)) {
            return self.add_patch(edit);
        }
        check_mode(called, arguments)?;
        if flag(arguments, PATTERN) == Some(true) {
            let message = format!("`{called}` replaces by a pattern, which is not read");
            return Err(malformed(message).hint("give the old text as it is in the file"));
        }
        let each = list.iter().flatten().map(|edit| text_of(edit, PATH));
        let Some(path) = text(PATH).or_else(|| each.flatten().next()).map(str::trim) else {
            return self.skip(called);
        };
        let line = find_argument(arguments, LINE, read_number);
        let call = CallOf {
            called,
            path,
            arguments,
        };
        if let (Some(id), Some(source)) = (text("cell_id"), text(CELL)) {
            call.refuse_unknown()?;
            if text(MODE).is_some_and(|mode| mode != "replace") {
                return self.skip(called);
            }
            self.edits.push(replace_cell(path, id, source));
            return Ok(());
        }
        // Claude's tool deletes the old text if there is no new one.
        let deletes = text(MODE) == Some("str_replace") && text(OLD).is_some();
        let new = text(NEW).or(deletes.then_some(""));
        match (text(OLD), new, text(TEXT), &list) {
            (Some(old), Some(new), None, None) => {
                self.report_unknown(&call);
                self.edits.push(replace(path, old, new, places(arguments)));
            }
            (None, None, None, Some(list)) => {
                self.report_unknown(&call);
                for edit in list {
                    if let Some(arguments) = edit.as_object() {
                        check_mode(called, arguments)?;
                        self.report_unknown(&CallOf { arguments, ..call });
                    }
                    // Copilot names the file in each edit of the list.
                    let path = text_of(edit, PATH).or_else(|| text(PATH)).map(str::trim);
                    let (Some(path), Some(old), Some(new)) = (path, text_of(edit, OLD), text_of(edit, NEW))
                    else {
                        let message = "an edit in the list of a tool call has no path, no old or no new text";
                        return Err(malformed(message));
                    };
                    let count = edit.as_object().map_or(PlaceCount::One, places);
                    self.edits.push(replace(path, old, new, count));
                }
            }
            (None, new, content, None) if line.is_some() => {
                call.refuse_unknown()?;
                let inserted = new.or(content).or(text("insert_text")).unwrap_or_default();
                self.edits.push(insert(path, line.unwrap_or_default(), inserted));
            }
            (None, None, Some(_), None) if kind == ToolKind::Appends => {
                let path = shown_name(path);
                let message = format!("`{called}` adds a text to `{path}`, and nothing confirms its place");
                return Err(malformed(message).hint("give a diff, or replace the last lines of the file"));
            }
            (None, None, Some(content), None) if kind == ToolKind::Writes => {
                call.refuse_unknown()?;
                let mut edit = whole_file(path, content, FileClaim::Call);
                // The call states that the file is new.
                edit.create = flag(arguments, OVERWRITE) == Some(false);
                self.edits.push(edit);
            }
            (None, None, None, None) if kind == ToolKind::Deletes => {
                call.refuse_unknown()?;
                let mut edit = FileEdit::of_path(Dialect::JsonEdits, path.as_bytes());
                edit.delete = true;
                self.edits.push(edit);
            }
            (None, None, Some(_) | None, None) => return self.skip(called),
            (_, _, _, _) => {
                let path = shown_name(path);
                let message = format!("a tool call about `{path}` cannot be read in one way");
                return Err(malformed(message));
            }
        }
        Ok(())
    }

    /// Notes arguments of unknown names: the file must have the old text, so they cannot move the edit.
    fn report_unknown(&mut self, call: &CallOf<'_>) {
        // A list or an object may be further edits.
        let mut values = call.unknown().filter_map(|name| call.arguments.get(name));
        if values.any(|value| value.is_array() || value.is_object()) {
            self.other.get_or_insert_with(|| call.called.to_owned());
        }
        let called = call.called;
        let notes = call.unknown().map(|argument| {
            let argument = excerpt(argument, 60);
            format!("the argument `{argument}` of a call of `{called}` was ignored")
        });
        self.notes.extend(notes);
    }
}

/// Call with its name and path.
struct CallOf<'c> {
    called: &'c str,
    path: &'c str,
    arguments: &'c Arguments,
}

impl CallOf<'_> {
    /// Returns the arguments of unknown names.
    fn unknown(&self) -> impl Iterator<Item = &String> {
        const KNOWN: [&str; 15] = [
            OVERWRITE, CELL, PATH, OLD, NEW, TEXT, LINE, EDITS, ALL, COUNT, MODE, APPEND, DRY_RUN, APPLY,
            PATTERN,
        ];
        let is_known = |name: &str| is_remark(name) || KNOWN.iter().any(|names| is_in(names, name));
        self.arguments.keys().filter(move |name| !is_known(name))
    }

    /// Refuses an argument of an unknown name: nothing in the file contradicts a call that writes, deletes or inserts.
    fn refuse_unknown(&self) -> Result<(), Refusal> {
        match self.unknown().next() {
            Some(name) => {
                let (called, name, path) = (self.called, excerpt(name, 60), shown_name(self.path));
                let message = format!(
                    "the call of `{called}` for `{path}` has the argument `{name}`, whose meaning is not known"
                );
                Err(malformed(message).hint("leave the argument out, or give a diff"))
            }
            None => Ok(()),
        }
    }
}

/// Refuses a mode whose meaning is not known.
fn check_mode(called: &str, arguments: &Arguments) -> Result<(), Refusal> {
    let unknown = |value| Value::as_str(value).filter(|mode| !is_known_mode(mode));
    match find_argument(arguments, MODE, unknown) {
        Some(mode) => {
            let mode = shown_name(mode);
            let message = format!("the call of `{called}` has the mode `{mode}`, whose meaning is not known");
            Err(malformed(message).hint("give a diff"))
        }
        None => Ok(()),
    }
}

/// Returns true if the arguments say that nothing is written.
fn is_off(arguments: &Arguments) -> bool {
    flag(arguments, DRY_RUN) == Some(true) || flag(arguments, APPLY) == Some(false)
}

/// Returns the value of a switch, which tags write as a text. Returns `None` if it is not set.
fn flag(arguments: &Arguments, keys: &str) -> Option<bool> {
    find_argument(arguments, keys, |value| match value {
        Value::Bool(value) => Some(*value),
        Value::String(text) => text.trim().to_ascii_lowercase().parse().ok(),
        _ => None,
    })
}

/// Returns how many places of the old text are replaced.
fn places(arguments: &Arguments) -> PlaceCount {
    let count = find_argument(arguments, COUNT, read_number);
    match (count, flag(arguments, ALL)) {
        (Some(count), _) if count != 1 => PlaceCount::Exactly(count),
        (_, Some(true)) => PlaceCount::All,
        (_, _) => PlaceCount::One,
    }
}

/// Returns true if each value of a list is an edit with a path of its own.
fn lists_edits(object: &Arguments) -> bool {
    let list = find_argument(object, EDITS, Value::as_array);
    list.is_some_and(|list| list.iter().all(|edit| text_of(edit, PATH).is_some()))
}

/// Returns the text of the first of these arguments. Returns `None` if there is none.
fn text_of<'v>(arguments: &'v Value, keys: &str) -> Option<&'v str> {
    find_argument(arguments.as_object()?, keys, Value::as_str)
}

/// Returns the first of these arguments, with commas between their names, that has a value of this kind.
fn find_argument<'v, T>(
    arguments: &'v Arguments,
    keys: &str,
    read: impl Fn(&'v Value) -> Option<T>,
) -> Option<T> {
    keys.split(',').find_map(|key| read(arguments.get(key)?))
}

/// Returns a list, which may be written as a text. Returns `None` for any other value.
fn read_list(value: &Value) -> Option<Vec<Value>> {
    match value {
        Value::Array(list) => Some(list.clone()),
        Value::String(text) => serde_json::from_str(text).ok(),
        _ => None,
    }
}

fn read_number(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.trim().parse().ok())
}
