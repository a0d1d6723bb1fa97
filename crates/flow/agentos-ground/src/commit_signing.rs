//! The user's signing program as the executor's commit signer.
//!
//! Owns: whether commits are signed here, and the note if a configuration for it is not followed. Never: reads git's
//! configuration or starts a program by itself.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use agentos_engine::Cause;
use agentos_engine::ports::EffectError;
use agentos_executor::{CommitSigner, Identity, NotSigned, Repository, Signed, Signing};
use agentos_signer::{SignError, SignatureFormat, SignatureRequest, Signer, SigningEnvironment};

use crate::Ground;
use crate::control::StopFlag;
use crate::error::repo_error;

/// The result of reading the configuration for signed commits.
#[derive(Default)]
pub struct Wish {
    signer: Option<ProgramSigner>,
    note: Option<&'static str>,
}

impl Wish {
    /// Ends the signing program when the run is asked to stop. The landing, which locks the index meanwhile, is then rolled
    /// back.
    pub(crate) fn stop_by(&mut self, stop: &StopFlag) {
        if let Some(door) = &mut self.signer {
            door.stopped = Arc::clone(&stop.0);
        }
    }

    /// Returns the signer. `None` if commits are not to be signed.
    pub fn commit_signer(&self) -> Option<&dyn CommitSigner> {
        self.signer.as_ref().map(|door| door as &dyn CommitSigner)
    }

    /// Returns why a commit is not signed although some configuration requests it. `None` if none does.
    pub fn unsigned_note(&self) -> Option<&'static str> {
        self.note
    }
}

/// Returns the surroundings in which a signing program would be started for this repository.
pub fn signing_environment(ground: &Ground, repo: &Repository) -> SigningEnvironment {
    SigningEnvironment {
        vars: ground.environment().vars().clone(),
        home: ground.environment().home_dir(),
        repository: repo.work_dir().map(Path::to_owned),
        // `user.signingKey` may contain an SSH key itself, and `ssh-keygen -Y sign` reads keys from files only.
        key_file: repo.state_dir().join("signing-key.pub"),
    }
}

/// Reads whether commits are to be signed, and by which program. Starts nothing.
///
/// # Errors
/// If commits are to be signed and cannot be: unknown format, no program, no key.
pub fn read_signing(
    repo: &Repository,
    identity: &Identity,
    surroundings: &SigningEnvironment,
) -> Result<Wish, EffectError> {
    let unsigned = |note| {
        Ok(Wish {
            signer: None,
            note: Some(note),
        })
    };
    match repo.signing().map_err(|error| repo_error(&error))? {
        Signing::NotAsked => Ok(Wish::default()),
        // A repository may be somebody else's: its configuration alone must not start a program of the user's.
        Signing::AskedByRepositoryAlone => unsigned(
            "not signed: only this repository's own configuration asks for it; \
             `git config --global commit.gpgsign true` is followed",
        ),
        Signing::TurnedOffHere => {
            unsigned("not signed: this repository's own configuration turns your signatures off")
        }
        Signing::Asked { format, program, key } => {
            let format = match format {
                Signed::Ssh => SignatureFormat::Ssh,
                Signed::X509 => SignatureFormat::X509,
                // OpenPGP is git's own default (git-config, `gpg.format`).
                Signed::Openpgp | Signed::No => SignatureFormat::Openpgp,
            };
            let request = SignatureRequest {
                format,
                program,
                key,
                committer: format!("{} <{}>", identity.name, identity.email),
            };
            let signer = Signer::new(&request, surroundings).map_err(|error| signing_error(&error))?;
            Ok(Wish {
                signer: Some(ProgramSigner {
                    signer,
                    // The run's own flag replaces it in `stop_by`. A caller that only reads the configuration has no run to
                    // stop.
                    stopped: Arc::default(),
                }),
                note: None,
            })
        }
    }
}

struct ProgramSigner {
    signer: Signer,
    /// True once the run was asked to stop.
    stopped: Arc<AtomicBool>,
}

impl CommitSigner for ProgramSigner {
    fn format(&self) -> Signed {
        match self.signer.format() {
            SignatureFormat::Openpgp => Signed::Openpgp,
            SignatureFormat::Ssh => Signed::Ssh,
            SignatureFormat::X509 => Signed::X509,
        }
    }

    fn sign(&self, commit: &str) -> Result<String, NotSigned> {
        let stopped = || self.stopped.load(Ordering::SeqCst);
        self.signer
            .sign(commit.as_bytes(), &stopped)
            .map_err(|error| match error {
                // The user's wish to stop is no fault of the signing program, and is reported as an interruption.
                SignError::Stopped { .. } => NotSigned::Stopped,
                other => NotSigned::Failed(other.to_string()),
            })
    }
}

fn signing_error(error: &SignError) -> EffectError {
    let message = format!("commits are to be signed, but cannot be: {error}");
    EffectError::from_source(Cause::Repository, "not-signed", message, error).hint(error.hint())
}
