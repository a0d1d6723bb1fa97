//! The gate's own measurement of a repository, and the scratch repository that it measures.
//!
//! Owns: the state of a repository, measured with `git` and by reading files. Never: calls the judged program.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest, Sha256};

use crate::child::FinishedCall;
use crate::error::GateError;

/// Descriptions of files by their path: kind, size, SHA-256 and permissions.
pub(crate) type FileMap = BTreeMap<PathBuf, String>;

/// The state of a repository at one moment. Two equal states mean that nothing was written or committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RepoState {
    /// The ref of HEAD, and its commit.
    head: String,
    /// Every ref and its commit.
    refs: String,
    /// SHA-256 of the index file.
    index: String,
    /// Every file of the working tree.
    worktree: FileMap,
    /// Every file of `.git`, except the evidence that the program keeps there.
    internals: FileMap,
}

/// Creates a repository with one commit in `<scratch>/repository`.
pub(crate) fn make_repository(scratch: &Path) -> Result<PathBuf, GateError> {
    let repository = scratch.join("repository");
    let source = repository.join("src");
    std::fs::create_dir_all(&source).map_err(GateError::file(&source))?;
    let files = [
        ("README.md", "# adder\n\nA library that adds.\n"),
        (
            "src/lib.rs",
            "pub fn add(a: i32, b: i32) -> i32 {\n    a - b\n}\n",
        ),
    ];
    for (name, text) in files {
        let file = repository.join(name);
        std::fs::write(&file, text).map_err(GateError::file(&file))?;
    }
    run_git(&repository, &["init", "--quiet", "--initial-branch=main"], None)?;
    commit_all(&repository, "an adder that subtracts")?;
    Ok(repository)
}

/// Checks with git whether a diff applies to the working tree. Changes nothing.
///
/// # Errors
/// When git does not accept the diff.
pub(crate) fn check_applies(repository: &Path, diff: &str) -> Result<(), GateError> {
    run_git(repository, &["apply", "--check", "-"], Some(diff)).map(drop)
}

impl RepoState {
    /// Measures the current state.
    ///
    /// # Errors
    /// When git fails or a file cannot be read.
    pub(crate) fn measure(repository: &Path) -> Result<Self, GateError> {
        let commit = run_git(repository, &["rev-parse", "HEAD"], None)?;
        let name = run_git(repository, &["symbolic-ref", "--quiet", "HEAD"], None)?;
        let own = repository.join(".git");
        let index = own.join("index");
        let (mut worktree, mut internals) = (FileMap::new(), FileMap::new());
        list_files(
            repository,
            repository,
            &|path| path == Path::new(".git"),
            &mut worktree,
        )?;
        // The product may write its evidence and journal here, and nothing else; their content is judged by
        // other gates.
        list_files(&own, &own, &|path| path == Path::new("agentos"), &mut internals)?;
        Ok(Self {
            head: format!("{} {}", name.trim_end(), commit.trim_end()),
            refs: run_git(repository, &["for-each-ref"], None)?,
            index: sha256(&std::fs::read(&index).map_err(GateError::file(&index))?),
            worktree,
            internals,
        })
    }

    /// Describes the differences between two states; empty if there are none.
    pub(crate) fn list_differences(&self, after: &Self) -> Vec<String> {
        let parts = [
            ("HEAD", &self.head, &after.head),
            ("refs", &self.refs, &after.refs),
            ("index", &self.index, &after.index),
        ];
        let parts = parts
            .iter()
            .filter(|(_, a, b)| a != b)
            .map(|(name, ..)| (*name).to_owned());
        let shown = |what: &'static str| move |path: PathBuf| format!("{what}: {}", path.display());
        let worktree = changed_paths(&self.worktree, &after.worktree)
            .into_iter()
            .map(shown("working tree"));
        let internals = changed_paths(&self.internals, &after.internals)
            .into_iter()
            .map(shown("repository folder"));
        parts.chain(worktree).chain(internals).collect()
    }
}

