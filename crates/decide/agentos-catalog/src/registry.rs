//! Models that a user describes: added one by one, or imported from a table.
//!
//! Owns: the file's form, what an entry may contain, and registering at run time. Never: reads or writes the file, or decides
//! which provider exists.

use std::collections::BTreeMap;

use agentos_tool::{Ability, TokenPrice};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Version of the file's form.
const VERSION: u32 = 1;
/// Longest id, name and value of an ability, in bytes.
const LONGEST_TEXT: usize = 256;
/// Most models of a user. The largest public tables have about 5,000.
const MOST_MODELS: usize = 50_000;
/// Names of abilities that have a field of their own.
const FIELDS: [&str; 6] = [
    "context_window",
    "output_limit",
    "tools",
    "vision",
    "json_mode",
    "reasoning",
];

/// Model that a user describes. What an entry leaves out is as the catalogue states it, or unknown.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UserModel {
    /// Id in this program: provider, `/` and name, such as `custom/my-model`.
    pub id: String,
    /// Provider whose profile reaches the model. `None` if it is the part of the id before the first `/`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// Name on that provider's server. `None` if it is the part of the id after the first `/`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Maximum tokens of prompt and answer together. `None` if the entry leaves it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub context_window: Option<u64>,
    /// Maximum tokens of one answer. `None` if the entry leaves it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub output_limit: Option<u64>,
    /// Ability to call tools. `None` if the entry leaves it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Ability>,
    /// Ability to read images. `None` if the entry leaves it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vision: Option<Ability>,
    /// Ability to constrain answers to a JSON Schema. `None` if the entry leaves it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub json_mode: Option<Ability>,
    /// Ability to reason before the answer. `None` if the entry leaves it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<Ability>,
    /// Prices in US dollars per million tokens. `None` if the entry leaves them out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<UserPrices>,
    /// Abilities of the user's own, which this program keeps and shows.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub abilities: BTreeMap<String, String>,
    /// Source of every value: `user`, or name and SHA-256 of the imported file.
    #[serde(default = "name_user")]
    pub source: String,
}

/// Prices that a user states, in US dollars per million tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UserPrices {
    /// Price of the prompt. `None` if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<TokenPrice>,
    /// Price of the part of the prompt that is read from a cache. `None` if it is the price of the prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached: Option<TokenPrice>,
    /// Price of the part of the prompt that is written to a cache. `None` if it is the price of the prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<TokenPrice>,
    /// Price of the answer. `None` if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<TokenPrice>,
}

fn name_user() -> String {
    "user".to_owned()
}

/// Error for an entry that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EntryFault {
    /// The id does not have the form of one.
    #[error(
        "an id is a provider (small letters, digits and `-`), `/` and a name, without control characters"
    )]
    Id,
    /// The provider or the name does not have the form of one.
    #[error("`{0}` has a form that no provider or model has")]
    Name(&'static str),
    /// A number must be 1 or more.
    #[error("`{0}` must be 1 or more")]
    Zero(&'static str),
    /// The longest answer does not fit into the window.
    #[error("`output_limit` must not be larger than `context_window`")]
    Limit,
    /// The key of an ability does not have the form of one.
    #[error("`{0}` cannot name an ability: use small letters, digits, `_`, `-` and `.`")]
    AbilityKey(String),
    /// The ability has a field of its own.
    #[error("`{0}` has a field of its own")]
    KnownAbility(String),
    /// The value of an ability is empty, too long, or has control characters.
    #[error("the value of `{0}` must have 1 to 256 characters, none of them a control character")]
    AbilityValue(String),
    /// Another entry describes the model.
    #[error("`{0}` describes the same model of the same provider")]
    Twice(String),
    /// There are too many models.
    #[error("there are {MOST_MODELS} models already, and no more are taken")]
    TooMany,
}

/// Error for a file of models that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    /// The text is not JSON, or has another form.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// The file is of another version.
    #[error("it has version {0}, and this program reads version 1")]
    Version(u32),
    /// An entry cannot be used.
    #[error("model `{id}`: {fault}")]
    Entry {
        /// Id of the entry.
        id: String,
        /// Reason.
        fault: EntryFault,
    },
}

/// File of the user's models.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelsFile {
    /// Version of this form: 1.
    pub version: u32,
    /// The models, by id.
    pub models: Vec<UserModel>,
}

/// The models of a user, by id. Models are registered and unregistered at run time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModelRegistry {
    models: BTreeMap<String, UserModel>,
    /// Ids by provider, `/` and name on the server. An imported table can have thousands of entries, and each is looked up.
    served: BTreeMap<String, String>,
}

impl UserModel {
    /// Returns the provider whose profile reaches the model.
    #[must_use]
    pub fn served_by(&self) -> &str {
        self.provider.as_deref().unwrap_or_else(|| self.split_id().0)
    }

    /// Returns the model's name on the provider's server.
    #[must_use]
    pub fn server_name(&self) -> &str {
        self.name.as_deref().unwrap_or_else(|| self.split_id().1)
    }

    /// Returns the key of the model on its server. A provider contains no `/`, so two models never have the same key.
    fn served_key(&self) -> String {
        format!("{}/{}", self.served_by(), self.server_name())
    }

