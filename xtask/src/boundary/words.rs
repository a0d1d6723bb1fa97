//! Plain words: texts that a stranger understands at first reading.
//!
//! Owns: three checks of each text (how a doc comment begins, words that only this project uses in this sense, whether the
//! comment of a function that returns an `Option` mentions `None`), and three counts of each crate (names of one word among
//! types and among functions, comments that give a reason).
//! Never: judges style beyond these; a reader does.

use std::collections::BTreeMap;

use super::Tree;
use crate::rules::RULES;
use crate::source::{self, is_word};

/// Checks the texts of every product file, and the counts of every crate.
pub fn check_words(tree: &Tree) -> Vec<String> {
    let mut problems = check_texts(tree);
    problems.extend(check_counts(tree));
    problems
}

/// Checks the texts of every product file.
fn check_texts(tree: &Tree) -> Vec<String> {
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

/// Number of names that a message shows.
const SHOWN: usize = 3;

/// Names and lines of one crate.
#[derive(Debug, Default)]
struct WordCounts {
    types: usize,
    functions: usize,
    /// Places of types whose name is one word.
    short_types: Vec<String>,
    /// Places of functions whose name is one word.
    short_functions: Vec<String>,
    /// Lines of code, without comments and empty lines.
    code: usize,
    /// Lines of plain comments, which give reasons; doc comments do not count.
    reasons: usize,
}

/// Reports crates whose counts are beyond a limit of the rules.
fn check_counts(tree: &Tree) -> Vec<String> {
    let mut crates: BTreeMap<&str, WordCounts> = BTreeMap::new();
    for (file, text) in tree.sources() {
        // Test support and fuzz targets are read by fewer people, and many of their names are those of a test's cases.
        if file.contains("testkit") || file.contains("/fuzz/") {
            continue;
        }
        let counts = crates.entry(crate_of(file)).or_default();
        for (at, line) in product_text(file, text).lines().enumerate() {
            counts.add_line(line.trim(), &format!("{file}:{}", at + 1));
        }
    }
    crates
        .iter()
        .flat_map(|(name, counts)| counts.list_problems(name))
        .collect()
}

/// Returns the name of a file's crate, which is the name of its folder: `crates/LAYER/NAME/…`, or the folder at the top.
fn crate_of(file: &str) -> &str {
    let mut parts = file.split('/');
    match parts.next() {
        Some("crates") => parts.nth(1).unwrap_or(file),
        Some(top) => top,
        None => file,
    }
}

impl WordCounts {
    /// Counts one line, given without the blanks around it.
    fn add_line(&mut self, line: &str, place: &str) {
        if let Some(name) = type_name(line) {
            self.types += 1;
            if name.matches(|c: char| c.is_ascii_uppercase()).count() < 2 {
                self.short_types.push(format!("`{name}` ({place})"));
            }
        }
        let function = function_name(line).filter(|name| !RULES.standard_names.contains(name));
        if let Some(name) = function {
            self.functions += 1;
            if !name.contains('_') {
                self.short_functions.push(format!("`{name}` ({place})"));
            }
        }
        if !line.starts_with("//") {
            self.code += usize::from(!line.is_empty());
        } else if !line.starts_with("///") && !line.starts_with("//!") {
            self.reasons += 1;
        }
    }

    /// Returns a message for each count that is beyond its limit.
    fn list_problems(&self, name: &str) -> Vec<String> {
        let mut problems = Vec::new();
        for (what, all, short, most) in [
            ("types", self.types, &self.short_types, RULES.max_one_word_types),
            (
                "functions",
                self.functions,
                &self.short_functions,
                RULES.max_one_word_functions,
            ),
        ] {
            if tenths(short.len() * 100, all) > most * 10 {
                let more = if short.len() > SHOWN { ", …" } else { "" };
                let some: Vec<&str> = short.iter().take(SHOWN).map(String::as_str).collect();
                problems.push(format!(
                    "`{name}`: {} of {all} {what} have a name of one word, at most {most} % are allowed: {}{more}",
                    short.len(),
                    some.join(", ")
                ));
            }
        }
        if self.code > 0 && tenths(self.reasons * 100, self.code) < RULES.min_reasons * 10 {
            problems.push(format!(
                "`{name}`: {} comments that give a reason in {} lines of code, at least {} per 100 are expected",
                self.reasons, self.code, RULES.min_reasons
            ));
        }
        problems
    }
}

/// Returns a ratio in tenths, rounded: the precision with which people compare the counts.
fn tenths(part: usize, all: usize) -> usize {
    (part * 20 + all) / (2 * all.max(1))
}

/// Returns the name of the type that a line declares, or `None` if it declares none.
fn type_name(line: &str) -> Option<&str> {
    let line = without_visibility(line);
    let keywords = ["struct", "enum", "trait", "type"];
    keywords
        .iter()
        .find_map(|keyword| first_word(after_keyword(line, keyword)?))
}

/// Returns the name of the function that a line declares, or `None` if it declares none.
fn function_name(line: &str) -> Option<&str> {
    let mut line = without_visibility(line);
    while let Some(rest) = ["const", "async", "unsafe"]
        .iter()
        .find_map(|keyword| after_keyword(line, keyword))
    {
        line = rest;
    }
    first_word(after_keyword(line, "fn")?)
}

/// Returns a line without `pub` or `pub(…)` at its beginning.
fn without_visibility(line: &str) -> &str {
    let Some(rest) = line.strip_prefix("pub") else {
        return line;
    };
    let inside = rest.strip_prefix('(').and_then(|inside| inside.split_once(')'));
    let rest = inside.map_or(rest, |(_, rest)| rest);
    if rest.starts_with(char::is_whitespace) {
        rest.trim_start()
    } else {
        line
    }
}

/// Returns the text after a keyword and blanks. `None` if the line does not begin with this word.
fn after_keyword<'a>(line: &'a str, keyword: &str) -> Option<&'a str> {
    let rest = line.strip_prefix(keyword)?;
    rest.starts_with(char::is_whitespace).then(|| rest.trim_start())
}

