//! One call of a model: send the request, read a stream or JSON, and retry if that can help.
//!
//! Owns: the rule that an answer without its end is an error, and the retries. Never: retries after a first piece of the
//! answer has arrived, because the user has seen it.
//!
//! | stage | next event |
//! |---|---|
//! | `New` | checks the settings and prepares the request; its notices come first |
//! | `Waiting` | pauses before a retry, sends the request, and waits for the head of the answer |
//! | `Reading` | reads one event of the stream |
//! | `Ended` | none: the end was returned, the call failed, or a future of it was dropped |

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use agentos_model::{
    ChatEvent, ChatFinish, ChatMessage, ChatStream, MessagePart, ToolChoice, count_stable, prepare_messages,
};
use agentos_net::{BodyShape, Deadline, NetError, Request};
use agentos_tool::{BoxFuture, SendGate, SendingSize, ToolError};

use crate::assembly::AnswerBuilder;
use crate::context::{ContextFit, ContextNeed};
use crate::marks::TextReader;
use crate::reading::AnswerEvents;
use crate::retry::retry_pause;
use crate::sending::{BodyFacts, measure_request};
use crate::{
    Fault, HttpAdapter, ModelRequest, ModelWork, PreparedTask, Reason, Server, Service, judge_response,
};

/// Failed attempt, and whether a part of the answer had arrived before the failure.
struct FailedAttempt {
    fault: Fault,
    begun: bool,
}

impl<E: Into<Fault>> From<E> for FailedAttempt {
    fn from(cause: E) -> Self {
        Self {
            fault: cause.into(),
            begun: false,
        }
    }
}

/// Request that is ready, with the failures of the attempts before.
struct ReadyCall {
    ask: PreparedTask,
    request: Request,
    /// Most that each sending of the request can use.
    size: SendingSize,
    warnings: Vec<String>,
    failures: Vec<String>,
}

/// Retry after a failed attempt.
struct PlannedRetry {
    pause: Duration,
    error: ToolError,
}

/// Stage of a call.
enum CallStage<'a> {
    New,
    Waiting(Box<ReadyCall>, Option<PlannedRetry>),
    Reading(Box<ReadyCall>, Box<AnswerEvents>, Box<AnswerBuilder<'a>>),
    Ended,
}

/// Answer of a server, read event by event.
pub(crate) struct HttpChat<'a, S> {
    adapter: &'a HttpAdapter<S>,
    work: ModelWork<'a>,
    gate: Arc<dyn SendGate>,
    deadline: Deadline,
    stage: CallStage<'a>,
    ready: VecDeque<ChatEvent>,
}

impl<S: Service> ChatStream for HttpChat<'_, S> {
    fn next_event(&mut self) -> BoxFuture<'_, Result<Option<ChatEvent>, ToolError>> {
        Box::pin(self.advance_call())
    }
}

impl<'a, S: Service> HttpChat<'a, S> {
    /// Makes a call. Nothing is sent yet.
    pub(crate) fn new(
        adapter: &'a HttpAdapter<S>,
        work: ModelWork<'a>,
        gate: Arc<dyn SendGate>,
        deadline: Deadline,
    ) -> Self {
        Self {
            adapter,
            work,
            gate,
            deadline,
            stage: CallStage::New,
            ready: VecDeque::new(),
        }
    }

