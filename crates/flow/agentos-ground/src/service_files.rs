//! Files of the user's local service: the place that only one service has, its socket, and the address at which it is found.
//!
//! Owns: these files, in the folder of the user's state, which only its owner can enter. Never: has a secret in one, except in the page
//! that leads a browser to the service.
//!
//! | file in the folder `server` | content | life |
//! |---|---|---|
//! | `service.lock` | nothing; the running service has its lock | for ever; the system gives the lock up when the process ends |
//! | `socket` | the service's Unix socket, over which programs of the user have every right of the user | while a service runs; the next service replaces it |
//! | `open.html` | a page that leads a browser to the service, with a code that is used once | until it is written again |
//! | `authority.json` | the authority of the service's certificates, see `service_authority` | made with the first address of devices for TLS |
//! | `tokens.json` | the tokens of programs, without their secrets | see `service_tokens` |
//! | `address.json` | [`ServiceAddress`] | while a service runs; a killed service leaves it, and its reader finds no service there |

use std::fs::File;
use std::path::PathBuf;

use agentos_credentials::{remove_own_file, try_lock_own_file};
use agentos_engine::Cause;
use agentos_engine::ports::EffectError;
use agentos_evidence::make_random_text;
use agentos_tool::Secret;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Ground;
use crate::error::usage_error;
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
    /// Version of the program.
    #[serde(default)]
    pub program: String,
}

/// Makes a secret of 256 random bits, as hexadecimal digits.
///
/// # Errors
/// If the system has no random numbers.
pub fn make_secret() -> Result<Secret, EffectError> {
    let half = || make_random_text().map_err(|error| evidence_error(&error));
    Ok(Secret::new(&(half()? + &half()?)))
}

impl Ground {
    /// Takes the place of this user's only service, until the returned file is dropped. `None` if a service has it.
    ///
    /// # Errors
    /// If the file of the lock cannot be made.
    pub fn take_service_place(&self) -> Result<Option<File>, EffectError> {
        let path = self.service_folder()?.join("service");
        let lock = try_lock_own_file(&path);
        lock.map_err(|error| EffectError::from_error(Cause::Usage, CODE, &error))
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

    /// Removes the file of [`Ground::announce_service`], if it is this process's own.
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
