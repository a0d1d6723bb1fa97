//! What the inner crates reach, however many steps away.
//!
//! Owns: the transitive ban, on the resolved graph. Never: counts what only tests use.

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
}
