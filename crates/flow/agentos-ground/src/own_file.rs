//! Files that only their owner may change, in the folder of the user's settings.
//!
//! Owns: reading one, and the check of its owner and mode. Never: reads a file that other users can write: they could choose where
//! tasks are sent.

use std::fs::{File, Metadata};
use std::path::{Path, PathBuf};

use agentos_credentials::{lock_own_file, replace_own_file};
use agentos_durable::{LinkRule, open_regular_file};
use agentos_engine::Cause;
use agentos_engine::ports::EffectError;

use crate::environment::Environment;
use crate::files::{read_bounded, unreadable_file};

/// Replaces such a file atomically.
///
/// # Errors
/// With `code` if it cannot be written.
pub fn write_own_text(path: &Path, text: &str, code: &'static str) -> Result<(), EffectError> {
    // A link to a user's collected settings stays one: the file to which it leads is replaced.
    let target = path.canonicalize().unwrap_or_else(|_| PathBuf::from(path));
    replace_own_file(&target, text).map_err(|error| EffectError::from_error(Cause::Usage, code, &error))
}

/// Locks such a file until the returned value is dropped, for a command that reads, changes and writes it.
///
/// # Errors
/// With `code` if the file of the lock cannot be made or locked.
pub fn lock_own_text(path: &Path, code: &'static str) -> Result<File, EffectError> {
    // The same target as a write has, so that two links to one file have one lock.
    let target = path.canonicalize().unwrap_or_else(|_| PathBuf::from(path));
    lock_own_file(&target).map_err(|error| EffectError::from_error(Cause::Usage, code, &error))
}

/// Reads the text of such a file. `None` if there is no file.
///
/// # Errors
/// With `code` if other users can change the file, or it cannot be read, and if it has more than `largest` bytes.
pub fn read_own_text(
    environment: &Environment,
    path: &Path,
    code: &str,
    largest: u64,
) -> Result<Option<String>, EffectError> {
    // Also finds a dangling link, which must be reported and not taken for a missing file.
    if path.symlink_metadata().is_err() {
        return Ok(None);
    }
    let name = environment.shorten_below_home(path);
    let refuse = |message: String| EffectError::new(Cause::Usage, code, message);
    let failed = |error: std::io::Error| EffectError {
        code: code.to_owned(),
        ..unreadable_file(&name, &error)
    };
    // A link is followed, because some users keep their settings in another place.
    let file = open_regular_file(path, LinkRule::Followed).map_err(failed)?;
    // The opened file is examined, and not its name, which could lead to another file by then.
    let found = file.metadata().map_err(failed)?;
    let folder = path.parent().unwrap_or(path).metadata().map_err(failed)?;
    if let Some((fault, fix)) = find_exposure(&found, &folder) {
        return Err(refuse(format!("`{name}` {fault}")).hint(format!("{fix} {}", path.display())));
    }
    let bytes = read_bounded(file, &name, largest)?;
    let text = String::from_utf8(bytes);
    text.map(Some)
        .map_err(|_| refuse(format!("`{name}` is not UTF-8 text")).hint("save it as UTF-8"))
}

/// Returns how other users can change the file, and the command that prevents it. `None` if they cannot. The rule is that of
/// the key file, except that others may read settings.
#[cfg(unix)]
fn find_exposure(file: &Metadata, folder: &Metadata) -> Option<(String, &'static str)> {
    use std::os::unix::fs::MetadataExt as _;
    const OTHERS_WRITE: u32 = 0o022;
    let mode = file.mode() & 0o777;
    if mode & OTHERS_WRITE != 0 {
        let fault = format!("has mode {mode:03o}: other users can write to it");
        return Some((fault, "chmod go-w"));
    }
    // The superuser can open everybody's files, so the owner says whose settings these are.
    let is_foreign = file.uid() != folder.uid();
    is_foreign.then(|| {
        let fault = "belongs to a different user than its folder".to_owned();
        (fault, "chown $USER")
    })
}

/// Returns `None`: this system closes the folder of a user's settings to others, and files have no mode.
#[cfg(not(unix))]
fn find_exposure(_: &Metadata, _: &Metadata) -> Option<(String, &'static str)> {
    None
}
