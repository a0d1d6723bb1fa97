//! Where a program or key that a person named is.
//!
//! Owns: `~/`, full paths, and the folders of `PATH`. Never: takes a relative path, which would lead into whatever
//! folder, perhaps a repository from elsewhere, the call was made in.

use std::path::{Path, PathBuf};

use crate::SignError;

/// The full path of a program: as it is named, or from the first folder of `path` that holds it.
pub(crate) fn find(named: &str, home: Option<&Path>, path: &str) -> Result<PathBuf, SignError> {
    let missing = || SignError::NoProgram(named.to_owned());
    if named.is_empty() {
        return Err(missing());
    }
    if let Some(full) = full(named, home) {
        return full.is_file().then_some(full).ok_or_else(missing);
    }
    if named.contains(['/', '\\']) {
        return Err(SignError::RelativeProgram(named.to_owned()));
    }
    let file = format!("{named}{}", std::env::consts::EXE_SUFFIX);
    std::env::split_paths(path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(&file))
        .find(|place| place.is_file())
        .ok_or_else(missing)
}

/// A path that does not depend on the current folder; none if it does.
pub(crate) fn full(named: &str, home: Option<&Path>) -> Option<PathBuf> {
    match named.strip_prefix("~/") {
        Some(rest) => home.map(|home| home.join(rest)),
        None => Some(PathBuf::from(named)),
    }
    .filter(|path| path.is_absolute())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(named: &str, path: &str) -> String {
        match find(named, Some(Path::new("/bin/..")), path) {
            Ok(found) => found.display().to_string(),
            Err(error) => error.to_string(),
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_program_is_found_by_its_full_path_or_in_the_full_folders_of_path() {
        let cases = [
            ("/bin/sh", "", "/bin/sh"),
            ("~/bin/sh", "", "/bin/../bin/sh"),
            ("sh", "bin:.:/nowhere:/bin", "/bin/sh"),
            ("sh", "bin:.::", "the signing program `sh` is not there"),
            ("./sh", "/bin", "the signing program `./sh` is a relative path"),
            ("bin/sh", "/", "the signing program `bin/sh` is a relative path"),
            (
                "/nowhere/sh",
                "/bin",
                "the signing program `/nowhere/sh` is not there",
            ),
            ("", "/bin", "the signing program `` is not there"),
        ];
        for (named, path, expected) in cases {
            assert_eq!(told(named, path), expected);
        }
    }
}
