//! Pools of models: the seed's pool, choices with their reasons, mistakes, imports and statistics.

mod llama;
mod program;

use agentos_schema::{SchemaName, validate_value};
use agentos_testkit::cli::{Cli, CliOutput};
use agentos_testkit::repo::{read_file, write_file};
use agentos_testkit::server::{FakeServer, Reply, head};
use serde_json::{Value, json};

use crate::support::{agentos, small_repo};

/// Writes a profile of the user.
pub fn add_profile(cli: &Cli, name: &str, profile: &Value) {
    let mut profile = profile.clone();
    profile["provider"] = json!(name);
    let file = cli.home().join(format!(".config/agentos/profiles/{name}.json"));
    write_file(&file, profile.to_string());
}

pub fn add_pool(cli: &Cli, name: &str, pool: &Value) {
    add_profile(cli, name, &json!({ "adapter": "pool", "pool": pool }));
}

/// LM-24 and LM-29: the pool of the example.
fn seed_pool() -> Value {
    let member = |alias: &str, model: &str, abilities: Value, price: f64| json!({ "alias": alias, "model": model, "abilities": abilities, "price": { "input": price, "output": price } });
    json!({ "default": "default", "allow_cloud": true, "infer_from_words": true, "members": [
        member("default", "openai/gpt-3.5-turbo", json!({ "supports_tools": true, "supports_vision": false, "context_window": 4096 }), 2.0),
        member("vision", "openai/gpt-4-vision", json!({ "supports_vision": true, "context_window": 8192 }), 40.0),
        member("large-context", "anthropic/claude-3-opus", json!({ "supports_vision": false, "context_window": 200_000 }), 15.0),
        member("sql-expert", "local/sql", json!({ "specialized_for": "sql_generation", "accuracy": 0.95,
            "supports_dialects": ["postgresql", "mysql"] }), 0.0),
    ]})
}

fn seed() -> Cli {
    let cli = agentos();
    add_profile(
        &cli,
        "local",
        &json!({ "adapter": "openai", "base_url": "http://localhost:8000/v1", "requires_key": false }),
    );
    add_pool(&cli, "seed", &seed_pool());
    cli
}

pub fn call(cli: &Cli, args: &[&str]) -> CliOutput {
    cli.run(args).unwrap_or_else(|error| panic!("{args:?}: {error}"))
}

/// Returns a JSON output that fits its schema.
pub fn call_json(cli: &Cli, schema: SchemaName, args: &[&str]) -> (Option<i32>, Value) {
    let output = call(cli, &[args, &["--json"]].concat());
    let value = output
        .json()
        .unwrap_or_else(|error| panic!("{args:?}: {error} {output}"));
    assert_eq!(validate_value(schema, &value), Ok(()), "{value}");
    (output.code, value)
}

#[test]
fn a_member_is_chosen_by_what_the_turn_needs() {
    let cli = seed();
    let cases: &[(&[&str], &str)] = &[
        (&[], "default"),
        (&["--require", "supports_vision=true"], "vision"),
        (&["--require", "min_context_window=50000"], "large-context"),
        (&["--require", "specialized_for=sql_generation"], "sql-expert"),
        (&["--require", "supports_dialects=mysql"], "sql-expert"),
        (&["--message", "请分析这张图片"], "vision"),
        (&["--message", "describe this image"], "vision"),
        (&["--image"], "vision"),
        (&["--tools"], "default"),
        (&["--context-size", "60000"], "large-context"),
        // What is stated wins over what follows from the message.
        (
            &[
                "--message",
                "describe this image",
                "--require",
                "supports_vision=false",
            ],
            "default",
        ),
    ];
    for (args, expected) in cases {
        let all = [&["pool", "select", "-p", "seed"], *args].concat();
        let (code, choice) = call_json(&cli, SchemaName::PoolChoice, &all);
        assert_eq!(
            (code, choice["alias"].as_str()),
            (Some(0), Some(*expected)),
            "{args:?}: {choice}"
        );
        let file = cli.home().join("choice.json");
        write_file(&file, choice.to_string());
        let replay = ["pool", "replay", file.to_str().unwrap()];
        let (code, replayed) = call_json(&cli, SchemaName::PoolReplay, &replay);
        assert_eq!((code, replayed["chosen"].as_str()), (Some(0), Some(*expected)));
    }
}

