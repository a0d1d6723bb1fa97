//! One call of a model: its answer as events, its record, and whether the answer is whole.
//!
//! Owns: which answers are complete, and what is left of the others. Never: runs a call of a cut answer.

use std::sync::Arc;

use agentos_api::{NextStep, RunLimit};
use agentos_ledger::CallRecord;
use agentos_model::{ChatEvent, ChatFinish, ChatMessage, ChatReply, ChatRequest, MessagePart, ReplyBuilder};
use agentos_tool::{FinishReason, ToolError, ToolFailure};
use tokio::time::Instant;

use super::stop::{StopCause, StopSignal};
use super::{TurnFailure, TurnModel};
use crate::meter::{CallMeter, MeteredCall, OpenCall};
use crate::ports::TurnEvent;

/// Reason why a call has no whole answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CallFault {
    /// The turn is stopped.
    Stopped(StopCause),
    /// The call failed, or its answer was cut.
    Failed(TurnFailure),
}

/// Ended call of a model.
pub(crate) struct EndedCall<'a> {
    pub(crate) record: CallRecord,
    pub(crate) outcome: Result<ChatReply, CallFault>,
    /// Text of an answer that was cut. `None` if the answer is complete, or no text arrived.
    pub(crate) cut: Option<ChatMessage>,
    /// The call that the record must be reported for.
    pub(crate) open: OpenCall<'a>,
    /// True if a part of the answer arrived.
    pub(crate) has_begun: bool,
}

/// Calls a model and passes its answer on as it arrives.
///
/// # Errors
/// If the meter does not permit the call. Then nothing was sent.
pub(crate) async fn call_model<'a>(
    model: &TurnModel<'_>,
    mut request: ChatRequest,
    meter: &'a dyn CallMeter,
    stop: &mut StopSignal<'_>,
    emit: &mut (dyn FnMut(TurnEvent) + Send),
) -> Result<EndedCall<'a>, CallFault> {
    let began = Instant::now();
    let provider = model.model.provider_name();
    let mut open = OpenCall::new(meter, provider, model.requested, model.price);
    if open.call().needs_limit() {
        // An answer without a limit could cost more than what is reserved for it.
        let limit = request.max_output_tokens.unwrap_or(model.output_reserve);
        request.max_output_tokens = Some(limit);
    }
    let mut has_begun = false;
    let mut builder = ReplyBuilder::default();
    let mut usage = None;
    let mut stream = model
        .model
        .chat(&request, Arc::<dyn MeteredCall>::clone(open.call()));
    let read = loop {
        let event = tokio::select! {
            // The user's wish comes first: a server that sends without a pause must not delay it.
            biased;
            cause = stop.wait() => break Err(CallFault::Stopped(cause)),
            event = stream.next_event() => event,
        };
        match event {
            Ok(Some(event)) => {
                if let ChatEvent::Usage(tokens) = &event {
                    usage = Some(*tokens);
                }
                has_begun |= !matches!(event, ChatEvent::Note { .. });
                show_event(&event, emit);
                builder.add_event(event);
            }
            Ok(None) => break Ok(()),
            Err(error) => break Err(CallFault::Failed(describe_error(error))),
        }
    };
    // Closed before anything else happens, so that a server does not go on to write what nobody reads.
    drop(stream);
    if let Some(refusal) = open.take_refusal() {
        return Err(CallFault::Failed(refusal));
    }
    let text = builder.clone().finish_cut();
    let reply = read.and_then(|()| {
        let reply = builder.finish_reply(provider);
        reply.ok_or_else(|| {
            CallFault::Failed(TurnFailure::new(
                "broken-answer",
                "the answer ended without its end",
            ))
        })
    });
    // Counts before the end are too low, and a cost of them would look complete.
    let whole_usage = usage.filter(|_| reply.is_ok());
    let is_filtered = matches!(&reply, Ok(reply) if reply.end.finish == FinishReason::ContentFilter);
    let outcome = reply.and_then(|reply| require_whole(reply).map_err(CallFault::Failed));
    // A filtered answer is withdrawn by its vendor, and would be refused again when it is sent back.
    let cut = text.filter(|_| outcome.is_err() && !is_filtered);
    if let Some(usage) = usage {
        emit(TurnEvent::Usage(usage));
    }
    let millis = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    let record = CallRecord {
        usage: whole_usage,
        cost_usd: whole_usage.and_then(|usage| model.price.cost(&usage)),
        latency_ms: millis,
        ..open.sent_record()
    };
    let record = complete_record(record, &outcome);
    Ok(EndedCall {
        has_begun,
        record,
        outcome,
        cut,
        open,
    })
}

