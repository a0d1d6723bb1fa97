//! Answers for files that are not plain text in UTF-8, and answers whose names or lines carry what the repository does not have.
//!
//! Owns: the table. Never: repeats a form that every edit can be written in.

use agentos_landing::{LandOptions, land};

use crate::memory::Memory;

/// An answer about one file, with the file before and after it.
pub struct Odd {
    name: &'static str,
    path: &'static str,
    base: Vec<u8>,
    pub answer: Vec<u8>,
    expected: Vec<u8>,
}

impl Odd {
    pub fn base(&self) -> Memory {
        Memory::of(&[(self.path, &self.base)])
    }
}

const FRENCH: &str = "# Réglages\nnom = \"café\"\nville = \"Paris\"\n";
const RUST: &str = "use std::fmt;\n\nfn one() {\n    go();\n}\n\nfn two() {\n    stay();\n}\n";
const BLOCK: &str =
    "f.ini\n<<<<<<< SEARCH\nville = \"Paris\"\n=======\nville = \"Orléans\"\n>>>>>>> REPLACE\n";

fn latin(text: &str) -> Vec<u8> {
    text.chars()
        .map(|one| u8::try_from(u32::from(one)).expect("Latin-1"))
        .collect()
}

fn wide(text: &str) -> Vec<u8> {
    format!("\u{feff}{text}")
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect()
}

fn notebook(text: &str) -> Vec<u8> {
    let cell = serde_json::json!({"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": null,
        "source": ["import math\n", text]});
    let book = serde_json::json!({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5});
    serde_json::to_vec_pretty(&book).expect("JSON")
}

pub fn all() -> Vec<Odd> {
    let odd = |name, path, base: &[u8], answer: String, expected: &[u8]| Odd {
        name,
        path,
        base: base.to_vec(),
        answer: answer.into_bytes(),
        expected: expected.to_vec(),
    };
    let french = FRENCH.replace("Paris", "Orléans");
    let rust = RUST.replace("    go();", "    run();");
    let hunk = "@@ -3,3 +3,3 @@\n fn one() {\n-    go();\n+    run();\n }\n";
    let numbered: String = rust
        .lines()
        .zip(1..)
        .map(|(line, number)| format!("{number:>4} | {line}\n"))
        .collect();
    let id = crate::memory::blob_id(RUST.as_bytes());
    let by_hand = format!(
        "diff --git a/src/lib.rs b/src/lib.rs\nindex {id}..{} 100644\n--- a/src/lib.rs\n+++ b/src/lib.rs\n{hunk}",
        "c".repeat(40)
    );
    let cell = "--- a/n.ipynb\n+++ b/n.ipynb\n@@ @@\n import math\n-print(1)\n+print(2)\n".to_owned();
    let patch = format!(
        "--- a/src/a.rs\r\n+++ b/src/a.rs\r\n{}",
        hunk.replace('\n', "\r\n")
    );
    let utf16 = Odd {
        answer: wide(&patch),
        ..odd(
            "a patch of PowerShell",
            "src/a.rs",
            RUST.as_bytes(),
            String::new(),
            rust.as_bytes(),
        )
    };
    let all = serde_json::json!({"name": "Edit", "input": {"file_path": "src/a.rs", "old_string": "fn ", "new_string": "pub fn ",
        "replace_all": true}});
    vec![
        utf16,
        odd(
            "every place of a text",
            "src/a.rs",
            RUST.as_bytes(),
            all.to_string(),
            RUST.replace("fn ", "pub fn ").as_bytes(),
        ),
        odd(
            "a diff of git, edited by hand",
            "src/lib.rs",
            RUST.as_bytes(),
            by_hand,
            rust.as_bytes(),
        ),
        odd(
            "Latin-1",
            "f.ini",
            &latin(FRENCH),
            BLOCK.to_owned(),
            &latin(&french),
        ),
        odd("UTF-16", "f.ini", &wide(FRENCH), BLOCK.to_owned(), &wide(&french)),
        odd(
            "the cell of a notebook",
            "n.ipynb",
            &notebook("print(1)"),
            cell,
            &notebook("print(2)"),
        ),
        odd(
            "names of Windows",
            "src/a.rs",
            RUST.as_bytes(),
            format!("--- src\\a.rs\n+++ src\\a.rs\n{hunk}"),
            rust.as_bytes(),
        ),
        odd(
            "git's prefix in an envelope",
            "src/a.rs",
            RUST.as_bytes(),
            format!("*** Begin Patch\n*** Update File: a/src/a.rs\n{hunk}*** End Patch\n"),
            rust.as_bytes(),
        ),
        odd(
            "a whole file with the numbers of its lines",
            "src/a.rs",
            RUST.as_bytes(),
            format!("`src/a.rs`\n\n```rust\n{numbered}```\n"),
            rust.as_bytes(),
        ),
    ]
}

#[test]
fn an_answer_for_an_odd_file_lands_as_it_was_meant() {
    for odd in all() {
        let landed = land(&odd.answer, &odd.base(), &LandOptions::default());
        let landed = landed.unwrap_or_else(|error| {
            panic!("{}: {error}\n{}", odd.name, String::from_utf8_lossy(&odd.answer))
        });
        let after = odd.base().after(&landed.change);
        assert_eq!(
            String::from_utf8_lossy(&after[odd.path].1),
            String::from_utf8_lossy(&odd.expected),
            "{}",
            odd.name
        );
        assert_eq!(*after[odd.path].1, *odd.expected, "{}", odd.name);
    }
}
