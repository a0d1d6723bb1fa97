//! Models as a person names them: a provider, and a model of it after a `/`, as `agentos models list` prints them.
//!
//! Owns: where such a name is cut, and what a call means that names a model in two ways. Never: checks whether the provider or
//! the model exists.

use agentos_catalog::ModelRegistry;
use agentos_engine::ports::EffectError;
use agentos_profile::known_model;

use crate::error::usage_error;
use crate::provider_kind::ProviderKind;

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

    /// Returns what the user's own entry makes of a provider and a model: with the id of an entry, the provider and the name that
    /// the entry states, else the same. So `custom/my-model` can be any model of any provider.
    #[must_use]
    pub(crate) fn resolve_alias(self, models: &ModelRegistry) -> Self {
        let entry = self.model.as_ref().and_then(|model| {
            let id = format!("{}/{model}", self.provider.name());
            models.find(&id)
        });
        match entry {
            Some(entry) => Self {
                provider: ProviderKind::from(entry.served_by()),
                model: Some(entry.server_name().to_owned()),
            },
            None => self,
        }
    }

    /// Returns the model that a call means, which names one with the provider, as an option, in both ways or not at all.
    ///
    /// # Errors
    /// If the two are different models.
    pub fn model_with(&self, option: Option<&str>) -> Result<Option<String>, EffectError> {
        let option = option.map(|model| remove_provider(self.provider.name(), model));
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

/// Returns the server's name of a model that is given as in the list of known models: `gpt-4o` for `openai/gpt-4o`. Other names
/// are kept, because models of OpenRouter and LiteLLM begin with a vendor's name, and `openrouter/auto` is one.
fn remove_provider<'a>(provider: &str, model: &'a str) -> &'a str {
    known_model(model)
        .filter(|known| known.id == model && known.provider == provider)
        .map_or(model, |known| known.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_cut_at_its_first_slash() {
        for (text, provider, model) in [
            ("openai", "openai", None),
            ("openai/gpt-4o", "openai", Some("gpt-4o")),
            ("openrouter/openai/gpt-4o", "openrouter", Some("openai/gpt-4o")),
            ("custom/my-model", "custom", Some("my-model")),
            ("replay", "replay", None),
            // A part is missing: no provider has such a name, and the message about it shows the whole of it.
            ("openai/", "openai/", None),
            ("/gpt-4o", "/gpt-4o", None),
            ("", "", None),
        ] {
            let found = ModelName::parse(text);
            assert_eq!(
                (found.provider.name(), found.model.as_deref()),
                (provider, model),
                "{text}"
            );
        }
    }

    #[test]
    fn an_id_of_the_users_own_leads_to_the_model_that_its_entry_names() {
        let text = r#"{"version":1,"models":[
            {"id":"custom/my-model","provider":"llamacpp","name":"my-model-v1"},{"id":"openai/gpt-4o","tools":"no"}]}"#;
        let models = ModelRegistry::parse_json(text).unwrap();
        for (text, provider, model) in [
            ("custom/my-model", "llamacpp", Some("my-model-v1")),
            ("custom/other", "custom", Some("other")),
            ("custom", "custom", None),
            ("openai/gpt-4o", "openai", Some("gpt-4o")),
            ("my-model", "my-model", None),
        ] {
            let found = ModelName::parse(text).resolve_alias(&models);
            assert_eq!(
                (found.provider.name(), found.model.as_deref()),
                (provider, model),
                "{text}"
            );
        }
    }

    #[test]
    fn two_ways_to_name_a_model_mean_one_model() {
        for (name, option, expected) in [
            ("openai", None, Ok(None)),
            ("openai", Some("gpt-4o"), Ok(Some("gpt-4o"))),
            ("openai", Some("openai/gpt-4o"), Ok(Some("gpt-4o"))),
            ("openai/gpt-4o", Some("gpt-4o"), Ok(Some("gpt-4o"))),
            ("openai/gpt-4o", Some("openai/gpt-4o"), Ok(Some("gpt-4o"))),
            // The server of another provider may well know the model by its whole id.
            ("openrouter", Some("openai/gpt-4o"), Ok(Some("openai/gpt-4o"))),
            ("openrouter", Some("openrouter/auto"), Ok(Some("openrouter/auto"))),
            (
                "openai/gpt-4o",
                Some("gpt-4o-mini"),
                Err("the call names two models of `openai`: `gpt-4o` and `gpt-4o-mini`"),
            ),
        ] {
            let found = ModelName::parse(name).model_with(option);
            let found = found.as_ref().map(Option::as_deref);
            let found = found.map_err(|error| error.message.as_str());
            assert_eq!(found, expected, "{name} {option:?}");
        }
    }
}
