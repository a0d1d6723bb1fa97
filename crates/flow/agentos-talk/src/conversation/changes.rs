//! Changes of a conversation between its turns: its title, and summaries that the user asks for or takes back.
//!
//! Owns: their records. Never: changes a message.

use agentos_chain::hash_bytes;
use agentos_chat::{
    SummaryEnd, ToolPermissions, ToolSession, TurnEvent, TurnLimits, TurnOrder, TurnPorts, compress_session,
};
use agentos_engine::ports::EffectError;
use agentos_ledger::{CompressionReceipt, SessionEvent, TurnSource};
use agentos_model::ChatMessage;
use agentos_tool::BoxFuture;
use agentos_window::WindowRules;

use super::transcript::LedgerTranscript;
use super::{Conversation, model, word_store};
use agentos_calls::toolbox_session::SessionTools;
use agentos_ground::clock;
use agentos_ground::error::usage_error;
use agentos_ground::options::ProviderChoice;

/// Longest title, in characters.
const LONGEST_TITLE: usize = 100;

/// Order for a summary.
pub struct SummarySpec<'a> {
    /// The provider that writes it, and its settings.
    pub provider: ProviderChoice,
    /// Receiver of events. Must not block.
    pub emit: &'a mut (dyn FnMut(TurnEvent) + Send),
    /// Becomes ready when the user wishes to stop.
    pub cancel: BoxFuture<'a, ()>,
}

impl Conversation {
    /// Sets the title for people. It is a text of the session, so that deleting the session removes it.
    ///
    /// # Errors
    /// If it is empty, or the ledger cannot be written.
    pub fn set_title(&mut self, title: &str) -> Result<String, EffectError> {
        let words: Vec<&str> = title.split_whitespace().collect();
        let title: String = words.join(" ").chars().take(LONGEST_TITLE).collect();
        if title.is_empty() {
            return Err(usage_error("the title has no text"));
        }
        let mut settings = self.state.settings().clone();
        settings.title_sha256 = Some(hash_bytes(title.as_bytes()));
        self.change_with(settings, Some(&title))?;
        Ok(title)
    }

    /// Replaces all messages that are sent by a summary. Must be awaited like [`Conversation::take_turn`].
    ///
    /// # Errors
    /// If the provider cannot be asked at all, or the summary cannot be recorded. Every other failure is an end.
    pub async fn compress(&mut self, spec: SummarySpec<'_>) -> Result<SummaryEnd, EffectError> {
        let turn = clock::new_run();
        let mut cancel = spec.cancel;
        let prepared = model::prepare_model(&self.ground, &spec.provider, &self.processes, &mut cancel);
        let parts = prepared.await?;
        if parts.is_of_repository() {
            self.require_same_place(parts.facts())?;
        }
        self.require_readable_history(parts.facts(), &[])?;
        let meter = parts.open_meter(&self.ground, self.state.key())?;
        let order = TurnOrder {
            turn,
            source: TurnSource::Session,
            message: ChatMessage::from_user(""),
            limits: TurnLimits::default(),
            rules: WindowRules::default(),
            permissions: ToolPermissions::default(),
            keeps_cut: |_| true,
            has_other: false,
        };
        let mut store = LedgerTranscript::new(&self.ledger);
        let ports = TurnPorts {
            store: &mut store,
            model: parts.turn_model(),
            summarizer: None,
            tools: &SessionTools::default(),
            tool_session: self.tools.get_or_insert_with(ToolSession::new),
            emit: spec.emit,
            meter: &meter,
            cancel,
        };
        let ended = compress_session(&mut self.state, order, ports).await;
        ended.map_err(word_store)
    }

    /// Takes the summary in use back: the messages that it replaces are sent again. Returns its receipt.
    ///
    /// # Errors
    /// If there is no summary in use, or the ledger cannot be written.
    pub fn restore_messages(&mut self) -> Result<CompressionReceipt, EffectError> {
        let active = self.state.active_compression();
        let active = active.ok_or_else(|| usage_error("no summary is in use in this session"))?;
        let (number, receipt) = (active.number, active.receipt.clone());
        self.append(&SessionEvent::Restored { compression: number }, None)?;
        Ok(receipt)
    }
}
