//! The crates that a member reaches through any number of dependencies.
//!
//! Owns: transitive bans, judged on the resolved graph, and banned features of outside crates. Never: counts dependencies
//! that only tests use.

use serde_json::Value;

use super::Tree;
use crate::rules::RULES;

/// Reports networks, runtimes and key stores that a pure crate reaches, each with the path of dependencies to it.
pub fn check_pure(tree: &Tree) -> Vec<String> {
    let members = tree.metadata.members();
    let mut problems = Vec::new();
    for member in &RULES.pure {
        if !members.iter().any(|package| package.name == *member) {
            problems.push(format!(
                "`{member}` is not in the workspace: the table is out of date"
            ));
            continue;
        }
        // The graph of a build without tests: what a test reaches is in no product.
        let closure = tree.metadata.closure(member);
        let reached = RULES
            .never_reached
            .iter()
            .filter_map(|banned| closure.get(*banned));
        problems.extend(reached.cloned());
    }
    problems
}

/// Reports members that another member must not reach but does, each with the path of dependencies to it.
pub fn check_unreachable(tree: &Tree) -> Vec<String> {
    let members = tree.metadata.members();
    let mut problems = Vec::new();
    let named = RULES
        .unreachable
        .iter()
        .flat_map(|(from, never)| [*from].into_iter().chain(never.iter().copied()));
    let lists = [&RULES.adapters_never_reach, &RULES.kernel, &RULES.user_land];
    let listed = lists.into_iter().flatten().copied();
    let mut gone: Vec<&str> = named.chain(listed).collect();
    // A renamed crate would otherwise leave a row that bans nothing.
    gone.sort_unstable();
    gone.dedup();
    gone.retain(|name| !members.iter().any(|member| member.name == *name));
    problems.extend(
        gone.iter()
            .map(|name| format!("`{name}` is not in the workspace: the table is out of date")),
    );
    for member in &members {
        let adapter =
            member.metadata.pointer("/agentos/layer").and_then(Value::as_u64) == Some(RULES.adapters);
        let row = RULES.unreachable.get(member.name.as_str());
        let mut never: Vec<&str> = row.cloned().unwrap_or_default();
        never.extend(RULES.adapters_never_reach.iter().filter(|_| adapter));
        let in_kernel = RULES.kernel.contains(&member.name.as_str());
        never.extend(RULES.user_land.iter().filter(|_| in_kernel));
        let closure = tree.metadata.closure(&member.name);
        problems.extend(
            never
                .iter()
                .filter_map(|banned| closure.get(*banned))
                .map(|way| format!("{way}: `{}` must not reach it", member.name)),
        );
    }
    problems
}

