//! The arguments of a gate.
//!
//! Owns: the arguments, and the few environment variables that a gate reads. Never: reads the environment in more than one
//! place.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use agentos_verdict::{GateResults, GateSpec, Mode, ProviderSpec, find_gate};
use clap::{Parser, ValueEnum};
use schemars::generate::SchemaSettings;

use crate::error::GateError;
use crate::summary::HealthSummary;

/// Judges a built `agentos` from outside.
///
/// Exit codes: 0 passed, or skipped without --require-live; 1 failed, or skipped with it; 2 the gate could not judge.
#[derive(Debug, Clone, Parser)]
#[command(args_override_self = true)]
pub(crate) struct GateOptions {
    /// Gate to run.
    #[arg(value_name = "NAME", value_parser = find_gate, required_unless_present = "schema")]
    pub(crate) gate: Option<GateSpec>,
    /// Program to judge.
    #[arg(
        long,
        value_name = "PATH",
        env = "AGENTOS_BIN",
        required_unless_present = "schema"
    )]
    agentos: Option<PathBuf>,
    /// Folder for the evidence; default: outputs/gates/NAME.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Base URL of the server; default: the program's setting, for example AGENTOS_<PROVIDER>_BASE_URL.
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// Model to use; default: the program's setting, for example AGENTOS_<PROVIDER>_MODEL.
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// Folder for the scratch repository of a connectivity gate; default: a temporary folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) scratch: Option<PathBuf>,
    /// Seconds that one call of the program may take.
    #[arg(long, value_name = "N", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) time_limit: u64,
    /// Fails the gate if a check is skipped.
    #[arg(long)]
    pub(crate) require_live: bool,
    /// 1 uses an empty home and environment instead of your own settings; 0 uses your settings.
    #[arg(long, value_name = "0|1", env = "AGENTOS_GATE_MODE", default_value = "0", value_parser = read_mode)]
    mode: Mode,
    /// Prints the JSON Schema of a file that gates write.
    #[arg(long, value_name = "NAME")]
    pub(crate) schema: Option<OutputShape>,
}

/// A file that gates write, with a published schema.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum OutputShape {
    /// `reports/gate_results.json`.
    GateResults,
    /// `reports/health_summary.json`.
    HealthSummary,
}

impl OutputShape {
    /// Generates the JSON Schema from the type.
    ///
    /// # Errors
    /// When the schema cannot be expressed as JSON.
    pub(crate) fn schema_text(self) -> Result<String, GateError> {
        let generator = SchemaSettings::draft2020_12().into_generator();
        let schema = match self {
            Self::GateResults => generator.into_root_schema_for::<GateResults>(),
            Self::HealthSummary => generator.into_root_schema_for::<HealthSummary>(),
        };
        Ok(serde_json::to_string_pretty(&schema)? + "\n")
    }
}

/// A run of a gate with all its settings.
#[derive(Debug, Clone)]
pub(crate) struct GateRun {
    pub(crate) gate: GateSpec,
    /// Absolute path of the judged program, because it is run in other folders.
    pub(crate) agentos: PathBuf,
    pub(crate) out: PathBuf,
    /// The other arguments.
    pub(crate) options: GateOptions,
    /// The settings with which the program runs.
    pub(crate) mode: Mode,
    /// The value of `PATH`, so that git is found.
    pub(crate) path: Option<OsString>,
    /// The environment variables of the provider, which are passed in both modes.
    pub(crate) variables: Vec<(String, OsString)>,
}

impl GateOptions {
    /// Combines the arguments and the environment into a run.
    ///
    /// # Errors
    /// When no gate or no program is named, or the current folder cannot be found.
    pub(crate) fn gate_run(&self) -> Result<GateRun, GateError> {
        let missing = || GateError::Usage("a gate and a program are needed".to_owned());
        let gate = self.gate.clone().ok_or_else(missing)?;
        let agentos = self.agentos.as_ref().ok_or_else(missing)?;
        let default = || PathBuf::from("outputs/gates").join(&gate.name);
        Ok(GateRun {
            // Absolute, because calls change the working directory to a scratch repository.
            agentos: std::path::absolute(agentos).map_err(GateError::file(agentos))?,
            out: self.out.clone().unwrap_or_else(default),
            options: self.clone(),
            // A gate without a server has no use for a person's settings, and its verdict must not depend on them.
            mode: if gate.provider.is_some() {
                self.mode
            } else {
                Mode::Gate
            },
            path: std::env::var_os("PATH"),
            variables: gate.provider.iter().flat_map(provider_variables).collect(),
            gate,
        })
    }
}

