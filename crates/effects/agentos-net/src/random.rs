//! Random text that nobody can guess.
//!
//! Owns: its length and its letters. Never: uses another source than the cryptography of TLS connections.

use std::fmt::Write as _;

use agentos_tool::Secret;

use crate::{NetError, NetErrorKind};

/// Random bytes of a text. 32 is what RFC 7636, section 4.1, recommends for the verifier of a sign-in.
const BYTES: usize = 32;

/// Returns 64 random hexadecimal digits.
///
/// # Errors
/// [`NetErrorKind::Setup`] if the system gives no random bytes.
pub fn make_random_text() -> Result<Secret, NetError> {
    let mut bytes = [0; BYTES];
    rustls::crypto::ring::default_provider()
        .secure_random
        .fill(&mut bytes)
        .map_err(|_| NetError::new(NetErrorKind::Setup, None, "the system gives no random bytes"))?;
    let mut text = String::with_capacity(2 * BYTES);
    for byte in bytes {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    Ok(Secret::new(&text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_texts_differ() {
        let (one, two) = (make_random_text().unwrap(), make_random_text().unwrap());
        assert_eq!(one.expose().len(), 64);
        assert!(one.expose().bytes().all(|byte| byte.is_ascii_hexdigit()));
        assert_ne!(one.expose(), two.expose());
    }
}
