//! The product, run with the rogue as its tool.
//!
//! Owns: the calls, and reading what came of them. Never: passes anything but what a user would.

use std::path::Path;
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ground::Ground;
use crate::error::GateError;
use crate::results::Check;

/// In whose name the product would commit.
const IDENTITY: [(&str, &str); 4] = [
    ("GIT_AUTHOR_NAME", "rogue"),
    ("GIT_AUTHOR_EMAIL", "rogue@localhost"),
    ("GIT_COMMITTER_NAME", "rogue"),
    ("GIT_COMMITTER_EMAIL", "rogue@localhost"),
];

/// The product and the ground it is run on.
pub(super) struct Program<'a> {
    pub(super) agentos: &'a Path,
    pub(super) python: &'a Path,
    pub(super) ground: &'a Ground,
}

/// One attempt, as the rogue tells it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Attempt {
    attempt: String,
    kind: String,
    plain: bool,
    succeeded: bool,
    said: Option<String>,
}

/// The verdict on one attempt.
pub(super) fn judged(line: &Attempt) -> Check {
    let said = line.said.clone().unwrap_or_else(|| "it worked".to_owned());
    super::check(
        &line.attempt,
        &format!("{}: no way out", line.kind),
        !line.succeeded,
        said,
    )
}

impl Attempt {
    /// Its name.
    pub(super) fn name(&self) -> &str {
        &self.attempt
    }
}

/// How one call ended.
pub(super) struct Said {
    pub(super) code: Option<i32>,
    pub(super) result: Value,
    pub(super) stderr: String,
}

impl Program<'_> {
    /// Why nothing can be judged here; also makes the product's own state, before anything is measured.
    pub(super) fn cannot_confine(&self) -> Result<Option<String>, GateError> {
        let said = self.tool(&[], &["true"])?;
        let message = said
            .result
            .get("error_message")
            .and_then(Value::as_str)
            .unwrap_or_default();
        Ok(message
            .contains("could not be confined")
            .then(|| format!("this machine cannot confine a tool: {message}")))
    }

    /// All attempts; inside, why there are none.
    pub(super) fn attempts(&self) -> Result<Result<Vec<Attempt>, String>, GateError> {
        let said = self.rogue(&[], None)?;
        let told = said.result.get("diff").and_then(Value::as_str);
        // A product that saw what was done passes no diff on; what the rogue answered is in its evidence.
        let kept = match told {
            Some(diff) => Some(diff.to_owned()),
            None => self.recorded_answer()?,
        };
        let Some(diff) = kept else {
            return Ok(Err(format!(
                "the rogue left no lines (exit code {:?}): {} {}",
                said.code, said.result, said.stderr
            )));
        };
        let lines = diff.lines().filter_map(|line| line.strip_prefix('+'));
        let parsed = lines
            .filter(|line| line.starts_with("{\"attempt\""))
            .map(serde_json::from_str::<Attempt>);
        Ok(parsed
            .collect::<Result<_, _>>()
            .map_err(|error| error.to_string()))
    }

    /// The runs that do not end by themselves or abuse the streams: id, whether it was held, what was seen.
    pub(super) fn endless(&self) -> Result<Vec<(&'static str, bool, String)>, GateError> {
        let mut found = Vec::new();
        for (id, flags, status) in [
            ("endless-output", &[][..], "failed"),
            ("fork-bomb", &["--timeout", "20"], "failed"),
            ("outlive", &[], "success"),
            ("memory-bomb", &["--timeout", "30"], "failed"),
            ("large-file", &[], "failed"),
            ("never-ends", &["--timeout", "2"], "timeout"),
        ] {
            let said = self.rogue(flags, Some(id))?;
            let ended = said
                .result
                .get("status")
                .and_then(Value::as_str)
                .unwrap_or_default();
            found.push((
                id,
                ended == status,
                format!("ended as `{ended}`, exit code {:?}", said.code),
            ));
        }
        let said = self.rogue(&[], Some("protocol-abuse"))?;
        let touched = said.result.get("files_touched").cloned().unwrap_or_default();
        let honest = touched == serde_json::json!(["honest"]);
        found.push((
            "protocol-abuse",
            honest,
            format!("files in the answer: {touched}"),
        ));
        Ok(found)
    }

    /// The last answer in the product's evidence.
    fn recorded_answer(&self) -> Result<Option<String>, GateError> {
        let said = self.call(&["evidence", "show", "--json"])?;
        let records = said.result.get("records").and_then(Value::as_array);
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
        let said = self.call(&["evidence", "verify", "--json"])?;
        Ok((said.code == Some(0), format!("exit code {:?}", said.code)))
    }

    fn rogue(&self, flags: &[&str], name: Option<&str>) -> Result<Said, GateError> {
        let python = self.python.to_string_lossy();
        let mut command = vec![python.as_ref(), "rogue.py", "rogue.json"];
        command.extend(name);
        self.tool(flags, &command)
    }

    fn tool(&self, flags: &[&str], command: &[&str]) -> Result<Said, GateError> {
        let fixed = ["tool", "run", "-p", "command", "--json"];
        let args = [&fixed, flags, &["--"], command].concat();
        self.call(&args)
    }

    pub(super) fn call(&self, args: &[&str]) -> Result<Said, GateError> {
        // A descriptor that is open and a variable that is set, as a careless shell would leave them.
        let leaked = self.ground.outside().join("canary-inherited");
        let output = Command::new("sh")
            .args(["-c", "exec 9<>\"$0\"; exec \"$@\""])
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
            .current_dir(self.ground.repository())
            .stdin(Stdio::null())
            .output()
            .map_err(|source| GateError::Start {
                program: self.agentos.to_owned(),
                source,
            })?;
        Ok(Said {
            code: output.status.code(),
            result: serde_json::from_slice(&output.stdout).unwrap_or_default(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }
}
