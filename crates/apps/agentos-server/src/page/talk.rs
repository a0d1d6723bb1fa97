//! Sessions on the page: listed, read, and talked in.
//!
//! Owns: these pages, their forms and the stream of an answer. Never: needs the stream: without a script, a reload shows the same.

use std::sync::Arc;

use agentos_host::{EffectError, SessionMessage, SessionStory, new_run};
use agentos_ledger::SessionKey;
use agentos_model::{ChatRole, MessagePart};
use askama::Template;
use axum::body::{Body, Bytes};
use axum::extract::{Extension, Path, State};
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream;
use tokio::sync::watch;

use super::forms::SentForm;
use super::views::{PageFrame, SessionLine, describe_session, render};
use super::{MOST_ROWS, PageAnswer, Person, lead_to, read_frame};
use crate::desk::{ServiceDesk, SharedDesk};
use crate::fault::RequestFault;
use crate::marked_text::mark;
use crate::talks::{OpenTurn, TurnText};
use crate::turns::{self, TurnOrder, parse_key};

#[derive(Template)]
#[template(path = "sessions.html")]
struct SessionsPage {
    frame: PageFrame,
    rows: Vec<SessionLine>,
    models: Vec<String>,
}

#[derive(Template)]
#[template(path = "session.html")]
struct SessionPage {
    frame: PageFrame,
    key: String,
    title: String,
    facts: String,
    messages: Vec<ShownMessage>,
    model: String,
    models: Vec<String>,
    open: Option<ShownTurn>,
    failure: String,
}

struct ShownMessage {
    class: &'static str,
    author: String,
    is_old: bool,
    parts: Vec<ShownPart>,
}

enum ShownPart {
    Text(String),
    Folded(String, String),
}

struct ShownTurn {
    question: String,
    text: String,
    note: String,
}

/// `GET /sessions`
pub async fn show_sessions(State(desk): State<SharedDesk>, Extension(person): Person) -> PageAnswer {
    let (list, models) = desk
        .call(|desk| Ok((desk.host.talk().list_sessions(MOST_ROWS)?, list_models(desk)?)))
        .await?;
    let (frame, _) = read_frame(&desk, &person, "Sessions", "sessions").await?;
    Ok(render(&SessionsPage {
        frame,
        rows: list.sessions.iter().map(describe_session).collect(),
        models,
    }))
}

/// Lists what a turn can ask: the user's providers and pools.
fn list_models(desk: &ServiceDesk) -> Result<Vec<String>, EffectError> {
    let mut names = desk.host.providers().provider_names()?;
    names.extend(desk.host.providers().own_model_ids()?);
    Ok(names.iter().map(|name| mark(name)).collect())
}

/// `POST /sessions`: begins a session with its first message.
pub async fn begin_session(
    State(desk): State<SharedDesk>,
    Extension(person): Person,
    form: SentForm,
) -> PageAnswer {
    form.require_secret(&person.form)?;
    let name = match form.text("name").trim() {
        // The short id is random, so that two people at once begin two sessions.
        "" => format!("page-{}", new_run().short_id()),
        name => name.to_owned(),
    };
    let key = parse_key(&name)?;
    begin_turn(&desk, &key, &form)?;
    Ok(lead_to(&format!("/sessions/{key}")))
}

/// `POST /sessions/{key}`: sends a message.
pub async fn say(
    State(desk): State<SharedDesk>,
    Extension(person): Person,
    Path(key): Path<String>,
    form: SentForm,
) -> PageAnswer {
    form.require_secret(&person.form)?;
    let key = parse_key(&key)?;
    begin_turn(&desk, &key, &form)?;
    Ok(lead_to(&format!("/sessions/{key}")))
}

/// `POST /sessions/{key}/stop`
pub async fn stop(
    State(desk): State<SharedDesk>,
    Extension(person): Person,
    Path(key): Path<String>,
    form: SentForm,
) -> PageAnswer {
    form.require_secret(&person.form)?;
    let key = parse_key(&key)?;
    if let Some(turn) = desk.talks.find_turn(key.as_str()) {
        turn.stop.notify_one();
    }
    Ok(lead_to(&format!("/sessions/{key}")))
}

