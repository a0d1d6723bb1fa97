//! `agentos budget`: limits on what models may cost, and what of them is spent.
//!
//! Owns: the file of the budgets, `budgets.json` in the folder of the user's settings, and their report. Never: takes a budget from a
//! repository, or refuses a call; [`guard`] does.

pub mod guard;
pub mod meter;
pub mod spend;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use agentos_engine::Cause;
use agentos_engine::ports::{Clock as _, EffectError};
use agentos_ledger::{SessionKey, count_token, find_counted_token};
use agentos_profile::Profile;
use agentos_store::{BudgetAmount, BudgetStore, LedgerStore, RecordedSpending, SpendingQuery, parse_amount};
use agentos_tool::{ExactCost, ExecutionMode, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Calls;
use crate::ledger::{Ledger, store_error};
use agentos_ground::Ground;
use agentos_ground::clock::SystemClock;
use agentos_ground::environment::Environment;
use agentos_ground::error::usage_error;
use agentos_ground::own_file::{read_own_text, write_own_text};
use agentos_ground::service_tokens::{ListedToken, TokenLife, TokenScope};
use agentos_ground::window_share::{measure_window, reserve_answer};
use agentos_providers::Providers;
use agentos_providers::model_name::{ModelName, ModelNames, NamedModel};
use agentos_providers::tools::Tool;
use guard::{BudgetGuard, GuardedModel};
use meter::GuardedAdapter;

pub use agentos_store::{BudgetGroup, BudgetLimit, BudgetPeriod, BudgetScope, ZoneOffset};

/// Name of the file.
const FILE: &str = "budgets.json";
/// Largest file that is read, in bytes.
const LARGEST_FILE: u64 = 1 << 20;
/// Code of a file that cannot be used.
const BAD_FILE: &str = "bad-budgets";

/// The file of the budgets.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct BudgetFile {
    version: u32,
    budgets: Vec<BudgetLimit>,
}

/// The output of `agentos budget set|list|remove --json`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct BudgetReport {
    /// Version of this shape: 1.
    pub version: u32,
    /// File of the budgets.
    pub file: String,
    /// All budgets that are set now. One for each of several groups of calls has a row for each group that used some of it.
    pub budgets: Vec<BudgetRow>,
}

impl BudgetReport {
    /// Keeps the rows that are about the calls of one session alone. Other rows name other sessions, or say what they cost.
    pub fn keep_session(&mut self, own: Option<&SessionKey>) {
        self.budgets.retain(|row| {
            let group = match row.limit.each {
                Some(BudgetGroup::Session) => row.group.as_deref(),
                Some(BudgetGroup::Guild) | None => None,
            };
            let session = row.limit.scope.session.as_deref().or(group);
            session.is_some() && session == own.map(SessionKey::as_str)
        });
    }
}

/// Budget with what is spent of it in the current period.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct BudgetRow {
    /// The budget.
    pub limit: BudgetLimit,
    /// Time at which the current period began, RFC 3339, UTC.
    pub since: String,
    /// Guild or session of the row, of a budget for each of them. `None` if all calls share the budget, or the row is about the calls
    /// that belong to none.
    pub group: Option<String>,
    /// Costs of the calls that ended, in US dollars, exact. A call whose cost nobody knows counts as the most that it can have cost,
    /// if it was reserved. `None` if it is too large to count, or the budget is in calls or tokens.
    pub spent_usd: Option<ExactCost>,
    /// Most that the calls can cost that are open now. `None` if it is too large to count, or the budget is in calls or tokens.
    pub reserved_usd: Option<ExactCost>,
    /// Number of calls or tokens of the calls that ended. `None` if it is too large to count, or the budget is in US dollars.
    pub spent: Option<u64>,
    /// Number of the calls that are open now, or of the tokens that they can have. `None` as of `spent`.
    pub reserved: Option<u64>,
    /// Number of recorded calls of which it is not known how much they used. Those that were not reserved are in no sum.
    pub unknown: u64,
}

impl BudgetRow {
    /// Writes what ended calls used, as in `$0.5` or `12`. `None` if it is too large to count.
    #[must_use]
    pub fn write_spent(&self) -> Option<String> {
        write_amount(self.spent_usd, self.spent)
    }

    /// Writes the most that open calls can use. `None` if it is too large to count.
    #[must_use]
    pub fn write_reserved(&self) -> Option<String> {
        write_amount(self.reserved_usd, self.reserved)
    }

    /// Returns whether nothing is left of it.
    #[must_use]
    pub fn is_used_up(&self) -> bool {
        let used = self.spent_usd.map(ExactCost::pico_dollars).or(self.spent);
        used.is_none_or(|used| used >= self.limit.amount.number())
    }
}

