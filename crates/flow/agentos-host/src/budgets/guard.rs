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
    BudgetAmount, BudgetGroup, BudgetLimit, BudgetScope, BudgetStore, BudgetUnit, PlannedSpend,
    ReserveAnswer, SpendEnd, SpendingQuery, StoreError,
};
use agentos_tool::{ExactCost, ExecutionMode, TokenPrices, Usage};
use agentos_window::estimate_message;

use super::{open_store, read_budgets, read_recorded};
use crate::clock::{self, SystemClock};
use crate::host::Host;
use crate::ledger::{Ledger, store_error};

/// Seconds after which the process of an open call counts as gone. A call that takes longer counts as its bound until its end.
const LEASE_SECONDS: u32 = 900;

/// Largest number of tokens of one call that is counted, as in the ledger: sums of larger ones would not fit.
const MOST_TOKENS: u64 = 1 << 40;

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

    /// Returns whether one of the budgets is in calls or tokens.
    pub(crate) fn has_counts(&self) -> bool {
        self.limits
            .iter()
            .any(|limit| limit.amount.unit() != BudgetUnit::Cost)
    }

    /// Reserves what a call of so many tokens can use. Returns the id of the reservation, or `None` if the call uses nothing of a budget.
    ///
    /// # Errors
    /// If a budget does not have so much left, or one is in US dollars and a price is not known.
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
        let has_costs = self
            .limits
            .iter()
            .any(|limit| limit.amount.unit() == BudgetUnit::Cost);
        let bound = match (price.bound_cost(input_tokens, output_tokens), execution_mode) {
            (Some(bound), _) => bound,
            (None, ExecutionMode::Cloud) if has_costs => {
                return Err(refuse_unknown(provider, model.as_deref()));
            }
            // A model on this machine costs nothing, and budgets in calls and tokens need no price.
            (None, _) => ExactCost::default(),
        };
        if bound == ExactCost::default() && !self.has_counts() {
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
            bound_tokens: input_tokens.saturating_add(output_tokens).min(MOST_TOKENS),
            now: &now,
            lease_seconds: LEASE_SECONDS,
        };
        let read =
            |query: &SpendingQuery| read_recorded(ledger.as_ref(), query).map_err(ReserveError::Effect);
        let answer = self.lock().reserve(&self.limits, &planned, read);
        match answer.map_err(ReserveError::into_effect)? {
            ReserveAnswer::Reserved => Ok(Some(id)),
            ReserveAnswer::Exceeded { position, sums } => {
                let limit = self.limits.get(position);
                let used = sums.and_then(|sums| sums.spent.number().checked_add(sums.reserved.number()));
                // Sums that are too large to count leave nothing.
                let used = used.unwrap_or(u64::MAX);
                Err(limit.map_or_else(
                    || refuse_uncounted(provider),
                    |limit| refuse_spent(limit, used, &planned),
                ))
            }
        }
    }

    /// Marks a reserved call as sent, right before its request leaves.
    ///
    /// # Errors
    /// If the call must not be sent any more, because it was reserved too long ago, or the file cannot be written.
    pub(crate) fn mark_sent(&self, id: &str) -> Result<(), EffectError> {
        let marked = self.lock().mark_sent(id, &SystemClock.now());
        match marked.map_err(|error| store_error(&error))? {
            true => Ok(()),
            // As on a machine that slept: others may have used what was reserved.
            false => Err(EffectError::new(
                Cause::Limit,
                "budget-expired",
                format!(
                    "what was reserved for this call has expired after {LEASE_SECONDS} s, so it is not sent"
                ),
            )
            .hint("send it again")),
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

    /// Closes a reservation. `may_cost` is false if certainly no answer was made.
    pub(crate) fn close(&self, id: &str, used: UsedAmounts, may_cost: bool) {
        let UsedAmounts { cost, tokens } = used;
        let end = match cost.is_some() || may_cost {
            true => SpendEnd::Ended { cost, tokens },
            false => SpendEnd::Nothing,
        };
        if let Err(error) = self.lock().close(id, end) {
            // The reservation stays until its lease ends, and the ledger has the cost.
            tracing::warn!(%error, "a reservation could not be closed");
        }
    }

    /// Closes the reservation that a record names, if it names one.
    pub(crate) fn close_record(&self, call: &CallRecord, may_cost: bool) {
        if let Some(id) = &call.reservation {
            self.close(id, UsedAmounts::new(call.cost_usd, call.usage.as_ref()), may_cost);
        }
    }

    fn lock(&self) -> MutexGuard<'_, BudgetStore> {
        // Each use is one transaction, so the store is consistent even after a panic of another thread.
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Use of a budget by a call, as far as is known.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct UsedAmounts {
    cost: Option<ExactCost>,
    tokens: Option<u64>,
}

impl UsedAmounts {
    /// Takes the tokens from the counts of the server. `None` if it reported none.
    pub(crate) fn new(cost: Option<ExactCost>, usage: Option<&Usage>) -> Self {
        let tokens = usage.and_then(|usage| usage.input_tokens?.checked_add(usage.output_tokens?));
        Self {
            cost,
            tokens: tokens.map(|tokens| tokens.min(MOST_TOKENS)),
        }
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
    /// Id of the reservation. `None` if nothing was reserved, or it is closed.
    id: Option<String>,
}

impl<'a> OpenSpend<'a> {
    /// Reserves as [`BudgetGuard::reserve`] does, and marks the call as sent.
    ///
    /// # Errors
    /// Those of [`BudgetGuard::reserve`] and [`BudgetGuard::mark_sent`].
    pub(crate) fn reserve(guard: &'a BudgetGuard, input: u64, output: u64) -> Result<Self, EffectError> {
        let id = guard.reserve(input, output)?;
        if let Some(id) = &id {
            guard.mark_sent(id)?;
        }
        Ok(Self { guard, id })
    }

    /// Closes the reservation, and returns its id. `None` if nothing was reserved.
    pub(crate) fn close(mut self, used: UsedAmounts, may_cost: bool) -> Option<String> {
        let id = self.id.take()?;
        self.guard.close(&id, used, may_cost);
        Some(id)
    }
}

impl Drop for OpenSpend<'_> {
    fn drop(&mut self) {
        if let Some(id) = self.id.take() {
            self.guard.close(&id, UsedAmounts::default(), true);
        }
    }
}

/// Makes the error of a budget that does not have enough left.
fn refuse_spent(limit: &BudgetLimit, used: u64, call: &PlannedSpend<'_>) -> EffectError {
    let group = limit.each.map(|each| (each, each.find(call.session)));
    let name = describe_budget(limit, group);
    let left = limit
        .amount
        .unit()
        .amount(limit.amount.number().saturating_sub(used));
    let wanted = match left {
        BudgetAmount::Cost(_) => format!("this call can cost up to ${}", call.bound),
        BudgetAmount::Calls(_) => "this would be one more".to_owned(),
        BudgetAmount::Tokens(_) => format!("this call can have up to {} tokens", call.bound_tokens),
    };
    let message = format!("the budget {name} has {left} left, and {wanted}");
    EffectError::new(Cause::Limit, "budget-spent", message).suggest_steps([NextStep::ListBudgets])
}

/// Makes the error of a program whose calls nobody counts.
pub(crate) fn refuse_uncounted(provider: &str) -> EffectError {
    let message = format!("a budget in calls or tokens is set, and nobody counts those of `{provider}`");
    EffectError::new(Cause::Limit, "budget-no-count", message).suggest_steps([NextStep::ListBudgets])
}

/// Makes the error of a model whose calls have no price.
pub(crate) fn refuse_unknown(provider: &str, model: Option<&str>) -> EffectError {
    let name = model.map_or_else(|| provider.to_owned(), |model| format!("{provider}/{model}"));
    let message = format!("a budget is set, and nobody states what a call of `{name}` costs");
    EffectError::new(Cause::Limit, "budget-no-price", message).suggest_steps([NextStep::ListBudgets])
}

/// Describes a budget, as in `$5/day of provider openai`, or `50 calls/day of guild red (each guild)`.
fn describe_budget(limit: &BudgetLimit, group: Option<(BudgetGroup, Option<&str>)>) -> String {
    let BudgetScope {
        session,
        provider,
        model,
        guild,
    } = &limit.scope;
    let mut name = format!("{}/{}", limit.amount, limit.period.name());
    let parts = [
        ("session", session),
        ("provider", provider),
        ("model", model),
        ("guild", guild),
    ];
    for (kind, value) in parts {
        if let Some(value) = value {
            name.push_str(&format!(" of {kind} {value}"));
        }
    }
    match group {
        Some((each, Some(group))) => name.push_str(&format!(" of {} {group}", each.name())),
        Some((each, None)) => name.push_str(&format!(" of the calls without a {}", each.name())),
        None => {}
    }
    name
}
