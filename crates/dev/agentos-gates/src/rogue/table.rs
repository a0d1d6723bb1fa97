//! The tables of the rogue: kinds of holes with their cases, and runs with their expected ends.
//!
//! Owns: reading `caches.toml`, `classes.toml`, `runs.toml` and `widening.toml` in `scripts/rogue`. Never: judges a run.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::widening::NameSource;
use crate::error::GateError;

const CLASSES: &str = include_str!("../../../../../scripts/rogue/classes.toml");
const CACHES: &str = include_str!("../../../../../scripts/rogue/caches.toml");
const WIDENING: &str = include_str!("../../../../../scripts/rogue/widening.toml");
const RUNS: &str = include_str!("../../../../../scripts/rogue/runs.toml");

/// A kind of hole, where it was reported, and its cases.
#[derive(Debug, Deserialize)]
pub(super) struct HoleClass {
    name: String,
    reported: String,
    cases: Vec<String>,
}

impl HoleClass {
    /// Returns a message for each case that was not made.
    pub(super) fn missing_cases(&self, made: &BTreeSet<&str>) -> Vec<String> {
        let (name, reported) = (&self.name, &self.reported);
        let missing = self.cases.iter().filter(|case| !made.contains(case.as_str()));
        missing
            .map(|case| format!("{name} ({reported}): no case `{case}`"))
            .collect()
    }
}

/// Reads all kinds of holes.
pub(super) fn hole_classes() -> Result<Vec<HoleClass>, GateError> {
    #[derive(Deserialize)]
    struct ClassTable {
        class: Vec<HoleClass>,
    }
    Ok(toml::from_str::<ClassTable>(CLASSES)?.class)
}

/// Runs whose checks have one name.
#[derive(Debug, Deserialize)]
pub(super) struct RunGroup {
    pub(super) name: String,
    /// True if its runs are made before the attempts, which damage the repository where nothing confines them.
    #[serde(default)]
    pub(super) is_first: bool,
    pub(super) runs: Vec<RunRow>,
}

/// A run and its expected end; a field that is absent is not checked.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RunRow {
    pub(super) id: String,
    pub(super) mode: Option<String>,
    pub(super) program: Option<Vec<String>>,
    pub(super) flags: Vec<String>,
    pub(super) lands: bool,
    pub(super) refused: bool,
    pub(super) recorded: bool,
    pub(super) needs: Option<String>,
    pub(super) status: Option<String>,
    pub(super) outcome: Option<String>,
    pub(super) code: Option<String>,
    pub(super) touched: Option<Vec<String>>,
    pub(super) added: Option<Vec<String>>,
}

/// Reads the groups of runs, in order.
pub(super) fn run_groups() -> Result<Vec<RunGroup>, GateError> {
    #[derive(Deserialize)]
    struct GroupTable {
        group: Vec<RunGroup>,
    }
    Ok(toml::from_str::<GroupTable>(RUNS)?.group)
}

/// The forged caches.
#[derive(Debug, Deserialize)]
pub(super) struct ForgedCaches {
    #[serde(rename = "unsafe")]
    pub(super) unsafe_folders: Vec<UnsafeFolder>,
    pub(super) links: Vec<ForgedLink>,
}

/// A folder that another user could have written to.
#[derive(Debug, Deserialize)]
pub(super) struct UnsafeFolder {
    pub(super) id: String,
    pub(super) place: String,
    pub(super) fault: FolderFault,
}

/// The reason why another user could have written to a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum FolderFault {
    /// The folder belongs to another user.
    Foreign,
    /// The folder is a link.
    Link,
    /// The folder has this mode.
    Mode(u32),
}

/// A link in a cache that only its owner can write to.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ForgedLink {
    pub(super) id: String,
    pub(super) gone: Option<String>,
    pub(super) file: Option<String>,
    pub(super) text: String,
    pub(super) at: String,
    pub(super) to: String,
}

/// Reads the caches to forge.
pub(super) fn forged_caches() -> Result<ForgedCaches, GateError> {
    Ok(toml::from_str(CACHES)?)
}

/// Reads the sources by which a repository names files of the user's.
pub(super) fn name_sources() -> Result<Vec<NameSource>, GateError> {
    #[derive(Deserialize)]
    struct SourceTable {
        source: Vec<NameSource>,
    }
    Ok(toml::from_str::<SourceTable>(WIDENING)?.source)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_are_as_long_as_ever_and_every_run_has_an_end() {
        let classes = hole_classes().unwrap();
        let cases: usize = classes.iter().map(|class| class.cases.len()).sum();
        assert_eq!((classes.len(), cases), (34, 148));
        let groups = run_groups().unwrap();
        let counts: Vec<usize> = groups.iter().map(|group| group.runs.len()).collect();
        assert_eq!(counts, [13, 13, 3, 19]);
        let caches = forged_caches().unwrap();
        assert_eq!((caches.unsafe_folders.len(), caches.links.len()), (14, 10));
        for run in groups.iter().flat_map(|group| &group.runs) {
            let stated = [
                run.status.is_some(),
                run.outcome.is_some(),
                run.touched.is_some(),
                run.added.is_some(),
                run.refused,
                run.recorded,
            ];
            assert_eq!(
                stated.iter().filter(|is_stated| **is_stated).count(),
                1,
                "{run:?}"
            );
            assert_eq!(run.outcome.is_some(), run.code.is_some(), "{run:?}");
        }
    }

    #[test]
    fn a_kind_whose_case_was_not_made_is_named() {
        let class = HoleClass {
            name: "a kind".to_owned(),
            reported: "somewhere".to_owned(),
            cases: vec!["made".to_owned(), "not".to_owned()],
        };
        assert_eq!(
            class.missing_cases(&BTreeSet::from(["made"])),
            ["a kind (somewhere): no case `not`"]
        );
    }
}
