//! Keeps the key out of everything that a server gives back.
//!
//! Owns: where the key is replaced in a server's words and names, and how it is found in an answer that comes in
//! pieces. Never: guesses what might be a key; only the one that was sent is looked for.

use agentos_net::redact;
use agentos_tool::Secret;

use crate::{Fault, Found, Reason};

/// Characters of a server's own words that are passed on.
const WORDS: usize = 300;

/// A shorter key is a placeholder, as in `lm-studio` or `not-needed`, and may stand in an honest answer or name.
const SHORTEST: usize = 12;

/// What may be passed on of what a server said that got this key.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KeyGuard<'a> {
    key: Option<&'a Secret>,
}

impl<'a> KeyGuard<'a> {
    pub(crate) fn new(key: Option<&'a Secret>) -> Self {
        Self { key }
    }

    /// A server's own words: without the key, on one line, and only then cut, so that no half of a key is left.
    pub(crate) fn words(&self, said: &str) -> Option<String> {
        let clean: String = redact(said, self.key.as_slice())
            .trim()
            .chars()
            .map(|c| if c.is_control() { ' ' } else { c })
            .take(WORDS)
            .collect();
        Some(clean.trim().to_owned()).filter(|words| !words.is_empty())
    }

    /// A name that a server gave.
    pub(crate) fn name(&self, name: String) -> String {
        match self.long_key() {
            Some(key) => redact(&name, &[key]),
            None => name,
        }
    }

    /// The names in what a probe found.
    pub(crate) fn found(&self, found: Found) -> Found {
        Found {
            model: found.model.map(|name| self.name(name)),
            models: found.models.into_iter().map(|name| self.name(name)).collect(),
            ..found
        }
    }

    /// A watch over the pieces of one answer.
    pub(crate) fn watch(&self) -> Watch<'a> {
        Watch {
            key: self.long_key().map(Secret::expose),
            held: String::new(),
        }
    }

    fn long_key(&self) -> Option<&'a Secret> {
        self.key.filter(|key| key.expose().len() >= SHORTEST)
    }
}

/// Looks for the key across the pieces of an answer. What may be its beginning is held back until it is clear.
#[derive(Debug)]
pub(crate) struct Watch<'a> {
    key: Option<&'a str>,
    held: String,
}

impl Watch<'_> {
    /// What may be shown now that `piece` has arrived.
    ///
    /// # Errors
    /// `key_in_answer` when the key is whole.
    pub(crate) fn pass(&mut self, piece: &str) -> Result<String, Fault> {
        let Some(key) = self.key else {
            return Ok(piece.to_owned());
        };
        self.held.push_str(piece);
        if self.held.contains(key) {
            return Err(Reason::KeyInAnswer.into());
        }
        let clear = self.held.len() - begun(&self.held, key);
        let held = self.held.split_off(clear);
        Ok(std::mem::replace(&mut self.held, held))
    }

    /// What was held back, once nothing more can come.
    pub(crate) fn rest(&mut self) -> String {
        std::mem::take(&mut self.held)
    }
}

/// How many bytes at the end of `text` may be the beginning of `key`.
fn begun(text: &str, key: &str) -> usize {
    key.char_indices()
        .rev()
        .map(|(at, _)| at)
        .find(|at| key.get(..*at).is_some_and(|start| text.ends_with(start)))
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "sk-local-0123456789abcdef";

    #[test]
    fn the_key_is_replaced_before_words_are_cut() {
        let key = Secret::new(KEY);
        let guard = KeyGuard::new(Some(&key));
        for before in 0..=WORDS + 1 {
            let said = format!("{}{KEY} is wrong", "x".repeat(before));
            let words = guard.words(&said).unwrap();
            assert!(!words.contains("sk-"), "{before}: {words}");
            assert!(words.chars().count() <= WORDS);
        }
        let cases = [
            ("no\n\u{1b}[31mway\u{7}", Some("no  [31mway")),
            ("  ", None),
            ("a sk-local-0123456789abcdef b", Some("a *** b")),
        ];
        for (said, words) in cases {
            assert_eq!(guard.words(said).as_deref(), words);
        }
        assert_eq!(KeyGuard::new(None).words(&"x".repeat(5000)).unwrap().len(), WORDS);
    }

    /// Everything shown, or the fault.
    fn shown(key: &str, pieces: &[&str]) -> Result<String, Reason> {
        let key = Secret::new(key);
        let mut watch = KeyGuard::new(Some(&key)).watch();
        let mut shown = String::new();
        for piece in pieces {
            shown.push_str(&watch.pass(piece).map_err(|fault| fault.reason)?);
            assert!(!shown.contains("sk-"), "{shown}");
        }
        Ok(shown + &watch.rest())
    }

    #[test]
    fn a_key_is_found_wherever_it_is_split() {
        for at in 0..=KEY.len() {
            let (start, end) = KEY.split_at(at);
            let pieces = [&format!("a {start}"), end, " b"];
            assert_eq!(shown(KEY, &pieces), Err(Reason::KeyInAnswer), "{at}");
        }
        let letters: Vec<String> = KEY.chars().map(String::from).collect();
        let letters: Vec<&str> = letters.iter().map(String::as_str).collect();
        assert_eq!(shown(KEY, &letters), Err(Reason::KeyInAnswer));
    }

    #[test]
    fn an_answer_without_the_key_is_shown_as_it_is() {
        let cases: [(&str, &[&str]); 4] = [
            (KEY, &["a s", "k", "ip s"]),
            (KEY, &["+a\n", "", "+b\n"]),
            ("ééééééééz", &["é", "éé", "ß"]),
            ("lm-studio", &["use lm-", "studio"]),
        ];
        for (key, pieces) in cases {
            assert_eq!(shown(key, pieces), Ok(pieces.concat()));
        }
    }

    #[test]
    fn names_lose_the_key_but_not_a_placeholder() {
        let named = |key: &str, name: &str| KeyGuard::new(Some(&Secret::new(key))).name(name.to_owned());
        assert_eq!(named(KEY, "tiny-sk-local-0123456789abcdef"), "tiny-***");
        assert_eq!(
            named("lm-studio", "lm-studio-community/tiny"),
            "lm-studio-community/tiny"
        );
    }
}
