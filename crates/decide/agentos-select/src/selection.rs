//! The choice of a model, with a reason for each that was not chosen.
//!
//! Owns: the order of the steps. Never: depends on anything but its input.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::selector::BuiltInSelector;
use crate::{
    AbilityValue, ChosenModel, LocalTime, MachineFacts, ModelRecord, ModelSelector, NeedRule, Needs,
    PoolModel, SelectionView, SelectorKind,
};

/// Everything that a choice depends on. It is recorded with the choice.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SelectionInput {
    /// Models of the pool, in its order.
    pub models: Vec<PoolModel>,
    /// Rule of the choice.
    pub selector: SelectorKind,
    /// Alias of the pool's default model. `None` if it is the first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_alias: Option<String>,
    /// Needs of the turn.
    #[serde(default)]
    pub needs: Needs,
    /// Tokens that the turn is expected to send.
    #[serde(default)]
    pub input_tokens: u64,
    /// Tokens that the answer is expected to have.
    #[serde(default)]
    pub output_tokens: u64,
    /// Records of earlier turns, by alias, in the window of the statistics.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub records: BTreeMap<String, ModelRecord>,
    /// State of the machine. `None` if nobody looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<MachineFacts>,
    /// Time of the choice where the user is. `None` if no selector asks for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<LocalTime>,
    /// Aliases that were tried in this turn already, or are not offered now, each with the reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub excluded: BTreeMap<String, String>,
}

/// Result of a choice.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelSelection {
    /// Alias of the chosen model.
    pub alias: String,
    /// Reason for it, in words.
    pub reason: String,
    /// Number of models that fit.
    pub fitting: usize,
    /// Models that do not fit, in the pool's order.
    pub refused: Vec<RefusedModel>,
}

/// Model that does not fit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RefusedModel {
    /// Position of the model in the pool, from 0.
    pub position: usize,
    /// Reason why it is not offered at all. `None` if it only does not meet a need.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub excluded: Option<String>,
    /// Needs that it does not meet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unmet: Vec<UnmetNeed>,
}

/// Need that a model does not meet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UnmetNeed {
    /// Name of the need.
    pub need: String,
    /// Value that the model has. `None` if that is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<AbilityValue>,
}

/// Error for a choice that cannot be made.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SelectionError {
    /// The pool has no model.
    #[error("the pool has no model")]
    EmptyPool,
    /// No model fits.
    #[error("no model of the pool meets all needs")]
    NothingFits {
        /// All models, each with its reasons.
        refused: Vec<RefusedModel>,
    },
    /// A selector of one's own chose nothing, or a model that does not fit.
    #[error("the selector chose {}, which is no model that fits", match .chosen { Some(alias) => alias.as_str(), None => "nothing" })]
    WrongChoice {
        /// Alias that it chose. `None` if it chose nothing.
        chosen: Option<String>,
    },
}

impl SelectionInput {
    /// Returns the default model. `None` if the pool is empty, or has no model of that name.
    #[must_use]
    pub fn default_model(&self) -> Option<&PoolModel> {
        match &self.default_alias {
            Some(alias) => self.models.iter().find(|model| model.alias == *alias),
            None => self.models.first(),
        }
    }
}

impl RefusedModel {
    /// Writes the reasons for people, as in `supports_vision is false, true is needed`.
    #[must_use]
    pub fn describe(&self, needs: &Needs) -> String {
        let unmet = self.unmet.iter().map(|unmet| {
            let wanted = needs.find(&unmet.need).map(|need| need.value.to_string());
            let wanted = wanted.unwrap_or_default();
            let rule = NeedRule::of(&unmet.need);
            let found = unmet
                .found
                .as_ref()
                .map_or_else(|| "unknown".to_owned(), ToString::to_string);
            match rule {
                NeedRule::Equal(ability) => format!("{ability} is {found}, {wanted} is needed"),
                NeedRule::AtLeast(ability) => format!("{ability} is {found}, at least {wanted} is needed"),
            }
        });
        let all: Vec<String> = self.excluded.clone().into_iter().chain(unmet).collect();
        all.join("; ")
    }
}

/// Chooses a model with the pool's own selector.
///
/// # Errors
/// If the pool is empty, or no model fits.
pub fn select_model(input: &SelectionInput) -> Result<ModelSelection, SelectionError> {
    select_with(input, &BuiltInSelector)
}

/// Chooses a model with a selector of one's own. It is only shown models that fit.
///
/// # Errors
/// If the pool is empty, no model fits, or the selector chose none of those that do.
pub fn select_with(
    input: &SelectionInput,
    selector: &dyn ModelSelector,
) -> Result<ModelSelection, SelectionError> {
    if input.models.is_empty() {
        return Err(SelectionError::EmptyPool);
    }
    let rules: Vec<(&str, NeedRule<'_>, &AbilityValue)> = input
        .needs
        .iter()
        .map(|(name, need)| (name, NeedRule::of(name), &need.value))
        .collect();
    let (mut fitting, mut refused) = (Vec::new(), Vec::new());
    for (position, model) in input.models.iter().enumerate() {
        match judge_model(input, &rules, position, model) {
            Some(reasons) => refused.push(reasons),
            None => fitting.push(model),
        }
    }
    if fitting.is_empty() {
        return Err(SelectionError::NothingFits { refused });
    }
    let view = SelectionView {
        fitting: &fitting,
        input,
    };
    let Some(ChosenModel { alias, reason }) = selector.select_model(&view) else {
        return Err(SelectionError::WrongChoice { chosen: None });
    };
    // A selector of one's own may name any model, also one that does not fit: that would break the promise that needs are met.
    if !fitting.iter().any(|model| model.alias == alias) {
        return Err(SelectionError::WrongChoice { chosen: Some(alias) });
    }
    Ok(ModelSelection {
        alias,
        reason,
        fitting: fitting.len(),
        refused,
    })
}

/// Returns why a model does not fit. `None` if it does.
fn judge_model(
    input: &SelectionInput,
    rules: &[(&str, NeedRule<'_>, &AbilityValue)],
    position: usize,
    model: &PoolModel,
) -> Option<RefusedModel> {
    let excluded = input.excluded.get(&model.alias).cloned();
    let unmet: Vec<UnmetNeed> = rules
        .iter()
        .filter(|(_, rule, wanted)| !rule.is_met(model, wanted))
        .map(|(name, rule, _)| UnmetNeed {
            need: (*name).to_owned(),
            found: model.abilities.get(rule.ability()).cloned(),
        })
        .collect();
    let fits = excluded.is_none() && unmet.is_empty();
    (!fits).then_some(RefusedModel {
        position,
        excluded,
        unmet,
    })
}
