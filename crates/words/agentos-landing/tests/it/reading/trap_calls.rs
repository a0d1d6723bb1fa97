//! Calls and objects with a path and a text that do not write the file, or only if an argument is overlooked.
//!
//! Owns: traps in JSON and tags. Never: demands a certain code of refusal.

use serde_json::{Value, json};

use super::files::base;
use super::traps::changes_nothing;
use super::{Failures, Outcome, outcome};

const PATH: &str = "src/cart.rs";
const LINES: &str = "pub fn total() -> u32 {\n    1\n}\n";

/// A call of a tool.
fn call(name: &str, arguments: &Value) -> Value {
    json!({"type": "tool_use", "name": name, "input": arguments})
}

/// A call that writes content, with more arguments.
fn write(name: &str, more: &Value) -> Value {
    let mut arguments = json!({"path": PATH, "content": LINES});
    merge(&mut arguments, more);
    call(name, &arguments)
}

/// A call that replaces a text which the file has once, with more arguments.
fn edit(more: &Value) -> Value {
    let mut arguments =
        json!({"file_path": PATH, "old_string": "        10\n", "new_string": "        20\n"});
    merge(&mut arguments, more);
    call("Edit", &arguments)
}

fn merge(into: &mut Value, more: &Value) {
    let into = into.as_object_mut().expect("an object");
    for (name, value) in more.as_object().expect("an object") {
        into.insert(name.clone(), value.clone());
    }
}

/// Calls of which none may change a file.
fn calls() -> Vec<(&'static str, Value)> {
    vec![
        // Tools that add to a file.
        ("add_lines", write("add_lines", &json!({}))),
        ("append_text", write("append_text", &json!({}))),
        ("insert_text", write("insert_text", &json!({"line": 3}))),
        ("prepend_file", write("prepend_file", &json!({}))),
        ("insert_content", write("insert_content", &json!({"line": 0}))),
        // Tools that write elsewhere, or nothing.
        ("post_comment", write("post_comment", &json!({"line": 4}))),
        ("save_memory", write("save_memory", &json!({}))),
        (
            "index_document",
            write("index_document", &json!({"language": "rust"})),
        ),
        ("lint_result", write("lint_result", &json!({"severity": "low"}))),
        ("explain_code", write("explain_code", &json!({}))),
        ("create_issue", write("create_issue", &json!({"title": "cart"}))),
        ("send_message", write("send_message", &json!({"to": "ana"}))),
        ("search_code", write("search_code", &json!({}))),
        ("read_file", write("read_file", &json!({}))),
        ("create_gist", write("create_gist", &json!({"public": false}))),
        ("suggest_rewrite", write("suggest_rewrite", &json!({}))),
        // Write calls with an argument that changes the meaning, or that nobody knows.
        ("Write, mode a", write("Write", &json!({"mode": "a"}))),
        ("Write, append", write("Write", &json!({"append": true}))),
        ("Write, mode insert", write("Write", &json!({"mode": "insert"}))),
        ("Write, dry_run", write("Write", &json!({"dry_run": true}))),
        ("Write, dryRun", write("Write", &json!({"dryRun": true}))),
        ("Write, apply", write("Write", &json!({"apply": false}))),
        (
            "create_file, an unknown argument",
            write("create_file", &json!({"offset": 10})),
        ),
        (
            "write_to_file, start_line",
            write("write_to_file", &json!({"start_line": 4})),
        ),
        (
            "write_file, position",
            write("write_file", &json!({"position": "end"})),
        ),
        (
            "write_file, mode append",
            write("write_file", &json!({"mode": "append"})),
        ),
        (
            "view",
            call(
                "str_replace_editor",
                &json!({"command": "view", "path": PATH, "file_text": LINES}),
            ),
        ),
        (
            "undo_edit",
            call(
                "str_replace_editor",
                &json!({"command": "undo_edit", "path": PATH, "file_text": LINES}),
            ),
        ),
        (
            "insert",
            call(
                "str_replace_editor",
                &json!({"command": "insert", "path": PATH, "file_text": LINES}),
            ),
        ),
        (
            "a command that nobody knows",
            call(
                "str_replace_editor",
                &json!({"command": "merge", "path": PATH, "file_text": LINES}),
            ),
        ),
        // Replacements that are not to be made, or not as often as stated.
        ("Edit, dry_run", edit(&json!({"dry_run": true}))),
        ("Edit, dryRun", edit(&json!({"dryRun": true}))),
        ("Edit, apply", edit(&json!({"apply": false}))),
        (
            "Edit, expected_replacements 3",
            edit(&json!({"expected_replacements": 3})),
        ),
        (
            "Edit, expected_replacements 0",
            edit(&json!({"expected_replacements": 0})),
        ),
        (
            "Edit, two places",
            call(
                "Edit",
                &json!({"file_path": PATH, "old_string": "self", "new_string": "me"}),
            ),
        ),
        (
            "replace, a count that is not met",
            call(
                "replace",
                &json!({"file_path": PATH, "old_string": "self", "new_string": "me", "expected_replacements": 2}),
            ),
        ),
        // Objects that are no calls.
        (
            "results",
            json!({"results": [{"file": PATH, "content": "unused import"}]}),
        ),
        (
            "a list of remarks",
            json!([{"path": PATH, "content": "no test", "severity": "high"}]),
        ),
        (
            "a nested review",
            json!({"review": {"comments": [{"path": PATH, "line": 4, "content": "rename this"}]}}),
        ),
        (
            "citations",
            json!({"citations": [{"filename": PATH, "content": LINES}]}),
        ),
        (
            "documents",
            json!({"documents": [{"path": PATH, "contents": LINES}]}),
        ),
        (
            "snippets",
            json!({"snippets": [{"filePath": PATH, "content": LINES}]}),
        ),
        (
            "a tree",
            json!({"tree": [{"path": PATH, "type": "blob", "content": LINES}]}),
        ),
        (
            "a result of a tool",
            json!({"role": "tool", "name": "read_file", "path": PATH, "content": LINES}),
        ),
        (
            "a result of a write",
            json!({"type": "tool_result", "path": PATH, "content": "could not write"}),
        ),
        (
            "a suggestion",
            json!({"suggestion": {"path": PATH, "content": LINES}, "apply": false}),
        ),
        (
            "an embedding",
            json!({"id": 3, "path": PATH, "content": LINES, "score": 0.7}),
        ),
        ("a bare object", json!({"path": PATH, "content": LINES})),
    ]
}

