//! The temporary file that an editor opens.
//!
//! Owns: creating it for its owner alone, reading it back, and removing it. Never: follows a link that somebody else put
//! there, or reads more than a limit.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process;

use crate::error::EditorError;

/// Names that are tried for the folder. One is in use only if an earlier process with the same id was killed.
const TRIES: u32 = 100;

/// File in a folder of its own. Both are removed when the value is dropped.
#[derive(Debug)]
pub struct EditedFile {
    folder: PathBuf,
    path: PathBuf,
}

impl EditedFile {
    /// Writes the text to a new file below `temp`.
    ///
    /// # Errors
    /// When the folder or the file cannot be created or written.
    pub fn create_below(temp: &Path, name: &str, text: &str) -> Result<Self, EditorError> {
        let folder = create_folder(temp).map_err(|source| EditorError::TempFile {
            action: "write",
            path: temp.to_owned(),
            source,
        })?;
        let file = Self {
            path: folder.join(name),
            folder,
        };
        file.write(text)
            .map_err(|source| file.name_failure("write", source))?;
        Ok(file)
    }

    /// Returns the path for the editor.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the text that the editor saved.
    ///
    /// # Errors
    /// When the file cannot be read, is longer than the limit, or is not UTF-8.
    pub fn read_back(&self, limit: usize) -> Result<String, EditorError> {
        // One byte more than the limit separates a text of exactly the limit from a longer one.
        let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
        let mut bytes = Vec::new();
        // Opened by its name again: most editors save by renaming a new file over the old one.
        OpenOptions::new()
            .read(true)
            .open(&self.path)
            .and_then(|file| file.take(most).read_to_end(&mut bytes))
            .map_err(|source| self.name_failure("read", source))?;
        if bytes.len() > limit {
            return Err(EditorError::TooLong { limit });
        }
        String::from_utf8(bytes).map_err(|_| EditorError::NotUtf8)
    }

    fn write(&self, text: &str) -> io::Result<()> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options.open(&self.path)?.write_all(text.as_bytes())
    }

    fn name_failure(&self, action: &'static str, source: io::Error) -> EditorError {
        EditorError::TempFile {
            action,
            path: self.path.clone(),
            source,
        }
    }
}

impl Drop for EditedFile {
    fn drop(&mut self) {
        // The whole folder: vi leaves a swap file and emacs a backup next to the text. A folder that cannot be removed
        // stays readable for its owner only.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Creates a folder that only its owner can enter.
fn create_folder(temp: &Path) -> io::Result<PathBuf> {
    // Everybody may write to `/tmp`, so a name that exists may be somebody else's folder or link: `create` then fails, and
    // the next name is tried.
    let mut taken = io::Error::from(io::ErrorKind::AlreadyExists);
    for number in 0..TRIES {
        let folder = temp.join(format!("agentos-edit-{}-{number}", process::id()));
        let mut builder = DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        match builder.create(&folder) {
            Ok(()) => return Ok(folder),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => taken = error,
            Err(error) => return Err(error),
        }
    }
    Err(taken)
}
