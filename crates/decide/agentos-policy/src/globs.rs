//! The globs of all rules, asked at once.
//!
//! Owns: how a path is compared with many patterns, or with a few. Never: knows whose they are.

use globset::{Candidate, Glob, GlobSet};

use crate::plain::Plain;

/// Up to so many are compared one by one, if they are plain: to build the library's automatons for the four of the floor
/// took a quarter of the time in which rules are loaded, and every call of the program loads them.
const FEW: usize = 16;

/// Globs in an order.
#[derive(Debug, Clone)]
pub(crate) enum Globs {
    Few(Vec<Plain>),
    Many(GlobSet),
}

impl Globs {
    pub(crate) fn new(globs: &[Glob]) -> Result<Self, globset::Error> {
        let few = globs.iter().map(|glob| Plain::of(glob.glob()));
        match few.collect::<Option<Vec<_>>>() {
            Some(few) if few.len() <= FEW => Ok(Self::Few(few)),
            Some(_) | None => {
                let mut set = GlobSet::builder();
                for glob in globs {
                    set.add(glob.clone());
                }
                set.build().map(Self::Many)
            }
        }
    }

    /// The places of those that a folded path is of.
    pub(crate) fn of(&self, path: &str) -> Vec<usize> {
        match self {
            Self::Few(few) => {
                let held = few.iter().enumerate().filter(|(_, plain)| plain.holds(path));
                held.map(|(at, _)| at).collect()
            }
            Self::Many(set) => set.matches_candidate(&Candidate::new(path)),
        }
    }
}
