//! What a person sees who has to agree.

use agentos_policy::Effect;

use crate::support::*;

/// The groups in words, one a line.
fn shown(decision: &Decision) -> String {
    let line = |group: agentos_policy::RuleGroup<'_>| {
        let effect = group.effect.as_str();
        format!(
            "{effect} {} {}: {} [{}]",
            group.count,
            group.rule,
            group.why,
            group.paths.join(" ")
        )
    };
    decision
        .grouped()
        .into_iter()
        .map(line)
        .collect::<Vec<_>>()
        .join("\n")
}

fn judged(paths: &[String]) -> Decision {
    let edits: Vec<Edit<'_>> = paths
        .iter()
        .map(|path| (path.as_str(), Some("a\n"), Some("b\n")))
        .collect();
    PolicySet::builtin().unwrap().judge(&change(&edits), &local())
}

#[test]
fn many_dependency_files_do_not_hide_one_hook() {
    let mut paths: Vec<String> = (10..35).map(|n| format!("a{n}/package.json")).collect();
    paths.push("zzz/.husky/pre-commit".to_owned());
    let decision = judged(&paths);
    insta::assert_snapshot!(shown(&decision), @r"
    ask 1 default.hooks: hooks run when a person commits or pulls [zzz/.husky/pre-commit]
    ask 25 default.dependencies: dependency files decide what code is downloaded and run [a10/package.json a11/package.json a12/package.json a13/package.json a14/package.json]
    allow 0 default.land: a change whose paths are allowed may land []
    allow 26 default.edit: ordinary files may be edited [a10/package.json]
    ");
    let first = decision.deciding().next().unwrap();
    assert_eq!(first.path.as_deref(), Some("zzz/.husky/pre-commit"));
    assert_eq!(decision.deciding().count(), 26);
}

#[test]
fn the_strictest_come_first_however_many_they_are() {
    let set = with(
        "[[rule]]\nid = \"closed\"\neffect = \"deny\"\nwhy = \"it is closed\"\nfix = \"ask for it\"\npaths = [\"closed/**\"]\n",
    );
    let edits = change(&[
        (".husky/pre-push", None, Some("b\n")),
        ("closed/a", None, Some("b\n")),
        ("closed/b", None, Some("b\n")),
    ]);
    let decision = set.judge(&edits, &local());
    let groups = decision.grouped();
    let order: Vec<_> = groups
        .iter()
        .map(|group| (group.effect, group.rule, group.count))
        .collect();
    assert_eq!(
        order,
        [
            (Effect::Deny, "closed", 2),
            (Effect::Ask, "default.hooks", 1),
            (Effect::Allow, "default.land", 0),
            (Effect::Allow, "default.edit", 3),
        ]
    );
    assert_eq!(groups[0].fix, Some("ask for it"));
}

#[test]
fn rules_of_one_name_in_two_files_stay_apart() {
    let rule = |effect: &str| {
        format!(
            "version = 1\n[[rule]]\nid = \"same\"\neffect = \"{effect}\"\nwhy = \"{effect} it\"\npaths = [\"src/**\"]\n"
        )
    };
    let set = PolicySet::load(&[
        source(Layer::User, "user.toml", &rule("ask")),
        source(Layer::Repository, "team.toml", &rule("ask")),
    ])
    .unwrap();
    let decision = set.judge(&modify("src/a.rs"), &local());
    let groups = decision.grouped();
    let same = groups.iter().filter(|group| group.rule == "same").count();
    assert_eq!(same, 2);
}
