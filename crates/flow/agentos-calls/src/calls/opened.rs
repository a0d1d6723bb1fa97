//! A model that messages can be sent to, made from the settings.
//!
//! Owns: the order in which the settings are read. Never: sends anything, or keeps what it has read.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentos_engine::ports::EffectError;
use agentos_ledger::count_token;
use agentos_model::Model;
use agentos_tool::{ExecutionMode, TokenPrices};

use crate::budgets::guard::{BudgetGuard, GuardedModel};
use crate::chat::{models_folder, not_a_server, require_server, server_name};
use crate::hosted::{ModelProcesses, confine_model};
use agentos_ground::Ground;
use agentos_ground::options::ProviderChoice;
use agentos_ground::window_share::{measure_window, reserve_answer};
use agentos_providers::called_tool::make_called_tool;
use agentos_providers::known_tools::read_tools;
use agentos_providers::tools::Tool;

/// A model that messages can be sent to.
pub struct OpenedModel {
    /// The model.
    pub model: Box<dyn Model>,
    /// Model that is requested. `None` if the profile names none.
    pub model_name: Option<String>,
    /// Prices of its tokens.
    pub price: TokenPrices,
    execution_mode: ExecutionMode,
    /// Facts about the server.
    pub tool: Tool,
}

impl OpenedModel {
    /// Opens the model of a provider, in a confined process that is one of `processes`. Notices are reported now.
    ///
    /// # Errors
    /// If the provider is not a server, or its profile is invalid.
    pub(crate) fn open(
        ground: &Ground,
        provider: &ProviderChoice,
        processes: &ModelProcesses,
    ) -> Result<Self, EffectError> {
        let tools = read_tools(ground)?;
        let name = server_name(&tools, &provider.provider)?;
        let resolved = tools.resolve_profile(ground, name, &provider.overrides)?;
        require_server(name, &resolved.profile)?;
        let mut tool = make_called_tool(ground, &resolved)?;
        let hosting = tool.hosting.take().ok_or_else(|| not_a_server(name))?;
        let folder = models_folder(ground)?;
        let model = confine_model(ground, hosting, folder, processes, &mut tool.notices)?;
        let notices = std::mem::take(&mut tool.notices);
        notices.into_iter().for_each(|notice| ground.notify(notice));
        Ok(Self {
            model,
            model_name: resolved.profile.model.clone(),
            execution_mode: resolved.profile.execution_mode(),
            price: tool.price.clone(),
            tool,
        })
    }

    /// Returns the most tokens of an answer that is reserved for. `wanted` is the limit of the call, if it sets one.
    pub fn limit_answer(&self, wanted: Option<u64>) -> u64 {
        reserve_answer(measure_window(self.tool.window), wanted.or(self.tool.max_tokens))
    }
}

/// An opened model with the guards of its budgets.
pub struct ReadyModel {
    /// The model.
    pub opened: OpenedModel,
    guarded: GuardedModel,
    guards: Mutex<BTreeMap<Option<String>, SharedGuard>>,
}

/// Guard of the budgets that are about a call. `None` if no budget is.
pub type SharedGuard = Option<Arc<BudgetGuard>>;

impl ReadyModel {
    /// Opens a model as [`OpenedModel::open`] does.
    ///
    /// # Errors
    /// Those of [`OpenedModel::open`].
    pub(crate) fn open(
        ground: &Ground,
        provider: &ProviderChoice,
        processes: &ModelProcesses,
    ) -> Result<Self, EffectError> {
        let opened = OpenedModel::open(ground, provider, processes)?;
        let guarded = GuardedModel {
            session: None,
            provider: opened.model.provider_name().to_owned(),
            model: opened.model_name.clone(),
            execution_mode: opened.execution_mode,
            price: opened.price.clone(),
            silent: opened.tool.silent.clone(),
            window: opened.tool.bounding_window,
        };
        Ok(Self {
            opened,
            guarded,
            guards: Mutex::default(),
        })
    }

    /// Returns the guard of the calls that a program makes with a token of this name, or without a token. `None` if
    /// [`ReadyModel::open_guard`] has not opened it yet.
    pub fn find_guard(&self, token: Option<&str>) -> Option<SharedGuard> {
        self.lock().get(&token.map(str::to_owned)).cloned()
    }

    /// Opens the guard of these calls, once.
    ///
    /// # Errors
    /// If the budgets cannot be read.
    pub fn open_guard(&self, ground: &Ground, token: Option<&str>) -> Result<SharedGuard, EffectError> {
        if let Some(known) = self.find_guard(token) {
            return Ok(known);
        }
        let model = GuardedModel {
            session: token.map(count_token),
            ..self.guarded.clone()
        };
        let guard = BudgetGuard::open(ground, model)?.map(Arc::new);
        self.lock().insert(token.map(str::to_owned), guard.clone());
        Ok(guard)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Option<String>, SharedGuard>> {
        // Guards are put in whole, so the map is valid even after a panic of another thread.
        self.guards.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
