//! Models as a person names them: a provider, and a model of it after a `/`, as `agentos models list` prints them.
//!
//! Owns: the one rule by which a call's provider and model are found, and the vendor's own name of a model. Never: asks a server.
//!
//! | the call names | provider | model |
//! |---|---|---|
//! | `-p P/M` | `P` | `M` |
//! | `-p P --model M` | `P` | `M`, with its slashes |
//! | `--model F/REST`, and `F` is a provider | `F` | `REST`; refused if the usual provider lists `F/REST` too |
//! | `--model M` otherwise | the usual one | `M` |
//! | nothing | the usual one | its usual one |

use std::collections::BTreeSet;

use agentos_catalog::{Catalog, ModelRegistry};
use agentos_engine::ports::EffectError;
use agentos_profile::known_models;

use crate::known_tools::read_tools;
use crate::tools::Tools;
use agentos_ground::Ground;
use agentos_ground::error::usage_error;
use agentos_ground::provider_kind::ProviderKind;

/// A provider, with a model of it if the text names one: `openai`, `openai/gpt-4o`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelName {
    /// The provider.
    pub provider: ProviderKind,
    /// Model as its server names it. `None` if the text names a provider alone.
    pub model: Option<String>,
}

impl ModelName {
    /// Cuts a name at its first `/`. No provider's name contains one; names of models do, as `openrouter/openai/gpt-4o` shows.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let (provider, model) = match text.split_once('/') {
            Some((provider, model)) if !provider.is_empty() && !model.is_empty() => (provider, Some(model)),
            Some(_) | None => (text, None),
        };
        Self {
            provider: ProviderKind::from(provider),
            model: model.map(str::to_owned),
        }
    }

    /// Returns the model that a call means, which names one with the provider, as an option, in both ways or not at all.
    ///
    /// # Errors
    /// If the two are different models.
    fn model_with(&self, option: Option<&str>) -> Result<Option<String>, EffectError> {
        match (&self.model, option) {
            (Some(named), Some(option)) if named != option => Err(usage_error(format!(
                "the call names two models of `{}`: `{named}` and `{option}`",
                self.provider.name()
            ))
            .hint("leave one of them out")),
            (Some(model), _) => Ok(Some(model.clone())),
            (None, option) => Ok(option.map(str::to_owned)),
        }
    }
}

/// Names that a call states of its provider and its model.
#[derive(Debug, Clone, Default)]
pub struct NamedModel<'a> {
    /// Provider that the call names, perhaps with a model. `None` if it names no provider.
    pub provider: Option<ModelName>,
    /// Model that the call names by itself. `None` if it names no model, or names it with the provider.
    pub model: Option<&'a str>,
    /// Provider that is asked if the call names none: the provider of the session, or the user's default. `None` if there is neither.
    pub usual: Option<ModelName>,
}

/// Providers and models with which names are compared.
#[derive(Debug, Clone, Default)]
pub struct ModelNames {
    models: ModelRegistry,
    providers: BTreeSet<String>,
}

impl ModelNames {
    /// Reads the providers that exist here, and the user's models.
    ///
    /// # Errors
    /// If a file of them cannot be read.
    pub fn read(ground: &Ground) -> Result<Self, EffectError> {
        Ok(Self::of_tools(&read_tools(ground)?))
    }

    /// Makes the names of providers and models that are read already.
    pub fn of_tools(tools: &Tools) -> Self {
        Self {
            models: tools.user_models().clone(),
            // A repository's profile could have the name of a vendor in another provider's ids, and be sent what is for that provider.
            providers: tools.own_provider_names().map(str::to_owned).collect(),
        }
    }

    /// Finds the provider and the model that a call means, by the table of this module. `None` if the call names no provider and there
    /// is no usual one. The model is the vendor's own name of it.
    ///
    /// # Errors
    /// If the call names two models, or a name that two providers list.
    pub fn find_model(&self, named: NamedModel<'_>) -> Result<Option<ModelName>, EffectError> {
        if let Some(provider) = named.provider {
            let is_named_alone = provider.model.is_none();
            let option = named
                .model
                .map(|model| self.remove_provider(provider.provider.name(), model));
            let model = provider.model_with(option)?;
            let name = ModelName { model, ..provider };
            return Ok(Some(match is_named_alone {
                true => self.resolve_of_provider(name),
                false => self.resolve_alias(name),
            }));
        }
        let Some(model) = named.model else {
            return Ok(named.usual.map(|usual| self.resolve_alias(usual)));
        };
        if let Some(found) = self.split_id(model, named.usual.as_ref())? {
            return Ok(Some(found));
        }
        Ok(named.usual.map(|usual| {
            self.resolve_of_provider(ModelName {
                model: Some(model.to_owned()),
                ..usual
            })
        }))
    }

