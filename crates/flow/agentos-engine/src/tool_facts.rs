//! The facts for policy about the author of an answer.
//!
//! Owns: the facts about a tool, and about an answer that a person or the product brings. Never: decides by them.

use agentos_policy::{PolicySet, ToolFacts};
use agentos_tool::{Adapter, Enforcement, ExecutionMode, Timestamp};

/// Provider of an answer that a person brought. The person may read every file.
pub const PATCH_PROVIDER: &str = "patch";
/// Provider of the way back from a landing, which a person asks for and the product makes.
pub const UNDO_PROVIDER: &str = "undo";

/// Returns the facts for policy about an answer that a person brought: no model, on this machine.
#[must_use]
pub fn patch_facts(at: Timestamp) -> ToolFacts {
    ToolFacts {
        provider: PATCH_PROVIDER.to_owned(),
        model: None,
        execution_mode: ExecutionMode::Local,
        // The program that made the patch was not confined.
        enforcement: Enforcement::Observed,
        attempt: 1,
        at,
        context_bytes: 0,
        target_ref: None,
        checked: false,
    }
}

/// Returns the facts for policy about a call of a tool. The target is missing: it is resolved right before each decision.
pub(crate) fn tool_facts(
    adapter: &dyn Adapter,
    model: Option<&str>,
    attempt: u32,
    at: Timestamp,
) -> ToolFacts {
    let enforcement = adapter.confinement().enforcement;
    make_facts(adapter, model, (attempt, enforcement), at)
}

/// Describes a tool for decisions about the files that it is shown on its first attempt. What confines it is found out only if a
/// rule depends on that: it takes starting a process.
pub(crate) fn reading_facts(
    adapter: &dyn Adapter,
    model: Option<&str>,
    policy: &PolicySet,
    at: Timestamp,
) -> ToolFacts {
    let enforcement = match policy.tests_enforcement() {
        true => adapter.confinement().enforcement,
        false => Enforcement::Observed,
    };
    make_facts(adapter, model, (1, enforcement), at)
}

fn make_facts(
    adapter: &dyn Adapter,
    model: Option<&str>,
    (attempt, enforcement): (u32, Enforcement),
    at: Timestamp,
) -> ToolFacts {
    ToolFacts {
        provider: adapter.provider().to_owned(),
        model: model.map(str::to_owned),
        execution_mode: adapter.supports().execution_mode,
        enforcement,
        attempt,
        at,
        // Set once the files are known.
        context_bytes: 0,
        target_ref: None,
        checked: false,
    }
}
