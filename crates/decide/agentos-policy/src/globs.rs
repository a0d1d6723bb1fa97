//! Matches a path against the globs of all rules at once.
//!
//! Owns: comparing one path with many patterns, or with a few. Never: knows which rule a pattern belongs to.

use globset::{Candidate, Glob, GlobSet};

use crate::plain::PlainPattern;

/// Largest number of patterns that are compared one by one, if all of them are plain. Building the library's
/// automatons for the four patterns of the floor took a quarter of the time that loading the rules takes, and every
/// start of the program loads them.
const MAX_PLAIN: usize = 16;

/// Patterns in a fixed order; a match is reported by its index.
#[derive(Debug, Clone)]
pub(crate) enum GlobMatcher {
    Few(Vec<PlainPattern>),
    Many(GlobSet),
}

impl GlobMatcher {
    pub(crate) fn new(globs: &[Glob]) -> Result<Self, globset::Error> {
        let few = globs.iter().map(|glob| PlainPattern::parse(glob.glob()));
        match few.collect::<Option<Vec<_>>>() {
            Some(few) if few.len() <= MAX_PLAIN => Ok(Self::Few(few)),
            Some(_) | None => {
                let mut set = GlobSet::builder();
                for glob in globs {
                    set.add(glob.clone());
                }
                set.build().map(Self::Many)
            }
        }
    }

    /// Returns the indices of the patterns that match a folded path.
    pub(crate) fn matching_indices(&self, path: &str) -> Vec<usize> {
        match self {
            Self::Few(few) => {
                let held = few
                    .iter()
                    .enumerate()
                    .filter(|(_, plain)| plain.matches_path(path));
                held.map(|(at, _)| at).collect()
            }
            Self::Many(set) => set.matches_candidate(&Candidate::new(path)),
        }
    }
}
