//! Built-in adapters in the sandbox: this program as their parent; `child` is the confined process.
//!
//! Owns: the hidden verb, its greeting, and the processes that conversations share. Never: puts a key on a command line or into a
//! variable, where other processes could read it; the key goes over the pipe, once.

pub(crate) mod child;
mod processes;

use std::path::PathBuf;
use std::time::Duration;

use agentos_api::Notice;
use agentos_engine::Cause;
use agentos_engine::ports::EffectError;
use agentos_model::Model;
use agentos_net::{HttpUrl, Names};
use agentos_profile::Profile;
use agentos_programs::{Host as HostProgram, Hosted, HostedModel, ModelProcess, NameLookup, ProcessLimits};
use agentos_sandbox::{Sandbox, SandboxProbe};
use agentos_tool::KeyObstacle;
use serde::{Deserialize, Serialize};

use agentos_ground::Ground;
use agentos_ground::clock;
use agentos_providers::programs;
use agentos_providers::programs::ToolUse;
use agentos_providers::servers::Hosting;
use agentos_providers::session::SessionFolders;
use agentos_providers::tool_notices::tool_notice;
use agentos_providers::tools::Tool;
pub(crate) use processes::MOST_PROCESSES;
pub use processes::ModelProcesses;
use processes::ProcessKey;

/// The hidden verb, which reads a job from standard input. It is not for people.
const VERB: &str = "__tool";
/// Variables that name a user's own certificate authorities, for servers with a certificate of their own.
const AUTHORITIES: [&str; 2] = ["SSL_CERT_FILE", "SSL_CERT_DIR"];

/// Time after which the process of a conversation ends if nobody asks it anything.
const IDLE: Duration = Duration::from_secs(300);

/// The first line of a hosted adapter's input. It has no `Debug`, because it contains the key.
#[derive(Serialize, Deserialize)]
struct HostedGreeting {
    profile: Profile,
    key: Option<String>,
    key_obstacle: Option<KeyObstacle>,
    found: NameLookup,
}

/// Parts of a hosted adapter besides the adapter itself.
struct ConfinedHost {
    program: HostProgram,
    sandbox: Sandbox,
    held: SandboxProbe,
}

/// Moves a tool's adapter into the sandbox, if it talks to a server and the kernel can confine it.
///
/// # Errors
/// If this program's own file cannot be found.
pub fn confine_adapter(
    caller: &Ground,
    mut tool: Tool,
    folders: &SessionFolders<'_>,
    tool_use: ToolUse,
) -> Result<Tool, EffectError> {
    let Some(hosting) = tool.hosting.take() else {
        return Ok(tool);
    };
    // The folder is made only if there is an address: without one, nothing is started.
    let folder = || Ok(folders.open_copies()?.path().to_owned());
    let Some(confined) = confine_server(caller, (hosting, tool_use, true), folder, &mut tool.notices)? else {
        return Ok(tool);
    };
    let ConfinedHost {
        program,
        sandbox,
        held,
    } = confined;
    tool.adapter = Box::new(Hosted::new(tool.adapter, program, sandbox, held));
    Ok(tool)
}

/// Makes the model of a server, in the sandbox if the kernel can confine it. Its process is one of `processes`. `folder` is where they
/// may have folders of their own. Adds notices for a person.
///
/// # Errors
/// If the wire of the profile is invalid, or this program's own file cannot be found.
pub fn confine_model(
    caller: &Ground,
    hosting: Hosting,
    folder: PathBuf,
    processes: &ModelProcesses,
    notices: &mut Vec<Notice>,
) -> Result<Box<dyn Model>, EffectError> {
    let here: Box<dyn Model> = hosting.make_adapter(Names::System)?;
    let key = ProcessKey::of_hosting(&hosting);
    if let Some((process, held)) = processes.find_process(&key) {
        return Ok(Box::new(HostedModel::new(here, process, held)));
    }
    let limits = ProcessLimits {
        total: Duration::from_secs(hosting.profile.timeouts.total_seconds),
        idle: IDLE,
    };
    let confined = confine_server(caller, (hosting, ToolUse::Run, false), || Ok(folder), notices)?;
    let Some(confined) = confined else {
        return Ok(here);
    };
    let process = ModelProcess::new(here.provider_name(), confined.program, confined.sandbox, limits);
    let (process, held) = processes.keep_process(key, process, confined.held);
    // Started while the caller reads the ledger: the first answer then waits for the server alone.
    process.prepare();
    Ok(Box::new(HostedModel::new(here, process, held)))
}

/// Prepares the sandbox of a server's adapter. `None` if the profile has no valid address: nothing can be sent then, and the adapter
/// reports that itself. With `is_helped`, a helper waits for the process: it ends with the thread that called this function.
fn confine_server(
    caller: &Ground,
    (hosting, tool_use, is_helped): (Hosting, ToolUse, bool),
    folder: impl FnOnce() -> Result<PathBuf, EffectError>,
    notices: &mut Vec<Notice>,
) -> Result<Option<ConfinedHost>, EffectError> {
    let url = hosting.profile.base_url.as_ref().map(ToString::to_string);
    let Some(url) = url.and_then(|url| HttpUrl::parse(&url).ok()) else {
        return Ok(None);
    };
    let (sandbox, held) = match is_helped {
        true => programs::start_sandbox(caller, tool_use)?,
        false => programs::probe_sandbox(caller)?,
    };
    // Only a notice: a run can require confinement, and policy can test the enforcement.
    if tool_use == ToolUse::Run
        && let Err(why) = held.get()
    {
        let message = format!(
            "the kernel cannot confine this tool here ({why}): it runs in this process, and the boundary is observed"
        );
        notices.push(tool_notice(message));
    }
    let program = caller.environment().helper_program().map_err(|error| {
        let message = format!("cannot find this program's own file: {error}");
        EffectError::from_source(Cause::Internal, "helper", message, &error)
    })?;
    let named = AUTHORITIES.iter().filter_map(|name| {
        let place = caller.environment().cwd.join(caller.environment().get(name)?);
        place.exists().then(|| ((*name).to_owned(), place))
    });
    let named: Vec<_> = named.collect();
    let program = HostProgram {
        // A name of its own: a process may serve several runs, and a run may have several processes.
        name: clock::new_run().to_string(),
        program,
        args: vec![VERB.to_owned()],
        env: named
            .iter()
            .map(|(name, place)| (name.clone(), place.display().to_string()))
            .collect(),
        readable: named.into_iter().map(|(_, place)| place).collect(),
        folder: folder()?,
        host: url.host().to_owned(),
        port: url.port(),
        patience: Duration::from_secs(hosting.profile.timeouts.connect_seconds),
        key: hosting.key.clone(),
        greeting: Box::new(move |found| write_greeting(&hosting, found)),
    };
    Ok(Some(ConfinedHost {
        program,
        sandbox,
        held,
    }))
}

/// Writes the greeting for the child.
fn write_greeting(hosting: &Hosting, found: NameLookup) -> Result<Vec<u8>, String> {
    let greeting = HostedGreeting {
        profile: hosting.profile.clone(),
        key: hosting.key.as_ref().map(|key| key.expose().to_owned()),
        key_obstacle: hosting.key_obstacle.clone(),
        found,
    };
    serde_json::to_vec(&greeting).map_err(|error| format!("its settings cannot be written down: {error}"))
}
