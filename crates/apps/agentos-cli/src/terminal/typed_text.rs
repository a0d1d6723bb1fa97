//! Text of several lines that a person types.
//!
//! Owns: when the Enter key sends a text, and the marks that are not part of it. Never: reads a key.

/// Mark at the beginning and end of a block of lines.
const BLOCK: &str = "\"\"\"";

/// Effect of the Enter key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EnterKey {
    /// The text is sent.
    Send,
    /// A new line begins.
    NewLine,
    /// A new line begins, and the backslash before the cursor is not part of the text.
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

/// Returns the text without the marks of a block and, if the person typed any, without the backslashes that begin new lines. Otherwise
/// such a backslash was pasted, as in a command of a shell, and stays.
pub fn finish_text(text: &str, is_continued: bool) -> String {
    let inner = find_block(text).and_then(|block| block.trim_end().strip_suffix(BLOCK));
    let Some(inner) = inner else {
        return match is_continued {
            true => text.replace("\\\n", "\n"),
            false => text.to_owned(),
        };
    };
    let inner = inner.strip_prefix('\n').unwrap_or(inner);
    inner.strip_suffix('\n').unwrap_or(inner).to_owned()
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
            assert_eq!(finish_text(text, false), expected, "{text}");
        }
        assert_eq!(finish_text("one \\\ntwo", true), "one \ntwo");
    }
}
