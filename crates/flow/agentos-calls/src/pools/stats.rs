//! How the members of a pool did, from the user's ledger.
//!
//! Owns: the report. Never: counts a call of another model.

use agentos_engine::ports::EffectError;
use agentos_tool::ExactCost;
use schemars::JsonSchema;
use serde::Serialize;

use super::load_chain;
use crate::Calls;
use crate::ledger::{Ledger, store_error};
use crate::machine::pool_state::{SwitchReport, list_switches_of};
use agentos_providers::known_tools::read_tools;

/// The output of `agentos pool stats --json`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PoolStatistics {
    /// Version of this shape: 1.
    pub version: u32,
    /// Name of the pool.
    pub pool: String,
    /// Beginning of the counted time, RFC 3339, UTC. `None` if all calls count.
    pub since: Option<String>,
    /// Members, in the pool's order.
    pub members: Vec<MemberStatistics>,
    /// Switches of the selector `resources` between members, the newest first.
    pub switches: Vec<SwitchReport>,
}

/// Calls of one member's model, by whatever name it was asked.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct MemberStatistics {
    /// Alias of the member.
    pub alias: String,
    /// Model, as in `openai/gpt-4o`, or the provider alone.
    pub model: String,
    /// Number of calls.
    pub calls: u64,
    /// Number of these that failed.
    pub failed: u64,
    /// Share of calls with a complete answer, 0 to 1. `None` if there was no call.
    pub success_rate: Option<f64>,
    /// Mean milliseconds until an answer was complete. `None` if none was.
    pub mean_ms: Option<u64>,
    /// Tokens of the prompts.
    pub input_tokens: u64,
    /// Tokens of the answers.
    pub output_tokens: u64,
    /// Sum of the known costs in US dollars, exact. `None` if it is too large to count.
    pub cost_usd: Option<ExactCost>,
    /// Number of calls whose cost is not known. They are not in the sum.
    pub unknown: u64,
}

impl Calls<'_> {
    /// Counts the calls of a pool's members since a time (RFC 3339, UTC). `None` counts all.
    ///
    /// # Errors
    /// If the pool cannot be used, or the ledger cannot be read.
    pub fn pool_statistics(self, pool: &str, since: Option<&str>) -> Result<PoolStatistics, EffectError> {
        let chain = load_chain(self.ground, &read_tools(self.ground)?, pool)?;
        let counted = match Ledger::open_existing(self.ground)? {
            Some(database) => database.count_calls(since).map_err(|error| store_error(&error))?,
            None => Default::default(),
        };
        let members = chain.iter().take(1).flat_map(|pool| &pool.members).map(|member| {
            let key = (member.model.provider.clone(), member.model.model.clone());
            let found = counted.get(&key).cloned().unwrap_or_default();
            let answered = found.calls.saturating_sub(found.failed);
            MemberStatistics {
                alias: member.model.alias.clone(),
                model: member.name_model(),
                calls: found.calls,
                failed: found.failed,
                success_rate: (found.calls > 0).then(|| answered as f64 / found.calls as f64),
                mean_ms: found.mean_ms,
                input_tokens: found.input_tokens,
                output_tokens: found.output_tokens,
                // Of no call, the sum is known.
                cost_usd: match found.calls {
                    0 => Some(ExactCost::default()),
                    _ => found.cost_usd,
                },
                unknown: found.unknown,
            }
        });
        Ok(PoolStatistics {
            version: 1,
            pool: pool.to_owned(),
            since: since.map(str::to_owned),
            members: members.collect(),
            switches: list_switches_of(self.ground, pool),
        })
    }
}
