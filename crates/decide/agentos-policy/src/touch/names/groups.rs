//! Where the rows with a first letter are in the table.
//!
//! Owns: their places, which the compiler finds. Never: compares a row with a path.

use super::TABLE;

/// Section of the table.
#[derive(Debug, Clone, Copy)]
pub(super) enum TableSection {
    /// Names that a binary search finds.
    Plain,
    /// Names with a star.
    Starred,
}

/// Folders in which a pattern matches.
#[derive(Debug, Clone, Copy)]
pub(super) enum PatternDepth {
    /// Only at the top.
    Top,
    /// At any depth.
    Any,
}

impl PatternDepth {
    /// Returns how such a pattern begins.
    pub(super) fn prefix(self) -> &'static str {
        match self {
            Self::Top => "",
            Self::Any => "**/",
        }
    }
}

/// Beginning and end of the rows, by section, depth and first byte of the name.
type GroupPlaces = [[[(usize, usize); 256]; 2]; 2];

static PLACES: GroupPlaces = find_places(TABLE.as_bytes());

/// Returns the rows of a section whose name begins with a byte, as lines.
pub(super) fn lines_of(section: TableSection, depth: PatternDepth, first: u8) -> &'static str {
    let groups = PLACES
        .get(section as usize)
        .and_then(|depths| depths.get(depth as usize));
    let place = groups.and_then(|groups| groups.get(usize::from(first)));
    place
        .and_then(|(from, to)| TABLE.get(*from..*to))
        .unwrap_or_default()
}

/// Finds the places in a table whose two sections are sorted by bytes. A table with a third section does not compile.
#[allow(
    clippy::indexing_slicing,
    long_running_const_eval,
    reason = "the compiler evaluates this, so a wrong index is an error of the build; the table has 180 thousand bytes"
)]
const fn find_places(table: &[u8]) -> GroupPlaces {
    let mut places = [[[(0, 0); 256]; 2]; 2];
    let (mut at, mut section, mut last) = (0, 0, 0);
    while at < table.len() {
        let mut end = at;
        while table[end] != b'\n' {
            end += 1;
        }
        let is_deep = table[at] == b'*' && table[at + 1] == b'*' && table[at + 2] == b'/';
        let first = if is_deep { table[at + 3] } else { table[at] } as usize;
        // Rows at any depth are sorted as the sign `*` is.
        let order = if is_deep {
            (b'*' as usize) << 8 | first
        } else {
            first << 8
        };
        if order < last {
            section += 1;
        }
        last = order;
        let place = &mut places[section][is_deep as usize][first];
        if place.1 == 0 {
            place.0 = at;
        }
        end += 1;
        place.1 = end;
        at = end;
    }
    places
}
