//! What a process is started with: the state of the server, the connection to it, and the limits.
//!
//! Owns: these values, and the interface of a launcher. Never: connects, or starts a process.

use std::time::Duration;

use agentos_sandbox::{InputSource, OutputStream, StopHandle};
use serde::{Deserialize, Serialize};

use crate::AgentError;

/// Connection to the server, made outside.
pub(crate) type ServerConnection = std::net::TcpStream;
/// Connections that a process uses next.
pub(crate) type ReadyStock = agentos_sandbox::ReadyConnections;

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

/// State of the server when a request was about to be sent. Each has a process of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ServerReach {
    /// A connection was made.
    Open,
    /// The name has an address, and nobody accepts connections there.
    Refused,
    /// The name has no address.
    Unknown,
    /// Nothing answered before the timeout.
    Silent,
}

impl ServerReach {
    /// Returns what the adapter inside has to find.
    pub(crate) fn lookup(self) -> NameLookup {
        match self {
            Self::Open | Self::Refused => NameLookup::Host,
            Self::Unknown => NameLookup::Nothing,
            Self::Silent => NameLookup::Silence,
        }
    }
}

/// Attempt to connect to the server.
pub(crate) struct ServerAttempt {
    pub(crate) reach: ServerReach,
    /// Connection. `None` if there is none.
    pub(crate) connection: Option<ServerConnection>,
    /// Errors of the system. `None` if a connection was made.
    pub(crate) obstacle: Option<Vec<String>>,
}

/// Starter of the processes of one adapter. Tests have one without a sandbox.
pub(crate) trait ProcessLauncher: Send + Sync {
    /// Returns the name of the provider, for errors.
    fn name(&self) -> &str;

    /// Connects to the server.
    fn connect_server(&self) -> ServerAttempt;

    /// Writes the first line of a process's input, without a line break.
    ///
    /// # Errors
    /// Says why it cannot be written down.
    fn write_greeting(&self, found: NameLookup) -> Result<Vec<u8>, String>;

    /// Checks that a process is confined with every layer. It has written something, and so has reported its layers.
    ///
    /// # Errors
    /// If a layer is missing.
    fn check_layers(&self, stop: &StopHandle) -> Result<(), AgentError>;

    /// Returns a text of the process with secrets hidden.
    fn hide_secrets(&self, text: &str) -> String;

    /// Runs a process to its end, and returns its exit code.
    ///
    /// # Errors
    /// If it cannot be started or confined, or does not end by itself.
    fn run_process(
        &self,
        reach: ServerReach,
        ready: &ReadyStock,
        input: InputSource,
        stop: &StopHandle,
        seen: &mut dyn FnMut(OutputStream, &[u8]),
    ) -> Result<u8, AgentError>;
}

/// Time limits of the processes.
#[derive(Debug, Clone, Copy)]
pub struct ProcessLimits {
    /// Time for a whole answer of a conversation, which the adapter enforces itself.
    pub total: Duration,
    /// Time after which a process without a request ends.
    pub idle: Duration,
}