/// Begins the turn that a form asks for.
fn begin_turn(desk: &SharedDesk, key: &SessionKey, form: &SentForm) -> Result<(), RequestFault> {
    turns::begin_turn(
        desk,
        TurnOrder {
            key: key.clone(),
            text: form.text("text").to_owned(),
            model: form.text("model").to_owned(),
            reads: form.text("reads") == "yes",
        },
    )
}

/// `GET /sessions/{key}`
pub async fn show_session(
    State(desk): State<SharedDesk>,
    Extension(person): Person,
    Path(key): Path<String>,
) -> PageAnswer {
    let key = parse_key(&key)?;
    let turn = desk.talks.find_turn(key.as_str());
    let (text, story, models) = loop {
        let text = turn.as_ref().map(|turn| turn.read_text());
        let (story, models) = read_session(&desk, &key).await?;
        // A turn that ended meanwhile is in the session now, and must be shown once.
        if text.as_ref().is_none_or(|text| text.is_done)
            || turn.as_ref().is_some_and(|turn| !turn.read_text().is_done)
        {
            break (text, story, models);
        }
    };
    if story.is_none() && turn.is_none() {
        let what = format!("there is no session `{key}`");
        return Err(RequestFault::new(StatusCode::NOT_FOUND, "no-session", what).into());
    }
    // A failure is shown once. One that came after the text was read is for the next page.
    if text.as_ref().is_some_and(|text| text.is_done) {
        desk.talks.forget_ended(key.as_str());
    }
    let (frame, _) = read_frame(&desk, &person, "Session", "sessions").await?;
    let page = SessionPage::new(frame, &key, story.as_ref(), turn.as_deref().zip(text));
    Ok(render(&SessionPage { models, ..page }))
}

/// Reads a session, and what its next turn can ask. `None` if it has not begun.
async fn read_session(
    desk: &SharedDesk,
    key: &SessionKey,
) -> Result<(Option<SessionStory>, Vec<String>), RequestFault> {
    let key = key.clone();
    let read = move |desk: &ServiceDesk| {
        let story = match desk.host.talk().show_session(&key) {
            // A session begins with its first turn.
            Err(error) if error.code == "no-session" => None,
            story => Some(story?),
        };
        Ok((story, list_models(desk)?))
    };
    desk.call(read).await
}

impl SessionPage {
    fn new(
        frame: PageFrame,
        key: &SessionKey,
        story: Option<&SessionStory>,
        turn: Option<(&OpenTurn, TurnText)>,
    ) -> Self {
        let failure = turn.as_ref().and_then(|(_, text)| text.failure.clone());
        let open = turn
            .filter(|(_, text)| !text.is_done)
            .map(|(turn, text)| ShownTurn {
                question: mark(&turn.question),
                text: mark(&text.text),
                note: mark(&text.note),
            });
        let title = story.and_then(|story| story.title.as_deref());
        let mut facts = Vec::new();
        if let Some(story) = story {
            let turns = story.totals.turns;
            facts.push(format!("{turns} {}", if turns == 1 { "turn" } else { "turns" }));
            facts.push(format!(
                "{} tokens in, {} out",
                story.totals.input_tokens, story.totals.output_tokens
            ));
            facts.push(format!("{} US dollars", story.totals.cost_usd));
            if story.settings.repository.is_some() {
                facts.push("may read the repository and propose changes".to_owned());
            }
        }
        Self {
            frame,
            key: mark(key.as_str()),
            title: mark(title.unwrap_or_else(|| short_name(key.as_str()))),
            facts: mark(&facts.join(" · ")),
            messages: story.map(show_messages).unwrap_or_default(),
            model: mark(
                &story
                    .and_then(|story| story.settings.model_name())
                    .unwrap_or_default(),
            ),
            models: Vec::new(),
            open,
            failure: mark(&failure.unwrap_or_default()),
        }
    }
}

/// Returns the name of a session without its usual scope.
fn short_name(key: &str) -> &str {
    key.strip_prefix("conversation:").unwrap_or(key)
}

fn show_messages(story: &SessionStory) -> Vec<ShownMessage> {
    story.messages.iter().map(show_message).collect()
}

