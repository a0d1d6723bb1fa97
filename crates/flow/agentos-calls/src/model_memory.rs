//! Loading, unloading and warming up a model of a server, and the first request to a model that is not loaded.
//!
//! Owns: the locks by which several programs load a model once, and the published shape. Never: loads a model that nobody named, or
//! starts a server.

use std::time::Duration;

use agentos_chain::hash_bytes;
use agentos_engine::Cause;
use agentos_engine::ports::{CancelSignal, Clock as _, EffectError};
use agentos_generic_http::{MemoryChange, ServerModel, ToolCaller};
use agentos_model::{ChatEvent, ChatRequest};
use agentos_net::{Deadline, Names};
use agentos_store::LedgerLock;
use agentos_tool::{ExecutionMode, FreeGate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Calls;
use crate::chat::word_failure;
use crate::ledger::store_error;
use crate::pools::{PoolQuery, load_chain};
use agentos_ground::Ground;
use agentos_ground::clock::SystemClock;
use agentos_ground::error::usage_error;
use agentos_ground::options::{ProviderChoice, ProviderOverrides};
use agentos_ground::runtime::block_on;
use agentos_providers::Providers;
use agentos_providers::known_tools::read_tools;
use agentos_providers::learned_windows;
use agentos_providers::model_name::{ModelName, ModelNames, NamedModel};
use agentos_providers::pool_files::read_pool_file;
use agentos_providers::tools::{ServedModel, Tool, make_server_tool};

/// Pause between two tries to get a lock that another program has.
const PAUSE: Duration = Duration::from_millis(50);
/// Longest time to load a model ahead.
const PRELOAD_LIMIT: Duration = Duration::from_secs(120);
/// Health code of a server that loads the model with its first request.
const NOT_LOADED: &str = "not-loaded";
/// Health code of a server that is loading the model.
const LOADING: &str = "loading";

/// Action on the memory of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ModelAction {
    /// The model is loaded.
    Load,
    /// The model is unloaded.
    Unload,
    /// The model is loaded, and answers one token.
    Warmup,
}

/// Order to change the memory of a server.
#[derive(Debug, Clone)]
pub struct ModelActionSpec {
    /// The model, as in `ollama/qwen3`, or its name at `provider`.
    pub model: String,
    /// The provider. `None` if `model` names it.
    pub provider: Option<String>,
    /// Action.
    pub action: ModelAction,
    /// Longest time for all of it.
    pub limit: Duration,
}

/// The output of `agentos models load --json` and its siblings.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ModelActionReport {
    /// Version of this shape: 1.
    pub version: u32,
    /// Action.
    pub action: ModelAction,
    /// Name of the provider.
    pub provider: String,
    /// Model, as its server names it. Untrusted.
    pub model: String,
    /// True if nothing had to be requested: the model was in this state already.
    pub was_so: bool,
    /// Milliseconds from the first request to the end.
    pub took_ms: u64,
    /// Tokens of the loaded context. `None` if the server does not say, or the model is not loaded.
    pub context_window: Option<u64>,
    /// Bytes of memory that the model uses. `None` if the server does not say.
    pub memory_bytes: Option<u64>,
}

