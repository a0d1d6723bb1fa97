//! Which attributes any file of attributes speaks of at all.
//!
//! Owns: reading those files as bytes, so that a question whose answer is known need not be asked for every file of a
//! change: libgit2 looks at a dozen places for each. Never: says what an attribute is; libgit2 does.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use crate::Repository;

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
    pub(crate) fn outside(repository: &Repository) -> Self {
        let mut mentions = Self::Only(Vec::new());
        // Where libgit2 looks for the machine's on Unix.
        if cfg!(unix) {
            mentions.add_file(Path::new("/etc/gitattributes"));
        } else {
            mentions = Self::Anything;
        }
        let config = repository.git.config().and_then(|mut config| config.snapshot());
        let named = config.and_then(|config| config.get_path("core.attributesFile"));
        match (named, &repository.config_env.attributes) {
            (Ok(named), _) if named.is_absolute() => mentions.add_file(&named),
            (Err(error), Some(usual)) if error.code() == git2::ErrorCode::NotFound => {
                mentions.add_file(usual)
            }
            (Ok(_) | Err(_), _) => mentions = Self::Anything,
        }
        mentions.add_file(&repository.common_dir().join("info/attributes"));
        mentions
    }

    /// And in this file, if it is there.
    pub(crate) fn add_file(&mut self, path: &Path) {
        match fs::read(path) {
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

fn memmem(text: &[u8], word: &[u8]) -> bool {
    text.windows(word.len()).any(|window| window == word)
}
