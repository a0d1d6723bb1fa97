//! Runs as objects: one handle starts a run, receives its events, answers, stops and awaits it.
//!
//! Owns: the thread of a run, its channels to the caller, and its end. Never: does the work; see `run/worker.rs`.
//!
//! | the caller | the run's own thread |
//! |---|---|
//! | [`Runs::start_run`] returns a [`RunHandle`] | opens repository and tape, finishes or rolls back an interrupted landing |
//! | [`RunEvents::next`] | sends [`RunEvent`]s: notices, progress, records of the tape |
//! | [`RunControl::answer`] | waits if policy asks for a person: an answer counts only for the change of its question |
//! | [`RunControl::cancel`] | closes the connection or ends the program; an open question stays open in the queue of requests |
//! | [`RunHandle::outcome`] | records the end, signs it, and sends the outcome |
//!
//! Git's objects, the tape and confined children block the thread that uses them, so each run has a thread of its own, and everything
//! that the caller holds is `Send`. A run whose handle is dropped goes on to its end: nobody answers its question then, and its request
//! waits with the others.

use std::sync::Arc;
use std::thread;

use agentos_engine::Cause;
use agentos_engine::open_requests::RevisedDiff;
use agentos_engine::ports::EffectError;
use agentos_policy::ConsentProof;
use agentos_tool::RunId;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::oneshot;

use crate::Runs;
use agentos_ground::Ground;
use agentos_ground::answer_spec::{AnswerSpec, RelandSpec};
use agentos_ground::clock;
use agentos_ground::consent::ConsentAnswer;
use agentos_ground::control::{self, RunControl, Stopping};
use agentos_ground::events::{self, RunEvents};
use agentos_ground::notice::HostObserver;
use agentos_ground::options::SessionOptions;
use agentos_ground::proposals::ProposalSpec;
use agentos_ground::run_end::RunEnd;
use agentos_ground::task_spec::TaskSpec;

mod worker;

/// The order for a run: its work, its target and its consent.
#[derive(Debug, Clone)]
pub struct RunSpec {
    /// The run's id. `None` means a new one.
    pub id: Option<RunId>,
    /// The target and the limits of the run.
    pub session: SessionOptions,
    /// The source of consent if policy asks.
    pub consent: ConsentMode,
    /// The work.
    pub work: RunWork,
    /// True if every record is also sent as an event.
    pub sends_records: bool,
}

impl RunSpec {
    /// Makes a run without consent and without records among its events.
    #[must_use]
    pub fn new(session: SessionOptions, work: RunWork) -> Self {
        Self {
            id: None,
            session,
            consent: ConsentMode::Nobody,
            work,
            sends_records: false,
        }
    }
}

/// The source of consent if policy asks for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConsentMode {
    /// The caller consents beforehand to every question.
    Beforehand {
        /// Name of the person, for the record.
        who: String,
        /// Way of consenting, for the record, such as `--yes`.
        how: String,
    },
    /// A person, through [`RunEvent::ConsentRequested`] and [`RunControl::answer`].
    Person,
    /// A person, as with [`ConsentMode::Person`], who is also asked about a change that policy allows.
    EveryChange,
    /// Nobody: a question waits in the queue of open requests.
    Nobody,
    /// Nobody now: every change waits in the queue of open requests, also one that policy allows.
    Later,
    /// Nobody now, as with [`ConsentMode::Later`], and the request stays open as long as that of a run: nobody sits at a conversation with
    /// this agent.
    Queue,
}

/// How the caller of an approval consents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApprovalMode {
    /// The run's own source of consent is asked.
    Asked,
    /// Naming the request is the consent. It counts only if the same lines change and the same rules decide as when the
    /// request was made.
    Named,
    /// Naming the request is the consent, as in [`ApprovalMode::Named`], and the person releases text of withheld files that the change has.
    NamedRelease,
    /// The person saw exactly this state and agreed. In any other state, nothing lands.
    Seen(ConsentAnswer),
    /// The person saw exactly this state, and their device signed the agreement. The caller has checked the signature.
    Signed(ConsentAnswer, Box<ConsentProof>),
}

/// The work of a run.
#[derive(Debug, Clone)]
pub enum RunWork {
    /// Ask a tool, and land its answer.
    Task(TaskSpec),
    /// Ask a tool once, and land nothing.
    Question(TaskSpec),
    /// Land an answer that the caller brings.
    Answer(AnswerSpec),
    /// Land a change that a model proposes in a conversation.
    Proposal(ProposalSpec),
    /// Land the change for which an earlier run requested consent.
    Approval {
        /// The run that requested consent.
        request: String,
        /// How the caller consents.
        consent: ApprovalMode,
        /// A diff of the person's own in place of the requested one. `None` if the requested one is to land.
        revision: Option<RevisedDiff>,
    },
    /// Land the recorded answer of an earlier run.
    Recorded(RelandSpec),
    /// Undo the landing of an earlier run.
    Undo {
        /// The run to undo. `None` means the last one that landed.
        run: Option<String>,
    },
}

