//! Which files are in force together, and what a file may say to whom.

use agentos_policy::{DefaultState, Layer, Preset};

use crate::support::*;

/// A rule file in few words: a preset, and lines of one rule if there are any.
fn text(preset: &str, rules: &[(&str, &str)]) -> String {
    let mut text = "version = 1\n".to_owned();
    if !preset.is_empty() {
        text.push_str(&format!("preset = \"{preset}\"\n"));
    }
    for (at, (effect, lines)) in rules.iter().enumerate() {
        text.push_str(&format!(
            "[[rule]]\nid = \"r{at}\"\neffect = \"{effect}\"\nwhy = \"w\"\n{lines}\n"
        ));
    }
    text
}

const ALL: (&str, &str) = ("allow", "");
const DOCS: (&str, &str) = ("allow", "paths = [\"docs/**\"]\naction = [\"modify\"]");
const LAND: (&str, &str) = ("allow", "action = [\"land\"]");
const NO_SRC: (&str, &str) = ("deny", "paths = [\"src/**\"]");

#[test]
fn every_layer_stands_for_itself_and_the_strictest_answer_wins() {
    use Layer::{CommandLine, Machine, Repository, User};
    // What an edit of sources, of documents, of a manifest, and a new executable bit get.
    type Case<'a> = (&'a str, Vec<(Layer, String)>, [&'a str; 4]);
    let cases: Vec<Case<'_>> = vec![
        (
            "no file at all is the built-in default",
            vec![],
            ["allow", "allow", "ask", "ask"],
        ),
        (
            "an empty file changes nothing",
            vec![(Repository, text("", &[]))],
            ["allow", "allow", "ask", "ask"],
        ),
        (
            "an allow beside the default loosens nothing",
            vec![(Repository, text("", &[ALL]))],
            ["allow", "allow", "ask", "ask"],
        ),
        (
            "a repository may take another preset",
            vec![(Repository, text("solo", &[]))],
            ["allow", "allow", "allow", "allow"],
        ),
        (
            "or stand on its own rules",
            vec![(Repository, text("none", &[DOCS, LAND]))],
            ["deny", "allow", "deny", "deny"],
        ),
        (
            "nothing of its own is nothing allowed",
            vec![(Repository, text("none", &[]))],
            ["deny", "deny", "deny", "deny"],
        ),
        (
            "a machine that names none leaves the choice",
            vec![(Machine, text("", &[])), (Repository, text("solo", &[]))],
            ["allow", "allow", "allow", "allow"],
        ),
        (
            "its denials stay",
            vec![(Machine, text("", &[NO_SRC])), (Repository, text("solo", &[]))],
            ["deny", "allow", "allow", "allow"],
        ),
        (
            "a machine's preset is loosened by nobody",
            vec![
                (Machine, text("default", &[])),
                (Repository, text("none", &[ALL])),
            ],
            ["allow", "allow", "ask", "ask"],
        ),
        (
            "what it does not allow, nobody allows",
            vec![
                (Machine, text("none", &[DOCS, LAND])),
                (Repository, text("none", &[ALL])),
                (User, text("solo", &[])),
            ],
            ["deny", "allow", "deny", "deny"],
        ),
        (
            "a repository may be stricter than the machine",
            vec![(Machine, text("solo", &[])), (Repository, text("default", &[]))],
            ["allow", "allow", "ask", "ask"],
        ),
        (
            "a user alone may choose",
            vec![(User, text("solo", &[]))],
            ["allow", "allow", "allow", "allow"],
        ),
        (
            "but not where the repository has a policy",
            vec![(Repository, text("", &[])), (User, text("solo", &[]))],
            ["allow", "allow", "ask", "ask"],
        ),
        (
            "nor where the machine has",
            vec![(Machine, text("", &[])), (User, text("none", &[ALL]))],
            ["allow", "allow", "ask", "ask"],
        ),
        (
            "a user narrows everything",
            vec![(Repository, text("solo", &[])), (User, text("", &[NO_SRC]))],
            ["deny", "allow", "allow", "allow"],
        ),
        (
            "so does the command line",
            vec![
                (Repository, text("solo", &[])),
                (CommandLine, text("", &[NO_SRC, ALL])),
            ],
            ["deny", "allow", "allow", "allow"],
        ),
    ];
    for (what, files, expected) in cases {
        let sources: Vec<PolicySource> = files
            .iter()
            .map(|(layer, text)| source(*layer, "p.toml", text))
            .collect();
        let has_repository = sources.iter().any(|source| source.layer == Repository);
        let sources = if has_repository { agreed(sources) } else { sources };
        let set = PolicySet::load(&sources).unwrap();
        let edits = [
            modify("src/a.rs"),
            modify("docs/a.md"),
            modify("Cargo.toml"),
            modes("run.sh", Some(FileMode::Regular), FileMode::Executable, "a\n"),
        ];
        let answers = edits.map(|edit| set.judge(&edit, &local()).effect().as_str());
        assert_eq!(answers, expected, "{what}");
    }
}

