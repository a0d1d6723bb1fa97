//! The product, run with the rogue as its tool.
//!
//! Owns: the calls, and reading what came of them. Never: passes anything but what a user would.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ground::Ground;
use super::suite::AttemptRow;
use crate::error::GateError;

/// In whose name the product would commit.
const IDENTITY: [(&str, &str); 4] = [
    ("GIT_AUTHOR_NAME", "rogue"),
    ("GIT_AUTHOR_EMAIL", "rogue@localhost"),
    ("GIT_COMMITTER_NAME", "rogue"),
    ("GIT_COMMITTER_EMAIL", "rogue@localhost"),
];

/// A profile of the user's own that allows the rogue one host.
pub(super) const PROXIED: &str = "rogue-proxied";

/// A tool that does what it should.
pub(super) const HARMLESS: [&str; 3] = ["sh", "-c", "echo x >honest"];

/// Seconds for one scene; some attempts wait for an answer that never comes.
const SCENE_SECONDS: &str = "400";

/// The product and the ground it is run on.
pub(super) struct Program<'a> {
    pub(super) agentos: &'a Path,
    pub(super) python: &'a Path,
    pub(super) ground: &'a Ground,
    /// The user's cache folder.
    pub(super) cache: PathBuf,
}

/// One attempt, as the rogue reports it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct AttemptReport {
    /// Name of the attempt.
    pub(super) attempt: String,
    /// Did the call succeed?
    pub(super) succeeded: bool,
    /// Why not; `None` if it succeeded.
    pub(super) said: Option<String>,
    /// Beginning of what was read; `None` if nothing was.
    pub(super) read: Option<String>,
}

/// One attempt, as the gate judges it.
#[derive(Debug, Clone, Serialize)]
pub(super) struct AttemptVerdict {
    #[serde(flatten)]
    pub(super) row: AttemptRow,
    /// Did it reach anything outside?
    pub(super) succeeded: bool,
    /// What was seen.
    pub(super) said: String,
}

/// How one call ended.
pub(super) struct Ended {
    pub(super) code: Option<i32>,
    pub(super) result: Value,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

impl Ended {
    /// Text of a field of the result, empty if it has none.
    pub(super) fn text(&self, name: &str) -> &str {
        self.result.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    /// Files in the answer.
    pub(super) fn touched(&self) -> Value {
        self.result.get("files_touched").cloned().unwrap_or_default()
    }

    /// Lines that the answer adds.
    pub(super) fn added(&self) -> Vec<&str> {
        let lines = self
            .text("diff")
            .lines()
            .filter_map(|line| line.strip_prefix('+'));
        lines.filter(|line| !line.starts_with("++ ")).collect()
    }

    /// One line about the end.
    pub(super) fn summary(&self) -> String {
        let message = self.text("error_message");
        format!(
            "ended as `{}`, exit code {:?} {message}",
            self.text("status"),
            self.code
        )
    }
}

impl Program<'_> {
    /// Returns why nothing can be judged here, `None` if it can; also makes the product's own state, before anything is
    /// measured.
    pub(super) fn cannot_confine(&self) -> Result<Option<String>, GateError> {
        let ended = self.tool(&[], &HARMLESS)?;
        let message = ended.text("error_message");
        if message.contains("could not be confined") {
            return Ok(Some(format!("this machine cannot confine a tool: {message}")));
        }
        Ok((ended.code != Some(0)).then(|| format!("no tool can be run: {message} {}", ended.stderr)))
    }

    /// Makes the attempts of one scene; inside, why there are none.
    pub(super) fn scene(&self, scene: &str) -> Result<Result<Vec<AttemptReport>, String>, GateError> {
        let shown = self.ground.shown().display().to_string();
        let flags = ["--timeout", SCENE_SECONDS, "--read", &shown, "--share", "target"];
        let ended = if scene == "proxy" {
            self.call(&[&["tool", "run", "-p", PROXIED, "--json"], &flags[..], &["try"]].concat())?
        } else {
            self.rogue(&flags, None)?
        };
        let names: BTreeSet<&str> = self.names_of(scene).collect();
        // A product that saw what was done passes no diff on; what the rogue answered is in its evidence.
        let kept = match ended.result.get("diff").and_then(Value::as_str) {
            Some(diff) => Some(diff.to_owned()),
            None => self.recorded_answer()?,
        };
        let Some(diff) = kept else {
            return Ok(Err(format!(
                "the rogue left no lines: {} {}",
                ended.summary(),
                ended.stderr
            )));
        };
        let lines = diff.lines().filter_map(|line| line.strip_prefix('+'));
        let reports: Result<Vec<AttemptReport>, _> = lines
            .filter(|line| line.starts_with("{\"attempt\""))
            .map(serde_json::from_str)
            .collect();
        Ok(match reports {
            // The last answer in the record may be that of another scene.
            Ok(reports)
                if reports
                    .iter()
                    .any(|report| names.contains(report.attempt.as_str())) =>
            {
                Ok(reports)
            }
            Ok(_) => Err(format!(
                "the rogue left no lines: {} {}",
                ended.summary(),
                ended.stderr
            )),
            Err(error) => Err(error.to_string()),
        })
    }

