//! Members of pools, with what is known about each without asking a server.
//!
//! Owns: the order of the sources, and the checks that need to know the providers. Never: takes a pool, or anything about a member, from a repository.

use std::collections::BTreeMap;

use agentos_catalog::Catalog;
use agentos_engine::ports::EffectError;
use agentos_pool::{ChainPlaces, PoolFault, check_places, check_pool, list_chain};
use agentos_profile::{
    AdapterKind, MemberFile, Origin, PoolFile, PriceFile, ProfileFile, ResolvedProfile, builtin_profiles,
};
use agentos_select::{AbilityValue, PoolModel, PoolModels};
use agentos_tool::{Ability, ExecutionMode, TokenPrice, TokenPrices};

use super::{ListedMember, bad_pool};
use crate::model_values::ModelFacts;
use crate::models::ListedModel;
use agentos_ground::Ground;
use agentos_ground::error::catalog_error;
use agentos_ground::options::ProviderOverrides;
use agentos_providers::model_name::{ModelName, ModelNames};
use agentos_providers::pool_files::read_pool_file;
use agentos_providers::prices::presume_prices;
use agentos_providers::tools::{Tools, bad_profile};

/// Pool whose members exist.
#[derive(Debug, Clone)]
pub(crate) struct LoadedPool {
    pub name: String,
    pub file: PoolFile,
    pub members: Vec<LoadedMember>,
    /// The members as a choice sees them. All choices of the loaded pool share them, and their hash.
    pub models: PoolModels,
}

/// Member of a pool.
#[derive(Debug, Clone)]
pub(crate) struct LoadedMember {
    pub execution_mode: ExecutionMode,
    /// The member as a choice sees it.
    pub model: PoolModel,
    /// Source of each ability.
    pub sources: BTreeMap<String, String>,
}

impl LoadedMember {
    /// Returns the settings of a call of this member.
    pub fn overrides(&self) -> ProviderOverrides {
        ProviderOverrides {
            model: self.model.model.clone(),
            without_repository: true,
            ..ProviderOverrides::default()
        }
    }

    /// Returns the name of the model for people.
    pub fn name_model(&self) -> String {
        match &self.model.model {
            Some(model) => format!("{}/{model}", self.model.provider),
            None => self.model.provider.clone(),
        }
    }
}

impl LoadedPool {
    /// Describes the members for a list.
    pub fn list_members(&self) -> Vec<ListedMember> {
        let listed = self.members.iter().map(|member| ListedMember {
            alias: member.model.alias.clone(),
            model: member.name_model(),
            execution_mode: member.execution_mode,
        });
        listed.collect()
    }

    fn list_places(&self) -> ChainPlaces {
        let members = self.members.iter();
        ChainPlaces {
            pool: self.name.clone(),
            allows_cloud: self.file.allow_cloud.unwrap_or_default(),
            members: members
                .map(|member| (member.model.alias.clone(), member.execution_mode))
                .collect(),
        }
    }
}

/// Loads a pool and those that follow it, with all checks: a pool that could fail in the middle of a turn is refused before it.
///
/// # Errors
/// If one of them cannot be used.
pub(crate) fn load_chain(ground: &Ground, tools: &Tools, name: &str) -> Result<Vec<LoadedPool>, EffectError> {
    load_from(ground, tools, name, read_pool_file(tools, name)?)
}

