//! Which part of a project a path belongs to.
//!
//! Owns: the parts and how a path is asked for them; `table` has the names. Never: what may be done to them; rules
//! say that. A name counts whether or not the file exists yet.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod names;
mod table;

use names::Names;
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
    names: Names,
    /// What a name is not part of, though it looks so.
    exceptions: Names,
}

impl TouchTable {
    pub(crate) fn new() -> Self {
        Self {
            names: names(TABLE),
            exceptions: names(EXCEPTIONS),
        }
    }

    /// What a folded path belongs to.
    pub(crate) fn of(&self, folded: &str) -> Touches {
        let named = self.names.of(folded);
        if named == Touches::default() {
            return named;
        }
        named.without(self.exceptions.of(folded))
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

fn names(table: &[(Touch, &'static [&'static str])]) -> Names {
    let mut names = Names::default();
    for (touch, patterns) in table {
        let owner: Touches = [*touch].into_iter().collect();
        for pattern in *patterns {
            names.add(pattern, owner);
        }
    }
    names
}
