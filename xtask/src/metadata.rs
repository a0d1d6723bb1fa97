//! What cargo knows of the workspace.
//!
//! Owns: the few fields of `cargo metadata` that the gates read. Never: judges them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Deserialize;
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
    pub metadata: serde_json::Value,
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
    /// One node a package.
    pub nodes: Vec<Node>,
}

/// One package in the graph.
#[derive(Debug, Default, Deserialize)]
pub struct Node {
    /// The package id.
    pub id: String,
    /// What it really uses, with the features that are on.
    pub deps: Vec<NodeDependency>,
}

/// One edge of the graph.
#[derive(Debug, Default, Deserialize)]
pub struct NodeDependency {
    /// The package id at its end.
    pub pkg: String,
    /// Why it is there.
    pub dep_kinds: Vec<NodeDependencyKind>,
}

/// Why an edge is there.
#[derive(Debug, Default, Deserialize)]
pub struct NodeDependencyKind {
    /// None for a normal one, else `dev` or `build`.
    pub kind: Option<String>,
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

    /// Every package that building the member itself needs (tests aside), each with the way that leads there.
    pub fn closure(&self, member: &str) -> BTreeMap<String, String> {
        let names: BTreeMap<&str, &str> = self
            .packages
            .iter()
            .map(|package| (package.id.as_str(), package.name.as_str()))
            .collect();
        let nodes: BTreeMap<&str, &Node> = self
            .resolve
            .nodes
            .iter()
            .map(|node| (node.id.as_str(), node))
            .collect();
        let start = self.members().into_iter().find(|package| package.name == member);
        let mut found = BTreeMap::new();
        let mut open: Vec<(&str, String)> = start
            .map(|package| (package.id.as_str(), package.name.clone()))
            .into_iter()
            .collect();
        while let Some((id, way)) = open.pop() {
            for edge in nodes.get(id).into_iter().flat_map(|node| &node.deps) {
                let used = edge
                    .dep_kinds
                    .iter()
                    .any(|kind| kind.kind.as_deref() != Some("dev"));
                let Some(name) = names.get(edge.pkg.as_str()).filter(|_| used) else {
                    continue;
                };
                let way = format!("{way} -> {name}");
                if found.insert((*name).to_owned(), way.clone()).is_none() {
                    open.push((&edge.pkg, way));
                }
            }
        }
        found
    }
}
