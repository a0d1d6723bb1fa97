//! Models in a server's memory: which are loaded, loading one, and unloading it.
//!
//! Owns: the order of the steps, which is the same for every server: look, request, look again until it is done. Never: knows a
//! server's paths; a [`ModelMemory`] does. Never loads a model that nobody named.

use std::time::Duration;

use agentos_net::Deadline;
use agentos_tool::{BoxFuture, ToolError};

use crate::{Fault, HttpAdapter, Reason, ServerCall, Service};

/// Pause between two looks at a server that loads a model.
const PAUSE: Duration = Duration::from_millis(200);

/// State of a model of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryState {
    /// In memory.
    Loaded,
    /// On its way into memory.
    Loading,
    /// Outside of memory.
    Unloaded,
    /// Outside of memory, because the last attempt to load it failed.
    Failed,
}

/// Model of a server, in memory or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerModel {
    /// Name in requests.
    pub name: String,
    /// Other names that requests may use: aliases, and names of loaded instances.
    pub other_names: Vec<String>,
    /// State.
    pub state: MemoryState,
    /// Tokens of the loaded context. `None` if the server does not say.
    pub context_window: Option<u64>,
    /// Bytes of memory that it uses. `None` if the server does not say.
    pub memory_bytes: Option<u64>,
    /// Reason of the last failure to load it, in words. `None` if the server gives no reason.
    pub failure: Option<String>,
}

impl ServerModel {
    /// Makes a model of which only name and state are known.
    #[must_use]
    pub fn new(name: impl Into<String>, state: MemoryState) -> Self {
        Self {
            name: name.into(),
            other_names: Vec::new(),
            state,
            context_window: None,
            memory_bytes: None,
            failure: None,
        }
    }

    /// Returns whether requests may use this name for the model.
    #[must_use]
    pub fn answers_to(&self, name: &str) -> bool {
        self.name == name || self.other_names.iter().any(|other| other == name)
    }
}

/// Requests of one kind of server about its memory.
pub trait ModelMemory: Send + Sync {
    /// Lists the server's models with their states. Must not load any.
    ///
    /// # Errors
    /// [`Reason::NoLoading`] if such a server, or this version of it, has no such requests.
    fn list_models<'a>(&'a self, call: ServerCall<'a>) -> BoxFuture<'a, Result<Vec<ServerModel>, Fault>>;

    /// Requests that a model is loaded. May return before it is.
    fn request_load<'a>(
        &'a self,
        call: ServerCall<'a>,
        model: &'a ServerModel,
    ) -> BoxFuture<'a, Result<(), Fault>>;

    /// Requests that a model is unloaded. May return before it is.
    fn request_unload<'a>(
        &'a self,
        call: ServerCall<'a>,
        model: &'a ServerModel,
    ) -> BoxFuture<'a, Result<(), Fault>>;
}

/// Change of a server's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryChange {
    /// The model of the settings is loaded.
    Load,
    /// The model of the settings is unloaded.
    Unload,
}

/// Result of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedMemory {
    /// The model, as it is now.
    pub model: ServerModel,
    /// True if nothing had to be requested.
    pub was_so: bool,
    /// Milliseconds that it took.
    pub took_ms: u64,
}

/// Adapter that can change the memory of its server.
pub trait ModelLoader: Send + Sync {
    /// Lists the server's models with their states, and loads none.
    ///
    /// # Errors
    /// If the server cannot be asked, or has no such requests.
    fn list_memory(&self, limit: Duration) -> BoxFuture<'_, Result<Vec<ServerModel>, ToolError>>;

    /// Loads or unloads the model of the settings, and waits until that is done.
    ///
    /// # Errors
    /// If no model is named, the server does not have it, or cannot do it, or not in time.
    fn change_memory(
        &self,
        change: MemoryChange,
        limit: Duration,
    ) -> BoxFuture<'_, Result<ChangedMemory, ToolError>>;
}

