//! Makes one signature over a commit, as `git commit -S` would.
//!
//! Owns: the arguments of each program, which are those in git's `gpg-interface.c`, and the check that its output is a
//! signature. Never: passes on an environment variable that is not on the list.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use agentos_lookup::{ProgramSearch, absolute_path};

use crate::SignError;
use crate::process::{self, EndReason};

/// Environment variables that a signing program needs to find the user's keys, agents, terminal and language.
const PASSED_VARIABLES: &[&str] = &[
    "APPDATA",
    "DBUS_SESSION_BUS_ADDRESS",
    "DISPLAY",
    "GNUPGHOME",
    "GPG_TTY",
    "HOME",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "LOGNAME",
    "PATH",
    "PINENTRY_USER_DATA",
    "SSH_ASKPASS",
    "SSH_ASKPASS_REQUIRE",
    "SSH_AUTH_SOCK",
    "SYSTEMROOT",
    "TERM",
    "TMPDIR",
    "USER",
    "USERPROFILE",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "XDG_RUNTIME_DIR",
];

/// Default time limit: enough to find a hardware token, touch it, or type a passphrase.
const DEFAULT_LIMIT: Duration = Duration::from_secs(120);
/// Maximum characters of a program's message in an error: a line or two.
const MAX_MESSAGE: usize = 300;

/// Kind of signature (`gpg.format`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignatureFormat {
    /// OpenPGP, made by `gpg`.
    Openpgp,
    /// SSH, made by `ssh-keygen`.
    Ssh,
    /// X.509, made by `gpgsm`.
    X509,
}

/// Signature that the user's configuration requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignatureRequest {
    /// Kind of signature.
    pub format: SignatureFormat,
    /// Name or path of the program. `None` if the configuration names none; then it is `gpg`, `ssh-keygen` or `gpgsm`.
    pub program: Option<String>,
    /// Value of `user.signingkey`: an id for `gpg` and `gpgsm`; a path, or the public key itself, for `ssh-keygen`. `None`
    /// if it is not set.
    pub key: Option<String>,
    /// Name and e-mail address of the committer, by which `gpg` finds a key if none is named.
    pub committer: String,
}

/// Environment in which the program is found and started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SigningEnvironment {
    /// The caller's environment; only the part that signing needs is passed on.
    pub vars: BTreeMap<String, String>,
    /// The user's home folder, for `~/`. `None` if it is not known.
    pub home: Option<PathBuf>,
    /// Folder of the repository's working tree, whose programs are not started. `None` if there is no repository; then,
    /// and for a folder outside every repository, no program is excluded.
    pub repository: Option<PathBuf>,
    /// Path at which a file may be created for a public key that the configuration contains itself. It is removed after
    /// signing.
    pub key_file: PathBuf,
}

/// Signing program that was found, with its arguments and environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signer {
    format: SignatureFormat,
    program: PathBuf,
    key: KeySource,
    vars: BTreeMap<String, String>,
    limit: Duration,
}

/// Source of the key that is passed to the program.
#[derive(Debug, Clone, PartialEq, Eq)]
enum KeySource {
    /// Name, id or path that the program understands.
    Named(String),
    /// The public key itself, which `ssh-keygen` reads only from a file.
    Literal { key: String, file: PathBuf },
}

impl Signer {
    /// Finds the program and the key's name. Nothing is started.
    ///
    /// # Errors
    /// When the program is not found, an SSH key is not named, or it is named by a relative path.
    pub fn new(request: &SignatureRequest, surroundings: &SigningEnvironment) -> Result<Self, SignError> {
        let named = request.program.as_deref().unwrap_or(match request.format {
            SignatureFormat::Openpgp => "gpg",
            SignatureFormat::Ssh => "ssh-keygen",
            SignatureFormat::X509 => "gpgsm",
        });
        let path = surroundings
            .vars
            .get("PATH")
            .map(String::as_str)
            .unwrap_or_default();
        let search = ProgramSearch::in_variable(path)
            .with_home(surroundings.home.as_deref())
            .outside_repository(surroundings.repository.as_deref());
        // A list of what is passed, not of what is withheld: the environment may hold API keys under any name.
        let passed_on = |name: &&String| PASSED_VARIABLES.contains(&name.as_str());
        let vars = surroundings.vars.iter().filter(|(name, _)| passed_on(name));
        Ok(Self {
            format: request.format,
            program: search.find_program(named).map_err(SignError::Program)?,
            key: find_key(request, surroundings)?,
            vars: vars.map(|(name, value)| (name.clone(), value.clone())).collect(),
            limit: DEFAULT_LIMIT,
        })
    }

    /// Replaces the time limit, which is two minutes.
    #[must_use]
    pub fn with_limit(self, limit: Duration) -> Self {
        Self { limit, ..self }
    }

    /// Returns the kind of signature it makes.
    #[must_use]
    pub fn format(&self) -> SignatureFormat {
        self.format
    }

