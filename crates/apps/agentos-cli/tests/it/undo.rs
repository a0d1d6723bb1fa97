//! `agentos undo`: what comes back, where, and what cannot.

use agentos_testkit::repo::{TestRepo, make_link};
use agentos_tool::short_run;

use crate::support::{LIB, LIB_FIXED, SLOPPY_FIX, agentos, pipe_in, run_in, small_repo};

fn run_of(json: &serde_json::Value) -> String {
    json["run"].as_str().unwrap().to_owned()
}

#[test]
fn a_landing_without_a_commit_is_taken_back_without_one() {
    let repo = small_repo();
    let head = repo.git(&["rev-parse", "HEAD"]);
    let output = pipe_in(&repo, &["apply", "-", "--no-commit"], SLOPPY_FIX);
    assert_eq!(output.code, Some(0), "{output}");
    repo.write("mine.txt", "mine\n");
    let dry = run_in(&repo, &["undo", "--dry-run"]);
    assert_eq!(dry.code, Some(0), "{dry}");
    assert_eq!(repo.read("src/lib.rs"), LIB_FIXED.as_bytes());
    let undone = run_in(&repo, &["undo"]);
    assert_eq!(undone.code, Some(0), "{undone}");
    assert_eq!(repo.read("src/lib.rs"), LIB.as_bytes());
    assert_eq!(repo.status(), "?? mine.txt");
    let again = run_in(&repo, &["undo"]);
    assert_eq!(again.code, Some(0), "{again}");
    assert_eq!(repo.read("src/lib.rs"), LIB_FIXED.as_bytes());
    assert_eq!(repo.git(&["rev-parse", "HEAD"]), head);
    assert_eq!(run_in(&repo, &["evidence", "verify"]).code, Some(0));
}

#[test]
fn an_edit_of_a_file_whose_name_other_systems_reserve_is_taken_back() {
    let repo = small_repo();
    repo.write("src/aux.c", "int a;\n");
    repo.commit_all("a name that Windows reserves");
    let fix = "--- a/src/aux.c\n+++ b/src/aux.c\n@@ -1 +1 @@\n-int a;\n+int b;\n";
    let landed = pipe_in(&repo, &["apply", "-"], fix);
    assert_eq!(landed.code, Some(0), "{landed}");
    assert_eq!(repo.read("src/aux.c"), b"int b;\n");
    let undone = run_in(&repo, &["undo"]);
    assert_eq!(undone.code, Some(0), "{undone}");
    assert_eq!(repo.read("src/aux.c"), b"int a;\n");
    let new = "diff --git a/src/nul.c b/src/nul.c\nnew file mode 100644\n--- /dev/null\n+++ b/src/nul.c\n@@ -0,0 +1 @@\n+x\n";
    let refused = pipe_in(&repo, &["apply", "-", "--json"], new);
    assert_eq!(refused.json().unwrap()["code"], "reserved-name", "{refused}");
}

#[test]
fn what_was_edited_since_stays_and_the_reason_is_said() {
    let repo = small_repo();
    pipe_in(&repo, &["apply", "-", "--no-commit"], SLOPPY_FIX);
    let edited = LIB_FIXED.replace("a + b", "b + a");
    repo.write("src/lib.rs", &edited);
    let json = run_in(&repo, &["undo", "--json"]).json().unwrap();
    assert_eq!(
        (&json["outcome"], &json["code"]),
        (&"refused".into(), &"dirty-overlap".into())
    );
    assert_eq!(repo.read("src/lib.rs"), edited.as_bytes());

    let repo = small_repo();
    pipe_in(&repo, &["apply", "-"], SLOPPY_FIX);
    repo.write("src/lib.rs", &edited);
    repo.commit_all("edited since");
    let output = run_in(&repo, &["undo", "--json"]);
    assert_eq!(output.code, Some(6), "{output}");
    let hint = output.json().unwrap()["hint"].to_string();
    assert!(hint.contains("changed since"), "{hint}");
    assert_eq!(repo.read("src/lib.rs"), edited.as_bytes());
}

#[test]
fn a_landing_on_another_branch_is_taken_back_there() {
    let repo = small_repo();
    let head = repo.git(&["rev-parse", "HEAD"]);
    let output = pipe_in(&repo, &["apply", "-", "--branch", "side"], SLOPPY_FIX);
    assert_eq!(output.code, Some(0), "{output}");
    let undone = run_in(&repo, &["undo"]);
    assert_eq!(undone.code, Some(0), "{undone}");
    assert_eq!(repo.git(&["rev-parse", "HEAD"]), head);
    let [main, side] = ["main^{tree}", "side^{tree}"].map(|tree| repo.git(&["rev-parse", tree]));
    assert_eq!(main, side);
    assert_eq!(repo.git(&["rev-list", "--count", "main..side"]), "2");
}