/// Loads the chain of a pool whose file would be `first`.
///
/// # Errors
/// As [`load_chain`].
pub(super) fn load_from(
    ground: &Ground,
    tools: &Tools,
    name: &str,
    mut first: Option<PoolFile>,
) -> Result<Vec<LoadedPool>, EffectError> {
    let mut pools = BTreeMap::new();
    let mut next = Some(name.to_owned());
    while let Some(pool) = next {
        let file = match first.take() {
            Some(first) => Some(first),
            None => read_pool_file(tools, &pool)?,
        };
        let Some(file) = file else {
            break;
        };
        next = file
            .next_pool
            .clone()
            .filter(|next| !pools.contains_key(next) && *next != pool);
        pools.insert(pool, file);
    }
    let chain = list_chain(name, &pools).map_err(|fault| bad_pool(name, &fault))?;
    let catalog = Catalog::built_in().map_err(|error| catalog_error(&error))?;
    let facts = ModelFacts::new(ground, tools, &catalog);
    let known = builtin_profiles().map_err(|error| bad_profile(&error))?;
    let mut loaded = Vec::with_capacity(chain.len());
    for (pool, file) in chain {
        let refuse = |fault: PoolFault| bad_pool(pool, &fault);
        if known.contains_key(pool) {
            return Err(refuse(PoolFault::NameTaken(pool.to_owned())));
        }
        check_pool(file).map_err(refuse)?;
        if let Some(toolbox) = &file.selector_program {
            check_program(tools, toolbox)?.map_or(Ok(()), |fault| Err(refuse(fault)))?;
        }
        let members = file.members.iter();
        let members = members.map(|member| load_member(ground, tools, (&facts, &known), pool, member));
        let members = members.collect::<Result<Vec<LoadedMember>, _>>()?;
        loaded.push(LoadedPool {
            name: pool.to_owned(),
            models: members.iter().map(|member| member.model.clone()).collect(),
            members,
            file: file.clone(),
        });
    }
    let places: Vec<ChainPlaces> = loaded.iter().map(LoadedPool::list_places).collect();
    check_places(&places).map_err(|fault| bad_pool(name, &fault))?;
    Ok(loaded)
}

/// Returns the reason why a toolbox cannot choose for a pool. `None` if it can.
///
/// # Errors
/// If its profile contains a mistake.
fn check_program(tools: &Tools, toolbox: &str) -> Result<Option<PoolFault>, EffectError> {
    // The user's own file alone: a repository names no program that is started.
    let file = tools.user_file(toolbox)?;
    let Some(file) = file.filter(|file| file.adapter == Some(AdapterKind::Toolbox)) else {
        return Ok(Some(PoolFault::NoToolbox(toolbox.to_owned())));
    };
    let has_network = file.program.is_some_and(|program| !program.hosts.is_empty());
    Ok(has_network.then(|| PoolFault::ToolboxWithNetwork(toolbox.to_owned())))
}

