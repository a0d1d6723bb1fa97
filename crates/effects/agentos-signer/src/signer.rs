//! One signature over a commit, as `git commit -S` would make it.
//!
//! Owns: the arguments of each program (git's `gpg-interface.c` is where they come from), and what counts as a
//! signature. Never: passes on an environment variable that is not on the list.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use agentos_lookup::{ProgramSearch, absolute_path};

use crate::SignError;
use crate::process::{self, End};

/// What a signing program needs: where the user's keys, agents and terminal are, and in which language to ask.
const PASSED_ON: &[&str] = &[
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

/// Time enough to find a token, touch it, or type a passphrase.
const LIMIT: Duration = Duration::from_secs(120);
/// Of what a program says, as much as fits on a line or two.
const MOST_SAID: usize = 300;

/// The kind of signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// By `gpg`.
    Openpgp,
    /// By `ssh-keygen`.
    Ssh,
    /// By `gpgsm`.
    X509,
}

/// What the user's configuration asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The kind of signature.
    pub format: Format,
    /// The program; the usual one for the format if none is named.
    pub program: Option<String>,
    /// `user.signingkey`: an id for `gpg` and `gpgsm`; a path, or the public key itself, for `ssh-keygen`.
    pub key: Option<String>,
    /// Name and e-mail address of the committer, by which `gpg` finds a key if none is named.
    pub committer: String,
}

/// Where the program is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Surroundings {
    /// The caller's environment; only the part that signing needs is passed on.
    pub vars: BTreeMap<String, String>,
    /// The user's home folder, for `~/`.
    pub home: Option<PathBuf>,
    /// Folder of the repository's working tree, whose programs are not started. A folder outside of every repository, and
    /// `None`, keep nothing from being started.
    pub repository: Option<PathBuf>,
    /// A file that may be made for a public key that is not in one, and is removed again.
    pub key_file: PathBuf,
}

/// A program that was found, and how to call it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signer {
    format: Format,
    program: PathBuf,
    key: Key,
    vars: BTreeMap<String, String>,
    limit: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Key {
    /// As the program understands it.
    Named(String),
    /// The public key itself, which must be put into a file.
    Literal { key: String, file: PathBuf },
}

impl Signer {
    /// Finds the program and the key's name. Nothing is started.
    ///
    /// # Errors
    /// When the program is nowhere, or no key is named where one must be.
    pub fn new(request: &Request, surroundings: &Surroundings) -> Result<Self, SignError> {
        let named = request.program.as_deref().unwrap_or(match request.format {
            Format::Openpgp => "gpg",
            Format::Ssh => "ssh-keygen",
            Format::X509 => "gpgsm",
        });
        let path = surroundings
            .vars
            .get("PATH")
            .map(String::as_str)
            .unwrap_or_default();
        let search = ProgramSearch::in_variable(path)
            .with_home(surroundings.home.as_deref())
            .outside_repository(surroundings.repository.as_deref());
        let passed_on = |name: &&String| PASSED_ON.contains(&name.as_str());
        let vars = surroundings.vars.iter().filter(|(name, _)| passed_on(name));
        Ok(Self {
            format: request.format,
            program: search.find_program(named).map_err(SignError::Program)?,
            key: key(request, surroundings)?,
            vars: vars.map(|(name, value)| (name.clone(), value.clone())).collect(),
            limit: LIMIT,
        })
    }

    /// The same with another limit of time.
    #[must_use]
    pub fn with_limit(self, limit: Duration) -> Self {
        Self { limit, ..self }
    }

    /// The kind of signature it makes.
    #[must_use]
    pub fn format(&self) -> Format {
        self.format
    }

