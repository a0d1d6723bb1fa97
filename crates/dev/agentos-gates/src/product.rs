//! The program that is judged, called as a user would.
//!
//! Owns: its environment, its arguments, and reading what it prints. Never: trusts what it prints.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use agentos_tool::{ExecutionMode, ToolHealth};
use agentos_verdict::{Mode, ProviderSpec};
use serde::Deserialize;
use serde_json::Value;

use crate::child::Ended;
use crate::error::GateError;
use crate::options::Asked;

/// A key that opens nothing: where nobody set one, the program is given this, and it must show up nowhere.
const CANARY: &str = "agentos-gate-canary-5f2b8c41d09e";
/// A shorter key would be found in text that has nothing to do with it.
const SHORTEST_KEY: usize = 8;

/// The program with everything that its calls have in common.
pub(crate) struct Product<'a> {
    pub(crate) spec: &'a ProviderSpec,
    asked: &'a Asked,
    home: PathBuf,
    /// The key it is given, or why it is given none.
    key: Result<OsString, String>,
}

#[derive(Deserialize)]
struct HealthAnswer {
    tools: Vec<ToolHealth>,
}

impl<'a> Product<'a> {
    /// Returns the program with an empty home in `scratch`. Where it has no key at all, it is given one that opens
    /// nothing, to see that it shows up nowhere.
    ///
    /// # Errors
    /// When the program cannot be asked if it has a key of its own.
    pub(crate) fn new(spec: &'a ProviderSpec, asked: &'a Asked, scratch: &Path) -> Result<Self, GateError> {
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
                // A vendor would be asked with it.
                Mode::Gate | Mode::Manual if spec.place == ExecutionMode::Cloud.as_str() => {
                    Err(format!("no `{name}` is set: leaks were not looked for"))
                }
                Mode::Gate => Ok(CANARY.into()),
                Mode::Manual => product
                    .stored_key(scratch)?
                    .map_or_else(|| Ok(CANARY.into()), Err),
            };
        }
        Ok(product)
    }

    /// With a person's settings the program may have a key that no gate can read; why its leaks cannot be told.
    fn stored_key(&self, directory: &Path) -> Result<Option<String>, GateError> {
        let ended = self.ask(directory, &["tool", "auth", "status", "--json"])?;
        let Some(status) = ended.json.pointer(&format!("/keys/{}", self.spec.id)) else {
            let silent = "`tool auth status` does not say if there is a key: leaks were not looked for";
            return Ok(Some(silent.to_owned()));
        };
        let held = |field: &&str| status.get(field).is_some_and(|value| !value.is_null());
        let has_key = ["source", "withheld"].iter().any(held);
        let why = "the program has a key of its own, which no gate can read: leaks were not looked for";
        Ok(has_key.then(|| why.to_owned()))
    }

    /// Returns the key that must show up nowhere.
    ///
    /// # Errors
    /// Why no leak of it could be told.
    pub(crate) fn key(&self) -> Result<&str, String> {
        let why = match self.key.as_ref().map(|key| key.to_str()) {
            Ok(Some(key)) if key.len() >= SHORTEST_KEY => return Ok(key),
            Ok(Some(_)) => "is too short to be told from other text",
            Ok(None) => "is not UTF-8",
            Err(reason) => return Err(reason.clone()),
        };
        let name = self.spec.variable_name("API_KEY");
        Err(format!("the key in `{name}` {why}: leaks were not looked for"))
    }

    /// Calls `agentos tool health`: the answer for the gate's provider, or why it cannot be read.
    pub(crate) fn health(&self, directory: &Path) -> Result<(Ended, Result<ToolHealth, String>), GateError> {
        let id = self.spec.id.as_str();
        let ended = self.call(directory, &["tool", "health", "--provider", id, "--json"])?;
        let health = serde_json::from_str::<HealthAnswer>(&ended.stdout)
            .map_err(|error| ended.unreadable("tool health", &error))
            .and_then(|answer| {
                let found = answer.tools.into_iter().find(|tool| tool.provider == id);
                found.ok_or_else(|| format!("`tool health` says nothing of `{id}`"))
            });
        Ok((ended, health))
    }

    /// Calls `agentos tool run`: the result as JSON, or why it cannot be read.
    pub(crate) fn run(
        &self,
        repository: &Path,
        task: &str,
        file: Option<&str>,
    ) -> Result<(Ended, Result<Value, String>), GateError> {
        let shown = repository.to_string_lossy();
        let fixed = ["tool", "run", "-p", &self.spec.id, task];
        let mut args = [&fixed[..], &["--repo", &shown, "--json"]].concat();
        args.extend(file.into_iter().flat_map(|file| ["--file", file]));
        let ended = self.call(repository, &args)?;
        let result =
            serde_json::from_str(&ended.stdout).map_err(|error| ended.unreadable("tool run", &error));
        Ok((ended, result))
    }

    /// Makes a call that reaches the provider.
    fn call(&self, directory: &Path, args: &[&str]) -> Result<Ended, GateError> {
        let options = &self.asked.options;
        let place = options.base_url.iter().flat_map(|url| ["--base-url", url]);
        let model = options.model.iter().flat_map(|model| ["--model", model]);
        let args: Vec<&str> = args.iter().copied().chain(place).chain(model).collect();
        self.ask(directory, &args)
    }

    fn ask(&self, directory: &Path, args: &[&str]) -> Result<Ended, GateError> {
        let asked = self.asked;
        let mut command = match asked.mode {
            Mode::Manual => Command::new(&asked.agentos),
            Mode::Gate => asked.closed(&self.home),
        };
        command.args(args).current_dir(directory).env("NO_COLOR", "1");
        command.envs(
            self.key
                .iter()
                .map(|key| (self.spec.variable_name("API_KEY"), key)),
        );
        let limit = Duration::from_secs(asked.options.time_limit);
        Ended::run(&mut command, "", Some(limit))
    }
}
