//! Binary files and symbolic links through the whole product: the diff that git itself writes, and its result beside git's.
//!
//! Owns: consent, the written files, undo and evidence. Never: what is no form of git's; the landing crate's tests have it.

use agentos_testkit::repo::{TestRepo, make_link, remove_file};

use crate::support::{pipe_in, run_in};

/// Bytes with every value, one of them a NUL.
fn noise(length: usize, first: u32) -> Vec<u8> {
    let mut state = first;
    let next = || {
        state = (state * 75 + 74) % 65537;
        state.to_le_bytes()[0]
    };
    std::iter::repeat_with(next).take(length).collect()
}

/// Makes a repository, and the diff of a change to it as git writes it. The change is on the branch `wanted`.
fn repo_and_diff() -> (TestRepo, String) {
    let repo = TestRepo::new();
    repo.write("logo.bin", noise(5000, 1));
    repo.write("gone.bin", noise(300, 2));
    repo.write("moved.bin", noise(2000, 3));
    repo.write("a.txt", "a\n");
    make_link(&repo.path().join("latest"), "v1");
    make_link(&repo.path().join("stale"), "v1");
    repo.commit_all("base");
    repo.git(&["branch", "-M", "topic"]);
    repo.git(&["checkout", "-q", "-b", "wanted"]);
    let mut logo = noise(5000, 1);
    logo[2000] ^= 1;
    logo.extend_from_slice(&noise(70_000, 4));
    repo.write("logo.bin", logo);
    repo.write("docs/new.bin", noise(200_000, 5));
    repo.write("a.txt", "b\n");
    for gone in ["gone.bin", "stale", "latest"] {
        remove_file(&repo.path().join(gone));
    }
    repo.git(&["mv", "moved.bin", "docs/moved.bin"]);
    make_link(&repo.path().join("latest"), "docs");
    make_link(&repo.path().join("docs/up"), "../a.txt");
    repo.commit_all("change");
    let diff = repo.git(&["diff", "--binary", "-M", "topic", "wanted"]) + "\n";
    repo.git(&["checkout", "-q", "topic"]);
    (repo, diff)
}

#[test]
fn a_binary_diff_of_git_lands_with_consent_as_git_lands_it_and_is_taken_back() {
    let (repo, diff) = repo_and_diff();
    let tree = |at: &str| repo.git(&["rev-parse", &format!("{at}^{{tree}}")]);
    let base = tree("HEAD");
    let asked = pipe_in(&repo, &["apply", "-", "--json"], &diff);
    assert_eq!(asked.code, Some(4), "{asked}");
    assert_eq!((tree("HEAD"), repo.status()), (base.clone(), String::new()));
    let shown = pipe_in(&repo, &["apply", "-", "--dry-run"], &diff).to_string();
    assert!(!shown.contains("literal "), "{shown}");
    let landed = pipe_in(&repo, &["apply", "-", "--yes"], &diff);
    assert_eq!(landed.code, Some(0), "{landed}");
    assert_eq!(tree("HEAD"), tree("wanted"));
    assert_eq!(repo.status(), "");
    assert!(!repo.git_ok(&["diff", "--quiet", "HEAD", "HEAD~1"]));
    // The recorded diff is git's own form, so git takes it back and forth.
    let recorded = run_in(&repo, &["evidence", "show", "--diff"]);
    assert_eq!(recorded.code, Some(0), "{recorded}");
    assert_eq!(run_in(&repo, &["evidence", "verify"]).code, Some(0));
    let replayed = run_in(&repo, &["evidence", "replay"]);
    assert_eq!(replayed.code, Some(0), "{replayed}");
    let undone = run_in(&repo, &["undo", "--yes"]);
    assert_eq!(undone.code, Some(0), "{undone}");
    assert_eq!(tree("HEAD"), base);
    assert_eq!(repo.status(), "");
    assert_eq!(std::fs::read_link(repo.path().join("latest")).unwrap().to_str(), Some("v1"));
    assert_eq!(run_in(&repo, &["evidence", "verify"]).code, Some(0));
}

#[test]
fn the_canonical_diff_of_binary_files_applies_with_git_in_both_directions() {
    let (repo, diff) = repo_and_diff();
    let canonical = pipe_in(&repo, &["diff", "normalize", "-"], &diff);
    assert_eq!(canonical.code, Some(0), "{canonical}");
    repo.write("../canonical.diff", &canonical.stdout);
    repo.git(&["apply", "--index", "--binary", "../canonical.diff"]);
    assert_eq!(repo.git(&["write-tree"]), repo.git(&["rev-parse", "wanted^{tree}"]));
    repo.git(&["apply", "--index", "--binary", "-R", "../canonical.diff"]);
    assert_eq!(repo.status(), "");
}

#[test]
fn a_new_link_is_never_written_through() {
    let (repo, _) = repo_and_diff();
    let link = |target: &str| {
        format!(
            "diff --git a/out b/out\nnew file mode 120000\n--- /dev/null\n+++ b/out\n@@ -0,0 +1 @@\n+{target}\n\
             \\ No newline at end of file\n"
        )
    };
    let file = "diff --git a/out/x b/out/x\nnew file mode 100644\n--- /dev/null\n+++ b/out/x\n@@ -0,0 +1 @@\n+x\n";
    let outside = repo.outside().display().to_string();
    for answer in [link(&outside), link("../.."), link(".git/hooks"), link("docs") + file] {
        let output = pipe_in(&repo, &["apply", "-", "--yes"], &answer);
        assert_eq!(output.code, Some(6), "{output}");
    }
    // A later change does not go through a link that has landed, not even one that leads inside.
    let output = pipe_in(&repo, &["apply", "-", "--yes"], &link("docs"));
    assert_eq!(output.code, Some(0), "{output}");
    let output = pipe_in(&repo, &["apply", "-", "--yes"], file);
    assert_eq!(output.code, Some(6), "{output}");
    assert!(!repo.has("docs/x"));
    assert_eq!(repo.status(), "");
}

#[test]
fn without_a_commit_the_index_knows_the_new_link() {
    let (repo, _) = repo_and_diff();
    let link = "diff --git a/n b/n\nnew file mode 120000\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+a.txt\n\
                \\ No newline at end of file\n";
    let output = pipe_in(&repo, &["apply", "-", "--yes", "--no-commit"], link);
    assert_eq!(output.code, Some(0), "{output}");
    assert_eq!(repo.status(), "A  n");
    assert!(repo.git(&["ls-files", "-s", "n"]).starts_with("120000 "));
}
