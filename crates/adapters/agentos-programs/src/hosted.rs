//! Our own adapters, hosted like any other tool: this same program, started again and confined before it reads its task.
//!
//! Owns: the one connection that it gets, and the lines that it writes. Never: lets it reach another address, or runs it
//! unconfined where the kernel can hold it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use agentos_sandbox::{
    LaunchSpec, OutputStream, RunCaps, RunFolders, Sandbox, SandboxProbe, StopHandle, ToolInput,
};
use agentos_tool::{
    Adapter, BoxFuture, Confinement, Progress, ProgressSink, Timestamp, ToolCapabilities, ToolError,
    ToolHealth, ToolOutput, ToolTask,
};
use serde::{Deserialize, Serialize};

use crate::AgentError;
use crate::adapter::{confinement, whole};
use crate::background::Voice;
use crate::calling::{Answered, called};
use crate::lines::Cutter;
use crate::quote::last_line;
use crate::refusals::LastRun;

/// Bytes that it may write.
const MOST_OUTPUT: usize = 64 << 20;
/// It keeps the task's limit itself and says so in its own words; this much later it is ended.
const GRACE: Duration = Duration::from_secs(5);

/// What a hosted adapter writes: one line each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum HostedLine {
    /// A piece of the answer arrived.
    Text {
        /// The piece.
        text: String,
    },
    /// Something worth telling.
    Note {
        /// One sentence.
        note: String,
    },
    /// The end: the answer.
    Output {
        /// As the adapter gave it.
        output: ToolOutput,
    },
    /// The end: no answer.
    Error {
        /// As the adapter gave it.
        error: ToolError,
    },
}

/// What the hosted adapter finds of its server's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Found {
    /// It has an address; a connection may come of it or not.
    Host,
    /// It has none.
    Nothing,
    /// Nobody answered in time.
    Silence,
}

/// The one connection of a hosted adapter, made outside of its sandbox.
struct Connection {
    found: Found,
    /// Why there is none, in the system's words. `None` if there is one, or nobody knows why not.
    obstacle: Option<std::io::Error>,
    /// The adapter can reach its server.
    is_made: bool,
    /// The way out, open as long as this lives.
    #[cfg(target_os = "linux")]
    _outlet: Option<agentos_sandbox::NetworkOutlet>,
}

impl Connection {
    /// Puts why there is no connection into an error of the adapter. The cause that it found itself is its sandbox, in which
    /// no socket is opened.
    fn explain(&self, error: ToolError) -> ToolError {
        if self.is_made || error.causes.is_empty() {
            return error;
        }
        ToolError {
            causes: self.obstacle.iter().map(ToString::to_string).collect(),
            ..error
        }
    }
}

/// Writes down what a hosted adapter reads: the adapter's own settings, its key and the task.
pub type Job = dyn Fn(&ToolTask, Found) -> Result<Vec<u8>, String> + Send + Sync;

/// How an adapter is started.
pub struct Host {
    /// This program.
    pub program: PathBuf,
    /// The arguments that make it a hosted adapter.
    pub args: Vec<String>,
    /// Its whole environment.
    pub env: Vec<(String, String)>,
    /// What it may read besides the system's folders.
    pub readable: Vec<PathBuf>,
    /// Where runs may have folders of their own.
    pub folder: PathBuf,
    /// Its server's name or address.
    pub host: String,
    /// And port.
    pub port: u16,
    /// For the connection to be made.
    pub patience: Duration,
    /// What it reads.
    pub job: Box<Job>,
}

/// An adapter that runs elsewhere.
pub struct Hosted {
    here: Box<dyn Adapter>,
    inner: Arc<Inner>,
    held: SandboxProbe,
}

struct Inner {
    provider: String,
    host: Host,
    sandbox: Sandbox,
    last: LastRun,
}

