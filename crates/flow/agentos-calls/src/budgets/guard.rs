//! The guard of the budgets: it reserves what a call can cost before the call is sent, and closes the reservation at its end.
//!
//! Owns: the one way from a call to the budgets. Never: sends a call, or writes the ledger.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use agentos_api::{NextStep, Notice};
use agentos_engine::Cause;
use agentos_engine::ports::{Clock as _, EffectError};
use agentos_ledger::find_counted_token;
use agentos_store::{
    BudgetAmount, BudgetGroup, BudgetLimit, BudgetPeriod, BudgetScope, BudgetStore, BudgetSums, BudgetUnit,
    PlannedSpend, ReserveAnswer, SpendEnd, SpendingQuery, StoreError, ZoneOffset,
};
use agentos_tool::{ExactCost, ExecutionMode, MOST_TOKENS, SendingSize, Timestamp, TokenPrice, TokenPrices};

use super::{name_counted, open_store, read_budgets, read_recorded};
use crate::ledger::{Ledger, store_error};
use agentos_ground::Ground;
use agentos_ground::clock::{self, SystemClock};
use agentos_providers::prices::UnprovedServer;

/// Seconds after which the process of an open call counts as gone. A call that takes longer counts as its bound until its end.
const LEASE_SECONDS: u32 = 900;

/// Limit a day of a token for which the user has set no budget.
const TOKEN_LIMIT: ExactCost = ExactCost::from_pico_dollars(1_000_000_000_000);

/// Model whose calls are guarded.
#[derive(Debug, Clone)]
pub struct GuardedModel {
    /// Session of the calls, or the name under which the calls of a token are counted. `None` if they have neither.
    pub session: Option<String>,
    /// Provider.
    pub provider: String,
    /// Model that is requested. `None` if the server chooses.
    pub model: Option<String>,
    /// Place of the model.
    pub execution_mode: ExecutionMode,
    /// Prices of its tokens.
    pub price: TokenPrices,
    /// Server, if it gave no answer when it was asked whether its calls cost nothing.
    pub silent: Option<UnprovedServer>,
    /// Largest window that the user or the catalogue states. `None` if neither states one.
    pub window: Option<u64>,
}

impl GuardedModel {
    /// Makes the error of a model whose calls have no price.
    fn refuse_price(&self) -> EffectError {
        let name = name_model(&self.provider, self.model.as_deref());
        match &self.silent {
            Some(silent) => refuse_silent(&name, silent),
            None => refuse_unknown(&self.provider, self.model.as_deref()),
        }
    }

    /// Returns true if a call of the model may cost money, with a prompt of any length. Without a price it may, on this machine too: a
    /// gateway here can pass calls on to a paid service.
    fn may_cost(&self) -> bool {
        self.price.bound_cost(1, 1).is_none() || states_cost(&self.price)
    }

    /// Returns true if the limit of a token is about the model although the user has set none. A model on this machine, or in
    /// its private network, is not refused then without a price: the user has set no limit in money.
    fn may_cost_elsewhere(&self) -> bool {
        states_cost(&self.price) || (self.may_cost() && self.execution_mode == ExecutionMode::Cloud)
    }
}

/// Guard of the budgets that are about a model.
pub struct BudgetGuard {
    ground: Ground,
    model: GuardedModel,
    limits: Vec<BudgetLimit>,
    /// True if the calls come with a token for which the user has set no budget.
    uses_default: bool,
    /// Beginning of the period in which a budget was last said to be nearly spent, by the budget's position.
    alerted: Mutex<BTreeMap<usize, String>>,
    store: Mutex<BudgetStore>,
}

impl BudgetGuard {
    /// Opens the guard of a model. `None` if no budget is about it.
    ///
    /// # Errors
    /// If the budgets or their reservations cannot be read.
    pub fn open(ground: &Ground, model: GuardedModel) -> Result<Option<Self>, EffectError> {
        let mut limits = read_budgets(ground.environment())?;
        limits.retain(|limit| {
            let scope = &limit.scope;
            scope.contains(model.session.as_deref(), &model.provider, model.model.as_deref())
        });
        let counted = model.session.as_deref();
        let is_token = counted.and_then(find_counted_token).is_some();
        // Whoever listens on the port of a service that has ended gets its clients' tokens, and can spend with them later.
        let uses_default = is_token && !limits.iter().any(|limit| limit.scope.session.is_some());
        if uses_default && model.may_cost_elsewhere() {
            limits.push(limit_token(counted));
        }
        // Neither reserved nor cut short: whatever its answers say, they cost nothing.
        limits.retain(|limit| limit.amount.unit() != BudgetUnit::Cost || model.may_cost());
        if limits.is_empty() {
            return Ok(None);
        }
        Ok(Some(Self {
            store: Mutex::new(open_store(ground)?),
            ground: ground.clone(),
            model,
            limits,
            uses_default,
            alerted: Mutex::default(),
        }))
    }

