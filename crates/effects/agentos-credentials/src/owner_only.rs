//! Files and folders that only their owner can reach.
//!
//! Owns: creating them with that mode, so that no other user can open them even for a moment, and refusing those that others
//! can reach. On Windows the system closes the user's profile folder to others, and modes do not exist. Never: changes the
//! mode of an existing file.

use std::fs::{DirBuilder, File, Metadata, OpenOptions};
use std::io;
use std::path::Path;

use crate::CredentialError;

/// Creates a new file that only its owner can reach.
///
/// # Errors
/// If the file exists or cannot be created.
pub(crate) fn create_new(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    close_to_others(&mut options);
    options.open(path)
}

/// Opens or creates a file for locking.
pub(crate) fn lock_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    // The file stays when the lock ends: if it were removed and made again, two commands could each lock one of the two.
    options.read(true).write(true).create(true).truncate(false);
    close_to_others(&mut options);
    options.open(path)
}

/// Opens a file for reading.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).open(path)
}

/// Creates a folder and its missing parents, which only their owner can reach.
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

/// Checks that other users cannot create files in a folder.
///
/// # Errors
/// [`CredentialError::Exposed`] with the problem and a fix.
pub(crate) fn check_folder(path: &Path, found: &Metadata) -> Result<(), CredentialError> {
    if !found.is_dir() {
        return Err(exposed_error(path, "is not a folder", "move it away"));
    }
    // Reading is allowed: the names in the folder are no secret, and home folders are often readable.
    check_mode(path, found, 0o022, "other users can write to", "chmod 700")
}

/// Checks that only its owner can reach a file, and that the owner is the folder's. The latter matters for the superuser, who
/// can open another user's file of mode 0600.
///
/// # Errors
/// [`CredentialError::Exposed`] with the problem and a fix.
pub(crate) fn check_file(path: &Path, found: &Metadata, folder: &Metadata) -> Result<(), CredentialError> {
    if !found.is_file() {
        return Err(exposed_error(path, "is not a regular file", "move it away"));
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        if found.uid() != folder.uid() {
            return Err(exposed_error(
                path,
                "belongs to a different user than its folder",
                "move it away",
            ));
        }
    }
    #[cfg(not(unix))]
    let _ = folder;
    check_mode(path, found, 0o077, "other users can read or write", "chmod 600")
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
    let problem = format!("has mode {mode:03o}: {what} it");
    Err(exposed_error(
        path,
        &problem,
        &format!("{fix} {}", path.display()),
    ))
}

#[cfg(not(unix))]
fn check_mode(_: &Path, _: &Metadata, _: u32, _: &str, _: &str) -> Result<(), CredentialError> {
    Ok(())
}

fn exposed_error(path: &Path, problem: &str, fix: &str) -> CredentialError {
    CredentialError::Exposed {
        path: path.to_owned(),
        problem: problem.to_owned(),
        fix: fix.to_owned(),
    }
}
