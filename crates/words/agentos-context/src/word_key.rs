//! Words as numbers, and texts as counted words.
//!
//! Owns: the key of a word, and which words of a text are counted. Never: keeps a word: a key does not show which word it
//! was made of.
//!
//! An index of texts lies in a file that may be read by whoever can read the repository's folder. It holds keys instead of
//! words, so that a password that somebody committed is not copied to another place as text.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use crate::words::{for_each_identifier, for_each_part, stem_word};

/// Number that stands for a word in the form that is compared. Equal words have equal keys on every machine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WordKey(pub u64);

impl WordKey {
    /// Makes the key of a word in the form that is compared.
    pub(crate) fn from_stem(stem: &[u8]) -> Self {
        Self(hash_bytes(stem))
    }
}

/// Counted words of a text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CountedText {
    /// Number of words, with repetitions: the length that a ranking compares.
    pub length: u32,
    /// Each word with its number of occurrences, sorted by key.
    pub words: Vec<(WordKey, u32)>,
}

/// Counts the words of texts, one after the other.
#[derive(Debug, Default)]
pub struct TextCounter {
    counts: HashMap<u64, u32, BuildHasherDefault<KeyHasher>>,
}

impl TextCounter {
    /// Counts the words of a text. Returns `None` for content with a NUL byte or that is not UTF-8: it is no text.
    pub fn count_text(&mut self, text: &[u8]) -> Option<CountedText> {
        if text.contains(&0) || std::str::from_utf8(text).is_err() {
            return None;
        }
        self.counts.clear();
        let length = for_each_stem(text, can_be_asked, |stem| {
            *self.counts.entry(hash_bytes(stem)).or_insert(0) += 1;
        });
        let mut words: Vec<(WordKey, u32)> = self
            .counts
            .drain()
            .map(|(key, count)| (WordKey(key), count))
            .collect();
        words.sort_unstable();
        Some(CountedText { length, words })
    }
}

/// Returns false for words that no task is searched for: single letters and bare numbers.
fn can_be_asked(word: &[u8]) -> bool {
    word.len() > 1 && !word.iter().all(u8::is_ascii_digit)
}

/// Calls `each` with the compared form of the words of a text for which `is_wanted` is true. Returns the number of all its
/// words.
///
/// An identifier counts by its parts and as a whole, so that `parse_hunk` finds both spellings.
pub(crate) fn for_each_stem(
    text: &[u8],
    is_wanted: impl Fn(&[u8]) -> bool,
    mut each: impl FnMut(&[u8]),
) -> u32 {
    let mut length = 0_u32;
    let mut buffer = Vec::new();
    let mut take = |word: &[u8]| {
        if is_wanted(word) && stem_word(word, &mut buffer) {
            each(&buffer);
        }
    };
    for_each_identifier(text, |whole, has_parts| {
        length = length.saturating_add(1);
        // Most identifiers are one word.
        if !has_parts {
            return take(whole);
        }
        let mut count = 0;
        for_each_part(whole, |part| {
            count += 1;
            take(part);
        });
        if count > 1 || whole.contains(&b'_') {
            take(whole);
        }
    });
    length
}

/// Returns a hash that is equal on every machine and in every version of this program: of a word, or of the bytes of a file
/// to notice damage. It is no protection against somebody who looks for two texts with one hash.
#[must_use]
pub fn hash_bytes(bytes: &[u8]) -> u64 {
    // Digits of pi, as good as any odd numbers without a pattern.
    const SEED: u64 = 0x243F_6A88_85A3_08D3;
    const EACH: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut state = SEED ^ (bytes.len() as u64).wrapping_mul(EACH);
    let (chunks, rest) = bytes.as_chunks::<8>();
    for chunk in chunks {
        state = fold_product(state ^ u64::from_le_bytes(*chunk), EACH);
    }
    let mut last = [0; 8];
    for (into, byte) in last.iter_mut().zip(rest) {
        *into = *byte;
    }
    state = fold_product(state ^ u64::from_le_bytes(last), EACH);
    fold_product(state ^ SEED, EACH)
}

/// Multiplies to 128 bits and folds the halves: every bit of the input changes about half of the result.
fn fold_product(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product as u64) ^ ((product >> 64) as u64)
}

/// Hasher for keys, which are hashes already.
#[derive(Debug, Default)]
struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = hash_bytes(bytes);
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_words_have_equal_keys_and_no_text_has_none() {
        let count = |text: &[u8]| TextCounter::default().count_text(text);
        let key = |stem: &str| WordKey::from_stem(stem.as_bytes());
        let counted = count(b"parse_hunk(hunks) 12 x").unwrap();
        assert_eq!(counted.length, 4);
        let mut expected = vec![(key("pars"), 1), (key("hunk"), 2), (key("parse_hunk"), 1)];
        expected.sort_unstable();
        assert_eq!(counted.words, expected);
        assert_eq!(count(b""), Some(CountedText::default()));
        assert_eq!(count(b"a\0b"), None);
        assert_eq!(count(b"\xff\xfe"), None);
    }

    #[test]
    fn the_hash_stays_as_it_is_written_in_files() {
        let cases: [(&[u8], u64); 3] = [
            (b"", 0x6FD7_0948_974E_A073),
            (b"word", 0x13C8_1043_308E_D990),
            (b"longer than one chunk", 0xA22E_246F_373C_40B5),
        ];
        for (text, expected) in cases {
            assert_eq!(hash_bytes(text), expected, "{text:?}");
        }
    }
}
