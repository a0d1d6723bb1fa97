//! Ways around a rule that withholds a file: guesses, refused proposals, and old commits.

use agentos_testkit::repo::TestRepo;
use agentos_tool::ExecutionMode;
use serde_json::json;

use super::{make_repository, make_tools, show};
use agentos_calls::chat_tools::RepositoryTools;
use agentos_runs::run::ConsentMode;

/// A policy that withholds every file whose text looks like a secret.
const SECRETS: &str = "version = 1\n[[rule]]\nid = \"ours.secret\"\neffect = \"deny\"\nwhy = \"a secret\"\naction = [\"read\"]\n\
                       findings = [\"secret\", \"maybe-secret\"]\n";

fn cloud_tools(repo: &TestRepo) -> RepositoryTools {
    make_tools(repo, ExecutionMode::Cloud, ConsentMode::Later)
}

fn key_line() -> String {
    format!("key = ghp_{}", "Zq7RkT2mWx9LpB4vNs6JdH8fGc3YtE5aZq7R")
}

/// A repository with a file that is withheld for its text.
fn secret_repository() -> TestRepo {
    let repo = TestRepo::new();
    repo.write("a.txt", "one\n");
    repo.write("key.txt", format!("hello\n\n{}\nREAL\n", key_line()));
    repo.write(".agentos/policy/ours.toml", SECRETS);
    repo.commit_all("Begin");
    repo
}

#[test]
fn a_search_gives_no_sign_of_a_text_that_is_withheld() {
    let repo = secret_repository();
    let tools = cloud_tools(&repo);
    let search = |guess: &str| {
        show(
            &tools,
            "search",
            json!({ "text": format!("^$|^key = {guess}"), "regex": true, "limit": 1, "pattern": "key.txt" }),
        )
    };
    assert_eq!(search("ghp_Z"), "[0 lines]");
    assert_eq!(search("ghp_Z"), search("ghp_X"));
}

#[test]
fn a_refused_proposal_shows_no_line_of_a_withheld_file() {
    let repo = make_repository();
    let cases = [
        (&repo, "private/plan.txt", "the secret plan: WRONG", "two"),
        (&secret_repository(), "key.txt", "hello\n-\n-WRONG", "REAL"),
    ];
    for (repo, path, wrong, real) in cases {
        let hunk = format!("@@ -1,3 +1 @@\n-{wrong}\n+x\n");
        let answer = format!("--- a/{path}\n+++ b/{path}\n{hunk}");
        let shown = show(
            &cloud_tools(repo),
            "propose_change",
            json!({ "answer": answer, "message": "Change" }),
        );
        assert!(
            shown.contains("whether it can be placed is not shown to you"),
            "{shown}"
        );
        assert!(!shown.contains(real) && !shown.contains("ghp_"), "{shown}");
    }
}

#[test]
fn a_difference_is_withheld_for_its_texts_and_not_for_its_ids() {
    let repo = secret_repository();
    repo.write("a.txt", "two\n");
    let id = repo.commit_all("Change");
    let shown = show(&cloud_tools(&repo), "git_show", json!({ "commit": id.trim() }));
    assert!(shown.contains("+two"), "{shown}");
}

#[test]
fn old_texts_of_withheld_files_are_not_shown_by_way_of_another_file() {
    let repo = make_repository();
    let main = repo.git(&["rev-parse", "--abbrev-ref", "HEAD"]);
    repo.git(&["checkout", "-q", "-f", "-b", "side"]);
    // On a side branch a public file becomes a private one, and gets a new text of its own.
    repo.write("notes.txt", "SECRET on the side\n");
    let added = repo.commit_all("Add notes");
    repo.write("notes.txt", "nothing\n");
    repo.write("private/notes.txt", "SECRET on the side\nand more\n");
    let moved = repo.commit_all("Keep them private");
    repo.git(&["checkout", "-q", main.trim()]);
    repo.write("other.txt", "other\n");
    let other = repo.commit_all("Another change");
    repo.git(&["merge", "-q", "--no-ff", "-m", "Merge", "side"]);
    let tools = cloud_tools(&repo);
    for id in [added, moved] {
        let shown = show(&tools, "git_show", json!({ "commit": id.trim() }));
        assert!(
            !shown.contains("SECRET") && shown.contains("notes.txt"),
            "{shown}"
        );
    }
    let shown = show(&tools, "git_show", json!({ "commit": other.trim() }));
    assert!(shown.contains("+other"), "{shown}");
}