#[test]
fn any_run_can_be_named_and_an_undo_is_a_run() {
    let repo = small_repo();
    let tree = |of: &str| repo.git(&["rev-parse", &format!("{of}^{{tree}}")]);
    let landed = pipe_in(&repo, &["apply", "-", "--json"], SLOPPY_FIX)
        .json()
        .unwrap();
    let undone = run_in(&repo, &["undo", &run_of(&landed), "--json"])
        .json()
        .unwrap();
    assert_eq!(tree("HEAD"), tree("HEAD~2"));
    let redone = run_in(&repo, &["undo", &run_of(&undone), "--json"])
        .json()
        .unwrap();
    assert_eq!(redone["outcome"], "landed");
    assert_eq!(tree("HEAD"), tree("HEAD~2"));
    assert_eq!(repo.read("src/lib.rs"), LIB_FIXED.as_bytes());
}

#[test]
fn a_deleted_link_comes_back_with_consent() {
    let repo = small_repo();
    make_link(&repo.path().join("latest"), "src/lib.rs");
    repo.commit_all("a link");
    let patch = "diff --git a/latest b/latest\ndeleted file mode 120000\nindex 99dfc1d..0000000\n--- a/latest\n\
                 +++ /dev/null\n@@ -1 +0,0 @@\n-src/lib.rs\n\\ No newline at end of file\n";
    let other = patch.replace("-src/lib.rs", "-README.md");
    let output = pipe_in(&repo, &["apply", "-", "--json"], &other);
    assert_eq!(output.json().unwrap()["code"], "does-not-apply", "{output}");
    let output = pipe_in(&repo, &["apply", "-"], patch);
    assert_eq!(output.code, Some(0), "{output}");
    assert!(!repo.has("latest"));
    assert_eq!(repo.read("src/lib.rs"), LIB.as_bytes());
    assert_eq!(repo.status(), "");
    let asked = run_in(&repo, &["undo", "--json"]);
    assert_eq!(asked.code, Some(4), "{asked}");
    let undone = run_in(&repo, &["undo", "--yes"]);
    assert_eq!(undone.code, Some(0), "{undone}");
    assert_eq!(
        std::fs::read_link(repo.path().join("latest")).unwrap().to_str(),
        Some("src/lib.rs")
    );
    assert_eq!(repo.status(), "");
}

#[test]
fn a_deleted_link_that_led_out_of_the_repository_does_not_come_back() {
    let repo = small_repo();
    make_link(&repo.path().join("latest"), "/etc/passwd");
    repo.commit_all("a link");
    let patch = "diff --git a/latest b/latest\ndeleted file mode 120000\n--- a/latest\n+++ /dev/null\n@@ -1 +0,0 @@\n\
                 -/etc/passwd\n\\ No newline at end of file\n";
    let output = pipe_in(&repo, &["apply", "-"], patch);
    assert_eq!(output.code, Some(0), "{output}");
    let undone = run_in(&repo, &["undo", "--yes", "--json"]);
    assert_eq!(undone.json().unwrap()["code"], "symlink-traversal", "{undone}");
    assert!(!repo.has("latest"));
}

#[test]
fn a_run_that_was_killed_after_its_commit_can_be_taken_back() {
    let mut taken_back = 0;
    for place in 1..100 {
        let repo = small_repo();
        let tree = repo.git(&["rev-parse", "HEAD^{tree}"]);
        let cli = agentos().in_dir(repo.path());
        let (killed, _) = cli
            .kill_at(place, &["apply", "-"], SLOPPY_FIX.as_bytes())
            .unwrap();
        if killed.code == Some(0) {
            break;
        }
        if repo.git(&["rev-list", "--count", "HEAD"]) == "1" {
            continue;
        }
        // The commit is there and its receipt is not.
        let undone = run_in(&repo, &["undo"]);
        assert_eq!(undone.code, Some(0), "place {place}: {undone}");
        assert_eq!(repo.git(&["rev-parse", "HEAD^{tree}"]), tree, "place {place}");
        assert_eq!(repo.status(), "", "place {place}");
        taken_back += 1;
    }
    assert!(taken_back > 0, "no place lies between the commit and its receipt");
}

