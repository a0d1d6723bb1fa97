//! One call of a model: send the request, read a stream or JSON, and retry if that can help.
//!
//! Owns: the rule that an answer without its end is an error, and the retries. Never: retries after a first piece of the
//! answer has arrived, because the user has seen it.

use agentos_model::{ChatMessage, prepare_messages};
use agentos_net::{Deadline, Events, Request};
use agentos_tool::{Progress, ProgressSink, ToolError, ToolOutput};
use serde_json::Value;

use crate::assembly::AnswerBuilder;
use crate::context::{ContextFit, ContextNeed};
use crate::retry::retry_pause;
use crate::verdict::ApiError;
use crate::{Fault, ModelRequest, ModelWork, PreparedTask, Reason, Server, Wire, judge_response};

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

impl Server {
    /// Sends a task and returns the complete answer.
    ///
    /// # Errors
    /// If the prompt does not fit the context window, or no complete answer arrives before the deadline.
    pub(crate) async fn run_task(
        &self,
        ask: &PreparedTask,
        work: ModelWork<'_>,
        deadline: &Deadline,
        progress: &dyn ProgressSink,
    ) -> Result<ToolOutput, ToolError> {
        let settings = self.settings();
        let prepared = prepare_messages(&work.chat.messages, &ask.wire.abilities(&settings.provider));
        let job = self.model_request(ask, work, &prepared.messages);
        let request = self.task_request(ask.url.clone(), ask.wire.build_request(&job));
        let mut warnings = ask.notes.clone();
        warnings.extend(prepared.notices);
        // A profile may state the model's maximum, while the server has loaded it with a shorter context. The server's own
        // number takes precedence.
        if let Some(window) = ask.context_window.or(settings.context_window) {
            match ContextNeed::of_bytes(work.chat.count_bytes(), ask.prompt_tokens, job.max_tokens)
                .fit_in(window)
            {
                ContextFit::Fits => {}
                ContextFit::Tight(words) => warnings.push(words),
                ContextFit::TooLong(words, wanted) => {
                    let fault = Fault::from(Reason::ContextLength).with_message(&words);
                    let mut error = self.run_error(&fault, deadline);
                    error.advice.fix = Some(self.longer_context(wanted));
                    return Err(error);
                }
            }
        }
        for note in &warnings {
            progress.progress(Progress::Note(note.clone()));
        }
        // The reason of each retry becomes a warning of the answer, so that a slow call can be explained afterwards.
        let (mut retried, mut failures) = (0, Vec::new());
        loop {
            let broken = match self
                .send_once(ask.wire.as_ref(), &request, deadline, progress)
                .await
            {
                Ok(answer) => return Ok(self.build_output(answer, ask, warnings, deadline)),
                Err(broken) => broken,
            };
            let may = !broken.begun && retried < settings.retries;
            let wait = retry_pause(&broken.fault, ask.url.is_loopback(), retried).filter(|_| may);
            let error = self.run_error(&broken.fault, deadline);
            // A pause longer than the time that is left could only end in a timeout.
            let Some(wait) = wait.filter(|wait| *wait < deadline.remaining()) else {
                return Err(name_retries(error, &failures));
            };
            retried += 1;
            // Before the pause: a wait of a minute without a word looks like a program that hangs.
            progress.progress(Progress::Note(format!(
                "{}; sending again in {} s ({retried} of {})",
                error.message,
                wait.as_secs_f64(),
                settings.retries
            )));
            if !deadline.pause_within(wait).await {
                return Err(name_retries(error, &failures));
            }
            warnings.push(format!("sent again after an error: {}", error.message));
            failures.push(error.message);
        }
    }

