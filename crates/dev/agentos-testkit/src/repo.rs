//! A repository in a temporary folder, driven by the real git program.
//!
//! Owns: the closed world in which git runs (no user or machine configuration, a fixed identity and time), and the
//! file helpers that tests write with. Never: touches anything outside the temporary folder.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

/// A repository, gone when dropped.
#[derive(Debug)]
pub struct TestRepo {
    folder: TempDir,
    root: PathBuf,
}

impl TestRepo {
    /// An empty repository on the branch `main`, with an identity in its own configuration.
    ///
    /// # Panics
    /// When git cannot be run: the tests cannot go on.
    #[must_use]
    pub fn new() -> Self {
        let repo = Self::at("work", &["init", "--quiet", "--initial-branch=main", "."]);
        repo.git(&["config", "user.name", "Test Author"]);
        repo.git(&["config", "user.email", "author@example.com"]);
        repo
    }

    /// An empty bare repository whose HEAD names `main`.
    ///
    /// # Panics
    /// When git cannot be run.
    #[must_use]
    pub fn bare() -> Self {
        let repo = Self::at(
            "work.git",
            &["init", "--quiet", "--bare", "--initial-branch=main", "."],
        );
        repo.git(&["config", "user.name", "Test Author"]);
        repo.git(&["config", "user.email", "author@example.com"]);
        repo
    }

    fn at(name: &str, init: &[&str]) -> Self {
        let folder = TempDir::new().unwrap_or_else(|error| fail(&format!("no temporary folder: {error}")));
        let root = folder.path().join(name);
        make_dir(&root);
        let repo = Self { folder, root };
        repo.git(init);
        repo
    }

    /// The work tree, or the repository itself if it is bare.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.root
    }

    /// The temporary folder around it, for a second work tree or a file outside.
    #[must_use]
    pub fn outside(&self) -> &Path {
        self.folder.path()
    }

    /// Runs git in the work tree and gives what it prints, without the last line end.
    ///
    /// # Panics
    /// When git fails.
    pub fn git(&self, args: &[&str]) -> String {
        self.git_in(&self.root, args)
    }

    /// Runs git in another folder.
    ///
    /// # Panics
    /// When git fails.
    pub fn git_in(&self, folder: &Path, args: &[&str]) -> String {
        let output = self.output(folder, args);
        if !output.status.success() {
            fail(&format!(
                "git {args:?}: {}",
                String::from_utf8_lossy(&output.stderr)
            ));
        }
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    /// Runs git in the work tree, where failing is an answer: true if it ended with success.
    ///
    /// # Panics
    /// When git cannot be started.
    pub fn git_ok(&self, args: &[&str]) -> bool {
        self.output(&self.root, args).status.success()
    }

    fn output(&self, folder: &Path, args: &[&str]) -> Output {
        Command::new("git")
            .args(args)
            .current_dir(folder)
            .env("HOME", self.folder.path())
            .env("XDG_CONFIG_HOME", self.folder.path())
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_AUTHOR_DATE", "2026-01-01T00:00:00Z")
            .env("GIT_COMMITTER_DATE", "2026-01-01T00:00:00Z")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("LC_ALL", "C")
            .env_remove("GIT_DIR")
            .env_remove("GIT_WORK_TREE")
            .env_remove("GIT_INDEX_FILE")
            .output()
            .unwrap_or_else(|error| fail(&format!("git cannot be started: {error}")))
    }

    /// Writes a file of the work tree, with the folders above it.
    ///
    /// # Panics
    /// When it cannot be written.
    pub fn write(&self, path: &str, bytes: impl AsRef<[u8]>) {
        write_file(&self.root.join(path), bytes);
    }

    /// Reads a file of the work tree.
    ///
    /// # Panics
    /// When it cannot be read.
    #[must_use]
    pub fn read(&self, path: &str) -> Vec<u8> {
        read_file(&self.root.join(path))
    }

    /// Is there anything at this path of the work tree? A link counts, wherever it leads.
    #[must_use]
    pub fn has(&self, path: &str) -> bool {
        fs::symlink_metadata(self.root.join(path)).is_ok()
    }

    /// Stages everything and commits it; gives the commit.
    ///
    /// # Panics
    /// When git fails.
    pub fn commit_all(&self, message: &str) -> String {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "-m", message]);
        self.git(&["rev-parse", "HEAD"])
    }

    /// The short status, one line a path; empty for a clean work tree.
    ///
    /// # Panics
    /// When git fails.
    #[must_use]
    pub fn status(&self) -> String {
        self.git(&["status", "--porcelain"])
    }
}

