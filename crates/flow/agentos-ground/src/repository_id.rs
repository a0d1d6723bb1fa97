//! Ids of repositories: what conversations and reads belong to.
//!
//! Owns: the file with the id in git's common folder, which all worktrees share. Never: trusts the id of a folder that was copied.
//!
//! The id stays when the folder moves or is renamed. The file also has the path of the folder, so a copy is noticed:
//!
//! | the file | id | written |
//! |---|---|---|
//! | is missing | a new one | with this path |
//! | has this path | the one in the file | nothing |
//! | has another path, and the mark of this folder: the folder was moved or renamed | the one in the file | with this path |
//! | has another path, and another mark: the folder was copied, or unpacked from an archive | a new one, with a notice | with this path |
//! | cannot be read, or not written | `p` and a digest of the path | nothing |

use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use agentos_api::Notice;
use agentos_chain::hash_bytes;
use agentos_credentials::{lock_own_file, replace_own_file};
use agentos_durable::{LinkRule, open_regular_file};
use agentos_engine::ports::EffectError;
use agentos_evidence::make_random_text;
use agentos_executor::Repository;
use agentos_ledger::SessionKey;
use serde::{Deserialize, Serialize};

use crate::Ground;
use crate::files::read_bounded;
use crate::repository;

/// Name of the file in AgentOS's folder of the repository.
const FILE: &str = "repository.json";
/// Folder of AgentOS in git's common folder.
const FOLDER: &str = "agentos";
/// Largest file that is read, in bytes.
const LARGEST_FILE: u64 = 64 << 10;
/// Number of characters of an id: 128 bits as hexadecimal digits.
const ID_LENGTH: usize = 32;
/// Number of its characters in the name of a session: 64 random bits tell the repositories of one user apart, and a name stays readable.
const SHORT_ID: usize = 16;
/// Largest number of characters of a repository's name: a session's name has room for it and the id.
const LONGEST_NAME: usize = 40;
/// Scope of the sessions that belong to a repository.
const REPOSITORY_SCOPE: &str = "repository";

/// The file.
#[derive(Debug, Serialize, Deserialize)]
struct IdFile {
    version: u32,
    id: String,
    /// Name of the folder when the repository got its id, for people: letters, digits, `-`, `_` and `.` alone.
    name: String,
    /// Git's common folder when the id was written.
    path: String,
    /// Mark of that folder. `None` if the system does not have what makes the mark.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mark: Option<String>,
}

/// A repository as conversations and reads know it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KnownRepository {
    /// Id: 32 hexadecimal digits, or `p` and 31 digits for a repository that cannot have a file.
    pub id: String,
    /// Name for people. It stays when the folder moves.
    pub name: String,
    /// Folder of the working tree, or git's common folder of a bare repository.
    pub folder: PathBuf,
}

impl Ground {
    /// Returns the repository of the call. `None` if there is no repository.
    #[must_use]
    pub fn known_repository(&self) -> Option<KnownRepository> {
        let repo = repository::open(self).ok()?;
        Some(identify(self, &repo))
    }

    /// Returns the session that is meant if the user names none: the session of the repository, or `conversation:default` outside of a
    /// repository.
    #[must_use]
    pub fn usual_session(&self) -> SessionKey {
        let known = self.known_repository();
        known.and_then(|known| known.session()).unwrap_or_default()
    }
}

impl KnownRepository {
    /// Returns the session of the repository, such as `repository:shop.1f0c9a7b5e3d2468`. `None` if this value names no repository.
    #[must_use]
    pub fn session(&self) -> Option<SessionKey> {
        let id: String = self.id.chars().take(SHORT_ID).collect();
        let is_named = !id.is_empty();
        is_named.then(|| SessionKey::parse(&format!("{REPOSITORY_SCOPE}:{}.{id}", self.name)).ok())?
    }

    /// Returns true if a session is the session of this repository. Any other session may have talked about another repository.
    #[must_use]
    pub fn owns_session(&self, key: &SessionKey) -> bool {
        self.session().as_ref() == Some(key)
    }
}

/// Returns true if a session belongs to a repository, and the repository is another one.
pub fn is_foreign(key: &SessionKey, known: &KnownRepository) -> bool {
    let belongs = key.as_str().starts_with(&format!("{REPOSITORY_SCOPE}:"));
    belongs && !known.owns_session(key)
}

/// Identifies a repository, and gives it an id if it has none.
pub fn identify(ground: &Ground, repo: &Repository) -> KnownRepository {
    let common = real_path(repo.common_dir());
    let folder = real_path(repo.work_dir().unwrap_or_else(|| repo.common_dir()));
    let file = find_file(ground, &common, &folder)
        .unwrap_or_else(|| IdFile::new(derive_id(&common), &common, &folder));
    KnownRepository {
        id: file.id,
        name: file.name,
        folder,
    }
}

/// Returns the id of a repository as it is now, and writes nothing. `None` if it has none.
pub fn read_id(repo: &Repository) -> Option<String> {
    let common = real_path(repo.common_dir());
    match read_file(&common) {
        Ok(file) => file.filter(|file| file.is_of(&common)).map(|file| file.id),
        Err(_) => Some(derive_id(&common)),
    }
}

