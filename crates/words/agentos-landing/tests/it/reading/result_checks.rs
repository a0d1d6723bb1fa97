//! Results that are refused after every dialect, with and without consent.
//!
//! Owns: conflict markers, wrappers, line numbers and placeholders in the text that would land. Never: control marks and
//! lost files, about which policy asks.

use serde_json::json;

use super::on_purpose::{CONFLICT, Purpose, answers, edit, new};
use super::{Failures, Outcome, outcome};
use crate::memory::Memory;

/// The dialects of `answers`, and those in which only a conflict would be mistaken for the form.
fn all_answers(purpose: &Purpose) -> Vec<(&'static str, String)> {
    let Purpose { path, before, after } = purpose;
    let mut all = answers(purpose);
    all.push((
        "write_to_file",
        format!("<write_to_file>\n<path>{path}</path>\n<content>\n{after}</content>\n</write_to_file>\n"),
    ));
    let added = |text: &str, mark: char| {
        text.lines()
            .map(|line| format!("{mark}{line}\n"))
            .collect::<String>()
    };
    if before.is_empty() {
        let body = added(after, '+');
        all.push((
            "envelope",
            format!("*** Begin Patch\n*** Add File: {path}\n{body}*** End Patch\n"),
        ));
        return all;
    }
    let body = added(before, '-') + &added(after, '+');
    all.push((
        "envelope",
        format!("*** Begin Patch\n*** Update File: {path}\n@@\n{body}*** End Patch\n"),
    ));
    let edits = json!({"edits": [{"path": path, "search": before, "replace": after}]});
    all.push(("edits", edits.to_string()));
    if !after.contains("<<<<<<<") {
        all.push((
            "blocks",
            format!("{path}\n<<<<<<< SEARCH\n{before}=======\n{after}>>>>>>> REPLACE\n"),
        ));
    }
    all
}

/// Checks every dialect of a change. `unwrapped` is a result that is right, too.
fn check(failures: &mut Failures, name: &str, purpose: &Purpose, unwrapped: Option<&str>) {
    let mut base = Memory::of(&[("README.md", b"# Shop\n")]);
    if !purpose.before.is_empty() {
        base.put(purpose.path, "100644", purpose.before.as_bytes());
    }
    for (form, answer) in all_answers(purpose) {
        let got = outcome(&answer, &base);
        let holds =
            got.is_refused() || unwrapped.is_some_and(|text| got == Outcome::of(&[(purpose.path, text)]));
        failures.check(holds, &format!("{name}, {form}: {}", purpose.path), &answer, &got);
    }
}

#[test]
fn added_conflict_markers_are_refused() {
    let diff3 = "<<<<<<< ours\na\n||||||| 3f1c2aa\nb\n=======\nc\n>>>>>>> theirs\n";
    let bare = "<<<<<<<\na\n=======\nb\n>>>>>>>\n";
    let mut failures = Failures::default();
    for conflict in [CONFLICT, diff3, bare] {
        for path in ["src/app.py", "web/app.ts", "conf/app.yml", "Makefile"] {
            let around = |middle: &str| format!("first()\nsecond()\n{middle}third()\nfourth()\n");
            check(&mut failures, "a new file", &new(path, conflict), None);
            check(
                &mut failures,
                "a new file with more",
                &new(path, &around(conflict)),
                None,
            );
            check(
                &mut failures,
                "added",
                &edit(path, &around(""), &around(conflict)),
                None,
            );
            check(
                &mut failures,
                "in place of a line",
                &edit(path, &around("a\n"), &around(conflict)),
                None,
            );
        }
    }
    failures.assert_none(250);
}

/// A change that resolves a conflict removes the markers, and lands.
#[test]
fn a_resolved_conflict_lands() {
    let mut failures = Failures::default();
    let around = |middle: &str| format!("first()\nsecond()\n{middle}third()\nfourth()\n");
    let purpose = edit("src/app.py", &around(CONFLICT), &around("x = 2\n"));
    let base = Memory::of(&[("src/app.py", purpose.before.as_bytes())]);
    for (form, answer) in answers(&purpose) {
        let got = outcome(&answer, &base);
        failures.check(
            got == Outcome::of(&[("src/app.py", &purpose.after)]),
            form,
            &answer,
            &got,
        );
    }
    failures.assert_none(5);
}

