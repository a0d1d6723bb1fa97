//! Conversations and models under `/api`.
//!
//! Owns: the mapping of these paths. Never: shows a token another session than the one of its repository: any other may have
//! talked about another repository.
//!
//! | path | who |
//! |---|---|
//! | `GET /api/models`, `GET /api/sessions`, `GET /api/sessions/{key}` | tokens that read, the page, the user's programs |
//! | `POST /api/sessions/{key}/messages`, `POST /api/sessions/{key}/stop` | the user's programs, over the Unix socket |

use agentos_host::unknown_session;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::IntoResponse as _;
use serde_json::json;

use crate::caller::SentToken;
use crate::desk::SharedDesk;
use crate::rest::{self, MOST_ROWS, RestAnswer};
use crate::turns::{TurnOrder, begin_turn, parse_key};

/// Message of a program.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct MessageBody {
    /// The message.
    text: String,
    /// Provider, pool or model. Without it, the one of the last turn answers.
    #[serde(default)]
    model: Option<String>,
    /// True if models may read the repository and propose changes from now on.
    #[serde(default)]
    reads: bool,
}

/// `GET /api/models`
pub async fn list_models(State(desk): State<SharedDesk>) -> RestAnswer {
    let offered = desk.call(|desk| desk.models.list_offered()).await?;
    let models = offered
        .iter()
        .map(|model| json!({"name": model.id, "provider": model.owner}));
    Ok(rest::json(
        &json!({"version": 1, "models": models.collect::<Vec<_>>()}),
    ))
}

/// `GET /api/sessions`
pub async fn list_sessions(State(desk): State<SharedDesk>, token: SentToken) -> RestAnswer {
    let sessions = desk.call(move |desk| match token {
        Some(_) => desk.host.talk().list_session_of(&desk.known),
        None => desk.host.talk().list_sessions(MOST_ROWS),
    });
    Ok(rest::json(&sessions.await?))
}

/// `GET /api/sessions/{key}`
pub async fn show_session(
    State(desk): State<SharedDesk>,
    token: SentToken,
    Path(key): Path<String>,
) -> RestAnswer {
    let key = parse_key(&key)?;
    let story = desk.call(move |desk| {
        if token.is_some() && !desk.known.owns_session(&key) {
            // The same error as for a session that does not exist: the token must not learn which names exist.
            return Err(unknown_session(&key));
        }
        desk.host.talk().show_session(&key)
    });
    Ok(rest::json(&story.await?))
}

/// `POST /api/sessions/{key}/messages`: starts a turn. `/api/events` shows its steps, and the session has its answer.
pub async fn say(
    State(desk): State<SharedDesk>,
    Path(key): Path<String>,
    body: rest::SentBody,
) -> RestAnswer {
    let key = parse_key(&key)?;
    let MessageBody { text, model, reads } = rest::parse(body)?;
    let begun = json!({"version": 1, "session": &key});
    begin_turn(
        &desk,
        TurnOrder {
            key,
            text,
            model: model.unwrap_or_default(),
            reads,
        },
    )?;
    Ok((StatusCode::ACCEPTED, rest::json(&begun)).into_response())
}

/// `POST /api/sessions/{key}/stop`: stops the turn of a session, if one runs.
pub async fn stop(State(desk): State<SharedDesk>, Path(key): Path<String>) -> RestAnswer {
    let key = parse_key(&key)?;
    let turn = desk
        .talks
        .find_turn(key.as_str())
        .filter(|turn| !turn.read_text().is_done);
    if let Some(turn) = &turn {
        turn.stop.notify_one();
    }
    Ok(rest::json(
        &json!({"version": 1, "session": &key, "stopped": turn.is_some()}),
    ))
}