/// Returns the word at the beginning of a text, or `None` if there is none.
fn first_word(text: &str) -> Option<&str> {
    let end = text.find(|c| !is_word(c)).unwrap_or(text.len());
    text.get(..end).filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::super::doctored::{self, says};
    use super::*;

    /// Returns the problems of one file's counts.
    fn counted(file: &str, text: &str) -> Vec<String> {
        check_counts(&doctored::files(&[(file, text)]))
    }

    #[test]
    fn each_count_beyond_its_limit_is_reported() {
        let file = "crates/words/a/src/x.rs";
        for (text, expected) in [
            (
                "pub struct Page;\npub(crate) enum PageKind {}\nunion\ntype Row = u8;\ntrait HTTPPage {}\n",
                Some(
                    "`a`: 2 of 4 types have a name of one word, at most 25 % are allowed: `Page` (crates/words/a/src/x.rs:1), `Row` (crates/words/a/src/x.rs:4)",
                ),
            ),
            (
                "struct Page;\nstruct PageKind;\nstruct OnePage;\nstruct TwoPages;\n",
                None,
            ),
            (
                "fn page() {}\npub(super) const unsafe fn draw() {}\nasync fn draw_page() {}\nfn new() {}\nfnord fn x",
                Some("`a`: 2 of 3 functions have a name of one word, at most 30 % are allowed"),
            ),
            ("fn new() {}\nfn fmt() {}\nfn draw_page() {}", None),
            ("let a = 1;", None),
        ] {
            // The reason is below, so that line numbers are those of the text.
            let problems = counted(file, &format!("{text}\n// why"));
            match expected {
                Some(expected) => assert!(problems.len() == 1 && says(&problems, expected), "{problems:?}"),
                None => assert_eq!(problems, Vec::<String>::new(), "{text}"),
            }
        }
    }

    #[test]
    fn comments_that_give_a_reason_are_counted_without_docs_and_tests() {
        let file = "xtask/src/x.rs";
        let code = "let line = 1;\n\n".repeat(100);
        for (comments, enough) in [
            ("", false),
            ("/// doc\n//! header\n    /// doc\n", false),
            ("// one\n", false),
            ("// one\n    // two\n", true),
        ] {
            let problems = counted(file, &format!("{comments}{code}"));
            assert_eq!(problems.is_empty(), enough, "{comments}: {problems:?}");
            assert!(
                enough
                    || says(
                        &problems,
                        "comments that give a reason in 100 lines of code, at least 2 per 100"
                    )
            );
        }
        let in_tests = format!("{code}#[cfg(test)]\nmod tests {{\n// one\n// two\n// three\n}}\n");
        assert!(says(&counted(file, &in_tests), "`xtask`: 0 comments"));
    }

    #[test]
    fn files_of_one_crate_are_counted_together_and_tests_are_left_out() {
        let one = "// why\nfn draw_page() {}\nfn draw_line() {}\nfn draw_row() {}\n";
        let tree = doctored::files(&[
            ("crates/words/a/src/x.rs", one),
            ("crates/words/a/src/y.rs", "fn draw() {}\n"),
            ("crates/words/a/src/y/tests.rs", "fn one() {}\n"),
            ("crates/words/a/tests/it/main.rs", "fn one() {}\n"),
            ("crates/dev/agentos-testkit/src/x.rs", "fn one() {}\n"),
            ("scripts/fuzz/targets/x.rs", "fn one() {}\n"),
        ]);
        assert_eq!(check_counts(&tree), Vec::<String>::new());
        let apart = doctored::files(&[
            ("crates/words/a/src/x.rs", one),
            ("crates/words/b/src/y.rs", "// why\nfn draw() {}\n"),
        ]);
        assert!(says(&check_counts(&apart), "`b`: 1 of 1 functions"));
    }

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
            let problems = check_texts(&doctored::files(&[("crates/a/src/x.rs", text)]));
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
                check_texts(&doctored::files(&[(file, text)])),
                Vec::<String>::new(),
                "{text}"
            );
        }
    }
}
