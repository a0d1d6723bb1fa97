//! The names of the table, written out and sorted for the program.
//!
//! Owns: deriving `written.rs` from `table.rs`, and the test that the two agree. Never: part of the program.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::Touches;
use super::names::{first_bit, slashes};
use super::table::{EXCEPTIONS, Row, TABLE, rows};
use crate::plain::{Place, placed};
use crate::{derived, glob};

/// The sections of a table.
type Sections = &'static [&'static [Row]];

const HEADER: &str = "\
//! The names of `table.rs`, written out and sorted. Do not edit it: change the table, then write this file again with
//! `AGENTOS_UPDATE=1 cargo test -p agentos-policy`.
//!
//! Owns: the alternatives of each pattern as names of their own. Never: says anything that the table does not.

use super::Touches;
use super::names::{Names, group, starred};
use crate::plain::Place::{End, Inside, Top, Whole};
";

/// Names by place and length.
type Groups = BTreeMap<(Place, usize), BTreeMap<String, Touches>>;

#[derive(Default)]
struct Sorted {
    plain: Groups,
    endings: Groups,
    starred: BTreeMap<(Place, usize, u8, String), Touches>,
    firsts: [u128; 4],
    parts: usize,
}

impl Sorted {
    fn of(sections: Sections) -> Self {
        let mut sorted = Self::default();
        for (parts, _, patterns) in rows(sections) {
            let owner: Touches = parts.iter().copied().collect();
            for pattern in *patterns {
                for one in glob::write_out(pattern, usize::MAX).unwrap() {
                    let (place, name) = placed(&one);
                    sorted.add(place, name, owner);
                }
            }
        }
        sorted
    }

    fn add(&mut self, place: Place, name: &str, owner: Touches) {
        self.parts = self.parts.max(slashes(name) + 1);
        let ending = name
            .strip_prefix('*')
            .filter(|rest| place == Place::End && rest.starts_with('.') && !rest.contains(['*', '/']));
        let to = if let Some(ending) = ending {
            let group = self.endings.entry((place, ending.len())).or_default();
            group.entry(ending.to_owned()).or_default()
        } else if name.contains('*') {
            let first = name.bytes().next().unwrap();
            self.firsts[place as usize] |= first_bit(first);
            let key = (place, slashes(name), first, name.to_owned());
            self.starred.entry(key).or_default()
        } else {
            let group = self.plain.entry((place, name.len())).or_default();
            group.entry(name.to_owned()).or_default()
        };
        *to = to.union(owner);
    }

    /// Everything that a name stands for, once.
    fn sets(&self) -> Vec<u64> {
        let groups = self.plain.values().chain(self.endings.values());
        let owners = groups.flat_map(BTreeMap::values).chain(self.starred.values());
        let sets: BTreeSet<u64> = owners.map(|owner| owner.0).collect();
        sets.into_iter().collect()
    }

    fn write(&self, name: &str) -> String {
        let sets = self.sets();
        let owner = |of: &Touches| sets.binary_search(&of.0).unwrap().to_string();
        let mut text = format!("\n#[rustfmt::skip]\npub(super) static {name}: Names = Names {{\n");
        for (field, groups) in [("plain", &self.plain), ("endings", &self.endings)] {
            let _ = writeln!(text, "    {field}: &[");
            for ((place, length), names) in groups {
                let owners = list(names.values().map(owner));
                let quoted = list(names.keys().map(|name| format!("{name:?}")));
                let quoted = match names.len() {
                    1 => quoted,
                    _ => format!("concat!({quoted})"),
                };
                flow(
                    &mut text,
                    &format!("group({place:?}, {length}, {quoted}, &[{owners}]),"),
                );
            }
            text.push_str("    ],\n");
        }
        let starred = self.starred.iter().map(|((place, slashes, first, name), of)| {
            let first = char::from(*first);
            format!(
                "starred({place:?}, {slashes}, b'{first}', {name:?}, {})",
                owner(of)
            )
        });
        text.push_str("    starred: &[\n");
        flow(&mut text, &list(starred));
        text.push_str("    ],\n    firsts: [\n");
        flow(&mut text, &list(self.firsts.iter().map(|bits| hex(*bits))));
        let _ = write!(text, "    ],\n    parts: {},\n    sets: &[\n", self.parts);
        let sets = sets
            .iter()
            .map(|set| format!("Touches({})", hex(u128::from(*set))));
        flow(&mut text, &list(sets));
        text + "    ],\n};\n"
    }
}

fn list(items: impl Iterator<Item = String>) -> String {
    items.collect::<Vec<_>>().join(", ")
}

/// A number in groups of four digits.
fn hex(number: u128) -> String {
    let digits = format!("{number:x}");
    let groups: Vec<_> = digits.as_bytes().rchunks(4).rev().collect();
    let groups: Vec<_> = groups
        .into_iter()
        .map(|group| std::str::from_utf8(group).unwrap())
        .collect();
    format!("0x{}", groups.join("_"))
}

/// Breaks a text into lines. No name has a space.
fn flow(text: &mut String, words: &str) {
    let mut line = "       ".to_owned();
    for word in words.split(' ') {
        if line.len() + word.len() >= 260 {
            text.push_str(&line);
            text.push('\n');
            line = "           ".to_owned();
        }
        line.push(' ');
        line.push_str(word);
    }
    text.push_str(&line);
    text.push('\n');
}

/// Of the patterns and what they stand for; where they were found is no part of it.
fn digest() -> String {
    let mut text = String::new();
    for (sign, table) in [("", TABLE), ("not ", EXCEPTIONS)] {
        for (parts, _, patterns) in rows(table) {
            let _ = writeln!(text, "{sign}{parts:?} {patterns:?}");
        }
    }
    crate::digest::hash([text.as_str()])
}

#[test]
fn the_written_names_are_those_of_the_table() {
    let tables = [("NAMES", TABLE), ("EXCEPTIONS", EXCEPTIONS)];
    let written = tables.map(|(name, rows)| Sorted::of(rows).write(name));
    let digest = digest();
    let derived = format!(
        "{HEADER}\n/// SHA-256 of what the table says: its names, and what each stands for.\npub(super) const DIGEST: &str = {digest:?};\n{}",
        written.concat()
    );
    let is_fresh = include_str!("written.rs") == derived;
    derived::check("src/touch/written.rs", is_fresh, &derived);
}
