//! The content of an answer as events, without the key.
//!
//! Owns: which piece of an answer may be shown when. Never: shows a piece that may contain a part of the key.

use std::collections::BTreeMap;
use std::collections::VecDeque;

use agentos_model::{CallPiece, ChatEvent, ChatPiece, ThoughtPiece};

use crate::Fault;
use crate::guard::{KeyGuard, KeyWatch};

/// Text of an answer that arrives in pieces, one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum PieceChannel {
    /// The answer itself.
    Text,
    /// Thinking at a position.
    Thinking(Option<u64>),
    /// Signature of the thinking at a position.
    Signature(Option<u64>),
    /// Arguments of the call at a position.
    Arguments(Option<u64>),
}

impl PieceChannel {
    /// Makes the event of a piece. `None` for an empty piece.
    fn make_event(self, text: String) -> Option<ChatEvent> {
        if text.is_empty() {
            return None;
        }
        Some(match self {
            Self::Text => ChatEvent::Text { text },
            Self::Thinking(position) => ChatEvent::Thinking(ThoughtPiece {
                text,
                position,
                ..ThoughtPiece::default()
            }),
            Self::Signature(position) => ChatEvent::Thinking(ThoughtPiece {
                signature: Some(text),
                position,
                ..ThoughtPiece::default()
            }),
            Self::Arguments(position) => ChatEvent::ToolCall(CallPiece {
                arguments: text,
                position,
                ..CallPiece::default()
            }),
        })
    }
}

/// Turns pieces into events. A piece whose end may be the beginning of the key is shown when more has arrived.
pub(crate) struct PieceReader<'a> {
    guard: KeyGuard<'a>,
    open: PieceChannel,
    watch: KeyWatch<'a>,
    /// Signatures of thinking that may continue, by position.
    signatures: BTreeMap<Option<u64>, KeyWatch<'a>>,
    /// Everything that arrived, if there is a key to look for.
    arrived: BTreeMap<PieceChannel, String>,
}

impl<'a> PieceReader<'a> {
    pub(crate) fn new(guard: KeyGuard<'a>) -> Self {
        Self {
            guard,
            open: PieceChannel::Text,
            watch: guard.start_watch(),
            signatures: BTreeMap::new(),
            arrived: BTreeMap::new(),
        }
    }

    /// Adds a piece, thinking first and calls last, as [`agentos_model::PartBuilder`] does.
    ///
    /// # Errors
    /// [`Reason::KeyInAnswer`](crate::Reason::KeyInAnswer) if it contains the key.
    pub(crate) fn add_content(
        &mut self,
        content: ChatPiece,
        events: &mut VecDeque<ChatEvent>,
    ) -> Result<(), Fault> {
        for thought in content.thoughts {
            self.add_thought(thought, events)?;
        }
        if !content.text.is_empty() || !content.calls.is_empty() {
            // Without positions, thinking after this is another part.
            self.end_signature(None, events)?;
        }
        if !content.text.is_empty() {
            let clear = self.pass_piece(PieceChannel::Text, &content.text, events)?;
            events.extend(PieceChannel::Text.make_event(clear));
        }
        for call in content.calls {
            self.add_call(call, events)?;
        }
        Ok(())
    }

    fn add_thought(&mut self, piece: ThoughtPiece, events: &mut VecDeque<ChatEvent>) -> Result<(), Fault> {
        if piece.is_encrypted {
            // Encrypted thinking is a part of its own, so no earlier piece may follow it.
            self.end_channel(events)?;
            self.end_signature(piece.position, events)?;
        }
        let text = self.pass_piece(PieceChannel::Thinking(piece.position), &piece.text, events)?;
        let signature = match piece.signature {
            Some(whole) if piece.is_encrypted => {
                self.guard.check_text(&whole)?;
                Some(whole)
            }
            Some(part) => Some(self.pass_signature(piece.position, &part)?),
            None => None,
        };
        let shown = ThoughtPiece {
            text,
            signature,
            ..piece
        };
        // A signature that is withheld is shown as an empty one, so that its part keeps its place.
        if !shown.text.is_empty() || shown.signature.is_some() {
            events.push_back(ChatEvent::Thinking(shown));
        }
        Ok(())
    }

    /// Returns the part of a signature that may be shown now. Anthropic may send a signature in several events, and a reader
    /// joins them also if text arrives between two, so other channels do not end it.
    fn pass_signature(&mut self, position: Option<u64>, text: &str) -> Result<String, Fault> {
        self.keep_arrived(PieceChannel::Signature(position), text);
        let guard = self.guard;
        self.signatures
            .entry(position)
            .or_insert_with(|| guard.start_watch())
            .pass_piece(text)
    }

