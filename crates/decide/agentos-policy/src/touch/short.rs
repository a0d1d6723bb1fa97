//! Short names (8.3) of protected places: `GITHUB~1/workflows/ci.yml`.
//!
//! On NTFS a long name also has a short one, and a path may use either. A rule that only knew the long name could be
//! avoided.
//!
//! Owns: finding the names of the table that a path component may abbreviate. Never: decides that a name is short;
//! `agentos-landing` does. Only paths with a `~` come here, and they are rare, so every name of the table is tried.

use agentos_landing::ShortName;

use super::{TouchSet, names};
use crate::plain::split_position;

/// Returns what a folded path belongs to if its short components abbreviate names of the table. Empty for a path
/// without a short component.
pub(super) fn touches_of(folded: &str) -> TouchSet {
    let mut found = TouchSet::default();
    if !folded.contains('~') {
        return found;
    }
    let parts: Vec<PathPart<'_>> = folded.split('/').map(PathPart::new).collect();
    if parts.iter().all(|part| part.short.is_none()) {
        return found;
    }
    for row in names::rows() {
        let (place, pattern) = split_position(row.pattern);
        // A short name keeps the first three letters of its ending, so that rows of endings apply to it as they are. Any
        // name may abbreviate a hidden one.
        if pattern.starts_with("*.") || pattern == ".*" {
            continue;
        }
        let wanted: Vec<&str> = pattern.split('/').collect();
        // A pattern of several components is compared with every run of as many components of the path.
        let is_met = (0..parts.len()).any(|start| {
            let stretch = parts.get(start..start + wanted.len()).unwrap_or_default();
            let ends = start + wanted.len() == parts.len();
            stretch.len() == wanted.len()
                && place.accepts_span(start == 0, ends)
                && stretch
                    .iter()
                    .zip(&wanted)
                    .all(|(part, wanted)| part.may_be(wanted))
        });
        if is_met {
            found = found.union(row.sets().0);
        }
    }
    found
}

/// Path component.
struct PathPart<'p> {
    name: &'p str,
    short: Option<ShortName<'p>>,
}

impl<'p> PathPart<'p> {
    fn new(name: &'p str) -> Self {
        Self {
            name,
            short: ShortName::parse(name),
        }
    }

    /// Returns true if the component is, or may abbreviate, a name of the table.
    fn may_be(&self, wanted: &str) -> bool {
        crate::plain::matches_wildcard(wanted, self.name)
            || self
                .short
                .as_ref()
                .is_some_and(|short| short.may_stand_for_pattern(wanted))
    }
}
