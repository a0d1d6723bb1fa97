//! Models of a pool, and what they can do.
//!
//! Owns: these words. Never: claims that a server has a model.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

use agentos_tool::TokenPrices;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Value of an ability.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum AbilityValue {
    /// Yes or no, as of `supports_tools`.
    Flag(bool),
    /// A number, as of `context_window` (tokens).
    Number(f64),
    /// A word, as of `specialized_for`.
    Text(String),
    /// Several words, as of `supports_dialects`. A need for one of them is met.
    Texts(Vec<String>),
}

impl AbilityValue {
    /// Reads a value as a person types it: `true`, `32000` or a word.
    #[must_use]
    pub fn from_typed(text: &str) -> Self {
        match text {
            "true" | "yes" => return Self::Flag(true),
            "false" | "no" => return Self::Flag(false),
            _ => {}
        }
        match text.parse::<f64>() {
            // `nan` and `inf` are words here.
            Ok(number) if number.is_finite() => Self::Number(number),
            Ok(_) | Err(_) => Self::Text(text.to_owned()),
        }
    }

    /// Returns whether this ability is the wanted value, or a list with it.
    #[must_use]
    pub fn matches(&self, wanted: &Self) -> bool {
        match (self, wanted) {
            // A list states everything that is supported, so it meets a need for any part of it.
            (Self::Texts(own), Self::Text(one)) => own.contains(one),
            (Self::Texts(own), Self::Texts(all)) => all.iter().all(|one| own.contains(one)),
            (own, wanted) => own == wanted,
        }
    }
}

impl AbilityValue {
    /// Appends the value as people read it.
    pub(crate) fn write_to(&self, text: &mut String) {
        match self {
            Self::Flag(true) => text.push_str("true"),
            Self::Flag(false) => text.push_str("false"),
            Self::Number(number) => {
                // A `String` takes everything.
                let _ = write!(text, "{number}");
            }
            Self::Text(word) => text.push_str(word),
            Self::Texts(words) => text.push_str(&words.join(",")),
        }
    }
}

impl fmt::Display for AbilityValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        self.write_to(&mut text);
        f.write_str(&text)
    }
}

/// Model of a pool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PoolModel {
    /// Name in the pool, which its owner chose, such as `large-context`.
    pub alias: String,
    /// Provider that has it.
    pub provider: String,
    /// Model, as the provider names it. `None` if the provider's own is meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Abilities. One that is missing is unknown. The names are open.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub abilities: BTreeMap<String, AbilityValue>,
    /// Prices. Unknown ones are missing.
    #[serde(default, skip_serializing_if = "is_free_of_prices")]
    pub prices: TokenPrices,
    /// Milliseconds until its answer is complete, as its owner states them. `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<u64>,
    /// Bytes of memory that it needs on this machine. `None` if it runs elsewhere, or that is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
}

fn is_free_of_prices(prices: &TokenPrices) -> bool {
    *prices == TokenPrices::default()
}

impl PoolModel {
    /// Returns an ability that is a number. `None` if it is unknown, or something else.
    #[must_use]
    pub fn number(&self, ability: &str) -> Option<f64> {
        match self.abilities.get(ability)? {
            AbilityValue::Number(number) => Some(*number),
            AbilityValue::Flag(_) | AbilityValue::Text(_) | AbilityValue::Texts(_) => None,
        }
    }
}
