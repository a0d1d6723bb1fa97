//! Pools as their owners write them, and records of choices.

use std::collections::BTreeMap;

use agentos_profile::PoolFile;
use agentos_select::{
    ChosenModel, LocalTime, ModelSelector, Needs, SelectionInput, SelectionView, SelectorKind, TurnShape,
    infer_needs,
};
use agentos_tool::ExecutionMode;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn pool(value: Value) -> PoolFile {
    serde_json::from_value(value).unwrap()
}

/// A pool of members with these aliases and other fields.
fn named(aliases: &[&str], other: Value) -> PoolFile {
    let members = aliases
        .iter()
        .map(|alias| json!({ "alias": alias, "model": "openai/x" }));
    let mut value = json!({ "members": members.collect::<Vec<_>>() });
    for (key, field) in other.as_object().unwrap() {
        value[key] = field.clone();
    }
    pool(value)
}

#[test]
fn a_pool_that_names_a_wrong_member_is_refused() {
    let long = "x".repeat(65);
    let cases = [
        (
            named(&["a", "b"], json!({ "default": "b", "fallback": ["a"] })),
            "fine",
        ),
        (
            named(&[], json!({})),
            "`members` is empty: a pool needs at least one member",
        ),
        (
            named(&["a", "a"], json!({})),
            "`members`: two members have the alias `a`",
        ),
        (
            named(&["A b"], json!({})),
            "`members`: `A b` is not an alias: use 1 to 64 lower-case letters, digits, `-`, `_` and `.`",
        ),
        (
            named(&[""], json!({})),
            "`members`: `` is not an alias: use 1 to 64 lower-case letters, digits, `-`, `_` and `.`",
        ),
        (
            named(&["a"], json!({ "default": "b" })),
            "`default` names `b`, which is no member of the pool",
        ),
        (
            named(&["a"], json!({ "fallback": ["c"] })),
            "`fallback` names `c`, which is no member of the pool",
        ),
        (
            named(&["a", "b"], json!({ "fallback": ["b", "b"] })),
            "`fallback` names `b` twice: a member is asked once in a turn",
        ),
    ];
    for (file, expected) in cases {
        let found = check_pool(&file).map_or_else(|fault| fault.to_string(), |()| "fine".to_owned());
        assert_eq!(found, expected);
    }
    assert!(check_pool(&named(&[&long], json!({}))).is_err());
}

#[test]
fn a_chain_has_no_circle_and_at_most_five_hops() {
    let five = json!({ "fallback": ["a", "b", "c", "d", "e"] });
    let six = ["a", "b", "c", "d", "e", "f"];
    let chain = |pools: &[(&str, Value)]| -> String {
        let pools: BTreeMap<String, PoolFile> = pools
            .iter()
            .map(|(name, other)| ((*name).to_owned(), named(&six, other.clone())))
            .collect();
        match list_chain("one", &pools) {
            Ok(chain) => chain.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(" "),
            Err(fault) => fault.to_string(),
        }
    };
    let next = |name: &str| json!({ "next_pool": name });
    assert_eq!(chain(&[("one", next("two")), ("two", json!({}))]), "one two");
    assert_eq!(chain(&[("one", five.clone())]), "one");
    assert_eq!(
        chain(&[("one", next("one"))]),
        "`next_pool` leads in a circle: one → one"
    );
    assert_eq!(
        chain(&[
            ("one", next("two")),
            ("two", next("three")),
            ("three", next("two"))
        ]),
        "`next_pool` leads in a circle: two → three → two"
    );
    assert_eq!(
        chain(&[("one", next("two"))]),
        "`next_pool` of `one` names `two`, which is no pool"
    );
    let mut both = five;
    both["next_pool"] = json!("two");
    assert_eq!(
        chain(&[("one", both), ("two", json!({}))]),
        "a turn could be passed on 6 times, by `fallback` and `next_pool` together; at most 5 are possible"
    );
}

