//! Plain patterns: names with `*`, at any depth after `**/`, everything below a folder before `/**`.
//!
//! Owns: the meaning of such a pattern, and comparing a path with a few of them. Never: reads a pattern with other
//! glob characters; the glob library does.

/// Position of a pattern's name in a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum NamePosition {
    /// `a/b`
    Whole,
    /// `a/b/**`
    Top,
    /// `**/a/b`
    End,
    /// `**/a/b/**`
    Inside,
}

impl NamePosition {
    /// Returns true if a sequence of path components may be what the pattern names. The arguments say whether it
    /// begins and whether it ends the path.
    pub(crate) fn accepts_span(self, begins: bool, ends: bool) -> bool {
        match self {
            Self::Whole => begins && ends,
            Self::Top => begins && !ends,
            Self::End => ends,
            Self::Inside => !ends,
        }
    }
}

/// Pattern that is matched without the glob library.
#[derive(Debug, Clone)]
pub(crate) struct PlainPattern {
    place: NamePosition,
    name: String,
}

impl PlainPattern {
    /// Parses a pattern. `None` if it has other glob characters or `**` in another position.
    pub(crate) fn parse(pattern: &str) -> Option<Self> {
        let (place, name) = split_position(pattern);
        let is_understood = !name.is_empty()
            && !name.contains("**")
            && !name.contains(['?', '[', ']', '{', '}', '!', '\\'])
            && !name.starts_with('/')
            && !name.ends_with('/');
        is_understood.then(|| Self {
            place,
            name: name.to_owned(),
        })
    }

    /// Returns true if the pattern matches a folded path.
    pub(crate) fn matches_path(&self, path: &str) -> bool {
        let starts = || std::iter::once(0).chain(path.match_indices('/').map(|(at, _)| at + 1));
        let from = |start: usize| path.get(start..).unwrap_or_default();
        let below = |rest: &str| {
            let mut ends = rest.match_indices('/').map(|(at, _)| at);
            ends.any(|end| matches_wildcard(&self.name, rest.get(..end).unwrap_or_default()))
        };
        match self.place {
            NamePosition::Whole => matches_wildcard(&self.name, path),
            NamePosition::Top => below(path),
            NamePosition::End => starts().any(|start| matches_wildcard(&self.name, from(start))),
            NamePosition::Inside => starts().any(|start| below(from(start))),
        }
    }
}

/// Splits a pattern into its position and its name.
pub(crate) fn split_position(pattern: &str) -> (NamePosition, &str) {
    let (deep, name) = match pattern.strip_prefix("**/") {
        Some(name) => (true, name),
        None => (false, pattern),
    };
    match (deep, name.strip_suffix("/**")) {
        (false, None) => (NamePosition::Whole, name),
        (false, Some(name)) => (NamePosition::Top, name),
        (true, None) => (NamePosition::End, name),
        (true, Some(name)) => (NamePosition::Inside, name),
    }
}

/// Returns true if a name matches a pattern in which `*` matches anything within one path component.
pub(crate) fn matches_wildcard(pattern: &str, name: &str) -> bool {
    let (mut pattern, mut name) = (pattern.as_bytes(), name.as_bytes());
    let mut back: Option<(&[u8], &[u8])> = None;
    loop {
        match (pattern.split_first(), name.split_first()) {
            (None, None) => return true,
            (Some((b'*', rest)), _) => {
                back = Some((rest, name));
                pattern = rest;
                continue;
            }
            (Some((a, pattern_rest)), Some((b, name_rest))) if a == b => {
                (pattern, name) = (pattern_rest, name_rest);
                continue;
            }
            (Some(_) | None, Some(_) | None) => {}
        }
        // Backtracking to the last star is enough: whatever an earlier star took, a later one can take over. This
        // keeps the time at most quadratic for every pattern.
        match back.and_then(|(rest, from)| Some((rest, from.split_first()?))) {
            Some((rest, (sign, from))) if *sign != b'/' => {
                back = Some((rest, from));
                (pattern, name) = (rest, from);
            }
            Some(_) | None => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::glob;

    #[test]
    fn only_plain_patterns_are_understood() {
        for pattern in [
            "a",
            ".git",
            "a/b",
            "**/.git",
            ".git/**",
            "**/a*b/c/**",
            "*.rs",
            "**/*.rs",
        ] {
            assert!(PlainPattern::parse(pattern).is_some(), "{pattern}");
        }
        for pattern in [
            "**", "**/**", "a/**/b", "a?", "[ab]", "{a,b}", "a**", "**a", "!a", "", "/a", "a//**",
        ] {
            assert!(PlainPattern::parse(pattern).is_none(), "{pattern}");
        }
    }

    proptest! {
        // A path of a repository has no part `.` or `..`.
        #[test]
        fn the_library_says_the_same(
            pattern in "(\\*\\*/)?[ab.*]{1,3}(/[ab.*]{1,2}){0,2}(/\\*\\*)?",
            paths in prop::collection::vec("[ab.]?[ab][ab.]?(/[ab.]?[ab][ab.]?){0,4}", 40),
        ) {
            if let Some(plain) = PlainPattern::parse(&pattern) {
                let mut set = globset::GlobSetBuilder::new();
                glob::compile_glob(&pattern).unwrap().into_iter().for_each(|glob| {
                    set.add(glob);
                });
                let library = set.build().unwrap();
                for path in paths {
                    prop_assert_eq!(plain.matches_path(&path), library.is_match(&path), "{} {}", pattern, path);
                }
            }
        }
    }
}
