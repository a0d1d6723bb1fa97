//! Actions of a person on the page that their device signed.
//!
//! Owns: the statement that a device signs, and the check of its signature. Never: decides which devices count.
//!
//! ```text
//! agentos action 1
//! session NAME
//! challenge HEX
//! path PATH
//! body SHA256
//! ```

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::PublicKey;

/// First line of a statement. No other text that this program has signed begins so.
const FIRST_LINE: &str = "agentos action 1";

/// Statement that a device signs before it sends a form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ActionStatement<'a> {
    /// Name of the session.
    pub session: &'a str,
    /// Random text of the service, which counts once.
    pub challenge: &'a str,
    /// Path to which the form is sent.
    pub path: &'a str,
    /// SHA-256 of the form's members, 64 hexadecimal digits.
    pub body_sha256: &'a str,
}

impl ActionStatement<'_> {
    /// Returns whether a signature in base64 is the signature of this key over this statement. A part with a blank or a control
    /// character is in no statement, so that two statements never have one text.
    #[must_use]
    pub fn is_signed(&self, key: &PublicKey, signature: &str) -> bool {
        let parts = [
            ("session", self.session),
            ("challenge", self.challenge),
            ("path", self.path),
            ("body", self.body_sha256),
        ];
        let is_plain =
            |part: &str| !part.is_empty() && !part.chars().any(|c| c.is_whitespace() || c.is_control());
        let mut text = format!("{FIRST_LINE}\n");
        for (name, part) in parts {
            if !is_plain(part) {
                return false;
            }
            text.push_str(&format!("{name} {part}\n"));
        }
        let signature = STANDARD.decode(signature).ok();
        signature.is_some_and(|signature| key.verify_signature(text.as_bytes(), &signature))
    }
}
