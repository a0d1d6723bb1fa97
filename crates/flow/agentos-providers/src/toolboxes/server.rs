//! Providers of tools behind one face: programs in the protocol of toolboxes, and servers of the Model Context Protocol.
//!
//! Owns: which of them a profile means. Never: offers a tool.

use std::collections::BTreeMap;

use agentos_api::list_causes;
use agentos_engine::ports::EffectError;
use agentos_mcp_client::{HttpServer, McpError, McpServer, McpToolbox, ServerAuth};
use agentos_net::{HttpClient, HttpUrl, NetConfig};
use agentos_profile::ResolvedProfile;
use agentos_programs::{Program, Toolbox, ToolboxResult};
use agentos_tool::ToolDescription;
use serde_json::Value;

use agentos_ground::error::usage_error;

/// Way to a provider of tools, as its profile says it.
pub(crate) enum ToolSource {
    /// Program in the protocol of toolboxes.
    Toolbox(Program),
    /// Program in the Model Context Protocol.
    McpProgram(Program),
    /// Server of the Model Context Protocol at an address. Its key or tokens are looked up when it is opened: a keyring can take seconds,
    /// and a profile is read before each turn.
    McpAddress(HttpUrl, Box<ResolvedProfile>),
}

/// Tools as their provider lists them. Untrusted.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ListedTools {
    /// Part that models are shown.
    pub tools: Vec<ToolDescription>,
    /// Everything else that the provider says about a tool, by its name.
    pub(crate) notes: BTreeMap<String, Value>,
}

/// Reason why a provider lists no tools.
#[derive(Debug)]
pub(crate) struct ListFault {
    /// Reason, in words.
    pub(crate) why: String,
    /// Causes, from the outermost to the root.
    pub(crate) causes: Vec<String>,
    /// True if the user has to sign in.
    pub(crate) needs_sign_in: bool,
}

impl ListFault {
    fn from_error(error: &(dyn std::error::Error + 'static), needs_sign_in: bool) -> Self {
        Self {
            why: error.to_string(),
            causes: list_causes(error),
            needs_sign_in,
        }
    }
}

/// Provider of tools in a session. Its processes and connections end with this value.
pub enum ToolServer {
    /// Program in the protocol of toolboxes.
    Toolbox(Toolbox),
    /// Server of the Model Context Protocol.
    Mcp(Box<McpToolbox>),
}

impl ToolServer {
    /// Makes the provider at an address. Nothing is sent yet.
    pub(crate) fn at_address(url: HttpUrl, auth: ServerAuth) -> Result<Self, EffectError> {
        let client = HttpClient::new(NetConfig::default());
        let client = client.map_err(|error| usage_error(error.to_string()))?;
        let server = McpServer::Http(HttpServer { url, auth, client });
        Ok(Self::Mcp(Box::new(McpToolbox::new(server))))
    }

    /// Returns true if it listed other tools than at first. Then every call fails.
    pub fn has_changed(&self) -> bool {
        match self {
            Self::Toolbox(toolbox) => toolbox.has_changed(),
            Self::Mcp(toolbox) => toolbox.has_changed(),
        }
    }

    /// Ends what has nothing to do.
    pub fn end_idle(&self) {
        match self {
            Self::Toolbox(toolbox) => toolbox.end_idle(),
            Self::Mcp(toolbox) => toolbox.end_idle(),
        }
    }

    /// Asks for the tools.
    pub(crate) async fn describe(&self) -> Result<ListedTools, ListFault> {
        match self {
            Self::Toolbox(toolbox) => match toolbox.describe().await {
                Ok(tools) => Ok(ListedTools {
                    tools,
                    notes: BTreeMap::new(),
                }),
                Err(error) => Err(ListFault::from_error(&error, false)),
            },
            Self::Mcp(toolbox) => match toolbox.describe().await {
                Ok(tools) => {
                    let mut listed = ListedTools::default();
                    for tool in tools {
                        if tool.notes.as_object().is_some_and(|notes| !notes.is_empty()) {
                            listed.notes.insert(tool.description.name.clone(), tool.notes);
                        }
                        listed.tools.push(tool.description);
                    }
                    Ok(listed)
                }
                Err(error) => Err(ListFault::from_error(&error, needs_sign_in(&error))),
            },
        }
    }

    /// Calls a tool. Dropping the future ends the call. The error is the reason for the model.
    pub async fn call(&self, tool: &str, arguments: &Value) -> Result<ToolboxResult, String> {
        match self {
            Self::Toolbox(toolbox) => {
                let called = toolbox.call(tool, arguments).await;
                called.map_err(|error| error.to_string())
            }
            Self::Mcp(toolbox) => toolbox.call(tool, arguments).await.map_err(|error| {
                // The causes have the server's own words, which help a model to correct its call.
                let mut words = vec![error.to_string()];
                words.extend(list_causes(&error));
                words.join(": ")
            }),
        }
    }
}

/// Returns true if signing in is what helps.
fn needs_sign_in(error: &McpError) -> bool {
    match error {
        McpError::SignIn(reason) => reason.needs_sign_in(),
        McpError::Unauthorized(_) => true,
        McpError::Program(_)
        | McpError::Handshake(_)
        | McpError::Request(_)
        | McpError::EndlessList
        | McpError::OtherTools => false,
    }
}
