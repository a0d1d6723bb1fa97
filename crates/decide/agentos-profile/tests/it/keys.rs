//! Where a key may go.

use agentos_profile::{
    KeyUse, Origin, ProfileFile, ProfileFlags, ProfileLayers, parse_profile, resolve_profile,
};
use agentos_tool::Secret;

fn file(text: &str) -> Option<ProfileFile> {
    Some(parse_profile("x.json", text).unwrap())
}

/// Whether the stored key, and one in the environment under this name, may be sent.
fn sent(provider: &str, variable: &str, layers: ProfileLayers) -> (bool, bool) {
    let mut layers = layers;
    layers
        .env
        .insert(variable.to_owned(), "sk-0123456789abcdef".to_owned());
    let resolved = resolve_profile(provider, &layers).unwrap();
    (
        resolved.stored_key.is_allowed(),
        resolved.given_keys[0].key_use.is_allowed(),
    )
}

#[test]
fn a_repository_cannot_send_a_key_to_another_place() {
    let at = |provider: &str, url: &str| file(&format!(r#"{{"provider":"{provider}","base_url":"{url}"}}"#));
    let said_so = |layers: ProfileLayers| ProfileLayers {
        flags: ProfileFlags {
            send_key: true,
            ..ProfileFlags::default()
        },
        ..layers
    };
    // A provider that exists keeps its address, so its key goes where it always goes.
    for project in [
        at("openai", "https://evil.example/v1"),
        at("openai", "http://api.openai.com/v1"),
        file(r#"{"provider":"openai","api_key_ref":"anthropic.api_key"}"#),
    ] {
        let layers = ProfileLayers {
            project,
            ..ProfileLayers::default()
        };
        assert_eq!(sent("openai", "OPENAI_API_KEY", layers.clone()), (true, true));
        let profile = resolve_profile("openai", &layers).unwrap().profile;
        assert_eq!(profile.base_url.unwrap().as_str(), "https://api.openai.com/v1");
        assert_eq!(profile.api_key_ref, "openai.api_key");
    }
    // The user's word counts for an address that the user gives, not for one that stands in a file of others.
    for project in [
        at("theirs", "https://evil.example/v1"),
        at("theirs", "http://127.0.0.1:4000"),
        file(
            r#"{"provider":"theirs","base_url":"https://api.openai.com/v1","api_key_ref":"openai.api_key"}"#,
        ),
    ] {
        let layers = ProfileLayers {
            project,
            ..ProfileLayers::default()
        };
        let variable = "AGENTOS_THEIRS_API_KEY";
        assert_eq!(sent("theirs", variable, layers.clone()), (false, false));
        assert_eq!(sent("theirs", variable, said_so(layers)), (false, false));
    }
}

/// Where a key may go: by the layer that names another address, for a stored key, one in the vendor's variable, and
/// one in our own.
#[test]
fn a_key_goes_only_to_the_place_it_was_stored_for() {
    let elsewhere = "https://gateway.example/v1";
    let flags = |send_key| ProfileFlags {
        base_url: Some(elsewhere.to_owned()),
        send_key,
        ..ProfileFlags::default()
    };
    let user = |provider: &str, more: &str| {
        file(&format!(
            r#"{{"provider":"{provider}","base_url":"{elsewhere}"{more}}}"#
        ))
    };
    let env = |name: &str| [(name.to_owned(), elsewhere.to_owned())].into();
    for (provider, vendors) in [
        ("openai", "OPENAI_API_KEY"),
        ("anthropic", "ANTHROPIC_API_KEY"),
        ("gemini", "GEMINI_API_KEY"),
        ("openrouter", "OPENROUTER_API_KEY"),
        ("zai", "ZAI_API_KEY"),
        ("llamacpp", "LLAMA_API_KEY"),
    ] {
        let own = format!("AGENTOS_{}_API_KEY", provider.to_uppercase());
        let base_url = format!("AGENTOS_{}_BASE_URL", provider.to_uppercase());
        let local = provider == "llamacpp";
        let from_flag = |send_key| ProfileLayers {
            flags: flags(send_key),
            ..ProfileLayers::default()
        };
        let from_env = |name: &str| ProfileLayers {
            env: env(name),
            ..ProfileLayers::default()
        };
        let from_user = |more: &str| ProfileLayers {
            user: user(provider, more),
            ..ProfileLayers::default()
        };
        let own_ref = r#","api_key_ref":"gateway.key""#;
        let cases = [
            ("flag", from_flag(false), (false, false)),
            ("flag and --send-key", from_flag(true), (true, true)),
            ("our variable", from_env(&base_url), (false, false)),
            // A local server has no vendor: the user's file says where it is.
            ("user's file", from_user(""), (local, local)),
            (
                "user's file with a key of its own",
                from_user(own_ref),
                (true, local),
            ),
        ];
        for (what, layers, (stored, vendor)) in cases {
            assert_eq!(
                sent(provider, vendors, layers.clone()),
                (stored, vendor),
                "{provider}: {what}"
            );
            assert_eq!(sent(provider, &own, layers), (stored, true), "{provider}: {what}");
        }
    }
    let vendors_own = ProfileLayers {
        env: env("OPENAI_BASE_URL"),
        ..ProfileLayers::default()
    };
    assert_eq!(sent("openai", "OPENAI_API_KEY", vendors_own), (false, true));
    let other_port = |url: &str| ProfileLayers {
        flags: ProfileFlags {
            base_url: Some(url.to_owned()),
            ..ProfileFlags::default()
        },
        ..ProfileLayers::default()
    };
    for (url, stored) in [
        ("http://127.0.0.1:9931", true),
        ("http://[::1]:1", true),
        ("http://10.0.0.1:8080", false),
    ] {
        assert_eq!(
            sent("llamacpp", "AGENTOS_LLAMACPP_API_KEY", other_port(url)).0,
            stored,
            "{url}"
        );
    }
}

#[test]
fn why_a_key_is_kept_back_is_one_sentence_and_what_to_do_is_data() {
    let why = |provider: &str, layers: &ProfileLayers| match resolve_profile(provider, layers)
        .unwrap()
        .stored_key
    {
        KeyUse::Forbidden(obstacle) => format!("{}\n{:?}", obstacle.why, obstacle.next),
        KeyUse::Allowed => panic!("the key is allowed"),
    };
    let project = ProfileLayers {
        project: file(r#"{"provider":"theirs","base_url":"https://evil.example/v1"}"#),
        ..ProfileLayers::default()
    };
    insta::assert_snapshot!(why("theirs", &project), @r#"
    the repository's profile points to `evil.example:443`, but the key was not stored for that address
    [SendKey { base_url: Some("https://evil.example/v1") }]
    "#);
    let flag = ProfileLayers {
        flags: ProfileFlags {
            base_url: Some("https://gateway.example/v1".to_owned()),
            ..ProfileFlags::default()
        },
        ..ProfileLayers::default()
    };
    insta::assert_snapshot!(why("openai", &flag), @r#"
    the key is for `api.openai.com:443`, not for `gateway.example:443`
    [SendKey { base_url: None }, SetKeyVariable { variable: "AGENTOS_OPENAI_API_KEY" }]
    "#);
}

#[test]
fn a_given_key_never_shows() {
    let layers = ProfileLayers {
        flags: ProfileFlags {
            api_key: Some(Secret::new("sk-canary-0123456789")),
            ..ProfileFlags::default()
        },
        env: [("OPENAI_API_KEY".to_owned(), "sk-canary-9876543210".to_owned())].into(),
        ..ProfileLayers::default()
    };
    let resolved = resolve_profile("openai", &layers).unwrap();
    assert!(!format!("{resolved:?}").contains("canary"));
    let key = &resolved.given_keys[0];
    assert_eq!(
        (key.key.expose(), &key.origin),
        ("sk-canary-0123456789", &Origin::Flag)
    );
}
