//! Built-in adapters in a child process: this program, started again and confined before it reads its task.
//!
//! Owns: the one connection that the child gets, the lines that it writes, and tasks for it; `hosted_chat` has conversations.
//! Never: lets it reach another address, or runs it unconfined where the kernel can hold it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use agentos_model::{ChatEvent, ChatRequest};
use agentos_sandbox::{
    LaunchSpec, OutputStream, RunCaps, RunFolders, Sandbox, SandboxProbe, StopHandle, ToolInput,
};
use agentos_tool::{
    Adapter, BoxFuture, Confinement, Progress, ProgressSink, Timestamp, ToolCapabilities, ToolError,
    ToolHealth, ToolOutput, ToolTask,
};
use serde::{Deserialize, Serialize};

use crate::AgentError;
use crate::adapter::{check_layers, describe_confinement};
use crate::background::ProgressChannel;
use crate::calling::{CallResult, call_on_thread};
use crate::lines::LineSplitter;
use crate::outlets::OpenOutlets;
use crate::quote::last_line;
use crate::refusals::LastRun;

/// Maximum bytes that the child may write.
const MOST_OUTPUT: usize = 64 << 20;
/// Time after the task's own timeout until the child is ended. The child enforces the timeout itself, with a better error.
const GRACE: Duration = Duration::from_secs(5);

/// Message of a hosted adapter, written as one line of JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum HostedLine {
    /// A piece of the answer arrived.
    Text {
        /// The piece.
        text: String,
    },
    /// A note for the user.
    Note {
        /// Text of the note, one sentence.
        note: String,
    },
    /// An event of the answer to a conversation. The last one is its end.
    Event {
        /// The event.
        event: ChatEvent,
    },
    /// The end of a task: the answer.
    Output {
        /// Output of the adapter.
        output: ToolOutput,
    },
    /// The end: no answer.
    Error {
        /// Error of the adapter.
        error: ToolError,
    },
}

/// Result of looking up and connecting to the server's name, as the hosted adapter must report it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NameLookup {
    /// The name has an address. A connection was made or refused.
    Host,
    /// The name has no address.
    Nothing,
    /// Nothing answered before the timeout.
    Silence,
}

/// Connection of a hosted adapter, made outside of its sandbox.
struct Connection {
    found: NameLookup,
    /// Error of the system. `None` if there is a connection, or if the attempt timed out.
    obstacle: Option<std::io::Error>,
    /// True if the adapter can reach its server.
    is_made: bool,
    /// Route to the server, which dropping this closes.
    #[cfg(target_os = "linux")]
    _outlet: Option<agentos_sandbox::NetworkOutlet>,
}

impl Connection {
    /// Replaces the causes of the adapter's error by the failure of the connection. The adapter itself only finds that its
    /// sandbox refuses a socket.
    fn explain(&self, error: ToolError) -> ToolError {
        if self.is_made || error.causes.is_empty() {
            return error;
        }
        ToolError {
            // Only the outside knows why: the connection was attempted there, before the child started.
            causes: self.obstacle.iter().map(ToString::to_string).collect(),
            ..error
        }
    }
}

