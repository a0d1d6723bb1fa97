//! Choices of a pool, as its owner expects them.

use std::collections::BTreeMap;

use agentos_tool::{TokenPrice, TokenPrices};
use proptest::prelude::*;
use serde_json::json;

use super::*;

/// A pool of four models: a cheap default, one for pictures, one with a large window, and one for one job.
fn example_pool() -> SelectionInput {
    let model = |alias: &str, provider: &str, price: f64, abilities: serde_json::Value| {
        let price = TokenPrice::from_number(price);
        PoolModel {
            alias: alias.to_owned(),
            provider: provider.to_owned(),
            model: None,
            abilities: serde_json::from_value(abilities).unwrap(),
            prices: TokenPrices {
                input: price,
                output: price,
                ..TokenPrices::default()
            },
            latency_ms: None,
            memory_bytes: None,
        }
    };
    SelectionInput {
        models: vec![
            model(
                "default",
                "openai",
                2.0,
                json!({ "supports_tools": true, "supports_vision": false, "context_window": 4096 }),
            ),
            model(
                "vision",
                "openai",
                40.0,
                json!({ "supports_vision": true, "supports_tools": true, "context_window": 8192 }),
            ),
            model(
                "large-context",
                "anthropic",
                15.0,
                json!({ "supports_tools": true, "context_window": 200_000 }),
            ),
            model(
                "sql-expert",
                "local",
                0.0,
                json!({ "specialized_for": "sql_generation", "accuracy": 0.95, "supports_dialects": ["postgresql", "mysql"], "context_window": 4096 }),
            ),
        ]
        .into(),
        selector: SelectorKind::Capability,
        input_tokens: 1_000,
        output_tokens: 200,
        ..SelectionInput::default()
    }
}

