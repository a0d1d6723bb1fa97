//! Built-in adapters in a child process: this program, started again and confined before it reads its first request.
//!
//! Owns: how such a process is started and connected, and a task for it; `hosted_chat` has conversations. Never: lets it reach
//! another address, or runs it unconfined where the kernel can hold it.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use agentos_sandbox::{
    InputSource, LaunchSpec, OutputStream, RunCaps, RunFolders, Sandbox, SandboxError, SandboxProbe,
    StopHandle, ToolInput,
};
use agentos_tool::{
    Adapter, BoxFuture, Confinement, Progress, ProgressSink, Secret, SecretForms, Timestamp,
    ToolCapabilities, ToolError, ToolHealth, ToolOutput, ToolTask,
};

use crate::AgentError;
use crate::adapter::{check_layers, describe_confinement};
use crate::hosted_lines::{AdapterWork, HostedLine};
use crate::model_process::ModelProcess;
use crate::outlets::OpenOutlets;
use crate::refusals::LastRun;
use crate::server_reach::{
    NameLookup, ProcessLauncher, ProcessLimits, ReadyStock, ServerAttempt, ServerReach,
};

/// Time limit of a process, which never applies: requests have limits of their own, and an idle process is ended.
const LONGEST_RUN: Duration = Duration::from_secs(10 * 365 * 24 * 3600);
/// Text that takes the place of the key in an error.
const HIDDEN: &str = "[key]";

/// Writes the first line of a process's input: the adapter's settings and its key.
pub type Greeting = dyn Fn(NameLookup) -> Result<Vec<u8>, String> + Send + Sync;

/// Settings for starting an adapter in a child process.
pub struct Host {
    /// Name of the processes' folders, which no other adapter of this machine has.
    pub name: String,
    /// Path of this program.
    pub program: PathBuf,
    /// Arguments that make it a hosted adapter.
    pub args: Vec<String>,
    /// Complete environment of the child.
    pub env: Vec<(String, String)>,
    /// Files and folders that the child may read besides the system's.
    pub readable: Vec<PathBuf>,
    /// Folder in which each process may create a folder of its own.
    pub folder: PathBuf,
    /// Name or address of the server.
    pub host: String,
    /// Port of the server.
    pub port: u16,
    /// Timeout of the connection.
    pub patience: Duration,
    /// Key that the greeting contains, to hide it in errors. `None` if there is none.
    pub key: Option<Secret>,
    /// Writes the first line of the child's standard input.
    pub greeting: Box<Greeting>,
}

/// Adapter that runs in a confined child process. Each task has a process of its own, so that what it was refused is known.
pub struct Hosted {
    here: Box<dyn Adapter>,
    process: ModelProcess,
    held: SandboxProbe,
}

/// Starter of the processes of one adapter.
struct HostedLauncher {
    provider: String,
    host: Host,
    sandbox: Sandbox,
    last: Arc<LastRun>,
    secrets: SecretForms,
    /// Number of the next process, for the name of its folders.
    next: AtomicU64,
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

impl ModelProcess {
    /// Makes the processes of a provider's adapter. None is started yet.
    #[must_use]
    pub fn new(provider: &str, host: Host, sandbox: Sandbox, limits: ProcessLimits) -> Self {
        let last = Arc::new(LastRun::default());
        let key = host.key.as_ref().map(|key| key.expose().as_bytes().to_vec());
        let launcher = HostedLauncher {
            provider: provider.to_owned(),
            secrets: SecretForms::new(key.iter().map(Vec::as_slice)),
            host,
            sandbox,
            last: Arc::clone(&last),
            next: AtomicU64::new(0),
        };
        Self::with_launcher(Box::new(launcher), limits, last)
    }
}

impl Hosted {
    /// Hosts the adapter `here`, which still answers health checks itself. `held` is the result of probing the sandbox: if
    /// it cannot confine, the adapter runs in this process and is only observed.
    #[must_use]
    pub fn new(here: Box<dyn Adapter>, host: Host, sandbox: Sandbox, held: SandboxProbe) -> Self {
        // A process ends with its task, so neither limit applies.
        let limits = ProcessLimits {
            total: LONGEST_RUN,
            idle: LONGEST_RUN,
        };
        Self {
            process: ModelProcess::new(here.provider(), host, sandbox, limits),
            here,
            held: usable_probe(held),
        }
    }

    async fn run_task(&self, task: &ToolTask, progress: &dyn ProgressSink) -> Result<ToolOutput, ToolError> {
        // Whatever the end is: the folders of the run must not be used after the call, and its refused calls are known then.
        let _end = EndGuard(&self.process);
        let limit = Duration::from_secs(task.limits.timeout_seconds);
        let reader = self.process.send_work(AdapterWork::Task(task.clone()), limit)?;
        let gate = progress.send_gate();
        loop {
            match reader.next_line(gate.as_ref()).await? {
                Some(HostedLine::Text { text }) => progress.progress(Progress::Text(text)),
                Some(HostedLine::Note { note }) => progress.progress(Progress::Note(note)),
                Some(HostedLine::Output { output }) => return Ok(output),
                // The table of requests and the reader let no other line through.
                Some(
                    HostedLine::Event { .. }
                    | HostedLine::Document { .. }
                    | HostedLine::Sending { .. }
                    | HostedLine::SendingFailed { .. }
                    | HostedLine::Error { .. }
                    | HostedLine::Cancelled,
                )
                | None => {
                    return Err(AgentError::from(SandboxError::Stopped).into_tool_error(0));
                }
            }
        }
    }
}

/// Ends the processes of a task when it is dropped.
struct EndGuard<'a>(&'a ModelProcess);

