//! What somebody sees who does not know the program yet: the first calls, and the ones that go wrong.

use agentos_schema::{SchemaName, validate_value};
use agentos_testkit::repo::{read_file, write_file};

use crate::support::{SLOPPY_FIX, agentos, pipe_in, run_in, sandbox_holds, seen, signing, small_repo};

#[test]
fn init_says_what_its_preset_means_and_a_question_names_the_branch() {
    let repo = small_repo();
    let cli = agentos().in_dir(repo.path());
    let output = cli.run(&["init", "--yes", "--offline"]).unwrap();
    assert!(
        output.stderr.contains("asks for consent to every change on main"),
        "{output}"
    );
    repo.commit_all("rules");
    let asked = pipe_in(&repo, &["apply"], SLOPPY_FIX);
    assert_eq!(asked.code, Some(4), "{asked}");
    assert!(
        asked
            .stderr
            .contains("nothing was landed on main; policy requires a person's consent"),
        "{asked}"
    );

    let alone = small_repo();
    let cli = agentos().in_dir(alone.path());
    let output = cli
        .run(&["init", "--yes", "--offline", "--preset", "solo"])
        .unwrap();
    assert!(output.stderr.contains("land without consent"), "{output}");
    alone.commit_all("rules");
    assert_eq!(pipe_in(&alone, &["apply"], SLOPPY_FIX).code, Some(0));
}

#[test]
fn a_broken_profile_is_shown_as_broken_and_never_proposed() {
    let repo = small_repo();
    let cli = agentos().in_dir(repo.path());
    write_file(&cli.home().join(".config/agentos/profiles/bad.json"), "{bad");
    let status = cli.run(&[]).unwrap();
    assert!(
        status
            .stdout
            .contains("bad (broken: agentos profile validate bad)"),
        "{status}"
    );
    assert!(!status.stdout.contains("run -p bad"), "{status}");
    let report = cli.run(&["--json"]).unwrap().json().unwrap();
    assert!(validate_value(SchemaName::Status, &report).is_ok(), "{report:#}");
    assert!(report["providers"][0]["problem"].is_string(), "{report:#}");
    for verb in ["tool", "profile"] {
        let list = cli.run(&[verb, "list"]).unwrap();
        let widest = list.stdout.lines().map(|line| line.chars().count()).max();
        assert!(widest < Some(160), "{list}");
        assert!(
            list.stdout.contains("broken: agentos profile validate bad"),
            "{list}"
        );
    }
    let told = cli.run(&["profile", "validate", "bad"]).unwrap();
    assert_eq!(told.code, Some(2), "{told}");
    assert!(
        told.stderr.contains("~/.config/agentos/profiles/bad.json:1:"),
        "{told}"
    );
    assert_eq!(cli.run(&["profile", "validate", "ollama"]).unwrap().code, Some(0));
}

#[test]
fn a_copy_of_the_evidence_says_what_is_in_it_and_no_more() {
    let repo = small_repo();
    let (bare, signed) = (agentos().in_dir(repo.path()), signing(&repo));
    for (cli, is_signed) in [(&bare, false), (&signed, true)] {
        let name = format!("export-{is_signed}");
        let out = repo.outside().join(name);
        let applied = cli.run_with_input(&["apply"], SLOPPY_FIX.as_bytes()).unwrap();
        assert!(applied.code.is_some(), "{applied}");
        let output = cli
            .run(&["evidence", "export", "--out", out.to_str().unwrap()])
            .unwrap();
        assert_eq!(output.code, Some(0), "{output}");
        let text = String::from_utf8(read_file(&out.join("README.txt"))).unwrap();
        for file in ["attestations", "head.json.sig"] {
            assert_eq!(out.join(file).exists(), is_signed, "{file}");
            assert_eq!(text.contains(file), is_signed, "{text}");
        }
        assert_eq!(text.contains("ssh-keygen"), is_signed, "{text}");
        let command = text.lines().find_map(|line| line.split_once("with AgentOS:"));
        let (_, command) = command.unwrap();
        let args: Vec<&str> = command.split_whitespace().skip(1).collect();
        let there = agentos().in_dir(&out);
        assert_eq!(there.run(&args).unwrap().code, Some(0), "{text}");
    }
}

#[test]
fn ones_own_key_is_called_so() {
    let repo = small_repo();
    let cli = agentos().in_dir(repo.path());
    let rotate = || {
        cli.run(&["evidence", "key", "rotate", "--store", "file"])
            .unwrap()
    };
    let (first, second) = (rotate(), rotate());
    assert!(!first.stderr.contains("older"), "{first}");
    assert!(
        second.stderr.contains("signatures of older keys stay valid"),
        "{second}"
    );
    for (shown, others) in [(first, 0), (second, 1)] {
        let (_, table) = shown.stdout.split_once("TRUSTED").unwrap();
        let own = table.lines().filter(|line| line.starts_with("this machine"));
        assert_eq!(own.count(), 1, "{shown}");
        let rows = table.lines().filter(|line| line.contains("SHA256:"));
        assert_eq!(rows.count(), 1 + others, "{shown}");
    }
}

