//! Pools of models: the user's profiles with the adapter `pool`, their members, and the choice of one.
//!
//! Owns: which profiles are pools, what is known about each member, and the published shapes. Never: chooses by itself;
//! `agentos-select` does, and only if the user named a pool.
//!
//! What is known about a member, strongest first:
//!
//! | source | where |
//! |---|---|
//! | the pool | `abilities`, `price`, `latency_ms` of the member |
//! | the server | only `pool detect` asks it |
//! | the user's profile of the provider, and entries of `models.json` | `capabilities`, `price` |
//! | the catalogue, else the built-in profile | limits, abilities, prices |

mod choice;
mod detect;
mod edit;
mod import;
mod members;
mod program;
mod run_pool;
mod stats;
mod turn;
mod unload;

use agentos_engine::Cause;
use agentos_engine::ports::EffectError;
use agentos_pool::PoolFault;
use agentos_profile::nearest_word;
use agentos_select::SelectorKind;
use agentos_tool::ExecutionMode;
use schemars::JsonSchema;
use serde::Serialize;

use crate::Calls;
use agentos_ground::Ground;
use agentos_ground::error::usage_error;
use agentos_ground::provider_kind::ProviderKind;
use agentos_providers::Providers;
use agentos_providers::known_tools::read_tools;
use agentos_providers::pool_files::{is_pool, read_pool_file};
use agentos_providers::tools::Tools;

pub use choice::PoolQuery;
pub use detect::{DetectedMember, PoolAbilities, SourcedAbility};
pub use edit::PoolMemberSpec;
pub use import::{PoolImport, PoolImportSpec};
pub(crate) use members::{LoadedMember, LoadedPool, load_chain};
pub use run_pool::RunPool;
pub use stats::{MemberStatistics, PoolStatistics};
pub use turn::{HandOver, PinnedMember, PoolTurn, count_images};

/// The output of `agentos pool list --json`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PoolList {
    /// Version of this shape: 1.
    pub version: u32,
    /// The pools, by name.
    pub pools: Vec<ListedPool>,
}

/// Pool of a list.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ListedPool {
    /// Name of the pool.
    pub name: String,
    /// Rule of the choice.
    pub selector: SelectorKind,
    /// Toolbox whose program chooses, before that rule. `None` if there is none.
    pub selector_program: Option<String>,
    /// Alias of the default member. `None` if the pool has no member.
    pub default: Option<String>,
    /// True if a turn may go from a member on this machine to one in the cloud.
    pub allow_cloud: bool,
    /// Aliases that are asked after a failure. `None` if the selector chooses again.
    pub fallback: Option<Vec<String>>,
    /// Pool that is asked after this one. `None` if there is none.
    pub next_pool: Option<String>,
    /// Members, in the pool's order. Empty if the pool has a problem.
    pub members: Vec<ListedMember>,
    /// Reason why the pool cannot be used. `None` if it can.
    pub problem: Option<String>,
}

/// Member of a listed pool.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ListedMember {
    /// Alias of the member.
    pub alias: String,
    /// Model, as in `openai/gpt-4o`, or the provider alone.
    pub model: String,
    /// Place of the model.
    pub execution_mode: ExecutionMode,
}

impl Calls<'_> {
    /// Lists the user's pools, also those with a problem.
    ///
    /// # Errors
    /// If a profile folder cannot be read.
    pub fn list_pools(self) -> Result<PoolList, EffectError> {
        let tools = read_tools(self.ground)?;
        let pools = tools
            .profiled_names()
            .filter_map(|name| describe_pool(self.ground, &tools, name));
        Ok(PoolList {
            version: 1,
            pools: pools.collect(),
        })
    }

    /// Returns the pool that a call means: the named one, else the user's default provider if that is a pool, else the only one.
    ///
    /// # Errors
    /// If there is no such pool, or several could be meant.
    pub fn find_pool(self, name: Option<&str>) -> Result<String, EffectError> {
        let tools = read_tools(self.ground)?;
        let mut names: Vec<&str> = tools.profiled_names().collect();
        // A profile with a mistake is no pool here; naming it reports the mistake.
        names.retain(|name| is_pool(&tools, name));
        if let Some(name) = name {
            return match names.contains(&name) {
                true => Ok(name.to_owned()),
                false => {
                    read_pool_file(&tools, name)?;
                    Err(unknown_pool(name, &names))
                }
            };
        }
        let default = Providers::of(self.ground).read_settings()?.default_provider();
        let default = default.filter(|chosen| names.contains(&chosen.provider.as_str()));
        match (default, names.as_slice()) {
            (Some(chosen), _) => Ok(chosen.provider),
            (None, [only]) => Ok((*only).to_owned()),
            (None, []) => Err(usage_error("there is no pool of models")
                .hint("add a member to a new pool, or import a pool from a file")),
            (None, several) => Err(usage_error("the call names no pool, and there are several")
                .hint(format!("pools: {}", several.join(", ")))),
        }
    }
}

/// Lists the providers of a pool's members, each once. `None` if the provider is no pool.
///
/// # Errors
/// If the pool cannot be used.
pub fn list_providers(
    ground: &Ground,
    tools: &Tools,
    name: &str,
) -> Result<Option<Vec<ProviderKind>>, EffectError> {
    if read_pool_file(tools, name)?.is_none() {
        return Ok(None);
    }
    let chain = load_chain(ground, tools, name)?;
    let mut providers: Vec<ProviderKind> = Vec::new();
    for member in chain.iter().take(1).flat_map(|pool| &pool.members) {
        let kind = ProviderKind::from(&member.model.provider);
        if !providers.contains(&kind) {
            providers.push(kind);
        }
    }
    Ok(Some(providers))
}

/// Returns the place to which a turn of a pool may go: the cloud if one member is there.
pub(crate) fn find_place(chain: &[LoadedPool]) -> ExecutionMode {
    let mut members = chain.iter().flat_map(|pool| &pool.members);
    match members.all(|member| member.execution_mode == ExecutionMode::Local) {
        true => ExecutionMode::Local,
        false => ExecutionMode::Cloud,
    }
}

fn unknown_pool(name: &str, known: &[&str]) -> EffectError {
    let error = usage_error(format!("there is no pool `{name}`"));
    match nearest_word(name, known.iter().copied()) {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None if known.is_empty() => error,
        None => error.hint(format!("pools: {}", known.join(", "))),
    }
}

/// Describes a pool for a list. `None` if the provider is no pool.
fn describe_pool(ground: &Ground, tools: &Tools, name: &str) -> Option<ListedPool> {
    // A profile that cannot be parsed may be anything; the list of providers shows its mistake.
    let file = read_pool_file(tools, name).ok()??;
    let (members, problem) = match load_chain(ground, tools, name) {
        Ok(chain) => (
            chain.first().map(LoadedPool::list_members).unwrap_or_default(),
            None,
        ),
        Err(error) => (Vec::new(), Some(error.message)),
    };
    let first = file.members.first().map(|member| member.alias.clone());
    Some(ListedPool {
        name: name.to_owned(),
        selector: file.selector.unwrap_or_default(),
        selector_program: file.selector_program,
        default: file.default.or(first),
        allow_cloud: file.allow_cloud.unwrap_or_default(),
        fallback: file.fallback,
        next_pool: file.next_pool,
        members,
        problem,
    })
}

/// Makes the error of a pool that cannot be used.
pub(crate) fn bad_pool(name: &str, fault: &PoolFault) -> EffectError {
    let error = EffectError::from_error(Cause::Usage, "bad-pool", fault);
    EffectError {
        message: format!("pool `{name}`: {}", error.message),
        ..error
    }
}
