//! The list of messages: every sentence that the product can show, in one file that a person can read through.
//!
//! Owns: which strings of the source are sentences. Never: edits one. Help texts are in the reference, descriptions of
//! JSON in the schemas.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use xshell::{Shell, cmd};

use crate::boundary::words::product_text;
use crate::source;

/// The list, from the top of the repository.
pub const PAGE: &str = "crates/apps/agentos-cli/MESSAGES.md";

/// Reads every product file and returns the page.
///
/// # Errors
/// When git does not list the files, or one cannot be read.
pub fn render_page(sh: &Shell) -> Result<String> {
    let listed = cmd!(
        sh,
        "git ls-files --cached --others --exclude-standard crates/*.rs"
    )
    .quiet()
    .read()?;
    let mut crates: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    // Crates for builds and tests show nothing to a user.
    for file in listed.lines().filter(|file| !file.starts_with("crates/dev/")) {
        let mut parts = file.split('/');
        let (Some(_), Some(_), Some(name), Some("src")) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        let text = sh.read_file(file)?;
        let strings = source::split_source(product_text(file, &text)).strings;
        crates
            .entry(name)
            .or_default()
            .extend(strings.iter().filter_map(|(_, inside)| find_sentence(inside)));
    }
    let mut page =
        "# Messages\n\nEvery sentence that the product can show, by crate, made by `cargo xtask schemas`. \
        `{…}` stands for a value.\n"
            .to_owned();
    for (name, sentences) in crates.iter().filter(|(_, sentences)| !sentences.is_empty()) {
        page.push_str(&format!("\n## {name}\n\n"));
        for sentence in sentences {
            page.push_str(&format!("- {sentence}\n"));
        }
    }
    Ok(page)
}

/// Returns the sentence in a string, on one line. `None` if it has fewer than two words, as keys and formats have, or is an
/// example of a call, which the reference has.
fn find_sentence(inside: &str) -> Option<String> {
    let joined: Vec<&str> = inside.split("\\n").flat_map(str::lines).map(str::trim).collect();
    let text = joined.join(" ").replace("\\ ", "").replace("\\\"", "\"");
    let words = text
        .split(' ')
        .filter(|word| word.len() > 1 && word.chars().all(|c| c.is_alphabetic() || ",.;:'`".contains(c)));
    // Two words tell a sentence from a key, a flag or a media type without a list of exceptions.
    (words.count() >= 2 && !inside.starts_with("agentos ")).then(|| text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_has_two_words_and_one_line() {
        let cases = [
            ("the index file is damaged", Some("the index file is damaged")),
            ("`{path}` cannot be read", Some("`{path}` cannot be read")),
            ("one \\\n     two \\\n     three", Some("one two three")),
            ("application/json", None),
            ("{name}: {value}", None),
            ("kebab-case", None),
        ];
        for (inside, expected) in cases {
            assert_eq!(find_sentence(inside).as_deref(), expected, "{inside}");
        }
    }
}