    /// An armoured signature over these bytes, without its last line end. The program is ended as soon as `stopped`
    /// says so.
    ///
    /// # Errors
    /// When the program fails, takes too long, is stopped, or gives something else.
    pub fn sign(&self, bytes: &[u8], stopped: &dyn Fn() -> bool) -> Result<String, SignError> {
        let (key, _file) = match &self.key {
            Key::Named(key) => (key.clone(), None),
            Key::Literal { key, file } => (file.display().to_string(), Some(KeyFile::make(file, key)?)),
        };
        let mut command = Command::new(&self.program);
        match self.format {
            Format::Openpgp | Format::X509 => command.args(["--status-fd=2", "-bsau", &key]),
            Format::Ssh => command.args(["-Y", "sign", "-n", "git", "-f", &key]),
        };
        // Not the repository: nothing there shall be found by a relative name.
        command.env_clear().envs(&self.vars).current_dir("/");
        let program = || self.program.clone();
        let ended = process::run(command, bytes, self.limit, stopped);
        let ended = ended.map_err(|source| SignError::Start {
            program: program(),
            source,
        })?;
        let success = match ended.end {
            End::Well => true,
            End::Badly => false,
            End::Stopped => return Err(SignError::Stopped { program: program() }),
            End::TooSlow => {
                let seconds = self.limit.as_secs();
                return Err(SignError::TooSlow {
                    program: program(),
                    seconds,
                });
            }
        };
        let errors = String::from_utf8_lossy(&ended.errors);
        let created = self.format == Format::Ssh || errors.contains("[GNUPG:] SIG_CREATED ");
        if !success || !created {
            return Err(SignError::Refused {
                program: program(),
                said: said(&errors),
            });
        }
        self.armoured(ended.output)
            .ok_or_else(|| SignError::NoSignature { program: program() })
    }

    /// The text of a signature, if that is what it is.
    fn armoured(&self, output: Vec<u8>) -> Option<String> {
        let text = String::from_utf8(output).ok()?.replace('\r', "");
        let names: &[&str] = match self.format {
            Format::Openpgp => &["PGP SIGNATURE", "PGP MESSAGE"],
            Format::Ssh => &["SSH SIGNATURE"],
            Format::X509 => &["SIGNED MESSAGE"],
        };
        let text = text.trim_end();
        let fits = names.iter().any(|name| {
            text.starts_with(&format!("-----BEGIN {name}-----\n"))
                && text.ends_with(&format!("\n-----END {name}-----"))
        });
        let plain = text
            .chars()
            .all(|c| c == '\n' || (!c.is_control() && c.is_ascii()));
        (fits && plain).then(|| text.to_owned())
    }
}

fn key(request: &Request, surroundings: &Surroundings) -> Result<Key, SignError> {
    let named = request
        .key
        .as_deref()
        .map(str::trim)
        .filter(|key| !key.is_empty());
    match (request.format, named) {
        (Format::Openpgp | Format::X509, Some(key)) => Ok(Key::Named(key.to_owned())),
        (Format::Openpgp | Format::X509, None) => Ok(Key::Named(request.committer.clone())),
        (Format::Ssh, None) => Err(SignError::NoKey),
        (Format::Ssh, Some(key)) => {
            let literal = key
                .strip_prefix("key::")
                .or_else(|| key.starts_with("ssh-").then_some(key));
            if let Some(key) = literal {
                return Ok(Key::Literal {
                    key: key.to_owned(),
                    file: surroundings.key_file.clone(),
                });
            }
            let path = absolute_path(key, surroundings.home.as_deref())
                .ok_or_else(|| SignError::RelativeKey(key.to_owned()))?;
            Ok(Key::Named(path.display().to_string()))
        }
    }
}

/// A public key in a file, for as long as this lives.
struct KeyFile<'a> {
    path: &'a Path,
}

impl<'a> KeyFile<'a> {
    fn make(path: &'a Path, key: &str) -> Result<Self, SignError> {
        let made = || -> io::Result<()> {
            // What an earlier process left there; never written through if it is a link.
            match fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                Ok(()) | Err(_) => {}
            }
            let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
            file.write_all(format!("{key}\n").as_bytes())
        };
        made().map_err(|source| SignError::KeyFile {
            path: path.to_owned(),
            source,
        })?;
        Ok(Self { path })
    }
}

impl Drop for KeyFile<'_> {
    fn drop(&mut self) {
        // A public key that stays is no secret, and the next signature replaces it.
        let _ = fs::remove_file(self.path);
    }
}

/// What a program said to people, on one line.
fn said(errors: &str) -> String {
    let lines = errors.lines().map(str::trim).filter(|line| {
        !line.is_empty() && !line.starts_with("[GNUPG:]") && *line != "Signing data on standard input"
    });
    let line = lines.collect::<Vec<_>>().join("; ");
    let plain = line
        .chars()
        .filter(|c| !c.is_control())
        .take(MOST_SAID)
        .collect::<String>();
    if plain.is_empty() {
        "it did not say why".to_owned()
    } else {
        plain
    }
}