/// A fence or CDATA as the first and last line of a source file. The file without it is right, too, as the cases say.
#[test]
fn a_wrapper_around_a_source_file_does_not_land() {
    let texts = [
        ("src/app.py", "python", "import os\n\nprint(os.name)\n"),
        ("web/app.ts", "ts", "export const a = 1\nexport const b = 2\n"),
        ("src/app.rs", "", "fn main() {\n    go();\n}\n"),
        ("conf/app.json", "json", "{\n  \"a\": 1\n}\n"),
        ("run.sh", "bash", "set -e\nmake all\n"),
        ("web/site.css", "css", ".a { color: red; }\n"),
    ];
    let mut failures = Failures::default();
    for (path, info, text) in texts {
        let wrappers = [
            format!("```{info}\n{text}```\n"),
            format!("~~~{info}\n{text}~~~\n"),
            format!("<![CDATA[\n{text}]]>\n"),
        ];
        for wrapped in wrappers {
            let old = format!("{text}{text}");
            check(&mut failures, "a new file", &new(path, &wrapped), Some(text));
            check(
                &mut failures,
                "a file of the base",
                &edit(path, &old, &wrapped),
                Some(text),
            );
        }
    }
    let xml = "<![CDATA[\n<a>1</a>\n]]>\n";
    check(
        &mut failures,
        "a new page",
        &new("a.xml", xml),
        Some("<a>1</a>\n"),
    );
    failures.assert_none(200);
}

/// Ascending line numbers on the added lines only.
#[test]
fn line_numbers_on_added_lines_are_refused() {
    let mut failures = Failures::default();
    let lines = ["first();", "second();", "third();", "fourth();", "fifth();"];
    let plain: String = lines.iter().map(|line| format!("{line}\n")).collect();
    for first in [1, 9, 98] {
        for separator in ["\t", ": ", " | ", "\u{2192}", ":"] {
            let numbered = |lines: &[&str]| -> String {
                let numbers = lines.iter().zip(first..);
                numbers
                    .map(|(line, number)| format!("{number:>4}{separator}{line}\n"))
                    .collect()
            };
            let name = format!("from {first} with {separator:?}");
            let grown = [
                "first();",
                "second();",
                "more();",
                "third();",
                "fourth();",
                "fifth();",
            ];
            check(
                &mut failures,
                &name,
                &edit("src/run.ts", &plain, &numbered(&grown)),
                Some(&(grown.join("\n") + "\n")),
            );
            let tail = format!(
                "first();\nsecond();\n{}",
                numbered(&["more();", "again();", "third();", "fourth();"])
            );
            check(
                &mut failures,
                &name,
                &edit("src/run.ts", "first();\nsecond();\nthird();\nfourth();\n", &tail),
                None,
            );
        }
    }
    failures.assert_none(200);
}

