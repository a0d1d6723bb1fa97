//! The choice of a model, with a reason for each that was not chosen.
//!
//! Owns: the order of the steps. Never: depends on anything but its input.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::program::AnsweredSelector;
use crate::selector::BuiltInSelector;
use crate::{
    AbilityValue, ChosenModel, CircuitFacts, LocalTime, MachineFacts, ModelNeed, ModelRecord, ModelSelector,
    NeedRule, Needs, PoolModel, PoolModels, ProgramAnswer, SelectionView, SelectorKind, TaskComplexity,
    TaskKind,
};

/// Everything that a choice depends on. It is recorded with the choice.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SelectionInput {
    /// Models of the pool, in its order.
    pub models: PoolModels,
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
    /// Kind of the task. `None` if no selector asks for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<TaskKind>,
    /// Complexity of the task. `None` if no selector asks for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub complexity: Option<TaskComplexity>,
    /// Records of earlier turns of the same kind, by alias. They are counted in `records` too.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub kind_records: BTreeMap<String, ModelRecord>,
    /// Answer of the program that chooses for the pool. `None` if the pool names none, or there was nothing to choose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<ProgramAnswer>,
    /// State of the machine. `None` if nobody looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<MachineFacts>,
    /// Text by which an experiment assigns the turn, as `sha256:` and the hash of the message. `None` if there is no experiment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// Time of the choice where the user is. `None` if no selector asks for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<LocalTime>,
    /// Failures in a row, by alias. A model with enough of them is left out for a while, unless no other one fits.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub circuits: BTreeMap<String, CircuitFacts>,
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
    /// Number of models among which the selector chose.
    pub fitting: usize,
    /// Models that may fit: they lack nothing as far as is known, and an ability is unknown for a need that was only inferred. In the
    /// pool's order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uncertain: Vec<RefusedModel>,
    /// Models that do not fit, in the pool's order.
    pub refused: Vec<RefusedModel>,
}

/// Model that does not fit, or of which that is not certain.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RefusedModel {
    /// Position of the model in the pool, from 0.
    pub position: usize,
    /// Reason why it is not offered at all. `None` if it only does not meet a need.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub excluded: Option<String>,
    /// Needs that it does not meet, as far as is known.
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
    /// The program of the pool chose nothing, or a model that does not fit, and the pool states no rule for this case.
    #[error("the program `{toolbox}` chose no member: {fault}")]
    ProgramFailed {
        /// Name of its toolbox.
        toolbox: String,
        /// Reason.
        fault: String,
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
    /// Writes the reasons for people, as in `supports_vision is false, true is needed`, or `supports_vision is unknown, need inferred`.
    #[must_use]
    pub fn describe(&self, needs: &Needs) -> String {
        // Into one text of about the right size: every choice in a large pool writes a thousand of these.
        let mut text = String::with_capacity(USUAL_REASON * self.unmet.len());
        text.push_str(self.excluded.as_deref().unwrap_or_default());
        for unmet in &self.unmet {
            if !text.is_empty() {
                text.push_str("; ");
            }
            unmet.describe(needs, &mut text);
        }
        text
    }
}

/// Usual length of a reason, in bytes.
const USUAL_REASON: usize = 56;

impl UnmetNeed {
    /// Writes the reason for people.
    fn describe(&self, needs: &Needs, text: &mut String) {
        let need = needs.find(&self.need);
        let rule = NeedRule::of(&self.need);
        text.push_str(rule.ability());
        match (&self.found, need) {
            (None, Some(need)) if !need.is_stated() => {
                text.push_str(" is unknown, need inferred");
                return;
            }
            (None, _) => text.push_str(" is unknown, "),
            (Some(found), _) => {
                text.push_str(" is ");
                found.write_to(text);
                text.push_str(", ");
            }
        }
        match rule {
            NeedRule::Equal(_) => {}
            NeedRule::AtLeast(_) => text.push_str("at least "),
        }
        if let Some(need) = need {
            need.value.write_to(text);
        }
        text.push_str(" is needed");
    }
}

/// Chooses a model with the pool's own selector, or by the recorded answer of its program.
///
/// # Errors
/// If the pool is empty, no model fits, or the pool's program chose none of those that do.
pub fn select_model(input: &SelectionInput) -> Result<ModelSelection, SelectionError> {
    let Some(answer) = &input.program else {
        return select_with(input, &BuiltInSelector);
    };
    match select_with(input, &AnsweredSelector(answer)) {
        Err(SelectionError::WrongChoice { chosen: None }) => {
            let fault = answer.find_fault(&list_fitting(input));
            Err(answer.to_error(fault.unwrap_or_default()))
        }
        selected => selected,
    }
}

/// Lists the models among which a selector would choose, in the pool's order. Empty if none fits.
#[must_use]
pub fn list_fitting(input: &SelectionInput) -> Vec<&PoolModel> {
    sort_by_needs(input).list_offered(input)
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
    let sorted = sort_by_needs(input);
    let fitting = sorted.list_offered(input);
    let SortedModels {
        certain: _,
        uncertain,
        refused,
    } = sorted;
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
        uncertain,
        refused,
    })
}

/// Models of a pool by how far they fit.
struct SortedModels<'a> {
    certain: Vec<&'a PoolModel>,
    uncertain: Vec<RefusedModel>,
    refused: Vec<RefusedModel>,
}

impl<'a> SortedModels<'a> {
    fn is_empty(&self) -> bool {
        self.certain.is_empty() && self.uncertain.is_empty()
    }