    /// Signs these bytes and returns the armoured signature without its last line feed. The program is killed as soon as
    /// `stopped` returns true.
    ///
    /// # Errors
    /// When the program cannot be run, fails, takes too long or is stopped, or its output is no signature.
    pub fn sign(&self, bytes: &[u8], stopped: &dyn Fn() -> bool) -> Result<String, SignError> {
        // `_file` removes the key file when it goes out of scope, so it must live until the program has ended.
        let (key, _file) = match &self.key {
            KeySource::Named(key) => (key.clone(), None),
            KeySource::Literal { key, file } => {
                (file.display().to_string(), Some(KeyFile::create(file, key)?))
            }
        };
        let mut command = Command::new(&self.program);
        match self.format {
            SignatureFormat::Openpgp | SignatureFormat::X509 => {
                command.args(["--status-fd=2", "-bsau", &key])
            }
            SignatureFormat::Ssh => command.args(["-Y", "sign", "-n", "git", "-f", &key]),
        };
        // Not in the repository: the program might read a file there by a relative name.
        command.env_clear().envs(&self.vars).current_dir("/");
        let program = || self.program.clone();
        let ended = process::run_process(command, bytes, self.limit, stopped);
        let ended = ended.map_err(|source| SignError::Start {
            program: program(),
            source,
        })?;
        let success = match ended.end {
            EndReason::Succeeded => true,
            EndReason::Failed => false,
            EndReason::Stopped => return Err(SignError::Stopped { program: program() }),
            EndReason::TooSlow => {
                let seconds = self.limit.as_secs();
                return Err(SignError::TooSlow {
                    program: program(),
                    seconds,
                });
            }
        };
        // git checks the same line. `ssh-keygen` writes no such line.
        let errors = String::from_utf8_lossy(&ended.errors);
        let created = self.format == SignatureFormat::Ssh || errors.contains("[GNUPG:] SIG_CREATED ");
        if !success || !created {
            return Err(SignError::Refused {
                program: program(),
                said: printable_message(&errors),
            });
        }
        self.parse_signature(ended.output)
            .ok_or_else(|| SignError::NoSignature { program: program() })
    }

    /// Returns the text of an armoured signature. `None` if the output is anything else.
    fn parse_signature(&self, output: Vec<u8>) -> Option<String> {
        let text = String::from_utf8(output).ok()?.replace('\r', "");
        let names: &[&str] = match self.format {
            SignatureFormat::Openpgp => &["PGP SIGNATURE", "PGP MESSAGE"],
            SignatureFormat::Ssh => &["SSH SIGNATURE"],
            SignatureFormat::X509 => &["SIGNED MESSAGE"],
        };
        let text = text.trim_end();
        let fits = names.iter().any(|name| {
            text.starts_with(&format!("-----BEGIN {name}-----\n"))
                && text.ends_with(&format!("\n-----END {name}-----"))
        });
        // The text becomes a header of the commit, where a control character has no place.
        let plain = text
            .chars()
            .all(|c| c == '\n' || (!c.is_control() && c.is_ascii()));
        (fits && plain).then(|| text.to_owned())
    }
}

/// Selects the key to sign with.
///
/// # Errors
/// When an SSH key is not named, or is named by a relative path.
fn find_key(request: &SignatureRequest, surroundings: &SigningEnvironment) -> Result<KeySource, SignError> {
    let named = request
        .key
        .as_deref()
        .map(str::trim)
        .filter(|key| !key.is_empty());
    match (request.format, named) {
        (SignatureFormat::Openpgp | SignatureFormat::X509, Some(key)) => Ok(KeySource::Named(key.to_owned())),
        (SignatureFormat::Openpgp | SignatureFormat::X509, None) => {
            Ok(KeySource::Named(request.committer.clone()))
        }
        (SignatureFormat::Ssh, None) => Err(SignError::NoKey),
        (SignatureFormat::Ssh, Some(key)) => {
            // git accepts a public key in place of a path: after `key::`, or, as it did first, beginning with `ssh-`
            // (git-config(1), `user.signingKey`).
            let literal = key
                .strip_prefix("key::")
                .or_else(|| key.starts_with("ssh-").then_some(key));
            if let Some(key) = literal {
                return Ok(KeySource::Literal {
                    key: key.to_owned(),
                    file: surroundings.key_file.clone(),
                });
            }
            let path = absolute_path(key, surroundings.home.as_deref())
                .ok_or_else(|| SignError::RelativeKey(key.to_owned()))?;
            Ok(KeySource::Named(path.display().to_string()))
        }
    }
}

/// File that holds a public key. Dropping it removes the file.
struct KeyFile<'a> {
    path: &'a Path,
}

impl<'a> KeyFile<'a> {
    fn create(path: &'a Path, key: &str) -> Result<Self, SignError> {
        let create = || -> io::Result<()> {
            // A process that was killed may have left a file there. If somebody put a link there, the link is removed,
            // and `create_new` does not write through a new one.
            match fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                Ok(()) | Err(_) => {}
            }
            let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
            file.write_all(format!("{key}\n").as_bytes())
        };
        create().map_err(|source| SignError::KeyFile {
            path: path.to_owned(),
            source,
        })?;
        Ok(Self { path })
    }
}

impl Drop for KeyFile<'_> {
    fn drop(&mut self) {
        // A public key is no secret, so a file that cannot be removed may stay; the next signature replaces it.
        let _ = fs::remove_file(self.path);
    }
}

/// Returns the messages of a program on one line, without control characters and without lines meant for programs.
fn printable_message(errors: &str) -> String {
    // gpg's status lines begin with `[GNUPG:]`; `ssh-keygen` says on every call that it reads standard input.
    let lines = errors.lines().map(str::trim).filter(|line| {
        !line.is_empty() && !line.starts_with("[GNUPG:]") && *line != "Signing data on standard input"
    });
    let line = lines.collect::<Vec<_>>().join("; ");
    let plain = line
        .chars()
        .filter(|c| !c.is_control())
        .take(MAX_MESSAGE)
        .collect::<String>();
    if plain.is_empty() {
        "it printed no reason".to_owned()
    } else {
        plain
    }
}
