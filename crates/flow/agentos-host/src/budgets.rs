//! `agentos budget`: limits on what models may cost, and what of them is spent.
//!
//! Owns: the file of the budgets, `budgets.json` in the folder of the user's settings, and their report. Never: takes a budget from a
//! repository, or refuses a call; [`guard`] does.

pub(crate) mod guard;
pub(crate) mod meter;

use std::path::PathBuf;

use agentos_engine::Cause;
use agentos_engine::ports::{Clock as _, EffectError};
use agentos_profile::Profile;
use agentos_store::{BudgetLimit, BudgetStore, LedgerStore, RecordedSpending, parse_amount};
use agentos_tool::{ExactCost, ExecutionMode, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::SystemClock;
use crate::conversation::model::{measure_window, reserve_answer};
use crate::environment::Environment;
use crate::error::usage_error;
use crate::host::Host;
use crate::ledger::{Ledger, store_error};
use crate::own_file::{read_own_text, write_own_text};
use crate::tools::Tool;
use guard::{BudgetGuard, GuardedModel};
use meter::GuardedAdapter;

pub use agentos_store::{BudgetPeriod, BudgetScope, ZoneOffset};

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
    /// All budgets that are set now.
    pub budgets: Vec<BudgetRow>,
}

/// Budget with what is spent of it in the current period.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct BudgetRow {
    /// The budget.
    pub limit: BudgetLimit,
    /// Time at which the current period began, RFC 3339, UTC.
    pub since: String,
    /// Costs of the calls that ended, in US dollars, exact. A call whose cost nobody knows counts as the most that it can have cost,
    /// if it was reserved. `None` if it is too large to count.
    pub spent_usd: Option<ExactCost>,
    /// Most that the calls can cost that are open now. `None` if it is too large to count.
    pub reserved_usd: Option<ExactCost>,
    /// Number of recorded calls without a known cost. Those that were not reserved are in no sum.
    pub unknown: u64,
}

impl Host {
    /// Sets a budget, in place of one of the same scope and period. `amount` is an amount with its period, as in `5usd/day`.
    ///
    /// # Errors
    /// If the amount has another form, or the file cannot be read or written.
    pub fn set_budget(
        &self,
        amount: &str,
        zone: ZoneOffset,
        scope: BudgetScope,
    ) -> Result<BudgetReport, EffectError> {
        let (amount_usd, period) = parse_amount(amount).map_err(|error| usage_error(error.to_string()))?;
        let mut budgets = read_budgets(self.environment())?;
        budgets.retain(|limit| limit.scope != scope || limit.period != period);
        budgets.push(BudgetLimit {
            amount_usd,
            period,
            zone,
            scope,
        });
        self.save_budgets(budgets)
    }

    /// Removes the budgets of a scope. `period` selects one of them; `None` selects all.
    ///
    /// # Errors
    /// If there is none, or the file cannot be read or written.
    pub fn remove_budget(
        &self,
        period: Option<BudgetPeriod>,
        scope: &BudgetScope,
    ) -> Result<BudgetReport, EffectError> {
        let mut budgets = read_budgets(self.environment())?;
        let count = budgets.len();
        budgets.retain(|limit| limit.scope != *scope || period.is_some_and(|period| limit.period != period));
        if budgets.len() == count {
            return Err(usage_error("no budget is set for these calls and this period"));
        }
        self.save_budgets(budgets)
    }

    /// Lists the budgets with what is spent of them.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub fn budget_report(&self) -> Result<BudgetReport, EffectError> {
        let file = find_file(self.environment())?;
        let now = SystemClock.now();
        let budgets = read_budgets(self.environment())?;
        let mut rows = Vec::new();
        if !budgets.is_empty() {
            let ledger = Ledger::open_existing(self)?;
            let mut store = open_store(self)?;
            for limit in budgets {
                let recorded = read_recorded(ledger.as_ref(), &limit, &limit.begin_at(&now))?;
                let sums = store.sum_budget(&limit, &now, &recorded);
                let sums = sums.map_err(|error| store_error(&error))?;
                rows.push(BudgetRow {
                    since: limit.begin_at(&now).to_string(),
                    spent_usd: sums.map(|sums| sums.spent),
                    reserved_usd: sums.map(|sums| sums.reserved),
                    unknown: recorded.unknown,
                    limit,
                });
            }
        }
        Ok(BudgetReport {
            version: 1,
            file: self.environment().shorten_below_home(&file),
            budgets: rows,
        })
    }

    fn save_budgets(&self, budgets: Vec<BudgetLimit>) -> Result<BudgetReport, EffectError> {
        let file = BudgetFile { version: 1, budgets };
        let text = serde_json::to_string_pretty(&file)
            .map_err(|error| EffectError::from_error(Cause::Internal, BAD_FILE, &error))?;
        write_own_text(&find_file(self.environment())?, &format!("{text}\n"), BAD_FILE)?;
        self.budget_report()
    }
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

fn open_store(host: &Host) -> Result<BudgetStore, EffectError> {
    let folder = host.environment().state_dir();
    let folder =
        folder.ok_or_else(|| usage_error("there is no home folder for the ledger").hint("set `HOME`"))?;
    BudgetStore::open(&folder).map_err(|error| store_error(&error))
}

/// Puts the guard of the budgets in front of a tool that is about to be given a task.
///
/// # Errors
/// If a budget is about the tool and nobody knows what its calls cost, or the budgets cannot be read.
pub(crate) fn guard_tool(host: &Host, tool: Tool, profile: &Profile) -> Result<Tool, EffectError> {
    let model = GuardedModel {
        session: None,
        provider: profile.provider.clone(),
        model: profile.model.clone(),
        execution_mode: profile.execution_mode(),
        price: tool.price.clone(),
    };
    let Some(guard) = BudgetGuard::open(host, model)? else {
        return Ok(tool);
    };
    if profile.adapter.is_program() {
        // An agent makes as many calls as it likes, and reports none of them before its end.
        return match profile.execution_mode() {
            ExecutionMode::Local => Ok(tool),
            ExecutionMode::Cloud => Err(guard::refuse_unknown(&profile.provider, profile.model.as_deref())),
        };
    }
    let output_tokens = reserve_answer(measure_window(tool.window), tool.max_tokens);
    Ok(Tool {
        adapter: Box::new(GuardedAdapter {
            inner: tool.adapter,
            guard,
            host: host.clone(),
            price: tool.price.clone(),
            output_tokens,
        }),
        ..tool
    })
}

/// Reads what the ledger has of a budget since a time.
fn read_recorded(
    ledger: Option<&LedgerStore>,
    limit: &BudgetLimit,
    since: &Timestamp,
) -> Result<RecordedSpending, EffectError> {
    match ledger {
        Some(ledger) => ledger
            .sum_recorded(&limit.scope, since)
            .map_err(|error| store_error(&error)),
        None => Ok(RecordedSpending {
            cost: Some(ExactCost::default()),
            ..RecordedSpending::default()
        }),
    }
}
