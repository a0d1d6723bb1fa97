//! The boundary gate: is the house still built the way its tables say?
//!
//! Owns: the list of checks and reading the tree for them. Never: changes anything, or looks at what the
//! product does when it runs; `tl_r2_*` do that.

mod bans;
mod closure;
mod layers;
mod manifests;
mod places;
mod tidy;

use std::collections::BTreeMap;

use agentos_verdict::Check;
use anyhow::Result;
use xshell::{Shell, cmd};

use crate::metadata::Metadata;
use crate::rules::{self, RULES};

/// The folder of what only builds and tests use.
const DEV: &str = "crates/dev/";

/// Everything the checks look at, read once.
#[derive(Default)]
pub struct Tree {
    /// From cargo.
    pub metadata: Metadata,
    /// Text of every Rust, TOML and Cargo file, by path from the top of the repository.
    pub texts: BTreeMap<String, String>,
    /// Every file that is committed or could be.
    pub files: Vec<String>,
    /// Files that could not be read, with the reason.
    pub unreadable: Vec<String>,
}

type Rule = fn(&Tree) -> Vec<String>;

/// Every check by its id; what it is called stands in `gates.toml`.
const CHECKS: &[(&str, Rule)] = &[
    ("layers", layers::arrows),
    ("owners", layers::owners),
    ("closure", closure::check),
    ("reach", closure::reach),
    ("features", closure::features),
    ("packages", manifests::check),
    ("bans", bans::grants),
    ("silencers", bans::silencers),
    ("places", places::check),
    ("tables", |_| rules::doubled(rules::TEXT)),
    ("tidy", tidy::files),
    ("top-level", tidy::top_level),
];

/// Returns the ids of the checks, in order.
#[cfg(test)]
pub fn ids() -> Vec<&'static str> {
    CHECKS.iter().map(|(id, _)| *id).collect()
}

/// Runs every check; `names` are those of the list of gates.
///
/// # Errors
/// When the rules or the tree cannot be read at all: then nothing was judged.
pub fn run(sh: &Shell, names: &BTreeMap<&str, &str>) -> Result<Vec<Check>> {
    rules::read()?;
    let tree = Tree::load(sh)?;
    let judged = CHECKS.iter().map(|(id, rule)| {
        let details = rule(&tree);
        let held = Check::new(*id, names.get(id).unwrap_or(id), details.is_empty(), "");
        Check { details, ..held }
    });
    Ok(judged.collect())
}

impl Tree {
    /// Reads what git tracks or would track; build products and evidence are ignored files.
    fn load(sh: &Shell) -> Result<Self> {
        let listed = cmd!(sh, "git ls-files -z --cached --others --exclude-standard")
            .quiet()
            .read()?;
        let mut files: Vec<String> = listed.split('\0').map(str::to_owned).collect();
        files.retain(|name| !name.is_empty());
        files.sort();
        files.dedup();
        let (mut texts, mut unreadable) = (BTreeMap::new(), Vec::new());
        for file in files
            .iter()
            .filter(|file| file.ends_with(".rs") || file.ends_with(".toml"))
        {
            match sh.read_file(file) {
                Ok(text) => drop(texts.insert(file.clone(), text)),
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

    /// The Rust files of the house, all but recorded data.
    fn sources(&self) -> impl Iterator<Item = (&str, &str)> {
        self.texts
            .iter()
            .map(|(file, text)| (file.as_str(), text.as_str()))
            .filter(|(file, _)| file.ends_with(".rs") && !file.starts_with(RULES.fixtures))
    }

    /// Reads a file of settings.
    fn toml(&self, file: &str) -> Result<toml::Table, String> {
        let text = self
            .texts
            .get(file)
            .ok_or_else(|| format!("`{file}` is missing"))?;
        let table: Result<toml::Table, toml::de::Error> = text.parse();
        table.map_err(|error| format!("`{file}` is not TOML: {}", error.message()))
    }

    /// The folder of a member, from the top of the repository.
    fn folder(&self, manifest_path: &str) -> String {
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
    //! Small made-up trees for the tests of the checks.

    use serde_json::json;

    use super::{Metadata, Tree};

    /// A member with its layer, and for each dependency its name and kind.
    pub type Member<'a> = (&'a str, serde_json::Value, &'a [(&'a str, Option<&'a str>)]);

    /// A workspace of these members; every dependency resolves to a package of the same name.
    pub fn workspace(members: &[Member<'_>]) -> Tree {
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

    /// A tree of these files.
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

    /// True when one of the problems holds this text.
    pub fn says(problems: &[String], text: &str) -> bool {
        problems.iter().any(|problem| problem.contains(text))
    }
}
