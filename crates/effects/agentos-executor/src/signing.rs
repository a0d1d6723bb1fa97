//! Does the user want commits signed, and how.
//!
//! Owns: reading the wish from git's configuration, and the door through which a signature comes. Never: starts a
//! program, or takes one from a repository's own configuration: a repository may come from anywhere, and must not
//! name what is started.

use git2::{Config, ConfigLevel};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ExecError, RepoError, Repository};

/// Whether a commit is signed, and by which kind of signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Signed {
    /// It is not signed.
    No,
    /// By OpenPGP.
    Openpgp,
    /// By an SSH key.
    Ssh,
    /// By an X.509 certificate.
    X509,
}

impl Signed {
    /// As git's `gpg.format` calls it.
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

/// What the configuration says about signing commits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Signing {
    /// Nobody asks for it.
    NotAsked,
    /// Only the repository's own configuration asks for it, which is not followed.
    AskedByRepositoryAlone,
    /// The user asks for it in general, and the repository's own configuration says no.
    TurnedOffHere,
    /// The user asks for it.
    Asked {
        /// The kind; never [`Signed::No`].
        format: Signed,
        /// The program, from the user's configuration; the usual one if none is named.
        program: Option<String>,
        /// `user.signingkey`.
        key: Option<String>,
    },
}

/// Signs commits. The one door: nothing here knows how.
pub trait CommitSigner {
    /// The kind of signature.
    fn format(&self) -> Signed;

    /// An armoured signature over a commit object, without its last line end.
    ///
    /// # Errors
    /// Why there is none. Then nothing visible is written.
    fn sign(&self, commit: &str) -> Result<String, NotSigned>;
}

/// Why there is no signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotSigned {
    /// It failed; the reason, for people.
    Failed(String),
    /// The user stopped it.
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
    /// Does the user want commits signed? The wish and the program are the user's: from the machine's, the XDG and the
    /// global configuration. The repository's own may turn signing off and choose key and format, as git lets it,
    /// since none of these names a program.
    ///
    /// # Errors
    /// When the format is unknown, or the wish is neither yes nor no.
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
        let effective = asked(self.setting("commit.gpgsign"))?;
        match (asked(of_user(&config, "commit.gpgsign"))?, effective) {
            (Some(true), Some(false)) => return Ok(Signing::TurnedOffHere),
            (Some(true), _) => {}
            (Some(false) | None, Some(true)) => return Ok(Signing::AskedByRepositoryAlone),
            (Some(false) | None, Some(false) | None) => return Ok(Signing::NotAsked),
        }
        let format = match self.setting("gpg.format").as_deref() {
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
            Signed::Ssh => of_user(&config, "gpg.ssh.program"),
            Signed::X509 => of_user(&config, "gpg.x509.program"),
            Signed::Openpgp | Signed::No => {
                of_user(&config, "gpg.openpgp.program").or_else(|| of_user(&config, "gpg.program"))
            }
        };
        Ok(Signing::Asked {
            format,
            program,
            key: self.setting("user.signingkey"),
        })
    }
}

/// A setting as the user's own configuration has it: the nearest file to the user wins.
fn of_user(config: &Config, name: &str) -> Option<String> {
    [
        ConfigLevel::Global,
        ConfigLevel::XDG,
        ConfigLevel::System,
        ConfigLevel::ProgramData,
    ]
    .into_iter()
    .find_map(|level| config.open_level(level).ok()?.get_string(name).ok())
}
