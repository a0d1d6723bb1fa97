//! How a gate is asked to run.
//!
//! Owns: the arguments, and the few environment variables that mean something to a gate. Never: reads the
//! environment anywhere but in one function.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use agentos_schema::SchemaName;

use crate::error::GateError;
use crate::gate::GateSpec;
use crate::results::Mode;

/// What was asked for.
pub(crate) enum Request {
    /// The text of `--help`.
    Help(String),
    /// The JSON Schema of one shape that a gate writes.
    Schema(SchemaName),
    /// A run.
    Run(Box<Options>),
}

/// The settings of one run.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    /// The program that is judged.
    pub(crate) agentos: PathBuf,
    /// Where the server is; none means what the program itself is set to.
    pub(crate) base_url: Option<String>,
    /// The model; none means what the program itself is set to.
    pub(crate) model: Option<String>,
    /// Where the evidence goes.
    pub(crate) out: PathBuf,
    /// Where the scratch repository and the empty home are made; none means a temporary folder.
    pub(crate) scratch: Option<PathBuf>,
    /// How long one call of the program may take.
    pub(crate) time_limit: Duration,
    /// A skip fails.
    pub(crate) require_live: bool,
    /// With whose settings the program runs.
    pub(crate) mode: Mode,
    /// What of the environment reaches the program.
    pub(crate) environment: Environment,
}

/// What a gate takes from its environment.
#[derive(Debug, Clone, Default)]
pub(crate) struct Environment {
    /// `AGENTOS_BIN`: the program, where no `--agentos` is given.
    pub(crate) agentos: Option<OsString>,
    /// `AGENTOS_GATE_MODE`.
    pub(crate) gate_mode: Option<OsString>,
    /// `PATH`, so that git is found.
    pub(crate) path: Option<OsString>,
    /// The provider's own variables, which hold in both modes.
    pub(crate) provider: Vec<(String, OsString)>,
}

impl Environment {
    /// Reads the variables of this process.
    pub(crate) fn of_process(spec: &GateSpec) -> Self {
        let prefix = format!("AGENTOS_{}", spec.provider.to_uppercase());
        let names = ["BASE_URL", "MODEL", "API_KEY"].map(|name| format!("{prefix}_{name}"));
        let read = |name: String| std::env::var_os(&name).map(|value| (name, value));
        Self {
            agentos: std::env::var_os("AGENTOS_BIN"),
            gate_mode: std::env::var_os("AGENTOS_GATE_MODE"),
            path: std::env::var_os("PATH"),
            provider: names.into_iter().filter_map(read).collect(),
        }
    }

    /// The key that the person set for the provider.
    pub(crate) fn key(&self) -> Option<&OsString> {
        self.provider
            .iter()
            .find(|(name, _)| name.ends_with("_API_KEY"))
            .map(|(_, value)| value)
    }
}

impl Options {
    /// Reads the arguments.
    pub(crate) fn parse(
        spec: &GateSpec,
        args: impl Iterator<Item = OsString>,
        environment: Environment,
    ) -> Result<Request, GateError> {
        let mut options = Self {
            agentos: environment.agentos.clone().unwrap_or_default().into(),
            base_url: None,
            model: None,
            out: PathBuf::from("outputs/gates").join(spec.name),
            scratch: None,
            time_limit: Duration::from_secs(300),
            require_live: false,
            mode: mode(environment.gate_mode.as_ref())?,
            environment,
        };
        let mut args = args;
        while let Some(arg) = args.next() {
            let name = arg.to_string_lossy().into_owned();
            let mut value = || {
                args.next()
                    .ok_or_else(|| GateError::Usage(format!("`{name}` needs a value")))
            };
            match name.as_str() {
                "-h" | "--help" => return Ok(Request::Help(help(spec))),
                "--schema" => return schema(&text(&name, value()?)?).map(Request::Schema),
                "--require-live" => options.require_live = true,
                "--agentos" => options.agentos = value()?.into(),
                "--out" => options.out = value()?.into(),
                "--scratch" => options.scratch = Some(value()?.into()),
                "--base-url" => options.base_url = Some(text(&name, value()?)?),
                "--time-limit" => options.time_limit = seconds(&text(&name, value()?)?)?,
                "--model" => options.model = Some(text(&name, value()?)?),
                _ => {
                    return Err(GateError::Usage(format!(
                        "`{name}` is not understood; see `--help`"
                    )));
                }
            }
        }
        if options.agentos.as_os_str().is_empty() {
            return Err(GateError::Usage(
                "no program to judge: give `--agentos PATH` or set `AGENTOS_BIN`".to_owned(),
            ));
        }
        Ok(Request::Run(Box::new(options)))
    }
}

