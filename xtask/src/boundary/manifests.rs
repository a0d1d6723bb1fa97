//! The manifests: of each member, of the workspace, and cargo's settings.
//!
//! Owns: names of folders, inherited fields, lint levels. Never: judges dependencies; `layers` does.

use toml::{Table, Value};

use super::Tree;
use crate::metadata::Package;
use crate::rules::RULES;

/// Checks every manifest, the workspace's lints, and cargo's own settings.
pub fn check_manifests(tree: &Tree) -> Vec<String> {
    let mut problems = Vec::new();
    let workspace = match tree.parse_toml("Cargo.toml") {
        Ok(manifest) => {
            problems.extend(lint_levels(&manifest));
            manifest
        }
        Err(problem) => return vec![problem],
    };
    for member in tree.metadata.members() {
        let folder = tree.member_folder(&member.manifest_path);
        match tree.parse_toml(&format!("{folder}/Cargo.toml")) {
            Ok(manifest) => problems.extend(check_package(member, &folder, &manifest, &workspace)),
            Err(problem) => problems.push(problem),
        }
    }
    match tree.parse_toml(".cargo/config.toml") {
        Ok(settings) => {
            let others = settings.keys().filter(|key| *key != "alias");
            problems.extend(others.map(|key| {
                format!("`.cargo/config.toml` sets `{key}`: only `alias` is allowed, since flags can switch lints off")
            }));
            problems.extend(check_alias(&settings));
        }
        Err(problem) => problems.push(problem),
    }
    problems
}

/// Checks that there is exactly the one known alias; `None` if so.
fn check_alias(settings: &Table) -> Option<String> {
    // An alias takes precedence over commands that are not built into cargo, such as `clippy`.
    let (name, value) = RULES.alias;
    let aliases = settings.get("alias").and_then(Value::as_table);
    let exact = aliases.is_some_and(|aliases| {
        aliases.len() == 1 && aliases.get(name).and_then(Value::as_str) == Some(value)
    });
    (!exact)
        .then(|| format!("`.cargo/config.toml` must contain the alias `{name} = \"{value}\"` and no other"))
}

/// Checks the manifest of one member.
fn check_package(member: &Package, folder: &str, manifest: &Table, workspace: &Table) -> Vec<String> {
    let mut problems = Vec::new();
    let name = member.name.as_str();
    let expected = expected_folder(member);
    if folder != expected {
        problems.push(format!("`{name}` is in `{folder}`, not in `{expected}`"));
    }
    for field in &RULES.inherited {
        let inherits = manifest
            .get("package")
            .and_then(|package| package.get(field))
            .is_some_and(is_inherited);
        if !inherits {
            problems.push(format!("`{name}` does not inherit `{field}` from the workspace"));
        }
    }
    if RULES.own_lints.contains_key(name) {
        problems.extend(own_lints(name, manifest, workspace));
    } else if !manifest.get("lints").is_some_and(is_inherited) {
        problems.push(format!("`{name}` does not inherit the lints of the workspace"));
    }
    if manifest.contains_key("features") {
        problems.push(format!(
            "`{name}` declares features: the product has exactly one build"
        ));
    }
    problems
}

/// Returns the folder in which a member belongs: the one of its row in `folders`, otherwise the one of its layer. `layers`
/// reports a member without a layer; here it belongs nowhere.
fn expected_folder(member: &Package) -> String {
    let name = member.name.as_str();
    if let Some(folder) = RULES.folders.get(name) {
        return (*folder).to_owned();
    }
    let layer = member
        .metadata
        .pointer("/agentos/layer")
        .and_then(|layer| usize::try_from(layer.as_u64()?).ok());
    let of_layer = layer.and_then(|layer| RULES.layer_folders.get(layer));
    of_layer.map_or_else(
        || format!("a folder of a layer, as `{name}`"),
        |folder| format!("crates/{folder}/{name}"),
    )
}

/// Checks a member with lints of its own, which may differ from the workspace's only as `own_lint_levels` says. `None` if
/// they do.
fn own_lints(name: &str, manifest: &Table, workspace: &Table) -> Option<String> {
    let wanted = workspace
        .get("workspace")
        .and_then(|all| all.get("lints"))
        .cloned();
    let mut wanted = wanted.unwrap_or_else(|| Value::Table(Table::new()));
    for (tool, lint, level) in &RULES.own_lint_levels {
        if let Some(tool) = wanted.get_mut(*tool).and_then(Value::as_table_mut) {
            tool.insert((*lint).to_owned(), Value::String((*level).to_owned()));
        }
    }
    (manifest.get("lints") != Some(&wanted)).then(|| {
        format!("the lints of `{name}` differ from the workspace's in more than `own_lint_levels` allows")
    })
}

/// Returns true for `{ workspace = true }`.
fn is_inherited(value: &Value) -> bool {
    value.get("workspace").and_then(Value::as_bool) == Some(true)
}