/// A placeholder in the comments of a language: path, lines of code, and the placeholders.
const PLACEHOLDERS: &[(&str, &[&str], &[&str])] = &[
    (
        "src/app.py",
        &[
            "a = load()",
            "b = sort(a)",
            "c = join(b)",
            "d = save(c)",
            "e = send(d)",
            "f = stop(e)",
        ],
        &[
            "# same as before",
            "# ... existing code ...",
            "# the other calls remain",
            "# keep the rest",
            "[...]",
            "\u{2026}",
            "# Rest bleibt unver\u{e4}ndert",
            "# \u{5176}\u{4f59}\u{4ee3}\u{7801}\u{4fdd}\u{6301}\u{4e0d}\u{53d8}",
            "# resto del c\u{f3}digo sin cambios",
            "(rest of the file unchanged)",
        ],
    ),
    (
        "web/app.js",
        &[
            "const a = 1",
            "const b = 2",
            "const c = 3",
            "const d = 4",
            "const e = 5",
            "run(a, b, c, d, e)",
        ],
        &[
            "// keep the other constants",
            "/* unchanged */",
            "// \u{2026}",
            "// reste du code inchang\u{e9}",
            "// (same as above)",
        ],
    ),
    (
        "web/site.css",
        &[
            ".a { color: red; }",
            ".b { color: blue; }",
            ".c { top: 0; }",
            ".d { top: 1px; }",
            ".e { left: 0; }",
            ".f { left: 1px; }",
        ],
        &[
            "/* other styles remain unchanged */",
            "/* ... */",
            "/* rest as before */",
        ],
    ),
    (
        "web/page.html",
        &[
            "<ul>",
            "<li>one</li>",
            "<li>two</li>",
            "<li>three</li>",
            "<li>four</li>",
            "</ul>",
        ],
        &[
            "<!-- same as before -->",
            "<!-- other items unchanged -->",
            "<!-- ... -->",
        ],
    ),
    (
        "db/tables.sql",
        &[
            "CREATE TABLE a (",
            "  id int,",
            "  name text,",
            "  price int,",
            "  note text",
            ");",
        ],
        &["  -- other columns as before", "  -- remaining columns unchanged"],
    ),
    (
        "lib/run.lua",
        &[
            "local a = 1",
            "local b = 2",
            "local c = 3",
            "local d = 4",
            "local e = 5",
            "return a + b",
        ],
        &["-- rest unchanged", "-- ... existing code ..."],
    ),
    (
        "paper/main.tex",
        &[
            "\\section{One}",
            "First words.",
            "Second words.",
            "Third words.",
            "Fourth words.",
            "\\end{document}",
        ],
        &["% remaining text unchanged", "% ... rest of the section ..."],
    ),
    (
        "lisp/run.el",
        &[
            "(setq a 1)",
            "(setq b 2)",
            "(setq c 3)",
            "(setq d 4)",
            "(setq e 5)",
            "(provide 'run)",
        ],
        &[";; other settings remain the same", ";; ... existing code ..."],
    ),
    (
        "docs/guide.md",
        &[
            "# Guide",
            "## One",
            "First words.",
            "## Two",
            "Second words.",
            "## End",
        ],
        &[
            "*(sections 1-2 unchanged)*",
            "[The rest of the guide stays the same.]",
            "*(remaining sections unchanged)*",
            "...",
        ],
    ),
    (
        "conf/app.yml",
        &[
            "service:",
            "  name: shop",
            "  port: 80",
            "  limit: 10",
            "  mode: fast",
            "last: yes",
        ],
        &["  # other keys unchanged", "  # ..."],
    ),
];

#[test]
fn placeholders_where_lines_disappear_are_refused() {
    let mut failures = Failures::default();
    for (path, lines, placeholders) in PLACEHOLDERS {
        let before: String = lines.iter().map(|line| format!("{line}\n")).collect();
        for placeholder in *placeholders {
            // The placeholder stands for one to four of the lines, and the last line stays.
            for lost in 1..=4 {
                // A sentence may well replace one other sentence, and a remark in another language one line of code.
                if lost == 1 && (path.ends_with(".md") || !placeholder.is_ascii()) {
                    continue;
                }
                let kept = &lines[..lines.len() - 1 - lost];
                let last = lines[lines.len() - 1];
                let after: String = kept
                    .iter()
                    .chain([placeholder, &last])
                    .map(|line| format!("{line}\n"))
                    .collect();
                check(
                    &mut failures,
                    &format!("{placeholder} for {lost}"),
                    &edit(path, &before, &after),
                    None,
                );
            }
        }
    }
    failures.assert_none(800);
}

/// The same lines land where nothing disappears, or where the base has them.
#[test]
fn a_remark_that_stands_for_nothing_lands() {
    let mut failures = Failures::default();
    for (path, lines, placeholders) in PLACEHOLDERS {
        let placeholder = placeholders[0];
        let text = |lines: &[&str]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
        let had = [&lines[..1], &[placeholder], &lines[1..]].concat();
        let grown = [&had[..had.len() - 1], &["more", had[had.len() - 1]]].concat();
        let purpose = edit(path, &text(&had), &text(&grown));
        let base = Memory::of(&[(path, purpose.before.as_bytes())]);
        for (form, answer) in answers(&purpose) {
            let got = outcome(&answer, &base);
            let holds = got == Outcome::of(&[(path, &purpose.after)]);
            failures.check(holds, &format!("{form}: {placeholder}"), &answer, &got);
        }
    }
    failures.assert_none(50);
}
