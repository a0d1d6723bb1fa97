//! Starts the user's own signing program.
//!
//! Owns: finding `gpg`, `gpgsm` or `ssh-keygen`, its arguments, its small environment, and the bounds of its time and
//! output. Never: decides whether to sign, reads a configuration, looks a program up by another rule than
//! `agentos-lookup`'s, or holds a private key. Start at [`Signer::new`].

mod error;
mod process;
mod signer;

pub use error::SignError;
pub use signer::{SignatureFormat, SignatureRequest, Signer, SigningEnvironment};
