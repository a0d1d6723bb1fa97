//! The lines of a confined program as a transport.
//!
//! Owns: the bound on lines that wait. Never: starts a program.

use std::future::Future;
use std::io;

use agentos_programs::{AgentError, LineHandle, LineProcess, Toolbox};
use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::sync::mpsc;

/// Most lines that wait for their reader. A program that writes faster waits.
const MOST_LINES: usize = 8;
/// Most lines in a row that are no messages. Programs print a greeting; more is a program that speaks something else.
const MOST_STRAYS: usize = 64;

/// Transport over a program's lines. The program is killed when this value is dropped.
pub(crate) struct LineTransport {
    process: LineProcess,
    lines: mpsc::Receiver<Vec<u8>>,
}

impl LineTransport {
    /// Starts the program of a toolbox.
    ///
    /// # Errors
    /// If it cannot be confined.
    pub(crate) fn start(toolbox: &Toolbox) -> Result<(Self, LineHandle), AgentError> {
        let (sender, lines) = mpsc::channel(MOST_LINES);
        // Called on the thread of the process, which may block: that is how a program that writes too fast is made to wait.
        let process = toolbox.open_lines(Box::new(move |line| sender.blocking_send(line).is_ok()))?;
        let handle = process.handle();
        Ok((Self { process, lines }, handle))
    }
}

impl Drop for LineTransport {
    fn drop(&mut self) {
        // Before the process is joined: its thread may wait for room among the lines.
        self.lines.close();
        while self.lines.try_recv().is_ok() {}
    }
}

impl Transport<RoleClient> for LineTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let sent = serde_json::to_vec(&item)
            .map_err(io::Error::from)
            .and_then(|line| match self.process.send_line(line) {
                true => Ok(()),
                false => Err(io::ErrorKind::BrokenPipe.into()),
            });
        std::future::ready(sent)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        for _ in 0..MOST_STRAYS {
            let line = self.lines.recv().await?;
            match serde_json::from_slice(&line) {
                Ok(message) => return Some(message),
                Err(error) => tracing::debug!(%error, "a line of an MCP server is no message"),
            }
        }
        None
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.process.handle().stop();
        Ok(())
    }
}