#[test]
fn ids_and_old_paths_of_files_that_are_withheld_now_are_not_shown() {
    // `private/plan.txt` was modified while nothing withheld it, and `keep/plan.txt` got a withheld name.
    let repo = TestRepo::new();
    repo.write("private/plan.txt", "SECRET one\n");
    repo.write("keep/plan.txt", "SECRET kept\nline two\nline three\n");
    repo.write("open.txt", "open one\n");
    repo.commit_all("Begin");
    repo.write("private/plan.txt", "SECRET two\n");
    repo.write("open.txt", "open two\n");
    let modified = repo.commit_all("Change both");
    repo.git(&["mv", "keep/plan.txt", "private/kept.txt"]);
    repo.write("private/kept.txt", "SECRET kept\nline two\nline four\n");
    let renamed = repo.commit_all("Keep it private");
    repo.write(".agentos/policy/ours.toml", super::POLICY);
    repo.commit_all("Withhold them");
    let tools = cloud_tools(&repo);
    let (modified, renamed) = (modified.trim(), renamed.trim());
    let ids = [
        format!("{modified}^:private/plan.txt"),
        format!("{modified}:private/plan.txt"),
        format!("{renamed}^:keep/plan.txt"),
        format!("{renamed}:private/kept.txt"),
    ];
    let ids = ids.map(|name| repo.git(&["rev-parse", "--short=7", &name]));
    for (commit, path) in [(modified, "private/plan.txt"), (renamed, "private/kept.txt")] {
        let shown = show(&tools, "git_show", json!({ "commit": commit }));
        assert!(!shown.contains("SECRET"), "{shown}");
        // A name is shown as such, and not as a header of a difference.
        assert!(
            shown.contains(&format!("\n{path} (withheld by policy)")),
            "{shown}"
        );
        for header in ["a/private/", "b/private/", "a/keep/", "rename from", "similarity"] {
            assert!(!shown.contains(header), "{header}: {shown}");
        }
        for id in &ids {
            assert!(!shown.contains(id.trim()), "{id}: {shown}");
        }
    }
    let shown = show(&tools, "git_show", json!({ "commit": modified }));
    assert!(shown.contains("+open two"), "{shown}");
}

#[test]
fn nothing_is_shown_of_commits_that_are_too_large_and_of_those_before() {
    let repo = make_repository();
    repo.git(&["checkout", "-q", "-f", "."]);
    repo.write("early.txt", "early\n");
    let early = repo.commit_all("Early");
    for at in 0..301 {
        repo.write(&format!("many/{at}.txt"), "many\n");
    }
    let large = repo.commit_all("Large");
    repo.write("late.txt", "late\n");
    let late = repo.commit_all("Late");
    let tools = cloud_tools(&repo);
    let shown = [early, large, late].map(|id| show(&tools, "git_show", json!({ "commit": id.trim() })));
    let [early, large, late] = &shown;
    assert!(
        early.contains("adds early.txt") && !early.contains("+early"),
        "{early}"
    );
    assert!(large.contains("more than 300 files"), "{large}");
    assert!(late.contains("+late"), "{late}");
}

#[test]
fn an_expression_that_takes_long_is_refused_and_a_long_line_is_cut() {
    let repo = TestRepo::new();
    repo.write("long.txt", format!("begin {} end\n", "é".repeat(20_000)));
    repo.commit_all("Begin");
    let tools = cloud_tools(&repo);
    let search = |text: &str| show(&tools, "search", json!({ "text": text, "regex": true }));
    let hostile = search("a[ab]{4000}c");
    assert!(hostile.starts_with("ERROR the regular expression"), "{hostile}");
    assert!(search(r"\w+\s*=\s*\w+").starts_with("[0 lines]"));
    let note = "[1 lines are longer than 16 KiB; only their beginning was searched]";
    assert_eq!(search("end"), format!("[0 lines]\n{note}"));
    assert!(search("begin").starts_with("long.txt:1: begin"));
}
