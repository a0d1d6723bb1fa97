//! Which answer a change gets.

use agentos_landing::FileMode::{Executable, Regular};
use agentos_policy::Effect;
use agentos_tool::{Enforcement, ExecutionMode};

use crate::support::*;

#[test]
fn the_built_in_rules_by_example() {
    let set = PolicySet::builtin().unwrap();
    let cases = [
        ("src/lib.rs", "allow"),
        ("docs/guide.md", "allow"),
        (".gitignore", "allow"),
        ("..foo", "ask protected-path"),
        ("docs/..foo", "allow"),
        ("--- a", "allow"),
        ("docs/with\ttab.txt", "allow"),
        ("git/hooks/README.md", "allow"),
        ("docs/.gitkeep", "allow"),
        ("tests/x.git/readme", "allow"),
        (".git-blame-ignore-revs", "allow"),
        (".github/ISSUE_TEMPLATE/bug.md", "allow"),
        ("docs/.github/workflows.md", "allow"),
        ("docs/console.md", "allow"),
        ("docs/xss.html", "allow"),
        ("docs/config.md", "allow"),
        ("docs/日本語 naïve.md", "allow"),
        ("conf/main.toml", "allow"),
        ("scripts/build.sh", "allow"),
        ("src/build/mod.rs", "allow"),
        (".editorconfig", "allow"),
        ("LICENSE", "allow"),
        (".env.example", "allow"),
        ("tests/login.rs", "allow"),
        (".github/workflows/ci.yml", "ask protected-path"),
        (".GitHub/WORKFLOWS/ci.yml", "ask protected-path"),
        (".github/workflow\u{17f}/ci.yml", "ask protected-path"),
        (".github/CODEOWNERS", "ask protected-path"),
        (".gitlab-ci.yml", "ask protected-path"),
        ("Cargo.toml", "ask protected-path"),
        ("crates/a/Cargo.toml", "ask protected-path"),
        ("Cargo.lock", "ask protected-path"),
        ("web/package.json", "ask protected-path"),
        ("pnpm-lock.yaml", "ask protected-path"),
        ("requirements.txt", "ask protected-path"),
        ("go.sum", "ask protected-path"),
        ("src/App.csproj", "ask protected-path"),
        ("build.rs", "ask protected-path"),
        ("Makefile", "ask protected-path"),
        ("cmake/find.cmake", "ask protected-path"),
        ("Dockerfile", "ask protected-path"),
        (".cargo/config.toml", "ask protected-path"),
        (".husky/pre-commit", "ask protected-path"),
        (".githooks/post-merge", "ask protected-path"),
        ("CLAUDE.md", "ask protected-path"),
        ("docs/AGENTS.md", "ask protected-path"),
        (".claude/settings.json", "ask protected-path"),
        (".cursor/rules/x.mdc", "ask protected-path"),
        (".aider.conf.yml", "ask protected-path"),
        (".mcp.json", "ask protected-path"),
        (".github/copilot-instructions.md", "ask protected-path"),
        (".vscode/tasks.json", "ask protected-path"),
        (".agentos/policy/team.toml", "ask protected-path"),
        (".gitattributes", "ask protected-path"),
        ("sub/.gitattributes", "ask protected-path"),
        (".lfsconfig", "ask protected-path"),
        (".env", "ask protected-path"),
        ("deploy/id_rsa", "ask protected-path"),
    ];
    for (path, expected) in cases {
        for (what, change) in [
            ("modify", modify(path)),
            ("create", create(path)),
            ("delete", delete(path)),
        ] {
            assert_eq!(word(&set.judge(&change, &local())), expected, "{what} {path}");
            assert_eq!(word(&set.judge(&change, &cloud())), expected, "{what} {path}");
        }
    }
}

#[test]
fn what_can_be_started_as_a_program_needs_a_person() {
    let set = PolicySet::builtin().unwrap();
    let cases = [
        (
            "gains the bit",
            modes("a.sh", Some(Regular), Executable, "a\n"),
            "ask mode-change",
        ),
        (
            "loses the bit",
            modes("a.sh", Some(Executable), Regular, "a\n"),
            "ask mode-change",
        ),
        (
            "gains bit and bytes",
            modes("a.sh", Some(Regular), Executable, "b\n"),
            "ask mode-change",
        ),
        (
            "loses bit, other bytes",
            modes("a.sh", Some(Executable), Regular, "b\n"),
            "ask mode-change",
        ),
        (
            "new program",
            modes("a.sh", None, Executable, "b\n"),
            "ask mode-change",
        ),
        (
            "edit of a program",
            modes("a.sh", Some(Executable), Executable, "b\n"),
            "allow",
        ),
    ];
    for (what, change, expected) in cases {
        assert_eq!(word(&set.judge(&change, &local())), expected, "{what}");
    }
}