impl<S: Service> ModelLoader for HttpAdapter<S> {
    fn list_memory(&self, limit: Duration) -> BoxFuture<'_, Result<Vec<ServerModel>, ToolError>> {
        Box::pin(async move {
            let deadline = Deadline::after(limit);
            let fail = |fault: Fault| self.server().run_error(&fault, &deadline);
            let base = self.server().checked_base().map_err(fail)?;
            let memory = self.model_memory().map_err(fail)?;
            let models = memory.list_models(self.server_call(&base, &deadline)).await;
            Ok(models
                .map_err(fail)?
                .into_iter()
                .map(|model| self.clean_model(model))
                .collect())
        })
    }

    fn change_memory(
        &self,
        change: MemoryChange,
        limit: Duration,
    ) -> BoxFuture<'_, Result<ChangedMemory, ToolError>> {
        Box::pin(async move {
            let deadline = Deadline::after(limit);
            let fail = |fault: Fault| self.server().run_error(&fault, &deadline);
            let base = self.server().checked_base().map_err(fail)?;
            let memory = self.model_memory().map_err(fail)?;
            let changed = change_model(memory, self.server_call(&base, &deadline), change).await;
            let (model, was_so) = changed.map_err(fail)?;
            Ok(ChangedMemory {
                model: self.clean_model(model),
                was_so,
                took_ms: deadline.elapsed_ms(),
            })
        })
    }
}

impl<S: Service> HttpAdapter<S> {
    fn model_memory(&self) -> Result<&dyn ModelMemory, Fault> {
        self.service()
            .model_memory()
            .ok_or_else(|| Reason::NoLoading.into())
    }

    fn clean_model(&self, model: ServerModel) -> ServerModel {
        let guard = self.server().key_guard();
        ServerModel {
            name: guard.clean_name(model.name),
            other_names: model
                .other_names
                .into_iter()
                .map(|name| guard.clean_name(name))
                .collect(),
            ..model
        }
    }
}

/// Changes the memory, and returns the model and whether nothing had to be done.
async fn change_model(
    memory: &dyn ModelMemory,
    call: ServerCall<'_>,
    change: MemoryChange,
) -> Result<(ServerModel, bool), Fault> {
    // A load without a name would be one that nobody requested.
    let wanted = call.wanted_model().ok_or(Reason::MissingModel)?;
    let found = find_model(memory, call, wanted).await?;
    match (change, found.state) {
        (MemoryChange::Load, MemoryState::Loaded)
        | (MemoryChange::Unload, MemoryState::Unloaded | MemoryState::Failed) => return Ok((found, true)),
        // Somebody else requested it: a second request would load it twice on some servers.
        (MemoryChange::Load, MemoryState::Loading) => {}
        (MemoryChange::Load, MemoryState::Unloaded | MemoryState::Failed) => {
            memory.request_load(call, &found).await?;
        }
        (MemoryChange::Unload, MemoryState::Loaded | MemoryState::Loading) => {
            memory.request_unload(call, &found).await?;
        }
    }
    let mut began = found.state == MemoryState::Loading;
    loop {
        let now = find_model(memory, call, wanted).await?;
        match (change, now.state) {
            (MemoryChange::Load, MemoryState::Loaded)
            | (MemoryChange::Unload, MemoryState::Unloaded | MemoryState::Failed) => return Ok((now, false)),
            // Before the load began, a failure is that of an earlier attempt.
            (MemoryChange::Load, MemoryState::Failed | MemoryState::Unloaded) if began => {
                let fault = Fault::from(Reason::LoadFailed);
                return Err(match &now.failure {
                    Some(failure) => fault.with_message(failure),
                    None => fault,
                });
            }
            (MemoryChange::Load, MemoryState::Failed | MemoryState::Unloaded)
            | (MemoryChange::Unload, MemoryState::Loaded | MemoryState::Loading) => {}
            (MemoryChange::Load, MemoryState::Loading) => began = true,
        }
        if !call.deadline.pause_within(PAUSE).await {
            return Err(Reason::Loading.into());
        }
    }
}

async fn find_model(
    memory: &dyn ModelMemory,
    call: ServerCall<'_>,
    wanted: &str,
) -> Result<ServerModel, Fault> {
    let models = memory.list_models(call).await?;
    let names = || models.iter().map(|model| model.name.clone()).collect();
    let found = models.iter().find(|model| model.answers_to(wanted));
    found
        .cloned()
        .ok_or_else(|| Fault::from(Reason::UnknownModel).with_models(names()))
}
