//! The models that are known without asking a server.
//!
//! Owns: their names, limits and abilities as their vendors' model pages state them (read in November 2026). Never: claims
//! that a server has a model, or what it costs: prices change, and belong into a profile.

use agentos_tool::Ability;
use schemars::JsonSchema;
use serde::Serialize;

use crate::AdapterKind;

/// Model with its limits and abilities.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct KnownModel {
    /// Id in this program: provider, `/`, model.
    pub id: &'static str,
    /// Provider whose profile reaches the model.
    pub provider: &'static str,
    /// Name on that server.
    pub name: &'static str,
    /// Adapter for the model.
    pub api: AdapterKind,
    /// Maximum tokens of prompt and answer together.
    pub context_window: u64,
    /// Maximum tokens of one answer. `None` if the vendor states no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output: Option<u64>,
    /// True if the model can call tools.
    pub tools: Ability,
    /// True if the model reads images.
    pub vision: Ability,
    /// True if answers can be constrained to a JSON Schema.
    pub json_mode: Ability,
    /// True if the model reasons before it answers.
    pub reasoning: Ability,
}

/// Returns all known models, provider by provider.
#[must_use]
pub fn known_models() -> &'static [KnownModel] {
    MODELS
}

/// Returns the model with this id, or with this name on a provider's server. `None` if it is not known.
#[must_use]
pub fn known_model(name: &str) -> Option<&'static KnownModel> {
    MODELS
        .iter()
        .find(|model| model.id == name)
        .or_else(|| MODELS.iter().find(|model| model.name == name))
}

/// Returns the id nearest to an unknown one. `None` if none is similar.
#[must_use]
pub fn nearest_model(name: &str) -> Option<&'static str> {
    crate::file::nearest_word(name, MODELS.iter().flat_map(|model| [model.id, model.name]))
}

const fn vendor_model(
    id: &'static str,
    (provider, api): (&'static str, AdapterKind),
    name: &'static str,
    (context_window, max_output): (u64, u64),
) -> KnownModel {
    KnownModel {
        id,
        provider,
        name,
        api,
        context_window,
        max_output: Some(max_output),
        tools: Ability::Yes,
        vision: Ability::Yes,
        json_mode: Ability::Yes,
        reasoning: Ability::No,
    }
}

const fn local_model(id: &'static str, name: &'static str, context_window: u64) -> KnownModel {
    KnownModel {
        max_output: None,
        vision: Ability::No,
        ..vendor_model(id, ("ollama", AdapterKind::Ollama), name, (context_window, 0))
    }
}

const ANTHROPIC: (&str, AdapterKind) = ("anthropic", AdapterKind::Anthropic);
const OPENAI: (&str, AdapterKind) = ("openai", AdapterKind::Openai);

const MODELS: &[KnownModel] = &[
    KnownModel {
        reasoning: Ability::Yes,
        ..vendor_model(
            "anthropic/claude-sonnet-4-20250514",
            ANTHROPIC,
            "claude-sonnet-4-20250514",
            (200_000, 64_000),
        )
    },
    KnownModel {
        reasoning: Ability::Yes,
        ..vendor_model(
            "anthropic/claude-opus-4-20250514",
            ANTHROPIC,
            "claude-opus-4-20250514",
            (200_000, 32_000),
        )
    },
    // The vendor writes its version before its size.
    vendor_model(
        "anthropic/claude-haiku-3-5-20241022",
        ANTHROPIC,
        "claude-3-5-haiku-20241022",
        (200_000, 8_192),
    ),
    vendor_model("openai/gpt-4o", OPENAI, "gpt-4o", (128_000, 16_384)),
    vendor_model("openai/gpt-4o-mini", OPENAI, "gpt-4o-mini", (128_000, 16_384)),
    KnownModel {
        json_mode: Ability::No,
        ..vendor_model("openai/gpt-4-turbo", OPENAI, "gpt-4-turbo", (128_000, 4_096))
    },
    KnownModel {
        tools: Ability::No,
        vision: Ability::No,
        json_mode: Ability::No,
        reasoning: Ability::Yes,
        ..vendor_model("openai/o1-mini", OPENAI, "o1-mini", (128_000, 65_536))
    },
    local_model("ollama/llama3.3", "llama3.3", 131_072),
    local_model("ollama/llama3.2", "llama3.2", 131_072),
    local_model("ollama/qwen2.5", "qwen2.5", 32_768),
    local_model("ollama/qwen2.5-coder", "qwen2.5-coder", 32_768),
    KnownModel {
        tools: Ability::Unknown,
        reasoning: Ability::Yes,
        ..local_model("ollama/deepseek-r1", "deepseek-r1", 131_072)
    },
    local_model("ollama/mistral", "mistral", 32_768),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_model_is_found_by_its_id_and_its_name_and_belongs_to_a_built_in_profile() {
        let profiles = crate::builtin_profiles().unwrap();
        assert_eq!(MODELS.len(), 13);
        for model in MODELS {
            assert_eq!(known_model(model.id), Some(model));
            assert_eq!(known_model(model.name), Some(model));
            assert!(model.id.starts_with(&format!("{}/", model.provider)));
            assert!(profiles.contains_key(model.provider), "{}", model.id);
            assert_eq!(model.api, AdapterKind::of_provider(model.provider));
            assert!(
                model
                    .max_output
                    .is_none_or(|most| most > 0 && most < model.context_window)
            );
        }
        assert_eq!(known_model("gpt-4"), None);
        assert_eq!(nearest_model("openai/gpt4o"), Some("openai/gpt-4o"));
    }
}
