//! Files that are not plain UTF-8 text: other encodings, and the cells of notebooks.
//!
//! Owns: the tables. Never: accepts a result in which another byte changed.

use agentos_landing::{LandError, LandOptions, land};
use serde_json::json;

use crate::memory::{Memory, blob_id};

/// The new bytes of the only file, or the code of the refusal.
fn outcome(path: &str, base: &[u8], answer: &str) -> Result<Vec<u8>, String> {
    outcome_in(path, &Memory::of(&[(path, base)]), answer)
}

fn outcome_in(path: &str, base: &Memory, answer: &str) -> Result<Vec<u8>, String> {
    match land(answer.as_bytes(), base, &LandOptions::default()) {
        Ok(landed) => Ok(base.after(&landed.change)[path].1.to_vec()),
        Err(LandError::Refused(report)) => {
            let refusal = report.refusal.expect("a refusal");
            Err(refusal.code.as_str().to_owned())
        }
        Err(LandError::Base(error)) => panic!("{error}"),
    }
}

/// The outcome of a diff that names `seen` as the old state of a file, which is `base` now.
fn outcome_since(path: &str, seen: &[u8], base: &[u8], hunk: &str) -> Result<Vec<u8>, String> {
    let mut known = Memory::of(&[(path, base)]);
    known.know(seen);
    let old = blob_id(seen);
    let answer = format!(
        "diff --git a/{path} b/{path}\nindex {old}..1234567 100644\n--- a/{path}\n+++ b/{path}\n{hunk}"
    );
    outcome_in(path, &known, &answer)
}

fn latin(text: &str) -> Vec<u8> {
    text.chars()
        .map(|one| u8::try_from(one).expect("Latin-1"))
        .collect()
}

fn utf_16(text: &str, little: bool) -> Vec<u8> {
    let units = format!("\u{feff}{text}");
    let bytes = |unit: u16| match little {
        true => unit.to_le_bytes(),
        false => unit.to_be_bytes(),
    };
    units.encode_utf16().flat_map(bytes).collect()
}

const FRENCH: &str = "# Réglages\r\nnom = \"café\"\r\nville = \"Paris\"\r\nfin = 1\r\n";

fn block(old: &str, new: &str) -> String {
    format!("f.ini\n<<<<<<< SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE\n")
}

#[test]
fn a_file_in_another_encoding_keeps_it() {
    let edits = |old: &str, new: &str| {
        [
            block(old, new),
            format!("--- a/f.ini\n+++ b/f.ini\n@@ @@\n-{old}\n+{new}\n fin = 1\n")
                .replace("fin", "ville = \"Paris\"\n fin"),
            json!({"edits": [{"path": "f.ini", "search": old, "replace": new}]}).to_string(),
            format!(
                "f.ini\n```ini\n{}```\n",
                FRENCH.replace(old, new).replace("\r\n", "\n")
            ),
        ]
    };
    let (old, new) = ("nom = \"café\"", "nom = \"thé à Liège\"");
    let wanted = FRENCH.replace(old, new);
    for answer in edits(old, new) {
        for (base, after) in [
            (latin(FRENCH), latin(&wanted)),
            (utf_16(FRENCH, true), utf_16(&wanted, true)),
            (utf_16(FRENCH, false), utf_16(&wanted, false)),
            (FRENCH.as_bytes().to_vec(), wanted.clone().into_bytes()),
        ] {
            assert_eq!(outcome("f.ini", &base, &answer), Ok(after), "{answer}");
        }
    }
    // An added line alone, and a character that only one of the encodings has.
    let added = block("fin = 1", "fin = 1\naprès = 2");
    let wanted = FRENCH.replace("fin = 1\r\n", "fin = 1\r\naprès = 2\r\n");
    assert_eq!(outcome("f.ini", &latin(FRENCH), &added), Ok(latin(&wanted)));
    let euro = block("nom = \"café\"", "nom = \"5 €\"");
    assert_eq!(
        outcome("f.ini", &latin(FRENCH), &euro),
        Err("encoding".to_owned())
    );
    let wanted = FRENCH.replace("café", "5 €");
    assert_eq!(
        outcome("f.ini", &utf_16(FRENCH, true), &euro),
        Ok(utf_16(&wanted, true))
    );
}

