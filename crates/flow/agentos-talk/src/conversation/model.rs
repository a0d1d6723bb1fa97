//! The model of a turn: its provider, its confined adapter, and the size of its window.
//!
//! Owns: how they are made from a choice of the user. Never: chooses a provider.

use agentos_api::WindowSource as Stated;
use agentos_chat::TurnModel;
use agentos_engine::context_search::ModelWindow;
use agentos_engine::ports::EffectError;
use agentos_ledger::SessionKey;
use agentos_model::Model;
use agentos_profile::{Origin, ResolvedProfile};
use agentos_store::LedgerLock;
use agentos_tool::{Ability, BoxFuture, TokenPrices};
use agentos_window::WindowSize;

use agentos_calls::budgets::guard::{BudgetGuard, GuardedModel};
use agentos_calls::budgets::meter::BudgetMeter;
use agentos_calls::chat::{models_folder, require_server, server_name};
use agentos_calls::hosted::{ModelProcesses, confine_model};
use agentos_calls::model_memory::await_first_request;
use agentos_ground::Ground;
use agentos_ground::error::usage_error;
use agentos_ground::options::ProviderChoice;
use agentos_ground::proposals::ModelFacts;
use agentos_ground::window_share::measure_window;
use agentos_ground::window_share::reserve_answer;
use agentos_providers::known_tools::read_tools;
use agentos_providers::learned_windows::RememberedWindow;
use agentos_providers::prices::{ProvedPrices, UnprovedServer, prove_prices};
use agentos_providers::servers::sourced_window;
use agentos_providers::tools::{Tool, make_server_tool};
use agentos_runs::context_choice::find_window;

/// A model that is ready for a turn.
pub struct ModelParts {
    model: Box<dyn Model>,
    requested: Option<String>,
    /// Address of the server. `None` if the adapter's is fixed.
    address: Option<String>,
    price: TokenPrices,
    /// The server, if it gave no answer when it was asked whether its calls cost nothing.
    silent: Option<UnprovedServer>,
    /// Largest window that the user or the catalogue states. `None` if neither states one.
    bounding_window: Option<u64>,
    window: WindowSize,
    max_output_tokens: Option<u64>,
    takes_tools: bool,
    facts: ModelFacts,
    is_of_repository: bool,
    /// Lock of the first request to a model that is not loaded, until the turn ends.
    _first_request: Option<LedgerLock>,
}

impl ModelParts {
    /// Makes the meter of the model's calls in a session.
    ///
    /// # Errors
    /// If the budgets cannot be read.
    pub fn open_meter(&self, ground: &Ground, session: &SessionKey) -> Result<BudgetMeter, EffectError> {
        let model = GuardedModel {
            session: Some(session.to_string()),
            provider: self.facts.provider.clone(),
            model: self.requested.clone(),
            execution_mode: self.facts.execution_mode,
            price: self.price.clone(),
            silent: self.silent.clone(),
            window: self.bounding_window,
        };
        BudgetGuard::open(ground, model).map(BudgetMeter::for_turns)
    }

    /// Returns the model as policy judges by it.
    pub fn facts(&self) -> &ModelFacts {
        &self.facts
    }

    /// Returns the memory of the model's window.
    pub fn remembered_window<'a>(&self, ground: &'a Ground) -> RememberedWindow<'a> {
        RememberedWindow {
            ground,
            provider: self.facts.provider.clone(),
            address: self.address.clone(),
            model: self.requested.clone(),
        }
    }

    /// Returns true if the repository's own profile names the address.
    pub fn is_of_repository(&self) -> bool {
        self.is_of_repository
    }

    /// Returns the model as a turn needs it.
    pub fn turn_model(&self) -> TurnModel<'_> {
        TurnModel {
            model: self.model.as_ref(),
            requested: self.requested.as_deref(),
            price: &self.price,
            window: self.window,
            output_reserve: reserve_answer(self.window, self.max_output_tokens),
            max_output_tokens: self.max_output_tokens,
            takes_tools: self.takes_tools,
        }
    }
}

/// Prepares the model of a provider for a turn. Notices are reported now. If `cancel` becomes ready, the server is not asked about the
/// window any more, and `cancel` is ready again afterwards: the turn then ends in its own order, before anything is sent.
///
/// # Errors
/// If the provider is not a server, or its profile is invalid.
pub async fn prepare_model(
    ground: &Ground,
    choice: &ProviderChoice,
    processes: &ModelProcesses,
    cancel: &mut BoxFuture<'_, ()>,
) -> Result<ModelParts, EffectError> {
    let tools = read_tools(ground)?;
    let name = server_name(&tools, &choice.provider)?;
    let resolved = tools.resolve_profile(ground, name, &choice.overrides)?;
    require_server(name, &resolved.profile)?;
    let mut tool = make_server_tool(ground, &resolved)?;
    let (first_request, window, is_cancelled) = tokio::select! {
        biased;
        () = &mut *cancel => (None, None, true),
        (first, window, price) = ask_server(ground, &tool, &resolved) => {
            tool.price = price.prices;
            tool.silent = price.silent;
            (first, window, false)
        }
    };
    if is_cancelled {
        // A future that was ready must not be polled again.
        *cancel = Box::pin(std::future::ready(()));
    }
    let window = measure_window(window);
    let hosting = tool.hosting.take();
    let hosting = hosting.ok_or_else(|| usage_error(format!("`{name}` is not a model behind a server")))?;
    let model = confine_model(
        ground,
        hosting,
        models_folder(ground)?,
        processes,
        &mut tool.notices,
    )?;
    tool.notices.into_iter().for_each(|notice| ground.notify(notice));
    Ok(ModelParts {
        model,
        _first_request: first_request,
        is_of_repository: resolved.origin_of("base_url") == Some(&Origin::ProjectFile),
        facts: ModelFacts::of_profile(&resolved.profile),
        requested: resolved.profile.model.clone(),
        address: tool.address,
        price: tool.price,
        silent: tool.silent,
        bounding_window: tool.bounding_window,
        window,
        max_output_tokens: choice.max_output_tokens.or(tool.max_tokens),
        // A server that does not say may take tools; one that refuses them says so, and a profile can then say no.
        takes_tools: resolved.profile.capabilities.tools != Ability::No,
    })
}

/// Waits until the first request to a model that is not loaded may be sent, and finds the window and the prices.
async fn ask_server(
    ground: &Ground,
    tool: &Tool,
    resolved: &ResolvedProfile,
) -> (Option<LedgerLock>, Option<ModelWindow>, ProvedPrices) {
    let price = prove_prices(tool.price.clone(), &resolved.profile).await;
    let look = await_first_request(ground, tool).await;
    let window = find_window(tool, look.loaded_window);
    // A turn assumes less than a run, so the window that a refusal gave a run could be larger than a turn would use without it.
    let may_raise = look.loaded_window.is_none() && sourced_window(resolved).is_none();
    let is_raised = |known: &ModelWindow| {
        known.source == Stated::Server && known.tokens > WindowSize::assume_smallest().tokens
    };
    let window = window.filter(|known| !(may_raise && is_raised(known)));
    (look.lock, window, price)
}
