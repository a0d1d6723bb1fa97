//! Patterns of paths.
//!
//! Owns: how a pattern matches: `*` and `?` match inside a name, `**` matches any folders. Never: knows which files exist.

/// Pattern that matches whole paths, such as `src/**/*.rs`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathPattern {
    parts: Vec<String>,
}

impl PathPattern {
    /// Parses a pattern that begins at the top of the repository. Every text is a valid pattern.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let parts = text.split('/').filter(|part| !part.is_empty());
        Self {
            parts: parts.map(str::to_owned).collect(),
        }
    }

    /// Makes the pattern of all files below a folder.
    #[must_use]
    pub fn below_folder(folder: &str) -> Self {
        let mut pattern = Self::parse(folder);
        pattern.parts.push("**".to_owned());
        pattern
    }

    /// Returns true if a text has a character with a meaning in patterns.
    #[must_use]
    pub fn is_pattern(text: &str) -> bool {
        text.contains(['*', '?'])
    }

    /// Returns true if the pattern matches the whole path.
    #[must_use]
    pub fn matches_path(&self, path: &str) -> bool {
        let path: Vec<&str> = path.split('/').collect();
        pattern_matches(&self.parts, &path)
    }
}

/// Returns true if a pattern matches a path. Only the last `**` is extended and tried again, so the work is at most
/// pattern times path.
pub(crate) fn pattern_matches(pattern: &[String], path: &[&str]) -> bool {
    match_stars(
        pattern,
        path,
        |part| part == "**",
        |part, name| {
            let part: Vec<char> = part.chars().collect();
            let name: Vec<char> = name.chars().collect();
            match_stars(&part, &name, |c| *c == '*', |c, other| *c == '?' || c == other)
        },
    )
}

/// Matches a pattern with one kind of star, by the usual greedy algorithm with backtracking to the last star.
fn match_stars<P, T>(
    pattern: &[P],
    text: &[T],
    is_star: impl Fn(&P) -> bool,
    same: impl Fn(&P, &T) -> bool,
) -> bool {
    let (mut p, mut t) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while let Some(here) = text.get(t) {
        match pattern.get(p) {
            Some(part) if is_star(part) => {
                star = Some((p, t));
                p += 1;
            }
            Some(part) if same(part, here) => {
                p += 1;
                t += 1;
            }
            Some(_) | None => match star {
                Some((at, taken)) => {
                    star = Some((at, taken + 1));
                    p = at + 1;
                    t = taken + 1;
                }
                None => return false,
            },
        }
    }
    pattern.get(p..).unwrap_or_default().iter().all(is_star)
}

#[cfg(test)]
mod tests {
    use super::PathPattern;

    #[test]
    fn a_pattern_matches_whole_paths() {
        let cases = [
            ("src/**/*.rs", "src/a.rs", true),
            ("src/**/*.rs", "src/deep/down/a.rs", true),
            ("src/**/*.rs", "other/src/a.rs", false),
            ("src/*.rs", "src/deep/a.rs", false),
            ("**/test_?.py", "a/b/test_1.py", true),
            ("**/test_?.py", "test_12.py", false),
            ("src", "src/a.rs", false),
        ];
        for (pattern, path, expected) in cases {
            let matches = PathPattern::parse(pattern).matches_path(path);
            assert_eq!(matches, expected, "{pattern} {path}");
        }
        assert!(PathPattern::below_folder("src/").matches_path("src/deep/a.rs"));
        assert!(PathPattern::below_folder("").matches_path("a.rs"));
        assert!(!PathPattern::below_folder("src").matches_path("srcs/a.rs"));
    }
}