    /// Returns whether one of the budgets is in calls or tokens.
    pub(crate) fn has_counts(&self) -> bool {
        self.has_unit(BudgetUnit::Calls) || self.has_unit(BudgetUnit::Tokens)
    }

    fn has_unit(&self, unit: BudgetUnit) -> bool {
        self.limits.iter().any(|limit| limit.amount.unit() == unit)
    }

    /// Reserves the most that one sending of a request can use. Returns the id of the reservation, or `None` if the sending uses nothing
    /// of a budget.
    ///
    /// # Errors
    /// If a budget does not have so much left, or one is in US dollars and a price is not known, or the answer has no limit.
    pub(crate) fn reserve(&self, size: SendingSize) -> Result<Option<String>, EffectError> {
        let GuardedModel {
            session,
            provider,
            model,
            execution_mode: _,
            price,
            silent: _,
            window,
        } = &self.model;
        let input_tokens = size.bound_input(*window);
        let has_costs = self.has_unit(BudgetUnit::Cost);
        let output_tokens = match size.output_tokens.or(*window) {
            Some(tokens) => tokens,
            // Without a price of the answer, the price of the prompt alone would be the bound.
            None if has_costs && price.bound_cost(input_tokens, 1).is_none() => {
                return Err(self.model.refuse_price());
            }
            // A free model costs nothing however long its answer is.
            None if !self.has_unit(BudgetUnit::Tokens)
                && (!has_costs || is_free_answer(price, input_tokens)) =>
            {
                0
            }
            None => return Err(refuse_endless(provider)),
        };
        let bound = match price.bound_cost(input_tokens, output_tokens) {
            Some(bound) => bound,
            None if has_costs => {
                return Err(self.model.refuse_price());
            }
            // Budgets in calls and tokens need no price.
            None => ExactCost::default(),
        };
        if bound == ExactCost::default() && !self.has_counts() {
            return Ok(None);
        }
        // Before the reservation: a call that is recorded in between is still in the file of the reservations, by its id.
        let ledger = Ledger::open_existing(&self.ground)?;
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
            ReserveAnswer::Reserved { nearly_spent } => {
                for (position, sums) in nearly_spent {
                    self.alert(position, sums, &now);
                }
                Ok(Some(id))
            }
            ReserveAnswer::Exceeded { position, sums } => Err(self.limits.get(position).map_or_else(
                || refuse_uncounted(provider),
                |limit| self.explain_default(refuse_spent(limit, sums, &planned)),
            )),
        }
    }

    /// Says once in a period that a budget is nearly spent.
    fn alert(&self, position: usize, sums: BudgetSums, now: &Timestamp) {
        let Some(limit) = self.limits.get(position) else {
            return;
        };
        let session = self.model.session.as_deref();
        let period = limit.query_session(session, now).since.to_string();
        let mut alerted = self.alerted.lock().unwrap_or_else(PoisonError::into_inner);
        if alerted.insert(position, period.clone()).as_ref() != Some(&period) {
            let group = limit.each.map(|each| (each, each.find(session)));
            let name = describe_budget(limit, group);
            let message = format!("the budget {name} is nearly spent: {}", describe_sums(sums));
            self.ground.notify(Notice::new("budget-nearly-spent", message));
        }
    }

    /// Says in a refusal where the limit of a token comes from, if the user set none.
    fn explain_default(&self, refusal: EffectError) -> EffectError {
        let Some(counted) = self.model.session.as_deref().filter(|_| self.uses_default) else {
            return refusal;
        };
        refusal.hint(format!(
            "a token of the service has ${TOKEN_LIMIT} a day for models that cost, until a budget of the session `{counted}` is set"
        ))
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

    /// Closes a reservation.
    pub(crate) fn close(&self, id: &str, end: SpendEnd) {
        if let Err(error) = self.lock().close(id, end) {
            // The reservation stays until its lease ends, and the ledger has the cost.
            tracing::warn!(%error, "a reservation could not be closed");
        }
    }

    fn lock(&self) -> MutexGuard<'_, BudgetStore> {
        // Each use is one transaction, so the store is consistent even after a panic of another thread.
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes the limit of a token for which the user has set no budget.
pub(super) fn limit_token(counted: Option<&str>) -> BudgetLimit {
    BudgetLimit {
        amount: BudgetAmount::Cost(TOKEN_LIMIT),
        period: BudgetPeriod::Day,
        zone: ZoneOffset::default(),
        scope: BudgetScope {
            session: counted.map(str::to_owned),
            ..BudgetScope::default()
        },
        each: None,
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

/// Makes the error of a budget that does not have enough left, with everything that is used of it. Without sums, they are too large to
/// count.
fn refuse_spent(limit: &BudgetLimit, sums: Option<BudgetSums>, call: &PlannedSpend<'_>) -> EffectError {
    let group = limit.each.map(|each| (each, each.find(call.session)));
    let name = describe_budget(limit, group);
    let unit = limit.amount.unit();
    let wanted = match unit {
        BudgetUnit::Cost => format!("this call can cost up to ${}", call.bound),
        BudgetUnit::Calls => "this would be one more".to_owned(),
        BudgetUnit::Tokens => format!("this call can have up to {} tokens", call.bound_tokens),
    };
    let used = sums.map_or_else(|| "more than can be counted is used".to_owned(), describe_sums);
    let taken = sums.and_then(|sums| sums.spent.number().checked_add(sums.reserved.number()));
    let left = unit.amount(limit.amount.number().saturating_sub(taken.unwrap_or(u64::MAX)));
    let message = format!("the budget {name} has {left} left ({used}), and {wanted}");
    EffectError::new(Cause::Limit, "budget-spent", message).suggest_steps([NextStep::ListBudgets])
}

/// Describes what is used of a budget, as in `$3 spent, $1 kept for calls of unknown cost, $0.5 reserved for calls that are waiting`.
fn describe_sums(sums: BudgetSums) -> String {
    let unit = sums.spent.unit();
    let known = unit.amount(sums.spent.number().saturating_sub(sums.held.number()));
    let kept = match unit {
        // Each call is one, whatever it used.
        BudgetUnit::Calls => String::new(),
        BudgetUnit::Cost => format!(", {} kept for calls of unknown cost", sums.held),
        BudgetUnit::Tokens => format!(", {} kept for calls of unknown size", sums.held),
    };
    format!(
        "{known} spent{kept}, {} reserved for calls that are waiting",
        sums.reserved
    )
}

/// Returns true if one of the prices is more than 0, in any tier.
fn states_cost(price: &TokenPrices) -> bool {
    let usual = [price.input, price.cached, price.cache_write, price.output];
    let long = price
        .above
        .iter()
        .flat_map(|long| [long.input, long.cached, long.cache_write, long.output]);
    let mut stated = usual.into_iter().chain(long).flatten();
    stated.any(|price| price > TokenPrice::default())
}

/// Returns true if an answer to a prompt of this length is known to cost nothing, however long the answer is. The price can depend on
/// the length of the prompt.
fn is_free_answer(price: &TokenPrices, input_tokens: u64) -> bool {
    let with_answer = price.bound_cost(input_tokens, 1);
    with_answer.is_some() && with_answer == price.bound_cost(input_tokens, 0)
}

/// Makes the error of a request whose answer may be of any length.
fn refuse_endless(provider: &str) -> EffectError {
    let message =
        format!("a budget is set, and the requests to `{provider}` have no limit on the tokens of an answer");
    EffectError::new(Cause::Limit, "budget-no-limit", message)
        .hint("add `{{max_tokens}}` to the request of its profile, or state its context window")
        .suggest_steps([NextStep::ListBudgets])
}

/// Makes the error of a program whose calls nobody counts.
pub(crate) fn refuse_uncounted(provider: &str) -> EffectError {
    let message = format!("a budget in calls or tokens is set, and nobody counts those of `{provider}`");
    EffectError::new(Cause::Limit, "budget-no-count", message).suggest_steps([NextStep::ListBudgets])
}

/// Makes the error of a model whose calls have no price.
pub(crate) fn refuse_unknown(provider: &str, model: Option<&str>) -> EffectError {
    let name = name_model(provider, model);
    let message = format!("a budget is set, and nobody states what a call of `{name}` costs");
    EffectError::new(Cause::Limit, "budget-no-price", message)
        .hint(format!(
            "state `price` in your profile of `{provider}`: 0 if its calls cost nothing"
        ))
        .suggest_steps([NextStep::ListBudgets])
}

/// Makes the error of a model of this machine whose server does not answer. It does not advise a price of 0, because another server can
/// answer there later.
fn refuse_silent(name: &str, silent: &UnprovedServer) -> EffectError {
    let UnprovedServer { address, why } = silent;
    let message = format!(
        "a budget is set, and the server at {address} does not answer, so it cannot show that a call of `{name}` costs nothing: {why}"
    );
    EffectError::new(Cause::Limit, "budget-no-price", message)
        .hint("start the server, and check the address and the port")
        .suggest_steps([NextStep::CheckHealth])
}

fn name_model(provider: &str, model: Option<&str>) -> String {
    model.map_or_else(|| provider.to_owned(), |model| format!("{provider}/{model}"))
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
        name_counted(session.as_deref()),
        ("provider", provider.as_deref()),
        ("model", model.as_deref()),
        ("guild", guild.as_deref()),
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

#[cfg(test)]
mod tests {
    use agentos_tool::LongPrices;

    use super::*;

    fn model(price: TokenPrices, execution_mode: ExecutionMode) -> GuardedModel {
        GuardedModel {
            session: None,
            provider: "p".to_owned(),
            model: None,
            execution_mode,
            price,
            silent: None,
            window: None,
        }
    }

    #[test]
    fn a_server_that_does_not_answer_is_to_be_started() {
        let unpriced = model(TokenPrices::default(), ExecutionMode::Local);
        let silent = Some(UnprovedServer {
            address: "http://127.0.0.1:8080".to_owned(),
            why: "connection refused".to_owned(),
        });
        let errors = [
            unpriced.refuse_price(),
            GuardedModel { silent, ..unpriced }.refuse_price(),
        ];
        let shown = errors.map(|error| format!("{}\n  {}", error.message, error.hint.unwrap_or_default()));
        insta::assert_snapshot!(shown.join("\n"), @"
        a budget is set, and nobody states what a call of `p` costs
          state `price` in your profile of `p`: 0 if its calls cost nothing
        a budget is set, and the server at http://127.0.0.1:8080 does not answer, so it cannot show that a call of `p` costs nothing: connection refused
          start the server, and check the address and the port
        ");
    }

    #[test]
    fn a_model_costs_if_a_price_of_any_tier_does() {
        let free: Option<TokenPrice> = "0".parse().ok();
        let dear: Option<TokenPrice> = "2".parse().ok();
        let prices = |input, output, long| TokenPrices {
            input,
            output,
            above: vec![LongPrices {
                tokens: 1_000,
                input: None,
                cached: None,
                cache_write: None,
                output: long,
            }],
            ..TokenPrices::default()
        };
        use ExecutionMode::{Cloud, Local};
        // The second column is for the limit of a token that the user has not set.
        for (price, mode, costs) in [
            (TokenPrices::default(), Cloud, (true, true)),
            (TokenPrices::default(), Local, (true, false)),
            (prices(free, free, None), Cloud, (false, false)),
            (prices(free, free, free), Cloud, (false, false)),
            (prices(free, free, dear), Cloud, (true, true)),
            (prices(free, free, dear), Local, (true, true)),
            (prices(free, None, None), Cloud, (true, true)),
            (prices(free, None, None), Local, (true, false)),
            (prices(dear, None, None), Local, (true, true)),
        ] {
            let model = model(price.clone(), mode);
            assert_eq!(
                (model.may_cost(), model.may_cost_elsewhere()),
                costs,
                "{price:?} {mode:?}"
            );
        }
        let tiered = prices(free, free, dear);
        assert!(is_free_answer(&tiered, 1_000));
        assert!(!is_free_answer(&tiered, 1_001));
        assert!(!is_free_answer(&TokenPrices::default(), 1_001));
    }
}
