//! Reservations of what calls of models may cost, so that calls at the same time do not overrun a budget.
//!
//! Owns: the file of the reservations and their states. Never: knows a price, reads a clock, or is the record of a cost; the ledger is.
//!
//! The upper bound of each sending of a request is reserved before it leaves, in one immediate transaction with the check of every
//! budget: the most that it can cost, the most tokens that it can have, and one call. A retry is a sending of its own. What is used of a budget is the sum of the ledger's calls and of
//! the reservations that the ledger does not have yet:
//!
//! | state | comes from | counts as | until |
//! |---|---|---|---|
//! | `reserved` | [`BudgetStore::reserve`] | its bound, in whatever period it is | it is marked as sent, refunded, or its lease ends |
//! | `sent` | [`BudgetStore::mark_sent`], right before the request leaves | its bound, in whatever period it is | it is settled, refunded, or its lease ends |
//! | `settled` | a call with a known cost; one that its server refused (a status of 400 to 499) cost nothing and is one call | that cost, in the period of the reservation | the ledger has the call with this id |
//! | `assumed` | a call that may have cost something, and nobody knows how much; also `sent` whose lease ended | its bound, in the period of the reservation | that period ends, or it is settled late |
//! | `refunded` | a call that certainly did not reach its server | nothing | – |
//! | `expired` | `reserved` whose lease ended | nothing | – |
//!
//! So a process that is killed loses nothing of a budget if its request certainly did not leave, and at most the bound of that call if
//! it may have left: its server may count the answer although nobody received it. A process that was only stopped beyond its lease,
//! as on a laptop that slept, does not send what it reserved before: [`BudgetStore::mark_sent`] refuses it.
//!
//! The file is not made from the tape, and a rebuild of the ledger's database leaves it alone. If it is deleted, open reservations and
//! assumed costs are forgotten; what the ledger has stays.

mod limit;
mod period;
mod recorded;
mod table;

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use agentos_tool::{ExactCost, Timestamp};
use rusqlite::{Connection, Transaction, TransactionBehavior, params};

use crate::StoreError;
use crate::database::{make_private_folder, use_write_ahead_log};

pub use limit::{
    BudgetAmount, BudgetGroup, BudgetLimit, BudgetScope, BudgetUnit, SessionFilter, SpendingQuery,
    WrongLimit, parse_amount,
};
pub use period::{BudgetPeriod, ZoneOffset};

/// Name of the file in its folder.
const FILE: &str = "budgets.sqlite";
/// Longest wait for other processes. A reservation takes less than a millisecond.
const PATIENCE: Duration = Duration::from_secs(30);
/// Seconds for which closed reservations are kept: longer than the longest period.
const KEPT: i64 = 40 * 24 * 3_600;

/// Call that is about to be sent, with the most that it can use of a budget.
#[derive(Debug, Clone, Copy)]
pub struct PlannedSpend<'a> {
    /// Id of the call, which its record has as well.
    pub id: &'a str,
    /// Session. `None` if the call has none.
    pub session: Option<&'a str>,
    /// Provider.
    pub provider: &'a str,
    /// Model that is requested. `None` if the server chooses.
    pub model: Option<&'a str>,
    /// Most that it can cost.
    pub bound: ExactCost,
    /// Most tokens of its request and its answer.
    pub bound_tokens: u64,
    /// Time.
    pub now: &'a Timestamp,
    /// Seconds after which its process counts as gone.
    pub lease_seconds: u32,
}

impl PlannedSpend<'_> {
    /// Returns the most that the call can use, in a unit.
    fn bound_in(&self, unit: BudgetUnit) -> u64 {
        match unit {
            BudgetUnit::Cost => self.bound.pico_dollars(),
            BudgetUnit::Calls => 1,
            BudgetUnit::Tokens => self.bound_tokens,
        }
    }
}

/// Use of a budget by calls of the ledger, as a [`SpendingQuery`] asks for it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecordedSpending {
    /// Sum in the unit of the question. `None` if it is too large to count.
    pub sum: Option<u64>,
    /// Number of calls of which it is not known how much they used.
    pub unknown: u64,
    /// Ids of the reservations of all recorded calls since then that can be in a sum, of any scope.
    pub reservations: BTreeSet<String>,
}

/// Sums of one budget in its period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BudgetSums {
    /// Use by ended calls, and the bounds of those of which nobody knows it.
    pub spent: BudgetAmount,
    /// Bounds of the calls that are open now.
    pub reserved: BudgetAmount,
    /// The part of `spent` that consists of bounds, because nobody knows what their calls used.
    pub held: BudgetAmount,
}

/// Answer to the wish to reserve.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReserveAnswer {
    /// The call may be sent, after it is marked as sent.
    Reserved {
        /// Positions of the budgets of which at least four fifths are spent, with their sums.
        nearly_spent: Vec<(usize, BudgetSums)>,
    },
    /// The call could overrun this budget, so nothing was reserved.
    Exceeded {
        /// Position of the budget in the list.
        position: usize,
        /// Sums of the budget. `None` if they are too large to count.
        sums: Option<BudgetSums>,
    },
}

/// End of a reserved call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpendEnd {
    /// The call may have cost something. What is `None` is not known, and counts as its bound. A call that was not marked as sent cost
    /// nothing if its cost is not known.
    Ended {
        /// Cost of the call.
        cost: Option<ExactCost>,
        /// Tokens of its request and its answer.
        tokens: Option<u64>,
    },
    /// The call certainly did not reach its server.
    Nothing,
}