fn schema(name: &str) -> Result<SchemaName, GateError> {
    let known = SchemaName::OF_GATES.iter().copied();
    let names: Vec<String> = known.clone().map(|schema| format!("`{schema}`")).collect();
    known
        .clone()
        .find(|schema| schema.as_str() == name)
        .ok_or_else(|| {
            GateError::Usage(format!(
                "there is no schema `{name}`; there are {}",
                names.join(", ")
            ))
        })
}

fn text(name: &str, value: OsString) -> Result<String, GateError> {
    value
        .into_string()
        .map_err(|_| GateError::Usage(format!("the value of `{name}` is not UTF-8")))
}

fn seconds(value: &str) -> Result<Duration, GateError> {
    match value.parse::<u64>() {
        Ok(number @ 1..=86_400) => Ok(Duration::from_secs(number)),
        Ok(_) | Err(_) => Err(GateError::Usage(format!(
            "`{value}` is not a number of seconds from 1 to 86400"
        ))),
    }
}

fn mode(variable: Option<&OsString>) -> Result<Mode, GateError> {
    match variable
        .map(|value| value.to_string_lossy().into_owned())
        .as_deref()
    {
        None | Some("" | "0") => Ok(Mode::Manual),
        Some("1") => Ok(Mode::Gate),
        Some(other) => Err(GateError::Usage(format!(
            "`AGENTOS_GATE_MODE` is `{other}`, not `0` or `1`"
        ))),
    }
}

fn help(spec: &GateSpec) -> String {
    let GateSpec {
        name,
        title,
        provider,
        ..
    } = spec;
    let upper = provider.to_uppercase();
    format!(
        "\
Judges a built `agentos` from outside, against a running {title} server

Usage: {name} --agentos PATH [OPTIONS]

Options:
  --agentos PATH   the program to judge; else AGENTOS_BIN
  --base-url URL   where the server is; default: what the program is set to
  --model NAME     the model to ask; default: what the program is set to
  --out DIR        where the evidence goes; default: outputs/gates/{name}
  --scratch DIR    where the scratch repository is made; default: a temporary folder
  --time-limit N   seconds that one call of the program may take; default: 300
  --require-live   a check that had to be skipped fails the gate
  --schema NAME    print the JSON Schema of what a gate writes: gate-results or health-summary
  -h, --help       this text

Environment:
  AGENTOS_GATE_MODE=1  an empty home and environment instead of your own settings; never a mock
  AGENTOS_{upper}_BASE_URL, _MODEL, _API_KEY  reach the program in both modes

Exit codes: 0 passed, or skipped without --require-live; 1 failed, or skipped with it; 2 the gate itself broke
"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::LMSTUDIO;

    fn parse(args: &[&str], environment: Environment) -> Result<Options, String> {
        match Options::parse(&LMSTUDIO, args.iter().map(OsString::from), environment) {
            Ok(Request::Run(options)) => Ok(*options),
            Ok(Request::Help(text)) => Err(text),
            Ok(Request::Schema(name)) => Err(name.to_string()),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn a_flag_wins_over_the_environment() {
        let environment = Environment {
            agentos: Some("/env".into()),
            ..Environment::default()
        };
        assert_eq!(
            parse(&[], environment.clone()).unwrap().agentos,
            PathBuf::from("/env")
        );
        assert_eq!(
            parse(&["--agentos", "/flag"], environment).unwrap().agentos,
            PathBuf::from("/flag")
        );
    }

    #[test]
    fn gate_mode_is_0_or_1() {
        let with = |value: &str| Environment {
            agentos: Some("/a".into()),
            gate_mode: Some(value.into()),
            ..Environment::default()
        };
        assert_eq!(parse(&[], with("1")).unwrap().mode, Mode::Gate);
        assert_eq!(parse(&[], with("0")).unwrap().mode, Mode::Manual);
        assert!(parse(&[], with("mock")).unwrap_err().contains("not `0` or `1`"));
    }

    #[test]
    fn what_is_not_understood_is_named() {
        let cases = [
            (&["--what"][..], "`--what` is not understood"),
            (&["--out"], "`--out` needs a value"),
            (&["--time-limit", "soon"], "`soon` is not a number of seconds"),
            (&[], "no program to judge"),
            (&["--schema", "what"], "there is no schema `what`"),
            (&["--schema", "gate-results"], "gate-results"),
            (&["--help"], "Usage: tl_r2_lmstudio"),
        ];
        for (args, expected) in cases {
            let message = parse(args, Environment::default()).unwrap_err();
            assert!(message.contains(expected), "{message}");
        }
    }
}