#[test]
fn no_turn_leaves_this_machine_without_leave() {
    use ExecutionMode::{Cloud, Local};
    let places = |pool: &str, allows_cloud, members: &[ExecutionMode]| ChainPlaces {
        pool: pool.to_owned(),
        allows_cloud,
        members: members
            .iter()
            .enumerate()
            .map(|(at, place)| (format!("m{at}"), *place))
            .collect(),
    };
    let cases: &[(Vec<ChainPlaces>, Option<&str>)] = &[
        (vec![places("a", false, &[Cloud, Cloud])], None),
        (vec![places("a", false, &[Local, Local])], None),
        (vec![places("a", false, &[Local, Cloud])], Some("a")),
        (vec![places("a", false, &[Cloud, Local])], Some("a")),
        (vec![places("a", true, &[Local, Cloud])], None),
        // The leave is that of the pool that the turn leaves.
        (
            vec![places("a", false, &[Local]), places("b", true, &[Cloud])],
            Some("a"),
        ),
        (
            vec![places("a", true, &[Local]), places("b", false, &[Cloud])],
            None,
        ),
        (
            vec![
                places("a", true, &[Local]),
                places("b", false, &[Local]),
                places("c", true, &[Cloud]),
            ],
            Some("b"),
        ),
        (
            vec![places("a", false, &[Cloud]), places("b", false, &[Local])],
            None,
        ),
    ];
    for (chain, expected) in cases {
        let found = match check_places(chain) {
            Ok(()) => None,
            Err(PoolFault::CloudWithoutLeave { pool, .. }) => Some(pool),
            Err(other) => panic!("{other}"),
        };
        assert_eq!(found.as_deref(), *expected, "{chain:?}");
    }
}

/// The pool of the example in the seed's own words (LM-24, LM-28, LM-29).
const SEED: &str = r#"[
 {"alias": "default", "provider": "OpenAI", "model_name": "gpt-3.5-turbo", "api_key": "your-key",
  "capabilities": {"supports_tools": true, "max_tokens": 4096, "context_window": 4096, "cost_per_1k_tokens": 0.002}},
 {"alias": "vision", "provider": "openai", "model_name": "gpt-4-vision",
  "capabilities": {"supports_vision": true, "max_tokens": 4096, "context_window": 8192, "cost_per_1k_tokens": 0.04}},
 {"alias": "local-llama", "provider": "local", "model_name": "llama-3-70b", "base_url": "http://localhost:8000",
  "capabilities": {"avg_latency_ms": 800.0, "custom_capabilities": {"supports_chinese": true, "gpu_required": true}}},
 {"alias": "sql expert", "provider": "local", "model_name": "sql",
  "capabilities": {"custom_capabilities": {"specialized_for": "sql_generation", "supports_dialects": ["postgresql", "mysql"]}}},
 {"alias": "nothing"}, 7
]"#;