impl IdFile {
    fn new(id: String, common: &Path, folder: &Path) -> Self {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        let is_plain = |char: &char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_' | '.');
        let name: String = name.chars().filter(is_plain).take(LONGEST_NAME).collect();
        Self {
            version: 1,
            id,
            name: if name.is_empty() {
                "repository".to_owned()
            } else {
                name
            },
            path: common.display().to_string(),
            mark: mark_of(common),
        }
    }

    fn is_of(&self, common: &Path) -> bool {
        Path::new(&self.path) == common
    }

    /// Returns true if the file is as this module writes it: an unpacked archive can contain another one.
    fn is_valid(&self) -> bool {
        let is_id = self.id.len() == ID_LENGTH && self.id.bytes().all(|byte| byte.is_ascii_hexdigit());
        let name = SessionKey::parse(&format!("{REPOSITORY_SCOPE}:{}", self.name));
        is_id && self.name.len() <= LONGEST_NAME && name.is_ok()
    }
}

/// Finds the file of a repository, and writes it if it is missing or has another path. `None` if it cannot be read or written.
fn find_file(ground: &Ground, common: &Path, folder: &Path) -> Option<IdFile> {
    let is_known = |file: &IdFile| file.is_of(common) && file.mark.is_some();
    if let Some(file) = read_file(common).ok()?.filter(is_known) {
        return Some(file);
    }
    // Two processes must not give a repository two ids, so the file is read again under a lock.
    let place = common.join(FOLDER).join(FILE);
    let Ok(_lock) = lock_own_file(&place) else {
        return read_file(common).ok()?.filter(|file| file.is_of(common));
    };
    let known = read_file(common).ok()?;
    let mark = mark_of(common);
    let (file, notice) = match known {
        Some(file) if file.is_of(common) && (file.mark.is_some() || mark.is_none()) => return Some(file),
        // The same folder: an earlier version wrote no mark, or the folder was moved.
        Some(file) if file.is_of(common) || (mark.is_some() && file.mark == mark) => {
            let path = common.display().to_string();
            (IdFile { path, mark, ..file }, None)
        }
        Some(file) => {
            let notice = copied_notice(&file);
            (
                IdFile::new(make_random_text().ok()?, common, folder),
                Some(notice),
            )
        }
        None => (IdFile::new(make_random_text().ok()?, common, folder), None),
    };
    let text = serde_json::to_string(&file).ok()?;
    replace_own_file(&place, &format!("{text}\n")).ok()?;
    if let Some(notice) = notice {
        ground.notify(notice);
    }
    Some(file)
}

fn copied_notice(file: &IdFile) -> Notice {
    let message = format!(
        "this repository is a copy of the one in `{}`, or was moved from another file system, so it has a conversation of its own",
        file.path
    );
    Notice::new("repository-copied", message)
}

/// Reads the file. `None` if there is no file.
///
/// # Errors
/// If it is not a regular file with a valid id, or its folder is a link.
fn read_file(common: &Path) -> Result<Option<IdFile>, ()> {
    let Some(text) = read_state_text(common, FILE, LARGEST_FILE)? else {
        return Ok(None);
    };
    let file: IdFile = serde_json::from_str(&text).map_err(drop)?;
    file.is_valid().then_some(Some(file)).ok_or(())
}

/// Reads a file in AgentOS's folder of a repository. `None` if there is no file.
///
/// # Errors
/// If it is not a regular file with UTF-8 text, is too large, or its folder is a link. An unpacked archive can contain a link in both
/// places, and a file would be read from, and written to, wherever it leads.
pub(crate) fn read_state_text(common: &Path, name: &str, largest: u64) -> Result<Option<String>, ()> {
    let folder = common.join(FOLDER);
    match folder.symlink_metadata() {
        Ok(found) if found.is_dir() => {}
        Ok(_) => return Err(()),
        Err(_) => return Ok(None),
    }
    let path = folder.join(name);
    if path.symlink_metadata().is_err() {
        return Ok(None);
    }
    let open = open_regular_file(&path, LinkRule::Refused).map_err(drop)?;
    let bytes = read_bounded(open, name, largest).map_err(drop::<EffectError>)?;
    String::from_utf8(bytes).map(Some).map_err(drop)
}

/// Returns what a folder keeps when it is moved or renamed, and no copy or unpacked archive has: the inode number, and the time of
/// creation, since numbers of removed folders are given again.
pub(crate) fn mark_of(folder: &Path) -> Option<String> {
    let found = folder.metadata().ok()?;
    let created = found.created().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(format!("{}:{}", inode_number(&found)?, created.as_nanos()))
}

#[cfg(unix)]
fn inode_number(found: &std::fs::Metadata) -> Option<u64> {
    Some(std::os::unix::fs::MetadataExt::ino(found))
}

/// Windows gives the number of a file only through an interface that Rust does not have yet: a moved folder is asked about again.
#[cfg(not(unix))]
fn inode_number(_found: &std::fs::Metadata) -> Option<u64> {
    None
}

/// Derives an id from the path, for a repository that cannot have a file. Whoever knows the path can compute the id, so it begins with a
/// letter that no id in a file has: an unpacked archive cannot bring it.
fn derive_id(common: &Path) -> String {
    let digest = hash_bytes(format!("agentos repository {}", common.display()).as_bytes());
    let digits = digest.rsplit(':').next().unwrap_or_default();
    std::iter::once('p')
        .chain(digits.chars())
        .take(ID_LENGTH)
        .collect()
}

fn real_path(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests;
