//! Decisions about switching: the table, and what holds for every feed.

use proptest::prelude::*;

use super::*;
use crate::{SelectionInput, SelectorKind, SwitchRules, select_model};

const GIB: u64 = 1 << 30;

fn model(alias: &str, gib: u64) -> PoolModel {
    PoolModel {
        alias: alias.to_owned(),
        provider: "local".to_owned(),
        model: None,
        abilities: std::collections::BTreeMap::new(),
        prices: agentos_tool::TokenPrices::default(),
        latency_ms: None,
        memory_bytes: Some(gib * GIB),
    }
}

fn models() -> Vec<PoolModel> {
    vec![model("large", 8), model("medium", 4), model("small", 2)]
}

fn look(at_ms: u64, free_gib: u64, cpu: u8) -> MachineLook {
    MachineLook {
        at_ms,
        total_bytes: 32 * GIB,
        free_bytes: free_gib * GIB,
        cpu_percent: Some(cpu),
    }
}

fn facts(running: Option<&str>, looks: &[MachineLook]) -> MachineFacts {
    MachineFacts {
        free_memory_bytes: looks.last().map_or(0, |look| look.free_bytes),
        running: running.map(str::to_owned),
        looks: looks.to_vec(),
        ..MachineFacts::default()
    }
}

fn decide(facts: &MachineFacts) -> (SwitchAction, String) {
    let models = models();
    let models: Vec<&PoolModel> = models.iter().collect();
    let decision = decide_switch(facts, &models).unwrap();
    (decision.action, decision.alias)
}

#[test]
fn each_situation_has_its_action() {
    use SwitchAction::{Down, Keep, Start, Up};
    let quiet = [look(0, 20, 10), look(6_000, 20, 10)];
    let short = [look(0, 20, 10), look(6_000, 4, 10)];
    let cases: Vec<(&str, MachineFacts, SwitchAction, &str)> = vec![
        (
            "enough for the large one",
            facts(None, &[look(0, 12, 0)]),
            Start,
            "large",
        ),
        (
            "not with the margin",
            facts(None, &[look(0, 11, 0)]),
            Start,
            "medium",
        ),
        ("nothing has room", facts(None, &[look(0, 2, 0)]), Start, "small"),
        ("87 % used", facts(Some("large"), &short), Down, "small"),
        ("84 % used", facts(Some("large"), &[look(0, 5, 0)]), Keep, "large"),
        (
            "busy, and memory for the next one",
            facts(Some("large"), &[look(0, 20, 85)]),
            Down,
            "medium",
        ),
        (
            "busy only now",
            facts(Some("large"), &[look(0, 20, 84), look(5_000, 20, 85)]),
            Keep,
            "large",
        ),
        ("nothing is smaller", facts(Some("small"), &short), Keep, "small"),
        (
            "free for the whole window",
            facts(Some("small"), &quiet),
            Up,
            "large",
        ),
        (
            "free, but nobody looked before",
            facts(Some("small"), &quiet[1..]),
            Keep,
            "small",
        ),
        (
            "short within the window",
            facts(
                Some("small"),
                &[look(0, 20, 0), look(3_000, 4, 0), look(6_000, 20, 0)],
            ),
            Keep,
            "small",
        ),
        (
            "short before the window",
            facts(
                Some("small"),
                &[look(0, 4, 0), look(1_000, 20, 0), look(6_000, 20, 0)],
            ),
            Up,
            "large",
        ),
        (
            "room for the medium one",
            facts(Some("small"), &[look(0, 8, 0), look(6_000, 20, 0)]),
            Up,
            "medium",
        ),
        (
            "three failures",
            MachineFacts {
                failures: 3,
                ..facts(Some("large"), &quiet)
            },
            Down,
            "medium",
        ),
        (
            "two failures",
            MachineFacts {
                failures: 2,
                ..facts(Some("large"), &quiet)
            },
            Keep,
            "large",
        ),
        (
            "a switch 29 s ago",
            MachineFacts {
                last_switch_ms: Some(0),
                ..facts(Some("large"), &[look(29_999, 2, 99)])
            },
            Keep,
            "large",
        ),
        (
            "a switch 30 s ago",
            MachineFacts {
                last_switch_ms: Some(0),
                ..facts(Some("large"), &[look(30_000, 2, 99)])
            },
            Down,
            "small",
        ),
        (
            "the clock was set back",
            MachineFacts {
                last_switch_ms: Some(90_000),
                ..facts(Some("large"), &short)
            },
            Keep,
            "large",
        ),
        (
            "a model that does not fit the turn",
            facts(Some("elsewhere"), &[look(0, 12, 0)]),
            Start,
            "large",
        ),
        ("no look at all", facts(Some("large"), &[]), Keep, "large"),
    ];
    for (name, facts, action, alias) in cases {
        assert_eq!(decide(&facts), (action, alias.to_owned()), "{name}");
    }
    assert_eq!(decide_switch(&facts(None, &quiet), &[]), None);
}

