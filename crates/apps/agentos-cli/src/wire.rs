//! Real effects behind the engine's ports.
//!
//! Owns: the only place where executor, evidence, credentials, network, signer and adapters meet. Never: decides.

pub mod agents;
pub mod check;
pub mod commit_signing;
pub mod complete;
pub mod consent;
pub mod context;
pub mod hosted;
pub mod key_checks;
pub mod keys;
pub mod paths;
pub mod policy;
pub mod progress;
pub mod replayer;
pub mod repository;
pub mod runtime;
pub mod screen;
pub mod session;
pub mod signer;
pub mod tape;
pub mod tools;
pub mod working;
