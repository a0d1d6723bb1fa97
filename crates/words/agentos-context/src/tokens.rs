//! Estimate of the tokens of a text.
//!
//! Owns: the estimate. Never: knows the tokenizer of a model: the estimate is meant to be too high for all of them.

/// Letters of a word per token. Tokenizers know most words of code, and cut the others into pieces of 3 to 5 letters.
const LETTERS_PER_TOKEN: u8 = 5;

/// Estimates how many tokens a text has for a model.
///
/// The rules count 14 % more than the most wasteful of the tokenizers `cl100k_base` and that of Claude 2 needs for files of
/// nine repositories in C, Go, Java, JavaScript, Python, Rust and TypeScript, so an eighth is taken off. Base64 is the one kind of
/// text for which the estimate is too low, by a third.
#[must_use]
pub fn estimate_tokens(text: &str) -> u64 {
    reduce_tokens(count_tokens(text))
}

/// Counts the tokens of a text by the rules, for [`reduce_tokens`].
pub(crate) fn count_tokens(text: &str) -> u64 {
    let mut counter = TokenCounter::default();
    for byte in text.bytes() {
        counter.add_byte(byte);
    }
    counter.end_blanks();
    counter.tokens
}

/// Counts the tokens of a text from those of its parts, of which each ends with a line. Nothing but a row of line ends continues
/// from one line to the next.
pub(crate) fn join_tokens<'t>(parts: impl Iterator<Item = (&'t str, u64)>) -> u64 {
    parts.enumerate().fold(0, |sum, (at, (text, tokens))| {
        // Blanks before a line end do not interrupt the row.
        let continues_row = at > 0 && text.trim_start_matches([' ', '\t']).starts_with('\n');
        sum + tokens - u64::from(continues_row)
    })
}

/// Takes an eighth off, rounded so that the parts of a text never have fewer tokens than the text.
pub(crate) fn reduce_tokens(counted: u64) -> u64 {
    (counted * 7).div_ceil(8)
}

/// Kinds of bytes.
#[derive(Clone, Copy)]
enum ByteKind {
    Blank,
    Small,
    Capital,
    /// A row of one such byte is one token, such as `====` or blank lines.
    Mark,
    /// No token.
    Return,
    /// Several tokenizers make a token of each digit, and none needs more than one for a byte beyond ASCII.
    Other,
}

/// Kind of each byte. A table, because every byte of every text is looked up.
const KINDS: [ByteKind; 256] = {
    let mut kinds = [ByteKind::Other; 256];
    let mut byte = 0;
    while byte < 256 {
        let ascii = byte as u8;
        #[allow(clippy::indexing_slicing, reason = "the loop stays within the table")]
        {
            kinds[byte] = match ascii {
                b' ' | b'\t' => ByteKind::Blank,
                b'a'..=b'z' => ByteKind::Small,
                b'A'..=b'Z' => ByteKind::Capital,
                b'\r' => ByteKind::Return,
                b'\n' => ByteKind::Mark,
                _ if ascii.is_ascii_punctuation() => ByteKind::Mark,
                _ => ByteKind::Other,
            };
        }
        byte += 1;
    }
    kinds
};

/// State of a count.
#[derive(Default)]
struct TokenCounter {
    tokens: u64,
    /// Letters since the last token boundary.
    letters: u8,
    is_after_capital: bool,
    blanks: u64,
    /// The last byte, if it was neither a letter nor a blank; else 0, which is no mark.
    mark: u8,
}

impl TokenCounter {
    fn add_byte(&mut self, byte: u8) {
        // Blanks come first: a quarter of a program's bytes are its indentation.
        let kind = KINDS.get(usize::from(byte)).copied().unwrap_or(ByteKind::Other);
        if let ByteKind::Blank = kind {
            self.letters = 0;
            self.blanks += 1;
            return;
        }
        self.end_blanks();
        self.tokens += match kind {
            ByteKind::Small => return self.add_letter(false),
            ByteKind::Capital => return self.add_letter(true),
            ByteKind::Mark => u64::from(self.mark != byte),
            ByteKind::Blank | ByteKind::Return => 0,
            ByteKind::Other => 1,
        };
        self.letters = 0;
        self.mark = byte;
    }

    fn add_letter(&mut self, is_capital: bool) {
        // `camelCase` is cut at its humps.
        if self.letters == LETTERS_PER_TOKEN || (is_capital && !self.is_after_capital) {
            self.letters = 0;
        }
        self.tokens += u64::from(self.letters == 0);
        self.letters += 1;
        self.is_after_capital = is_capital;
        self.mark = 0;
    }

    /// Counts the blanks before a byte. One is part of the token after it, and more are a token of their own.
    fn end_blanks(&mut self) {
        self.tokens += u64::from(self.blanks > 1);
        self.blanks = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_counted_by_words_marks_and_digits() {
        let cases = [
            ("", 0),
            ("let total = items;", 5),
            ("    return readHttpHeader(1234);\n", 14),
            ("==========", 1),
            ("one two three four five six seven eight", 7),
            ("\u{4e16}\u{754c}", 6),
        ];
        for (text, expected) in cases {
            assert_eq!(estimate_tokens(text), expected, "{text:?}");
        }
    }

    #[test]
    fn the_tokens_of_a_text_follow_from_those_of_its_lines() {
        let cases = [
            "",
            "\n\n\na\n",
            "fn aB() {\r\n\r\n\n\n}\n  x  ",
            "==\n==\nABc\nDef\n  \n\n",
            "a",
        ];
        for text in cases {
            let lines = text.split_inclusive('\n').map(|line| (line, count_tokens(line)));
            assert_eq!(join_tokens(lines), count_tokens(text), "{text:?}");
        }
    }
}
