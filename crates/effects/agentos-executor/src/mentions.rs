//! Finds out which attributes are mentioned in files of attributes.
//!
//! Owns: reading those files as bytes. libgit2 looks at a dozen files for each attribute of each path; if no file mentions
//! an attribute, it need not be asked. Never: determines the value of an attribute; libgit2 does.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use agentos_durable::{LinkRule, read_regular_file};
use git2::ErrorCode;

use crate::{RepoError, Repository};

const SETTING: &str = "core.attributesFile";

/// Maximum bytes of a file that is read here. A longer one counts as mentioning every attribute.
const LONGEST: u64 = 1 << 20;

/// Text of the files of attributes.
#[derive(Debug)]
pub(crate) enum AttributeMentions {
    /// Unknown text: a file cannot be read, or its path is not known. Every attribute may be mentioned.
    Anything,
    /// Bytes of all files.
    Only(Vec<u8>),
}

impl AttributeMentions {
    /// Reads the files outside the working tree: the system's, the user's, and the repository's own.
    ///
    /// # Errors
    /// When one of them is a FIFO: libgit2 would wait until another program opens its other end.
    pub(crate) fn read_outside(repository: &Repository) -> Result<Self, RepoError> {
        let mut mentions = Self::Only(Vec::new());
        // The system's file, where libgit2 looks for it on Unix.
        let machines = cfg!(unix).then(|| PathBuf::from("/etc/gitattributes"));
        let own = Some(repository.common_dir().join("info/attributes"));
        for file in [machines, user_file(repository), own] {
            match file {
                Some(file) if is_fifo(&file) => return Err(link_error(&file)),
                Some(file) => mentions.add_file(&file, LinkRule::Followed),
                None => mentions = Self::Anything,
            }
        }
        Ok(mentions)
    }

    /// Adds a file, if it exists.
    pub(crate) fn add_file(&mut self, path: &Path, links: LinkRule) {
        match read_regular_file(path, links, LONGEST) {
            Ok(text) => self.add_text(&text),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {}
            Err(_) => *self = Self::Anything,
        }
    }

    /// Adds a text.
    pub(crate) fn add_text(&mut self, text: &[u8]) {
        match self {
            Self::Anything => {}
            Self::Only(all) => {
                all.extend_from_slice(text);
                all.push(b'\n');
            }
        }
    }

    /// Returns false if none of the files can set this attribute.
    pub(crate) fn may_set(&self, attribute: &str) -> bool {
        let Self::Only(text) = self else {
            return true;
        };
        // A macro that sets the attribute is defined in one of these files too. Only `binary` is built into git, as
        // `-diff -merge -text` (gitattributes(5)).
        let holds = |word: &str| contains_bytes(text, word.as_bytes());
        holds(attribute) || (attribute == "text" && holds("binary"))
    }
}

/// Returns the error for a file that libgit2 must not read.
pub(crate) fn link_error(file: &Path) -> RepoError {
    let message = "it is not a regular file, and git follows no link there";
    RepoError::io(file)(io::Error::new(ErrorKind::InvalidInput, message))
}

/// Returns whether the path is a FIFO or a link to one. A device is accepted: libgit2 reads as many bytes as its size, which
/// is 0, and `/dev/null` is a usual way to have no attributes.
#[cfg(unix)]
fn is_fifo(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt;
    path.metadata().is_ok_and(|found| found.file_type().is_fifo())
}

#[cfg(not(unix))]
fn is_fifo(_path: &Path) -> bool {
    false
}

/// Returns whether a path such as that of `.gitattributes` has something that git would not read. git follows no link there
/// (gitattributes(5)); libgit2 does, and waits at a FIFO. Both skip a folder.
pub(crate) fn is_odd(place: &Path) -> bool {
    let found = place.symlink_metadata();
    found.is_ok_and(|found| !found.is_file() && !found.is_dir())
}

/// Returns the path of the user's own attributes. `None` if only libgit2 can determine it.
fn user_file(repository: &Repository) -> Option<PathBuf> {
    let config = repository.git.config().and_then(|mut config| config.snapshot());
    let config = config.ok()?;
    match config.get_entry(SETTING) {
        Ok(_) => config.get_path(SETTING).ok().filter(|path| path.is_absolute()),
        Err(error) if error.code() == ErrorCode::NotFound => repository.config_env.attributes.clone(),
        Err(_) => None,
    }
}

fn contains_bytes(text: &[u8], word: &[u8]) -> bool {
    text.windows(word.len()).any(|window| window == word)
}

#[cfg(test)]
mod tests;