impl GateRun {
    /// Returns a command for the program with an empty home and without any settings of the machine.
    pub(crate) fn isolated_command(&self, home: &Path) -> Command {
        let mut command = Command::new(&self.agentos);
        command.env_clear().env("HOME", home).env("NO_COLOR", "1");
        // `/etc/gitconfig` is not below HOME, so an empty home alone would not keep the machine's settings out.
        command.env("GIT_CONFIG_NOSYSTEM", "1");
        command.envs(self.path.iter().map(|path| ("PATH", path)));
        command.envs(self.variables.iter().cloned());
        command
    }
}

/// Reads the environment variables of a provider.
fn provider_variables(provider: &ProviderSpec) -> impl Iterator<Item = (String, OsString)> + use<> {
    let names = ["BASE_URL", "MODEL", "API_KEY"].map(|name| provider.variable_name(name));
    names
        .into_iter()
        .filter_map(|name| Some((name.clone(), std::env::var_os(name)?)))
}

/// Parses the mode.
///
/// # Errors
/// When the value is neither `0` nor `1`.
fn read_mode(value: &str) -> Result<Mode, String> {
    match value {
        // A variable that is set but empty counts as unset.
        "" | "0" => Ok(Mode::Manual),
        "1" => Ok(Mode::Gate),
        _ => Err("the value must be `0` or `1`".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<GateRun, String> {
        let words = line.split(' ').filter(|word| !word.is_empty());
        let options = GateOptions::try_parse_from(["gate"].into_iter().chain(words));
        options
            .map_err(|error| error.to_string())?
            .gate_run()
            .map_err(|error| error.to_string())
    }

    #[test]
    fn a_run_is_read() {
        let asked =
            parse("tl_r2_lmstudio --agentos /a --out o --base-url u --time-limit 7 --mode 1").unwrap();
        assert_eq!(asked.agentos, PathBuf::from("/a"));
        assert_eq!(
            (asked.out, asked.options.base_url),
            (PathBuf::from("o"), Some("u".to_owned()))
        );
        assert_eq!((asked.options.time_limit, asked.mode), (7, Mode::Gate));
        let asked = parse("rogue --agentos /a").unwrap();
        assert_eq!(asked.out, PathBuf::from("outputs/gates/rogue"));
        assert_eq!(
            asked.mode,
            Mode::Gate,
            "what needs no server depends on nobody's settings"
        );
    }

    #[test]
    fn gate_mode_is_0_or_1() {
        for (value, expected) in [
            ("1", Ok(Mode::Gate)),
            ("0", Ok(Mode::Manual)),
            ("", Ok(Mode::Manual)),
        ] {
            assert_eq!(read_mode(value), expected);
        }
        assert!(read_mode("mock").unwrap_err().contains("must be `0` or `1`"));
    }

    #[test]
    fn wrong_arguments_are_refused() {
        let cases = [
            ("rogue --what", "unexpected argument '--what'"),
            ("rogue --out", "a value is required for '--out <DIR>'"),
            ("rogue --agentos /a --time-limit soon", "invalid value 'soon'"),
            ("rogue --agentos /a --time-limit 0", "invalid value '0'"),
            ("rogue", "--agentos <PATH>"),
            ("nothing --agentos /a", "the gates are `boundary`, `rogue`"),
            ("--schema what", "[possible values: gate-results, health-summary]"),
            ("--help", "Usage: gate"),
        ];
        for (line, expected) in cases {
            let message = parse(line).unwrap_err();
            assert!(message.contains(expected), "{line}: {message}");
        }
    }
}