/// Number of budgets that an error names.
const SHOWN_BUDGETS: usize = 5;

/// Describes the calls of a budget, as in `provider openai, model gpt-4o`, or `all`. `group` is the one of a row, if it is about one of
/// several groups.
#[must_use]
pub fn describe_calls(limit: &BudgetLimit, group: Option<&str>) -> String {
    let BudgetScope {
        session,
        provider,
        model,
        guild,
    } = &limit.scope;
    let parts = [
        name_counted(session.as_deref()),
        ("provider", provider.as_deref()),
        ("model", model.as_deref()),
        ("guild", guild.as_deref()),
    ];
    let named = parts
        .into_iter()
        .filter_map(|(kind, value)| Some(format!("{kind} {}", value?)));
    let each = limit.each.map(|each| match group {
        Some(group) => format!("each {}: {group}", each.name()),
        None => format!("each {}", each.name()),
    });
    let named: Vec<String> = named.chain(each).collect();
    match named.is_empty() {
        true => "all".to_owned(),
        false => named.join(", "),
    }
}

/// Makes the error of a removal that names no budget, with the budgets that are set.
fn refuse_removal(budgets: &[BudgetLimit]) -> EffectError {
    let error = usage_error("no budget is set for these calls and this period");
    if budgets.is_empty() {
        return error;
    }
    let name = |limit: &BudgetLimit| {
        let calls = describe_calls(limit, None);
        format!("{}/{} of the calls: {calls}", limit.amount, limit.period.name())
    };
    let named: Vec<String> = budgets.iter().take(SHOWN_BUDGETS).map(name).collect();
    let more = match budgets.len().saturating_sub(SHOWN_BUDGETS) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    error.hint(format!(
        "name the calls as the budget does; set are {}{more}",
        named.join("; ")
    ))
}

/// Returns the kind and the name of what calls are counted under: a session, or a token of the service.
fn name_counted(session: Option<&str>) -> (&'static str, Option<&str>) {
    match session.and_then(find_counted_token) {
        Some(token) => ("token", Some(token)),
        None => ("session", session),
    }
}

fn write_amount(cost: Option<ExactCost>, count: Option<u64>) -> Option<String> {
    let cost = cost.map(|cost| format!("${cost}"));
    cost.or_else(|| count.map(|count| count.to_string()))
}

/// Order to set a budget.
#[derive(Debug, Clone, Default)]
pub struct BudgetSpec {
    /// Amount with its period, as in `5usd/day` or `50calls/day`.
    pub amount: String,
    /// Time zone in which the period begins.
    pub zone: ZoneOffset,
    /// Calls that it is about.
    pub scope: BudgetScope,
    /// Groups of these calls that each have the whole amount. `None` if all share it.
    pub each: Option<BudgetGroup>,
}

