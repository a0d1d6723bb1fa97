//! Where a gate calls the program: scratch repositories, an empty home, and nothing of the machine's own settings.
//!
//! Owns: making them, calling the program, and remembering every call for the tape. Never: judges.

use std::cell::{Cell, RefCell};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::error::GateError;
use crate::witness::{self, State};

/// The change that every scratch repository waits for.
pub(super) const FIX: &str = "--- a/src/lib.rs\n+++ b/src/lib.rs\n@@ -1,3 +1,3 @@\n pub fn add(a: i32, b: i32) -> i32 {\n-    a - b\n+    a + b\n }\n";
/// A change that policy asks a person about.
pub(super) const WORKFLOW: &str = "diff --git a/.github/workflows/ci.yml b/.github/workflows/ci.yml\nnew file mode 100644\n--- /dev/null\n\
                                   +++ b/.github/workflows/ci.yml\n@@ -0,0 +1 @@\n+on: [push]\n";

/// The program and the place where it is called.
pub(super) struct Ground {
    agentos: PathBuf,
    scratch: tempfile::TempDir,
    made: Cell<u32>,
    calls: RefCell<Vec<Value>>,
}

/// How one call ended.
#[derive(Debug, Clone)]
pub(super) struct Said {
    /// The exit code; none when a signal ended it.
    pub(super) code: Option<i32>,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

impl Said {
    /// What it printed as JSON; null where that is none.
    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_default()
    }

    /// A text of the printed JSON; empty where it is not there.
    pub(super) fn text(&self, pointer: &str) -> String {
        let json = self.json();
        json.pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    }

    /// For the details of a check.
    pub(super) fn short(&self) -> String {
        let last = self.stderr.trim().lines().next_back().unwrap_or_default();
        let json = self.json();
        let find = |name: &str| {
            let here = json.get(name).or_else(|| json.pointer(&format!("/error/{name}")));
            here.and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let said: String = [find("outcome"), find("code"), find("message"), last.to_owned()]
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join(", ");
        let shown: String = said.chars().take(240).collect();
        match self.code {
            Some(code) => format!("exit code {code}: {shown}"),
            None => format!("ended by a signal: {shown}"),
        }
    }

    /// Whether it broke instead of answering.
    pub(super) fn broke(&self) -> bool {
        !matches!(self.code, Some(0 | 2..=9)) || self.stderr.contains("panicked")
    }
}

impl Ground {
    pub(super) fn new(agentos: &Path) -> Result<Self, GateError> {
        let scratch = tempfile::TempDir::new().map_err(GateError::file("the temporary folder"))?;
        let home = scratch.path().join("home");
        std::fs::create_dir_all(&home).map_err(GateError::file(&home))?;
        Ok(Self {
            agentos: agentos.to_owned(),
            scratch,
            made: Cell::new(0),
            calls: RefCell::default(),
        })
    }

    /// Everything the gate makes lies below.
    pub(super) fn scratch(&self) -> &Path {
        self.scratch.path()
    }

    pub(super) fn home(&self) -> PathBuf {
        self.scratch().join("home")
    }

    /// Every call, for the tape.
    pub(super) fn calls(&self) -> Vec<Value> {
        self.calls.borrow().clone()
    }

    /// A new repository with one commit, which waits for [`FIX`].
    pub(super) fn repository(&self) -> Result<PathBuf, GateError> {
        let number = self.made.get() + 1;
        self.made.set(number);
        let folder = self.scratch().join(format!("r{number}"));
        std::fs::create_dir_all(&folder).map_err(GateError::file(&folder))?;
        witness::make_repository(&folder)
    }

    /// Writes a file below a folder.
    pub(super) fn put(
        &self,
        folder: &Path,
        name: &str,
        text: impl AsRef<[u8]>,
    ) -> Result<PathBuf, GateError> {
        let file = folder.join(name);
        if let Some(above) = file.parent() {
            std::fs::create_dir_all(above).map_err(GateError::file(above))?;
        }
        std::fs::write(&file, text).map_err(GateError::file(&file))?;
        Ok(file)
    }

    /// Calls the program in a repository.
    pub(super) fn call(&self, repository: &Path, args: &[&str]) -> Result<Said, GateError> {
        self.call_with(repository, args, "", &[])
    }

    /// Calls the program with an answer on standard input.
    pub(super) fn give(&self, repository: &Path, args: &[&str], input: &str) -> Result<Said, GateError> {
        self.call_with(repository, args, input, &[])
    }

    /// Calls the program with more in its environment.
    pub(super) fn call_with(
        &self,
        repository: &Path,
        args: &[&str],
        input: &str,
        more: &[(&str, &str)],
    ) -> Result<Said, GateError> {
        let mut child = self.start(repository, args, more)?;
        let pipe = child.stdin.take();
        let output = std::thread::scope(|scope| {
            // The program judges what arrived; a pipe that it closed early shows in its exit code.
            scope.spawn(move || pipe.map(|mut pipe| pipe.write_all(input.as_bytes())));
            child.wait_with_output()
        })
        .map_err(|source| self.cannot_start(source))?;
        let said = Said {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        };
        let call = json!({"args": args, "exit_code": said.code, "said": said.short()});
        self.calls.borrow_mut().push(call);
        Ok(said)
    }

    /// Starts the program and leaves it running.
    pub(super) fn start(
        &self,
        repository: &Path,
        args: &[&str],
        more: &[(&str, &str)],
    ) -> Result<Child, GateError> {
        let mut command = Command::new(&self.agentos);
        command
            .args(args)
            .current_dir(repository)
            .env_clear()
            .env("HOME", self.home())
            .env("NO_COLOR", "1")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
            .envs([
                ("GIT_AUTHOR_NAME", "Gate"),
                ("GIT_AUTHOR_EMAIL", "gate@example.com"),
                ("GIT_COMMITTER_NAME", "Gate"),
                ("GIT_COMMITTER_EMAIL", "gate@example.com"),
            ])
            .envs(more.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command.spawn().map_err(|source| self.cannot_start(source))
    }

    fn cannot_start(&self, source: std::io::Error) -> GateError {
        GateError::Start {
            program: self.agentos.clone(),
            source,
        }
    }

    /// What a call changed, seen by the gate itself.
    pub(super) fn changed_by(
        &self,
        repository: &Path,
        call: impl FnOnce() -> Result<Said, GateError>,
    ) -> Result<(Said, Vec<String>), GateError> {
        let before = State::measure(repository)?;
        let said = call()?;
        let changed = before.differences(&State::measure(repository)?);
        Ok((said, changed))
    }

    /// Asks git.
    pub(super) fn git(&self, repository: &Path, args: &[&str]) -> Result<String, GateError> {
        Ok(witness::git(repository, args, None)?.trim_end().to_owned())
    }
}
