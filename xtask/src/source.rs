//! Splits Rust source into code, comments, and the insides of strings.
//!
//! Owns: enough of Rust's lexical rules to tell a word in code from the same word in a string or a comment.
//! Never: parses; a file that does not lex gives text that the other checks still see.

/// Three readings of one file. Code and comments keep every line break, so line numbers stay true.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct SplitSource {
    /// Code, with comments and the insides of strings left out.
    pub code: String,
    /// Comments only.
    pub comments: String,
    /// The inside of each string, as it is written, with the line on which it begins.
    pub strings: Vec<(usize, String)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum LexState {
    Code,
    Line,
    Block(usize),
    Text,
    Raw(usize),
}

/// Splits the text of a file into code and comments.
#[must_use]
pub fn split_source(text: &str) -> SplitSource {
    let chars: Vec<char> = text.chars().collect();
    let mut source = SplitSource::default();
    let mut state = LexState::Code;
    let mut at = 0;
    while let Some(&c) = chars.get(at) {
        let rest = chars.get(at..).unwrap_or_default();
        let (next, width) = next_state(
            state,
            rest,
            at.checked_sub(1).and_then(|before| chars.get(before)).copied(),
        );
        let is_string = matches!(state, LexState::Text | LexState::Raw(_));
        if state == LexState::Code && matches!(next, LexState::Text | LexState::Raw(_)) {
            let line = source.code.matches('\n').count() + 1;
            source.strings.push((line, String::new()));
        }
        for c in rest.iter().take(width) {
            if let Some((_, inside)) = source
                .strings
                .last_mut()
                .filter(|_| is_string && next != LexState::Code)
            {
                inside.push(*c);
            }
            match (state, next) {
                _ if *c == '\n' => {
                    source.code.push('\n');
                    source.comments.push('\n');
                }
                (LexState::Line | LexState::Block(_), _)
                | (LexState::Code, LexState::Line | LexState::Block(_)) => {
                    source.comments.push(*c);
                }
                (LexState::Code, _) => source.code.push(*c),
                (LexState::Text | LexState::Raw(_), LexState::Code) => source.code.push(*c),
                (LexState::Text | LexState::Raw(_), _) => {}
            }
        }
        debug_assert!(width > 0, "stuck at `{c}`");
        state = next;
        at += width;
    }
    source
}

/// Returns the state after the next piece of text, and the number of characters in that piece.
fn next_state(state: LexState, rest: &[char], before: Option<char>) -> (LexState, usize) {
    match (state, rest) {
        (LexState::Code, ['/', '/', ..]) => (LexState::Line, 2),
        (LexState::Code, ['/', '*', ..]) => (LexState::Block(1), 2),
        (LexState::Code, ['"', ..]) => (LexState::Text, 1),
        (LexState::Code, ['r', ..]) if !before.is_some_and(is_word) || before == Some('b') => raw_start(rest),
        (LexState::Code, ['\'', '\\', _, tail @ ..]) => {
            let to_end = tail
                .iter()
                .take(12)
                .position(|c| *c == '\'')
                .map_or(0, |at| at + 1);
            (LexState::Code, 3 + to_end)
        }
        (LexState::Code, ['\'', _, '\'', ..]) => (LexState::Code, 3),
        (LexState::Line, ['\n', ..]) => (LexState::Code, 1),
        (LexState::Block(depth), ['/', '*', ..]) => (LexState::Block(depth + 1), 2),
        (LexState::Block(1), ['*', '/', ..]) => (LexState::Code, 2),
        (LexState::Block(depth), ['*', '/', ..]) => (LexState::Block(depth - 1), 2),
        (LexState::Text, ['\\', _, ..]) => (LexState::Text, 2),
        (LexState::Text, ['"', ..]) => (LexState::Code, 1),
        (LexState::Raw(hashes), ['"', tail @ ..])
            if tail.len() >= hashes && tail.iter().take(hashes).all(|c| *c == '#') =>
        {
            (LexState::Code, 1 + hashes)
        }
        (same, _) => (same, 1),
    }
}

/// Returns true if a character can be part of an identifier.
pub fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Reads an `r`: the start of a raw string, or an ordinary word.
fn raw_start(rest: &[char]) -> (LexState, usize) {
    let hashes = rest.iter().skip(1).take_while(|c| **c == '#').count();
    match rest.get(hashes + 1) {
        Some('"') => (LexState::Raw(hashes), hashes + 2),
        _ => (LexState::Code, 1),
    }
}

/// Returns the attributes in a piece of code, such as `#[expect(…)]`, without blanks, each with its line number.
#[must_use]
pub fn list_attributes(code: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut open: Option<(usize, usize, String)> = None;
    let mut last = (' ', ' ');
    for (number, line) in code.lines().enumerate() {
        for c in line.chars().filter(|c| !c.is_whitespace()) {
            if let Some((_, depth, text)) = open.as_mut() {
                text.push(c);
                match c {
                    '[' => *depth += 1,
                    ']' => *depth -= 1,
                    _ => {}
                }
            } else if c == '[' && matches!(last, (_, '#') | ('#', '!')) {
                open = Some((number + 1, 1, "#[".to_owned()));
            }
            if open.as_ref().is_some_and(|(_, depth, _)| *depth == 0) {
                found.extend(open.take().map(|(line, _, text)| (line, text)));
            }
            last = (last.1, c);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_counts_by_its_place() {
        let cases = [
            ("let a = word;", "word", true, false),
            ("// word", "word", false, true),
            ("/* a /* b */ word */ x", "word", false, true),
            (r#"let a = "word";"#, "word", false, false),
            (r#"let a = "\"word";"#, "word", false, false),
            ("let a = r#\"\" word\"#;", "word", false, false),
            ("let a = br\"word\";", "word", false, false),
            ("let a = '\"'; word", "word", true, false),
            (r"let a = '\''; word", "word", true, false),
            (r"let a = '\u{22}'; word", "word", true, false),
            ("fn f<'a>(x: &'a str) { word }", "word", true, false),
            ("let var = 1; word", "word", true, false),
            ("let a = \"x // y\"; word", "word", true, false),
        ];
        for (text, word, in_code, in_comments) in cases {
            let source = split_source(text);
            assert_eq!(source.code.contains(word), in_code, "{text}");
            assert_eq!(source.comments.contains(word), in_comments, "{text}");
        }
    }

    #[test]
    fn line_breaks_survive_everywhere() {
        let text = "a\n// b\n/* c\n */ \"d\n\"\nr#\"\n\"#";
        let source = split_source(text);
        assert_eq!(source.code.matches('\n').count(), text.matches('\n').count());
        assert_eq!(source.comments.matches('\n').count(), text.matches('\n').count());
    }

    #[test]
    fn attributes_are_found_over_several_lines() {
        let found = list_attributes("#![no_std]\n#[expect(\n  x,\n  reason = \"\"\n)]\nlet a = vec![1];");
        assert_eq!(
            found,
            [
                (1, "#[no_std]".to_owned()),
                (2, "#[expect(x,reason=\"\")]".to_owned())
            ]
        );
    }
}
