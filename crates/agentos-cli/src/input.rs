//! Text that comes in: files and standard input, with a limit.
//!
//! Owns: reading an answer, a recording, a profile file, a key. Never: reads without a bound.

use std::fs::File;
use std::io::{IsTerminal, Read};
use std::path::Path;

use agentos_engine::Cause;
use agentos_engine::ports::EffectError;

use crate::app::usage;

/// An answer larger than this is not even read. Landing has the finer limits.
pub const LARGEST_ANSWER: u64 = 64 << 20;

/// Reads a file, or standard input for `-`.
///
/// # Errors
/// When there is nothing to read, it cannot be read, or it is too large.
pub fn answer(path: &Path, cwd: &Path) -> Result<Vec<u8>, EffectError> {
    if path == Path::new("-") {
        if std::io::stdin().is_terminal() {
            return Err(
                usage("no file is named and nothing is piped in").hint("try: agentos apply fix.patch")
            );
        }
        return bounded(std::io::stdin().lock(), "standard input", LARGEST_ANSWER);
    }
    file(&cwd.join(path), LARGEST_ANSWER)
}

/// Reads a file of at most `limit` bytes.
///
/// # Errors
/// When it cannot be read or is larger.
pub fn file(path: &Path, limit: u64) -> Result<Vec<u8>, EffectError> {
    let name = path.display().to_string();
    let open = File::open(path).map_err(|error| usage(format!("cannot read `{name}`: {error}")))?;
    bounded(open, &name, limit)
}

/// Reads a text file of at most `limit` bytes.
///
/// # Errors
/// As [`file`], and when it is not UTF-8.
pub fn text_file(path: &Path, limit: u64) -> Result<String, EffectError> {
    let bytes = file(path, limit)?;
    String::from_utf8(bytes).map_err(|_| usage(format!("`{}` is not UTF-8 text", path.display())))
}

fn bounded(from: impl Read, name: &str, limit: u64) -> Result<Vec<u8>, EffectError> {
    let mut bytes = Vec::new();
    from.take(limit + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| usage(format!("cannot read `{name}`: {error}")))?;
    if bytes.len() as u64 > limit {
        let message = format!("`{name}` is larger than {limit} bytes");
        return Err(EffectError::new(Cause::Landing, "too-large", message));
    }
    Ok(bytes)
}
