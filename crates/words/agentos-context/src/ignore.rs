//! `.agentosignore`: files that are left out when files are searched for.
//!
//! Owns: its patterns, which are those of `.gitignore` without character classes: `#` comments, `!` includes again, a
//! slash at the end means a folder, one at the start or inside ties the pattern to the root, `*` and `?` match inside
//! a name, `**` matches any folders. The last line that matches counts. Never: protects a file: that is for policy.

use crate::pattern::pattern_matches;

/// Patterns of one file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IgnorePatterns {
    lines: Vec<IgnoreLine>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct IgnoreLine {
    parts: Vec<String>,
    takes_back: bool,
    folder_only: bool,
}

impl IgnorePatterns {
    /// Parses the text of the file. Every line is a valid pattern, so parsing cannot fail.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        Self {
            lines: text.lines().filter_map(IgnoreLine::parse).collect(),
        }
    }

    /// Returns true if this file, or a folder above it, is left out.
    #[must_use]
    pub fn leaves_out(&self, path: &str) -> bool {
        if self.lines.is_empty() {
            return false;
        }
        let parts: Vec<&str> = path.split('/').collect();
        (1..=parts.len()).any(|depth| {
            let is_folder = depth < parts.len();
            let above = parts.get(..depth).unwrap_or_default();
            self.is_ignored(above, is_folder)
        })
    }

    fn is_ignored(&self, path: &[&str], is_folder: bool) -> bool {
        // From the end, since the last line that matches counts.
        let mut lines = self.lines.iter().rev();
        let last = lines.find(|line| (is_folder || !line.folder_only) && pattern_matches(&line.parts, path));
        last.is_some_and(|line| !line.takes_back)
    }
}

impl IgnoreLine {
    fn parse(text: &str) -> Option<Self> {
        let text = text.trim_end();
        if text.is_empty() || text.starts_with('#') {
            return None;
        }
        let (text, takes_back) = match text.strip_prefix('!') {
            Some(rest) => (rest, true),
            // A backslash escapes a first `!` or `#`, as in git.
            None => (text.strip_prefix('\\').unwrap_or(text), false),
        };
        let (text, folder_only) = match text.strip_suffix('/') {
            Some(rest) => (rest, true),
            None => (text, false),
        };
        let tied = text.contains('/');
        let mut parts: Vec<String> = text
            .split('/')
            .filter(|part| !part.is_empty())
            .map(str::to_owned)
            .collect();
        if parts.is_empty() {
            return None;
        }
        // A pattern without a slash matches in every folder.
        if !tied {
            parts.insert(0, "**".to_owned());
        }
        Some(Self {
            parts,
            takes_back,
            folder_only,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_mean_what_they_mean_to_git() {
        let ignore = IgnorePatterns::parse(
            "# data\n*.csv\n/build/\ndocs/**/old\n!keep.csv\nnotes?.md\nsrc/gen\n\\!odd\n",
        );
        let cases = [
            ("a.csv", true),
            ("deep/down/a.csv", true),
            ("keep.csv", false),
            ("build/x.rs", true),
            ("sub/build/x.rs", false),
            ("build", false),
            ("docs/old/a.md", true),
            ("docs/a/b/old/c.md", true),
            ("docs/older/a.md", false),
            ("notes1.md", true),
            ("notes.md", false),
            ("src/gen/a.rs", true),
            ("other/src/gen/a.rs", false),
            ("!odd", true),
            ("src/a.rs", false),
        ];
        for (path, left_out) in cases {
            assert_eq!(ignore.leaves_out(path), left_out, "{path}");
        }
    }
}
