//! Tests of calls that end early.

use agentos_testkit::repo::TestRepo;
use agentos_tool::ExecutionMode;
use serde_json::json;

use super::*;
use agentos_ground::environment::Environment;

#[test]
fn an_abandoned_search_ends() {
    let repo = TestRepo::new();
    repo.write("a.rs", "fn one() {}\n");
    repo.commit_all("Begin");
    // Without a home folder, policy is refused, and nothing is read.
    let home = ("HOME".to_owned(), repo.outside().to_str().unwrap().to_owned());
    let ground = Ground::new(Environment::new([home], repo.path().to_owned()));
    let spec = RepositoryToolsSpec {
        session: SessionOptions::default(),
        author: ModelFacts {
            provider: "p".to_owned(),
            model: None,
            execution_mode: ExecutionMode::Local,
            adapter: "openai".to_owned(),
            address: None,
        },
        receivers: Vec::new(),
        proposals: None,
        conversation: "conversation:default".to_owned(),
    };
    let tools = RepositoryTools::new(&ground, spec);
    let arguments = json!({ "text": "fn" });
    let (slot, stop) = StopOnDrop::prepare();
    assert!(
        tools
            .0
            .answer_call("search", &arguments, &slot)
            .text
            .contains("fn one")
    );
    drop(stop);
    assert!(is_stopped(&slot));
    let answer = tools.0.answer_call("search", &arguments, &slot);
    assert!(!answer.text.contains("fn one"), "{}", answer.text);
    // A model that only reads has no tool that proposes.
    let proposed = tools
        .0
        .answer_call("propose_change", &json!({ "answer": "x" }), &StopSlot::default());
    assert_eq!(proposed.text, "There is no tool `propose_change`.");
}