#[test]
fn size_is_judged_once_for_the_whole_change() {
    let set = PolicySet::builtin().unwrap();
    let files = |count: usize| {
        let paths: Vec<String> = (0..count).map(|n| format!("src/f{n}.rs")).collect();
        change(
            &paths
                .iter()
                .map(|path| (path.as_str(), None, Some("x\n")))
                .collect::<Vec<_>>(),
        )
    };
    let gone = |count: usize| {
        let paths: Vec<String> = (0..count).map(|n| format!("src/f{n}.rs")).collect();
        change(
            &paths
                .iter()
                .map(|path| (path.as_str(), Some("x\n"), None))
                .collect::<Vec<_>>(),
        )
    };
    let lines = |count: usize| change(&[("src/big.rs", None, Some(&"x\n".repeat(count)))]);
    let cases = [
        ("400 files", files(400), "allow"),
        ("401 files", files(401), "ask too-large"),
        ("10001 files", files(10_001), "deny too-large"),
        ("3 deletions", gone(3), "allow"),
        ("4 deletions", gone(4), "ask too-large"),
        ("50000 lines", lines(50_000), "allow"),
        ("50001 lines", lines(50_001), "ask too-large"),
    ];
    for (what, change, expected) in cases {
        assert_eq!(word(&set.judge(&change, &local())), expected, "{what}");
    }
}

#[test]
fn key_files_do_not_leave_for_a_cloud_model() {
    let set = PolicySet::builtin().unwrap();
    let cases = [
        (".env", "deny secret", "allow"),
        ("config/.ENV.production", "deny secret", "allow"),
        ("certs/server.key", "deny secret", "allow"),
        (".ssh/config", "deny secret", "allow"),
        (".env.example", "allow", "allow"),
        ("src/lib.rs", "allow", "allow"),
        ("id_ed25519.pub", "allow", "allow"),
        ("../outside", "deny path-escape", "deny path-escape"),
        (".git/config", "deny git-dir", "deny git-dir"),
    ];
    for (path, by_cloud, by_local) in cases {
        assert_eq!(word(&set.decide_read(path, b"", &cloud())), by_cloud, "{path}");
        assert_eq!(word(&set.decide_read(path, b"", &local())), by_local, "{path}");
    }
}

#[test]
fn every_condition_of_a_rule_must_hold() {
    let deny = |conditions: &str| {
        with(&format!(
            "[[rule]]\nid = \"r\"\neffect = \"deny\"\nwhy = \"w\"\n{conditions}\n"
        ))
    };
    let one_line = modify("src/a.rs");
    let cases = [
        ("", "deny"),
        ("paths = [\"src/*\"]", "deny"),
        ("paths = [\"SRC/A.rs\"]", "deny"),
        ("paths = [\"*\"]", "allow"),
        ("paths = [\"**\"]", "deny"),
        ("paths = [\"src\"]", "allow"),
        ("paths = [\"src/**/*.rs\"]", "deny"),
        ("paths = [\"src/**/*.r\"]", "allow"),
        ("paths = [\"src/**\"]\nexcept_paths = [\"src/a.*\"]", "allow"),
        ("except_paths = [\"src/**\"]", "allow"),
        ("except_paths = [\"docs/**\"]", "deny"),
        ("action = [\"modify\"]", "deny"),
        (
            "action = [\"create\", \"delete\", \"rename\", \"chmod\", \"read\"]",
            "allow",
        ),
        ("action = [\"land\"]", "deny"),
        ("action = [\"modify\"]\nexecution_mode = \"cloud\"", "allow"),
        ("execution_mode = \"local\"", "deny"),
        ("enforcement = \"observed\"", "allow"),
        ("enforcement = \"kernel\"", "deny"),
        ("provider = [\"openai\"]", "allow"),
        ("provider = [\"LLAMA*\"]", "deny"),
        ("model = [\"gpt-*\"]", "allow"),
        ("model = [\"*\"]", "deny"),
        ("kinds = [\"binary\"]", "allow"),
        ("kinds = [\"text\"]", "deny"),
        ("touches = [\"tests\"]", "allow"),
        ("findings = [\"secret\"]", "allow"),
        ("over_added = 0", "deny"),
        ("over_added = 1", "allow"),
        ("max_added = 1", "deny"),
        ("max_added = 0", "allow"),
        ("over_removed = 0\nmax_removed = 1", "deny"),
        ("over_lines = 1", "deny"),
        ("over_lines = 2", "allow"),
        ("over_bytes = 1", "deny"),
        ("over_bytes = 2", "allow"),
        ("max_bytes = 2", "deny"),
        ("max_bytes = 1", "allow"),
        ("max_files = 0", "allow"),
        ("over_deleted = 0", "allow"),
        ("over_attempt = 1", "allow"),
        ("max_attempt = 1", "deny"),
    ];
    for (conditions, expected) in cases {
        let decision = deny(conditions).judge(&one_line, &local());
        assert_eq!(decision.effect().as_str(), expected, "{conditions}");
    }
}

