//! `agentos apply`: what lands, where, and what does not.

use crate::support::{
    LIB_FIXED, SLOPPY_FIX, WORKFLOW_EDIT, agentos, pipe_in, run_in, seen, small_repo, state,
};

#[test]
fn a_sloppy_reply_becomes_a_commit_with_exactly_the_intended_tree() {
    let repo = small_repo();
    let output = pipe_in(&repo, &["apply", "-"], SLOPPY_FIX);
    assert_eq!(output.code, Some(0), "{output}");
    assert_eq!(repo.read("src/lib.rs"), LIB_FIXED.as_bytes());
    assert_eq!(repo.git(&["show", "HEAD:src/lib.rs"]), LIB_FIXED.trim_end());
    assert_eq!(repo.status(), "");
    assert_eq!(repo.git(&["rev-list", "--count", "HEAD"]), "2");
    assert!(repo.git_ok(&["fsck", "--strict"]));
    let message = repo.git(&["log", "-1", "--format=%B"]);
    assert!(message.starts_with("Change src/lib.rs\n"), "{message}");
    assert!(message.contains("AgentOS-Run: "), "{message}");
    assert!(message.contains("AgentOS-Evidence: sha256:"), "{message}");
}

#[test]
fn a_person_sees_where_each_hunk_went() {
    let repo = small_repo();
    let output = pipe_in(&repo, &["apply"], SLOPPY_FIX);
    insta::assert_snapshot!(seen(&output, &repo), @r"
    exit: 0
    --- stdout
    --- stderr
    landed 1 file on main as [ID]
      src/lib.rs
        repaired: the names lack the prefixes `a/` and `b/`
        + hunk 1: line 4 (the answer states line 90; exactly one place fits)
            repaired: the header counts 9 old and 9 new lines; the hunk has other numbers
      run [RUN]
    ");
}

#[test]
fn a_program_gets_one_json_document_with_the_whole_story() {
    let repo = small_repo();
    let output = pipe_in(&repo, &["apply", "-", "--json"], SLOPPY_FIX);
    let json = output.json().unwrap();
    assert_eq!(json["version"], 1);
    assert_eq!(json["outcome"], "landed");
    assert_eq!(json["code"], serde_json::Value::Null);
    assert_eq!(json["commit"], repo.git(&["rev-parse", "HEAD"]));
    assert_eq!(json["tree"], repo.git(&["rev-parse", "HEAD^{tree}"]));
    assert_eq!(json["decision"]["effect"], "allow");
    assert_eq!(json["report"]["files"][0]["hunks"][0]["stated_line"], 90);
    assert_eq!(json["report"]["files"][0]["hunks"][0]["found_line"], 4);
}

#[test]
fn a_refusal_changes_nothing_and_says_why() {
    let cases = [
        ("no-diff", "I would rather not.\n"),
        (
            "does-not-apply",
            "--- a/src/lib.rs\n+++ b/src/lib.rs\n@@ -1,1 +1,1 @@\n-no such line\n+x\n",
        ),
        (
            "ambiguous",
            "--- a/src/lib.rs\n+++ b/src/lib.rs\n@@ -60,1 +60,1 @@\n-}\n+} // end\n",
        ),
        ("path-escape", "--- /dev/null\n+++ b/../x\n@@ -0,0 +1 @@\n+x\n"),
        (
            "git-dir",
            "--- /dev/null\n+++ b/.git/hooks/post-commit\n@@ -0,0 +1 @@\n+x\n",
        ),
    ];
    for (code, answer) in cases {
        let repo = small_repo();
        let before = state(&repo);
        let output = pipe_in(&repo, &["apply", "-", "--json", "--yes"], answer);
        assert_eq!(output.code, Some(6), "{code}: {output}");
        assert_eq!(output.json().unwrap()["code"], code, "{output}");
        assert_eq!(state(&repo), before, "{code}");
    }
}

#[test]
fn policy_asks_before_ci_changes_and_yes_is_a_consent() {
    let repo = small_repo();
    let before = state(&repo);
    let output = pipe_in(&repo, &["apply", "-"], WORKFLOW_EDIT);
    assert_eq!(output.code, Some(4), "{output}");
    assert_eq!(state(&repo), before);
    insta::assert_snapshot!(seen(&output, &repo), @r"
    exit: 4
    --- stdout
    --- stderr
    consent needed [protected-path] nothing was landed on main; policy requires a person's consent
      .github/workflows/ci.yml
        + hunk 1: the whole file
      ask .github/workflows/ci.yml: continuous integration runs this with the project's own rights (default.ci)
      next: review it with `agentos approve [RUN] --show`, then land it without `--show`, or decline it with `agentos deny`
    ");
    let output = pipe_in(&repo, &["apply", "-", "--yes"], WORKFLOW_EDIT);
    assert_eq!(output.code, Some(0), "{output}");
    assert!(repo.has(".github/workflows/ci.yml"));
}

#[test]
fn many_reasons_of_one_rule_do_not_hide_another() {
    let repo = small_repo();
    let mut answer: String = (0..25)
        .map(|n| format!("--- /dev/null\n+++ b/a{n:02}/package.json\n@@ -0,0 +1 @@\n+{{}}\n"))
        .collect();
    answer.push_str("--- /dev/null\n+++ b/z/.husky/pre-commit\n@@ -0,0 +1 @@\n+run anything\n");
    let output = pipe_in(&repo, &["apply"], &answer);
    assert_eq!(output.code, Some(4), "{output}");
    assert!(output.stderr.contains("z/.husky/pre-commit"), "{output}");
    assert!(output.stderr.contains("and 20 more"), "{output}");
}

#[test]
fn what_the_repository_runs_as_a_hook_asks_wherever_it_is() {
    let repo = small_repo();
    let answer = "--- /dev/null\n+++ b/tools/git/check.py\n@@ -0,0 +1 @@\n+print(1)\n";
    assert_eq!(pipe_in(&repo, &["apply", "--dry-run"], answer).code, Some(0));
    repo.git(&["config", "core.hooksPath", "tools/git"]);
    let output = pipe_in(&repo, &["apply"], answer);
    assert_eq!(output.code, Some(4), "{output}");
}

#[test]
fn yes_is_no_consent_to_a_deny() {
    let repo = small_repo();
    let before = state(&repo);
    // Assembled here so that no scanner takes this file for a leak.
    let key = format!("{}{}", "AKIA", "Z7QHN3W5K2PLX4TD");
    let answer = format!("--- /dev/null\n+++ b/src/key.rs\n@@ -0,0 +1 @@\n+const KEY: &str = \"{key}\";\n");
    let output = pipe_in(&repo, &["apply", "-", "--yes", "--json"], &answer);
    assert_eq!(output.code, Some(3), "{output}");
    assert_eq!(output.json().unwrap()["code"], "secret");
    assert!(!output.to_string().contains(&key));
    assert_eq!(state(&repo), before);
}

#[test]
fn a_branch_is_made_without_touching_the_work_tree() {
    let repo = small_repo();
    let head = repo.git(&["rev-parse", "HEAD"]);
    let output = pipe_in(&repo, &["apply", "-", "--branch", "ai/fix"], SLOPPY_FIX);
    assert_eq!(output.code, Some(0), "{output}");
    assert_eq!(repo.git(&["rev-parse", "HEAD"]), head);
    assert_eq!(repo.git(&["rev-parse", "ai/fix^"]), head);
    assert_eq!(repo.git(&["show", "ai/fix:src/lib.rs"]), LIB_FIXED.trim_end());
    assert_eq!(repo.status(), "");
}

#[test]
fn no_commit_changes_work_tree_and_index_only() {
    let repo = small_repo();
    let head = repo.git(&["rev-parse", "HEAD"]);
    let output = pipe_in(&repo, &["apply", "-", "--no-commit"], SLOPPY_FIX);
    assert_eq!(output.code, Some(0), "{output}");
    assert_eq!(repo.git(&["rev-parse", "HEAD"]), head);
    assert_eq!(repo.git(&["diff", "--name-only", "--cached"]), "src/lib.rs");
    assert_eq!(repo.git(&["diff", "--name-only"]), "");
    assert_eq!(repo.read("src/lib.rs"), LIB_FIXED.as_bytes());
}

#[test]
fn a_dry_run_writes_nothing_but_evidence() {
    let repo = small_repo();
    let before = state(&repo);
    let output = pipe_in(&repo, &["apply", "-", "--dry-run", "--json"], SLOPPY_FIX);
    assert_eq!(output.code, Some(0), "{output}");
    assert_eq!(state(&repo), before);
    let json = output.json().unwrap();
    assert_eq!(json["commit"], serde_json::Value::Null);
    assert_eq!(pipe_in(&repo, &["apply"], SLOPPY_FIX).code, Some(0));
    assert_eq!(
        json["tree"],
        repo.git(&["rev-parse", "HEAD^{tree}"]),
        "the tree that was promised"
    );
}

#[test]
fn a_part_of_an_answer_lands_only_on_request_and_says_what_it_left_out() {
    let half = format!(
        "{SLOPPY_FIX}\n```diff\n--- a/README.md\n+++ b/README.md\n@@ -1 +1 @@\n-no such line\n+x\n```\n"
    );
    let repo = small_repo();
    let before = state(&repo);
    let output = pipe_in(&repo, &["apply", "-", "--json"], &half);
    assert_eq!(output.code, Some(6), "{output}");
    assert_eq!(state(&repo), before);
    let output = pipe_in(&repo, &["apply", "-", "--partial", "--json"], &half);
    assert_eq!(output.code, Some(0), "{output}");
    let json = output.json().unwrap();
    assert_eq!(json["report"]["partial"], true);
    assert!(
        json["report"]["notes"].to_string().contains("README.md"),
        "{output}"
    );
    assert!(json["message"].as_str().unwrap().contains("left out"), "{output}");
    assert_eq!(repo.read("src/lib.rs"), LIB_FIXED.as_bytes());
    assert_eq!(repo.read("README.md"), b"# small\n");
}

#[test]
fn a_users_own_edits_are_never_overwritten() {
    let repo = small_repo();
    repo.write("src/lib.rs", "my unfinished work\n");
    let output = pipe_in(&repo, &["apply", "-", "--json"], SLOPPY_FIX);
    assert_eq!(output.code, Some(8), "{output}");
    assert_eq!(output.json().unwrap()["code"], "dirty-overlap");
    assert_eq!(repo.read("src/lib.rs"), b"my unfinished work\n");
}

#[test]
fn edits_elsewhere_stay_as_they_are() {
    let repo = small_repo();
    repo.write("README.md", "# edited\n");
    repo.write("staged.txt", "staged\n");
    repo.git(&["add", "staged.txt"]);
    repo.write("untracked.txt", "untracked\n");
    let output = pipe_in(&repo, &["apply", "-"], SLOPPY_FIX);
    assert_eq!(output.code, Some(0), "{output}");
    assert_eq!(repo.status(), " M README.md\nA  staged.txt\n?? untracked.txt");
}

#[test]
fn the_repository_may_be_named_from_elsewhere() {
    let repo = small_repo();
    repo.write("fix.md", SLOPPY_FIX);
    let patch = repo.path().join("fix.md");
    let output = agentos()
        .run(&[
            "apply",
            patch.to_str().unwrap(),
            "--repo",
            repo.path().to_str().unwrap(),
            "-m",
            "Fix add",
        ])
        .unwrap();
    assert_eq!(output.code, Some(0), "{output}");
    assert_eq!(repo.git(&["log", "-1", "--format=%s"]), "Fix add");
}

#[test]
fn what_is_there_already_is_nothing_to_do() {
    let repo = small_repo();
    assert_eq!(pipe_in(&repo, &["apply"], SLOPPY_FIX).code, Some(0));
    let before = state(&repo);
    // A hunk whose header counts other lines than it has may have lost some, so its result proves nothing.
    let exact = repo.git(&["diff", "HEAD~1", "HEAD"]) + "\n";
    for (diff, expected) in [(exact.as_str(), "nothing-to-do"), (SLOPPY_FIX, "refused")] {
        let output = pipe_in(&repo, &["apply", "-", "--json"], diff);
        assert_eq!(output.code, Some(6), "{output}");
        assert_eq!(output.json().unwrap()["outcome"], expected);
    }
    assert_eq!(state(&repo), before);
}

#[test]
fn a_long_list_is_cut_with_a_count_and_deleted_files_are_marked() {
    let repo = small_repo();
    for number in 10..35 {
        repo.write(&format!("f{number}"), "old\n");
    }
    repo.commit_all("many");
    for number in 11..35 {
        repo.write(&format!("f{number}"), "new\n");
    }
    repo.git(&["rm", "--quiet", "f10"]);
    let diff = repo.git(&["diff", "HEAD"]) + "\n";
    repo.git(&["reset", "--quiet", "--hard"]);
    let output = pipe_in(&repo, &["apply", "--yes"], &diff);
    assert_eq!(output.code, Some(0), "{output}");
    let text = output.to_string();
    assert!(text.contains("\n  f10  (deleted)\n  f11\n"), "{output}");
    assert!(
        text.contains("\n  and 5 more; `agentos show` lists all\n"),
        "{output}"
    );
    let shown = run_in(&repo, &["show"]).stdout;
    assert!(
        (10..35).all(|number| shown.contains(&format!(" f{number}"))),
        "{shown}"
    );
}

#[test]
fn undo_restores_the_tree_in_a_commit_of_its_own_and_can_be_undone() {
    let repo = small_repo();
    let tree = repo.git(&["rev-parse", "HEAD^{tree}"]);
    assert_eq!(pipe_in(&repo, &["apply"], SLOPPY_FIX).code, Some(0));
    let fixed = repo.git(&["rev-parse", "HEAD^{tree}"]);
    let output = run_in(&repo, &["undo"]);
    assert_eq!(output.code, Some(0), "{output}");
    assert_eq!(repo.git(&["rev-parse", "HEAD^{tree}"]), tree);
    assert_eq!(repo.git(&["rev-list", "--count", "HEAD"]), "3");
    assert_eq!(repo.status(), "");
    assert_eq!(run_in(&repo, &["undo"]).code, Some(0));
    assert_eq!(repo.git(&["rev-parse", "HEAD^{tree}"]), fixed);
    assert_eq!(run_in(&repo, &["evidence", "verify"]).code, Some(0));
}

#[test]
fn no_identity_is_one_clear_refusal_before_anything_is_written() {
    let repo = small_repo();
    repo.git(&["config", "--unset", "user.name"]);
    repo.git(&["config", "--unset", "user.email"]);
    let before = state(&repo);
    let cli = agentos().without_identity().unwrap().in_dir(repo.path());
    let output = cli
        .run_with_input(&["apply", "-"], SLOPPY_FIX.as_bytes())
        .unwrap();
    assert_eq!(output.code, Some(8), "{output}");
    assert!(output.stderr.contains("git config"), "{output}");
    assert_eq!(state(&repo), before);
    let output = cli
        .run_with_input(&["apply", "-", "--no-commit"], SLOPPY_FIX.as_bytes())
        .unwrap();
    assert_eq!(output.code, Some(0), "{output}");
}

#[test]
fn a_branch_that_policy_protects_takes_no_landing_and_says_by_which_rule() {
    let repo = small_repo();
    repo.write(
        ".agentos/policy/branches.toml",
        "version = 1\n\n[[rule]]\nid = \"people-only\"\neffect = \"deny\"\nwhy = \"main is landed on by people alone\"\n\
         fix = \"land on a branch of its own, with `--branch NAME`\"\naction = [\"land\"]\ntarget_ref = [\"refs/heads/main\"]\n",
    );
    repo.commit_all("protect main");
    let before = state(&repo);
    insta::assert_snapshot!(seen(&pipe_in(&repo, &["apply", "-", "--yes"], SLOPPY_FIX), &repo), @r"
    exit: 3
    --- stdout
    --- stderr
    denied [protected-path] by policy
      src/lib.rs
        repaired: the names lack the prefixes `a/` and `b/`
        + hunk 1: line 4 (the answer states line 90; exactly one place fits)
            repaired: the header counts 9 old and 9 new lines; the hunk has other numbers
      deny main is landed on by people alone (people-only)
      next: land on a branch of its own, with `--branch NAME`
      run [RUN]
    ");
    for args in [&["--branch", "main"][..], &["--dry-run"], &["--no-commit"]] {
        let output = pipe_in(
            &repo,
            &[&["apply", "-", "--json", "--yes"], args].concat(),
            SLOPPY_FIX,
        );
        assert_eq!(output.code, Some(3), "{args:?}: {output}");
        assert_eq!(output.json().unwrap()["outcome"], "denied");
    }
    assert_eq!(state(&repo), before);
    let output = pipe_in(&repo, &["apply", "-", "--branch", "topic"], SLOPPY_FIX);
    assert_eq!(output.code, Some(0), "{output}");
    assert_eq!(repo.git(&["show", "topic:src/lib.rs"]), LIB_FIXED.trim_end());
}
