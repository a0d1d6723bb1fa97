//! Forms of 2026 that must land, and names in the headers of diffs.
//!
//! Owns: marks of calls as open models write them, shapes of arguments, and the rules about header names.

use serde_json::{Value, json};

use super::files::{SOURCES, base};
use super::forms::{Edit, Form};
use super::{Failures, Outcome, outcome};
use crate::memory::Memory;

fn arguments(edit: &Edit) -> Value {
    json!({"file_path": edit.path, "old_string": edit.search(), "new_string": edit.replace()})
}

const CALLS: &[Form] = &[
    ("DeepSeek", |edit| {
        format!(
            "<\u{ff5c}tool\u{2581}calls\u{2581}begin\u{ff5c}><\u{ff5c}tool\u{2581}call\u{2581}begin\u{ff5c}>Edit<\u{ff5c}tool\u{2581}sep\u{ff5c}>{}\
             <\u{ff5c}tool\u{2581}call\u{2581}end\u{ff5c}><\u{ff5c}tool\u{2581}calls\u{2581}end\u{ff5c}>",
            arguments(edit)
        )
    }),
    ("Kimi", |edit| {
        format!(
            "<|tool_calls_section_begin|><|tool_call_begin|>functions.Edit:0<|tool_call_argument_begin|>{}<|tool_call_end|>\
             <|tool_calls_section_end|>",
            arguments(edit)
        )
    }),
    ("GLM", |edit| {
        format!(
            "<tool_call>Edit\n<arg_key>file_path</arg_key>\n<arg_value>{}</arg_value>\n<arg_key>old_string</arg_key>\n\
             <arg_value>{}</arg_value>\n<arg_key>new_string</arg_key>\n<arg_value>{}</arg_value>\n</tool_call>\n",
            edit.path,
            edit.search().trim_end_matches('\n'),
            edit.replace().trim_end_matches('\n')
        )
    }),
    ("Devstral", |edit| {
        format!("[TOOL_CALLS]Edit[ARGS]{}", arguments(edit))
    }),
    ("a message nested 40 deep", |edit| {
        let call = json!({"name": "Edit", "arguments": arguments(edit)});
        (0..40).fold(call, |inner, _| json!([inner])).to_string()
    }),
    ("Llama", |edit| {
        format!("<function=Edit>{}</function>", arguments(edit))
    }),
    ("Granite", |edit| {
        format!(
            "<|tool_call|>{}",
            json!([{"name": "Edit", "arguments": arguments(edit)}])
        )
    }),
    ("Grok", |edit| {
        format!(
            "<xai:function_call name=\"Edit\">\n<parameter name=\"file_path\">{}</parameter>\n<parameter name=\"old_string\">{}</parameter>\n\
             <parameter name=\"new_string\">{}</parameter>\n</xai:function_call>\n",
            edit.path,
            edit.search().trim_end_matches('\n'),
            edit.replace().trim_end_matches('\n')
        )
    }),
    ("gpt-oss", |edit| {
        format!(
            "<|start|>assistant<|channel|>commentary to=functions.Edit <|constrain|>json<|message|>{}<|call|>",
            arguments(edit)
        )
    }),
    ("MCP filesystem server", |edit| {
        json!({"name": "edit_file", "arguments": {"path": edit.path, "dryRun": false,
            "edits": [{"oldText": edit.search(), "newText": edit.replace()}]}})
        .to_string()
    }),
    ("blocks in an argument", |edit| {
        json!({"name": "replace_in_file", "arguments": {"path": edit.path, "diff": edit.blocks()}})
            .to_string()
    }),
    ("files with patches", |edit| {
        let diff = edit.diff();
        let hunks = diff.splitn(3, '\n').nth(2).expect("a hunk below two names");
        json!({"files": [{"path": edit.path, "patch": hunks}]}).to_string()
    }),
    ("edit in tags", |edit| {
        format!(
            "<edit>\n<path>{}</path>\n<old_string>{}</old_string>\n<new_string>{}</new_string>\n</edit>\n",
            edit.path,
            edit.search().trim_end_matches('\n'),
            edit.replace().trim_end_matches('\n')
        )
    }),
];

