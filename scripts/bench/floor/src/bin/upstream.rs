//! A server of the OpenAI chat wire that answers at once: one document, or a stream of 20 pieces and the usage.

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::DefaultBodyLimit;
use axum::http::header::CONTENT_TYPE;
use axum::response::Response;
use axum::routing::{get, post};
use axum::serve::ListenerExt as _;
use futures_util::stream;

const USAGE: &str = r#"{"prompt_tokens":11,"completion_tokens":20,"total_tokens":31}"#;

async fn answer_chat(body: Bytes) -> Response {
    let is_stream = serde_json::from_slice::<serde_json::Value>(&body).is_ok_and(|body| body["stream"] == true);
    if !is_stream {
        let text = "word ".repeat(20);
        let document = format!(
            r#"{{"id":"chatcmpl-1","object":"chat.completion","created":1700000000,"model":"fast","choices":[{{"index":0,"message":{{"role":"assistant","content":"{text}"}},"finish_reason":"stop"}}],"usage":{USAGE}}}"#
        );
        return respond("application/json", Body::from(document));
    }
    let chunk = |choices: String, usage: &str| {
        format!(
            "data: {{\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1700000000,\"model\":\"fast\",\"choices\":{choices},\"usage\":{usage}}}\n\n"
        )
    };
    let words = (0..20).map(|at| {
        chunk(format!(r#"[{{"index":0,"delta":{{"content":"word{at} "}},"finish_reason":null}}]"#), "null")
    });
    let end = [
        chunk(r#"[{"index":0,"delta":{},"finish_reason":"stop"}]"#.to_owned(), "null"),
        chunk("[]".to_owned(), USAGE),
        "data: [DONE]\n\n".to_owned(),
    ];
    let pieces: Vec<String> = words.chain(end).collect();
    let pieces = pieces.into_iter().map(Ok::<_, std::convert::Infallible>);
    respond("text/event-stream", Body::from_stream(stream::iter(pieces)))
}

fn respond(kind: &str, body: Body) -> Response {
    Response::builder().header(CONTENT_TYPE, kind).body(body).expect("a valid answer")
}

#[tokio::main(flavor = "multi_thread", worker_threads = 1)]
async fn main() {
    let models = r#"{"object":"list","data":[{"id":"fast","object":"model"}]}"#;
    let routes = Router::new()
        .route("/v1/chat/completions", post(answer_chat))
        .route("/v1/models", get(move || async move { respond("application/json", Body::from(models)) }))
        .layer(DefaultBodyLimit::disable());
    let address = std::env::args().nth(1).expect("an address");
    let listener = tokio::net::TcpListener::bind(address).await.expect("a free address");
    println!("READY {}", listener.local_addr().expect("an address"));
    let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
    axum::serve(listener, routes).await.expect("a running server");
}
