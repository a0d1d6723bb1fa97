//! Keeps the key out of everything that a server returns.
//!
//! Owns: replacing the key in a server's messages and names, and finding it in an answer that arrives in pieces. Never:
//! guesses what might be a key; it looks only for the key that was sent, in the encodings of [`SecretForms`].

use agentos_net::redact_keys;
use agentos_tool::{Secret, SecretForms, SecretStream};

use crate::{Fault, ProbeFindings, Reason};

/// Maximum characters of a server's message that are passed on.
const WORDS: usize = 300;

/// Minimum length of a key treated as a secret. Shorter ones are placeholders such as `lm-studio` or `not-needed`, which may
/// appear in a correct answer or name.
const SHORTEST: usize = 12;

/// Replacement for the key in a text.
const MARK: &str = "***";

/// Prepares the encodings of a key. `None` if there is no key, or only a placeholder for one.
pub(crate) fn prepare_forms(key: Option<&Secret>) -> Option<SecretForms> {
    // Replacing a short placeholder would damage answers and names in which the word is correct.
    let key = key.filter(|key| key.expose().len() >= SHORTEST)?;
    Some(SecretForms::new([key.expose().as_bytes()]))
}

/// Removes the key from what a server returned.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KeyGuard<'a> {
    key: Option<&'a Secret>,
    forms: Option<&'a SecretForms>,
}

impl<'a> KeyGuard<'a> {
    /// Makes a guard for a key, with its encodings from [`prepare_forms`].
    pub(crate) fn new(key: Option<&'a Secret>, forms: Option<&'a SecretForms>) -> Self {
        Self { key, forms }
    }

    /// Returns a server's message without the key, on one line, and shortened. `None` if nothing is left.
    pub(crate) fn clean_message(&self, said: &str) -> Option<String> {
        // Hidden before the text is shortened: half of a key would no longer be recognised.
        let hidden = self.clean_name(said.to_owned());
        let redacted = redact_keys(&hidden, self.key.as_slice());
        let clean: String = self
            .hide_parts(&redacted)
            .trim()
            .chars()
            // Control characters from a server could move the cursor or colour the user's terminal.
            .map(|c| if c.is_control() { ' ' } else { c })
            .take(WORDS)
            .collect();
        Some(clean.trim().to_owned()).filter(|words| !words.is_empty())
    }

    /// Replaces words that are a part of the key. Servers shorten a key that they refuse: `Incorrect API key provided: sk-ab***yz`.
    fn hide_parts(&self, said: &str) -> String {
        let Some(key) = self.key.filter(|_| self.has_key()) else {
            return said.to_owned();
        };
        let words = said.split_inclusive(char::is_whitespace);
        let words = words.map(|word| match is_part_of_key(word, key.expose()) {
            true => format!(
                "{MARK}{}",
                if word.ends_with(char::is_whitespace) {
                    " "
                } else {
                    ""
                }
            ),
            false => word.to_owned(),
        });
        words.collect()
    }

    /// Returns a name from a server without the key.
    pub(crate) fn clean_name(&self, name: String) -> String {
        match self.forms {
            Some(forms) => forms.hide(&name, MARK),
            None => name,
        }
    }

    /// Removes the key from the names that a probe found.
    pub(crate) fn clean_findings(&self, found: ProbeFindings) -> ProbeFindings {
        ProbeFindings {
            model: found.model.map(|name| self.clean_name(name)),
            models: found
                .models
                .into_iter()
                .map(|name| self.clean_name(name))
                .collect(),
            ..found
        }
    }

    /// Returns true if there is a key to look for.
    pub(crate) fn has_key(&self) -> bool {
        self.forms.is_some()
    }

    /// Checks a text that is complete.
    ///
    /// # Errors
    /// [`Reason::KeyInAnswer`] if the text contains the key in any encoding.
    pub(crate) fn check_text(&self, text: &str) -> Result<(), Fault> {
        match self.forms {
            Some(forms) if forms.are_in(text) => Err(Reason::KeyInAnswer.into()),
            Some(_) | None => Ok(()),
        }
    }

    /// Starts to watch the pieces of one answer.
    pub(crate) fn start_watch(&self) -> KeyWatch<'a> {
        KeyWatch {
            forms: self.forms,
            stream: SecretStream::default(),
        }
    }
}

/// Returns true for the beginning or the end of the key, alone or next to the stars or dots that stand for its middle.
fn is_part_of_key(word: &str, key: &str) -> bool {
    /// Minimum length of a part that stands alone. Shorter ones may be ordinary words.
    const ALONE: usize = 4;
    /// Minimum length of a part next to a mask.
    const MASKED: usize = 2;
    let is_masked = ["**", "..", "…", "••", "xxx"]
        .iter()
        .any(|mask| word.contains(mask));
    let is_letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let parts = word.split(|c: char| !is_letter(c));
    // The mask can be letters between the two parts, and a key can begin or end with the same letter.
    let mut parts = parts.flat_map(|part| {
        let pieces = part.split("xxx");
        pieces
            .flat_map(|piece| [piece, piece.trim_matches('x')])
            .chain([part])
    });
    parts.any(|part| {
        let least = if is_masked { MASKED } else { ALONE };
        part.len() >= least && part.len() < key.len() && (key.starts_with(part) || key.ends_with(part))
    })
}

/// Finds the key in an answer that arrives in pieces. Text that may be its beginning is withheld until more has arrived.
#[derive(Debug)]
pub(crate) struct KeyWatch<'a> {
    forms: Option<&'a SecretForms>,
    stream: SecretStream,
}

