//! The files: seed values, schema, mistakes.

use agentos_profile::{ProfileFile, builtin_profiles, parse_profile};
use agentos_schema::SchemaName;

const SHIPPED: [(&str, &str); 19] = [
    ("aider", include_str!("../../../../../profiles/agents/aider.json")),
    (
        "anthropic",
        include_str!("../../../../../profiles/llm/anthropic.json"),
    ),
    ("azure", include_str!("../../../../../profiles/llm/azure.json")),
    (
        "claude-code",
        include_str!("../../../../../profiles/agents/claude-code.json"),
    ),
    ("codex", include_str!("../../../../../profiles/agents/codex.json")),
    ("gemini", include_str!("../../../../../profiles/llm/gemini.json")),
    (
        "gemini-cli",
        include_str!("../../../../../profiles/agents/gemini-cli.json"),
    ),
    (
        "gemini-cli-acp",
        include_str!("../../../../../profiles/agents/gemini-cli-acp.json"),
    ),
    ("goose", include_str!("../../../../../profiles/agents/goose.json")),
    (
        "litellm",
        include_str!("../../../../../profiles/llm/litellm.json"),
    ),
    (
        "llamacpp",
        include_str!("../../../../../profiles/llm/llamacpp.json"),
    ),
    (
        "lmstudio",
        include_str!("../../../../../profiles/llm/lmstudio.json"),
    ),
    ("ollama", include_str!("../../../../../profiles/llm/ollama.json")),
    ("openai", include_str!("../../../../../profiles/llm/openai.json")),
    (
        "opencode",
        include_str!("../../../../../profiles/agents/opencode.json"),
    ),
    (
        "opencode-acp",
        include_str!("../../../../../profiles/agents/opencode-acp.json"),
    ),
    (
        "openrouter",
        include_str!("../../../../../profiles/llm/openrouter.json"),
    ),
    ("vllm", include_str!("../../../../../profiles/llm/vllm.json")),
    ("zai", include_str!("../../../../../profiles/llm/zai.json")),
];

// LB-01, LB-03, LB-34, PB-31: each kind of wire has profiles, with abilities.
#[test]
fn the_shipped_profiles_follow_the_schema_and_are_built_in() {
    let all = builtin_profiles().unwrap();
    assert_eq!(
        all.keys().collect::<Vec<_>>(),
        SHIPPED.map(|(provider, _)| provider)
    );
    for (provider, text) in SHIPPED {
        let value = serde_json::from_str(text).unwrap();
        agentos_schema::validate_value(SchemaName::Profile, &value).unwrap();
        assert_eq!(all.get(provider), Some(&parse_profile(provider, text).unwrap()));
    }
}

