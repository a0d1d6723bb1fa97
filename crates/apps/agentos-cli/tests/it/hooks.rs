//! `--run-hooks`: the repository's own hooks before a commit, in the sandbox.

use agentos_testkit::cli::CliOutput;
use agentos_testkit::repo::{TestRepo, make_dir, make_link, read_file, set_mode, write_file};
use agentos_testkit::server::{FakeServer, Reply};
use serde_json::{Value, json};

use crate::support::{LIB_FIXED, SLOPPY_FIX, agentos, openai_at, run_in, sandbox_holds, small_repo, state};

/// Writes an executable hook into a folder below the repository.
fn write_hook(repo: &TestRepo, folder: &str, name: &str, script: &str) {
    let place = repo.path().join(folder);
    make_dir(&place);
    let file = place.join(name);
    write_file(&file, format!("#!/bin/sh\n{script}\n"));
    set_mode(&file, 0o755);
}

/// A repository with an answer next to it.
fn repo_with_answer() -> (TestRepo, String) {
    let repo = small_repo();
    let answer = repo.outside().join("good.md");
    write_file(&answer, SLOPPY_FIX);
    (repo, answer.display().to_string())
}

fn apply(repo: &TestRepo, answer: &str, flags: &[&str]) -> CliOutput {
    let args = [&["apply", answer, "--json", "--run-hooks"], flags].concat();
    run_in(repo, &args)
}

