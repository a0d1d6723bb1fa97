//! Which layer wins, and what is derived.

use std::collections::BTreeMap;

use agentos_profile::{
    AdapterKind, Mode, Origin, ProfileFile, ProfileFlags, ProfileLayers, ResolvedProfile, env_names,
    parse_profile, resolve_profile,
};
use agentos_tool::{Ability, ExecutionMode};

fn file(text: &str) -> Option<ProfileFile> {
    Some(parse_profile("x.json", text).unwrap())
}

fn env(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs
        .iter()
        .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))
        .collect()
}

fn address(base_url: &str) -> ProfileFlags {
    ProfileFlags {
        base_url: Some(base_url.to_owned()),
        ..ProfileFlags::default()
    }
}

/// Every origin, one a line.
fn origins(resolved: &ResolvedProfile) -> String {
    let lines: Vec<String> = resolved
        .origins
        .iter()
        .map(|(field, origin)| format!("{field}: {origin}"))
        .collect();
    lines.join("\n")
}

#[test]
fn the_built_in_profiles_resolve_by_themselves() {
    let of = |provider: &str| {
        resolve_profile(provider, &ProfileLayers::default())
            .unwrap()
            .profile
    };
    let lmstudio = of("lmstudio");
    assert_eq!(
        lmstudio.base_url.as_ref().unwrap().as_str(),
        "http://localhost:1234/v1"
    );
    assert_eq!(lmstudio.model.as_deref(), Some("local-model"));
    assert_eq!(lmstudio.execution_mode(), ExecutionMode::Local);
    assert_eq!(lmstudio.capabilities.supports_diff, Ability::Yes);
    assert_eq!(lmstudio.capabilities.vision, Ability::Unknown);
    assert_eq!(
        (lmstudio.adapter, lmstudio.mode),
        (AdapterKind::Lmstudio, Mode::OpenaiCompatible)
    );
    let llamacpp = of("llamacpp");
    assert_eq!(
        llamacpp.base_url.as_ref().unwrap().endpoint().as_str(),
        "localhost:8080"
    );
    assert_eq!(
        (llamacpp.adapter, llamacpp.mode),
        (AdapterKind::Llamacpp, Mode::LlamacppCompletion)
    );
    assert_eq!(
        (llamacpp.params.temperature, llamacpp.params.max_tokens),
        (Some(0.2), None)
    );
    assert_eq!((llamacpp.model, llamacpp.requires_key), (None, false));
    assert_eq!(llamacpp.api_key_ref, "llamacpp.api_key");
    let openai = of("openai");
    assert_eq!(
        (openai.model.as_deref(), openai.requires_key),
        (Some("gpt-4o"), true)
    );
    assert_eq!(openai.capabilities.execution_mode, ExecutionMode::Cloud);
}

