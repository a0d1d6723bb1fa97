//! Needs of a turn.
//!
//! Owns: their rules, and reading them. Never: names a model.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{AbilityValue, PoolModel};

/// Error for a text that is no need.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NeedError {
    /// A text without `=`, or nothing on one side of it.
    #[error("`{0}` is no need: write NAME=VALUE, as in `supports_vision=true`")]
    Form(String),
    /// A threshold that is no number.
    #[error("`{name}` needs a number, and `{value}` is none")]
    Threshold {
        /// Name of the need.
        name: String,
        /// Value as it was typed.
        value: String,
    },
    /// A `supports_` need that is neither yes nor no.
    #[error("`{name}` is `true` or `false`, and not `{value}`")]
    Flag {
        /// Name of the need.
        name: String,
        /// Value as it was typed.
        value: String,
    },
}

/// Origin of a need.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NeedOrigin {
    /// A person or program stated it.
    Stated,
    /// Follows from the turn, for this reason.
    Inferred(String),
}

/// Need with its origin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelNeed {
    /// The wanted value, or the smallest one.
    pub value: AbilityValue,
    /// Origin of the need.
    pub origin: NeedOrigin,
}

impl ModelNeed {
    /// Returns whether a person or program stated the need, so that an unknown ability does not meet it.
    #[must_use]
    pub fn is_stated(&self) -> bool {
        match self.origin {
            NeedOrigin::Stated => true,
            NeedOrigin::Inferred(_) => false,
        }
    }
}

/// Way in which a need is met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NeedRule<'a> {
    /// The ability of this name has the value.
    Equal(&'a str),
    /// The ability of this name is at least the value.
    AtLeast(&'a str),
}

impl<'a> NeedRule<'a> {
    /// Returns the rule of a need by its name.
    #[must_use]
    pub fn of(name: &'a str) -> Self {
        match name.strip_prefix("min_") {
            Some(ability) if !ability.is_empty() => Self::AtLeast(ability),
            Some(_) | None => Self::Equal(name),
        }
    }

    /// Returns the ability that meets the need, or not.
    #[must_use]
    pub fn ability(self) -> &'a str {
        match self {
            Self::Equal(ability) | Self::AtLeast(ability) => ability,
        }
    }

    /// Returns whether a model meets the need. An unknown ability does not.
    #[must_use]
    pub fn is_met(self, model: &PoolModel, wanted: &AbilityValue) -> bool {
        self.accepts(model.abilities.get(self.ability()), wanted)
    }

    /// Returns whether the value of the ability meets the need. One that is unknown does not.
    pub(crate) fn accepts(self, found: Option<&AbilityValue>, wanted: &AbilityValue) -> bool {
        found.is_some_and(|value| match (self, wanted, value) {
            (Self::Equal(_), _, _) => value.matches(wanted),
            (Self::AtLeast(_), AbilityValue::Number(least), AbilityValue::Number(number)) => number >= least,
            // A word is no number; and a threshold that was read is always one.
            (Self::AtLeast(_), _, _) => false,
        })
    }
}

/// Needs of a turn, by their names.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Needs(BTreeMap<String, ModelNeed>);

impl Needs {
    /// Reads needs as a person states them, one `NAME=VALUE` each. The last one of a name wins.
    ///
    /// # Errors
    /// If a text is no need.
    pub fn parse<'a>(typed: impl IntoIterator<Item = &'a str>) -> Result<Self, NeedError> {
        let mut needs = Self::default();
        for text in typed {
            let (name, value) = read_need(text)?;
            let origin = NeedOrigin::Stated;
            needs.0.insert(name, ModelNeed { value, origin });
        }
        Ok(needs)
    }

    /// Adds a need that follows from the turn. A stated one of the same name stays.
    pub fn infer(&mut self, name: &str, value: AbilityValue, reason: &str) {
        let origin = NeedOrigin::Inferred(reason.to_owned());
        self.0
            .entry(name.to_owned())
            .or_insert(ModelNeed { value, origin });
    }

    /// Lists the needs by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &ModelNeed)> {
        self.0.iter().map(|(name, need)| (name.as_str(), need))
    }

    /// Returns a need by its name. `None` if there is none.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&ModelNeed> {
        self.0.get(name)
    }

    /// Returns true if there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

fn read_need(text: &str) -> Result<(String, AbilityValue), NeedError> {
    let form = || NeedError::Form(text.to_owned());
    let (name, value) = text.split_once('=').ok_or_else(form)?;
    let (name, value) = (name.trim(), value.trim());
    if name.is_empty() || value.is_empty() {
        return Err(form());
    }
    let read = AbilityValue::from_typed(value);
    let owned = || (name.to_owned(), value.to_owned());
    match (NeedRule::of(name), &read) {
        (NeedRule::AtLeast(_), AbilityValue::Number(_)) => {}
        (NeedRule::AtLeast(_), _) => {
            let (name, value) = owned();
            return Err(NeedError::Threshold { name, value });
        }
        (NeedRule::Equal(ability), AbilityValue::Flag(_)) if ability.starts_with("supports_") => {}
        (NeedRule::Equal(ability), AbilityValue::Number(_)) if ability.starts_with("supports_") => {
            let (name, value) = owned();
            return Err(NeedError::Flag { name, value });
        }
        // A `supports_` ability may be a list of words, such as the dialects of a language.
        (NeedRule::Equal(_), _) => {}
    }
    Ok((name.to_owned(), read))
}
