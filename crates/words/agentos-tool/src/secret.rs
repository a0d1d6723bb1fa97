//! A key that cannot be printed, compared, cloned by accident or written to JSON.
//!
//! Owns: the wrapper. Never: stores a key anywhere; `agentos-credentials` does.

use std::fmt;

use secrecy::{ExposeSecret, SecretString};

/// An API key or token. Shows as `***`; its memory is cleared when dropped.
#[derive(Clone)]
pub struct Secret(SecretString);

impl Secret {
    /// Wraps a key. Surrounding white space (a pasted line end) is not part of a key.
    #[must_use]
    pub fn new(key: &str) -> Self {
        Self(SecretString::from(key.trim().to_owned()))
    }

    /// The key itself. Every place that reads it is found by this name.
    #[must_use]
    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }

    /// True when there is no key in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.expose().is_empty()
    }

    /// The last four characters for a person to recognise the key by; nothing of a key shorter than 16.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        let key = self.expose();
        let count = key.chars().count();
        (count >= 16).then(|| key.chars().skip(count - 4).collect())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
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
