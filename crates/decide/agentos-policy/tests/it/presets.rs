//! What the three presets answer to changes as they come in real work.

use crate::support::*;

const RUST_TEST: &str =
    "#[test]\nfn adds() {\n    assert_eq!(add(1, 2), 3);\n    assert_eq!(add(0, 0), 0);\n}\n";
const RUST_TEST_LESS: &str = "#[test]\nfn adds() {\n    assert_eq!(add(1, 2), 3);\n}\n";
const RUST_TEST_MORE: &str = "#[test]\nfn adds() {\n    assert_eq!(add(1, 2), 3);\n    assert_eq!(add(0, 0), 0);\n    assert_eq!(add(2, 2), 4);\n}\n";

fn lines(count: usize) -> String {
    "x = 1\n".repeat(count)
}

fn many(count: usize, prefix: &str, old: Option<&str>, new: Option<&str>) -> Change {
    let paths: Vec<String> = (0..count).map(|n| format!("{prefix}{n}.rs")).collect();
    change(
        &paths
            .iter()
            .map(|path| (path.as_str(), old, new))
            .collect::<Vec<_>>(),
    )
}

/// Lines that occur once each.
fn numbered(from: usize, to: usize) -> String {
    (from..to).map(|n| format!("let x{n} = {n};\n")).collect()
}

fn moved_many(count: usize) -> Change {
    let texts: Vec<(String, String, String)> = (0..count)
        .map(|n| {
            (
                format!("src/f{n}.rs"),
                format!("lib/f{n}.rs"),
                numbered(n * 100, n * 100 + 30),
            )
        })
        .collect();
    let edits = texts.iter().flat_map(|(from, to, text)| {
        [
            (from.as_str(), Some(text.as_str()), None),
            (to.as_str(), None, Some(text.as_str())),
        ]
    });
    change(&edits.collect::<Vec<_>>())
}

fn joined(count: usize) -> Change {
    let parts: Vec<(String, String)> = (0..count)
        .map(|n| (format!("src/f{n}.rs"), numbered(n * 100, n * 100 + 30)))
        .collect();
    let all: String = parts.iter().map(|(_, text)| text.as_str()).collect();
    let edits = parts
        .iter()
        .map(|(path, text)| (path.as_str(), Some(text.as_str()), None));
    change(
        &edits
            .chain([("src/all.rs", None, Some(all.as_str()))])
            .collect::<Vec<_>>(),
    )
}

fn delete_lines(count: usize) -> Change {
    change(&[("src/old.rs", Some(&numbered(0, count)), None)])
}

fn shortened(from: usize, to: usize) -> Change {
    change(&[("src/lib.rs", Some(&numbered(0, from)), Some(&numbered(0, to)))])
}

fn split_in_two() -> Change {
    change(&[
        ("src/lib.rs", Some(&numbered(0, 75)), Some(&numbered(0, 20))),
        ("src/part.rs", None, Some(&numbered(20, 75))),
    ])
}

fn moved(from: &str, to: &str) -> Change {
    let text = lines(20);
    change(&[(from, Some(&text), None), (to, None, Some(&text))])
}

