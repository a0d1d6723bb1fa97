//! Where rules come from, and who may loosen what.

use agentos_testkit::repo::{TestRepo, set_mode, write_file};

use crate::support::*;

/// A script that becomes executable, which the built-in default asks about.
const EXECUTABLE: &str = "\
diff --git a/tools/check.sh b/tools/check.sh
old mode 100644
new mode 100755
";

fn script_repo() -> TestRepo {
    let repo = small_repo();
    repo.write("tools/check.sh", "#!/bin/sh\n");
    repo.commit_all("a script");
    repo
}

#[test]
fn a_repository_may_stand_on_another_preset_once_the_user_agreed() {
    let repo = script_repo();
    let cli = agentos().in_dir(repo.path());
    let apply = |flags: &[&str]| {
        let args = [&["apply", "-"], flags].concat();
        cli.run_with_input(&args, EXECUTABLE.as_bytes()).unwrap()
    };
    let trust = |flags: &[&str]| {
        let output = cli.run(&[&["trust", "--json"], flags].concat()).unwrap();
        assert_eq!(output.code, Some(0), "{output}");
        output.json().unwrap()
    };
    assert_eq!(apply(&[]).code, Some(4));
    assert_eq!(trust(&[])["trust"], "not-needed");
    // What is not committed is not in force.
    repo.write(".agentos/policy/solo.toml", "version = 1\npreset = \"solo\"\n");
    assert_eq!(apply(&[]).code, Some(4));
    repo.commit_all("policy");
    let asked = apply(&["--dry-run"]);
    assert_eq!(asked.code, Some(4), "{asked}");
    assert!(
        asked
            .stderr
            .contains("review the repository's policy with `agentos trust`"),
        "{asked}"
    );
    // Without a terminal nobody can be asked, and nothing is agreed to.
    let unasked = cli.run(&["trust"]).unwrap();
    assert_eq!(unasked.code, Some(2), "{unasked}");
    assert!(unasked.stdout.contains("+preset = \"solo\""), "{unasked}");
    assert_eq!(trust(&[])["trust"], "new");
    let explained = cli.run(&["policy", "show"]).unwrap().stdout;
    assert!(
        explained.contains("you did not agree to the repository's policy"),
        "{explained}"
    );
    let checked = cli.run(&["doctor", "--offline"]).unwrap().stdout;
    assert!(
        checked.contains("preset `solo` of the repository, which does not replace `default`"),
        "{checked}"
    );
    assert_eq!(trust(&["--yes"])["trust"], "agreed");
    let landed = apply(&["--dry-run"]);
    assert_eq!(landed.code, Some(0), "{landed}");
    assert!(!landed.stderr.contains("agentos trust"), "{landed}");
    // Another text is asked about again, with the difference.
    repo.write(
        ".agentos/policy/solo.toml",
        "version = 1\npreset = \"solo\"\n# more\n",
    );
    repo.commit_all("more");
    assert_eq!(apply(&["--dry-run"]).code, Some(4));
    let review = trust(&[]);
    assert_eq!(review["trust"], "changed");
    assert!(
        review["diff"].as_str().unwrap().contains("\n+# more\n"),
        "{review}"
    );
    assert_eq!(trust(&["--yes"])["trust"], "agreed");
    assert_eq!(apply(&[]).code, Some(0));
    let replayed = cli.run(&["evidence", "replay"]).unwrap();
    assert!(replayed.stdout.contains("identical"), "{replayed}");
    assert_eq!(trust(&["--list"])["policies"].as_array().map(Vec::len), Some(1));
    assert_eq!(trust(&["--clear"])["cleared"], true);
    assert_eq!(trust(&[])["trust"], "new");
}

/// The finding: a clone's policy switched the default off, and these landed unasked.
#[test]
fn a_clones_policy_lands_nothing_unasked_that_the_default_asks_about() {
    let repo = small_repo();
    repo.write(
        ".agentos/policy/r.toml",
        "version = 1\npreset = \"none\"\n[[rule]]\nid = \"r.allow\"\neffect = \"allow\"\nwhy = \"yes\"\n",
    );
    repo.commit_all("a clone");
    for path in [
        ".github/workflows/c.yml",
        "CLAUDE.md",
        ".vscode/tasks.json",
        "Makefile",
    ] {
        let answer = format!("--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+x\n");
        let output = pipe_in(&repo, &["apply", "-"], &answer);
        assert_eq!(output.code, Some(4), "{path}: {output}");
    }
}

