//! The program that is judged, run as a child process.
//!
//! Owns: its environment, its arguments, and reading what it prints. Never: trusts what it prints.

use std::ffi::OsString;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use agentos_tool::{ExecutionMode, ToolHealth};
use serde::Deserialize;
use serde_json::Value;

use crate::error::GateError;
use crate::gate::GateSpec;
use crate::options::Options;
use crate::results::Mode;

/// The program with everything that its calls have in common.
pub(crate) struct Product<'a> {
    spec: &'a GateSpec,
    options: &'a Options,
    home: PathBuf,
    /// The key it is given, or why it is given none.
    key: Result<OsString, String>,
}

/// A shorter key would be found in text that has nothing to do with it.
const SHORTEST_KEY: usize = 8;

/// What one call printed.
#[derive(Debug, Clone)]
pub(crate) struct Printed {
    /// The exit code, or none when a signal ended it.
    pub(crate) code: Option<i32>,
    /// Standard output.
    pub(crate) stdout: String,
    /// Standard error.
    pub(crate) stderr: String,
    /// It did not end by itself within the limit.
    pub(crate) out_of_time: bool,
}

#[derive(Deserialize)]
struct HealthAnswer {
    tools: Vec<ToolHealth>,
}

impl<'a> Product<'a> {
    /// The program with an empty home in `scratch`. Where it has no key at all, it is given one that opens
    /// nothing, to see that it shows up nowhere.
    ///
    /// # Errors
    /// When the program cannot be asked if it has a key of its own.
    pub(crate) fn new(
        spec: &'a GateSpec,
        options: &'a Options,
        scratch: &Path,
        canary: &str,
    ) -> Result<Self, GateError> {
        let own = options.environment.key().filter(|key| !key.is_empty());
        let mut product = Self {
            spec,
            options,
            home: scratch.join("home"),
            key: own.cloned().ok_or_else(String::new),
        };
        if product.key.is_err() {
            product.key = match options.mode {
                // A vendor would be asked with it.
                Mode::Gate | Mode::Manual if spec.place == ExecutionMode::Cloud => Err(format!(
                    "no `AGENTOS_{}_API_KEY` is set: leaks were not looked for",
                    spec.provider.to_uppercase()
                )),
                Mode::Gate => Ok(canary.into()),
                Mode::Manual => product
                    .stored_key(scratch)?
                    .map_or_else(|| Ok(canary.into()), Err),
            };
        }
        Ok(product)
    }

    /// With a person's settings the program may have a key that no gate can read; why its leaks cannot be told.
    fn stored_key(&self, directory: &Path) -> Result<Option<String>, GateError> {
        let printed = self.ask(directory, &["tool", "auth", "status", "--json"])?;
        let answer: Option<Value> = serde_json::from_str(&printed.stdout).ok();
        let status = answer
            .as_ref()
            .and_then(|answer| answer.get("keys")?.get(self.spec.provider));
        let Some(status) = status else {
            return Ok(Some(
                "`tool auth status` does not say if there is a key: leaks were not looked for".to_owned(),
            ));
        };
        let held = ["source", "withheld"]
            .iter()
            .any(|field| status.get(field).is_some_and(|value| !value.is_null()));
        Ok(held.then(|| {
            "the program has a key of its own, which no gate can read: leaks were not looked for".to_owned()
        }))
    }

    /// The key that must show up nowhere.
    ///
    /// # Errors
    /// Why no leak of it could be told.
    pub(crate) fn key(&self) -> Result<&str, String> {
        let upper = self.spec.provider.to_uppercase();
        let what = format!("the key in `AGENTOS_{upper}_API_KEY`");
        match self.key.as_ref().map(|key| key.to_str()) {
            Ok(Some(key)) if key.len() >= SHORTEST_KEY => Ok(key),
            Ok(Some(_)) => Err(format!(
                "{what} is too short to be told from other text: leaks were not looked for"
            )),
            Ok(None) => Err(format!("{what} is not UTF-8: leaks were not looked for")),
            Err(reason) => Err(reason.clone()),
        }
    }

    /// `agentos tool health`: the answer for the gate's provider, or why it cannot be read.
    pub(crate) fn health(
        &self,
        directory: &Path,
    ) -> Result<(Printed, Result<ToolHealth, String>), GateError> {
        let printed = self.call(
            directory,
            &["tool", "health", "--provider", self.spec.provider, "--json"],
        )?;
        let health = serde_json::from_str::<HealthAnswer>(&printed.stdout)
            .map_err(|error| printed.unreadable("tool health", &error))
            .and_then(|answer| {
                let found = answer
                    .tools
                    .into_iter()
                    .find(|tool| tool.provider == self.spec.provider);
                found.ok_or_else(|| format!("`tool health` says nothing of `{}`", self.spec.provider))
            });
        Ok((printed, health))
    }