/// A run that was started.
#[derive(Debug)]
pub struct RunHandle {
    id: RunId,
    events: RunEvents,
    control: RunControl,
    end: oneshot::Receiver<Result<RunEnd, EffectError>>,
}

impl RunHandle {
    /// Returns the run's id, which its records on the tape have.
    #[must_use]
    pub fn id(&self) -> &RunId {
        &self.id
    }

    /// Returns the run's events; they end when the run has ended.
    pub fn events(&mut self) -> &mut RunEvents {
        &mut self.events
    }

    /// Returns the control that stops the run and answers it. It can be cloned and sent elsewhere.
    #[must_use]
    pub fn control(&self) -> RunControl {
        self.control.clone()
    }

    /// Waits for the end of the run.
    ///
    /// # Errors
    /// If the run could not begin: no repository, an invalid profile, a policy that cannot be read.
    pub async fn outcome(self) -> Result<RunEnd, EffectError> {
        self.end.await.unwrap_or_else(|_| Err(lost_run()))
    }
}

/// A run on its caller's own thread, for work that takes milliseconds: starting a thread costs a fifth of a small landing.
pub struct InlineRun {
    ground: Ground,
    id: RunId,
    spec: RunSpec,
    stopping: Stopping,
    answers: UnboundedReceiver<ConsentAnswer>,
}

impl InlineRun {
    /// Does the run's work and returns its end. `observer` receives its notices and records directly; no person is asked to consent.
    ///
    /// # Errors
    /// As [`RunHandle::outcome`].
    pub fn finish(self, observer: Arc<dyn HostObserver>) -> Result<RunEnd, EffectError> {
        let ground = self.ground.with_observer(observer);
        // The receiver is dropped, so that a question finds nobody and its request stays open.
        let (sender, _) = events::event_channel(false);
        worker::run_to_end(&ground, &self.id, self.spec, &sender, self.stopping, self.answers)
    }
}

impl Runs<'_> {
    /// Prepares a run for the caller's own thread, with what stops it from another.
    #[must_use]
    pub fn prepare_run(self, spec: RunSpec) -> (InlineRun, RunControl) {
        let (control, stopping, answers) = control::control_channel();
        let run = InlineRun {
            ground: self.ground.clone(),
            id: spec.id.clone().unwrap_or_else(clock::new_run),
            spec,
            stopping,
            answers,
        };
        (run, control)
    }

    /// Starts a run on a thread of its own.
    ///
    /// # Errors
    /// If the system refuses a thread.
    pub fn start_run(self, spec: RunSpec) -> Result<RunHandle, EffectError> {
        let id = spec.id.clone().unwrap_or_else(clock::new_run);
        let (sender, events) = events::event_channel(spec.sends_records);
        let (control, stopping, answers) = control::control_channel();
        let (end, ended) = oneshot::channel();
        let ground = self.ground.clone().with_observer(Arc::new(sender.clone()));
        let run = id.clone();
        let work = move || {
            let done = worker::run_to_end(&ground, &run, spec, &sender, stopping, answers);
            // The events end before the outcome is sent, so that a caller that has the outcome can read all of them.
            drop((ground, sender));
            // The send fails if the caller dropped its handle, and then nobody waits for the end.
            let _ = end.send(done);
        };
        // Not `thread::spawn`, which panics if the system refuses a thread.
        let started = thread::Builder::new().name("agentos-run".to_owned()).spawn(work);
        started.map_err(|error| {
            let message = format!("cannot start a thread for the run: {error}");
            EffectError::from_source(Cause::Internal, "runtime", message, &error)
        })?;
        Ok(RunHandle {
            id,
            events,
            control,
            end: ended,
        })
    }
}

/// Makes the error of a run whose thread ended without an outcome, which only a panic can do.
fn lost_run() -> EffectError {
    EffectError::new(Cause::Internal, "run-lost", "the run ended without an outcome")
}

#[cfg(test)]
mod tests {
    use super::*;
    use agentos_ground::events::RunEvent;

    fn is_send<T: Send>() {}

    #[test]
    fn what_a_caller_holds_can_be_sent_to_another_thread() {
        is_send::<RunHandle>();
        is_send::<RunEvent>();
        is_send::<RunControl>();
        is_send::<RunEnd>();
        is_send::<Ground>();
    }
}
