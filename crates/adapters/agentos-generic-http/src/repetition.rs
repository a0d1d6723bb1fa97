//! Notices an answer that repeats a sentence without end.
//!
//! Owns: how much text must repeat. Never: ends a call.
//!
//! Small models repeat a sentence until the limit on the answer ends it, after minutes. Tables, grids and diffs of correct answers repeat
//! lines too. So only sentences count, and loops of other text end at the limit.

use std::collections::BTreeSet;

/// Bytes at the end of an answer that must repeat themselves.
const SPAN: usize = 4_000;
/// Number of times that a text must stand in them.
const REPEATS: usize = 8;
/// Different words that a sentence has at least.
const WORDS: usize = 3;
/// Letters of a word that counts.
const LETTERS: usize = 3;
/// New bytes after which the end is looked at again.
const STEP: usize = 200;

/// End of an answer in progress.
#[derive(Debug, Default)]
pub(crate) struct Repetition {
    tail: Vec<u8>,
    unseen: usize,
    is_noticed: bool,
}

impl Repetition {
    /// Adds a piece of the answer.
    pub(crate) fn add_text(&mut self, text: &str) {
        if self.is_noticed {
            return;
        }
        self.tail.extend_from_slice(text.as_bytes());
        self.unseen += text.len();
        if self.unseen < STEP {
            return;
        }
        self.unseen = 0;
        let surplus = self.tail.len().saturating_sub(SPAN);
        self.tail.drain(..surplus);
        self.is_noticed = repeats(&self.tail);
    }

    /// Returns true if the answer repeats itself.
    pub(crate) fn is_noticed(&self) -> bool {
        self.is_noticed
    }
}

/// Returns true if the end of a text is a repetition.
fn repeats(text: &[u8]) -> bool {
    let Some(end) = text.last_chunk::<SPAN>() else {
        return false;
    };
    let period = find_period(end);
    if period * REPEATS > SPAN {
        return false;
    }
    // Twice, because the text may begin in the middle of a word.
    let twice = end.get(..2 * period).unwrap_or_default();
    has_sentence(&String::from_utf8_lossy(twice))
}

/// Returns true if a text has different words with nothing but spaces between them. Its first and its last word may be cut, so they do not
/// count.
fn has_sentence(text: &str) -> bool {
    let is_letter = |letter: char| letter.is_alphabetic() || letter == char::REPLACEMENT_CHARACTER;
    let inner = text.trim_matches(is_letter);
    let mut phrases = inner.split(|letter| !is_letter(letter) && letter != ' ');
    phrases.any(|phrase| {
        let words = phrase.split(' ');
        let words: BTreeSet<&str> = words.filter(|word| word.chars().count() >= LETTERS).collect();
        words.len() >= WORDS
    })
}

/// Returns the smallest number of bytes after which a text repeats itself, from its first byte to its last. Returns the length of a text
/// that does not repeat itself.
fn find_period(text: &[u8]) -> usize {
    // The prefix function of Knuth, Morris and Pratt: the length of the longest proper prefix that is also a suffix.
    let mut borders: Vec<usize> = Vec::with_capacity(text.len());
    for (position, byte) in text.iter().enumerate() {
        let mut border = borders.last().copied().unwrap_or(0);
        while border > 0 && text.get(border) != Some(byte) {
            border = borders.get(border - 1).copied().unwrap_or(0);
        }
        let goes_on = position > 0 && text.get(border) == Some(byte);
        borders.push(border + usize::from(goes_on));
    }
    text.len() - borders.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the bytes after which a repetition is noticed. `None` if it is not.
    fn notice(start: &str, unit: impl Fn(usize) -> String, most: usize) -> Option<usize> {
        let mut seen = Repetition::default();
        seen.add_text(start);
        let (mut number, mut bytes) = (0, 0);
        while bytes < most {
            let text = unit(number);
            seen.add_text(&text);
            bytes += text.len();
            number += 1;
            if seen.is_noticed() {
                return Some(bytes);
            }
        }
        None
    }

    #[test]
    fn a_repeated_sentence_is_noticed_and_a_repeated_line_is_not() {
        let soon = SPAN + 3 * STEP;
        let loops = [
            "Your answer is checked and applied by another program.\n\n",
            "```python\ndef add(a, b):\n    return a + b\n```\n\nThis is a simple way.\n\n",
            "Wait, let me look at the file again. ",
            "and then the model says ",
            "Das Gerät prüft die Größe. ",
        ];
        for unit in loops {
            let at = notice("Here is the answer: ", |_| unit.to_owned(), 20_000);
            assert!(at.is_some_and(|at| at < soon), "{unit:?}: {at:?}");
        }
        let lines = [
            "    false,\n",
            "<td>&nbsp;</td>\n",
            "{ \"x\": 0, \"y\": 0 },\n",
            "{ \"name\": \"\", \"value\": null, \"kind\": \"none\" },\n",
            "<tr><td class=\"cell\">&nbsp;</td></tr>\n",
            "KC_TRNS, ",
            "-    assert!(true);\n",
            "0x00, ",
            "0, ",
            "AAAA",
            "!",
            "=",
            "\n",
        ];
        for unit in lines {
            // The check begins at every byte of the text.
            for start in 0..unit.len() {
                let at = notice(&"x".repeat(start), |_| unit.to_owned(), 20_000);
                assert_eq!(at, None, "{unit:?}");
            }
        }
    }

    #[test]
    fn a_text_that_goes_on_is_no_repetition() {
        let counted = notice(
            "",
            |number| format!("    case {number}: return \"{number}\";\n"),
            40_000,
        );
        assert_eq!(counted, None);
        // A long text that stands there a few times, as in fixtures.
        let long: String = ('a'..='z')
            .cycle()
            .enumerate()
            .map(|(at, letter)| if at % 7 == 0 { ' ' } else { letter })
            .take(600)
            .collect();
        let few = notice("", |number| format!("{}{long}", number % 3), 40_000);
        assert_eq!(few, None);
    }

    #[test]
    fn the_period_is_the_shortest_one() {
        for (text, period) in [
            ("abcabcabc", 3),
            ("abcabcab", 3),
            ("aaaa", 1),
            ("abcd", 4),
            ("", 0),
        ] {
            assert_eq!(find_period(text.as_bytes()), period, "{text}");
        }
    }
}
