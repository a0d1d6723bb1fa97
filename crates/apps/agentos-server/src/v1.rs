//! The paths under `/v1`: the clients of OpenAI and Anthropic, over any model or pool of the user.
//!
//! Owns: these forms over HTTP, and the headers that say who answered and where the time went. Never: chooses a model, keeps a text,
//! or gives a client a vendor's key.
//!
//! | path | client |
//! |---|---|
//! | `GET /v1/models` | both: the list has the fields of both forms |
//! | `POST /v1/chat/completions`, `POST /v1/responses` | OpenAI |
//! | `POST /v1/messages` | Anthropic |
//! | `POST /v1/embeddings`, `POST /v1/completions`, `POST /v1/messages/count_tokens` | `v1_side` answers them |
//!
//! | header of an answer | meaning |
//! |---|---|
//! | `x-agentos-provider`, `x-agentos-model` | who answers |
//! | `x-agentos-turn` | id of the turn in the ledger; also in `x-request-id` (OpenAI) or `request-id` (Anthropic), after `req_` |
//! | `x-agentos-cost-usd` | cost, if it is known; in a stream it is in the comment before the end |
//! | `x-agentos-ignored` | fields of the request without effect |
//! | `server-timing` | milliseconds until the request was sent (`prepare`), to the first piece (`first`), and of the whole (`total`) |

use std::convert::Infallible;
use std::sync::Arc;

use agentos_client_wires::{
    ClientFault, ClientRequest, ClientWire, FaultKind, ReplyFacts, StreamWriter, write_comment,
};
use agentos_host::{
    ChatCall, ChatReport, EffectError, OfferedModel, ServedEnd, ServedEvent, new_run, now_ms,
};
use agentos_model::{ChatEvent, ChatFinish, ChatReply};
use agentos_tool::{ExactCost, RunId};
use axum::body::{Body, Bytes};
use axum::extract::rejection::BytesRejection;
use axum::extract::{Path, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderMap, HeaderName};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream;
use serde_json::{Value, json};
use tokio::sync::mpsc::Receiver;
use tokio::time::Instant;

use crate::caller::{SentToken, name_token};
use crate::desk::{Lane, ServiceDesk, SharedDesk};
use crate::metrics::AnswerEnd;
use crate::rest;
use crate::v1_fault::{list_wire, refuse_body, to_client_fault};

/// Largest piece of a stream that is collected before it is written. Events that wait together are written together.
const LARGEST_PIECE: usize = 64 << 10;

/// Times of a request.
#[derive(Debug, Clone, Copy)]
struct CallTimes {
    start: Instant,
    prepared: Instant,
}

/// A request that is answered.
struct ServedCall {
    desk: SharedDesk,
    wire: ClientWire,
    request: ClientRequest,
    turn: RunId,
    times: CallTimes,
}

/// Body of a request, or why it could not be received.
pub type ReceivedBody = Result<Bytes, BytesRejection>;

/// `POST /v1/chat/completions`
pub async fn complete_chat(State(desk): State<SharedDesk>, token: SentToken, body: ReceivedBody) -> Response {
    answer_request((&desk, token), ClientWire::OpenAi, body).await
}

/// `POST /v1/responses`
pub async fn create_response(
    State(desk): State<SharedDesk>,
    token: SentToken,
    body: ReceivedBody,
) -> Response {
    answer_request((&desk, token), ClientWire::Responses, body).await
}

/// `POST /v1/messages`
pub async fn create_message(
    State(desk): State<SharedDesk>,
    token: SentToken,
    body: ReceivedBody,
) -> Response {
    answer_request((&desk, token), ClientWire::Anthropic, body).await
}

/// `GET /v1/models`
pub async fn list_models(State(desk): State<SharedDesk>, headers: HeaderMap) -> Response {
    answer_list(&desk, list_wire(&headers), |offered| {
        let list: Vec<Value> = offered.iter().map(describe_model).collect();
        let (first, last) = (offered.first(), offered.last());
        Ok(json!({
            "object": "list", "data": list, "has_more": false,
            "first_id": first.map(|model| &model.id), "last_id": last.map(|model| &model.id),
        }))
    })
    .await
}

