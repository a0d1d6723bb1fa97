//! The form of doc comments.
//!
//! Owns: how a doc comment begins, and whether the comment of a function that returns an `Option` mentions `None`. Never: counts words,
//! since a list of words only replaces a private language with another; a reader judges what a stranger understands.

use super::Tree;
use crate::rules::RULES;
use crate::source::is_word;

/// Checks the doc comments of every product file.
pub fn check_words(tree: &Tree) -> Vec<String> {
    tree.sources()
        .flat_map(|(file, text)| {
            let text = product_text(file, text);
            let problems = find_openers(text).into_iter().chain(find_silent_options(text));
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
    fn each_doc_comment_of_another_form_is_found() {
        let cases = [
            (
                "/// What it is.\nstruct A;",
                "line 1: a doc comment begins with `What`",
            ),
            ("/// The same, but later.\nstruct A;", "begins with `The same`"),
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
    fn doc_comments_in_form_and_tests_pass() {
        let cases = [
            (
                "crates/a/src/x.rs",
                "/// Returns the file.\n/// What follows is free.\nfn f() {}",
            ),
            (
                "crates/a/src/x.rs",
                "/// Returns the file, or `None` if there is none.\npub fn f() -> Option<u8> {",
            ),
            (
                "crates/a/src/x.rs",
                "/// Takes one.\npub fn f(a: Option<u8>) -> u8 {",
            ),
            (
                "crates/a/src/x.rs",
                "//! H\n#[cfg(test)]\nmod tests { /// What\n}",
            ),
            ("crates/a/src/x/tests.rs", "/// What it is.\nfn f() {}"),
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