impl Calls<'_> {
    /// Loads, unloads or warms up a model of a server. Several calls at once, of this and of other programs, load it once. Must be
    /// awaited on a thread with a runtime that has timers and sockets; see [`agentos_ground::runtime::block_on`].
    ///
    /// # Errors
    /// If the provider is no server, or cannot do it, or not in time.
    pub async fn change_model(self, spec: &ModelActionSpec) -> Result<ModelActionReport, EffectError> {
        let tools = read_tools(self.ground)?;
        let names = ModelNames::of_tools(&tools);
        let name = match &spec.provider {
            Some(provider) => names.find_model(NamedModel {
                provider: Some(ModelName {
                    provider: provider.as_str().into(),
                    model: None,
                }),
                model: Some(&spec.model),
                usual: None,
            })?,
            None => names.split_id(&spec.model, Providers::of(self.ground).read_usual()?.as_ref())?,
        };
        let name = name.unwrap_or_else(|| ModelName::parse(&spec.model));
        let provider = name.provider.name();
        tools
            .require_known(provider)
            .map_err(|error| match &spec.provider {
                // Names of models may contain `/`, and then their first part is no provider.
                None => error.hint(format!(
                    "write the provider before it, as in `PROVIDER/{}`",
                    spec.model
                )),
                Some(_) => error,
            })?;
        let overrides = ProviderOverrides {
            model: name.model.clone(),
            ..ProviderOverrides::default()
        };
        let resolved = tools.resolve_profile(self.ground, provider, &overrides)?;
        if resolved.profile.adapter.is_program() {
            return Err(usage_error(format!(
                "`{provider}` is a program, and has no models in a server's memory"
            )));
        }
        let tool = make_server_tool(self.ground, &resolved)?;
        let model = resolved.profile.model.clone();
        let model = model.ok_or_else(|| {
            usage_error(format!("the call names no model of `{provider}`"))
                .hint(format!("write it as in `{provider}/MODEL`"))
        })?;
        let served = tool.served;
        let hosting = tool
            .hosting
            .ok_or_else(|| usage_error(format!("`{provider}` is not a server")))?;
        if hosting.profile.execution_mode() == ExecutionMode::Cloud {
            let message = format!("`{provider}` is not on this machine, and its models are always ready");
            return Err(EffectError::new(Cause::Tool, "no-loading", message));
        }
        let adapter = hosting.make_adapter(Names::System)?;
        let deadline = Deadline::after(spec.limit);
        let _lock = match &served {
            Some(served) => wait_for_lock(self.ground, served, &deadline).await?,
            // Not reached: a model was named, and so the tool has one.
            None => None,
        };
        let changed = change_with(adapter.as_ref(), spec.action, &deadline).await?;
        let (found, was_so) = changed.unwrap_or((None, false));
        learned_windows::forget(self.ground, provider);
        Ok(ModelActionReport {
            version: 1,
            action: spec.action,
            provider: provider.to_owned(),
            context_window: found.as_ref().and_then(|found| found.context_window),
            memory_bytes: found.as_ref().and_then(|found| found.memory_bytes),
            model: found.map_or(model, |found| found.name),
            was_so,
            took_ms: deadline.elapsed_ms(),
        })
    }

    /// Begins to load the member that a pool would choose now, at the side, if the pool's profile says `preload`. Nothing for all other
    /// providers. A failure is reported by the first turn, which needs the same server.
    pub fn start_preload(self, choice: &ProviderChoice) {
        let Some(spec) = plan_preload(self.ground, choice.provider.name()) else {
            return;
        };
        let ground = self.ground.clone();
        std::thread::spawn(move || block_on(Calls::of(&ground).change_model(&spec)));
    }
}

/// Returns the order to load a pool's member ahead. `None` if the provider is no such pool, or no member can be chosen.
fn plan_preload(ground: &Ground, name: &str) -> Option<ModelActionSpec> {
    let tools = read_tools(ground).ok()?;
    let pool = read_pool_file(&tools, name).ok()??;
    if pool.preload != Some(true) {
        return None;
    }
    let chosen = Calls::of(ground)
        .choose_member(name, &PoolQuery::default())
        .ok()?
        .alias?;
    let chain = load_chain(ground, &tools, name).ok()?;
    let member = chain
        .first()?
        .members
        .iter()
        .find(|member| member.model.alias == chosen)?;
    Some(ModelActionSpec {
        model: member.model.model.clone()?,
        provider: Some(member.model.provider.clone()),
        action: ModelAction::Load,
        limit: PRELOAD_LIMIT,
    })
}

/// Makes the change. `None` if a model was warmed up by a server that cannot load on request.
async fn change_with(
    adapter: &dyn ToolCaller,
    action: ModelAction,
    deadline: &Deadline,
) -> Result<Option<(Option<ServerModel>, bool)>, EffectError> {
    let change = match action {
        ModelAction::Load | ModelAction::Warmup => MemoryChange::Load,
        ModelAction::Unload => MemoryChange::Unload,
    };
    let changed = adapter.change_memory(change, deadline.remaining()).await;
    let changed = match (action, changed) {
        (_, Ok(changed)) => Some((Some(changed.model), changed.was_so)),
        // Its first request loads the model, or the model is there always.
        (ModelAction::Warmup, Err(error)) if error.detail == "no-loading" => None,
        (ModelAction::Load | ModelAction::Unload | ModelAction::Warmup, Err(error)) => {
            return Err(word_failure(error));
        }
    };
    if action == ModelAction::Warmup {
        answer_one_token(adapter, deadline).await?;
    }
    Ok(changed)
}