/// Work for a hosted adapter.
#[derive(Debug, Clone, Copy)]
pub enum HostedWork<'a> {
    /// Task, whose answer is one text.
    Task(&'a ToolTask),
    /// Conversation, whose answer is a stream of events.
    Chat(&'a ChatRequest),
}

/// Serialises the child's input: the adapter's settings, its key and the work.
pub type Job = dyn Fn(HostedWork<'_>, NameLookup) -> Result<Vec<u8>, String> + Send + Sync;

/// Settings for starting an adapter in a child process.
pub struct Host {
    /// Path of this program.
    pub program: PathBuf,
    /// Arguments that make it a hosted adapter.
    pub args: Vec<String>,
    /// Complete environment of the child.
    pub env: Vec<(String, String)>,
    /// Files and folders that the child may read besides the system's.
    pub readable: Vec<PathBuf>,
    /// Folder in which each run may create a folder of its own.
    pub folder: PathBuf,
    /// Name or address of the server.
    pub host: String,
    /// Port of the server.
    pub port: u16,
    /// Timeout of the connection.
    pub patience: Duration,
    /// Writes the child's standard input.
    pub job: Box<Job>,
}

/// Adapter that runs in a confined child process.
pub struct Hosted {
    here: Box<dyn Adapter>,
    inner: Arc<HostedCore>,
    held: SandboxProbe,
}

/// State that all calls of a hosted adapter share.
pub(crate) struct HostedCore {
    provider: String,
    host: Host,
    sandbox: Sandbox,
    last: LastRun,
}

/// Call of a hosted adapter.
pub(crate) struct HostedCall<'a> {
    /// Name of the run's folders.
    pub(crate) name: String,
    /// Time limit of the adapter.
    pub(crate) seconds: u64,
    pub(crate) work: HostedWork<'a>,
}

/// End of a child that was confined with every layer.
pub(crate) struct EndedChild {
    connection: Connection,
    code: u8,
    errors: Vec<u8>,
}

impl EndedChild {
    /// Replaces the causes of an error by the failure of the connection, if there was none.
    pub(crate) fn explain_error(&self, error: ToolError) -> ToolError {
        self.connection.explain(error)
    }
}

/// Returns the probe, or its failure where the sandbox cannot lead to a server.
pub(crate) fn usable_probe(held: SandboxProbe) -> SandboxProbe {
    // Only the Linux sandbox can lead one address out of a network namespace; on other systems a confined process has no
    // network at all.
    if cfg!(target_os = "linux") {
        return held;
    }
    SandboxProbe::known(Err(
        "a confined adapter cannot be given a connection on this system".to_owned(),
    ))
}

impl Hosted {
    /// Hosts the adapter `here`, which still answers health checks itself. `held` is the result of probing the sandbox: if
    /// it cannot confine, the adapter runs in this process and is only observed.
    #[must_use]
    pub fn new(here: Box<dyn Adapter>, host: Host, sandbox: Sandbox, held: SandboxProbe) -> Self {
        let provider = here.provider().to_owned();
        Self {
            here,
            inner: Arc::new(HostedCore::new(provider, host, sandbox)),
            held: usable_probe(held),
        }
    }
}

impl Adapter for Hosted {
    fn provider(&self) -> &str {
        self.here.provider()
    }

    fn health_check(&self, now: Timestamp) -> BoxFuture<'_, ToolHealth> {
        self.here.health_check(now)
    }

    fn run<'a>(
        &'a self,
        task: &'a ToolTask,
        progress: &'a dyn ProgressSink,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        if self.held.get().is_err() {
            return self.here.run(task, progress);
        }
        Box::pin(call_on_thread(&self.inner, task, progress, HostedCore::run_task))
    }

    fn supports(&self) -> ToolCapabilities {
        self.here.supports()
    }

    fn confinement(&self) -> Confinement {
        describe_confinement(self.held.get(), &self.inner.last)
    }
}

impl HostedCore {
    pub(crate) fn new(provider: String, host: Host, sandbox: Sandbox) -> Self {
        Self {
            provider,
            host,
            sandbox,
            last: LastRun::default(),
        }
    }

    /// Returns the record of the last run.
    pub(crate) fn last_run(&self) -> &LastRun {
        &self.last
    }

    fn run_task(&self, task: &ToolTask, stop: &StopHandle, channel: &ProgressChannel) -> CallResult {
        let mut end = None;
        let call = HostedCall {
            name: format!("{}.{}", task.task_id, task.attempt),
            seconds: task.limits.timeout_seconds,
            work: HostedWork::Task(task),
        };
        let ended = self.run_child(&call, stop, &mut |line| match line {
            Some(HostedLine::Text { text }) => channel.report_progress(Progress::Text(text)),
            Some(HostedLine::Note { note }) => channel.report_progress(Progress::Note(note)),
            Some(HostedLine::Output { output }) => end = Some(Ok(output)),
            Some(HostedLine::Error { error }) => end = Some(Err(error)),
            // A line that is no message after the end makes that end invalid.
            Some(HostedLine::Event { .. }) | None => end = None,
        });
        let ended = ended.map_err(|error| error.into_tool_error(0))?;
        match end {
            Some(Ok(output)) => Ok(output),
            Some(Err(error)) => Err(ended.explain_error(error)),
            None => Err(self.missing_end(&ended).into_tool_error(0)),
        }
    }

    /// Makes the error of a child that ended without an answer and without an error.
    pub(crate) fn missing_end(&self, ended: &EndedChild) -> AgentError {
        AgentError::Failed {
            program: self.provider.clone(),
            code: ended.code,
            said: last_line(&ended.errors),
            lack: None,
        }
    }