    /// Lists the models that a selector is shown.
    fn list_offered(&self, input: &'a SelectionInput) -> Vec<&'a PoolModel> {
        match self.certain.is_empty() {
            // An unknown ability never counts as one that is there: models that are known to have it go first.
            false => self.certain.clone(),
            true => list_likeliest(input, &self.uncertain),
        }
    }
}

/// Treatment of models with an open circuit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CircuitUse {
    Respected,
    Ignored,
}

/// Need of the turn with its rule.
struct NamedRule<'a> {
    name: &'a str,
    rule: NeedRule<'a>,
    need: &'a ModelNeed,
}

/// Needs of the turn, prepared for a thousand models.
struct RuleTable<'a> {
    /// By the names of the needs, which is the order of the reasons.
    rules: Vec<NamedRule<'a>>,
    /// Positions of the rules, by the names of their abilities. A model's abilities are in this order too, so that both are passed once.
    by_ability: Vec<usize>,
}

impl<'a> RuleTable<'a> {
    fn new(needs: &'a Needs) -> Self {
        let rules: Vec<NamedRule<'a>> = needs
            .iter()
            .map(|(name, need)| NamedRule {
                name,
                rule: NeedRule::of(name),
                need,
            })
            .collect();
        let mut by_ability: Vec<(&str, usize)> = rules
            .iter()
            .enumerate()
            .map(|(at, named)| (named.rule.ability(), at))
            .collect();
        by_ability.sort_unstable();
        Self {
            by_ability: by_ability.into_iter().map(|(_, at)| at).collect(),
            rules,
        }
    }

    /// Finds the values of the abilities that the rules ask for, by the position of the rule. `found` is emptied before.
    fn find_values<'m>(&self, model: &'m PoolModel, found: &mut Vec<Option<&'m AbilityValue>>) {
        found.clear();
        found.resize(self.rules.len(), None);
        let mut abilities = model.abilities.iter();
        let mut next = abilities.next();
        for at in &self.by_ability {
            let Some((named, slot)) = self.rules.get(*at).zip(found.get_mut(*at)) else {
                continue;
            };
            let wanted = named.rule.ability();
            while next.is_some_and(|(name, _)| name.as_str() < wanted) {
                next = abilities.next();
            }
            *slot = next.filter(|(name, _)| *name == wanted).map(|(_, value)| value);
        }
    }
}

/// Sorts the models of a pool by the needs of the turn.
fn sort_by_needs(input: &SelectionInput) -> SortedModels<'_> {
    let table = RuleTable::new(&input.needs);
    let sorted = sort_models(input, &table, CircuitUse::Respected);
    match sorted.is_empty() {
        // A server that may fail again is better than none.
        true => sort_models(input, &table, CircuitUse::Ignored),
        false => sorted,
    }
}

fn sort_models<'a>(
    input: &'a SelectionInput,
    table: &RuleTable<'_>,
    circuits: CircuitUse,
) -> SortedModels<'a> {
    let (mut certain, mut uncertain, mut refused) = (Vec::new(), Vec::new(), Vec::new());
    let mut found = Vec::new();
    for (position, model) in input.models.iter().enumerate() {
        table.find_values(model, &mut found);
        match judge_model(input, table, &found, circuits, position) {
            Judgement::Fits => certain.push(model),
            Judgement::MayFit(reasons) => uncertain.push(reasons),
            Judgement::Refused(reasons) => refused.push(reasons),
        }
    }
    SortedModels {
        certain,
        uncertain,
        refused,
    }
}

/// Lists the models of which the fewest abilities are unknown, in the pool's order.
fn list_likeliest<'a>(input: &'a SelectionInput, uncertain: &[RefusedModel]) -> Vec<&'a PoolModel> {
    let fewest = uncertain.iter().map(|reasons| reasons.unmet.len()).min();
    let likeliest = uncertain
        .iter()
        .filter(|reasons| Some(reasons.unmet.len()) == fewest);
    likeliest
        .filter_map(|reasons| input.models.get(reasons.position))
        .collect()
}

/// Result for one model.
enum Judgement {
    /// The model certainly fits.
    Fits,
    /// Nothing is known against it.
    MayFit(RefusedModel),
    Refused(RefusedModel),
}

/// Judges a model by the values of its abilities, which `found` has by the positions of the rules.
fn judge_model(
    input: &SelectionInput,
    table: &RuleTable<'_>,
    found: &[Option<&AbilityValue>],
    circuits: CircuitUse,
    position: usize,
) -> Judgement {
    let excluded = find_exclusion(input, circuits, position);
    let faults = || {
        let rules = table.rules.iter().zip(found);
        rules.filter(|(named, value)| !named.rule.accepts(**value, &named.need.value))
    };
    let count = faults().count();
    if count == 0 && excluded.is_none() {
        return Judgement::Fits;
    }
    let may_fit =
        excluded.is_none() && faults().all(|(named, value)| value.is_none() && !named.need.is_stated());
    // Of the exact size: a large pool makes a thousand of these for each turn.
    let mut unmet = Vec::with_capacity(count);
    unmet.extend(faults().map(|(named, value)| UnmetNeed {
        need: named.name.to_owned(),
        found: value.cloned(),
    }));
    let reasons = RefusedModel {
        position,
        excluded,
        unmet,
    };
    match may_fit {
        true => Judgement::MayFit(reasons),
        false => Judgement::Refused(reasons),
    }
}

/// Returns why a model is not offered at all. `None` if it is.
fn find_exclusion(input: &SelectionInput, circuits: CircuitUse, position: usize) -> Option<String> {
    if input.excluded.is_empty() && input.circuits.is_empty() {
        return None;
    }
    let alias = &input.models.get(position)?.alias;
    let stated = input.excluded.get(alias).cloned();
    stated.or_else(|| {
        let facts = input.circuits.get(alias)?;
        (circuits == CircuitUse::Respected && facts.is_open()).then(|| facts.to_string())
    })
}