/// `GET /v1/models/{name}`
pub async fn show_model(
    State(desk): State<SharedDesk>,
    headers: HeaderMap,
    Path(name): Path<String>,
) -> Response {
    answer_list(&desk, list_wire(&headers), |offered| {
        let found = offered.iter().find(|model| model.id == name);
        found.map(describe_model).ok_or_else(|| ClientFault {
            kind: FaultKind::NotFound,
            code: "unknown-model".to_owned(),
            message: format!("there is no model or pool `{name}`"),
            field: None,
        })
    })
    .await
}

/// Answers with what is made of the offered models.
async fn answer_list(
    desk: &SharedDesk,
    wire: ClientWire,
    describe: impl FnOnce(&[OfferedModel]) -> Result<Value, ClientFault>,
) -> Response {
    let offered = desk.call(|desk| desk.models.list_offered()).await;
    let offered = offered.map_err(|fault| to_client_fault(&fault.error));
    match offered.and_then(|offered| describe(&offered)) {
        Ok(document) => rest::json(&document),
        Err(fault) => write_fault(wire, &fault),
    }
}

/// Describes a model with the fields of both forms. None of them says when it was made, so the dates are the beginning of time.
fn describe_model(model: &OfferedModel) -> Value {
    json!({
        "id": model.id, "object": "model", "created": 0, "owned_by": model.owner,
        "type": "model", "display_name": model.id, "created_at": "1970-01-01T00:00:00Z",
    })
}

async fn answer_request(
    (desk, token): (&SharedDesk, SentToken),
    wire: ClientWire,
    body: ReceivedBody,
) -> Response {
    let start = Instant::now();
    let body = body.map_err(|rejection| refuse_body(&rejection));
    let mut request = match body.and_then(|body| Ok(wire.read_request(&body)?)) {
        Ok(request) => request,
        Err(fault) => return write_fault(wire, &fault),
    };
    // One id for the answer, the ledger and the header, so that each leads to the others.
    let turn = new_run();
    let chat = std::mem::take(&mut request.chat);
    let token = name_token(token);
    let call = match desk
        .models
        .prepare_open(&request.model, chat, (&turn, token.as_deref()))
    {
        Ok(call) => call,
        Err(chat) => {
            let (name, own) = (request.model.clone(), turn.clone());
            let work =
                move |desk: &ServiceDesk| desk.models.prepare_call(&name, *chat, (&own, token.as_deref()));
            let prepared = desk.call_in(Lane::Models, work);
            match prepared.await {
                Ok(call) => call,
                Err(fault) => return write_turn_fault(wire, &to_client_fault(&fault.error), &turn),
            }
        }
    };
    let served = ServedCall {
        desk: Arc::clone(desk),
        wire,
        turn,
        times: CallTimes {
            start,
            prepared: Instant::now(),
        },
        request,
    };
    match served.request.is_stream {
        true => served.answer_stream(call).await,
        false => served.answer_whole(call).await,
    }
}

impl ServedCall {
    /// Answers with one document. If the client goes away, this future is dropped, and with it the call.
    async fn answer_whole(self, call: ChatCall) -> Response {
        let end = match self.desk.models.await_answer(call).await {
            Ok(end) => end,
            Err(failure) => return self.fail(&failure),
        };
        let first = self.note_first();
        let (provider, model) = (end.report.provider.clone(), end.model.clone());
        let facts = self.describe_reply(&provider);
        let mut response = self.write_document(&facts, end, first);
        self.add_headers(&mut response, &provider, model);
        response
    }

    /// Answers with the events of the model. Waits for the first one, so that a failure before it has a status of its own.
    async fn answer_stream(self, call: ChatCall) -> Response {
        // From here on the answer runs by itself, and ends when nobody reads it any more.
        let mut events = self.desk.models.start_answer(call);
        let (provider, model) = match events.recv().await {
            Some(ServedEvent::Started { provider, model }) => (provider, model),
            Some(ServedEvent::Failed(failure)) => return self.fail(&failure),
            Some(ServedEvent::Piece(_) | ServedEvent::Ended(_)) | None => return lost(self.wire),
        };
        let first = self.note_first();
        let facts = self.describe_reply(&provider);
        let mut response = self.stream_events(facts, events, first);
        self.add_headers(&mut response, &provider, model);
        response
    }

    /// Counts the time to the first piece, which is now.
    fn note_first(&self) -> Instant {
        let first = Instant::now();
        let waited = first.duration_since(self.times.start);
        self.desk.metrics.count_first(waited.as_secs_f64());
        first
    }

