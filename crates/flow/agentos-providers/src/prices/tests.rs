//! Prices of the catalogue, and servers of this machine.

use agentos_profile::{ProfileFlags, ProfileLayers, resolve_profile};
use agentos_testkit::server::{FakeServer, Reply};
use serde_json::json;

use super::*;

#[test]
fn a_server_of_this_machine_is_free_only_if_it_answers_as_one_that_computes() {
    let llamacpp = FakeServer::start(|request| match request.path.as_str() {
        "/props" => Reply::json(200, &json!({ "default_generation_settings": {} })),
        _ => Reply::json(404, &json!({})),
    })
    .unwrap();
    let gateway = FakeServer::start(|_| Reply::json(404, &json!({}))).unwrap();
    let resolve = |provider: &str, base_url: &str, model: &str| {
        let flags = ProfileFlags {
            model: Some(model.to_owned()),
            base_url: Some(base_url.to_owned()),
            ..ProfileFlags::default()
        };
        let layers = ProfileLayers {
            flags,
            ..ProfileLayers::default()
        };
        resolve_profile(provider, &layers).unwrap()
    };
    let cases = [
        (
            "llamacpp",
            llamacpp.url(),
            "m",
            "0 0 own machine",
            "0 0 own machine",
        ),
        ("llamacpp", gateway.url(), "m", "0 0 own machine", "- - -"),
        ("openai", gateway.url(), "m", "- - -", "- - -"),
        ("ollama", gateway.url(), "gpt-oss:120b-cloud", "- - -", "- - -"),
        ("ollama", gateway.url(), "gpt-oss:120b-CLOUD", "- - -", "- - -"),
        ("ollama", gateway.url(), "gpt-oss:Cloud", "- - -", "- - -"),
        ("ollama", "https://box.example".to_owned(), "m", "- - -", "- - -"),
    ];
    for (provider, base_url, model, presumed, proved) in cases {
        let resolved = resolve(provider, &base_url, model);
        assert_eq!(
            show(&presume_prices(&resolved).unwrap()),
            presumed,
            "{provider} {base_url}"
        );
        let known = find_prices(&resolved).unwrap();
        assert_eq!(
            show(&prove_prices_now(known, &resolved.profile).prices),
            proved,
            "{provider} {base_url}"
        );
    }
    assert_eq!(gateway.requests().len(), 2);
}

#[test]
fn a_server_that_gives_no_answer_is_told_apart_from_another_one() {
    let gateway = FakeServer::start(|_| Reply::json(404, &json!({}))).unwrap();
    let stopped = {
        let server = FakeServer::start(|_| Reply::json(404, &json!({}))).unwrap();
        server.url()
    };
    for provider in ["llamacpp", "ollama", "lmstudio", "vllm"] {
        let ask = |base_url: &str| {
            let flags = ProfileFlags {
                model: Some("m".to_owned()),
                base_url: Some(format!("{base_url}/v1")),
                ..ProfileFlags::default()
            };
            let layers = ProfileLayers {
                flags,
                ..ProfileLayers::default()
            };
            let resolved = resolve_profile(provider, &layers).unwrap();
            let proved = prove_prices_now(TokenPrices::default(), &resolved.profile);
            assert!(proved.prices.is_unknown(), "{provider}");
            proved.silent
        };
        assert_eq!(ask(&gateway.url()), None, "{provider}");
        let silent = ask(&stopped).unwrap();
        assert_eq!(silent.address, format!("{stopped}/v1"), "{provider}");
        assert!(!silent.why.is_empty(), "{provider}");
    }
}

fn show(prices: &TokenPrices) -> String {
    let text = |price: Option<TokenPrice>| price.map_or_else(|| "-".to_owned(), |price| price.to_string());
    let source = prices.source.as_deref().unwrap_or("-");
    let source = source.split(" sha256:").next().unwrap_or_default();
    format!("{} {} {source}", text(prices.input), text(prices.output))
}

#[test]
fn a_price_of_the_catalogue_holds_at_the_vendors_own_address() {
    let profile = r#"{"provider":"openai","price":{"input":3,"output":15}}"#;
    let profile = agentos_profile::parse_profile("x.json", profile).unwrap();
    let gateway = Some("https://gateway.example/v1".to_owned());
    let cases = [
        ("openai", "gpt-5.1", None, None, "1.25 10 models.dev 2026-07-02"),
        ("openai", "no-such-model", None, None, "- - -"),
        // Whoever answers at another address has prices of their own.
        ("openai", "gpt-5.1", gateway, None, "- - -"),
        ("openai", "gpt-5.1", None, Some(profile), "3 15 profile"),
        // Which server answers is not known before it is asked.
        ("llamacpp", "gpt-5.1", None, None, "- - -"),
    ];
    for (provider, model, base_url, user, expected) in cases {
        let flags = ProfileFlags {
            model: Some(model.to_owned()),
            base_url,
            ..ProfileFlags::default()
        };
        let layers = ProfileLayers {
            user,
            flags,
            ..ProfileLayers::default()
        };
        let prices = find_prices(&resolve_profile(provider, &layers).unwrap()).unwrap();
        assert_eq!(show(&prices), expected, "{provider} {model}");
    }
}
