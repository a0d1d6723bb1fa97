//! Starts the other programs of the product, and opens a page in the user's browser.
//!
//! Owns: which file such a program is, its version, and taking its place. Never: starts a program that a repository brought, or puts a
//! secret on a command line, where every user of the machine can read it.
//!
//! `git` and `cargo` start `git-NAME` and `cargo-NAME` in the same way, so the command line stays small. A program of another
//! version would read files and speak protocols that this one does not know, so it is not started.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use agentos_lookup::ProgramSearch;

/// Failure to start a program.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// The program is not installed.
    #[error("`{0}` is not installed: it is neither next to this program nor in a folder of `PATH`")]
    Missing(String),
    /// The program has another version.
    #[error("`{}` has the version {found}, and this program the version {wanted}", .program.display())]
    Version {
        /// File of the program.
        program: PathBuf,
        /// Version that it prints; `unknown` if it prints none.
        found: String,
        /// Version of this program.
        wanted: String,
    },
    /// The system cannot start the program.
    #[error("cannot start `{}`: {source}", .program.display())]
    Start {
        /// File of the program.
        program: PathBuf,
        /// Reason.
        source: io::Error,
    },
}

/// Program of the product, of the same version as the running one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnProgram {
    file: PathBuf,
}

impl OwnProgram {
    /// Finds a program by its name: next to `running`, the file of the running program, else as `search` finds it. Asks it for its
    /// version, which must be `version`.
    ///
    /// # Errors
    /// If it is not installed, has another version, or does not start.
    pub fn find(
        name: &str,
        version: &str,
        running: &Path,
        search: &ProgramSearch,
    ) -> Result<Self, LaunchError> {
        let file_name = format!("{name}{}", std::env::consts::EXE_SUFFIX);
        // A link such as `~/bin/agentos` leads to the folder in which all programs of an installation are.
        let resolved = running.canonicalize().unwrap_or_else(|_| running.to_owned());
        let siblings = [running, resolved.as_path()].into_iter().filter_map(Path::parent);
        let sibling = siblings
            .map(|folder| folder.join(&file_name))
            .find(|file| agentos_lookup::is_executable(file));
        let file = match sibling {
            Some(file) => file,
            None => search
                .find_program(&file_name)
                .map_err(|_| LaunchError::Missing(name.to_owned()))?,
        };
        let found = read_version(&file)?;
        if found != version {
            return Err(LaunchError::Version {
                program: file,
                found,
                wanted: version.to_owned(),
            });
        }
        Ok(Self { file })
    }

    /// Runs the program in the place of this one, with its streams. Returns its exit status, or never where the system can replace
    /// the running program.
    ///
    /// # Errors
    /// If the system cannot start it.
    pub fn take_over(&self, args: &[OsString]) -> Result<i32, LaunchError> {
        let mut command = Command::new(&self.file);
        command.args(args);
        replace_process(command).map_err(|source| LaunchError::Start {
            program: self.file.clone(),
            source,
        })
    }
}

/// Replaces this process: signals, the terminal and the process id stay the same for whoever started it.
#[cfg(unix)]
fn replace_process(mut command: Command) -> io::Result<i32> {
    use std::os::unix::process::CommandExt as _;
    // Returns only if it failed.
    Err(command.exec())
}

/// Runs the program and waits for it, because this system cannot replace a process.
#[cfg(not(unix))]
fn replace_process(mut command: Command) -> io::Result<i32> {
    Ok(command.status()?.code().unwrap_or(1))
}

/// Reads the version that a program prints, as in `agentos-server 0.1.0`.
fn read_version(file: &Path) -> Result<String, LaunchError> {
    // Its standard error stays this program's own: a program that does not start says there why.
    let output = Command::new(file)
        .arg("-V")
        .stdin(Stdio::null())
        .output()
        .map_err(|source| LaunchError::Start {
            program: file.to_owned(),
            source,
        })?;
    let text = String::from_utf8_lossy(&output.stdout);
    let word = text.lines().next().and_then(|line| line.split(' ').nth(1));
    Ok(word.unwrap_or("unknown").to_owned())
}

/// Opens a file in the user's browser. Returns false if no program that does this is installed, as on a server without a screen.
///
/// A file and not an address: an address with a code would be on the command line.
pub fn open_in_browser(file: &Path, search: &ProgramSearch) -> bool {
    let opener = if cfg!(target_os = "macos") {
        "open"
    } else if cfg!(windows) {
        "explorer"
    } else {
        "xdg-open"
    };
    // By the rule for all programs of the user: a repository may have an `xdg-open` of its own.
    let Ok(program) = search.find_program(opener) else {
        return false;
    };
    // Browsers write about their graphics drivers to standard error, which nobody requested.
    let opened = Command::new(program)
        .arg(file)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    opened.is_ok_and(|status| status.success())
}

#[cfg(all(test, unix))]
mod tests;