#[test]
fn a_loaded_model_needs_its_memory_only_once() {
    let looks = [look(0, 5, 0), look(6_000, 5, 0)];
    let loaded = MachineFacts {
        loaded: vec!["large".to_owned()],
        ..facts(Some("small"), &looks)
    };
    assert_eq!(decide(&loaded), (SwitchAction::Up, "large".to_owned()));
    assert_eq!(
        decide(&facts(Some("small"), &looks)),
        (SwitchAction::Keep, "small".to_owned())
    );
}

#[test]
fn a_tier_stands_for_memory_that_nobody_stated() {
    let tier = |word: &str| {
        let mut tiered = model("m", 0);
        tiered.memory_bytes = None;
        tiered
            .abilities
            .insert("tier".to_owned(), crate::AbilityValue::Text(word.to_owned()));
        tiered.needed_memory() / GIB
    };
    assert_eq!(["small", "medium", "large", "huge"].map(tier), [2, 4, 8, 0]);
}

/// A feed: milliseconds since the look before, free GiB and use of the processor.
fn feeds() -> impl Strategy<Value = Vec<(u64, u64, u8)>> {
    prop::collection::vec((200_u64..8_000, 0_u64..32, 0_u8..=100), 1..80)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    #[test]
    fn no_feed_makes_models_thrash(feed in feeds()) {
        let models = models();
        let offered: Vec<&PoolModel> = models.iter().collect();
        let rules = SwitchRules::default();
        let mut state = MachineFacts::default();
        let mut at_ms = 0;
        for (pause, free, cpu) in feed {
            at_ms += pause;
            state.looks.push(look(at_ms, free, cpu));
            state.free_memory_bytes = free * GIB;
            let decision = decide_switch(&state, &offered).unwrap();
            // As it is recorded, and decided again from the record.
            let record = serde_json::to_string(&state).unwrap();
            let read: MachineFacts = serde_json::from_str(&record).unwrap();
            let again = decide_switch(&read, &offered);
            prop_assert_eq!(again.as_ref(), Some(&decision));
            match decision.action {
                SwitchAction::Start => prop_assert!(state.running.is_none()),
                SwitchAction::Keep => prop_assert_eq!(Some(&decision.alias), state.running.as_ref()),
                SwitchAction::Down | SwitchAction::Up => {
                    if let Some(last) = state.last_switch_ms {
                        prop_assert!(at_ms - last >= rules.cooldown_ms, "{} ms after a switch", at_ms - last);
                    }
                    state.last_switch_ms = Some(at_ms);
                }
            }
            if decision.action == SwitchAction::Up {
                let chosen = models.iter().find(|model| model.alias == decision.alias).unwrap();
                let begin = at_ms - rules.window_ms;
                prop_assert!(state.looks.first().unwrap().at_ms <= begin);
                for seen in state.looks.iter().filter(|seen| seen.at_ms >= begin) {
                    prop_assert!(seen.free_bytes >= chosen.needed_memory() / 2 * 3);
                }
            }
            state.running = Some(decision.alias);
        }
    }
}

#[test]
fn the_choice_of_a_pool_is_the_decision() {
    let input = SelectionInput {
        models: models().into(),
        selector: SelectorKind::Resources,
        machine: Some(facts(Some("large"), &[look(0, 2, 0)])),
        ..SelectionInput::default()
    };
    let chosen = select_model(&input).unwrap();
    insta::assert_snapshot!(format!("{}: {}", chosen.alias, chosen.reason),
        @"small: switched down from `large`: 93 % of the memory is used, in all looks of the last 5 s");
}
