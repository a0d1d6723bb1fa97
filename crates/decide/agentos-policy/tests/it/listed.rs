//! The table against public lists: what must be asked for, what must not, and short names of both.
//!
//! `tests/names/protected.txt` has a name, its part of a project and its source in each line, `ordinary.txt` a name.

use crate::support::*;

const PROTECTED: &str = include_str!("../names/protected.txt");
const ORDINARY: &str = include_str!("../names/ordinary.txt");
const REAL: &str = include_str!("../names/real.txt");

fn lines(text: &str) -> Vec<&str> {
    text.lines().filter(|line| !line.starts_with('#')).collect()
}

/// The answer of the built-in rules to a new file of this name, and what it touches.
fn judged(set: &PolicySet, path: &str) -> (String, Vec<String>) {
    let decision = set.judge(&create(path), &local());
    (
        decision.effect().as_str().to_owned(),
        decision.facts().touches.clone(),
    )
}

#[test]
fn every_listed_name_is_asked_for_as_what_it_is() {
    let set = PolicySet::builtin().unwrap();
    let listed = lines(PROTECTED);
    assert!(listed.len() >= 450, "{}", listed.len());
    let wrong = listed.iter().filter(|line| {
        let mut fields = line.split('\t');
        let (path, group) = (fields.next().unwrap(), fields.next().unwrap());
        assert!(fields.next().is_some_and(|source| !source.is_empty()), "{line}");
        let (effect, touches) = judged(&set, path);
        effect != "ask" || !touches.iter().any(|touched| touched == group)
    });
    let wrong: Vec<_> = wrong.collect();
    assert!(wrong.is_empty(), "{} wrong:\n{wrong:#?}", wrong.len());
}

#[test]
fn nobody_is_asked_about_ordinary_names() {
    let set = PolicySet::builtin().unwrap();
    let ordinary = lines(ORDINARY);
    assert!(ordinary.len() >= 300, "{}", ordinary.len());
    let asked: Vec<_> = ordinary
        .iter()
        .filter(|path| judged(&set, path).0 != "allow")
        .collect();
    assert!(asked.is_empty(), "{} asked:\n{asked:#?}", asked.len());
}

#[test]
fn a_person_is_seldom_asked_about_sources_and_documents_of_real_projects() {
    let set = PolicySet::builtin().unwrap();
    let real = lines(REAL);
    assert_eq!(real.len(), 400);
    let asked: Vec<_> = real
        .iter()
        .filter(|path| judged(&set, path).0 != "allow")
        .collect();
    assert!(asked.len() <= 2, "{} asked:\n{asked:#?}", asked.len());
}

#[test]
fn a_hidden_name_at_the_top_is_asked_about_unless_it_is_known_to_be_harmless() {
    let set = PolicySet::builtin().unwrap();
    let cases = [
        (".newtool/settings.json", "ask"),
        (".NewToolRc", "ask"),
        (".newtool/tests/a.rs", "ask"),
        ("docs/.newtoolrc", "allow"),
        (".gitignore", "allow"),
        (".editorconfig", "allow"),
        (".mailmap", "allow"),
        (".env.example", "allow"),
        (".github/ISSUE_TEMPLATE/bug.md", "allow"),
        (".changeset/brave-cats.md", "allow"),
    ];
    for (path, expected) in cases {
        assert_eq!(judged(&set, path).0, expected, "{path}");
    }
    // Of a file that is known for something else, that is the only reason.
    assert_eq!(judged(&set, ".vscode/tasks.json").1, ["editor"]);
}

#[test]
fn a_short_name_is_judged_as_the_long_one_that_it_may_stand_for() {
    let set = PolicySet::builtin().unwrap();
    let cases = [
        ("VSCODE~1/tasks.json", "editor"),
        ("GITHUB~1/workflows/x.yml", "ci"),
        ("github~2/WORKFL~1/x.yml", "ci"),
        (".github/WORKFL~1/x.yml", "ci"),
        ("AGENTO~1/policy/x.toml", "policy"),
        ("AGENTO~3", "policy"),
        ("docs/AGENTO~1", "policy"),
        ("GITATT~1", "git-attributes"),
        ("GI7D29~1", "git-attributes"),
        ("sub/GITATT~4", "git-attributes"),
        ("PACKAG~1.JSO", "dependencies"),
        ("PYPROJ~1.TOM", "dependencies"),
        ("REQUIR~1.TXT", "dependencies"),
        ("GITLAB~1.YML", "ci"),
        ("DOCKER~1.YML", "build"),
        ("PRE-CO~1.YAM", "hooks"),
        ("HUSKY~1/pre-commit", "hooks"),
        ("CLAUDE~1/settings.json", "agents"),
        ("CURSOR~1/rules/a.mdc", "agents"),
        ("DEVCON~1/devcontainer.json", "editor"),
        ("ENVRC~1", "build"),
    ];
    for (path, group) in cases {
        let (effect, touches) = judged(&set, path);
        assert_eq!(effect, "ask", "{path}");
        assert!(
            touches.iter().any(|touched| touched == group),
            "{path}: {touches:?}"
        );
    }
}
