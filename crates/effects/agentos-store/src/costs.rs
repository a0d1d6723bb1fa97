//! What calls of models cost, by session, day, model or provider.
//!
//! Owns: the sums. Never: takes an unknown cost for none.

use agentos_tool::ExactCost;
use rusqlite::params;
use schemars::JsonSchema;
use serde::Serialize;

use crate::batch::join_cost;
use crate::{LedgerStore, StoreError};

/// Property by which costs are added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CostGroup {
    /// The day, UTC.
    Day,
    /// The provider with the model that answered.
    Model,
    /// The provider.
    Provider,
    /// The session. Runs, and messages without a session, are together.
    Session,
}

/// Calls that are counted. A member that is `None` selects every call.
#[derive(Debug, Clone, Default)]
pub struct CostFilter {
    /// First time, RFC 3339, UTC.
    pub since: Option<String>,
    /// First time after the counted ones, RFC 3339, UTC.
    pub until: Option<String>,
    /// The provider.
    pub provider: Option<String>,
    /// The session.
    pub session: Option<String>,
}

/// Sum of a group of calls.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CostRow {
    /// The day, session, provider or `provider/model`. `None` for calls without a session.
    pub name: Option<String>,
    /// Number of calls.
    pub calls: u64,
    /// Number of these that failed.
    pub failed: u64,
    /// Tokens of the prompts.
    pub input_tokens: u64,
    /// Part of these that was read from a cache.
    pub cached_tokens: u64,
    /// Tokens of the answers.
    pub output_tokens: u64,
    /// Sum of the known costs in US dollars, exact. `None` if no cost is known, or the sum is too large to count.
    pub cost_usd: Option<ExactCost>,
    /// Number of calls whose cost is not known. They are not in the sum.
    pub unknown: u64,
}

impl CostGroup {
    /// Returns the expression that names the group of a call.
    fn expression(self) -> &'static str {
        match self {
            // A time is RFC 3339 with four digits of a year, so its first ten characters are the day.
            Self::Day => "substr(ts, 1, 10)",
            Self::Model => "provider || '/' || model",
            Self::Provider => "provider",
            Self::Session => "session",
        }
    }
}

impl LedgerStore {
    /// Adds the costs of calls by a property. Days are in their order; all others begin with the highest cost.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn sum_costs(&self, group: CostGroup, filter: &CostFilter) -> Result<Vec<CostRow>, StoreError> {
        let order = match group {
            CostGroup::Day => "1",
            CostGroup::Model | CostGroup::Provider | CostGroup::Session => "7 DESC, 8 DESC, 1",
        };
        // The only part of the query that is not a parameter, and it comes from the table above.
        let name = group.expression();
        let mut query = self.db.prepare_cached(&format!(
            "SELECT {name}, count(*), sum(failed), sum(input), sum(cached), sum(output), coalesce(sum(dollars), 0),
             coalesce(sum(pico), 0), sum(dollars IS NULL) FROM call WHERE (?1 IS NULL OR ts >= ?1) AND (?2 IS NULL OR ts < ?2)
             AND (?3 IS NULL OR provider = ?3) AND (?4 IS NULL OR session = ?4) GROUP BY 1 ORDER BY {order}"
        ))?;
        let CostFilter {
            since,
            until,
            provider,
            session,
        } = filter;
        let rows = query.query_map(params![since, until, provider, session], |row| {
            Ok(CostRow {
                name: row.get(0)?,
                calls: row.get(1)?,
                failed: row.get(2)?,
                input_tokens: row.get(3)?,
                cached_tokens: row.get(4)?,
                output_tokens: row.get(5)?,
                cost_usd: join_cost(row.get(6)?, row.get(7)?),
                unknown: row.get(8)?,
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}
