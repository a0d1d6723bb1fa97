//! Abilities of a pool's members, each with its source, after asking their servers.
//!
//! Owns: the report. Never: changes a pool or a profile.

use std::collections::BTreeMap;

use agentos_engine::ports::{Clock, EffectError};
use agentos_select::AbilityValue;
use agentos_tool::{BoxFuture, HealthStatus, ToolHealth};
use schemars::JsonSchema;
use serde::Serialize;

use super::load_chain;
use super::members::LoadedMember;
use crate::Calls;
use agentos_ground::Ground;
use agentos_ground::clock::SystemClock;
use agentos_ground::runtime::await_all;
use agentos_providers::known_tools::read_tools;
use agentos_providers::tools::{Tools, make_server_tool};

/// The output of `agentos pool detect --json`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PoolAbilities {
    /// Version of this shape: 1.
    pub version: u32,
    /// Name of the pool.
    pub pool: String,
    /// Members, in the pool's order.
    pub members: Vec<DetectedMember>,
}

/// Member with what is known about it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct DetectedMember {
    /// Alias of the member.
    pub alias: String,
    /// Model, as in `openai/gpt-4o`, or the provider alone.
    pub model: String,
    /// Health state of its server.
    pub status: HealthStatus,
    /// Observation about the server, in one sentence. Untrusted.
    pub details: String,
    /// Abilities by name.
    pub abilities: BTreeMap<String, SourcedAbility>,
}

/// Ability with its source.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SourcedAbility {
    /// The value.
    pub value: AbilityValue,
    /// Source of the value: `pool`, `server`, `address`, a profile, or the names of public tables.
    pub source: String,
}

impl Calls<'_> {
    /// Asks the servers of a pool's members what they have. Must be awaited on a thread with a runtime that has timers and sockets;
    /// see [`agentos_ground::runtime::block_on`].
    ///
    /// # Errors
    /// If the pool cannot be used.
    pub async fn detect_abilities(self, pool: &str) -> Result<PoolAbilities, EffectError> {
        let tools = read_tools(self.ground)?;
        let chain = load_chain(self.ground, &tools, pool)?;
        let members: Vec<&LoadedMember> = chain.iter().take(1).flat_map(|pool| &pool.members).collect();
        let asked = members
            .iter()
            .map(|member| -> BoxFuture<'_, ToolHealth> { Box::pin(ask_server(self.ground, &tools, member)) });
        let seen = await_all(asked.collect()).await;
        let members = members
            .iter()
            .zip(seen)
            .map(|(member, health)| describe(member, health));
        Ok(PoolAbilities {
            version: 1,
            pool: pool.to_owned(),
            members: members.collect(),
        })
    }
}

async fn ask_server(ground: &Ground, tools: &Tools, member: &LoadedMember) -> ToolHealth {
    let provider = &member.model.provider;
    let made = tools
        .resolve_profile(ground, provider, &member.overrides())
        .and_then(|resolved| make_server_tool(ground, &resolved));
    match made {
        Ok(tool) => tool.adapter.health_check(SystemClock.now()).await,
        Err(error) => ToolHealth::new(
            provider,
            HealthStatus::NotConfigured,
            error.message,
            SystemClock.now(),
        ),
    }
}

fn describe(member: &LoadedMember, health: ToolHealth) -> DetectedMember {
    let known = member.model.abilities.iter().map(|(name, value)| {
        let ability = SourcedAbility {
            value: value.clone(),
            source: member.sources.get(name).cloned().unwrap_or_default(),
        };
        (name.clone(), ability)
    });
    let mut abilities: BTreeMap<String, SourcedAbility> = known.collect();
    let mut say = |name: &str, value: AbilityValue| {
        // The pool's owner knows better than the server: a pool may want less than a server has.
        let is_stated = abilities.get(name).is_some_and(|known| known.source == "pool");
        if !is_stated {
            let source = "server".to_owned();
            abilities.insert(name.to_owned(), SourcedAbility { value, source });
        }
    };
    if let Some(tokens) = health.context_window {
        say("context_window", AbilityValue::Number(tokens as f64));
    }
    // A list that is empty says nothing about the model.
    if let (false, Some(model)) = (health.models.is_empty(), &member.model.model) {
        say("available", AbilityValue::Flag(health.models.contains(model)));
    }
    DetectedMember {
        alias: member.model.alias.clone(),
        model: member.name_model(),
        status: health.status,
        details: health.details,
        abilities,
    }
}
