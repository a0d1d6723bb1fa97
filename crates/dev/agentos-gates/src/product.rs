//! The judged program, called as a user would call it.
//!
//! Owns: its environment, its arguments, and parsing its output. Never: trusts its output.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use agentos_tool::{ExecutionMode, ToolHealth};
use agentos_verdict::{Mode, ProviderSpec};
use serde::Deserialize;
use serde_json::Value;

use crate::child::FinishedCall;
use crate::error::GateError;
use crate::options::GateRun;

/// An invented key. It is passed to the program if no key is set, and must appear nowhere afterwards.
const CANARY: &str = "agentos-gate-canary-5f2b8c41d09e";
/// Shortest key that is searched for. A shorter one could occur in unrelated text.
const SHORTEST_KEY: usize = 8;

/// The program with the settings that all its calls share.
pub(crate) struct JudgedProduct<'a> {
    pub(crate) spec: &'a ProviderSpec,
    asked: &'a GateRun,
    home: PathBuf,
    /// The key for the program, or the reason why it gets none.
    key: Result<OsString, String>,
}

#[derive(Deserialize)]
struct HealthAnswer {
    tools: Vec<ToolHealth>,
}

impl<'a> JudgedProduct<'a> {
    /// Prepares the program with an empty home in `scratch`. If it has no key, it gets an invented one, so that a leak
    /// would be visible.
    ///
    /// # Errors
    /// When the program cannot be run to find out whether it has a stored key.
    pub(crate) fn new(spec: &'a ProviderSpec, asked: &'a GateRun, scratch: &Path) -> Result<Self, GateError> {
        let name = spec.variable_name("API_KEY");
        let mut variables = asked.variables.iter();
        let own = variables.find(|(variable, key)| *variable == name && !key.is_empty());
        let mut product = Self {
            spec,
            asked,
            home: scratch.join("home"),
            key: own.map(|(_, key)| key.clone()).ok_or_else(String::new),
        };
        if product.key.is_err() {
            product.key = match asked.mode {
                // A wrong key must not be sent to a vendor's server.
                Mode::Gate | Mode::Manual if spec.place == ExecutionMode::Cloud.as_str() => {
                    Err(format!("`{name}` is not set: no search for leaks"))
                }
                Mode::Gate => Ok(CANARY.into()),
                // With a person's settings an invented key would take precedence over the stored one and break
                // the connection.
                Mode::Manual => product
                    .stored_key(scratch)?
                    .map_or_else(|| Ok(CANARY.into()), Err),
            };
        }
        Ok(product)
    }

    /// Returns the reason why leaks cannot be detected, or `None` if the program has no stored key. With a person's settings
    /// it may have a key that the gate cannot read.
    fn stored_key(&self, directory: &Path) -> Result<Option<String>, GateError> {
        let ended = self.call_program(directory, &["tool", "auth", "status", "--json"])?;
        let Some(status) = ended.json.pointer(&format!("/keys/{}", self.spec.id)) else {
            let silent = "`tool auth status` does not report whether there is a key: no search for leaks";
            return Ok(Some(silent.to_owned()));
        };
        let held = |field: &&str| status.get(field).is_some_and(|value| !value.is_null());
        let has_key = ["source", "withheld"].iter().any(held);
        let why = "the program has a stored key, which the gate cannot read: no search for leaks";
        Ok(has_key.then(|| why.to_owned()))
    }

    /// Returns the key that must appear nowhere.
    ///
    /// # Errors
    /// When there is no key that can be searched for; the message is the reason.
    pub(crate) fn searched_key(&self) -> Result<&str, String> {
        let why = match self.key.as_ref().map(|key| key.to_str()) {
            Ok(Some(key)) if key.len() >= SHORTEST_KEY => return Ok(key),
            Ok(Some(_)) => "is so short that it could occur in unrelated text",
            Ok(None) => "is not UTF-8",
            Err(reason) => return Err(reason.clone()),
        };
        let name = self.spec.variable_name("API_KEY");
        Err(format!("the key in `{name}` {why}: no search for leaks"))
    }

    /// Calls `agentos tool health`. Returns the report for the gate's provider, or the reason why it cannot be read.
    pub(crate) fn check_health(
        &self,
        directory: &Path,
    ) -> Result<(FinishedCall, Result<ToolHealth, String>), GateError> {
        let id = self.spec.id.as_str();
        let ended = self.call(directory, &["tool", "health", "--provider", id, "--json"])?;
        let health = serde_json::from_str::<HealthAnswer>(&ended.stdout)
            .map_err(|error| ended.unreadable_reason("tool health", &error))
            .and_then(|answer| {
                // By name: the gate does not rely on the program to have reported the one provider that was
                // requested.
                let found = answer.tools.into_iter().find(|tool| tool.provider == id);
                found.ok_or_else(|| format!("`tool health` does not report on `{id}`"))
            });
        Ok((ended, health))
    }

    /// Calls `agentos tool run`. Returns the result as JSON, or the reason why it cannot be read.
    pub(crate) fn run(
        &self,
        repository: &Path,
        task: &str,
        file: Option<&str>,
    ) -> Result<(FinishedCall, Result<Value, String>), GateError> {
        let shown = repository.to_string_lossy();
        let fixed = ["tool", "run", "-p", &self.spec.id, task];
        let mut args = [&fixed[..], &["--repo", &shown, "--json"]].concat();
        args.extend(file.into_iter().flat_map(|file| ["--file", file]));
        let ended = self.call(repository, &args)?;
        let result =
            serde_json::from_str(&ended.stdout).map_err(|error| ended.unreadable_reason("tool run", &error));
        Ok((ended, result))
    }

    /// Calls the program with the server and model of the gate's arguments.
    fn call(&self, directory: &Path, args: &[&str]) -> Result<FinishedCall, GateError> {
        let options = &self.asked.options;
        let place = options.base_url.iter().flat_map(|url| ["--base-url", url]);
        let model = options.model.iter().flat_map(|model| ["--model", model]);
        let args: Vec<&str> = args.iter().copied().chain(place).chain(model).collect();
        self.call_program(directory, &args)
    }

    /// Calls the program in the gate's mode, with the key.
    fn call_program(&self, directory: &Path, args: &[&str]) -> Result<FinishedCall, GateError> {
        let asked = self.asked;
        let mut command = match asked.mode {
            Mode::Manual => Command::new(&asked.agentos),
            Mode::Gate => asked.isolated_command(&self.home),
        };
        // Escape sequences for colours would be part of the texts that the gate compares.
        command.args(args).current_dir(directory).env("NO_COLOR", "1");
        command.envs(
            self.key
                .iter()
                .map(|key| (self.spec.variable_name("API_KEY"), key)),
        );
        let limit = Duration::from_secs(asked.options.time_limit);
        FinishedCall::run(&mut command, "", Some(limit))
    }
}
