//! Policy: decides from rules and facts whether a change may be written or a file may be read, and mints the
//! approval.
//!
//! # How a decision is made
//!
//! A policy is a set of rules from several sources. Every rule may match every question; nothing depends on the order
//! of rules or files.
//!
//! 1. **Load** ([`PolicySet::load`]). Read the floor, the sources, and the presets that the sources name. Any mistake
//!    in any of them stops the load, and so the run.
//! 2. **Ask.** A change is asked about path by path, once for each action on the path, and once as a whole (`land`).
//!    A file to be read is one question.
//! 3. **Collect facts.** Each question has its own facts: kinds, findings, line counts and the parts of the project
//!    that the path belongs to. The tool, the time and the target ref are the same for all questions.
//! 4. **Match.** Compare each question with every rule. A rule matches if all its conditions hold. Keep every match
//!    as a reason.
//! 5. **Check the layers.** Each layer that names a preset (see the table) must have a matching rule of its own. A
//!    layer without one adds a deny named `no-rule`.
//! 6. **Decide.** The strictest reason wins: deny, then ask, then allow.
//! 7. **Approve** ([`approve`]). An allow, or an ask with a consent bound to the same hashes, mints [`Approved`].
//!
//! | layer | names a preset | its allow rules | its ask and deny rules | if none of its rules matches |
//! | --- | --- | --- | --- | --- |
//! | floor | never | none exist | always apply | nothing |
//! | default | itself, unless it is replaced | apply | apply | deny |
//! | machine, repository | yes | apply | apply | deny |
//! | machine, repository | no | ignored | apply | nothing |
//! | user | yes | apply | apply | deny |
//! | user | no | ignored | apply | nothing |
//! | command line | refused at load | ignored | apply | nothing |
//!
//! A preset of the machine replaces `default`; a preset of the user does so where the machine has no policy file, and the
//! repository has none or names a preset too. A preset of the repository replaces `default` only if the user or the machine
//! agreed to the exact text of the repository's policy (`agreed`, [`DefaultState`]); otherwise it is active besides `default`.
//!
//! What goes wrong without a step:
//!
//! - Without the questions for each action, a rule that allows a file to be modified would also allow it to be made
//!   executable.
//! - Without the question about the whole, limits on the size of a change could be avoided by spreading it over many
//!   paths.
//! - If the first match won instead of the strictest, the order of files would decide, and adding an allow could
//!   cancel a deny.
//! - Without the check of the layers, a repository could allow what the user's own policy never mentions.
//! - Without the default deny, a new kind of question would be allowed by every policy that was written before it.
//!
//! Sources: the tests in `tests/it/layers.rs`, `decisions.rs` and `model.rs` (a second,
//! simpler implementation that the decisions are compared with).
//!
//! Owns: rules, the decision, and `Approved`, the only value that the executor accepts. Never: does I/O, reads a
//! clock, lets one source of rules loosen another, or allows what no rule allows. Start at [`PolicySet::decide`].

mod ahead;
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
mod folder;
mod glob;
mod globs;
mod group;
mod hooks_path;
mod layer;
mod links;
mod lint;
mod load;
mod loss;
mod plain;
mod preset;
mod question;
mod reading;
mod reasons;
mod rule;
mod set;
mod taken;
mod time;
mod touch;

pub use approval::{
    ApprovalHashes, Approved, BoundTo, Consent, ConsentProof, LandingTarget, NotApproved, approve,
};
pub use decision::{Decision, Effect, FactsSummary, Reason};
pub use digest::repository_digest;
pub use error::PolicyError;
pub use explain::{ExplainedQuestion, Explanation, NearMiss, QuestionFacts, RuleRef};
pub use file::{Action, PolicyFile};
pub use folder::PolicyEntry;
pub use group::RuleGroup;
pub use layer::{Layer, PolicySource};
pub use lint::{LintAdvice, LintTopic};
pub use load::{DefaultState, LayerPreset};
pub use preset::{FACTS, Preset};
pub use question::ToolFacts;
pub use reading::ReadPolicy;
pub use reasons::{WITHHELD_OFTEN, WITHHELD_TEXT, often_reason, opened_reason, taken_reason};
pub use rule::Rule;
pub use set::PolicySet;
pub use taken::{TakenSearch, TakenText};
pub use touch::{Ecosystem, Touch};