    async fn advance_call(&mut self) -> Result<Option<ChatEvent>, ToolError> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(Some(event));
            }
            // A failure, or a future that is dropped at one of the waits, leaves the call ended.
            self.stage = match std::mem::replace(&mut self.stage, CallStage::Ended) {
                CallStage::New => CallStage::Waiting(Box::new(self.prepare_call().await?), None),
                CallStage::Waiting(call, retry) => self.send_request(call, retry).await?,
                CallStage::Reading(call, events, answer) => self.read_event(call, events, answer).await?,
                CallStage::Ended => return Ok(None),
            };
        }
    }

    /// Makes the reader of marks in the text. `None` for an edit task: landing reads its answer as it is.
    fn text_reader(&self) -> Option<TextReader<'a>> {
        let chat = self.work.chat;
        let tools = chat
            .tools
            .iter()
            .filter(|_| chat.tool_choice != ToolChoice::Never);
        let names = tools.map(|tool| tool.name.as_str()).collect();
        self.work.task.is_none().then(|| TextReader::new(names))
    }

    /// Returns true if the request has the results of tools that the model called.
    fn continues_turn(&self) -> bool {
        let last = self.work.chat.messages.last();
        let mut parts = last.into_iter().flat_map(|message| &message.parts);
        parts.any(|part| matches!(part, MessagePart::ToolResult(_)))
    }

    fn server(&self) -> &'a Server {
        self.adapter.server()
    }

    /// Decides address and wire, and builds the request.
    ///
    /// # Errors
    /// If the server cannot be used, or the prompt does not fit the context window.
    async fn prepare_call(&mut self) -> Result<ReadyCall, ToolError> {
        let ask = self.adapter.prepare_task(self.work, &self.deadline).await?;
        let (server, work) = (self.server(), self.work);
        let settings = server.settings();
        let abilities = ask.wire.abilities(&settings.provider);
        let prepared = prepare_messages(&work.chat.messages, &abilities);
        let job = ModelRequest {
            stable_messages: count_stable(
                &work.chat.messages,
                work.chat.cache.messages,
                &prepared.messages,
                &abilities,
            ),
            ..server.model_request(&ask, work, &prepared.messages)
        };
        let mut request = server.task_request(ask.url.clone(), ask.wire.build_request(&job));
        let facts = BodyFacts {
            messages: &prepared.messages,
            most_image_tokens: self.adapter.service().most_image_tokens(ask.url.host()),
            added_tokens: ask.wire.added_tokens(&job),
            output_tokens: ask.wire.limit_sent(&job),
        };
        let mut size = measure_request(&request, &facts);
        if let Some(body) = &mut request.body {
            server
                .refused
                .apply(body, &mut size, ask.wire.optional_fields(), &settings.omit);
        }
        let max_tokens = job.max_tokens;
        let mut warnings = ask.notes.clone();
        if settings.thinking.is_some() && !ask.wire.asks_thinking() {
            warnings.push("this server's API has no field for thinking, so the model decides".to_owned());
        }
        warnings.extend(prepared.notices);
        // A profile may state the model's maximum, while the server has loaded it with a shorter context. The server's own
        // number takes precedence.
        if let Some(window) = ask.context_window.or(settings.context_window) {
            match ContextNeed::of_bytes(work.chat.count_bytes(), ask.prompt_tokens, max_tokens).fit_in(window)
            {
                ContextFit::Fits => {}
                ContextFit::Tight(words) => warnings.push(words),
                ContextFit::TooLong(words, wanted) => {
                    let fault = Fault::from(Reason::ContextLength).with_message(&words);
                    let mut error = server.run_error(&fault, &self.deadline);
                    error.advice.fix = Some(server.longer_context(wanted));
                    return Err(error);
                }
            }
        }
        let notes = warnings.iter().cloned();
        self.ready.extend(notes.map(|note| ChatEvent::Note { note }));
        Ok(ReadyCall {
            ask,
            request,
            size,
            warnings,
            failures: Vec::new(),
        })
    }

    /// Waits for the pause, and sends the request.
    ///
    /// # Errors
    /// If there is no answer, and a retry would not help.
    async fn send_request(
        &mut self,
        mut call: Box<ReadyCall>,
        retry: Option<PlannedRetry>,
    ) -> Result<CallStage<'a>, ToolError> {
        if let Some(PlannedRetry { pause, error }) = retry {
            if !self.deadline.pause_within(pause).await {
                return Err(name_retries(error, &call.failures));
            }
            // So that a slow call can be explained afterwards.
            call.warnings
                .push(format!("sent again after an error: {}", error.message));
            call.failures.push(error.message);
        }
        // Right before the request leaves, and for each sending: its server may bill every one.
        self.gate.permit(call.size).await?;
        let mut answer = AnswerBuilder::new(self.server().key_guard(), call.size, self.text_reader());
        match self.open_answer(&call, &mut answer).await {
            Ok(Some(events)) => Ok(CallStage::Reading(call, Box::new(events), Box::new(answer))),
            Ok(None) => Ok(self.end_call(*call, answer)),
            Err(failed) => self.plan_retry(call, failed),
        }
    }

    /// Sends the request. `None` if the whole answer was read, because it came as one document.
    async fn open_answer(
        &mut self,
        call: &ReadyCall,
        answer: &mut AnswerBuilder<'a>,
    ) -> Result<Option<AnswerEvents>, FailedAttempt> {
        let mut head = self.server().http.open(&call.request, &self.deadline).await?;
        // The head has arrived, so the server has taken the request: sent again, it could be billed twice.
        let begun = |error: NetError| FailedAttempt {
            fault: error.into(),
            begun: true,
        };
        // Decided by the first bytes and not by the request or the content type: some servers ignore `stream` and answer with one
        // document, some send a stream as text, and errors are documents too.
        if head.status() == 200 {
            let shape = head.body_shape().await.map_err(begun)?;
            if shape != BodyShape::Document {
                return Ok(Some(AnswerEvents::new(head.events(shape))));
            }
        }
        let response = head.read().await.map_err(begun)?;
        let document = judge_response(&response, self.server().settings().has_key())?;
        answer.add_piece(call.ask.wire.read_answer(&document)?, &mut self.ready)?;
        if !answer.is_ended() {
            return Err(Fault::from(Reason::BrokenAnswer)
                .with_message("it has no finish reason")
                .into());
        }
        answer.close(&mut self.ready)?;
        answer.check_content()?;
        Ok(None)
    }

    /// Reads one event of the stream.
    ///
    /// # Errors
    /// If the stream breaks, and a retry would not help.
    async fn read_event(
        &mut self,
        call: Box<ReadyCall>,
        mut events: Box<AnswerEvents>,
        mut answer: Box<AnswerBuilder<'a>>,
    ) -> Result<CallStage<'a>, ToolError> {
        let wire = call.ask.wire.as_ref();
        let read = events.read_next(wire, &mut answer, &mut self.ready).await;
        let read = read.and_then(|goes_on| match goes_on {
            true => Ok(true),
            false => answer.check_content().map(|()| false),
        });
        match read {
            Ok(true) => Ok(CallStage::Reading(call, events, answer)),
            Ok(false) => Ok(self.end_call(*call, *answer)),
            Err(fault) => {
                let begun = answer.is_begun();
                self.plan_retry(call, FailedAttempt { fault, begun })
            }
        }
    }

    /// Decides if the request is sent again.
    ///
    /// # Errors
    /// With the failure, if it is not.
    fn plan_retry(
        &mut self,
        mut call: Box<ReadyCall>,
        failed: FailedAttempt,
    ) -> Result<CallStage<'a>, ToolError> {
        let server = self.server();
        if let Some(note) = leave_out_field(server, &mut call, &failed) {
            self.gate.note_failure(failed.fault.reason.as_str(), failed.begun);
            call.warnings.push(note.clone());
            self.ready.push_back(ChatEvent::Note { note });
            return Ok(CallStage::Waiting(call, None));
        }
        let limit = match self.continues_turn() {
            true => server.settings().later_retries,
            false => server.settings().retries,
        };
        let retried = call.failures.len();
        let retried = u32::try_from(retried).unwrap_or(u32::MAX);
        let may = !failed.begun && retried < limit;
        let wait = retry_pause(&failed.fault, call.ask.url.is_loopback(), retried).filter(|_| may);
        let mut error = server.run_error(&failed.fault, &self.deadline);
        if failed.begun {
            // An answer that has begun may be billed, so it must not be requested once more.
            error.advice.stated_window = None;
        }
        // A pause longer than the time that is left could only end in a timeout.
        let Some(wait) = wait.filter(|wait| *wait < self.deadline.remaining()) else {
            return Err(name_retries(error, &call.failures));
        };
        self.gate.note_failure(&error.detail, failed.begun);
        // Before the pause: a wait of a minute without a word looks like a program that hangs.
        self.ready.push_back(ChatEvent::Note {
            note: format!(
                "{}; sending again in {} s ({} of {limit})",
                error.message,
                wait.as_secs_f64(),
                retried + 1
            ),
        });
        Ok(CallStage::Waiting(
            call,
            Some(PlannedRetry { pause: wait, error }),
        ))
    }

    /// Adds the end of a complete answer.
    fn end_call(&mut self, call: ReadyCall, answer: AnswerBuilder<'_>) -> CallStage<'a> {
        let guard = self.server().key_guard();
        let mut warnings = call.warnings;
        let asked = call.ask.model.as_deref();
        warnings.extend(answer.list_warnings());
        let finish = answer.finish_reason();
        // Servers with one model ignore the requested name and answer with their own, so the names are compared.
        let answered = answer.model.map(|name| guard.clean_name(name));
        if let (Some(asked), Some(answered)) = (asked, answered.as_deref())
            && !is_same_model(asked, answered)
        {
            warnings.push(format!(
                "model `{asked}` was requested, but `{answered}` answered"
            ));
        }
        self.ready.push_back(ChatEvent::Finish(ChatFinish {
            finish,
            model_id: answered.or_else(|| asked.map(|name| guard.clean_name(name.to_owned()))),
            endpoint: Some(call.ask.url.endpoint()),
            latency_ms: self.deadline.elapsed_ms(),
            warnings,
        }));
        CallStage::Ended
    }
}

