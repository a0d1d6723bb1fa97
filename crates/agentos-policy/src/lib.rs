//! Policy: facts about a change and rules give a decision; mints the approval.
//!
//! Owns: rules, the decision, and `Approved`, the only key to the executor. Never: does I/O, reads a clock, lets
//! one source of rules loosen another, or allows what no rule allows. Start at [`PolicySet::decide`].

mod approval;
mod decision;
mod error;
mod file;
mod glob;
mod group;
mod hooks_path;
mod layer;
mod question;
mod reasons;
mod rule;
mod set;
mod touch;

pub use approval::{Approved, BoundTo, Consent, Hashes, NotApproved, approve};
pub use decision::{Decision, Effect, FactsSummary, Reason};
pub use error::PolicyError;
pub use file::PolicyFile;
pub use group::Group;
pub use layer::{Layer, PolicySource};
pub use question::ToolFacts;
pub use rule::Rule;
pub use set::PolicySet;
pub use touch::Touch;