    /// Returns true if an id of a model says which provider is asked.
    #[must_use]
    pub fn names_provider(&self, id: &str) -> bool {
        let found = ModelName::parse(id);
        found.model.is_some()
            && (self.providers.contains(found.provider.name()) || self.models.find(id).is_some())
    }

    /// Finds the provider and the model that an id of the form `PROVIDER/MODEL` means. `None` if its first part is not a provider.
    ///
    /// # Errors
    /// If the usual provider has a model with this name too.
    pub fn split_id(&self, id: &str, usual: Option<&ModelName>) -> Result<Option<ModelName>, EffectError> {
        let found = ModelName::parse(id);
        let Some(rest) = &found.model else {
            return Ok(None);
        };
        if !self.names_provider(id) {
            return Ok(None);
        }
        let provider = found.provider.name();
        match usual.filter(|usual| self.lists(usual, id)) {
            // The usual provider's own model has its provider's name in its own, as `openrouter/auto` has.
            Some(usual) if usual.provider == found.provider => match self.has_model(provider, rest) {
                true => Ok(Some(self.resolve_alias(found))),
                false => Ok(Some(ModelName {
                    model: Some(id.to_owned()),
                    ..found
                })),
            },
            Some(usual) => {
                let usual = usual.provider.name();
                Err(usage_error(format!(
                    "`{id}` is the model `{rest}` of `{provider}`, and also a model of `{usual}`, which is asked if no provider is named"
                ))
                .hint(format!(
                    "write `-p {provider}/{rest}`, or `-p {usual}/{id}`"
                )))
            }
            None => Ok(Some(self.resolve_alias(found))),
        }
    }

    /// Returns what the user's own entry makes of a provider and a model: with the id of an entry, the provider and the name that
    /// the entry states, else the vendor's own name. So `custom/my-model` can be any model of any provider.
    #[must_use]
    pub fn resolve_alias(&self, name: ModelName) -> ModelName {
        let id = |model: &String| format!("{}/{model}", name.provider.name());
        let entry = name.model.as_ref().and_then(|model| self.models.find(&id(model)));
        match entry {
            Some(entry) => ModelName {
                provider: ProviderKind::from(entry.served_by()),
                model: Some(entry.server_name().to_owned()),
            },
            None => name_at_vendor(name),
        }
    }

    /// Returns the vendor's own name of a model whose provider the call names. An entry that leads to another provider counts only if
    /// there is no such provider.
    fn resolve_of_provider(&self, name: ModelName) -> ModelName {
        let provider = name.provider.clone();
        let found = self.resolve_alias(name.clone());
        match found.provider == provider || !self.providers.contains(provider.name()) {
            true => found,
            false => name_at_vendor(name),
        }
    }

    /// Returns a model as its provider names it, if it is given as in the list of known models: `gpt-4o` for `openai/gpt-4o`. Other
    /// names are kept, because models of OpenRouter and LiteLLM begin with a vendor's name.
    fn remove_provider<'m>(&self, provider: &str, model: &'m str) -> &'m str {
        let is_own = known_models()
            .iter()
            .any(|known| known.id == model && known.provider == provider);
        let rest = model
            .strip_prefix(provider)
            .and_then(|rest| rest.strip_prefix('/'));
        rest.filter(|_| is_own && !self.has_model(provider, model))
            .unwrap_or(model)
    }

    /// Returns true if a provider is known to have a model of this name, or is set to use it.
    fn lists(&self, usual: &ModelName, model: &str) -> bool {
        usual.model.as_deref() == Some(model) || self.has_model(usual.provider.name(), model)
    }

    fn has_model(&self, provider: &str, model: &str) -> bool {
        let id = format!("{provider}/{model}");
        let is_known =
            |known: &agentos_profile::KnownModel| known.provider == provider && known.name == model;
        self.models.find(&id).is_some()
            || self.models.find_served(provider, model).is_some()
            || known_models().iter().any(is_known)
            || Catalog::built_in_model(&id).is_ok_and(|catalog| catalog.find_model(&id).is_some())
    }
}

/// Returns a model under the name that its vendor's server knows.
fn name_at_vendor(name: ModelName) -> ModelName {
    let id = name
        .model
        .as_ref()
        .map(|model| format!("{}/{model}", name.provider.name()));
    match known_models()
        .iter()
        .find(|known| Some(known.id) == id.as_deref())
    {
        Some(known) => ModelName {
            model: Some(known.name.to_owned()),
            ..name
        },
        None => name,
    }
}

#[cfg(test)]
mod tests;
