//! The key and the user's files that a program is given, and the removal of their secret values from its output.
//!
//! Owns: the secret values, hiding them in text, and finding them in an answer. Never: knows the encodings in which a
//! program may write one; `SecretForms` does.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agentos_sandbox::OutputStream;
use agentos_tool::{Progress, SecretForms, SecretStream, ToolError};
use serde_json::Value;

use crate::background::ProgressChannel;
use crate::{AgentError, Places, Program};

/// Replacement for a secret in a text.
const REDACTED: &str = "[redacted]";
/// Minimum length of a key treated as a secret. Shorter ones are placeholders, which local servers accept.
const MIN_KEY_LENGTH: usize = 8;
/// Minimum length of a value in a file treated as a secret. Shorter values are usually words such as `Bearer`.
const MIN_VALUE_LENGTH: usize = 16;
/// Maximum bytes that are kept of the streams to quote the last line.
const MAX_TAIL: usize = 1 << 10;
/// Parts of setting names whose values are keys.
const KEY_NAMES: [&str; 4] = ["key", "token", "secret", "password"];

/// Files and secrets of the user that one run is given.
pub(crate) struct ProgramInputs {
    /// Paths below the home, with the files' contents.
    files: Vec<(PathBuf, Vec<u8>)>,
    /// Values that must not appear in the program's output.
    pub(crate) secrets: Arc<SecretValues>,
}

impl ProgramInputs {
    /// Reads the files that a program may have, and collects the secrets in them.
    ///
    /// # Errors
    /// [`AgentError::Unreadable`] if an existing file cannot be read.
    pub(crate) fn read_inputs(program: &Program, places: &Places) -> Result<Self, AgentError> {
        let mut values = Vec::new();
        let key = program
            .key
            .iter()
            .map(|(_, key)| key.expose().as_bytes().to_vec());
        // Collected before the files are copied: everything that the program can read and repeat must be known to the filter.
        values.extend(key.filter(|key| key.len() >= MIN_KEY_LENGTH));
        for (name, value) in &program.env {
            collect_if_named(name, value, &mut values);
        }
        let settings = read_files(&program.home_files, places)?;
        for (_, bytes) in &settings {
            collect_from_settings(bytes, &mut values);
        }
        let sign_in = read_files(program.sign_in.iter().flatten(), places)?;
        for (_, bytes) in &sign_in {
            collect_from_sign_in(bytes, &mut values);
        }
        let own = program.settings_files.iter();
        let own = own.map(|(name, text)| (name.clone(), text.clone().into_bytes()));
        Ok(Self {
            // The profile's own files come last, so that they replace a copy of the user's.
            files: settings.into_iter().chain(sign_in).chain(own).collect(),
            secrets: Arc::new(SecretValues::new(&values)),
        })
    }

    /// Writes copies of the files into the program's own home.
    ///
    /// # Errors
    /// [`AgentError::Unreadable`] if a file cannot be written.
    pub(crate) fn write_files(&self, home: &Path) -> Result<(), AgentError> {
        for (name, bytes) in &self.files {
            let to = home.join(name);
            agentos_sandbox::put_file(home, name, bytes).map_err(AgentError::unreadable_at(&to))?;
        }
        Ok(())
    }
}

/// Reads those of the files below the user's home that exist.
#[expect(
    clippy::disallowed_methods,
    reason = "the user's own home, in which folders may be links"
)]
fn read_files<'a>(
    names: impl IntoIterator<Item = &'a PathBuf>,
    places: &Places,
) -> Result<Vec<(PathBuf, Vec<u8>)>, AgentError> {
    let Some(user) = &places.home else {
        return Ok(Vec::new());
    };
    let mut all = Vec::new();
    for name in names {
        let from = user.join(name);
        // A link could lead to any file of the user's, and none of the known agents stores its sign-in behind one.
        if from.symlink_metadata().is_ok_and(|found| found.is_file()) {
            let bytes = fs::read(&from).map_err(AgentError::unreadable_at(&from))?;
            all.push((name.clone(), bytes));
        }
    }
    Ok(all)
}