fn scenarios() -> Vec<(&'static str, Change, ToolFacts)> {
    let later = |attempt| ToolFacts { attempt, ..local() };
    let onto = |target: &str| ToolFacts {
        target_ref: Some(target.to_owned()),
        ..local()
    };
    let program = |path| modes(path, None, FileMode::Executable, "#!/bin/sh\n");
    let gains = |path| modes(path, Some(FileMode::Regular), FileMode::Executable, "a\n");
    let key = format!("key = \"{}_{}\"\n", "ghp", "0123456789abcdefghijklmnopqrstuvwxyz");
    vec![
        ("fix a function", modify("src/lib.rs"), local()),
        ("fix a function, cloud", modify("src/lib.rs"), cloud()),
        (
            "fix a function on main",
            modify("src/lib.rs"),
            onto("refs/heads/main"),
        ),
        (
            "fix a function for a release",
            modify("src/lib.rs"),
            onto("refs/heads/release/1.2"),
        ),
        ("fix a function, no branch", modify("src/lib.rs"), onto("HEAD")),
        ("new module", create("src/parser/mod_test_helpers.rs"), local()),
        ("remove a module", delete("src/old.rs"), local()),
        ("rename a module", moved("src/a.rs", "src/b.rs"), local()),
        ("readme", modify("README.md"), local()),
        ("translation", modify("docs/日本語/guide.md"), local()),
        (
            "400 new lines",
            change(&[("src/big.rs", None, Some(&lines(400)))]),
            local(),
        ),
        (
            "401 new lines",
            change(&[("src/big.rs", None, Some(&lines(401)))]),
            local(),
        ),
        (
            "6000 new lines",
            change(&[("src/big.rs", None, Some(&lines(6000)))]),
            local(),
        ),
        ("20 files", many(20, "src/f", Some("a\n"), Some("b\n")), local()),
        ("21 files", many(21, "src/f", Some("a\n"), Some("b\n")), local()),
        ("101 files", many(101, "src/f", Some("a\n"), Some("b\n")), local()),
        (
            "1001 files",
            many(1001, "src/f", Some("a\n"), Some("b\n")),
            local(),
        ),
        ("3 deletions", many(3, "src/f", Some("a\n"), None), local()),
        ("4 deletions", many(4, "src/f", Some("a\n"), None), local()),
        ("4 renames", moved_many(4), local()),
        ("4 files join one", joined(4), local()),
        ("a module of 200 lines goes", delete_lines(200), local()),
        ("a module of 201 lines goes", delete_lines(201), local()),
        ("21 lines become 10", shortened(21, 10), local()),
        ("21 lines become 11", shortened(21, 11), local()),
        ("20 lines become 1", shortened(20, 1), local()),
        ("75 lines become 3", shortened(75, 3), local()),
        ("75 lines are split in two", split_in_two(), local()),
        ("add a dependency", modify("Cargo.toml"), local()),
        ("add a dependency, cloud", modify("web/package.json"), cloud()),
        ("lock file alone", modify("Cargo.lock"), local()),
        ("python requirements", modify("requirements-dev.txt"), local()),
        ("go modules", modify("go.mod"), local()),
        ("build script", modify("build.rs"), local()),
        ("makefile, cloud", modify("Makefile"), cloud()),
        ("dockerfile", create("docker/Dockerfile.dev"), local()),
        ("github workflow", modify(".github/workflows/ci.yml"), local()),
        (
            "github workflow, cloud",
            modify(".github/workflows/ci.yml"),
            cloud(),
        ),
        ("new gitlab pipeline", create(".gitlab-ci.yml"), local()),
        ("code owners", modify(".github/CODEOWNERS"), local()),
        (
            "workflow that calls agentos",
            change(&[(
                ".github/workflows/gate.yml",
                None,
                Some("run: agentos policy test\n"),
            )]),
            local(),
        ),
        ("issue template", modify(".github/ISSUE_TEMPLATE/bug.md"), local()),
        ("pre-commit hook", create(".husky/pre-commit"), local()),
        ("pre-commit hook, cloud", create(".husky/pre-commit"), cloud()),
        ("agents' instructions", modify("CLAUDE.md"), local()),
        ("agents' servers", create(".mcp.json"), local()),
        ("editor tasks", create(".vscode/tasks.json"), local()),
        ("policy file", modify(".agentos/policy/team.toml"), local()),
        ("git attributes", create(".gitattributes"), local()),
        ("gitignore", modify(".gitignore"), local()),
        ("licence", modify("LICENSE"), local()),
        ("env file", modify(".env"), local()),
        ("env example", modify(".env.example"), local()),
        ("server key", create("certs/server.key"), local()),
        (
            "adds a token",
            change(&[("src/config.rs", None, Some(&key))]),
            local(),
        ),
        (
            "adds a random value",
            change(&[(
                "src/config.rs",
                None,
                Some("id = \"Zq7RkT2mWx9LpB4vNs6JdH8fGc3YtE5a\"\n"),
            )]),
            local(),
        ),
        (
            "direction mark",
            change(&[("src/a.rs", None, Some("a\u{202e}b\n"))]),
            local(),
        ),
        (
            "zero-width space",
            change(&[("src/a.rs", None, Some("a\u{200b}b\n"))]),
            local(),
        ),
        (
            "binary file",
            change(&[("logo.png", None, Some("\u{0}PNG\n"))]),
            local(),
        ),
        ("executable bit", gains("tools/check.sh"), local()),
        ("new program", program("tools/run.sh"), local()),
        ("vendored code", modify("vendor/zlib/inflate.c"), local()),
        ("minified code", modify("web/app.min.js"), local()),
        (
            "generated by its own word",
            change(&[(
                "api/client.go",
                Some("// Code generated by x. DO NOT EDIT.\na\n"),
                Some("// Code generated by x. DO NOT EDIT.\nb\n"),
            )]),
            local(),
        ),
        (
            "more tests",
            change(&[("tests/add.rs", Some(RUST_TEST), Some(RUST_TEST_MORE))]),
            local(),
        ),
        (
            "one assertion less",
            change(&[("tests/add.rs", Some(RUST_TEST), Some(RUST_TEST_LESS))]),
            local(),
        ),
        (
            "code and one assertion less",
            change(&[
                ("src/add.rs", Some("a\n"), Some("b\n")),
                ("tests/add.rs", Some(RUST_TEST), Some(RUST_TEST_LESS)),
            ]),
            local(),
        ),
        (
            "ignores a test",
            change(&[(
                "tests/add.rs",
                Some(RUST_TEST),
                Some(&format!("#[ignore]\n{RUST_TEST}")),
            )]),
            local(),
        ),
        (
            "deletes a test file",
            change(&[("tests/add.rs", Some(RUST_TEST), None)]),
            local(),
        ),
        (
            "moves a test file",
            change(&[
                ("tests/add.rs", Some(RUST_TEST), None),
                ("tests/sum.rs", None, Some(RUST_TEST)),
            ]),
            local(),
        ),
        ("fourth attempt", modify("src/lib.rs"), later(4)),
        ("docs by a cloud model", modify("docs/a.md"), cloud()),
        (
            "code, manifest and lock file",
            change(&[
                ("src/a.rs", Some("a\n"), Some("b\n")),
                ("Cargo.toml", Some("a\n"), Some("b\n")),
                ("Cargo.lock", Some("a\n"), Some("b\n")),
            ]),
            local(),
        ),
    ]
}

