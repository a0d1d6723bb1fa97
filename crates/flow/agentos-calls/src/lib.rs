//! Asking a model: one message out, one answer back, counted and paid.
//!
//! Owns: adapters in their processes, pools, budgets, the ledger, health, and the tools that a model is offered. Never: lands a change.
//!
//! Front ends and embedders use it through `agentos-host`.

pub mod budgets;
pub mod calls;
pub mod chat;
pub mod chat_message;
pub mod chat_report;
pub mod chat_tools;
pub mod costs;
pub mod health;
pub mod hosted;
pub mod ledger;
pub mod machine;
pub mod model_memory;
pub mod model_values;
pub mod models;
pub mod pools;
pub mod provider_list;
pub mod read_judge;
pub mod reexec;
pub mod toolbox_offer;
pub mod toolbox_session;

use agentos_ground::Ground;

/// Single messages to a model, health, pools, budgets and costs. Cheap to make for each call.
#[derive(Debug, Clone, Copy)]
pub struct Calls<'a> {
    ground: &'a Ground,
}

impl<'a> Calls<'a> {
    /// Makes the handle of a ground.
    #[must_use]
    pub fn of(ground: &'a Ground) -> Self {
        Self { ground }
    }
}
