//! What chats, mail, terminals, editors and models do to an edit: each kind once, with what becomes of it.
//!
//! Owns: the table of kinds that can be written down. Never: repeats `wide`, which damages at random.

use agentos_landing::{LandError, LandOptions, land};

use crate::memory::Memory;

const CODE: &str =
    "use std::fmt;\n\nfn one() {\n    work(1);\n}\n\nfn two() {\n    work(2);\n    // it's \"so\"\n}\n";
const AFTER: &str =
    "use std::fmt;\n\nfn one() {\n    work(1);\n}\n\nfn two() {\n    rest(2);\n    // it's \"so\"\n}\n";

/// `landed` for the one right result, `WRONG`, or the code of the refusal.
fn outcome(answer: &str) -> String {
    let base = Memory::of(&[("src/a.rs", CODE.as_bytes()), ("notes.md", b"- item\n+ more\n")]);
    match land(answer.as_bytes(), &base, &LandOptions::default()) {
        Ok(landed) => {
            let after = base.after(&landed.change);
            let right = after.len() == 2 && &*after["src/a.rs"].1 == AFTER.as_bytes();
            if right {
                "landed".to_owned()
            } else {
                format!(
                    "WRONG {}",
                    String::from_utf8_lossy(landed.change.canonical_diff())
                )
            }
        }
        Err(LandError::Refused(report)) => {
            let refusal = report.refusal.expect("a refusal");
            format!("{}: {refusal}", refusal.code)
        }
        Err(LandError::Base(error)) => panic!("{error}"),
    }
}

const HUNK: &str =
    "@@ -7,4 +7,4 @@ fn two\n fn two() {\n-    work(2);\n+    rest(2);\n     // it's \"so\"\n }\n";
const OLD: &str = "fn two() {\n    work(2);\n";
const NEW: &str = "fn two() {\n    rest(2);\n";

fn names(old: &str, new: &str) -> String {
    format!("--- {old}\n+++ {new}\n{HUNK}")
}

fn git() -> String {
    format!(
        "diff --git a/src/a.rs b/src/a.rs\nindex 1111111..2222222 100644\n{}",
        names("a/src/a.rs", "b/src/a.rs")
    )
}

fn each(text: &str, change: impl Fn(&str) -> String) -> String {
    text.lines().map(|line| change(line) + "\n").collect()
}

