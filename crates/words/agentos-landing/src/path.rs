//! Path safety: the one function that decides if a path may be changed at all.
//!
//! Owns: the definition of a safe name, for every system on which a repository may be checked out. Never: looks at a
//! disk.

mod fold;
mod rules;
mod short_name;

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Refusal;

pub use fold::fold_name;
pub(crate) use fold::{is_ignorable, name_skeleton};
pub use rules::check_view_path;
pub(crate) use rules::portable_name;
pub use short_name::ShortName;

/// Returns the directories above a path, outermost first.
pub(crate) fn parent_dirs(path: &str) -> impl Iterator<Item = &str> + Clone {
    path.match_indices('/').filter_map(|(at, _)| path.get(..at))
}

/// Splits a path into its directory and its name. The directory is `""` at the top.
pub(crate) fn split_name(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

/// Joins a directory, `""` for the top, and a name.
pub(crate) fn join_name(dir: &str, name: &str) -> String {
    if dir.is_empty() {
        name.to_owned()
    } else {
        format!("{dir}/{name}")
    }
}

/// Path inside a repository that may be changed, or shown with [`RepoPath::of_shown`]: relative, normal, `/` between parts, safe on every system. It cannot
/// be constructed without the checks.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct RepoPath(String);

impl RepoPath {
    /// Checks a path.
    ///
    /// # Errors
    /// Fails with the refusal that names the broken rule.
    pub fn new(path: &str) -> Result<Self, Refusal> {
        rules::check_path(path).map(|()| Self(path.to_owned()))
    }

    /// Checks a path of the base: all rules except the one about names that other systems reserve.
    ///
    /// # Errors
    /// Fails with the refusal that names the broken rule.
    pub fn of_base(path: &str) -> Result<Self, Refusal> {
        rules::check_base_path(path).map(|()| Self(path.to_owned()))
    }

    /// Checks a path of the base whose text is to be shown, and not changed: a list of submodules too, and names that other systems
    /// reserve, unless another system takes them for another file.
    ///
    /// # Errors
    /// Fails with the refusal that names the broken rule.
    pub fn of_shown(path: &str) -> Result<Self, Refusal> {
        rules::check_shown_path(path).map(|()| Self(path.to_owned()))
    }

    /// Returns the path as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RepoPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for RepoPath {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        // A stored path has landed before, maybe as an edit of an existing file whose name other systems reserve.
        Self::of_base(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_path_may_have_a_reserved_name_and_breaks_no_other_rule() {
        let stored = |path: &str| serde_json::from_value::<RepoPath>(path.into()).is_ok();
        for (path, there) in [
            ("src/a.rs", true),
            ("src/aux.c", true),
            ("../a", false),
            (".git/config", false),
            ("a\u{202e}b", false),
        ] {
            assert_eq!(stored(path), there, "{path}");
        }
        assert!(!stored(&format!("../{}", "a/".repeat(4096))));
        assert!(RepoPath::new("src/aux.c").is_err());
    }
}