/// Reports banned features that a member selects, and default features that must stay off.
pub fn check_features(tree: &Tree) -> Vec<String> {
    let mut problems = Vec::new();
    for member in tree.metadata.members() {
        for dependency in member
            .dependencies
            .iter()
            .filter(|dependency| !dependency.is_dev())
        {
            let (from, to) = (&member.name, dependency.name.as_str());
            // Features are judged as declared: the resolved graph also has those that tests turn on.
            let closed = RULES.closed_features.get(to);
            let asked = closed.into_iter().flatten();
            let open = asked.filter(|feature| dependency.features.iter().any(|on| on == *feature));
            problems
                .extend(open.map(|feature| format!("`{from}` turns on the feature `{feature}` of `{to}`")));
            if RULES.no_defaults.contains(&to) && dependency.uses_default_features {
                problems.push(format!("`{from}` uses the default features of `{to}`"));
            }
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::doctored::{TestMember, says, workspace};
    use super::*;

    fn with(extra: &[TestMember<'_>]) -> Vec<String> {
        let mut members: Vec<TestMember<'_>> = extra.to_vec();
        for name in &RULES.pure {
            if !extra.iter().any(|(member, ..)| member == name) {
                members.push((name, json!(0), &[]));
            }
        }
        check_pure(&workspace(&members))
    }

    #[test]
    fn the_way_to_a_network_is_shown() {
        let problems = with(&[
            ("agentos-landing", json!(0), &[("helper", None)]),
            ("helper", json!(0), &[("reqwest", None)]),
        ]);
        assert_eq!(problems, ["agentos-landing -> helper -> reqwest"]);
    }

    #[test]
    fn what_only_tests_use_does_not_count() {
        assert_eq!(
            with(&[("agentos-landing", json!(0), &[("tokio", Some("dev"))])]),
            Vec::<String>::new()
        );
    }

    #[test]
    fn a_crate_that_left_the_workspace_is_reported() {
        assert!(says(&check_pure(&workspace(&[])), "not in the workspace"));
    }

    /// Returns the problems of these members in a workspace that also has every member of the tables.
    fn reached(extra: &[TestMember<'_>]) -> Vec<String> {
        let all = RULES
            .unreachable
            .iter()
            .flat_map(|(from, never)| [*from].into_iter().chain(never.iter().copied()))
            .chain(["agentos-credentials", "agentos-evidence", "agentos-executor"])
            .chain(RULES.kernel.iter().chain(&RULES.user_land).copied());
        let mut members: Vec<TestMember<'_>> = extra.to_vec();
        for name in all {
            if !members.iter().any(|(member, ..)| *member == name) {
                members.push((name, json!(2), &[]));
            }
        }
        check_unreachable(&workspace(&members))
    }

    #[test]
    fn no_tool_reaches_the_writer_the_keys_or_the_record() {
        for banned in ["agentos-executor", "agentos-credentials", "agentos-evidence"] {
            let deps = [(banned, None)];
            let adapter = reached(&[("an-adapter", json!(3), &deps)]);
            assert_eq!(
                adapter,
                [format!("an-adapter -> {banned}: `an-adapter` must not reach it")]
            );
            let net = reached(&[("agentos-net", json!(2), &deps)]);
            assert_eq!(
                net,
                [format!(
                    "agentos-net -> {banned}: `agentos-net` must not reach it"
                )]
            );
        }
        let far = reached(&[
            ("an-adapter", json!(3), &[("helper", None)]),
            ("helper", json!(2), &[("agentos-executor", None)]),
        ]);
        assert_eq!(
            far,
            ["an-adapter -> helper -> agentos-executor: `an-adapter` must not reach it"]
        );
    }

    #[test]
    fn the_flow_reaches_its_record_and_no_other_effect() {
        for banned in ["agentos-executor", "agentos-net", "agentos-credentials"] {
            let problems = reached(&[("agentos-engine", json!(4), &[(banned, None)])]);
            assert!(
                says(&problems, "`agentos-engine` must not reach it"),
                "{problems:?}"
            );
        }
        let fine = [
            "agentos-evidence",
            "agentos-policy",
            "agentos-profile",
            "agentos-landing",
            "agentos-tool",
        ];
        for dependency in fine {
            let problems = reached(&[("agentos-engine", json!(4), &[(dependency, None)])]);
            assert_eq!(problems, Vec::<String>::new());
        }
    }

    #[test]
    fn the_kernel_never_reaches_user_land() {
        let problems = reached(&[
            ("agentos-policy", json!(1), &[("helper", None)]),
            ("helper", json!(1), &[("agentos-host", None)]),
        ]);
        assert_eq!(
            problems,
            ["agentos-policy -> helper -> agentos-host: `agentos-policy` must not reach it"]
        );
    }

    #[test]
    fn the_writer_reaches_no_network_however_far() {
        let problems = reached(&[
            ("agentos-executor", json!(2), &[("helper", None)]),
            ("helper", json!(1), &[("agentos-net", None)]),
        ]);
        assert!(
            says(&problems, "`agentos-executor` must not reach it"),
            "{problems:?}"
        );
        let tests_alone = reached(&[("agentos-net", json!(2), &[("agentos-executor", Some("dev"))])]);
        assert_eq!(tests_alone, Vec::<String>::new());
        assert!(says(
            &check_unreachable(&workspace(&[])),
            "`agentos-net` is not in the workspace"
        ));
    }

    #[test]
    fn a_banned_feature_is_reported() {
        let mut tree = workspace(&[("agentos-net", json!(2), &[("tokio", None), ("reqwest", None)])]);
        assert_eq!(check_features(&tree), Vec::<String>::new());
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
            check_features(&tree),
            [
                "`agentos-net` turns on the feature `process` of `tokio`",
                "`agentos-net` uses the default features of `reqwest`"
            ]
        );
    }
}
