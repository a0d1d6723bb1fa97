//! The forms of tables, each with entries that cannot be taken.

use super::*;

fn shown(table: &ImportedTable) -> String {
    let models = table.models.iter().map(|model| {
        let text = serde_json::to_string(model).unwrap();
        format!("taken {text}\n")
    });
    let skipped = table
        .skipped
        .iter()
        .map(|skipped| format!("skipped {}: {}\n", skipped.entry, skipped.reason));
    let mut lines: Vec<String> = models.chain(skipped).collect();
    lines.push(format!("{:?}, other kinds {}", table.form, table.other_kinds));
    lines.concat()
}

// LB-20: a bad entry is reported and skipped, and the others are taken.
#[test]
fn a_table_of_our_own_form_is_taken_without_its_wrong_entries() {
    let text = r#"{"version":1,"models":[
        {"id":"custom/my-model","provider":"openai","name":"my-model-v1","context_window":32000,"output_limit":4096,"source":"me"},
        {"id":"nobody"},
        {"context_window":1},
        {"id":"a/b","price":{"input":3,"output":0.6}},
        {"id":"a/c","price":{"input":-3}},
        7]}"#;
    insta::assert_snapshot!(shown(&read_table(text, "FILE sha256:00").unwrap()), @r#"
    taken {"id":"custom/my-model","provider":"openai","name":"my-model-v1","context_window":32000,"output_limit":4096,"source":"FILE sha256:00"}
    taken {"id":"a/b","price":{"input":"3","output":"0.6"},"source":"FILE sha256:00"}
    skipped nobody: an id is a provider (small letters, digits and `-`), `/` and a name, without control characters
    skipped entry 3: missing field `id`
    skipped a/c: `-3` is not a decimal number of 0 or more with few enough digits
    skipped entry 6: invalid type: integer `7`, expected an object
    Agentos, other kinds 0
    "#);
}

#[test]
fn the_table_of_models_dev_is_read() {
    let text = r#"{"google":{"id":"google","models":{
        "gemini-x":{"limit":{"context":1048576,"output":65536},"tool_call":true,"reasoning":false,"structured_output":true,
            "modalities":{"input":["text","image"],"output":["text"]},
            "cost":{"input":1.25,"output":10,"cache_read":0.125}},
        "gemini-image":{"modalities":{"input":["text"],"output":["image"]}},
        "gemini-odd":{"limit":{"context":"many"}}}},
        "vendor":{"models":[]}}"#;
    insta::assert_snapshot!(shown(&read_table(text, "FILE sha256:00").unwrap()), @r#"
    taken {"id":"gemini/gemini-x","context_window":1048576,"output_limit":65536,"tools":"yes","vision":"yes","json_mode":"yes","reasoning":"no","price":{"input":"1.25","cached":"0.125","output":"10"},"source":"FILE sha256:00"}
    skipped google/gemini-odd: `/limit/context` is not a whole number of tokens
    skipped vendor: it has no object `models`
    ModelsDev, other kinds 1
    "#);
}

#[test]
fn the_table_of_litellm_is_read() {
    let text = r#"{"sample_spec":{"litellm_provider":"one of …","mode":"chat"},
        "gpt-x":{"litellm_provider":"openai","mode":"chat","max_input_tokens":272000,"max_output_tokens":128000,
            "input_cost_per_token":1.5e-07,"output_cost_per_token":6e-07,"cache_read_input_token_cost":7.5e-08,
            "supports_function_calling":true,"supports_vision":true},
        "bedrock/us-east-1/anthropic.x":{"litellm_provider":"bedrock","mode":"chat","input_cost_per_token":8e-06,
            "cache_creation_input_token_cost":1e-05},
        "vertex_ai/claude-x":{"litellm_provider":"vertex_ai","mode":"chat","max_input_tokens":0},
        "text-embedding-x":{"litellm_provider":"openai","mode":"embedding"},
        "no-provider":{"mode":"chat"},
        "dear":{"litellm_provider":"openai","mode":"chat","input_cost_per_token":-1}}"#;
    insta::assert_snapshot!(shown(&read_table(text, "FILE sha256:00").unwrap()), @r#"
    taken {"id":"bedrock/us-east-1/anthropic.x","price":{"input":"8","cache_write":"10"},"source":"FILE sha256:00"}
    taken {"id":"openai/gpt-x","context_window":272000,"output_limit":128000,"tools":"yes","vision":"yes","price":{"input":"0.15","cached":"0.075","output":"0.6"},"source":"FILE sha256:00"}
    taken {"id":"vertex-ai/claude-x","source":"FILE sha256:00"}
    skipped dear: `/input_cost_per_token` is not a price of 0 or more
    skipped no-provider: it has no `litellm_provider`
    Litellm, other kinds 2
    "#);
}

#[test]
fn a_text_of_another_form_is_refused() {
    for text in ["", "[", "7", "{}", r#"{"a":{"b":1}}"#, r#"{"models":{}}"#] {
        assert!(read_table(text, "x").is_err(), "{text}");
    }
    assert_eq!(read_table("[]", "x").unwrap().models, []);
}