    fn split_id(&self) -> (&str, &str) {
        self.id.split_once('/').unwrap_or(("", &self.id))
    }

    /// Checks that the entry can be used.
    ///
    /// # Errors
    /// With the first value that does not fit.
    pub fn check_entry(&self) -> Result<(), EntryFault> {
        let (provider, name) = self.split_id();
        if !is_provider(provider) || !is_text(name) {
            return Err(EntryFault::Id);
        }
        if self.provider.as_deref().is_some_and(|name| !is_provider(name)) {
            return Err(EntryFault::Name("provider"));
        }
        if self.name.as_deref().is_some_and(|name| !is_text(name)) {
            return Err(EntryFault::Name("name"));
        }
        for (field, number) in [
            ("context_window", self.context_window),
            ("output_limit", self.output_limit),
        ] {
            if number == Some(0) {
                return Err(EntryFault::Zero(field));
            }
        }
        if let (Some(window), Some(limit)) = (self.context_window, self.output_limit)
            && limit > window
        {
            return Err(EntryFault::Limit);
        }
        for (key, value) in &self.abilities {
            check_ability(key, value)?;
        }
        Ok(())
    }
}

/// Checks an ability of the user's own.
fn check_ability(key: &str, value: &str) -> Result<(), EntryFault> {
    let is_key =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'_' | b'-' | b'.');
    if FIELDS.contains(&key) {
        return Err(EntryFault::KnownAbility(key.to_owned()));
    }
    if key.is_empty() || key.len() > 64 || !key.bytes().all(is_key) {
        return Err(EntryFault::AbilityKey(key.chars().take(64).collect()));
    }
    if !is_text(value) {
        return Err(EntryFault::AbilityValue(key.to_owned()));
    }
    Ok(())
}

fn is_provider(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=64).contains(&text.len()) && text.bytes().all(fits)
}

/// Returns true for a text that can be shown on one line.
fn is_text(text: &str) -> bool {
    (1..=LONGEST_TEXT).contains(&text.trim().len()) && !text.chars().any(char::is_control)
}

impl ModelRegistry {
    /// Reads the text of a file.
    ///
    /// # Errors
    /// If it is not JSON, has another form or version, or an entry cannot be used.
    pub fn parse_json(text: &str) -> Result<Self, RegistryError> {
        let file: ModelsFile = serde_json::from_str(text)?;
        if file.version != VERSION {
            return Err(RegistryError::Version(file.version));
        }
        let mut registry = Self::default();
        for model in file.models {
            let id = model.id.clone();
            let (is_twice, registered) = (registry.find(&id).is_some(), registry.register(model));
            registered.map_err(|fault| RegistryError::Entry {
                id: id.clone(),
                fault,
            })?;
            if is_twice {
                let fault = EntryFault::Twice(id.clone());
                return Err(RegistryError::Entry { id, fault });
            }
        }
        Ok(registry)
    }

    /// Returns the text of a file with these models.
    ///
    /// # Errors
    /// Never in practice: every value is a text or a number.
    pub fn format_json(&self) -> Result<String, serde_json::Error> {
        let file = ModelsFile {
            version: VERSION,
            models: self.models.values().cloned().collect(),
        };
        Ok(serde_json::to_string_pretty(&file)? + "\n")
    }

    /// Registers a model, in place of one with the same id. Returns the model that it replaces; `None` if there was none.
    ///
    /// # Errors
    /// If the entry cannot be used, another id describes the same model of the same provider, or there are too many models.
    pub fn register(&mut self, model: UserModel) -> Result<Option<UserModel>, EntryFault> {
        model.check_entry()?;
        let key = model.served_key();
        // A run knows provider and name only: with two entries, nothing would say whose prices hold.
        if let Some(other) = self.served.get(&key).filter(|other| **other != model.id) {
            return Err(EntryFault::Twice(other.clone()));
        }
        if self.models.len() >= MOST_MODELS && !self.models.contains_key(&model.id) {
            return Err(EntryFault::TooMany);
        }
        // The old entry may have another key, which would lead to this one.
        let replaced = self.unregister(&model.id);
        self.served.insert(key, model.id.clone());
        self.models.insert(model.id.clone(), model);
        Ok(replaced)
    }

    /// Removes a model and returns it. `None` if there is none with this id.
    pub fn unregister(&mut self, id: &str) -> Option<UserModel> {
        let removed = self.models.remove(id)?;
        self.served.remove(&removed.served_key());
        Some(removed)
    }

    /// Returns the model with this id. `None` if there is none.
    #[must_use]
    pub fn find(&self, id: &str) -> Option<&UserModel> {
        self.models.get(id)
    }

    /// Returns the model that a provider's server has under this name. `None` if no entry describes it.
    #[must_use]
    pub fn find_served(&self, provider: &str, name: &str) -> Option<&UserModel> {
        self.models.get(self.served.get(&format!("{provider}/{name}"))?)
    }

    /// Returns the models, by id.
    pub fn iter_models(&self) -> impl Iterator<Item = &UserModel> {
        self.models.values()
    }
}

#[cfg(test)]
mod tests;
