//! Secrets of the repository that a tool must not read: its history, and the files of the base that policy withholds.
//!
//! Owns: creating them and naming their objects. Never: leaves a secret of the history in the working tree.

use std::path::Path;

use serde_json::{Value, json};

use super::basics::write_file;
use super::ground::{make_folders, make_link};
use crate::error::GateError;
use crate::witness::{self, run_git};

/// Adds a history to the repository, with `secret` in every place that a copy of the base must not show. Returns the names of
/// the objects that contain it.
pub(super) fn write_history(repository: &Path, secret: &str) -> Result<Value, GateError> {
    write_withheld(repository, secret)?;
    let name = |revision: &str| {
        run_git(repository, &["rev-parse", revision], None).map(|text| text.trim().to_owned())
    };
    let add_secret = |file: &str| write_file(&repository.join(file), &format!("{secret}\n"));
    add_secret("old.txt")?;
    witness::commit_all(repository, "a secret")?;
    let deleted = name("HEAD:old.txt")?;
    run_git(repository, &["rm", "--quiet", "old.txt"], None)?;
    witness::commit_all(repository, "the secret is gone")?;
    run_git(repository, &["checkout", "--quiet", "-b", "private"], None)?;
    add_secret("private.txt")?;
    witness::commit_all(repository, "a private branch")?;
    let branch = name("HEAD")?;
    run_git(repository, &["checkout", "--quiet", "main"], None)?;
    add_secret("README.md")?;
    run_git(repository, &["stash", "push", "--quiet"], None)?;
    let stash = name("refs/stash")?;
    let blob = run_git(
        repository,
        &["hash-object", "-w", "--stdin"],
        Some(&format!("{secret} staged\n")),
    )?;
    let commit = run_git(
        repository,
        &["commit-tree", "HEAD^{tree}", "-m", &format!("{secret} dangling")],
        None,
    )?;
    let withheld = name("HEAD:withheld/plan.txt")?;
    Ok(json!({
        // A file that an earlier commit had, and one that was only ever staged: their blobs.
        "deleted": deleted,
        "withheld": withheld,
        "staged": blob.trim(),
        // A branch that is not checked out, a stashed change, and a commit that no branch reaches.
        "branch": branch,
        "stash": stash,
        "dangling": commit.trim(),
    }))
}

/// Rule that withholds a folder from every tool.
const RULE: &str = r#"version = 1

[[rule]]
id = "rogue.withheld"
effect = "deny"
why = "no tool reads it"
action = ["read"]
paths = ["withheld/**"]
[rule.examples]
match = [{ path = "withheld/plan.txt" }]
no_match = [{ path = "docs/plan" }]
"#;

/// Names of the withheld files, as in `scripts/rogue/attempts/withheld.py`.
const WITHHELD: [&str; 13] = [
    "plan.txt",
    "a plan.txt",
    "-rf",
    "[a-z].txt",
    "{a,b}.txt",
    "%70lan.txt",
    "...txt",
    "pl\u{e4}n.txt",
    "pla\u{308}n.txt",
    "PLAN.TXT",
    "a/b/c/d/plan.txt",
    ".plan",
    "$HOME;`plan`.txt",
];

/// Commits files that policy withholds from tools, links to them, and the rule.
fn write_withheld(repository: &Path, secret: &str) -> Result<(), GateError> {
    let write = |path: &str, text: &str| {
        let place = repository.join(path);
        make_folders(place.parent().unwrap_or(repository))?;
        write_file(&place, text)
    };
    for name in WITHHELD {
        write(&format!("withheld/{name}"), &format!("{secret}\n"))?;
    }
    write(".agentos/policy/withheld.toml", RULE)?;
    make_folders(&repository.join("docs"))?;
    for (place, to) in [
        ("plan", Path::new("../withheld/plan.txt")),
        ("folder", Path::new("../withheld")),
        ("chain", Path::new("plan")),
        ("upward", Path::new("../../repository")),
    ] {
        make_link(to, &repository.join("docs").join(place))?;
    }
    witness::commit_all(repository, "files that policy withholds")
}
