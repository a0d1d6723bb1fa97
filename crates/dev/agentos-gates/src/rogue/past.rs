//! Secrets in the repository's object store that are not in the files of the base: its history.
//!
//! Owns: creating them and naming their objects. Never: leaves one of them in the working tree.

use std::path::Path;

use serde_json::{Value, json};

use super::basics::write_file;
use crate::error::GateError;
use crate::witness::{self, run_git};

/// Adds a history to the repository, with `secret` in every place that a copy of the base must not show. Returns the names of
/// the objects that contain it.
pub(super) fn write_history(repository: &Path, secret: &str) -> Result<Value, GateError> {
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
    Ok(json!({
        // A file that an earlier commit had, and one that was only ever staged: their blobs.
        "deleted": deleted,
        "staged": blob.trim(),
        // A branch that is not checked out, a stashed change, and a commit that no branch reaches.
        "branch": branch,
        "stash": stash,
        "dangling": commit.trim(),
    }))
}
