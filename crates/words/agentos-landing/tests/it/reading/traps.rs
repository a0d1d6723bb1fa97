//! Answers that add to a file, mention it, quote it, log it or review it: none of them replaces it.
//!
//! Owns: traps in prose and fences. Never: lets one of them pass because the policy would ask later.

use super::files::base;
use super::{Failures, Outcome, outcome};

/// Sentence above a fence, language of the fence, and its text. Each is an answer, and no part of it is a version of a
/// file.
const SNIPPETS: &[(&str, &str, &str)] = &[
    // The sentence adds.
    (
        "Append the following to the end of `src/cart.rs`:",
        "rust",
        "pub fn empty() -> Cart<u8> {\n    todo()\n}\n",
    ),
    ("At the bottom of `db/query.sql`, insert:", "sql", "OFFSET 20;\n"),
    (
        "Put this function below `first` in `src/cart.rs`:",
        "rust",
        "pub fn last(&self) -> Option<&T> {\n    self.items.last()\n}\n",
    ),
    (
        "`tests/test_marks.py` needs one more import:",
        "python",
        "import pytest\n",
    ),
    (
        "Extend `web/App.tsx` with:",
        "tsx",
        "export const Footer = () => <footer>end</footer>\n",
    ),
    (
        "### Addition to `docs/guide.md`",
        "markdown",
        "## Questions\n\nAsk us.\n",
    ),
    (
        "**src/store.go** (append)",
        "go",
        "func (s *Store[T]) Len() int {\n\treturn len(s.rows)\n}\n",
    ),
    (
        "`include/map.hpp`, new helper:",
        "cpp",
        "inline int twice(int n) { return 2 * n; }\n",
    ),
    (
        "Insert at line 12 of `src/cart.rs`:",
        "rust",
        "    // bounds are checked above\n",
    ),
    ("Prepend to `docs/guide.md`:", "", "> This page is old.\n"),
    (
        "New section for `conf/app.ini`:",
        "ini",
        "[mail]\nhost = localhost\n",
    ),
    (
        "To complete the change, `conf/app.ini` also gets:",
        "ini",
        "[cache]\nsize = 5\n",
    ),
    (
        "Complete the list in `web/index.html` with:",
        "html",
        "    <li>three</li>\n",
    ),
    (
        "The full set of new tests goes into `tests/test_marks.py`:",
        "python",
        "def test_empty():\n    assert strip(\"\") == \"\"\n",
    ),
    (
        "Further methods (added to `src/store.go`):",
        "go",
        "func (s *Store[T]) Clear() {\n\ts.rows = nil\n}\n",
    ),
    (
        "Also add these lines at the end of the whole file `conf/app.ini`:",
        "ini",
        "[trace]\non = no\n",
    ),
    // The sentence says no.
    (
        "I would not write `src/cart.rs` like this:",
        "rust",
        "static mut CART: u8 = 0;\n",
    ),
    (
        "Please do not put this into `conf/app.ini`:",
        "ini",
        "[debug]\nall = yes\n",
    ),
    ("Never save this as `docs/guide.md`:", "markdown", "# TODO\n"),
    (
        "This is not the new version of `db/query.sql`:",
        "sql",
        "SELECT 1;\n",
    ),
    (
        "I did not rewrite the complete file `src/store.go`; only this is different:",
        "go",
        "const limit = 20\n",
    ),
    (
        "`web/App.tsx` should not look like this any more:",
        "tsx",
        "export default () => null\n",
    ),
    // A log below the name of a file.
    (
        "`src/cart.rs` could not be updated, the compiler says:",
        "",
        "error[E0308]: mismatched types\n --> src/cart.rs:11:9\n",
    ),
    (
        "Saving `conf/site.xml` failed:",
        "text",
        "EACCES: permission denied, open 'conf/site.xml'\n",
    ),
    (
        "`tsc` reports for `web/App.tsx`:",
        "console",
        "web/App.tsx(6,9): error TS6133: 'open' is declared but never read.\n",
    ),
    (
        "The linter's output after the update of `tests/test_marks.py`:",
        "",
        "tests/test_marks.py:1:1: F401 'shop.strip' unused\nFound 1 error.\n",
    ),
    (
        "Stack trace through `src/store.go`:",
        "",
        "goroutine 1 [running]:\nmain.main()\n\tsrc/store.go:14 +0x1d\n",
    ),
    (
        "The whole test suite of `tests/test_marks.py` passes:",
        "text",
        "2 passed in 0.03s\n",
    ),
    (
        "For the full error in `db/query.sql` see:",
        "",
        "ERROR:  column \"note\" does not exist\nLINE 5\n",
    ),
    (
        "`git log docs/guide.md` prints:",
        "text",
        "3f1c2aa Guide: ports\n91bd002 Guide: first words\n",
    ),
    (
        "The diffstat of `conf/app.ini`:",
        "",
        " conf/app.ini | 2 +-\n 1 file changed\n",
    ),
    (
        "docs/guide.md",
        "console",
        "$ markdownlint docs/guide.md\ndocs/guide.md:1 MD041\n",
    ),
    // A use, not the file.
    (
        "To check the updated `src/cart.rs`, run:",
        "bash",
        "cargo test cart\n",
    ),
    (
        "Usage of the new function in `src/store.go`:",
        "go",
        "s := store.New[int]()\n",
    ),
    (
        "After I updated `web/App.tsx` you can write:",
        "tsx",
        "<App rows={['a']} />\n",
    ),
    (
        "Example of a page that uses `include/map.hpp`:",
        "cpp",
        "#include \"map.hpp\"\nint main() { return 0; }\n",
    ),
    (
        "`db/query.sql` is called like this:",
        "bash",
        "psql -f db/query.sql\n",
    ),
    (
        "`conf/app.ini` is created by this command:",
        "bash",
        "shop init --config conf/app.ini\n",
    ),
    (
        "Run `scripts/fresh.sh` like this:",
        "bash",
        "sh scripts/fresh.sh --all\n",
    ),
    (
        "The service writes lines like these to `logs/shop.log`:",
        "",
        "started\nstopped\n",
    ),
    (
        "I could not create `src/fresh.rs`. The error was:",
        "",
        "No space left on device\n",
    ),
    // A part of the file, old or new, or a remark about it.
    (
        "The key line in `src/cart.rs` is:",
        "rust",
        "    items: Vec<T>,\n",
    ),
    (
        "The part of `src/store.go` that was replaced used to be:",
        "go",
        "type Store struct {\n\trows []string\n}\n",
    ),
    (
        "In the previous version of `web/index.html` there was:",
        "html",
        "<table></table>\n",
    ),
    (
        "Here is the signature of the updated function in `src/cart.rs`:",
        "rust",
        "pub fn first(&self) -> Option<&T>;\n",
    ),
    (
        "`web/App.tsx` (excerpt)",
        "tsx",
        "type Props<T> = { rows: Array<T> }\n\nexport function App() {\n",
    ),
    (
        "Only the changed part of `docs/guide.md`:",
        "markdown",
        "The port is 81.\n",
    ),
    (
        "From `include/map.hpp`:",
        "cpp",
        "#pragma once\n#include <map>\n#include <vector>\n",
    ),
    (
        "The new imports of `web/App.tsx`:",
        "tsx",
        "import React, { useMemo } from 'react'\n",
    ),
    (
        "Review of `db/query.sql`:",
        "",
        "- `<>` is fine\n- the limit is low\n",
    ),
    (
        "What should be added to `docs/guide.md` one day:",
        "",
        "a page about taxes\n",
    ),
    // A title that is the path, and a block that keeps less than two thirds of the file.
    ("`src/cart.rs`", "rust", "pub fn total() -> u32 {\n    1\n}\n"),
    ("### conf/site.xml", "xml", "<port>81</port>\n"),
    ("**db/query.sql**", "sql", "LIMIT 20;\n"),
    (
        "File: tests/test_marks.py",
        "python",
        "def test_more():\n    assert True\n",
    ),
    ("conf/app.ini", "ini", "[RESULT]\nformat = json\nlimit = 20\n"),
    (
        "The store:",
        "go:src/store.go",
        "func (s *Store[T]) Len() int {\n\treturn len(s.rows)\n}\n",
    ),
    (
        "The cart:",
        "rust",
        "// src/cart.rs\npub fn total() -> u32 {\n    1\n}\n",
    ),
    // A name without dot or slash and without a mark of naming.
    ("VERSION", "", "1.2.3\n"),
    ("Release notes", "", "first release\n"),
    // Headings of a use or a log, which are no names of files.
    ("### Usage", "bash", "npm start\n"),
    ("## Example", "tsx", "<App rows={[]} />\n"),
    ("### Output", "", "2 passed\n"),
];