/// Writes a text in an encoding.
type Encode = dyn Fn(&str) -> Vec<u8>;

#[test]
fn a_change_for_another_state_keeps_the_encoding_or_is_stale() {
    let now = format!("# Créé\r\n[a]\r\n[b]\r\n{FRENCH}");
    let wanted = now.replace("fin = 1\r\n", "x = \"thé\"\r\nfin = 1\r\n");
    let hunk = "@@ -3,2 +3,3 @@\n ville = \"Paris\"\n+x = \"thé\"\n fin = 1\n";
    let utf_8 = |text: &str| text.as_bytes().to_vec();
    let (little, big) = (|text: &str| utf_16(text, true), |text: &str| utf_16(text, false));
    let encodings: [&Encode; 4] = [&latin, &little, &big, &utf_8];
    for (at, encode) in encodings.iter().enumerate() {
        let got = outcome_since("f.ini", &encode(FRENCH), &encode(&now), hunk);
        assert_eq!(got, Ok(encode(&wanted)), "{at}");
        for (seen, other) in encodings.iter().enumerate().filter(|(seen, _)| *seen != at) {
            let got = outcome_since("f.ini", &other(FRENCH), &encode(&now), hunk);
            // Lines in ASCII are the same in Latin-1 and UTF-8, and UTF-8 is what the answer has.
            let expected = match (seen, at) {
                (0, 3) => Ok(encode(&wanted)),
                _ => Err("stale".to_owned()),
            };
            assert_eq!(got, expected, "{at} {seen}");
        }
    }
    // The state that was seen was in ASCII, which does not show the encoding.
    let ascii = FRENCH.replace("é", "e");
    let got = outcome_since("f.ini", ascii.as_bytes(), &latin(&now), hunk);
    assert_eq!(got, Err("stale".to_owned()));
    let euro = hunk.replace("thé", "5 € é");
    let got = outcome_since("f.ini", &latin(FRENCH), &latin(&now), &euro);
    assert_eq!(got, Err("encoding".to_owned()));
}

#[test]
fn bytes_of_an_unknown_encoding_get_no_character() {
    // Russian in KOI8-R, and a file of Windows with its own quotes.
    let russian = b"title = \"\xd0\xd2\xc9\xd7\xc5\xd4\"\nsize = 1\n".as_slice();
    let windows = b"title = \x93a\x94\nsize = 1\n".as_slice();
    for base in [russian, windows] {
        let added = block("size = 1", "size = 2\nname = \"é\"");
        assert_eq!(outcome("f.ini", base, &added), Err("encoding".to_owned()));
        let ascii = block("size = 1", "size = 2");
        let wanted = [base.split_at(base.len() - 2).0, b"2\n"].concat();
        assert_eq!(outcome("f.ini", base, &ascii), Ok(wanted));
    }
    // One wrong byte in a file that is in UTF-8, and UTF-32, which begins like UTF-16.
    let mixed = "a = \"é\"\n"
        .bytes()
        .chain(*b"b = \xe9\nsize = 1\n")
        .collect::<Vec<u8>>();
    let wanted = "a = \"è\"\n"
        .bytes()
        .chain(*b"b = \xe9\nsize = 1\n")
        .collect::<Vec<u8>>();
    assert_eq!(
        outcome("f.ini", &mixed, &block("a = \"é\"", "a = \"è\"")),
        Ok(wanted)
    );
    let wide = b"\xff\xfe\0\0a\0\0\0";
    assert_eq!(
        outcome("f.ini", wide, &block("a", "b")),
        Err("does-not-apply".to_owned())
    );
}

const NOTEBOOK: &str = r##"{
 "cells": [
  {
   "cell_type": "markdown",
   "metadata": {},
   "source": [
    "# Über \"x\""
   ]
  },
  {
   "cell_type": "code",
   "outputs": [{"text": ["done\n"]}],
   "source": [
    "import os\n",
    "\n",
    "path = os.path.join(\"a\", 'b')\n",
    "print(path)"
   ]
  },
  {"cell_type": "code", "source": "one = 1\nprint(one)"}
 ],
 "nbformat": 4
}
"##;

