//! The user's signing program behind the executor's door.
//!
//! Owns: what the wish for signed commits comes to here, and what is said when it is not followed. Never: reads git's
//! configuration or starts a program by itself.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use agentos_engine::Cause;
use agentos_engine::ports::EffectError;
use agentos_executor::{CommitSigner, Identity, NotSigned, Repository, Signed, Signing};
use agentos_signer::{SignError, SignatureFormat, SignatureRequest, Signer, SigningEnvironment};

use crate::control::StopFlag;
use crate::host::Host;
use crate::repository::unusable;

/// What the configuration comes to.
#[derive(Default)]
pub struct Wish {
    signer: Option<Door>,
    note: Option<&'static str>,
}

impl Wish {
    /// Ends the signing program when the run is asked to stop; the landing, which holds the index meanwhile, then takes itself back.
    pub(crate) fn stop_by(&mut self, stop: &StopFlag) {
        if let Some(door) = &mut self.signer {
            door.stopped = Arc::clone(&stop.0);
        }
    }

    /// Signs, if commits are to be signed.
    pub fn signer(&self) -> Option<&dyn CommitSigner> {
        self.signer.as_ref().map(|door| door as &dyn CommitSigner)
    }

    /// Why a commit is not signed although some configuration asks for it.
    pub fn note(&self) -> Option<&'static str> {
        self.note
    }
}

/// Where a signing program would be started for this repository.
pub fn surroundings(host: &Host, repo: &Repository) -> SigningEnvironment {
    SigningEnvironment {
        vars: host.environment().vars().clone(),
        home: host.environment().home(),
        repository: repo.work_dir().map(Path::to_owned),
        key_file: repo.state_dir().join("signing-key.pub"),
    }
}

/// What the configuration asks for; nothing is started.
///
/// # Errors
/// When signatures are asked for and cannot be made: unknown format, no program, no key.
pub fn wish(
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
    match repo.signing().map_err(|error| unusable(&error))? {
        Signing::NotAsked => Ok(Wish::default()),
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
                Signed::Openpgp | Signed::No => SignatureFormat::Openpgp,
            };
            let request = SignatureRequest {
                format,
                program,
                key,
                committer: format!("{} <{}>", identity.name, identity.email),
            };
            let signer = Signer::new(&request, surroundings).map_err(|error| cannot(&error))?;
            Ok(Wish {
                signer: Some(Door {
                    signer,
                    stopped: Arc::default(),
                }),
                note: None,
            })
        }
    }
}

struct Door {
    signer: Signer,
    /// The user has lost patience.
    stopped: Arc<AtomicBool>,
}

impl CommitSigner for Door {
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
                SignError::Stopped { .. } => NotSigned::Stopped,
                other => NotSigned::Failed(other.to_string()),
            })
    }
}

fn cannot(error: &SignError) -> EffectError {
    let message = format!("commits are to be signed, and cannot be: {error}");
    EffectError::from_source(Cause::Repository, "not-signed", message, error).hint(error.hint())
}
