//! Runs a built program as a person would, in a home of its own.
//!
//! Owns: the hermetic environment of command-line tests. Never: lets the machine's settings, keys, git
//! configuration or keyring reach the program under test.

use std::ffi::OsString;
use std::fmt;
use std::io::{self, BufRead, Seek, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use tempfile::TempDir;

/// A program and the closed world it runs in. The home lives as long as the value, so that several calls see
/// what earlier ones stored.
#[derive(Debug)]
pub struct Cli {
    program: PathBuf,
    home: TempDir,
    directory: PathBuf,
    environment: Vec<(OsString, OsString)>,
}

/// How one call ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CliOutput {
    /// The exit code; none when a signal ended the program.
    pub code: Option<i32>,
    /// Standard output, with bytes that are not UTF-8 replaced.
    pub stdout: String,
    /// Standard error, with bytes that are not UTF-8 replaced.
    pub stderr: String,
}

impl Cli {
    /// A program, given as `env!("CARGO_BIN_EXE_agentos")`, with an empty home and a git identity.
    ///
    /// # Errors
    /// When no temporary folder can be made.
    pub fn new(program: impl Into<PathBuf>) -> io::Result<Self> {
        let home = TempDir::new()?;
        std::fs::write(
            home.path().join(".gitconfig"),
            "[user]\n\tname = Test Author\n\temail = author@example.com\n[init]\n\tdefaultBranch = main\n",
        )?;
        let directory = home.path().join("work");
        std::fs::create_dir(&directory)?;
        Ok(Self {
            program: program.into(),
            home,
            directory,
            environment: Vec::new(),
        })
    }

    /// Takes the git identity away, for tests of what is said then.
    ///
    /// # Errors
    /// When the home's git configuration cannot be written.
    pub fn without_identity(self) -> io::Result<Self> {
        std::fs::write(self.home.path().join(".gitconfig"), "")?;
        Ok(self)
    }

    /// Runs in this folder instead of an empty one.
    #[must_use]
    pub fn in_dir(mut self, directory: impl Into<PathBuf>) -> Self {
        self.directory = directory.into();
        self
    }

    /// Sets one more environment variable.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// The home folder of the program.
    #[must_use]
    pub fn home(&self) -> &Path {
        self.home.path()
    }

