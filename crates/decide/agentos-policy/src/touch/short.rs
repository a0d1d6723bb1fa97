//! Short names of protected places: `GITHUB~1/workflows/ci.yml`.
//!
//! Owns: asking the table for the names that a part of a path may be the NTFS short form of. Never: decides that a name is
//! short; `agentos-landing` does. Only paths with a `~` come here, and they are rare, so every name of the table is tried.

use agentos_landing::ShortName;

use super::names::Names;
use super::{Touches, written};

/// What a folded path belongs to if its short parts are those of names in the table. A path without a short part belongs
/// to nothing here.
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

/// A part of a path.
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

    /// Whether the part is, or may be short for, a name of the table's.
    fn fits(&self, wanted: &str) -> bool {
        crate::plain::matches(wanted, self.name)
            || self
                .short
                .as_ref()
                .is_some_and(|short| short.may_stand_for_pattern(wanted))
    }
}
