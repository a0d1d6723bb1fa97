//! Whole files that must still land, exactly as given.
//!
//! Owns: the claims of whole files, from both sides of their limit. Never: shows a file that only a sentence mentions.

use std::fmt::Write as _;

use serde_json::json;

use super::files::base;
use super::{Failures, Outcome, outcome};
use crate::memory::Memory;

/// A form of a title: its name, and the title with the opening fence below it.
type Title = (&'static str, fn(&str) -> String);

/// Titles that are exactly a path.
const TITLES: &[Title] = &[
    ("bare line", |path| format!("{path}\n```\n")),
    ("bare line and a gap", |path| format!("{path}\n\n```\n")),
    ("code span", |path| format!("`{path}`\n\n```\n")),
    ("bold", |path| format!("**{path}**\n```\n")),
    ("bold code span", |path| format!("**`{path}`**\n```\n")),
    ("heading", |path| format!("### {path}\n\n```\n")),
    ("heading and code span", |path| format!("## `{path}`\n\n```\n")),
    ("label", |path| format!("File: {path}\n```\n")),
    ("bold label", |path| format!("**File:** `{path}`\n\n```\n")),
];

const TEXT: &str = "first line\nsecond line\nthird line\nfourth line\nfifth line\nsixth line\n";

#[test]
fn a_new_file_lands_under_its_exact_path() {
    let base = base();
    let mut failures = Failures::default();
    for path in [
        "src/fresh.rs",
        "notes.txt",
        "a/b/c.d.ts",
        ".env.example",
        "web/new-page.html",
    ] {
        for (name, title) in TITLES {
            let answer = format!(
                "I need one more file.\n\n{}{TEXT}```\n\nThat is all.\n",
                title(path)
            );
            let got = outcome(&answer, &base);
            failures.check(
                got == Outcome::of(&[(path, TEXT)]),
                &format!("{name}: {path}"),
                &answer,
                &got,
            );
        }
        let answer = format!("```text:{path}\n{TEXT}```\n");
        let got = outcome(&answer, &base);
        failures.check(
            got == Outcome::of(&[(path, TEXT)]),
            &format!("fence: {path}"),
            &answer,
            &got,
        );
    }
    failures.assert_none(50);
}

/// A name without dot or slash needs a mark of naming, and without one nothing of the answer lands. Names that every
/// reader knows, such as `Makefile`, are left open.
#[test]
fn a_new_name_without_dot_or_slash_needs_a_mark_of_naming() {
    let base = base();
    let mut failures = Failures::default();
    for path in ["VERSION", "CODEOWNERS"] {
        for title in [
            format!("`{path}`"),
            format!("### {path}"),
            format!("New file `{path}`:"),
            format!("**`{path}`** (new file)"),
        ] {
            let answer = format!("{title}\n\n```\n{TEXT}```\n");
            let got = outcome(&answer, &base);
            failures.check(got == Outcome::of(&[(path, TEXT)]), &title, &answer, &got);
        }
        let answer = format!("src/fresh.rs\n```\n{TEXT}```\n\n{path}\n```\n{TEXT}```\n");
        let got = outcome(&answer, &base);
        failures.check(
            got.is_refused(),
            &format!("{path} bare, beside another file"),
            &answer,
            &got,
        );
    }
    failures.assert_none(10);
}

/// A line that is exactly a tracked path is a title, whatever its characters.
#[test]
fn a_tracked_path_is_a_title_whatever_its_characters() {
    const PATHS: &[&str] = &[
        "app/[id]/page.tsx",
        "app/[...slug]/page.tsx",
        "app/(shop)/layout.tsx",
        "data/a=1,b={x}.ts",
        "docs/my notes.md",
        "docs/a b/c d.md",
        "src/{name}/index.ts",
        "pages/@modal/default.tsx",
        "routes/$user.edit.tsx",
        "routes/+page.svelte",
        "c++/main file.cc",
        "web/caf\u{e9}.html",
        "Makefile",
        "a;b.txt",
        "it's.txt",
        "50%/rate.csv",
    ];
    let files: Vec<(&str, &[u8])> = PATHS.iter().map(|path| (*path, TEXT.as_bytes())).collect();
    let base = Memory::of(&files);
    let new = TEXT.replace("third", "THIRD");
    let mut failures = Failures::default();
    for path in PATHS {
        let wanted = Outcome::of(&[(path, &new)]);
        for (name, title) in TITLES {
            // Blocks below the same title are an edit of the same file.
            let blocks = "<<<<<<< SEARCH\nthird line\n=======\nTHIRD line\n>>>>>>> REPLACE\n";
            for body in [new.as_str(), blocks] {
                let answer = format!("{}{body}```\n", title(path));
                let got = outcome(&answer, &base);
                failures.check(got == wanted, &format!("{name}: {path}"), &answer, &got);
            }
        }
        // The info of a fence ends at a blank, so only the other forms can name a path with blanks.
        if !path.contains(' ') {
            let answer = format!("```tsx:{path}\n{new}```\n");
            let got = outcome(&answer, &base);
            failures.check(got == wanted, &format!("fence: {path}"), &answer, &got);
        }
    }
    failures.assert_none(300);
}

/// The share of kept lines: eight of twelve are two thirds, seven are less.
#[test]
fn a_title_claims_a_file_that_keeps_two_thirds_of_its_lines() {
    let line = |number: usize, word: &str| format!("let {word}_{number} = {};\n", number * 7);
    let old: String = (0..12).map(|number| line(number, "old")).collect();
    let base = Memory::of(&[("src/twelve.rs", old.as_bytes())]);
    let mut failures = Failures::default();
    for kept in 0..12 {
        let new: String = (0..12)
            .map(|number| line(number, if number < kept { "old" } else { "new" }))
            .collect();
        for (name, title) in TITLES {
            let answer = format!("{}{new}```\n", title("src/twelve.rs"));
            let got = outcome(&answer, &base);
            let holds = if kept >= 8 {
                got == Outcome::of(&[("src/twelve.rs", &new)])
            } else {
                got.is_refused()
            };
            failures.check(holds, &format!("{kept} of 12 kept, {name}"), &answer, &got);
        }
    }
    failures.assert_none(100);
}

/// A file that grows keeps all its lines.
#[test]
fn a_title_claims_a_file_that_grows() {
    let base = base();
    let mut failures = Failures::default();
    for source in super::files::SOURCES {
        let mut new = source.text.to_owned();
        for number in 0..40 {
            writeln!(new, "more {number} of it").expect("a string grows");
        }
        let answer = format!("`{}`\n\n```\n{new}```\n", source.path);
        let got = outcome(&answer, &base);
        failures.check(
            got == Outcome::of(&[(source.path, &new)]),
            source.path,
            &answer,
            &got,
        );
    }
    failures.assert_none(12);
}

/// Words that say "complete" about the block claim the file whatever the block keeps.
#[test]
fn a_complete_file_replaces_everything() {
    let base = base();
    let mut failures = Failures::default();
    let claims = [
        "Here is the complete file `P`:\n\n",
        "Here is the complete file:\n\n`P`\n",
        "`P` (complete file):\n\n",
        "The full new version of `P`:\n\n",
        "`P` (the entire file):\n\n",
        "Whole file `P`:\n\n",
        "I rewrote `P`. Here is the complete file:\n\n",
        "This is the full file:\n\n### P\n\n",
    ];
    for source in super::files::SOURCES {
        // Long enough that no part of it looks cut.
        let new: String = (0..source.text.lines().count())
            .map(|number| format!("other text number {number}\n"))
            .collect();
        for claim in claims {
            let answer = format!("{}```\n{new}```\n", claim.replace('P', source.path));
            let got = outcome(&answer, &base);
            let name = format!("{claim:?} {}", source.path);
            failures.check(got == Outcome::of(&[(source.path, &new)]), &name, &answer, &got);
        }
    }
    failures.assert_none(90);
}

/// A write call of the closed list claims a new file and a tracked one, whatever it keeps.
#[test]
fn write_calls_claim_their_file() {
    let base = base();
    let mut failures = Failures::default();
    let other = "one\ntwo\n\nfour\nfive\nsix\nseven\neight\nnine\nten\n";
    for path in [
        "src/fresh.rs",
        "VERSION",
        "src/cart.rs",
        "docs/guide.md",
        "conf/app.ini",
    ] {
        let calls = [
            json!({"name": "Write", "input": {"file_path": path, "content": other}}),
            json!({"name": "write_file", "arguments": {"path": path, "content": other}}),
            json!({"name": "write_file", "arguments": {"path": path, "content": other, "mode": "rewrite"}}),
            json!({"name": "write_to_file", "arguments": {"path": path, "content": other}}),
            json!({"name": "create_file", "arguments": {"filePath": path, "content": other}}),
            json!({"functionCall": {"name": "write_file", "args": {"file_path": path, "content": other}}}),
            json!({"name": "str_replace_editor", "arguments": {"command": "create", "path": path, "file_text": other}}),
            json!({"type": "tool_use", "id": "t1", "name": "str_replace_based_edit_tool",
                "input": {"command": "create", "path": path, "file_text": other}}),
        ];
        let tags = [
            format!("<write_to_file>\n<path>{path}</path>\n<content>\n{other}</content>\n</write_to_file>\n"),
            format!(
                "<function=str_replace_editor>\n<parameter=command>create</parameter>\n<parameter=path>{path}</parameter>\n\
                 <parameter=file_text>\n{other}\n</parameter>\n</function>\n"
            ),
        ];
        for answer in calls.iter().map(ToString::to_string).chain(tags) {
            let got = outcome(&answer, &base);
            failures.check(got == Outcome::of(&[(path, other)]), path, &answer, &got);
        }
    }
    failures.assert_none(50);
}

/// Of a region shown before and after, the second lands if the first is what the base has.
#[test]
fn of_before_and_after_the_second_lands() {
    let base = base();
    let mut failures = Failures::default();
    let (old, new) = (
        "[plan]\nfirst = fetch\nsecond = sort\n",
        "[plan]\nfirst = load\nsecond = sort\n",
    );
    let text = String::from_utf8_lossy(&base.tree["conf/app.ini"].1).into_owned();
    let wanted = Outcome::of(&[("conf/app.ini", &text.replace(old, new))]);
    let marks = [
        ("Before:", "After:"),
        ("**Before**", "**After**"),
        ("#### Before", "#### After"),
    ];
    for (before, after) in marks {
        let answer = |old: &str| {
            format!("`conf/app.ini`\n\n{before}\n\n```ini\n{old}```\n\n{after}\n\n```ini\n{new}```\n")
        };
        let got = outcome(&answer(old), &base);
        failures.check(got == wanted, before, &answer(old), &got);
        let other = answer("[plan]\nfirst = look\nsecond = sort\n");
        let got = outcome(&other, &base);
        failures.check(got.is_refused(), "the first is not in the base", &other, &got);
    }
    failures.assert_none(6);
}