/// Lets the model answer one token: that reads its weights, and prepares what a first answer would wait for.
async fn answer_one_token(adapter: &dyn ToolCaller, deadline: &Deadline) -> Result<(), EffectError> {
    let request = ChatRequest {
        max_output_tokens: Some(1),
        ..ChatRequest::from_text("Say ok.")
    };
    let answer = async {
        let mut stream = adapter.chat(&request, FreeGate::share());
        while let Some(event) = stream.next_event().await.map_err(word_failure)? {
            if matches!(event, ChatEvent::Finish(_)) {
                break;
            }
        }
        Ok(())
    };
    let out_of_time = || {
        EffectError::new(
            Cause::Limit,
            "read-timeout",
            "the model gave no token within the time limit",
        )
    };
    tokio::time::timeout(deadline.remaining(), answer)
        .await
        .unwrap_or_else(|_| Err(out_of_time()))
}

/// Waits until no other program changes the memory of this server for this model.
///
/// # Errors
/// If the lock cannot be made, or not in time.
async fn wait_for_lock(
    ground: &Ground,
    served: &ServedModel,
    deadline: &Deadline,
) -> Result<Option<LedgerLock>, EffectError> {
    loop {
        match try_lock(ground, served)? {
            LockTry::Locked(lock) => return Ok(Some(lock)),
            // Without a folder, several programs may load it at the same time; that is no reason to refuse.
            LockTry::Nowhere => return Ok(None),
            LockTry::Busy if deadline.pause_within(PAUSE).await => {}
            LockTry::Busy => {
                let message = format!("another program is still loading or unloading `{}`", served.model);
                return Err(EffectError::new(Cause::Tool, "loading", message));
            }
        }
    }
}

enum LockTry {
    Locked(LedgerLock),
    Busy,
    Nowhere,
}

fn try_lock(ground: &Ground, served: &ServedModel) -> Result<LockTry, EffectError> {
    let Some(folder) = ground.environment().state_dir() else {
        return Ok(LockTry::Nowhere);
    };
    let address = served.address.as_deref().unwrap_or_default();
    let key = hash_bytes(format!("{address} {}", served.model).as_bytes());
    let lock = LedgerLock::lock_model(&folder.join("machine"), &key);
    Ok(match lock.map_err(|error| store_error(&error))? {
        Some(lock) => LockTry::Locked(lock),
        None => LockTry::Busy,
    })
}

/// Look at a server before a turn.
#[derive(Debug, Default)]
pub struct FirstLook {
    /// Lock of the first request to a model that is not loaded, which ends with its turn. `None` if there is no need for one.
    pub lock: Option<LedgerLock>,
    /// Tokens of the loaded context. `None` if the server does not say.
    pub loaded_window: Option<u64>,
}

/// Looks at the server of a turn, and lets one program at a time send the first request to a model that is not loaded: parallel first
/// requests make some servers load a model several times. Others wait until it is loaded, or the first one has ended.
///
/// A model is not loaded by a request of its own: servers unload a model after a while that a first request loaded, and keep one that
/// was loaded on request.
pub async fn await_first_request(ground: &Ground, tool: &Tool) -> FirstLook {
    // These servers say whether a model is loaded, and one of them loads a model several times. The others load it once.
    if !tool.reports_window {
        return FirstLook::default();
    }
    let limit = tool.served.as_ref().map_or(0, |served| served.total_seconds);
    let deadline = Deadline::after(Duration::from_secs(limit));
    loop {
        let health = tool.adapter.health_check(SystemClock.now()).await;
        let look = |lock| FirstLook {
            lock,
            loaded_window: health.context_window,
        };
        let is_absent = health.detail.as_deref() == Some(NOT_LOADED);
        let is_loading = health.detail.as_deref() == Some(LOADING);
        let Some(served) = tool.served.as_ref().filter(|_| is_absent || is_loading) else {
            return look(None);
        };
        match try_lock(ground, served) {
            Ok(LockTry::Locked(lock)) if is_absent => return look(Some(lock)),
            // No program of ours loads it, so nobody knows how long that takes: the turn itself reports it. A lock that cannot be
            // made is no reason to refuse a turn either.
            Ok(LockTry::Locked(_) | LockTry::Nowhere) | Err(_) => return look(None),
            Ok(LockTry::Busy) if deadline.pause_within(PAUSE).await => {}
            Ok(LockTry::Busy) => return look(None),
        }
    }
}

/// Looks at the server of a run, as [`await_first_request`] does. If the user stops the run, `cancel` is ready again afterwards: the run
/// then ends in its own order, before anything is sent.
pub async fn look_at_server(ground: &Ground, tool: &Tool, cancel: &mut CancelSignal<'_>) -> FirstLook {
    let look = tokio::select! {
        biased;
        () = &mut *cancel => None,
        look = await_first_request(ground, tool) => Some(look),
    };
    look.unwrap_or_else(|| {
        // A future that was ready must not be polled again.
        *cancel = Box::pin(std::future::ready(()));
        FirstLook::default()
    })
}