/// Every kind, and its text.
fn kinds() -> Vec<(&'static str, String)> {
    let diff = names("a/src/a.rs", "b/src/a.rs");
    let bare = diff.replace(" -7,4 +7,4 @@ fn two", " @@");
    let ctx = |line: &str| line.strip_prefix(' ').unwrap_or(line).to_owned();
    vec![
        ("fence patch", format!("```patch\n{diff}```\n")),
        ("fence udiff", format!("```udiff\n{diff}```\n")),
        ("fence git", format!("```git\n{diff}```\n")),
        ("fence diff with a title", format!("```diff title=\"src/a.rs\"\n{diff}```\n")),
        ("fence of another language", format!("```rust\n{diff}```\n")),
        ("nested fences", format!("````\n```diff\n{diff}```\n````\n")),
        ("names with a carriage return", diff.replacen("a.rs\n", "a.rs\r\n", 2)),
        ("index of zeros", git().replace("1111111..2222222", "0000000..0000000")),
        ("index of dots", git().replace("1111111..2222222", "xxxxxxx..yyyyyyy")),
        ("combined diff", diff.replace("@@ -7,4 +7,4 @@ fn two", "@@@ -7,4 -7,4 +7,4 @@@")),
        ("context diff", "*** a/src/a.rs\n--- b/src/a.rs\n***************\n*** 7,10 ****\n  fn two() {\n!     work(2);\n      // it's \"so\"\n  }\n--- 7,10 ----\n  fn two() {\n!     rest(2);\n      // it's \"so\"\n  }\n".into()),
        ("normal diff", "8c8\n<     work(2);\n---\n>     rest(2);\n".into()),
        ("ed script", "8c\n    rest(2);\n.\n".into()),
        ("word diff", diff.replace("-    work(2);\n+    rest(2);\n", "     [-work(2);-]{+rest(2);+}\n")),
        ("names swapped", names("b/src/a.rs", "a/src/a.rs")),
        ("reversed", diff.replace("-    work", "!").replace("+    rest", "-    rest").replace('!', "+    work")),
        ("backslashes in names", names("a\\src\\a.rs", "b\\src\\a.rs")),
        ("absolute name", names("/home/me/project/src/a.rs", "/home/me/project/src/a.rs")),
        ("dot slash", names("./src/a.rs", "./src/a.rs")),
        ("a/./", names("a/./src/a.rs", "b/./src/a.rs")),
        ("line behind the name", names("a/src/a.rs:8", "b/src/a.rs:8")),
        ("names in backticks", names("`a/src/a.rs`", "`b/src/a.rs`")),
        ("names in bold", names("**a/src/a.rs**", "**b/src/a.rs**")),
        ("names in quotes", names("\"a/src/a.rs\"", "\"b/src/a.rs\"")),
        ("names in single quotes", names("'a/src/a.rs'", "'b/src/a.rs'")),
        ("original and modified", names("src/a.rs (original)", "src/a.rs (modified)")),
        ("old and new behind a tab", names("src/a.rs\t(original)", "src/a.rs\t(modified)")),
        ("file above a hunk", format!("File: src/a.rs\n\n```diff\n{HUNK}```\n")),
        ("path above a hunk", format!("`src/a.rs`:\n```diff\n{HUNK}```\n")),
        ("path above changed lines", "src/a.rs\n```diff\n fn two() {\n-    work(2);\n+    rest(2);\n```\n".into()),
        ("no prefix", names("src/a.rs", "src/a.rs")),
        ("mnemonic prefixes", names("i/src/a.rs", "w/src/a.rs")),
        ("blank context line without its blank", diff.replace(" fn two() {\n", "\n fn two() {\n").replace("-7,4 +7,4", "-6,5 +6,5")),
        ("context without marks", each(&diff, ctx)),
        ("context without marks, bare", each(&bare, ctx)),
        ("dots at the end", format!("{diff} ...\n")),
        ("dots without a mark", format!("{diff}...\n")),
        ("a second copy of the edge", diff.replace(" }\n", " }\n }\n")),
        ("lines of the new file", diff.replace("-7,4 +7,4", "-70,4 +7,4")),
        ("escaped line ends", diff.replace('\n', "\\n")),
        ("a JSON string", serde_json::Value::String(diff.clone()).to_string()),
        ("JSON with a diff", serde_json::json!({"diff": diff}).to_string()),
        ("JSON with a patch, fenced", format!("```json\n{}\n```\n", serde_json::json!({"patch": diff}))),
        ("tags diff", format!("<diff>\n{diff}</diff>\n")),
        ("tags with a path", format!("<diff path=\"src/a.rs\">\n{HUNK}</diff>\n")),
        ("tags old and new", format!("<edit>\n<path>src/a.rs</path>\n<old>\n{OLD}</old>\n<new>\n{NEW}</new>\n</edit>\n")),
        ("tags file", format!("<file path=\"src/a.rs\">\n{AFTER}</file>\n")),
        ("cdata", format!("<patch><![CDATA[\n{diff}]]></patch>\n")),
        ("5 marks", format!("src/a.rs\n<<<<< SEARCH\n{OLD}=====\n{NEW}>>>>> REPLACE\n")),
        ("9 marks", format!("src/a.rs\n<<<<<<<<< SEARCH\n{OLD}=========\n{NEW}>>>>>>>>> REPLACE\n")),
        ("original and updated", format!("src/a.rs\n<<<<<<< ORIGINAL\n{OLD}=======\n{NEW}>>>>>>> UPDATED\n")),
        ("head and branch", format!("src/a.rs\n<<<<<<< HEAD\n{OLD}=======\n{NEW}>>>>>>> updated\n")),
        ("lower case", format!("src/a.rs\n<<<<<<< search\n{OLD}=======\n{NEW}>>>>>>> replace\n")),
        ("a colon", format!("src/a.rs\n<<<<<<< SEARCH:\n{OLD}=======\n{NEW}>>>>>>> REPLACE:\n")),
        ("no path", format!("<<<<<<< SEARCH\n{OLD}=======\n{NEW}>>>>>>> REPLACE\n")),
        ("path behind the search mark", format!("<<<<<<< SEARCH src/a.rs\n{OLD}=======\n{NEW}>>>>>>> REPLACE\n")),
        ("path below the opening mark", format!("<<<<<<< SEARCH\nsrc/a.rs\n{OLD}=======\n{NEW}>>>>>>> REPLACE\n")),
        ("path in the fence below", format!("```\nsrc/a.rs\n<<<<<<< SEARCH\n{OLD}=======\n{NEW}>>>>>>> REPLACE\n```\n")),
        ("line number behind the mark", format!("src/a.rs\n<<<<<<< SEARCH\n:start_line:7\n-------\n{OLD}=======\n{NEW}>>>>>>> REPLACE\n")),
        ("zero-width spaces", bare.replace("    work", "    \u{200b}work")),
        ("a BOM in front", format!("\u{feff}{diff}")),
        ("smart quotes", bare.replace('\'', "\u{2019}").replace(" \"so\"", " \u{201c}so\u{201d}")),
        ("full-width at signs", diff.replace("@@", "\u{ff20}\u{ff20}")),
        ("en dash marks", bare.replace("-    work", "\u{2013}    work")),
        ("minus marks", bare.replace("-    work", "\u{2212}    work")),
        ("bullet list", each(&diff, |line| format!("* {line}"))),
        ("table", each(&diff, |line| format!("| {line} |"))),
        ("numbers before the marks", each(&diff, |line| if line.starts_with(['@', '-', '+']) && !line.starts_with("-  ") && !line.starts_with("+  ") { line.to_owned() } else { format!("12 {line}") })),
        ("trailing blanks everywhere", each(&diff, |line| format!("{line}  "))),
        ("dollar prompt", format!("$ git diff\n{diff}$ \n")),
        ("heredoc to git apply", format!("```bash\ngit apply <<'EOF'\n{diff}EOF\n```\n")),
        ("heredoc to patch", format!("patch -p1 <<'EOF'\n{diff}EOF\n")),
        ("heredoc to apply_patch", "apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: src/a.rs\n@@ fn two() {\n-    work(2);\n+    rest(2);\n*** End Patch\nEOF\n".into()),
        ("envelope as an argument", "{\"command\": [\"apply_patch\", \"*** Begin Patch\\n*** Update File: src/a.rs\\n@@\\n-    work(2);\\n+    rest(2);\\n*** End Patch\\n\"]}".into()),
        ("heredoc to the file", format!("```bash\ncat > src/a.rs <<'EOF'\n{AFTER}EOF\n```\n")),
        ("heredoc to the file, turned", format!("```sh\ncat <<'EOF' > src/a.rs\n{AFTER}EOF\n```\n")),
        ("envelope in a fence without end", "```\n*** Begin Patch\n*** Update File: src/a.rs\n@@\n-    work(2);\n+    rest(2);\n     // it's \"so\"\n```\n".into()),
        ("envelope with a diff's names", "*** Begin Patch\n--- a/src/a.rs\n+++ b/src/a.rs\n@@\n-    work(2);\n+    rest(2);\n*** End Patch\n".into()),
        ("before and after", format!("`src/a.rs`\n\nBefore:\n```rust\n{OLD}```\nAfter:\n```rust\n{NEW}```\n")),
        ("before and after, whole", format!("`src/a.rs`\n\nBefore:\n```rust\n{CODE}```\n`src/a.rs`\n\n**After:**\n```rust\n{AFTER}```\n")),
        ("context only", diff.replace("-    work(2);\n+    rest(2);\n", "     work(2);\n")),
        ("sed command", "sed -i 's/work(2)/rest(2)/' src/a.rs\n".into()),
        ("html page", format!("<html><body><pre>\n{}</pre></body></html>\n", diff.replace('"', "&quot;"))),
        ("form feed", format!("\u{c}{diff}")),
        ("nbsp indentation", bare.replace("    ", "\u{a0}\u{a0}\u{a0}\u{a0}")),
        ("percent names", names("a/src%2Fa.rs", "b/src%2Fa.rs")),
        ("a URL", names("https://x.org/src/a.rs", "https://x.org/src/a.rs")),
        ("repo name in front", names("a/project/src/a.rs", "b/project/src/a.rs")),
        ("svn", format!("Index: src/a.rs\n===================================================================\n{}", names("src/a.rs\t(revision 5)", "src/a.rs\t(working copy)"))),
        ("hg", format!("diff -r 1234567890ab src/a.rs\n{}", names("a/src/a.rs\tThu Jan 01 00:00:00 1970 +0000", "b/src/a.rs\tThu Jan 01 00:00:00 1970 +0000"))),
        ("hunk header lower", diff.replace("@@ -7,4 +7,4 @@", "@@ -7,4 +7,4")),
        ("hunk with one at", diff.replace("@@ -7,4 +7,4 @@", "@ -7,4 +7,4 @")),
        ("no marks on added", diff.replace("+    rest", "    rest")),
        ("doubled marks", each(&diff, |line| match line.chars().next() { Some(mark @ ('+' | '-')) if !line.starts_with("---") && !line.starts_with("+++") => format!("{mark}{line}"), _ => line.to_owned() })),
    ]
}

