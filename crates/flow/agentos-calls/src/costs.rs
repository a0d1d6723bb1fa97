//! `agentos cost`: what models cost, from the ledger; and the ledger's database made again.
//!
//! Owns: the reports. Never: computes a cost; records state them, and a verification computes them again.

use agentos_engine::ports::EffectError;
use agentos_store::{CostFilter, CostGroup, CostRow};
use agentos_tool::ExactCost;
use schemars::JsonSchema;
use serde::Serialize;

use crate::Calls;
use crate::ledger::{Ledger, store_error};

/// The output of `agentos cost --json`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct CostReport {
    /// Version of this shape: 1.
    pub version: u32,
    /// Property by which the calls are grouped: `day`, `model`, `provider` or `session`.
    pub by: &'static str,
    /// The groups: days in their order, all others with the highest cost first.
    pub rows: Vec<CostRow>,
    /// Sum of the known costs in US dollars, exact. `None` if no cost is known, or the sum is too large to count.
    pub cost_usd: Option<ExactCost>,
    /// Number of calls.
    pub calls: u64,
    /// Number of calls whose cost is not known. They are not in the sum.
    pub unknown: u64,
}

/// The output of `agentos store rebuild --json`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct RebuildReport {
    /// Version of this shape: 1.
    pub version: u32,
    /// Number of the last record of the tape; 0 if the tape is empty.
    pub records: u64,
    /// Number of sessions.
    pub sessions: u64,
    /// Number of calls of models.
    pub calls: u64,
    /// Number of texts of deleted sessions that a crash had left, and that were removed now.
    pub removed: usize,
}

fn sum_of(rows: &[CostRow], count: impl Fn(&CostRow) -> u64) -> u64 {
    rows.iter().map(count).sum()
}

impl Calls<'_> {
    /// Adds the costs of calls by a property.
    ///
    /// # Errors
    /// If the ledger cannot be read.
    pub fn cost_report(self, group: CostGroup, filter: &CostFilter) -> Result<CostReport, EffectError> {
        let mut rows = match Ledger::open_existing(self.ground)? {
            Some(database) => database
                .sum_costs(group, filter)
                .map_err(|error| store_error(&error))?,
            None => Vec::new(),
        };
        let add = |sum: ExactCost, row: &CostRow| sum.checked_add(row.cost_usd?);
        let cost_usd = rows.iter().try_fold(ExactCost::default(), add);
        let (calls, unknown) = (sum_of(&rows, |row| row.calls), sum_of(&rows, |row| row.unknown));
        // A program that adds such a zero up would take the calls for free.
        for row in rows.iter_mut().filter(|row| row.calls == row.unknown) {
            row.cost_usd = None;
        }
        Ok(CostReport {
            version: 1,
            by: match group {
                CostGroup::Day => "day",
                CostGroup::Model => "model",
                CostGroup::Provider => "provider",
                CostGroup::Session => "session",
            },
            cost_usd: cost_usd.filter(|_| calls == 0 || unknown < calls),
            calls,
            unknown,
            rows,
        })
    }

    /// Makes the database of the ledger again from its tape, and removes texts of deleted sessions that a crash left.
    ///
    /// # Errors
    /// If the tape cannot be read, or the database cannot be written.
    pub fn rebuild_store(self) -> Result<RebuildReport, EffectError> {
        let ledger = Ledger::open(self.ground)?;
        // No record may begin to refer to a text that is being removed.
        let _alone = ledger.lock_texts()?;
        let database = ledger.rebuild_database()?;
        let removed = ledger.finish_removals(&database)?;
        let (_, sessions) = database.list_sessions(0).map_err(|error| store_error(&error))?;
        let calls = database.sum_costs(CostGroup::Provider, &CostFilter::default());
        let calls = calls.map_err(|error| store_error(&error))?;
        let mark = database.read_mark().map_err(|error| store_error(&error))?;
        Ok(RebuildReport {
            version: 1,
            records: mark.map_or(0, |mark| mark.seq),
            sessions,
            calls: calls.iter().map(|row| row.calls).sum(),
            removed,
        })
    }
}