    /// The prepared command, for tests that need the child itself. Standard input is empty.
    #[must_use]
    pub fn command(&self, args: &[&str]) -> Command {
        let home = self.home.path();
        let mut command = Command::new(&self.program);
        command
            .args(args)
            .current_dir(&self.directory)
            .env_clear()
            .env("HOME", home)
            .env("XDG_CONFIG_HOME", home.join(".config"))
            .env("XDG_DATA_HOME", home.join(".local/share"))
            .env("XDG_STATE_HOME", home.join(".local/state"))
            .env("XDG_CACHE_HOME", home.join(".cache"))
            .env("XDG_RUNTIME_DIR", home.join(".run"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", home.join(".gitconfig"))
            .env("NO_COLOR", "1")
            .env("TERM", "dumb")
            .env("LC_ALL", "C.UTF-8")
            .env("TZ", "UTC")
            .stdin(Stdio::null());
        if let Some(path) = std::env::var_os("PATH") {
            command.env("PATH", path);
        }
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }

    /// The whole environment that the program sees.
    #[must_use]
    pub fn world(&self) -> Vec<(OsString, OsString)> {
        let command = self.command(&[]);
        let set = command
            .get_envs()
            .filter_map(|(name, value)| Some((name.into(), value?.into())));
        set.collect()
    }

    /// Runs the program with empty standard input.
    ///
    /// # Errors
    /// When the program cannot be started.
    pub fn run(&self, args: &[&str]) -> io::Result<CliOutput> {
        self.command(args).output().map(CliOutput::from)
    }

    /// Runs the program with this standard input.
    ///
    /// # Errors
    /// When the program cannot be started.
    pub fn run_with_input(&self, args: &[&str], input: &[u8]) -> io::Result<CliOutput> {
        let mut child = self
            .command(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let stdin = child.stdin.take();
        let output = std::thread::scope(|scope| {
            scope.spawn(move || {
                // A program that ends without reading everything is judged by its exit code, not here.
                stdin.map(|mut pipe| pipe.write_all(input))
            });
            child.wait_with_output()
        })?;
        Ok(CliOutput::from(output))
    }

    /// Runs the program until it comes to the fail point with this number, and kills it there with SIGKILL. The name
    /// of the place is given; none when the program ended by itself.
    ///
    /// # Errors
    /// When the program cannot be started or killed.
    pub fn kill_at(
        &self,
        number: u64,
        args: &[&str],
        input: &[u8],
    ) -> io::Result<(CliOutput, Option<String>)> {
        let mut file = tempfile::tempfile()?;
        file.write_all(input)?;
        file.rewind()?;
        let mut child = self
            .command(args)
            .env("AGENTOS_FAIL_POINT", number.to_string())
            .env("AGENTOS_LOG", "agentos_executor::fail=error")
            .stdin(file)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let mut place = None;
        let mut said = String::new();
        if let Some(pipe) = child.stderr.take() {
            for line in io::BufReader::new(pipe).lines() {
                let line = line?;
                if line.contains("fail point reached") {
                    let (_, name) = line.split_once("place=").unwrap_or_default();
                    place = Some(name.trim_matches('"').to_owned());
                    child.kill()?;
                }
                said.push_str(&line);
                said.push('\n');
            }
        }
        let mut output = CliOutput::from(child.wait_with_output()?);
        output.stderr = said;
        Ok((output, place))
    }
}

/// Another program of the machine's, for tests that have it judge the product. It is not in the closed world unless
/// it is given [`Cli::world`].
#[must_use]
pub fn program(name: &str) -> Command {
    let mut command = Command::new(name);
    command.stdin(Stdio::null());
    command
}

/// Sends Ctrl-C's signal to a running program; true if it was sent.
#[must_use]
pub fn interrupt(child: &Child) -> bool {
    send_signal(child.id(), "INT")
}

/// Sends a signal, named as in `kill -INT`, to a process; true if it was sent.
#[must_use]
pub fn send_signal(process: u32, name: &str) -> bool {
    let sent = Command::new("kill")
        .args([&format!("-{name}"), &process.to_string()])
        .status();
    sent.is_ok_and(|status| status.success())
}

impl CliOutput {
    /// Standard output as one JSON document.
    ///
    /// # Errors
    /// When it is not exactly one JSON document.
    pub fn json(&self) -> serde_json::Result<serde_json::Value> {
        serde_json::from_str(&self.stdout)
    }
}

impl From<Output> for CliOutput {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// The form for snapshots: exit code, then both streams.
impl fmt::Display for CliOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.code {
            Some(code) => writeln!(f, "exit: {code}")?,
            None => writeln!(f, "exit: by a signal")?,
        }
        write!(f, "--- stdout\n{}--- stderr\n{}", self.stdout, self.stderr)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_of_the_machine_does_not_reach_the_program() {
        let cli = Cli::new("/usr/bin/env").unwrap().env("AGENTOS_TEST", "1");
        let output = cli.run(&[]).unwrap();
        assert_eq!(output.code, Some(0));
        let home = cli.home().display().to_string();
        assert!(output.stdout.lines().any(|line| line == format!("HOME={home}")));
        assert!(output.stdout.lines().any(|line| line == "AGENTOS_TEST=1"));
        assert!(!output.stdout.contains("CARGO_MANIFEST_DIR="));
    }

    #[test]
    fn standard_input_reaches_the_program_whole() {
        let input = vec![b'x'; 1 << 20];
        let output = Cli::new("/bin/cat").unwrap().run_with_input(&[], &input).unwrap();
        assert_eq!(output.stdout.len(), input.len());
    }
}
