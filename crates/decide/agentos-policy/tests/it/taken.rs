//! Text of withheld files in a change, and the decisions that depend on it.

use agentos_policy::{Effect, Layer, PolicySet, TakenSearch, opened_reason, taken_reason};

use crate::support::*;

/// Withheld file of the cases.
const PLAN: &str =
    "# Plan\n\nWe buy the company Example in May for 12 million.\n\npin: 1234\nuser: ann\nroom: 17\n}\n";

/// Finds what a change takes from [`PLAN`] if `readable` are the texts that its proposer may read.
fn find(edits: &[Edit<'_>], readable: &[&str]) -> Vec<String> {
    let change = change(edits);
    let mut search = TakenSearch::new(&change, |path| path.starts_with("private/"));
    search.add_withheld("private/plan.txt", PLAN.as_bytes());
    for text in readable {
        search.add_readable(text.as_bytes());
    }
    let findings = search.into_findings();
    findings
        .into_iter()
        .map(|taken| format!("{} <- {}", taken.path, taken.from))
        .collect()
}

#[test]
fn lines_of_a_withheld_file_are_found_unless_a_readable_file_has_them() {
    let long = "We buy the company Example in May for 12 million.";
    let old = "one\ntwo\nthree\nfour\nfive\n";
    let cases: [(&str, &[Edit<'_>], &[&str], bool); 19] = [
        ("a copy", &[("docs/a.md", None, Some(PLAN))], &[], true),
        (
            "a rename",
            &[
                ("private/plan.txt", Some(PLAN), None),
                ("docs/a.md", None, Some(PLAN)),
            ],
            &[],
            true,
        ),
        (
            "a pasted line",
            &[("a.md", Some("x\n"), Some(&format!("x\n{long}\n")))],
            &[],
            true,
        ),
        (
            "indented",
            &[("a.md", None, Some(&format!("    \t{long}  \n")))],
            &[],
            true,
        ),
        (
            "quoted",
            &[("a.md", None, Some(&format!("> {long}\n")))],
            &[],
            true,
        ),
        (
            "commented",
            &[("a.rs", None, Some(&format!("// {long} //\n")))],
            &[],
            true,
        ),
        (
            "with CRLF",
            &[("a.md", None, Some(&format!("{long}\r\n")))],
            &[],
            true,
        ),
        (
            "three short lines",
            &[("a.md", None, Some("pin: 1234\n\nuser: ann\nroom: 17\n"))],
            &[],
            true,
        ),
        (
            "three short lines in two hunks",
            &[(
                "a.md",
                Some(old),
                Some("one\npin: 1234\nuser: ann\ntwo\nthree\nfour\nroom: 17\nfive\n"),
            )],
            &[],
            true,
        ),
        (
            "three short lines in three files",
            &[
                ("a.md", None, Some("pin: 1234\n")),
                ("b.md", None, Some("user: ann\n")),
                ("c.md", None, Some("room: 17\n")),
            ],
            &[],
            true,
        ),
        (
            "two short lines",
            &[("a.md", None, Some("pin: 1234\nuser: ann\n"))],
            &[],
            false,
        ),
        (
            "a line in other words",
            &[("a.md", None, Some("In May we acquire Example.\n"))],
            &[],
            false,
        ),
        (
            "a line of a readable file",
            &[("a.md", None, Some(&format!("{long}\n")))],
            &[&format!("* {long}\n")],
            false,
        ),
        (
            "three lines of a readable file",
            &[("a.md", None, Some("pin: 1234\nuser: ann\nroom: 17\n"))],
            &["x\npin: 1234\n\nuser: ann\nroom: 17\n"],
            false,
        ),
        (
            "three lines that a readable file has apart",
            &[("a.md", None, Some("pin: 1234\nuser: ann\nroom: 17\n"))],
            &["pin: 1234\nx\nuser: ann\ny\nroom: 17\n"],
            true,
        ),
        (
            "a copy of a readable file",
            &[("a.md", None, Some(PLAN))],
            &[PLAN],
            false,
        ),
        (
            "a line that the file had",
            &[("a.md", Some(&format!("{long}\n")), Some(&format!("x\n{long}\n")))],
            &[],
            false,
        ),
        (
            "a file of the same readers",
            &[("private/b.txt", None, Some(PLAN))],
            &[],
            false,
        ),
        (
            "lines without a word",
            &[("a.md", None, Some("}\n}\n}\n"))],
            &[],
            false,
        ),
    ];
    for (what, edits, readable, is_found) in cases {
        let found = find(edits, readable);
        assert_eq!(!found.is_empty(), is_found, "{what}: {found:?}");
        assert!(
            found.iter().all(|line| line.ends_with("<- private/plan.txt")),
            "{what}: {found:?}"
        );
    }
}

#[test]
fn a_short_file_is_found_as_a_copy() {
    let change = change(&[("a.txt", None, Some("1234\n")), ("empty", None, Some("\n"))]);
    let found = |readable: &[u8]| {
        let mut search = TakenSearch::new(&change, |_| false);
        search.add_withheld("pin.txt", b"1234\n");
        search.add_withheld("empty.txt", b"\n");
        search.add_readable(readable);
        search.into_findings().len()
    };
    assert_eq!((found(b"x\n"), found(b"1234\n")), (1, 0));
}

#[test]
fn a_further_reason_makes_a_decision_stricter_only() {
    let set = PolicySet::builtin().unwrap();
    let taken = find(&[("a.md", None, Some(PLAN))], &[]);
    assert_eq!(taken, ["a.md <- private/plan.txt"]);
    let reason = opened_reason("a.md", "far");
    for (path, before, after) in [
        ("src/a.rs", Effect::Allow, Effect::Ask),
        (".github/workflows/a.yml", Effect::Ask, Effect::Ask),
        (".git/config", Effect::Deny, Effect::Deny),
    ] {
        let plain = set.judge(&create("src/a.rs"), &cloud());
        let decision = match RepoPath::new(path) {
            Ok(_) => set.judge(&create(path), &cloud()),
            Err(_) => set.decide_read(path, b"", &cloud()),
        };
        let stricter = decision.clone().with_reasons(vec![reason.clone()]);
        assert_eq!((decision.effect(), stricter.effect()), (before, after), "{path}");
        assert!(stricter.is_about_withheld() && !plain.is_about_withheld());
        assert_eq!(stricter.without_withheld(), decision, "{path}");
    }
    let taken = agentos_policy::TakenText {
        path: "docs/notes.md".to_owned(),
        from: "private/plan.txt".to_owned(),
    };
    insta::assert_snapshot!(
        taken_reason(&taken, Some("far")),
        @"ask docs/notes.md: takes lines of `private/plan.txt`, which policy withholds from `far` (withheld-text, built-in)"
    );
}

#[test]
fn a_file_has_the_readers_of_another_one() {
    let text = "version = 1\n[[rule]]\nid = \"private\"\neffect = \"deny\"\nwhy = \"w\"\naction = [\"read\"]\n\
                paths = [\"private/**\"]\nexecution_mode = \"cloud\"\n\
                [[same_readers]]\npath = \"docs/Notes.md\"\nof = \"private/plan.txt\"\n\
                [[same_readers]]\npath = \"copy.md\"\nof = \"docs/notes.md\"\n\
                [[same_readers]]\npath = \"docs/notes.md\"\nof = \"copy.md\"\n";
    let set = PolicySet::load(&[source(Layer::User, "kept.toml", text)]).unwrap();
    for (path, tool, effect) in [
        // A copy of a copy, and copies of each other.
        ("copy.md", cloud(), Effect::Deny),
        ("copy.md", local(), Effect::Allow),
        ("docs/notes.md", cloud(), Effect::Deny),
        ("docs/notes.md", local(), Effect::Allow),
        ("docs/other.md", cloud(), Effect::Allow),
        ("private/plan.txt", cloud(), Effect::Deny),
    ] {
        assert_eq!(set.decide_read(path, b"x\n", &tool).effect(), effect, "{path}");
        assert_eq!(
            set.read_policy(&tool).read_effect(path, || b"x\n".to_vec()),
            effect,
            "{path}"
        );
        assert_eq!(
            set.read_policy(&tool).withholds_name(path),
            effect == Effect::Deny,
            "{path}"
        );
        // What may be written does not depend on it.
        assert_eq!(set.judge(&create("docs/notes.md"), &tool).effect(), Effect::Allow);
    }
}

#[test]
fn names_are_asked_about_only_if_a_rule_can_withhold_them() {
    let rule = |conditions: &str| {
        format!("version = 1\n[[rule]]\nid = \"a\"\neffect = \"deny\"\nwhy = \"w\"\n{conditions}\n")
    };
    let by_name = rule("action = [\"read\"]\npaths = [\"private/**\"]\nprovider = [\"openai\"]");
    let writing = rule("action = [\"modify\"]\npaths = [\"private/**\"]");
    for (text, tool, may) in [
        ("version = 1\n", local(), false),
        (by_name.as_str(), cloud(), true),
        (by_name.as_str(), local(), false),
        (writing.as_str(), local(), false),
        // The floor withholds files of keys from clouds.
        ("version = 1\n", cloud(), true),
    ] {
        let set = PolicySet::load(&[source(Layer::User, "own.toml", text)]).unwrap();
        assert_eq!(
            set.read_policy(&tool).may_withhold_names(),
            may,
            "{text} {tool:?}"
        );
    }
}
