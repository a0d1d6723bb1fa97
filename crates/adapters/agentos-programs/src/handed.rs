//! The key and the user's files that a program is handed, and keeping them out of what it says.
//!
//! Owns: their values, hiding them in text, and finding them in an answer. Never: knows the forms in which a program may
//! write one; `SecretForms` does.

use std::fs;
use std::path::{Path, PathBuf};

use agentos_sandbox::OutputStream;
use agentos_tool::{Progress, SecretForms, SecretStream, ToolError};
use serde_json::Value;

use crate::background::Voice;
use crate::{AgentError, Places, Program};

/// What stands in a secret's place.
const REDACTED: &str = "[redacted]";
/// A key of fewer bytes is a word that stands for one, as local servers take it.
const SHORTEST_KEY: usize = 8;
/// Of the values in a file; shorter ones are words such as `Bearer`.
const SHORTEST_VALUE: usize = 16;
/// Bytes of a stream that are kept to quote its last line.
const LONGEST_TAIL: usize = 1 << 10;
/// Parts of the names under which settings hold keys.
const NAMES: [&str; 4] = ["key", "token", "secret", "password"];

/// What one run is handed.
pub(crate) struct Handed {
    /// Places below the home, and contents.
    files: Vec<(PathBuf, Vec<u8>)>,
    /// What must not come back.
    pub(crate) secrets: Secrets,
}

impl Handed {
    /// Reads what a program may have of its user's.
    ///
    /// # Errors
    /// When a file that is there cannot be read.
    pub(crate) fn of(program: &Program, places: &Places) -> Result<Self, AgentError> {
        let mut values = Vec::new();
        let key = program
            .key
            .iter()
            .map(|(_, key)| key.expose().as_bytes().to_vec());
        values.extend(key.filter(|key| key.len() >= SHORTEST_KEY));
        for (name, value) in &program.env {
            by_name(name, value, &mut values);
        }
        let settings = read(&program.home_files, places)?;
        for (_, bytes) in &settings {
            in_settings(bytes, &mut values);
        }
        let sign_in = read(program.sign_in.iter().flatten(), places)?;
        for (_, bytes) in &sign_in {
            in_sign_in(bytes, &mut values);
        }
        Ok(Self {
            files: settings.into_iter().chain(sign_in).collect(),
            secrets: Secrets::new(&values),
        })
    }

    /// Puts copies of the files into a home of the program's own.
    ///
    /// # Errors
    /// When one cannot be written.
    pub(crate) fn furnish(&self, home: &Path) -> Result<(), AgentError> {
        for (name, bytes) in &self.files {
            let to = home.join(name);
            agentos_sandbox::put_file(home, name, bytes).map_err(AgentError::unreadable(&to))?;
        }
        Ok(())
    }
}

/// Those of the files that are there, below the user's home.
#[expect(
    clippy::disallowed_methods,
    reason = "the user's own home, in which folders may be links"
)]
fn read<'a>(
    names: impl IntoIterator<Item = &'a PathBuf>,
    places: &Places,
) -> Result<Vec<(PathBuf, Vec<u8>)>, AgentError> {
    let Some(user) = &places.home else {
        return Ok(Vec::new());
    };
    let mut all = Vec::new();
    for name in names {
        let from = user.join(name);
        // A link could lead anywhere; none of these programs makes one.
        if from.symlink_metadata().is_ok_and(|found| found.is_file()) {
            let bytes = fs::read(&from).map_err(AgentError::unreadable(&from))?;
            all.push((name.clone(), bytes));
        }
    }
    Ok(all)
}

/// Every long value of a file that is there to sign in with.
fn in_sign_in(bytes: &[u8], values: &mut Vec<Vec<u8>>) {
    match (serde_json::from_slice::<Value>(bytes), std::str::from_utf8(bytes)) {
        (Ok(json), _) => texts(&json, &mut |text| values.extend(pieces(text))),
        (Err(_), Ok(text)) => values.extend(pieces(text)),
        (Err(_), Err(_)) if bytes.len() >= SHORTEST_VALUE => values.push(bytes.to_vec()),
        (Err(_), Err(_)) => {}
    }
}

/// The keys among settings: those that stand under such a name.
fn in_settings(bytes: &[u8], values: &mut Vec<Vec<u8>>) {
    if let Ok(json) = serde_json::from_slice::<Value>(bytes) {
        named(&json, values);
        return;
    }
    for line in String::from_utf8_lossy(bytes).lines() {
        if let Some((name, value)) = line.split_once([':', '=']) {
            by_name(name, value, values);
        }
    }
}

