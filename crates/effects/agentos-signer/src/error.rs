//! Failures to sign.
//!
//! Owns: the errors and their hints. Never: shows more of a program's output than one line.

use std::io;
use std::path::PathBuf;

use agentos_lookup::LookupError;

/// Failure to make a signature.
#[derive(Debug, thiserror::Error)]
pub enum SignError {
    /// The configuration names no key, which an SSH signature needs.
    #[error("no SSH key is named to sign with")]
    NoKey,
    /// The key file is named by a relative path, which would be looked up in the repository.
    #[error("the signing key `{0}` is a relative path")]
    RelativeKey(String),
    /// The signing program was not found.
    #[error("the signing program {0}")]
    Program(#[source] LookupError),
    /// The key could not be put into a file for the program.
    #[error("cannot write the public key to `{}`: {source}", path.display())]
    KeyFile {
        /// Path of the file.
        path: PathBuf,
        /// Error that the system reported.
        source: io::Error,
    },
    /// The program could not be started or waited for.
    #[error("cannot run the signing program `{}`: {source}", program.display())]
    Start {
        /// Path of the program.
        program: PathBuf,
        /// Error that the system reported.
        source: io::Error,
    },
    /// The program ended with a failure.
    #[error("`{}` did not sign: {said}", program.display())]
    Refused {
        /// Path of the program.
        program: PathBuf,
        /// Message of the program, on one line.
        said: String,
    },
    /// The program did not end in time.
    #[error("`{}` did not end within {seconds} seconds", program.display())]
    TooSlow {
        /// Path of the program.
        program: PathBuf,
        /// Time limit.
        seconds: u64,
    },
    /// The user stopped the program, or the run that needed it.
    #[error("`{}` was stopped by the user", program.display())]
    Stopped {
        /// Path of the program.
        program: PathBuf,
    },
    /// The program ended with success, but its output is no signature.
    #[error("`{}` ended without an error, but its output is not a signature", program.display())]
    NoSignature {
        /// Path of the program.
        program: PathBuf,
    },
}

impl SignError {
    /// Returns what the user can do next.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NoKey => {
                "set `user.signingkey` to the path of the key; `gpg.ssh.defaultKeyCommand` is not supported"
            }
            Self::RelativeKey(_) => "set `user.signingkey` to the full path of the key, or to `~/…`",
            Self::Program(_) => {
                "set `gpg.program`, `gpg.ssh.program` or `gpg.x509.program` to the full path of the program"
            }
            Self::KeyFile { .. } => "make the repository's `agentos` folder writable",
            Self::Start { .. }
            | Self::Refused { .. }
            | Self::TooSlow { .. }
            | Self::Stopped { .. }
            | Self::NoSignature { .. } => {
                "try `git commit -S --allow-empty`; to land without a signature, `git config commit.gpgsign false`"
            }
        }
    }
}
