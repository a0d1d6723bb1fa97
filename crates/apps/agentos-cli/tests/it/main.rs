//! The command line from outside: the built program, real repositories, real servers on loopback.
//!
//! Owns: what a user sees and what a repository looks like afterwards. Never: looks inside a crate.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    missing_docs,
    reason = "tests: a panic is the failure, and a skipped test says so on screen"
)]

mod agents;
mod apply;
mod asking;
mod boundary;
mod budgets;
mod calls;
mod causes;
mod chat;
mod chat_verbs;
mod check;
mod check_tools;
mod check_views;
mod clock;
mod command;
mod concurrency;
mod consent;
mod context;
mod corpus;
mod cost;
mod deep;
mod demo;
mod disk;
mod disk_calls;
mod embedded;
mod endings;
mod errors;
mod escapes;
mod evidence;
mod evidence_copy;
mod evidence_corpus;
mod evidence_moved;
mod evidence_outside;
mod evidence_publish;
mod example_workflow;
mod exit_codes;
mod explore;
mod flow;
mod git_reach;
mod hangs;
mod health_table;
mod hooks;
mod hosted;
mod hostile;
mod identity;
mod keyring;
mod kill;
mod kill_calls;
mod kill_random;
mod kill_release;
mod kill_states;
mod land;
mod landing_question;
mod last_moment;
mod limits;
mod llama;
mod machine;
mod mails;
mod mcp;
mod mcp_tools;
mod model_process;
mod models;
mod newcomer;
mod next_steps;
mod object_store;
mod pipeline;
mod policy;
mod pool;
mod pool_calls;
mod pool_edit;
mod pool_ends;
mod preflight;
mod probing;
mod profiles;
mod proposing;
mod providers;
mod queue_walk;
mod readme;
mod recover;
mod reference;
mod retry;
mod rogue_calls;
mod run_log;
mod schemas;
mod secrets;
mod serve;
mod sessions;
mod settings;
mod shell;
mod show;
mod sign_in;
mod signals;
mod signing;
mod start;
mod support;
mod talk;
mod terminal;
mod toolboxes;
mod undo;
mod withheld;
mod wrong_calls;
