//! A pool of models as a profile states it.
//!
//! Owns: the fields, and the rule that only the user's own profile makes a pool. Never: checks that its members exist, or chooses
//! one; `agentos-pool` does.

use std::collections::BTreeMap;

use agentos_select::{AbilityValue, SelectorKind, SwitchRules};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::stack::{LayerStack, LayeredValue};
use crate::{AdapterKind, Origin, PriceFile, ProfileError};

/// Fields of a pool's profile; all others belong to its members.
pub(crate) const FIELDS: [&str; 3] = ["name", "adapter", "pool"];

/// Models to choose from.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PoolFile {
    /// Members, in the order in which equal ones are chosen.
    // A list and not an object: JSON objects have no order.
    pub members: Vec<MemberFile>,
    /// Alias of the default member. Default: the first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// Rule by which one of the members that fit is chosen. Default: `default`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selector: Option<SelectorKind>,
    /// Name of a toolbox of your own whose tool `select_model` chooses among the members that fit. `selector` chooses if the program
    /// does not; without `selector`, the turn then ends with an error. Default: `selector` alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selector_program: Option<String>,
    /// True if a turn that a member on this machine could answer may go to a member in the cloud. Default: false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allow_cloud: Option<bool>,
    /// Aliases of the members that are asked after a failure, in this order; an empty list asks nobody else. Default: the selector
    /// chooses again among those that were not asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 5))]
    pub fallback: Option<Vec<String>>,
    /// Number of times that a member's failed call is sent again before the next member is asked. Default: 0 while another member fits, and
    /// 3 for the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 10))]
    pub retries: Option<u32>,
    /// True if a message with the word `image` or `图片` needs a member that sees images, also where no image is there. Default: false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub infer_from_words: Option<bool>,
    /// Pool that is asked after all members of this one failed. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_pool: Option<String>,
    /// Rules by which the selector `resources` switches between members. Default: 85 % of memory or processor in use for 5 s, 3
    /// failures, 30 s between switches, half as much memory again as a model needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<SwitchRules>,
    /// True if a conversation loads the member of its first turn when it is opened, before the first message. Default: false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preload: Option<bool>,
    /// True if a switch of the selector `resources` to a smaller member unloads the model of the member that it leaves, where the server
    /// can unload. Default: false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unload: Option<bool>,
    /// Report of a change to another member: in a notice, or only in the records. Default: `notice`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notify: Option<PoolNotify>,
}

/// Report of a change to another member.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PoolNotify {
    /// In a notice, with the reason.
    #[default]
    Notice,
    /// Only in the records, and by `agentos status`. That an answer is withdrawn is shown all the same.
    Silent,
}

impl PoolFile {
    /// Adds a member at the end.
    #[must_use]
    pub fn with_member(mut self, member: MemberFile) -> Self {
        self.members.push(member);
        self
    }

    /// Returns a member by its alias. `None` if there is none.
    #[must_use]
    pub fn find_member(&self, alias: &str) -> Option<&MemberFile> {
        self.members.iter().find(|member| member.alias == alias)
    }

    /// Removes a member by its alias. Returns whether there was one.
    pub fn remove_member(&mut self, alias: &str) -> bool {
        let count = self.members.len();
        self.members.retain(|member| member.alias != alias);
        self.members.len() < count
    }
}

/// Member of a pool.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemberFile {
    /// Name in the pool, such as `large-context`: lower-case letters, digits, `-`, `_` and `.`.
    pub alias: String,
    /// Model, as in `openai/gpt-4o`, or a provider alone, whose own model is meant.
    pub model: String,
    /// Abilities that add to those of the catalogue, or take their place: `supports_NAME`, `context_window`, or any other name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub abilities: BTreeMap<String, AbilityValue>,
    /// Prices for the choice. Default: those of the provider's profile, else of the catalogue. The cost of a call is computed from
    /// the latter in any case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<PriceFile>,
    /// Aliases of the members that are asked after this one failed, in this order. Default: the pool's `fallback`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 5))]
    pub fallback: Option<Vec<String>>,
    /// Usual milliseconds until an answer is complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<u64>,
    /// Bytes of memory that the model needs on this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
}

impl AdapterKind {
    /// Returns true if the profile is a pool of models.
    #[must_use]
    pub fn is_pool(self) -> bool {
        self == Self::Pool
    }
}

/// Picks the adapter. A repository cannot make a pool, or change one of the user into a server.
pub(crate) fn pick_adapter(
    provider: &str,
    stack: &LayerStack,
) -> Result<LayeredValue<AdapterKind>, ProfileError> {
    let trusted = stack.pick_trusted(|file| file.adapter);
    let stated = stack.pick_or(|file| file.adapter, AdapterKind::of_provider(provider));
    match (trusted, stated) {
        // Whoever names a pool agreed to its members, and not to a server that a repository names.
        (Some(trusted), _) if trusted.value.is_pool() => Ok(trusted),
        (_, stated) if stated.value.is_pool() => Err(ProfileError::Value {
            field: "adapter",
            origin: stated.origin,
            message: "a pool must be in your own profile: a repository cannot choose models".to_owned(),
        }),
        (_, stated) => Ok(stated),
    }
}

/// Picks the pool. `None` if the profile is none.
pub(crate) fn pick_pool(
    stack: &LayerStack,
    adapter: AdapterKind,
) -> Result<Option<LayeredValue<PoolFile>>, ProfileError> {
    if !adapter.is_pool() {
        return Ok(None);
    }
    match stack.pick_trusted(|file| file.pool.clone()) {
        Some(pool) => Ok(Some(pool)),
        None => Err(ProfileError::Value {
            field: "pool",
            origin: Origin::Derived,
            message: "is required for the adapter `pool`".to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_added_found_and_removed() {
        let member = |alias: &str| MemberFile {
            alias: alias.to_owned(),
            ..MemberFile::default()
        };
        let mut pool = PoolFile::default()
            .with_member(member("a"))
            .with_member(member("b"));
        assert_eq!(pool.find_member("b"), Some(&member("b")));
        assert_eq!((pool.remove_member("b"), pool.remove_member("b")), (true, false));
        assert_eq!((pool.find_member("b"), pool.members.len()), (None, 1));
    }
}