/// Answers of another shape.
const OTHERS: &[(&str, &str)] = &[
    (
        "a table of a review",
        "| file | finding |\n|---|---|\n| src/cart.rs | unused import |\n| db/query.sql | low limit |\n",
    ),
    (
        "a list with code below an item",
        "1. `src/cart.rs` lacks a test, such as\n\n   ```rust\n   #[test]\n   fn empty() {}\n   ```\n",
    ),
    (
        "two fences below one name",
        "`conf/app.ini`\n\nBefore I ran it:\n```\nlimit = 1\n```\nand then:\n```\nlimit = 2\n```\n",
    ),
    (
        "a script that appends",
        "```bash\ncat >> conf/app.ini <<'EOF'\n[mail]\nhost = localhost\nEOF\n```\n",
    ),
    (
        "a script that appends by tee",
        "```bash\ntee -a docs/guide.md <<'EOF'\n## More\nEOF\n```\n",
    ),
    (
        "a question",
        "Should `src/store.go` be\n\n```go\npackage store\n```\n\nor stay as it is?\n",
    ),
    (
        "a quoted wish",
        "> `docs/guide.md` should say:\n>\n> ```\n> Hello.\n> ```\n\nI have no opinion.\n",
    ),
    (
        "a template of a file",
        "A file like `conf/app.ini` has this shape:\n\n```ini\n[name]\nkey = value\n```\n",
    ),
    ("a tree", "```\nsrc/cart.rs\nsrc/store.go\ndocs/guide.md\n```\n"),
    (
        "a draft that is taken back",
        "Do not apply this:\n\n```diff\n--- a/db/query.sql\n+++ b/db/query.sql\n@@ -9 +9 @@\n-LIMIT 10;\n+LIMIT 99;\n```\n",
    ),
    (
        "an example",
        "For example:\n\n```diff\n--- a/db/query.sql\n+++ b/db/query.sql\n@@ -9 +9 @@\n-LIMIT 10;\n+LIMIT 99;\n```\n",
    ),
    (
        "a diff that was wrong",
        "This was wrong:\n\n```diff\n--- a/db/query.sql\n+++ b/db/query.sql\n@@ -9 +9 @@\n-LIMIT 10;\n+LIMIT 99;\n```\n",
    ),
    (
        "a quoted diff",
        "> --- a/db/query.sql\n> +++ b/db/query.sql\n> @@ -9 +9 @@\n> -LIMIT 10;\n> +LIMIT 99;\n\nThat is what Ana sent; I would wait.\n",
    ),
];

