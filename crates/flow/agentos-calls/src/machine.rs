//! The machine: its samples, the models that its servers have loaded, and the last switch of each pool.
//!
//! Owns: the report and its repetition. Never: loads a model; the servers are only asked which ones are loaded.

pub mod pool_state;

use std::time::Duration;

use agentos_engine::ports::EffectError;
use agentos_generic_http::{MemoryState, ServerModel};
use agentos_machine::{MachineSample, MachineSource, ScriptedMachine, SystemMachine};
use agentos_net::Names;
use agentos_tool::{BoxFuture, ExecutionMode, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;

use crate::Calls;
use agentos_ground::Ground;
use agentos_ground::clock;
use agentos_ground::error::usage_error;
use agentos_ground::files::read_text_file;
use agentos_ground::options::ProviderOverrides;
use agentos_ground::runtime::await_all;
use agentos_providers::Providers;
use agentos_providers::known_tools::read_tools;
use agentos_providers::servers::Hosting;
use agentos_providers::tools::{Tools, make_server_tool};
use pool_state::{SwitchReport, list_switches};

/// Variable with the file of a scripted machine, for tests and gates.
const SCRIPT: &str = "AGENTOS_MACHINE_SCRIPT";
/// Largest script, in bytes.
const LARGEST_SCRIPT: u64 = 1 << 20;
/// Longest time for an answer of a server.
const PATIENCE: Duration = Duration::from_secs(1);
/// Time between the two samples of a single report: the use of the processor is measured between them.
const FIRST_SPAN: Duration = Duration::from_millis(150);

/// State of the machine. `agentos status --watch --json` prints one in each line.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct MachineReport {
    /// Version of this shape: 1.
    pub version: u32,
    /// Time of the sample.
    pub at: Timestamp,
    /// Memory, processor and graphics cards.
    pub sample: MachineSample,
    /// Models that servers on this machine have loaded, or are loading.
    pub models: Vec<LoadedModel>,
    /// Servers on this machine that were asked and did not say which models are loaded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub silent: Vec<SilentServer>,
    /// Last switches of pools with the selector `resources`.
    pub switches: Vec<SwitchReport>,
}

/// Model in the memory of a server.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct LoadedModel {
    /// Name of the provider.
    pub provider: String,
    /// Model, as the server names it. Untrusted.
    pub model: String,
    /// True while it is being loaded.
    pub is_loading: bool,
    /// Tokens of the loaded context. `None` if the server does not say.
    pub context_window: Option<u64>,
    /// Bytes of memory that it uses. `None` if the server does not say.
    pub memory_bytes: Option<u64>,
}

/// Server that did not say which models are loaded.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SilentServer {
    /// Name of the provider.
    pub provider: String,
    /// Reason as an error code.
    pub code: String,
}

/// Machine that is looked at repeatedly.
pub struct MachineWatch {
    ground: Ground,
    source: Box<dyn MachineSource>,
    servers: Vec<(String, Hosting)>,
    is_first: bool,
}

impl Calls<'_> {
    /// Prepares looks at the machine and at the servers on it that are set up. Contacts none yet.
    ///
    /// # Errors
    /// If a profile folder or the script cannot be read.
    pub fn watch_machine(self) -> Result<MachineWatch, EffectError> {
        Ok(MachineWatch {
            ground: self.ground.clone(),
            source: open_machine(self.ground)?,
            servers: list_local_servers(self.ground)?,
            is_first: true,
        })
    }
}

impl MachineWatch {
    /// Looks at the machine and asks its servers. Must be awaited on a thread with a runtime that has timers and sockets; see
    /// [`agentos_ground::runtime::block_on`].
    ///
    /// # Errors
    /// If the script of a scripted machine has no sample.
    pub async fn look_once(&mut self) -> Result<MachineReport, EffectError> {
        if std::mem::take(&mut self.is_first) {
            self.source.begin_span(clock::now_ms());
            tokio::time::sleep(FIRST_SPAN).await;
        }
        let asked = self
            .servers
            .iter()
            .map(|(provider, hosting)| -> BoxFuture<'_, _> {
                Box::pin(async move { (provider.clone(), list_loaded(hosting).await) })
            });
        let (mut models, mut silent) = (Vec::new(), Vec::new());
        for (provider, found) in await_all(asked.collect()).await {
            match found {
                Ok(found) => models.extend(
                    found
                        .into_iter()
                        .filter_map(|model| describe_model(&provider, model)),
                ),
                Err(code) => silent.push(SilentServer { provider, code }),
            }
        }
        let sample = self.source.read_sample(clock::now_ms());
        Ok(MachineReport {
            version: 1,
            at: clock::now(),
            sample: sample.map_err(|error| wrong_script(&error))?,
            models,
            silent,
            switches: list_switches(&self.ground),
        })
    }
}