/// The finding: a clone with `preset = "none"` and one rule that allows everything landed workflows and agents' settings unasked.
#[test]
fn a_repository_replaces_the_default_only_with_an_agreement_to_its_text() {
    use Layer::{Machine, Repository, User};
    let wide = source(Repository, "r.toml", &text("none", &[ALL]));
    let digest = agentos_policy::repository_digest(std::slice::from_ref(&wide)).unwrap();
    let agreement = |layer| {
        source(
            layer,
            "a.toml",
            &format!("version = 1\nagreed = [\"{digest}\"]\n"),
        )
    };
    let changed = source(Repository, "r.toml", &(text("none", &[ALL]) + "\n"));
    let renamed = source(Repository, "s.toml", &text("none", &[ALL]));
    let more = source(
        Repository,
        "z.toml",
        &text("", &[("allow", "action = [\"read\"]")]),
    );
    let (kept, replaced) = (["allow", "ask", "ask"], ["allow", "allow", "allow"]);
    let cases = [
        ("alone", vec![wide.clone()], DefaultState::NotAgreed, kept),
        (
            "the user agreed",
            vec![wide.clone(), agreement(User)],
            DefaultState::ReplacedByRepository,
            replaced,
        ),
        (
            "the machine agreed",
            vec![wide.clone(), agreement(Machine)],
            DefaultState::ReplacedByRepository,
            replaced,
        ),
        (
            "to another text",
            vec![changed, agreement(User)],
            DefaultState::NotAgreed,
            kept,
        ),
        (
            "to another name",
            vec![renamed, agreement(User)],
            DefaultState::NotAgreed,
            kept,
        ),
        (
            "to fewer files",
            vec![wide.clone(), more, agreement(User)],
            DefaultState::NotAgreed,
            kept,
        ),
        (
            "to a preset with rules",
            vec![source(Repository, "r.toml", &text("solo", &[])), agreement(User)],
            DefaultState::NotAgreed,
            ["allow", "ask", "ask"],
        ),
        (
            "a preset of the user's own is the user's choice",
            vec![wide.clone(), source(User, "u.toml", &text("solo", &[]))],
            DefaultState::ReplacedByUser,
            ["allow", "allow", "allow"],
        ),
        (
            "but not below a machine that expects the default",
            vec![
                source(Machine, "m.toml", &text("", &[])),
                wide.clone(),
                source(User, "u.toml", &text("solo", &[])),
            ],
            DefaultState::NotAgreed,
            kept,
        ),
        (
            "a preset of the machine replaces it",
            vec![source(Machine, "m.toml", &text("solo", &[])), wide.clone()],
            DefaultState::ReplacedByMachine,
            replaced,
        ),
        (
            "what is stricter stays",
            vec![source(Repository, "r.toml", &text("none", &[]))],
            DefaultState::NotAgreed,
            ["deny", "deny", "deny"],
        ),
    ];
    for (what, sources, state, expected) in cases {
        let set = PolicySet::load(&sources).unwrap();
        assert_eq!(set.default_state(), state, "{what}");
        let edits = [
            modify("src/a.rs"),
            modify("Cargo.toml"),
            modes("run.sh", Some(FileMode::Regular), FileMode::Executable, "a\n"),
        ];
        let answers = edits.map(|edit| set.judge(&edit, &local()).effect().as_str());
        assert_eq!(answers, expected, "{what}");
    }
    // The names of the finding: each asks, whatever the repository's policy says.
    let set = PolicySet::load(&[wide]).unwrap();
    for path in [
        ".github/workflows/c.yml",
        "Makefile",
        "package.json",
        "build.rs",
        ".husky/pre-commit",
        ".envrc",
        "CLAUDE.md",
        ".claude/settings.json",
        ".mcp.json",
        ".vscode/tasks.json",
        ".devcontainer/devcontainer.json",
        ".gitattributes",
        ".cargo/config.toml",
    ] {
        let created = change(&[(path, None, Some("x\n"))]);
        assert_ne!(set.judge(&created, &local()).effect().as_str(), "allow", "{path}");
    }
    for layer in [Repository, Layer::CommandLine] {
        let error = PolicySet::load(&[agreement(layer)]).unwrap_err();
        assert_eq!(error.hint(), Some("remove `agreed`"), "{layer:?}");
    }
}

