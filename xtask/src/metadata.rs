//! The workspace as cargo reports it.
//!
//! Owns: the fields of `cargo metadata` that the checks read. Never: judges them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::Value;
use xshell::{Shell, cmd};

/// Output of `cargo metadata`.
#[derive(Debug, Default, Deserialize)]
pub struct Metadata {
    /// The members and everything that they depend on.
    pub packages: Vec<Package>,
    /// Package ids of the members.
    pub workspace_members: Vec<String>,
    /// The resolved graph.
    pub resolve: ResolvedGraph,
    /// Folder of the workspace.
    pub workspace_root: String,
    /// Folder of build products.
    pub target_directory: String,
}

/// A package of the workspace or of a registry.
#[derive(Debug, Default, Clone, Deserialize)]
pub struct Package {
    /// The package's name, such as `agentos-tool`.
    pub name: String,
    /// Cargo's id of the package.
    pub id: String,
    /// Path of the package's `Cargo.toml`.
    pub manifest_path: String,
    /// The dependencies that the manifest declares.
    pub dependencies: Vec<Dependency>,
    /// `[package.metadata]`.
    #[serde(default)]
    pub metadata: Value,
}

/// A dependency that a manifest declares.
#[derive(Debug, Default, Clone, Deserialize)]
pub struct Dependency {
    /// The name of the package, even if the manifest renames it.
    pub name: String,
    /// `dev` or `build`; `None` for a normal dependency.
    pub kind: Option<String>,
    /// The features that the manifest or the workspace selects.
    #[serde(default)]
    pub features: Vec<String>,
    /// True if the default features are on.
    #[serde(default)]
    pub uses_default_features: bool,
}

/// The resolved graph.
#[derive(Debug, Default, Deserialize)]
pub struct ResolvedGraph {
    /// A node for each package: its id, and the packages that it uses with the selected features.
    pub nodes: Vec<Value>,
}

impl Dependency {
    /// Returns true for a dependency that only tests use.
    pub fn is_dev(&self) -> bool {
        self.kind.as_deref() == Some("dev")
    }
}

impl Metadata {
    /// Runs `cargo metadata` in the current folder.
    ///
    /// # Errors
    /// When cargo cannot be run or its output does not have the expected shape.
    pub fn load(sh: &Shell) -> Result<Self> {
        let text = cmd!(sh, "cargo metadata --format-version 1").quiet().read()?;
        serde_json::from_str(&text).context("the output of `cargo metadata` does not have the expected shape")
    }

    /// Returns the folder of debug builds.
    pub fn debug_folder(&self) -> PathBuf {
        Path::new(&self.target_directory).join("debug")
    }

    /// Returns the members, in the order of their names.
    pub fn members(&self) -> Vec<&Package> {
        let mut members: Vec<&Package> = self
            .packages
            .iter()
            .filter(|package| self.workspace_members.contains(&package.id))
            .collect();
        members.sort_by(|a, b| a.name.cmp(&b.name));
        members
    }

    /// Returns the selected features of each package from a registry, by the package's id.
    pub fn outside_features(&self) -> BTreeMap<&str, &Value> {
        let nodes = self.resolve.nodes.iter();
        let features = nodes.filter_map(|node| Some((node.get("id")?.as_str()?, node.get("features")?)));
        features.filter(|(id, _)| id.starts_with("registry+")).collect()
    }

    /// Returns every package that a build of the member needs, without its tests. Each has the path of dependencies that
    /// leads to it.
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
            // Not `dependencies`: only the resolved graph knows which optional dependencies are on.
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
