//! The rogue as a toolbox: a model calls it in a conversation about the repository.
//!
//! Owns: its files, the consent to its tools, and the conversation. Never: makes the attempts of a copy again: those of git, its history
//! and shared folders need what a toolbox is not given, and those of the filter of system calls find the same filter.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use super::basics::write_file;
use super::ground::{Ground, make_folders};
use super::runs::{AttemptReport, ProductRunner};
use super::suite;
use crate::error::GateError;

/// Classes of attempts that a toolbox makes, as in `scripts/rogue/toolbox.py`.
pub(super) const KINDS: [&str; 9] = [
    "descriptors",
    "files",
    "messages",
    "mounts",
    "namespaces",
    "network",
    "processes",
    "reads",
    "withheld",
];
/// Name of the profile of the toolbox.
const TOOLBOX: &str = "rogue-toolbox";
/// Name of the profile of the model that calls it.
const MODEL: &str = "rogue-model";

/// Writes the rogue's files next to the repository, with profiles of the toolbox and of a model.
pub(super) fn lay_out(
    ground: &Ground,
    python: &Path,
    profiles: &Path,
    config: &Value,
) -> Result<(), GateError> {
    let folder = ground.top_folder().join("toolbox");
    make_folders(&folder)?;
    suite::copy_files(&folder)?;
    suite::copy_toolbox(&folder)?;
    write_file(&folder.join("rogue.json"), &config.to_string())?;
    let mut args = vec![folder.join("toolbox.py"), folder.join("rogue.json")];
    for name in ["reports.py", "rogue.py", "runs.py", "whole.py"] {
        args.push(folder.join(name));
    }
    let attempts = folder.join("attempts");
    let failed = || GateError::file(&attempts);
    for entry in std::fs::read_dir(&attempts).map_err(failed())? {
        let path = entry.map_err(failed())?.path();
        // A folder of compiled files may lie there.
        if path.extension().is_some_and(|extension| extension == "py") {
            args.push(path);
        }
    }
    let toolbox = json!({
        "provider": TOOLBOX, "name": TOOLBOX, "adapter": "toolbox", "timeout_seconds": 280,
        "program": {"command": python, "args": args},
    });
    write_file(&profiles.join(format!("{TOOLBOX}.json")), &toolbox.to_string())?;
    let model = json!({
        "provider": MODEL, "name": MODEL, "adapter": "openai", "model": "m", "requires_key": false,
        // Large enough that no result is cut off.
        "capabilities": {"context_window": 2_000_000},
    });
    write_file(&profiles.join(format!("{MODEL}.json")), &model.to_string())
}

impl ProductRunner<'_> {
    /// Consents to the tools of the toolbox. Called before anything is measured, because the product keeps the consent in a file.
    pub(super) fn trust_toolbox(&self) -> Result<Result<(), String>, GateError> {
        let review = self.call(&["tool", "trust", TOOLBOX, "--json"])?;
        let accepted = self.call(&[
            "tool",
            "trust",
            TOOLBOX,
            "--accept",
            review.text_at("sha256"),
            "--json",
        ])?;
        Ok(match accepted.code {
            Some(0) => Ok(()),
            _ => Err(format!("{} {}", review.summarize_end(), accepted.stderr)),
        })
    }

    /// Has a model call the toolbox once for each class of attempts, all at once. Returns the rogue's reports, or the reason why there
    /// are none.
    pub(super) fn call_toolbox(&self) -> Result<Result<Vec<AttemptReport>, String>, GateError> {
        if let Err(why) = self.trust_toolbox()? {
            return Ok(Err(why));
        }
        let mut model = ModelServer::start(self.python, self.ground)?;
        let address = format!("http://127.0.0.1:{}/v1", model.port);
        let flags = [
            "chat",
            "send",
            "-p",
            MODEL,
            "--base-url",
            &address,
            "-c",
            TOOLBOX,
            "--tools",
            "--tool",
            TOOLBOX,
            "--json",
            "Look around.",
        ];
        let ended = self.call(&flags)?;
        let results: Vec<String> = match ended.code {
            Some(0) => serde_json::from_str(&model.read_line()?).unwrap_or_default(),
            _ => Vec::new(),
        };
        let lines = results.iter().flat_map(|text| text.lines());
        let reports: Result<Vec<AttemptReport>, _> = lines.map(serde_json::from_str).collect();
        Ok(match reports {
            Ok(all) if !all.is_empty() => Ok(all),
            Ok(_) => Err(format!(
                "the toolbox left no lines: {} {}",
                ended.summarize_end(),
                ended.stderr
            )),
            Err(error) => Err(format!(
                "a result has no line of the rogue ({error}): {results:?}"
            )),
        })
    }
}

/// Model's server outside. It is ended when this value is dropped.
struct ModelServer {
    child: Child,
    lines: BufReader<std::process::ChildStdout>,
    port: String,
}

impl ModelServer {
    fn start(python: &Path, ground: &Ground) -> Result<Self, GateError> {
        let script = ground.top_folder().join("toolbox/model.py");
        let failed = || GateError::file(&script);
        let mut command = Command::new(python);
        command
            .arg("-B")
            .arg(&script)
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .stdout(Stdio::piped());
        let mut child = command.spawn().map_err(failed())?;
        let Some(stdout) = child.stdout.take() else {
            return Err(GateError::Usage("the model's server has no output".to_owned()));
        };
        let mut server = Self {
            child,
            lines: BufReader::new(stdout),
            port: String::new(),
        };
        server.port = server.read_line()?.trim().to_owned();
        Ok(server)
    }

    fn read_line(&mut self) -> Result<String, GateError> {
        let mut line = String::new();
        let read = self.lines.read_line(&mut line);
        read.map_err(GateError::file("the model's server"))?;
        Ok(line)
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        // Errors mean that it has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
