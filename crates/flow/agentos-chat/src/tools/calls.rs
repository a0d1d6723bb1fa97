//! The calls of one answer, in parallel.
//!
//! Owns: how many run at once, their time limits, and that every call gets one result. Never: fails: whatever happens to a call
//! is its result.

use std::collections::VecDeque;
use std::task::Poll;
use std::time::Duration;

use agentos_ledger::RepositoryReads;
use agentos_model::{ToolCall, ToolResult};
use agentos_tool::{BoxFuture, RunId};

use super::ToolSession;
use super::checks::{ToolPermissions, admit_call};
use super::results::{TextLimit, make_result};
use crate::limits::TurnLimits;
use crate::ports::{ToolAnswer, TurnEvent, TurnTool, TurnTools};
use crate::turn::{StopCause, StopSignal};

/// Calls of one answer, with everything that limits them.
pub(crate) struct CallBatch<'a> {
    pub(crate) calls: &'a [ToolCall],
    pub(crate) tools: &'a [TurnTool],
    pub(crate) runner: &'a dyn TurnTools,
    pub(crate) permissions: ToolPermissions,
    pub(crate) limits: &'a TurnLimits,
    /// Tokens that the results may have together.
    pub(crate) result_tokens: u64,
}

/// Results of the calls of one answer.
pub(crate) struct CallResults {
    /// Results in the order of the calls, one for each.
    pub(crate) results: Vec<ToolResult>,
    /// Runs that the calls made.
    pub(crate) runs: Vec<RunId>,
    /// Texts of repositories in the results.
    pub(crate) reads: Vec<RepositoryReads>,
    /// Reason why not all calls ended. `None` if they did.
    pub(crate) stopped: Option<StopCause>,
    /// True if a tool ends the turn.
    pub(crate) ends_turn: bool,
}

/// Call that was admitted, with its time limit.
struct AdmittedCall<'a> {
    position: usize,
    call: &'a ToolCall,
    limit: Duration,
}

/// Call that runs.
struct RunningCall<'a> {
    position: usize,
    answer: BoxFuture<'a, ToolAnswer>,
}

impl<'a> CallBatch<'a> {
    /// Runs the calls. Ends early if the turn is stopped; calls that did not end then have results that say so.
    pub(crate) async fn run_calls(
        &self,
        session: &mut ToolSession,
        stop: &mut StopSignal<'_>,
        emit: &mut (dyn FnMut(TurnEvent) + Send),
    ) -> CallResults {
        let mut answers: Vec<Option<ToolAnswer>> = self.calls.iter().map(|_| None).collect();
        let mut waiting = self.admit_calls(session, &mut answers, emit);
        let mut running: Vec<RunningCall<'a>> = Vec::new();
        let mut stopped = None;
        loop {
            while running.len() < self.limits.parallel_calls.max(1) {
                let Some(admitted) = waiting.pop_front() else {
                    break;
                };
                emit(begin_event(admitted.call));
                running.push(RunningCall {
                    position: admitted.position,
                    answer: self.start_call(&admitted),
                });
            }
            if running.is_empty() {
                break;
            }
            let (position, answer) = tokio::select! {
                // The user's wish comes first: a tool that is always ready must not delay it.
                biased;
                cause = stop.wait() => {
                    stopped = Some(cause);
                    break;
                }
                ended = next_ended(&mut running) => ended,
            };
            self.keep_answer(&mut answers, position, answer, emit);
        }
        // Dropped before the results are made, so that nothing still runs when the model or the user is shown them.
        drop(running);
        self.finish(answers, stopped)
    }

