//! Conversations with a built-in adapter in a child process.
//!
//! Owns: the stream of events that leads out of the child. Never: passes on the end of an answer before the child has ended as it
//! should.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};

use agentos_model::{ChatEvent, ChatRequest, ChatStream, Model};
use agentos_sandbox::{Sandbox, SandboxProbe, StopHandle};
use agentos_tool::{BoxFuture, Confinement, ToolError};

use crate::AgentError;
use crate::adapter::describe_confinement;
use crate::event_queue::EventQueue;
use crate::hosted::{Host, HostedCall, HostedCore, HostedLine, HostedWork, usable_probe};

/// Model that answers in a confined child process, one for each conversation.
pub struct HostedModel {
    here: Box<dyn Model>,
    inner: Arc<HostedCore>,
    held: SandboxProbe,
    limits: ChatLimits,
    /// Number of the next call, for the name of its folders.
    next: AtomicU64,
}

/// Name and time limit of the calls of a hosted model.
#[derive(Debug, Clone)]
pub struct ChatLimits {
    /// Name of the run folders, which no other call of this machine has.
    pub name: String,
    /// Seconds for a whole answer, which the adapter enforces itself.
    pub total_seconds: u64,
}

impl HostedModel {
    /// Hosts the model `here`. `held` is the result of probing the sandbox: if it cannot confine, the model is called in this
    /// process and only observed.
    #[must_use]
    pub fn new(
        here: Box<dyn Model>,
        host: Host,
        sandbox: Sandbox,
        held: SandboxProbe,
        limits: ChatLimits,
    ) -> Self {
        let provider = here.provider_name().to_owned();
        Self {
            here,
            inner: Arc::new(HostedCore::new(provider, host, sandbox)),
            held: usable_probe(held),
            limits,
            next: AtomicU64::new(0),
        }
    }
}

impl Model for HostedModel {
    fn provider_name(&self) -> &str {
        self.here.provider_name()
    }

    fn chat<'a>(&'a self, request: &'a ChatRequest) -> Box<dyn ChatStream + 'a> {
        if self.held.get().is_err() {
            return self.here.chat(request);
        }
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        Box::new(HostedStream {
            inner: Arc::clone(&self.inner),
            // Moved to the thread with the first event: a stream that nobody reads starts no process.
            unsent: Some(UnsentChat {
                name: format!("{}.{number}", self.limits.name),
                seconds: self.limits.total_seconds,
                request: request.clone(),
            }),
            queue: EventQueue::default(),
            stop: StopHandle::default(),
            worker: None,
        })
    }

    fn confinement(&self) -> Confinement {
        describe_confinement(self.held.get(), self.inner.last_run())
    }
}

/// Conversation that was not sent yet.
struct UnsentChat {
    name: String,
    seconds: u64,
    request: ChatRequest,
}

/// Answer of a child process. Dropping it ends the process.
struct HostedStream {
    inner: Arc<HostedCore>,
    unsent: Option<UnsentChat>,
    queue: EventQueue,
    stop: StopHandle,
    worker: Option<JoinHandle<()>>,
}

impl HostedStream {
    /// Starts the thread that waits for the child.
    ///
    /// # Errors
    /// If the system refuses a thread.
    fn start_child(&mut self, chat: UnsentChat) -> Result<(), ToolError> {
        let (inner, queue, stop) = (Arc::clone(&self.inner), self.queue.clone(), self.stop.clone());
        let work = move || {
            let ended = inner.run_chat(&chat, &stop, &queue);
            queue.end_stream(ended);
        };
        let started = thread::Builder::new().spawn(work);
        self.worker = Some(started.map_err(|_| AgentError::Thread.into_tool_error(0))?);
        Ok(())
    }
}

impl ChatStream for HostedStream {
    fn next_event(&mut self) -> BoxFuture<'_, Result<Option<ChatEvent>, ToolError>> {
        Box::pin(async move {
            if let Some(chat) = self.unsent.take() {
                self.start_child(chat)?;
            }
            match &self.worker {
                Some(_) => self.queue.next_event().await,
                None => Ok(None),
            }
        })
    }
}

impl Drop for HostedStream {
    fn drop(&mut self) {
        // First, because the thread may wait for room in the queue.
        self.queue.close();
        self.stop.stop();
        // The sandbox kills the child when it is stopped, so the thread ends soon. It is joined, because the folders of the run
        // must not be used after the call.
        if let Some(worker) = self.worker.take() {
            let _ = worker.join();
        }
    }
}

impl HostedCore {
    /// Runs a conversation in a child, and passes its events on.
    ///
    /// # Errors
    /// If there is no complete answer.
    fn run_chat(&self, chat: &UnsentChat, stop: &StopHandle, queue: &EventQueue) -> Result<(), ToolError> {
        let (mut finish, mut failure) = (None, None);
        let call = HostedCall {
            name: chat.name.clone(),
            seconds: chat.seconds,
            work: HostedWork::Chat(&chat.request),
        };
        let ended = self.run_child(&call, stop, &mut |line| match line {
            // The end waits until the child has ended: a child that breaks off afterwards has not ended as it should.
            Some(HostedLine::Event {
                event: event @ ChatEvent::Finish(_),
            }) => finish = Some(event),
            Some(HostedLine::Event { event }) if finish.is_none() => queue.push_event(event),
            Some(HostedLine::Error { error }) => failure = Some(error),
            // A line that is no message, or one after the end, makes the end invalid.
            Some(
                HostedLine::Event { .. }
                | HostedLine::Text { .. }
                | HostedLine::Note { .. }
                | HostedLine::Output { .. },
            )
            | None => finish = None,
        });
        let ended = ended.map_err(|error| error.into_tool_error(0))?;
        if let Some(error) = failure {
            return Err(ended.explain_error(error));
        }
        match finish {
            Some(event) => {
                queue.push_event(event);
                Ok(())
            }
            None => Err(self.missing_end(&ended).into_tool_error(0)),
        }
    }
}
