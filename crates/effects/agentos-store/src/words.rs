//! Words of texts in scripts that have no spaces between words.
//!
//! Owns: how such a text is written into the index of words, searched and shown again. Never: knows a language: each character of these
//! scripts is a word, and a search for several in a row finds them in a row.

/// Stands between words where the text has nothing. The index takes no control character as a letter.
const BORDER: char = '\u{1F}';

/// Returns the text for the index: with a border on both sides of each character that is a word of its own.
///
/// SQLite's `unicode61` makes one word of all letters in a row, so that a part of a Chinese sentence would never be found
/// (sqlite.org/fts5.html section 4.3.1); its `trigram` finds nothing shorter than three characters, and most Chinese words have two.
pub(crate) fn split_words(text: &str) -> String {
    let mut split = String::with_capacity(text.len());
    for letter in text.chars() {
        match is_word(letter) {
            true => split.extend([BORDER, letter, BORDER]),
            false => split.push(letter),
        }
    }
    split
}

/// Returns a text of the index without borders.
pub(crate) fn join_words(split: &str) -> String {
    split.replace(BORDER, "")
}

/// Returns true for a character of Chinese, Japanese, Korean or Thai.
fn is_word(letter: char) -> bool {
    matches!(letter,
        '\u{0E01}'..='\u{0E4E}'        // Thai
        | '\u{3041}'..='\u{30FF}'      // Hiragana and Katakana
        | '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{323AF}' // Han
        | '\u{AC00}'..='\u{D7A3}'      // Hangul
    )
}
