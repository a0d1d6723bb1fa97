//! Recovery: whatever a journal says, nothing outside the repository and nothing of the user's is touched.
//!
//! Owns: a repository with a change whose landing could have been interrupted, and the claims about recovering it.
//! Never: asks the executor's own reader what a journal means.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::OnceLock;

use agentos_executor::{RecoveryOutcome, Repository};
use serde_json::Value;

use crate::scratch::{self, FileMap};

mod example;

use example::JournalExample;

/// Reads the bytes as `journal.json`. `@ROOT@`, `@OUT@`, `@PARENT@`, `@COMMIT@`, `@OLD@` and `@NEW@` are replaced by
/// the work tree, a folder next to it, the commits before and after the change, and the ids of the file's content
/// before and after.
///
/// # Panics
/// If a claim does not hold.
pub fn check_journal(data: &[u8]) {
    recover_example(data);
}

/// Recovers the example with this journal. `None` if there was nothing to recover, or if it could not be recovered.
fn recover_example(data: &[u8]) -> Option<RecoveryOutcome> {
    static EXAMPLE: OnceLock<JournalExample> = OnceLock::new();
    let example = EXAMPLE.get_or_init(JournalExample::make);
    let folder = scratch::make_folder();
    let root = folder.path().join("repo");
    let outside = folder.path().join("outside");
    scratch::write_files(&root, &example.files);
    scratch::write_files(&outside, &outside_files());
    let journal = example.fill(data, &root, &outside);
    scratch::write_file(&root.join(".git/agentos/journal.json"), &journal);
    let before = scratch::read_files(folder.path());
    let repository = match Repository::discover(&root) {
        Ok(repository) => repository,
        Err(error) => panic!("the example is no repository: {error}"),
    };
    let recovered = repository.recover();
    let after = scratch::read_files(folder.path());
    check_outside(&before, &after);
    check_named(&before, &after, &journal);
    match recovered {
        Ok(Some(recovered)) => {
            // A journal that stays after a recovery would roll back the user's next change.
            let again = repository.recover();
            assert!(matches!(again, Ok(None)), "it is recovered twice: {again:?}");
            Some(recovered.outcome)
        }
        Ok(None) => None,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            assert!(
                after.contains_key("repo/.git/agentos/journal.json"),
                "what is not recovered is forgotten: {error}"
            );
            None
        }
    }
}

fn outside_files() -> FileMap {
    // The same names as inside the work tree, so that a path that escapes from it finds a file to change.
    let names = ["a.rs", "notes.txt", ".agentos-run-1-0.tmp", "src/a.rs"];
    names.map(|name| (name.to_owned(), b"outside\n".to_vec())).into()
}

/// The folder next to the repository, the user's own work and git's settings must not change.
fn check_outside(before: &FileMap, after: &FileMap) {
    let own = |name: &str| {
        !name.starts_with("repo/")
            || example::OWN
                .iter()
                .any(|(own, _)| name.strip_prefix("repo/") == Some(own))
            || ["config", "HEAD", "description"]
                .iter()
                .any(|file| name == format!("repo/.git/{file}"))
            || name.starts_with("repo/.git/hooks/")
            || name.starts_with("repo/.git/info/")
    };
    let of =
        |files: &FileMap| -> FileMap { files.clone().into_iter().filter(|(name, _)| own(name)).collect() };
    let (before, after) = (of(before), of(after));
    let changed = differing(&before, &after);
    assert!(changed.is_empty(), "recovery touched {changed:?}");
}

/// In the work tree only files that the journal names may change; of the refs, only its branch.
fn check_named(before: &FileMap, after: &FileMap, journal: &[u8]) {
    let journal: Value = serde_json::from_slice(journal).unwrap_or_default();
    let files = journal.get("files").and_then(Value::as_array);
    let paths: BTreeSet<&str> = files
        .into_iter()
        .flatten()
        .filter_map(|file| file.pointer("/file/path")?.as_str())
        .collect();
    let refname = journal.get("refname").and_then(Value::as_str).unwrap_or_default();
    for name in differing(before, after) {
        let Some(path) = name.strip_prefix("repo/") else {
            continue;
        };
        match path.strip_prefix(".git/") {
            None => {
                // An interrupted landing leaves temporary files of this program, which recovery may remove.
                let is_temp = path
                    .rsplit('/')
                    .next()
                    .is_some_and(|name| name.starts_with(".agentos-"));
                assert!(is_temp || paths.contains(path), "`{path}` is not in the journal");
            }
            Some(of_git) => {
                let is_ref = of_git.starts_with("refs/") || of_git.starts_with("logs/");
                let is_named = of_git.trim_start_matches("logs/").trim_end_matches(".lock") == refname;
                let is_head_log = of_git == "logs/HEAD";
                assert!(
                    !is_ref || is_named || is_head_log,
                    "`{of_git}` is not the journal's branch"
                );
            }
        }
    }
}

/// Returns the names of files that differ.
fn differing<'f>(before: &'f FileMap, after: &'f FileMap) -> BTreeSet<&'f str> {
    let names = before.keys().chain(after.keys());
    names
        .filter(|name| before.get(*name) != after.get(*name))
        .map(String::as_str)
        .collect()
}

/// Replaces every `from` in bytes.
fn replace_all(bytes: &[u8], from: &str, to: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(first) = rest.first() {
        if let Some(after) = rest.strip_prefix(from.as_bytes()) {
            out.extend_from_slice(to.as_bytes());
            rest = after;
        } else {
            out.push(*first);
            rest = rest.get(1..).unwrap_or_default();
        }
    }
    out
}

/// Returns a path as text.
fn text_of(path: &Path) -> String {
    path.display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sound_journal_is_recovered() {
        let file = r#"{"file":{"path":"src/a.rs","old":{"oid":"@OLD@","mode":"regular"},
            "new":{"oid":"@NEW@","mode":"regular"}},"temp":"src/.agentos-run-1-0.tmp"}"#;
        let journal = |commit: &str, decided: bool| {
            format!(
                r#"{{"v":1,"run":"run-1","writes":"commit-and-work-tree","refname":"refs/heads/main",
                "parent":"@PARENT@","commit":{commit},"decided":{decided},"boot":"","work_dir":"@ROOT@","files":[{file}]}}"#
            )
        };
        let cases = [
            (journal("null", true), Some(RecoveryOutcome::Finished)),
            (journal("null", false), Some(RecoveryOutcome::RolledBack)),
            (journal("\"@COMMIT@\"", false), Some(RecoveryOutcome::RolledBack)),
            (journal("\"@OUT@\"", false), None),
            ("{}".to_owned(), None),
        ];
        for (journal, outcome) in cases {
            assert_eq!(recover_example(journal.as_bytes()), outcome, "{journal}");
        }
    }
}