/// Adds to a record what the end of the call says.
fn complete_record(record: CallRecord, outcome: &Result<ChatReply, CallFault>) -> CallRecord {
    match outcome {
        Ok(ChatReply {
            end:
                ChatFinish {
                    finish,
                    model_id,
                    endpoint,
                    latency_ms,
                    warnings: _,
                },
            ..
        }) => CallRecord {
            model_id: model_id.clone(),
            endpoint: endpoint.clone(),
            latency_ms: *latency_ms,
            finish: Some(*finish),
            ..record
        },
        Err(CallFault::Stopped(cause)) => CallRecord {
            failure: Some(cause.name().to_owned()),
            ..record
        },
        Err(CallFault::Failed(failure)) => CallRecord {
            failure: Some(failure.code.clone()),
            ..record
        },
    }
}

/// Passes an event of the model on. Tokens are reported once, at the end of the call; a call of a tool when it begins to run.
fn show_event(event: &ChatEvent, emit: &mut (dyn FnMut(TurnEvent) + Send)) {
    match event {
        ChatEvent::Note { note } => emit(TurnEvent::Note { note: note.clone() }),
        ChatEvent::Text { text } => emit(TurnEvent::Text { text: text.clone() }),
        ChatEvent::Thinking(piece) if !piece.text.is_empty() && !piece.is_encrypted => {
            emit(TurnEvent::Thinking {
                text: piece.text.clone(),
            });
        }
        ChatEvent::TextWasThinking => emit(TurnEvent::TextWasThinking),
        ChatEvent::Finish(end) => {
            for warning in &end.warnings {
                emit(TurnEvent::Note {
                    note: warning.clone(),
                });
            }
        }
        ChatEvent::Thinking(_) | ChatEvent::ToolCall(_) | ChatEvent::Usage(_) => {}
    }
}

/// Returns the answer if it is whole.
fn require_whole(reply: ChatReply) -> Result<ChatReply, TurnFailure> {
    let fault = |message: &str| TurnFailure::new("unfinished-answer", message);
    match reply.end.finish {
        FinishReason::Length => {
            let has_calls = reply
                .message
                .parts
                .iter()
                .any(|part| matches!(part, MessagePart::ToolCall(_)));
            let mut failure = fault(match has_calls {
                true => "the answer was cut off by the token limit, so its calls of tools were not run",
                false => "the answer was cut off by the token limit",
            });
            failure.is_limit = true;
            failure.advice.next.push(NextStep::RaiseLimit {
                limit: RunLimit::OutputTokens,
            });
            Err(failure)
        }
        FinishReason::ContentFilter => {
            let mut failure = fault("the provider filtered or refused the answer");
            failure.advice.fix = Some("ask in other words, or ask another provider".to_owned());
            Err(failure)
        }
        // Some servers say `stop` or nothing at the end of an answer that calls tools, so the reason alone decides nothing.
        FinishReason::Stop | FinishReason::ToolCalls | FinishReason::Unknown => {
            let says_anything = reply.message.parts.iter().any(|part| match part {
                MessagePart::Text(text) => !text.trim().is_empty(),
                MessagePart::ToolCall(_) => true,
                MessagePart::Image(_) | MessagePart::ToolResult(_) | MessagePart::Thinking(_) => false,
            });
            if says_anything {
                Ok(reply)
            } else {
                Err(TurnFailure::new("no-answer", "the model answered with nothing"))
            }
        }
    }
}

fn describe_error(error: ToolError) -> TurnFailure {
    TurnFailure {
        is_limit: match error.failure {
            ToolFailure::Timeout => true,
            ToolFailure::Failed => false,
        },
        category: Some(error.category),
        causes: error.causes,
        advice: error.advice,
        ..TurnFailure::new(&error.detail, error.message)
    }
}