impl Drop for EndGuard<'_> {
    fn drop(&mut self) {
        self.0.end_processes();
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
        Box::pin(self.run_task(task, progress))
    }

    fn supports(&self) -> ToolCapabilities {
        self.here.supports()
    }

    fn confinement(&self) -> Confinement {
        describe_confinement(self.held.get(), self.process.last_run())
    }
}

impl ProcessLauncher for HostedLauncher {
    fn name(&self) -> &str {
        &self.provider
    }

    #[cfg(target_os = "linux")]
    fn connect_server(&self) -> ServerAttempt {
        use agentos_sandbox::{ConnectFailure, connect_host};
        let host = &self.host;
        let failed = |reach, why: Option<std::io::Error>| ServerAttempt {
            reach,
            connection: None,
            obstacle: Some(why.iter().map(ToString::to_string).collect()),
        };
        match connect_host(self.server_name(), host.port, host.patience) {
            Ok(connection) => ServerAttempt {
                reach: ServerReach::Open,
                connection: Some(connection),
                obstacle: None,
            },
            Err(ConnectFailure::UnknownHost(why)) => failed(ServerReach::Unknown, Some(why)),
            Err(ConnectFailure::Refused(why)) => failed(ServerReach::Refused, Some(why)),
            Err(ConnectFailure::TooLate) => failed(ServerReach::Silent, None),
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn connect_server(&self) -> ServerAttempt {
        ServerAttempt {
            reach: ServerReach::Open,
            connection: None,
            obstacle: None,
        }
    }

    fn write_greeting(&self, found: NameLookup) -> Result<Vec<u8>, String> {
        (self.host.greeting)(found)
    }

    fn check_layers(&self, stop: &StopHandle) -> Result<(), AgentError> {
        match stop.report() {
            Some(report) => check_layers(&report),
            None => Err(SandboxError::NotConfined("without a report".to_owned()).into()),
        }
    }

    fn hide_secrets(&self, text: &str) -> String {
        self.secrets.hide(text, HIDDEN)
    }

    fn run_process(
        &self,
        reach: ServerReach,
        ready: &ReadyStock,
        input: InputSource,
        stop: &StopHandle,
        seen: &mut dyn FnMut(OutputStream, &[u8]),
    ) -> Result<u8, AgentError> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}.{number}", self.host.name);
        let scratch = RunFolders::new(&self.host.folder, &name, self.sandbox.lease_identity()?)?;
        let mut order = self.launch_spec(&scratch);
        // Bound to a name, because dropping it closes the route to the server. Without one nothing listens inside either, so that
        // the adapter gets the same error as it would outside.
        let _outlet = match reach {
            ServerReach::Open => self.open_outlet(&mut order, &scratch, ready)?,
            ServerReach::Refused | ServerReach::Unknown | ServerReach::Silent => None,
        };
        let caps = RunCaps {
            time: LONGEST_RUN,
            // Lines are bounded one by one, and by the window of their request.
            output: usize::MAX,
        };
        let ended = scratch.run(&self.sandbox, &order, ToolInput::Talk(input), caps, stop, seen);
        self.last.record_run(&scratch, &OpenOutlets::default());
        Ok(ended?.code)
    }
}

#[cfg(target_os = "linux")]
type ServerOutlet = agentos_sandbox::NetworkOutlet;
#[cfg(not(target_os = "linux"))]
type ServerOutlet = ();

impl HostedLauncher {
    /// Returns the name of the server as the resolver takes it.
    fn server_name(&self) -> &str {
        // In a URL an IPv6 address is written in brackets (RFC 3986, section 3.2.2); the resolver takes it without.
        self.host.host.trim_matches(['[', ']'])
    }

    /// Opens the one route out of the sandbox.
    ///
    /// # Errors
    /// If the socket that leads to the server cannot be opened.
    #[cfg(target_os = "linux")]
    fn open_outlet(
        &self,
        order: &mut LaunchSpec,
        scratch: &RunFolders,
        ready: &ReadyStock,
    ) -> Result<Option<ServerOutlet>, AgentError> {
        use std::net::{IpAddr, Ipv4Addr};

        let (name, port) = (self.server_name(), self.host.port);
        let socket = scratch.doors().join("server.sock");
        let outlet = ServerOutlet::open_with_ready(&socket, (name, port), ready)?;
        order.forwards = vec![agentos_sandbox::PortForward {
            address: name.parse::<IpAddr>().unwrap_or(Ipv4Addr::LOCALHOST.into()),
            port,
            socket,
        }];
        Ok(Some(outlet))
    }

    #[cfg(not(target_os = "linux"))]
    #[expect(clippy::unnecessary_wraps, reason = "it can fail on Linux")]
    fn open_outlet(
        &self,
        _order: &mut LaunchSpec,
        _scratch: &RunFolders,
        _ready: &ReadyStock,
    ) -> Result<Option<ServerOutlet>, AgentError> {
        Ok(None)
    }

    fn launch_spec(&self, scratch: &RunFolders) -> LaunchSpec {
        let host = &self.host;
        let mut order = LaunchSpec::new(host.program.clone(), host.args.clone(), scratch.home());
        order.env.clone_from(&host.env);
        order.readable.clone_from(&host.readable);
        order.readable.push(host.program.clone());
        order.writable = vec![scratch.home(), scratch.tmp()];
        order
    }
}
