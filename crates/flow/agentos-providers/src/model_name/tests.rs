//! Names of models, and which provider they mean.

use super::*;

fn names() -> ModelNames {
    let text = r#"{"version":1,"models":[
        {"id":"custom/my-model","provider":"llamacpp","name":"my-model-v1"},{"id":"openai/gpt-4o","tools":"no"},
        {"id":"router/openai/gpt-4o-mini"},{"id":"router/router/auto"},{"id":"router/openrouter/auto"}]}"#;
    let providers = [
        "anthropic",
        "llamacpp",
        "ollama",
        "openai",
        "openrouter",
        "router",
    ];
    ModelNames {
        models: ModelRegistry::parse_json(text).unwrap(),
        providers: providers.map(str::to_owned).into(),
    }
}

#[test]
fn a_name_is_cut_at_its_first_slash() {
    for (text, provider, model) in [
        ("openai", "openai", None),
        ("openai/gpt-4o", "openai", Some("gpt-4o")),
        ("openrouter/openai/gpt-4o", "openrouter", Some("openai/gpt-4o")),
        ("custom/my-model", "custom", Some("my-model")),
        ("replay", "replay", None),
        // A part is missing: no provider has such a name, and the message about it shows the whole of it.
        ("openai/", "openai/", None),
        ("/gpt-4o", "/gpt-4o", None),
        ("", "", None),
    ] {
        let found = ModelName::parse(text);
        assert_eq!(
            (found.provider.name(), found.model.as_deref()),
            (provider, model),
            "{text}"
        );
    }
}

#[test]
fn an_id_never_names_a_provider_of_a_repository() {
    let repo = agentos_testkit::repo::TestRepo::new();
    let profile = r#"{"provider":"qwen","adapter":"openai","base_url":"https://elsewhere.example/v1"}"#;
    repo.write(".agentos/profiles/qwen.json", profile);
    let home = ("HOME".to_owned(), repo.outside().to_str().unwrap().to_owned());
    let ground = Ground::new(agentos_ground::environment::Environment::new(
        [home],
        repo.path().to_owned(),
    ));
    let names = ModelNames::read(&ground).unwrap();
    assert!(!names.names_provider("qwen/qwen3-coder") && names.names_provider("openai/gpt-4o"));
    // Whoever names the provider alone means it.
    let named = NamedModel {
        provider: Some(ModelName::parse("qwen/qwen3-coder")),
        model: None,
        usual: None,
    };
    let found = names.find_model(named).unwrap().unwrap();
    assert_eq!(
        (found.provider.name(), found.model.as_deref()),
        ("qwen", Some("qwen3-coder"))
    );
}

#[test]
fn one_rule_finds_the_provider_and_the_model_of_a_call() {
    // (provider of the call, model of the call, usual provider, what is asked)
    let cases = [
        // Named: the model is the provider's own name.
        (Some("openai"), None, None, "openai -"),
        (Some("openai"), Some("gpt-4o"), None, "openai gpt-4o"),
        (Some("openai"), Some("openai/gpt-4o"), None, "openai gpt-4o"),
        (Some("openai/gpt-4o"), Some("gpt-4o"), None, "openai gpt-4o"),
        (
            Some("openai/gpt-4o"),
            Some("openai/gpt-4o"),
            None,
            "openai gpt-4o",
        ),
        (
            Some("openrouter"),
            Some("openai/gpt-4o"),
            Some("ollama"),
            "openrouter openai/gpt-4o",
        ),
        (
            Some("openrouter"),
            Some("openrouter/auto"),
            None,
            "openrouter openrouter/auto",
        ),
        (
            Some("router"),
            Some("openai/gpt-4o-mini"),
            None,
            "router openai/gpt-4o-mini",
        ),
        (
            Some("openai/gpt-4o"),
            Some("gpt-4o-mini"),
            None,
            "the call names two models of `openai`: `gpt-4o` and `gpt-4o-mini`; leave one of them out",
        ),
        // The vendor's own name is sent.
        (
            Some("anthropic"),
            Some("claude-haiku-3-5-20241022"),
            None,
            "anthropic claude-3-5-haiku-20241022",
        ),
        (
            Some("anthropic/claude-haiku-3-5-20241022"),
            None,
            None,
            "anthropic claude-3-5-haiku-20241022",
        ),
        // The user's own ids.
        (Some("custom/my-model"), None, None, "llamacpp my-model-v1"),
        (Some("custom"), Some("my-model"), None, "llamacpp my-model-v1"),
        (
            None,
            Some("custom/my-model"),
            Some("ollama"),
            "llamacpp my-model-v1",
        ),
        (Some("custom/other"), None, None, "custom other"),
        // Not named: a provider before the first slash is asked.
        (
            None,
            Some("openai/gpt-4o"),
            Some("ollama/llama3.3"),
            "openai gpt-4o",
        ),
        (None, Some("openai/gpt-4o"), None, "openai gpt-4o"),
        (
            None,
            Some("anthropic/claude-haiku-3-5-20241022"),
            None,
            "anthropic claude-3-5-haiku-20241022",
        ),
        (
            None,
            Some("meta-llama/llama-3"),
            Some("openrouter"),
            "openrouter meta-llama/llama-3",
        ),
        (None, Some("phi"), Some("ollama/llama3.3"), "ollama phi"),
        (None, Some("openai/gpt-4o"), Some("openai"), "openai gpt-4o"),
        (None, Some("router/auto"), Some("router"), "router router/auto"),
        (
            None,
            Some("openai/gpt-4o-mini"),
            Some("router"),
            "`openai/gpt-4o-mini` is the model `gpt-4o-mini` of `openai`, and also a model of `router`, which is asked if no \
             provider is named; write `-p openai/gpt-4o-mini`, or `-p router/openai/gpt-4o-mini`",
        ),
        (
            None,
            Some("openai/o3"),
            Some("openrouter/openai/o3"),
            "`openai/o3` is the model `o3` of `openai`, and also a model of `openrouter`, which is asked if no provider is \
             named; write `-p openai/o3`, or `-p openrouter/openai/o3`",
        ),
        // Nothing named.
        (
            None,
            None,
            Some("openrouter/openai/gpt-4o"),
            "openrouter openai/gpt-4o",
        ),
        (None, None, None, "nothing"),
        (None, Some("phi"), None, "nothing"),
    ];
    for (provider, model, usual, expected) in cases {
        let found = names().find_model(NamedModel {
            provider: provider.map(ModelName::parse),
            model,
            usual: usual.map(ModelName::parse),
        });
        let shown = match found {
            Ok(Some(name)) => format!(
                "{} {}",
                name.provider.name(),
                name.model.as_deref().unwrap_or("-")
            ),
            Ok(None) => "nothing".to_owned(),
            Err(error) => format!("{}; {}", error.message, error.hint.unwrap_or_default()),
        };
        assert_eq!(shown, expected, "{provider:?} {model:?} {usual:?}");
    }
}