/// Lands an answer and gives its run.
fn landed(repo: &TestRepo, answer: &str) -> String {
    let output = pipe_in(repo, &["apply", "-", "--json", "--yes"], answer);
    assert_eq!(output.code, Some(0), "{output}");
    run_of(&output.json().unwrap())
}

#[test]
fn every_kind_of_change_is_taken_back_to_the_same_tree_and_again() {
    let rename = "diff --git a/README.md b/docs/read.md\nsimilarity index 100%\nrename from README.md\n\
                  rename to docs/read.md\n";
    let mode = "diff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100755\n";
    let both = "diff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100755\n--- a/run.sh\n+++ b/run.sh\n\
                @@ -1 +1 @@\n-#!/bin/sh\n+#!/bin/bash\n";
    let add =
        "--- /dev/null\n+++ b/deep/er/new.txt\n@@ -0,0 +1 @@\n+no line end\n\\ No newline at end of file\n";
    let empty = "diff --git a/empty b/empty\ndeleted file mode 100644\nindex e69de29..0000000\n";
    for (name, answer) in [
        ("rename", rename),
        ("mode", mode),
        ("mode and text", both),
        ("new folder", add),
        ("empty file", empty),
    ] {
        let repo = small_repo();
        repo.write("run.sh", "#!/bin/sh\n");
        repo.write("empty", "");
        repo.commit_all("more");
        let tree = || repo.git(&["rev-parse", "HEAD^{tree}"]);
        let before = tree();
        let output = pipe_in(&repo, &["apply", "-", "--yes"], answer);
        assert_eq!(output.code, Some(0), "{name}: {output}");
        let after = tree();
        for expected in [&before, &after, &before] {
            let undone = run_in(&repo, &["undo", "--yes"]);
            assert_eq!(undone.code, Some(0), "{name}: {undone}");
            assert_eq!(tree(), *expected, "{name}");
            assert_eq!(repo.status(), "", "{name}");
        }
        repo.git(&["fsck", "--strict"]);
    }
}

#[test]
fn a_file_that_became_a_folder_becomes_a_file_again_and_a_folder_again() {
    let repo = small_repo();
    repo.write("x", "x\n");
    repo.commit_all("a file");
    let before = repo.git(&["rev-parse", "HEAD^{tree}"]);
    let into_folder = "diff --git a/x b/x\ndeleted file mode 100644\n--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n\
                       diff --git a/x/y/z b/x/y/z\nnew file mode 100644\n--- /dev/null\n+++ b/x/y/z\n@@ -0,0 +1 @@\n+z\n";
    landed(&repo, into_folder);
    let after = repo.git(&["rev-parse", "HEAD^{tree}"]);
    for (tree, kept) in [(&before, ("x", "x\n")), (&after, ("x/y/z", "z\n"))] {
        let undone = run_in(&repo, &["undo"]);
        assert_eq!(undone.code, Some(0), "{undone}");
        assert_eq!(repo.git(&["rev-parse", "HEAD^{tree}"]), *tree);
        assert_eq!(
            (repo.read(kept.0), repo.status()),
            (kept.1.as_bytes().to_vec(), String::new())
        );
    }
}

#[test]
fn a_deleted_binary_file_comes_back_with_consent() {
    for target in [&[][..], &["--no-commit"]] {
        let repo = small_repo();
        repo.write("image.bin", b"\x89PNG\0\xff\n\0");
        let base = repo.commit_all("an image");
        let delete = "*** Begin Patch\n*** Delete File: image.bin\n*** End Patch\n";
        let output = pipe_in(&repo, &[&["apply", "-"], target].concat(), delete);
        assert_eq!(output.code, Some(0), "{output}");
        let asked = run_in(&repo, &["undo", "--json"]);
        assert_eq!(asked.code, Some(4), "{asked}");
        assert_eq!(asked.json().unwrap()["code"], "binary");
        assert!(!repo.has("image.bin"));
        let undone = run_in(&repo, &["undo", "--yes"]);
        assert_eq!(undone.code, Some(0), "{undone}");
        assert_eq!(repo.git(&["diff", &base]), "");
        assert_eq!((repo.has("image.bin"), repo.status()), (true, String::new()));
    }
}

