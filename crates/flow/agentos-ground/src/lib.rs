//! What every call of the product stands on: an environment, a repository, an observer of notices.
//!
//! Owns: variables and places, the user's files and keys, the opened repository with its tape and policy. Never: asks a model, starts a
//! program of a provider, or knows a verb.
//!
//! Front ends and embedders use it through `agentos-host`.

pub mod answer_spec;
pub mod client_files;
pub mod clock;
pub mod commit_signing;
pub mod consent;
pub mod control;
pub mod environment;
pub mod error;
pub mod event_report;
pub mod events;
pub mod evidence_key;
pub mod files;
pub mod ground;
pub mod history;
pub mod kept_files;
pub mod keys;
pub mod landing_history;
pub mod launch;
pub mod mails;
pub mod notice;
pub mod options;
pub mod own_file;
pub mod paths;
pub mod person;
pub mod policy;
pub mod policy_trust;
pub mod proposals;
pub mod provider_kind;
pub mod read_answers;
pub mod repository;
pub mod repository_id;
pub mod repository_key;
pub mod repository_port;
pub mod run_end;
pub mod run_ref;
pub mod runtime;
pub mod schema_text;
pub mod search_folder;
pub mod service_files;
pub mod service_tokens;
pub mod tape;
pub mod task_spec;
pub mod watched_base;
pub mod window_share;
pub mod words;

pub use ground::Ground;
