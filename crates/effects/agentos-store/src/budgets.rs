//! Reservations of what calls of models may cost, so that calls at the same time do not overrun a budget.
//!
//! Owns: the file of the reservations and their states. Never: knows a price, reads a clock, or is the record of a cost; the ledger is.
//!
//! A call's upper bound is reserved before its request leaves, in one immediate transaction with the check of every budget. What is
//! spent of a budget is the sum of the ledger's calls and of the reservations that the ledger does not have yet:
//!
//! | state | comes from | counts as | until |
//! |---|---|---|---|
//! | `reserved` | [`BudgetStore::reserve`] | its bound, in whatever period it is | it is settled, refunded, or its lease ends |
//! | `settled` | a call with a known cost | that cost, in the period of the reservation | the ledger has the call with this id |
//! | `assumed` | a call that may have cost something, and nobody knows how much | its bound | its period ends |
//! | `refunded` | a call that was not sent, or failed before an answer began | nothing | – |
//! | `expired` | a reservation whose lease ended: its process is gone | nothing | it is settled late, which counts what was spent |
//!
//! The file is not made from the tape, and a rebuild of the ledger's database leaves it alone. If it is deleted, open reservations and
//! assumed costs are forgotten; what the ledger has stays.

mod limit;

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use agentos_tool::{ExactCost, Timestamp};
use rusqlite::{Connection, Transaction, TransactionBehavior, params};

use crate::database::{make_private_folder, use_write_ahead_log};
use crate::{LedgerStore, StoreError};

pub use limit::{BudgetLimit, BudgetPeriod, BudgetScope, WrongLimit, ZoneOffset, parse_amount};

/// Name of the file in its folder.
const FILE: &str = "budgets.sqlite";
/// Longest wait for other processes. A reservation takes less than a millisecond.
const PATIENCE: Duration = Duration::from_secs(30);
/// Seconds for which closed reservations are kept: longer than the longest period.
const KEPT: i64 = 40 * 24 * 3_600;
const SCHEMA: &str = "
CREATE TABLE IF NOT EXISTS reservation (
    id TEXT PRIMARY KEY, at TEXT NOT NULL, at_unix INTEGER NOT NULL, expires INTEGER NOT NULL, session TEXT, provider TEXT NOT NULL,
    model TEXT, state TEXT NOT NULL, bound INTEGER NOT NULL, cost INTEGER
) WITHOUT ROWID;
";

/// Call that is about to be sent, with the most that it can cost.
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
    /// Time.
    pub now: &'a Timestamp,
    /// Seconds after which its process counts as gone.
    pub lease_seconds: u32,
}

/// Calls of the ledger in the period and scope of a budget.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecordedSpending {
    /// Sum of the known costs. `None` if it is too large to count.
    pub cost: Option<ExactCost>,
    /// Number of calls whose cost is not known.
    pub unknown: u64,
    /// Ids of the reservations of all recorded calls with a known cost since then, of any scope.
    pub reservations: BTreeSet<String>,
}

/// Sums of one budget in its period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BudgetSums {
    /// Costs of ended calls, and the bounds of those whose cost nobody knows.
    pub spent: ExactCost,
    /// Bounds of the calls that are open now.
    pub reserved: ExactCost,
}

/// Answer to the wish to reserve.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReserveAnswer {
    /// The call may be sent.
    Reserved,
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
    /// The call cost this.
    Known(ExactCost),
    /// The call may have cost something, and nobody knows how much.
    Unknown,
    /// The call cost nothing.
    Nothing,
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
        let db = Connection::open(folder.join(FILE))?;
        db.busy_timeout(PATIENCE)?;
        // As in the ledger's database: a loss of power may lose the last reservations, and their processes with them.
        use_write_ahead_log(&db)?;
        db.pragma_update(None, "synchronous", "NORMAL")?;
        db.execute_batch(SCHEMA)?;
        Ok(Self { db })
    }

    /// Reserves the bound of a call if no budget that is about it can be overrun. `recorded` reads the ledger since a time.
    ///
    /// # Errors
    /// When the file or the ledger cannot be read or written.
    pub fn reserve<E: From<StoreError>>(
        &mut self,
        limits: &[BudgetLimit],
        call: &PlannedSpend<'_>,
        recorded: impl Fn(&BudgetLimit, &Timestamp) -> Result<RecordedSpending, E>,
    ) -> Result<ReserveAnswer, E> {
        // Immediate: the sums must not change between the check and the insertion.
        let batch = begin(&mut self.db)?;
        expire_rows(&batch, call.now)?;
        for (position, limit) in limits.iter().enumerate() {
            if !limit.scope.contains(call.session, call.provider, call.model) {
                continue;
            }
            let ledger = recorded(limit, &limit.begin_at(call.now))?;
            let sums = sum_rows(&batch, limit, call.now, &ledger)?;
            let total = sums.and_then(|sums| sums.spent.checked_add(sums.reserved)?.checked_add(call.bound));
            if total.is_none_or(|total| total > limit.amount_usd) {
                return Ok(ReserveAnswer::Exceeded { position, sums });
            }
        }
        insert_row(&batch, call)?;
        batch.commit().map_err(StoreError::from)?;
        Ok(ReserveAnswer::Reserved)
    }

    /// Settles or refunds a reservation, in one transaction. One that has expired counts again, because the call was made. An id that
    /// is not known changes nothing.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn close(&mut self, id: &str, end: SpendEnd) -> Result<(), StoreError> {
        let (state, cost) = match end {
            SpendEnd::Known(cost) => ("settled", Some(cost.pico_dollars())),
            SpendEnd::Unknown => ("assumed", None),
            SpendEnd::Nothing => ("refunded", None),
        };
        let batch = begin(&mut self.db)?;
        batch.execute(
            "UPDATE reservation SET state = ?2, cost = ?3 WHERE id = ?1",
            params![id, state, cost],
        )?;
        Ok(batch.commit()?)
    }

    /// Adds what is spent and reserved of a budget. `None` if a sum is too large to count.
    ///
    /// # Errors
    /// When the file cannot be read or written.
    pub fn sum_budget(
        &mut self,
        limit: &BudgetLimit,
        now: &Timestamp,
        ledger: &RecordedSpending,
    ) -> Result<Option<BudgetSums>, StoreError> {
        let batch = begin(&mut self.db)?;
        expire_rows(&batch, now)?;
        let sums = sum_rows(&batch, limit, now, ledger)?;
        batch.commit()?;
        Ok(sums)
    }
}

