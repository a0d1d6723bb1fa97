//! Files of a local service: the secret by which programs of this user are known, and the address at which they find it.
//!
//! Owns: both files, in the folder of the user's state, readable by their owner only. Never: shows the secret in an error or a
//! record.
//!
//! | file in the folder `server` | content | life |
//! |---|---|---|
//! | `token` | the secret | until it is replaced |
//! | `socket` | the service's Unix socket | while a service runs; the next one replaces it |
//! | `open.html` | a page that leads a browser to the service, with a code that is used once | until it is written again |
//! | `agent-token` | a secret for agents, with which they can read and propose alone | until it is replaced |
//! | `address.json` | [`ServiceAddress`] | while a service runs; one that was killed leaves it, and its reader finds nobody there |

use std::path::PathBuf;

use agentos_credentials::remove_own_file;
use agentos_engine::Cause;
use agentos_engine::ports::EffectError;
use agentos_evidence::make_random_text;
use agentos_tool::Secret;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::usage_error;
use crate::host::Host;
use crate::own_file::{lock_own_text, read_own_text, write_own_text};
use crate::tape::evidence_error;

/// Code of errors about these files.
const CODE: &str = "service-file";
/// Longest path of a socket. `sockaddr_un` has 108 bytes on Linux and 104 on macOS, one of them for the end (unix(7)).
const LONGEST_SOCKET: usize = 103;
/// Largest file, in bytes.
const LARGEST: u64 = 64 << 10;

/// Place at which a running service is found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServiceAddress {
    /// Version of this shape: 1.
    pub version: u32,
    /// Address of the service, as in `http://127.0.0.1:7417`.
    pub url: String,
    /// Unix socket of the service. `None` if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub socket: Option<PathBuf>,
    /// Process of the service.
    pub process: u32,
    /// Folder of its repository.
    pub repository: PathBuf,
}

/// Makes a secret of 256 random bits, as hexadecimal digits.
///
/// # Errors
/// If the system has no random numbers.
pub fn make_secret() -> Result<Secret, EffectError> {
    let half = || make_random_text().map_err(|error| evidence_error(&error));
    Ok(Secret::new(&(half()? + &half()?)))
}

impl Host {
    /// Reads the secret of the user's service, and makes it if there is none. With `replace`, the old one is not valid any more.
    ///
    /// # Errors
    /// If there is no home folder, others can change the file, or it cannot be written.
    pub fn service_token(&self, replace: bool) -> Result<Secret, EffectError> {
        self.read_token("token", replace)
    }

    /// Reads the secret that the user gives to agents, and makes it if there is none. Whoever knows it can read and propose, and
    /// cannot approve: the settings of an agent are readable for the agent.
    ///
    /// # Errors
    /// If there is no home folder, others can change the file, or it cannot be written.
    pub fn agent_token(&self, replace: bool) -> Result<Secret, EffectError> {
        self.read_token("agent-token", replace)
    }

    fn read_token(&self, name: &str, replace: bool) -> Result<Secret, EffectError> {
        let path = self.service_folder()?.join(name);
        // Two services that start at once must know the same secret.
        let _lock = lock_own_text(&path, CODE)?;
        let known = match replace {
            true => None,
            false => read_own_text(self.environment(), &path, CODE, LARGEST)?,
        };
        if let Some(known) = known
            .map(|text| text.trim().to_owned())
            .filter(|text| !text.is_empty())
        {
            return Ok(Secret::new(&known));
        }
        let made = make_secret()?;
        write_own_text(&path, &format!("{}\n", made.expose()), CODE)?;
        Ok(made)
    }

    /// Writes where this user's service is found.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn announce_service(&self, address: &ServiceAddress) -> Result<(), EffectError> {
        let path = self.service_folder()?.join("address.json");
        let text = serde_json::to_string_pretty(address)
            .map_err(|error| EffectError::from_error(Cause::Internal, CODE, &error))?;
        write_own_text(&path, &format!("{text}\n"), CODE)
    }

    /// Reads where this user's service is found. `None` if no service has said so.
    ///
    /// # Errors
    /// If others can change the file, or it is damaged.
    pub fn find_service(&self) -> Result<Option<ServiceAddress>, EffectError> {
        let path = self.service_folder()?.join("address.json");
        let text = read_own_text(self.environment(), &path, CODE, LARGEST)?;
        text.map(|text| {
            serde_json::from_str(&text).map_err(|error| EffectError::from_error(Cause::Usage, CODE, &error))
        })
        .transpose()
    }

    /// Removes the file of [`Host::announce_service`], if it is this process's own.
    pub fn retract_service(&self) {
        let own = self.find_service().ok().flatten();
        if own.is_some_and(|address| address.process == std::process::id())
            && let Ok(folder) = self.service_folder()
        {
            // The reader of a file that stays finds nobody there and says so.
            let _ = remove_own_file(&folder.join("address.json"));
            let _ = remove_own_file(&folder.join("socket"));
        }
    }

    /// Makes room for the service's Unix socket, and returns its place. `None` if the system has no room for so long a path.
    ///
    /// # Errors
    /// If the folder cannot be made, or an old socket cannot be removed.
    pub fn prepare_service_socket(&self) -> Result<Option<PathBuf>, EffectError> {
        let path = self.service_folder()?.join("socket");
        // Makes the folder, which only its owner can enter: that is the permission of the socket.
        let _lock = lock_own_text(&path, CODE)?;
        // A killed service leaves it, and the system binds no name that is there.
        remove_own_file(&path).map_err(|error| EffectError::from_error(Cause::Usage, CODE, &error))?;
        Ok((path.as_os_str().len() <= LONGEST_SOCKET).then_some(path))
    }

    /// Returns the folder of the service's files.
    ///
    /// # Errors
    /// Without a home folder.
    pub fn service_folder(&self) -> Result<PathBuf, EffectError> {
        let state = self.environment().state_dir();
        state.map(|state| state.join("server")).ok_or_else(|| {
            usage_error("there is no home folder for the files of the service").hint("set `HOME`")
        })
    }
}
