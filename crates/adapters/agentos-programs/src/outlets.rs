//! The network outlets of one run, and the hosts that the program tried to reach and was refused.
//!
//! Owns: opening the outlets, and the sentence about a refused host, during the run and after it. Never: decides which hosts
//! are allowed; the program's description lists them.

use agentos_sandbox::RunFolders;

use crate::background::ProgressChannel;
use crate::handed::SecretValues;
use crate::{AgentError, Program};

/// Open outlets of a run. They close when the value is dropped.
#[derive(Debug, Default)]
pub(crate) struct OpenOutlets {
    #[cfg(target_os = "linux")]
    outlets: Vec<agentos_sandbox::NetworkOutlet>,
}

impl OpenOutlets {
    /// Lists the hosts that the program tried to reach and was refused, as it wrote them; untrusted.
    pub(crate) fn list_refused(&self) -> Vec<String> {
        #[cfg(target_os = "linux")]
        let refused = self
            .outlets
            .iter()
            .flat_map(agentos_sandbox::NetworkOutlet::refused);
        // Network outlets exist on Linux only.
        #[cfg(not(target_os = "linux"))]
        let refused = std::iter::empty();
        refused.collect()
    }
}

/// Opens the sockets through which a program reaches its server and hosts. The first refusal of a host is reported at once: a
/// program that retries for minutes says nothing by itself.
///
/// # Errors
/// [`AgentError::Sandbox`] if a socket cannot be created.
#[cfg(target_os = "linux")]
pub(crate) fn open_outlets(
    program: &Program,
    scratch: &RunFolders,
    secrets: &std::sync::Arc<SecretValues>,
    channel: &ProgressChannel,
) -> Result<OpenOutlets, AgentError> {
    let ways = program.network_outlets(scratch).into_iter();
    let open = |(forward, way): (agentos_sandbox::PortForward, agentos_sandbox::OutletRoute)| {
        let (secrets, channel) = (std::sync::Arc::clone(secrets), channel.clone());
        let report = move |host: &str| {
            // A program may write its key as a host's name, and this note goes to the screen.
            let note = secrets.hide(&word_refused_host(host));
            channel.report_progress(agentos_tool::Progress::Note(note));
        };
        agentos_sandbox::NetworkOutlet::open_with_report(&forward.socket, way, report)
            .map_err(AgentError::from)
    };
    let outlets: Result<Vec<_>, _> = ways.map(open).collect();
    Ok(OpenOutlets { outlets: outlets? })
}

/// Opens nothing: network outlets exist on Linux only.
#[cfg(not(target_os = "linux"))]
pub(crate) fn open_outlets(
    _program: &Program,
    _scratch: &RunFolders,
    _secrets: &std::sync::Arc<SecretValues>,
    _channel: &ProgressChannel,
) -> Result<OpenOutlets, AgentError> {
    Ok(OpenOutlets::default())
}

/// Words a note for each refused host.
pub(crate) fn word_refused_hosts(hosts: &[String]) -> Vec<String> {
    hosts.iter().map(|host| word_refused_host(host)).collect()
}

fn word_refused_host(host: &str) -> String {
    format!("the tool tried to reach `{host}` and was refused, because its profile does not list that host")
}