    fn describe_reply(&self, provider: &str) -> ReplyFacts {
        ReplyFacts {
            id: format!("{}{}", self.wire.id_prefix(), self.turn),
            model: self.request.model.clone(),
            provider: provider.to_owned(),
            created: now_ms() / 1000,
            echo: self.request.echo.clone(),
        }
    }

    fn add_headers(&self, response: &mut Response, provider: &str, model: Option<String>) {
        add_header(response, "x-agentos-provider", provider);
        add_header(response, "x-agentos-model", &model.unwrap_or_default());
        add_header(response, "x-agentos-turn", self.turn.as_str());
        add_header(response, id_header(self.wire), &format!("req_{}", self.turn));
        add_header(response, "x-agentos-ignored", &self.request.ignored.join(", "));
    }

    /// Counts a failed answer, and reports it.
    fn fail(&self, failure: &EffectError) -> Response {
        self.desk
            .metrics
            .count_answer(wire_word(self.wire), AnswerEnd::Failed);
        write_turn_fault(self.wire, &to_client_fault(failure), &self.turn)
    }

    fn write_document(&self, facts: &ReplyFacts, end: ServedEnd, first: Instant) -> Response {
        let ServedEnd { report, cost, .. } = end;
        let metrics = &self.desk.metrics;
        metrics.count_answer(wire_word(self.wire), AnswerEnd::Whole);
        metrics.count_usage(report.usage.as_ref(), cost);
        let document = self.wire.write_reply(facts, &to_reply(report));
        let mut response = rest::json(&document);
        let timing = self.times.describe(first, Instant::now());
        add_header(&mut response, "server-timing", &timing);
        add_header(&mut response, "x-agentos-cost-usd", &write_cost(cost));
        response
    }

    fn stream_events(&self, facts: ReplyFacts, events: Receiver<ServedEvent>, first: Instant) -> Response {
        let state = StreamState {
            ends: StreamEnds {
                desk: Arc::clone(&self.desk),
                wire: wire_word(self.wire),
                end: AnswerEnd::Left,
            },
            writer: self.wire.start_stream(facts, self.request.reports_usage),
            events,
            times: self.times,
            first,
            is_over: false,
        };
        let pieces = stream::unfold(state, |state| async {
            next_piece(state)
                .await
                .map(|(piece, state)| (Ok::<_, Infallible>(piece), state))
        });
        let headers = [(CONTENT_TYPE, "text/event-stream"), (CACHE_CONTROL, "no-store")];
        let mut response = (headers, Body::from_stream(pieces)).into_response();
        let timing = self.times.describe_start(first);
        add_header(&mut response, "server-timing", &timing);
        response
    }
}

impl CallTimes {
    fn describe_start(self, first: Instant) -> String {
        let milliseconds = |from: Instant, to: Instant| to.duration_since(from).as_secs_f64() * 1e3;
        format!(
            "prepare;dur={:.2}, first;dur={:.2}",
            milliseconds(self.start, self.prepared),
            milliseconds(self.start, first)
        )
    }

    fn describe(self, first: Instant, end: Instant) -> String {
        let total = end.duration_since(self.start).as_secs_f64() * 1e3;
        format!("{}, total;dur={total:.2}", self.describe_start(first))
    }
}

/// Counts the end of a stream when it is dropped, whoever ends it.
struct StreamEnds {
    desk: SharedDesk,
    wire: &'static str,
    end: AnswerEnd,
}

impl Drop for StreamEnds {
    fn drop(&mut self) {
        self.desk.metrics.count_answer(self.wire, self.end);
    }
}

/// State of a stream.
struct StreamState {
    ends: StreamEnds,
    writer: StreamWriter,
    events: Receiver<ServedEvent>,
    times: CallTimes,
    first: Instant,
    is_over: bool,
}