/// Returns the paths whose descriptions differ between two listings.
pub(crate) fn changed_paths(before: &FileMap, after: &FileMap) -> Vec<PathBuf> {
    let paths: BTreeSet<&PathBuf> = before.keys().chain(after.keys()).collect();
    let is_changed = |path: &&PathBuf| before.get(*path) != after.get(*path);
    paths.into_iter().filter(is_changed).cloned().collect()
}

/// Returns the files below a folder that contain these bytes; empty if there is no such folder.
pub(crate) fn files_containing(folder: &Path, bytes: &[u8]) -> Result<Vec<PathBuf>, GateError> {
    // Empty bytes would be found in every file.
    if !folder.is_dir() || bytes.is_empty() {
        return Ok(Vec::new());
    }
    let mut all = FileMap::new();
    list_files(folder, folder, &|_| false, &mut all)?;
    let mut found = Vec::new();
    for (path, _) in all.into_iter().filter(|(_, seen)| seen.starts_with("file")) {
        let file = folder.join(&path);
        let text = std::fs::read(&file).map_err(GateError::file(&file))?;
        if text.windows(bytes.len()).any(|window| window == bytes) {
            found.push(path);
        }
    }
    Ok(found)
}

/// Computes the SHA-256 in hex.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// Commits everything in a repository's working tree.
pub(crate) fn commit_all(repository: &Path, message: &str) -> Result<(), GateError> {
    run_git(repository, &["add", "--all"], None)?;
    run_git(repository, &["commit", "--quiet", "--message", message], None).map(drop)
}

/// Lists everything below a folder. A link is listed with its target and never followed.
pub(crate) fn list_files(
    top: &Path,
    folder: &Path,
    leave_out: &dyn Fn(&Path) -> bool,
    found: &mut FileMap,
) -> Result<(), GateError> {
    for entry in std::fs::read_dir(folder).map_err(GateError::file(folder))? {
        let path = entry.map_err(GateError::file(folder))?.path();
        let relative = path.strip_prefix(top).unwrap_or(&path).to_path_buf();
        if leave_out(&relative) {
            continue;
        }
        let about = std::fs::symlink_metadata(&path).map_err(GateError::file(&path))?;
        let kind = about.file_type();
        let seen = if kind.is_dir() {
            list_files(top, &path, leave_out, found)?;
            "folder".to_owned()
        } else if kind.is_symlink() {
            let target = std::fs::read_link(&path).map_err(GateError::file(&path))?;
            format!("link to {}", target.display())
        } else if kind.is_file() {
            let bytes = std::fs::read(&path).map_err(GateError::file(&path))?;
            format!("file of {} bytes, {}", bytes.len(), sha256(&bytes))
        } else {
            "something else".to_owned()
        };
        found.insert(relative, format!("{seen}, mode {}", describe_mode(&about)));
    }
    Ok(())
}

/// Describes the permissions, in octal on Unix.
#[cfg(unix)]
fn describe_mode(about: &std::fs::Metadata) -> String {
    use std::os::unix::fs::PermissionsExt;
    format!("{:o}", about.permissions().mode())
}

/// Describes the permissions, in octal on Unix.
#[cfg(not(unix))]
fn describe_mode(about: &std::fs::Metadata) -> String {
    let readonly = about.permissions().readonly();
    if readonly { "read-only" } else { "writable" }.to_owned()
}

/// The author of the gates' commits.
pub(crate) const IDENTITY: [(&str, &str); 4] = [
    ("GIT_AUTHOR_NAME", "Gate"),
    ("GIT_AUTHOR_EMAIL", "gate@example.com"),
    ("GIT_COMMITTER_NAME", "Gate"),
    ("GIT_COMMITTER_EMAIL", "gate@example.com"),
];

