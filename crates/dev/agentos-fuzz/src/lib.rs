//! Claims about everything that reads foreign bytes, checked for any bytes whatever.
//!
//! A target reads a fuzzer's bytes as a case, runs the reader on it, and compares the result with claims. A claim
//! that does not hold is a panic, which the fuzzer reports together with its input.
//!
//! Owns: reading the bytes as a case, and the claims. Never: draws random numbers, reads a clock, or reaches the
//! network; the same bytes are always the same case. `scripts/fuzz/README.md` says how to run a target and how to add
//! one.
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
mod server_stream;
mod tape;
mod tool_protocol;

pub use acp::check_acp;
#[cfg(unix)]
pub use credentials::check_credentials;
pub use event_stream::check_event_stream;
pub use export::check_export;
pub use git_index::check_git_index;
pub use http_answer::check_http_answer;
pub use ignore::check_ignore;
#[cfg(unix)]
pub use journal::check_journal;
pub use landing::{check_land, check_roundtrip, check_series};
pub use policy::check_policy;
pub use profile::check_profile;
#[cfg(target_os = "linux")]
pub use proxy_head::check_proxy_head;
#[cfg(target_os = "linux")]
pub use refused_calls::check_refused_calls;
pub use server_stream::check_server_stream;
pub use tape::check_tape;
pub use tool_protocol::check_tool_protocol;

/// Fuzz target: a name, and the claims about any bytes.
#[derive(Debug, Clone, Copy)]
pub struct FuzzTarget {
    /// The name of the target, of its program and of its corpus.
    pub name: &'static str,
    /// Checks the claims for one input. Panics if one does not hold.
    pub check: fn(&[u8]),
}

/// All targets, in the order of their names. A program of `scripts/fuzz` calls its one function directly, so that
/// nothing else is linked into it: after each input a fuzzer looks at the counters of all linked code.
pub const TARGETS: &[FuzzTarget] = &[
    target("acp", check_acp),
    #[cfg(unix)]
    target("credentials", check_credentials),
    target("event-stream", check_event_stream),
    target("export", check_export),
    target("git-index", check_git_index),
    target("http-answer", check_http_answer),
    target("ignore", check_ignore),
    #[cfg(unix)]
    target("journal", check_journal),
    target("land", check_land),
    target("policy", check_policy),
    target("profile", check_profile),
    #[cfg(target_os = "linux")]
    target("proxy-head", check_proxy_head),
    #[cfg(target_os = "linux")]
    target("refused-calls", check_refused_calls),
    target("roundtrip", check_roundtrip),
    target("series", check_series),
    target("server-stream", check_server_stream),
    target("tape", check_tape),
    target("tool-protocol", check_tool_protocol),
];

const fn target(name: &'static str, check: fn(&[u8])) -> FuzzTarget {
    FuzzTarget { name, check }
}
