//! Short names (8.3) of protected places: `GITHUB~1/workflows/ci.yml`.
//!
//! On NTFS a long name also has a short one, and a path may use either. A rule that only knew the long name could be
//! avoided.
//!
//! Owns: finding the names of the table that a path component may abbreviate. Never: decides that a name is short;
//! `agentos-landing` does. Only paths with a `~` come here, and they are rare, so every name of the table is tried.

use agentos_landing::ShortName;

use super::names::Names;
use super::{Touches, written};

/// Returns what a folded path belongs to if its short components abbreviate names of the table. Empty for a path
/// without a short component.
pub(super) fn of(folded: &str) -> Touches {
    let mut found = Touches::default();
    if !folded.contains('~') {
        return found;
    }
    let parts: Vec<Part<'_>> = folded.split('/').map(Part::of).collect();
    if parts.iter().all(|part| part.short.is_none()) {
        return found;
    }
    let names: &Names = &written::NAMES;
    names.each_pattern(|place, pattern, owner| {
        let wanted: Vec<&str> = pattern.split('/').collect();
        let is_met = (0..parts.len()).any(|start| {
            let stretch = parts.get(start..start + wanted.len()).unwrap_or_default();
            let ends = start + wanted.len() == parts.len();
            stretch.len() == wanted.len()
                && place.allows(start == 0, ends)
                && stretch
                    .iter()
                    .zip(&wanted)
                    .all(|(part, wanted)| part.fits(wanted))
        });
        if is_met {
            found = found.union(owner);
        }
    });
    found
}

/// Path component.
struct Part<'p> {
    name: &'p str,
    short: Option<ShortName<'p>>,
}

impl<'p> Part<'p> {
    fn of(name: &'p str) -> Self {
        Self {
            name,
            short: ShortName::parse(name),
        }
    }

    /// Returns true if the component is, or may abbreviate, a name of the table.
    fn fits(&self, wanted: &str) -> bool {
        crate::plain::matches(wanted, self.name)
            || self
                .short
                .as_ref()
                .is_some_and(|short| short.may_stand_for_pattern(wanted))
    }
}
