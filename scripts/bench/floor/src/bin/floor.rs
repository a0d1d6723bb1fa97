//! The floor: a proxy that checks a token, finds the model, passes the bytes on and counts tokens. It records nothing, converts nothing
//! and confines nothing, so no gateway can need less.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use axum::routing::post;
use axum::serve::ListenerExt as _;
use serde::Deserialize;

struct FloorProxy {
    client: reqwest::Client,
    upstream: String,
    authorization: String,
    tokens: AtomicU64,
}

#[derive(Deserialize)]
struct AskedModel {
    model: String,
    #[serde(default)]
    stream: bool,
}

#[derive(Deserialize)]
struct AnsweredUsage {
    usage: TokenUsage,
}

#[derive(Deserialize)]
struct TokenUsage {
    total_tokens: u64,
}

async fn pass_on(State(proxy): State<Arc<FloorProxy>>, headers: HeaderMap, body: Bytes) -> Response {
    let refuse = |status: StatusCode| Response::builder().status(status).body(Body::empty()).expect("an answer");
    let is_known = headers.get(AUTHORIZATION).is_some_and(|value| value.as_bytes() == proxy.authorization.as_bytes());
    if !is_known {
        return refuse(StatusCode::UNAUTHORIZED);
    }
    let Ok(asked) = serde_json::from_slice::<AskedModel>(&body) else {
        return refuse(StatusCode::BAD_REQUEST);
    };
    if asked.model != "fast" {
        return refuse(StatusCode::NOT_FOUND);
    }
    let request = proxy.client.post(&proxy.upstream).header(CONTENT_TYPE, "application/json").body(body);
    let Ok(answer) = request.send().await else {
        return refuse(StatusCode::BAD_GATEWAY);
    };
    let mut response = Response::builder().status(answer.status());
    if let Some(kind) = answer.headers().get(CONTENT_TYPE) {
        response = response.header(CONTENT_TYPE, kind);
    }
    if asked.stream {
        return response.body(Body::from_stream(answer.bytes_stream())).expect("an answer");
    }
    let bytes = answer.bytes().await.unwrap_or_default();
    if let Ok(answered) = serde_json::from_slice::<AnsweredUsage>(&bytes) {
        proxy.tokens.fetch_add(answered.usage.total_tokens, Ordering::Relaxed);
    }
    response.body(Body::from(bytes)).expect("an answer")
}

#[tokio::main(flavor = "multi_thread", worker_threads = 1)]
async fn main() {
    let mut args = std::env::args().skip(1);
    let (address, upstream) = (args.next().expect("an address"), args.next().expect("an upstream"));
    let proxy = FloorProxy {
        client: reqwest::Client::builder().no_proxy().build().expect("a client"),
        upstream: format!("{upstream}/v1/chat/completions"),
        authorization: "Bearer bench".to_owned(),
        tokens: AtomicU64::new(0),
    };
    let listener = tokio::net::TcpListener::bind(address).await.expect("a free address");
    println!("READY {}", listener.local_addr().expect("an address"));
    let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
    let routes = Router::new().route("/v1/chat/completions", post(pass_on)).with_state(Arc::new(proxy));
    axum::serve(listener, routes).await.expect("a running server");
}