impl Hosted {
    /// Hosts `here`, whose words and health stay its own. `held` is what the sandbox says when it is probed: where
    /// nothing confines, the adapter runs in this process and is observed.
    #[must_use]
    pub fn new(here: Box<dyn Adapter>, host: Host, sandbox: Sandbox, held: SandboxProbe) -> Self {
        let provider = here.provider().to_owned();
        // Elsewhere a confined process cannot be given a connection.
        let held = if cfg!(target_os = "linux") {
            held
        } else {
            SandboxProbe::known(Err(
                "a confined adapter cannot be given a connection on this system".to_owned(),
            ))
        };
        Self {
            here,
            inner: Arc::new(Inner {
                provider,
                host,
                sandbox,
                last: LastRun::default(),
            }),
            held,
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
        Box::pin(called(&self.inner, task, progress, Inner::work))
    }

    fn supports(&self) -> ToolCapabilities {
        self.here.supports()
    }

    fn confinement(&self) -> Confinement {
        confinement(self.held.get(), &self.inner.last)
    }
}

impl Inner {
    fn work(&self, task: &ToolTask, stop: &StopHandle, voice: &Voice) -> Answered {
        let answered = self.answer(task, stop, voice);
        answered.unwrap_or_else(|error| Err(error.into_tool_error(0)))
    }

    fn answer(&self, task: &ToolTask, stop: &StopHandle, voice: &Voice) -> Result<Answered, AgentError> {
        let name = format!("{}.{}", task.task_id, task.attempt);
        let scratch = RunFolders::new(&self.host.folder, &name, self.sandbox.lease_identity()?)?;
        // The way out is there as long as this function runs.
        let (mut order, connection) = self.order(&scratch)?;
        order.env.clone_from(&self.host.env);
        let broken = |how: String| AgentError::Protocol {
            program: self.provider.clone(),
            how,
        };
        let input = (self.host.job)(task, connection.found).map_err(broken)?;
        let caps = RunCaps {
            time: Duration::from_secs(task.limits.timeout_seconds) + GRACE,
            output: MOST_OUTPUT,
        };
        let (mut cutter, mut end, mut errors) = (Cutter::default(), None, Vec::new());
        let mut line = |line: &[u8]| match serde_json::from_slice(line) {
            Ok(HostedLine::Text { text }) => voice.say(Progress::Text(text)),
            Ok(HostedLine::Note { note }) => voice.say(Progress::Note(note)),
            Ok(HostedLine::Output { output }) => end = Some(Ok(output)),
            Ok(HostedLine::Error { error }) => end = Some(Err(connection.explain(error))),
            Err(_) => end = None,
        };
        let mut seen = |stream, bytes: &[u8]| match stream {
            OutputStream::Out => cutter.take(bytes, &mut line),
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
        self.last.take(&scratch);
        let ended = ended?;
        whole(&ended.report)?;
        end.ok_or_else(|| AgentError::Failed {
            program: self.provider.clone(),
            code: ended.code,
            said: last_line(&errors),
        })
    }

    /// The order, and the connection it may use. Where there is none, nothing listens inside either, so that the
    /// adapter finds what it would have found outside.
    #[cfg(target_os = "linux")]
    fn order(&self, scratch: &RunFolders) -> Result<(LaunchSpec, Connection), AgentError> {
        use std::net::{IpAddr, Ipv4Addr};

        use agentos_sandbox::{ConnectFailure, NetworkOutlet, OutletRoute, PortForward, connect_host};
        let host = &self.host;
        let mut order = self.bare_order(scratch);
        let name = host.host.trim_matches(['[', ']']);
        let none = |found, why: Option<std::io::Error>| Connection {
            found,
            obstacle: why,
            is_made: false,
            _outlet: None,
        };
        let first = match connect_host(name, host.port, host.patience) {
            Ok(first) => first,
            Err(ConnectFailure::UnknownHost(why)) => return Ok((order, none(Found::Nothing, Some(why)))),
            Err(ConnectFailure::Refused(why)) => return Ok((order, none(Found::Host, Some(why)))),
            Err(ConnectFailure::TooLate) => return Ok((order, none(Found::Silence, None))),
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
            found: Found::Host,
            obstacle: None,
            is_made: true,
            _outlet: Some(outlet),
        };
        Ok((order, connection))
    }

    #[cfg(not(target_os = "linux"))]
    fn order(&self, scratch: &RunFolders) -> Result<(LaunchSpec, Connection), AgentError> {
        let connection = Connection {
            found: Found::Host,
            obstacle: None,
            is_made: true,
        };
        Ok((self.bare_order(scratch), connection))
    }

    fn bare_order(&self, scratch: &RunFolders) -> LaunchSpec {
        let host = &self.host;
        let mut order = LaunchSpec::new(host.program.clone(), host.args.clone(), scratch.home());
        order.readable.clone_from(&host.readable);
        order.readable.push(host.program.clone());
        order.writable = vec![scratch.home(), scratch.tmp()];
        order
    }
}
