//! Names of definitions as a person types them.
//!
//! Owns: which definition a name means, and which names are similar to one that nothing has. Never: reads a file.

use crate::definitions::{Definition, list_definitions};
use crate::pick::LineRange;

/// Name of a definition, perhaps with the types that enclose it: `open`, `Shop::open` or `Shop.open`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SymbolName {
    inside: Vec<String>,
    name: String,
}

impl SymbolName {
    /// Parses a name. `None` if the text has characters that no name has.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim().trim_end_matches("()");
        let mut parts: Vec<String> = text
            .split("::")
            .flat_map(|part| part.split(['.', '#']))
            .map(str::to_owned)
            .collect();
        let is_name = |part: &String| {
            !part.is_empty()
                && part
                    .chars()
                    .all(|c| c.is_alphanumeric() || matches!(c, '_' | '$'))
        };
        if !parts.iter().all(is_name) {
            return None;
        }
        let name = parts.pop()?;
        Some(Self { inside: parts, name })
    }

    /// Returns the name without the types that enclose it. A text that does not contain it has no definition of it.
    #[must_use]
    pub fn last_part(&self) -> &str {
        &self.name
    }

    /// Finds the definitions of this name in a text.
    #[must_use]
    pub fn find_in(&self, path: &str, text: &str) -> Vec<LineRange> {
        let found = list_definitions(path, text);
        let means = found.iter().filter(|definition| self.means(definition, path));
        means
            .map(|definition| LineRange {
                first: definition.first_line,
                last: definition.last_line,
            })
            .collect()
    }

    fn means(&self, found: &Definition, path: &str) -> bool {
        // `module.function` names the file in some languages.
        let stem = path.rsplit('/').next().and_then(|name| name.split('.').next());
        let around = |part: &String| {
            found.inside.contains(part)
                || stem == Some(part.as_str())
                || path.split('/').any(|folder| folder == part)
        };
        found.name == self.name && !found.extends && self.inside.iter().all(around)
    }
}

/// Maximum number of similar names. More do not help.
const MOST_NEAR: usize = 3;

/// Returns the names that are most similar to one, the best first.
#[must_use]
pub fn nearest_names<'n>(wanted: &str, names: impl Iterator<Item = &'n str>) -> Vec<&'n str> {
    let wanted = wanted.to_lowercase();
    let limit = (wanted.chars().count() / 3).max(1);
    let mut near: Vec<(usize, &str)> = names
        .filter_map(|name| {
            let small = name.to_lowercase();
            let distance = count_edits(&wanted, &small, limit);
            // A name that contains the wanted one is similar however long it is.
            let contains = wanted.len() > 3 && small.contains(&wanted);
            distance
                .or(contains.then_some(limit))
                .map(|distance| (distance, name))
        })
        .collect();
    near.sort_unstable();
    near.dedup();
    near.into_iter().take(MOST_NEAR).map(|(_, name)| name).collect()
}

/// Counts the letters that must be added, removed or replaced to make one word of another. `None` if there are more than
/// `limit`.
fn count_edits(one: &str, other: &str, limit: usize) -> Option<usize> {
    let other: Vec<char> = other.chars().collect();
    if one.chars().count().abs_diff(other.len()) > limit {
        return None;
    }
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (at, letter) in one.chars().enumerate() {
        let mut next = vec![at + 1];
        for ((known, above), diagonal) in other.iter().zip(row.iter().skip(1)).zip(&row) {
            let left = next.last().copied().unwrap_or(0);
            let replaced = diagonal + usize::from(*known != letter);
            next.push(replaced.min(above + 1).min(left + 1));
        }
        row = next;
    }
    row.last().copied().filter(|edits| *edits <= limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_finds_its_definitions_and_a_type_limits_them() {
        let text = "struct Shop;\nimpl Shop {\n    fn open() {\n        go();\n    }\n}\nfn open() {\n    go();\n}\n";
        let cases = [
            ("open", vec![(3, 5), (7, 9)]),
            ("Shop::open", vec![(3, 5)]),
            ("shop.open()", vec![(3, 5), (7, 9)]),
            ("Shop", vec![(1, 1)]),
            ("Other::open", vec![]),
            ("go", vec![]),
        ];
        for (name, expected) in cases {
            let found = SymbolName::parse(name).unwrap().find_in("src/shop.rs", text);
            let found: Vec<(usize, usize)> = found.iter().map(|range| (range.first, range.last)).collect();
            assert_eq!(found, expected, "{name}");
        }
        for odd in ["", "a b", "a-b", "::", "a/b"] {
            assert_eq!(SymbolName::parse(odd), None, "{odd}");
        }
    }

    #[test]
    fn names_with_a_typing_error_or_more_words_are_near() {
        let names = ["parse_hunk", "parse_hunks", "parse", "land", "Parse_Hunk_All"];
        let near = nearest_names("parse_hunl", names.into_iter());
        assert_eq!(near, ["parse_hunk", "parse_hunks"]);
        let near = nearest_names("hunk", names.into_iter());
        assert_eq!(near, ["Parse_Hunk_All", "parse_hunk", "parse_hunks"]);
        assert!(nearest_names("zzzzzz", names.into_iter()).is_empty());
    }
}