impl Default for TestRepo {
    fn default() -> Self {
        Self::new()
    }
}

/// Writes a file, with the folders above it.
///
/// # Panics
/// When it cannot be written.
pub fn write_file(path: &Path, bytes: impl AsRef<[u8]>) {
    if let Some(above) = path.parent() {
        make_dir(above);
    }
    done(path, fs::write(path, bytes));
}

/// Reads a file.
///
/// # Panics
/// When it cannot be read.
#[must_use]
pub fn read_file(path: &Path) -> Vec<u8> {
    fs::read(path).unwrap_or_else(|error| fail(&format!("{}: {error}", path.display())))
}

/// Opens a file to write into it in place, as some editors do. It is not emptied.
///
/// # Panics
/// If it cannot be opened.
#[must_use]
pub fn open_in_place(path: &Path) -> fs::File {
    let file = fs::File::options().write(true).open(path);
    file.unwrap_or_else(|error| fail(&format!("{}: {error}", path.display())))
}

/// Makes a folder and those above it.
///
/// # Panics
/// When it cannot be made.
pub fn make_dir(path: &Path) {
    done(path, fs::create_dir_all(path));
}

/// Removes a file.
///
/// # Panics
/// When it cannot be removed.
pub fn remove_file(path: &Path) {
    done(path, fs::remove_file(path));
}

/// Gives a file or folder another name.
///
/// # Panics
/// When it cannot be done.
pub fn move_path(from: &Path, to: &Path) {
    done(from, fs::rename(from, to));
}

/// Makes a symbolic link at `path` that leads to `to`.
///
/// # Panics
/// When it cannot be made.
#[cfg(unix)]
pub fn make_link(path: &Path, to: &str) {
    done(path, std::os::unix::fs::symlink(to, path));
}

/// Makes a FIFO, with the program `mkfifo`.
///
/// # Panics
/// If that fails.
#[cfg(unix)]
pub fn make_fifo(path: &Path) {
    if let Some(above) = path.parent() {
        make_dir(above);
    }
    let status = Command::new("mkfifo").arg(path).status();
    done(
        path,
        status.and_then(|status| status.success().then_some(()).ok_or(io::ErrorKind::Other.into())),
    );
}

/// Makes a second name for a file.
///
/// # Panics
/// When it cannot be made.
pub fn make_hard_link(from: &Path, to: &Path) {
    done(to, fs::hard_link(from, to));
}

/// Sets the permission bits of a file.
///
/// # Panics
/// When they cannot be set.
#[cfg(unix)]
pub fn set_mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    done(path, fs::set_permissions(path, fs::Permissions::from_mode(mode)));
}

/// Sets when a file was changed last, in seconds since 1970.
///
/// # Panics
/// When it cannot be set.
pub fn set_modified(path: &Path, seconds: u64) {
    let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
    let file = fs::File::options().write(true).open(path);
    done(path, file.and_then(|file| file.set_modified(time)));
}

fn done(path: &Path, result: io::Result<()>) {
    if let Err(error) = result {
        fail(&format!("{}: {error}", path.display()));
    }
}

#[expect(
    clippy::panic,
    reason = "a test that cannot be set up must end at once and say why"
)]
fn fail(message: &str) -> ! {
    panic!("{message}")
}
