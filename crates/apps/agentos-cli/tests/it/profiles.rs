//! `profile init|show --origin`, `models`, and what a run costs.

use agentos_testkit::repo::write_file;
use agentos_testkit::server::{FakeServer, Reply};
use serde_json::json;

use crate::support::{SLOPPY_FIX, agentos, chat_server, openai_at, small_repo};

// LB-15 to LB-18, LB-21, LB-36: thirteen built-in models (3, 4 and 6), filtered, sorted by id.
#[test]
fn the_known_models_are_listed_by_provider_and_wire() {
    let output = agentos().run(&["models", "list"]).unwrap();
    insta::assert_snapshot!(output.stdout, @r"
    MODEL                                API        CONTEXT  ANSWER  CAN
    anthropic/claude-haiku-3-5-20241022  anthropic  200000   8192    tools, vision, json
    anthropic/claude-opus-4-20250514     anthropic  200000   32000   tools, vision, json, reasoning
    anthropic/claude-sonnet-4-20250514   anthropic  200000   64000   tools, vision, json, reasoning
    ollama/deepseek-r1                   ollama     131072   -       json, reasoning
    ollama/llama3.2                      ollama     131072   -       tools, json
    ollama/llama3.3                      ollama     131072   -       tools, json
    ollama/mistral                       ollama     32768    -       tools, json
    ollama/qwen2.5                       ollama     32768    -       tools, json
    ollama/qwen2.5-coder                 ollama     32768    -       tools, json
    openai/gpt-4-turbo                   openai     128000   4096    tools, vision
    openai/gpt-4o                        openai     128000   16384   tools, vision, json
    openai/gpt-4o-mini                   openai     128000   16384   tools, vision, json
    openai/o1-mini                       openai     128000   65536   reasoning
    ");
    let count = |args: &[&str]| {
        let output = agentos()
            .run(&[&["models", "list", "--json"], args].concat())
            .unwrap();
        output.json().unwrap()["models"].as_array().map(Vec::len)
    };
    assert_eq!(count(&["--provider", "anthropic"]), Some(3));
    assert_eq!(count(&["--api", "openai"]), Some(4));
    assert_eq!(count(&["--api-type", "openai"]), Some(4));
    assert_eq!(count(&["--provider", "ollama", "--api", "ollama"]), Some(6));
    assert_eq!(count(&[]), Some(13));
    let none = agentos()
        .run(&["models", "list", "--provider", "lmstudio"])
        .unwrap();
    assert_eq!(none.code, Some(2), "{none}");
    let output = agentos()
        .run(&["models", "show", "anthropic/claude-haiku-3-5-20241022"])
        .unwrap();
    insta::assert_snapshot!(output.stdout, @r"
    id              anthropic/claude-haiku-3-5-20241022
    provider        anthropic
    model name      claude-3-5-haiku-20241022
    api             anthropic
    context         200000 tokens
    longest answer  8192
    tools           yes
    vision          yes
    json            yes
    reasoning       no
    price           unknown
    ");
    let output = agentos().run(&["models", "show", "openai/gpt4o"]).unwrap();
    assert_eq!(output.code, Some(2), "{output}");
    assert!(
        output.stderr.contains("did you mean `openai/gpt-4o`?"),
        "{output}"
    );
}

#[test]
fn prices_are_listed_with_the_tables_that_state_them() {
    let shown = agentos().run(&["models", "show", "gemini-2.5-pro"]).unwrap();
    insta::assert_snapshot!(shown.stdout, @r"
    id              gemini/gemini-2.5-pro
    provider        gemini
    model name      gemini-2.5-pro
    api             gemini
    context         1048576 tokens
    longest answer  65536
    tools           yes
    vision          yes
    json            yes
    reasoning       yes
    price           prompt $1.25, cached $0.125, answer $10 per million tokens
                    prompt $2.5, cached $0.25, answer $15 per million tokens, if the prompt has more than 200000 tokens
    stated by       models.dev 2026-07-02: prompt $1.25, cached $0.125, answer $10 per million tokens (row 9f56536fd979)
    stated by       litellm 2026-11-23: prompt $1.25, cached $0.125, answer $10 per million tokens (row 49ffa566d295)
    stated by       genai-prices 2026-08-21: prompt $1.25, cached $0.125, answer $10 per million tokens (row ec26cd7122c0)
    ");
    let disputed = agentos()
        .run(&["models", "list", "--disputed", "-p", "deepseek"])
        .unwrap();
    insta::assert_snapshot!(disputed.stdout, @r"
    MODEL                                  PROMPT          CACHED    ANSWER         STATED BY
    deepseek/deepseek-chat                 0.14 to 0.28    0.028     0.28 to 0.42   models.dev, litellm
    deepseek/deepseek-reasoner             0.14 to 0.28    0.028     0.28 to 0.42   models.dev, litellm
    deepseek/deepseek-v3.2                 0.2288 to 0.28  0.028     0.3432 to 0.4  litellm, genai-prices
    deepseek/deepseek-v4-flash             0.14 to 0.3     0.0028    0.28 to 1.2    models.dev, litellm, genai-prices
    deepseek/deepseek-v4-flash-vision-exp  0.14 to 0.3     0.006     0.28 to 1.2    litellm, genai-prices
    deepseek/deepseek-v4-pro               0.435 to 1.32   0.003625  0.87 to 3.96   models.dev, litellm, genai-prices

    US dollars per million tokens. Of a span, the price that most tables state is used, else the highest.
    ");
    let list = agentos()
        .run(&["models", "list", "--all", "--json"])
        .unwrap()
        .json()
        .unwrap();
    let models = list["models"].as_array().unwrap();
    assert!(models.len() > 250, "{}", models.len());
    // Ollama's models are local, and o1-mini and the old Haiku are gone from the tables: unknown stays unknown.
    let unknown = models.iter().filter(|model| model.get("price").is_none());
    let unknown: Vec<&str> = unknown.filter_map(|model| model["id"].as_str()).collect();
    assert!(
        unknown.contains(&"openai/o1-mini") && unknown.contains(&"ollama/mistral"),
        "{unknown:?}"
    );
}

#[test]
fn a_profile_is_made_with_what_is_given_and_can_be_used() {
    let server = chat_server("ok", || {});
    let url = format!("{}/v1", server.url());
    let cli = agentos();
    let init = [
        "profile",
        "init",
        "my-vllm",
        "--base-url",
        &url,
        "--model",
        "tiny-coder",
    ];
    let output = cli.run(&init).unwrap();
    assert_eq!(output.code, Some(0), "{output}");
    let settings = cli.home().join(".config/agentos");
    let made = std::fs::read_to_string(settings.join("profiles/my-vllm.json")).unwrap();
    insta::assert_snapshot!(made.replace(&server.url(), "[URL]"), @r#"
    {
      "$schema": "../profile.schema.json",
      "provider": "my-vllm",
      "adapter": "openai",
      "base_url": "[URL]/v1",
      "model": "tiny-coder"
    }
    "#);
    let schema = std::fs::read_to_string(settings.join("profile.schema.json")).unwrap();
    assert_eq!(schema, cli.run(&["schema", "profile"]).unwrap().stdout);
    assert_eq!(
        cli.run(&["tool", "health", "-p", "my-vllm"]).unwrap().code,
        Some(0)
    );
    let again = cli.run(&init).unwrap();
    assert_eq!(again.code, Some(2), "{again}");
    assert!(again.stderr.contains("--force"), "{again}");
    for (args, words) in [
        (vec!["profile", "init", "my-other"], "--base-url"),
        (
            vec!["profile", "init", "My Server", "--base-url", "http://x"],
            "small letters",
        ),
        (
            vec!["profile", "init", "my-other", "--base-url", "ftp://x"],
            "only http and https",
        ),
    ] {
        let output = cli.run(&args).unwrap();
        assert_ne!(output.code, Some(0), "{output}");
        assert!(output.stderr.contains(words), "{output}");
    }
    // The vendor's own key does not come along to another place.
    let print = [
        "profile",
        "init",
        "openai",
        "--base-url",
        "https://gateway.example/v1",
        "--print",
    ];
    let printed = cli.run(&print).unwrap().stdout;
    assert!(
        printed.contains("openai.gateway.example-443.api_key"),
        "{printed}"
    );
}

#[test]
fn the_origin_of_each_value_is_shown_when_asked_for() {
    let cli = agentos().env("AGENTOS_LMSTUDIO_MODEL", "qwen");
    let output = cli.run(&["profile", "show", "lmstudio", "--origin"]).unwrap();
    insta::assert_snapshot!(output.stdout, @r"
    adapter                             lmstudio                  derived
    api_key_ref                         local.lmstudio.api_key    built-in
    base_url                            http://localhost:1234/v1  built-in
    capabilities.execution_mode         local                     built-in
    capabilities.supports_diff          yes                       built-in
    capabilities.supports_health_check  yes                       built-in
    capabilities.supports_patch         yes                       built-in
    constrain                           off                       derived
    edit_format                         unified-diff              derived
    mode                                openai_compatible         derived
    model                               qwen                      environment AGENTOS_LMSTUDIO_MODEL
    name                                lmstudio-local            built-in
    requires_key                        false                     derived
    timeouts.connect_seconds            4                         derived
    timeouts.first_byte_seconds         600                       derived
    timeouts.idle_seconds               300                       derived
    timeouts.total_seconds              7200                      derived
    ");
    let plain = cli.run(&["profile", "show", "lmstudio"]).unwrap();
    assert!(
        plain.stdout.contains("qwen") && !plain.stdout.contains("environment"),
        "{plain}"
    );
}

#[test]
fn what_a_run_costs_is_told_where_the_price_is_known() {
    let server = chat_server(SLOPPY_FIX, || {});
    for (price, micro, words) in [
        (json!({ "input": 3.0, "output": 15.0 }), json!(138), "$0.0001"),
        (json!({ "input": 3.0 }), json!(null), ""),
    ] {
        let cli = agentos();
        let profile = json!({ "provider": "openai", "price": price });
        write_file(
            &cli.home().join(".config/agentos/profiles/openai.json"),
            profile.to_string(),
        );
        let flags = openai_at(&server.url());
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        let repo = small_repo();
        let cli = cli.in_dir(repo.path());
        let run = [&["run", "make add add", "--file", "src/lib.rs"], &flags[..]].concat();
        let output = cli.run(&run).unwrap();
        assert_eq!(output.code, Some(0), "{output}");
        assert_eq!(output.stderr.contains('$'), !words.is_empty(), "{output}");
        assert!(output.stderr.contains(words), "{output}");
        let evidence = cli.run(&["evidence", "show", "--json"]).unwrap().json().unwrap();
        let records = evidence["records"].as_array().unwrap();
        let call = records
            .iter()
            .find(|record| record["kind"] == "tool_result")
            .unwrap();
        let cost = call["body"]["result"]
            .get("cost_micro_usd")
            .cloned()
            .unwrap_or_default();
        assert_eq!(cost, micro, "{call}");
        assert_eq!(call["body"]["result"]["price"]["input"], "3", "{call}");
        assert_eq!(call["body"]["result"]["price"]["source"], "profile", "{call}");
        let repo = small_repo();
        let json = cli
            .in_dir(repo.path())
            .run(&[&run[..], &["--json"]].concat())
            .unwrap()
            .json()
            .unwrap();
        assert_eq!(json["cost_micro_usd"], micro);
    }
}

#[test]
fn the_organization_goes_in_its_header_and_to_its_wire_alone() {
    let server = FakeServer::start(|_| Reply::json(401, &json!({ "error": { "message": "no" } }))).unwrap();
    let repo = small_repo();
    repo.write(
        ".agentos/profiles/openai.json",
        json!({ "provider": "openai", "organization": "org-of-the-repository" }).to_string(),
    );
    let cli = agentos().in_dir(repo.path());
    for (provider, wanted) in [
        ("openai", Some("org-fake-1")),
        ("anthropic", None),
        ("ollama", None),
    ] {
        let profile = json!({
            "provider": provider, "base_url": server.url(), "organization": "org-fake-1", "requires_key": false,
            "model": "tiny",
        });
        let file = cli
            .home()
            .join(format!(".config/agentos/profiles/{provider}.json"));
        write_file(&file, profile.to_string());
        let before = server.requests().len();
        cli.run(&["tool", "health", "-p", provider]).unwrap();
        cli.run(&["run", "fix add", "-p", provider, "--file", "src/lib.rs"])
            .unwrap();
        let asked = server.requests().split_off(before);
        assert!(asked.len() > 1, "{provider}");
        for request in asked {
            assert_eq!(
                request.header("openai-organization"),
                wanted,
                "{provider} {}",
                request.path
            );
        }
    }
}

#[test]
fn the_limit_of_an_answer_goes_by_the_name_that_the_profile_gives_it() {
    for (field, sent) in [
        (None, "max_tokens"),
        (Some("max_tokens"), "max_tokens"),
        (Some("max_completion_tokens"), "max_completion_tokens"),
    ] {
        let server = chat_server(SLOPPY_FIX, || {});
        let repo = small_repo();
        let cli = agentos().in_dir(repo.path());
        let mut profile = json!({
            "provider": "mine", "adapter": "openai", "base_url": format!("{}/v1", server.url()), "model": "tiny-coder",
        });
        if let Some(field) = field {
            profile["limit_field"] = field.into();
        }
        let file = cli.home().join(".config/agentos/profiles/mine.json");
        write_file(&file, profile.to_string());
        let run = [
            "run",
            "fix add",
            "-p",
            "mine",
            "--file",
            "src/lib.rs",
            "--max-output-tokens",
            "77",
        ];
        let output = cli.run(&run).unwrap();
        assert_eq!(output.code, Some(0), "{output}");
        let asked = server.requests().last().unwrap().json();
        let limits = asked
            .as_object()
            .unwrap()
            .iter()
            .filter(|(name, _)| name.starts_with("max_"));
        let limits: Vec<_> = limits
            .map(|(name, value)| (name.as_str(), value.clone()))
            .collect();
        assert_eq!(limits, [(sent, json!(77))], "{field:?}");
    }
    let wrong = json!({ "provider": "mine", "adapter": "openai", "base_url": "http://localhost:1", "limit_field": "max" });
    let cli = agentos();
    write_file(
        &cli.home().join(".config/agentos/profiles/mine.json"),
        wrong.to_string(),
    );
    let refused = cli.run(&["profile", "validate", "mine"]).unwrap();
    assert_eq!(refused.code, Some(2), "{refused}");
}
