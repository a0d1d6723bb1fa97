//! Names in and next to a folder of rules.
//!
//! Owns: which entries are rules, and which look like rules and would not be read. Never: reads a folder.

use crate::glob;

/// Entry of a folder of rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PolicyEntry {
    /// Rules.
    Rules,
    /// Nothing that could be meant as rules: words for people, a hidden file, the backup of an editor.
    Other,
    /// Something that would not be read, and may be meant as rules.
    Unread(&'static str),
}

impl PolicyEntry {
    /// Judges an entry of a folder of rules by its name.
    #[must_use]
    pub fn in_folder(name: &str, is_folder: bool) -> Self {
        let folded = glob::fold_name(name);
        if is_folder {
            return if folded.starts_with('.') {
                Self::Other
            } else {
                Self::Unread("is a folder, and rules in it would not be read: move them to the folder above")
            };
        }
        // Some file systems ignore case, so that `a.TOML` is a file of rules on any of them.
        if folded.ends_with(".toml") {
            return Self::Rules;
        }
        let is_for_people = folded.starts_with("readme") || folded.ends_with(".md");
        if folded.starts_with('.') || folded.ends_with('~') || is_for_people {
            return Self::Other;
        }
        Self::Unread("would not be read as rules: give it a name that ends with `.toml`, or remove it")
    }

    /// Judges an entry next to a folder of rules by its name.
    #[must_use]
    pub fn next_to_folder(name: &str) -> Self {
        let folded = glob::fold_name(name);
        let stem = folded.split('.').next().unwrap_or_default();
        let is_meant = matches!(stem, "policy" | "policies" | "rules") && folded != "policy";
        if is_meant && !folded.ends_with('~') && !folded.ends_with(".md") {
            Self::Unread("would not be read as rules: move it into the folder `policy`")
        } else {
            Self::Other
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_meant_as_rules_is_never_passed_over() {
        let word = |entry| match entry {
            PolicyEntry::Rules => "rules",
            PolicyEntry::Other => "other",
            PolicyEntry::Unread(_) => "unread",
        };
        let cases = [
            ("a.toml", false, "rules"),
            ("a.TOML", false, "rules"),
            (".toml", false, "rules"),
            ("d.tml", false, "unread"),
            ("d.toml.off", false, "unread"),
            ("d.json", false, "unread"),
            ("sub", true, "unread"),
            ("a.toml", true, "unread"),
            (".git", true, "other"),
            (".gitkeep", false, "other"),
            ("README", false, "other"),
            ("notes.md", false, "other"),
            ("a.toml~", false, "other"),
        ];
        for (name, is_folder, expected) in cases {
            assert_eq!(word(PolicyEntry::in_folder(name, is_folder)), expected, "{name}");
        }
        let cases = [
            ("policy", "other"),
            ("policy.toml", "unread"),
            ("Policy.TOML", "unread"),
            ("policies", "unread"),
            ("rules.toml", "unread"),
            ("policy.md", "other"),
            ("profiles", "other"),
            ("config.toml", "other"),
        ];
        for (name, expected) in cases {
            assert_eq!(word(PolicyEntry::next_to_folder(name)), expected, "{name}");
        }
    }
}