impl KeyWatch<'_> {
    /// Adds a piece and returns the text that may be shown now.
    ///
    /// # Errors
    /// [`Reason::KeyInAnswer`] if the answer contains the key in any encoding.
    pub(crate) fn pass_piece(&mut self, piece: &str) -> Result<String, Fault> {
        let Some(forms) = self.forms else {
            return Ok(piece.to_owned());
        };
        let clear = forms.pass_bytes(&mut self.stream, piece.as_bytes(), MARK);
        self.check_text(clear)
    }

    /// Returns the text that is still withheld, after the last piece.
    ///
    /// # Errors
    /// [`Reason::KeyInAnswer`] if the answer ends with the key or a part of it.
    pub(crate) fn take_rest(&mut self) -> Result<String, Fault> {
        let clear = self
            .forms
            .map(|forms| forms.finish_stream(&mut self.stream, MARK));
        self.check_text(clear.unwrap_or_default())
    }

    fn check_text(&self, clear: Vec<u8>) -> Result<String, Fault> {
        // An answer with the key in it is an error and not redacted: a diff with `***` in it would land as a wrong change.
        if self.stream.has_found() {
            return Err(Reason::KeyInAnswer.into());
        }
        Ok(String::from_utf8_lossy(&clear).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "sk-local-0123456789abcdef";

    #[test]
    fn the_key_is_replaced_before_words_are_cut() {
        let key = Secret::new(KEY);
        let forms = prepare_forms(Some(&key));
        let guard = KeyGuard::new(Some(&key), forms.as_ref());
        for before in 0..=WORDS + 1 {
            let said = format!("{}{KEY} is wrong", "x".repeat(before));
            let words = guard.clean_message(&said).unwrap();
            assert!(!words.contains("sk-"), "{before}: {words}");
            assert!(words.chars().count() <= WORDS);
        }
        let cases = [
            ("no\n\u{1b}[31mway\u{7}", Some("no  [31mway")),
            ("  ", None),
            ("a sk-local-0123456789abcdef b", Some("a *** b")),
        ];
        for (said, words) in cases {
            assert_eq!(guard.clean_message(said).as_deref(), words);
        }
        assert_eq!(
            KeyGuard::new(None, None)
                .clean_message(&"x".repeat(5000))
                .unwrap()
                .len(),
            WORDS
        );
    }

    #[test]
    fn a_shortened_key_is_hidden_and_other_words_stay() {
        let key = Secret::new(KEY);
        let forms = prepare_forms(Some(&key));
        let guard = KeyGuard::new(Some(&key), forms.as_ref());
        let cases = [
            (
                "Incorrect API key provided: sk-lo***cdef. See the page.",
                "Incorrect API key provided: *** See the page.",
            ),
            ("key ending in cdef", "key ending in ***"),
            ("bad key 'sk-local…ef'", "bad key ***"),
            ("(sk-local-01)", "(***)"),
            ("sk-l", "***"),
            (
                "Country, region, or territory not supported",
                "Country, region, or territory not supported",
            ),
            ("local keys do not work...", "local keys do not work..."),
            ("bad key sk-loxxxxxxdef", "bad key ***"),
        ];
        for (said, words) in cases {
            assert_eq!(guard.clean_message(said).as_deref(), Some(words));
        }
        // The letter of a mask is also the first and last letter of this key.
        let key = Secret::new("xai-0123456789abcdefxx");
        let forms = prepare_forms(Some(&key));
        let guard = KeyGuard::new(Some(&key), forms.as_ref());
        for said in ["bad key xai-…", "bad key xai-01xxxxefxx", "bad key …efxx"] {
            assert_eq!(
                guard.clean_message(said).as_deref(),
                Some("bad key ***"),
                "{said}"
            );
        }
    }

    /// Everything shown, or the fault.
    fn shown(key: &str, pieces: &[&str]) -> Result<String, Reason> {
        let key = Secret::new(key);
        let forms = prepare_forms(Some(&key));
        let mut watch = KeyGuard::new(Some(&key), forms.as_ref()).start_watch();
        let mut shown = String::new();
        for piece in pieces {
            shown.push_str(&watch.pass_piece(piece).map_err(|fault| fault.reason)?);
            assert!(!shown.contains("sk-"), "{shown}");
        }
        let rest = watch.take_rest().map_err(|fault| fault.reason)?;
        Ok(shown + &rest)
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
    fn a_key_is_found_in_other_forms() {
        let hex: String = KEY.bytes().map(|byte| format!("{byte:02x}")).collect();
        let percent: String = KEY.bytes().map(|byte| format!("%{byte:02x}")).collect();
        let reversed: String = KEY.chars().rev().collect();
        let base64 = "c2stbG9jYWwtMDEyMzQ1Njc4OWFiY2RlZg==";
        let split = "sk-local-01234567\n+89abcdef";
        for form in [&hex, &percent, &reversed, base64, split] {
            let (start, end) = form.split_at(form.len() / 2);
            assert_eq!(
                shown(KEY, &["+", start, end, "\n"]),
                Err(Reason::KeyInAnswer),
                "{form}"
            );
            let key = Secret::new(KEY);
            let forms = prepare_forms(Some(&key));
            let guard = KeyGuard::new(Some(&key), forms.as_ref());
            let words = guard.clean_message(&format!("see {form}.")).unwrap();
            // The last character of base64 holds only a part of a byte.
            assert!(
                words.starts_with("see ***") && words.len() <= "see ***g==.".len(),
                "{words}"
            );
        }
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
        let named = |key: &str, name: &str| {
            let forms = prepare_forms(Some(&Secret::new(key)));
            KeyGuard::new(None, forms.as_ref()).clean_name(name.to_owned())
        };
        assert_eq!(named(KEY, "tiny-sk-local-0123456789abcdef"), "tiny-***");
        assert_eq!(
            named("lm-studio", "lm-studio-community/tiny"),
            "lm-studio-community/tiny"
        );
    }
}
