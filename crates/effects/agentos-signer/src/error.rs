//! Why there is no signature.
//!
//! Owns: the errors and their hints. Never: shows more of a program's words than a line.

use std::io;
use std::path::PathBuf;

use agentos_lookup::LookupError;

/// There is no signature.
#[derive(Debug, thiserror::Error)]
pub enum SignError {
    /// An SSH signature needs a key by name.
    #[error("no SSH key is named to sign with")]
    NoKey,
    /// A key file that would be looked up in the repository.
    #[error("the signing key `{0}` is a relative path")]
    RelativeKey(String),
    /// The program was not found.
    #[error("the signing program {0}")]
    Program(#[source] LookupError),
    /// The key could not be put into a file for the program.
    #[error("cannot write the public key to `{}`: {source}", path.display())]
    KeyFile {
        /// Where.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// It could not be started or heard.
    #[error("cannot run the signing program `{}`: {source}", program.display())]
    Start {
        /// Which.
        program: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// It ended with a failure.
    #[error("`{}` did not sign: {said}", program.display())]
    Refused {
        /// Which.
        program: PathBuf,
        /// What it said, on one line.
        said: String,
    },
    /// It did not end in time.
    #[error("`{}` did not end within {seconds} seconds", program.display())]
    TooSlow {
        /// Which.
        program: PathBuf,
        /// The limit.
        seconds: u64,
    },
    /// The user stopped it.
    #[error("`{}` was stopped by the user", program.display())]
    Stopped {
        /// Which.
        program: PathBuf,
    },
    /// It ended well, and what it gave is no signature.
    #[error("`{}` gave no signature", program.display())]
    NoSignature {
        /// Which.
        program: PathBuf,
    },
}

impl SignError {
    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NoKey => {
                "set `user.signingkey` to the path of the key; `gpg.ssh.defaultKeyCommand` is not run"
            }
            Self::RelativeKey(_) => "name it by its full path, or as `~/…`",
            Self::Program(_) => {
                "name it by its full path in `gpg.program`, `gpg.ssh.program` or `gpg.x509.program`"
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