#[test]
fn newer_forms_of_calls_land() {
    let base = base();
    let mut failures = Failures::default();
    for (form, write) in CALLS {
        for source in SOURCES {
            let edit = Edit::of(source, 1, 42);
            for answer in [write(&edit), format!("I change one line.\n\n{}", write(&edit))] {
                let got = outcome(&answer, &base);
                let holds = got == Outcome::of(&[(edit.path, &edit.after)]);
                failures.check(holds, &format!("{form}: {}", edit.path), &answer, &got);
            }
        }
    }
    failures.assert_none(250);
}

#[test]
fn the_common_tail_of_two_header_names_is_the_path() {
    let base = Memory::of(&[
        ("src/a.txt", b"one\ntwo\nthree\n"),
        ("a.txt", b"one\ntwo\nthree\n"),
        ("lib/b.txt", b"one\ntwo\nthree\n"),
    ]);
    let names = [
        ("src/a.txt", "before/src/a.txt", "after/src/a.txt"),
        (
            "src/a.txt",
            "a/src/a.txt 2024-01-01 00:00:00.000000000 +0000",
            "b/src/a.txt 2024-01-02 00:00:00.000000000 +0000",
        ),
        (
            "src/a.txt",
            "src/a.txt  2024-01-01 10:00:00",
            "src/a.txt  2024-01-02 10:00:00",
        ),
        ("lib/b.txt", "/tmp/old/lib/b.txt", "/tmp/new/lib/b.txt"),
        ("lib/b.txt", "shop-1.0/lib/b.txt", "shop-1.1/lib/b.txt"),
        (
            "lib/b.txt",
            "A/lib/b.txt\t2024-01-01 00:00:00",
            "B/lib/b.txt\t2024-01-02 00:00:00",
        ),
    ];
    let mut failures = Failures::default();
    for (path, old, new) in names {
        let answer = format!("--- {old}\n+++ {new}\n@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n");
        let got = outcome(&answer, &base);
        failures.check(
            got == Outcome::of(&[(path, "one\nTWO\nthree\n")]),
            path,
            &answer,
            &got,
        );
    }
    // Names without a common tail that is tracked do not say which file is meant.
    for (old, new) in [("a/src/a.txt", "b/lib/b.txt"), ("x/none.txt", "y/none.txt")] {
        let answer = format!("--- {old}\n+++ {new}\n@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n");
        let got = outcome(&answer, &base);
        failures.check(got.is_refused(), old, &answer, &got);
    }
    failures.assert_none(8);
}

/// `@@ ... @@` names no place, although the file has a line of dots.
#[test]
fn dots_between_marks_are_no_heading() {
    let text = "def a():\n    go()\n    stop()\n\nclass P:\n    ...\n\ndef b():\n    go()\n    stop()\n";
    let base = Memory::of(&[("src/a.py", text.as_bytes())]);
    let hunk = |marks: &str| {
        format!("--- a/src/a.py\n+++ b/src/a.py\n{marks}\n     go()\n-    stop()\n+    halt()\n")
    };
    for marks in ["@@ ... @@", "@@ ...", "@@ \u{2026} @@"] {
        let got = outcome(&hunk(marks), &base);
        assert!(got.is_refused(), "{marks}: {got:?}");
    }
    let wanted = "def b():\n    go()\n    halt()\n";
    let wanted = text.replace("def b():\n    go()\n    stop()\n", wanted);
    let got = outcome(&hunk("@@ def b(): @@"), &base);
    assert_eq!(got, Outcome::of(&[("src/a.py", &wanted)]));
}

/// A deletion shows the lines of the file, as git demands.
#[test]
fn a_deletion_without_the_lines_is_refused() {
    let base = Memory::of(&[("src/a.txt", b"one\ntwo\n"), ("b.txt", b"b\n")]);
    let head = "diff --git a/src/a.txt b/src/a.txt\ndeleted file mode 100644\n";
    for rest in ["", "index 814f4a4..0000000\n--- a/src/a.txt\n+++ /dev/null\n"] {
        let answer = format!("{head}{rest}");
        let got = outcome(&answer, &base);
        assert!(got.is_refused(), "{answer}\n{got:?}");
    }
    let answer = format!("{head}--- a/src/a.txt\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-one\n-two\n");
    let gone = Outcome::Lands([("src/a.txt".to_owned(), None)].into());
    assert_eq!(outcome(&answer, &base), gone);
}
