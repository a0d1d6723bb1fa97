//! Applies a filter of system calls and reports what it refuses (seccomp_unotify(2)).
//!
//! A call that the filter answers with [`ASK`] waits until the listener answers it. If the listener is closed, the
//! kernel refuses such calls by itself (`ENOSYS`), so a listener that is lost opens nothing.
//!
//! Owns: installing a filter, with or without a listener, and refusing the calls that the listener reports. This is,
//! with `agentos-winbox` and two calls of `agentos-durable`, the only `unsafe` code of the workspace, for calls that
//! no allowed crate offers. Never: lets a call through, or decides which calls are refused; `agentos-sandbox` decides
//! that, and is the only user of this crate.

#[cfg(target_os = "linux")]
mod listener;

#[cfg(target_os = "linux")]
pub use listener::{ASK, CallListener, FilterInstruction, PendingCall, apply_filter, apply_without_listener};
