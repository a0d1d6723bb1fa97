//! The record of a choice: everything that it depends on, what was chosen, and why each other member was not.
//!
//! Owns: the record and its replay. Never: depends on anything outside of the record.

use agentos_chain::{hash_bytes, write_canonical};
use agentos_select::{
    ModelSelection, ModelSelector, RefusedModel, SelectionError, SelectionInput, select_model, select_with,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Choice of a pool's member, with its input: the pool's snapshot, needs, statistics, and everything else that it depends on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PoolChoice {
    /// Version of this shape: 1.
    pub version: u32,
    /// Name of the pool.
    pub pool: String,
    /// `sha256:` and the hash of the canonical JSON of `input`.
    // Not `_sha256`: verification takes fields with this end for references to blobs.
    pub input_hash: String,
    /// Input of the choice.
    pub input: SelectionInput,
    /// Beginning of the time whose calls count in `input.records`, RFC 3339. `None` if the selector uses no statistics.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub statistics_since: Option<String>,
    /// Name of the selector of an embedding program. `None` if the pool's own rule chose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_selector: Option<String>,
    /// Alias of the chosen member. `None` if none meets all needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alias: Option<String>,
    /// Chosen model, as in `openai/gpt-4o`, or the provider alone. `None` if no member meets all needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Reason for the choice. `None` if no member meets all needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Members of which nobody knows whether they fit, each with the abilities that are unknown and were only inferred to be needed. One
    /// of them is chosen if no member certainly fits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uncertain: Vec<RefusedMember>,
    /// Members that do not fit, each with its reason.
    pub refused: Vec<RefusedMember>,
}

/// Member that does not fit, or of which that is not certain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RefusedMember {
    /// Alias of the member.
    pub alias: String,
    /// Reason in words, as in `supports_vision is false, true is needed`.
    pub reason: String,
}

/// Result of choosing again from a record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ChoiceReplay {
    /// Version of this shape: 1.
    pub version: u32,
    /// Name of the pool.
    pub pool: String,
    /// Alias that the record states. `None` if it states that no member fits.
    pub recorded: Option<String>,
    /// Alias that was chosen now. `None` if no member fits.
    pub chosen: Option<String>,
    /// Number of choices that were made again: more than one if members failed. The last one is `chosen`.
    pub choices: usize,
    /// Differences between the record and the choice made again, one sentence each. Empty if they are the same.
    pub differences: Vec<String>,
}

/// Makes a choice with the pool's own rule, by the recorded answer of its program, or with a named selector of an embedding program.
///
/// # Errors
/// If the pool is empty, or a selector or program chose a member that does not fit. That no member fits is a choice too.
pub fn make_choice(
    pool: &str,
    input: SelectionInput,
    own: Option<(&str, &dyn ModelSelector)>,
) -> Result<PoolChoice, SelectionError> {
    let selected = match own {
        Some((_, selector)) => select_with(&input, selector),
        None => select_model(&input),
    };
    let (chosen, uncertain, refused) = match selected {
        Ok(ModelSelection {
            alias,
            reason,
            fitting: _,
            uncertain,
            refused,
        }) => (Some((alias, reason)), uncertain, refused),
        // Uncertain members can be chosen, so here is none.
        Err(SelectionError::NothingFits { refused }) => (None, Vec::new(), refused),
        // These are mistakes of a pool or a program, so there is no choice to record.
        Err(
            error @ (SelectionError::EmptyPool
            | SelectionError::WrongChoice { .. }
            | SelectionError::ProgramFailed { .. }),
        ) => return Err(error),
    };
    let (alias, reason) = chosen.unzip();
    let describe_all =
        |models: Vec<RefusedModel>| models.iter().map(|model| describe(&input, model)).collect();
    Ok(PoolChoice {
        version: 1,
        pool: pool.to_owned(),
        input_hash: hash_input(&input),
        model: alias.as_deref().and_then(|alias| name_model(&input, alias)),
        statistics_since: None,
        own_selector: own.map(|(name, _)| name.to_owned()),
        alias,
        reason,
        uncertain: describe_all(uncertain),
        refused: describe_all(refused),
        input,
    })
}

/// Makes a recorded choice of a built-in rule again.
///
/// # Errors
/// Those of [`make_choice`].
pub fn replay_choice(recorded: &PoolChoice) -> Result<ChoiceReplay, SelectionError> {
    let again = make_choice(&recorded.pool, recorded.input.clone(), None)?;
    let mut replay = compare(recorded, &again);
    if let Some(name) = &recorded.own_selector {
        // The rule that chose is not here, so an equal alias would be chance.
        replay.differences = vec![format!(
            "the selector `{name}` of another program chose, and only it can choose again"
        )];
    }
    Ok(replay)
}

/// Makes the recorded choice of an embedding program's selector again.
///
/// # Errors
/// Those of [`make_choice`].
pub fn replay_with(
    recorded: &PoolChoice,
    own: (&str, &dyn ModelSelector),
) -> Result<ChoiceReplay, SelectionError> {
    let again = make_choice(&recorded.pool, recorded.input.clone(), Some(own))?;
    Ok(compare(recorded, &again))
}

fn compare(recorded: &PoolChoice, again: &PoolChoice) -> ChoiceReplay {
    let word = |text: &Option<String>| text.clone().unwrap_or_else(|| "nothing".to_owned());
    let fields = [
        // First: with another input, another choice is no surprise.
        (
            "input hash",
            recorded.input_hash.clone(),
            again.input_hash.clone(),
        ),
        ("alias", word(&recorded.alias), word(&again.alias)),
        ("model", word(&recorded.model), word(&again.model)),
        ("reason", word(&recorded.reason), word(&again.reason)),
    ];
    let mut differences: Vec<String> = fields
        .into_iter()
        .filter(|(_, recorded, again)| recorded != again)
        .map(|(field, recorded, again)| format!("{field}: recorded {recorded}, now {again}"))
        .collect();
    if recorded.refused != again.refused {
        differences.push("the refused members or their reasons differ".to_owned());
    }
    if recorded.uncertain != again.uncertain {
        differences.push("the uncertain members or their reasons differ".to_owned());
    }
    ChoiceReplay {
        choices: 1,
        version: 1,
        pool: recorded.pool.clone(),
        recorded: recorded.alias.clone(),
        chosen: again.alias.clone(),
        differences,
    }
}

fn describe(input: &SelectionInput, refused: &RefusedModel) -> RefusedMember {
    let model = input.models.get(refused.position);
    RefusedMember {
        alias: model.map(|model| model.alias.clone()).unwrap_or_default(),
        reason: refused.describe(&input.needs),
    }
}

fn name_model(input: &SelectionInput, alias: &str) -> Option<String> {
    let found = input.models.iter().find(|model| model.alias == alias)?;
    Some(match &found.model {
        Some(model) => format!("{}/{model}", found.provider),
        None => found.provider.clone(),
    })
}

/// Returns the hash of an input. Canonical, so that it does not depend on how a record was stored in between.
fn hash_input(input: &SelectionInput) -> String {
    let text = serde_json::to_value(input).and_then(|value| write_canonical(&value));
    // An input is plain data, which can always be written; an empty hash would only make a replay differ.
    text.map(|text| hash_bytes(text.as_bytes())).unwrap_or_default()
}