/// Opens the machine, or the script that the environment names in its place.
///
/// # Errors
/// If the script cannot be read.
pub(crate) fn open_machine(ground: &Ground) -> Result<Box<dyn MachineSource>, EffectError> {
    let Some(file) = ground.environment().get(SCRIPT) else {
        return Ok(Box::new(SystemMachine::default()));
    };
    let text = read_text_file(ground.environment(), std::path::Path::new(file), LARGEST_SCRIPT)?;
    let machine = ScriptedMachine::parse(&text).map_err(|error| wrong_script(&error))?;
    Ok(Box::new(machine))
}

/// Returns true if the environment names a script in place of the machine.
pub(crate) fn is_scripted(ground: &Ground) -> bool {
    ground.environment().get(SCRIPT).is_some()
}

pub(crate) fn wrong_script(error: &agentos_machine::MachineError) -> EffectError {
    usage_error(error.to_string()).hint(format!("correct the file that `{SCRIPT}` names"))
}

/// Lists the servers on this machine that somebody set up, also as members of pools.
fn list_local_servers(ground: &Ground) -> Result<Vec<(String, Hosting)>, EffectError> {
    let tools = read_tools(ground)?;
    let default = Providers::of(ground)
        .read_settings()
        .ok()
        .and_then(|settings| settings.default_provider());
    let default = default.as_ref().map(|chosen| chosen.provider.as_str());
    let mut servers: Vec<(String, Hosting)> = Vec::new();
    for provider in tools.profiled_names() {
        // Built-in providers that nobody set up would only be asked in vain.
        if tools.set_up_by(ground, provider, default).is_none() {
            continue;
        }
        let Some(hosting) = host_local(ground, &tools, provider) else {
            continue;
        };
        let address = |hosting: &Hosting| hosting.profile.base_url.as_ref().map(ToString::to_string);
        // Two profiles may name one server.
        if !servers
            .iter()
            .any(|(_, known)| address(known) == address(&hosting))
        {
            servers.push((provider.to_owned(), hosting));
        }
    }
    Ok(servers)
}

/// Makes the server of a provider. `None` if it is none, is elsewhere, or has a mistake, which other verbs report.
fn host_local(ground: &Ground, tools: &Tools, provider: &str) -> Option<Hosting> {
    let resolved = tools
        .resolve_profile(ground, provider, &ProviderOverrides::default())
        .ok()?;
    let profile = &resolved.profile;
    if profile.adapter.is_pool() || profile.adapter.is_program() {
        return None;
    }
    if profile.execution_mode() != ExecutionMode::Local {
        return None;
    }
    make_server_tool(ground, &resolved).ok()?.hosting
}

/// Lists the models of a server with their states, or the code of the reason why not.
pub(crate) async fn list_loaded(hosting: &Hosting) -> Result<Vec<ServerModel>, String> {
    let adapter = hosting.make_adapter(Names::System).map_err(|error| error.code)?;
    adapter.list_memory(PATIENCE).await.map_err(|error| error.detail)
}

/// Describes a model. `None` if it is not in memory.
fn describe_model(provider: &str, model: ServerModel) -> Option<LoadedModel> {
    let is_loading = match model.state {
        MemoryState::Loaded => false,
        MemoryState::Loading => true,
        MemoryState::Unloaded | MemoryState::Failed => return None,
    };
    Some(LoadedModel {
        provider: provider.to_owned(),
        model: model.name,
        is_loading,
        context_window: model.context_window,
        memory_bytes: model.memory_bytes,
    })
}