/// Returns true if the answer is refused, or lands and changes nothing.
pub fn changes_nothing(outcome: &Outcome) -> bool {
    outcome.is_refused() || *outcome == Outcome::of(&[])
}

#[test]
fn a_mark_of_reasoning_in_the_text_of_an_edit_ends_no_reasoning() {
    let base = base();
    let call = |text: &str| {
        let edit =
            serde_json::json!({"name": "Write", "arguments": {"file_path": "src/new.rs", "content": text}});
        format!("<tool_call>\n{edit}\n</tool_call>\n")
    };
    let draft = "src/draft.rs\n```\nlet draft = \"</think>\";\n```\n";
    let landed = |text: &str| Outcome::of(&[("src/new.rs", text)]);
    let refused = |answer: String| {
        let got = outcome(&answer, &base);
        assert!(got.is_refused(), "{answer}\n{got:?}");
    };
    // The reasoning has no end: the mark is in the file.
    refused(format!("<think>\n{draft}{}", call("// </think>\n")));
    refused(format!("<think>\n{draft}src/new.rs\n```\n</think>\n```\n"));
    // It ends behind a draft that quotes the mark.
    let answer = format!("<think>\n{draft}</think>\n{}", call("// a file\n"));
    assert_eq!(outcome(&answer, &base), landed("// a file\n"), "{answer}");
    let answer = format!("<think>\n{}</think>\n{}", call("</think>\n"), call("// a file\n"));
    assert_eq!(outcome(&answer, &base), landed("// a file\n"), "{answer}");
}