impl Server {
    /// Combines a conversation with the parameters of the settings.
    pub(crate) fn model_request<'a>(
        &'a self,
        ask: &'a PreparedTask,
        work: ModelWork<'a>,
        messages: &'a [ChatMessage],
    ) -> ModelRequest<'a> {
        let settings = self.settings();
        let sampling = &work.chat.sampling;
        ModelRequest {
            chat: work.chat,
            messages,
            stable_messages: 0,
            model: ask.model.as_deref(),
            stream: true,
            max_tokens: work.chat.max_output_tokens.or(settings.max_tokens),
            temperature: sampling.temperature.or(settings.temperature),
            top_p: sampling.top_p.or(settings.top_p),
            seed: sampling.seed.or(settings.seed),
            stop: match sampling.stop.as_slice() {
                [] => &settings.stop,
                stop => stop,
            },
            thinking: settings.thinking,
        }
    }
}

/// Leaves the field out that the server refuses, and words a note. `None` if the failure is about something else. Each field is refused
/// once, so this ends.
fn leave_out_field(server: &Server, call: &mut ReadyCall, failed: &FailedAttempt) -> Option<String> {
    let optional = call.ask.wire.optional_fields();
    let body = call.request.body.as_mut().filter(|_| !failed.begun)?;
    server
        .refused
        .learn(&failed.fault, body, &mut call.size, optional)
}

