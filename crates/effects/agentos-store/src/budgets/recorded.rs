//! What the calls of the ledger used, for the budgets.
//!
//! Owns: the sums. Never: counts a call that certainly did not arrive.

use std::collections::BTreeSet;

use agentos_ledger::may_have_arrived;
use rusqlite::{ToSql, params};

use super::RecordedSpending;
use super::limit::{BudgetUnit, SessionFilter, SpendingQuery};
use crate::{LedgerStore, StoreError};

/// Sessions with a guild, as `agentos_ledger::find_guild` finds it.
const WITH_GUILD: &str = "channel:[^.]*.*";
/// The part of each query that selects calls.
const SELECTED: &str = "FROM call WHERE ts >= ?1 AND (?2 IS NULL OR provider = ?2)
AND (?3 IS NULL OR model = ?3 OR requested = ?3) AND (?4 IS NULL OR session = ?4) AND (?5 IS NULL OR session GLOB ?5)
AND (?6 IS NULL OR session IS NULL OR (?6 <> '' AND session NOT GLOB ?6))";

/// Parameters of a query for sessions: one session, a pattern of wanted ones, and a pattern of unwanted ones.
fn list_patterns(sessions: &SessionFilter) -> (Option<&str>, Option<String>, Option<&'static str>) {
    match sessions {
        SessionFilter::All => (None, None, None),
        SessionFilter::One(session) => (Some(session), None, None),
        // The name of a guild has no character that means something in a pattern.
        SessionFilter::Guild(guild) => (None, Some(format!("channel:{guild}.*")), None),
        SessionFilter::WithoutGuild => (None, None, Some(WITH_GUILD)),
        // No session is wanted, whatever its name.
        SessionFilter::WithoutSession => (None, None, Some("")),
    }
}

impl LedgerStore {
    /// Adds what the ledger's calls used, and lists the reservations that are in such sums.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn sum_recorded(&self, query: &SpendingQuery) -> Result<RecordedSpending, StoreError> {
        let (session, wanted, unwanted) = list_patterns(&query.sessions);
        let selected: [&dyn ToSql; 6] = [
            &query.since.as_str(),
            &query.provider,
            &query.model,
            &session,
            &wanted,
            &unwanted,
        ];
        let (sum, unknown) = match query.unit {
            BudgetUnit::Cost => self.sum_costs_of(&selected)?,
            BudgetUnit::Calls => (Some(self.count_calls_of(&selected)?), 0),
            BudgetUnit::Tokens => self.sum_tokens_of(&selected)?,
        };
        Ok(RecordedSpending {
            sum,
            unknown,
            reservations: self.list_reservations(query)?,
        })
    }

    fn sum_costs_of(&self, selected: &[&dyn ToSql]) -> Result<(Option<u64>, u64), StoreError> {
        let text = format!(
            "SELECT coalesce(sum(dollars), 0), coalesce(sum(pico), 0), coalesce(sum(dollars IS NULL), 0) {SELECTED}"
        );
        let mut query = self.db.prepare_cached(&text)?;
        Ok(query.query_row(selected, |row| {
            let cost = crate::batch::join_cost(row.get(0)?, row.get(1)?);
            Ok((cost.map(agentos_tool::ExactCost::pico_dollars), row.get(2)?))
        })?)
    }

    fn sum_tokens_of(&self, selected: &[&dyn ToSql]) -> Result<(Option<u64>, u64), StoreError> {
        let text = format!(
            "SELECT coalesce(sum(input + output), 0), coalesce(sum(input + output = 0), 0) {SELECTED}"
        );
        let mut query = self.db.prepare_cached(&text)?;
        Ok(query.query_row(selected, |row| Ok((Some(row.get(0)?), row.get(1)?)))?)
    }

    fn count_calls_of(&self, selected: &[&dyn ToSql]) -> Result<u64, StoreError> {
        let mut query = self
            .db
            .prepare_cached(&format!("SELECT failure, count(*) {SELECTED} GROUP BY failure"))?;
        let mut rows = query.query(selected)?;
        let mut count = 0_u64;
        while let Some(row) = rows.next()? {
            let failure: Option<String> = row.get(0)?;
            if may_have_arrived(failure.as_deref()) {
                count = count.saturating_add(row.get(1)?);
            }
        }
        Ok(count)
    }

    /// Lists the reservations of recorded calls that are in a sum of this unit.
    fn list_reservations(&self, query: &SpendingQuery) -> Result<BTreeSet<String>, StoreError> {
        let known = match query.unit {
            BudgetUnit::Cost => "dollars IS NOT NULL",
            BudgetUnit::Tokens => "input + output > 0",
            BudgetUnit::Calls => "true",
        };
        let text = format!(
            "SELECT reservation, failure FROM call WHERE ts >= ?1 AND reservation IS NOT NULL AND {known}"
        );
        let mut statement = self.db.prepare_cached(&text)?;
        let mut rows = statement.query(params![query.since.as_str()])?;
        let mut ids = BTreeSet::new();
        while let Some(row) = rows.next()? {
            let failure: Option<String> = row.get(1)?;
            if query.unit != BudgetUnit::Calls || may_have_arrived(failure.as_deref()) {
                ids.insert(row.get(0)?);
            }
        }
        Ok(ids)
    }

    /// Lists the sessions of the calls in the period of a question, whatever sessions it selects. Calls without a session are `None`.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn list_calling_sessions(
        &self,
        query: &SpendingQuery,
    ) -> Result<BTreeSet<Option<String>>, StoreError> {
        let mut statement = self.db.prepare_cached(
            "SELECT DISTINCT session FROM call WHERE ts >= ?1 AND (?2 IS NULL OR provider = ?2)
             AND (?3 IS NULL OR model = ?3 OR requested = ?3)",
        )?;
        let sessions = statement.query_map(
            params![query.since.as_str(), query.provider, query.model],
            |row| row.get(0),
        )?;
        Ok(sessions.collect::<Result<_, _>>()?)
    }
}