/// Waits for the next piece. `None` after the end.
async fn next_piece(mut state: StreamState) -> Option<(Bytes, StreamState)> {
    if state.is_over {
        return None;
    }
    let mut out = String::new();
    let mut event = state.events.recv().await;
    loop {
        match event {
            Some(ServedEvent::Piece(piece)) => state.writer.write_event(&piece, &mut out),
            Some(ServedEvent::Ended(end)) => {
                state.write_end(*end, &mut out);
                state.is_over = true;
            }
            Some(ServedEvent::Failed(failure)) => {
                state.ends.end = AnswerEnd::Failed;
                state.writer.write_fault(&to_client_fault(&failure), &mut out);
                state.is_over = true;
            }
            Some(ServedEvent::Started { .. }) => {}
            // The answer broke off without a word: the client sees no end, and takes it for incomplete.
            None => state.is_over = true,
        }
        if state.is_over || out.len() > LARGEST_PIECE {
            break;
        }
        // What is there already goes into the same write.
        event = match state.events.try_recv() {
            Ok(next) => Some(next),
            Err(_) if out.is_empty() => state.events.recv().await,
            Err(_) => break,
        };
    }
    Some((Bytes::from(out), state))
}

impl StreamState {
    /// Writes the comment with the cost, and the end.
    fn write_end(&mut self, end: ServedEnd, out: &mut String) {
        let ServedEnd { report, cost, .. } = end;
        self.ends.end = AnswerEnd::Whole;
        self.ends.desk.metrics.count_usage(report.usage.as_ref(), cost);
        let timing = self.times.describe(self.first, Instant::now());
        let cost = write_cost(cost);
        let cost = if cost.is_empty() { "unknown" } else { &cost };
        write_comment(&format!("agentos cost-usd={cost} {timing}"), out);
        let ChatReply { usage, end, .. } = to_reply(report);
        if let Some(usage) = usage {
            self.writer.write_event(&ChatEvent::Usage(usage), out);
        }
        self.writer.write_event(&ChatEvent::Finish(end), out);
    }
}

fn to_reply(report: ChatReport) -> ChatReply {
    ChatReply {
        message: report.message,
        text: report.text,
        usage: report.usage,
        end: ChatFinish {
            finish: report.finish,
            model_id: report.model_id,
            endpoint: report.endpoint,
            latency_ms: report.latency_ms,
            warnings: report.warnings,
        },
    }
}

/// Returns the name of a wire in the counts.
fn wire_word(wire: ClientWire) -> &'static str {
    match wire {
        ClientWire::OpenAi => "openai",
        ClientWire::Responses => "responses",
        ClientWire::Anthropic => "anthropic",
    }
}

/// Writes a cost as a decimal. Empty if it is unknown.
pub fn write_cost(cost: Option<ExactCost>) -> String {
    cost.map(|cost| cost.to_string()).unwrap_or_default()
}

/// Makes the answer of a failure before a turn.
pub fn write_fault(wire: ClientWire, fault: &ClientFault) -> Response {
    write_turn_fault(wire, fault, &new_run())
}

/// Makes the answer of a failure. `turn` is the turn in the ledger, if something was sent.
pub fn write_turn_fault(wire: ClientWire, fault: &ClientFault, turn: &RunId) -> Response {
    let id = format!("req_{turn}");
    // The status alone decides in both vendors' clients which exception is thrown.
    let mut response = rest::json(&fault.to_body(wire, Some(&id)));
    *response.status_mut() = StatusCode::from_u16(fault.kind.status(wire)).unwrap_or(StatusCode::BAD_GATEWAY);
    add_header(&mut response, id_header(wire), &id);
    // Both vendors' clients send a request again after most failures. The adapters have done that already where it makes sense.
    add_header(&mut response, "x-should-retry", "false");
    response
}

/// Returns the header from which a vendor's clients take the id of a request.
fn id_header(wire: ClientWire) -> &'static str {
    match wire {
        ClientWire::OpenAi | ClientWire::Responses => "x-request-id",
        ClientWire::Anthropic => "request-id",
    }
}

/// Makes the answer of a call that ended without a word.
fn lost(wire: ClientWire) -> Response {
    let lost = EffectError::new(
        agentos_api::Cause::Internal,
        "run-lost",
        "the answer ended without a result",
    );
    write_fault(wire, &to_client_fault(&lost))
}

/// Adds a header, unless it is empty or no header can have this value.
pub fn add_header(response: &mut Response, name: &'static str, value: &str) {
    if value.is_empty() {
        return;
    }
    // Names of models come from clients and profiles. A value that is no header is left out: the body says it as well.
    if let Ok(value) = HeaderValue::from_str(value) {
        response
            .headers_mut()
            .insert(HeaderName::from_static(name), value);
    }
}
