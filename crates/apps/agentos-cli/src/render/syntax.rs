//! Which parts of a line of code are comments, strings, numbers and keywords.
//!
//! Owns: a small reader of the commonest languages, good enough to paint by. Never: decides anything by what it finds,
//! fails, or looks at more than a line and what was left open above it. Its input is escaped already.

mod languages;

use languages::LANGUAGES;
pub use languages::Language;

/// What a piece of a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Token {
    /// Anything else.
    Plain,
    /// A word of the language.
    Keyword,
    /// Text.
    String,
    /// A number.
    Number,
    /// A comment.
    Comment,
}

/// The language of a file, by its name.
pub fn language(path: &str) -> Option<&'static Language> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let ending = name.rsplit_once('.').map_or(name, |(_, ending)| ending);
    LANGUAGES
        .iter()
        .find(|language| language.endings.contains(&ending))
}

/// Reads the lines of one side of a hunk, one after the other.
#[derive(Debug, Clone)]
pub struct Lexer {
    language: Option<&'static Language>,
    /// What ends the comment or the text that a line above began.
    open: Option<(Token, &'static str)>,
}

impl Lexer {
    /// At the beginning of a hunk nothing is open, as far as is known.
    pub fn new(language: Option<&'static Language>) -> Self {
        Self { language, open: None }
    }

    /// The language it reads.
    pub fn language(&self) -> Option<&'static Language> {
        self.language
    }

    /// The pieces of the next line; together they are the line.
    pub fn line<'a>(&mut self, line: &'a str) -> Vec<(Token, &'a str)> {
        let Some(language) = self.language else {
            return vec![(Token::Plain, line)];
        };
        let mut pieces = Vec::new();
        let (mut rest, mut before) = (line, ' ');
        while !rest.is_empty() {
            let (token, length) = match self.open {
                Some((token, end)) => (token, self.until(rest, end)),
                None => self.next(language, rest, before),
            };
            // At least one character, and never into the middle of one.
            let first = rest.chars().next().map_or(1, char::len_utf8);
            let (piece, after) = rest.split_at_checked(length.max(first)).unwrap_or((rest, ""));
            pieces.push((token, piece));
            before = piece.chars().next_back().unwrap_or(' ');
            rest = after;
        }
        pieces
    }

    /// How long what is open goes on; closes it where its end is found.
    fn until(&mut self, rest: &str, end: &str) -> usize {
        match rest.find(end) {
            Some(at) => {
                self.open = None;
                at + end.len()
            }
            None => rest.len(),
        }
    }

    /// What stands here, and how long it is.
    fn next(&mut self, language: &Language, rest: &str, before: char) -> (Token, usize) {
        let word_before = before.is_alphanumeric() || before == '_';
        if language.is_comment(rest, before) {
            return (Token::Comment, rest.len());
        }
        for (token, begin, end) in language.blocks {
            if let Some(inside) = rest.strip_prefix(begin) {
                self.open = Some((*token, end));
                return (*token, begin.len() + self.until(inside, end));
            }
        }
        let c = rest.chars().next().unwrap_or(' ');
        if language.quotes.contains(&c) {
            return match text(rest, c, language.lifetimes) {
                Some(length) => (Token::String, length),
                None => (Token::Plain, 1),
            };
        }
        let long = |part: fn(char) -> bool| rest.find(|c| !part(c)).unwrap_or(rest.len());
        if c.is_ascii_digit() && !word_before {
            return (
                Token::Number,
                long(|c| c.is_alphanumeric() || matches!(c, '_' | '.')),
            );
        }
        if c.is_alphabetic() || c == '_' {
            let length = long(|c| c.is_alphanumeric() || c == '_');
            let word = rest.get(..length).unwrap_or_default();
            let token = if !word_before && language.keywords.contains(&word) {
                Token::Keyword
            } else {
                Token::Plain
            };
            return (token, length);
        }
        (Token::Plain, c.len_utf8())
    }
}

/// Bytes of the longest character in quotes, `'\u{10FFFF}'`.
const LONGEST_CHARACTER: usize = 12;

