//! Built-in adapters in the sandbox: this program as their parent, and as the confined child.
//!
//! Owns: the hidden verb, its input and its output. Never: puts a key on a command line or into a variable, where other
//! processes could read it; the key goes over the pipe, with the task.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use agentos_api::Notice;
use agentos_engine::Cause;
use agentos_engine::ports::EffectError;
use agentos_generic_http::ToolCaller;
use agentos_model::{ChatEvent, ChatRequest, Model};
use agentos_net::{HttpUrl, Names};
use agentos_profile::Profile;
use agentos_programs::{
    ChatLimits, Host as HostProgram, Hosted, HostedLine, HostedModel, HostedWork, NameLookup,
};
use agentos_sandbox::{Sandbox, SandboxProbe};
use agentos_tool::{KeyObstacle, Progress, ProgressSink, RunId, Secret, ToolTask};
use serde::{Deserialize, Serialize};

use crate::host::Host;
use crate::programs::ToolUse;
use crate::servers::Hosting;
use crate::session::Session;
use crate::tool_notices::tool_notice;
use crate::tools::Tool;
use crate::{programs, runtime};

/// The hidden verb, which reads a job from standard input. It is not for people.
const VERB: &str = "__tool";
/// Variables that name a user's own certificate authorities, for servers with a certificate of their own.
const AUTHORITIES: [&str; 2] = ["SSL_CERT_FILE", "SSL_CERT_DIR"];

/// The input of a hosted adapter. It has no `Debug`, because it contains the key.
#[derive(Serialize, Deserialize)]
struct HostedJob {
    profile: Profile,
    key: Option<String>,
    key_obstacle: Option<KeyObstacle>,
    found: NameLookup,
    work: JobWork,
}