#[test]
fn each_kind_of_damage_lands_right_or_is_refused_for_a_reason() {
    let kinds = kinds();
    let outcomes: Vec<String> = kinds
        .iter()
        .map(|(name, text)| format!("{name}: {}", outcome(text)))
        .collect();
    let (landed, refused): (Vec<&String>, Vec<&String>) =
        outcomes.iter().partition(|line| line.ends_with(": landed"));
    let lines = |lines: Vec<&String>| {
        lines
            .into_iter()
            .map(String::as_str)
            .collect::<Vec<_>>()
            .join("\n")
    };
    insta::assert_snapshot!(lines(landed).replace(": landed", ""), @r"
    fence patch
    fence udiff
    fence git
    fence diff with a title
    fence of another language
    nested fences
    names with a carriage return
    index of zeros
    index of dots
    combined diff
    names swapped
    backslashes in names
    absolute name
    dot slash
    names in backticks
    names in bold
    names in quotes
    names in single quotes
    original and modified
    old and new behind a tab
    file above a hunk
    path above a hunk
    path above changed lines
    no prefix
    mnemonic prefixes
    blank context line without its blank
    context without marks
    dots at the end
    dots without a mark
    lines of the new file
    a JSON string
    JSON with a diff
    JSON with a patch, fenced
    tags diff
    cdata
    5 marks
    9 marks
    original and updated
    lower case
    a colon
    path in the fence below
    line number behind the mark
    zero-width spaces
    a BOM in front
    smart quotes
    full-width at signs
    trailing blanks everywhere
    dollar prompt
    heredoc to patch
    heredoc to apply_patch
    envelope as an argument
    heredoc to the file
    heredoc to the file, turned
    envelope in a fence without end
    before and after
    form feed
    svn
    hg
    hunk header lower
    hunk with one at
    ");
    insta::assert_snapshot!(lines(refused), @r"
    context diff: no-diff: no edit was found in the answer
    normal diff: no-diff: no edit was found in the answer
    ed script: no-diff: no edit was found in the answer
    word diff: does-not-apply: hunk 1 of `src/a.rs` does not land: the lines this hunk expects are not in the file
    reversed: empty: `src/a.rs` already has this change
    a/./: path-escape: `./src/a.rs` is not a plain path inside the repository
    line behind the name: reserved-name: `src/a.rs:8` has a character that cannot be in a name on Windows
    context without marks, bare: malformed: a hunk has no lines
    a second copy of the edge: does-not-apply: hunk 1 of `src/a.rs` does not land: the lines this hunk expects are not in the file
    escaped line ends: no-diff: no edit was found in the answer
    tags with a path: malformed: a hunk has no file name above it
    tags old and new: no-diff: no edit was found in the answer: `edit` is not read as one
    tags file: no-diff: no edit was found in the answer
    head and branch: no-diff: no edit was found in the answer
    no path: malformed: a search/replace block has no path above it
    path behind the search mark: no-diff: no edit was found in the answer
    path below the opening mark: malformed: a search/replace block has no path above it
    en dash marks: does-not-apply: hunk 1 of `src/a.rs` does not land: the lines this hunk expects are not in the file
    minus marks: does-not-apply: hunk 1 of `src/a.rs` does not land: the lines this hunk expects are not in the file
    bullet list: no-diff: no edit was found in the answer
    table: no-diff: no edit was found in the answer
    numbers before the marks: malformed: a hunk has no lines
    heredoc to git apply: malformed: a diff is in the middle of a block of another kind
    envelope with a diff's names: malformed: a line of the patch belongs to no file
    before and after, whole: no-diff: no edit was found in the answer: a block without a path was skipped
    context only: empty: the answer changes nothing
    sed command: no-diff: no edit was found in the answer
    html page: does-not-apply: hunk 1 of `src/a.rs` does not land: the lines this hunk expects are not in the file
    nbsp indentation: does-not-apply: hunk 1 of `src/a.rs` does not land: the lines this hunk expects are not in the file
    percent names: does-not-apply: `src%2Fa.rs` is not in the repository
    a URL: path-escape: `https://x.org/src/a.rs` is not a plain path inside the repository
    repo name in front: does-not-apply: `project/src/a.rs` is not in the repository
    no marks on added: does-not-apply: hunk 1 of `src/a.rs` does not land: the lines this hunk expects are not in the file
    doubled marks: does-not-apply: hunk 1 of `src/a.rs` does not land: the lines this hunk expects are not in the file
    ");
}

#[test]
fn blanks_that_the_header_says_a_new_file_has_stay() {
    let content: &[u8] = b"a \nb \nc \nd \n";
    let head = "diff --git a/n b/n\nnew file mode 100644\n";
    let body = "--- /dev/null\n+++ b/n\n@@ -0,0 +1,4 @@\n+a \n+b \n+c \n+d \n";
    for (index, wanted) in [
        // Git's id of the content, whole and cut short.
        ("index 0000000000000000000000000000000000000000..WHOLE\n", content),
        ("index 0000000..SHORT\n", content),
        ("index 0000000..1234567\n", b"a\nb\nc\nd\n".as_slice()),
        ("", b"a\nb\nc\nd\n"),
    ] {
        let id = "4895efccc912efe3164989ffe2b23845207b057c";
        let index = index.replace("WHOLE", id).replace("SHORT", id.split_at(7).0);
        let base = Memory::default();
        let landed = land(
            format!("{head}{index}{body}").as_bytes(),
            &base,
            &LandOptions::default(),
        )
        .expect("it lands");
        assert_eq!(&*base.after(&landed.change)["n"].1, wanted, "{index}");
    }
    // Two blanks break a line of a page; where empty lines end with them, they came on the way.
    let page = |lines: &str| format!("--- /dev/null\n+++ b/poem.md\n@@ -0,0 +1,4 @@\n{lines}");
    for (lines, wanted) in [
        ("+a  \n+b  \n+c  \n+d  \n", "a  \nb  \nc  \nd  \n"),
        ("+a  \n+  \n+c  \n+d  \n", "a\n\nc\nd\n"),
    ] {
        let base = Memory::default();
        let landed = land(page(lines).as_bytes(), &base, &LandOptions::default()).expect("it lands");
        assert_eq!(&*base.after(&landed.change)["poem.md"].1, wanted.as_bytes());
    }
    // Lines of nothing but blanks show no damage.
    let blank = "--- /dev/null\n+++ b/n\n@@ -0,0 +1,5 @@\n+ \n+ \n+ \n+ \n+ \n";
    let base = Memory::default();
    let landed = land(blank.as_bytes(), &base, &LandOptions::default()).expect("it lands");
    assert_eq!(&*base.after(&landed.change)["n"].1, b" \n \n \n \n \n");
}
