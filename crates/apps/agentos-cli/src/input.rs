//! Answers that are read from standard input or a file.
//!
//! Owns: the choice between the two. Never: reads without a size limit.

use std::io::IsTerminal;
use std::path::Path;

use agentos_host::{EffectError, LARGEST_ANSWER, read_bounded, read_file, usage_error};

use crate::app::App;

/// Largest task that is read from standard input, in bytes. Longer than any context window that a task should fill.
const LARGEST_TASK: u64 = 1 << 20;

/// Returns the task: the words of the command line, or standard input for `-`.
///
/// # Errors
/// Fails if standard input is a terminal, is no UTF-8 text, or cannot be read or is too large.
pub fn read_task(words: Option<&str>) -> Result<Option<String>, EffectError> {
    if words != Some("-") {
        return Ok(words.map(str::to_owned));
    }
    if std::io::stdin().is_terminal() {
        return Err(
            usage_error("`-` reads the task from standard input, which is a terminal")
                .hint("try: echo \"fix the typo\" | agentos run -p NAME -"),
        );
    }
    let bytes = read_bounded(std::io::stdin().lock(), "standard input", LARGEST_TASK)?;
    let text =
        String::from_utf8(bytes).map_err(|_| usage_error("the task on standard input is not UTF-8 text"))?;
    Ok(Some(text.trim().to_owned()))
}

/// Reads a file, or standard input for `-`.
///
/// # Errors
/// Fails if standard input is a terminal, or if the input cannot be read or is too large.
pub fn read_answer(app: &App, path: &Path) -> Result<Vec<u8>, EffectError> {
    if path == Path::new("-") {
        // Reading would wait for the keyboard without a prompt, which looks like a program that hangs.
        if std::io::stdin().is_terminal() {
            return Err(usage_error("no file is named and standard input is a terminal")
                .hint("try: agentos apply fix.patch"));
        }
        // The input is untrusted and may be endless, such as a pipe from a program that never stops.
        return read_bounded(std::io::stdin().lock(), "standard input", LARGEST_ANSWER);
    }
    read_file(app.host.environment(), path, LARGEST_ANSWER)
}