    /// Checks the calls in their order. A call that may not run has its answer at once.
    fn admit_calls(
        &self,
        session: &mut ToolSession,
        answers: &mut [Option<ToolAnswer>],
        emit: &mut (dyn FnMut(TurnEvent) + Send),
    ) -> VecDeque<AdmittedCall<'a>> {
        let mut waiting = VecDeque::new();
        for (position, call) in self.calls.iter().enumerate() {
            match admit_call(call, self.tools, self.permissions, session) {
                Ok(tool) => waiting.push_back(AdmittedCall {
                    position,
                    call,
                    limit: tool
                        .timeout
                        .unwrap_or_else(|| self.limits.tools.limit_class(tool.class)),
                }),
                Err(refusal) => {
                    emit(begin_event(call));
                    let answer = ToolAnswer::from_error(refusal.reason).with_code(refusal.code);
                    self.keep_answer(answers, position, answer, emit);
                }
            }
        }
        waiting
    }

    fn start_call(&self, admitted: &AdmittedCall<'a>) -> BoxFuture<'a, ToolAnswer> {
        let (runner, call, limit) = (self.runner, admitted.call, admitted.limit);
        Box::pin(async move {
            match tokio::time::timeout(limit, runner.call_tool(call)).await {
                Ok(answer) => answer,
                Err(_) => ToolAnswer::from_error(format!(
                    "The tool `{}` did not answer within its limit of {}.",
                    call.name,
                    show_seconds(limit)
                )),
            }
        })
    }

    fn keep_answer(
        &self,
        answers: &mut [Option<ToolAnswer>],
        position: usize,
        answer: ToolAnswer,
        emit: &mut (dyn FnMut(TurnEvent) + Send),
    ) {
        if let Some(call) = self.calls.get(position) {
            emit(TurnEvent::ToolEnded {
                id: call.id.clone(),
                name: call.name.clone(),
                is_error: answer.is_error,
                bytes: u64::try_from(answer.text.len()).unwrap_or(u64::MAX),
            });
        }
        if let Some(kept) = answers.get_mut(position) {
            *kept = Some(answer);
        }
    }

    fn finish(&self, answers: Vec<Option<ToolAnswer>>, stopped: Option<StopCause>) -> CallResults {
        // Divided evenly and not by need: the order in which calls end must not decide what the model sees.
        let share = u64::try_from(self.calls.len()).unwrap_or(u64::MAX).max(1);
        let limit = TextLimit {
            bytes: self.limits.result_bytes,
            tokens: self.result_tokens / share,
        };
        let ends_turn = answers.iter().flatten().any(|answer| answer.ends_turn);
        let (mut runs, mut reads) = (Vec::new(), Vec::new());
        let results = self.calls.iter().zip(answers).map(|(call, answer)| {
            let mut answer =
                answer.unwrap_or_else(|| ToolAnswer::from_error(stop_reason(stopped, self.limits)));
            runs.append(&mut answer.runs);
            reads.append(&mut answer.reads);
            make_result(call, answer, limit)
        });
        let results = results.collect();
        CallResults {
            results,
            runs,
            reads,
            stopped,
            ends_turn,
        }
    }
}

/// Waits until one of the running calls ends, and removes it.
async fn next_ended(running: &mut Vec<RunningCall<'_>>) -> (usize, ToolAnswer) {
    // At most a handful of calls, so all of them are polled whenever one may go on.
    std::future::poll_fn(|context| {
        for at in 0..running.len() {
            let Some(call) = running.get_mut(at) else { break };
            if let Poll::Ready(answer) = call.answer.as_mut().poll(context) {
                // The others keep their order: calls that end at once end in the order in which the model made them.
                return Poll::Ready((running.remove(at).position, answer));
            }
        }
        Poll::Pending
    })
    .await
}

fn begin_event(call: &ToolCall) -> TurnEvent {
    TurnEvent::ToolBegun {
        id: call.id.clone(),
        name: call.name.clone(),
        arguments: call.arguments.clone(),
    }
}

/// Words the result of a call that did not end.
fn stop_reason(stopped: Option<StopCause>, limits: &TurnLimits) -> String {
    match stopped {
        Some(StopCause::TotalTime) => format!(
            "The call was stopped, because the turn reached its limit of {}.",
            show_seconds(limits.total)
        ),
        Some(StopCause::Cancelled) | None => "The call was cancelled by the user.".to_owned(),
    }
}

fn show_seconds(time: Duration) -> String {
    format!("{} s", time.as_secs_f64())
}
