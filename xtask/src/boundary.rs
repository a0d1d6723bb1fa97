//! The gate `boundary`: does the source tree still follow the tables of `rules.toml`?
//!
//! Owns: the list of checks, and reading the source tree for them. Never: changes anything, or judges the running product;
//! the other gates do that.

mod bans;
mod closure;
mod documents;
mod house;
mod layers;
mod manifests;
mod places;
mod tidy;
pub mod words;

use std::collections::BTreeMap;

use agentos_verdict::Check;
use anyhow::Result;
use xshell::{Shell, cmd};

use crate::metadata::Metadata;
use crate::rules::{self, RULES};

/// Folder of the crates that only builds and tests use.
const DEV: &str = "crates/dev/";

/// The source tree as the checks see it, read once.
#[derive(Default)]
pub struct Tree {
    /// Packages and dependencies, as cargo reports them.
    pub metadata: Metadata,
    /// Text of every Rust and TOML file and of every guide, by its path from the top of the repository.
    pub texts: BTreeMap<String, String>,
    /// Every file that is committed or would be with `git add`.
    pub files: Vec<String>,
    /// A message for each file that could not be read.
    pub unreadable: Vec<String>,
}

// A function for each check, so that the order of the list is the order in the evidence, and a test compares
// both with `gates.toml`.
type Rule = fn(&Tree) -> Vec<String>;

/// Every check by its id; `gates.toml` has its name.
const CHECKS: &[(&str, Rule)] = &[
    ("layers", layers::check_dependencies),
    ("owners", layers::check_owners),
    ("closure", closure::check_pure),
    ("reach", closure::check_unreachable),
    ("features", closure::check_features),
    ("packages", manifests::check_manifests),
    ("bans", bans::check_grants),
    ("silencers", bans::check_silencers),
    ("places", places::check_places),
    ("tables", |_| rules::find_doubled(rules::TEXT)),
    ("tidy", tidy::check_files),
    ("words", words::check_words),
    ("house", house::check_house),
    ("top-level", tidy::check_top_level),
    ("documents", documents::check_documents),
];

/// Returns the ids of the checks, in order.
#[cfg(test)]
pub fn check_ids() -> Vec<&'static str> {
    CHECKS.iter().map(|(id, _)| *id).collect()
}

/// Runs every check; `names` has the name of each check by its id.
///
/// # Errors
/// When the rules or the source tree cannot be read, so that nothing was judged.
pub fn run(sh: &Shell, names: &BTreeMap<&str, &str>) -> Result<Vec<Check>> {
    // `RULES` is empty if the file cannot be read, and empty tables would let everything pass.
    rules::read()?;
    let tree = Tree::load(sh)?;
    let judged = CHECKS.iter().map(|(id, rule)| {
        let details = rule(&tree);
        // A check without a name in `gates.toml` shows its id; the test in `gates.rs` reports the missing name.
        let held = Check::new(*id, names.get(id).unwrap_or(id), details.is_empty(), "");
        Check { details, ..held }
    });
    Ok(judged.collect())
}

impl Tree {
    /// Reads all files that git tracks or would track. Build products and evidence are ignored files.
    ///
    /// # Errors
    /// When git or cargo cannot be run.
    fn load(sh: &Shell) -> Result<Self> {
        // `-z`: without it, git puts unusual names in quotes. Untracked files count too, since they are about to be committed.
        let listed = cmd!(sh, "git ls-files -z --cached --others --exclude-standard")
            .quiet()
            .read()?;
        let mut files: Vec<String> = listed.split('\0').map(str::to_owned).collect();
        files.retain(|name| !name.is_empty());
        files.sort();
        // An unmerged file is listed once for each side of the conflict.
        files.dedup();
        let (mut texts, mut unreadable) = (BTreeMap::new(), Vec::new());
        for file in files
            .iter()
            .filter(|file| file.ends_with(".rs") || file.ends_with(".toml") || documents::is_guide(file))
        {
            match sh.read_file(file) {
                Ok(text) => drop(texts.insert(file.clone(), text)),
                // A file that is deleted but still in the index is listed and cannot be read; `tidy` reports it.
                Err(error) => unreadable.push(format!("`{file}` cannot be read: {error}")),
            }
        }
        let metadata = Metadata::load(sh)?;
        Ok(Self {
            metadata,
            texts,
            files,
            unreadable,
        })
    }

