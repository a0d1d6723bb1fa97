//! Direct dependencies: between members by their layers, and on outside crates by their owners.
//!
//! Owns: both decisions. Never: follows dependencies of dependencies; `closure` does.

use std::collections::{BTreeMap, BTreeSet};

use super::{DEV, Tree};
use crate::metadata::Package;
use crate::rules::RULES;

/// The layer of a member, as its manifest declares it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layer {
    Product(u64),
    Dev,
    Automation,
}

/// Reads the layer that a member declares.
///
/// # Errors
/// When it declares none, or one that does not exist.
fn layer_of(package: &Package) -> Result<Layer, String> {
    let declared = package.metadata.pointer("/agentos/layer");
    match declared.map(|value| (value.as_u64(), value.as_str())) {
        // Numbers and names are separate types, so that nothing compares the position of test support with a
        // layer of the product.
        Some((Some(number @ 0..=5), _)) => Ok(Layer::Product(number)),
        Some((_, Some("dev"))) => Ok(Layer::Dev),
        Some((_, Some("automation"))) => Ok(Layer::Automation),
        _ => Err(format!(
            "`{}` declares no layer: add `[package.metadata.agentos] layer = 0..5` to its manifest",
            package.name
        )),
    }
}

/// Reports dependencies between members that point the wrong way, and exceptions that nothing uses any more.
pub fn check_dependencies(tree: &Tree) -> Vec<String> {
    let members = tree.metadata.members();
    let mut layers = BTreeMap::new();
    let mut problems = Vec::new();
    for member in &members {
        match layer_of(member) {
            Ok(layer) => drop(layers.insert(member.name.as_str(), layer)),
            Err(problem) => problems.push(problem),
        }
    }
    let mut used = BTreeSet::new();
    // Two passes: a dependency can lead to a member whose layer comes later in the list.
    for member in &members {
        for dependency in &member.dependencies {
            let (from, to) = (member.name.as_str(), dependency.name.as_str());
            let (Some(a), Some(b)) = (layers.get(from), layers.get(to)) else {
                continue;
            };
            // Any layer may use the test support, but only in its tests.
            if to == RULES.dev_only {
                if !dependency.is_dev() {
                    problems.push(format!("`{from}` depends on `{to}` outside its tests"));
                }
                continue;
            }
            if is_listed(from, to) {
                used.insert((from, to));
            }
            problems.extend(judge_dependency((from, *a), (to, *b)));
            // Tests may use the kernel directly; only the product's own code must go through the host.
            if !dependency.is_dev() {
                problems.extend(judge_front_end(from, (to, *b)));
            }
        }
    }
    problems.extend(unnamed_apps(&layers));
    let arrows = RULES
        .same_layer
        .iter()
        .flat_map(|(from, all)| all.iter().map(|to| (*from, *to)));
    for (from, to) in arrows.filter(|arrow| !used.contains(arrow)) {
        problems.push(format!(
            "nothing uses the exception `{from}` -> `{to}`: remove it from the table"
        ));
    }
    problems
}

/// Returns true if the table allows this dependency inside one layer.
fn is_listed(from: &str, to: &str) -> bool {
    RULES.same_layer.get(from).is_some_and(|all| all.contains(&to))
}

/// Judges a dependency of a front end, which may name words and the members in its row. `None` if it is allowed.
fn judge_front_end(from: &str, (to, b): (&str, Layer)) -> Option<String> {
    let named = RULES.front_ends.get(from)?;
    let is_word = matches!(b, Layer::Product(layer) if layer == RULES.words);
    (!is_word && !named.contains(&to)).then(|| {
        let named = named.join("`, `");
        format!("`{from}` is a front end and may use words and `{named}` only, but depends on `{to}`")
    })
}

/// Returns true if only builds and tests use a member, which follows from its folder.
pub fn is_dev(name: &str) -> bool {
    let folder = RULES.folders.get(name);
    folder.is_some_and(|folder| folder.starts_with(DEV))
}

/// Reports programs without a row in `front_ends`, since nothing would restrict them to the host.
fn unnamed_apps(layers: &BTreeMap<&str, Layer>) -> Vec<String> {
    let apps = layers
        .iter()
        .filter(|(_, layer)| matches!(layer, Layer::Product(layer) if *layer == RULES.apps));
    apps.filter(|(name, _)| !RULES.front_ends.contains_key(*name) && !is_dev(name))
        .map(|(name, _)| format!("`{name}` is a program without a row among the front ends"))
        .collect()
}

