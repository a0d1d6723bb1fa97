//! A real llama.cpp server with a model made on the spot that always gives one chosen answer.
//!
//! Owns: finding a Python that has the server, making the model, starting and stopping the server. Never:
//! installs anything, or listens anywhere but on loopback. `scripts/servers/README.md` explains how to prepare it.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

/// Options of the server.
#[derive(Debug, Clone, Copy)]
pub struct LlamaOptions<'a> {
    /// The answer to every prompt; at least three characters.
    pub answer: &'a str,
    /// The only key that is let in; none lets everybody in.
    pub api_key: Option<&'a str>,
    /// The model's id on the wire.
    pub alias: &'a str,
    /// More arguments for `make_tiny_gguf.py`, as in `--endless`.
    pub model_args: &'a [&'a str],
    /// More arguments for `llama_server.py`, as in `--ctx-size 512`.
    pub server_args: &'a [&'a str],
}

impl Default for LlamaOptions<'_> {
    fn default() -> Self {
        Self {
            answer: "ok.",
            api_key: None,
            alias: "tiny-coder",
            model_args: &[],
            server_args: &[],
        }
    }
}

/// A running server. Stopped when dropped; it also ends by itself when this process is gone.
#[derive(Debug)]
pub struct LlamaServer {
    child: Child,
    url: String,
    _folder: TempDir,
}

impl LlamaServer {
    /// Starts a server and waits until it answers. `None`, with a line on standard error, where no Python with
    /// the server is to be had.
    ///
    /// # Errors
    /// When `AGENTOS_LLAMA_PYTHON` names a Python without the server, or when the model cannot be made or the
    /// server does not start; its own last words are in the message.
    pub fn start(options: LlamaOptions<'_>) -> io::Result<Option<Self>> {
        let Some(python) = find_python()? else {
            let reason = "skipped: no llama.cpp server (see scripts/servers/README.md)";
            writeln!(io::stderr(), "{reason}")?;
            return Ok(None);
        };
        let folder = TempDir::new()?;
        let model = make_model(&python, folder.path(), &options)?;
        let log = folder.path().join("server.log");
        let mut child = server_command(&python, &model, &options)
            .stdout(Stdio::piped())
            .stderr(File::create(&log)?)
            .spawn()?;
        match read_ready_line(&mut child) {
            Ok(url) => Ok(Some(Self {
                child,
                url,
                _folder: folder,
            })),
            Err(error) => {
                end(&mut child);
                let said = std::fs::read_to_string(&log).unwrap_or_default();
                Err(io::Error::other(format!("{error}: {}", last_lines(&said, 5))))
            }
        }
    }

    /// Returns the server's address, as in `http://127.0.0.1:40123`; the OpenAI-style base is this plus `/v1`.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Stops the server now; its address answers nobody from then on.
    pub fn stop(&mut self) {
        end(&mut self.child);
    }
}

impl Drop for LlamaServer {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

pub(crate) fn end(child: &mut Child) {
    // Both fail only when the server is gone already, which is what is wanted.
    child.kill().ok();
    child.wait().ok();
}

pub(crate) fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

/// The Python that the environment names, else the one `cargo xtask ci` prepares.
pub(crate) fn find_python() -> io::Result<Option<PathBuf>> {
    if let Some(named) = std::env::var_os("AGENTOS_LLAMA_PYTHON").filter(|value| !value.is_empty()) {
        let python = PathBuf::from(named);
        if has_server(&python) {
            return Ok(Some(python));
        }
        let shown = python.display();
        return Err(io::Error::other(format!(
            "`AGENTOS_LLAMA_PYTHON` names `{shown}`, which cannot import `xllamacpp`"
        )));
    }
    let python = workspace().join(".venv-llama/bin/python");
    Ok(has_server(&python).then_some(python))
}

fn has_server(python: &Path) -> bool {
    let look = "import importlib.util, sys; sys.exit(importlib.util.find_spec('xllamacpp') is None)";
    Command::new(python)
        .args(["-c", look])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

pub(crate) fn make_model(python: &Path, folder: &Path, options: &LlamaOptions<'_>) -> io::Result<PathBuf> {
    let answer = folder.join("answer.txt");
    let model = folder.join("tiny.gguf");
    std::fs::write(&answer, options.answer)?;
    let output = Command::new(python)
        .arg(workspace().join("scripts/servers/make_tiny_gguf.py"))
        .arg(&model)
        .arg("--answer")
        .arg(&answer)
        .args(options.model_args)
        .stdin(Stdio::null())
        .output()?;
    if output.status.success() {
        return Ok(model);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(io::Error::other(format!(
        "no model was made: {}",
        last_lines(&said, 3)
    )))
}

fn server_command(python: &Path, model: &Path, options: &LlamaOptions<'_>) -> Command {
    let mut command = Command::new(python);
    command
        .arg(workspace().join("scripts/servers/llama_server.py"))
        .arg("--model")
        .arg(model)
        .args(["--alias", options.alias, "--port", "0", "--parent-pid"])
        .arg(std::process::id().to_string())
        .args(options.server_args)
        .stdin(Stdio::null());
    if let Some(key) = options.api_key {
        command.args(["--api-key", key]);
    }
    command
}

/// Waits for the one line that the server prints when it answers. A server that dies closes the pipe, so this
/// always ends.
pub(crate) fn read_ready_line(child: &mut Child) -> io::Result<String> {
    let pipe = child
        .stdout
        .take()
        .ok_or_else(|| io::Error::other("the server has no standard output"))?;
    let mut line = String::new();
    BufReader::new(pipe).read_line(&mut line)?;
    line.trim_end()
        .strip_prefix("READY ")
        .map(str::to_owned)
        .ok_or_else(|| io::Error::other("the server did not start"))
}

pub(crate) fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.lines().rev().take(count).collect();
    lines.into_iter().rev().collect::<Vec<_>>().join(" | ")
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::TcpStream;

    use super::*;

    fn post(url: &str, path: &str, body: &str) -> String {
        let host = url.trim_start_matches("http://");
        let mut stream = TcpStream::connect(host).unwrap();
        write!(
            stream,
            "POST {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn the_server_gives_the_chosen_answer_and_stops() {
        let options = LlamaOptions {
            answer: "the chosen answer",
            ..LlamaOptions::default()
        };
        let Some(mut server) = LlamaServer::start(options).unwrap() else {
            return;
        };
        let answer = post(server.url(), "/completion", r#"{"prompt":"x","n_predict":64}"#);
        assert!(answer.contains("the chosen answer"), "{answer}");
        server.stop();
        assert!(TcpStream::connect(server.url().trim_start_matches("http://")).is_err());
    }

    #[test]
    fn only_the_given_key_is_let_in() {
        let options = LlamaOptions {
            api_key: Some("right-key"),
            ..LlamaOptions::default()
        };
        let Some(server) = LlamaServer::start(options).unwrap() else {
            return;
        };
        let answer = post(server.url(), "/completion", r#"{"prompt":"x"}"#);
        assert!(answer.starts_with("HTTP/1.1 401"), "{answer}");
    }

    #[test]
    fn a_server_that_does_not_start_says_why() {
        if find_python().unwrap().is_none() {
            return;
        }
        let options = LlamaOptions {
            answer: "x",
            ..LlamaOptions::default()
        };
        let error = LlamaServer::start(options).unwrap_err();
        assert!(error.to_string().contains("at least 3 characters"), "{error}");
    }
}
