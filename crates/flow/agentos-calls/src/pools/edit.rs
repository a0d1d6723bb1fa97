//! Adding members to a pool of the user, and removing them.
//!
//! Owns: the change of the pool's profile. Never: writes a pool that cannot be used.

use agentos_api::Notice;
use agentos_engine::ports::EffectError;
use agentos_pool::{advise_alias, name_alias};
use agentos_profile::{AdapterKind, MemberFile, PoolFile, ProfileFile};

use super::members::load_from;
use super::{PoolList, describe_pool, unknown_pool};
use crate::Calls;
use agentos_ground::error::usage_error;
use agentos_providers::Providers;
use agentos_providers::known_tools::read_tools;
use agentos_providers::tools::Tools;

/// Order to add a member.
#[derive(Debug, Clone, Default)]
pub struct PoolMemberSpec {
    /// Name of the pool. It is made if there is none.
    pub pool: String,
    /// Model, as in `openai/gpt-4o`, or a provider alone.
    pub model: String,
    /// Alias of the member. `None` for the model's name.
    pub alias: Option<String>,
    /// Make it the pool's default member.
    pub is_default: bool,
    /// Leave for turns to go from this machine to the cloud.
    pub allow_cloud: bool,
}

impl Calls<'_> {
    /// Adds a member at the end of a pool, and makes the pool if there is none. Returns the pool.
    ///
    /// # Errors
    /// If the pool could not be used then, or its profile cannot be written.
    pub fn add_pool_member(self, spec: &PoolMemberSpec) -> Result<PoolList, EffectError> {
        let tools = read_tools(self.ground)?;
        let mut profile = read_or_begin(&tools, &spec.pool)?;
        let mut pool = profile.pool.take().unwrap_or_default();
        let model_name = spec.model.rsplit('/').next().unwrap_or_default();
        let alias = spec.alias.clone().unwrap_or_else(|| name_alias(model_name));
        if spec.is_default {
            pool.default = Some(alias.clone());
        }
        if spec.allow_cloud {
            pool.allow_cloud = Some(true);
        }
        let member = MemberFile {
            alias: alias.clone(),
            model: spec.model.clone(),
            ..MemberFile::default()
        };
        let changed = self.save_pool(&tools, &spec.pool, profile, pool.with_member(member))?;
        if let Some(advice) = advise_alias(&alias) {
            self.ground.notify(Notice::new("pool-alias", advice));
        }
        Ok(changed)
    }

    /// Removes a member from a pool, and from the chains of fallbacks that name it. Returns the pool.
    ///
    /// # Errors
    /// If there is no such member, it is the only one, or the profile cannot be written.
    pub fn remove_pool_member(self, name: &str, alias: &str) -> Result<PoolList, EffectError> {
        let tools = read_tools(self.ground)?;
        let mut profile = read_or_begin(&tools, name)?;
        let mut pool = profile.pool.take().ok_or_else(|| unknown_pool(name, &[]))?;
        if !pool.remove_member(alias) {
            let aliases: Vec<&str> = pool.members.iter().map(|member| member.alias.as_str()).collect();
            let message = format!("the pool `{name}` has no member `{alias}`");
            return Err(usage_error(message).hint(format!("members: {}", aliases.join(", "))));
        }
        pool.default = pool.default.filter(|default| default != alias);
        let of_members = pool
            .members
            .iter_mut()
            .filter_map(|member| member.fallback.as_mut());
        for chain in of_members.chain(pool.fallback.as_mut()) {
            chain.retain(|other| other != alias);
        }
        self.save_pool(&tools, name, profile, pool)
    }

    fn save_pool(
        self,
        tools: &Tools,
        name: &str,
        profile: ProfileFile,
        pool: PoolFile,
    ) -> Result<PoolList, EffectError> {
        let path = Providers::of(self.ground).new_profile_path(name, true)?;
        load_from(self.ground, tools, name, Some(pool.clone()))
            .map_err(|error| error.hint("nothing was written"))?;
        let profile = ProfileFile {
            pool: Some(pool),
            ..profile
        };
        let text = serde_json::to_string_pretty(&profile).unwrap_or_default() + "\n";
        Providers::of(self.ground).save_profile(&path, &text)?;
        let pools = describe_pool(self.ground, &read_tools(self.ground)?, name)
            .into_iter()
            .collect();
        Ok(PoolList { version: 1, pools })
    }
}

/// Reads the profile of a pool, or begins a new one.
///
/// # Errors
/// If the user's profile of this name is no pool.
fn read_or_begin(tools: &Tools, name: &str) -> Result<ProfileFile, EffectError> {
    match tools.user_file(name)? {
        Some(file) if file.adapter.is_some_and(AdapterKind::is_pool) => Ok(file),
        Some(_) => Err(usage_error(format!("`{name}` is a provider, and no pool"))),
        None => Ok(ProfileFile {
            schema: Some("../profile.schema.json".to_owned()),
            provider: name.to_owned(),
            adapter: Some(AdapterKind::Pool),
            ..ProfileFile::default()
        }),
    }
}
