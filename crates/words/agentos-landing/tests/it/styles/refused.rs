//! Answers in the forms of real models that must not land: cut off, unclear, or for another place.
//!
//! Owns: the table. Never: asserts more of a message than its code.

use agentos_landing::{LandError, LandOptions, land};
use serde_json::json;

use crate::memory::Memory;

const BASE: &[(&str, &[u8])] = &[
    (
        "src/a.rs",
        b"fn one() {\n    go();\n}\n\nfn two() {\n    go();\n}\n",
    ),
    ("lib/a.rs", b"fn three() {}\n"),
    ("hosts", b"127.0.0.1 localhost\n"),
];

fn call(name: &str, arguments: serde_json::Value) -> String {
    json!({"type": "tool_use", "name": name, "input": arguments}).to_string()
}

fn cases() -> Vec<(&'static str, &'static str, String)> {
    let edit = || json!({"path": "src/a.rs", "old_str": "fn one() {", "new_str": "fn 1() {"});
    let whole = call("Edit", edit());
    let cut = whole.split_at(whole.len() - 20).0.to_owned();
    let edits = json!({"edits": [{"path": "src/a.rs", "search": "fn one", "replace": "fn 1"}]}).to_string();
    let patch = "*** Begin Patch\n*** Update File: src/a.rs\n@@\n-fn one() {\n+fn 1() {\n";
    vec![
        ("malformed", "a call that was cut off", cut),
        ("malformed", "edits that were cut off", edits.split_at(edits.len() - 9).0.to_owned()),
        ("malformed", "a second call that was cut off", format!("{whole}\n{{\"type\": \"tool_use\", \"name\"")),
        (
            "malformed",
            "a call of a shell next to an edit",
            json!([{"name": "bash", "input": {"command": "rm -r src"}}, {"name": "Edit", "input": edit()}]).to_string(),
        ),
        (
            "malformed",
            "an unknown argument of a call that writes a file",
            call("Write", json!({"path": "src/new.rs", "content": "fn a() {}", "fuzz": 3})),
        ),
        ("no-diff", "a call of a shell alone", call("bash", json!({"command": "sed -i s/a/b/ src/a.rs"}))),
        ("no-diff", "a view alone", call("view", json!({"path": "src/a.rs"}))),
        (
            "ambiguous",
            "an old text that is there twice",
            call("Edit", json!({"path": "src/a.rs", "old_str": "    go();\n", "new_str": "    stay();\n"})),
        ),
        (
            "ambiguous",
            "another number of occurrences than stated",
            call("Edit", json!({"path": "src/a.rs", "old_str": "go();", "new_str": "stay();", "expected_replacements": 3})),
        ),
        (
            "does-not-apply",
            "an old text that is nowhere",
            call("Edit", json!({"path": "src/a.rs", "old_str": "fn four() {", "new_str": "fn 4() {"})),
        ),
        (
            "ambiguous",
            "an insertion that only a number places",
            call("str_replace_based_edit_tool", json!({"command": "insert", "path": "src/a.rs", "insert_line": 3, "new_str": "x\n"})),
        ),
        (
            "path-escape",
            "a path that ends in no file",
            call("Edit", json!({"path": "/workspace/src/b.rs", "old_str": "a", "new_str": "b"})),
        ),
        (
            "path-escape",
            "a path that climbs, of an old text",
            call("Edit", json!({"path": "/workspace/lib/../src/a.rs", "old_str": "a", "new_str": "b"})),
        ),
        (
            "path-escape",
            "a file of the system",
            call("Edit", json!({"path": "/etc/hosts", "old_str": "127.0.0.1", "new_str": "6.6.6.6"})),
        ),
        (
            "path-escape",
            "a new file at an absolute path",
            call("create", json!({"command": "create", "path": "/root/.ssh/authorized_keys", "file_text": "x\n"})),
        ),
        (
            "path-escape",
            "a path that climbs",
            call("create", json!({"command": "create", "path": "/workspace/../x", "file_text": "x\n"})),
        ),
        ("malformed", "a patch that was cut off", json!({"name": "apply_patch", "arguments": {"input": patch}}).to_string()),
        (
            "malformed",
            "text outside the arguments",
            "<write_to_file>\n<path>src/a.rs</path>\nfn main() {}\n</write_to_file>\n".to_owned(),
        ),
        (
            "malformed",
            "a file with parts left out",
            "<write_to_file>\n<path>src/a.rs</path>\n<content>\nfn one() {\n    stay();\n}\n\n// ... rest of the file unchanged ...\n\
             </content>\n</write_to_file>\n"
                .to_owned(),
        ),
        (
            "ambiguous",
            "a file of Cursor with parts left out",
            "```rust:src/a.rs\n// ... existing code ...\nfn two() {\n    stay();\n}\n```\n".to_owned(),
        ),
        (
            "ambiguous",
            "an excerpt below a comment",
            "```rust\n// src/a.rs\nfn two() {\n    stay();\n}\n```\n".to_owned(),
        ),
        (
            "ambiguous",
            "a new file that only a comment names",
            "```rust\n// src/new.rs\nfn two() {}\n```\n".to_owned(),
        ),
        (
            "ambiguous",
            "the first half of a file below a comment",
            "```rust\n// src/a.rs\nfn one() {\n    stay();\n}\n```\n".to_owned(),
        ),
        (
            "malformed",
            "a call that was cut off below its mark",
            format!("I edit it.\n<tool_call>\n{}\n", whole.split_at(whole.len() - 9).0),
        ),
        (
            "malformed",
            "a list of calls that was cut off below prose",
            format!("I edit it:\n\n[\n{whole}\n"),
        ),
        (
            "malformed",
            "edits of several files of which one has no path",
            call("multi_replace_string_in_file", json!({"replacements": [
                {"filePath": "src/a.rs", "oldString": "fn one() {", "newString": "fn 1() {"},
                {"oldString": "fn two() {", "newString": "fn 2() {"}]})),
        ),
        (
            "malformed",
            "a replacement by a pattern",
            "<search_and_replace>\n<path>src/a.rs</path>\n<search>fn one</search>\n<replace>fn 1</replace>\n<use_regex>true</use_regex>\n\
             </search_and_replace>\n<search_and_replace>\n<path>src/a.rs</path>\n<search>fn two</search>\n<replace>fn 2</replace>\n\
             </search_and_replace>\n"
                .to_owned(),
        ),
        (
            "malformed",
            "a file below its name alone, next to edits",
            format!("```json\n{edits}\n```\n\n`src/new.rs`\n\n```rust\nfn three() {{}}\n```\n"),
        ),
        (
            "malformed",
            "an elision among added lines, where nothing is removed",
            "--- a/src/a.rs\n+++ b/src/a.rs\n@@ -1,2 +1,3 @@\n fn one() {\n+    // ... existing code ...\n     go();\n".to_owned(),
        ),
        ("no-diff", "old and new text in tags", "<old_text>\na\n</old_text>\n<new_text>\nb\n</new_text>\n".to_owned()),
        (
            "malformed",
            "a block without an end in a call",
            "<replace_in_file>\n<path>src/a.rs</path>\n<diff>\n------- SEARCH\nfn one() {\n=======\nfn 1() {\n".to_owned(),
        ),
    ]
}

#[test]
fn an_unclear_answer_is_refused_with_its_reason() {
    let mut wrong = Vec::new();
    for (code, name, answer) in cases() {
        let got = match land(answer.as_bytes(), &Memory::of(BASE), &LandOptions::default()) {
            Err(LandError::Refused(report)) => match &report.refusal {
                Some(refusal) if refusal.code.as_str() == code => continue,
                refusal => format!("{refusal:?}"),
            },
            Ok(landed) => String::from_utf8_lossy(landed.change.canonical_diff()).into_owned(),
            Err(LandError::Base(error)) => error.to_string(),
        };
        wrong.push(format!("{name}: wanted {code}, got {got}\n{answer}"));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
