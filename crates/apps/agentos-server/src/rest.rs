//! The API under `/api`: the reports of the command line over HTTP, and the effects that a person's program may cause.
//!
//! Owns: the mapping of paths to calls of the host. Never: has a report of its own.

use agentos_host::{
    AnswerSpec, ApprovalHashes, ConsentMode, CostFilter, CostGroup, LogFilter, OpenRequests, RunWork,
    VerifySpec,
};
use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::{Extension, Path, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderMap};
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::caller::{CallerStanding, SentToken, name_token};
use crate::connections::RunningRequest;
use crate::desk::{Lane, PersonConsent, SharedDesk};
use crate::event_hub::{ListenerAuthor, ListenerWay};
use crate::events::{EventListener, read_last, stream_events};
use crate::events_socket::open_socket;
use crate::fault::RequestFault;
use crate::page::SignedIn;
use crate::served::{ReachedRepositories, ServedRow};
use crate::timed_body::describe_rejection;

/// Most runs and sessions of a list.
pub const MOST_ROWS: usize = 200;

/// Answer as JSON, or a failure as JSON.
pub type RestAnswer = Result<Response, RestFault>;

/// Failure for a program.
#[derive(Debug)]
pub struct RestFault(RequestFault);

impl<T: Into<RequestFault>> From<T> for RestFault {
    fn from(fault: T) -> Self {
        Self(fault.into())
    }
}

impl IntoResponse for RestFault {
    fn into_response(self) -> Response {
        let mut response = json(&self.0.to_report());
        *response.status_mut() = self.0.status;
        response
    }
}

/// `GET /metrics`
pub async fn show_metrics(State(desk): State<SharedDesk>, token: SentToken) -> Response {
    let mut page = desk.metrics.write_page();
    // A token reads its own repositories, and these are sums of all.
    if token.is_none() {
        page.push_str(&desk.metrics.write_spending());
    }
    ([(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], page).into_response()
}

/// Consent of a program that showed a review to a person.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct ApprovalBody {
    /// The hashes of the review that the person saw.
    hashes: ApprovalHashes,
    /// True if the person releases text of withheld files that the change has. Otherwise it stays withheld.
    #[serde(default)]
    releases_withheld: bool,
}

/// No of a person to a request.
#[derive(Default, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct DenialBody {
    /// Reason, for whoever proposed the change.
    #[serde(default)]
    comment: Option<String>,
}

/// Answer of a tool or a person to be proposed.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct ProposalBody {
    /// A diff, or a model's whole reply.
    answer: String,
    /// Commit message.
    #[serde(default)]
    message: Option<String>,
}