    /// Shows the rest of a signature, because its part has ended.
    fn end_signature(
        &mut self,
        position: Option<u64>,
        events: &mut VecDeque<ChatEvent>,
    ) -> Result<(), Fault> {
        if let Some(mut watch) = self.signatures.remove(&position) {
            events.extend(PieceChannel::Signature(position).make_event(watch.take_rest()?));
        }
        Ok(())
    }

    fn add_call(&mut self, piece: CallPiece, events: &mut VecDeque<ChatEvent>) -> Result<(), Fault> {
        for text in [&piece.id, &piece.name, &piece.signature].into_iter().flatten() {
            self.guard.check_text(text)?;
        }
        let is_whole = piece.position.is_none();
        if is_whole {
            // It is not joined to later pieces, so it must be complete now.
            self.guard.check_text(&piece.arguments)?;
            self.end_channel(events)?;
            events.push_back(ChatEvent::ToolCall(piece));
            return Ok(());
        }
        let channel = PieceChannel::Arguments(piece.position);
        let arguments = self.pass_piece(channel, &piece.arguments, events)?;
        let shown = CallPiece { arguments, ..piece };
        if !shown.arguments.is_empty() || shown.name.is_some() || shown.id.is_some() {
            events.push_back(ChatEvent::ToolCall(shown));
        }
        Ok(())
    }

    /// Returns the part of a piece that may be shown now.
    fn pass_piece(
        &mut self,
        channel: PieceChannel,
        text: &str,
        events: &mut VecDeque<ChatEvent>,
    ) -> Result<String, Fault> {
        if channel != self.open {
            self.end_channel(events)?;
            self.open = channel;
        }
        self.keep_arrived(channel, text);
        self.watch.pass_piece(text)
    }

    fn keep_arrived(&mut self, channel: PieceChannel, text: &str) {
        if self.guard.has_key() {
            self.arrived.entry(channel).or_default().push_str(text);
        }
    }

    /// Shows the rest of the open channel, because a piece of another one follows it.
    fn end_channel(&mut self, events: &mut VecDeque<ChatEvent>) -> Result<(), Fault> {
        let rest = std::mem::replace(&mut self.watch, self.guard.start_watch()).take_rest()?;
        events.extend(self.open.make_event(rest));
        Ok(())
    }

    /// Adds that the text so far was thinking.
    ///
    /// # Errors
    /// [`Reason::KeyInAnswer`](crate::Reason::KeyInAnswer) if it contains the key.
    pub(crate) fn take_text_back(&mut self, events: &mut VecDeque<ChatEvent>) -> Result<(), Fault> {
        self.end_channel(events)?;
        events.push_back(ChatEvent::TextWasThinking);
        Ok(())
    }

    /// Shows what was withheld because the key might begin in it. Call it after the last piece.
    ///
    /// # Errors
    /// [`Reason::KeyInAnswer`](crate::Reason::KeyInAnswer) if the answer contains the key, also with a piece of another kind
    /// between two parts of it.
    pub(crate) fn close(&mut self, events: &mut VecDeque<ChatEvent>) -> Result<(), Fault> {
        self.end_channel(events)?;
        while let Some(position) = self.signatures.keys().next().copied() {
            self.end_signature(position, events)?;
        }
        // Each channel was searched from one change of channels to the next. The joined texts are searched as a whole, because
        // a reader joins them.
        self.arrived
            .values()
            .try_for_each(|text| self.guard.check_text(text))
    }
}

#[cfg(test)]
mod tests {
    use agentos_model::{MessagePart, ReplyBuilder};
    use agentos_tool::Secret;

    use super::*;
    use crate::Reason;
    use crate::guard::prepare_forms;

    const KEY: &str = "sk-local-0123456789abcdef";

    fn text(text: &str) -> ChatPiece {
        ChatPiece::from_text(text)
    }

    fn thought(text: &str) -> ChatPiece {
        ChatPiece {
            thoughts: vec![ThoughtPiece {
                text: text.to_owned(),
                ..ThoughtPiece::default()
            }],
            ..ChatPiece::default()
        }
    }

    fn signed(signature: &str) -> ChatPiece {
        ChatPiece {
            thoughts: vec![ThoughtPiece {
                signature: Some(signature.to_owned()),
                ..ThoughtPiece::default()
            }],
            ..ChatPiece::default()
        }
    }

    fn call(position: Option<u64>, name: Option<&str>, arguments: &str) -> ChatPiece {
        ChatPiece {
            calls: vec![CallPiece {
                name: name.map(str::to_owned),
                arguments: arguments.to_owned(),
                position,
                ..CallPiece::default()
            }],
            ..ChatPiece::default()
        }
    }

