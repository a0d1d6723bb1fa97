//! What holds for every policy.

use agentos_landing::ChangeKind;
use agentos_policy::Effect;
use proptest::prelude::*;

use crate::support::*;

fn path() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "src/a.rs",
        "src/deep/b.rs",
        "Cargo.toml",
        ".github/workflows/ci.yml",
        "docs/a.md",
        ".env",
        "run.sh",
    ])
    .prop_map(str::to_owned)
}

fn edit() -> impl Strategy<Value = Change> {
    prop::collection::btree_map(path(), 0..5_u8, 1..5).prop_map(|paths| {
        Change::new(
            paths
                .into_iter()
                .map(|(path, how)| {
                    let text = |text: &str| Some(FileState::regular(text.as_bytes()));
                    let program = Some(FileState {
                        mode: FileMode::Executable,
                        content: b"a\n".as_slice().into(),
                    });
                    let (old, new) = match how {
                        0 => (None, text("b\n")),
                        1 => (text("a\n"), None),
                        2 => (text("a\n"), program),
                        3 => (None, program),
                        _ => (text("a\n"), text("b\nc\n")),
                    };
                    (RepoPath::new(&path).unwrap(), old, new)
                })
                .collect(),
        )
        .unwrap()
    })
}

/// The text of one rule without its id.
fn rule(effects: &'static [&'static str]) -> impl Strategy<Value = String> {
    let lines = |choices: &'static [&'static str]| prop::sample::select(choices);
    (
        lines(effects),
        lines(&[
            "",
            "paths = [\"src/**\"]\n",
            "paths = [\"**/*.rs\"]\n",
            "except_paths = [\"docs/**\"]\n",
        ]),
        lines(&["", "over_added = 1\n", "max_files = 2\n", "over_deleted = 0\n"]),
        lines(&[
            "",
            "execution_mode = \"cloud\"\n",
            "touches = [\"dependencies\", \"ci\"]\n",
        ]),
        lines(&["", "kinds = [\"executable\"]\n", "provider = [\"open*\"]\n"]),
    )
        .prop_map(|(effect, a, b, c, d)| format!("effect = \"{effect}\"\nwhy = \"w\"\n{a}{b}{c}{d}"))
}

fn layer() -> impl Strategy<Value = Layer> {
    prop::sample::select(vec![
        Layer::Machine,
        Layer::Repository,
        Layer::User,
        Layer::CommandLine,
    ])
}

fn policy() -> impl Strategy<Value = Vec<PolicySource>> {
    prop::collection::vec((layer(), rule(&["allow", "ask", "deny"])), 0..5).prop_map(|rules| {
        rules
            .into_iter()
            .enumerate()
            .map(|(n, (layer, rule))| file(layer, n, &rule))
            .collect()
    })
}

fn file(layer: Layer, n: usize, rule: &str) -> PolicySource {
    source(
        layer,
        &format!("{n}.toml"),
        &format!("version = 1\n[[rule]]\nid = \"r{n}\"\n{rule}"),
    )
}

fn tool() -> impl Strategy<Value = ToolFacts> {
    prop::bool::ANY.prop_map(|at_vendor| if at_vendor { cloud() } else { local() })
}

fn below_the_machine() -> impl Strategy<Value = Layer> {
    prop::sample::select(vec![Layer::Repository, Layer::User, Layer::CommandLine])
}

fn preset() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["none", "default", "solo", "team", "strict"])
}

fn never_widens(
    sources: &[PolicySource],
    more: PolicySource,
    edit: &Change,
    tool: &ToolFacts,
) -> Result<(), TestCaseError> {
    let before = PolicySet::load(sources).unwrap();
    let mut sources = sources.to_vec();
    sources.push(more);
    let after = PolicySet::load(&sources).unwrap();
    prop_assert!(after.judge(edit, tool).effect() >= before.judge(edit, tool).effect());
    for file in edit.files() {
        let read = |set: &PolicySet| set.decide_read(file.path.as_str(), b"text", tool).effect();
        prop_assert!(read(&after) >= read(&before));
    }
    Ok(())
}

proptest! {
    // Each case compiles two policies: few cases, or the test build waits for them.
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn adding_any_file_in_any_layer_never_widens(
        sources in policy(), layer in layer(), more in rule(&["allow", "ask", "deny"]), edit in edit(), tool in tool()
    ) {
        never_widens(&sources, file(layer, 99, &more), &edit, &tool)?;
    }

    #[test]
    fn below_a_layer_that_stands_on_a_preset_nothing_widens(
        sources in policy(), preset in preset(), layer in below_the_machine(), below in preset(),
        more in rule(&["allow", "ask", "deny"]), edit in edit(), tool in tool()
    ) {
        let mut sources = sources;
        sources.push(source(Layer::Machine, "stands.toml", &format!("version = 1\npreset = \"{preset}\"\n")));
        let more = match layer {
            Layer::CommandLine => file(layer, 99, &more),
            _ => source(layer, "more.toml", &format!("version = 1\npreset = \"{below}\"\n[[rule]]\nid = \"r\"\n{more}")),
        };
        never_widens(&sources, more, &edit, &tool)?;
    }

    #[test]
    fn the_order_of_sources_never_matters(sources in policy(), edit in edit(), tool in tool()) {
        let forward = PolicySet::load(&sources).unwrap();
        let mut sources = sources;
        sources.reverse();
        let backward = PolicySet::load(&sources).unwrap();
        prop_assert_eq!(forward.judge(&edit, &tool), backward.judge(&edit, &tool));
    }

    #[test]
    fn the_whole_is_as_strict_as_its_strictest_part(sources in policy(), edit in edit(), tool in tool()) {
        let set = PolicySet::load(&sources).unwrap();
        let whole = set.judge(&edit, &tool);
        let strictest = whole.reasons().iter().map(|reason| reason.effect).max();
        prop_assert_eq!(strictest, Some(whole.effect()));
        prop_assert_eq!(whole.code().is_none(), whole.effect() == Effect::Allow);
    }

    #[test]
    fn a_deny_before_the_change_is_a_deny_of_the_change(sources in policy(), edit in edit(), tool in tool()) {
        let set = PolicySet::load(&sources).unwrap();
        let paths: Vec<&str> = edit.files().iter().map(|file| file.path.as_str()).collect();
        let is_denied = set.judge(&edit, &tool).effect() == Effect::Deny;
        // Without paths the deny holds for every change; with them, for every change of existing files among them.
        prop_assert!(set.deny_ahead(&[], &tool).is_none() || is_denied);
        let is_about_them = edit.files().iter().any(|file| {
            matches!(file.kind(), ChangeKind::Modify | ChangeKind::Delete)
        });
        prop_assert!(set.deny_ahead(&paths, &tool).is_none() || !is_about_them || is_denied);
    }

    #[test]
    fn no_text_makes_loading_panic(text in "\\PC{0,200}") {
        let _ = PolicySet::load(&[source(Layer::User, "any.toml", &text)]);
    }
}