impl Calls<'_> {
    /// Sets a budget, in place of one in the same unit for the same calls and period.
    ///
    /// # Errors
    /// If the amount has another form, no budget can be about the calls, or the file cannot be read or written.
    pub fn set_budget(self, spec: &BudgetSpec) -> Result<BudgetReport, EffectError> {
        let (amount, period) = parse_amount(&spec.amount).map_err(|error| usage_error(error.to_string()))?;
        let scope = self.find_counted_model(&spec.scope)?;
        self.put_budgets(vec![BudgetLimit {
            amount,
            period,
            zone: spec.zone,
            scope,
            each: spec.each,
        }])?;
        self.budget_report()
    }

    /// Sets budgets, each in place of one in the same unit for the same calls and period.
    ///
    /// # Errors
    /// If no budget can be about the calls of one of them, or the file cannot be read or written.
    pub(crate) fn put_budgets(self, limits: Vec<BudgetLimit>) -> Result<(), EffectError> {
        let mut budgets = read_budgets(self.ground.environment())?;
        for limit in limits {
            limit
                .check_scope()
                .map_err(|error| usage_error(error.to_string()))?;
            budgets.retain(|old| !limit.replaces(old));
            budgets.push(limit);
        }
        self.save_budgets(budgets)
    }

    /// Removes the budgets of a scope and group, in all units. `period` selects one of them; `None` selects all.
    ///
    /// # Errors
    /// If there is none, or the file cannot be read or written.
    pub fn remove_budget(
        self,
        period: Option<BudgetPeriod>,
        scope: &BudgetScope,
        each: Option<BudgetGroup>,
    ) -> Result<BudgetReport, EffectError> {
        let mut budgets = read_budgets(self.ground.environment())?;
        let count = budgets.len();
        let scope = &self.find_counted_model(scope)?;
        budgets.retain(|limit| {
            limit.scope != *scope || limit.each != each || period.is_some_and(|period| limit.period != period)
        });
        if budgets.len() == count {
            return Err(refuse_removal(&budgets));
        }
        self.save_budgets(budgets)?;
        self.budget_report()
    }

    /// Returns a scope with the provider and the vendor's own name of its model, under which calls are recorded.
    ///
    /// # Errors
    /// If its model is a name that two providers list, or a file of the models cannot be read.
    fn find_counted_model(self, scope: &BudgetScope) -> Result<BudgetScope, EffectError> {
        let Some(model) = &scope.model else {
            return Ok(scope.clone());
        };
        let names = ModelNames::read(self.ground)?;
        let found = match &scope.provider {
            Some(provider) => names.find_model(NamedModel {
                provider: Some(ModelName {
                    provider: provider.as_str().into(),
                    model: None,
                }),
                model: Some(model),
                usual: None,
            })?,
            None => names.split_id(model, Providers::of(self.ground).read_usual()?.as_ref())?,
        };
        Ok(match found {
            Some(found) => BudgetScope {
                provider: Some(found.provider.name().to_owned()),
                model: found.model,
                ..scope.clone()
            },
            // A bare name is the model of every provider that has one of this name.
            None => scope.clone(),
        })
    }

    /// Lists the budgets with what is used of them.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub fn budget_report(self) -> Result<BudgetReport, EffectError> {
        let file = find_file(self.ground.environment())?;
        let now = SystemClock.now();
        let mut budgets = read_budgets(self.ground.environment())?;
        budgets.extend(self.list_token_limits(&budgets)?);
        let mut rows = Vec::new();
        if !budgets.is_empty() {
            let ledger = Ledger::open_existing(self.ground)?;
            let mut store = open_store(self.ground)?;
            for limit in budgets {
                for group in list_groups(&store, ledger.as_ref(), &limit, &now)? {
                    let query = limit.query_group(group.as_deref(), &now);
                    let recorded = read_recorded(ledger.as_ref(), &query)?;
                    let sums = store.sum_budget(&query, &now, &recorded);
                    let sums = sums.map_err(|error| store_error(&error))?;
                    let (spent, reserved) = sums.map(|sums| (sums.spent, sums.reserved)).unzip();
                    rows.push(BudgetRow {
                        limit: limit.clone(),
                        since: query.since.to_string(),
                        group,
                        spent_usd: spent.and_then(as_cost),
                        reserved_usd: reserved.and_then(as_cost),
                        spent: spent.and_then(as_count),
                        reserved: reserved.and_then(as_count),
                        unknown: recorded.unknown,
                    });
                }
            }
        }
        Ok(BudgetReport {
            version: 1,
            file: self.ground.environment().shorten_below_home(&file),
            budgets: rows,
        })
    }

    /// Lists the default limits of the `models` tokens for which the user has set no budget.
    fn list_token_limits(self, budgets: &[BudgetLimit]) -> Result<Vec<BudgetLimit>, EffectError> {
        let tokens = self.ground.list_service_tokens()?.tokens.into_iter();
        let asks_models = |listed: &ListedToken| {
            listed.token.scope == TokenScope::Models && listed.state != TokenLife::Ended
        };
        let counted = tokens
            .filter(asks_models)
            .map(|listed| count_token(&listed.token.name));
        let has_budget = |name: &String| {
            budgets
                .iter()
                .any(|limit| limit.scope.session.as_ref() == Some(name))
        };
        let without = counted.filter(|name| !has_budget(name));
        Ok(without.map(|name| guard::limit_token(Some(&name))).collect())
    }

    fn save_budgets(self, budgets: Vec<BudgetLimit>) -> Result<(), EffectError> {
        let file = BudgetFile { version: 1, budgets };
        let text = serde_json::to_string_pretty(&file)
            .map_err(|error| EffectError::from_error(Cause::Internal, BAD_FILE, &error))?;
        write_own_text(
            &find_file(self.ground.environment())?,
            &format!("{text}\n"),
            BAD_FILE,
        )
    }
}

fn as_cost(amount: BudgetAmount) -> Option<ExactCost> {
    match amount {
        BudgetAmount::Cost(cost) => Some(cost),
        BudgetAmount::Calls(_) | BudgetAmount::Tokens(_) => None,
    }
}

fn as_count(amount: BudgetAmount) -> Option<u64> {
    match amount {
        BudgetAmount::Cost(_) => None,
        BudgetAmount::Calls(count) | BudgetAmount::Tokens(count) => Some(count),
    }
}