    /// Reads pieces, with a check that no event shows a part of the key.
    fn read_pieces(pieces: Vec<ChatPiece>) -> Result<Vec<ChatEvent>, Reason> {
        let key = Secret::new(KEY);
        let forms = prepare_forms(Some(&key));
        let mut reader = PieceReader::new(KeyGuard::new(Some(&key), forms.as_ref()));
        let mut events = VecDeque::new();
        for piece in pieces {
            reader
                .add_content(piece, &mut events)
                .map_err(|fault| fault.reason)?;
        }
        reader.close(&mut events).map_err(|fault| fault.reason)?;
        Ok(events.into())
    }

    #[test]
    fn the_key_is_found_in_every_part_of_an_answer() {
        let (start, end) = KEY.split_at(9);
        let cases = [
            vec![text("a "), text(start), text(end)],
            vec![text(start), thought("between"), text(end)],
            vec![text(start), call(Some(0), Some("f"), "{}"), text(end)],
            vec![thought(start), thought(end)],
            vec![call(None, Some("f"), KEY)],
            vec![call(None, Some(KEY), "")],
            vec![call(Some(0), Some("f"), start), call(Some(0), None, end)],
            vec![
                call(Some(0), Some("f"), start),
                call(Some(1), Some("f"), "{"),
                call(Some(0), None, end),
            ],
            vec![signed(KEY)],
            vec![signed(start), signed(end)],
            vec![signed(start), thought(""), signed(end)],
            vec![signed(start), thought("between"), signed(end)],
        ];
        for pieces in cases {
            assert_eq!(
                read_pieces(pieces.clone()),
                Err(Reason::KeyInAnswer),
                "{pieces:?}"
            );
        }
    }

    #[test]
    fn no_event_shows_a_half_of_a_split_key() {
        let key = Secret::new(KEY);
        let forms = prepare_forms(Some(&key));
        let at_zero = |mut piece: ChatPiece| {
            piece
                .thoughts
                .iter_mut()
                .for_each(|thought| thought.position = Some(0));
            piece
        };
        for at in 1..KEY.len() {
            let (start, end) = KEY.split_at(at);
            let cases = [
                vec![text(start), text(end)],
                vec![thought(start), thought(end)],
                vec![signed(start), signed(end)],
                vec![signed(start), thought("+"), signed(end)],
                vec![at_zero(signed(start)), text("+"), at_zero(signed(end))],
            ];
            for pieces in cases {
                let mut reader = PieceReader::new(KeyGuard::new(Some(&key), forms.as_ref()));
                let mut events = VecDeque::new();
                let found = pieces
                    .clone()
                    .into_iter()
                    .try_for_each(|piece| reader.add_content(piece, &mut events))
                    .and_then(|()| reader.close(&mut events));
                assert_eq!(found.map_err(|fault| fault.reason), Err(Reason::KeyInAnswer));
                let shown: String = events
                    .into_iter()
                    .map(|event| match event {
                        ChatEvent::Text { text } => text,
                        ChatEvent::Thinking(piece) => piece.text + &piece.signature.unwrap_or_default(),
                        other => format!("{other:?}"),
                    })
                    .collect();
                assert!(matches!(shown.as_str(), "" | "+"), "{pieces:?}: {shown}");
            }
        }
    }

    #[test]
    fn what_was_withheld_stays_in_its_place() {
        // The beginning of the key is withheld until another channel or the end shows that it is none.
        let pieces = vec![
            thought("think sk-lo"),
            signed("sig sk-lo"),
            signed("ng sk-lo"),
            text("say sk-lo"),
            call(Some(0), Some("f"), "{\"a\":\"sk-lo"),
            call(Some(0), None, "\"}"),
            call(Some(1), Some("g"), ""),
        ];
        let mut builder = ReplyBuilder::default();
        let mut plain = agentos_model::PartBuilder::default();
        for piece in &pieces {
            plain.add_piece(piece.clone());
        }
        for event in read_pieces(pieces).unwrap() {
            builder.add_event(event);
        }
        builder.add_event(ChatEvent::Finish(agentos_model::ChatFinish {
            finish: agentos_tool::FinishReason::Stop,
            model_id: None,
            endpoint: None,
            latency_ms: 0,
            warnings: Vec::new(),
        }));
        let reply = builder.finish_reply("p").unwrap();
        assert_eq!(reply.message.parts, plain.finish("p"));
        assert!(matches!(
            reply.message.parts.as_slice(),
            [
                MessagePart::Thinking(_),
                MessagePart::Text(_),
                MessagePart::ToolCall(_),
                MessagePart::ToolCall(_)
            ]
        ));
    }
}
