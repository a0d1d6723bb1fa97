//! How calls of each requested model went: for choosing between models.
//!
//! Owns: the counts. Never: decides which model is better.

use std::collections::BTreeMap;

use agentos_tool::ExactCost;
use rusqlite::params;

use crate::batch::join_cost;
use crate::{LedgerStore, StoreError};

/// Calls of one model of a provider.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallStatistics {
    /// Number of calls.
    pub calls: u64,
    /// Number of these that failed.
    pub failed: u64,
    /// Mean time until an answer was complete, in milliseconds. `None` if none was.
    pub mean_ms: Option<u64>,
    /// Median of these times; of two in the middle the lower one. `None` if no answer was complete.
    pub median_ms: Option<u64>,
    /// Tokens of the prompts.
    pub input_tokens: u64,
    /// Tokens of the answers.
    pub output_tokens: u64,
    /// Sum of the known costs in US dollars, exact. `None` if it is too large to count.
    pub cost_usd: Option<ExactCost>,
    /// Number of calls whose cost is not known. They are not in the sum.
    pub unknown: u64,
}

/// Name of a provider, and the model that was requested of it. `None` if its server chose.
pub type RequestedModel = (String, Option<String>);

/// End of a call, as far as a circuit breaker needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallEnd {
    /// Provider and requested model.
    pub model: RequestedModel,
    /// Time of the record, RFC 3339, UTC.
    pub ts: String,
    /// Code of the failure. `None` if there was a whole answer.
    pub failure: Option<String>,
}

/// Most ends of calls that are read.
const MOST_ENDS: u32 = 10_000;

impl LedgerStore {
    /// Lists the ends of the calls since a time (RFC 3339, UTC), the newest first, at most 10,000.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn list_ends(&self, since: &str) -> Result<Vec<CallEnd>, StoreError> {
        let mut query = self.db.prepare_cached(
            "SELECT provider, requested, ts, failure FROM call WHERE ts >= ?1 ORDER BY ts DESC, seq DESC, position DESC LIMIT ?2",
        )?;
        let rows = query.query_map(params![since, MOST_ENDS], |row| {
            Ok(CallEnd {
                model: (row.get(0)?, row.get(1)?),
                ts: row.get(2)?,
                failure: row.get(3)?,
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Counts the calls since a time (RFC 3339, UTC), by provider and requested model. `None` counts all.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn count_calls(
        &self,
        since: Option<&str>,
    ) -> Result<BTreeMap<RequestedModel, CallStatistics>, StoreError> {
        let mut query = self.db.prepare_cached(
            "SELECT provider, requested, count(*), sum(failed), sum(input), sum(output), coalesce(sum(dollars), 0),
             coalesce(sum(pico), 0), sum(dollars IS NULL) FROM call WHERE (?1 IS NULL OR ts >= ?1) GROUP BY 1, 2",
        )?;
        let rows = query.query_map(params![since], |row| {
            let statistics = CallStatistics {
                calls: row.get(2)?,
                failed: row.get(3)?,
                input_tokens: row.get(4)?,
                output_tokens: row.get(5)?,
                cost_usd: join_cost(row.get(6)?, row.get(7)?),
                unknown: row.get(8)?,
                ..CallStatistics::default()
            };
            Ok(((row.get(0)?, row.get(1)?), statistics))
        })?;
        let mut all: BTreeMap<RequestedModel, CallStatistics> = rows.collect::<Result<_, _>>()?;
        // SQLite has no median, and a failed call ends early or late for reasons of its own.
        let mut query = self.db.prepare_cached(
            "SELECT provider, requested, latency FROM call WHERE failed = 0 AND (?1 IS NULL OR ts >= ?1) ORDER BY latency",
        )?;
        let rows = query.query_map(params![since], |row| {
            Ok(((row.get(0)?, row.get(1)?), row.get::<_, u64>(2)?))
        })?;
        let mut times: BTreeMap<RequestedModel, Vec<u64>> = BTreeMap::new();
        for row in rows {
            let (model, latency) = row?;
            times.entry(model).or_default().push(latency);
        }
        for (model, times) in times {
            let Some(statistics) = all.get_mut(&model) else {
                continue;
            };
            let sum = times.iter().sum::<u64>();
            statistics.mean_ms = sum.checked_div(times.len() as u64);
            statistics.median_ms = times.get(times.len().saturating_sub(1) / 2).copied();
        }
        Ok(all)
    }
}
