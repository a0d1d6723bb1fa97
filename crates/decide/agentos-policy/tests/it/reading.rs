//! Many files that one tool may read: the same answers as one by one, and content only where it matters.

use std::cell::Cell;

use agentos_policy::{Effect, Layer, PolicySet};

use crate::support::*;

const KEY: &str = concat!("-----BEGIN RSA ", "PRIVATE KEY-----\nMIIEow\n");

#[test]
fn a_reading_answers_as_a_decision_does() {
    let odd = "version = 1\n[[rule]]\nid = \"only-bidi\"\neffect = \"deny\"\nwhy = \"w\"\naction = [\"read\"]\nfindings = \
               [\"bidi\"]\n[[rule]]\nid = \"no-docs\"\neffect = \"ask\"\nwhy = \"w\"\naction = [\"read\"]\npaths = [\"docs/**\"]\n";
    let sets = [
        PolicySet::builtin().unwrap(),
        PolicySet::load(&[source(Layer::Repository, "odd.toml", odd)]).unwrap(),
    ];
    let texts = [
        "",
        "fn main() {}\n",
        KEY,
        "a\u{202e}b\n",
        "a\0b\n",
        "a\u{200b}b\n",
    ];
    let paths = [
        "src/a.rs",
        "docs/a.md",
        ".env",
        "Cargo.toml",
        "../out",
        ".git/config",
        ".gitmodules",
        "src/aux.c",
        "a.",
    ];
    for set in &sets {
        for tool in [local(), cloud()] {
            let reading = set.read_policy(&tool);
            for path in paths {
                for text in texts {
                    assert_eq!(
                        reading.read_effect(path, || text.as_bytes().to_vec()),
                        set.decide_read(path, text.as_bytes(), &tool).effect(),
                        "{path} {text:?} {tool:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn names_that_no_change_may_have_are_read_by_the_rules_unless_they_are_another_file_elsewhere() {
    let rule = "version = 1\n[[rule]]\nid = \"private\"\neffect = \"deny\"\nwhy = \"w\"\naction = [\"read\"]\npaths = [\"private/**\", \"aux.h\"]\n";
    let set = PolicySet::load(&[source(Layer::Repository, "ours.toml", rule)]).unwrap();
    for (path, expected) in [
        (".gitmodules", Effect::Allow),
        ("src/aux.c", Effect::Allow),
        ("src/a?b", Effect::Allow),
        ("aux.h", Effect::Deny),
        ("private/nul", Effect::Deny),
        (".env", Effect::Deny),
        (".env.", Effect::Deny),
        (".env ", Effect::Deny),
        (".env::$DATA", Effect::Deny),
        (".env\u{200b}", Effect::Deny),
        ("private\\plan.txt", Effect::Deny),
        ("a/../.env", Effect::Deny),
    ] {
        assert_eq!(set.decide_read(path, b"", &cloud()).effect(), expected, "{path}");
        assert_eq!(
            set.read_policy(&cloud()).read_effect(path, Vec::new),
            expected,
            "{path}"
        );
    }
}

#[test]
fn content_is_read_only_where_the_answer_may_depend_on_it() {
    let set = PolicySet::builtin().unwrap();
    let asked = |tool: &agentos_policy::ToolFacts, path: &str| {
        let count = Cell::new(0);
        let effect = set.read_policy(tool).read_effect(path, || {
            count.set(count.get() + 1);
            Vec::new()
        });
        (effect, count.get())
    };
    assert_eq!(asked(&local(), "src/a.rs"), (Effect::Allow, 0));
    // A cloud model is shown no file that holds a credential.
    assert_eq!(asked(&cloud(), "src/a.rs"), (Effect::Allow, 1));
    assert_eq!(asked(&cloud(), "../out"), (Effect::Deny, 0));
}

#[test]
fn the_key_of_a_reading_is_another_where_answers_may_be_others() {
    let set = PolicySet::builtin().unwrap();
    let key = |tool: &agentos_policy::ToolFacts| set.read_policy(tool).cache_key();
    assert_eq!(key(&local()), key(&local()));
    assert_ne!(key(&local()), key(&cloud()));
    // The context of a session grows with each turn, and counts where a rule limits it.
    let grown = |tool: agentos_policy::ToolFacts| agentos_policy::ToolFacts {
        context_bytes: tool.context_bytes + 1,
        ..tool
    };
    assert_eq!(key(&local()), key(&grown(local())));
    let limited = PolicySet::load(&[agentos_policy::PolicySource {
        layer: agentos_policy::Layer::User,
        name: "ours.toml".to_owned(),
        text: "version = 1\n[[rule]]\nid = \"ours.large\"\neffect = \"deny\"\nwhy = \"too much\"\naction = [\"read\"]\nover_context_bytes = 9\n".to_owned(),
    }])
    .unwrap();
    let key = |tool: &agentos_policy::ToolFacts| limited.read_policy(tool).cache_key();
    assert_ne!(key(&local()), key(&grown(local())));
    let key = |tool: &agentos_policy::ToolFacts| set.read_policy(tool).cache_key();
    let narrowed = PolicySet::builtin().unwrap().with_hooks_path(Some("hooks"));
    assert_ne!(key(&local()), narrowed.read_policy(&local()).cache_key());
}