#[test]
fn a_user_alone_may_choose_a_preset_and_not_against_the_repository() {
    let repo = script_repo();
    let settings = repo.outside().join("settings");
    write_file(
        &settings.join("agentos/policy/mine.toml"),
        "version = 1\npreset = \"solo\"\n",
    );
    let run = |repo: &TestRepo| {
        agentos()
            .in_dir(repo.path())
            .env("XDG_CONFIG_HOME", settings.to_str().unwrap())
            .run_with_input(&["apply", "-", "--dry-run"], EXECUTABLE.as_bytes())
            .unwrap()
    };
    assert_eq!(run(&repo).code.unwrap(), 0);
    repo.write(".agentos/policy/empty.toml", "version = 1\n");
    repo.commit_all("a policy of the repository");
    assert_eq!(run(&repo).code.unwrap(), 4);
}

#[test]
fn the_command_line_only_narrows() {
    let repo = small_repo();
    repo.write(
        "narrow.toml",
        "version = 1\n[[rule]]\nid = \"no-src\"\neffect = \"deny\"\nwhy = \"frozen\"\npaths = [\"src/**\"]\n",
    );
    repo.write("wide.toml", "version = 1\npreset = \"none\"\n");
    let narrowed = pipe_in(&repo, &["apply", "-", "--policy", "narrow.toml"], SLOPPY_FIX);
    assert_eq!(narrowed.code.unwrap(), 3);
    insta::assert_snapshot!(seen(&narrowed, &repo), @r"
    exit: 3
    --- stdout
    --- stderr
    denied [protected-path] by policy
      src/lib.rs
        repaired: the names lack the prefixes `a/` and `b/`
        + hunk 1: line 4 (the answer states line 90; exactly one place fits)
            repaired: the header counts 9 old and 9 new lines; the hunk has other numbers
      deny src/lib.rs: frozen (no-src)
      next: ask somebody who may allow it, or leave the file out
      run [RUN]
    ");
    let widened = pipe_in(&repo, &["apply", "-", "--policy", "wide.toml"], SLOPPY_FIX);
    insta::assert_snapshot!(seen(&widened, &repo), @r"
    exit: 3
    --- stdout
    --- stderr
    denied [policy-error] [REPO]/wide.toml:2:10: a policy file on the command line names a preset, but it may only add rules that ask or deny
      next: remove `preset`; the rules of the file that ask or deny still apply; a policy that cannot be read allows nothing; correct the file or remove it
      run [RUN]
    ");
}

#[cfg(unix)]
#[test]
fn the_machines_policy_counts_only_if_root_alone_could_write_it() {
    use std::os::unix::fs::MetadataExt;

    let repo = small_repo();
    let machine = repo.outside().join("machine");
    let file = machine.join("company.toml");
    write_file(
        &file,
        "version = 1\n[[rule]]\nid = \"frozen\"\neffect = \"deny\"\nwhy = \"the machine says no\"\n",
    );
    if std::fs::metadata(&file).unwrap().uid() != 0 {
        eprintln!("skipped: only root can make files that belong to root");
        return;
    }
    let run = || {
        agentos()
            .in_dir(repo.path())
            .env("AGENTOS_TEST_MACHINE_POLICY", machine.to_str().unwrap())
            .run_with_input(&["apply", "-"], SLOPPY_FIX.as_bytes())
            .unwrap()
    };
    let denied = run();
    assert_eq!(denied.code.unwrap(), 3);
    assert!(denied.to_string().contains("the machine says no"), "{denied}");
    for (path, open, closed) in [(&file, 0o666, 0o644), (&machine, 0o777, 0o755)] {
        set_mode(path, open);
        let refused = run();
        set_mode(path, closed);
        assert_eq!(refused.code.unwrap(), 3);
        assert!(refused.to_string().contains("policy-untrusted"), "{refused}");
    }
}

#[test]
fn what_a_cloud_model_may_not_read_is_left_out_and_named() {
    let repo = small_repo();
    let key = format!("{}_{}", "ghp", "0123456789abcdefghijklmnopqrstuvwxyz");
    repo.write(".env", "A=1\n");
    repo.write("src/config.rs", format!("pub const KEY: &str = \"{key}\";\n"));
    repo.commit_all("keys");
    let server = chat_server(SLOPPY_FIX, || {});
    let profile = r#"{ "provider": "vendor", "name": "vendor", "adapter": "openai", "base_url": "URL/v1", "model": "m", "capabilities": { "execution_mode": "cloud" } }"#;
    repo.write(
        ".agentos/profiles/vendor.json",
        profile.replace("URL", &server.url()),
    );
    let output = run_in(
        &repo,
        &[
            "run",
            "-p",
            "vendor",
            "fix add",
            "-f",
            "src/lib.rs",
            "-f",
            ".env",
            "-f",
            "src/config.rs",
        ],
    );
    assert_eq!(output.code.unwrap(), 0, "{output}");
    let text = output.to_string();
    assert!(text.contains(".env was not shown to the tool"), "{text}");
    assert!(text.contains("src/config.rs was not shown to the tool"), "{text}");
    let sent = server
        .requests()
        .iter()
        .map(|request| format!("{request:?}"))
        .collect::<String>();
    assert!(!sent.contains(&key) && !text.contains(&key));
}

const CARGO_EDIT: &str = "\
--- /dev/null
+++ b/Cargo.toml
@@ -0,0 +1 @@
+[package]
";

#[test]
fn a_change_is_judged_without_landing_it() {
    let repo = small_repo();
    let answer = |args: &[&str], diff: &str| {
        let output = pipe_in(&repo, args, diff);
        (output.code.unwrap(), seen(&output, &repo))
    };
    assert_eq!(answer(&["policy", "check", "-"], SLOPPY_FIX).0, 0);
    let (code, text) = answer(&["policy", "check", "-"], CARGO_EDIT);
    assert_eq!(code, 4);
    insta::assert_snapshot!(text, @r"
    exit: 4
    --- stdout
    ask
      ask Cargo.toml: dependency files decide what code is downloaded and run (default.dependencies, built-in/default.toml:[LINE])
      allow Cargo.toml: ordinary files may be edited (default.edit, built-in/default.toml:[LINE])
      allow the change: a change whose paths are allowed may land (default.land, built-in/default.toml:[LINE])
    --- stderr
    ");
    assert_eq!(answer(&["policy", "check", "-"], "nothing here").0, 6);
    let (code, text) = answer(
        &[
            "policy",
            "explain",
            "--read",
            ".env",
            "--cloud",
            "--provider",
            "openai",
        ],
        "",
    );
    assert_eq!(code, 3);
    assert!(
        text.contains("floor.read-keys") && text.contains("secrets-files"),
        "{text}"
    );
    repo.write("Cargo.toml", "[package]\n");
    repo.commit_all("a manifest");
    assert_eq!(answer(&["policy", "check", "--commit", "HEAD"], "").0, 4);
    assert_eq!(answer(&["policy", "check", "--commit", "nowhere"], "").0, 2);
    assert_eq!(answer(&["policy", "check"], "").0, 0);
    assert!(
        !repo.path().join(".git/agentos/tape.jsonl").exists(),
        "judging leaves no run"
    );
}

#[test]
fn a_decision_is_explained_as_a_tree() {
    let repo = small_repo();
    let output = pipe_in(&repo, &["policy", "explain", "-"], CARGO_EDIT);
    let text = seen(&output, &repo);
    // The time of the decision is among its facts.
    let tree: String = text
        .lines()
        .filter(|line| !line.contains("bytes of context"))
        .collect::<Vec<_>>()
        .join("\n");
    insta::assert_snapshot!(tree, @r"
    exit: 4
    --- stdout
    ├─ ask create Cargo.toml
    │  facts: +1 -0; kinds text; touches dependencies
    │  ├─ ask default.dependencies (default built-in/default.toml:[LINE])
    │  │    dependency files decide what code is downloaded and run
    │  ├─ allow default.edit (default built-in/default.toml:[LINE])
    │  │    ordinary files may be edited
    │  ├─ nearly deny floor.git-directory (floor built-in/floor.toml:4)
    │  │    its `paths` do not include this path
    │  ├─ nearly deny floor.link-outside (floor built-in/floor.toml:138)
    │  │    the file has none of its `kinds`
    │  ├─ nearly ask floor.binary (floor built-in/floor.toml:112)
    │  │    the file has none of its `kinds`
    │  ├─ nearly ask floor.link (floor built-in/floor.toml:127)
    │  │    the file has none of its `kinds`
    │  ├─ nearly ask default.new-executable (default built-in/default.toml:[LINE])
    │  │    the file has none of its `kinds`
    ├─ allow land the change
    │  facts: +1 -0; 1 path, 0 deleted; kinds text; touches dependencies
    │  ├─ allow default.land (default built-in/default.toml:[LINE])
    │  │    a change whose paths are allowed may land
    │  ├─ nearly deny floor.too-many-files (floor built-in/floor.toml:150)
    │  │    `over_files` is 10000, and this is 1
    │  ├─ nearly deny floor.too-many-lines (floor built-in/floor.toml:162)
    │  │    `over_lines` is [ID], and this is 1
    │  ├─ nearly ask default.many-files (default built-in/default.toml:[LINE])
    │  │    `over_files` is 400, and this is 1
    │  ├─ nearly ask default.many-lines (default built-in/default.toml:[LINE])
    │  │    `over_lines` is 50000, and this is 1
    │  ├─ nearly ask default.lost-files (default built-in/default.toml:[LINE])
    │  │    `over_lost_files` is 3, and this is 0
    │  ├─ nearly ask default.lost-lines (default built-in/default.toml:[LINE])
    │  │    `over_net_removed` is 200, and this is 0
      the default policy is based on the preset `default`
    --- stderr
    ");
}

#[test]
fn a_repository_begins_with_a_preset_and_is_told_what_to_do_next() {
    let repo = small_repo();
    // One user, whose command agrees to the file that it writes.
    let cli = agentos().in_dir(repo.path());
    let run_in = |_: &TestRepo, args: &[&str]| cli.run(args).unwrap();
    let begun = run_in(&repo, &["policy", "init", "--preset", "team"]);
    assert_eq!(begun.code.unwrap(), 0, "{begun}");
    assert!(begun.to_string().contains("commit it"), "{begun}");
    let text = String::from_utf8(repo.read(".agentos/policy/team.toml")).unwrap();
    let printed = run_in(&repo, &["policy", "init", "--preset", "team", "--print"]);
    assert!(printed.to_string().contains(&text), "{printed}");
    // It is not in force before it is committed; a folder can be tried before that.
    let rules = |args: &[&str]| {
        let mut all = vec!["policy", "show", "--json"];
        all.extend_from_slice(args);
        run_in(&repo, &all).json().unwrap()["stands"].clone()
    };
    let stands = |layer: &str, preset: &str| serde_json::json!([{ "layer": layer, "preset": preset }]);
    assert_eq!(rules(&[]), stands("default", "default"));
    // The agreement is to the committed files, so the default counts for a folder that is tried.
    assert_eq!(
        rules(&["--rules", ".agentos/policy"]),
        serde_json::json!([
            { "layer": "default", "preset": "default" },
            { "layer": "repository", "preset": "none" },
        ])
    );
    repo.commit_all("policy");
    assert_eq!(rules(&[]), stands("repository", "none"));
    let tested = run_in(&repo, &["policy", "test"]);
    assert!(
        tested.to_string().contains(".agentos/policy/team.toml: "),
        "{tested}"
    );
    let linted = run_in(&repo, &["policy", "lint"]);
    assert_eq!(linted.code.unwrap(), 0);
    insta::assert_snapshot!(seen(&linted, &repo), @r"
    exit: 0
    --- stdout
    --- stderr
    no advice about the rules
    ");
}

#[test]
fn a_shipped_preset_needs_no_advice() {
    for preset in ["default", "solo", "team", "strict"] {
        let repo = small_repo();
        let cli = agentos().in_dir(repo.path());
        let run_in = |_: &TestRepo, args: &[&str]| cli.run(args).unwrap();
        assert_eq!(
            run_in(&repo, &["policy", "init", "--preset", preset]).code,
            Some(0)
        );
        repo.commit_all("the policy");
        let linted = run_in(&repo, &["policy", "lint", "--json"]).json().unwrap();
        assert_eq!(linted["advice"], serde_json::json!([]), "{preset}");
    }
}

#[test]
fn lint_names_what_does_not_do_what_its_author_hopes() {
    let repo = small_repo();
    repo.write(
        ".agentos/policy/odd.toml",
        "version = 1\n\
         [[rule]]\nid = \"hope\"\neffect = \"allow\"\nwhy = \"w\"\naction = [\"chmod\"]\n\
         [[rule]]\nid = \"wide\"\neffect = \"deny\"\nwhy = \"w\"\npaths = [\"infra/**\", \"ops/**\"]\n\
         [[rule]]\nid = \"narrow\"\neffect = \"ask\"\nwhy = \"w\"\npaths = [\"infra/**\"]\nmax_added = 3\n\
         [[rule]]\nid = \"never\"\neffect = \"ask\"\nwhy = \"w\"\naction = [\"delete\"]\nfindings = [\"secret\"]\n",
    );
    repo.commit_all("policy");
    insta::assert_snapshot!(seen(&run_in(&repo, &["policy", "lint"]), &repo), @r"
    exit: 0
    --- stdout
    without-effect hope (repository .agentos/policy/odd.toml:2): it is an allow rule, and the repository policy names no preset
      fix: allow rules need a preset in their layer: name one with `preset`, or remove the rule
    no-examples wide (repository .agentos/policy/odd.toml:7): it has no examples
      fix: add `[rule.examples]` with `match` and `no_match`; they are checked whenever the file is loaded
    shadowed narrow (repository .agentos/policy/odd.toml:12): `wide` at .agentos/policy/odd.toml:7 already answers every question that it answers
      fix: remove one of the two, or narrow the other
    no-examples narrow (repository .agentos/policy/odd.toml:12): it has no examples
      fix: add `[rule.examples]` with `match` and `no_match`; they are checked whenever the file is loaded
    unreachable never (repository .agentos/policy/odd.toml:18): `findings` are looked for in added text, and nothing is added
      fix: remove the rule or the condition
    no-examples never (repository .agentos/policy/odd.toml:18): it has no examples
      fix: add `[rule.examples]` with `match` and `no_match`; they are checked whenever the file is loaded
    --- stderr
    ");
    repo.write(
        ".agentos/policy/odd.toml",
        "version = 1\npreset = \"none\"\n[[rule]]\nid = \"all\"\neffect = \"allow\"\nwhy = \"w\"\n",
    );
    repo.commit_all("wider");
    insta::assert_snapshot!(seen(&run_in(&repo, &["policy", "lint"]), &repo), @r"
    exit: 0
    --- stdout
    too-wide all (repository .agentos/policy/odd.toml:3): it allows everything, including reading by any model and changes of executable bits
      fix: state `action`, and `paths` or `touches`
    no-limit all (repository .agentos/policy/odd.toml:3): it allows a change of any size
      fix: add `max_lines` or `max_files`, or a rule that asks above such a limit
    no-examples all (repository .agentos/policy/odd.toml:3): it has no examples
      fix: add `[rule.examples]` with `match` and `no_match`; they are checked whenever the file is loaded
    --- stderr
    note: this repository's policy names the preset `none`; the preset `default` stays active besides it, and the stricter answer wins
      next: review the repository's policy with `agentos trust`
    ");
    let origin = run_in(&repo, &["policy", "show", "--origin"]);
    assert!(
        origin
            .to_string()
            .contains("all (repository .agentos/policy/odd.toml:3)"),
        "{origin}"
    );
}
