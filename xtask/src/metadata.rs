//! What cargo knows of the workspace.
//!
//! Owns: the few fields of `cargo metadata` that the gates read. Never: judges them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::Value;
use xshell::{Shell, cmd};

/// The resolved workspace.
#[derive(Debug, Default, Deserialize)]
pub struct Metadata {
    /// Members and everything they depend on.
    pub packages: Vec<Package>,
    /// Package ids of the members.
    pub workspace_members: Vec<String>,
    /// The resolved graph.
    pub resolve: Resolve,
    /// The folder of the workspace.
    pub workspace_root: String,
    /// Where cargo builds.
    pub target_directory: String,
}

/// One package.
#[derive(Debug, Default, Clone, Deserialize)]
pub struct Package {
    /// As in `agentos-tool`.
    pub name: String,
    /// Cargo's own id.
    pub id: String,
    /// Its `Cargo.toml`.
    pub manifest_path: String,
    /// What it declares.
    pub dependencies: Vec<Dependency>,
    /// `[package.metadata]`.
    #[serde(default)]
    pub metadata: Value,
}

/// One declared dependency.
#[derive(Debug, Default, Clone, Deserialize)]
pub struct Dependency {
    /// The package's name, whatever it is renamed to.
    pub name: String,
    /// None for a normal one, else `dev` or `build`.
    pub kind: Option<String>,
    /// The features asked for, here or in the workspace.
    #[serde(default)]
    pub features: Vec<String>,
    /// The crate's default features are on.
    #[serde(default)]
    pub uses_default_features: bool,
}

/// The resolved graph.
#[derive(Debug, Default, Deserialize)]
pub struct Resolve {
    /// One node a package: its id, and what it really uses with the features that are on.
    pub nodes: Vec<Value>,
}

impl Dependency {
    /// True for one that only tests use.
    pub fn is_dev(&self) -> bool {
        self.kind.as_deref() == Some("dev")
    }
}

impl Metadata {
    /// Asks cargo.
    ///
    /// # Errors
    /// When cargo cannot be run or says something else than expected.
    pub fn load(sh: &Shell) -> Result<Self> {
        let text = cmd!(sh, "cargo metadata --format-version 1").quiet().read()?;
        serde_json::from_str(&text).context("`cargo metadata` is not understood")
    }

    /// Returns the folder of debug builds.
    pub fn debug(&self) -> PathBuf {
        Path::new(&self.target_directory).join("debug")
    }

    /// The members, in the order of their names.
    pub fn members(&self) -> Vec<&Package> {
        let mut members: Vec<&Package> = self
            .packages
            .iter()
            .filter(|package| self.workspace_members.contains(&package.id))
            .collect();
        members.sort_by(|a, b| a.name.cmp(&b.name));
        members
    }

    /// Returns what others wrote, with the features that are on.
    pub fn features(&self) -> BTreeMap<&str, &Value> {
        let nodes = self.resolve.nodes.iter();
        let features = nodes.filter_map(|node| Some((node.get("id")?.as_str()?, node.get("features")?)));
        features.filter(|(id, _)| id.starts_with("registry+")).collect()
    }

    /// Every package that building the member itself needs (tests aside), each with the way that leads there.
    pub fn closure(&self, member: &str) -> BTreeMap<String, String> {
        let names: BTreeMap<&str, &str> = self
            .packages
            .iter()
            .map(|package| (package.id.as_str(), package.name.as_str()))
            .collect();
        let nodes = self.resolve.nodes.iter();
        let nodes: BTreeMap<&str, &Value> = nodes
            .filter_map(|node| Some((node.get("id")?.as_str()?, node)))
            .collect();
        let start = self.members().into_iter().find(|package| package.name == member);
        let mut found = BTreeMap::new();
        let mut open: Vec<(&str, String)> = start
            .map(|package| (package.id.as_str(), package.name.clone()))
            .into_iter()
            .collect();
        while let Some((id, way)) = open.pop() {
            let edges = nodes.get(id).and_then(|node| node.get("deps")?.as_array());
            for edge in edges.into_iter().flatten() {
                let kinds = edge
                    .get("dep_kinds")
                    .and_then(Value::as_array)
                    .into_iter()
                    .flatten();
                let used = kinds
                    .filter(|kind| kind.get("kind").and_then(Value::as_str) != Some("dev"))
                    .count()
                    > 0;
                let package = edge.get("pkg").and_then(Value::as_str).filter(|_| used);
                let Some((package, name)) = package.and_then(|package| Some((package, names.get(package)?)))
                else {
                    continue;
                };
                let way = format!("{way} -> {name}");
                if found.insert((*name).to_owned(), way.clone()).is_none() {
                    open.push((package, way));
                }
            }
        }
        found
    }
}