#[test]
fn a_path_and_a_pattern_fold_alike() {
    let cases = [
        ("b\u{fc}ro/**", "bu\u{308}ro/plan.md"),
        ("bu\u{308}ro/**", "b\u{fc}ro/plan.md"),
        (".github/workflow\u{17f}/**", ".github/workflows/ci.yml"),
        ("cl\u{200b}osed/**", "closed/a.md"),
        ("closed/**", "\u{ff43}losed/a.md"),
        ("\u{ff43}losed/**", "closed/a.md"),
        ("stra\u{df}e/*", "STRASSE/a.md"),
        ("closed/*", "closed/a\u{ff0f}b.md"),
    ];
    for (pattern, path) in cases {
        let set = with(&format!(
            "[[rule]]\nid = \"r\"\neffect = \"deny\"\nwhy = \"w\"\npaths = [\"{pattern}\"]\n"
        ));
        let decision = set.decide_read(path, b"", &local());
        let by: Vec<&str> = decision.deciding().map(|reason| reason.rule.as_str()).collect();
        assert_eq!(by, ["r"], "{pattern} {path}");
    }
}

#[test]
fn a_new_name_is_asked_about_beside_the_new_file() {
    let set = with(
        "[[rule]]\nid = \"r\"\neffect = \"deny\"\nwhy = \"w\"\naction = [\"delete\"]\npaths = [\"docs/guide.md\"]\n",
    );
    let moved = change(&[
        ("docs/guide.md", Some("a\nb\n"), None),
        ("docs/book.md", None, Some("a\nb\n")),
    ]);
    assert_eq!(word(&set.judge(&moved, &local())), "deny protected-path");
}

