//! Servers as their recorded documents show them.

use agentos_testkit::server::{FakeServer, Reply};
use agentos_testkit::wire::Fixture;

use super::*;
use agentos_ground::runtime::block_on;

/// Answers with the recorded documents at their paths, and with 404 elsewhere.
fn look(recorded: &[(&str, &str, &str)]) -> String {
    let documents: Vec<(String, Value)> = recorded
        .iter()
        .map(|(path, folder, case)| {
            let body = Fixture::load(folder, case).unwrap().response.body.unwrap();
            ((*path).to_owned(), body)
        })
        .collect();
    look_at_documents(documents)
}

fn serve(documents: Vec<(String, Value)>) -> FakeServer {
    FakeServer::start(move |request| {
        let found = documents.iter().find(|(path, _)| *path == request.path);
        match found {
            Some((_, body)) => Reply::json(200, body),
            None => Reply::json(404, &json!({ "error": "not found" })),
        }
    })
    .unwrap()
}

fn look_at_documents(documents: Vec<(String, Value)>) -> String {
    let server = serve(documents);
    let address = HttpUrl::parse(&format!("{}/v1", server.url())).unwrap();
    match block_on(look_at(&address)).unwrap() {
        Ok(seen) => {
            let models = seen.models.iter().take(2);
            let models = models.map(|model| format!("{} {:?}", model.name, model.window));
            let place = seen.base_url.replace(&server.url(), "");
            format!(
                "{:?} at `{place}`: {}",
                seen.sort,
                models.collect::<Vec<_>>().join(", ")
            )
        }
        Err(error) => error.message.replace(&server.url(), ""),
    }
}

