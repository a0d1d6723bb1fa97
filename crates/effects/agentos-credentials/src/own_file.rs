//! Small files of the user's own beside the keys: settings that name keys, and what became of them.
//!
//! Owns: replacing one as a whole. Never: holds a key in one.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::{CredentialError, owner_only};

/// Puts `text` at `path`, whole or not at all, for its owner alone. Folders that are missing are made.
///
/// # Errors
/// When the place cannot be written. What was there before is still there then.
pub fn replace_own_file(path: &Path, text: &str) -> Result<(), CredentialError> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder {
        owner_only::create_folder(folder).map_err(|source| at(folder, "make", source))?;
    }
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    let beside = PathBuf::from(beside);
    match fs::remove_file(&beside) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => return Err(at(&beside, "remove", source)),
        // A command that was killed may have left one.
        Ok(()) | Err(_) => {}
    }
    let mut file = owner_only::create_new(&beside).map_err(|source| at(&beside, "make", source))?;
    let written = file.write_all(text.as_bytes());
    let moved = written.and_then(|()| fs::rename(&beside, path));
    if let Err(source) = moved {
        // That the first failure is told matters more than what is left over.
        let _ = fs::remove_file(&beside);
        return Err(at(path, "write", source));
    }
    Ok(())
}

fn at(path: &Path, doing: &'static str, source: io::Error) -> CredentialError {
    CredentialError::Io {
        doing,
        path: path.to_owned(),
        source,
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_file_is_replaced_whole_and_is_its_owners_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a").join("b.json");
        for text in ["one", "two"] {
            replace_own_file(&path, text).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
        let names = fs::read_dir(path.parent().unwrap()).unwrap().count();
        assert_eq!(names, 1);
        assert!(replace_own_file(folder.path(), "a folder is there").is_err());
    }
}