/// Lists the groups of a budget that a report has rows for: those with calls in the period, and the calls that belong to none if there
/// is no other.
fn list_groups(
    store: &BudgetStore,
    ledger: Option<&LedgerStore>,
    limit: &BudgetLimit,
    now: &Timestamp,
) -> Result<BTreeSet<Option<String>>, EffectError> {
    let mut groups = BTreeSet::new();
    if let Some(each) = limit.each {
        let query = limit.query_group(None, now);
        let mut sessions = store.list_sessions(&query).map_err(|error| store_error(&error))?;
        if let Some(ledger) = ledger {
            let recorded = ledger.list_calling_sessions(&query);
            sessions.append(&mut recorded.map_err(|error| store_error(&error))?);
        }
        let named = sessions
            .iter()
            .map(|session| each.find(session.as_deref()).map(str::to_owned));
        groups.extend(named);
    }
    if groups.is_empty() {
        groups.insert(None);
    }
    Ok(groups)
}

fn find_file(environment: &Environment) -> Result<PathBuf, EffectError> {
    let folder = environment.config_dir();
    let folder = folder.ok_or_else(|| {
        EffectError::new(Cause::Usage, "no-home", "there is no home folder for settings").hint("set `HOME`")
    })?;
    Ok(folder.join(FILE))
}

/// Reads the budgets; none if there is no file.
///
/// # Errors
/// If the file cannot be read. Calls are refused then: a limit that cannot be read is no reason to spend.
fn read_budgets(environment: &Environment) -> Result<Vec<BudgetLimit>, EffectError> {
    let Some(folder) = environment.config_dir() else {
        return Ok(Vec::new());
    };
    let path = folder.join(FILE);
    let Some(text) = read_own_text(environment, &path, BAD_FILE, LARGEST_FILE)? else {
        return Ok(Vec::new());
    };
    let parsed = serde_json::from_str::<BudgetFile>(&text);
    let file = parsed.map_err(|error| {
        let name = environment.shorten_below_home(&path);
        EffectError::new(
            Cause::Usage,
            BAD_FILE,
            format!("`{name}` has no budgets: {error}"),
        )
    })?;
    Ok(file.budgets)
}

fn open_store(ground: &Ground) -> Result<BudgetStore, EffectError> {
    let folder = ground.environment().state_dir();
    let folder =
        folder.ok_or_else(|| usage_error("there is no home folder for the ledger").hint("set `HOME`"))?;
    BudgetStore::open(&folder).map_err(|error| store_error(&error))
}

/// Puts the guard of the budgets in front of a tool that is about to be given a task.
///
/// # Errors
/// If a budget is about the tool and nobody knows what its calls cost, or the budgets cannot be read.
pub fn guard_tool(ground: &Ground, tool: Tool, profile: &Profile) -> Result<Tool, EffectError> {
    let model = GuardedModel {
        session: None,
        provider: profile.provider.clone(),
        model: profile.model.clone(),
        execution_mode: profile.execution_mode(),
        price: tool.price.clone(),
        silent: tool.silent.clone(),
        window: tool.bounding_window,
    };
    let Some(guard) = BudgetGuard::open(ground, model)? else {
        return Ok(tool);
    };
    if profile.adapter.is_program() {
        // An agent makes as many calls as it likes, and reports none of them before its end.
        return match profile.execution_mode() {
            ExecutionMode::Local if guard.has_counts() => Err(guard::refuse_uncounted(&profile.provider)),
            // The agent can use a gateway of this machine, which passes calls on to a paid service.
            ExecutionMode::Local | ExecutionMode::Cloud => {
                Err(guard::refuse_unknown(&profile.provider, profile.model.as_deref()))
            }
        };
    }
    let output_tokens = reserve_answer(measure_window(tool.window), tool.max_tokens);
    Ok(Tool {
        adapter: Box::new(GuardedAdapter {
            inner: tool.adapter,
            guard: Arc::new(guard),
            ground: ground.clone(),
            price: tool.price.clone(),
            output_tokens,
        }),
        ..tool
    })
}

/// Reads what the ledger's calls used of a budget.
fn read_recorded(
    ledger: Option<&LedgerStore>,
    query: &SpendingQuery,
) -> Result<RecordedSpending, EffectError> {
    match ledger {
        Some(ledger) => ledger.sum_recorded(query).map_err(|error| store_error(&error)),
        None => Ok(RecordedSpending {
            sum: Some(0),
            ..RecordedSpending::default()
        }),
    }
}