#[test]
fn each_server_is_known_by_its_documents() {
    let seen = [
        look(&[
            ("/props", "llamacpp", "props"),
            ("/v1/models", "llamacpp", "models_full"),
        ]),
        look(&[
            ("/props", "llamacpp_router", "props"),
            ("/v1/models", "llamacpp_router", "models"),
        ]),
        look(&[
            ("/api/version", "ollama", "version_ok"),
            ("/api/tags", "ollama", "tags_full"),
            ("/api/ps", "ollama", "ps_loaded"),
            ("/v1/models", "ollama", "v1_models"),
        ]),
        look(&[
            ("/api/version", "ollama", "version_ok"),
            ("/api/tags", "ollama", "tags_full"),
            ("/api/ps", "ollama", "ps_none_loaded"),
            ("/api/show", "ollama", "show_ok"),
        ]),
        look(&[
            ("/api/v1/models", "lmstudio", "api_v1_models"),
            ("/v1/models", "lmstudio", "models_full"),
        ]),
        look(&[
            ("/api/v0/models", "lmstudio", "api_v0_models"),
            ("/v1/models", "lmstudio", "models_full"),
        ]),
        look(&[("/v1/models", "vllm", "models_full")]),
        look(&[("/v1/models", "litellm", "models_full")]),
        look(&[]),
    ];
    insta::assert_snapshot!(seen.join("\n"), @r#"
    LlamaCpp at ``: tiny-coder Some(4096)
    LlamaCpp at ``: Qwen3-Coder-30B-Q4_K_M Some(32768), gemma-3-4b-it-Q8_0 None
    Ollama at ``: qwen3-coder:30b Some(32768), llama3.2:latest None
    Ollama at ``: qwen3-coder:30b Some(262144), llama3.2:latest None
    LmStudio at `/v1`: qwen/qwen3-coder-30b Some(32768)
    LmStudio at `/v1`: qwen/qwen3-coder-30b None, google/gemma-3-4b None
    Vllm at `/v1`: Qwen/Qwen3-Coder-30B-A3B-Instruct Some(32768)
    OpenAi at `/v1`: peer-coder Some(128000), peer-ratelimit Some(128000)
    the server at /v1 has no list of models of a known form
    "#);
}

#[test]
fn a_server_computes_itself_only_if_it_answers_as_one_that_does() {
    let ask = |adapter: &str, model: Option<&str>, documents: Vec<(&str, Value)>| {
        let documents: Vec<(String, Value)> = documents
            .into_iter()
            .map(|(path, body)| (path.to_owned(), body))
            .collect();
        let server = serve(documents);
        let address = HttpUrl::parse(&format!("{}/v1", server.url())).unwrap();
        block_on(computes_itself(
            &address,
            AdapterKind::of_provider(adapter),
            model,
        ))
        .unwrap()
    };
    let recorded = |folder: &str, case: &str| Fixture::load(folder, case).unwrap().response.body.unwrap();
    let version = || ("/api/version", json!({ "version": "0.30.0" }));
    let tags = |entries: Value| ("/api/tags", json!({ "models": entries }));
    let cases = [
        (
            "llamacpp",
            None,
            vec![("/props", recorded("llamacpp", "props"))],
            true,
        ),
        // A server with a key shows its list alone.
        (
            "llamacpp",
            None,
            vec![(
                "/v1/models",
                json!({ "data": [{ "id": "m", "owned_by": "llamacpp" }] }),
            )],
            true,
        ),
        (
            "llamacpp",
            None,
            vec![("/v1/models", recorded("litellm", "models_full"))],
            false,
        ),
        (
            "llamacpp",
            None,
            vec![("/v1/models", json!({ "data": [] }))],
            false,
        ),
        (
            "lmstudio",
            None,
            vec![("/api/v1/models", recorded("lmstudio", "api_v1_models"))],
            true,
        ),
        (
            "lmstudio",
            None,
            vec![
                ("/api/v1/models", json!({ "error": "Unexpected endpoint" })),
                ("/api/v0/models", recorded("lmstudio", "api_v0_models")),
            ],
            true,
        ),
        (
            "lmstudio",
            None,
            vec![("/v1/models", recorded("litellm", "models_full"))],
            false,
        ),
        (
            "lmstudio",
            None,
            vec![("/api/v1/models", json!([])), ("/api/v0/models", json!([]))],
            false,
        ),
        (
            "lmstudio",
            None,
            vec![
                ("/api/v1/models", json!({ "models": [] })),
                ("/api/v0/models", json!({ "data": [] })),
            ],
            false,
        ),
        ("ollama", None, vec![version(), tags(json!([]))], false),
        (
            "ollama",
            Some("other"),
            vec![version(), tags(json!([{ "name": "small:latest" }]))],
            false,
        ),
        (
            "ollama",
            None,
            vec![version(), ("/api/tags", recorded("ollama", "tags_full"))],
            true,
        ),
        (
            "ollama",
            None,
            vec![("/api/tags", recorded("ollama", "tags_full"))],
            false,
        ),
        ("ollama", None, vec![version()], false),
        (
            "ollama",
            Some("library/Mine"),
            vec![
                version(),
                tags(json!([{ "name": "mine:latest", "remote_host": "https://ollama.com:443" }])),
            ],
            false,
        ),
        (
            "ollama",
            Some("small"),
            vec![
                version(),
                tags(
                    json!([{ "name": "mine:latest", "remote_host": "https://ollama.com:443" }, { "name": "small:latest" }]),
                ),
            ],
            true,
        ),
        (
            "openai",
            None,
            vec![("/v1/models", recorded("vllm", "models_full"))],
            true,
        ),
        (
            "openai",
            None,
            vec![("/v1/models", recorded("litellm", "models_full"))],
            false,
        ),
        (
            "openai",
            None,
            vec![("/props", recorded("llamacpp", "props"))],
            false,
        ),
    ];
    for (adapter, model, documents, expected) in cases {
        let shown = format!("{adapter} {model:?} {documents:?}");
        let expected = match expected {
            true => SelfProof::Proved,
            false => SelfProof::Other,
        };
        assert_eq!(ask(adapter, model, documents), expected, "{shown}");
    }
}

#[test]
fn what_a_server_states_is_not_trusted() {
    let list = |entry: Value| vec![("/v1/models".to_owned(), json!({ "data": [entry] }))];
    let seen = [
        look_at_documents(list(json!({ "id": "m", "max_model_len": 0 }))),
        look_at_documents(list(json!({ "id": "m", "max_model_len": u64::MAX }))),
        look_at_documents(list(json!({ "id": "m", "max_model_len": "4096" }))),
        look_at_documents(list(json!({ "id": "\u{1b}[31mred" }))),
        look_at_documents(list(json!({ "id": "m".repeat(1_000) }))),
        look_at_documents(vec![(
            "/props".to_owned(),
            json!({ "default_generation_settings": { "n_ctx": -1 } }),
        )]),
        look_at_documents(vec![(
            "/api/v1/models".to_owned(),
            json!({ "error": "Unexpected endpoint" }),
        )]),
    ];
    insta::assert_snapshot!(seen.join("\n"), @r#"
    OpenAi at `/v1`: m None
    OpenAi at `/v1`: m None
    OpenAi at `/v1`: m None
    the server at /v1 has no list of models of a known form
    the server at /v1 has no list of models of a known form
    LlamaCpp at ``: 
    the server at /v1 has no list of models of a known form
    "#);
}
