//! What is remembered, and for how long.

use agentos_testkit::repo::TestRepo;

use super::*;
use crate::environment::Environment;

#[test]
fn a_window_is_remembered_for_its_model_until_the_model_is_loaded_again() {
    let repo = TestRepo::new();
    let home = ("HOME".to_owned(), repo.outside().to_str().unwrap().to_owned());
    let host = Host::new(Environment::new([home], repo.path().to_owned()));
    remember(&host, "vllm", Some("a/b"), 8_000);
    remember(&host, "vllm", Some("a/b"), 4_000);
    remember(&host, "vllm-2", Some("a"), 2_000);
    let seen = |provider, model| recall(&host, provider, model);
    assert_eq!(seen("vllm", Some("a/b")), Some(4_000));
    assert_eq!((seen("vllm", Some("a")), seen("vllm", None)), (None, None));
    forget(&host, "vllm");
    assert_eq!(
        (seen("vllm", Some("a/b")), seen("vllm-2", Some("a"))),
        (None, Some(2_000))
    );
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
