//! One more call after a server refused a request as too long and stated its window.
//!
//! Owns: when the request is made shorter. Never: lets a server raise a window.

use agentos_model::ChatReply;
use agentos_window::{WindowSize, WindowSource};

use super::{FlowEnd, TurnFailure, TurnFlow};
use crate::ports::TurnEvent;

impl TurnFlow<'_> {
    /// Calls the model. If the server refuses the request as too long and states its window, the call is made once more with what fits.
    pub(super) async fn ask_within_window(&mut self) -> Result<ChatReply, FlowEnd> {
        let failure = match self.ask_model().await {
            Err(FlowEnd::Failed(failure)) => failure,
            ended => return ended,
        };
        // Another model may have room for all of it. It is asked after the first call only.
        let passes_on = self.order.has_other && self.calls.len() <= 1;
        if !self.learn_window(&failure) || passes_on {
            return Err(FlowEnd::Failed(failure));
        }
        let before = self.live.len();
        match self.fit_window().await {
            Ok(()) => {}
            // A request that cannot be made shorter would be refused again, and the server's own words say more.
            Err(FlowEnd::Failed(excess)) if excess.code == "context-length" => {
                return Err(FlowEnd::Failed(failure));
            }
            Err(ended) => return Err(ended),
        }
        if self.live.len() >= before {
            return Err(FlowEnd::Failed(failure));
        }
        (self.ports.emit)(TurnEvent::Note {
            note: format!(
                "the server's window has {} tokens: asked again with a summary of the earlier messages",
                self.ports.model.window.tokens
            ),
        });
        self.ask_model().await
    }

    /// Takes the window that a refusal states. Returns false if the refusal has no number, or a number that is not smaller than the window so far.
    fn learn_window(&mut self, failure: &TurnFailure) -> bool {
        let stated = failure.advice.stated_window;
        let model = &mut self.ports.model;
        let Some(tokens) =
            stated.filter(|tokens| failure.code == "context-length" && *tokens < model.window.tokens)
        else {
            return false;
        };
        self.learned_window = Some(tokens);
        model.window = WindowSize {
            tokens,
            source: WindowSource::Server,
        };
        model.output_reserve = model.output_reserve.min(tokens / 4);
        model.max_output_tokens = model.max_output_tokens.map(|most| most.min(model.output_reserve));
        true
    }
}