/// Reports workspace lints below their level in the table; `forbid` is always enough.
fn lint_levels(manifest: &Table) -> Vec<String> {
    let lints = manifest
        .get("workspace")
        .and_then(|workspace| workspace.get("lints"));
    RULES
        .lints
        .iter()
        .filter_map(|(tool, lint, level)| {
            let set = lints
                .and_then(|lints| lints.get(tool))
                .and_then(|tool| tool.get(lint));
            let set = set.and_then(|value| {
                value
                    .as_str()
                    .or_else(|| value.get("level").and_then(Value::as_str))
            });
            let holds = set == Some(*level) || set == Some("forbid");
            (!holds).then(|| format!("the workspace lint `{tool}::{lint}` is not `{level}`"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::Tree;
    use super::super::doctored::{says, workspace};
    use super::*;

    const GOOD: &str = "[package]\nname = \"a\"\nversion.workspace = true\nedition.workspace = true\n\
        rust-version.workspace = true\nlicense.workspace = true\npublish.workspace = true\n\
        [lints]\nworkspace = true\n";

    fn tree(manifest: &str, root: &str, config: &str) -> Tree {
        let mut tree = workspace(&[("a", json!(0), &[])]);
        tree.texts
            .insert("crates/words/a/Cargo.toml".to_owned(), manifest.to_owned());
        tree.texts.insert("Cargo.toml".to_owned(), root.to_owned());
        tree.texts
            .insert(".cargo/config.toml".to_owned(), config.to_owned());
        tree
    }

    fn alias_line() -> String {
        format!("[alias]\n{} = \"{}\"\n", RULES.alias.0, RULES.alias.1)
    }

    fn root(clippy_panic: &str) -> String {
        let mut text = "[workspace.lints.rust]\nunsafe_code = \"forbid\"\nmissing_docs = \"deny\"\n\
            [workspace.lints.clippy]\n"
            .to_owned();
        for (tool, lint, level) in RULES.lints.iter().filter(|(tool, ..)| *tool == "clippy") {
            let level = if (*tool, *lint) == ("clippy", "panic") {
                clippy_panic
            } else {
                level
            };
            text.push_str(&format!("{lint} = \"{level}\"\n"));
        }
        text
    }

    #[test]
    fn a_good_workspace_has_no_problems() {
        assert_eq!(
            check_manifests(&tree(GOOD, &root("deny"), &alias_line())),
            Vec::<String>::new()
        );
    }

    #[test]
    fn each_departure_is_reported() {
        let cases = [
            (
                GOOD.replace("license.workspace = true", "license = \"MIT\""),
                "does not inherit `license`",
            ),
            (
                GOOD.replace("[lints]\nworkspace = true", "[lints]\nworkspace = false"),
                "does not inherit the lints",
            ),
            (format!("{GOOD}[features]\nfast = []\n"), "declares features"),
            ("[package".to_owned(), "is not TOML"),
        ];
        for (manifest, expected) in cases {
            let problems = check_manifests(&tree(&manifest, &root("deny"), &alias_line()));
            assert!(says(&problems, expected), "{expected}: {problems:?}");
        }
        let weaker = check_manifests(&tree(GOOD, &root("warn"), &alias_line()));
        assert_eq!(weaker, ["the workspace lint `clippy::panic` is not `deny`"]);
        for (settings, expected) in [
            ("[build]\nrustflags = [\"-Aall\"]\n", "sets `build`"),
            ("build.rustflags = [\"-Aall\"]\n", "sets `build`"),
            (
                "[target.x86_64-unknown-linux-gnu]\nrustflags = [\"-Aall\"]\n",
                "sets `target`",
            ),
            ("[env]\nRUSTFLAGS = \"-Aall\"\n", "sets `env`"),
            ("include = [\"other.toml\"]\n", "sets `include`"),
            ("[alias]\nclippy = \"check\"\n", "and no other"),
        ] {
            let problems = check_manifests(&tree(GOOD, &root("deny"), settings));
            assert!(says(&problems, expected), "{settings}: {problems:?}");
        }
        let shadowed = format!("{}clippy = \"check\"\n", alias_line());
        let problems = check_manifests(&tree(GOOD, &root("deny"), &shadowed));
        assert!(says(&problems, "and no other"), "{problems:?}");
    }

    #[test]
    fn a_table_of_its_own_differs_by_the_rule_alone() {
        let workspace: Table = "[workspace.lints.rust]\nunsafe_code = \"forbid\"\nmissing_docs = \"deny\"\n\
            [workspace.lints.clippy]\npanic = \"deny\"\n"
            .parse()
            .unwrap();
        let right = "[lints.rust]\nunsafe_code = \"allow\"\nunsafe_op_in_unsafe_fn = \"deny\"\nmissing_docs = \"deny\"\n\
            [lints.clippy]\nmultiple_unsafe_ops_per_block = \"deny\"\nundocumented_unsafe_blocks = \"deny\"\npanic = \"deny\"\n";
        assert_eq!(own_lints("x", &right.parse().unwrap(), &workspace), None);
        for wrong in [
            right.replace("panic = \"deny\"", "panic = \"allow\""),
            right.replace("undocumented_unsafe_blocks = \"deny\"\n", ""),
            format!("{right}todo = \"allow\"\n"),
            "[lints]\nworkspace = true\n".to_owned(),
        ] {
            assert!(
                own_lints("x", &wrong.parse().unwrap(), &workspace).is_some(),
                "{wrong}"
            );
        }
    }

    #[test]
    fn a_folder_is_named_like_its_package_and_lies_with_its_layer() {
        for folder in ["crates/words/b", "crates/decide/a", "crates/a"] {
            let mut tree = tree(GOOD, &root("deny"), &alias_line());
            for package in &mut tree.metadata.packages {
                package.manifest_path = format!("/w/{folder}/Cargo.toml");
            }
            tree.texts.insert(format!("{folder}/Cargo.toml"), GOOD.to_owned());
            assert_eq!(
                check_manifests(&tree),
                [format!("`a` is in `{folder}`, not in `crates/words/a`")]
            );
        }
    }
}
