//! Choosing a model of a pool for a turn.
//!
//! Owns: what a turn needs, which models of a pool have it, which of those is chosen, and when an experiment is decided. Never: asks
//! a server, reads a clock, or draws a number: everything is in the [`SelectionInput`], so that the same input gives the same choice
//! on every machine. A choice is recorded with its input, and a replay is [`select_model`] again.
//!
//! | step | function |
//! |---|---|
//! | what the turn needs | [`infer_needs`] from its shape; needs that a person states win |
//! | which models fit | every need is met by an ability of the model; each other model has the reasons why not |
//! | which one is chosen | the pool's [`SelectorKind`], or a [`ModelSelector`] of one's own, among those that fit |
//!
//! Needs name abilities and never a model:
//!
//! | need | is met by |
//! |---|---|
//! | `supports_NAME=true` or `=false` | the same value of the ability `supports_NAME` |
//! | `min_NAME=NUMBER` | an ability `NAME` of at least the number |
//! | any other `NAME=VALUE` | the same value of the ability `NAME`, or a list that contains it |
//!
//! A model whose server failed again and again is left out for a while: [`CircuitFacts`]. Statistics are kept by the kind of a task:
//! [`infer_kind`]. How large a model a task wants: [`infer_complexity`]. A program of the user may choose instead of a rule: [`ProgramAnswer`].
//!
//! An ability that nobody stated is unknown, and an unknown ability meets no need that a person stated. A need that was only inferred
//! refuses no model for it: such a model is uncertain, and is chosen from if no model certainly fits.

mod ability;
mod circuit;
mod complexity;
mod experiment;
mod infer;
mod kind;
mod machine;
mod models;
mod need;
mod program;
mod selection;
mod selector;
mod statistics;
mod switching;

pub use ability::{AbilityValue, PoolModel};
pub use circuit::{CIRCUIT_WINDOW, CircuitFacts, CircuitState, MOST_FAILURES, PastCall};
pub use complexity::{ComplexityLevel, TaskComplexity, infer_complexity};
pub use experiment::{ArmRecord, ExperimentState, assign_arm, judge_experiment};
pub use infer::{TurnShape, infer_needs};
pub use kind::{TaskKind, infer_kind};
pub use machine::{MachineFacts, MachineLook, SwitchRules};
pub use models::PoolModels;
pub use need::{ModelNeed, NeedError, NeedOrigin, NeedRule, Needs};
pub use program::{ProgramAnswer, SELECTOR_TOOL, SelectorRequest};
pub use selection::{
    ModelSelection, RefusedModel, SelectionError, SelectionInput, UnmetNeed, list_fitting, select_model,
    select_with,
};
pub use selector::{ChosenModel, LocalTime, ModelSelector, SelectionView, SelectorKind};
pub use statistics::{ModelRecord, TurnOutcome, summarize_turns};
pub use switching::{SwitchAction, SwitchDecision, decide_switch};

#[cfg(test)]
mod tests;