fn show_message(shown: &SessionMessage) -> ShownMessage {
    let author = shown.author.as_ref().map(|author| match &author.model {
        Some(model) => format!("{} · {model}", author.provider),
        None => author.provider.clone(),
    });
    let (class, author) = match (&shown.message, author) {
        (Some(message), _) if message.role == ChatRole::User && message.text().is_empty() => {
            ("tool", "Tool".to_owned())
        }
        (Some(message), _) if message.role == ChatRole::User => ("person", "You".to_owned()),
        (_, author) => ("model", author.unwrap_or_else(|| "Model".to_owned())),
    };
    let author = match &shown.cut {
        Some(reason) => format!("{author} (cut: {reason})"),
        None => author,
    };
    let parts = match &shown.message {
        Some(message) => message.parts.iter().map(show_part).collect(),
        None => vec![ShownPart::Text("This text is not stored any more.".to_owned())],
    };
    ShownMessage {
        class,
        author: mark(&author),
        is_old: !shown.is_live,
        parts,
    }
}

fn show_part(part: &MessagePart) -> ShownPart {
    match part {
        MessagePart::Text(text) => ShownPart::Text(mark(text)),
        MessagePart::Image(image) => ShownPart::Text(mark(&format!("[image, {}]", image.media_type))),
        MessagePart::ToolCall(call) => ShownPart::Folded(
            mark(&format!("calls {}", call.name)),
            mark(&call.arguments.to_string()),
        ),
        MessagePart::ToolResult(result) => {
            let name = if result.is_error { "failed" } else { "result" };
            ShownPart::Folded(name.to_owned(), mark(&result.text))
        }
        MessagePart::Thinking(thinking) => ShownPart::Folded("thinking".to_owned(), mark(&thinking.text)),
    }
}

/// Listener to an answer.
struct AnswerListener {
    turn: Arc<OpenTurn>,
    changes: watch::Receiver<u64>,
    round: u64,
    sent: usize,
    is_done: bool,
}

/// `GET /sessions/{key}/stream`: the answer that is being written, as it arrives.
pub async fn stream_answer(State(desk): State<SharedDesk>, Path(key): Path<String>) -> PageAnswer {
    let key = parse_key(&key)?;
    let Some(turn) = desk.talks.find_turn(key.as_str()) else {
        return Ok(event_stream(Body::from("event: done\ndata: {}\n\n")));
    };
    let listener = AnswerListener {
        changes: turn.watch_text(),
        turn,
        round: 0,
        sent: 0,
        is_done: false,
    };
    let pieces = stream::unfold(listener, |listener| async {
        let (piece, listener) = next_piece(listener).await?;
        Some((Ok::<_, std::convert::Infallible>(piece), listener))
    });
    Ok(event_stream(Body::from_stream(pieces)))
}

fn event_stream(body: Body) -> Response {
    let headers = [(CONTENT_TYPE, "text/event-stream"), (CACHE_CONTROL, "no-store")];
    (headers, body).into_response()
}

/// Waits for the next piece of an answer. `None` after its end.
async fn next_piece(mut listener: AnswerListener) -> Option<(Bytes, AnswerListener)> {
    if listener.is_done {
        return None;
    }
    loop {
        listener.changes.borrow_and_update();
        let text = listener.turn.read_text();
        if text.round != listener.round {
            (listener.round, listener.sent) = (text.round, 0);
        }
        // The text only grows within a round, and by whole pieces.
        let piece = text.text.get(listener.sent..).unwrap_or_default();
        if !piece.is_empty() || text.is_done {
            // Marked here: the page's script puts it into the page as text.
            let data =
                serde_json::json!({ "from": listener.sent, "text": show_plain(piece), "note": text.note });
            let mut said = format!("event: text\ndata: {data}\n\n");
            if text.is_done {
                said.push_str("event: done\ndata: {}\n\n");
                listener.is_done = true;
            }
            listener.sent = text.text.len();
            return Some((Bytes::from(said), listener));
        }
        listener.changes.changed().await.ok()?;
    }
}

/// Returns a text with its hidden characters shown by their numbers, for a script that adds it as text.
fn show_plain(text: &str) -> String {
    crate::marked_text::show_hidden(text)
}
