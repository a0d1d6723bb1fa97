//! Answers as real models and agents write them: every form with its one right result, or its refusal.
//!
//! Owns: the forms. Each is written for several edits. Never: repeats the damage of `wide`.

mod odd;
mod refused;

use agentos_landing::{LandOptions, land};
use serde_json::{Value, json};

use crate::memory::Memory;

/// An edit of one file.
struct Edit {
    path: &'static str,
    base: &'static str,
    /// First line of the old text.
    line: usize,
    /// Heading above it.
    heading: &'static str,
    /// Lines that change, with lines around them.
    old: &'static str,
    new: &'static str,
}

const EDITS: &[Edit] = &[
    Edit {
        path: "src/cart.rs",
        base: "use std::fmt;\n\npub struct Cart {\n    items: Vec<u32>,\n}\n\nimpl Cart {\n    pub fn total(&self) -> u32 {\n        \
               self.items.iter().sum()\n    }\n\n    pub fn len(&self) -> usize {\n        self.items.len()\n    }\n}\n",
        line: 8,
        heading: "impl Cart {",
        old: "    pub fn total(&self) -> u32 {\n        self.items.iter().sum()\n    }\n",
        new: "    pub fn total(&self) -> u32 {\n        let sum: u32 = self.items.iter().copied().sum();\n        sum.max(1)\n    }\n",
    },
    Edit {
        path: "app/views.py",
        base: "import json\n\n\ndef index(request):\n    name = request.get(\"name\")\n    return render(name)\n\n\n\
               def detail(request, key):\n    item = find(key)\n    return render(item)\n",
        line: 9,
        heading: "def detail(request, key):",
        old: "def detail(request, key):\n    item = find(key)\n    return render(item)\n",
        new: "def detail(request, key):\n    item = find(key)\n    if item is None:\n        raise NotFound(key)\n\n    return render(item)\n",
    },
    Edit {
        path: "deploy/config.yml",
        base: "service:\n  name: shop\n  port: 8080\n  replicas: 2\nlogging:\n  level: info\n  format: \"json\"\n",
        line: 3,
        heading: "service:",
        old: "  port: 8080\n  replicas: 2\nlogging:\n",
        new: "  port: 9090\n  replicas: 3\n  probe: /health\nlogging:\n",
    },
];

impl Edit {
    fn full(&self) -> String {
        self.base.replacen(self.old, self.new, 1)
    }

    /// The body of a hunk: removed lines above added ones.
    fn body(&self) -> String {
        let marked = |mark: &str, text: &str| -> String {
            text.lines().map(|line| format!("{mark}{line}\n")).collect()
        };
        marked("-", self.old) + &marked("+", self.new)
    }

    fn counted(&self) -> String {
        let count = |text: &str| text.lines().count();
        let line = self.line;
        format!(
            "@@ -{line},{} +{line},{} @@ {}\n{}",
            count(self.old),
            count(self.new),
            self.heading,
            self.body()
        )
    }

    fn blocks(&self) -> String {
        format!(
            "<<<<<<< SEARCH\n{}=======\n{}>>>>>>> REPLACE\n",
            self.old, self.new
        )
    }

    fn envelope(&self) -> String {
        format!(
            "*** Begin Patch\n*** Update File: {}\n@@ {}\n{}*** End Patch\n",
            self.path,
            self.heading,
            self.body()
        )
    }
}

