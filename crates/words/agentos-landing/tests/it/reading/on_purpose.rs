//! Results whose text shows on purpose what the check of results refuses elsewhere: none of them is refused.
//!
//! Owns: 100 such results. Never: shows a form that itself looks like the text, such as search/replace blocks with conflict
//! markers in them.

use serde_json::json;

use super::{Failures, Outcome, outcome};
use crate::memory::Memory;

/// A file before and after. An empty text before means a new file.
pub struct Purpose {
    pub path: &'static str,
    pub before: String,
    pub after: String,
}

pub const CONFLICT: &str = "<<<<<<< HEAD\nx = 1\n=======\nx = 2\n>>>>>>> feature\n";

pub fn new(path: &'static str, after: &str) -> Purpose {
    Purpose {
        path,
        before: String::new(),
        after: after.to_owned(),
    }
}

pub fn edit(path: &'static str, before: &str, after: &str) -> Purpose {
    Purpose {
        path,
        before: before.to_owned(),
        after: after.to_owned(),
    }
}

fn purposes() -> Vec<Purpose> {
    let merge_test =
        format!("TEXT = '''\n{CONFLICT}'''\n\n\ndef test_merge():\n    assert merge(TEXT) == 1\n");
    let second = merge_test.replace(
        "def test_merge",
        &format!("OTHER = '''\n{CONFLICT}'''\n\n\ndef test_merge"),
    );
    let fenced = "```sh\nnpm install\n```\n\nThen start it:\n\n```sh\nnpm start\n```\n";
    let stub = "class Store:\n    ...\n\ndef load(path: str) -> Store: ...\n";
    vec![
        // Conflict markers that the base has, and files of conflicts for tests.
        edit(
            "tests/test_merge.py",
            &merge_test,
            &merge_test.replace("== 1", "== 2"),
        ),
        edit("tests/test_merge.py", &merge_test, &second),
        edit(
            "docs/merging.md",
            &format!("# Merging\n\nGit writes\n\n{CONFLICT}\nThen edit it.\n"),
            &format!("# Merging\n\nGit writes this:\n\n{CONFLICT}\nThen edit it.\n"),
        ),
        new("tests/fixtures/conflict.txt", CONFLICT),
        new(
            "tests/fixtures/merge/both.py",
            &format!("import os\n{CONFLICT}print(x)\n"),
        ),
        new("src/testdata/conflict.txt", CONFLICT),
        edit(
            "tests/fixtures/plain.txt",
            "one\ntwo\n",
            &format!("one\n{CONFLICT}two\n"),
        ),
        // A line of seven equal signs that is a heading, or a rule.
        new("docs/install.rst", "Install\n=======\n\nRun it.\n"),
        edit(
            "docs/start.rst",
            "Start\n=====\n\nRun it.\n",
            "Restart\n=======\n\nRun it again.\n",
        ),
        edit(
            "docs/usage.md",
            "# Usage\n\nRun it.\n",
            "# Usage\n\nRun it.\n\nOptions\n=======\n\nNone.\n",
        ),
        edit("notes.txt", "first\n", "first\n\n=======\nsecond\n=======\n"),
        // Pages that begin and end with a fence.
        new("docs/quick.md", fenced),
        edit("docs/run.md", "Start it.\n", fenced),
        edit(
            "docs/run.md",
            fenced,
            &fenced.replace("npm start", "npm run start"),
        ),
        new("docs/code.markdown", "```python\nprint(1)\n```\n"),
        // CDATA where the format has it.
        edit(
            "conf/a.xml",
            "<a>\n  <q>1</q>\n</a>\n",
            "<a>\n  <q><![CDATA[\n1 < 2\n]]></q>\n</a>\n",
        ),
        edit(
            "conf/part.xml",
            "<![CDATA[\na < b\nsecond\n]]>\n",
            "<![CDATA[\na < c\nsecond\n]]>\n",
        ),
        new(
            "conf/new.svg",
            "<svg>\n<style><![CDATA[\na > b {}\n]]></style>\n</svg>\n",
        ),
        // Numbers that belong to the text.
        edit(
            "docs/steps.md",
            "# Steps\n\nNone yet.\n",
            "# Steps\n\n1. open\n2. write\n3. close\n4. send\n",
        ),
        edit(
            "data/rows.tsv",
            "1\talpha\n2\tbeta\n",
            "1\talpha\n2\tbeta\n3\tgamma\n4\tdelta\n5\tepsilon\n",
        ),
        new("docs/list.rst", "Steps:\n\n1. open\n2. write\n3. close\n"),
        edit(
            "todo.txt",
            "1: look\n2: write\n",
            "1: look\n2: write\n3: test\n4: send\n",
        ),
        edit(
            "src/names.py",
            "NAMES = {\n    1: \"one\",\n    2: \"two\",\n}\n",
            "NAMES = {\n    1: \"one\",\n    2: \"two\",\n    3: \"three\",\n    4: \"four\",\n    5: \"five\",\n}\n",
        ),
        // Marks of chat templates are for policy to ask about.
        edit(
            "tok/special.json",
            "{\n  \"<|im_start|>\": 1,\n  \"<|im_end|>\": 2\n}\n",
            "{\n  \"<|im_start|>\": 1,\n  \"<|im_end|>\": 2,\n  \"<|endoftext|>\": 3\n}\n",
        ),
        edit(
            "tok/marks.py",
            "MARKS = [\n    \"<|im_start|>\",\n    \"<think>\",\n]\n",
            "MARKS = [\n    \"<|im_start|>\",\n    \"<think>\",\n    \"</think>\",\n    \"[TOOL_CALLS]\",\n]\n",
        ),
        new(
            "tok/added_tokens.json",
            "[\n  \"<|user|>\",\n  \"<|assistant|>\",\n  \"<|end|>\"\n]\n",
        ),
        // Dots that are code or prose.
        new("stubs/store.pyi", stub),
        edit(
            "stubs/store.pyi",
            stub,
            &format!("{stub}def save(store: Store) -> None: ...\n"),
        ),
        edit(
            "src/proto.py",
            "class P:\n    def a(self) -> int:\n        ...\n",
            "class P:\n    def a(self) -> int:\n        ...\n\n    def b(self) -> int:\n        ...\n",
        ),
        edit("src/rest.js", "f(a)\n", "f(a, ...rest)\n"),
        edit(
            "docs/log.md",
            "# Log\n\nFirst.\n",
            "# Log\n\nFirst.\n\nThe other styles remain unchanged.\n",
        ),
    ]
}

