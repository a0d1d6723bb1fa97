//! Files and folders that only their owner can reach.
//!
//! Owns: making them so from the first byte, and refusing those that are not. On Windows the user's profile folder
//! is closed to others by the system, and modes do not exist. Never: changes a mode that somebody chose.

use std::fs::{DirBuilder, File, Metadata, OpenOptions};
use std::io;
use std::path::Path;

use crate::CredentialError;

/// A new file for its owner alone; fails when there is one.
pub(crate) fn create_new(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    close_to_others(&mut options);
    options.open(path)
}

/// A file that is there to be locked.
pub(crate) fn lock_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    close_to_others(&mut options);
    options.open(path)
}

/// A file to be read.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).open(path)
}

/// Makes the folder, and those above it that are missing, for their owner alone.
pub(crate) fn create_folder(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt as _;
        builder.mode(0o700);
    }
    builder.create(path)
}

/// Refuses a folder into which others could put a file.
pub(crate) fn check_folder(path: &Path, found: &Metadata) -> Result<(), CredentialError> {
    if !found.is_dir() {
        return Err(exposed(path, "is not a folder", "move it away"));
    }
    check_mode(path, found, 0o022, "others can write to", "chmod 700")
}

/// Refuses a file that others can read or write, or that was put there by somebody else: its owner must be the
/// folder's. (A file of another user with mode 0600 does not open at all, unless one is the superuser.)
pub(crate) fn check_file(path: &Path, found: &Metadata, folder: &Metadata) -> Result<(), CredentialError> {
    if !found.is_file() {
        return Err(exposed(path, "is not a regular file", "move it away"));
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        if found.uid() != folder.uid() {
            return Err(exposed(
                path,
                "belongs to another user than its folder",
                "move it away",
            ));
        }
    }
    #[cfg(not(unix))]
    let _ = folder;
    check_mode(path, found, 0o077, "others can reach", "chmod 600")
}

#[cfg(unix)]
fn close_to_others(options: &mut OpenOptions) {
    use std::os::unix::fs::OpenOptionsExt as _;
    options.mode(0o600);
}

#[cfg(not(unix))]
fn close_to_others(_options: &mut OpenOptions) {}

#[cfg(unix)]
fn check_mode(path: &Path, found: &Metadata, bad: u32, what: &str, fix: &str) -> Result<(), CredentialError> {
    use std::os::unix::fs::MetadataExt as _;
    let mode = found.mode() & 0o777;
    if mode & bad == 0 {
        return Ok(());
    }
    let problem = format!("is something {what}: its mode is {mode:03o}");
    Err(exposed(path, &problem, &format!("{fix} {}", path.display())))
}

#[cfg(not(unix))]
fn check_mode(_: &Path, _: &Metadata, _: u32, _: &str, _: &str) -> Result<(), CredentialError> {
    Ok(())
}

fn exposed(path: &Path, problem: &str, fix: &str) -> CredentialError {
    CredentialError::Exposed {
        path: path.to_owned(),
        problem: problem.to_owned(),
        fix: fix.to_owned(),
    }
}