    fn names_of(&self, scene: &str) -> impl Iterator<Item = &str> {
        let rows = self.ground.table.iter().filter(move |row| row.scene == scene);
        rows.map(|row| row.attempt.as_str())
    }

    /// Makes the runs that do not end by themselves or abuse the streams: id, whether it was held, what was seen.
    pub(super) fn endless(&self) -> Result<Vec<(&'static str, bool, String)>, GateError> {
        let mut found = Vec::new();
        for (id, flags, status) in [
            ("endless-output", &[][..], "failed"),
            ("fork-bomb", &["--timeout", "20"], "failed"),
            ("outlive", &[], "success"),
            ("memory-bomb", &["--timeout", "30"], "failed"),
            ("large-file", &[], "failed"),
            ("never-ends", &["--timeout", "2"], "timeout"),
            ("stops-itself", &["--timeout", "2"], "timeout"),
            ("kills-everybody", &["--timeout", "20"], "failed"),
        ] {
            let ended = self.rogue(flags, Some(id))?;
            found.push((id, ended.text("status") == status, ended.summary()));
        }
        for id in [
            "protocol-abuse",
            "closes-its-streams",
            "opaque-marks",
            "git-replaced-by-link",
        ] {
            let ended = self.rogue(&[], Some(id))?;
            let touched = ended.touched();
            let honest = touched == serde_json::json!(["honest"]);
            found.push((
                id,
                honest,
                format!("files in the answer: {touched}, {}", ended.summary()),
            ));
        }
        Ok(found)
    }

    /// The last answer in the product's evidence; `None` if it has none.
    fn recorded_answer(&self) -> Result<Option<String>, GateError> {
        let ended = self.call(&["evidence", "show", "--json"])?;
        let records = ended.result.get("records").and_then(Value::as_array);
        let named = records.into_iter().flatten().rev().find_map(|record| {
            let name = record.pointer("/body/answer_sha256")?.as_str()?;
            name.strip_prefix("sha256:")
        });
        let blobs = self.ground.repository().join(".git/agentos/blobs");
        let text = named.and_then(|name| std::fs::read_to_string(blobs.join(name)).ok());
        Ok(text)
    }

    /// Does the product's own record hold?
    pub(super) fn evidence_is_whole(&self) -> Result<(bool, String), GateError> {
        let ended = self.call(&["evidence", "verify", "--json"])?;
        Ok((ended.code == Some(0), format!("exit code {:?}", ended.code)))
    }

    /// Runs the rogue with one of its modes, or with the attempts of the scene `alone` if `name` is `None`.
    pub(super) fn rogue(&self, flags: &[&str], name: Option<&str>) -> Result<Ended, GateError> {
        let python = self.python.to_string_lossy();
        let mut command = vec![python.as_ref(), "rogue.py", "rogue.json"];
        command.extend(name);
        self.tool(flags, &command)
    }

    /// Runs a program as the tool, without landing its answer.
    pub(super) fn tool(&self, flags: &[&str], command: &[&str]) -> Result<Ended, GateError> {
        let fixed = ["tool", "run", "-p", "command", "--json"];
        let args = [&fixed, flags, &["--"], command].concat();
        self.call(&args)
    }

    /// Runs the product to its end.
    pub(super) fn call(&self, args: &[&str]) -> Result<Ended, GateError> {
        self.call_with(None, args)
    }

    /// Runs the product with a limit of open files, `None` if with that of the gate.
    pub(super) fn call_with(&self, open_files: Option<u32>, args: &[&str]) -> Result<Ended, GateError> {
        let output = self
            .command(open_files, args)
            .output()
            .map_err(|source| GateError::Start {
                program: self.agentos.to_owned(),
                source,
            })?;
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        Ok(Ended {
            code: output.status.code(),
            result: serde_json::from_str(&stdout).unwrap_or_default(),
            stdout,
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }

    /// The product, ready to be started by the ground's user.
    pub(super) fn command(&self, open_files: Option<u32>, args: &[&str]) -> Command {
        // A descriptor that is open and a variable that is set, as a careless shell would leave them.
        let leaked = self.ground.outside().join("canary-inherited");
        let limit = open_files.map_or_else(String::new, |count| format!("ulimit -n {count}; "));
        let mut command = Command::new("sh");
        command
            .args(["-c", &format!("{limit}exec 9<>\"$0\"; exec \"$@\"")])
            .arg(leaked)
            .arg(self.agentos)
            .arg("--repo")
            .arg(self.ground.repository())
            .args(args)
            .env("AGENTOS_ROGUE_SECRET", "leaked")
            .env("HOME", self.ground.home())
            // Nothing but its own judgement may keep an answer from landing.
            .envs(IDENTITY)
            .env_remove("XDG_CONFIG_HOME")
            .env("XDG_CACHE_HOME", &self.cache)
            .env_remove("XDG_RUNTIME_DIR")
            .current_dir(self.ground.repository())
            .stdin(Stdio::null());
        self.ground.as_user(&mut command);
        command
    }
}