#[test]
fn the_explanation_names_rule_file_and_line() {
    let set = with(
        "\n[[rule]]\nid = \"no-cloud-ci\"\neffect = \"deny\"\nwhy = \"a cloud model may not edit workflows\"\n\
         fix = \"edit the workflow by hand\"\npaths = [\".github/**\"]\nexecution_mode = \"cloud\"\n",
    );
    let edit = change(&[
        (".github/workflows/ci.yml", Some("a\n"), Some("b\n")),
        ("src/a.rs", Some("a\n"), Some("b\n")),
        ("src/b.rs", None, Some("b\n")),
    ]);
    let decision = set.judge(&edit, &cloud());
    insta::assert_snapshot!(decision.explanation(), @r"
    deny
      deny .github/workflows/ci.yml: a cloud model may not edit workflows (no-cloud-ci, .agentos/policy/team.toml:3)
      ask .github/workflows/ci.yml: continuous integration runs this with the project's own rights (default.ci, built-in/default.toml:131)
      allow the change: a change whose paths are allowed may land (default.land, built-in/default.toml:16)
      allow .github/workflows/ci.yml and 2 more: ordinary files may be edited (default.edit, built-in/default.toml:7)
      fix: edit the workflow by hand
    ");
    insta::assert_json_snapshot!(decision.facts(), @r#"
    {
      "files": 3,
      "added": 3,
      "removed": 2,
      "created": 1,
      "deleted": 0,
      "touches": [
        "ci"
      ],
      "findings": []
    }
    "#);
    assert_eq!(
        decision
            .deciding()
            .map(|reason| reason.rule.as_str())
            .collect::<Vec<_>>(),
        ["no-cloud-ci"]
    );
}

#[test]
fn every_built_in_answer_explains_itself() {
    let set = PolicySet::builtin().unwrap();
    let lines: Vec<String> = set
        .rules()
        .iter()
        .filter(|rule| rule.effect() != Effect::Allow)
        .map(|rule| format!("{} {}: {}", rule.effect().as_str(), rule.id(), rule.why()))
        .collect();
    insta::assert_snapshot!(lines.join("\n"), @r"
    deny floor.git-directory: git's own files decide what git executes
    deny floor.embedded-git-directory: by what it holds this folder is a git directory, whose settings name programs that git runs
    ask floor.policy: this file belongs to the policy itself, or runs it
    deny floor.read-keys: files that usually hold keys do not leave this machine
    deny floor.read-secrets: it holds a credential, which does not leave this machine
    deny floor.secrets: it adds a credential
    deny floor.bidi: it adds characters that a reader cannot see or that change the reading direction
    deny floor.nul: it adds NUL bytes to a text file, which would hide the rest of the text from every reader
    ask floor.binary: it changes a binary file, whose content the diff cannot show
    ask floor.link: it makes a symbolic link, or moves one to another target
    deny floor.link-outside: it is a symbolic link that leads out of the repository, to git's own files, or nowhere on some system
    deny floor.too-many-files: nobody can review a change of more than 10000 files
    deny floor.too-many-lines: nobody can review a change of more than 1000000 lines
    ask default.mode: it changes whether a file can be started as a program
    ask default.new-executable: it adds a file that can be started as a program
    ask default.invisible: it adds characters of no width, which can hide text from a reader
    ask default.many-files: it changes more than 400 files
    ask default.many-lines: it changes more than 50000 lines
    ask default.lost-files: it takes away more than 3 files
    ask default.lost-lines: it removes over 200 lines more than it adds
    ask default.most-of-a-file: more than half of this file is lost
    ask default.dependencies: dependency files decide what code is downloaded and run
    ask default.ci: continuous integration runs this with the project's own rights
    ask default.build: build scripts run on every machine that builds the project
    ask default.hooks: hooks run when a person commits or pulls
    ask default.agents: coding agents obey this file
    ask default.editor: editors run tasks and load settings from this file
    ask default.git-attributes: this file changes how git treats other files
    ask default.scanners: this file tells scanners what to pass over
    ask default.hidden: tools keep settings in hidden files like this one, and it is not known to be harmless
    ask default.key-files: files of this name usually hold keys
    ask default.diff-text: its new text is a part of an answer, as a diff or a control mark of a chat, and not the text of the file
    ");
}

#[test]
fn a_rule_sees_where_the_tool_worked_and_what_held_it() {
    let set = with(
        "[[rule]]\nid = \"held\"\neffect = \"ask\"\nwhy = \"the kernel did not hold the tool\"\nenforcement = \"observed\"\n\
         execution_mode = \"cloud\"\n",
    );
    for (mode, enforcement, expected) in [
        (ExecutionMode::Local, Enforcement::Observed, Effect::Allow),
        (ExecutionMode::Cloud, Enforcement::Kernel, Effect::Allow),
        (ExecutionMode::Cloud, Enforcement::Observed, Effect::Ask),
    ] {
        let tool = ToolFacts {
            execution_mode: mode,
            enforcement,
            ..local()
        };
        assert_eq!(set.judge(&modify("src/a.rs"), &tool).effect(), expected);
    }
}

#[test]
fn a_rule_sees_where_the_change_is_to_land() {
    let set = with(
        "[[rule]]\nid = \"protected\"\neffect = \"ask\"\nwhy = \"protected\"\naction = [\"land\"]\n\
         target_ref = [\"refs/heads/main\", \"refs/heads/release/*\"]\n\
         [[rule]]\nid = \"elsewhere\"\neffect = \"deny\"\nwhy = \"elsewhere\"\nprovider = [\"bot\"]\n\
         except_target_ref = [\"refs/heads/bot/**\"]\n",
    );
    let cases = [
        ("llamacpp", Some("refs/heads/main"), Effect::Ask),
        // Some file systems take the two for one file.
        ("llamacpp", Some("refs/heads/Main"), Effect::Ask),
        ("llamacpp", Some("refs/heads/maintenance"), Effect::Allow),
        ("llamacpp", Some("refs/heads/release/1.2"), Effect::Ask),
        ("llamacpp", Some("refs/heads/release/1/2"), Effect::Allow),
        ("llamacpp", Some("HEAD"), Effect::Allow),
        ("llamacpp", None, Effect::Allow),
        ("bot", Some("refs/heads/bot/a/b"), Effect::Allow),
        ("bot", Some("refs/heads/topic"), Effect::Deny),
        ("bot", Some("HEAD"), Effect::Deny),
        ("bot", None, Effect::Deny),
    ];
    for (provider, target, expected) in cases {
        let tool = ToolFacts {
            provider: provider.to_owned(),
            target_ref: target.map(str::to_owned),
            ..local()
        };
        let answer = set.judge(&modify("src/a.rs"), &tool).effect();
        assert_eq!(answer, expected, "{provider} {target:?}");
    }
}