/// A form: its name, and the answer in it.
type Form = (&'static str, fn(&Edit) -> String);

fn claude_call(edit: &Edit, path: String) -> Value {
    json!({"type": "tool_use", "id": "toolu_01", "name": "str_replace_based_edit_tool", "input": {
        "command": "str_replace", "path": path, "old_str": edit.old, "new_str": edit.new}})
}

const DIFFS: &[Form] = &[
    ("git diff", |edit| {
        let Edit { path, .. } = edit;
        format!(
            "diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n{}",
            edit.counted()
        )
    }),
    ("unified diff in a fence", |edit| {
        let Edit { path, .. } = edit;
        format!(
            "Here is the change:\n\n```diff\n--- a/{path}\n+++ b/{path}\n{}```\n\nIt works now.\n",
            edit.counted()
        )
    }),
    ("names without prefixes", |edit| {
        let Edit { path, .. } = edit;
        format!("```diff\n--- {path}\n+++ {path}\n{}```\n", edit.counted())
    }),
    ("names of a container", |edit| {
        let Edit { path, .. } = edit;
        format!(
            "```diff\n--- /workspace/shop/{path}\n+++ /workspace/shop/{path}\n{}```\n",
            edit.counted()
        )
    }),
    ("aider udiff", |edit| {
        let Edit { path, .. } = edit;
        format!("```diff\n--- {path}\n+++ {path}\n@@ ... @@\n{}```\n", edit.body())
    }),
    ("no line of numbers", |edit| {
        let Edit { path, .. } = edit;
        format!("```diff\n--- a/{path}\n+++ b/{path}\n{}```\n", edit.body())
    }),
    ("carriage returns of a web form", |edit| {
        let Edit { path, .. } = edit;
        format!("--- a/{path}\n+++ b/{path}\n{}", edit.counted()).replace('\n', "\r\n")
    }),
    ("thoughts above", |edit| {
        let Edit { path, .. } = edit;
        format!(
            "<think>\nMaybe `{path}` needs more.\n</think>\n--- a/{path}\n+++ b/{path}\n{}",
            edit.counted()
        )
    }),
    ("diff in tags", |edit| {
        let Edit { path, .. } = edit;
        format!("<diff>\n--- a/{path}\n+++ b/{path}\n{}</diff>\n", edit.counted())
    }),
    ("mail", |edit| {
        let Edit { path, .. } = edit;
        format!(
            "From 1111111111111111111111111111111111111111 Mon Sep 17 00:00:00 2001\nFrom: A <a@b.c>\nSubject: [PATCH] x\n\n---\n \
             {path} | 3 ++-\n\ndiff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n{}-- \n2.43.0\n",
            edit.counted()
        )
    }),
];

/// Models of local servers, shells and chats.
const MORE: &[Form] = &[
    ("heading behind the marks", |edit| {
        let Edit { path, heading, .. } = edit;
        format!("--- a/{path}\n+++ b/{path}\n@@ {heading}\n{}", edit.body())
    }),
    ("heading between the marks", |edit| {
        let Edit { path, heading, .. } = edit;
        format!("--- a/{path}\n+++ b/{path}\n@@ {heading} @@\n{}", edit.body())
    }),
    ("a first context line without its blank", |edit| {
        let Edit { path, .. } = edit;
        let above = edit.base.lines().nth(edit.line - 2).unwrap_or_default();
        let count = |text: &str| text.lines().count() + 1;
        format!(
            "--- a/{path}\n+++ b/{path}\n@@ -{},{} +{},{} @@\n{above}\n{}",
            edit.line - 1,
            count(edit.old),
            edit.line - 1,
            count(edit.new),
            edit.body()
        )
    }),
    ("two blocks below one path", |edit| {
        let first = edit.base.lines().next().unwrap_or_default();
        format!(
            "{}\n```\n{}\n<<<<<<< SEARCH\n{first}\n=======\n{first}\n>>>>>>> REPLACE\n```\n",
            edit.path,
            edit.blocks()
        )
    }),
    ("here-document to the file", |edit| {
        format!("```bash\ncat > {} <<'EOF'\n{}EOF\n```\n", edit.path, edit.full())
    }),
    ("edits in JSON between prose", |edit| {
        let edits = json!({"edits": [{"path": edit.path, "search": edit.old, "replace": edit.new}]});
        format!("Here it is:\n{edits}\nIt works now.\n")
    }),
    ("edits in JSON above a sentence", |edit| {
        let edits = json!({"edits": [{"path": edit.path, "search": edit.old, "replace": edit.new}]});
        format!("{edits}\n\nIt works now.\n")
    }),
    ("Codex shell call", |edit| {
        let arguments =
            json!({"command": ["bash", "-lc", format!("apply_patch <<'EOF'\n{}EOF\n", edit.envelope())]});
        json!({"type": "function_call", "name": "shell", "arguments": arguments.to_string()}).to_string()
    }),
    ("Copilot replace_string_in_file", |edit| {
        json!({"name": "replace_string_in_file", "arguments": {"filePath": format!("/home/dana/shop/{}", edit.path),
            "oldString": edit.old, "newString": edit.new, "explanation": "change it"}})
        .to_string()
    }),
    ("Copilot multi_replace_string_in_file", |edit| {
        json!({"name": "multi_replace_string_in_file", "arguments": {"explanation": "change it", "replacements": [
            {"filePath": edit.path, "oldString": edit.old, "newString": edit.new, "explanation": "change it"}]}})
        .to_string()
    }),
    ("Windsurf chunks as text", |edit| {
        let chunks =
            json!([{"AllowMultiple": false, "TargetContent": edit.old, "ReplacementContent": edit.new}]);
        json!({"name": "replace_file_content", "arguments": {"TargetFile": edit.path, "ReplacementChunks": chunks.to_string()}})
            .to_string()
    }),
    ("Roo search_and_replace", |edit| {
        format!(
            "<search_and_replace>\n<path>{}</path>\n<search>{}</search>\n<replace>{}</replace>\n</search_and_replace>\n",
            edit.path, edit.old, edit.new
        )
    }),
    ("OpenHands", |edit| {
        format!(
            "I edit it.\n\n<function=str_replace_editor>\n<parameter=command>str_replace</parameter>\n\
             <parameter=path>/workspace/shop/{}</parameter>\n<parameter=old_str>{}</parameter>\n<parameter=new_str>{}</parameter>\n\
             </function>\n",
            edit.path, edit.old, edit.new
        )
    }),
    ("Qwen Coder", |edit| {
        format!(
            "<tool_call>\n<function=edit>\n<parameter=path>\n{}\n</parameter>\n<parameter=old_str>\n{}\n</parameter>\n\
             <parameter=new_str>\n{}\n</parameter>\n</function>\n</tool_call>\n",
            edit.path, edit.old, edit.new
        )
    }),
    ("Qwen and Hermes", |edit| {
        let call = claude_call(edit, edit.path.to_owned());
        format!("I edit it.\n<tool_call>\n{call}\n</tool_call>\n")
    }),
    ("Mistral", |edit| {
        format!("[TOOL_CALLS][{}]", claude_call(edit, edit.path.to_owned()))
    }),
    ("Llama", |edit| {
        format!("<|python_tag|>{}", claude_call(edit, edit.path.to_owned()))
    }),
    ("a call between prose", |edit| {
        let call = claude_call(edit, edit.path.to_owned());
        format!("I do it:\n\n{call}\n\nDone.\n")
    }),
    ("file below a comment", |edit| {
        format!("Here it is:\n\n```text\n# {}\n{}```\n", edit.path, edit.full())
    }),
    ("file below a comment and a gap", |edit| {
        format!("```text\n// File: {}\n\n{}```\n", edit.path, edit.full())
    }),
];

const BLOCKS: &[Form] = &[
    ("aider block", |edit| {
        format!("{}\n```\n{}```\n", edit.path, edit.blocks())
    }),
    ("path in the fence", |edit| {
        format!("```\n{}\n{}```\n", edit.path, edit.blocks())
    }),
    ("path on the fence", |edit| {
        format!("```text {}\n{}```\n", edit.path, edit.blocks())
    }),
    ("block below a list item", |edit| {
        format!(
            "I will change one function.\n\n1. **`{}`**\n\n```\n{}```\n\nThat is all.\n",
            edit.path,
            edit.blocks()
        )
    }),
    ("Cline replace_in_file", |edit| {
        format!(
            "<replace_in_file>\n<path>{}</path>\n<diff>\n------- SEARCH\n{}=======\n{}+++++++ REPLACE\n</diff>\n</replace_in_file>\n",
            edit.path, edit.old, edit.new
        )
    }),
    ("Cline replace_in_file of earlier versions", |edit| {
        format!(
            "I will edit the file.\n\n<replace_in_file>\n<path>{}</path>\n<diff>\n{}</diff>\n</replace_in_file>\n",
            edit.path,
            edit.blocks()
        )
    }),
    ("Roo apply_diff", |edit| {
        format!(
            "<apply_diff>\n<path>{}</path>\n<diff>\n<<<<<<< SEARCH\n:start_line:{}\n-------\n{}=======\n{}>>>>>>> REPLACE\n</diff>\n\
             </apply_diff>\n",
            edit.path, edit.line, edit.old, edit.new
        )
    }),
    ("Roo apply_diff of several files", |edit| {
        format!(
            "<apply_diff>\n<args>\n<file>\n  <path>{}</path>\n  <diff>\n    <content>\n<<<<<<< SEARCH\n{}=======\n{}>>>>>>> REPLACE\n    \
             </content>\n  </diff>\n</file>\n</args>\n</apply_diff>\n",
            edit.path, edit.old, edit.new
        )
    }),
    ("apply_patch", Edit::envelope),
    ("apply_patch in a shell", |edit| {
        format!("```bash\napply_patch <<'EOF'\n{}EOF\n```\n", edit.envelope())
    }),
    ("apply_patch in a fence", |edit| {
        format!("Done:\n\n```\n{}```\n", edit.envelope())
    }),
];

const CALLS: &[Form] = &[
    ("edits in JSON", |edit| {
        json!({"edits": [{"path": edit.path, "search": edit.old, "replace": edit.new}]}).to_string()
    }),
    ("Claude str_replace", |edit| {
        claude_call(edit, edit.path.to_owned()).to_string()
    }),
    ("Claude str_replace in a container", |edit| {
        claude_call(edit, format!("/workspace/shop/{}", edit.path)).to_string()
    }),
    ("Claude message with a view", |edit| {
        json!({"role": "assistant", "content": [
            {"type": "text", "text": "I will look, then edit."},
            {"type": "tool_use", "id": "a", "name": "str_replace_based_edit_tool", "input": {"command": "view", "path": edit.path}},
            claude_call(edit, format!("/repo/{}", edit.path)),
        ]})
        .to_string()
    }),
    ("Claude Code Edit", |edit| {
        json!({"type": "tool_use", "name": "Edit", "input": {"file_path": format!("/home/dana/shop/{}", edit.path),
            "old_string": edit.old, "new_string": edit.new, "replace_all": false}})
        .to_string()
    }),
    ("Claude Code MultiEdit", |edit| {
        json!({"name": "MultiEdit", "input": {"file_path": edit.path,
            "edits": [{"old_string": edit.old, "new_string": edit.new}]}})
        .to_string()
    }),
    ("Claude Code Write", |edit| {
        json!({"name": "Write", "input": {"file_path": format!("/home/dana/shop/{}", edit.path), "content": edit.full()}}).to_string()
    }),
    ("Claude create", |edit| {
        json!({"name": "str_replace_based_edit_tool", "input": {"command": "create", "path": edit.path, "file_text": edit.full()}})
            .to_string()
    }),
    ("Claude in tags", |edit| {
        format!(
            "<function_calls>\n<invoke name=\"str_replace_based_edit_tool\">\n<parameter name=\"command\">str_replace</parameter>\n\
             <parameter name=\"path\">{}</parameter>\n<parameter name=\"old_str\">{}</parameter>\n<parameter name=\"new_str\">{}</parameter>\n\
             </invoke>\n</function_calls>\n",
            edit.path, edit.old, edit.new
        )
    }),
    ("arguments in a fence", |edit| {
        let call =
            json!({"command": "str_replace", "path": edit.path, "old_str": edit.old, "new_str": edit.new});
        format!(
            "I call the edit tool:\n\n```json\n{}\n```\n",
            serde_json::to_string_pretty(&call).expect("json")
        )
    }),
    ("OpenAI function_call", |edit| {
        let arguments = json!({"input": edit.envelope()}).to_string();
        json!([{"type": "function_call", "name": "apply_patch", "call_id": "c", "arguments": arguments}])
            .to_string()
    }),
    ("OpenAI tool_calls", |edit| {
        let arguments = json!({"patch": edit.envelope()}).to_string();
        json!({"role": "assistant", "tool_calls": [{"id": "1", "type": "function",
            "function": {"name": "apply_patch", "arguments": arguments}}]})
        .to_string()
    }),
    ("OpenAI apply_patch_call", |edit| {
        let diff = format!("@@ {}\n{}", edit.heading, edit.body());
        json!({"type": "apply_patch_call", "operation": {"type": "update_file", "path": edit.path, "diff": diff}}).to_string()
    }),
    ("Gemini replace", |edit| {
        json!({"functionCall": {"name": "replace", "args": {"file_path": format!("/home/dana/shop/{}", edit.path),
            "old_string": edit.old, "new_string": edit.new, "instruction": "change it"}}})
        .to_string()
    }),
    ("Gemini write_file", |edit| {
        json!({"functionCall": {"name": "write_file", "args": {"file_path": edit.path, "content": edit.full()}}}).to_string()
    }),
    ("Cursor search_replace", |edit| {
        json!({"name": "search_replace", "arguments": {"file_path": edit.path, "old_string": edit.old, "new_string": edit.new}})
            .to_string()
    }),
    ("Windsurf replace_file_content", |edit| {
        json!({"name": "replace_file_content", "arguments": {"TargetFile": format!("/Users/dana/shop/{}", edit.path),
            "CodeMarkdownLanguage": "text", "Instruction": "change it",
            "ReplacementChunks": [{"AllowMultiple": false, "TargetContent": edit.old, "ReplacementContent": edit.new}]}})
        .to_string()
    }),
    ("Windsurf write_to_file", |edit| {
        json!({"name": "write_to_file", "arguments": {"TargetFile": edit.path, "CodeContent": edit.full(), "EmptyFile": false}})
            .to_string()
    }),
    ("Zed edit_file", |edit| {
        json!({"name": "edit_file", "input": {"path": edit.path, "mode": "edit", "display_description": "change it",
            "edits": [{"old_text": edit.old, "new_text": edit.new}]}})
        .to_string()
    }),
    ("Cline write_to_file", |edit| {
        format!(
            "<write_to_file>\n<path>{}</path>\n<content>\n{}</content>\n<line_count>9</line_count>\n</write_to_file>\n",
            edit.path,
            edit.full()
        )
    }),
];

const WHOLE: &[Form] = &[
    ("file below its name", |edit| {
        format!("`{}`\n\n```\n{}```\n", edit.path, edit.full())
    }),
    ("file below a heading", |edit| {
        format!("### {}\n\n```text\n{}```\n", edit.path, edit.full())
    }),
    ("file below a bold name", |edit| {
        format!("**{}**\n\n```text\n{}```\n", edit.path, edit.full())
    }),
    ("file below a bold label", |edit| {
        format!("**File: {}**\n\n```text\n{}```\n", edit.path, edit.full())
    }),
    ("file below a bold label and a name", |edit| {
        format!("**File:** `{}`\n\n```text\n{}```\n", edit.path, edit.full())
    }),
    ("file below a name with a note", |edit| {
        format!("#### `{}` (updated)\n\n```text\n{}```\n", edit.path, edit.full())
    }),
    ("file named on the fence", |edit| {
        format!("```text:{}\n{}```\n", edit.path, edit.full())
    }),
    ("file below a sentence", |edit| {
        format!("Update `{}`:\n\n```text\n{}```\n", edit.path, edit.full())
    }),
];

/// Shows every answer of the table with its base.
pub fn each_answer(show: &mut dyn FnMut(&[u8], &Memory)) {
    let files: Vec<(&str, &[u8])> = EDITS
        .iter()
        .map(|edit| (edit.path, edit.base.as_bytes()))
        .collect();
    for (_, write) in [DIFFS, MORE, BLOCKS, CALLS, WHOLE].into_iter().flatten() {
        for edit in EDITS {
            show(write(edit).as_bytes(), &Memory::of(&files));
        }
    }
    for odd in odd::all() {
        show(&odd.answer, &odd.base());
    }
}

#[test]
fn every_form_of_real_answers_has_its_one_right_result() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for (name, write) in [DIFFS, MORE, BLOCKS, CALLS, WHOLE].into_iter().flatten() {
        for edit in EDITS {
            let files: Vec<(&str, &[u8])> = EDITS
                .iter()
                .map(|edit| (edit.path, edit.base.as_bytes()))
                .collect();
            let base = Memory::of(&files);
            let answer = write(edit);
            count += 1;
            match land(answer.as_bytes(), &base, &LandOptions::default()) {
                Ok(landed) => {
                    let after = base.after(&landed.change);
                    let got = String::from_utf8_lossy(&after[edit.path].1).into_owned();
                    if got != edit.full() || after.len() != EDITS.len() {
                        wrong.push(format!("WRONG {name} {}\n{answer}\nGOT\n{got}", edit.path));
                    }
                }
                Err(error) => wrong.push(format!("REFUSED {name} {}: {error}", edit.path)),
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {count}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(count > 200, "{count}");
}

#[test]
fn several_forms_in_one_answer_land_together() {
    let base = || Memory::of(&[("a.rs", b"fn a() {}\n"), ("b.rs", b"fn b() {}\n")]);
    let diff = "```diff\n--- a/a.rs\n+++ b/a.rs\n@@ -1 +1 @@\n-fn a() {}\n+fn a() { 1 }\n```\n";
    let block = "b.rs\n<<<<<<< SEARCH\nfn b() {}\n=======\nfn b() { 1 }\n>>>>>>> REPLACE\n";
    let edits = json!({"edits": [{"path": "b.rs", "search": "b() {}", "replace": "b() { 1 }"}]});
    let call = json!({"name": "Edit", "input": {"file_path": "b.rs", "old_string": "b() {}", "new_string": "b() { 1 }"}});
    let envelope = "*** Begin Patch\n*** Update File: b.rs\n@@\n-fn b() {}\n+fn b() { 1 }\n*** End Patch\n";
    let whole = "Here is the complete `b.rs`:\n\n```rust\nfn b() { 1 }\n```\n";
    let forms = [
        format!("{diff}\n{block}"),
        format!("{diff}\n```json\n{edits}\n```\n"),
        format!("{diff}\n```json\n{call}\n```\n"),
        format!("{diff}\n{call}\n"),
        format!("{diff}\n{envelope}"),
        format!("{diff}\n{whole}"),
        format!(
            "{diff}\n{}",
            whole.replace(
                "Here is the complete `b.rs`:",
                "The complete file:\n\n**File:** `b.rs`"
            )
        ),
        format!(
            "{diff}\n{}",
            whole.replace("Here is the complete `b.rs`:", "`b.rs` (complete file)")
        ),
    ];
    for answer in forms {
        let base = base();
        let landed = land(answer.as_bytes(), &base, &LandOptions::default());
        let landed = landed.unwrap_or_else(|error| panic!("{error}\n{answer}"));
        let after = base.after(&landed.change);
        let text = |path: &str| String::from_utf8_lossy(&after[path].1).into_owned();
        let got = (text("a.rs"), text("b.rs"));
        assert_eq!(
            got,
            ("fn a() { 1 }\n".to_owned(), "fn b() { 1 }\n".to_owned()),
            "{answer}"
        );
    }
}
