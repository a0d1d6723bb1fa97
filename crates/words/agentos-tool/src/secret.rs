//! Key that cannot be printed, compared or written to JSON.
//!
//! Owns: the wrapper. Never: stores a key anywhere; `agentos-credentials` does.

use std::fmt;

use secrecy::{ExposeSecret, SecretString};

/// API key or token. Is displayed as `***`; its memory is overwritten when it is dropped.
#[derive(Clone)]
pub struct Secret(SecretString);

impl Secret {
    /// Wraps a key, without surrounding white space such as a pasted line end.
    #[must_use]
    pub fn new(key: &str) -> Self {
        Self(SecretString::from(key.trim().to_owned()))
    }

    /// Returns the key itself. The unusual name makes every reader of a key easy to find.
    #[must_use]
    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }

    /// Returns true if the key is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.expose().is_empty()
    }

    /// Returns the last four characters, by which a person can recognize the key. `None` if the key has fewer than 16
    /// characters, because four would reveal too much of it.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        let key = self.expose();
        let count = key.chars().count();
        (count >= 16).then(|| key.chars().skip(count - 4).collect())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Written by hand, so that `{:?}` of any type that contains a key prints no key.
        f.write_str("***")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_never_prints_itself() {
        let secret = Secret::new("sk-local-0123456789abcdef\n");
        assert_eq!(format!("{secret} {secret:?}"), "*** ***");
        assert_eq!(secret.expose(), "sk-local-0123456789abcdef");
        assert_eq!(secret.hint().as_deref(), Some("cdef"));
        assert_eq!(Secret::new("short").hint(), None);
    }
}