/// Work of a hosted adapter, as its input has it.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum JobWork {
    Task(ToolTask),
    Chat(ChatRequest),
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
    caller: &Host,
    mut tool: Tool,
    session: &Session,
    tool_use: ToolUse,
) -> Result<Tool, EffectError> {
    let Some(hosting) = tool.hosting.take() else {
        return Ok(tool);
    };
    // The folder is made only if there is an address: without one, nothing is started.
    let folder = || Ok(session.open_copies()?.path().to_owned());
    let Some(confined) = confine_server(caller, (hosting, tool_use), folder, &mut tool.notices)? else {
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

/// Makes the model of a server, in the sandbox if the kernel can confine it. `folder` is where its runs may have folders of their own,
/// and `run` names them. Adds notices for a person.
///
/// # Errors
/// If the wire of the profile is invalid, or this program's own file cannot be found.
pub fn confine_model(
    caller: &Host,
    hosting: Hosting,
    folder: PathBuf,
    run: &RunId,
    notices: &mut Vec<Notice>,
) -> Result<Box<dyn Model>, EffectError> {
    let here: Box<dyn Model> = hosting.make_adapter(Names::System)?;
    let limits = ChatLimits {
        name: run.to_string(),
        total_seconds: hosting.profile.timeouts.total_seconds,
    };
    Ok(
        match confine_server(caller, (hosting, ToolUse::Run), || Ok(folder), notices)? {
            Some(ConfinedHost {
                program,
                sandbox,
                held,
            }) => Box::new(HostedModel::new(here, program, sandbox, held, limits)),
            None => here,
        },
    )
}

/// Prepares the sandbox of a server's adapter. `None` if the profile has no valid address: nothing can be sent then, and the adapter
/// reports that itself.
fn confine_server(
    caller: &Host,
    (hosting, tool_use): (Hosting, ToolUse),
    folder: impl FnOnce() -> Result<PathBuf, EffectError>,
    notices: &mut Vec<Notice>,
) -> Result<Option<ConfinedHost>, EffectError> {
    let url = hosting.profile.base_url.as_ref().map(ToString::to_string);
    let Some(url) = url.and_then(|url| HttpUrl::parse(&url).ok()) else {
        return Ok(None);
    };
    let (sandbox, held) = programs::start_sandbox(caller, tool_use)?;
    // Only a notice: a run can require confinement, and policy can test the enforcement.
    if tool_use == ToolUse::Run
        && let Err(why) = held.get()
    {
        let message = format!(
            "the kernel cannot confine this tool here ({why}): it runs in this process, and the boundary is observed"
        );
        notices.push(tool_notice(message));
    }
    let program = std::env::current_exe().map_err(|error| {
        let message = format!("cannot find this program's own file: {error}");
        EffectError::from_source(Cause::Internal, "helper", message, &error)
    })?;
    let named = AUTHORITIES.iter().filter_map(|name| {
        let place = caller.environment().cwd.join(caller.environment().get(name)?);
        place.exists().then(|| ((*name).to_owned(), place))
    });
    let named: Vec<_> = named.collect();
    let program = HostProgram {
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
        job: Box::new(move |work, found| write_job(&hosting, work, found)),
    };
    Ok(Some(ConfinedHost {
        program,
        sandbox,
        held,
    }))
}

/// Writes the job for the child.
fn write_job(hosting: &Hosting, work: HostedWork<'_>, found: NameLookup) -> Result<Vec<u8>, String> {
    let job = HostedJob {
        profile: hosting.profile.clone(),
        key: hosting.key.as_ref().map(|key| key.expose().to_owned()),
        key_obstacle: hosting.key_obstacle.clone(),
        found,
        work: match work {
            HostedWork::Task(task) => JobWork::Task(task.clone()),
            HostedWork::Chat(request) => JobWork::Chat(request.clone()),
        },
    };
    serde_json::to_vec(&job).map_err(|error| format!("its task cannot be written down: {error}"))
}

/// Runs as a hosted adapter if these arguments (without the program's name) say so, and returns the exit code. `None` if they
/// do not.
pub fn run_as_child(mut args: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    // Exactly one argument: with more, this is no call of ours, and the ordinary program reports an unknown verb.
    if args.next()? != VERB || args.next().is_some() {
        return None;
    }
    Some(match run_job() {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            let _ = writeln!(std::io::stderr(), "{why}");
            ExitCode::FAILURE
        }
    })
}

/// Reads the job, runs its adapter and writes the lines of its answer, in the child.
fn run_job() -> Result<(), String> {
    let mut text = Vec::new();
    std::io::stdin()
        .read_to_end(&mut text)
        .map_err(|error| format!("the job cannot be read: {error}"))?;
    let job: HostedJob =
        serde_json::from_slice(&text).map_err(|error| format!("the job cannot be read: {error}"))?;
    let hosting = Hosting {
        profile: job.profile,
        key: job.key.as_deref().map(Secret::new),
        key_obstacle: job.key_obstacle,
    };
    // The sandbox has no network to look names up in. The adapter fails as its parent did, with the same message.
    let names = match job.found {
        NameLookup::Host => Names::Loopback,
        NameLookup::Nothing => Names::Unknown,
        NameLookup::Silence => Names::Silent,
    };
    let adapter = hosting.make_adapter(names).map_err(|error| error.message)?;
    let last = runtime::block_on(async {
        match &job.work {
            JobWork::Task(task) => Some(match adapter.run(task, &LineSink).await {
                Ok(output) => HostedLine::Output { output },
                Err(error) => HostedLine::Error { error },
            }),
            JobWork::Chat(request) => write_events(adapter.as_ref(), request).await,
        }
    });
    last.map_err(|error| error.message)?.iter().for_each(write_line);
    Ok(())
}

/// Writes the events of a conversation, each when it arrives. Returns the line of its failure, or `None` if it was answered.
async fn write_events(model: &dyn ToolCaller, request: &ChatRequest) -> Option<HostedLine> {
    let mut stream = model.chat(request);
    loop {
        match stream.next_event().await {
            Ok(Some(event)) => {
                let is_end = matches!(event, ChatEvent::Finish(_));
                // A write waits while the pipe is full. The server then waits too, because nobody reads its connection.
                write_line(&HostedLine::Event { event });
                if is_end {
                    return None;
                }
            }
            Ok(None) => return None,
            Err(error) => return Some(HostedLine::Error { error }),
        }
    }
}

/// A progress sink that writes the adapter's progress as lines.
struct LineSink;

impl ProgressSink for LineSink {
    fn progress(&self, progress: Progress) {
        match progress {
            Progress::Text(text) => write_line(&HostedLine::Text { text }),
            Progress::Note(note) => write_line(&HostedLine::Note { note }),
            // Only programs have output streams besides their answer.
            Progress::Transcript(_) => {}
            // The parent alone reads the repository, so a child has nothing to report about that.
            Progress::Read(_) => {}
        }
    }
}

/// Writes one line. An error is ignored: if nobody reads it, the parent is about to end this process.
fn write_line(line: &HostedLine) {
    let text = serde_json::to_string(line).unwrap_or_default();
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{text}").and_then(|()| out.flush());
}
