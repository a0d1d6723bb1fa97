//! A filter of system calls whose refusals are heard (seccomp_unotify(2)).
//!
//! Owns: installing a filter, with a listener or without, and answering what the listener tells with a refusal: with `agentos-winbox`
//! and two calls of `agentos-durable` the only `unsafe` of the workspace, for calls that no kept crate offers. Never: lets a call through, or decides which calls are
//! refused; `agentos-sandbox` says that, and is the only one to use this crate.
//!
//! A call that the filter answers with [`ASK`] waits until it is heard. When nobody listens any more the kernel refuses it
//! by itself (`ENOSYS`), so a listener that is lost opens nothing.

#[cfg(target_os = "linux")]
mod listener;

#[cfg(target_os = "linux")]
pub use listener::{ASK, Call, Instruction, Listener, apply, apply_unheard};
