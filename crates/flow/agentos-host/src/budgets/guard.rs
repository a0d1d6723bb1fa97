//! The guard of the budgets: it reserves what a call can cost before the call is sent, and closes the reservation at its end.
//!
//! Owns: the one way from a call to the budgets. Never: sends a call, or writes the ledger.

use std::sync::{Mutex, MutexGuard, PoisonError};

use agentos_api::NextStep;
use agentos_context::estimate_tokens;
use agentos_engine::Cause;
use agentos_engine::ports::{Clock as _, EffectError};
use agentos_ledger::CallRecord;
use agentos_model::ChatRequest;
use agentos_store::{
    BudgetLimit, BudgetScope, BudgetStore, PlannedSpend, ReserveAnswer, SpendEnd, StoreError,
};
use agentos_tool::{ExactCost, ExecutionMode, TokenPrices};
use agentos_window::estimate_message;

use super::{open_store, read_budgets, read_recorded};
use crate::clock::{self, SystemClock};
use crate::host::Host;
use crate::ledger::{Ledger, store_error};

/// Seconds after which the process of an open call counts as gone. A call that takes longer counts again at its end.
const LEASE_SECONDS: u32 = 900;

/// Model whose calls are guarded.
#[derive(Debug, Clone)]
pub(crate) struct GuardedModel {
    /// Session. `None` if the calls belong to none.
    pub(crate) session: Option<String>,
    /// Provider.
    pub(crate) provider: String,
    /// Model that is requested. `None` if the server chooses.
    pub(crate) model: Option<String>,
    /// Place of the model.
    pub(crate) execution_mode: ExecutionMode,
    /// Prices of its tokens.
    pub(crate) price: TokenPrices,
}

/// Guard of the budgets that are about a model.
pub(crate) struct BudgetGuard {
    host: Host,
    model: GuardedModel,
    limits: Vec<BudgetLimit>,
    store: Mutex<BudgetStore>,
}

impl BudgetGuard {
    /// Opens the guard of a model. `None` if no budget is about it.
    ///
    /// # Errors
    /// If the budgets or their reservations cannot be read.
    pub(crate) fn open(host: &Host, model: GuardedModel) -> Result<Option<Self>, EffectError> {
        let mut limits = read_budgets(host.environment())?;
        limits.retain(|limit| {
            let scope = &limit.scope;
            scope.contains(model.session.as_deref(), &model.provider, model.model.as_deref())
        });
        if limits.is_empty() {
            return Ok(None);
        }
        Ok(Some(Self {
            store: Mutex::new(open_store(host)?),
            host: host.clone(),
            model,
            limits,
        }))
    }

    /// Reserves what a call of so many tokens can cost. Returns the id of the reservation, or `None` if the call is free.
    ///
    /// # Errors
    /// If a budget does not have so much left, or a price is not known.
    pub(crate) fn reserve(
        &self,
        input_tokens: u64,
        output_tokens: u64,
    ) -> Result<Option<String>, EffectError> {
        let GuardedModel {
            session,
            provider,
            model,
            execution_mode,
            price,
        } = &self.model;
        // The estimate is too low for base64 alone, by a third; see `agentos_context::estimate_tokens`.
        let input_tokens = input_tokens.saturating_add(input_tokens.div_ceil(2));
        let Some(bound) = price.bound_cost(input_tokens, output_tokens) else {
            return match execution_mode {
                ExecutionMode::Local => Ok(None),
                ExecutionMode::Cloud => Err(refuse_unknown(provider, model.as_deref())),
            };
        };
        if bound == ExactCost::default() {
            return Ok(None);
        }
        // Before the reservation: a call that is recorded in between is still in the file of the reservations, by its id.
        let ledger = Ledger::open_existing(&self.host)?;
        let id = clock::new_run().to_string();
        let now = SystemClock.now();
        let planned = PlannedSpend {
            id: &id,
            session: session.as_deref(),
            provider,
            model: model.as_deref(),
            bound,
            now: &now,
            lease_seconds: LEASE_SECONDS,
        };
        let read = |limit: &BudgetLimit, since: &_| {
            read_recorded(ledger.as_ref(), limit, since).map_err(ReserveError::Effect)
        };
        let answer = self.lock().reserve(&self.limits, &planned, read);
        match answer.map_err(ReserveError::into_effect)? {
            ReserveAnswer::Reserved => Ok(Some(id)),
            ReserveAnswer::Exceeded { position, sums } => {
                let left = sums.and_then(|sums| {
                    let used = sums.spent.checked_add(sums.reserved)?;
                    let limit = self.limits.get(position)?.amount_usd;
                    let pico = limit.pico_dollars().saturating_sub(used.pico_dollars());
                    Some(ExactCost::from_pico_dollars(pico))
                });
                Err(refuse_spent(
                    self.limits.get(position),
                    left.unwrap_or_default(),
                    bound,
                ))
            }
        }
    }

