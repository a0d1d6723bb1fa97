//! What is remembered, and for how long.

use agentos_testkit::repo::TestRepo;

use super::*;
use agentos_ground::environment::Environment;

#[test]
fn a_window_is_remembered_for_its_model_until_the_model_is_loaded_again() {
    let repo = TestRepo::new();
    let home = ("HOME".to_owned(), repo.outside().to_str().unwrap().to_owned());
    let ground = Ground::new(Environment::new([home], repo.path().to_owned()));
    let of = |provider: &str, address: &str, model: Option<&str>| RememberedWindow {
        ground: &ground,
        provider: provider.to_owned(),
        address: Some(address.to_owned()),
        model: model.map(str::to_owned),
    };
    let known = of("vllm", "http://a/v1", Some("a/b"));
    known.remember(8_000);
    known.remember(4_000);
    of("vllm-2", "http://a/v1", Some("a")).remember(2_000);
    assert_eq!(known.recall(), Some(4_000));
    let unknown = [
        of("vllm", "http://a/v1", Some("a")),
        of("vllm", "http://a/v1", None),
        // Another server of this name, such as of another repository.
        of("vllm", "http://b/v1", Some("a/b")),
    ];
    assert!(unknown.iter().all(|model| model.recall().is_none()));
    forget(&ground, "vllm");
    let other = of("vllm-2", "http://a/v1", Some("a"));
    assert_eq!((known.recall(), other.recall()), (None, Some(2_000)));
}

#[test]
fn a_refusal_never_raises_the_window_that_is_used() {
    let stated = |tokens| ModelWindow {
        tokens,
        source: WindowSource::Profile,
    };
    let cases = [
        (Some(stated(8_000)), Some(4_000), Some(4_000)),
        (Some(stated(8_000)), Some(9_000), Some(8_000)),
        (None, Some(10_000_000), None),
        (None, Some(ASSUMED_WINDOW), None),
        (None, Some(9_000), Some(9_000)),
        (None, None, None),
    ];
    for (stated, learned, expected) in cases {
        let found = lower_window(stated, learned).map(|window| window.tokens);
        assert_eq!(found, expected, "{stated:?} {learned:?}");
    }
}