#[test]
fn pools_of_other_programs_are_read() {
    let seed = read_pool(SEED).unwrap().unwrap();
    insta::assert_json_snapshot!(seed.pool, @r#"
    {
      "members": [
        {
          "alias": "default",
          "model": "openai/gpt-3.5-turbo",
          "abilities": {
            "context_window": 4096.0,
            "max_tokens": 4096.0,
            "supports_tools": true
          },
          "price": {
            "input": 2.0,
            "output": 2.0
          }
        },
        {
          "alias": "vision",
          "model": "openai/gpt-4-vision",
          "abilities": {
            "context_window": 8192.0,
            "max_tokens": 4096.0,
            "supports_vision": true
          },
          "price": {
            "input": 40.0,
            "output": 40.0
          }
        },
        {
          "alias": "local-llama",
          "model": "local/llama-3-70b",
          "abilities": {
            "gpu_required": true,
            "supports_chinese": true
          },
          "latency_ms": 800
        },
        {
          "alias": "sql-expert",
          "model": "local/sql",
          "abilities": {
            "specialized_for": "sql_generation",
            "supports_dialects": [
              "postgresql",
              "mysql"
            ]
          }
        }
      ],
      "infer_from_words": true
    }
    "#);
    insta::assert_debug_snapshot!((seed.notes, seed.skipped), @r#"
    (
        [
            "`default`: its key was left out; a key is stored for a provider",
            "`local-llama`: its provider needs a profile with the address http://localhost:8000",
        ],
        [
            SkippedMember {
                entry: "5",
                reason: "it names no model",
            },
            SkippedMember {
                entry: "6",
                reason: "it is no object",
            },
        ],
    )
    "#);
    let bot = r#"{"default_model": "Gemini 2.5 Pro", "models": {
        "Gemini 2.5 Pro": {"provider": "gemini", "api_model_name": "gemini-2.5-pro", "daily_limit": 50},
        "GPT-4o": {"provider": "openai", "api_model_name": "gpt-4o"},
        "flash": {"provider": "gemini", "api_model_name": "gemini-2.5-flash"}},
        "fallback_chains": {"Gemini 2.5 Pro": ["GPT-4o", "flash", "gone"], "flash": ["GPT-4o"]},
        "image_models": {"42": "GPT-4o"}}"#;
    let bot = read_pool(bot).unwrap().unwrap();
    let members: Vec<(&str, &str)> = bot
        .pool
        .members
        .iter()
        .map(|member| (member.alias.as_str(), member.model.as_str()))
        .collect();
    let expected = [
        ("gemini-2.5-pro", "gemini/gemini-2.5-pro"),
        ("gpt-4o", "openai/gpt-4o"),
        ("flash", "gemini/gemini-2.5-flash"),
    ];
    assert_eq!(members, expected);
    let empty = read_pool("[]").unwrap().unwrap();
    assert_eq!(empty.pool.members.len(), 0);
    for other in ["7", "{}", "{\"models\": 7}", "no json"] {
        assert_eq!(read_pool(other), Ok(None), "{other}");
    }
    assert_eq!(bot.pool.default.as_deref(), Some("gemini-2.5-pro"));
    let chain = |alias: &str| bot.pool.find_member(alias).unwrap().fallback.clone().unwrap();
    assert_eq!(
        (bot.pool.fallback.is_none(), chain("gemini-2.5-pro")),
        (true, vec!["gpt-4o".to_owned(), "flash".to_owned()])
    );
    assert_eq!(
        (chain("flash"), chain("gpt-4o")),
        (vec!["gpt-4o".to_owned()], Vec::new())
    );
    insta::assert_snapshot!(bot.notes.join("\n"), @"`gemini-2.5-pro`: of its fallbacks, 1 were left out, because the file has no such model or a turn is passed on at most 5 times: `gone`");
    assert_eq!(list_limits(&bot), ["gemini-2.5-pro 50calls/day All"]);
}

fn list_limits(read: &ImportedPool) -> Vec<String> {
    let limits = read.limits.iter();
    limits
        .map(|limit| format!("{} {} {:?}", limit.alias, limit.amount, limit.shared_by))
        .collect()
}

#[test]
fn a_bots_limits_become_budgets_and_its_aliases_a_chain() {
    let bot = r#"{"llm_models": {
        "pro": {"display_name": "Gemini Pro", "api_model_name": "gemini-2.5-pro", "description": "the best", "daily_limit": 50,
                "scope": "guild", "provider": "gemini", "fallback_alias": "flash"},
        "flash": {"api_model_name": "gemini-2.5-flash", "daily_limit": "1000", "scope": "channel", "provider": "gemini",
                  "fallback_alias": "mini"},
        "mini": {"api_model_name": "gpt-5-mini", "daily_limit": 100, "scope": "user", "provider": "openai"},
        "odd": {"api_model_name": "glm-4.6", "daily_limit": "many", "provider": "zai"}},
        "default_model": "pro",
        "image_models": [{"display_name": "Nano", "api_model_name": "gemini-2.5-flash-image", "default": true}]}"#;
    let read = read_pool(bot).unwrap().unwrap();
    let chain = |alias: &str| read.pool.find_member(alias).unwrap().fallback.clone().unwrap();
    assert_eq!(
        (chain("pro"), chain("flash")),
        (
            vec!["flash".to_owned(), "mini".to_owned()],
            vec!["mini".to_owned()]
        )
    );
    let circle = bot.replace(
        r#""provider": "openai"}"#,
        r#""provider": "openai", "fallback_alias": "flash"}"#,
    );
    let fault = read_pool(&circle).unwrap_err();
    insta::assert_snapshot!(fault, @"the fallbacks of the models lead in a circle: flash → mini → flash");
    let limits = [
        "pro 50calls/day Guild",
        "flash 1000calls/day Session",
        "mini 100calls/day All",
    ];
    assert_eq!(list_limits(&read), limits);
    assert!(
        read.pool.members.iter().all(|member| member.abilities.is_empty()),
        "{:?}",
        read.pool
    );
    insta::assert_snapshot!(read.notes.join("\n"), @"
    `mini`: its `scope` is not known here, so all of its calls share the daily limit
    `odd`: its daily limit is no number of calls, and was left out
    models that only make images were left out: the members of a pool answer in words
    ");
    // Members of the first list are those that are taken: the pool has all four.
    assert_eq!((read.pool.members.len(), read.skipped.len()), (4, 0));
}

