//! Which part of a project a path belongs to.
//!
//! Owns: the parts and how a path is asked for them; `table` has the names. Never: what may be done to them; rules
//! say that. A name counts whether or not the file exists yet.

use std::fmt::Write as _;

use globset::{GlobSet, GlobSetBuilder};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::glob;

mod table;

use table::{EXCEPTIONS, TABLE};

/// A part of a project that deserves a rule of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Touch {
    /// Manifests and lock files of package managers.
    Dependencies,
    /// Continuous integration, and who must review.
    Ci,
    /// What runs when the project is built.
    Build,
    /// What git or a commit starts.
    Hooks,
    /// Instructions and settings of coding agents.
    Agents,
    /// Settings of editors and their tasks.
    Editor,
    /// AgentOS's own policy and settings.
    Policy,
    /// Files that change how git treats other files.
    GitAttributes,
    /// Licence texts.
    Licence,
    /// Tests.
    Tests,
    /// Files that usually hold keys.
    SecretsFiles,
}

impl Touch {
    /// The word used in JSON, in rules and on the screen.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Dependencies => "dependencies",
            Self::Ci => "ci",
            Self::Build => "build",
            Self::Hooks => "hooks",
            Self::Agents => "agents",
            Self::Editor => "editor",
            Self::Policy => "policy",
            Self::GitAttributes => "git-attributes",
            Self::Licence => "licence",
            Self::Tests => "tests",
            Self::SecretsFiles => "secrets-files",
        }
    }

    fn bit(self) -> u32 {
        1 << (self as u32)
    }
}

/// A set of [`Touch`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Touches(u32);

impl Touches {
    pub(crate) fn insert(&mut self, touch: Touch) {
        self.0 |= touch.bit();
    }

    pub(crate) fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    pub(crate) fn meets(self, wanted: Self) -> bool {
        self.0 & wanted.0 != 0
    }

    /// The words, sorted.
    pub(crate) fn words(self) -> Vec<String> {
        let mut words: Vec<String> = TABLE
            .iter()
            .filter(|(touch, _)| self.0 & touch.bit() != 0)
            .map(|(touch, _)| touch.as_str().to_owned())
            .collect();
        words.sort();
        words
    }
}

impl FromIterator<Touch> for Touches {
    fn from_iter<I: IntoIterator<Item = Touch>>(from: I) -> Self {
        let mut set = Self::default();
        from.into_iter().for_each(|touch| set.insert(touch));
        set
    }
}

/// The table, ready to be asked.
#[derive(Debug, Clone)]
pub(crate) struct TouchTable {
    globs: GlobSet,
    owners: Vec<Touch>,
    exceptions: GlobSet,
    /// For each exception, the part that it is not of.
    excepted: Vec<Touch>,
}

impl TouchTable {
    /// # Errors
    /// Never for the table as it stands; a test compiles it.
    pub(crate) fn compile() -> Result<Self, globset::Error> {
        let (globs, owners) = compile(TABLE)?;
        let (exceptions, excepted) = compile(EXCEPTIONS)?;
        Ok(Self {
            globs,
            owners,
            exceptions,
            excepted,
        })
    }

    /// What a folded path belongs to.
    pub(crate) fn of(&self, candidate: &globset::Candidate<'_>) -> Touches {
        let named = matching(&self.globs, &self.owners, candidate);
        if named == Touches::default() {
            return named;
        }
        named.without(matching(&self.exceptions, &self.excepted, candidate))
    }

    /// The table as text, for the policy's hash: other names are another policy.
    pub(crate) fn text() -> String {
        let mut text = String::new();
        for (touch, patterns) in TABLE {
            let _ = writeln!(text, "{} {patterns:?}", touch.as_str());
        }
        for (touch, patterns) in EXCEPTIONS {
            let _ = writeln!(text, "not {} {patterns:?}", touch.as_str());
        }
        text
    }
}

fn compile(table: &[(Touch, &[&str])]) -> Result<(GlobSet, Vec<Touch>), globset::Error> {
    let mut globs = GlobSetBuilder::new();
    let mut owners = Vec::new();
    for (touch, patterns) in table {
        for pattern in *patterns {
            for glob in glob::compile(pattern)? {
                globs.add(glob);
                owners.push(*touch);
            }
        }
    }
    Ok((globs.build()?, owners))
}

fn matching(globs: &GlobSet, owners: &[Touch], candidate: &globset::Candidate<'_>) -> Touches {
    globs
        .matches_candidate(candidate)
        .into_iter()
        .filter_map(|index| owners.get(index).copied())
        .collect()
}
