//! Claims about everything that reads what others wrote, for any bytes whatever.
//!
//! Owns: reading a fuzzer's bytes as a case, and the claims. Never: draws by chance, reads a clock, or reaches the
//! network; the same bytes are always the same case. How to run and add a target is in `scripts/fuzz/README.md`.
#![allow(
    clippy::panic,
    reason = "a claim that does not hold is reported by a panic, as a fuzzer expects it"
)]

mod acp;
mod bytes;
#[cfg(unix)]
mod credentials;
mod event_stream;
mod export;
mod git_index;
mod http_answer;
mod ignore;
#[cfg(unix)]
mod journal;
mod landing;
mod mutate;
mod policy;
mod profile;
#[cfg(target_os = "linux")]
mod proxy_head;
#[cfg(target_os = "linux")]
mod refused_calls;
mod scratch;
mod tape;
mod tool_protocol;

/// One target: a name, and what is claimed of any bytes.
#[derive(Debug, Clone, Copy)]
pub struct FuzzTarget {
    /// The name of the target, of its program and of its corpus.
    pub name: &'static str,
    /// Checks the claims for one input; panics when one does not hold.
    pub check: fn(&[u8]),
}

/// Every target, in the order of their names.
pub const TARGETS: &[FuzzTarget] = &[
    target("acp", acp::check_acp),
    #[cfg(unix)]
    target("credentials", credentials::check_credentials),
    target("event-stream", event_stream::check_event_stream),
    target("export", export::check_export),
    target("git-index", git_index::check_git_index),
    target("http-answer", http_answer::check_http_answer),
    target("ignore", ignore::check_ignore),
    #[cfg(unix)]
    target("journal", journal::check_journal),
    target("land", landing::any_answer),
    target("policy", policy::check_policy),
    target("profile", profile::check_profile),
    #[cfg(target_os = "linux")]
    target("proxy-head", proxy_head::check_proxy_head),
    #[cfg(target_os = "linux")]
    target("refused-calls", refused_calls::check_refused_calls),
    target("roundtrip", landing::roundtrip),
    target("series", landing::series),
    target("tape", tape::check_tape),
    target("tool-protocol", tool_protocol::check_tool_protocol),
];

const fn target(name: &'static str, check: fn(&[u8])) -> FuzzTarget {
    FuzzTarget { name, check }
}

/// Runs the claims of a target on one input.
///
/// # Panics
/// When a claim does not hold, or there is no such target.
pub fn check(name: &str, data: &[u8]) {
    let found = TARGETS.iter().find(|target| target.name == name);
    assert!(found.is_some(), "`{name}` is no target");
    if let Some(target) = found {
        (target.check)(data);
    }
}