#[test]
fn a_circle_of_any_length_is_refused_and_a_long_chain_is_cut() {
    let entries = |last: &str| {
        let entry = |at: usize| {
            let next = if at == 4_999 {
                last.to_owned()
            } else {
                format!("m{}", at + 1)
            };
            json!({ "alias": format!("m{at}"), "provider": "openai", "model_name": "x", "fallback_alias": next })
        };
        Value::Array((0..5_000).map(entry).collect()).to_string()
    };
    let imported = read_pool(&entries("")).unwrap().unwrap();
    let chain = |alias: &str| {
        imported
            .pool
            .find_member(alias)
            .unwrap()
            .fallback
            .clone()
            .unwrap()
    };
    assert_eq!(
        (chain("m0"), chain("m4999")),
        ((1..6).map(|at| format!("m{at}")).collect(), Vec::new())
    );
    let fault = read_pool(&entries("m4900")).unwrap_err();
    insta::assert_snapshot!(fault, @"the fallbacks of the models lead in a circle: m4900 → m4901 → m4902 → m4903 → m4904 → m4905 → … → m4900");
}

#[test]
fn limits_of_litellm_become_budgets() {
    let text = r#"{"model_list": [
        {"model_name": "gpt", "litellm_params": {"model": "openai/gpt-4o", "rpm": 60, "tpm": 90000, "max_budget": 2.5, "budget_duration": "1d"}},
        {"model_name": "gpt", "litellm_params": {"model": "azure/gpt-4o", "max_budget": 1, "budget_duration": "90m", "rpm": 0}}]}"#;
    let read = read_pool(text).unwrap().unwrap();
    let limits = [
        "gpt 60calls/minute All",
        "gpt 90000tokens/minute All",
        "gpt 2.5usd/day All",
    ];
    assert_eq!(list_limits(&read), limits);
    insta::assert_snapshot!(read.notes.join("\n"), @"`gpt-2`: its `max_budget` was left out, because `budget_duration` is no hour, day, week or month");
}

#[test]
fn a_configuration_of_litellm_is_read() {
    let text = r#"{"model_list": [
        {"model_name": "gpt", "litellm_params": {"model": "gpt-4o", "api_key": "os.environ/KEY"},
         "model_info": {"supports_vision": true, "max_input_tokens": 128000, "input_cost_per_token": 0.0000025}},
        {"model_name": "gpt", "litellm_params": {"model": "azure/gpt-4o", "api_base": "https://x.example"}}]}"#;
    let read = read_pool(text).unwrap().unwrap();
    insta::assert_json_snapshot!(read.pool, @r#"
    {
      "members": [
        {
          "alias": "gpt",
          "model": "openai/gpt-4o",
          "abilities": {
            "context_window": 128000.0,
            "supports_vision": true
          },
          "price": {
            "input": 2.5
          }
        },
        {
          "alias": "gpt-2",
          "model": "azure/gpt-4o"
        }
      ]
    }
    "#);
}

/// LM-27: the fastest in office hours, the cheapest otherwise.
struct OfficeHours;

impl ModelSelector for OfficeHours {
    fn select_model(&self, view: &SelectionView<'_>) -> Option<ChosenModel> {
        let hour = view.input.time?.hour;
        let in_office = (9..=17).contains(&hour);
        let order = |model: &&&agentos_select::PoolModel| match in_office {
            true => view.expected_latency(model).unwrap_or(u64::MAX),
            false => view
                .expected_cost(model)
                .map_or(u64::MAX, |cost| cost.pico_dollars()),
        };
        let model = view.fitting.iter().min_by_key(order)?;
        Some(ChosenModel {
            alias: model.alias.clone(),
            reason: format!("hour {hour}"),
        })
    }
}