fn load_member(
    ground: &Ground,
    tools: &Tools,
    (facts, known): (&ModelFacts<'_>, &BTreeMap<String, ProfileFile>),
    pool: &str,
    member: &MemberFile,
) -> Result<LoadedMember, EffectError> {
    let refuse = |fault: PoolFault| bad_pool(pool, &fault);
    let alias = member.alias.clone();
    // A pool names the provider of each member, whatever the user's default is.
    let named = ModelNames::of_tools(tools).resolve_alias(ModelName::parse(&member.model));
    let model = named.model;
    let provider = named.provider.name().to_owned();
    if tools.require_known(&provider).is_err() {
        return Err(refuse(PoolFault::UnknownProvider { alias, provider }));
    }
    // Before it is resolved: a pool of a pool could be a circle.
    if read_pool_file(tools, &provider)?.is_some() {
        let pool = provider;
        return Err(refuse(PoolFault::PoolAsMember { alias, pool }));
    }
    if !tools.has_profile(&provider) {
        return Err(refuse(PoolFault::NotAServer { alias, provider }));
    }
    if tools.user_file(&provider)?.is_none() && !known.contains_key(&provider) {
        return Err(refuse(PoolFault::ProviderOfRepository { alias, provider }));
    }
    let overrides = ProviderOverrides {
        model,
        // Else a repository could have the member's prompts sent to an address, or answered by a model, that the owner did not choose.
        without_repository: true,
        ..ProviderOverrides::default()
    };
    let resolved = tools.resolve_profile(ground, &provider, &overrides)?;
    if resolved.profile.adapter.is_program() {
        return Err(refuse(PoolFault::NotAServer { alias, provider }));
    }
    let execution_mode = resolved.profile.execution_mode();
    let mut abilities = SourcedAbilities::default();
    if let Some(name) = &resolved.profile.model {
        abilities.add_listed(&facts.describe_served(&provider, name));
    }
    abilities.add_profile(&resolved);
    let is_local = execution_mode == ExecutionMode::Local;
    abilities.put("runs_locally", AbilityValue::Flag(is_local), "address");
    for (name, value) in &member.abilities {
        abilities.put(name, value.clone(), "pool");
    }
    let prices = match &member.price {
        Some(price) => convert_price(price),
        None => presume_prices(&resolved)?,
    };
    Ok(LoadedMember {
        execution_mode,
        model: PoolModel {
            alias,
            provider,
            model: resolved.profile.model.clone(),
            abilities: abilities.values,
            prices,
            latency_ms: member.latency_ms,
            memory_bytes: member.memory_bytes,
        },
        sources: abilities.sources,
    })
}

/// Abilities with the source of each. The last source of a name wins.
#[derive(Debug, Default)]
struct SourcedAbilities {
    values: BTreeMap<String, AbilityValue>,
    sources: BTreeMap<String, String>,
}

impl SourcedAbilities {
    fn put(&mut self, name: &str, value: AbilityValue, source: &str) {
        self.values.insert(name.to_owned(), value);
        self.sources.insert(name.to_owned(), source.to_owned());
    }

    fn put_flag(&mut self, name: &str, ability: Ability, source: &str) {
        match ability {
            Ability::Yes => self.put(name, AbilityValue::Flag(true), source),
            Ability::No => self.put(name, AbilityValue::Flag(false), source),
            // An unknown ability meets no need, so it is left out.
            Ability::Unknown => {}
        }
    }

    /// Adds what the catalogue and the user's own entry state.
    fn add_listed(&mut self, listed: &ListedModel) {
        let source = |field: &str| listed.origins.get(field).map_or("catalogue", String::as_str);
        self.put_flag("supports_tools", listed.tools, source("tools"));
        self.put_flag("supports_vision", listed.vision, source("vision"));
        self.put_flag("supports_json", listed.json_mode, source("json_mode"));
        self.put_flag("supports_reasoning", listed.reasoning, source("reasoning"));
        // Below 2^53 a float is exact, and no window has so many tokens.
        let mut number = |name, tokens: Option<u64>, field| {
            if let Some(tokens) = tokens {
                self.put(name, AbilityValue::Number(tokens as f64), source(field));
            }
        };
        number("context_window", listed.context_window, "context_window");
        number("max_tokens", listed.max_output, "max_output");
        for (name, value) in &listed.abilities {
            self.put(name, AbilityValue::from_typed(value), source(name));
        }
    }

    /// Adds what the provider's profile declares. The built-in ones speak of all models of a provider, so they only fill gaps.
    fn add_profile(&mut self, resolved: &ResolvedProfile) {
        let declared = &resolved.profile.capabilities;
        let flags = [
            ("supports_tools", "capabilities.tools", declared.tools),
            ("supports_vision", "capabilities.vision", declared.vision),
            ("supports_json", "capabilities.json_mode", declared.json_mode),
            ("supports_streaming", "capabilities.stream", declared.stream),
        ];
        for (name, field, ability) in flags {
            if let Some(source) = self.stronger_origin(resolved, field, name) {
                self.put_flag(name, ability, &source);
            }
        }
        let window = declared.context_window;
        let source = self.stronger_origin(resolved, "capabilities.context_window", "context_window");
        if let (Some(tokens), Some(source)) = (window, source) {
            self.put("context_window", AbilityValue::Number(tokens as f64), &source);
        }
    }

    /// Returns the source of a profile's value that counts. `None` if the profile has none, or what is known already goes first.
    fn stronger_origin(&self, resolved: &ResolvedProfile, field: &str, name: &str) -> Option<String> {
        let origin = resolved.origin_of(field)?;
        let is_general = matches!(origin, Origin::BuiltIn | Origin::Derived);
        (!is_general || !self.values.contains_key(name)).then(|| format!("profile ({origin})"))
    }
}

fn convert_price(price: &PriceFile) -> TokenPrices {
    let number = |price: Option<f64>| price.and_then(TokenPrice::from_number);
    TokenPrices {
        input: number(price.input),
        cached: number(price.cached),
        cache_write: number(price.cache_write),
        output: number(price.output),
        above: Vec::new(),
        source: Some("pool".to_owned()),
    }
}
