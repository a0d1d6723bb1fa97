//! Which denies are certain before a tool is called.

use agentos_policy::Effect;

use crate::support::*;

/// Returns the rules that certainly deny, with their paths. Empty if a change may be allowed.
fn denied_by(set: &PolicySet, paths: &[&str], tool: &ToolFacts) -> Vec<String> {
    let decision = set.deny_ahead(paths, tool);
    if let Some(decision) = &decision {
        assert_eq!(decision.effect(), Effect::Deny);
    }
    let reasons = decision.iter().flat_map(Decision::reasons);
    reasons
        .map(|reason| match &reason.path {
            Some(path) => format!("{} {path}", reason.rule),
            None => reason.rule.clone(),
        })
        .collect()
}

fn preset(name: &str) -> PolicySet {
    let text = format!("version = 1\npreset = \"{name}\"\n");
    PolicySet::load(&[source(Layer::Repository, "own.toml", &text)]).unwrap()
}

/// What is known, and the denies that follow: description, rules, named paths, tool, denies.
type Case = (
    &'static str,
    PolicySet,
    &'static [&'static str],
    ToolFacts,
    &'static [&'static str],
);

#[test]
fn what_follows_from_tool_target_and_named_paths_is_known_before_the_call() {
    let on_main = || ToolFacts {
        target_ref: Some("refs/heads/main".to_owned()),
        ..local()
    };
    let deny = |conditions: &str| {
        with(&format!(
            "[[rule]]\nid = \"own\"\neffect = \"deny\"\nwhy = \"w\"\naction = [\"land\"]\n{conditions}\n"
        ))
    };
    let cases: [Case; 17] = [
        (
            "a protected branch",
            preset("strict"),
            &[],
            on_main(),
            &["strict.protected-branches"],
        ),
        ("another branch", preset("strict"), &[], local(), &[]),
        (
            "a provider",
            deny("provider = [\"open*\"]"),
            &[],
            cloud(),
            &["own"],
        ),
        (
            "another provider",
            deny("provider = [\"open*\"]"),
            &[],
            local(),
            &[],
        ),
        ("a model", deny("model = [\"gpt-*\"]"), &[], cloud(), &["own"]),
        (
            "a mode",
            deny("execution_mode = \"cloud\""),
            &[],
            cloud(),
            &["own"],
        ),
        (
            "a run without a check",
            deny("checked = false"),
            &[],
            local(),
            &["own"],
        ),
        (
            "an attempt",
            deny("over_attempt = 1"),
            &[],
            ToolFacts {
                attempt: 2,
                ..local()
            },
            &["own"],
        ),
        ("the first attempt", deny("over_attempt = 1"), &[], local(), &[]),
        (
            "an hour that may be over",
            deny("hours = [\"00:00-23:59\"]"),
            &[],
            local(),
            &[],
        ),
        (
            "the size of the change",
            deny("over_files = 0"),
            &[],
            local(),
            &[],
        ),
        (
            "what the change touches",
            deny("touches = [\"ci\"]"),
            &[],
            local(),
            &[],
        ),
        (
            "a named path",
            preset("strict"),
            &["CLAUDE.md"],
            local(),
            &["strict.agents CLAUDE.md"],
        ),
        (
            "one that may change among them",
            preset("strict"),
            &["CLAUDE.md", "src/a.rs"],
            local(),
            &[],
        ),
        (
            "a path that needs a person",
            preset("default"),
            &["Cargo.toml"],
            cloud(),
            &[],
        ),
        ("no rule for anything", preset("none"), &[], local(), &["no-rule"]),
        (
            "a layer that allows one path alone",
            with(
                "preset = \"none\"\n[[rule]]\nid = \"own\"\neffect = \"allow\"\nwhy = \"w\"\npaths = [\"docs/**\"]\n\
                  [[rule]]\nid = \"land\"\neffect = \"allow\"\nwhy = \"w\"\naction = [\"land\"]\n",
            ),
            &["src/a.rs"],
            local(),
            &["no-rule src/a.rs"],
        ),
    ];
    for (what, set, paths, tool, expected) in cases {
        assert_eq!(denied_by(&set, paths, &tool), expected, "{what}");
    }
}
