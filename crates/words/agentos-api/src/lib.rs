//! Published vocabulary of the product: error codes, causes, exit statuses, next steps, reports, events.
//!
//! Owns: the error codes with their one spelling, the causes, the exit statuses, the steps that a person can take next,
//! the shapes of reports that need no type of another crate, the events of a run. Never: words a sentence for one front
//! end, names a flag of the command line, or gathers the data of a report. Start at [`find_code`].
//!
//! A front end in another process gets a `code` and a `cause` in JSON. With this crate it maps the code to its meaning and
//! the cause to an exit status as the command line does, and reads the reports back into these types.
//!
//! # Published shapes
//!
//! A shape is defined here if it consists of types of this crate only. A shape that contains a value of the kernel, such as
//! a record, a decision or a receipt, is defined in the crate that creates the value, so that the value has one definition.
//! `agentos-host` re-exports all of them, and `agentos schema NAME` prints the schema of each.
//!
//! | shape | crate |
//! |---|---|
//! | `auth-status`, `context`, `doctor`, `evidence-export`, `evidence-keys`, `evidence-publish`, `evidence-replay`, `policy-test`, `profile-show`, `tool-conform` | this one |
//! | `run-event`, `consent-reply`: the events of a run and the reply to its request for consent | this one |
//! | notices and activities; the parts of `init` and `status` that need no type of another crate | this one |
//! | `tool-message`, `tool-request`, `tool-result`, `tool-task`; health of one tool | `agentos-tool` |
//! | `landing-report` | `agentos-landing` |
//! | `profile`; a known model | `agentos-profile` |
//! | `policy`; decisions, explanations, advice | `agentos-policy` |
//! | `receipt`; intents, recovered landings | `agentos-executor` |
//! | `evidence-record`, `evidence-verify`; summaries of runs, statistics of providers | `agentos-evidence` |
//! | `outcome`; bodies of records | `agentos-engine` |
//! | `denied-request`, `evidence-body`, `evidence-list`, `evidence-run`, `evidence-stats`, `init`, `models`, `open-requests`, `policy-check`, `policy-explain`, `policy-lint`, `policy-show`, `recover`, `status`, `tool-health`, `tool-list`: each puts such values together | `agentos-host` |
//! | `gate-results`, `health-summary` | `agentos-gates` |

mod cause;
mod cause_chain;
mod conform;
mod consent;
mod context_report;
mod doctor;
mod error_code;
mod error_report;
mod evidence;
mod exit_status;
mod hidden_text;
mod init;
mod next_step;
mod notice;
mod policy;
mod providers;
mod replay_report;
mod run_event;
mod status;

pub use cause::Cause;
pub use cause_chain::{list_causes, unsaid_causes, word_full_disk};
pub use conform::{ConformCheck, ToolConform};
pub use consent::{ConsentBinding, ConsentPrompt, ConsentReason, ConsentReply};
pub use context_report::{
    ContextBudgetReport, ContextFileReport, ContextReport, OmittedMatches, WindowSource, WithheldFile,
};
pub use doctor::{CheckStatus, DoctorCheck, DoctorReport};
pub use error_code::{ERROR_CODES, ErrorCode, find_code, normalize_code};
pub use error_report::{ErrorBody, ErrorReport};
pub use evidence::{ExportReport, KeyReport, KnownKey, OwnKey, PublishReport};
pub use exit_status::ExitStatus;
pub use hidden_text::is_hidden;
pub use init::{FoundKey, FoundServer, ProposedFile};
pub use next_step::{BranchChoice, NextStep, RunLimit, RunOption, TaskPart};
pub use notice::{Activity, Notice};
pub use policy::{PolicyTest, TestedFile};
pub use providers::{AuthStatus, KeyCheck, KeyStatus, ProfileReport, ShownValue, SignInStatus};
pub use replay_report::{Difference, ReplayReport, ReplayStatus, ReplayedRun};
pub use run_event::{EventBody, EventReport};
pub use status::{Obstacle, PolicyFileStatus, ProposedStep, ProviderStatus, RepositoryStatus};