    /// Runs one call in a child to its end. `read` gets each line of it, or `None` for a line that is no message.
    ///
    /// # Errors
    /// If the child cannot be started, is stopped, or was not confined with every layer.
    pub(crate) fn run_child(
        &self,
        call: &HostedCall<'_>,
        stop: &StopHandle,
        read: &mut dyn FnMut(Option<HostedLine>),
    ) -> Result<EndedChild, AgentError> {
        let scratch = RunFolders::new(&self.host.folder, &call.name, self.sandbox.lease_identity()?)?;
        // Bound to a name, because dropping it closes the route to the server.
        let (mut order, connection) = self.launch_spec(&scratch)?;
        order.env.clone_from(&self.host.env);
        let broken = |how: String| AgentError::Protocol {
            program: self.provider.clone(),
            how,
        };
        let input = (self.host.job)(call.work, connection.found).map_err(broken)?;
        let caps = RunCaps {
            time: Duration::from_secs(call.seconds) + GRACE,
            output: MOST_OUTPUT,
        };
        let (mut splitter, mut errors) = (LineSplitter::default(), Vec::new());
        let mut line = |line: &[u8]| read(serde_json::from_slice(line).ok());
        let mut seen = |stream, bytes: &[u8]| match stream {
            OutputStream::Out => splitter.add_bytes(bytes, &mut line),
            OutputStream::Err => errors.extend_from_slice(bytes),
        };
        let ended = scratch.run(
            &self.sandbox,
            &order,
            ToolInput::Bytes(input),
            caps,
            stop,
            &mut seen,
        );
        self.last.record_run(&scratch, &OpenOutlets::default());
        let ended = ended?;
        check_layers(&ended.report)?;
        Ok(EndedChild {
            connection,
            code: ended.code,
            errors,
        })
    }

    /// Prepares the launch, and connects to the server. Without a connection nothing listens inside either, so that the
    /// adapter gets the same error as it would outside.
    ///
    /// # Errors
    /// If the socket that leads to the connection cannot be opened.
    #[cfg(target_os = "linux")]
    fn launch_spec(&self, scratch: &RunFolders) -> Result<(LaunchSpec, Connection), AgentError> {
        use std::net::{IpAddr, Ipv4Addr};

        use agentos_sandbox::{ConnectFailure, NetworkOutlet, OutletRoute, PortForward, connect_host};
        let host = &self.host;
        let mut order = self.bare_launch_spec(scratch);
        // In a URL an IPv6 address is written in brackets (RFC 3986, section 3.2.2); the resolver takes it without.
        let name = host.host.trim_matches(['[', ']']);
        let none = |found, why: Option<std::io::Error>| Connection {
            found,
            obstacle: why,
            is_made: false,
            _outlet: None,
        };
        let first = match connect_host(name, host.port, host.patience) {
            Ok(first) => first,
            Err(ConnectFailure::UnknownHost(why)) => {
                return Ok((order, none(NameLookup::Nothing, Some(why))));
            }
            Err(ConnectFailure::Refused(why)) => return Ok((order, none(NameLookup::Host, Some(why)))),
            Err(ConnectFailure::TooLate) => return Ok((order, none(NameLookup::Silence, None))),
        };
        let socket = scratch.doors().join("server.sock");
        let way = OutletRoute::Address(name.to_owned(), host.port);
        let outlet = NetworkOutlet::with_first_connection(&socket, scratch.keeper(), way, first)?;
        order.forwards = vec![PortForward {
            address: name.parse::<IpAddr>().unwrap_or(Ipv4Addr::LOCALHOST.into()),
            port: host.port,
            socket,
        }];
        let connection = Connection {
            found: NameLookup::Host,
            obstacle: None,
            is_made: true,
            _outlet: Some(outlet),
        };
        Ok((order, connection))
    }

    #[cfg(not(target_os = "linux"))]
    fn launch_spec(&self, scratch: &RunFolders) -> Result<(LaunchSpec, Connection), AgentError> {
        let connection = Connection {
            found: NameLookup::Host,
            obstacle: None,
            is_made: true,
        };
        Ok((self.bare_launch_spec(scratch), connection))
    }

    fn bare_launch_spec(&self, scratch: &RunFolders) -> LaunchSpec {
        let host = &self.host;
        let mut order = LaunchSpec::new(host.program.clone(), host.args.clone(), scratch.home());
        order.readable.clone_from(&host.readable);
        order.readable.push(host.program.clone());
        order.writable = vec![scratch.home(), scratch.tmp()];
        order
    }
}
