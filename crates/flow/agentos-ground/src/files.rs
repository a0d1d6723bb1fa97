//! Reading files with a size limit, and noticing that a file was changed.
//!
//! Owns: reading a recording, a policy, a profile file, a key. Never: reads without a limit.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::time::SystemTime;

use agentos_durable::{LinkRule, open_regular_file};
use agentos_engine::Cause;
use agentos_engine::ports::EffectError;

use crate::environment::Environment;
use crate::error::usage_error;

/// Largest answer that is read, in bytes. Landing has the finer limits.
pub const LARGEST_ANSWER: u64 = 64 << 20;

/// State of a file. Two changes in place within one tick of the file system's clock that keep the length look the same; a file that is
/// replaced by another one has another number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileMark {
    changed: Option<SystemTime>,
    len: u64,
    /// Number of the file in its file system. 0 on systems without such numbers.
    number: u64,
}

/// Reads the state of a file. `None` if there is no file. A link is followed: a user may keep the settings elsewhere.
pub fn read_mark(path: &Path) -> Option<FileMark> {
    let found = std::fs::metadata(path).ok()?;
    #[cfg(unix)]
    let number = std::os::unix::fs::MetadataExt::ino(&found);
    #[cfg(not(unix))]
    let number = 0;
    Some(FileMark {
        changed: found.modified().ok(),
        len: found.len(),
        number,
    })
}

/// Reads a file of at most `limit` bytes.
///
/// # Errors
/// If it cannot be read or is larger.
pub fn read_file(environment: &Environment, path: &Path, limit: u64) -> Result<Vec<u8>, EffectError> {
    let path = environment.cwd.join(path);
    let name = environment.shorten_path(&path);
    let open = File::open(path).map_err(|error| unreadable_file(&name, &error))?;
    read_bounded(open, &name, limit)
}

/// Reads a text file of at most `limit` bytes.
///
/// # Errors
/// As [`read_file`], and if it is not UTF-8.
pub fn read_text_file(environment: &Environment, path: &Path, limit: u64) -> Result<String, EffectError> {
    let bytes = read_file(environment, path, limit)?;
    String::from_utf8(bytes).map_err(|_| {
        let name = environment.shorten_path(&environment.cwd.join(path));
        usage_error(format!("`{name}` is not UTF-8 text")).hint("save it as UTF-8")
    })
}

/// Reads a settings file of the repository or the user, which nobody named in this call. Unlike a file named in the call,
/// which may be a pipe as in `<(...)`, it must not be a FIFO or a device: opening one could block forever.
///
/// # Errors
/// As [`read_text_file`], and if it is not a regular file, or a link that is refused.
pub fn read_settings_file(
    environment: &Environment,
    path: &Path,
    links: LinkRule,
    limit: u64,
) -> Result<String, EffectError> {
    let path = environment.cwd.join(path);
    let name = environment.shorten_path(&path);
    let open = open_regular_file(&path, links).map_err(|error| unreadable_file(&name, &error))?;
    let bytes = read_bounded(open, &name, limit)?;
    String::from_utf8(bytes)
        .map_err(|_| usage_error(format!("`{name}` is not UTF-8 text")).hint("save it as UTF-8"))
}

/// Makes the error of a named file that cannot be read.
pub fn unreadable_file(name: &str, error: &io::Error) -> EffectError {
    let hint = match error.kind() {
        io::ErrorKind::NotFound => "check the name; a relative path starts in the current folder",
        io::ErrorKind::PermissionDenied => "give your user the right to read it",
        io::ErrorKind::IsADirectory => "name a file",
        io::ErrorKind::InvalidInput => "put a regular file there, or remove what is there",
        _ => "check the disk, and where the name leads",
    };
    let message = format!("cannot read `{name}`: {}", describe_cause(error));
    EffectError::from_source(Cause::Usage, "usage", message, error).hint(hint)
}

/// Returns the system's description of an error, without its number.
pub fn describe_cause(error: &io::Error) -> String {
    let text = error.to_string();
    // The standard library appends `(os error 2)` to the description, a number that helps no user.
    match text.split_once(" (os error") {
        Some((words, _)) => words.to_owned(),
        None => text,
    }
}

/// Reads from `from` to its end.
///
/// # Errors
/// If it cannot be read or has more than `limit` bytes.
pub fn read_bounded(from: impl Read, name: &str, limit: u64) -> Result<Vec<u8>, EffectError> {
    let mut bytes = Vec::new();
    // One byte more than allowed, so that a longer file is noticed. Its stated size is not trusted: it may grow, or be a pipe.
    from.take(limit + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| unreadable_file(name, &error))?;
    if bytes.len() as u64 > limit {
        let message = format!("`{name}` is larger than {limit} bytes");
        return Err(EffectError::new(Cause::Landing, "too-large", message));
    }
    Ok(bytes)
}