fn preset_set(preset: &str) -> PolicySet {
    let text = format!("version = 1\npreset = \"{preset}\"\n");
    PolicySet::load(&agreed(vec![source(Layer::Repository, "p.toml", &text)])).unwrap()
}

#[test]
fn a_question_about_a_loss_names_files_and_numbers() {
    let whole = [
        many(24, "src/f", Some("a\n"), None),
        delete_lines(9_499),
        change(&[
            ("src/a.rs", Some(&numbered(0, 75)), Some(&numbered(0, 3))),
            ("src/b.rs", Some(&numbered(100, 140)), Some(&numbered(100, 110))),
        ]),
    ];
    let mut shown = String::new();
    for change in whole {
        let decision = preset_set("default").judge(&change, &local());
        for reason in decision.deciding() {
            shown.push_str(&format!("{reason}\n"));
        }
        for group in decision
            .grouped()
            .iter()
            .filter(|group| group.rule.contains("most"))
        {
            shown.push_str(&format!("{}: {}\n", group.paths.join(", "), group.sentence()));
        }
    }
    insta::assert_snapshot!(shown, @r"
    ask the change: it takes away more than 3 files: 24 (src/f0.rs, src/f1.rs, src/f10.rs and 21 more) (default.lost-files, built-in/default.toml:84)
    ask the change: it removes over 200 lines more than it adds: 9499 lines, most in src/old.rs (9499) (default.lost-lines, built-in/default.toml:96)
    ask src/a.rs: more than half of this file is lost: 72 of 75 lines (default.most-of-a-file, built-in/default.toml:108)
    ask src/b.rs: more than half of this file is lost: 30 of 40 lines (default.most-of-a-file, built-in/default.toml:108)
    src/a.rs, src/b.rs: more than half of this file is lost: 72 of 75 lines, 30 of 40 lines
    ");
}

#[test]
fn what_the_presets_answer_to_changes_of_real_work() {
    let sets = ["solo", "team", "strict"].map(preset_set);
    let mut table = format!("{:<30} {:<20} {:<20} {}\n", "", "solo", "team", "strict");
    for (what, change, tool) in scenarios() {
        let [solo, team, strict] = sets.each_ref().map(|set| word(&set.judge(&change, &tool)));
        table.push_str(&format!("{what:<30} {solo:<20} {team:<20} {strict}\n"));
    }
    insta::assert_snapshot!(table, @r"
                                   solo                 team                 strict
    fix a function                 allow                allow                allow
    fix a function, cloud          allow                allow                ask protected-path
    fix a function on main         allow                ask protected-path   deny protected-path
    fix a function for a release   allow                ask protected-path   deny protected-path
    fix a function, no branch      allow                allow                allow
    new module                     allow                allow                allow
    remove a module                allow                allow                ask protected-path
    rename a module                allow                allow                ask protected-path
    readme                         allow                allow                allow
    translation                    allow                allow                allow
    400 new lines                  allow                allow                allow
    401 new lines                  allow                allow                ask too-large
    6000 new lines                 allow                ask too-large        ask too-large
    20 files                       allow                allow                allow
    21 files                       allow                allow                ask too-large
    101 files                      allow                ask too-large        ask too-large
    1001 files                     ask too-large        ask too-large        deny too-large
    3 deletions                    allow                allow                ask protected-path
    4 deletions                    ask too-large        ask too-large        ask protected-path
    4 renames                      allow                allow                ask protected-path
    4 files join one               allow                allow                ask protected-path
    a module of 200 lines goes     allow                allow                ask protected-path
    a module of 201 lines goes     ask too-large        ask too-large        ask protected-path
    21 lines become 10             ask too-large        ask too-large        allow
    21 lines become 11             allow                allow                allow
    20 lines become 1              allow                allow                allow
    75 lines become 3              ask too-large        ask too-large        allow
    75 lines are split in two      allow                allow                allow
    add a dependency               allow                ask protected-path   ask protected-path
    add a dependency, cloud        ask protected-path   ask protected-path   ask protected-path
    lock file alone                allow                ask protected-path   ask protected-path
    python requirements            allow                ask protected-path   ask protected-path
    go modules                     allow                ask protected-path   ask protected-path
    build script                   allow                ask protected-path   ask protected-path
    makefile, cloud                ask protected-path   ask protected-path   ask protected-path
    dockerfile                     allow                ask protected-path   ask protected-path
    github workflow                ask protected-path   ask protected-path   deny protected-path
    github workflow, cloud         ask protected-path   deny protected-path  deny protected-path
    new gitlab pipeline            ask protected-path   ask protected-path   deny protected-path
    code owners                    ask protected-path   ask protected-path   deny protected-path
    workflow that calls agentos    ask protected-path   ask protected-path   deny protected-path
    issue template                 allow                allow                allow
    pre-commit hook                ask protected-path   ask protected-path   deny protected-path
    pre-commit hook, cloud         ask protected-path   deny protected-path  deny protected-path
    agents' instructions           ask protected-path   ask protected-path   deny protected-path
    agents' servers                ask protected-path   ask protected-path   deny protected-path
    editor tasks                   ask protected-path   ask protected-path   deny protected-path
    policy file                    ask protected-path   ask protected-path   ask protected-path
    git attributes                 ask protected-path   ask protected-path   deny protected-path
    gitignore                      allow                allow                allow
    licence                        allow                ask protected-path   ask protected-path
    env file                       ask protected-path   ask protected-path   deny protected-path
    env example                    allow                allow                allow
    server key                     ask protected-path   ask protected-path   deny protected-path
    adds a token                   deny secret          deny secret          deny secret
    adds a random value            allow                allow                ask secret
    direction mark                 deny bidi            deny bidi            deny bidi
    zero-width space               ask bidi             ask bidi             deny bidi
    binary file                    ask binary           ask binary           deny binary
    executable bit                 allow                ask mode-change      ask mode-change
    new program                    allow                ask mode-change      ask mode-change
    vendored code                  allow                ask protected-path   ask protected-path
    minified code                  allow                ask protected-path   ask protected-path
    generated by its own word      allow                ask protected-path   ask protected-path
    more tests                     allow                allow                allow
    one assertion less             allow                deny protected-path  deny protected-path
    code and one assertion less    allow                ask protected-path   ask protected-path
    ignores a test                 allow                deny protected-path  deny protected-path
    deletes a test file            allow                deny protected-path  deny protected-path
    moves a test file              allow                allow                ask protected-path
    fourth attempt                 allow                ask protected-path   allow
    docs by a cloud model          allow                allow                ask protected-path
    code, manifest and lock file   allow                ask protected-path   ask protected-path
    ");
}

#[test]
fn what_the_presets_let_a_tool_see() {
    let sets = ["solo", "team", "strict"].map(preset_set);
    let key = format!("key = \"{}_{}\"\n", "ghp", "0123456789abcdefghijklmnopqrstuvwxyz");
    let large = |context_bytes| ToolFacts {
        context_bytes,
        ..cloud()
    };
    let cases = [
        ("source", "src/a.rs", "a\n", cloud()),
        ("keys, cloud", ".env", "A=1\n", cloud()),
        ("keys, local", ".env", "A=1\n", local()),
        ("a token in a source, cloud", "src/a.rs", key.as_str(), cloud()),
        ("a token in a source, local", "src/a.rs", key.as_str(), local()),
        ("300 kB of context", "src/a.rs", "a\n", large(300_000)),
    ];
    let mut table = String::new();
    for (what, path, text, tool) in cases {
        let answers = sets
            .each_ref()
            .map(|set| word(&set.decide_read(path, text.as_bytes(), &tool)));
        table.push_str(&format!("{what}: {}\n", answers.join(" / ")));
    }
    insta::assert_snapshot!(table, @r"
    source: allow / allow / allow
    keys, cloud: deny secret / deny secret / deny secret
    keys, local: allow / allow / allow
    a token in a source, cloud: deny secret / deny secret / deny secret
    a token in a source, local: allow / allow / allow
    300 kB of context: allow / allow / deny protected-path
    ");
}
