//! Searches for a program by path or by name. The crate's documentation states the rule and its reasons.
//!
//! Owns: the order of the search. Never: falls back to the current folder.

use std::path::{Path, PathBuf};

use crate::LookupError;
use crate::repository::RepositoryFolders;

/// Folders in which programs are looked up, and the repository whose folders are skipped, because its programs are not
/// trusted.
#[derive(Debug, Clone, Default)]
pub struct ProgramSearch {
    folders: Vec<PathBuf>,
    home: Option<PathBuf>,
    repository: RepositoryFolders,
}

impl ProgramSearch {
    /// Searches the folders of a `PATH` variable.
    #[must_use]
    pub fn in_variable(path: &str) -> Self {
        Self::in_folders(std::env::split_paths(path))
    }

    /// Searches these folders in their order; empty and relative ones are skipped.
    #[must_use]
    pub fn in_folders(folders: impl IntoIterator<Item = PathBuf>) -> Self {
        let absolute = folders.into_iter().filter(|folder| folder.is_absolute());
        Self {
            folders: absolute.collect(),
            ..Self::default()
        }
    }

    /// Sets the folder that `~/` at the start of a path means.
    #[must_use]
    pub fn with_home(self, home: Option<&Path>) -> Self {
        Self {
            home: home.map(Path::to_owned),
            ..self
        }
    }

    /// Skips every folder inside the repository that `place` lies in. If the home folder lies in that repository, nothing is
    /// skipped, because all programs of the user would be; so call this after [`Self::with_home`].
    #[must_use]
    pub fn outside_repository(self, place: Option<&Path>) -> Self {
        let repository = place
            .map(|place| RepositoryFolders::around(place, self.home.as_deref()))
            .unwrap_or_default();
        Self { repository, ..self }
    }

    /// Returns the absolute path of the program that a person named by a path or by its name.
    ///
    /// # Errors
    /// When the path is relative, no such program exists, or programs of this name exist only in the repository.
    pub fn find_program(&self, named: &str) -> Result<PathBuf, LookupError> {
        let missing = || LookupError::Missing(named.to_owned());
        if named.is_empty() {
            return Err(missing());
        }
        if let Some(path) = absolute_path(named, self.home.as_deref()) {
            return path.is_file().then_some(path).ok_or_else(missing);
        }
        if named.contains(['/', '\\']) {
            return Err(LookupError::RelativePath(named.to_owned()));
        }
        let files = file_names(named, std::env::consts::EXE_SUFFIX);
        let mut skipped = None;
        for place in self
            .folders
            .iter()
            .flat_map(|folder| files.iter().map(|file| folder.join(file)))
        {
            if !is_executable(&place) {
                continue;
            }
            // Checked only for a program that was found: resolving the links of every folder of `PATH` would take longer.
            if !place
                .parent()
                .is_some_and(|folder| self.repository.contains(folder))
            {
                return Ok(place);
            }
            skipped.get_or_insert(place);
        }
        Err(match skipped {
            None => missing(),
            Some(place) => LookupError::OnlyInRepository {
                name: named.to_owned(),
                place,
            },
        })
    }
}

/// Returns the path that a person named, with `~/` resolved. `None` if it depends on the current folder, or on a home
/// folder that is not known.
#[must_use]
pub fn absolute_path(named: &str, home: Option<&Path>) -> Option<PathBuf> {
    let path = match named.strip_prefix("~/") {
        Some(rest) => home?.join(rest),
        None => PathBuf::from(named),
    };
    path.is_absolute().then_some(path)
}

/// Returns true for a file that some user may execute. On a system without that permission, returns true for every file.
#[must_use]
pub fn is_executable(place: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        place
            .metadata()
            .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    }
    #[cfg(not(unix))]
    place.is_file()
}

/// Lists the file names to look for. `suffix` is the ending of programs on this system: `.exe` on Windows, else empty.
fn file_names(name: &str, suffix: &str) -> Vec<String> {
    let with_suffix = format!("{name}{suffix}");
    // A name with a dot may be complete (`tool.cmd`) or lack the suffix (`python3.12` for `python3.12.exe`).
    let has_extension = !suffix.is_empty() && Path::new(name).extension().is_some();
    let as_named = has_extension.then(|| name.to_owned());
    as_named.into_iter().chain([with_suffix]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suffix_is_added_after_the_name_with_its_own_extension() {
        let cases: [(&str, &str, &[&str]); 5] = [
            ("gpg", "", &["gpg"]),
            ("python3.12", "", &["python3.12"]),
            ("gpg", ".exe", &["gpg.exe"]),
            ("gpg.exe", ".exe", &["gpg.exe", "gpg.exe.exe"]),
            ("python3.12", ".exe", &["python3.12", "python3.12.exe"]),
        ];
        for (name, suffix, expected) in cases {
            assert_eq!(file_names(name, suffix), expected, "{name} {suffix}");
        }
    }
}
