//! The answer of a program that chooses for a pool.
//!
//! Owns: what the program is shown, what its answer means, and what happens without an answer. Never: starts a program: the host asks it
//! before the choice and records its answer in the input, so a replay needs no program.
//!
//! | the program | the choice |
//! |---|---|
//! | names a model that fits | that model |
//! | names anything else, or gives no answer | the pool's own rule, if its profile states one |
//! | | an error, if the profile states none |

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::selector::BuiltInSelector;
use crate::{
    ChosenModel, ComplexityLevel, ModelRecord, ModelSelector, Needs, PoolModel, SelectionError,
    SelectionInput, SelectionView, TaskKind, list_fitting,
};

/// Name of the tool that a program offers to choose for pools.
pub const SELECTOR_TOOL: &str = "select_model";

/// Longest part of an answer that is recorded, in bytes: an alias is shorter.
const LONGEST_ANSWER: usize = 128;

/// Turn for which a program chooses: the arguments of its tool [`SELECTOR_TOOL`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SelectorRequest {
    /// Version of this shape: 1.
    pub version: u32,
    /// Name of the pool.
    pub pool: String,
    /// Models that fit, in the pool's order. There are at least two. The answer is the alias of one of them, and nothing else.
    pub models: Vec<PoolModel>,
    /// Alias of the pool's default model. `None` if it is the pool's first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_alias: Option<String>,
    /// Needs of the turn, which all of these models meet as far as is known.
    pub needs: Needs,
    /// Kind of the task. `None` if nobody inferred one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<TaskKind>,
    /// Complexity of the task, without the words of the message that it follows from. `None` if nobody inferred it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub complexity: Option<ComplexityLevel>,
    /// Tokens that the turn is expected to send.
    pub input_tokens: u64,
    /// Tokens that the answer is expected to have.
    pub output_tokens: u64,
    /// Records of earlier turns of these models, by alias.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub records: BTreeMap<String, ModelRecord>,
}

/// Answer of the pool's program, with which a choice is made again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProgramAnswer {
    /// Name of the toolbox with the program.
    pub toolbox: String,
    /// `sha256:` and the hash of the program as the user trusts it: its files, its command and its tools. `None` if it is not trusted.
    // Not `_sha256`: verification takes fields with this end for references to blobs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program_hash: Option<String>,
    /// Text of the answer, which should be an alias. `None` if it gave none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alias: Option<String>,
    /// Reason why it gave no answer. `None` if it gave one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// True if the pool's own rule chooses when the program does not.
    #[serde(default)]
    pub falls_back: bool,
}

impl SelectorRequest {
    /// Makes the request for a choice. `None` if fewer than two models fit, so that there is nothing to choose.
    #[must_use]
    pub fn of(pool: &str, input: &SelectionInput) -> Option<Self> {
        let fitting = list_fitting(input);
        if fitting.len() < 2 {
            return None;
        }
        let records = fitting.iter().filter_map(|model| {
            let record = input.records.get(&model.alias)?;
            Some((model.alias.clone(), *record))
        });
        Some(Self {
            version: 1,
            pool: pool.to_owned(),
            records: records.collect(),
            models: fitting.into_iter().cloned().collect(),
            default_alias: input.default_alias.clone(),
            needs: input.needs.clone(),
            kind: input.kind,
            complexity: input.complexity.as_ref().map(|task| task.level),
            input_tokens: input.input_tokens,
            output_tokens: input.output_tokens,
        })
    }
}

impl ProgramAnswer {
    /// Keeps the text of an answer. White space around it does not count.
    #[must_use]
    pub fn with_text(self, text: &str) -> Self {
        let text = text.trim();
        // An answer of a megabyte would be part of every copy of the record.
        let end = text.floor_char_boundary(LONGEST_ANSWER);
        Self {
            alias: text.get(..end).map(str::to_owned),
            failure: None,
            ..self
        }
    }

    /// Returns the reason why the answer chooses none of these models. `None` if it chooses one.
    #[must_use]
    pub fn find_fault(&self, fitting: &[&PoolModel]) -> Option<String> {
        match (&self.failure, &self.alias) {
            (Some(failure), _) => Some(failure.clone()),
            (None, Some(alias)) if fitting.iter().any(|model| model.alias == *alias) => None,
            (None, Some(alias)) => Some(format!("its answer `{alias}` is no member that fits")),
            (None, None) => Some("it gave no answer".to_owned()),
        }
    }

    /// Makes the error of a program that did not choose.
    pub(crate) fn to_error(&self, fault: String) -> SelectionError {
        SelectionError::ProgramFailed {
            toolbox: self.toolbox.clone(),
            fault,
        }
    }
}

/// The selector of a pool with a program, from the recorded answer.
pub(crate) struct AnsweredSelector<'a>(pub(crate) &'a ProgramAnswer);

impl ModelSelector for AnsweredSelector<'_> {
    fn select_model(&self, view: &SelectionView<'_>) -> Option<ChosenModel> {
        let toolbox = &self.0.toolbox;
        match (self.0.find_fault(view.fitting), &self.0.alias) {
            (None, Some(alias)) => Some(ChosenModel {
                alias: alias.clone(),
                reason: format!("the program `{toolbox}` chose it"),
            }),
            (Some(fault), _) if self.0.falls_back => {
                let chosen = BuiltInSelector.select_model(view)?;
                Some(ChosenModel {
                    reason: format!("{}, because `{toolbox}` did not choose: {fault}", chosen.reason),
                    ..chosen
                })
            }
            (Some(_) | None, _) => None,
        }
    }
}
