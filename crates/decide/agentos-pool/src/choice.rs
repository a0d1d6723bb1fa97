//! The record of a choice: everything that it depends on, what was chosen, and why each other member was not.
//!
//! Owns: the record and its replay. Never: depends on anything outside of the record.

use agentos_chain::{hash_bytes, write_canonical};
use agentos_select::{
    ModelRecord, ModelSelection, ModelSelector, RefusedModel, SelectionError, SelectionInput, select_model,
    select_with,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Choice of a pool's member, with its input: the pool's snapshot, needs, statistics, and everything else that it depends on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PoolChoice {
    /// Version of this shape: 2. Version 1 has another `input_hash`: that of the canonical JSON of the whole `input`.
    pub version: u32,
    /// Name of the pool.
    pub pool: String,
    /// `sha256:` and the hash of `input`. Hashed are the canonical JSON of the input without `models`, `records` and `kind_records`; a
    /// line break; the `sha256:` hash of the canonical JSON of `models`; and of both kinds of records a line break, and of each record
    /// the alias, a zero byte, and `calls`, `failed`, `median_ms` plus 1 (0 if it is missing), `stayed` and `rejected` as LEB128.
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
    /// Model that was unloaded because of the choice. `None` if nothing was to be unloaded. Not a part of a replay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unloaded: Option<UnloadedModel>,
}

/// Model that a switch to a smaller member unloaded, or failed to unload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnloadedModel {
    /// Alias of the member that the switch left.
    pub alias: String,
    /// Model, as in `ollama/qwen3`.
    pub model: String,
    /// Reason why the model is still loaded, in words. `None` if it was unloaded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
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
    let (input_hash, input) = hash_input(input);
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
        version: 2,
        pool: pool.to_owned(),
        input_hash,
        model: alias.as_deref().and_then(|alias| name_model(&input, alias)),
        statistics_since: None,
        own_selector: own.map(|(name, _)| name.to_owned()),
        alias,
        reason,
        uncertain: describe_all(uncertain),
        refused: describe_all(refused),
        unloaded: None,
        input,
    })
}

/// Makes a recorded choice of a built-in rule again.
///
/// # Errors
/// Those of [`make_choice`].
pub fn replay_choice(recorded: &PoolChoice) -> Result<ChoiceReplay, SelectionError> {
    let again = choose_again(recorded, None)?;
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
    let again = choose_again(recorded, Some(own))?;
    Ok(compare(recorded, &again))
}

/// Makes a choice again, with a hash of the recorded version.
fn choose_again(
    recorded: &PoolChoice,
    own: Option<(&str, &dyn ModelSelector)>,
) -> Result<PoolChoice, SelectionError> {
    let again = make_choice(&recorded.pool, recorded.input.clone(), own)?;
    Ok(match recorded.version {
        0 | 1 => PoolChoice {
            input_hash: hash_canonical(&again.input),
            ..again
        },
        _ => again,
    })
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

/// Returns the hash of an input, and the input.
///
/// A pool may have a thousand models, so their hash is made once for all choices of the loaded pool, and the records of as many are hashed
/// as bytes: as JSON, they would take longer than the choice.
fn hash_input(mut input: SelectionInput) -> (String, SelectionInput) {
    let models = std::mem::take(&mut input.models);
    let records = std::mem::take(&mut input.records);
    let kind_records = std::mem::take(&mut input.kind_records);
    let mut bytes = write_text(&input).into_bytes();
    bytes.push(b'\n');
    bytes.extend_from_slice(models.hash_with(hash_canonical).as_bytes());
    for records in [&records, &kind_records] {
        bytes.push(b'\n');
        records.iter().for_each(|record| write_record(&mut bytes, record));
    }
    let input = SelectionInput {
        models,
        records,
        kind_records,
        ..input
    };
    (hash_bytes(&bytes), input)
}

fn write_record(bytes: &mut Vec<u8>, (alias, record): (&String, &ModelRecord)) {
    let ModelRecord {
        calls,
        failed,
        median_ms,
        stayed,
        rejected,
    } = *record;
    bytes.extend_from_slice(alias.as_bytes());
    // No alias has this byte, so that no two lists of records give the same bytes.
    bytes.push(0);
    let median = median_ms.map_or(0, |ms| ms.saturating_add(1));
    for number in [calls, failed, median, stayed, rejected] {
        write_number(bytes, number);
    }
}

/// Appends a number as LEB128: seven bits in each byte, the lowest first, and the highest bit set in all bytes but the last.
fn write_number(bytes: &mut Vec<u8>, mut number: u64) {
    loop {
        let [low, ..] = number.to_le_bytes();
        number >>= 7;
        if number == 0 {
            bytes.push(low);
            return;
        }
        bytes.push(low | 0x80);
    }
}

/// Returns the hash of the canonical JSON, which does not depend on how a record was stored in between.
fn hash_canonical(value: &(impl Serialize + ?Sized)) -> String {
    hash_bytes(write_text(value).as_bytes())
}

fn write_text(value: &(impl Serialize + ?Sized)) -> String {
    let text = serde_json::to_value(value).and_then(|value| write_canonical(&value));
    // It is plain data, which can always be written; an empty text would only make a replay differ.
    text.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use agentos_select::PoolModel;
    use serde_json::json;

    use super::*;

    fn input() -> SelectionInput {
        let models: Vec<PoolModel> = serde_json::from_value(json!([
            { "alias": "a", "provider": "p", "abilities": { "context_window": 4096 } },
            { "alias": "b", "provider": "p" },
        ]))
        .unwrap();
        let record = ModelRecord {
            calls: 300,
            ..ModelRecord::default()
        };
        SelectionInput {
            models: models.into(),
            records: BTreeMap::from([("a".to_owned(), record)]),
            ..SelectionInput::default()
        }
    }

    #[test]
    fn the_hash_of_an_input_depends_on_each_of_its_parts() {
        let (first, same) = hash_input(input());
        assert_eq!((&same, hash_input(same.clone()).0), (&input(), first.clone()));
        let change = |change: &dyn Fn(&mut SelectionInput)| {
            let mut changed = input();
            change(&mut changed);
            hash_input(changed).0
        };
        let mut hashes = vec![
            first,
            change(&|input| input.models[1].alias.push('x')),
            change(&|input| input.input_tokens = 1),
            change(&|input| input.records.clear()),
            change(&|input| input.records.entry("a".to_owned()).or_default().calls = 301),
            change(&|input| input.records.entry("a".to_owned()).or_default().median_ms = Some(0)),
            change(&|input| input.kind_records = std::mem::take(&mut input.records)),
        ];
        hashes.sort();
        hashes.dedup();
        assert_eq!(hashes.len(), 7);
        let mut bytes = Vec::new();
        for number in [0, 127, 128, 300, u64::MAX] {
            write_number(&mut bytes, number);
        }
        let mut expected = vec![0, 127, 0x80, 1, 0xac, 2];
        expected.extend([0xff; 9]);
        expected.push(1);
        assert_eq!(bytes, expected);
    }

    #[test]
    fn a_record_of_version_1_replays() {
        let choice = make_choice("mine", input(), None).unwrap();
        let earlier = PoolChoice {
            version: 1,
            input_hash: hash_canonical(&choice.input),
            ..choice.clone()
        };
        for recorded in [&choice, &earlier] {
            assert_eq!(replay_choice(recorded).unwrap().differences, Vec::<String>::new());
        }
        let changed = PoolChoice {
            input_hash: earlier.input_hash.clone(),
            ..choice
        };
        assert_eq!(replay_choice(&changed).unwrap().differences.len(), 1);
    }
}
