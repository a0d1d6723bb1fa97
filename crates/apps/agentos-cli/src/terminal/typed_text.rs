//! Text of several lines that a person types.
//!
//! Owns: when the Enter key sends a text, the marks that are not part of it, and which texts the history has. Never: reads a key.

use crate::escape;

/// Mark at the beginning and end of a block of lines.
const BLOCK: &str = "\"\"\"";
/// Longest text that the history keeps, in bytes. A file that was pasted once would only be in the way.
const LONGEST_ENTRY: usize = 16 << 10;

/// Effect of the Enter key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EnterKey {
    /// The text is sent.
    Send,
    /// A new line begins.
    NewLine,
    /// A new line begins in the place of the backslash before the cursor.
    Continue,
}

/// Chooses the effect of the Enter key. `at_end` is true if the cursor is behind the text.
pub fn choose_enter(text: &str, at_end: bool) -> EnterKey {
    match find_block(text) {
        Some(block) if !block.contains(BLOCK) => EnterKey::NewLine,
        // A path of Windows ends with two backslashes where one is meant, as in many shells.
        None if at_end && text.ends_with('\\') && !text.ends_with("\\\\") => EnterKey::Continue,
        Some(_) | None => EnterKey::Send,
    }
}

/// Returns the text without the marks of a block.
pub fn finish_text(text: &str) -> String {
    let inner = find_block(text).and_then(|block| block.trim_end().strip_suffix(BLOCK));
    let Some(inner) = inner else {
        return text.to_owned();
    };
    let inner = inner.strip_prefix('\n').unwrap_or(inner);
    inner.strip_suffix('\n').unwrap_or(inner).to_owned()
}

/// Returns true if the history offers a text again. The editor writes it to the terminal as it is, and an escaped text would be sent
/// escaped, so a text with a character that a terminal interprets or does not show is not offered.
pub fn can_offer_again(text: &str) -> bool {
    !text.trim().is_empty() && text.len() <= LONGEST_ENTRY && escape::block(text) == text
}

/// Returns the text behind the mark that opens a block. `None` if the text does not begin with one.
fn find_block(text: &str) -> Option<&str> {
    text.trim_start().strip_prefix(BLOCK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn enter_sends_a_whole_text_and_continues_an_unfinished_one() {
        use EnterKey::{Continue, NewLine, Send};
        for (text, at_end, expected) in [
            ("Hello", true, Send),
            ("", true, Send),
            ("Hello \\", true, Continue),
            ("Hello \\", false, Send),
            ("C:\\\\", true, Send),
            ("\"\"\"", true, NewLine),
            ("\"\"\"one\ntwo \\", true, NewLine),
            ("\"\"\"one\ntwo\"\"\"", true, Send),
            ("say \"\"\"", true, Send),
        ] {
            assert_eq!(choose_enter(text, at_end), expected, "{text}");
        }
    }

    #[test]
    fn the_marks_of_a_block_are_not_part_of_the_text() {
        for (text, expected) in [
            ("Hello", "Hello"),
            ("one \\\ntwo", "one \\\ntwo"),
            ("\"\"\"one\ntwo\"\"\"", "one\ntwo"),
            ("\"\"\"\n  one\ntwo\n\"\"\" ", "  one\ntwo"),
            ("\"\"\"open", "\"\"\"open"),
            ("a \"\"\"b\"\"\"", "a \"\"\"b\"\"\""),
        ] {
            assert_eq!(finish_text(text), expected, "{text}");
        }
    }

    #[test]
    fn the_history_has_no_text_that_a_terminal_would_interpret() {
        let long = "a".repeat(LONGEST_ENTRY + 1);
        for (text, expected) in [
            ("Hello", true),
            ("one\n\ttwo é 漢字", true),
            (" \n", false),
            ("red \u{1b}[31m", false),
            ("c1 \u{9b}31m", false),
            ("back\r", false),
            ("abc\u{202e}txt", false),
            ("a\u{200b}b", false),
            (long.as_str(), false),
        ] {
            assert_eq!(can_offer_again(text), expected, "{text:?}");
        }
    }
}