    /// Combines a conversation with the parameters of the settings.
    pub(crate) fn model_request<'a>(
        &'a self,
        ask: &'a PreparedTask,
        work: ModelWork<'a>,
        messages: &'a [ChatMessage],
    ) -> ModelRequest<'a> {
        let settings = self.settings();
        ModelRequest {
            chat: work.chat,
            messages,
            model: ask.model.as_deref(),
            stream: true,
            max_tokens: work.chat.max_output_tokens.or(settings.max_tokens),
            temperature: settings.temperature,
            top_p: settings.top_p,
            seed: settings.seed,
            stop: &settings.stop,
        }
    }

    async fn send_once(
        &self,
        wire: &dyn Wire,
        request: &Request,
        deadline: &Deadline,
        progress: &dyn ProgressSink,
    ) -> Result<AnswerBuilder<'_>, FailedAttempt> {
        let answer = self.http.open(request, deadline).await?;
        let mut assembly = AnswerBuilder::new(self.key_guard());
        // Decided by the content type and not by the request: some servers ignore `stream` and answer with one document, and
        // errors are documents too.
        if answer.is_event_stream() && answer.status() == 200 {
            read_stream(wire, answer.events(), &mut assembly, progress)
                .await
                .map_err(|fault| FailedAttempt {
                    fault,
                    begun: !assembly.text.is_empty(),
                })?;
        } else {
            let response = answer.read().await.map_err(|error| FailedAttempt {
                fault: error.into(),
                begun: true,
            })?;
            let piece = wire.read_answer(&judge_response(&response, self.settings().has_key())?)?;
            assembly.add_piece(piece, progress)?;
            if !assembly.is_ended() {
                return Err(Fault::from(Reason::BrokenAnswer)
                    .with_message("it has no finish reason")
                    .into());
            }
        }
        assembly.close(progress)?;
        Ok(assembly)
    }

    fn build_output(
        &self,
        answer: AnswerBuilder<'_>,
        ask: &PreparedTask,
        mut warnings: Vec<String>,
        deadline: &Deadline,
    ) -> ToolOutput {
        let asked = ask.model.as_deref();
        warnings.extend(answer.list_warnings());
        let finish = answer.finish_reason();
        // Servers with one model ignore the requested name and answer with their own, so the names are compared.
        let answered = answer.model.map(|name| self.key_guard().clean_name(name));
        if let (Some(asked), Some(answered)) = (asked, answered.as_deref())
            && !is_same_model(asked, answered)
        {
            warnings.push(format!(
                "model `{asked}` was requested, but `{answered}` answered"
            ));
        }
        ToolOutput {
            text: answer.text,
            finish,
            model_id: answered.or_else(|| asked.map(|name| self.key_guard().clean_name(name.to_owned()))),
            endpoint: Some(ask.url.endpoint()),
            usage: answer.usage.filter(|usage| !usage.is_unknown()),
            latency_ms: deadline.elapsed_ms(),
            warnings,
        }
    }
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

async fn read_stream(
    wire: &dyn Wire,
    mut events: Events,
    assembly: &mut AnswerBuilder<'_>,
    progress: &dyn ProgressSink,
) -> Result<(), Fault> {
    loop {
        let event = match events.next().await {
            Ok(Some(event)) => event,
            Ok(None) => break,
            // Some servers send the end and then reset the connection. The answer is complete, so the error does not matter.
            Err(_) if assembly.is_ended() => break,
            Err(error) => return Err(in_stream(error.into())),
        };
        // The end of OpenAI's streams, which many servers copy; it is not JSON.
        if event.trim() == "[DONE]" {
            break;
        }
        let json: Value = serde_json::from_str(&event).map_err(|_| {
            Fault::from(Reason::BrokenStream).with_message("an event of the stream is not JSON")
        })?;
        // The status is already 200 when a failure happens in the middle of a stream, so servers send the error as an event.
        let error = ApiError::from_json(&json);
        if error.present {
            return Err(Fault::from(Reason::BrokenStream).with_message(&error.message));
        }
        assembly.add_piece(wire.read_event(&json)?, progress)?;
    }
    if !assembly.is_ended() {
        return Err(
            Fault::from(Reason::BrokenStream).with_message("the stream ended without a finish reason")
        );
    }
    Ok(())
}

/// Converts a connection closed in the middle of a stream to [`Reason::BrokenStream`]. Limits keep their own reason.
fn in_stream(fault: Fault) -> Fault {
    if fault.reason == Reason::Closed {
        Fault {
            reason: Reason::BrokenStream,
            ..fault
        }
    } else {
        fault
    }
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
