//! Configuration of signed commits.
//!
//! Owns: reading git's configuration of signatures, and the trait by which a signature is made. Never: starts a program, or
//! takes the name of one from a repository's own configuration: a repository may come from anywhere, and must not choose
//! which program is started.

use git2::Config;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::user_setting;
use crate::{ExecError, RepoError, Repository};

/// Kind of a commit's signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Signed {
    /// No signature.
    No,
    /// OpenPGP signature.
    Openpgp,
    /// Signature by an SSH key.
    Ssh,
    /// Signature by an X.509 certificate.
    X509,
}

impl Signed {
    /// Returns the value of git's `gpg.format` for this kind.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::No => "no",
            Self::Openpgp => "openpgp",
            Self::Ssh => "ssh",
            Self::X509 => "x509",
        }
    }
}

/// Request for signed commits in the configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Signing {
    /// No configuration requests signatures.
    NotAsked,
    /// Only the repository's own configuration requests signatures, which is not followed.
    AskedByRepositoryAlone,
    /// The user requests signatures, and the repository's own configuration turns them off.
    TurnedOffHere,
    /// The user requests signatures.
    Asked {
        /// Kind of signature; never [`Signed::No`].
        format: Signed,
        /// Program from the user's configuration. `None` if it names none; then the usual one is used.
        program: Option<String>,
        /// Value of `user.signingkey`. `None` if it is not set.
        key: Option<String>,
    },
}

/// Maker of commit signatures. No other code here knows how a signature is made.
pub trait CommitSigner {
    /// Returns the kind of signature.
    fn format(&self) -> Signed;

    /// Makes an armoured signature over a commit object, without its last line feed.
    ///
    /// # Errors
    /// The reason why there is no signature. Then nothing visible is written.
    fn sign(&self, commit: &str) -> Result<String, NotSigned>;
}

/// Reason why there is no signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotSigned {
    /// Signing failed; the text is the reason, for people.
    Failed(String),
    /// The user stopped the signing.
    Stopped,
}

impl From<NotSigned> for ExecError {
    fn from(why: NotSigned) -> Self {
        match why {
            NotSigned::Failed(why) => Self::NotSigned(why),
            NotSigned::Stopped => Self::Interrupted,
        }
    }
}

impl Repository {
    /// Reads whether commits are to be signed. The request and the program are read from the system-wide, the XDG and the
    /// global configuration. The repository's own configuration may turn signing off and choose key and format, as in git,
    /// since none of these names a program.
    ///
    /// # Errors
    /// When the format is unknown, or `commit.gpgsign` is no boolean.
    pub fn signing(&self) -> Result<Signing, RepoError> {
        let Ok(config) = self.git.config() else {
            return Ok(Signing::NotAsked);
        };
        let asked = |text: Option<String>| match text {
            None => Ok(None),
            Some(text) => Config::parse_bool(text.as_str())
                .map(Some)
                .map_err(|_| RepoError::BadSetting {
                    name: "commit.gpgsign",
                    value: text,
                }),
        };
        // With the repository's own configuration on top of the user's.
        let effective = asked(self.read_setting("commit.gpgsign"))?;
        match (asked(user_setting(&config, "commit.gpgsign"))?, effective) {
            (Some(true), Some(false)) => return Ok(Signing::TurnedOffHere),
            (Some(true), _) => {}
            (Some(false) | None, Some(true)) => return Ok(Signing::AskedByRepositoryAlone),
            (Some(false) | None, Some(false) | None) => return Ok(Signing::NotAsked),
        }
        let format = match self.read_setting("gpg.format").as_deref() {
            None | Some("openpgp") => Signed::Openpgp,
            Some("ssh") => Signed::Ssh,
            Some("x509") => Signed::X509,
            Some(other) => {
                return Err(RepoError::BadSetting {
                    name: "gpg.format",
                    value: other.to_owned(),
                });
            }
        };
        let program = match format {
            Signed::Ssh => user_setting(&config, "gpg.ssh.program"),
            Signed::X509 => user_setting(&config, "gpg.x509.program"),
            Signed::Openpgp | Signed::No => {
                user_setting(&config, "gpg.openpgp.program").or_else(|| user_setting(&config, "gpg.program"))
            }
        };
        Ok(Signing::Asked {
            format,
            program,
            key: self.read_setting("user.signingkey"),
        })
    }
}