/// Calls in tags of which none may change a file.
const TAGS: &[(&str, &str)] = &[
    (
        "a mode",
        "<write_to_file>\n<path>src/cart.rs</path>\n<mode>append</mode>\n<content>\npub fn total() {}\n</content>\n</write_to_file>\n",
    ),
    (
        "apply",
        "<write_to_file>\n<path>src/cart.rs</path>\n<apply>false</apply>\n<content>\npub fn total() {}\n</content>\n</write_to_file>\n",
    ),
    (
        "another tool",
        "<append_to_end>\n<path>src/cart.rs</path>\n<content>\npub fn total() {}\n</content>\n</append_to_end>\n",
    ),
    (
        "a comment",
        "<comment>\n<path>src/cart.rs</path>\n<content>\nlooks fine\n</content>\n</comment>\n",
    ),
    (
        "a finding",
        "<finding>\n<path>src/cart.rs</path>\n<content>unused import</content>\n</finding>\n",
    ),
    (
        "a document",
        "<document>\n<path>src/cart.rs</path>\n<content>\npub fn total() {}\n</content>\n</document>\n",
    ),
    (
        "a view",
        "<function=str_replace_editor>\n<parameter=command>view</parameter>\n<parameter=path>src/cart.rs</parameter>\n</function>\n\n\
     `src/cart.rs`\n```rust\npub fn total() {}\n```\n",
    ),
    (
        "a dry run",
        "<function=str_replace_editor>\n<parameter=command>create</parameter>\n<parameter=path>src/cart.rs</parameter>\n\
     <parameter=file_text>pub fn total() {}\n</parameter>\n<parameter=dry_run>true</parameter>\n</function>\n",
    ),
    (
        "an example",
        "For example:\n\n```xml\n<write_to_file>\n<path>src/cart.rs</path>\n<content>\npub fn total() {}\n</content>\n</write_to_file>\n```\n",
    ),
];

#[test]
fn a_call_that_does_not_write_replaces_no_file() {
    let base = base();
    let mut failures = Failures::default();
    for (name, call) in calls() {
        let forms = [
            call.to_string(),
            format!("I looked at it.\n\n```json\n{call:#}\n```\n\nThat is all.\n"),
            format!("<tool_call>\n{call}\n</tool_call>\n"),
            json!([call]).to_string(),
        ];
        for answer in forms {
            let got = outcome(&answer, &base);
            failures.check(changes_nothing(&got), name, &answer, &got);
        }
    }
    for (name, answer) in TAGS {
        let got = outcome(answer, &base);
        failures.check(changes_nothing(&got), name, answer, &got);
    }
    failures.assert_none(180);
}