#[test]
fn no_policy_loosens_the_floor() {
    for layer in [Layer::Machine, Layer::Repository, Layer::User] {
        let all = vec![source(layer, "all.toml", &text("none", &[ALL]))];
        let all = if layer == Layer::Repository {
            agreed(all)
        } else {
            all
        };
        let set = PolicySet::load(&all).unwrap();
        let key = format!(
            "let key = \"{}_{}\";\n",
            "ghp", "0123456789abcdefghijklmnopqrstuvwxyz"
        );
        let cases = [
            (modify("src/a.rs"), "allow"),
            (modify(".agentos/policy/team.toml"), "ask protected-path"),
            (change(&[("src/key.rs", None, Some(&key))]), "deny secret"),
            (change(&[("src/a.rs", None, Some("a\u{202e}b\n"))]), "deny bidi"),
            (
                change(&[(".github/workflows/gate.yml", None, Some("run: agentos apply x\n"))]),
                "ask protected-path",
            ),
            (
                change(&[(
                    ".github/workflows/ci.yml",
                    Some("run: agentos policy test\n"),
                    Some("run: true\n"),
                )]),
                "ask protected-path",
            ),
            (
                change(&[(
                    ".github/workflows/ci.yml",
                    Some("run: make\n"),
                    Some("run: true\n"),
                )]),
                "allow",
            ),
        ];
        for (edit, expected) in cases {
            assert_eq!(
                word(&set.judge(&edit, &local())),
                expected,
                "{:?}",
                edit.files()[0].path
            );
        }
        assert_eq!(word(&set.decide_read(".env", b"A=1\n", &cloud())), "deny secret");
        assert_eq!(
            word(&set.decide_read("src/key.rs", key.as_bytes(), &cloud())),
            "deny secret"
        );
        assert_eq!(
            word(&set.decide_read("src/key.rs", key.as_bytes(), &local())),
            "allow"
        );
    }
}

#[test]
fn what_cannot_be_named_together_is_said() {
    let load = |files: &[(Layer, &str, &str)]| {
        let sources: Vec<PolicySource> = files
            .iter()
            .map(|(layer, name, text)| source(*layer, name, text))
            .collect();
        let error = PolicySet::load(&sources).unwrap_err();
        format!("{error}\n  hint: {}", error.hint().unwrap())
    };
    let all = [
        load(&[(
            Layer::CommandLine,
            "narrow.toml",
            "version = 1\npreset = \"none\"\n",
        )]),
        load(&[
            (Layer::Repository, "a.toml", "version = 1\npreset = \"solo\"\n"),
            (Layer::Repository, "b.toml", "version = 1\npreset = \"team\"\n"),
        ]),
    ];
    insta::assert_snapshot!(all.join("\n"), @r"
    narrow.toml:2:10: a policy file on the command line names a preset, but it may only add rules that ask or deny
      hint: remove `preset`; the rules of the file that ask or deny still apply
    b.toml:2:10: another file of this folder names the preset `solo`, and this one `team`
      hint: name one preset in one of the files
    ");
}

#[test]
fn each_layer_that_stands_is_named() {
    let set = PolicySet::load(&[
        source(Layer::Machine, "m.toml", "version = 1\npreset = \"team\"\n"),
        source(Layer::Repository, "r.toml", "version = 1\npreset = \"strict\"\n"),
    ])
    .unwrap();
    let named: Vec<_> = set
        .layer_presets()
        .iter()
        .map(|one| (one.layer, one.preset))
        .collect();
    assert_eq!(
        named,
        [
            (Layer::Machine, Preset::Team),
            (Layer::Repository, Preset::Strict)
        ]
    );
    let denied = set.judge(&modify(".vscode/tasks.json"), &local());
    insta::assert_snapshot!(denied.explanation(), @r"
    deny
      deny .vscode/tasks.json: editors run tasks and load settings from this file (strict.editor, built-in/strict.toml:132)
      ask .vscode/tasks.json: editors run tasks and load settings from this file (team.editor, built-in/team.toml:111)
      allow .vscode/tasks.json: ordinary files may be edited (team.edit, built-in/team.toml:7)
      allow the change: a change whose paths are allowed may land (team.land, built-in/team.toml:16)
      allow .vscode/tasks.json: ordinary files may be edited, up to 400 lines each (strict.edit, built-in/strict.toml:7)
      allow the change: a change whose paths are allowed may land, up to 20 files (strict.land, built-in/strict.toml:48)
    ");
    let nothing = vec![source(
        Layer::Repository,
        "r.toml",
        "version = 1\npreset = \"none\"\n",
    )];
    let nothing = PolicySet::load(&agreed(nothing)).unwrap();
    insta::assert_snapshot!(nothing.judge(&modify("src/a.rs"), &local()).explanation(), @r"
    deny
      deny the change: no rule allows this (no-rule, repository policy)
      deny src/a.rs: no rule allows this (no-rule, repository policy)
      fix: add a rule that allows it to the repository policy
    ");
}