/// Runs git with a fixed author and without the configuration of user or system.
///
/// # Errors
/// When git cannot be started or fails.
pub(crate) fn run_git(repository: &Path, args: &[&str], input: Option<&str>) -> Result<String, GateError> {
    let mut git = Command::new("git");
    // `safe.directory`: the repository may belong to the other user for whom the product is started.
    // `core.fsync=none`: scratch repositories need not survive a power loss. `gc.auto=0`: a background clean-up
    // would change `.git` between two measurements.
    let settings = "-c core.fsync=none -c gc.auto=0 -c safe.directory=*";
    git.args(settings.split(' ')).args(args);
    git.current_dir(repository)
        .envs(IDENTITY)
        // `git status` may otherwise refresh the index file (git(1)), a change that the gate itself would have
        // made.
        .env("GIT_OPTIONAL_LOCKS", "0");
    git.env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null");
    // A git hook that starts the gates sets these, and git would then ignore the working directory.
    git.env_remove("GIT_DIR")
        .env_remove("GIT_WORK_TREE")
        .env_remove("GIT_INDEX_FILE");
    let ended = FinishedCall::run(&mut git, input.unwrap_or_default(), None)?;
    if ended.code == Some(0) {
        return Ok(ended.stdout);
    }
    Err(GateError::Git {
        command: args.first().copied().unwrap_or_default().to_owned(),
        said: ended.stderr.trim_end().to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(change: impl FnOnce(&Path)) -> Vec<String> {
        let scratch = tempfile::TempDir::new().unwrap();
        let repository = make_repository(scratch.path()).unwrap();
        let before = RepoState::measure(&repository).unwrap();
        change(&repository);
        before.list_differences(&RepoState::measure(&repository).unwrap())
    }

    #[test]
    fn nothing_done_is_nothing_found_and_evidence_is_allowed() {
        assert_eq!(after(|_| {}), Vec::<String>::new());
        let evidence = after(|repository| {
            std::fs::create_dir_all(repository.join(".git/agentos/blobs")).unwrap();
            std::fs::write(repository.join(".git/agentos/tape.jsonl"), "{}\n").unwrap();
        });
        assert_eq!(evidence, Vec::<String>::new());
    }

    #[test]
    fn every_way_of_writing_is_found() {
        let write =
            |name: &'static str| move |repository: &Path| std::fs::write(repository.join(name), "x").unwrap();
        assert_eq!(after(write("src/lib.rs")), ["working tree: src/lib.rs"]);
        assert_eq!(after(write("new.txt")), ["working tree: new.txt"]);
        assert_eq!(
            after(write(".git/hooks/post-commit")),
            ["repository folder: hooks/post-commit"]
        );
        assert_eq!(
            after(write(".git/config.local")),
            ["repository folder: config.local"]
        );
        let folder = after(|repository| std::fs::create_dir_all(repository.join("empty")).unwrap());
        assert_eq!(folder, ["working tree: empty"]);
        let chmod = |name: &'static str| {
            move |repository: &Path| {
                let status = Command::new("chmod")
                    .arg("0700")
                    .arg(repository.join(name))
                    .status();
                assert!(status.unwrap().success());
            }
        };
        assert_eq!(after(chmod("src/lib.rs")), ["working tree: src/lib.rs"]);
        assert_eq!(after(chmod("src")), ["working tree: src"]);
        assert_eq!(after(chmod(".git/config")), ["repository folder: config"]);
        let branch = after(|repository| drop(run_git(repository, &["branch", "other"], None).unwrap()));
        assert!(branch.contains(&"refs".to_owned()), "{branch:?}");
        let commit = after(|repository| {
            run_git(
                repository,
                &["commit", "--quiet", "--allow-empty", "--message", "x"],
                None,
            )
            .unwrap();
        });
        assert!(commit.contains(&"HEAD".to_owned()), "{commit:?}");
        let staged = after(|repository| {
            std::fs::write(repository.join("new.txt"), "x").unwrap();
            run_git(repository, &["add", "new.txt"], None).unwrap();
        });
        assert!(staged.contains(&"index".to_owned()), "{staged:?}");
    }

    #[test]
    fn git_is_a_second_opinion_on_a_diff() {
        let scratch = tempfile::TempDir::new().unwrap();
        let repository = make_repository(scratch.path()).unwrap();
        let good = "--- a/src/lib.rs\n+++ b/src/lib.rs\n@@ -1,3 +1,3 @@\n pub fn add(a: i32, b: i32) -> i32 {\n\
            -    a - b\n+    a + b\n }\n";
        assert!(check_applies(&repository, good).is_ok());
        assert!(check_applies(&repository, &good.replace("a - b", "a * b")).is_err());
    }
}
