//! The surroundings of a gate's calls: scratch repositories, an empty home, and no settings of the machine.
//!
//! Owns: creating them, calling the program, and keeping every call for the tape. Never: judges.

use std::cell::{Cell, RefCell};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::child::FinishedCall;
use crate::error::GateError;
use crate::options::GateRun;
use crate::witness::{self, IDENTITY, RepoState};

/// A change that fits every scratch repository.
pub(super) const FIX: &str = "--- a/src/lib.rs\n+++ b/src/lib.rs\n@@ -1,3 +1,3 @@\n pub fn add(a: i32, b: i32) -> i32 {\n-    a - b\n+    a + b\n }\n";
/// A change for which policy requires a person's consent.
pub(super) const WORKFLOW: &str = "diff --git a/.github/workflows/ci.yml b/.github/workflows/ci.yml\nnew file mode 100644\n--- /dev/null\n\
                                   +++ b/.github/workflows/ci.yml\n@@ -0,0 +1 @@\n+on: [push]\n";

/// The program and the scratch folder for its calls.
pub(super) struct Ground {
    asked: GateRun,
    scratch: tempfile::TempDir,
    // Cells, because scenes hold the ground by a shared reference while they make calls.
    made: Cell<u32>,
    calls: RefCell<Vec<Value>>,
}

impl Ground {
    pub(super) fn new(asked: &GateRun) -> Result<Self, GateError> {
        let scratch = tempfile::TempDir::new().map_err(GateError::file("the temporary folder"))?;
        let home = scratch.path().join("home");
        std::fs::create_dir_all(&home).map_err(GateError::file(&home))?;
        Ok(Self {
            asked: asked.clone(),
            scratch,
            made: Cell::new(0),
            calls: RefCell::default(),
        })
    }

    /// Returns the scratch folder, which contains everything that the gate creates.
    pub(super) fn scratch(&self) -> &Path {
        self.scratch.path()
    }

    pub(super) fn home(&self) -> PathBuf {
        self.scratch().join("home")
    }

    /// Returns all calls so far, for the tape.
    pub(super) fn all_calls(&self) -> Vec<Value> {
        self.calls.borrow().clone()
    }

    /// Creates a repository with one commit, to which [`FIX`] applies.
    pub(super) fn make_repository(&self) -> Result<PathBuf, GateError> {
        let number = self.made.get() + 1;
        self.made.set(number);
        // A new folder for each repository, because evidence and journal of an earlier case would change the
        // next verdict.
        witness::make_repository(&self.scratch().join(format!("r{number}")))
    }

    /// Writes a file and the folders above it.
    pub(super) fn write_file(&self, file: &Path, text: impl AsRef<[u8]>) -> Result<(), GateError> {
        if let Some(above) = file.parent() {
            std::fs::create_dir_all(above).map_err(GateError::file(above))?;
        }
        std::fs::write(file, text).map_err(GateError::file(file))
    }

    /// Writes a file in the scratch folder and returns its path as an argument.
    pub(super) fn write_scratch(&self, name: &str, text: impl AsRef<[u8]>) -> Result<String, GateError> {
        let file = self.scratch().join(name);
        self.write_file(&file, text)?;
        Ok(file.display().to_string())
    }

    /// Calls the program in a repository.
    pub(super) fn call(&self, repository: &Path, args: &[&str]) -> Result<FinishedCall, GateError> {
        self.call_with(repository, args, "", &[])
    }

    /// Calls the program with an answer on standard input.
    pub(super) fn call_with_input(
        &self,
        repository: &Path,
        args: &[&str],
        input: &str,
    ) -> Result<FinishedCall, GateError> {
        self.call_with(repository, args, input, &[])
    }

    /// Calls the program with additional environment variables.
    pub(super) fn call_with(
        &self,
        repository: &Path,
        args: &[&str],
        input: &str,
        more: &[(&str, &str)],
    ) -> Result<FinishedCall, GateError> {
        let mut command = self.command(repository, args);
        let ended = FinishedCall::run(command.envs(more.iter().copied()), input, None)?;
        let call = json!({"args": args, "exit_code": ended.code, "said": ended.describe_end()});
        self.calls.borrow_mut().push(call);
        Ok(ended)
    }

    /// Returns the command that starts the program in a repository.
    pub(super) fn command(&self, repository: &Path, args: &[&str]) -> Command {
        let mut command = self.asked.isolated_command(&self.home());
        command.args(args).current_dir(repository).envs(IDENTITY);
        command
    }

    /// Makes a call and measures which parts of the repository it changed.
    pub(super) fn changed_by(
        &self,
        repository: &Path,
        call: impl FnOnce() -> Result<FinishedCall, GateError>,
    ) -> Result<(FinishedCall, Vec<String>), GateError> {
        let before = RepoState::measure(repository)?;
        let ended = call()?;
        let changed = before.list_differences(&RepoState::measure(repository)?);
        Ok((ended, changed))
    }

    /// Runs git and returns its output without the last line break.
    pub(super) fn run_git(&self, repository: &Path, args: &[&str]) -> Result<String, GateError> {
        Ok(witness::run_git(repository, args, None)?.trim_end().to_owned())
    }
}