#[test]
fn brackets_in_the_path_of_a_new_file_are_a_part_of_it() {
    let base = base();
    let page = "export default 1\n";
    for path in ["app/[id]/page.tsx", "app/(shop)/page.tsx", "app/{id}/page.tsx"] {
        let answer = format!("{path}\n```tsx\n{page}```\n");
        assert_eq!(outcome(&answer, &base), Outcome::of(&[(path, page)]), "{path}");
    }
    for line in [
        "[page](app/page.tsx)",
        "include(app/page.tsx)",
        "render(page.tsx)",
    ] {
        let got = outcome(&format!("{line}\n```tsx\n{page}```\n"), &base);
        assert!(got.is_refused(), "{line}\n{got:?}");
    }
}

#[test]
fn a_snippet_replaces_no_file() {
    let base = base();
    let mut failures = Failures::default();
    for (sentence, info, text) in SNIPPETS {
        let answer = format!("{sentence}\n\n```{info}\n{text}```\n");
        let got = outcome(&answer, &base);
        failures.check(changes_nothing(&got), sentence, &answer, &got);
    }
    for (name, answer) in OTHERS {
        let got = outcome(answer, &base);
        failures.check(changes_nothing(&got), name, answer, &got);
    }
    failures.assert_none(60);
}

/// The name and the fence may stand close together, and more prose may stand around.
#[test]
fn a_snippet_replaces_no_file_whatever_stands_around() {
    let base = base();
    let mut failures = Failures::default();
    let around: [(&str, &str, &str); 4] = [
        ("", "\n", ""),
        ("I looked at it.\n\n", "\n\n", "\nThat is all.\n"),
        (
            "# Plan\n\n1. look\n2. write\n\n",
            "\n",
            "\nThe complete file is in the repository.\n",
        ),
        ("- ", "\n\n", "\n- nothing else\n"),
    ];
    for (sentence, info, text) in SNIPPETS {
        for (above, gap, below) in around {
            let answer = format!("{above}{sentence}{gap}```{info}\n{text}```\n{below}");
            let got = outcome(&answer, &base);
            failures.check(changes_nothing(&got), sentence, &answer, &got);
        }
    }
    failures.assert_none(200);
}

/// A good edit beside a snippet lands alone, or the answer is refused.
#[test]
fn a_snippet_beside_a_good_edit_replaces_no_file() {
    let base = base();
    let mut failures = Failures::default();
    let good = "```diff\n--- a/ui/Panel.vue\n+++ b/ui/Panel.vue\n@@ -5 +5 @@\n-    <br>\n+    <hr>\n```\n";
    let alone = outcome(good, &base);
    assert!(!alone.is_refused(), "{alone:?}");
    for (sentence, info, text) in SNIPPETS {
        let snippet = format!("{sentence}\n\n```{info}\n{text}```\n");
        for answer in [format!("{good}\n{snippet}"), format!("{snippet}\n{good}")] {
            let got = outcome(&answer, &base);
            failures.check(got.is_refused() || got == alone, sentence, &answer, &got);
        }
    }
    failures.assert_none(100);
}