fn named(json: &Value, values: &mut Vec<Vec<u8>>) {
    match json {
        Value::Object(members) => {
            for (name, value) in members {
                texts(value, &mut |text| by_name(name, text, values));
                named(value, values);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| named(item, values)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// A setting's value is a key if its name says so. One without a digit is the name of a variable, or a path.
fn by_name(name: &str, value: &str, values: &mut Vec<Vec<u8>>) {
    let name = name.to_ascii_lowercase();
    if NAMES.iter().any(|part| name.contains(part)) {
        values.extend(pieces(value).filter(|piece| piece.iter().any(u8::is_ascii_digit)));
    }
}

fn texts(json: &Value, take: &mut dyn FnMut(&str)) {
    match json {
        Value::String(text) => take(text),
        Value::Array(items) => items.iter().for_each(|item| texts(item, take)),
        Value::Object(members) => members.values().for_each(|value| texts(value, take)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The long words of a text: its lines come back in another order, or with their ends and quotes written otherwise.
fn pieces(text: &str) -> impl Iterator<Item = Vec<u8>> {
    let ends = |c: char| c.is_whitespace() || c.is_control() || matches!(c, '"' | '\'' | '\\');
    let words = text.split(ends).filter(|word| word.len() >= SHORTEST_VALUE);
    words.map(|word| word.as_bytes().to_vec())
}

/// Values that are hidden wherever they stand, in the forms of [`SecretForms`].
pub(crate) struct Secrets(SecretForms);

impl Secrets {
    fn new(values: &[Vec<u8>]) -> Self {
        Self(SecretForms::new(values.iter().map(Vec::as_slice)))
    }

    /// Returns a text without them.
    pub(crate) fn hide(&self, text: &str) -> String {
        self.0.hide(text, REDACTED)
    }

    /// Returns an error whose message and causes are without them.
    pub(crate) fn hide_in(&self, error: ToolError) -> ToolError {
        ToolError {
            message: self.hide(&error.message),
            causes: error.causes.iter().map(|cause| self.hide(cause)).collect(),
            ..error
        }
    }

    /// Returns true if a text holds one.
    pub(crate) fn are_in(&self, text: &str) -> bool {
        self.0.are_in(text)
    }

    /// Returns true if a diff brings one in, also in several lines. What the repository holds already is no news.
    pub(crate) fn are_added_by(&self, diff: &str) -> bool {
        let added = diff.lines().filter(|line| !line.starts_with([' ', '-', '@']));
        let added: Vec<&str> = added.collect();
        self.are_in(&added.join("\n"))
    }

    fn pass(&self, stream: &mut SecretStream, bytes: &[u8]) -> Vec<u8> {
        self.0.pass(stream, bytes, REDACTED)
    }

    fn end(&self, stream: &mut SecretStream) -> Vec<u8> {
        self.0.end(stream, REDACTED)
    }
}

/// Tells what a program says while it says it, and keeps its last words.
pub(crate) struct Teller<'a> {
    secrets: &'a Secrets,
    voice: &'a Voice,
    out: SecretStream,
    err: SecretStream,
    /// Of what messages say, which may come in pieces as small as they like.
    text: SecretStream,
    transcript: SecretStream,
    tail: Vec<u8>,
}

impl<'a> Teller<'a> {
    pub(crate) fn new(secrets: &'a Secrets, voice: &'a Voice) -> Self {
        Self {
            secrets,
            voice,
            out: SecretStream::default(),
            err: SecretStream::default(),
            text: SecretStream::default(),
            transcript: SecretStream::default(),
            tail: Vec::new(),
        }
    }

    /// Bytes of a stream that goes into the transcript as it is.
    pub(crate) fn stream(&mut self, stream: OutputStream, bytes: &[u8]) {
        let held = match stream {
            OutputStream::Out => &mut self.out,
            OutputStream::Err => &mut self.err,
        };
        let clear = self.secrets.pass(held, bytes);
        self.say_bytes(&clear);
    }

    /// Bytes of a stream of messages, to be read without the secrets.
    pub(crate) fn messages(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.secrets.pass(&mut self.out, bytes)
    }

    /// What a message says.
    pub(crate) fn progress(&mut self, progress: Progress) {
        let (text, held) = match &progress {
            Progress::Text(text) => (text, &mut self.text),
            Progress::Transcript(text) => (text, &mut self.transcript),
            Progress::Note(text) => {
                self.voice.say(Progress::Note(self.secrets.hide(text)));
                return;
            }
        };
        let clear = self.secrets.pass(held, text.as_bytes());
        self.say(matches!(progress, Progress::Text(_)), &clear);
    }

    /// The rest; gives the last of what was said on the streams.
    pub(crate) fn end(mut self) -> Vec<u8> {
        let rest = |held: &mut SecretStream| self.secrets.end(held);
        let (text, transcript) = (rest(&mut self.text), rest(&mut self.transcript));
        let (out, err) = (rest(&mut self.out), rest(&mut self.err));
        self.say(true, &text);
        self.say(false, &transcript);
        self.say_bytes(&out);
        self.say_bytes(&err);
        self.tail
    }

    fn say_bytes(&mut self, clear: &[u8]) {
        self.tail.extend_from_slice(clear);
        let extra = self.tail.len().saturating_sub(LONGEST_TAIL);
        self.tail.drain(..extra);
        self.say(false, clear);
    }

    fn say(&self, is_answer: bool, clear: &[u8]) {
        if clear.is_empty() {
            return;
        }
        let text = String::from_utf8_lossy(clear).into_owned();
        self.voice.say(if is_answer {
            Progress::Text(text)
        } else {
            Progress::Transcript(text)
        });
    }
}

#[cfg(test)]
mod tests;
