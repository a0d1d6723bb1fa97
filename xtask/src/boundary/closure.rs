//! What the inner crates reach, however many steps away.
//!
//! Owns: the transitive ban, on the resolved graph, and the features that would open a door. Never: counts what
//! only tests use.

use super::Tree;
use crate::rules;

/// Networks, runtimes and key stores in the closure of a pure crate, each with the way that leads there.
pub fn check(tree: &Tree) -> Vec<String> {
    let mut problems = Vec::new();
    for member in rules::PURE {
        if !tree
            .metadata
            .members()
            .iter()
            .any(|package| package.name == *member)
        {
            problems.push(format!(
                "`{member}` is not in the workspace: the table is out of date"
            ));
            continue;
        }
        let closure = tree.metadata.closure(member);
        problems.extend(
            rules::NEVER_REACHED
                .iter()
                .filter_map(|banned| closure.get(*banned))
                .cloned(),
        );
    }
    problems
}

/// Features that no member may ask for, and defaults that must stay off.
pub fn features(tree: &Tree) -> Vec<String> {
    let mut problems = Vec::new();
    for member in tree.metadata.members() {
        for dependency in member
            .dependencies
            .iter()
            .filter(|dependency| !dependency.is_dev())
        {
            let (from, to) = (&member.name, dependency.name.as_str());
            let closed = rules::CLOSED_FEATURES.iter().find(|(name, _)| *name == to);
            let asked = closed.iter().flat_map(|(_, closed)| *closed);
            let open = asked.filter(|feature| dependency.features.iter().any(|on| on == *feature));
            problems
                .extend(open.map(|feature| format!("`{from}` turns on the feature `{feature}` of `{to}`")));
            if rules::NO_DEFAULTS.contains(&to) && dependency.uses_default_features {
                problems.push(format!("`{from}` uses the default features of `{to}`"));
            }
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::doctored::{Member, says, workspace};
    use super::*;

    fn with(extra: &[Member<'_>]) -> Vec<String> {
        let mut members: Vec<Member<'_>> = extra.to_vec();
        for name in rules::PURE {
            if !extra.iter().any(|(member, ..)| member == name) {
                members.push((name, json!(0), &[]));
            }
        }
        check(&workspace(&members))
    }

    #[test]
    fn the_way_to_a_network_is_shown() {
        let problems = with(&[
            ("agentos-diff", json!(0), &[("helper", None)]),
            ("helper", json!(0), &[("reqwest", None)]),
        ]);
        assert_eq!(problems, ["agentos-diff -> helper -> reqwest"]);
    }

    #[test]
    fn what_only_tests_use_does_not_count() {
        assert_eq!(
            with(&[("agentos-diff", json!(0), &[("tokio", Some("dev"))])]),
            Vec::<String>::new()
        );
    }

    #[test]
    fn a_crate_that_left_the_workspace_is_told() {
        assert!(says(&check(&workspace(&[])), "not in the workspace"));
    }

    #[test]
    fn a_feature_that_opens_a_door_is_told() {
        let mut tree = workspace(&[("agentos-net", json!(2), &[("tokio", None), ("reqwest", None)])]);
        assert_eq!(features(&tree), Vec::<String>::new());
        for dependency in tree
            .metadata
            .packages
            .iter_mut()
            .flat_map(|package| &mut package.dependencies)
        {
            dependency.features = vec!["rt".to_owned(), "process".to_owned()];
            dependency.uses_default_features = true;
        }
        assert_eq!(
            features(&tree),
            [
                "`agentos-net` turns on the feature `process` of `tokio`",
                "`agentos-net` uses the default features of `reqwest`"
            ]
        );
    }
}