/// Judges a dependency between two members by their layers. `None` if it is allowed.
fn judge_dependency((from, a): (&str, Layer), (to, b): (&str, Layer)) -> Option<String> {
    if RULES
        .only
        .iter()
        .any(|(owner, only)| *owner == from && !only.contains(&to))
    {
        return Some(format!(
            "`{from}` judges from outside and must not depend on `{to}`"
        ));
    }
    match (a, b) {
        (Layer::Product(high), Layer::Product(low)) if high > low => None,
        (Layer::Product(same), Layer::Product(other)) if same == other => {
            let listed = is_listed(from, to);
            (!listed).then(|| {
                format!("`{from}` and `{to}` are both in layer {same}, and the table `same_layer` does not allow the dependency")
            })
        }
        (Layer::Product(low), Layer::Product(high)) => {
            Some(format!("`{from}` (layer {low}) depends on `{to}` (layer {high})"))
        }
        // A row in `only` was applied above; without such a row, automation links no product crate.
        (Layer::Automation, Layer::Product(0)) if RULES.only.contains_key(from) => None,
        (Layer::Automation, _) => Some(format!(
            "`{from}` is automation and links no product crate, but depends on `{to}`"
        )),
        (Layer::Dev, Layer::Product(0)) => None,
        (Layer::Dev, _) => Some(format!(
            "`{from}` is test support and links only the words of layer 0, but depends on `{to}`"
        )),
        (Layer::Product(_), Layer::Dev | Layer::Automation) => Some(format!("`{from}` depends on `{to}`")),
    }
}

