//! Answers that come in by standard input or by the name of a file.
//!
//! Owns: which of the two is meant. Never: reads without a bound.

use std::io::IsTerminal;
use std::path::Path;

use agentos_host::{EffectError, LARGEST_ANSWER, bounded, file, usage};

use crate::app::App;

/// Reads a file, or standard input for `-`.
///
/// # Errors
/// When there is nothing to read, it cannot be read, or it is too large.
pub fn answer(app: &App, path: &Path) -> Result<Vec<u8>, EffectError> {
    if path == Path::new("-") {
        if std::io::stdin().is_terminal() {
            return Err(
                usage("no file is named and nothing is piped in").hint("try: agentos apply fix.patch")
            );
        }
        return bounded(std::io::stdin().lock(), "standard input", LARGEST_ANSWER);
    }
    file(app.host.environment(), path, LARGEST_ANSWER)
}
