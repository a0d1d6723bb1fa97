//! How a program is, without giving it a task.
//!
//! Owns: the states, and asking it for its version. Never: lets it reach the network for that.

use std::path::{Path, PathBuf};
use std::time::Duration;

use agentos_api::NextStep;
use agentos_sandbox::{LaunchSpec, RunCaps, Sandbox, SandboxProbe, StopHandle, ToolInput};
use agentos_tool::{BoxFuture, ErrorCategory, HealthStatus, NoProgress, Timestamp, ToolHealth};

use crate::background::{Voice, begin};
use crate::quote::last_line;
use crate::{Places, Program};

/// A check takes at most this long: agents in Python and JavaScript load for seconds before they say anything.
const PATIENCE: Duration = Duration::from_secs(30);
const MOST_OUTPUT: usize = 64 << 10;

/// The state of a program, found out on a thread of its own. `held` is what the sandbox says when it is probed.
pub(crate) fn check<'a>(
    program: &Program,
    places: &Places,
    sandbox: &Sandbox,
    held: &SandboxProbe,
    now: Timestamp,
) -> BoxFuture<'a, ToolHealth> {
    let not =
        |details: String, now| ToolHealth::new(&program.provider, HealthStatus::NotConfigured, details, now);
    let Some(found) = program.installed(places) else {
        let health = not(format!("there is no program `{}`", program.name), now)
            .with_detail("no-program")
            .with_fix("install it, so that it is on the search path");
        return Box::pin(std::future::ready(health));
    };
    if let Err(why) = held.get() {
        let health = not(format!("it cannot be confined here: {why}"), now);
        let fix = "tools of this kind need Linux with Landlock, seccomp and user namespaces";
        return Box::pin(std::future::ready(health.with_fix(fix)));
    }
    let (program_there, places, sandbox) = (program.clone(), places.clone(), sandbox.clone());
    let (stop, began) = (StopHandle::default(), now.clone());
    let asked = stop.clone();
    let look = move |_: &Voice| health(&program_there, &places, &sandbox, &asked, found, began);
    match begin(look, move || stop.stop(), &NoProgress) {
        Some(background) => Box::pin(background),
        None => Box::pin(std::future::ready(not(
            "the system refuses a thread".to_owned(),
            now,
        ))),
    }
}

/// The state of a program that is there and can be confined.
fn health(
    program: &Program,
    places: &Places,
    sandbox: &Sandbox,
    stop: &StopHandle,
    found: PathBuf,
    now: Timestamp,
) -> ToolHealth {
    let health = |status, details| ToolHealth::new(&program.provider, status, details, now.clone());
    let version = match version(program, places, sandbox, stop, found.clone()) {
        Ok(version) => version,
        Err(why) => {
            return health(
                HealthStatus::NotConfigured,
                format!("`{}` does not start confined: {why}", program.name),
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
        Some(false) => health(
            HealthStatus::NotConfigured,
            format!("{named}; it is not signed in"),
        )
        .with_detail("not-signed-in")
        .with_category(ErrorCategory::Auth)
        .with_fix(format!("sign in with `{}`", program.name))
        .suggest_steps([NextStep::SetKey {
            provider: Some(program.provider.clone()),
            in_file: false,
        }]),
        Some(true) => health(HealthStatus::Connected, format!("{named}; there is a sign-in")),
        None => health(HealthStatus::Connected, named),
    }
}

/// The first line that it prints when asked for its version; none where it is not asked.
fn version(
    program: &Program,
    places: &Places,
    sandbox: &Sandbox,
    stop: &StopHandle,
    found: PathBuf,
) -> Result<Option<String>, String> {
    if program.version_args.is_empty() || !found.is_absolute() {
        return Ok(None);
    }
    // Windows has no folder that is everywhere, and a program may not write beside itself.
    let here = match found.parent() {
        Some(folder) if cfg!(windows) => folder,
        Some(_) | None => Path::new("/tmp"),
    };
    let mut order = LaunchSpec::new(found.clone(), program.version_args.clone(), here.to_owned());
    order.env = Program {
        key: None,
        ..program.clone()
    }
    .environment(places, here, here);
    order.readable = places.readable(&found);
    let caps = RunCaps {
        time: PATIENCE,
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
        Err(format!("it ended with exit code {}: {line}", ended.code))
    }
}