/// Reports outside crates that a member may not use, and owners that do not use their crate any more.
pub fn check_owners(tree: &Tree) -> Vec<String> {
    let members = tree.metadata.members();
    let names: BTreeSet<&str> = members.iter().map(|member| member.name.as_str()).collect();
    let mut problems = Vec::new();
    let mut used = BTreeSet::new();
    for member in &members {
        for dependency in member
            .dependencies
            .iter()
            .filter(|dependency| !names.contains(dependency.name.as_str()))
        {
            let (from, to) = (member.name.as_str(), dependency.name.as_str());
            let owners = RULES.owned.get(to);
            let owned = owners.is_some_and(|owners| owners.contains(&from));
            if owned {
                used.insert((to, from));
            }
            let common =
                RULES.common.contains(&to) || (dependency.is_dev() && RULES.common_in_tests.contains(&to));
            match owners {
                _ if owned || common => {}
                Some(owners) => problems.push(format!(
                    "`{from}` uses `{to}`, which belongs to `{}`",
                    owners.join("`, `")
                )),
                None => problems.push(format!("`{from}` uses `{to}`, which is in no table")),
            }
        }
    }
    for (dependency, owners) in &RULES.owned {
        for owner in owners
            .iter()
            .filter(|owner| !used.contains(&(*dependency, **owner)))
        {
            problems.push(format!(
                "`{owner}` owns `{dependency}` but does not use it: remove it from the table"
            ));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::doctored::{says, workspace};
    use super::*;

    #[test]
    fn a_dependency_that_points_up_or_sideways_is_found() {
        let cases: [(&str, &[super::super::doctored::TestMember<'_>]); 9] = [
            (
                "(layer 1) depends on `b` (layer 2)",
                &[("a", json!(1), &[("b", None)]), ("b", json!(2), &[])],
            ),
            (
                "(layer 1) depends on `b` (layer 2)",
                &[("a", json!(1), &[("b", Some("dev"))]), ("b", json!(2), &[])],
            ),
            (
                "both in layer 1",
                &[("a", json!(1), &[("b", None)]), ("b", json!(1), &[])],
            ),
            ("declares no layer", &[("a", json!(null), &[])]),
            ("declares no layer", &[("a", json!(6), &[])]),
            (
                "outside its tests",
                &[
                    ("a", json!(1), &[(RULES.dev_only, None)]),
                    (RULES.dev_only, json!("dev"), &[]),
                ],
            ),
            (
                "judges from outside",
                &[
                    ("xtask", json!("automation"), &[("agentos-tool", None)]),
                    ("agentos-tool", json!(0), &[]),
                ],
            ),
            (
                "links no product crate",
                &[
                    ("xtask", json!("automation"), &[("agentos-verdict", None)]),
                    ("agentos-verdict", json!(1), &[]),
                ],
            ),
            (
                "judges from outside",
                &[
                    ("agentos-gates", json!(5), &[("agentos-engine", None)]),
                    ("agentos-engine", json!(4), &[]),
                ],
            ),
        ];
        for (expected, members) in cases {
            let problems = check_dependencies(&workspace(members));
            assert!(says(&problems, expected), "{expected}: {problems:?}");
        }
    }

    #[test]
    fn a_front_end_names_the_host_and_words_alone() {
        let cases = [
            ("agentos-host", 4, None, ""),
            ("agentos-tool", 0, None, ""),
            (
                "agentos-executor",
                2,
                None,
                "may use words and `agentos-editor`, `agentos-host`, `agentos-mcp`, `agentos-pager` only",
            ),
            ("agentos-executor", 2, Some("dev"), ""),
        ];
        for (to, layer, kind, expected) in cases {
            let problems = check_dependencies(&workspace(&[
                ("agentos", json!(5), &[(to, kind)]),
                (to, json!(layer), &[]),
            ]));
            assert_eq!(says(&problems, "is a front end"), !expected.is_empty(), "{to}");
            assert!(expected.is_empty() || says(&problems, expected), "{problems:?}");
        }
        let unnamed = check_dependencies(&workspace(&[("agentos-new", json!(5), &[])]));
        assert!(says(&unnamed, "without a row"), "{unnamed:?}");
    }

    #[test]
    fn automation_links_the_shape_of_a_verdict() {
        let problems = check_dependencies(&workspace(&[
            ("xtask", json!("automation"), &[("agentos-verdict", None)]),
            ("agentos-verdict", json!(0), &[]),
        ]));
        assert!(!says(&problems, "`xtask`"), "{problems:?}");
    }

    #[test]
    fn automation_links_no_product_and_test_support_only_words() {
        for (kind, layer, accepted) in [("automation", 0, false), ("dev", 1, false), ("dev", 0, true)] {
            let problems = check_dependencies(&workspace(&[
                ("x", json!(kind), &[("a", None)]),
                ("a", json!(layer), &[]),
            ]));
            assert_eq!(
                !says(&problems, "links "),
                accepted,
                "{kind} on layer {layer}: {problems:?}"
            );
        }
    }

    #[test]
    fn a_good_arrow_is_accepted_and_an_unused_exception_is_not() {
        let problems = check_dependencies(&workspace(&[
            ("a", json!(1), &[("b", None), (RULES.dev_only, Some("dev"))]),
            ("b", json!(0), &[]),
            (RULES.dev_only, json!("dev"), &[]),
        ]));
        assert_eq!(
            problems.len(),
            RULES.same_layer.values().map(Vec::len).sum::<usize>(),
            "{problems:?}"
        );
        assert!(says(&problems, "nothing uses the exception"));
    }

    #[test]
    fn an_outside_crate_needs_an_entry() {
        let tree = workspace(&[
            (
                "agentos-landing",
                json!(0),
                &[
                    ("git2", None),
                    ("leftpad", None),
                    ("serde", None),
                    ("similar", None),
                ],
            ),
            (
                "agentos-tool",
                json!(0),
                &[("tokio", Some("dev")), ("insta", None)],
            ),
        ]);
        let problems = check_owners(&tree);
        assert!(says(
            &problems,
            "`agentos-landing` uses `git2`, which belongs to `agentos-executor`"
        ));
        assert!(says(
            &problems,
            "`agentos-landing` uses `leftpad`, which is in no table"
        ));
        assert!(says(
            &problems,
            "`agentos-tool` uses `insta`, which is in no table"
        ));
        assert!(says(
            &problems,
            "`agentos-net` owns `reqwest` but does not use it"
        ));
        for fine in [
            "`agentos-landing` uses `serde`",
            "`agentos-tool` uses `tokio`",
            "owns `similar`",
        ] {
            assert!(!says(&problems, fine), "{fine}");
        }
    }
}