    /// `agentos tool run`: the result as JSON, or why it cannot be read.
    pub(crate) fn run(
        &self,
        repository: &Path,
        task: &str,
        file: Option<&str>,
    ) -> Result<(Printed, Result<Value, String>), GateError> {
        let shown = repository.to_string_lossy();
        let mut args = vec![
            "tool",
            "run",
            "-p",
            self.spec.provider,
            task,
            "--repo",
            &shown,
            "--json",
        ];
        args.extend(file.into_iter().flat_map(|file| ["--file", file]));
        let printed = self.call(repository, &args)?;
        let result =
            serde_json::from_str(&printed.stdout).map_err(|error| printed.unreadable("tool run", &error));
        Ok((printed, result))
    }

    /// A call that reaches the provider.
    fn call(&self, directory: &Path, args: &[&str]) -> Result<Printed, GateError> {
        let place = self.options.base_url.iter().flat_map(|url| ["--base-url", url]);
        let model = self.options.model.iter().flat_map(|model| ["--model", model]);
        let args: Vec<&str> = args.iter().copied().chain(place).chain(model).collect();
        self.ask(directory, &args)
    }

    fn ask(&self, directory: &Path, args: &[&str]) -> Result<Printed, GateError> {
        let mut command = Command::new(&self.options.agentos);
        command.args(args).current_dir(directory).stdin(Stdio::null());
        self.environment(&mut command);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let start = |source| GateError::Start {
            program: self.options.agentos.clone(),
            source,
        };
        finish(command.spawn().map_err(start)?, self.options.time_limit).map_err(start)
    }

    fn environment(&self, command: &mut Command) {
        let taken = &self.options.environment;
        match self.options.mode {
            Mode::Manual => {}
            Mode::Gate => {
                command
                    .env_clear()
                    .env("HOME", &self.home)
                    .env("GIT_CONFIG_NOSYSTEM", "1");
                command.envs(taken.path.iter().map(|path| ("PATH", path)));
                command.envs(taken.provider.iter().map(|(name, value)| (name, value)));
            }
        }
        command.env("NO_COLOR", "1");
        let name = format!("AGENTOS_{}_API_KEY", self.spec.provider.to_uppercase());
        command.envs(self.key.iter().map(|key| (&name, key)));
    }
}

/// Reads both streams to their ends, then the exit code. A child that takes too long is ended.
fn finish(mut child: Child, limit: Duration) -> io::Result<Printed> {
    let (done, ended) = mpsc::channel();
    let out = child.stdout.take().map(|pipe| read_aside(pipe, done.clone()));
    let err = child.stderr.take().map(|pipe| read_aside(pipe, done));
    let mut out_of_time = false;
    for _ in [&out, &err] {
        if !out_of_time && ended.recv_timeout(limit).is_err() {
            out_of_time = true;
            child.kill()?;
        }
    }
    let code = child.wait()?.code();
    // After a kill, something the child started may hold a stream open: what was read by then is not waited for.
    let text = |reader: Option<JoinHandle<String>>| match reader {
        Some(reader) if !out_of_time => reader.join().unwrap_or_default(),
        Some(_) | None => String::new(),
    };
    Ok(Printed {
        code,
        stdout: text(out),
        stderr: text(err),
        out_of_time,
    })
}

fn read_aside(mut pipe: impl Read + Send + 'static, done: mpsc::Sender<()>) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        // A stream that breaks ends like one that closes; what arrived is judged.
        pipe.read_to_end(&mut bytes).ok();
        done.send(()).ok();
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

impl Printed {
    fn unreadable(&self, verb: &str, error: &serde_json::Error) -> String {
        if self.out_of_time {
            return format!("`{verb}` did not end within the time limit");
        }
        let code = self
            .code
            .map_or_else(|| "a signal".to_owned(), |code| format!("code {code}"));
        let said: String = self
            .stderr
            .trim()
            .lines()
            .next_back()
            .unwrap_or_default()
            .chars()
            .take(200)
            .collect();
        format!("`{verb}` ended with {code} and printed no JSON that can be read ({error}): {said}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finished(script: &str, limit: Duration) -> Printed {
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        finish(command.spawn().unwrap(), limit).unwrap()
    }

    #[test]
    fn a_child_is_read_to_its_end() {
        let printed = finished("echo out; echo err >&2; exit 3", Duration::from_secs(600));
        assert_eq!((printed.code, printed.out_of_time), (Some(3), false));
        assert_eq!(
            (printed.stdout.as_str(), printed.stderr.as_str()),
            ("out\n", "err\n")
        );
    }

    #[test]
    fn a_child_that_never_ends_is_ended() {
        let printed = finished("exec tail -f /dev/null", Duration::from_millis(20));
        assert_eq!((printed.code, printed.out_of_time), (None, true));
        let error = serde_json::from_str::<Value>("").unwrap_err();
        assert_eq!(
            printed.unreadable("tool run", &error),
            "`tool run` did not end within the time limit"
        );
    }
}