    /// Iterates over the Rust files with their texts, except the recorded data of tests.
    fn sources(&self) -> impl Iterator<Item = (&str, &str)> {
        self.texts
            .iter()
            .map(|(file, text)| (file.as_str(), text.as_str()))
            // Recorded data includes hostile Rust files, which break the rules on purpose.
            .filter(|(file, _)| file.ends_with(".rs") && !file.starts_with(RULES.fixtures))
    }

    /// Parses a TOML file of the tree.
    ///
    /// # Errors
    /// When the tree has no such file or it is not TOML.
    fn parse_toml(&self, file: &str) -> Result<toml::Table, String> {
        let text = self
            .texts
            .get(file)
            .ok_or_else(|| format!("`{file}` is missing"))?;
        let table: Result<toml::Table, toml::de::Error> = text.parse();
        table.map_err(|error| format!("`{file}` is not TOML: {}", error.message()))
    }

    /// Returns the folder of a member, from the top of the repository.
    fn member_folder(&self, manifest_path: &str) -> String {
        let relative = manifest_path
            .strip_prefix(&self.metadata.workspace_root)
            .unwrap_or(manifest_path);
        relative
            .trim_start_matches('/')
            .trim_end_matches("Cargo.toml")
            .trim_end_matches('/')
            .to_owned()
    }
}

#[cfg(test)]
pub mod doctored {
    //! Small invented trees for the tests of the checks.

    use serde_json::json;

    use super::{Metadata, Tree};

    /// A member: its name, its layer, and name and kind of each dependency.
    pub type TestMember<'a> = (&'a str, serde_json::Value, &'a [(&'a str, Option<&'a str>)]);

    /// Creates a workspace of these members; every dependency resolves to a package of the same name.
    pub fn workspace(members: &[TestMember<'_>]) -> Tree {
        let mut packages = Vec::new();
        let mut nodes = Vec::new();
        let mut names: Vec<&str> = members.iter().map(|(name, ..)| *name).collect();
        for (name, layer, deps) in members {
            let declared: Vec<_> = deps
                .iter()
                .map(|(name, kind)| json!({"name": name, "kind": kind}))
                .collect();
            let edges: Vec<_> = deps
                .iter()
                .map(|(name, kind)| json!({"pkg": name, "dep_kinds": [{"kind": kind}]}))
                .collect();
            packages.push(json!({
                "name": name, "id": name, "manifest_path": format!("/w/crates/words/{name}/Cargo.toml"),
                "dependencies": declared, "metadata": {"agentos": {"layer": layer}},
            }));
            nodes.push(json!({"id": name, "deps": edges}));
            names.extend(deps.iter().map(|(name, _)| *name));
        }
        names.sort_unstable();
        names.dedup();
        for name in names {
            if !members.iter().any(|(member, ..)| *member == name) {
                packages.push(json!({
                    "name": name, "id": name, "manifest_path": "/elsewhere/Cargo.toml", "dependencies": [],
                }));
            }
        }
        let ids: Vec<_> = members.iter().map(|(name, ..)| *name).collect();
        let metadata: Metadata = serde_json::from_value(json!({
            "packages": packages, "workspace_members": ids, "resolve": {"nodes": nodes},
            "workspace_root": "/w", "target_directory": "/w/target",
        }))
        .unwrap();
        Tree {
            metadata,
            ..files(&[])
        }
    }

    /// Creates a tree of these files.
    pub fn files(files: &[(&str, &str)]) -> Tree {
        Tree {
            texts: files
                .iter()
                .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))
                .collect(),
            files: files.iter().map(|(name, _)| (*name).to_owned()).collect(),
            ..Tree::default()
        }
    }

    /// Returns true if one of the problems contains this text.
    pub fn says(problems: &[String], text: &str) -> bool {
        problems.iter().any(|problem| problem.contains(text))
    }
}
