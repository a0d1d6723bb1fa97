//! The paths of the service, and what every answer has in common.
//!
//! Owns: the table of paths, the check before each answer and the headers after it. Never: answers before the judge has decided.

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::HeaderValue;
use axum::http::header::HeaderName;
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};

use crate::desk::SharedDesk;
use crate::facts::{find_cookie, read_facts};
use crate::fault::RequestFault;
use crate::judge::{CallerKind, RequestKind, RequestRefusal, judge_request};
use crate::mcp_route::add_agent_path;
use crate::page::{self, SignedIn};
use crate::rest::{self, RestFault};

/// Largest body: an answer of a model may be 10 MB.
const LARGEST_BODY: usize = 12 << 20;

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

/// Makes the table of paths.
pub fn make_routes(desk: SharedDesk) -> Router {
    let api = Router::new()
        .route("/api/status", get(rest::show_status))
        .route("/api/requests", get(rest::list_requests))
        .route("/api/requests/{run}", get(rest::show_request))
        .route("/api/requests/{run}/approve", post(rest::approve_request))
        .route("/api/requests/{run}/deny", post(rest::deny_request))
        .route("/api/proposals", post(rest::propose))
        .route("/api/runs", get(rest::list_runs))
        .route("/api/runs/{run}", get(rest::show_run))
        .route("/api/runs/{run}/undo", post(rest::undo_run))
        .route("/api/sessions", get(rest::list_sessions))
        .route("/api/pools", get(rest::list_pools))
        .route("/api/cost", get(rest::show_cost))
        .route("/api/budgets", get(rest::list_budgets))
        .route("/api/evidence", get(rest::verify_evidence))
        .route("/api/events", get(rest::listen))
        .route("/api/codes", post(rest::make_code));
    let pages = Router::new()
        .route("/", get(page::show_inbox))
        .route("/signin", get(page::show_sign_in).post(page::sign_in))
        .route("/signout", post(page::sign_out))
        .route("/requests/{run}", get(page::show_request))
        .route("/requests/{run}/approve", post(page::approve_request))
        .route("/requests/{run}/deny", post(page::deny_request))
        .route("/runs", get(page::show_runs))
        .route("/runs/{run}", get(page::show_run))
        .route("/runs/{run}/undo", post(page::undo_run))
        .route("/propose", get(page::show_propose).post(page::propose))
        .route("/sessions", get(page::show_sessions))
        .route("/cost", get(page::show_cost))
        .route("/evidence", get(page::show_evidence))
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/static/style.css", get(page::serve_style))
        .route("/static/page.js", get(page::serve_script));
    add_agent_path(api.merge(pages), &desk)
        .fallback(rest::find_nothing)
        .layer(DefaultBodyLimit::max(LARGEST_BODY))
        .layer(middleware::from_fn_with_state(desk.clone(), admit))
        .with_state(desk)
}

/// Lets a request through if the judge allows it, and adds the headers of every answer.
async fn admit(State(desk): State<SharedDesk>, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    let facts = read_facts(&parts, &desk.access);
    let mut response = match judge_request(&facts, &desk.names) {
        Ok(caller) => {
            if caller == CallerKind::Person
                && let Some(cookie) = find_cookie(&parts.headers)
                && let Some(form) = desk.access.find_form(&cookie)
            {
                parts.extensions.insert(SignedIn { cookie, form });
            }
            next.run(Request::from_parts(parts, body)).await
        }
        Err(RequestRefusal::SignedOut) if facts.kind == RequestKind::Page => page::to_sign_in(),
        Err(refusal) => {
            tracing::info!(code = refusal.code(), "request refused");
            RestFault::from(RequestFault::from(refusal)).into_response()
        }
    };
    for (name, value) in HEADERS {
        let name = HeaderName::from_static(name);
        response
            .headers_mut()
            .insert(name, HeaderValue::from_static(value));
    }
    response
}
