//! Policy: facts about a change and rules give a decision; mints the approval.
//!
//! Owns: rules, the decision, and `Approved`, the only key to the executor. Never: does I/O, reads a clock, lets
//! one source of rules loosen another, or allows what no rule allows. Start at [`PolicySet::decide`].

mod approval;
mod built_in;
mod content;
mod decision;
#[cfg(test)]
mod derived;
mod digest;
mod error;
mod example;
mod explain;
mod fault;
mod file;
mod glob;
mod globs;
mod group;
mod hooks_path;
mod layer;
mod lint;
mod load;
mod plain;
mod preset;
mod question;
mod reading;
mod reasons;
mod rule;
mod set;
mod time;
mod touch;

pub use approval::{Approved, BoundTo, Consent, Hashes, NotApproved, Place, approve};
pub use decision::{Decision, Effect, FactsSummary, Reason};
pub use error::PolicyError;
pub use explain::{Explained, Explanation, Near, QuestionFacts, RuleRef};
pub use file::{Action, PolicyFile};
pub use group::Group;
pub use layer::{Layer, PolicySource};
pub use lint::{Advice, Topic};
pub use load::Standing;
pub use preset::{FACTS, Preset};
pub use question::ToolFacts;
pub use reading::Reading;
pub use rule::Rule;
pub use set::PolicySet;
pub use touch::{Ecosystem, Touch};