#[test]
fn the_local_profiles_hold_the_values_of_the_system_they_come_from() {
    let all = builtin_profiles().unwrap();
    let shown: Vec<String> = ["lmstudio", "llamacpp"]
        .iter()
        .map(|provider| serde_json::to_string_pretty(&all[*provider]).unwrap())
        .collect();
    insta::assert_snapshot!(shown.join("\n"), @r#"
    {
      "provider": "lmstudio",
      "name": "lmstudio-local",
      "base_url": "http://localhost:1234/v1",
      "api_key_ref": "local.lmstudio.api_key",
      "model": "local-model",
      "capabilities": {
        "execution_mode": "local",
        "supports_diff": true,
        "supports_patch": true,
        "supports_health_check": true
      }
    }
    {
      "provider": "llamacpp",
      "name": "llamacpp-local",
      "base_url": "http://localhost:8080",
      "mode": "llamacpp_completion",
      "params": {
        "temperature": 0.2
      }
    }
    "#);
}

#[test]
fn the_committed_schema_is_fresh() {
    let generated = serde_json::to_value(schemars::schema_for!(ProfileFile)).unwrap();
    let committed: serde_json::Value =
        serde_json::from_str(agentos_schema::schema_text(SchemaName::Profile)).unwrap();
    assert_eq!(
        committed, generated,
        "regenerate crates/words/agentos-schema/schemas/profile.json with `cargo xtask schemas`"
    );
}

#[test]
fn mistakes_name_the_place_and_what_was_meant() {
    let texts = [
        "",
        "[]",
        "{\n  \"name\": \"x\"\n}",
        "{\"provider\": \"x\",\n  \"modle\": \"m\"}",
        "{\"provider\": \"x\", \"api_key\": \"sk-canary\"}",
        "{\"provider\": \"x\", \"adapter\": \"lm-studio\"}",
        "{\"provider\": \"x\", \"mode\": \"completion\"}",
        "{\"provider\": \"x\", \"timeout_seconds\": -1}",
        "{\"provider\": \"x\", \"params\": {\"temprature\": 1}}",
        "{\"provider\": \"x\", \"params\": []}",
        "{\"provider\": \"x\", \"params\": {\"stop\": \"a\"}}",
        "{\"provider\": \"x\", \"capabilities\": {\"execution_mode\": \"remote\"}}",
    ];
    let all: Vec<String> = texts
        .into_iter()
        .map(|text| {
            let error = parse_profile("x.json", text).unwrap_err();
            let steps = error.next_steps();
            let steps = if steps.is_empty() {
                String::new()
            } else {
                format!(" {steps:?}")
            };
            format!("{error} [{}]{steps}", error.hint().unwrap_or("-"))
        })
        .collect();
    assert!(!all.concat().contains("canary"));
    insta::assert_snapshot!(all.join("\n"), @r#"
    x.json:1:0: EOF while parsing a value [-]
    x.json:1:2: invalid length 0, expected an object with 23 elements [-]
    x.json:3:1: missing field `provider` [-]
    x.json:2:9: unknown field `modle`, expected one of `$schema`, `provider`, `name`, `adapter`, `base_url`, `api_key_ref`, `requires_key`, `model`, `mode`, `timeout_seconds`, `timeouts`, `edit_format`, `constrain`, `limit_field`, `omit`, `organization`, `client_id`, `http`, `program`, `price`, `params`, `capabilities`, `pool` [did you mean `model`?]
    x.json:1:27: unknown field `api_key`: a profile must not contain a key [-] [SetKey { provider: None, in_file: false }]
    x.json:1:40: unknown variant `lm-studio`, expected one of `openai`, `lmstudio`, `llamacpp`, `ollama`, `anthropic`, `gemini`, `generic-http`, `agent`, `acp`, `tool`, `toolbox`, `mcp`, `pool` [did you mean `lmstudio`?]
    x.json:1:38: unknown variant `completion`, expected one of `llamacpp_completion`, `openai_compatible`, `openai_responses` [-]
    x.json:1:39: invalid value: integer `-1`, expected a whole number of 0 or more [-]
    x.json:1:41: unknown field `temprature`, expected one of `temperature`, `top_p`, `max_tokens`, `seed`, `stop`, `thinking` [did you mean `temperature`?]
    x.json:1:30: invalid length 0, expected an object with 6 elements [-]
    x.json:1:40: invalid type: string "a", expected a list [-]
    x.json:1:61: unknown variant `remote`, expected `local` or `cloud` [-]
    "#);
}

#[test]
fn the_worked_examples_of_the_map_are_profiles_that_can_be_used() {
    let map = include_str!("../../../../README.md");
    let examples: Vec<&str> = map
        .split("```json\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
        .collect();
    assert_eq!(examples.len(), 3);
    for text in examples {
        let profile = agentos_profile::parse_profile("crates/README.md", text).unwrap();
        let provider = profile.provider.clone();
        let layers = agentos_profile::ProfileLayers {
            user: Some(profile),
            ..agentos_profile::ProfileLayers::default()
        };
        let resolved = agentos_profile::resolve_profile(&provider, &layers).unwrap();
        assert!(resolved.profile.base_url.is_some(), "{provider}");
        assert!(resolved.stored_key.is_allowed(), "{provider}");
    }
}
