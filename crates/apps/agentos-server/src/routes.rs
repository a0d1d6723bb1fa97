//! The paths of a repository's desk, and the headers of every answer.
//!
//! Owns: both tables. Never: decides who may ask; the door has decided before.

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::HeaderValue;
use axum::http::header::HeaderName;
use axum::response::Response;
use axum::routing::{get, post};

use crate::desk::SharedDesk;
use crate::mcp_route::add_agent_path;
use crate::page;
use crate::rest;
use crate::timed_body::LARGEST_BODY;
use crate::v1_fault;
use crate::{openapi, rest_talk};
use crate::{v1, v1_side};

/// Headers of every answer. `same-origin` and not `no-referrer`, which would make browsers send `Origin: null` with forms
/// (Fetch, "append a request `Origin` header").
const HEADERS: [(&str, &str); 8] = [
    (
        "content-security-policy",
        "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'",
    ),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("permissions-policy", "camera=(), geolocation=(), microphone=()"),
    ("x-robots-tag", "noindex"),
];

/// Makes the table of paths of a desk. `names` are the values of Host under which agents reach it.
pub fn make_routes(desk: SharedDesk, names: &[String]) -> Router {
    let clients = Router::new()
        .route("/v1/models", get(v1::list_models))
        .route("/v1/models/{*name}", get(v1::show_model))
        .route("/v1/chat/completions", post(v1::complete_chat))
        .route("/v1/responses", post(v1::create_response))
        .route("/v1/responses/compact", post(v1_side::refuse_compaction))
        .route("/v1/embeddings", post(v1_side::create_embeddings))
        .route("/v1/completions", post(v1_side::complete_text))
        .route("/v1/messages/count_tokens", post(v1_side::count_tokens))
        .route("/v1/messages", post(v1::create_message));
    let pages = Router::new()
        .route("/", get(page::show_inbox))
        .route("/signin", get(page::show_sign_in).post(page::sign_in))
        .route("/signout", post(page::sign_out))
        .route("/requests/{run}", get(page::show_request))
        .route("/requests/{run}/review", get(page::show_review_part))
        .route("/requests/{run}/approve", post(page::approve_request))
        .route("/requests/{run}/deny", post(page::deny_request))
        .route("/runs", get(page::show_runs))
        .route("/runs/{run}", get(page::show_run))
        .route("/runs/{run}/undo", post(page::undo_run))
        .route("/propose", get(page::show_propose).post(page::propose))
        .route(
            "/sessions",
            get(page::talk::show_sessions).post(page::talk::begin_session),
        )
        .route(
            "/sessions/{key}",
            get(page::talk::show_session).post(page::talk::say),
        )
        .route("/sessions/{key}/stop", post(page::talk::stop))
        .route("/sessions/{key}/stream", get(page::talk::stream_answer))
        .route("/devices", get(page::devices::show_devices))
        .route("/devices/{action}", post(page::devices::change_devices))
        .route("/models", get(page::models::show_models))
        .route("/models/{action}", post(page::models::change_model))
        .route("/cost", get(page::show_cost))
        .route("/evidence", get(page::evidence::show_evidence))
        .route("/evidence/export", post(page::evidence::export))
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/static/style.css", get(page::serve_style))
        .route("/static/page.js", get(page::serve_script))
        .route("/static/authority.crt", get(page::serve_authority))
        .route("/static/device.js", get(page::serve_device_script));
    add_agent_path(make_data_routes().merge(clients).merge(pages), &desk, names)
        .fallback(v1_fault::find_nothing)
        .method_not_allowed_fallback(v1_fault::refuse_method)
        .layer(DefaultBodyLimit::max(LARGEST_BODY))
        .with_state(desk)
}

/// Makes the table of paths for programs: the data of a repository, and its metrics.
fn make_data_routes() -> Router<SharedDesk> {
    Router::new()
        .route("/api/status", get(rest::show_status))
        .route("/api/requests", get(rest::list_requests))
        .route("/api/requests/{run}", get(rest::show_request))
        .route("/api/requests/{run}/approve", post(rest::approve_request))
        .route("/api/requests/{run}/deny", post(rest::deny_request))
        .route("/api/proposals", post(rest::propose))
        .route("/api/runs", get(rest::list_runs))
        .route("/api/runs/{run}", get(rest::show_run))
        .route("/api/runs/{run}/undo", post(rest::undo_run))
        .route("/api/models", get(rest_talk::list_models))
        .route("/api/sessions", get(rest_talk::list_sessions))
        .route("/api/sessions/{key}", get(rest_talk::show_session))
        .route("/api/sessions/{key}/messages", post(rest_talk::say))
        .route("/api/sessions/{key}/stop", post(rest_talk::stop))
        .route("/api/repositories", get(rest::list_repositories))
        .route("/api/pools", get(rest::list_pools))
        .route("/api/cost", get(rest::show_cost))
        .route("/api/budgets", get(rest::list_budgets))
        .route("/api/evidence", get(rest::verify_evidence))
        .route("/api/events", get(rest::listen))
        .route("/api/openapi.json", get(openapi::show_document))
        .route("/metrics", get(rest::show_metrics))
}

/// Makes the table of paths of the page that lists all repositories.
pub fn make_list_routes(desk: SharedDesk) -> Router {
    Router::new()
        .route("/", get(page::repositories::show_repositories))
        .route("/open", post(page::repositories::open_repository))
        .route("/signin", get(page::show_sign_in).post(page::sign_in))
        .route("/signout", post(page::sign_out))
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/static/style.css", get(page::serve_style))
        .route("/static/page.js", get(page::serve_script))
        .fallback(v1_fault::find_nothing)
        .method_not_allowed_fallback(v1_fault::refuse_method)
        .layer(DefaultBodyLimit::max(LARGEST_BODY))
        .with_state(desk)
}

/// Adds the headers of every answer.
pub fn add_headers(response: &mut Response) {
    for (name, value) in HEADERS {
        let name = HeaderName::from_static(name);
        response
            .headers_mut()
            .insert(name, HeaderValue::from_static(value));
    }
}