#[test]
fn an_edit_of_a_cell_changes_its_lines_in_the_json() {
    let block =
        |old: &str, new: &str| format!("n.ipynb\n<<<<<<< SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE\n");
    let call = |old: &str, new: &str| {
        json!({"edits": [{"path": "n.ipynb", "search": old, "replace": new}]}).to_string()
    };
    let join = "path = os.path.join(\"a\", 'b')";
    let cases = [
        (
            join,
            "path = \"c\"",
            r#""path = os.path.join(\"a\", 'b')\n""#,
            r#""path = \"c\"\n""#,
        ),
        (
            "import os\n",
            "import os\nimport sys\n",
            r#""import os\n","#,
            "\"import os\\n\",\n    \"import sys\\n\",",
        ),
        (
            "print(path)",
            "print(path)\nprint(\"ü\")",
            r#""print(path)""#,
            "\"print(path)\\n\",\n    \"print(\\\"ü\\\")\"",
        ),
        (
            "# Über \"x\"",
            "# Über \"y\"\n\nMehr.",
            r##""# Über \"x\"""##,
            "\"# Über \\\"y\\\"\\n\",\n    \"\\n\",\n    \"Mehr.\"",
        ),
        (
            "path = os.path.join(\"a\", 'b')\nprint(path)",
            "print(1)",
            "\"path = os.path.join(\\\"a\\\", 'b')\\n\",\n    \"print(path)\"",
            r#""print(1)""#,
        ),
    ];
    for (old, new, before, after) in cases {
        let wanted = NOTEBOOK.replacen(before, after, 1).into_bytes();
        for answer in [block(old, new), call(old, new)] {
            let got = outcome("n.ipynb", NOTEBOOK.as_bytes(), &answer);
            assert_eq!(
                got.map(|got| String::from_utf8(got).expect("text")),
                Ok(String::from_utf8(wanted.clone()).expect("text")),
                "{answer}"
            );
        }
    }
    let diff = "--- a/n.ipynb\n+++ b/n.ipynb\n@@ -1,3 +1,4 @@\n import os\n+import sys\n \n path = os.path.join(\"a\", 'b')\n";
    let wanted = NOTEBOOK.replacen(
        "\"import os\\n\",",
        "\"import os\\n\",\n    \"import sys\\n\",",
        1,
    );
    assert_eq!(
        outcome("n.ipynb", NOTEBOOK.as_bytes(), diff),
        Ok(wanted.into_bytes())
    );
    // The lines of the file itself are edited as in any file.
    let raw = call("\"nbformat\": 4", "\"nbformat\": 5");
    let wanted = NOTEBOOK.replace("\"nbformat\": 4", "\"nbformat\": 5");
    assert_eq!(
        outcome("n.ipynb", NOTEBOOK.as_bytes(), &raw),
        Ok(wanted.into_bytes())
    );
}

#[test]
fn a_notebook_stays_one_or_the_edit_is_refused() {
    let call = |old: &str, new: &str| {
        json!({"edits": [{"path": "n.ipynb", "search": old, "replace": new}]}).to_string()
    };
    let cases = [
        // A text over the border of two cells, and one in a cell whose source is one string.
        ("# Über \"x\"\nimport os\n", "import re\n", "does-not-apply"),
        ("one = 1\nprint(one)", "two = 2\nprint(two)", "does-not-apply"),
        // By bytes it is in that string, which a line feed would break.
        ("one = 1", "one = 1\ntwo = 2", "ambiguous"),
        // An output has no lines to edit.
        ("done\n", "ready\n", "does-not-apply"),
        ("\"nbformat\": 4", "\"nbformat\":", "ambiguous"),
    ];
    for (old, new, code) in cases {
        let got = outcome("n.ipynb", NOTEBOOK.as_bytes(), &call(old, new));
        assert_eq!(
            got.map(|got| String::from_utf8(got).expect("text")),
            Err(code.to_owned()),
            "{old}"
        );
    }
    // The same line in two cells.
    let twice = NOTEBOOK.replace(
        "\"source\": \"one = 1\\nprint(one)\"",
        "\"source\": [\"import os\\n\", \"x\"]",
    );
    let got = outcome("n.ipynb", twice.as_bytes(), &call("import os\n", "import re\n"));
    assert_eq!(got, Err("ambiguous".to_owned()));
    // A file with escapes keeps them.
    let ascii = NOTEBOOK.replace('Ü', "\\u00dc");
    let wanted = ascii.replace("\\u00dcber \\\"x\\\"", "\\u00e4h \\ud83d\\ude00");
    let got = outcome("n.ipynb", ascii.as_bytes(), &call("# Über \"x\"", "# äh 😀"));
    assert_eq!(got, Ok(wanted.into_bytes()));
}

