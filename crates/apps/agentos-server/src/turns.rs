//! Turns that the page or a program begins.
//!
//! Owns: the thread of a turn, and the model that it asks. Never: waits for the turn, which continues when its client
//! disconnects.

use std::sync::Arc;

use agentos_host::{
    CallNames, Conversation, EffectError, Host, ProviderChoice, TurnLimits, TurnSpec, block_on,
    find_turn_fault, require_session_name,
};
use agentos_ledger::{SessionKey, SessionSettings};
use axum::http::StatusCode;

use crate::desk::SharedDesk;
use crate::fault::RequestFault;
use crate::talks::{OpenTurn, TurnRefusal};

/// Order for a turn.
pub struct TurnOrder {
    /// Session.
    pub key: SessionKey,
    /// Message of the person.
    pub text: String,
    /// Provider, pool or model as the person named it. Empty for the one of the last turn.
    pub model: String,
    /// True if models may read the repository and propose changes from now on.
    pub reads: bool,
}

/// Reads the name of a session.
///
/// # Errors
/// If the name has another form.
pub fn parse_key(name: &str) -> Result<SessionKey, RequestFault> {
    SessionKey::parse(name)
        .map_err(|error| RequestFault::new(StatusCode::BAD_REQUEST, "usage", error.to_string()))
}

/// Starts a turn on a new thread.
///
/// # Errors
/// If there is no message, the name belongs to a token, a turn runs in this session, or too many run.
pub fn begin_turn(desk: &SharedDesk, order: TurnOrder) -> Result<(), RequestFault> {
    let order = TurnOrder {
        text: order.text.trim().to_owned(),
        model: order.model.trim().to_owned(),
        ..order
    };
    require_session_name(&order.key)?;
    if order.text.is_empty() {
        let what = "there is no message";
        return Err(RequestFault::new(StatusCode::BAD_REQUEST, "usage", what));
    }
    let places = &desk.served.turns;
    let turn = desk
        .talks
        .begin_turn(places, order.key.as_str(), &order.text)
        .map_err(refuse_turn)?;
    let (own, begun) = (SharedDesk::clone(desk), Arc::clone(&turn));
    // Not a thread of the runtime: a turn waits for a model as long as the model takes.
    let started = std::thread::Builder::new()
        .name("turn".to_owned())
        .spawn(move || {
            let mut end = TurnEnd {
                turn: begun,
                failure: Some("the answer ended unexpectedly".to_owned()),
            };
            end.failure = match take_turn(&own, &order, &end.turn) {
                Ok(failure) => failure,
                Err(error) => Some(error.message),
            };
        });
    if let Err(error) = started {
        turn.end_turn(Some(format!("the system starts no further thread: {error}")));
    }
    Ok(())
}

/// Ends a turn when it is dropped, so that a panic leaves its place to others too.
struct TurnEnd {
    turn: Arc<OpenTurn>,
    failure: Option<String>,
}

impl Drop for TurnEnd {
    fn drop(&mut self) {
        self.turn.end_turn(self.failure.take());
    }
}

fn refuse_turn(refusal: TurnRefusal) -> RequestFault {
    let (status, code, what) = match refusal {
        TurnRefusal::SessionBusy => (
            StatusCode::CONFLICT,
            "session-busy",
            "an answer is being written; wait for it, or stop it",
        ),
        TurnRefusal::TooMany => (
            StatusCode::SERVICE_UNAVAILABLE,
            "busy",
            "too many answers are being written, here or in your other repositories; wait for one, or stop one",
        ),
    };
    RequestFault::new(status, code, what)
}

/// Takes a turn to its end. Returns the reason why there is no answer. `None` if there is one.
fn take_turn(
    desk: &SharedDesk,
    order: &TurnOrder,
    turn: &Arc<OpenTurn>,
) -> Result<Option<String>, EffectError> {
    let host = &desk.host;
    let mut conversation = host.talk().open_conversation(&order.key)?;
    if order.reads {
        conversation.set_repository(true)?;
    }
    let provider = choose_model(&mut conversation, &order.model)?;
    let message = conversation.make_message(&order.text, &[])?;
    turn.begin(desk.known.owns_session(&order.key));
    let mut emit = |event| turn.add_event(event);
    let work = conversation.take_turn(TurnSpec {
        provider,
        message,
        limits: TurnLimits::default(),
        emit: &mut emit,
        cancel: Box::pin(turn.stop.notified()),
    });
    let finished = block_on(work)??;
    Ok(find_turn_fault(&finished).map(|fault| fault.message))
}

/// Returns what the turn asks, and remembers it for the next ones if the person named another one.
fn choose_model(conversation: &mut Conversation, named: &str) -> Result<ProviderChoice, EffectError> {
    let host = Host::from(conversation.ground());
    let remembered = conversation.state().settings().model_name();
    let named = Some(named.to_owned()).filter(|named| !named.is_empty());
    let names = CallNames {
        provider: named.as_deref(),
        remembered: remembered.as_deref(),
    };
    let choice = host
        .providers()
        .read_settings()?
        .complete_for(&host, names, ProviderChoice::default())?;
    // A name with a mistake is not remembered: the turn says what is wrong with it.
    if named.is_some() && named != remembered && host.talk().is_provider(choice.provider.name()) {
        let settings = SessionSettings {
            provider: Some(choice.provider.name().to_owned()),
            model: choice.overrides.model.clone(),
            ..conversation.state().settings().clone()
        };
        conversation.change_settings(settings)?;
    }
    Ok(choice)
}
