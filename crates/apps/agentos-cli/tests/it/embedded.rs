//! An embedded repository in a diff, as one change and as several.

use crate::support::*;

const CONFIG: &str =
    "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = .\n\tfsmonitor = false\n";

fn new_file(path: &str, text: &str) -> String {
    let lines: String = text.lines().map(|line| format!("+{line}\n")).collect();
    let count = text.lines().count();
    format!("--- /dev/null\n+++ b/{path}\n@@ -0,0 +1,{count} @@\n{lines}")
}

fn parts() -> [String; 5] {
    [
        new_file("docs/guide.md", "# Guide\n"),
        new_file("docs/config", CONFIG),
        new_file("docs/objects/info/x", "x\n"),
        new_file("docs/refs/heads/x", "x\n"),
        new_file("docs/HEAD", "ref: refs/heads/main\n"),
    ]
}

#[test]
fn an_embedded_repository_is_denied_whole_and_in_parts() {
    let repo = small_repo();
    let before = repo.git(&["rev-parse", "HEAD"]);
    let whole = pipe_in(&repo, &["apply", "-", "--yes"], &parts().concat());
    assert_eq!(whole.code, Some(3), "{whole}");
    assert!(whole.stderr.contains("floor.embedded-git-directory"), "{whole}");
    assert_eq!(repo.git(&["rev-parse", "HEAD"]), before);
    for part in &parts()[..4] {
        let landed = pipe_in(&repo, &["apply", "-", "--yes"], part);
        assert_eq!(landed.code, Some(0), "{landed}");
    }
    let last = pipe_in(&repo, &["apply", "-", "--yes"], &parts()[4]);
    assert_eq!(last.code, Some(3), "{last}");
    assert!(!repo.has("docs/HEAD"));
    let docs = repo.path().join("docs");
    let own = repo.git(&["rev-parse", "--absolute-git-dir"]);
    assert_eq!(repo.git_in(&docs, &["rev-parse", "--absolute-git-dir"]), own);
}

#[test]
fn a_policy_folder_that_is_no_folder_denies() {
    for name in [".agentos", ".agentos/profiles"] {
        let repo = small_repo();
        repo.write(name, "x\n");
        repo.commit_all("no folder");
        let landed = pipe_in(&repo, &["apply", "-"], &parts()[0]);
        assert_eq!(landed.code, Some(3), "{landed}");
        assert!(landed.stderr.contains("unreadable-policy"), "{landed}");
        let shown = pipe_in(&repo, &["policy", "show"], "");
        assert_eq!(shown.code, Some(3), "{shown}");
    }
}