/// Makes an answer of a report.
pub fn json(report: &impl Serialize) -> Response {
    // Not stored: an answer may contain source code, and a browser's cache outlives the session.
    let headers = [(CONTENT_TYPE, "application/json"), (CACHE_CONTROL, "no-store")];
    match serde_json::to_vec(report) {
        Ok(body) => (headers, body).into_response(),
        // No report has a map with other keys than texts, which is all that can fail.
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

/// Body of a request, or the reason why it did not arrive.
pub type SentBody = Result<Bytes, BytesRejection>;

/// Returns the bytes of a body.
fn receive(body: SentBody) -> Result<Bytes, RequestFault> {
    body.map_err(|rejection| RequestFault::new(rejection.status(), "usage", describe_rejection(&rejection)))
}

/// Reads a body.
///
/// # Errors
/// If it is too large, broke off, or has another form.
pub fn parse<T: DeserializeOwned>(body: SentBody) -> Result<T, RequestFault> {
    let body = receive(body)?;
    // serde also reads a structure from an array, which the description of the API does not have.
    let object = serde_json::from_slice::<Map<String, Value>>(&body);
    object
        .and_then(|object| serde_json::from_value(Value::Object(object)))
        .map_err(|error| {
            RequestFault::new(
                StatusCode::BAD_REQUEST,
                "usage",
                format!("the body is not valid: {error}"),
            )
        })
}

/// `GET /api/status`
pub async fn show_status(State(desk): State<SharedDesk>) -> RestAnswer {
    Ok(json(&desk.call(|desk| desk.host.stories().read_status()).await?))
}

/// `GET /api/requests`
pub async fn list_requests(State(desk): State<SharedDesk>) -> RestAnswer {
    let requests = desk.call(|desk| desk.host.runs().open_requests()).await?;
    Ok(json(&OpenRequests { version: 1, requests }))
}

/// `GET /api/requests/{run}`
pub async fn show_request(State(desk): State<SharedDesk>, Path(run): Path<String>) -> RestAnswer {
    Ok(json(
        &desk
            .call_in(Lane::Consent, move |desk| {
                desk.host.runs().review_request(&run, &desk.policies)
            })
            .await?,
    ))
}

/// `POST /api/requests/{run}/approve`
pub async fn approve_request(
    State(desk): State<SharedDesk>,
    Path(run): Path<String>,
    body: SentBody,
) -> RestAnswer {
    let ApprovalBody {
        hashes,
        releases_withheld,
    } = parse(body)?;
    let consent = PersonConsent {
        hashes,
        how: "api, Unix socket of the user".to_owned(),
        proof: None,
        releases_withheld,
    };
    Ok(json(&desk.approve(run, consent).await?))
}

/// `POST /api/requests/{run}/deny`
pub async fn deny_request(
    State(desk): State<SharedDesk>,
    Path(run): Path<String>,
    body: SentBody,
) -> RestAnswer {
    // Clients that give no reason may send an empty body.
    let body = receive(body)?;
    let DenialBody { comment } = match body.is_empty() {
        true => DenialBody::default(),
        false => parse(Ok(body))?,
    };
    Ok(json(&desk.deny(run, comment).await?))
}

/// `POST /api/proposals`
pub async fn propose(State(desk): State<SharedDesk>, body: SentBody) -> RestAnswer {
    let ProposalBody { answer, message } = parse(body)?;
    let work = answer_work(answer, message, "proposed over the API");
    // Nobody sits at a conversation with it, so it waits as long as the request of a run.
    Ok(json(&desk.run(work, ConsentMode::Queue).await?))
}

/// Makes the work of an answer that a person or a program brings.
pub fn answer_work(answer: String, message: Option<String>, origin: &str) -> RunWork {
    RunWork::Answer(AnswerSpec {
        verb: "apply".to_owned(),
        answer: answer.into_bytes(),
        // What the person wrote says more than where they wrote it.
        instruction: message
            .as_deref()
            .and_then(|message| message.lines().find(|line| !line.trim().is_empty()))
            .unwrap_or(origin)
            .to_owned(),
        message: message.filter(|message| !message.trim().is_empty()),
        partial: false,
        author: None,
        trailers: Vec::new(),
    })
}

/// `GET /api/runs`
pub async fn list_runs(State(desk): State<SharedDesk>) -> RestAnswer {
    Ok(json(
        &desk
            .call(|desk| desk.host.stories().run_log(&LogFilter::default(), MOST_ROWS))
            .await?,
    ))
}

/// `GET /api/runs/{run}`
pub async fn show_run(State(desk): State<SharedDesk>, Path(run): Path<String>) -> RestAnswer {
    Ok(json(
        &desk
            .call(move |desk| desk.host.stories().run_story(Some(&run)))
            .await?,
    ))
}

/// `POST /api/runs/{run}/undo`
pub async fn undo_run(State(desk): State<SharedDesk>, Path(run): Path<String>) -> RestAnswer {
    Ok(json(
        &desk
            .run(RunWork::Undo { run: Some(run) }, ConsentMode::Nobody)
            .await?,
    ))
}

/// `GET /api/pools`
pub async fn list_pools(State(desk): State<SharedDesk>) -> RestAnswer {
    Ok(json(&desk.call(|desk| desk.host.calls().list_pools()).await?))
}

/// `GET /api/cost`
pub async fn show_cost(State(desk): State<SharedDesk>, token: SentToken) -> RestAnswer {
    let report = desk.call(move |desk| match (token, desk.known.session()) {
        (None, _) => desk
            .host
            .calls()
            .cost_report(CostGroup::Model, &CostFilter::default()),
        // A token sees the calls of its repository's session alone.
        (Some(_), own) => {
            let filter = CostFilter {
                session: Some(own.map_or_else(String::new, |own| own.to_string())),
                ..CostFilter::default()
            };
            desk.host.calls().cost_report(CostGroup::Model, &filter)
        }
    });
    Ok(json(&report.await?))
}

/// `GET /api/budgets`
pub async fn list_budgets(State(desk): State<SharedDesk>, token: SentToken) -> RestAnswer {
    let report = desk.call(move |desk| {
        let mut report = desk.host.calls().budget_report()?;
        if token.is_some() {
            // The names of other sessions and tokens, and what they cost, are not for it.
            report.keep_session(desk.known.session().as_ref());
        }
        Ok(report)
    });
    Ok(json(&report.await?))
}

/// `GET /api/evidence`
pub async fn verify_evidence(State(desk): State<SharedDesk>) -> RestAnswer {
    Ok(json(
        &desk
            .call_in(Lane::Long, |desk| {
                desk.host.stories().verify_evidence(&VerifySpec::default())
            })
            .await?,
    ))
}

/// Answer of `/api/repositories`.
#[derive(Serialize)]
struct RepositoryList {
    version: u32,
    repositories: Vec<ServedRow>,
}

/// `GET /api/repositories`: those that the author reaches. The session of a page reaches its own.
pub async fn list_repositories(
    State(desk): State<SharedDesk>,
    reached: Option<Extension<ReachedRepositories>>,
) -> Response {
    let own = || ReachedRepositories::Ids(vec![desk.known.id.clone()]);
    let reached = reached.map_or_else(own, |Extension(reached)| reached);
    json(&RepositoryList {
        version: 1,
        repositories: desk.served.list_rows(&reached).await,
    })
}

/// `GET /api/events`: a stream, or a WebSocket if the judge has allowed the upgrade, so that the request has the place of its
/// connection.
pub async fn listen(
    State(desk): State<SharedDesk>,
    (token, session, standing): (
        SentToken,
        Option<Extension<SignedIn>>,
        Option<Extension<CallerStanding>>,
    ),
    (way, seat): (Extension<ListenerWay>, Option<Extension<Arc<RunningRequest>>>),
    (headers, uri): (HeaderMap, Uri),
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Response {
    let author = match name_token(token) {
        Some(name) => Some(ListenerAuthor::Token(name)),
        None => session.map(|Extension(session)| ListenerAuthor::Session(session.id)),
    };
    let author = (author, standing.map(|Extension(standing)| standing));
    let begun = EventListener::begin(desk, way.0, author, read_last(&headers, &uri)).await;
    match (begun, seat) {
        (Err(fault), _) => RestFault(fault).into_response(),
        (Ok(listener), Some(Extension(seat))) => open_socket(upgrade, listener, seat),
        (Ok(listener), None) => stream_events(listener),
    }
}

/// Every path that is not there.
pub async fn find_nothing() -> RestFault {
    RestFault(RequestFault::new(
        StatusCode::NOT_FOUND,
        "not-found",
        "there is nothing at this path",
    ))
}
