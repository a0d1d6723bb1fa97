//! The list of the known providers: their addresses, their models, and where their keys come from.
//!
//! Owns: the list. Never: asks a provider anything, or shows a key.

use agentos_engine::ports::EffectError;
use agentos_tool::ExecutionMode;
use schemars::JsonSchema;
use serde::Serialize;

use crate::Calls;
use crate::pools;
use agentos_ground::options::ProviderOverrides;
use agentos_ground::{Ground, keys};
use agentos_providers::Providers;
use agentos_providers::known_tools::read_tools;
use agentos_providers::pool_files::is_pool;
use agentos_providers::toolboxes::ListedToolbox;
use agentos_providers::tools::Tools;

/// A provider in the list.
#[derive(Serialize, JsonSchema)]
pub struct Listed {
    /// Name of the provider.
    pub provider: String,
    /// Local or cloud. `None` if the profile cannot be used.
    pub execution_mode: Option<ExecutionMode>,
    /// Address of the server. `None` if there is none.
    pub base_url: Option<String>,
    /// The program. `None` if the provider is a server.
    pub program: Option<String>,
    /// The configured model. `None` if none is.
    pub model: Option<String>,
    /// Source of the key, in words.
    pub key: String,
    /// The reason why the profile cannot be used. `None` if it can.
    pub problem: Option<String>,
}

/// The output of `agentos tool list --json` and `agentos profile list --json`.
#[derive(Serialize, JsonSchema)]
pub struct ToolList {
    /// Version of this shape: 1.
    pub version: u32,
    /// The providers.
    pub tools: Vec<Listed>,
    /// Programs whose tools models may call.
    pub toolboxes: Vec<ListedToolbox>,
}

impl Calls<'_> {
    /// Lists the known providers.
    ///
    /// # Errors
    /// If a profile folder cannot be read.
    pub fn list_providers(self) -> Result<ToolList, EffectError> {
        let tools = read_tools(self.ground)?;
        let listed = tools
            .provider_names()
            .map(|provider| describe_provider(self.ground, &tools, provider));
        let tools = listed.collect();
        Ok(ToolList {
            version: 1,
            tools,
            toolboxes: Providers::of(self.ground).list_toolboxes()?,
        })
    }
}

fn describe_provider(ground: &Ground, tools: &Tools, provider: &str) -> Listed {
    let mut listed = Listed {
        provider: provider.to_owned(),
        execution_mode: None,
        base_url: None,
        program: None,
        model: None,
        key: "none".to_owned(),
        problem: None,
    };
    if !tools.has_profile(provider) {
        // Programs and recordings are on this machine.
        listed.execution_mode = Some(ExecutionMode::Local);
        return listed;
    }
    if is_pool(tools, provider) {
        match pools::load_chain(ground, tools, provider) {
            Ok(chain) => listed.execution_mode = Some(pools::find_place(&chain)),
            Err(error) => listed.problem = Some(error.message),
        }
        return listed;
    }
    match tools.resolve_profile(ground, provider, &ProviderOverrides::default()) {
        Ok(resolved) => {
            listed.execution_mode = Some(resolved.profile.execution_mode());
            listed.base_url = resolved.profile.base_url.as_ref().map(ToString::to_string);
            listed.program = resolved
                .profile
                .program
                .as_ref()
                .map(|program| program.command.clone());
            listed.model.clone_from(&resolved.profile.model);
            listed.key = keys::key_status(ground, &resolved).describe_source();
        }
        Err(error) => listed.problem = Some(error.message),
    }
    listed
}