/// An input of three models, of which the second one is fast and expensive.
fn three_models(needs: &[&str], selector: SelectorKind, hour: u8) -> SelectionInput {
    let models = json!([
        { "alias": "a", "provider": "p", "model": "m", "abilities": { "supports_vision": false, "size": 3 }, "latency_ms": 900,
          "prices": { "input": "1", "output": "1" } },
        { "alias": "b", "provider": "p", "abilities": { "supports_vision": true }, "latency_ms": 90,
          "prices": { "input": "5", "output": "5" } },
        { "alias": "c", "provider": "q", "model": "m", "abilities": { "supports_vision": true, "size": 9.5 } },
    ]);
    SelectionInput {
        models: serde_json::from_value(models).unwrap(),
        selector,
        needs: infer_needs(
            Needs::parse(needs.iter().copied()).unwrap(),
            &TurnShape::default(),
        ),
        input_tokens: 100,
        time: Some(LocalTime {
            hour,
            minute: 0,
            weekday: 1,
        }),
        ..SelectionInput::default()
    }
}

#[test]
fn a_record_shows_the_choice_and_a_changed_one_does_not_replay() {
    let choice = make_choice(
        "mine",
        three_models(&["min_size=4"], SelectorKind::Default, 9),
        None,
    )
    .unwrap();
    assert_eq!(
        (choice.alias.as_deref(), choice.model.as_deref()),
        (Some("c"), Some("q/m"))
    );
    let reasons: Vec<&str> = choice
        .refused
        .iter()
        .map(|refused| refused.reason.as_str())
        .collect();
    assert_eq!(
        reasons,
        [
            "size is 3, at least 4 is needed",
            "size is unknown, at least 4 is needed"
        ]
    );
    // As another machine reads it: written, stored in another order of fields, and read.
    let text = serde_json::to_string(&serde_json::to_value(&choice).unwrap()).unwrap();
    let read: PoolChoice = serde_json::from_str(&text).unwrap();
    assert_eq!(replay_choice(&read).unwrap().differences, Vec::<String>::new());
    let none = make_choice("mine", three_models(&["size=7"], SelectorKind::Default, 9), None).unwrap();
    assert_eq!((none.alias.as_deref(), none.refused.len()), (None, 3));
    assert!(replay_choice(&none).unwrap().differences.is_empty());

    let mut changed = read.clone();
    changed.alias = Some("b".to_owned());
    assert_eq!(
        replay_choice(&changed).unwrap().differences,
        ["alias: recorded b, now c"]
    );
    let mut changed = read;
    changed.input.input_tokens = 7;
    let replay = replay_choice(&changed).unwrap();
    assert_eq!(replay.differences.len(), 1);
    assert!(
        replay.differences[0].starts_with("input hash: recorded sha256:"),
        "{replay:?}"
    );
}

#[test]
fn a_selector_of_another_program_is_recorded_by_its_name_and_replayed_by_it() {
    // 17:59 still belongs to the office hours.
    for (hour, expected) in [(8, "a"), (9, "b"), (17, "b"), (18, "a")] {
        let own: (&str, &dyn ModelSelector) = ("office-hours", &OfficeHours);
        let choice = make_choice("mine", three_models(&[], SelectorKind::Default, hour), Some(own)).unwrap();
        assert_eq!(choice.alias.as_deref(), Some(expected), "{hour}");
        assert!(replay_with(&choice, own).unwrap().differences.is_empty());
        let without = replay_choice(&choice).unwrap().differences;
        assert_eq!(
            without,
            ["the selector `office-hours` of another program chose, and only it can choose again"]
        );
    }
}

proptest! {
    #[test]
    fn every_recorded_choice_replays(
        windows in proptest::collection::vec(proptest::option::of(1_u32..100_000), 1..20),
        least in 0_u32..120_000,
        kind in 0..7_usize,
    ) {
        let kinds = [SelectorKind::Default, SelectorKind::Capability, SelectorKind::Cheapest, SelectorKind::Fastest,
            SelectorKind::Resources, SelectorKind::Best, SelectorKind::Split];
        let models: Vec<Value> = windows.iter().enumerate().map(|(at, window)| {
            json!({ "alias": format!("m{at}"), "provider": "p", "abilities": window.map_or(json!({}), |window| json!({ "context_window": window })),
                "latency_ms": window })
        }).collect();
        let need = format!("min_context_window={least}");
        let input = SelectionInput {
            models: serde_json::from_value(json!(models)).unwrap(),
            needs: Needs::parse([need.as_str()]).unwrap(),
            ..three_models(&[], kinds[kind], 9)
        };
        let choice = make_choice("mine", input, None).unwrap();
        let text = serde_json::to_string(&choice).unwrap();
        let read: PoolChoice = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(&read, &choice);
        prop_assert!(replay_choice(&read).unwrap().differences.is_empty());
    }
}

