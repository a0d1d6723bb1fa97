//! Pools of models: profiles with the adapter `pool`, of whose members one is chosen for each turn.
//!
//! Owns: what makes a pool valid, the record of a choice and its replay, and importing pools of other programs. Never: asks a
//! server or reads a file; `agentos-select` makes the choice, and `agentos-host` knows the members.
//!
//! | question | function |
//! |---|---|
//! | is the pool valid by itself? | [`check_pool`] |
//! | which pools follow it? | [`list_chain`]: no cycle, at most [`MOST_HOPS`] hops |
//! | may a turn leave this machine? | [`check_places`]: only with `allow_cloud` |
//! | what follows a failure? | [`next_step`] |
//! | which member is chosen? | [`make_choice`], a record that [`replay_choice`] makes again on any machine |
//!
//! A choice among 1,000 models, with its reasons and the hash of its input, takes less than 0.2 ms:
//! `cargo run --release -p agentos-pool --example choice_cost`.

mod chain;
mod choice;
mod failover;
mod fault;
mod import;

pub use chain::{ChainPlaces, MOST_HOPS, advise_alias, check_places, check_pool, list_chain, name_alias};
pub use choice::{
    ChoiceReplay, PoolChoice, RefusedMember, UnloadedModel, make_choice, replay_choice, replay_with,
};
pub use failover::{FailedAttempt, FailoverStep, StopReason, is_passed_on, next_step};
pub use fault::PoolFault;
pub use import::{ImportedLimit, ImportedPool, LimitShare, SkippedMember, read_pool};

#[cfg(test)]
mod tests;