/// Collects every long value of a sign-in file: in JSON its strings, in text its words, otherwise the whole file.
fn collect_from_sign_in(bytes: &[u8], values: &mut Vec<Vec<u8>>) {
    match (serde_json::from_slice::<Value>(bytes), std::str::from_utf8(bytes)) {
        (Ok(json), _) => visit_texts(&json, &mut |text| values.extend(long_words(text))),
        (Err(_), Ok(text)) => values.extend(long_words(text)),
        (Err(_), Err(_)) if bytes.len() >= MIN_VALUE_LENGTH => values.push(bytes.to_vec()),
        (Err(_), Err(_)) => {}
    }
}

/// Collects the keys in a settings file: values whose name contains one of [`KEY_NAMES`].
fn collect_from_settings(bytes: &[u8], values: &mut Vec<Vec<u8>>) {
    if let Ok(json) = serde_json::from_slice::<Value>(bytes) {
        collect_named(&json, values);
        return;
    }
    // YAML, TOML and `.env` files all write one `name: value` or `name=value` in a line. Parsing them in full would add
    // three parsers for the sake of a few keys.
    for line in String::from_utf8_lossy(bytes).lines() {
        if let Some((name, value)) = line.split_once([':', '=']) {
            collect_if_named(name, value, values);
        }
    }
}

