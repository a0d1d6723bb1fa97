//! The head of a proxy request: a target only out of a `CONNECT`, and one that can be shown.
//!
//! Owns: the claims. Never: connects to anything.

use agentos_sandbox::fuzzing::read_connect_target;

/// Reads the bytes as what a tool sent to the proxy.
///
/// # Panics
/// When a claim does not hold.
pub fn check_proxy_head(data: &[u8]) {
    let Some(target) = read_connect_target(data) else {
        return;
    };
    let line = data.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let wanted = format!("CONNECT {target} HTTP/1.");
    assert!(
        line.starts_with(wanted.as_bytes()),
        "{target:?} is not what was asked for"
    );
    assert!(target.len() <= 255, "a target of {} bytes", target.len());
    // It is shown to a person where it is refused; host and port have none of these (RFC 3986, section 3.2).
    assert!(
        target.bytes().all(|byte| byte.is_ascii_graphic()),
        "{target:?} is no host and port"
    );
}