/// A call that does more than edit refuses the answer, and a call that only reads does not matter.
#[test]
fn a_call_beside_a_good_edit_is_refused_or_only_reads() {
    let base = base();
    let mut failures = Failures::default();
    let good = edit(&json!({}));
    let alone = outcome(&good.to_string(), &base);
    assert!(!alone.is_refused(), "{alone:?}");
    let others = [
        (true, call("exec_command", &json!({"cmd": "git rm src/store.go"}))),
        (
            true,
            call("shell", &json!({"command": ["sed", "-i", "s/a/b/", PATH]})),
        ),
        (true, call("run_terminal_cmd", &json!({"command": "rm -r docs"}))),
        (true, write("append_text", &json!({}))),
        (false, call("read_file", &json!({"path": PATH}))),
        (false, call("view", &json!({"path": PATH}))),
        (
            false,
            call("str_replace_editor", &json!({"command": "view", "path": PATH})),
        ),
    ];
    for (refused, other) in others {
        for list in [json!([other, good]), json!([good, other])] {
            let answer = list.to_string();
            let got = outcome(&answer, &base);
            let holds = if refused { got.is_refused() } else { got == alone };
            failures.check(holds, "a call beside an edit", &answer, &got);
        }
    }
    failures.assert_none(14);
}

/// Arguments that change the meaning are obeyed, and remarks are ignored.
#[test]
fn known_arguments_are_obeyed() {
    let base = base();
    let mut failures = Failures::default();
    let text = |path: &str| String::from_utf8_lossy(&base.tree[path].1).into_owned();
    let once = Outcome::of(&[(PATH, &text(PATH).replace("        10\n", "        20\n"))]);
    let places = |more: &Value| {
        let mut arguments = json!({"file_path": PATH, "old_string": "self.items", "new_string": "self.rows"});
        merge(&mut arguments, more);
        call("Edit", &arguments)
    };
    let two = |more: &Value| {
        let mut arguments = json!({"file_path": PATH, "old_string": "usize", "new_string": "u64"});
        merge(&mut arguments, more);
        call("Edit", &arguments)
    };
    let all_self = json!({"file_path": PATH, "old_string": "&self", "new_string": "&mut self"});
    let with = |more: &Value| {
        let mut arguments = all_self.clone();
        merge(&mut arguments, more);
        call("Edit", &arguments)
    };
    let all = Outcome::of(&[(PATH, &text(PATH).replace("&self", "&mut self"))]);
    let items = Outcome::of(&[(PATH, &text(PATH).replace("self.items", "self.rows"))]);
    let sizes = Outcome::of(&[(PATH, &text(PATH).replace("usize", "u64"))]);
    let new = |more: &Value| {
        let mut arguments = json!({"path": "src/new.rs", "content": LINES});
        merge(&mut arguments, more);
        call("write_file", &arguments)
    };
    let created = Outcome::of(&[("src/new.rs", LINES)]);
    let rows = [
        (&all, with(&json!({"replace_all": true}))),
        (&all, with(&json!({"expected_replacements": 2}))),
        (&all, with(&json!({"allow_multiple": true}))),
        (&items, places(&json!({"replace_all": true}))),
        (&sizes, two(&json!({"replace_all": false}))),
        (&sizes, two(&json!({"expected_replacements": 1}))),
        (&once, edit(&json!({"dry_run": false}))),
        (&once, edit(&json!({"dryRun": false}))),
        (&once, edit(&json!({"apply": true}))),
        // An unknown argument beside an old text that is there once.
        (&once, edit(&json!({"confidence": 0.9}))),
        (&once, edit(&json!({"security_risk": "LOW"}))),
        // Remarks of a call that writes.
        (
            &created,
            new(&json!({"explanation": "a helper", "summary": "one function"})),
        ),
        (&created, new(&json!({"security_risk": "LOW", "reason": "asked"}))),
        (&created, new(&json!({"description": "a helper"}))),
    ];
    for (wanted, call) in rows {
        let answer = call.to_string();
        let got = outcome(&answer, &base);
        failures.check(got == *wanted, "an argument", &answer, &got);
    }
    failures.assert_none(14);
}
