//! Policy: facts about a change and rules give a decision; mints the approval.
//!
//! Owns: rules, the decision, and `Approved`, the only key to the executor. Never: does I/O, reads a clock, lets
//! one source of rules loosen another, or allows what no rule allows. Start at [`approve`].

mod approval;
mod decision;
mod layer;

pub use approval::{Approved, BoundTo, Consent, Hashes, NotApproved, approve};
pub use decision::{Decision, Effect, FactsSummary, Reason};
pub use layer::{Layer, PolicySource};
