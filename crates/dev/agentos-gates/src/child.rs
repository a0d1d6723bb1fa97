//! A child process run to its end: the judged program, git, and whatever a gate needs.
//!
//! Owns: writing its input, reading both streams, and ending it after a time limit. Never: trusts its output.

use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::Value;

use crate::error::GateError;

/// The end of a call: exit code and output.
#[derive(Debug, Clone, Default)]
pub(crate) struct FinishedCall {
    /// The exit code; `None` if a signal ended the process.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    /// True if the process did not end within the limit and was killed.
    pub(crate) out_of_time: bool,
    /// Standard output as JSON; null if it is not JSON.
    pub(crate) json: Value,
}

impl FinishedCall {
    /// Runs a command with `input` on its standard input and ends it after `limit`; with `None` there is no limit.
    pub(crate) fn run(
        command: &mut Command,
        input: &str,
        limit: Option<Duration>,
    ) -> Result<Self, GateError> {
        let program = PathBuf::from(command.get_program());
        let start = |source| GateError::Start { program, source };
        run(command, input, limit).map_err(start)
    }

    /// Returns a text of the printed JSON by its path, such as `result/diff`; empty if there is none.
    pub(crate) fn text_at(&self, path: &str) -> &str {
        let value = self.json.pointer(&format!("/{path}"));
        value.and_then(Value::as_str).unwrap_or_default()
    }

    /// Returns a text of each member of a printed list: the pointer `inner` in each member of `list`.
    pub(crate) fn texts_at(&self, list: &str, inner: &str) -> Vec<&str> {
        let members = self.json.get(list).and_then(Value::as_array);
        let text = |member| Value::pointer(member, inner)?.as_str();
        members.into_iter().flatten().filter_map(text).collect()
    }

    /// Returns the last line of standard error, at most 200 characters.
    fn last_line(&self) -> String {
        // With `-vv`, log lines precede the error message on the same stream.
        let last = self.stderr.trim().lines().next_back().unwrap_or_default();
        last.chars().take(200).collect()
    }

    /// Describes the end for the details of a check.
    pub(crate) fn describe_end(&self) -> String {
        let find = |name: &str| match self.text_at(name) {
            "" => self.text_at(&format!("error/{name}")).to_owned(),
            text => text.to_owned(),
        };
        let mut said = vec![find("outcome"), find("code"), find("message"), self.last_line()];
        // Results have these fields at the top; failures of the command line have `code` and `message` below
        // `error`.
        said.retain(|part| !part.is_empty());
        let shown: String = said.join(", ").chars().take(240).collect();
        match self.code {
            Some(code) => format!("exit code {code}: {shown}"),
            None => format!("ended by a signal: {shown}"),
        }
    }

    /// Returns true if the program crashed instead of reporting a result.
    pub(crate) fn has_crashed(&self) -> bool {
        // 1 is the code of an error that the program did not foresee; its foreseen ones have the codes 2 to 9.
        !matches!(self.code, Some(0 | 2..=9)) || self.stderr.contains("panicked")
    }

    /// Returns the reason why the output cannot be read.
    pub(crate) fn unreadable_reason(&self, verb: &str, error: &serde_json::Error) -> String {
        if self.out_of_time {
            return format!("`{verb}` did not end within the time limit");
        }
        let code = self
            .code
            .map_or_else(|| "a signal".to_owned(), |code| format!("code {code}"));
        let said = self.last_line();
        format!("`{verb}` ended with {code} and printed no JSON that can be read ({error}): {said}")
    }
}

impl From<Output> for FinishedCall {
    fn from(output: Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self {
            code: output.status.code(),
            json: serde_json::from_slice(&output.stdout).unwrap_or_default(),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
            out_of_time: false,
        }
    }
}

/// Runs a command to its end, or to the limit.
fn run(command: &mut Command, input: &str, limit: Option<Duration>) -> io::Result<FinishedCall> {
    // Null and not inherited: a program that asks on its standard input must get its end, not wait for the
    // gate's terminal.
    command.stdin(if input.is_empty() {
        Stdio::null()
    } else {
        Stdio::piped()
    });
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let (input, stdin) = (input.to_owned(), child.stdin.take());
    // In a thread of its own: a program that writes before it reads would block both sides. A write error is ignored,
    // because a program that closes its input early reports that itself.
    std::thread::spawn(move || stdin.map(|mut pipe| pipe.write_all(input.as_bytes())));
    let (done, closed) = mpsc::channel();
    let out = child.stdout.take().map(|pipe| read_in_thread(pipe, done.clone()));
    let err = child.stderr.take().map(|pipe| read_in_thread(pipe, done));
    let mut out_of_time = false;
    for _ in [&out, &err] {
        let is_closed = limit.is_none_or(|limit| !out_of_time && closed.recv_timeout(limit).is_ok());
        if !is_closed && !out_of_time {
            out_of_time = true;
            child.kill()?;
        }
    }
    // After a kill, a process that the child started may keep a stream open, so the readers are not joined.
    let bytes = |reader: Option<JoinHandle<Vec<u8>>>| match reader {
        Some(reader) if !out_of_time => reader.join().unwrap_or_default(),
        Some(_) | None => Vec::new(),
    };
    let (stdout, stderr) = (bytes(out), bytes(err));
    let status = child.wait()?;
    Ok(FinishedCall {
        out_of_time,
        ..FinishedCall::from(Output {
            status,
            stdout,
            stderr,
        })
    })
}

/// Reads a stream to its end in a thread of its own, and then sends a message to `done`.
fn read_in_thread(mut pipe: impl Read + Send + 'static, done: mpsc::Sender<()>) -> JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        // A read error is the end of the stream; the text up to it is judged.
        pipe.read_to_end(&mut bytes).ok();
        done.send(()).ok();
        bytes
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(script: &str, limit: Duration) -> FinishedCall {
        FinishedCall::run(Command::new("sh").args(["-c", script]), "in", Some(limit)).unwrap()
    }

    #[test]
    fn a_child_is_given_its_input_and_read_to_its_end() {
        let ended = ended("cat; echo; echo err >&2; exit 3", Duration::from_secs(600));
        assert_eq!((ended.code, ended.out_of_time), (Some(3), false));
        assert_eq!((ended.stdout.as_str(), ended.stderr.as_str()), ("in\n", "err\n"));
    }

    #[test]
    fn a_child_that_never_ends_is_ended() {
        let ended = ended("exec tail -f /dev/null", Duration::from_millis(20));
        assert_eq!((ended.code, ended.out_of_time), (None, true));
        let error = serde_json::from_str::<Value>("").unwrap_err();
        assert_eq!(
            ended.unreadable_reason("tool run", &error),
            "`tool run` did not end within the time limit"
        );
    }
}