#[test]
fn an_ability_that_nobody_states_refuses_no_member_unless_a_person_needs_it() {
    let cli = seed();
    let server =
        json!({ "adapter": "openai", "base_url": "http://localhost:8000/v1", "requires_key": false });
    add_profile(&cli, "local", &server);
    // The members of the source system's example, with what it states of them and nothing else. Their providers are ones that no
    // table knows.
    let member = |alias: &str, abilities: Value| json!({ "alias": alias, "model": format!("local/{alias}"), "abilities": abilities });
    let members = [
        member(
            "default",
            json!({ "supports_tools": true, "context_window": 4096 }),
        ),
        member(
            "vision",
            json!({ "supports_vision": true, "context_window": 8192 }),
        ),
        member("large-context", json!({ "context_window": 200_000 })),
        member("sql-expert", json!({ "specialized_for": "sql_generation" })),
    ];
    for selector in ["default", "capability"] {
        add_pool(
            &cli,
            "bare",
            &json!({ "selector": selector, "infer_from_words": true, "members": members }),
        );
        let cases: &[(&[&str], &str)] = &[
            (&[], "default"),
            (&["--require", "supports_vision=true"], "vision"),
            (&["--require", "min_context_window=50000"], "large-context"),
            (&["--require", "specialized_for=sql_generation"], "sql-expert"),
            (&["--message", "请分析这张图片"], "vision"),
            (&["--message", "describe this image"], "vision"),
            (&["--tools"], "default"),
            (&["--context-size", "60000"], "large-context"),
            (
                &["--tools", "--require", "specialized_for=sql_generation"],
                "sql-expert",
            ),
        ];
        for (args, expected) in cases {
            let all = [&["pool", "select", "-p", "bare"], *args].concat();
            let (code, choice) = call_json(&cli, SchemaName::PoolChoice, &all);
            let found = (code, choice["alias"].as_str());
            assert_eq!(found, (Some(0), Some(*expected)), "{selector} {args:?}: {choice}");
        }
    }
    let shown = call(
        &cli,
        &[
            "pool",
            "select",
            "-p",
            "bare",
            "--tools",
            "--require",
            "specialized_for=sql_generation",
        ],
    );
    insta::assert_snapshot!(shown.stdout, @"
    chosen  sql-expert
    model   local/sql-expert
    reason  the smallest window that fits
    needs   specialized_for=sql_generation
            supports_tools=true  (tools are on offer)

    not certain to fit:
      sql-expert  supports_tools is unknown, need inferred

    not chosen, because they do not fit:
      default        specialized_for is unknown, sql_generation is needed
      vision         specialized_for is unknown, sql_generation is needed; supports_tools is unknown, need inferred
      large-context  specialized_for is unknown, sql_generation is needed; supports_tools is unknown, need inferred
    ");
    let strict = [
        "--require",
        "supports_tools=true",
        "--require",
        "specialized_for=sql_generation",
    ];
    let refused = call(
        &cli,
        &[&["pool", "select", "-p", "bare"], strict.as_slice()].concat(),
    );
    assert_eq!(refused.code, Some(5), "{refused}");
}

#[test]
fn a_choice_is_shown_with_a_reason_for_each_member_that_does_not_fit() {
    let cli = seed();
    let shown = call(
        &cli,
        &[
            "pool",
            "select",
            "--message",
            "an image",
            "--require",
            "min_context_window=8000",
        ],
    );
    insta::assert_snapshot!(shown.stdout, @r#"
    chosen  vision
    model   openai/gpt-4-vision
    reason  the first model of the pool that fits
    needs   min_context_window=8000
            supports_vision=true  (the message has the word `image`)

    not chosen, because they do not fit:
      default        context_window is 4096, at least 8000 is needed; supports_vision is false, true is needed
      large-context  supports_vision is false, true is needed
      sql-expert     context_window is unknown, at least 8000 is needed; supports_vision is unknown, need inferred
    "#);
    let none = call(
        &cli,
        &[
            "pool",
            "select",
            "--require",
            "supports_vision=true",
            "--require",
            "min_accuracy=0.9",
        ],
    );
    assert_eq!(none.code, Some(5));
    insta::assert_snapshot!(format!("{}{}", none.stdout, none.stderr), @r#"
    chosen  none
    needs   min_accuracy=0.9
            supports_vision=true

    not chosen, because they do not fit:
      default        accuracy is unknown, at least 0.9 is needed; supports_vision is false, true is needed
      vision         accuracy is unknown, at least 0.9 is needed
      large-context  accuracy is unknown, at least 0.9 is needed; supports_vision is false, true is needed
      sql-expert     supports_vision is unknown, true is needed
    error [no-model-fits] no member of the pool `seed` meets all needs
      next: `agentos pool detect` shows the abilities of each member; add a member that has what is needed
    "#);
    let args = ["pool", "select", "--require", "supports_smell=true"];
    let (code, none) = call_json(&cli, SchemaName::PoolChoice, &args);
    assert_eq!(
        (code, none["refused"].as_array().map(Vec::len)),
        (Some(5), Some(4))
    );
    // A record that somebody changed is not replayed as if it were the choice.
    let mut changed = none;
    changed["alias"] = json!("vision");
    let file = cli.home().join("choice.json");
    write_file(&file, changed.to_string());
    let (code, replayed) = call_json(
        &cli,
        SchemaName::PoolReplay,
        &["pool", "replay", file.to_str().unwrap()],
    );
    assert_eq!(
        (code, replayed["differences"].as_array().map(Vec::len)),
        (Some(7), Some(1))
    );
}

#[test]
fn a_pool_with_a_mistake_is_refused_before_anything_is_asked() {
    let cli = seed();
    let one = |model: &str| json!({ "members": [{ "alias": "a", "model": model }] });
    let with = |other: Value| {
        let mut pool = one("openai/gpt-4o");
        for (key, value) in other.as_object().unwrap() {
            pool[key] = value.clone();
        }
        pool
    };
    add_pool(&cli, "circle", &with(json!({ "next_pool": "back" })));
    add_pool(&cli, "back", &with(json!({ "next_pool": "circle" })));
    add_pool(&cli, "gemini", &one("openai/gpt-4o"));
    let mut no_leave = seed_pool();
    no_leave["allow_cloud"] = json!(false);
    add_pool(&cli, "no-leave", &no_leave);
    let six: Vec<Value> = "abcdefg"
        .chars()
        .map(|c| json!({ "alias": c.to_string(), "model": "openai/x" }))
        .collect();
    add_pool(
        &cli,
        "many",
        &json!({ "members": six, "fallback": ["b", "c", "d", "e", "f", "g"] }),
    );
    add_pool(&cli, "no-default", &with(json!({ "default": "b" })));
    add_pool(&cli, "unknown", &one("nobody/x"));
    add_pool(&cli, "nested", &one("seed"));
    add_pool(&cli, "program", &one("aider"));
    let mut text = String::new();
    for name in [
        "circle",
        "gemini",
        "no-leave",
        "many",
        "no-default",
        "unknown",
        "nested",
        "program",
        "sed",
    ] {
        let refused = call(&cli, &["pool", "select", "-p", name]);
        assert_eq!(refused.code, Some(2), "{refused}");
        let lines = refused
            .stderr
            .lines()
            .filter(|line| !line.trim_start().starts_with("next:"));
        text.extend(lines.map(|line| format!("{line}\n")));
    }
    insta::assert_snapshot!(text, @r#"
    error [bad-pool] pool `circle`: `next_pool` leads in a circle: circle → back → circle
    error [bad-pool] pool `gemini`: `gemini` is the name of a provider: a pool of this name would replace it
    error [bad-pool] pool `no-leave`: `sql-expert` is on this machine and `default` in the cloud: without `"allow_cloud": true` in `no-leave`, no turn may go from one to the other
    error [bad-pool] pool `many`: a turn could be passed on 6 times, by `fallback` and `next_pool` together; at most 5 are possible
    error [bad-pool] pool `no-default`: `default` names `b`, which is no member of the pool
    error [bad-pool] pool `unknown`: `members`: `a` needs the provider `nobody`, and there is none of this name
    error [bad-pool] pool `nested`: `members`: `a` names the pool `seed`: a member is a model of a provider, and `next_pool` continues with another pool
    error [bad-pool] pool `program`: `members`: `a` names `aider`, which is not a model behind a server
    error [usage] there is no pool `sed`
    "#);
    // The others stay usable, and the list shows what is wrong.
    let (code, list) = call_json(&cli, SchemaName::PoolList, &["pool", "list"]);
    let problems = list["pools"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|pool| !pool["problem"].is_null());
    assert_eq!((code, problems.count()), (Some(0), 9));
}

#[test]
fn a_repository_makes_no_pool_and_changes_none() {
    let repo = small_repo();
    let cli = seed().in_dir(repo.path());
    let pool = json!({ "provider": "theirs", "adapter": "pool", "pool": { "members": [{ "alias": "a", "model": "openai/x" }] } });
    repo.write(".agentos/profiles/theirs.json", pool.to_string());
    let server = json!({ "provider": "seed", "adapter": "openai", "base_url": "http://127.0.0.1:9/v1" });
    repo.write(".agentos/profiles/seed.json", server.to_string());
    let made = call(&cli, &["profile", "show", "theirs"]);
    assert_eq!(made.code, Some(2));
    assert!(
        made.stderr.contains("a repository cannot choose models"),
        "{made}"
    );
    let kept = call(&cli, &["profile", "show", "seed", "--json"]).json().unwrap();
    assert_eq!(kept["values"]["adapter"]["value"], "pool");
    let (_, list) = call_json(&cli, SchemaName::PoolList, &["pool", "list"]);
    assert_eq!(
        (list["pools"].as_array().map(Vec::len), &list["pools"][0]["name"]),
        (Some(1), &json!("seed"))
    );
}

#[test]
fn a_repository_steers_no_member() {
    let repo = small_repo();
    let cli = agentos().in_dir(repo.path());
    let (honest, hostile) = (answering("Honest.", true), answering("Hostile.", true));
    let other = answering("Other.", true);
    two_members(&cli, &honest.url(), &other.url(), json!({}));
    let theirs = |name: &str| {
        json!({ "provider": name, "adapter": "openai", "base_url": format!("{}/v1", hostile.url()), "model": "evil",
            "requires_key": false, "capabilities": { "tools": true, "vision": true, "context_window": 1_000_000 },
            "price": { "input": 0, "output": 0 } })
    };
    let before = call_json(&cli, SchemaName::PoolChoice, &["pool", "select"]).1;
    for name in ["one", "two", "theirs"] {
        let file = format!(".agentos/profiles/{name}.json");
        repo.write(&file, theirs(name).to_string());
    }
    // Nothing that the choice depends on is the repository's.
    assert_eq!(
        call_json(&cli, SchemaName::PoolChoice, &["pool", "select"]).1,
        before
    );
    for args in [
        &["chat", "send", "-p", "mine", "Hello"][..],
        &["chat", "send", "-p", "mine", "-c", "kept", "Hello"],
        &["run", "-p", "mine", "Hello"],
    ] {
        let seen = count_chats(&honest);
        call(&cli, args);
        // A run asks again after an answer that does not land.
        assert!(count_chats(&honest) > seen, "{args:?}");
        assert_eq!(hostile.requests().len(), 0, "{args:?}");
        let requests = honest.requests();
        let sent = requests.iter().rfind(|request| request.path.contains("chat"));
        assert_eq!(
            sent.map(|request| request.json()["model"].clone()),
            Some(json!("tiny"))
        );
    }
    add_pool(
        &cli,
        "mine",
        &json!({ "members": [{ "alias": "a", "model": "theirs" }] }),
    );
    let refused = call(&cli, &["pool", "select", "-p", "mine"]);
    insta::assert_snapshot!(refused.stderr, @"
    error [bad-pool] pool `mine`: `members`: `a` needs the provider `theirs`, of which only the repository has a profile: a repository cannot choose models
      next: correct the named field of its profile; `agentos pool list` shows all pools
    ");
}

#[test]
fn a_pool_of_another_program_is_imported() {
    let cli = agentos();
    let file = cli.home().join("Team Pool.json");
    let members = json!([
        { "alias": "default", "provider": "openai", "model_name": "gpt-3.5-turbo", "api_key": "sk-secret-0123456789",
          "capabilities": { "supports_tools": true, "context_window": 4096, "cost_per_1k_tokens": 0.002 } },
        { "alias": "local-llama", "provider": "local", "model_name": "llama-3-70b", "base_url": "http://localhost:8000" },
        { "provider": "x" },
    ]);
    write_file(&file, members.to_string());
    let imported = call(&cli, &["pool", "import", file.to_str().unwrap()]);
    assert_eq!(imported.code, Some(2));
    insta::assert_snapshot!(imported.stderr.replace(&cli.home().display().to_string(), "~"), @r#"
    wrote the pool team-pool to ~/.config/agentos/profiles/team-pool.json
      note: `default`: its key was left out; a key is stored for a provider
      note: `local-llama`: its provider needs a profile with the address http://localhost:8000
      not taken: `3`: it names no model
      it cannot be used yet: pool `team-pool`: `members`: `local-llama` needs the provider `local`, and there is none of this name
    error [some-not-imported] 1 of the file's entries were not taken
      next: correct the named entries and import the table again
    "#);
    let profile = read_file(&cli.home().join(".config/agentos/profiles/team-pool.json"));
    let profile = String::from_utf8(profile).unwrap();
    assert!(!profile.contains("sk-secret"), "{profile}");
    // With the missing provider and leave for the cloud, it works.
    add_profile(
        &cli,
        "local",
        &json!({ "adapter": "openai", "base_url": "http://localhost:8000/v1", "requires_key": false }),
    );
    let args = [
        "pool",
        "import",
        file.to_str().unwrap(),
        "--name",
        "mine",
        "--allow-cloud",
    ];
    let (code, report) = call_json(&cli, SchemaName::PoolImport, &args);
    assert_eq!(
        (
            code,
            report["problem"].clone(),
            report["members"].as_array().map(Vec::len)
        ),
        (Some(2), Value::Null, Some(2))
    );
    let chosen = call(
        &cli,
        &["pool", "select", "-p", "mine", "--require", "runs_locally=true"],
    );
    assert!(chosen.stdout.starts_with("chosen  local-llama\n"), "{chosen}");
    let again = call(&cli, &args);
    assert!(again.stderr.contains("there is a profile already"), "{again}");
    let text = cli.home().join("x.json");
    write_file(&text, "{}");
    let none = call(&cli, &["pool", "import", text.to_str().unwrap()]);
    assert!(none.stderr.contains("has no known form of a pool"), "{none}");
}

#[test]
fn limits_of_an_imported_pool_become_budgets() {
    let cli = agentos();
    let file = cli.home().join("bot.json");
    let bot = json!({ "default_model": "pro", "llm_models": {
        "pro": { "api_model_name": "gemini-2.5-pro", "daily_limit": 50, "scope": "guild", "provider": "gemini", "fallback_alias": "mini" },
        "mini": { "api_model_name": "gpt-5-mini", "daily_limit": 1000, "provider": "openai" } } });
    write_file(&file, bot.to_string());
    let path = file.to_str().unwrap();
    let (code, report) = call_json(
        &cli,
        SchemaName::PoolImport,
        &["pool", "import", path, "--zone", "+09:00"],
    );
    assert_eq!(
        (code, report["problem"].clone()),
        (Some(0), Value::Null),
        "{report}"
    );
    insta::assert_snapshot!(report["budgets"], @r#"[{"calls":1000,"period":"day","scope":{"model":"gpt-5-mini","provider":"openai"},"zone":"+09:00"},{"calls":50,"each":"guild","period":"day","scope":{"model":"gemini-2.5-pro","provider":"gemini"},"zone":"+09:00"}]"#);
    // Again: each budget takes the place of the one before.
    let again = call(&cli, &["pool", "import", path, "--replace"]);
    insta::assert_snapshot!(again.stderr.replace(&cli.home().display().to_string(), "~"), @"
    wrote the pool bot to ~/.config/agentos/profiles/bot.json
      budget: 1000 calls/day of provider openai, model gpt-5-mini
      budget: 50 calls/day of provider gemini, model gemini-2.5-pro, each guild
    ");
    let listed = call(&cli, &["budget", "list", "--json"]).json().unwrap();
    assert_eq!(listed["budgets"].as_array().map(Vec::len), Some(2), "{listed}");
}

#[test]
fn statistics_count_the_calls_of_each_member() {
    let cli = agentos();
    let pieces = [
        json!({"model": "tiny-2", "choices": [{"index": 0, "delta": {"content": "Good day."}}]}),
        json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 200, "completion_tokens": 360}}),
    ];
    let mut bytes = head(200, &[("content-type", "text/event-stream")], None);
    for piece in pieces {
        bytes.extend_from_slice(format!("data: {piece}\n\n").as_bytes());
    }
    let server = FakeServer::start(move |_| Reply::Bytes(bytes.clone())).unwrap();
    let profile = |url: &str| json!({ "adapter": "openai", "model": "tiny", "base_url": url, "requires_key": false, "price": { "input": 3, "output": 15 } });
    add_profile(&cli, "good", &profile(&format!("{}/v1", server.url())));
    add_profile(&cli, "gone", &profile("http://127.0.0.1:9/v1"));
    add_pool(
        &cli,
        "mine",
        &json!({ "selector": "fastest", "members": [
        { "alias": "first", "model": "gone" }, { "alias": "second", "model": "good/tiny" }, { "alias": "third", "model": "good/other" } ]}),
    );
    for (provider, code) in [("good", 0), ("good", 0), ("good", 0), ("gone", 5)] {
        let sent = call(&cli, &["chat", "send", "-p", provider, "Hello"]);
        assert_eq!(sent.code, Some(code), "{sent}");
    }
    let (_, report) = call_json(&cli, SchemaName::PoolStats, &["pool", "stats"]);
    let rows = report["members"].as_array().unwrap().iter().map(|member| {
        json!([
            member["alias"],
            member["model"],
            member["calls"],
            member["failed"],
            member["success_rate"],
            member["input_tokens"],
            member["output_tokens"],
            member["cost_usd"],
            member["unknown"],
            member["mean_ms"].is_u64()
        ])
    });
    let expected = json!([
        ["first", "gone/tiny", 1, 1, 0.0, 0, 0, "0", 1, false],
        ["second", "good/tiny", 3, 0, 1.0, 600, 1080, "0.018", 0, true],
        ["third", "good/other", 0, 0, null, 0, 0, "0", 0, false],
    ]);
    assert_eq!(Value::Array(rows.collect()), expected);
    // Three calls are enough for a measured latency to count, and it is recorded with the choice.
    let (_, choice) = call_json(&cli, SchemaName::PoolChoice, &["pool", "select"]);
    assert_eq!(choice["alias"], "second", "{choice}");
    assert_eq!(choice["input"]["records"]["second"]["calls"], 3);
    assert!(choice["statistics_since"].is_string());
    let shown = call(&cli, &["pool", "stats", "--since", "7days"]);
    assert!(
        shown.stdout.contains("second  good/tiny   3      100 %"),
        "{shown}"
    );
}

#[test]
fn abilities_are_shown_with_their_sources() {
    let cli = seed();
    let server = FakeServer::start(|request| match request.path.as_str() {
        "/v1/models" => Reply::json(
            200,
            &json!({ "object": "list", "data": [{ "id": "tiny", "object": "model" }] }),
        ),
        _ => Reply::Bytes(head(404, &[], Some(0))),
    })
    .unwrap();
    let profile = json!({ "adapter": "openai", "base_url": format!("{}/v1", server.url()), "requires_key": false,
        "capabilities": { "tools": true } });
    add_profile(&cli, "served", &profile);
    add_pool(
        &cli,
        "two",
        &json!({ "members": [
        { "alias": "here", "model": "served/tiny", "abilities": { "taste": "good" } }, { "alias": "gone", "model": "served/other" } ]}),
    );
    let (_, report) = call_json(&cli, SchemaName::PoolAbilities, &["pool", "detect", "-p", "two"]);
    let sources = |at: usize| {
        report["members"][at]["abilities"]
            .as_object()
            .unwrap()
            .iter()
            .map(|(name, ability)| {
                format!(
                    "{name}={} ({})",
                    ability["value"],
                    ability["source"].as_str().unwrap_or_default()
                )
            })
            .collect::<Vec<_>>()
            .join("; ")
    };
    assert_eq!(
        sources(0),
        "available=true (server); runs_locally=true (address); supports_tools=true (profile (user file)); taste=\"good\" (pool)"
    );
    assert_eq!(
        sources(1),
        "available=false (server); runs_locally=true (address); supports_tools=true (profile (user file))"
    );
}

#[test]
fn a_pool_is_no_server() {
    let cli = seed();
    let shown = call(&cli, &["tool", "list"]);
    let line = shown
        .stdout
        .lines()
        .find(|line| line.starts_with("seed"))
        .unwrap_or_default();
    assert!(line.contains("cloud"), "{shown}");
    let keys = call(&cli, &["tool", "auth", "status"]);
    assert!(!keys.stdout.contains("seed"), "{keys}");
    let shown = call(&cli, &["profile", "show", "seed", "--json"]).json().unwrap();
    let fields: Vec<&String> = shown["values"].as_object().unwrap().keys().collect();
    assert_eq!(fields, ["adapter", "name", "pool"]);
}

/// A server that answers every message with this text, and one that breaks off after it.
pub fn answering(text: &str, is_whole: bool) -> FakeServer {
    let piece = json!({ "model": "tiny-2", "choices": [{ "index": 0, "delta": { "content": text } }] });
    let end = json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "stop" }],
        "usage": { "prompt_tokens": 200, "completion_tokens": 360 } });
    let mut bytes = head(200, &[("content-type", "text/event-stream")], None);
    bytes.extend_from_slice(format!("data: {piece}\n\n").as_bytes());
    if is_whole {
        bytes.extend_from_slice(format!("data: {end}\n\n").as_bytes());
    }
    FakeServer::start(move |_| Reply::Bytes(bytes.clone())).unwrap()
}

/// A pool of two members at these addresses.
pub fn two_members(cli: &Cli, first: &str, second: &str, other: Value) {
    for (name, url) in [("one", first), ("two", second)] {
        let profile = json!({ "adapter": "openai", "model": "tiny", "base_url": format!("{url}/v1"), "requires_key": false,
            "price": { "input": 3, "output": 15 } });
        add_profile(cli, name, &profile);
    }
    let mut pool =
        json!({ "members": [{ "alias": "first", "model": "one" }, { "alias": "second", "model": "two" }] });
    for (key, value) in other.as_object().unwrap() {
        pool[key] = value.clone();
    }
    add_pool(cli, "mine", &pool);
}

pub fn count_chats(server: &FakeServer) -> usize {
    let requests = server.requests();
    requests
        .iter()
        .filter(|request| request.path.contains("chat/completions"))
        .count()
}

#[test]
fn a_turn_goes_to_the_next_member_if_the_first_one_fails() {
    let cli = agentos();
    let second = answering("I am the second.", true);
    let broken = answering("I am the fir", false);
    let closed = agentos_testkit::server::closed_port().unwrap();
    for (session, first) in [("refused", closed.clone()), ("broken", broken.url())] {
        two_members(&cli, &first, &second.url(), json!({}));
        let sent = call(
            &cli,
            &["chat", "send", "-c", session, "-p", "mine", "--json", "Hello"],
        );
        assert_eq!(sent.code, Some(0), "{session}: {sent}");
        let turn = sent.json().unwrap();
        assert_eq!(validate_value(SchemaName::ChatTurn, &turn), Ok(()));
        // One author, and nothing of the answer that broke off.
        assert_eq!(turn["answer"], "I am the second.");
        let messages = turn["turn"]["messages"].as_array().unwrap();
        assert_eq!(
            (messages.len(), &messages[1]["author"]["provider"]),
            (2, &json!("two"))
        );
        let choice = &turn["turn"]["choice"];
        assert_eq!(validate_value(SchemaName::PoolChoice, choice), Ok(()));
        assert_eq!(
            (&choice["alias"], choice["refused"][0]["alias"].as_str()),
            (&json!("second"), Some("first"))
        );
        assert!(sent.stderr.contains("`first` failed"), "{sent}");
        // The record gives the same choice again.
        let file = cli.home().join("turn.json");
        write_file(&file, turn.to_string());
        let (code, _) = call_json(
            &cli,
            SchemaName::PoolReplay,
            &["pool", "replay", file.to_str().unwrap()],
        );
        assert_eq!(code, Some(0));
    }
    // The discarded attempts are calls of their own.
    let (_, stats) = call_json(&cli, SchemaName::PoolStats, &["pool", "stats"]);
    let counts = |at: usize| {
        (
            stats["members"][at]["calls"].as_u64(),
            stats["members"][at]["failed"].as_u64(),
        )
    };
    assert_eq!((counts(0), counts(1)), ((Some(2), Some(2)), (Some(2), Some(0))));
    let verified = call(&cli, &["evidence", "verify", "--ledger"]);
    assert_eq!(verified.code, Some(0), "{verified}");
    // A pipe has one author too.
    let plain = call(&cli, &["chat", "send", "-c", "third", "-p", "mine", "Hello"]);
    assert_eq!(
        (plain.code, plain.stdout.as_str()),
        (Some(0), "I am the second.\n"),
        "{plain}"
    );
}

#[test]
fn a_refused_key_and_a_pool_without_fallback_are_not_passed_on() {
    let cli = agentos();
    let second = answering("I am the second.", true);
    let unauthorized =
        FakeServer::start(|_| Reply::json(401, &json!({ "error": { "message": "no" } }))).unwrap();
    let closed = agentos_testkit::server::closed_port().unwrap();
    for (first, other) in [
        (unauthorized.url(), json!({})),
        (closed, json!({ "fallback": [] })),
    ] {
        two_members(&cli, &first, &second.url(), other);
        // However often it fails.
        for _ in 0..4 {
            let sent = call(&cli, &["chat", "send", "-c", "s", "-p", "mine", "Hello"]);
            assert_ne!(sent.code, Some(0), "{sent}");
            assert_eq!(count_chats(&second), 0);
        }
    }
}

#[test]
fn a_run_and_a_single_message_are_answered_by_a_member() {
    let repo = small_repo();
    let cli = agentos().in_dir(repo.path());
    let first = answering("No change is needed.", true);
    let second = answering("I am the second.", true);
    two_members(&cli, &first.url(), &second.url(), json!({ "default": "second" }));
    let sent = call(&cli, &["chat", "send", "-p", "mine", "--json", "Hello"])
        .json()
        .unwrap();
    assert_eq!(
        (&sent["provider"], &sent["text"]),
        (&json!("two"), &json!("I am the second."))
    );
    let run = call(&cli, &["run", "-p", "mine", "--json", "fix the bug"]);
    assert_ne!(run.code, Some(0));
    // The evidence and policy have the provider that was really asked.
    let shown = call(&cli, &["evidence", "show", "--json"]);
    assert!(
        shown.stdout.contains("\"provider\": \"two\"") && shown.stdout.contains("\"pool\": \"mine\""),
        "{shown}"
    );
    assert_eq!(shown.stdout.matches("\"mine\"").count(), 1, "{shown}");
    assert_eq!(count_chats(&first), 0);
    let wrong = call(&cli, &["chat", "send", "-p", "mine", "--model", "other", "Hello"]);
    assert_eq!(wrong.code, Some(2), "{wrong}");
}
