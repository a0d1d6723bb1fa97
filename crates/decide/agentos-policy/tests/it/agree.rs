//! The program and the naive model agree on random policies and requests.
//!
//! The suite asks 40 requests of each of 40 policies. The long run, a million pairs:
//! `PROPTEST_CASES=25000 cargo nextest run --release -p agentos-policy agree`

use agentos_policy::Effect::{self, Allow, Ask, Deny};
use proptest::prelude::*;

use crate::model::*;
use crate::support::*;

const PATTERNS: [&str; 6] = [
    "src/**",
    "**/*.rs",
    "docs/*.md",
    "Cargo.toml",
    "**",
    "src/deep/**",
];
const PATHS: [&str; 6] = [
    "src/a.rs",
    "src/deep/b.rs",
    "Cargo.toml",
    "docs/a.md",
    ".env",
    ".agentos/p.toml",
];
const TARGETS: [&str; 3] = ["refs/heads/main", "refs/heads/main/2", "HEAD"];
const ACTIONS: [&str; 5] = ["create", "modify", "delete", "read", "land"];

fn rule() -> impl Strategy<Value = NaiveRule> {
    let some = |pool: &'static [&'static str]| prop::sample::subsequence(pool.to_vec(), 0..3);
    let pathless = prop::bool::weighted(0.3);
    (
        prop::sample::select(LAYERS.to_vec()),
        prop::sample::select(vec![Allow, Allow, Ask, Deny]),
        some(&ACTIONS),
        some(&PATTERNS),
        some(&PATTERNS),
        (
            prop::option::of(prop::bool::ANY),
            prop::option::of(prop::bool::ANY),
        ),
        prop::option::of(0..4_u64),
        prop::option::of(1..3_u64),
        pathless,
    )
        .prop_map(
            |(layer, effect, actions, paths, except, (cloud, on_main), over_lines, max_files, pathless)| {
                // The whole change and reading have no path, or no lines, to speak of: such rules are refused at load.
                let alone = actions == ["land"] || pathless;
                NaiveRule {
                    layer,
                    effect,
                    cloud,
                    on_main,
                    max_files,
                    over_lines: over_lines.filter(|_| actions != ["read"]),
                    paths: if alone { Vec::new() } else { paths },
                    except: if alone { Vec::new() } else { except },
                    actions,
                }
            },
        )
}

fn written(rules: &[NaiveRule], stands: &Stands) -> Vec<PolicySource> {
    let of = |(layer, stands): &(Layer, Option<()>)| {
        let mut text = format!(
            "version = 1\n{}",
            if stands.is_some() {
                "preset = \"none\"\n"
            } else {
                ""
            }
        );
        let own = rules.iter().filter(|rule| rule.layer == *layer);
        let mut empty = stands.is_none();
        for (at, rule) in own.enumerate() {
            empty = false;
            text.push_str(&format!(
                "[[rule]]\nid = \"r{at}\"\neffect = \"{}\"\nwhy = \"w\"\n",
                rule.effect.as_str()
            ));
            for (name, list) in [
                ("action", &rule.actions),
                ("paths", &rule.paths),
                ("except_paths", &rule.except),
            ] {
                if !list.is_empty() {
                    text.push_str(&format!("{name} = {list:?}\n"))
                }
            }
            if let Some(cloud) = rule.cloud {
                text.push_str(&format!(
                    "execution_mode = \"{}\"\n",
                    if cloud { "cloud" } else { "local" }
                ));
            }
            match rule.on_main {
                Some(true) => text.push_str("target_ref = [\"refs/heads/main\"]\n"),
                Some(false) => text.push_str("except_target_ref = [\"refs/heads/main\"]\n"),
                None => {}
            }
            for (name, limit) in [("over_lines", rule.over_lines), ("max_files", rule.max_files)] {
                if let Some(limit) = limit {
                    text.push_str(&format!("{name} = {limit}\n"))
                }
            }
        }
        (!empty).then(|| source(*layer, "p.toml", &text))
    };
    stands.iter().filter_map(of).collect()
}

/// What the program says, and what the model says of each question it was asked.
fn both(
    set: &PolicySet,
    rules: &[NaiveRule],
    stands: &Stands,
    path: &str,
    how: u8,
    (cloud, target): (bool, &'static str),
) -> (Effect, Effect) {
    let tool = ToolFacts {
        target_ref: Some(target.to_owned()),
        ..if cloud { crate::support::cloud() } else { local() }
    };
    let request = |action, path: Option<&str>, lines| {
        let path = path.map(str::to_owned);
        naive(
            rules,
            stands,
            &Request {
                action,
                path,
                cloud,
                target,
                lines,
                files: 1,
            },
        )
    };
    let (action, edit, lines) = match how {
        0 => ("create", change(&[(path, None, Some("a\nb\n"))]), 2),
        1 => ("modify", change(&[(path, Some("a\nb\n"), Some("a\nc\nd\n"))]), 3),
        2 => ("delete", change(&[(path, Some("a\n"), None)]), 1),
        _ => {
            let long = set.decide_read(path, b"a\n", &tool).effect();
            let short = set.read_policy(&tool).read_effect(path, || b"a\n".to_vec());
            assert_eq!(long, short, "one question, two answers: {path}");
            return (long, request("read", Some(path), 0));
        }
    };
    let whole = request("land", None, lines);
    (
        set.judge(&edit, &tool).effect(),
        request(action, Some(path), lines).max(whole),
    )
}

proptest! {
    // The default is for policies that load at once; these compile the names of every project part.
    #![proptest_config(match ProptestConfig::default().cases {
        256 => ProptestConfig::with_cases(40),
        asked => ProptestConfig::with_cases(asked),
    })]

    #[test]
    fn the_program_and_the_naive_model_agree(
        rules in prop::collection::vec(rule(), 0..8), standing in prop::array::uniform3(prop::option::of(Just(()))),
        requests in prop::collection::vec(
            (prop::sample::select(PATHS.to_vec()), 0..4_u8, prop::bool::ANY, prop::sample::select(TARGETS.to_vec())), 40
        )
    ) {
        let stands = [(LAYERS[0], standing[0]), (LAYERS[1], standing[1]), (LAYERS[2], standing[2])];
        let set = PolicySet::load(&written(&rules, &stands)).unwrap();
        for (path, how, cloud, target) in requests {
            let (program, model) = both(&set, &rules, &stands, path, how, (cloud, target));
            prop_assert_eq!(program, model, "{} {} {} {}", path, how, cloud, target);
        }
    }
}
