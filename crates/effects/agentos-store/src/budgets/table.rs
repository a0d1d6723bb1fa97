//! The table of the reservations.
//!
//! Owns: its columns, and the queries about several rows. Never: begins a transaction for a change; the caller does.

use std::collections::BTreeSet;

use agentos_tool::Timestamp;
use rusqlite::{Connection, Transaction, TransactionBehavior, params};

use super::limit::{BudgetUnit, SpendingQuery};
use super::{BudgetSums, KEPT, PlannedSpend, RecordedSpending};
use crate::StoreError;

/// Version of the table. Version 0 has no tokens: its calls count as one call each, and as no tokens.
const VERSION: i64 = 1;
const SCHEMA: &str = "
CREATE TABLE IF NOT EXISTS reservation (
    id TEXT PRIMARY KEY, at TEXT NOT NULL, at_unix INTEGER NOT NULL, expires INTEGER NOT NULL, session TEXT, provider TEXT NOT NULL,
    model TEXT, state TEXT NOT NULL, bound INTEGER NOT NULL, cost INTEGER
) WITHOUT ROWID;
ALTER TABLE reservation ADD COLUMN bound_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE reservation ADD COLUMN tokens INTEGER;
CREATE INDEX open_reservation ON reservation (expires) WHERE state IN ('reserved', 'sent');
CREATE INDEX reservation_by_time ON reservation (at);
CREATE INDEX reservation_by_age ON reservation (at_unix);
";
/// Rows that count: open ones in whatever period they began, because a call of yesterday becomes a record of today, and closed ones
/// since the beginning of the period.
const COUNTED: &str = "
SELECT id, state, session, bound, cost, bound_tokens, tokens FROM reservation
WHERE state IN ('reserved', 'sent') AND (?2 IS NULL OR provider = ?2) AND (?3 IS NULL OR model = ?3)
UNION ALL
SELECT id, state, session, bound, cost, bound_tokens, tokens FROM reservation
WHERE at >= ?1 AND state IN ('settled', 'assumed') AND (?2 IS NULL OR provider = ?2) AND (?3 IS NULL OR model = ?3)
";

/// Makes the table, or adds the columns that it has since version 1.
pub(super) fn make_table(db: &mut Connection) -> Result<(), StoreError> {
    let version = |db: &Connection| db.pragma_query_value(None, "user_version", |row| row.get::<_, i64>(0));
    if version(db)? >= VERSION {
        return Ok(());
    }
    let batch = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have made it while this one waited.
    if version(&batch)? < VERSION {
        batch.execute_batch(SCHEMA)?;
        batch.pragma_update(None, "user_version", VERSION)?;
    }
    Ok(batch.commit()?)
}

/// Ends the leases that are over, and forgets what no period contains any more.
pub(super) fn end_leases(batch: &Transaction<'_>, now: &Timestamp) -> Result<(), StoreError> {
    let now = now.unix_seconds();
    batch
        .prepare_cached(
            "UPDATE reservation SET state = CASE state WHEN 'sent' THEN 'assumed' ELSE 'expired' END
             WHERE state IN ('reserved', 'sent') AND expires <= ?1",
        )?
        .execute([now])?;
    batch
        .prepare_cached("DELETE FROM reservation WHERE at_unix < ?1")?
        .execute([now - KEPT])?;
    Ok(())
}

pub(super) fn insert_row(batch: &Transaction<'_>, call: &PlannedSpend<'_>) -> Result<(), StoreError> {
    let at = call.now.unix_seconds();
    batch
        .prepare_cached(
            "INSERT INTO reservation (id, at, at_unix, expires, session, provider, model, state, bound, bound_tokens)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 'reserved', ?8, ?9)",
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
            call.bound_tokens,
        ])?;
    Ok(())
}

/// Adds the ledger's calls and the reservations that it does not have. `None` if a sum is too large to count.
pub(super) fn sum_rows(
    batch: &Transaction<'_>,
    query: &SpendingQuery,
    ledger: &RecordedSpending,
) -> Result<Option<BudgetSums>, StoreError> {
    let mut rows = batch.prepare_cached(COUNTED)?;
    let mut rows = rows.query(params![query.since.as_str(), query.provider, query.model])?;
    let (mut spent, mut reserved, mut held) = (ledger.sum, Some(0_u64), 0_u64);
    while let Some(row) = rows.next()? {
        let id: String = row.get(0)?;
        let session: Option<String> = row.get(2)?;
        if ledger.reservations.contains(&id) || !query.sessions.selects(session.as_deref()) {
            continue;
        }
        let (bound, used) = match query.unit {
            BudgetUnit::Cost => (row.get(3)?, row.get(4)?),
            BudgetUnit::Tokens => (row.get(5)?, row.get(6)?),
            BudgetUnit::Calls => (1_u64, None),
        };
        let state: String = row.get(1)?;
        match state.as_str() {
            "reserved" | "sent" => reserved = reserved.and_then(|sum| sum.checked_add(bound)),
            state => {
                // For calls the number is known, and what each of them used is not asked.
                if used.is_none() && query.unit != BudgetUnit::Calls && state == "assumed" {
                    held = held.saturating_add(bound);
                }
                spent = spent.and_then(|sum| sum.checked_add(used.unwrap_or(bound)));
            }
        }
    }
    Ok(spent.zip(reserved).map(|(spent, reserved)| BudgetSums {
        spent: query.unit.amount(spent),
        reserved: query.unit.amount(reserved),
        held: query.unit.amount(held),
    }))
}

/// Lists the sessions of the rows that count, each once.
pub(super) fn list_sessions(
    db: &Connection,
    query: &SpendingQuery,
) -> Result<BTreeSet<Option<String>>, StoreError> {
    let mut rows = db.prepare_cached(COUNTED)?;
    let sessions = rows.query_map(
        params![query.since.as_str(), query.provider, query.model],
        |row| row.get(2),
    )?;
    Ok(sessions.collect::<Result<_, _>>()?)
}