#[test]
fn only_failures_of_a_server_are_passed_on() {
    let attempt = |code| FailedAttempt {
        code,
        is_cancelled: false,
        left_traces: false,
        hops: 0,
    };
    for code in [
        "refused",
        "read-timeout",
        "server-error",
        "rate-limited",
        "overloaded",
        "context-length",
        "broken-stream",
        "endless-answer",
    ] {
        assert_eq!(next_step(attempt(code)), FailoverStep::Retry, "{code}");
        let cancelled = FailedAttempt {
            is_cancelled: true,
            ..attempt(code)
        };
        assert_eq!(next_step(cancelled), FailoverStep::Stop(StopReason::Cancelled));
        let kept = FailedAttempt {
            left_traces: true,
            ..attempt(code)
        };
        assert_eq!(next_step(kept), FailoverStep::Stop(StopReason::LeftTraces));
        for (hops, step) in [
            (4, FailoverStep::Retry),
            (5, FailoverStep::Stop(StopReason::TooManyHops)),
        ] {
            assert_eq!(
                next_step(FailedAttempt {
                    hops,
                    ..attempt(code)
                }),
                step
            );
        }
    }
    // A key, policy, a diff, the user, and mistakes in a profile.
    for code in [
        "unauthorized",
        "forbidden",
        "missing-key",
        "key-required",
        "proxy-auth",
        "policy-denied",
        "no-diff",
        "conflict",
        "cancelled",
        "rejected",
        "unknown-model",
        "bad-url",
        "tls-certificate",
        "key-in-answer",
        "no-such-code",
    ] {
        assert_eq!(
            next_step(attempt(code)),
            FailoverStep::Stop(StopReason::OwnFault),
            "{code}"
        );
    }
}

#[test]
fn no_secret_is_imported() {
    let list = json!([
        { "alias": "a", "provider": "openai", "model_name": "x", "api_key": "sk-SECRET", "password": "SECRET", "Auth_Token": "SECRET",
          "base_url": "https://me:SECRET@host:8443/v1?key=SECRET#SECRET", "home": "https://me:SECRET@host/", "note": "sk-SECRET",
          "extra_headers": ["SECRET"], "languages": ["en", "de"], "long": "SECRET".repeat(20),
          "capabilities": { "api_secret": "SECRET", "max_tokens": 4096, "family": "tiny", "custom_capabilities": { "cookie": "SECRET" } } },
        { "model_name": "openai/x", "litellm_params": { "model": "https://me:SECRET@host/x", "api_base": "me:SE@CRET@host/v1" } },
        { "model_name": "b", "litellm_params": { "model": "openai/x", "api_base": "https://me:S@ECRET@host/v1" } },
    ]);
    let imported = read_pool(&list.to_string()).unwrap().unwrap();
    let all = format!("{imported:?}");
    assert!(!all.contains("SECRET") && !all.contains("ECRET@"), "{all}");
    let abilities: Vec<&String> = imported.pool.members[0].abilities.keys().collect();
    assert_eq!(abilities, ["family", "languages", "max_tokens"]);
    assert!(
        imported.notes[1].ends_with("the address https://host:8443/v1"),
        "{:?}",
        imported.notes
    );
}

#[test]
fn a_name_that_is_repeated_thousands_of_times_is_imported() {
    // Each name is looked up once: a search through all members for each number would need 10^12 comparisons here.
    let entry = |name: &str| json!({ "model_name": name, "litellm_params": { "model": "openai/x" } });
    let entries: Vec<Value> = (0..20_000)
        .map(|at| entry(if at == 5 { "same-3" } else { "same" }))
        .collect();
    let imported = read_pool(&json!({ "model_list": entries }).to_string())
        .unwrap()
        .unwrap();
    let aliases: std::collections::BTreeSet<&str> = imported
        .pool
        .members
        .iter()
        .map(|member| member.alias.as_str())
        .collect();
    assert_eq!(aliases.len(), 20_000);
    assert_eq!(imported.pool.members[2].alias, "same-3");
    assert_eq!(imported.pool.members[5].alias, "same-3-2");
}