/// Chooses for needs as they are typed, and a turn. Gives the alias, or each refusal.
fn choose(selector: SelectorKind, needs: &[&str], turn: &TurnShape<'_>) -> Result<String, Vec<String>> {
    let needs = infer_needs(Needs::parse(needs.iter().copied()).unwrap(), turn);
    let input = SelectionInput {
        selector,
        needs,
        ..example_pool()
    };
    match select_model(&input) {
        Ok(selection) => Ok(selection.alias),
        Err(SelectionError::NothingFits { refused }) => Err(refused
            .iter()
            .map(|refused| {
                format!(
                    "{}: {}",
                    input.models[refused.position].alias,
                    refused.describe(&input.needs)
                )
            })
            .collect()),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn an_experiment_splits_turns_until_one_model_is_better() {
    let mut input = example_pool();
    input.selector = SelectorKind::Split;
    let share = |input: &mut SelectionInput| {
        let mut shares: BTreeMap<String, u32> = BTreeMap::new();
        for turn in 0..4000 {
            input.task = Some(format!("turn {turn}"));
            *shares.entry(select_model(input).unwrap().alias).or_default() += 1;
        }
        shares
    };
    let even = share(&mut input);
    assert_eq!(even.len(), 4);
    assert!(even.values().all(|turns| (900..1100).contains(turns)), "{even:?}");
    // 28 of 40 against 12 of 40 may be chance at one of many looks; 700 of 1,000 against 300 of 1,000 is none.
    for (good, all, is_decided) in [(28, 40, false), (700, 1000, true)] {
        for model in &input.models {
            let stayed = if model.alias == "vision" { good } else { all - good };
            let record = ModelRecord {
                stayed,
                rejected: all - stayed,
                ..ModelRecord::default()
            };
            input.records.insert(model.alias.clone(), record);
        }
        let shares = share(&mut input);
        assert_eq!(shares.get("vision") == Some(&4000), is_decided, "{shares:?}");
    }
    assert_eq!(
        select_model(&input).unwrap().reason,
        "the experiment is decided: 700 of 1000 changes landed and stayed"
    );
    // The winner gets no turn for which it is not made.
    input.needs = Needs::parse(["min_context_window=50000"]).unwrap();
    assert_eq!(select_model(&input).unwrap().alias, "large-context");
}

#[test]
fn a_model_with_an_open_circuit_is_left_out_unless_no_other_one_fits() {
    let failed = |failures, since_ms| CircuitFacts {
        failures,
        code: "refused".to_owned(),
        since_ms,
    };
    let mut input = example_pool();
    input.selector = SelectorKind::Default;
    // (failures and milliseconds since the last one of `default`, need, the model that is chosen)
    let cases = [
        (failed(2, 0), "", "default"),
        (failed(3, 0), "", "vision"),
        (failed(3, 30_000), "", "default"),
        (failed(3, 0), "min_context_window=50000", "large-context"),
    ];
    for (facts, need, expected) in cases {
        input.circuits = BTreeMap::from([("default".to_owned(), facts.clone())]);
        input.needs = Needs::parse(need.split_terminator(',')).unwrap();
        let chosen = select_model(&input).unwrap();
        assert_eq!(chosen.alias, expected, "{facts} {need}");
        // Recorded as any other reason, and the same after the record was written and read.
        let read: SelectionInput = serde_json::from_value(serde_json::to_value(&input).unwrap()).unwrap();
        assert_eq!(select_model(&read).unwrap(), chosen);
    }
    input.needs = Needs::default();
    let left_out = select_model(&input).unwrap().refused.remove(0);
    assert_eq!(
        left_out.describe(&input.needs),
        "3 calls in a row failed, the last one (refused) 0 s ago; asked again in 30 s"
    );
    // With all circuits open, somebody is asked all the same.
    for model in &input.models {
        input.circuits.insert(model.alias.clone(), failed(9, 0));
    }
    let chosen = select_model(&input).unwrap();
    assert_eq!((chosen.alias.as_str(), chosen.refused.len()), ("default", 0));
}

#[test]
fn needs_choose_the_model_that_has_them() {
    let nothing = TurnShape::default();
    let says = |message| TurnShape {
        message,
        reads_words: true,
        ..TurnShape::default()
    };
    let unread = TurnShape {
        reads_words: false,
        ..says("please look at this Image")
    };
    let long = TurnShape {
        context_chars: 50_001,
        context_tokens: 12_000,
        ..TurnShape::default()
    };
    let cases: &[(&[&str], TurnShape<'_>, &str)] = &[
        (&[], nothing, "default"),
        (&["supports_vision=true"], nothing, "vision"),
        (&["min_context_window=50000"], nothing, "large-context"),
        (&["specialized_for=sql_generation"], nothing, "sql-expert"),
        (&["supports_dialects=mysql"], nothing, "sql-expert"),
        (&["min_accuracy=0.9"], nothing, "sql-expert"),
        (&[], says("please look at this Image"), "vision"),
        (&[], says("请分析这张图片"), "vision"),
        (&[], unread, "default"),
        (
            &["supports_vision=false"],
            says("resize the image in CSS"),
            "default",
        ),
        (&[], TurnShape { images: 1, ..nothing }, "vision"),
        (&[], TurnShape { tools: 3, ..nothing }, "default"),
        (&[], long, "large-context"),
        (&["min_context_window=4000"], long, "default"),
    ];
    for (needs, turn, expected) in cases {
        assert_eq!(
            choose(SelectorKind::Capability, needs, turn).as_deref(),
            Ok(*expected),
            "{needs:?} {turn:?}"
        );
    }
}

#[test]
fn each_model_that_does_not_fit_has_its_reasons() {
    let refused = choose(
        SelectorKind::Default,
        &["supports_vision=true", "min_context_window=100000"],
        &TurnShape::default(),
    );
    insta::assert_snapshot!(refused.unwrap_err().join("\n"), @"
    default: context_window is 4096, at least 100000 is needed; supports_vision is false, true is needed
    vision: context_window is 8192, at least 100000 is needed
    large-context: supports_vision is unknown, true is needed
    sql-expert: context_window is 4096, at least 100000 is needed; supports_vision is unknown, true is needed
    ");
}

#[test]
fn an_unknown_ability_refuses_no_model_for_a_need_that_was_inferred() {
    let tools = TurnShape {
        tools: 1,
        ..TurnShape::default()
    };
    let model = |alias: &str, abilities: serde_json::Value| PoolModel {
        abilities: serde_json::from_value(abilities).unwrap(),
        alias: alias.to_owned(),
        ..example_pool().models[0].clone()
    };
    let unknown = model("unknown", json!({}));
    let without = model("without", json!({ "supports_tools": false }));
    let with = model("with", json!({ "supports_tools": true }));
    let blind = model(
        "blind",
        json!({ "supports_tools": true, "supports_vision": false }),
    );
    let stated: &[&str] = &["supports_tools=true"];
    let picture = TurnShape { images: 1, ..tools };
    // Models of the pool, stated needs, the turn; the chosen alias, those that are uncertain and those that are refused.
    let cases = [
        (vec![&unknown], &[][..], tools, Some("unknown"), 1, 0),
        (vec![&without, &unknown], &[], tools, Some("unknown"), 1, 1),
        // A model that is known to have it goes before one of which nobody knows.
        (vec![&unknown, &with], &[], tools, Some("with"), 1, 0),
        // Of those that are uncertain, the one with the fewest unknown abilities.
        (vec![&unknown, &with, &blind], &[], picture, Some("with"), 2, 1),
        // A stated need is strict, also where the turn implies the same.
        (vec![&unknown], stated, tools, None, 0, 1),
        (vec![&unknown, &with], stated, tools, Some("with"), 0, 1),
        (vec![&without, &blind], &[], picture, None, 0, 2),
    ];
    for (models, needs, turn, expected, uncertain, refused) in cases {
        let input = SelectionInput {
            models: models.into_iter().cloned().collect(),
            needs: infer_needs(Needs::parse(needs.iter().copied()).unwrap(), &turn),
            ..SelectionInput::default()
        };
        let found = match select_model(&input) {
            Ok(chosen) => (Some(chosen.alias), chosen.uncertain.len(), chosen.refused.len()),
            Err(SelectionError::NothingFits { refused }) => (None, 0, refused.len()),
            Err(error) => panic!("{error}"),
        };
        assert_eq!(
            found,
            (expected.map(str::to_owned), uncertain, refused),
            "{input:?}"
        );
    }
    let input = SelectionInput {
        models: vec![unknown].into(),
        needs: infer_needs(Needs::default(), &picture),
        ..SelectionInput::default()
    };
    let uncertain = select_model(&input).unwrap().uncertain;
    insta::assert_snapshot!(
        uncertain[0].describe(&input.needs),
        @"supports_tools is unknown, need inferred; supports_vision is unknown, need inferred"
    );
}

#[test]
fn a_text_that_is_no_need_is_refused() {
    for (typed, expected) in [
        (
            "vision",
            "`vision` is no need: write NAME=VALUE, as in `supports_vision=true`",
        ),
        (
            "=true",
            "`=true` is no need: write NAME=VALUE, as in `supports_vision=true`",
        ),
        (
            "min_context_window=large",
            "`min_context_window` needs a number, and `large` is none",
        ),
        (
            "min_context_window=nan",
            "`min_context_window` needs a number, and `nan` is none",
        ),
        (
            "supports_vision=1",
            "`supports_vision` is `true` or `false`, and not `1`",
        ),
    ] {
        assert_eq!(Needs::parse([typed]).unwrap_err().to_string(), expected);
    }
}

#[test]
fn selectors_choose_among_those_that_fit() {
    let record = |stayed, rejected, median| ModelRecord {
        calls: 10,
        median_ms: median,
        stayed,
        rejected,
        ..ModelRecord::default()
    };
    let pool = || {
        let mut pool = example_pool();
        pool.models[0].latency_ms = Some(900);
        pool.models[1].latency_ms = Some(300);
        for (model, bytes) in pool.models.iter_mut().zip([4, 8, 16, 2]) {
            model.memory_bytes = Some(bytes << 30);
        }
        pool
    };
    let machine = |gib: u64, loaded: &[&str]| {
        Some(MachineFacts {
            free_memory_bytes: gib << 30,
            loaded: loaded.iter().map(|alias| (*alias).to_owned()).collect(),
            ..MachineFacts::default()
        })
    };
    let records = |all: &[(&str, ModelRecord)]| -> BTreeMap<String, ModelRecord> {
        all.iter()
            .map(|(alias, record)| ((*alias).to_owned(), *record))
            .collect()
    };
    let all_tried = records(&[
        ("default", record(9, 1, Some(700))),
        ("vision", record(2, 8, Some(200))),
        ("large-context", record(10, 0, Some(4_000))),
        ("sql-expert", record(0, 10, Some(650))),
    ]);
    let cases = [
        (
            SelectorKind::Default,
            pool(),
            "default",
            "the pool's default model",
        ),
        (
            SelectorKind::Cheapest,
            pool(),
            "sql-expert",
            "the lowest expected cost, $0",
        ),
        (
            SelectorKind::Fastest,
            pool(),
            "vision",
            "the lowest latency, 300 ms",
        ),
        (
            SelectorKind::Fastest,
            SelectionInput {
                records: all_tried.clone(),
                ..pool()
            },
            "vision",
            "the lowest latency, 200 ms",
        ),
        (
            SelectorKind::Resources,
            SelectionInput {
                machine: machine(13, &[]),
                ..pool()
            },
            "vision",
            "the largest model that can run: free memory is enough",
        ),
        (
            SelectorKind::Resources,
            SelectionInput {
                machine: machine(13, &["large-context"]),
                ..pool()
            },
            "large-context",
            "the largest model that can run: loaded already",
        ),
        (
            SelectorKind::Resources,
            SelectionInput {
                machine: machine(1, &[]),
                ..pool()
            },
            "sql-expert",
            "memory is short; the smallest model",
        ),
        (
            SelectorKind::Best,
            SelectionInput {
                records: all_tried.clone(),
                ..pool()
            },
            "large-context",
            "10 of 10 changes landed and stayed",
        ),
        (
            SelectorKind::Best,
            SelectionInput {
                records: records(&[("default", record(9, 1, None))]),
                ..pool()
            },
            "sql-expert",
            "not tried yet",
        ),
    ];
    for (selector, input, alias, reason) in cases {
        let chosen = select_model(&SelectionInput { selector, ..input }).unwrap();
        assert_eq!(
            (chosen.alias.as_str(), chosen.reason.as_str()),
            (alias, reason),
            "{selector:?}"
        );
    }
}

#[test]
fn a_model_that_is_excluded_says_why() {
    let input = SelectionInput {
        excluded: BTreeMap::from([("default".to_owned(), "it was not reachable".to_owned())]),
        selector: SelectorKind::Default,
        ..example_pool()
    };
    let chosen = select_model(&input).unwrap();
    assert_eq!(chosen.alias, "vision");
    assert_eq!(chosen.refused[0].describe(&input.needs), "it was not reachable");
}

/// A selector of one's own: the fastest in office hours, otherwise the cheapest.
struct OfficeHours;

impl ModelSelector for OfficeHours {
    fn select_model(&self, view: &SelectionView<'_>) -> Option<ChosenModel> {
        let time = view.input.time?;
        let is_office = (9..=17).contains(&time.hour);
        let model = view.fitting.iter().min_by_key(|model| match is_office {
            true => view.expected_latency(model).unwrap_or(u64::MAX),
            false => view
                .expected_cost(model)
                .map_or(u64::MAX, |cost| cost.pico_dollars()),
        })?;
        Some(ChosenModel {
            alias: model.alias.clone(),
            reason: format!("it is {}:{:02}", time.hour, time.minute),
        })
    }
}

#[test]
fn a_selector_of_ones_own_sees_the_time_and_models_that_fit() {
    let mut pool = example_pool();
    pool.models[1].latency_ms = Some(100);
    for (hour, minute, expected) in [
        (9, 0, "vision"),
        (17, 59, "vision"),
        (18, 0, "sql-expert"),
        (3, 0, "sql-expert"),
    ] {
        let time = LocalTime {
            hour,
            minute,
            weekday: 1,
        };
        let input = SelectionInput {
            time: Some(time),
            ..pool.clone()
        };
        assert_eq!(
            select_with(&input, &OfficeHours).unwrap().alias,
            expected,
            "{hour}"
        );
    }
    let without_time = select_with(&pool, &OfficeHours).unwrap_err();
    assert_eq!(
        without_time.to_string(),
        "the selector chose nothing, which is no model that fits"
    );
}

#[test]
fn an_experiment_ends_when_one_arm_is_certainly_better() {
    let arm = |good, all| ArmRecord { good, all };
    for (arms, expected) in [
        (vec![], ExperimentState::Running),
        (vec![arm(5, 5)], ExperimentState::Running),
        (vec![arm(3, 3), arm(0, 3)], ExperimentState::Running),
        (vec![arm(52, 100), arm(48, 100)], ExperimentState::Running),
        (
            vec![arm(20, 100), arm(90, 100)],
            ExperimentState::Decided { arm: 1 },
        ),
        (
            vec![arm(450, 500), arm(400, 500), arm(100, 500)],
            ExperimentState::Running,
        ),
    ] {
        assert_eq!(judge_experiment(&arms), expected, "{arms:?}");
    }
    // Two equal arms, judged after each of many results, are hardly ever taken for different.
    let mut wrong = 0;
    for seed in 0..200 {
        let mut arms = [ArmRecord::default(); 2];
        for task in 0..500 {
            let name = format!("task {task}");
            let arm = assign_arm(seed, &name, 2).unwrap();
            arms[arm].all += 1;
            arms[arm].good += assign_arm(seed ^ 0x5eed, &name, 2).unwrap() as u64;
            if judge_experiment(&arms) != ExperimentState::Running {
                wrong += 1;
                break;
            }
        }
        let share = arms[0].all as f64 / (arms[0].all + arms[1].all) as f64;
        assert!((0.3..0.7).contains(&share), "{arms:?}");
    }
    assert!(wrong <= 10, "{wrong}");
}

fn any_input() -> impl Strategy<Value = SelectionInput> {
    let ability = prop_oneof![
        any::<bool>().prop_map(AbilityValue::Flag),
        (0_u32..300_000).prop_map(|number| AbilityValue::Number(f64::from(number))),
        "[a-c]{1,2}".prop_map(AbilityValue::Text),
        proptest::collection::vec("[a-c]{1,2}", 0..3).prop_map(AbilityValue::Texts),
    ];
    let abilities = proptest::collection::btree_map("(supports_|min_)?[xyz]", ability, 0..4);
    let model = (
        abilities.clone(),
        proptest::option::of(0_u64..5_000),
        proptest::option::of(0_u64..50),
        0_u64..30,
        0_u64..30,
    );
    let kinds = proptest::sample::select(vec![
        SelectorKind::Default,
        SelectorKind::Capability,
        SelectorKind::Cheapest,
        SelectorKind::Fastest,
        SelectorKind::Resources,
        SelectorKind::Best,
    ]);
    (
        proptest::collection::vec(model, 1..12),
        kinds,
        abilities,
        0_u64..64,
    )
        .prop_map(|(models, selector, wanted, free)| {
            let needs = wanted
                .iter()
                .filter(|(_, value)| !matches!(value, AbilityValue::Texts(_)));
            let typed: Vec<String> = needs.map(|(name, value)| format!("{name}={value}")).collect();
            let readable = typed
                .iter()
                .map(String::as_str)
                .filter(|text| Needs::parse([*text]).is_ok());
            let records = models.iter().enumerate().map(|(at, (.., stayed, rejected))| {
                (
                    format!("m{at}"),
                    ModelRecord {
                        calls: stayed + rejected,
                        stayed: *stayed,
                        rejected: *rejected,
                        ..ModelRecord::default()
                    },
                )
            });
            // Every other need is one that a turn implies.
            let (mut stated, mut inferred) = (Vec::new(), Vec::new());
            for (at, text) in readable.enumerate() {
                if at % 2 == 0 { &mut stated } else { &mut inferred }.push(text);
            }
            let mut needs = Needs::parse(stated).unwrap();
            for (name, need) in Needs::parse(inferred).unwrap().iter() {
                needs.infer(name, need.value.clone(), "a reason");
            }
            SelectionInput {
                needs,
                records: records.collect(),
                machine: Some(MachineFacts {
                    free_memory_bytes: free << 30,
                    loaded: Vec::new(),
                    ..MachineFacts::default()
                }),
                selector,
                models: models
                    .into_iter()
                    .enumerate()
                    .map(|(at, (abilities, latency_ms, memory, ..))| PoolModel {
                        alias: format!("m{at}"),
                        provider: "p".to_owned(),
                        model: None,
                        abilities,
                        prices: TokenPrices::default(),
                        latency_ms,
                        memory_bytes: memory.map(|gib| gib << 30),
                    })
                    .collect(),
                ..SelectionInput::default()
            }
        })
}

proptest! {
    /// The chosen model meets every need, each other one is counted once, and a recorded input gives the same choice again.
    #[test]
    fn a_choice_fits_and_replays(input in any_input()) {
        let result = select_model(&input);
        let recorded: SelectionInput = serde_json::from_str(&serde_json::to_string(&input).unwrap()).unwrap();
        prop_assert_eq!(&select_model(&recorded), &result);
        match result {
            Ok(selection) => {
                let chosen = input.models.iter().find(|model| model.alias == selection.alias).unwrap();
                for (name, need) in input.needs.iter() {
                    let rule = NeedRule::of(name);
                    let is_unknown = !need.is_stated() && !chosen.abilities.contains_key(rule.ability());
                    prop_assert!(rule.is_met(chosen, &need.value) || is_unknown);
                }
                let certain = input.models.len() - selection.refused.len() - selection.uncertain.len();
                match certain {
                    0 => prop_assert!((1..=selection.uncertain.len()).contains(&selection.fitting)),
                    certain => prop_assert_eq!(selection.fitting, certain),
                }
            }
            Err(SelectionError::NothingFits { refused }) => {
                prop_assert_eq!(refused.len(), input.models.len());
                prop_assert!(refused.iter().all(|refused| !refused.unmet.is_empty()));
            }
            Err(error) => prop_assert!(false, "{}", error),
        }
    }
}

#[test]
fn a_program_chooses_among_models_that_fit_and_its_answer_replays() {
    let answer = |alias: Option<&str>, failure: Option<&str>, falls_back| ProgramAnswer {
        toolbox: "mine".to_owned(),
        program_hash: None,
        alias: alias.map(str::to_owned),
        failure: failure.map(str::to_owned),
        falls_back,
    };
    let needs = Needs::parse(["supports_tools=true"]).unwrap();
    // (answer, result)
    let cases = [
        (
            answer(Some("large-context"), None, false),
            "large-context: the program `mine` chose it",
        ),
        // It does not fit.
        (
            answer(Some("sql-expert"), None, false),
            "the program `mine` chose no member: its answer `sql-expert` is no member that fits",
        ),
        (
            answer(Some("nobody"), None, true),
            "default: the pool's default model, because `mine` did not choose: its answer `nobody` is no member that fits",
        ),
        (
            answer(None, Some("it took more than 10 s"), true),
            "default: the pool's default model, because `mine` did not choose: it took more than 10 s",
        ),
        (
            answer(None, Some("it took more than 10 s"), false),
            "the program `mine` chose no member: it took more than 10 s",
        ),
        (
            answer(None, None, false),
            "the program `mine` chose no member: it gave no answer",
        ),
    ];
    for (answer, expected) in cases {
        let input = SelectionInput {
            needs: needs.clone(),
            program: Some(answer),
            ..example_pool()
        };
        let written = serde_json::to_string(&input).unwrap();
        let read: SelectionInput = serde_json::from_str(&written).unwrap();
        for input in [input, read] {
            let found = match select_model(&input) {
                Ok(selection) => format!("{}: {}", selection.alias, selection.reason),
                Err(error) => error.to_string(),
            };
            assert_eq!(found, expected);
        }
    }
}

#[test]
fn a_program_is_shown_what_fits_and_nothing_without_a_choice() {
    let mut input = SelectionInput {
        needs: Needs::parse(["supports_tools=true"]).unwrap(),
        records: [("vision", 3), ("sql-expert", 9)]
            .map(|(alias, calls)| {
                let record = ModelRecord {
                    calls,
                    ..ModelRecord::default()
                };
                (alias.to_owned(), record)
            })
            .into(),
        ..example_pool()
    };
    let request = SelectorRequest::of("mine", &input).unwrap();
    let aliases: Vec<&str> = request.models.iter().map(|model| model.alias.as_str()).collect();
    assert_eq!(aliases, ["default", "vision", "large-context"]);
    assert_eq!(request.records.keys().collect::<Vec<_>>(), ["vision"]);
    for needs in ["specialized_for=sql_generation", "supports_smell=true"] {
        input.needs = Needs::parse([needs]).unwrap();
        assert_eq!(SelectorRequest::of("mine", &input), None);
    }
}

#[test]
fn best_goes_by_the_kind_as_far_as_it_is_known() {
    let record = |stayed, rejected| ModelRecord {
        stayed,
        rejected,
        ..ModelRecord::default()
    };
    let mut input = SelectionInput {
        selector: SelectorKind::Best,
        kind: Some(TaskKind::Docs),
        // All were tried often, so that the bonus decides nothing.
        records: ["default", "vision", "large-context", "sql-expert"]
            .map(|alias| (alias.to_owned(), record(500, 500)))
            .into(),
        ..example_pool()
    };
    input.records.insert("default".to_owned(), record(700, 300));
    // (changes of this kind of `default` and of `vision`, chosen one)
    let cases = [
        (record(0, 0), record(0, 0), "default"),
        // One change of a kind is no proof against hundreds.
        (record(0, 0), record(1, 0), "default"),
        (record(3, 7), record(9, 1), "vision"),
        (record(7, 3), record(5, 5), "default"),
    ];
    for (first, second, expected) in cases {
        input.kind_records = [("default", first), ("vision", second)]
            .map(|(alias, record)| (alias.to_owned(), record))
            .into();
        assert_eq!(
            select_model(&input).unwrap().alias,
            expected,
            "{first:?} {second:?}"
        );
    }
    input.kind_records.insert("vision".to_owned(), record(9, 1));
    input.kind_records.insert("default".to_owned(), record(3, 7));
    assert_eq!(
        select_model(&input).unwrap().reason,
        "500 of 1000 changes landed and stayed, 9 of 10 of the kind `docs`"
    );
    // Of another kind, the same model is the best one again.
    input.kind_records.clear();
    assert_eq!(select_model(&input).unwrap().alias, "default");
}
