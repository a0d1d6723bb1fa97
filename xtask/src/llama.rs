//! The real llama.cpp server: finding or preparing a Python that has it, and running one for a gate.
//!
//! Owns: the virtual environment `.venv-llama` and the life of one server. Never: fetches model weights; the
//! model is made on the spot.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// What the made-up model answers to every prompt: a diff with wrong line numbers, inside prose.
const ANSWER: &str = "Sure, this is the change:\n\n```diff\n--- a/src/lib.rs\n+++ b/src/lib.rs\n@@ -7,3 +7,3 @@\n \
    pub fn add(a: i32, b: i32) -> i32 {\n-    a - b\n+    a + b\n }\n```\n";

/// A running server, ended when dropped.
pub struct Server {
    child: Child,
    url: String,
}

impl Server {
    /// Where it answers.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Both fail only when it is gone already.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// The Python that has the server: the one `AGENTOS_LLAMA_PYTHON` names, else the prepared one.
#[must_use]
pub fn python(root: &Path) -> Option<PathBuf> {
    let python = named().unwrap_or_else(|| root.join(".venv-llama/bin/python"));
    let look = "import importlib.util, sys; sys.exit(importlib.util.find_spec('xllamacpp') is None)";
    quiet(Command::new(&python).args(["-c", look])).then_some(python)
}

fn named() -> Option<PathBuf> {
    let value = std::env::var_os("AGENTOS_LLAMA_PYTHON")?;
    (!value.is_empty()).then(|| PathBuf::from(value))
}

/// Makes the virtual environment where it is missing.
///
/// # Errors
/// The reason why tests and gates that need the server will be skipped.
pub fn prepare(root: &Path) -> Result<String, String> {
    if let Some(python) = python(root) {
        return Ok(format!("found: {}", python.display()));
    }
    if named().is_some() {
        return Err("`AGENTOS_LLAMA_PYTHON` names a Python that cannot import `xllamacpp`".to_owned());
    }
    let base = ["python3", "python3.13", "python3.12", "python3.11"]
        .into_iter()
        .find(|name| {
            quiet(Command::new(name).args(["-c", "import sys, venv; sys.exit(sys.version_info < (3, 11))"]))
        });
    let base = base.ok_or("no Python 3.11 or later with `venv` was found")?;
    let folder = root.join(".venv-llama");
    loud(Command::new(base).args(["-m", "venv"]).arg(&folder))?;
    let requirements = root.join("scripts/servers/requirements.txt");
    let pip = [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "-r",
    ];
    loud(
        Command::new(folder.join("bin/python"))
            .args(pip)
            .arg(requirements),
    )?;
    match python(root) {
        Some(python) => Ok(format!("made: {}", python.display())),
        None => Err("the package was installed but cannot be imported".to_owned()),
    }
}

/// Starts a server with the made-up model.
///
/// # Errors
/// When the model cannot be made or the server does not start.
pub fn start(root: &Path, python: &Path, scratch: &Path) -> Result<Server, String> {
    let (answer, model) = (scratch.join("answer.txt"), scratch.join("tiny.gguf"));
    let io = |error: std::io::Error| format!("the llama.cpp server cannot be started: {error}");
    fs::create_dir_all(scratch).map_err(io)?;
    fs::write(&answer, ANSWER).map_err(io)?;
    let scripts = root.join("scripts/servers");
    loud(
        Command::new(python)
            .arg(scripts.join("make_tiny_gguf.py"))
            .arg(&model)
            .arg("--answer")
            .arg(&answer),
    )?;
    let mut child = Command::new(python)
        .arg(scripts.join("llama_server.py"))
        .arg("--model")
        .arg(&model)
        .args([
            "--alias",
            "tiny-coder",
            "--port",
            "0",
            "--parent-pid",
            &std::process::id().to_string(),
        ])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(io)?;
    let mut line = String::new();
    let pipe = child.stdout.take();
    let mut server = Server {
        child,
        url: String::new(),
    };
    BufReader::new(pipe.ok_or("the server has no standard output")?)
        .read_line(&mut line)
        .map_err(io)?;
    let url = line
        .trim_end()
        .strip_prefix("READY ")
        .ok_or("the llama.cpp server did not start")?;
    server.url = url.to_owned();
    Ok(server)
}

/// Did it end well? Nothing of it is shown.
pub fn quiet(command: &mut Command) -> bool {
    let silent = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    silent.status().is_ok_and(|status| status.success())
}

/// Runs it to its end.
///
/// # Errors
/// The last line of what it said.
pub fn loud(command: &mut Command) -> Result<(), String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("`{program}` cannot be run: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let last = said
        .lines()
        .rev()
        .find(|line| !line.trim().is_empty())
        .unwrap_or("it said nothing");
    Err(format!("`{program}` failed: {last}"))
}