    /// Reserves what a request without tools can cost, as [`BudgetGuard::reserve`] does.
    ///
    /// # Errors
    /// Those of [`BudgetGuard::reserve`].
    pub(crate) fn reserve_request(
        &self,
        request: &ChatRequest,
        output_tokens: u64,
    ) -> Result<Option<String>, EffectError> {
        let system = request.system.as_deref().map_or(0, estimate_tokens);
        let messages = request.messages.iter().map(estimate_message);
        self.reserve(messages.fold(system, u64::saturating_add), output_tokens)
    }

    /// Closes a reservation by the record of its call. `may_cost` is false if certainly no answer was made.
    pub(crate) fn close(&self, id: &str, cost: Option<ExactCost>, may_cost: bool) {
        let end = match (cost, may_cost) {
            (Some(cost), _) => SpendEnd::Known(cost),
            (None, true) => SpendEnd::Unknown,
            (None, false) => SpendEnd::Nothing,
        };
        if let Err(error) = self.lock().close(id, end) {
            // The reservation stays until its lease ends, and the ledger has the cost.
            tracing::warn!(%error, "a reservation could not be closed");
        }
    }

    /// Closes the reservation that a record names, if it names one.
    pub(crate) fn close_record(&self, call: &CallRecord, may_cost: bool) {
        if let Some(id) = &call.reservation {
            self.close(id, call.cost_usd, may_cost);
        }
    }

    fn lock(&self) -> MutexGuard<'_, BudgetStore> {
        // Each use is one transaction, so the store is consistent even after a panic of another thread.
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Failure to reserve.
enum ReserveError {
    Store(StoreError),
    Effect(EffectError),
}

impl From<StoreError> for ReserveError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl ReserveError {
    fn into_effect(self) -> EffectError {
        match self {
            Self::Store(error) => store_error(&error),
            Self::Effect(error) => error,
        }
    }
}

/// Reservation of a call that is open. Dropped, it counts as a call whose cost nobody knows.
pub(crate) struct OpenSpend<'a> {
    guard: &'a BudgetGuard,
    /// Id of the reservation. `None` if the call is free, or closed.
    id: Option<String>,
}

impl<'a> OpenSpend<'a> {
    /// Reserves as [`BudgetGuard::reserve`] does.
    ///
    /// # Errors
    /// Those of [`BudgetGuard::reserve`].
    pub(crate) fn reserve(guard: &'a BudgetGuard, input: u64, output: u64) -> Result<Self, EffectError> {
        let id = guard.reserve(input, output)?;
        Ok(Self { guard, id })
    }

    /// Closes the reservation, and returns its id. `None` if the call is free.
    pub(crate) fn close(mut self, cost: Option<ExactCost>, may_cost: bool) -> Option<String> {
        let id = self.id.take()?;
        self.guard.close(&id, cost, may_cost);
        Some(id)
    }
}

impl Drop for OpenSpend<'_> {
    fn drop(&mut self) {
        if let Some(id) = self.id.take() {
            self.guard.close(&id, None, true);
        }
    }
}

/// Makes the error of a budget that does not have enough left.
fn refuse_spent(limit: Option<&BudgetLimit>, left: ExactCost, bound: ExactCost) -> EffectError {
    let name = limit.map(describe_budget).unwrap_or_default();
    let message = format!("the budget {name} has ${left} left, and this call can cost up to ${bound}");
    EffectError::new(Cause::Limit, "budget-spent", message).suggest_steps([NextStep::ListBudgets])
}

/// Makes the error of a model whose calls have no price.
pub(crate) fn refuse_unknown(provider: &str, model: Option<&str>) -> EffectError {
    let name = model.map_or_else(|| provider.to_owned(), |model| format!("{provider}/{model}"));
    let message = format!("a budget is set, and nobody states what a call of `{name}` costs");
    EffectError::new(Cause::Limit, "budget-no-price", message).suggest_steps([NextStep::ListBudgets])
}

/// Describes a budget, as in `$5/day of provider openai`.
fn describe_budget(limit: &BudgetLimit) -> String {
    let BudgetScope {
        session,
        provider,
        model,
    } = &limit.scope;
    let mut name = format!("${}/{}", limit.amount_usd, limit.period.name());
    let parts = [("session", session), ("provider", provider), ("model", model)];
    for (kind, value) in parts {
        if let Some(value) = value {
            name.push_str(&format!(" of {kind} {value}"));
        }
    }
    name
}