fn collect_named(json: &Value, values: &mut Vec<Vec<u8>>) {
    match json {
        Value::Object(members) => {
            for (name, value) in members {
                visit_texts(value, &mut |text| collect_if_named(name, text, values));
                collect_named(value, values);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect_named(item, values)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Collects the words of a setting's value if its name suggests a key. Words without a digit are names of variables or
/// paths.
fn collect_if_named(name: &str, value: &str, values: &mut Vec<Vec<u8>>) {
    let name = name.to_ascii_lowercase();
    if KEY_NAMES.iter().any(|part| name.contains(part)) {
        values.extend(long_words(value).filter(|piece| piece.iter().any(u8::is_ascii_digit)));
    }
}

fn visit_texts(json: &Value, take: &mut dyn FnMut(&str)) {
    match json {
        Value::String(text) => take(text),
        Value::Array(items) => items.iter().for_each(|item| visit_texts(item, take)),
        Value::Object(members) => members.values().for_each(|value| visit_texts(value, take)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Splits a text into its long words.
///
/// A program may print a file's lines in another order, or with other quotes and line breaks; its words stay the same.
fn long_words(text: &str) -> impl Iterator<Item = Vec<u8>> {
    let ends = |c: char| c.is_whitespace() || c.is_control() || matches!(c, '"' | '\'' | '\\');
    let words = text.split(ends).filter(|word| word.len() >= MIN_VALUE_LENGTH);
    words.map(|word| word.as_bytes().to_vec())
}

/// Secret values, found and hidden in all encodings of [`SecretForms`].
pub(crate) struct SecretValues(SecretForms);

impl SecretValues {
    fn new(values: &[Vec<u8>]) -> Self {
        Self(SecretForms::new(values.iter().map(Vec::as_slice)))
    }

    /// Returns a text with the secrets replaced.
    pub(crate) fn hide(&self, text: &str) -> String {
        self.0.hide(text, REDACTED)
    }

    /// Returns an error with the secrets in its message and its causes replaced.
    pub(crate) fn hide_in(&self, error: ToolError) -> ToolError {
        ToolError {
            message: self.hide(&error.message),
            causes: error.causes.iter().map(|cause| self.hide(cause)).collect(),
            ..error
        }
    }

    /// Returns true if a text contains a secret.
    pub(crate) fn are_in(&self, text: &str) -> bool {
        self.0.are_in(text)
    }

    /// Returns true if a diff adds a secret, even one split over several lines. Context and removed lines are ignored, since
    /// they are in the repository already.
    pub(crate) fn are_added_by(&self, diff: &str) -> bool {
        let added = diff.lines().filter(|line| !line.starts_with([' ', '-', '@']));
        let added: Vec<&str> = added.collect();
        self.are_in(&added.join("\n"))
    }

    fn redact_part(&self, stream: &mut SecretStream, bytes: &[u8]) -> Vec<u8> {
        self.0.pass_bytes(stream, bytes, REDACTED)
    }

    fn redact_rest(&self, stream: &mut SecretStream) -> Vec<u8> {
        self.0.finish_stream(stream, REDACTED)
    }
}

/// Reports a program's output as it arrives, with secrets hidden, and keeps its end for error messages.
pub(crate) struct OutputReporter<'a> {
    secrets: &'a SecretValues,
    channel: &'a ProgressChannel,
    out: SecretStream,
    err: SecretStream,
    /// Texts of messages. Each has a stream of its own, because a program may split a secret over several messages.
    text: SecretStream,
    transcript: SecretStream,
    tail: Vec<u8>,
}

impl<'a> OutputReporter<'a> {
    pub(crate) fn new(secrets: &'a SecretValues, channel: &'a ProgressChannel) -> Self {
        Self {
            secrets,
            channel,
            out: SecretStream::default(),
            err: SecretStream::default(),
            text: SecretStream::default(),
            transcript: SecretStream::default(),
            tail: Vec::new(),
        }
    }

    /// Reports bytes of a stream that goes into the transcript without parsing.
    pub(crate) fn report_stream(&mut self, stream: OutputStream, bytes: &[u8]) {
        let held = match stream {
            OutputStream::Out => &mut self.out,
            OutputStream::Err => &mut self.err,
        };
        let clear = self.secrets.redact_part(held, bytes);
        self.report_bytes(&clear);
    }

    /// Returns bytes of a stream of messages with the secrets hidden.
    pub(crate) fn redact_messages(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.secrets.redact_part(&mut self.out, bytes)
    }

    /// Reports the text of a message.
    pub(crate) fn report_progress(&mut self, progress: Progress) {
        let (text, held) = match &progress {
            Progress::Text(text) => (text, &mut self.text),
            Progress::Transcript(text) => (text, &mut self.transcript),
            Progress::Note(text) => {
                self.channel
                    .report_progress(Progress::Note(self.secrets.hide(text)));
                return;
            }
            // A program has a copy, and reads and calls nothing through AgentOS.
            Progress::Read(_) | Progress::Called(_) | Progress::Viewed(_) => return,
        };
        let clear = self.secrets.redact_part(held, text.as_bytes());
        self.report_text(matches!(progress, Progress::Text(_)), &clear);
    }

    /// Reports the bytes that were withheld because a secret might begin in them, and returns the end of the streams.
    pub(crate) fn finish_report(mut self) -> Vec<u8> {
        let rest = |held: &mut SecretStream| self.secrets.redact_rest(held);
        let (text, transcript) = (rest(&mut self.text), rest(&mut self.transcript));
        let (out, err) = (rest(&mut self.out), rest(&mut self.err));
        self.report_text(true, &text);
        self.report_text(false, &transcript);
        self.report_bytes(&out);
        self.report_bytes(&err);
        self.tail
    }

    fn report_bytes(&mut self, clear: &[u8]) {
        self.tail.extend_from_slice(clear);
        // Only the end is kept: a program may write megabytes before it fails.
        let extra = self.tail.len().saturating_sub(MAX_TAIL);
        self.tail.drain(..extra);
        self.report_text(false, clear);
    }

    fn report_text(&self, is_answer: bool, clear: &[u8]) {
        if clear.is_empty() {
            return;
        }
        let text = String::from_utf8_lossy(clear).into_owned();
        self.channel.report_progress(if is_answer {
            Progress::Text(text)
        } else {
            Progress::Transcript(text)
        });
    }
}

#[cfg(test)]
mod tests;
