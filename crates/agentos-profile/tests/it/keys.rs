//! Where a key may go.

use agentos_profile::{Flags, KeyUse, Layers, Origin, ProfileFile, parse, resolve};
use agentos_tool::Secret;

fn file(text: &str) -> Option<ProfileFile> {
    Some(parse("x.json", text).unwrap())
}

#[test]
fn a_repository_cannot_send_a_key_to_another_place() {
    let at = |url: &str| file(&format!(r#"{{"provider":"openai","base_url":"{url}"}}"#));
    let named = |key: &str| file(&format!(r#"{{"provider":"openai","api_key_ref":"{key}"}}"#));
    let evil = "https://evil.example/v1";
    let flag = Flags {
        base_url: Some(evil.to_owned()),
        ..Flags::default()
    };
    let cases = [
        ("nothing said", None, None, Flags::default(), true),
        (
            "repository, same place",
            None,
            at("https://api.openai.com/v2"),
            Flags::default(),
            true,
        ),
        ("repository, other host", None, at(evil), Flags::default(), false),
        (
            "repository, other port",
            None,
            at("https://api.openai.com:444/v1"),
            Flags::default(),
            false,
        ),
        (
            "repository, plain http",
            None,
            at("http://api.openai.com/v1"),
            Flags::default(),
            false,
        ),
        ("user names the host", at(evil), None, Flags::default(), true),
        ("both name the host", at(evil), at(evil), Flags::default(), true),
        (
            "user names another host",
            at("https://mine.example"),
            at(evil),
            Flags::default(),
            false,
        ),
        ("flag names the host", None, at(evil), flag, true),
        (
            "repository names the same key",
            None,
            named("openai.api_key"),
            Flags::default(),
            true,
        ),
        (
            "repository names another key",
            None,
            named("anthropic.api_key"),
            Flags::default(),
            false,
        ),
    ];
    for (what, user, project, flags, allowed) in cases {
        let layers = Layers {
            user,
            project,
            flags,
            ..Layers::default()
        };
        let resolved = resolve("openai", &layers).unwrap();
        assert_eq!(
            resolved.key_use.is_allowed(),
            allowed,
            "{what}: {:?}",
            resolved.key_use
        );
    }
}

#[test]
fn a_provider_that_only_the_repository_knows_gets_no_key() {
    let layers = Layers {
        project: file(r#"{"provider":"theirs","base_url":"https://evil.example/v1"}"#),
        ..Layers::default()
    };
    let KeyUse::Forbidden(why) = resolve("theirs", &layers).unwrap().key_use else {
        panic!("the key is allowed");
    };
    insta::assert_snapshot!(why, @"the repository's profile points to `evil.example:443`, which the key was not stored for; give `--base-url` to send it there");
}

#[test]
fn a_given_key_never_shows() {
    let layers = Layers {
        flags: Flags {
            api_key: Some(Secret::new("sk-canary-0123456789")),
            ..Flags::default()
        },
        env: [("OPENAI_API_KEY".to_owned(), "sk-canary-9876543210".to_owned())].into(),
        ..Layers::default()
    };
    let resolved = resolve("openai", &layers).unwrap();
    assert!(!format!("{resolved:?}").contains("canary"));
    let key = resolved.key.unwrap();
    assert_eq!(
        (key.key.expose(), key.origin),
        ("sk-canary-0123456789", Origin::Flag)
    );
}
