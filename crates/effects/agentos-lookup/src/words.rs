//! Splits a command line into words.
//!
//! Owns: blanks and quotes. Never: expands variables or escapes, or does anything else that a shell does; the line is
//! never passed to a shell.

/// Splits a command line into words. `None` if a quote is not closed.
#[must_use]
pub fn split_words(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for c in line.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), c) => word.get_or_insert_default().push(c),
            (None, '"' | '\'') => {
                quote = Some(c);
                // `''` is a word, though an empty one.
                word.get_or_insert_default();
            }
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (None, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_divide_and_quotes_hold_together() {
        let cases: &[(&str, Option<&[&str]>)] = &[
            ("", Some(&[])),
            ("  less  -R ", Some(&["less", "-R"])),
            ("a 'b c' d\"e f\"g ''", Some(&["a", "b c", "de fg", ""])),
            ("a 'b", None),
            ("less;rm $HOME", Some(&["less;rm", "$HOME"])),
        ];
        for (line, words) in cases {
            let found = split_words(line);
            let found = found
                .as_ref()
                .map(|words| words.iter().map(String::as_str).collect::<Vec<_>>());
            assert_eq!(found.as_deref(), *words, "{line}");
        }
    }
}