#[test]
fn hooks_run_in_order_on_the_staged_change_and_the_message() {
    if !sandbox_holds() {
        return;
    }
    let (repo, answer) = repo_with_answer();
    // Each prints what it sees, and the output is in the evidence.
    let seen = "set -e; git diff --cached --name-only; git status --porcelain; \
                git rev-parse --abbrev-ref HEAD; git rev-list --count HEAD; echo \"$0 $#\"; echo \"by $GIT_AUTHOR_NAME\"; \
                git stash list";
    write_hook(&repo, ".git/hooks", "pre-commit", seen);
    write_hook(
        &repo,
        ".git/hooks",
        "commit-msg",
        "echo \"$0 $1\"; sed 's/[0-9a-f]\\{8,\\}/ID/g' \"$1\"",
    );
    for name in ["prepare-commit-msg", "post-commit", "pre-push"] {
        write_hook(&repo, ".git/hooks", name, "exit 9");
    }
    repo.git(&["branch", "-M", "trunk"]);
    let output = apply(&repo, &answer, &["-m", "A subject\n\nWith a body."]);
    assert_eq!(output.code, Some(0), "{output}");
    assert_eq!(repo.read("src/lib.rs"), LIB_FIXED.as_bytes());
    let said = run_in(&repo, &["show", "--output"]).stdout;
    let said = said.lines().filter(|line| !line.starts_with("AgentOS-Run"));
    insta::assert_snapshot!(said.collect::<Vec<_>>().join("\n"), @r"
    == attempt 1: the check `.git/hooks/pre-commit` ==
    src/lib.rs
    M  src/lib.rs
    trunk
    1
    .git/hooks/pre-commit 0
    by Test Author
    == attempt 1: the check `.git/hooks/commit-msg` ==
    .git/hooks/commit-msg .git/COMMIT_EDITMSG
    A subject

    With a body.

    AgentOS-Evidence: sha256:ID
    ");
    let shown = run_in(&repo, &["evidence", "show"]).stdout;
    for hook in ["pre-commit", "commit-msg"] {
        assert!(shown.contains(&format!("the hook `{hook}` passes")), "{shown}");
    }
    let replayed = run_in(&repo, &["evidence", "replay"]);
    assert!(replayed.stdout.contains("identical"), "{replayed}");
    assert_eq!(run_in(&repo, &["evidence", "verify"]).code, Some(0));
}

#[test]
fn a_hook_that_fails_or_writes_refuses_the_commit() {
    if !sandbox_holds() {
        return;
    }
    // The hook, its script, the exit status, the code, and words of the message.
    let cases = [
        (
            "pre-commit",
            "echo 'tabs are bad' >&2; exit 4",
            6,
            "hook-failed",
            "it ended with exit code 4",
        ),
        (
            "commit-msg",
            "echo 'no ticket'; exit 1",
            8,
            "hook-failed",
            "`commit-msg` rejects the commit",
        ),
        (
            "pre-commit",
            "echo '// formatted' >> src/lib.rs; git add -A",
            8,
            "hook-changed",
            "changed `src/lib.rs`, which is not taken",
        ),
        (
            "pre-commit",
            "rm README.md",
            8,
            "hook-changed",
            "changed `README.md`",
        ),
        (
            "pre-commit",
            "echo x > new.txt",
            8,
            "hook-changed",
            "changed `new.txt`",
        ),
        (
            "commit-msg",
            "echo 'Change-Id: I1' >> \"$1\"",
            8,
            "hook-changed",
            "changed the commit message",
        ),
        (
            "commit-msg",
            "rm \"$1\"",
            8,
            "hook-changed",
            "changed the commit message",
        ),
    ];
    for (hook, script, status, code, words) in cases {
        let (repo, answer) = repo_with_answer();
        write_hook(&repo, ".git/hooks", hook, script);
        let before = state(&repo);
        let output = apply(&repo, &answer, &[]);
        assert_eq!(output.code, Some(status), "{script}: {output}");
        let report = output.json().unwrap();
        assert_eq!(report["code"], code, "{script}: {report:#}");
        assert!(
            report["message"].as_str().unwrap().contains(words),
            "{script}: {report:#}"
        );
        assert_eq!(
            report["check"]["command"],
            format!(".git/hooks/{hook}"),
            "{report:#}"
        );
        assert_eq!(state(&repo), before, "{script}");
        assert_eq!(run_in(&repo, &["evidence", "verify"]).code, Some(0), "{script}");
        // Without the flag nothing has changed: no hook runs.
        let landed = run_in(&repo, &["apply", &answer]);
        assert_eq!(landed.code, Some(0), "{script}: {landed}");
    }
}

#[test]
fn a_hook_reaches_nothing_but_its_copy() {
    if !sandbox_holds() {
        return;
    }
    let (repo, answer) = repo_with_answer();
    let server = FakeServer::start(|_| Reply::json(200, &json!({}))).unwrap();
    let (top, outside, url) = (repo.path().display(), repo.outside().display(), server.url());
    let script = format!(
        "for place in {top}/out {top}/.git/out {outside}/out .git/hooks/out \"$(dirname \"$0\")/pre-commit\"; do \
           (echo x >> \"$place\") 2>/dev/null; done; \
         test ! -e {top}/src || exit 3; test ! -e {top}/.git/config || exit 4; \
         if command -v python3 >/dev/null; then \
           python3 -c 'import urllib.request; urllib.request.urlopen(\"{url}\", timeout=2)' 2>/dev/null && exit 5; \
         fi; test -z \"$(env | grep -i token)\" || exit 7; exit 0"
    );
    write_hook(&repo, ".git/hooks", "pre-commit", &script);
    let hook = repo.read(".git/hooks/pre-commit");
    let cli = agentos().in_dir(repo.path()).env("SOME_TOKEN", "secret");
    let output = cli.run(&["apply", &answer, "--run-hooks", "--json"]).unwrap();
    assert_eq!(output.code, Some(0), "{output}");
    assert_eq!(repo.read(".git/hooks/pre-commit"), hook);
    for place in ["out", ".git/out", ".git/hooks/out"] {
        assert!(!repo.has(place), "{place}");
    }
    assert!(!repo.outside().join("out").exists());
    assert_eq!(server.requests().len(), 0);
}

#[test]
fn hooks_are_found_where_git_finds_them() {
    if !sandbox_holds() {
        return;
    }
    let says = |script: &str| format!("echo \"hook {script} at $0\"; exit 3");
    let rejects = |repo: &TestRepo, answer: &str, words: &str| {
        let output = apply(repo, answer, &[]);
        let report: Value = output.json().unwrap();
        assert_eq!(report["code"], "hook-failed", "{words}: {output}");
        assert!(
            report["check"]["said"].as_str().unwrap().contains(words),
            "{words}: {report:#}"
        );
    };

    // Committed: the hook of the commit, and the scripts next to it.
    let (repo, answer) = repo_with_answer();
    write_hook(
        &repo,
        ".githooks",
        "pre-commit",
        ". \"$(dirname \"$0\")/common.sh\"; fail",
    );
    repo.write(".githooks/common.sh", "fail() { echo shared; exit 3; }\n");
    repo.commit_all("hooks");
    repo.git(&["config", "core.hooksPath", ".githooks"]);
    rejects(&repo, &answer, "shared");

    // As husky: an ignored folder whose hooks start committed scripts.
    let (repo, answer) = repo_with_answer();
    repo.write(".husky/pre-commit", "echo from husky\nexit 3\n");
    repo.write(".gitignore", ".husky/_/\n");
    repo.commit_all("husky");
    let starter = "s=$(dirname \"$(dirname \"$0\")\")/$(basename \"$0\"); sh -e \"$s\" \"$@\"";
    write_hook(&repo, ".husky/_", "pre-commit", starter);
    repo.git(&["config", "core.hooksPath", ".husky/_"]);
    rejects(&repo, &answer, "from husky");

    // Elsewhere on this machine.
    let (repo, answer) = repo_with_answer();
    write_hook(&repo, "../outside-hooks", "pre-commit", &says("elsewhere"));
    let place = repo.path().parent().unwrap().join("outside-hooks");
    // Named by the user's own configuration. The repository's could name any folder of the user's.
    let cli = agentos().in_dir(repo.path());
    let settings = cli.home().join(".gitconfig");
    let own = String::from_utf8(read_file(&settings)).unwrap();
    write_file(
        &settings,
        format!("{own}\n[core]\n\thooksPath = {}\n", place.display()),
    );
    let run = ["apply", &answer, "--json", "--run-hooks"];
    let output = cli.run(&run).unwrap();
    assert!(output.to_string().contains("hook elsewhere"), "{output}");
    let (repo, answer) = repo_with_answer();
    write_hook(&repo, "../outside-hooks", "pre-commit", &says("elsewhere"));
    let place = repo.path().parent().unwrap().join("outside-hooks");
    repo.git(&["config", "core.hooksPath", place.to_str().unwrap()]);
    let output = apply(&repo, &answer, &[]);
    assert_ne!(output.code, Some(0), "{output}");
    assert!(!output.to_string().contains("hook elsewhere"), "{output}");
    assert!(
        output
            .stderr
            .contains("outside-hooks`, which the repository names, is not shown"),
        "{output}"
    );

    // A link to a committed script, and a script without a first line that names an interpreter.
    let (repo, answer) = repo_with_answer();
    repo.write("scripts/check.sh", "echo 'hook by a link'; exit 3\n");
    set_mode(&repo.path().join("scripts/check.sh"), 0o755);
    repo.commit_all("script");
    make_link(
        &repo.path().join(".git/hooks/pre-commit"),
        "../../scripts/check.sh",
    );
    rejects(&repo, &answer, "hook by a link");

    // One that is not executable is no hook, and git says so too.
    let (repo, answer) = repo_with_answer();
    write_hook(&repo, ".git/hooks", "pre-commit", "exit 3");
    set_mode(&repo.path().join(".git/hooks/pre-commit"), 0o644);
    let output = run_in(&repo, &["apply", &answer, "--run-hooks"]);
    assert_eq!(output.code, Some(0), "{output}");
    assert!(output.stderr.contains("is not executable"), "{output}");
}

/// The finding: `INSTALL_PYTHON=` and a link in `.git/hooks` named a file of the user's, and the hook could print it.
#[test]
fn a_hook_is_shown_nothing_that_only_the_repository_names() {
    if !sandbox_holds() {
        return;
    }
    let secret = "SECRET-of-the-user";
    let run = |make: &dyn Fn(&TestRepo, &std::path::Path)| {
        let (repo, answer) = repo_with_answer();
        let cli = agentos().in_dir(repo.path());
        make(&repo, cli.home());
        let output = cli.run(&["apply", &answer, "--run-hooks"]).unwrap();
        let shown = cli.run(&["show", "--output"]).unwrap();
        assert!(!format!("{output}{shown}").contains(secret), "{output}{shown}");
        output
    };
    let key = |home: &std::path::Path| {
        let key = home.join(".ssh/id_ed25519");
        write_file(&key, secret);
        set_mode(&key, 0o600);
        key
    };
    let output = run(&|repo, home| {
        let key = key(home);
        let hook = format!("INSTALL_PYTHON={}\ncat $INSTALL_PYTHON; exit 3", key.display());
        write_hook(repo, ".git/hooks", "pre-commit", &hook);
    });
    assert!(
        output
            .stderr
            .contains("id_ed25519`, which the repository names, is not shown"),
        "{output}"
    );
    let output = run(&|repo, home| {
        write_hook(
            repo,
            "../bin",
            "pre-commit",
            &format!("cat {}; exit 3", key(home).display()),
        );
        let own = home.join("own/tool");
        write_file(&own, format!("#!/bin/sh\necho {secret}\n"));
        set_mode(&own, 0o755);
        make_dir(&repo.path().join(".git/hooks"));
        make_link(&repo.path().join(".git/hooks/pre-commit"), own.to_str().unwrap());
    });
    assert!(output.stderr.contains("own/tool`, to which"), "{output}");
}

#[test]
fn a_repository_cannot_make_its_hooks_run_and_the_user_can() {
    if !sandbox_holds() {
        return;
    }
    let (repo, answer) = repo_with_answer();
    write_hook(&repo, ".git/hooks", "pre-commit", "exit 3");
    repo.git(&["config", "agentos.hooks", "run"]);
    repo.write(".agentos/config.toml", "hooks = \"run\"\n");
    let cli = agentos().in_dir(repo.path());
    let dry = |flags: &[&str]| {
        let args = [&["apply", answer.as_str(), "--dry-run"], flags].concat();
        cli.run(&args).unwrap().code
    };
    assert_eq!(dry(&[]), Some(0));
    assert_eq!(dry(&["--run-hooks"]), Some(6));
    assert_eq!(cli.run(&["config", "set", "hooks", "run"]).unwrap().code, Some(0));
    assert_eq!(dry(&[]), Some(6));
    assert_eq!(dry(&["--no-hooks"]), Some(0));
    // Without a commit there is no hook to run.
    let output = cli.run(&["apply", &answer, "--no-commit"]).unwrap();
    assert_eq!(output.code, Some(0), "{output}");
    let output = cli
        .run(&["apply", &answer, "--no-commit", "--run-hooks"])
        .unwrap();
    assert_eq!(output.code, Some(2), "{output}");
}

#[test]
fn a_model_is_shown_what_a_hook_rejects_and_land_and_approve_run_it_too() {
    if !sandbox_holds() {
        return;
    }
    let (repo, _) = repo_with_answer();
    let server = FakeServer::start(|_| {
        Reply::json(
            200,
            &json!({
                "id": "chatcmpl-1", "object": "chat.completion", "model": "tiny-coder",
                "choices": [{ "index": 0, "finish_reason": "stop", "message": { "role": "assistant", "content": SLOPPY_FIX } }],
                "usage": { "prompt_tokens": 11, "completion_tokens": 7 },
            }),
        )
    })
    .unwrap();
    write_hook(&repo, ".git/hooks", "pre-commit", "echo 'a hook minds'; exit 3");
    let at = openai_at(&server.url());
    let at: Vec<&str> = at.iter().map(String::as_str).collect();
    let cli = agentos()
        .in_dir(repo.path())
        .env("AGENTOS_OPENAI_API_KEY", "sk-for-tests");
    let task = [
        "run",
        "fix add()",
        "--file",
        "src/lib.rs",
        "--json",
        "--run-hooks",
    ];
    let output = cli.run(&[&task[..], &at].concat()).unwrap();
    assert_eq!(output.code, Some(6), "{output}");
    assert_eq!(output.json().unwrap()["attempts"], 2);
    let told = String::from_utf8(server.requests()[1].body.clone()).unwrap();
    assert!(
        told.contains(".git/hooks/pre-commit") && told.contains("a hook minds"),
        "{told}"
    );
    let story = run_in(&repo, &["show"]).stdout;
    assert!(
        story.contains("hooks") && story.contains("with exit code 3"),
        "{story}"
    );

    let landed = |flags: &[&str]| {
        let args = [&["land", "@", "--json", "--dry-run"], flags].concat();
        cli.run(&args).unwrap().json().unwrap()["code"].clone()
    };
    assert_eq!(landed(&["--run-hooks"]), json!("hook-failed"));

    // A message that the hook rejects is not the tool's fault.
    write_hook(&repo, ".git/hooks", "pre-commit", "exit 0");
    write_hook(&repo, ".git/hooks", "commit-msg", "exit 1");
    let output = cli.run(&[&task[..], &at].concat()).unwrap();
    assert_eq!(output.json().unwrap()["attempts"], 1, "{output}");

    // A request that waits is landed with the hooks of the approval.
    let workflow = repo.outside().join("workflow.diff");
    write_file(
        &workflow,
        "--- /dev/null\n+++ b/.github/workflows/ci.yml\n@@ -0,0 +1 @@\n+on: push\n",
    );
    let waits = cli.run(&["apply", workflow.to_str().unwrap(), "--json"]).unwrap();
    assert_eq!(waits.code, Some(4), "{waits}");
    let approve = |flags: &[&str]| {
        let args = [&["approve", "@", "--yes", "--json"], flags].concat();
        cli.run(&args).unwrap().json().unwrap()
    };
    let rejected = approve(&["--run-hooks"]);
    assert_eq!(rejected["code"], "hook-failed", "{rejected:#}");
}
