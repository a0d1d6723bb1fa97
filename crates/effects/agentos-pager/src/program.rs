//! Where the program is that a person named.
//!
//! Owns: full paths and the full folders of `PATH`. Never: takes a relative path, which would lead into whatever folder,
//! perhaps a repository from elsewhere, the call is made in.

use std::path::{Path, PathBuf};

use crate::PagerError;

/// The full path of a program: as it is named, or from the first folder of `path` that holds it.
pub(crate) fn find(named: &str, path: &str) -> Result<PathBuf, PagerError> {
    let missing = || PagerError::NoProgram(named.to_owned());
    let full = Path::new(named);
    if full.is_absolute() {
        return full.is_file().then(|| full.to_owned()).ok_or_else(missing);
    }
    if named.contains(['/', '\\']) {
        return Err(PagerError::RelativeProgram(named.to_owned()));
    }
    let file = format!("{named}{}", std::env::consts::EXE_SUFFIX);
    std::env::split_paths(path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(&file))
        .find(|place| place.is_file())
        .ok_or_else(missing)
}
