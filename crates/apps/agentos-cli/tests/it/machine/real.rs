//! The same with real servers of llama.cpp. Skipped, and said so, where they are not installed.

use agentos_schema::SchemaName;
use agentos_testkit::llama::{LlamaOptions, LlamaServer};
use serde_json::json;

use super::{add_pool, call, script, send};
use crate::support::agentos;

fn server(answer: &str) -> Option<LlamaServer> {
    LlamaServer::start(LlamaOptions {
        answer,
        alias: "tiny",
        ..LlamaOptions::default()
    })
    .unwrap()
}

#[test]
fn two_real_servers_take_turns_as_memory_allows() {
    let (Some(large), Some(small)) = (server("the large model"), server("the small model")) else {
        return;
    };
    let cli = agentos();
    let file = script(&cli, &[(0, 20), (10, 2), (20, 20), (45, 20), (60, 20)]);
    let cli = cli.env("AGENTOS_MACHINE_SCRIPT", file);
    add_pool(&cli, large.url(), small.url());
    let answers: Vec<String> = (0..5).map(|_| send(&cli, "Who are you?").1).collect();
    let expected = ["large", "small", "small", "large", "large"].map(|size| format!("the {size} model"));
    assert_eq!(answers, expected);
    let (_, status) = call(&cli, SchemaName::Status, &["status"]);
    let switch = &status["machine"]["switches"][0];
    assert_eq!(
        (&switch["from"], &switch["to"]),
        (&json!("small"), &json!("large")),
        "{status:#}"
    );
}