fn begin(db: &mut Connection) -> Result<Transaction<'_>, StoreError> {
    Ok(db.transaction_with_behavior(TransactionBehavior::Immediate)?)
}

/// Ends the leases that are over, and forgets what no period contains any more.
fn expire_rows(batch: &Transaction<'_>, now: &Timestamp) -> Result<(), StoreError> {
    let now = now.unix_seconds();
    batch
        .prepare_cached(
            "UPDATE reservation SET state = 'expired' WHERE state = 'reserved' AND expires <= ?1",
        )?
        .execute([now])?;
    batch
        .prepare_cached("DELETE FROM reservation WHERE at_unix < ?1")?
        .execute([now - KEPT])?;
    Ok(())
}

fn insert_row(batch: &Transaction<'_>, call: &PlannedSpend<'_>) -> Result<(), StoreError> {
    let at = call.now.unix_seconds();
    batch
        .prepare_cached(
            "INSERT INTO reservation (id, at, at_unix, expires, session, provider, model, state, bound)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 'reserved', ?8)",
        )?
        .execute(params![
            call.id,
            call.now.as_str(),
            at,
            at + i64::from(call.lease_seconds),
            call.session,
            call.provider,
            call.model,
            call.bound.pico_dollars(),
        ])?;
    Ok(())
}

/// Adds the ledger's calls and the reservations that it does not have. `None` if a sum is too large to count.
fn sum_rows(
    batch: &Transaction<'_>,
    limit: &BudgetLimit,
    now: &Timestamp,
    ledger: &RecordedSpending,
) -> Result<Option<BudgetSums>, StoreError> {
    let BudgetScope {
        session,
        provider,
        model,
    } = &limit.scope;
    // An open reservation of yesterday becomes a record of today, so it counts in both periods.
    let mut query = batch.prepare_cached(
        "SELECT id, state, bound, cost FROM reservation WHERE (state = 'reserved' OR (state IN ('settled', 'assumed') AND at >= ?1))
         AND (?2 IS NULL OR session = ?2) AND (?3 IS NULL OR provider = ?3) AND (?4 IS NULL OR model = ?4)",
    )?;
    let begin = limit.begin_at(now);
    let mut rows = query.query(params![begin.as_str(), session, provider, model])?;
    let (mut spent, mut reserved) = (ledger.cost, Some(ExactCost::default()));
    while let Some(row) = rows.next()? {
        let (id, state): (String, String) = (row.get(0)?, row.get(1)?);
        let bound = ExactCost::from_pico_dollars(row.get(2)?);
        let cost = row.get::<_, Option<u64>>(3)?.map(ExactCost::from_pico_dollars);
        if ledger.reservations.contains(&id) {
            continue;
        }
        match state.as_str() {
            "reserved" => reserved = reserved.and_then(|sum| sum.checked_add(bound)),
            _ => spent = spent.and_then(|sum| sum.checked_add(cost.unwrap_or(bound))),
        }
    }
    Ok(spent
        .zip(reserved)
        .map(|(spent, reserved)| BudgetSums { spent, reserved }))
}

impl LedgerStore {
    /// Adds the costs of a scope's calls since a time, and lists the reservations that the ledger has.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn sum_recorded(
        &self,
        scope: &BudgetScope,
        since: &Timestamp,
    ) -> Result<RecordedSpending, StoreError> {
        let BudgetScope {
            session,
            provider,
            model,
        } = scope;
        let (cost, unknown) = self
            .db
            .prepare_cached(
                "SELECT coalesce(sum(dollars), 0), coalesce(sum(pico), 0), coalesce(sum(dollars IS NULL), 0) FROM call WHERE ts >= ?1
                 AND (?2 IS NULL OR session = ?2) AND (?3 IS NULL OR provider = ?3)
                 AND (?4 IS NULL OR model = ?4 OR requested = ?4)",
            )?
            .query_row(params![since.as_str(), session, provider, model], |row| {
                Ok((crate::batch::join_cost(row.get(0)?, row.get(1)?), row.get(2)?))
            })?;
        let mut query = self.db.prepare_cached(
            "SELECT reservation FROM call WHERE ts >= ?1 AND reservation IS NOT NULL AND dollars IS NOT NULL",
        )?;
        let ids = query.query_map([since.as_str()], |row| row.get(0))?;
        Ok(RecordedSpending {
            cost,
            unknown,
            reservations: ids.collect::<Result<_, _>>()?,
        })
    }
}

#[cfg(test)]
mod tests;