impl SpendEnd {
    /// End of a call that may have used something, and nobody knows how much.
    pub const UNKNOWN: Self = Self::Ended {
        cost: None,
        tokens: None,
    };
}

/// The file of the reservations.
#[derive(Debug)]
pub struct BudgetStore {
    db: Connection,
}

impl BudgetStore {
    /// Opens the file in a folder, and makes both if they are missing.
    ///
    /// # Errors
    /// When the folder or the file cannot be made or used. A damaged file is not replaced: its reservations are nowhere else.
    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        make_private_folder(folder)?;
        let mut db = Connection::open(folder.join(FILE))?;
        db.busy_timeout(PATIENCE)?;
        // As in the ledger's database: a loss of power may lose the last reservations, and their processes with them.
        use_write_ahead_log(&db)?;
        db.pragma_update(None, "synchronous", "NORMAL")?;
        table::make_table(&mut db)?;
        Ok(Self { db })
    }

    /// Reserves the bound of a call if no budget that is about it can be overrun. `recorded` asks the ledger.
    ///
    /// # Errors
    /// When the file or the ledger cannot be read or written.
    pub fn reserve<E: From<StoreError>>(
        &mut self,
        limits: &[BudgetLimit],
        call: &PlannedSpend<'_>,
        recorded: impl Fn(&SpendingQuery) -> Result<RecordedSpending, E>,
    ) -> Result<ReserveAnswer, E> {
        // Immediate: the sums must not change between the check and the insertion.
        let batch = begin(&mut self.db)?;
        table::end_leases(&batch, call.now)?;
        let mut nearly_spent = Vec::new();
        for (position, limit) in limits.iter().enumerate() {
            if !limit.scope.contains(call.session, call.provider, call.model) {
                continue;
            }
            let query = limit.query_session(call.session, call.now);
            let ledger = recorded(&query)?;
            let sums = table::sum_rows(&batch, &query, &ledger)?;
            let bound = call.bound_in(query.unit);
            let total = sums.and_then(|sums| {
                sums.spent
                    .number()
                    .checked_add(sums.reserved.number())?
                    .checked_add(bound)
            });
            if total.is_none_or(|total| total > limit.amount.number()) {
                return Ok(ReserveAnswer::Exceeded { position, sums });
            }
            let is_nearly_spent =
                |sums: &BudgetSums| sums.spent.number() >= limit.amount.number() - limit.amount.number() / 5;
            nearly_spent.extend(sums.filter(is_nearly_spent).map(|sums| (position, sums)));
        }
        table::insert_row(&batch, call)?;
        batch.commit().map_err(StoreError::from)?;
        Ok(ReserveAnswer::Reserved { nearly_spent })
    }

    /// Marks a reserved call as sent, right before its request leaves. Returns false if it must not be sent, because its lease has ended.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn mark_sent(&mut self, id: &str, now: &Timestamp) -> Result<bool, StoreError> {
        let batch = begin(&mut self.db)?;
        let marked = batch
            .prepare_cached(
                "UPDATE reservation SET state = 'sent' WHERE id = ?1 AND state = 'reserved' AND expires > ?2",
            )?
            .execute(params![id, now.unix_seconds()])?;
        batch.commit()?;
        Ok(marked == 1)
    }

    /// Settles or refunds a reservation, in one transaction. A call that was taken for lost counts as what it cost in the end. An id
    /// that is not known changes nothing.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn close(&mut self, id: &str, end: SpendEnd) -> Result<(), StoreError> {
        let (state, cost, tokens) = match end {
            SpendEnd::Ended { cost, tokens } => {
                let state = if cost.is_some() { "settled" } else { "assumed" };
                (state, cost.map(ExactCost::pico_dollars), tokens)
            }
            SpendEnd::Nothing => ("refunded", None, None),
        };
        let batch = begin(&mut self.db)?;
        // A call without a known end that was never marked as sent did not leave.
        batch
            .prepare_cached(
                "UPDATE reservation SET cost = ?3, tokens = ?4,
                 state = CASE WHEN ?2 = 'assumed' AND state IN ('reserved', 'expired') THEN 'refunded' ELSE ?2 END WHERE id = ?1",
            )?
            .execute(params![id, state, cost, tokens])?;
        Ok(batch.commit()?)
    }

    /// Adds what is used and reserved of a budget. `None` if a sum is too large to count.
    ///
    /// # Errors
    /// When the file cannot be read or written.
    pub fn sum_budget(
        &mut self,
        query: &SpendingQuery,
        now: &Timestamp,
        ledger: &RecordedSpending,
    ) -> Result<Option<BudgetSums>, StoreError> {
        let batch = begin(&mut self.db)?;
        table::end_leases(&batch, now)?;
        let sums = table::sum_rows(&batch, query, ledger)?;
        batch.commit()?;
        Ok(sums)
    }

    /// Lists the sessions whose reservations count in the period of a question, whatever sessions it selects.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn list_sessions(&self, query: &SpendingQuery) -> Result<BTreeSet<Option<String>>, StoreError> {
        table::list_sessions(&self.db, query)
    }
}

fn begin(db: &mut Connection) -> Result<Transaction<'_>, StoreError> {
    Ok(db.transaction_with_behavior(TransactionBehavior::Immediate)?)
}

#[cfg(test)]
mod tests;
