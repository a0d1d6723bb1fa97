//! Every recorded answer of the native wire beside a plain reading of its documents, and what a router says of a model.

use super::*;

/// Asked for without the text, so that there is none.
const WITHOUT_TEXT: &str = "run_completion_context_full";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_recorded_run_is_read() {
    let mut told = 0;
    for fixture in Fixture::all("llamacpp").unwrap() {
        let is_run = fixture.request.path == "/completion" && fixture.case.starts_with("run_");
        if !is_run || fixture.case == WITHOUT_TEXT {
            continue;
        }
        let documents = fixture.documents();
        let text: String = documents
            .iter()
            .filter_map(|one| one["content"].as_str())
            .collect();
        let last = documents.last().unwrap();
        let end = match last["stop_type"].as_str() {
            _ if last["truncated"] == true => FinishReason::Length,
            Some("limit") => FinishReason::Length,
            Some("eos" | "word") => FinishReason::Stop,
            other => panic!("{}: {other:?}", fixture.name()),
        };
        let output = answered(fixture.reply()).await.unwrap();
        let usage = output.usage.unwrap();
        assert_eq!((output.text, output.finish), (text, end), "{}", fixture.name());
        assert_eq!(
            (usage.input_tokens, usage.output_tokens),
            (
                last["tokens_evaluated"].as_u64(),
                last["tokens_predicted"].as_u64()
            ),
            "{}",
            fixture.name()
        );
        told += 1;
    }
    assert_eq!(told, 13);
}

#[tokio::test]
async fn what_a_router_says_of_a_model_is_told_by_a_run() {
    for case in [
        "error_load_failed",
        "error_not_loaded",
        "error_unknown_model",
        "load_404",
    ] {
        let fixture = Fixture::load("llamacpp_router", case).unwrap();
        let error = answered(fixture.reply()).await.unwrap_err();
        let state = error.health.map(|state| state.to_string());
        assert_eq!(state, fixture.tool_health, "{case}: {error}");
    }
}
