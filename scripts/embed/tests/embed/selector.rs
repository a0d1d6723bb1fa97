//! A selector of another program: it chooses by the clock, and its choice is recorded and replayed.
//!
//! Owns: the proof that one can be written outside of the workspace. Never: sends anything.

use agentos_host::{
    ChosenModel, LocalTime, ModelSelector, PoolModel, PoolQuery, SelectionView, replay_with,
};
use agentos_testkit::repo::write_file;

use crate::Ended;
use crate::world::World;

/// A quick member and a cheap one.
const POOL: &str = r#"{ "provider": "mine", "adapter": "pool", "pool": { "members": [
    { "alias": "quick", "model": "openai/gpt-4o", "latency_ms": 200, "price": { "input": 10, "output": 30 } },
    { "alias": "thrifty", "model": "openai/gpt-4o-mini", "latency_ms": 900, "price": { "input": 0.1, "output": 0.3 } }
] } }"#;

/// The fastest model in office hours, the cheapest one otherwise.
struct OfficeHours;

impl ModelSelector for OfficeHours {
    fn select_model(&self, view: &SelectionView<'_>) -> Option<ChosenModel> {
        // The time of the input and not the clock's own, so that the choice can be made again.
        let time = view.input.time?;
        let is_office = (9..=17).contains(&time.hour) && time.weekday <= 5;
        let fastest = |model: &&&PoolModel| view.expected_latency(model).unwrap_or(u64::MAX);
        // A model without a known price goes last: its price may be any.
        let cheapest = |model: &&&PoolModel| {
            let cost = view.expected_cost(model);
            (cost.is_none(), cost)
        };
        let chosen = match is_office {
            true => view.fitting.iter().min_by_key(fastest)?,
            false => view.fitting.iter().min_by_key(cheapest)?,
        };
        Some(ChosenModel {
            alias: chosen.alias.clone(),
            reason: format!("it is {}:{:02}", time.hour, time.minute),
        })
    }
}

/// Chooses at three times of a week, and makes each choice again.
pub fn a_selector_of_another_program_chooses_by_the_clock() -> Ended {
    let world = World::new(&[("a.txt", "one\n")]);
    let profiles = world.repo.outside().join("home/.config/agentos/profiles");
    write_file(&profiles.join("mine.json"), POOL);
    for (hour, weekday, expected) in [(10, 1, "quick"), (20, 1, "thrifty"), (10, 7, "thrifty")] {
        let query = PoolQuery {
            time: Some(LocalTime { hour, minute: 30, weekday }),
            ..PoolQuery::default()
        };
        let own = Some(("office-hours", &OfficeHours as &dyn ModelSelector));
        let choice = world.host.calls().choose_member_with("mine", &query, own).expect("a choice");
        assert_eq!(choice.alias.as_deref(), Some(expected), "{hour} {weekday}");
        assert_eq!(choice.own_selector.as_deref(), Some("office-hours"));
        let replay = replay_with(&choice, ("office-hours", &OfficeHours)).expect("a replay");
        assert!(replay.differences.is_empty(), "{replay:?}");
    }
    Ended::Passed
}
