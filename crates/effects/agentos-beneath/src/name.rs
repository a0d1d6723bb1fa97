//! Names of entries.
//!
//! Owns: refusing a name that could lead out of its folder, and splitting a relative path. Never: asks the system.

use std::ffi::OsStr;
use std::path::{Component, Path};

use crate::TreeError;
use crate::error::shown;

/// Checks that a name is one entry of a folder.
///
/// # Errors
/// [`TreeError::BadName`] for an empty name, `.`, `..`, and one with a separator or a NUL byte.
pub(crate) fn check_name(name: &OsStr) -> Result<&OsStr, TreeError> {
    let mut parts = Path::new(name).components();
    // The comparison refuses `a/` and `a/.`, of which `components` drops the end.
    let is_single =
        matches!((parts.next(), parts.next()), (Some(Component::Normal(part)), None) if part == name);
    if is_single && !name.as_encoded_bytes().contains(&0) {
        Ok(name)
    } else {
        Err(TreeError::BadName(shown(name)))
    }
}

/// Splits a relative path into names. The empty path has none.
///
/// # Errors
/// [`TreeError::BadName`] for a path that is absolute or holds `..`.
pub(crate) fn split_path(path: &Path) -> Result<Vec<&OsStr>, TreeError> {
    let refused = || TreeError::BadName(shown(path.as_os_str()));
    path.components()
        .map(|part| match part {
            Component::Normal(name) => check_name(name),
            Component::CurDir | Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                Err(refused())
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_entry_of_its_folder() {
        for good in ["a", ".git", "...", "a b", "-", "\u{202e}"] {
            assert!(check_name(OsStr::new(good)).is_ok(), "{good}");
        }
        for bad in ["", ".", "..", "/", "a/", "/a", "a/b", "./a", "a/.", "a\0b"] {
            assert!(check_name(OsStr::new(bad)).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_path_is_split_unless_it_leads_up_or_begins_at_the_root() {
        assert_eq!(
            split_path(Path::new("a/b//c")).unwrap(),
            ["a", "b", "c"].map(OsStr::new)
        );
        assert!(split_path(Path::new("")).unwrap().is_empty());
        for bad in ["/a", "..", "a/../b", "a/.."] {
            assert!(split_path(Path::new(bad)).is_err(), "{bad}");
        }
    }
}
