//! Which attributes any file of attributes speaks of at all.
//!
//! Owns: reading those files as bytes, so that a question whose answer is known need not be asked for every file of a
//! change: libgit2 looks at a dozen places for each. Never: says what an attribute is; libgit2 does.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use agentos_durable::{Links, read_plain_file};
use git2::ErrorCode;

use crate::{RepoError, Repository};

const SETTING: &str = "core.attributesFile";

/// Longer ones are libgit2's to read, in bytes.
const LONGEST: u64 = 1 << 20;

/// What the files hold, or that not all of them are known.
#[derive(Debug)]
pub(crate) enum Mentions {
    /// A file cannot be read, or nobody knows where it is.
    Anything,
    /// All of their bytes.
    Only(Vec<u8>),
}

impl Mentions {
    /// In the files that are no part of the work tree: the machine's, the user's, the repository's.
    ///
    /// # Errors
    /// If one of them is a FIFO: libgit2 would wait for somebody to open its other end.
    pub(crate) fn outside(repository: &Repository) -> Result<Self, RepoError> {
        let mut mentions = Self::Only(Vec::new());
        // Where libgit2 looks for the machine's on Unix.
        let machines = cfg!(unix).then(|| PathBuf::from("/etc/gitattributes"));
        let own = Some(repository.common_dir().join("info/attributes"));
        for file in [machines, users(repository), own] {
            match file {
                Some(file) if is_fifo(&file) => return Err(refused(&file)),
                Some(file) => mentions.add_file(&file, Links::Followed),
                None => mentions = Self::Anything,
            }
        }
        Ok(mentions)
    }

    /// And in this file, if it is there.
    pub(crate) fn add_file(&mut self, path: &Path, links: Links) {
        match read_plain_file(path, links, LONGEST) {
            Ok(text) => self.add(&text),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {}
            Err(_) => *self = Self::Anything,
        }
    }

    /// And in this text.
    pub(crate) fn add(&mut self, text: &[u8]) {
        match self {
            Self::Anything => {}
            Self::Only(all) => {
                all.extend_from_slice(text);
                all.push(b'\n');
            }
        }
    }

    /// Could one of them say something of this attribute? A macro's own definition is in one of them, too, but for
    /// `binary`, which every git knows as `-diff -merge -text`.
    pub(crate) fn hold(&self, attribute: &str) -> bool {
        let Self::Only(text) = self else {
            return true;
        };
        let holds = |word: &str| memmem(text, word.as_bytes());
        holds(attribute) || (attribute == "text" && holds("binary"))
    }
}

/// Refuses what libgit2 cannot be let read.
pub(crate) fn refused(file: &Path) -> RepoError {
    let told = "it is not a regular file, and git follows no link there";
    RepoError::io(file)(io::Error::new(ErrorKind::InvalidInput, told))
}

/// Is it a FIFO, or a link to one? A device is none: libgit2 reads as many bytes of it as its size says, which is 0, and
/// `/dev/null` is a usual way to have no attributes.
#[cfg(unix)]
fn is_fifo(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt;
    path.metadata().is_ok_and(|found| found.file_type().is_fifo())
}

#[cfg(not(unix))]
fn is_fifo(_path: &Path) -> bool {
    false
}

/// Does something that git would not read lie where a file of a work tree is looked for that configures it, such as
/// `.gitattributes`? Git follows no link there (gitattributes(5)); libgit2 does, and waits at a FIFO. A folder is passed
/// over by both.
pub(crate) fn is_odd(place: &Path) -> bool {
    let found = place.symlink_metadata();
    found.is_ok_and(|found| !found.is_file() && !found.is_dir())
}

/// Where the user's own are; none where only libgit2 knows.
fn users(repository: &Repository) -> Option<PathBuf> {
    let config = repository.git.config().and_then(|mut config| config.snapshot());
    let config = config.ok()?;
    match config.get_entry(SETTING) {
        Ok(_) => config.get_path(SETTING).ok().filter(|path| path.is_absolute()),
        Err(error) if error.code() == ErrorCode::NotFound => repository.config_env.attributes.clone(),
        Err(_) => None,
    }
}

fn memmem(text: &[u8], word: &[u8]) -> bool {
    text.windows(word.len()).any(|window| window == word)
}

#[cfg(test)]
mod tests;
