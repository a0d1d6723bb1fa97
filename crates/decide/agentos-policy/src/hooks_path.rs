//! The folder from which the repository's git takes its hooks.
//!
//! Owns: `core.hooksPath` as a folder of the repository. Never: reads git's settings; the caller does.

use crate::glob;

/// Folded path of a folder below the repository's root. Git executes the files in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HooksPath(String);

impl HooksPath {
    /// Parses the setting's value, which is relative to the root. `None` if the folder is the root itself, where
    /// hooks are recognised by their names, or lies outside the repository.
    pub(crate) fn new(value: &str) -> Option<Self> {
        // Git expands `~` to the user's home. Neither form can name a file that a change creates.
        if value.starts_with(['/', '~']) {
            return None;
        }
        let folded = glob::fold_name(&value.replace('\\', "/"));
        let mut parts: Vec<&str> = Vec::new();
        for part in folded.split('/') {
            match part {
                // Git accepts `./hooks//`, and a rule that compared the text alone would miss it.
                "" | "." => {}
                ".." => {
                    parts.pop()?;
                }
                name => parts.push(name),
            }
        }
        (!parts.is_empty()).then(|| Self(parts.join("/")))
    }

    /// Returns true if a folded path is this folder or lies in it.
    pub(crate) fn contains(&self, folded: &str) -> bool {
        folded
            .strip_prefix(self.0.as_str())
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_setting_as_a_folder_of_the_repository() {
        let cases = [
            ("tools/git", Some("tools/git")),
            ("./Tools//Git/", Some("tools/git")),
            ("tools\\git", Some("tools/git")),
            ("a/../b", Some("b")),
            ("", None),
            (".", None),
            ("a/..", None),
            ("../hooks", None),
            ("/usr/share/hooks", None),
            ("~/hooks", None),
        ];
        for (value, folder) in cases {
            let path = HooksPath::new(value);
            assert_eq!(path.as_ref().map(HooksPath::as_str), folder, "{value}");
        }
    }
}
