//! The health check of a program, which gives it no task.
//!
//! Owns: the states, and asking the program for its version. Never: gives it the network for that.

use std::path::{Path, PathBuf};
use std::time::Duration;

use agentos_api::NextStep;
use agentos_sandbox::{LaunchSpec, RunCaps, Sandbox, SandboxProbe, StopHandle, ToolInput};
use agentos_tool::{BoxFuture, ErrorCategory, HealthStatus, NoProgress, Timestamp, ToolHealth};

use crate::background::{ProgressChannel, start_work};
use crate::error::install_hint;
use crate::quote::last_line;
use crate::{Places, Program};

/// Timeout of a check. Agents in Python and JavaScript load for seconds before they print anything.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum bytes of output of a program that prints its version.
const MOST_OUTPUT: usize = 64 << 10;

/// Checks a program on a thread of its own. `held` is the result of probing the sandbox.
pub(crate) fn check_program<'a>(
    program: &Program,
    places: &Places,
    sandbox: &Sandbox,
    held: &SandboxProbe,
    now: Timestamp,
) -> BoxFuture<'a, ToolHealth> {
    let not =
        |details: String, now| ToolHealth::new(&program.provider, HealthStatus::NotConfigured, details, now);
    let Some(found) = program.installed(places) else {
        let health = not(
            format!("program `{}` not found on the search path", program.name),
            now,
        )
        .with_detail("no-program")
        .with_fix(install_hint(program.install_command.as_deref()));
        return Box::pin(std::future::ready(health));
    };
    // Programs of users and agents are never started unconfined, not even to print a version.
    if let Err(why) = held.get() {
        let health = not(
            format!("the program cannot be confined on this system: {why}"),
            now,
        );
        let fix = "run it on Linux with Landlock, seccomp and user namespaces enabled";
        return Box::pin(std::future::ready(health.with_fix(fix)));
    }
    let (program_there, places, sandbox) = (program.clone(), places.clone(), sandbox.clone());
    let (stop, began) = (StopHandle::default(), now.clone());
    let asked = stop.clone();
    let look =
        move |_: &ProgressChannel| check_installed(&program_there, &places, &sandbox, &asked, found, began);
    match start_work(look, move || stop.stop(), &NoProgress) {
        Some(background) => Box::pin(background),
        None => Box::pin(std::future::ready(not(
            "the system refused to create a thread".to_owned(),
            now,
        ))),
    }
}

/// Checks a program that is installed and can be confined.
fn check_installed(
    program: &Program,
    places: &Places,
    sandbox: &Sandbox,
    stop: &StopHandle,
    found: PathBuf,
    now: Timestamp,
) -> ToolHealth {
    let health = |status, details| ToolHealth::new(&program.provider, status, details, now.clone());
    let version = match read_version(program, places, sandbox, stop, found.clone()) {
        Ok(version) => version,
        Err(why) => {
            return health(
                HealthStatus::NotConfigured,
                format!("`{}` does not start in the sandbox: {why}", program.name),
            )
            .with_detail("does-not-start")
            .with_category(ErrorCategory::Runtime)
            .with_fix("install it again")
            .suggest_steps([NextStep::AllowReading]);
        }
    };
    let named = match &version {
        Some(version) => format!("{version}, found at {}", found.display()),
        None => format!("found at {}", found.display()),
    };
    match program.signed_in(places) {
        Some(false) => health(HealthStatus::NotConfigured, format!("{named}; not signed in"))
            .with_detail("not-signed-in")
            .with_category(ErrorCategory::Auth)
            .with_optional_fix(sign_in_hint(program))
            .suggest_steps(sign_in_steps(program)),
        // Whether the sign-in is still valid shows only in a request, and a check makes none.
        Some(true) => health(HealthStatus::Connected, format!("{named}; signed in")),
        None => health(HealthStatus::Connected, named),
    }
}

/// Words how a person signs in with the program itself. `None` if it has no sign-in of its own.
fn sign_in_hint(program: &Program) -> Option<String> {
    let command = program.sign_in_command.as_deref();
    let has_files = program.sign_in.as_ref().is_some_and(|files| !files.is_empty());
    let command = command.or_else(|| has_files.then_some(program.name.as_str()));
    command.map(|command| format!("sign in with `{command}`"))
}

/// Lists the other ways to make the program usable: a key, and a server of the user's own.
fn sign_in_steps(program: &Program) -> Vec<NextStep> {
    // The key first: it works for every agent, also on a machine without a browser to sign in with.
    let mut steps = vec![NextStep::SetKey {
        provider: Some(program.provider.clone()),
        in_file: false,
    }];
    if program.takes_base_url {
        steps.push(NextStep::UseOwnServer);
    }
    steps
}

/// Returns the version line that a program prints. `None` if its profile has no arguments for that, or it lies in the copy.
///
/// # Errors
/// The reason in words if it does not start, or fails.
fn read_version(
    program: &Program,
    places: &Places,
    sandbox: &Sandbox,
    stop: &StopHandle,
    found: PathBuf,
) -> Result<Option<String>, String> {
    if program.version_args.is_empty() || !found.is_absolute() {
        return Ok(None);
    }
    // `/tmp` exists on every Unix system. Windows has no such folder, and the sandbox gives a program no write access to its
    // own folder, so that one is safe as a working directory.
    let here = match found.parent() {
        Some(folder) if cfg!(windows) => folder,
        Some(_) | None => Path::new("/tmp"),
    };
    let mut order = LaunchSpec::new(found.clone(), program.version_args.clone(), here.to_owned());
    // Without the key: printing a version needs none.
    order.env = Program {
        key: None,
        ..program.clone()
    }
    .build_environment(places, here, here);
    order.readable = places.readable(&found);
    let caps = RunCaps {
        time: TIMEOUT,
        output: MOST_OUTPUT,
    };
    let mut said = Vec::new();
    let ended = sandbox
        .run(
            &order,
            ToolInput::Bytes(Vec::new()),
            caps,
            stop,
            &mut |_, bytes| {
                said.extend_from_slice(bytes);
            },
        )
        .map_err(|error| error.to_string())?;
    let line = last_line(&said);
    if ended.code == 0 {
        Ok(Some(line))
    } else {
        Err(format!("exit code {}: {line}", ended.code))
    }
}
