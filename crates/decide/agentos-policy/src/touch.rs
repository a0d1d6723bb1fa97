//! The part of a project that a path belongs to.
//!
//! Owns: the parts, and finding them for a path by the table `names.tsv`. Never: decides what may be done to them; rules
//! do. A name counts whether or not the file exists yet: creating a CI workflow is as serious as editing one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod names;
mod short;

/// SHA-256 of the table.
const DIGEST: &str = include_str!("touch/names.sha256");

/// Part of a project for which a policy may need a rule of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Touch {
    /// Manifests and lock files of package managers.
    Dependencies,
    /// Lock files of package managers.
    LockFiles,
    /// Continuous integration, and files that say who must review.
    Ci,
    /// Files that run when the project is built.
    Build,
    /// Files that git starts, for example at a commit.
    Hooks,
    /// Instructions and settings of coding agents.
    Agents,
    /// Settings of editors and their tasks.
    Editor,
    /// AgentOS's own policy and settings, and continuous integration that calls it.
    Policy,
    /// Files that change how git treats other files.
    GitAttributes,
    /// Licence texts.
    Licence,
    /// Tests.
    Tests,
    /// Files that usually hold keys.
    SecretsFiles,
    /// Files that a program writes, recognised by their name or by a mark at their beginning.
    Generated,
    /// Copies of other people's code.
    Vendored,
    /// Settings that tell scanners and other checks what to look for and what to ignore.
    Scanners,
    /// Hidden files and folders at the top of the repository that are not known to be harmless: tools keep settings
    /// there, and new tools do so each month.
    Hidden,
}

impl Touch {
    /// All parts.
    const ALL: [Self; 16] = [
        Self::Dependencies,
        Self::LockFiles,
        Self::Ci,
        Self::Build,
        Self::Hooks,
        Self::Agents,
        Self::Editor,
        Self::Policy,
        Self::GitAttributes,
        Self::Licence,
        Self::Tests,
        Self::SecretsFiles,
        Self::Generated,
        Self::Vendored,
        Self::Scanners,
        Self::Hidden,
    ];

    /// Returns the word used in JSON, in rules and on the screen.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Dependencies => "dependencies",
            Self::LockFiles => "lock-files",
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
            Self::Generated => "generated",
            Self::Vendored => "vendored",
            Self::Scanners => "scanners",
            Self::Hidden => "hidden",
        }
    }

    fn bit(self) -> u64 {
        1 << (self as u32)
    }
}

/// Package manager, by the manifests and lock files that it reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Ecosystem {
    /// Rust.
    Cargo,
    /// JavaScript and TypeScript: npm, yarn, pnpm, bun, deno.
    Npm,
    /// Python: pip, Poetry, uv, PDM, Pixi, conda.
    Python,
    /// Go.
    Go,
    /// Ruby.
    Ruby,
    /// PHP.
    Php,
    /// Java, Kotlin, Scala, Clojure.
    Jvm,
    /// .NET.
    Dotnet,
    /// Swift and Objective-C.
    Apple,
    /// Dart and Flutter.
    Dart,
    /// Elixir.
    Elixir,
    /// Haskell.
    Haskell,
    /// C and C++.
    Cpp,
    /// Zig.
    Zig,
    /// Nix.
    Nix,
    /// Tools of a whole machine: mise, asdf, devbox, Homebrew.
    Machine,
}

impl Ecosystem {
    /// Returns the bit of the ecosystem, above those of [`Touch`].
    const ALL: [Self; 16] = [
        Self::Cargo,
        Self::Npm,
        Self::Python,
        Self::Go,
        Self::Ruby,
        Self::Php,
        Self::Jvm,
        Self::Dotnet,
        Self::Apple,
        Self::Dart,
        Self::Elixir,
        Self::Haskell,
        Self::Cpp,
        Self::Zig,
        Self::Nix,
        Self::Machine,
    ];