/// Adds the failures of earlier requests to the failure of the last one, which may hide the true reason.
fn name_retries(mut error: ToolError, failures: &[String]) -> ToolError {
    if failures.is_empty() {
        return error;
    }
    let others = failures.iter().enumerate();
    let others = others.filter(|(_, failure)| **failure != error.message);
    let named = others.map(|(at, failure)| format!("request {}: {failure}", at + 1));
    error.causes.extend(named);
    error.message = format!("{} (sent {} times)", error.message, failures.len() + 1);
    error
}

/// Returns true for the requested name itself, a dated snapshot of it (`gpt-5` and `gpt-5-2026-03-05`), and a name that
/// differs only in its tag (`qwen` and `qwen:latest`).
fn is_same_model(asked: &str, answered: &str) -> bool {
    let snapshot = |rest: &str| {
        rest.strip_prefix('-')
            .is_some_and(|date| date.starts_with(|c: char| c.is_ascii_digit()))
    };
    let tag = |rest: &str| rest.starts_with(':');
    asked == answered
        || answered
            .strip_prefix(asked)
            .is_some_and(|rest| snapshot(rest) || tag(rest))
        || asked.strip_prefix(answered).is_some_and(tag)
}

#[cfg(test)]
mod tests {
    use super::is_same_model;

    #[test]
    fn a_snapshot_is_the_model_and_a_sibling_is_not() {
        let cases = [
            ("gpt-5.4", "gpt-5.4", true),
            ("gpt-5.4", "gpt-5.4-2026-03-05", true),
            ("gpt-5.4", "gpt-5.4-mini", false),
            ("gpt-5.4-mini", "gpt-5.4", false),
            ("qwen", "qwen:latest", true),
            ("qwen:2", "qwen", true),
            ("other", "tiny-coder", false),
        ];
        for (asked, answered, same) in cases {
            assert_eq!(is_same_model(asked, answered), same, "{asked} {answered}");
        }
    }
}