#[test]
fn help_is_a_verb_as_well() {
    let repo = small_repo();
    for (asked, as_flag) in [
        (&["help"][..], &["--help"][..]),
        (&["help", "apply"], &["apply", "--help"]),
        (&["help", "tool", "auth"], &["tool", "auth", "--help"]),
    ] {
        let output = run_in(&repo, asked);
        assert_eq!(output.code, Some(0), "{output}");
        assert_eq!(output.stdout, run_in(&repo, as_flag).stdout);
    }
}

#[test]
fn a_call_that_cannot_be_read_looks_like_every_other_failure() {
    let repo = small_repo();
    insta::assert_snapshot!(seen(&run_in(&repo, &["aply"]), &repo), @r"
    exit: 2
    --- stdout
    --- stderr
    error [usage] unrecognized subcommand `aply`
      next: did you mean `agentos apply`?
    ");
    insta::assert_snapshot!(seen(&run_in(&repo, &["--json", "aply"]), &repo), @r#"
    exit: 2
    --- stdout
    {
      "version": 1,
      "error": {
        "code": "usage",
        "cause": "usage",
        "message": "unrecognized subcommand `aply`",
        "hint": "did you mean `agentos apply`?"
      }
    }
    --- stderr
    "#);
    insta::assert_snapshot!(seen(&run_in(&repo, &["--json", "tool"]), &repo), @r#"
    exit: 2
    --- stdout
    {
      "version": 1,
      "error": {
        "code": "usage",
        "cause": "usage",
        "message": "`agentos tool` needs a verb",
        "hint": "see `agentos tool --help`"
      }
    }
    --- stderr
    "#);
    let people = run_in(&repo, &["tool"]);
    assert_eq!(people.code, Some(2), "{people}");
    assert!(people.stderr.contains("Usage: agentos tool"), "{people}");
}

#[test]
fn nothing_is_called_nothing() {
    let repo = small_repo();
    insta::assert_snapshot!(seen(&pipe_in(&repo, &["apply"], ""), &repo), @r"
    exit: 6
    --- stdout
    --- stderr
    nothing to do [empty] standard input is empty
      next: pipe a diff in, or name a file: agentos apply fix.patch
      run [RUN]
    ");
    if sandbox_holds() {
        let output = run_in(&repo, &["run", "-p", "command", "--", "true"]);
        insta::assert_snapshot!(seen(&output, &repo), @r"
        exit: 6
        --- stdout
        --- stderr
        nothing to do [empty] the program changed nothing
          next: nothing needs to be done
          run [RUN]  command, [DURATION]
        ");
    }
}

#[test]
fn an_answer_that_cannot_change_is_checked_once() {
    if !sandbox_holds() {
        return;
    }
    let repo = small_repo();
    repo.write("reply.md", SLOPPY_FIX);
    for tool in [
        &["-p", "replay", "--replay", "reply.md", "fix it"][..],
        &["-p", "command", "--", "sh", "-c", "echo x >> README.md"],
    ] {
        let args = [&["run", "--json", "--check", "false"], tool].concat();
        let report = run_in(&repo, &args).json().unwrap();
        assert_eq!(report["code"], "check-failed", "{report:#}");
        assert_eq!(report["attempts"], 1, "{report:#}");
        let hint = report["hint"].as_str().unwrap();
        assert!(!hint.contains("say in the task"), "{hint}");
    }
}

#[test]
fn without_a_keyring_a_key_is_proposed_to_a_file() {
    let repo = small_repo();
    let cli = agentos()
        .in_dir(repo.path())
        .env("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nonexistent");
    let health = cli.run(&["tool", "health", "-p", "openai"]).unwrap();
    let stored = cli
        .run_with_input(
            &["tool", "auth", "set", "--provider", "openai"],
            b"sk-for-tests-only",
        )
        .unwrap();
    if cfg!(target_os = "linux") {
        assert!(
            health
                .stdout
                .contains("agentos tool auth set --store file --provider openai"),
            "{health}"
        );
        insta::assert_snapshot!(seen(&stored, &repo), @r"
        exit: 5
        --- stdout
        --- stderr
        error [key-not-stored] no keyring is available: no keyring service answers in this session
          next: store the key in a file that only you can read, with `--store file`
        ");
    } else {
        eprintln!("skipped: only Linux can be without a keyring");
    }
}

#[test]
fn the_search_for_context_leaves_the_rules_and_profiles_out() {
    let repo = small_repo();
    repo.write(
        ".agentos/profiles/openai.json",
        "{ \"provider\": \"openai\", \"model\": \"basket\" }\n",
    );
    repo.write("src/basket.rs", "fn basket() {}\n");
    repo.commit_all("more");
    let args = [
        "run",
        "-p",
        "ollama",
        "mend the basket",
        "--context",
        "show",
        "--json",
    ];
    let found = run_in(&repo, &args).json().unwrap();
    let paths: Vec<&str> = found["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| file["path"].as_str().unwrap())
        .collect();
    assert_eq!(paths, ["src/basket.rs"]);
}
