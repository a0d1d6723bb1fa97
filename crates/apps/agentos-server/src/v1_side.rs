//! The paths under `/v1` that are no conversations: embeddings, completions, and the count of tokens.
//!
//! Owns: these forms over HTTP. Never: makes up an answer for a server whose wire has no such endpoint; only a count is estimated, and
//! the answer says so.
//!
//! | header of a count | meaning |
//! |---|---|
//! | `x-agentos-count: provider` | the vendor counted |
//! | `x-agentos-count: estimate` | estimated from the length of the texts |

use agentos_client_wires::{ClientFault, ClientRequest, ClientWire, PlainRequest, RequestFault};
use agentos_host::{EffectError, SideAnswer, TokenCount, estimate_request, new_run};
use agentos_model::SideRequest;
use agentos_tool::RunId;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse as _, Response};
use serde_json::json;

use crate::caller::{SentToken, name_token};
use crate::desk::{Lane, SharedDesk};
use crate::metrics::AnswerEnd;
use crate::rest;
use crate::v1::{ReceivedBody, add_header, write_cost, write_fault, write_turn_fault};
use crate::v1_fault::{refuse_body, refuse_endpoint, to_client_fault};

/// Name of these paths in the counts.
const WIRE_WORD: &str = "plain";

/// `POST /v1/embeddings`
pub async fn create_embeddings(
    State(desk): State<SharedDesk>,
    token: SentToken,
    body: ReceivedBody,
) -> Response {
    match read_body(body, PlainRequest::read_embeddings) {
        Ok(request) => {
            let side = SideRequest::Embeddings(request.fields.clone());
            answer_plain((&desk, token), request, side).await
        }
        Err(fault) => write_fault(ClientWire::OpenAi, &fault),
    }
}

/// `POST /v1/completions`
pub async fn complete_text(State(desk): State<SharedDesk>, token: SentToken, body: ReceivedBody) -> Response {
    match read_body(body, PlainRequest::read_completion) {
        Ok(request) => {
            let side = SideRequest::Completions(request.fields.clone());
            answer_plain((&desk, token), request, side).await
        }
        Err(fault) => write_fault(ClientWire::OpenAi, &fault),
    }
}

/// `POST /v1/messages/count_tokens`
pub async fn count_tokens(State(desk): State<SharedDesk>, body: ReceivedBody) -> Response {
    let wire = ClientWire::Anthropic;
    let request = match read_body(body, ClientWire::read_count) {
        Ok(request) => request,
        Err(fault) => return write_fault(wire, &fault),
    };
    let turn = new_run();
    match count_request(&desk, &request, &turn).await {
        Ok(count) => {
            let (tokens, source) = match count {
                TokenCount::Counted(tokens) => (tokens, "provider"),
                TokenCount::Estimated(tokens) => (tokens, "estimate"),
            };
            let mut response = rest::json(&json!({"input_tokens": tokens}));
            add_header(&mut response, "x-agentos-count", source);
            add_header(&mut response, "request-id", &format!("req_{turn}"));
            add_header(&mut response, "x-agentos-ignored", &request.ignored.join(", "));
            response
        }
        Err(error) => write_turn_fault(wire, &to_client_fault(&error), &turn),
    }
}

/// `POST /v1/responses/compact`: no wire to a provider has it, and a summary that the service made up would not be the vendor's.
pub async fn refuse_compaction() -> Response {
    let message = "no provider that is asked here shortens a conversation at the server: let the client write a summary itself";
    write_fault(ClientWire::Responses, &refuse_endpoint(message))
}

fn read_body<T>(
    body: ReceivedBody,
    read: impl FnOnce(&[u8]) -> Result<T, RequestFault>,
) -> Result<T, ClientFault> {
    let body: Bytes = body.map_err(|rejection| refuse_body(&rejection))?;
    Ok(read(&body)?)
}

/// Counts the tokens of a request, by the server or by an estimate.
async fn count_request(
    desk: &SharedDesk,
    request: &ClientRequest,
    turn: &RunId,
) -> Result<TokenCount, EffectError> {
    let (name, chat, own) = (request.model.clone(), request.chat.clone(), turn.clone());
    let prepared = desk.call_in(Lane::Models, move |desk| {
        desk.models.prepare_count(&name, chat, &own)
    });
    match prepared.await.map_err(|fault| fault.error)? {
        Some(call) => call.count_tokens().await,
        None => Ok(TokenCount::Estimated(estimate_request(&request.chat))),
    }
}

/// Answers a request whose documented fields go to the server.
async fn answer_plain(
    (desk, token): (&SharedDesk, SentToken),
    request: PlainRequest,
    side: SideRequest,
) -> Response {
    let turn = new_run();
    let ignored = request.ignored.join(", ");
    let answer = match ask_server(desk, &request.model, side, (&turn, name_token(token))).await {
        Ok(answer) => answer,
        Err(error) => {
            desk.metrics.count_answer(WIRE_WORD, AnswerEnd::Failed);
            return write_turn_fault(ClientWire::OpenAi, &to_client_fault(&error), &turn);
        }
    };
    desk.metrics.count_answer(WIRE_WORD, AnswerEnd::Whole);
    desk.metrics.count_usage(answer.usage.as_ref(), answer.cost);
    let mut response = match request.is_stream {
        true => {
            let headers = [(CONTENT_TYPE, "text/event-stream"), (CACHE_CONTROL, "no-store")];
            (headers, request.write_stream(answer.document)).into_response()
        }
        false => rest::json(&request.write_answer(answer.document)),
    };
    add_header(&mut response, "x-agentos-provider", &answer.provider);
    add_header(
        &mut response,
        "x-agentos-model",
        &answer.model.unwrap_or_default(),
    );
    add_header(&mut response, "x-agentos-turn", turn.as_str());
    add_header(&mut response, "x-request-id", &format!("req_{turn}"));
    add_header(&mut response, "x-agentos-cost-usd", &write_cost(answer.cost));
    add_header(&mut response, "x-agentos-ignored", &ignored);
    response
}

async fn ask_server(
    desk: &SharedDesk,
    name: &str,
    side: SideRequest,
    (turn, token): (&RunId, Option<String>),
) -> Result<SideAnswer, EffectError> {
    let (name, own) = (name.to_owned(), turn.clone());
    let prepared = desk.call_in(Lane::Models, move |desk| {
        desk.models.prepare_side(&name, side, (&own, token.as_deref()))
    });
    prepared.await.map_err(|fault| fault.error)?.send().await
}