#[test]
fn each_value_comes_from_the_strongest_layer_and_says_so() {
    let layers = ProfileLayers {
        user: file(
            r#"{"provider":"openai","model":"user-model","timeout_seconds":10,"params":{"temperature":0.5}}"#,
        ),
        project: file(r#"{"provider":"openai","model":"project-model","params":{"max_tokens":99}}"#),
        env: env(&[
            ("OPENAI_BASE_URL", "https://vendor.example/v1"),
            ("AGENTOS_OPENAI_BASE_URL", "http://127.0.0.1:9/v1/"),
        ]),
        flags: ProfileFlags {
            model: Some("flag-model".to_owned()),
            ..ProfileFlags::default()
        },
        ..ProfileLayers::default()
    };
    let resolved = resolve_profile("openai", &layers).unwrap();
    assert_eq!(
        resolved.profile.base_url.as_ref().unwrap().as_str(),
        "http://127.0.0.1:9/v1"
    );
    assert_eq!(resolved.profile.execution_mode(), ExecutionMode::Local);
    insta::assert_snapshot!(origins(&resolved), @r"
    adapter: derived
    api_key_ref: built-in
    base_url: environment AGENTOS_OPENAI_BASE_URL
    capabilities.execution_mode: derived
    capabilities.supports_diff: built-in
    capabilities.supports_health_check: built-in
    capabilities.supports_patch: built-in
    constrain: derived
    edit_format: derived
    mode: derived
    model: flag
    name: built-in
    params.temperature: user file
    requires_key: derived
    timeouts.connect_seconds: derived
    timeouts.first_byte_seconds: user file
    timeouts.idle_seconds: user file
    timeouts.total_seconds: derived
    ");
}

#[test]
fn an_empty_variable_is_not_set() {
    let layers = ProfileLayers {
        env: env(&[
            ("AGENTOS_OPENAI_BASE_URL", " "),
            ("AGENTOS_OPENAI_API_KEY", ""),
            ("OPENAI_API_KEY", "sk-vendor"),
        ]),
        ..ProfileLayers::default()
    };
    let resolved = resolve_profile("openai", &layers).unwrap();
    assert_eq!(resolved.origin_of("base_url"), Some(&Origin::BuiltIn));
    assert_eq!(
        resolved.given_keys[0].origin.clone(),
        Origin::Environment("OPENAI_API_KEY".to_owned())
    );
}

#[test]
fn a_built_in_model_stays_at_its_own_server() {
    let model = |base_url: &str| {
        let layers = ProfileLayers {
            flags: address(base_url),
            ..ProfileLayers::default()
        };
        resolve_profile("openai", &layers).unwrap().profile.model
    };
    assert_eq!(model("https://api.openai.com/v1/"), Some("gpt-4o".to_owned()));
    assert_eq!(model("http://127.0.0.1:8080/v1"), None);
    let lmstudio = ProfileLayers {
        flags: address("http://10.0.0.7:1234/v1"),
        ..ProfileLayers::default()
    };
    assert_eq!(
        resolve_profile("lmstudio", &lmstudio)
            .unwrap()
            .profile
            .model
            .as_deref(),
        Some("local-model")
    );
}

#[test]
fn a_provider_without_a_file_needs_only_an_address() {
    let layers = ProfileLayers {
        flags: address("http://localhost:4000"),
        ..ProfileLayers::default()
    };
    let profile = resolve_profile("my-server", &layers).unwrap().profile;
    assert_eq!(
        (profile.adapter, profile.mode),
        (AdapterKind::Openai, Mode::OpenaiCompatible)
    );
    assert_eq!(
        (profile.requires_key, profile.api_key_ref.as_str()),
        (false, "my-server.api_key")
    );
    let error = resolve_profile("lmstduio", &ProfileLayers::default()).unwrap_err();
    assert_eq!(error.to_string(), "there is no profile for `lmstduio`");
    assert_eq!(error.hint(), Some("did you mean `lmstudio`?"));
}

#[test]
fn what_is_stated_holds_for_the_address_it_was_stated_for() {
    let local = r#"{"provider":"lmstudio","base_url":"https://gpu.example.com/v1","capabilities":{"execution_mode":"local"}}"#;
    let cloud = r#"{"provider":"lmstudio","capabilities":{"execution_mode":"cloud"}}"#;
    let moved = r#"{"provider":"lmstudio","base_url":"https://evil.example/v1"}"#;
    let cases = [
        (
            "user states local for their own server",
            file(local),
            None,
            ProfileFlags::default(),
            ExecutionMode::Local,
        ),
        (
            "repository states local, and where: nothing changes",
            None,
            file(local),
            ProfileFlags::default(),
            ExecutionMode::Local,
        ),
        (
            "repository moves the server: nothing changes",
            None,
            file(moved),
            ProfileFlags::default(),
            ExecutionMode::Local,
        ),
        (
            "flag moves the server",
            file(local),
            None,
            address("https://other.example"),
            ExecutionMode::Cloud,
        ),
        (
            "repository states cloud",
            None,
            file(cloud),
            ProfileFlags::default(),
            ExecutionMode::Cloud,
        ),
        (
            "repository undoes what the user states",
            file(cloud),
            file(r#"{"provider":"lmstudio","capabilities":{"execution_mode":"local"}}"#),
            ProfileFlags::default(),
            ExecutionMode::Cloud,
        ),
    ];
    for (what, user, project, flags, expected) in cases {
        let layers = ProfileLayers {
            user,
            project,
            flags,
            ..ProfileLayers::default()
        };
        assert_eq!(
            resolve_profile("lmstudio", &layers)
                .unwrap()
                .profile
                .execution_mode(),
            expected,
            "{what}"
        );
    }
}

#[test]
fn values_out_of_range_are_refused_with_their_origin() {
    let texts = [
        r#"{"provider":"openai","base_url":"localhost:8080"}"#,
        r#"{"provider":"openai","base_url":"ftp://localhost"}"#,
        r#"{"provider":"openai","base_url":"http://user:canary@localhost"}"#,
        r#"{"provider":"openai","base_url":"http://localhost/?key=canary"}"#,
        r#"{"provider":"openai","base_url":"not a url"}"#,
        r#"{"provider":"openai","timeout_seconds":0}"#,
        r#"{"provider":"openai","model":""}"#,
        r#"{"provider":"openai","name":"a\u001b[2J"}"#,
        r#"{"provider":"openai","api_key_ref":"../x"}"#,
        r#"{"provider":"openai","params":{"temperature":3}}"#,
        r#"{"provider":"openai","params":{"top_p":0}}"#,
        r#"{"provider":"openai","params":{"max_tokens":0}}"#,
        r#"{"provider":"openai","params":{"stop":[""]}}"#,
        r#"{"provider":"lmstudio"}"#,
    ];
    let all: Vec<String> = texts
        .into_iter()
        .map(|text| {
            let layers = ProfileLayers {
                user: file(text),
                ..ProfileLayers::default()
            };
            let error = resolve_profile("openai", &layers).unwrap_err();
            format!("{error} [{}]", error.hint().unwrap_or("-"))
        })
        .collect();
    assert!(!all.concat().contains("canary"));
    insta::assert_snapshot!(all.join("\n"), @r"
    `base_url` (user file): it begins with `localhost:`, but only http and https are supported [write something like `http://localhost:8080/v1`]
    `base_url` (user file): it begins with `ftp:`, but only http and https are supported [write something like `http://localhost:8080/v1`]
    `base_url` (user file): it contains a user name or a password; store a key instead [write something like `http://localhost:8080/v1`]
    `base_url` (user file): it contains a `?` or a `#` [write something like `http://localhost:8080/v1`]
    `base_url` (user file): it is not a URL: relative URL without a base [write something like `http://localhost:8080/v1`]
    `timeout_seconds` (user file): must be 1 to 86400 [-]
    `model` (user file): must be 1 to 256 characters, none of them a control character [-]
    `name` (user file): must be 1 to 64 characters, none of them a control character [-]
    `api_key_ref` (user file): must be 1 to 128 letters, digits, `.`, `-` and `_`, and not end with `.sign-in` [-]
    `params.temperature` (user file): must be 0 to 2 [-]
    `params.top_p` (user file): must be above 0 and at most 1 [-]
    `params.max_tokens` (user file): must be 1 or more [-]
    `params.stop` (user file): must be at most 16 texts, none of them empty [-]
    the profile (user file) is for `lmstudio`, not for `openai` [name the file after the provider that it is for]
    ");
}

// LB-23 to LB-26: models, addresses and keys from the environment.
#[test]
fn the_names_of_variables() {
    let names = env_names("openai");
    assert_eq!(names.base_url, ["AGENTOS_OPENAI_BASE_URL", "OPENAI_BASE_URL"]);
    assert_eq!(names.model, ["AGENTOS_OPENAI_MODEL"]);
    assert_eq!(names.api_key, ["AGENTOS_OPENAI_API_KEY", "OPENAI_API_KEY"]);
    assert_eq!(
        env_names("llamacpp").api_key,
        ["AGENTOS_LLAMACPP_API_KEY", "LLAMA_API_KEY"]
    );
    assert_eq!(env_names("my-server").model, ["AGENTOS_MY_SERVER_MODEL"]);
}

#[test]
fn a_price_is_the_one_that_the_user_states_or_unknown() {
    let own_price = r#"{"provider":"ollama","price":{"output":2.5}}"#;
    let cases = [
        ("llamacpp", None, (None, None)),
        ("lmstudio", None, (None, None)),
        ("ollama", None, (None, None)),
        ("ollama", file(own_price), (None, Some(2.5))),
        ("litellm", None, (None, None)),
        ("vllm", None, (None, None)),
        ("openai", None, (None, None)),
    ];
    for (provider, user, expected) in cases {
        let layers = ProfileLayers {
            user,
            ..ProfileLayers::default()
        };
        let price = resolve_profile(provider, &layers).unwrap().profile.price;
        assert_eq!((price.input, price.output), expected, "{provider}");
    }
}

#[test]
fn an_entry_about_a_model_overrides_every_profile_and_its_prices_stand_alone() {
    let user = r#"{"provider":"openai","price":{"input":3,"cached":0.3,"output":15},"capabilities":{"context_window":100,"vision":true}}"#;
    let project = r#"{"provider":"openai","capabilities":{"context_window":50}}"#;
    let layers = ProfileLayers {
        user: agentos_profile::parse_profile("user", user).ok(),
        project: agentos_profile::parse_profile("project", project).ok(),
        model: Some(agentos_profile::ModelLayer {
            source: "user".to_owned(),
            capabilities: agentos_profile::CapabilitiesFile {
                context_window: Some(32_000),
                ..Default::default()
            },
            price: agentos_profile::PriceFile {
                input: Some(1.0),
                ..Default::default()
            },
            max_tokens: Some(4_096),
        }),
        ..ProfileLayers::default()
    };
    let resolved = resolve_profile("openai", &layers).unwrap();
    let profile = &resolved.profile;
    assert_eq!(profile.capabilities.context_window, Some(32_000));
    assert_eq!(profile.capabilities.vision, agentos_tool::Ability::Yes);
    assert_eq!(profile.params.max_tokens, Some(4_096));
    // The profile's prices of the cache and of the answer belong to other prices.
    assert_eq!(
        (profile.price.input, profile.price.cached, profile.price.output),
        (Some(1.0), None, None)
    );
    let origin = resolved.origin_of("price.input").map(ToString::to_string);
    assert_eq!(origin.as_deref(), Some("models.json: user"));
}