    fn as_str(self) -> &'static str {
        match self {
            Self::Cargo => "cargo",
            Self::Npm => "npm",
            Self::Python => "python",
            Self::Go => "go",
            Self::Ruby => "ruby",
            Self::Php => "php",
            Self::Jvm => "jvm",
            Self::Dotnet => "dotnet",
            Self::Apple => "apple",
            Self::Dart => "dart",
            Self::Elixir => "elixir",
            Self::Haskell => "haskell",
            Self::Cpp => "cpp",
            Self::Zig => "zig",
            Self::Nix => "nix",
            Self::Machine => "machine",
        }
    }

    fn bit(self) -> u64 {
        1 << (32 + self as u32)
    }
}

/// Set of [`Touch`] and [`Ecosystem`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct TouchSet(u64);

impl TouchSet {
    pub(crate) fn insert(&mut self, touch: Touch) {
        self.0 |= touch.bit();
    }

    /// Returns the parts that a path may belong to under names that were not looked at: each part whose files take
    /// effect by themselves.
    pub(crate) fn of_unknown_names() -> Self {
        [
            Touch::Ci,
            Touch::Build,
            Touch::Hooks,
            Touch::Agents,
            Touch::Editor,
        ]
        .into_iter()
        .collect()
    }

    /// Returns the parts whose files tell a tool what to do or hold keys.
    fn of_settings() -> Self {
        let settings = [
            Touch::Dependencies,
            Touch::Policy,
            Touch::GitAttributes,
            Touch::SecretsFiles,
            Touch::Scanners,
        ];
        let settings: Self = settings.into_iter().collect();
        settings.union(Self::of_unknown_names())
    }

    /// Returns the set of one word of the table. Empty for an unknown word.
    fn of_word(word: &str) -> Self {
        let touches = Touch::ALL.into_iter().filter(|touch| touch.as_str() == word);
        let ecosystems = Ecosystem::ALL.into_iter().filter(|one| one.as_str() == word);
        touches.collect::<Self>().union(ecosystems.collect())
    }

    pub(crate) fn contains(self, touch: Touch) -> bool {
        self.0 & touch.bit() != 0
    }

    pub(crate) fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) fn difference(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    pub(crate) fn intersects(self, wanted: Self) -> bool {
        self.0 & wanted.0 != 0
    }

    /// Returns the words of the parts, sorted.
    pub(crate) fn part_names(self) -> Vec<String> {
        let touched = Touch::ALL.into_iter().filter(|touch| self.contains(*touch));
        let mut words: Vec<String> = touched.map(|touch| touch.as_str().to_owned()).collect();
        words.sort();
        words
    }
}

impl FromIterator<Touch> for TouchSet {
    fn from_iter<I: IntoIterator<Item = Touch>>(from: I) -> Self {
        let mut set = Self::default();
        from.into_iter().for_each(|touch| set.insert(touch));
        set
    }
}

impl FromIterator<Ecosystem> for TouchSet {
    fn from_iter<I: IntoIterator<Item = Ecosystem>>(from: I) -> Self {
        Self(from.into_iter().fold(0, |bits, one| bits | one.bit()))
    }
}

/// Returns what a folded path belongs to, by its own name or by a long name that it may abbreviate (`GITHUB~1`).
pub(crate) fn touches_of(folded: &str) -> TouchSet {
    let (added, taken) = names::look_up(folded);
    let found = added.union(short::touches_of(folded)).difference(taken);
    // Nothing more than a hidden name is known of such a file. A better reason replaces this one.
    let hidden: TouchSet = [Touch::Hidden].into_iter().collect();
    if found.difference(hidden).intersects(TouchSet::of_settings()) {
        found.difference(hidden)
    } else {
        found
    }
}

/// Returns the digest of the table, which is part of the policy's digest: with other names the policy is another one,
/// and a consent is bound to it.
pub(crate) fn table_digest() -> &'static str {
    DIGEST.trim_ascii_end()
}
