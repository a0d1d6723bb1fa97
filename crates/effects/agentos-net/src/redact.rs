//! Removes keys from text that others wrote.
//!
//! Owns: the replacement. Never: guesses what might be a key; only known keys are looked for.

use agentos_tool::Secret;

/// Returns `text` with every known key replaced by `***`. Servers often repeat a key in their error messages.
#[must_use]
pub fn redact_keys(text: &str, secrets: &[&Secret]) -> String {
    let mut clean = text.to_owned();
    // Replacing an empty text would put stars between all characters.
    for secret in secrets.iter().filter(|secret| !secret.is_empty()) {
        clean = clean.replace(secret.expose(), "***");
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_key_is_replaced_wherever_it_stands() {
        let key = Secret::new("sk-local-0123456789abcdef");
        let none = Secret::new("");
        assert_eq!(
            redact_keys(
                "bad key sk-local-0123456789abcdef, sk-local-0123456789abcdef!",
                &[&none, &key]
            ),
            "bad key ***, ***!"
        );
        assert_eq!(redact_keys("no key", &[&none]), "no key");
    }
}
