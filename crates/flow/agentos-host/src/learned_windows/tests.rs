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
