//! The models that are known without asking a server.
//!
//! Owns: their names, and what their vendors' model pages say that they take and can do (read in November 2026). Never:
//! says that a server has one, or what one costs: prices change, and belong into a profile.

use agentos_tool::Ability;
use schemars::JsonSchema;
use serde::Serialize;

use crate::AdapterKind;

/// One known model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct KnownModel {
    /// Its name here: provider, `/`, model.
    pub id: &'static str,
    /// The provider whose profile reaches it.
    pub provider: &'static str,
    /// Its name on that server.
    pub name: &'static str,
    /// The wire it is spoken to on.
    pub api: AdapterKind,
    /// Tokens of prompt and answer together.
    pub context_window: u64,
    /// Tokens of one answer, where the vendor has a limit of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output: Option<u64>,
    /// It takes tool definitions.
    pub tools: Ability,
    /// It takes pictures.
    pub vision: Ability,
    /// It can be held to JSON.
    pub json_mode: Ability,
    /// It thinks before it answers.
    pub reasoning: Ability,
}

/// All of them, provider by provider.
#[must_use]
pub fn known_models() -> &'static [KnownModel] {
    MODELS
}

/// The model of this id, or of this name on a provider's server.
#[must_use]
pub fn known_model(name: &str) -> Option<&'static KnownModel> {
    MODELS
        .iter()
        .find(|model| model.id == name)
        .or_else(|| MODELS.iter().find(|model| model.name == name))
}

/// What was meant by an id that is none, where it can be guessed.
#[must_use]
pub fn nearest_model(name: &str) -> Option<&'static str> {
    crate::file::nearest(name, MODELS.iter().flat_map(|model| [model.id, model.name]))
}

const fn vendors(
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

const fn local(id: &'static str, name: &'static str, context_window: u64) -> KnownModel {
    KnownModel {
        max_output: None,
        vision: Ability::No,
        ..vendors(id, ("ollama", AdapterKind::Ollama), name, (context_window, 0))
    }
}

const ANTHROPIC: (&str, AdapterKind) = ("anthropic", AdapterKind::Anthropic);
const OPENAI: (&str, AdapterKind) = ("openai", AdapterKind::Openai);

const MODELS: &[KnownModel] = &[
    KnownModel {
        reasoning: Ability::Yes,
        ..vendors(
            "anthropic/claude-sonnet-4-20250514",
            ANTHROPIC,
            "claude-sonnet-4-20250514",
            (200_000, 64_000),
        )
    },
    KnownModel {
        reasoning: Ability::Yes,
        ..vendors(
            "anthropic/claude-opus-4-20250514",
            ANTHROPIC,
            "claude-opus-4-20250514",
            (200_000, 32_000),
        )
    },
    // The vendor writes its version before its size.
    vendors(
        "anthropic/claude-haiku-3-5-20241022",
        ANTHROPIC,
        "claude-3-5-haiku-20241022",
        (200_000, 8_192),
    ),
    vendors("openai/gpt-4o", OPENAI, "gpt-4o", (128_000, 16_384)),
    vendors("openai/gpt-4o-mini", OPENAI, "gpt-4o-mini", (128_000, 16_384)),
    KnownModel {
        json_mode: Ability::No,
        ..vendors("openai/gpt-4-turbo", OPENAI, "gpt-4-turbo", (128_000, 4_096))
    },
    KnownModel {
        tools: Ability::No,
        vision: Ability::No,
        json_mode: Ability::No,
        reasoning: Ability::Yes,
        ..vendors("openai/o1-mini", OPENAI, "o1-mini", (128_000, 65_536))
    },
    local("ollama/llama3.3", "llama3.3", 131_072),
    local("ollama/llama3.2", "llama3.2", 131_072),
    local("ollama/qwen2.5", "qwen2.5", 32_768),
    local("ollama/qwen2.5-coder", "qwen2.5-coder", 32_768),
    KnownModel {
        tools: Ability::Unknown,
        reasoning: Ability::Yes,
        ..local("ollama/deepseek-r1", "deepseek-r1", 131_072)
    },
    local("ollama/mistral", "mistral", 32_768),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_model_is_found_by_its_id_and_its_name_and_belongs_to_a_built_in_profile() {
        let profiles = crate::builtin().unwrap();
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
