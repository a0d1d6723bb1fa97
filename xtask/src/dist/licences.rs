//! The licences of everything that is linked into the program.
//!
//! Owns: which packages those are on this machine, and their texts as the packages carry them. Never: judges a licence.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use super::text;
use crate::metadata::{Metadata, Package};

/// What files with licences are called, in lower case.
const NAMES: &[&str] = &["license", "licence", "copying", "notice", "unlicense"];

/// One page: a table of the packages, then each text once.
pub(super) fn page(root: &Path, metadata: &Metadata) -> Result<String, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let args = [
        "tree",
        "--locked",
        "--package",
        "agentos",
        "--edges",
        "normal",
        "--prefix",
        "none",
        "--format",
        "{p}",
    ];
    let linked = text(&cargo, &args, root)?;
    let mut found = Vec::new();
    for (name, version) in packages(&linked) {
        let is_it = |package: &&Package| package.name == name && package.version == version;
        let package = metadata.packages.iter().find(is_it);
        let package = package.ok_or_else(|| format!("`{name} {version}` is not in `cargo metadata`"))?;
        if !metadata.workspace_members.contains(&package.id) {
            found.push((package, texts(Path::new(&package.manifest_path))?));
        }
    }
    Ok(written(&found))
}

/// Names and versions of what `cargo tree` prints, each once, in order.
fn packages(tree: &str) -> Vec<(String, String)> {
    let named = tree.lines().filter_map(|line| {
        let mut words = line.split(' ');
        let (name, version) = (words.next()?, words.next()?.strip_prefix('v')?);
        Some((name.to_owned(), version.to_owned()))
    });
    let mut found: Vec<_> = named.collect();
    found.sort();
    found.dedup();
    found
}

/// The texts beside a package's manifest, by file name.
fn texts(manifest: &Path) -> Result<Vec<String>, String> {
    let folder = manifest.parent().unwrap_or(manifest);
    let problem = |error: std::io::Error| format!("`{}`: {error}", folder.display());
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(problem)? {
        let path = entry.map_err(problem)?.path();
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .to_lowercase();
        if path.is_file() && NAMES.iter().any(|start| name.starts_with(start)) {
            files.push(path);
        }
    }
    files.sort();
    let read = |path: &std::path::PathBuf| std::fs::read(path).map_err(problem);
    let texts = files.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    Ok(texts
        .iter()
        .map(|text| String::from_utf8_lossy(text).trim().to_owned())
        .collect())
}

fn written(found: &[(&Package, Vec<String>)]) -> String {
    let mut page = String::from(
        "# What is linked into `agentos`, and under which licence\n\n| package | licence |\n|---|---|\n",
    );
    let mut by_text: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (package, texts) in found {
        let name = format!("{} {}", package.name, package.version);
        let licence = package.license.as_deref().unwrap_or("see its text below");
        // Writing to a string cannot fail.
        let _ = writeln!(page, "| {name} | {licence} |");
        for text in texts {
            by_text.entry(text).or_default().push(name.clone());
        }
    }
    for (text, names) in by_text {
        let indented: String = text.lines().map(|line| format!("    {line}\n")).collect();
        let _ = write!(page, "\n## {}\n\n{indented}", names.join(", "));
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_names_each_package_once() {
        let tree =
            "agentos v0.1.0 (/w/crates/apps/agentos-cli)\nb v2.0.0\na v1.0.0 (proc-macro)\nb v2.0.0 (*)\n\n";
        let found = packages(tree);
        let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["a", "agentos", "b"]);
    }

    #[test]
    fn a_text_that_packages_share_stands_once_under_all_their_names() {
        let package = |name: &str| Package {
            name: name.to_owned(),
            version: "1.0.0".to_owned(),
            license: Some("MIT".to_owned()),
            ..Package::default()
        };
        let (a, b) = (package("a"), package("b"));
        let page = written(&[(&a, vec!["same".to_owned()]), (&b, vec!["same".to_owned()])]);
        assert!(
            page.ends_with("| a 1.0.0 | MIT |\n| b 1.0.0 | MIT |\n\n## a 1.0.0, b 1.0.0\n\n    same\n"),
            "{page}"
        );
    }
}