/// The diff that replaces everything between the first and the last line that differ.
fn diff(purpose: &Purpose) -> String {
    let Purpose { path, before, after } = purpose;
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let head = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let rest = (old.len().min(new.len())) - head;
    let tail = old
        .iter()
        .rev()
        .zip(new.iter().rev())
        .take(rest)
        .take_while(|(old, new)| old == new)
        .count();
    let mut lines = String::new();
    let mut write = |mark: char, part: &[&str]| {
        lines.extend(part.iter().map(|line| format!("{mark}{line}\n")));
    };
    write(' ', &old[..head]);
    write('-', &old[head..old.len() - tail]);
    write('+', &new[head..new.len() - tail]);
    write(' ', &old[old.len() - tail..]);
    let (from, at) = if before.is_empty() {
        ("/dev/null".to_owned(), 0)
    } else {
        (format!("a/{path}"), 1)
    };
    format!(
        "--- {from}\n+++ b/{path}\n@@ -{at},{} +1,{} @@\n{lines}",
        old.len(),
        new.len()
    )
}

/// The dialects in which the text is not mistaken for the form.
pub fn answers(purpose: &Purpose) -> Vec<(&'static str, String)> {
    let Purpose { path, before, after } = purpose;
    let mut answers = vec![
        ("diff", diff(purpose)),
        (
            "diff in a fence",
            format!("Done:\n\n````diff\n{}````\n", diff(purpose)),
        ),
        (
            "write call",
            json!({"name": "Write", "input": {"file_path": path, "content": after}}).to_string(),
        ),
        (
            "file below its name",
            format!("Here is the complete file:\n\n`{path}`\n\n````\n{after}````\n"),
        ),
    ];
    if !before.is_empty() {
        let call =
            json!({"name": "Edit", "input": {"file_path": path, "old_string": before, "new_string": after}});
        answers.push(("call", call.to_string()));
    }
    answers
}

#[test]
fn a_text_that_shows_it_on_purpose_is_not_refused() {
    let mut failures = Failures::default();
    for purpose in purposes() {
        let mut base = Memory::of(&[("README.md", b"# Shop\n")]);
        if !purpose.before.is_empty() {
            base.put(purpose.path, "100644", purpose.before.as_bytes());
        }
        for (form, answer) in answers(&purpose) {
            let got = outcome(&answer, &base);
            let holds = got == Outcome::of(&[(purpose.path, &purpose.after)]);
            failures.check(holds, &format!("{form}: {}", purpose.path), &answer, &got);
        }
    }
    failures.assert_none(100);
}
