//! Plain words: texts that a stranger understands at first reading.
//!
//! Owns: three checks: how a doc comment begins, words that only this project uses in this sense, and whether the comment of a
//! function that returns an `Option` mentions `None`.
//! Never: judges style beyond these three; a reader does.

use super::Tree;
use crate::rules::RULES;
use crate::source::{self, is_word};

/// Checks the texts of every product file.
pub fn check_words(tree: &Tree) -> Vec<String> {
    tree.sources()
        .flat_map(|(file, text)| {
            let text = product_text(file, text);
            let problems = find_openers(text)
                .into_iter()
                .chain(find_private_words(text))
                .chain(find_silent_options(text));
            problems.map(move |(line, problem)| format!("`{file}` line {line}: {problem}"))
        })
        .collect()
}

/// Returns the part of a file that belongs to the product: all above its tests, and nothing of a file of tests.
pub fn product_text<'a>(file: &str, text: &'a str) -> &'a str {
    if file.contains("/tests/") || file.ends_with("tests.rs") || file.contains("/benches/") {
        return "";
    }
    text.split("#[cfg(test)]\nmod ").next().unwrap_or_default()
}

/// Returns the text of a line of a doc comment, or `None` if the line is no doc comment.
fn doc_text(line: &str) -> Option<&str> {
    line.trim_start().strip_prefix("///").map(str::trim)
}

/// Finds doc comments that begin with a pronoun or a relative, each with its line.
fn find_openers(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut in_doc = false;
    for (number, line) in text.lines().enumerate() {
        let doc = doc_text(line);
        let first = doc.filter(|_| !in_doc).unwrap_or_default();
        let opener = RULES.doc_openers.iter().find(|opener| {
            let rest = first.strip_prefix(**opener);
            rest.is_some_and(|rest| !rest.starts_with(is_word))
        });
        if let Some(opener) = opener {
            let problem = format!("a doc comment begins with `{opener}`; begin with a verb or the noun");
            found.push((number + 1, problem));
        }
        in_doc = doc.is_some();
    }
    found
}

/// Finds words of this project's own in comments and strings, each with its line.
fn find_private_words(text: &str) -> Vec<(usize, String)> {
    // Code is left out, because a private word can be part of a name that another crate or a published format
    // has chosen.
    let source = source::split_source(text);
    let comments = source.comments.lines().map(str::to_owned);
    let spoken = comments.enumerate().map(|(at, comment)| (at + 1, comment));
    let mut found = Vec::new();
    for (number, text) in spoken.chain(source.strings) {
        let text = text.to_lowercase();
        let words = RULES.private_words.iter();
        for (word, instead) in words.filter(|(word, _)| contains_words(&text, word)) {
            found.push((number, format!("`{word}`: say {instead}")));
        }
    }
    found
}

/// Returns true if a text contains these words, and not only as parts of longer words.
fn contains_words(text: &str, words: &str) -> bool {
    text.match_indices(words).any(|(at, _)| {
        let (before, rest) = text.split_at(at);
        let after = rest.get(words.len()..).unwrap_or_default();
        !before.ends_with(is_word) && !after.starts_with(is_word)
    })
}

/// Finds public functions that return an `Option` and do not say when it is `None`, each with its line.
fn find_silent_options(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut doc = String::new();
    let mut lines = text.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        let bare = line.trim_start();
        if let Some(more) = doc_text(line) {
            doc.push_str(more);
        } else if bare.starts_with("pub ") && bare.contains("fn ") {
            let mut head = bare.to_owned();
            while !head.contains(['{', ';']) {
                let Some((_, more)) = lines.next() else { break };
                head.push_str(more);
            }
            let end = head.find(['{', ';']).unwrap_or(head.len());
            let returned = head.get(..end).and_then(|head| head.rsplit_once(" -> "));
            if returned.is_some_and(|(_, returned)| returned.starts_with("Option<")) && !doc.contains("None")
            {
                found.push((
                    number + 1,
                    "the doc comment does not say when it returns `None`".to_owned(),
                ));
            }
            doc.clear();
        } else if !bare.starts_with("#[") {
            doc.clear();
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::doctored::{self, says};
    use super::*;

    #[test]
    fn each_text_that_is_not_plain_is_found() {
        let cases = [
            (
                "/// What it is.\nstruct A;",
                "line 1: a doc comment begins with `What`",
            ),
            ("/// The same, but later.\nstruct A;", "begins with `The same`"),
            ("// It is told later.", "line 1: `told`: say"),
            ("fn f() {\n  g(\"done anew\");\n}", "line 2: `anew`: say"),
            (
                "/// Returns the file.\n#[must_use]\npub fn f(\n    a: u8,\n) -> Option<u8> {",
                "line 3: the doc comment does not say when it returns `None`",
            ),
        ];
        for (text, expected) in cases {
            let problems = check_words(&doctored::files(&[("crates/a/src/x.rs", text)]));
            assert!(says(&problems, expected), "{expected}: {problems:?}");
        }
    }

    #[test]
    fn plain_texts_and_tests_pass() {
        let cases = [
            (
                "crates/a/src/x.rs",
                "/// Returns the file.\n/// What follows is free.\nfn f() {}",
            ),
            (
                "crates/a/src/x.rs",
                "/// Whatever comes.\nfn toldish() { let told = 1; }",
            ),
            (
                "crates/a/src/x.rs",
                "/// Returns the file, or `None` if there is none.\npub fn f() -> Option<u8> {",
            ),
            (
                "crates/a/src/x.rs",
                "/// Takes one.\npub fn f(a: Option<u8>) -> u8 {",
            ),
            ("crates/a/src/x.rs", "//! H\n#[cfg(test)]\nmod tests { // told\n}"),
            ("crates/a/src/x/tests.rs", "/// What is told.\nfn f() {}"),
        ];
        for (file, text) in cases {
            assert_eq!(
                check_words(&doctored::files(&[(file, text)])),
                Vec::<String>::new(),
                "{text}"
            );
        }
    }
}
