//! Answers that are read from standard input or a file.
//!
//! Owns: the choice between the two. Never: reads without a size limit.

use std::io::IsTerminal;
use std::path::Path;

use agentos_host::{EffectError, LARGEST_ANSWER, read_bounded, read_file, usage_error};

use crate::app::App;

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
