//! The head of a proxy request: a target comes only from a `CONNECT`, and can be shown to a person.
//!
//! Owns: the claims. Never: connects to anything.

use agentos_sandbox::fuzzing::read_connect_target;

/// Reads the bytes as what a tool sent to the proxy.
///
/// # Panics
/// If a claim does not hold.
pub fn check_proxy_head(data: &[u8]) {
    let Some(target) = read_connect_target(data) else {
        return;
    };
    // Compared with the first line alone: a target from a later header would be a request that nobody made.
    let line = data.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let wanted = format!("CONNECT {target} HTTP/1.");
    assert!(
        line.starts_with(wanted.as_bytes()),
        "{target:?} is not the requested target"
    );
    assert!(target.len() <= 255, "a target of {} bytes", target.len());
    // A refused target is shown to a person. No host or port has other characters (RFC 3986, section 3.2).
    assert!(
        target.bytes().all(|byte| byte.is_ascii_graphic()),
        "{target:?} is no host and port"
    );
}
