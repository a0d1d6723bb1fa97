//! A server as a toolbox: its first list of tools holds for as long as it is offered.
//!
//! Owns: the connection, and the comparison of lists. Never: offers a tool by itself; the host asks the user first.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use agentos_programs::{Toolbox, ToolboxResult};
use agentos_tool::ToolDescription;
use rmcp::model::Tool;
use serde_json::Value;
use tokio::sync::Mutex;

use crate::connection::{McpConnection, McpError};
use crate::http::HttpServer;

/// Server, before a connection.
pub enum McpServer {
    /// Program of the user.
    Program(Toolbox),
    /// Address.
    Http(HttpServer),
}

/// Tool as a server describes it. Untrusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpTool {
    /// Part that models are shown.
    pub description: ToolDescription,
    /// Everything else that the server says about it, as JSON: title, annotations, schema of the result. No model is shown it, and a
    /// change of it is a change of the tool.
    pub notes: Value,
}

/// Server with the connection of one session.
pub struct McpToolbox {
    server: McpServer,
    connection: Mutex<Option<Arc<McpConnection>>>,
    /// Tools of the first list. Empty before it.
    first: OnceLock<Vec<McpTool>>,
    has_changed: AtomicBool,
}

impl McpToolbox {
    /// Makes the toolbox of a server. Nothing is started yet.
    #[must_use]
    pub fn new(server: McpServer) -> Self {
        Self {
            server,
            connection: Mutex::new(None),
            first: OnceLock::new(),
            has_changed: AtomicBool::new(false),
        }
    }

    /// Returns true if the server listed other tools than before. Then every call fails.
    #[must_use]
    pub fn has_changed(&self) -> bool {
        self.has_changed.load(Ordering::SeqCst)
    }

    /// Ends a connection that no call uses. The next call begins a new one.
    pub fn end_idle(&self) {
        let Ok(mut connection) = self.connection.try_lock() else {
            return;
        };
        if connection
            .as_ref()
            .is_some_and(|open| Arc::strong_count(open) == 1)
            && let Some(open) = connection.take()
        {
            open.stop_program();
        }
    }

    /// Asks the server for its tools.
    ///
    /// # Errors
    /// If it cannot be started or reached, or gives no list.
    pub async fn describe(&self) -> Result<Vec<McpTool>, McpError> {
        let connection = self.connect().await?;
        let tools = list_tools(&connection).await?;
        self.compare(&tools)?;
        Ok(tools)
    }

    /// Calls a tool. Dropping the future cancels the call.
    ///
    /// # Errors
    /// If the server cannot be started or reached, fails, or lists other tools than before.
    pub async fn call(&self, tool: &str, arguments: &Value) -> Result<ToolboxResult, McpError> {
        if self.has_changed() {
            return Err(McpError::OtherTools);
        }
        let connection = self.connect().await?;
        if connection.take_stale() {
            self.compare(&list_tools(&connection).await?)?;
        }
        let arguments = arguments.as_object().cloned().unwrap_or_default();
        connection.call_tool(tool, arguments).await
    }

    /// Returns the open connection, or opens one. A new one lists its tools before its first call.
    async fn connect(&self) -> Result<Arc<McpConnection>, McpError> {
        let mut connection = self.connection.lock().await;
        if let Some(open) = connection.as_ref().filter(|open| open.is_open()) {
            return Ok(Arc::clone(open));
        }
        let opened = match &self.server {
            McpServer::Program(program) => McpConnection::start_program(program).await?,
            McpServer::Http(server) => McpConnection::open_http(server).await?,
        };
        if self.first.get().is_some() {
            self.compare(&list_tools(&opened).await?)?;
        }
        let opened = Arc::new(opened);
        *connection = Some(Arc::clone(&opened));
        Ok(opened)
    }

    fn compare(&self, tools: &[McpTool]) -> Result<(), McpError> {
        match self.first.get_or_init(|| tools.to_vec()) == tools {
            true => Ok(()),
            false => {
                self.has_changed.store(true, Ordering::SeqCst);
                Err(McpError::OtherTools)
            }
        }
    }
}

impl Drop for McpToolbox {
    fn drop(&mut self) {
        // The program is killed here, and not when the runtime gets to it.
        self.end_idle();
    }
}

async fn list_tools(connection: &McpConnection) -> Result<Vec<McpTool>, McpError> {
    let tools = connection.list_tools().await?;
    Ok(tools.into_iter().map(read_tool).collect())
}

/// Splits a tool into the part that models are shown, and the rest.
fn read_tool(tool: Tool) -> McpTool {
    let notes = serde_json::to_value(&tool).unwrap_or_default();
    let notes = match notes {
        Value::Object(mut members) => {
            for shown in ["name", "description", "inputSchema"] {
                members.remove(shown);
            }
            Value::Object(members)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Value::Null,
    };
    let name = tool.name.into_owned();
    let description = tool.description.filter(|text| !text.trim().is_empty());
    McpTool {
        description: ToolDescription {
            // The protocol lets a description be left out, and models need one.
            description: description.map_or_else(|| format!("The tool `{name}`."), |text| text.into_owned()),
            name,
            input_schema: Value::Object((*tool.input_schema).clone()),
        },
        notes,
    }
}