#[test]
fn a_run_several_back_is_taken_back_and_the_later_ones_stay() {
    let repo = small_repo();
    let first = landed(&repo, SLOPPY_FIX);
    let readme = "--- a/README.md\n+++ b/README.md\n@@ -1 +1,2 @@\n # small\n+more\n";
    let second = landed(&repo, readme);
    landed(&repo, "--- /dev/null\n+++ b/n.txt\n@@ -0,0 +1 @@\n+n\n");
    let output = run_in(&repo, &["undo", &first]);
    assert_eq!(output.code, Some(0), "{output}");
    assert_eq!(repo.read("src/lib.rs"), LIB.as_bytes());
    assert_eq!(repo.read("README.md"), b"# small\nmore\n");
    // What was undone already cannot be taken back again.
    let again = run_in(&repo, &["undo", &first, "--json"]);
    assert_eq!(again.code, Some(6), "{again}");
    let output = run_in(&repo, &["undo", &second]);
    assert_eq!(output.code, Some(0), "{output}");
    assert_eq!(repo.read("README.md"), b"# small\n");
    assert!(repo.has("n.txt"));
}

#[test]
fn an_undo_is_judged_by_policy_like_every_change() {
    let repo = small_repo();
    landed(
        &repo,
        "--- /dev/null\n+++ b/.github/workflows/ci.yml\n@@ -0,0 +1 @@\n+on: [push]\n",
    );
    let head = repo.git(&["rev-parse", "HEAD"]);
    let output = run_in(&repo, &["undo"]);
    assert_eq!(output.code, Some(4), "{output}");
    assert_eq!(repo.git(&["rev-parse", "HEAD"]), head);
    let output = run_in(&repo, &["undo", "--yes"]);
    assert_eq!(output.code, Some(0), "{output}");
    assert!(!repo.has(".github"));
}

#[test]
fn a_dry_run_of_an_undo_is_refused_where_the_undo_would_be() {
    let repo = small_repo();
    landed(&repo, SLOPPY_FIX);
    repo.write("src/lib.rs", "mine\n");
    let [dry, real] =
        [&["undo", "--dry-run", "--json"][..], &["undo", "--json"]].map(|args| run_in(&repo, args));
    assert_eq!(dry.code, real.code, "{dry}");
    assert_eq!(dry.json().unwrap()["code"], "dirty-overlap");
    assert_eq!(repo.read("src/lib.rs"), b"mine\n");
}

/// The first line of what a call says.
fn first_line(output: &agentos_testkit::cli::CliOutput) -> String {
    let said = format!("{}{}", output.stdout, output.stderr);
    said.lines().next().unwrap_or_default().to_owned()
}

#[test]
fn an_undo_says_what_it_takes_back_and_that_it_undoes_an_undo() {
    let repo = small_repo();
    let first = landed(&repo, SLOPPY_FIX);
    let head = || repo.git(&["rev-parse", "--short=10", "HEAD"]);
    let commit = head();
    let said = first_line(&run_in(&repo, &["undo", "--dry-run"]));
    assert_eq!(
        said,
        format!(
            "1 file would land on main; nothing was written; would undo run {} (commit {commit})",
            short_run(&first)
        )
    );
    let undone = run_in(&repo, &["undo", "--json"]).json().unwrap();
    let second = run_of(&undone);
    let by = head();
    assert_eq!(
        undone["message"],
        format!("landed 1 file on main as {by}; undoes run {first} (commit {commit})")
    );
    let said = first_line(&run_in(&repo, &["undo"]));
    let now = head();
    assert_eq!(
        said,
        format!(
            "landed 1 file on main as {now}; undoes run {} (commit {by}); this undoes an undo: it lands the \
             change of run {} again",
            short_run(&second),
            short_run(&first)
        )
    );
}

#[test]
fn a_landing_that_is_gone_from_the_history_is_named() {
    let repo = small_repo();
    let run = landed(&repo, SLOPPY_FIX);
    let commit = repo.git(&["rev-parse", "--short=10", "HEAD"]);
    repo.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    let output = run_in(&repo, &["undo", "--json"]);
    assert_eq!(output.code, Some(6), "{output}");
    let json = output.json().unwrap();
    assert_eq!(
        (&json["code"], &json["hint"]),
        (
            &"empty".into(),
            &format!(
                "this was to undo run {run}, whose commit {commit} is on no branch any more; `agentos log` \
                 shows the runs; name another run with `agentos undo RUN`"
            )
            .into()
        )
    );
    let repo = small_repo();
    let run = landed(&repo, SLOPPY_FIX);
    assert_eq!(run_in(&repo, &["undo", &run]).code, Some(0));
    let again = run_in(&repo, &["undo", &run, "--json"]).json().unwrap();
    let hint = again["hint"].as_str().unwrap();
    assert!(
        hint.starts_with(&format!("run {run} was undone already")),
        "{again:#}"
    );
}