#[test]
fn a_change_for_another_state_of_a_notebook_leaves_a_notebook() {
    let now = NOTEBOOK.replace("\"nbformat\": 4", "\"nbformat\": 4,\n \"nbformat_minor\": 5");
    let hunk = |added: &str| format!("@@ -13,2 +13,3 @@\n     \"import os\\n\",\n{added}\n     \"\\n\",\n");
    let got = outcome_since(
        "n.ipynb",
        NOTEBOOK.as_bytes(),
        now.as_bytes(),
        &hunk("+  broken here"),
    );
    assert_eq!(got, Err("ambiguous".to_owned()));
    let line = "    \"import sys\\n\",";
    let wanted = now.replace(
        "    \"import os\\n\",\n",
        &format!("    \"import os\\n\",\n{line}\n"),
    );
    let got = outcome_since(
        "n.ipynb",
        NOTEBOOK.as_bytes(),
        now.as_bytes(),
        &hunk(&format!("+{line}")),
    );
    assert_eq!(got, Ok(wanted.into_bytes()));
}

#[test]
fn an_escape_inside_of_a_source_is_not_taken_for_json() {
    let call = |old: &str, new: &str| {
        json!({"edits": [{"path": "n.ipynb", "search": old, "replace": new}]}).to_string()
    };
    let quoted = NOTEBOOK.replace("one = 1", "one = [\\\"z\\\", 1]");
    // No cell has a list of lines.
    let text = "{\"cells\": [{\"source\": \"one = 1\\nprint(one)\"}], \"nbformat\": 4}\n";
    let refused = [
        (NOTEBOOK, "one = 1", "one = '\\n'"),
        (text, "one = 1", "one = '\\n'"),
        (text, "one = 1", "one = 1\ntwo = 2"),
        (text, "one = 1", "one = \"a"),
        (text, "one = 1", "one = 1\", \"metadata\": \""),
        (NOTEBOOK, "import os", "import os # \\n"),
        // The quote of the search is the second character of an escape.
        (&quoted, "\"z", "\"z\\n"),
        (&quoted, "\"z", "b"),
    ];
    for (base, old, new) in refused {
        let got = outcome("n.ipynb", base.as_bytes(), &call(old, new));
        let got = got.map(|got| String::from_utf8(got).expect("text"));
        assert_eq!(got, Err("ambiguous".to_owned()), "{old} {new}");
    }
    let landed = [
        (NOTEBOOK, "one = 1", "one = 2", "one = 1", "one = 2"),
        (
            NOTEBOOK,
            "\"one = 1\\nprint(one)\"",
            "\"one = '\\\\n'\"",
            "\"one = 1\\nprint(one)\"",
            "\"one = '\\\\n'\"",
        ),
        (
            text,
            "\"nbformat\": 4",
            "\"nbformat\": 4, \"x\": \"\\n\"",
            "\"nbformat\": 4",
            "\"nbformat\": 4, \"x\": \"\\n\"",
        ),
    ];
    for (base, old, new, before, after) in landed {
        let got = outcome("n.ipynb", base.as_bytes(), &call(old, new));
        let got = got.map(|got| String::from_utf8(got).expect("text"));
        assert_eq!(got, Ok(base.replacen(before, after, 1)), "{old} {new}");
    }
}
