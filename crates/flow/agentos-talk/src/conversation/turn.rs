//! Turns of a conversation, with one attempt or several.
//!
//! Owns: the order of the attempts. Never: chooses a model if the user named a provider, or lets two models write one answer.
//!
//! Each attempt is a turn with a record of its own. One that failed and is followed by another attempt keeps nothing but its calls, so
//! the next one begins as it did. The last attempt keeps an answer that was cut.

use agentos_chat::{
    CutReason, FinishedTurn, ToolPermissions, ToolSession, TranscriptStore as _, TurnEvent, TurnLimits,
    TurnOrder, TurnPorts, run_turn,
};
use agentos_engine::ports::EffectError;
use agentos_ledger::{SessionSettings, TurnSource};
use agentos_model::ChatMessage;
use agentos_tool::BoxFuture;
use agentos_window::WindowRules;
use serde_json::Value;

use super::transcript::LedgerTranscript;
use super::{Conversation, TurnSpec, model, word_store};
use agentos_calls::pools::{PoolQuery, PoolTurn, count_images};
use agentos_ground::clock;
use agentos_ground::options::{ChoiceOrigin, ProviderChoice};

/// Attempt of a turn: one member of a pool, or the provider that the user named.
struct Attempt<'a> {
    provider: &'a ProviderChoice,
    /// Provider or pool that the user named.
    spec_provider: &'a ProviderChoice,
    choice: Option<Value>,
    message: ChatMessage,
    limits: TurnLimits,
    keeps_cut: fn(CutReason<'_>) -> bool,
    /// True if another member of a pool can be asked.
    has_other: bool,
}

impl Conversation {
    /// Takes a turn to its end, whatever the end is. Must be awaited on a thread with a runtime that has timers and sockets; see
    /// [`agentos_ground::runtime::block_on`].
    ///
    /// # Errors
    /// If the provider cannot be asked at all, or the turn cannot be recorded. Every other end is in the finished turn.
    pub async fn take_turn(&mut self, spec: TurnSpec<'_>) -> Result<FinishedTurn, EffectError> {
        let mut cancel = spec.cancel;
        let mut spec_provider = spec.provider;
        let level = self.state.settings().thinking;
        spec_provider.overrides.thinking = spec_provider.overrides.thinking.or(level);
        self.follow_default(&spec_provider)?;
        let query = PoolQuery {
            message: spec.message.text(),
            images: count_images(&spec.message),
            tools: usize::from(self.state.settings().repository.is_some()),
            ..PoolQuery::default()
        };
        let mut pool = PoolTurn::begin(&self.ground, &spec_provider, query)?;
        if let Some(pool) = &mut pool {
            pool.add_history(self.count_history_chars()?);
        }
        loop {
            let pinned = match &mut pool {
                Some(pool) => pool.choose_next(&self.ground)?,
                None => None,
            };
            let has_other = pinned.as_ref().is_some_and(|pinned| pinned.has_other);
            let attempt = Attempt {
                has_other,
                provider: pinned.as_ref().map_or(&spec_provider, |pinned| &pinned.provider),
                choice: pinned.as_ref().map(|pinned| pinned.record.clone()),
                spec_provider: &spec_provider,
                message: spec.message.clone(),
                limits: spec.limits,
                // What a server repeats of a key is not kept.
                keeps_cut: match has_other {
                    true => |cut| !is_key(cut) && !may_pass_on(cut),
                    false => |cut| !is_key(cut),
                },
            };
            // Its own work must not count as a busy machine.
            self.pause_monitor(true);
            let finished = self.take_attempt(attempt, &mut *spec.emit, &mut cancel).await;
            self.pause_monitor(false);
            let mut finished = finished?;
            finished.record.choice = pinned.as_ref().map(|pinned| Box::new(pinned.record.clone()));
            let (Some(pool), Some(pinned)) = (&mut pool, pinned) else {
                return Ok(finished);
            };
            if !pool.passes_on(&self.ground, &pinned, &finished) {
                return Ok(finished);
            }
        }
    }

    /// Counts the characters of the messages that would be sent again.
    fn count_history_chars(&self) -> Result<u64, EffectError> {
        let store = LedgerTranscript::new(&self.ledger);
        let mut chars: u64 = 0;
        for message in self.state.list_live() {
            let text = store.load_text(&message.message_sha256).map_err(word_store)?;
            // An image is a need of its own, and its base64 is no measure of its tokens.
            let parsed = serde_json::from_str::<ChatMessage>(&text);
            let text = parsed.map_or(text, |message| message.text());
            chars = chars.saturating_add(text.chars().count() as u64);
        }
        Ok(chars)
    }

    fn pause_monitor(&self, is_paused: bool) {
        if let Some(monitor) = self.ground.monitor() {
            monitor.set_paused(is_paused);
        }
    }

    /// Takes a turn with one model.
    async fn take_attempt(
        &mut self,
        attempt: Attempt<'_>,
        emit: &mut (dyn FnMut(TurnEvent) + Send),
        cancel: &mut BoxFuture<'_, ()>,
    ) -> Result<FinishedTurn, EffectError> {
        let turn = clock::new_run();
        let prepared = model::prepare_model(&self.ground, attempt.provider, &self.processes, cancel);
        let parts = prepared.await?;
        if parts.is_of_repository() {
            self.require_same_place(parts.facts())?;
        }
        if self.state.settings().provider.is_none() && attempt.spec_provider.origin == ChoiceOrigin::Named {
            // The session remembers the provider that was named first. A session in which none was named follows the user's default.
            let settings = SessionSettings {
                provider: Some(attempt.spec_provider.provider.name().to_owned()),
                model: attempt.spec_provider.overrides.model.clone(),
                ..self.state.settings().clone()
            };
            self.change_settings(settings)?;
        }
        let meter = parts.open_meter(&self.ground, self.state.key())?;
        let order = TurnOrder {
            turn,
            source: TurnSource::Session,
            message: attempt.message,
            limits: attempt.limits,
            keeps_cut: attempt.keeps_cut,
            has_other: attempt.has_other,
            rules: WindowRules::default(),
            permissions: ToolPermissions {
                // The user named the toolboxes of the session, and trusts each of their tools.
                other: true,
                ..ToolPermissions::default()
            },
        };
        let tools = self.offer_tools(parts.facts()).await?;
        let mut store = LedgerTranscript::new(&self.ledger).with_choice(attempt.choice);
        let ports = TurnPorts {
            store: &mut store,
            model: parts.turn_model(),
            summarizer: None,
            tools: &tools,
            tool_session: self.tools.get_or_insert_with(ToolSession::new),
            emit,
            meter: &meter,
            // Borrowed: the next attempt waits for the same wish.
            cancel: Box::pin(cancel),
        };
        let ended = run_turn(&mut self.state, order, ports).await;
        if let Ok(Some(tokens)) = ended.as_ref().map(|turn| turn.learned_window) {
            parts.remembered_window(&self.ground).remember(tokens);
        }
        tools.toolboxes.end_idle();
        ended.map_err(word_store)
    }
}

/// Returns true if another member of a pool may be asked after the answer was cut.
fn may_pass_on(cut: CutReason<'_>) -> bool {
    cut.is_first_call && agentos_pool::is_passed_on(cut.code)
}

/// Returns true if an answer was cut because it has the key that was sent.
fn is_key(cut: CutReason<'_>) -> bool {
    cut.code == "key-in-answer"
}