/// How long a quoted text is, up to its closing quote or the end of the line; none when the quote is no quote.
fn text(rest: &str, quote: char, lifetimes: bool) -> Option<usize> {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        // Else a line of such quotes would be read to its end for each of them.
        if lifetimes && quote == '\'' && at > LONGEST_CHARACTER {
            return None;
        }
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return Some(at + c.len_utf8()),
            // `'a` is a name; `'x'` and `'\n'` are characters.
            _ if lifetimes && quote == '\'' && at > 1 && !rest.starts_with("'\\") => return None,
            _ => {}
        }
    }
    (!lifetimes || quote != '\'').then_some(rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pieces that are not plain, each with the first letter of its kind.
    fn seen(path: &str, lines: &[&str]) -> Vec<String> {
        let mut lexer = Lexer::new(language(path));
        let mut all = Vec::new();
        for line in lines {
            let pieces = lexer.line(line);
            let whole: String = pieces.iter().map(|(_, piece)| *piece).collect();
            assert_eq!(whole, *line, "{path}: nothing is lost");
            for (token, piece) in pieces {
                let kind = match token {
                    Token::Plain => continue,
                    Token::Keyword => 'k',
                    Token::String => 's',
                    Token::Number => 'n',
                    Token::Comment => 'c',
                };
                all.push(format!("{kind}:{piece}"));
            }
        }
        all
    }

    #[test]
    fn each_language_has_its_words_texts_and_comments() {
        let cases: &[(&str, &[&str], &[&str])] = &[
            (
                "src/a.rs",
                &["pub fn a<'a>(x: &'a str) { 'x'; '\\''; \"s // no\"; 0x1f } // c"],
                &[
                    "k:pub",
                    "k:fn",
                    "s:'x'",
                    "s:'\\''",
                    "s:\"s // no\"",
                    "n:0x1f",
                    "c:// c",
                ],
            ),
            ("a.rs", &["a /* b", "c */ let"], &["c:/* b", "c:c */", "k:let"]),
            (
                "a.py",
                &["def f(): # c", "  '''doc", "  end''' if x1 else 12.5"],
                &[
                    "k:def",
                    "c:# c",
                    "s:'''doc",
                    "s:  end'''",
                    "k:if",
                    "k:else",
                    "n:12.5",
                ],
            ),
            ("a.ts", &["const a = `b` + 'c'"], &["k:const", "s:`b`", "s:'c'"]),
            (
                "a.go",
                &["func f() { return nil } // c"],
                &["k:func", "k:return", "k:nil", "c:// c"],
            ),
            ("A.java", &["public int x = 1;"], &["k:public", "k:int", "n:1"]),
            (
                "a.c",
                &["static char c = '\\n'; /* x */"],
                &["k:static", "k:char", "s:'\\n'", "c:/* x */"],
            ),
            ("a.rb", &["def f # c", "end"], &["k:def", "c:# c", "k:end"]),
            (
                "a.sh",
                &["if [ $# -gt 0 ]; then # c"],
                &["k:if", "n:0", "k:then", "c:# c"],
            ),
            ("Cargo.toml", &["a = \"b\" # c"], &["s:\"b\"", "c:# c"]),
            (
                "a.json",
                &["{\"a\": true, \"b\": 1}"],
                &["s:\"a\"", "k:true", "s:\"b\"", "n:1"],
            ),
            ("notes.txt", &["if 1 # \"x\""], &[]),
        ];
        for (path, lines, expected) in cases {
            assert_eq!(seen(path, lines), *expected, "{path} {lines:?}");
        }
    }

    #[test]
    fn a_line_of_quotes_that_are_none_is_read_once() {
        // By the square of its length, this would take hours.
        let line = "'\\".repeat(1 << 19);
        let pieces = Lexer::new(language("a.rs")).line(&line);
        assert_eq!(
            pieces.iter().map(|(_, piece)| piece.len()).sum::<usize>(),
            line.len()
        );
    }

    proptest::proptest! {
        #[test]
        fn whatever_a_line_holds_its_pieces_are_the_line(line in "[^\n]{0,60}", next in "[^\n]{0,20}") {
            for language in LANGUAGES {
                for ending in language.endings {
                    seen(&format!("x.{ending}"), &[&line, &next, "*/ '''"]);
                }
            }
        }
    }
}
