//! Events: a run's messages to its caller while it works.
//!
//! Owns: the events and their channel. Never: reports a record with content that the tape does not have.

use std::sync::Arc;

use agentos_api::{Activity, ContextReport, Notice};
use agentos_evidence::RecordKind;
use agentos_tool::{Progress, ProgressSink, Timestamp};
use tokio::sync::mpsc;

use crate::consent::ConsentRequested;
use crate::notice::HostObserver;

/// An event of a run. Events arrive in the order in which they happened.
#[derive(Debug, Clone)]
pub enum RunEvent {
    /// A longer activity has begun.
    Began(Activity),
    /// Something that a person should know, although nothing failed.
    Notice(Notice),
    /// The files that were found for the task.
    ContextFound(Arc<ContextReport>),
    /// A piece of the answer, or a note on the way to it.
    Progress(Progress),
    /// A record that goes on the tape.
    Record(Arc<RecordSeen>),
    /// A person is asked; [`RunControl::answer`](crate::control::RunControl::answer) answers.
    ConsentRequested(Arc<ConsentRequested>),
}

/// A record that goes on the tape.
#[derive(Debug, Clone)]
pub struct RecordSeen {
    /// Kind of the record.
    pub kind: RecordKind,
    /// Time of the record.
    pub at: Timestamp,
    /// The body without secrets; if it is too long for the tape, the reference to its blob.
    pub body: serde_json::Value,
}

/// The events of one run. The channel has no bound, so that a run never waits for a caller that does not listen.
#[derive(Debug)]
pub struct RunEvents(mpsc::UnboundedReceiver<RunEvent>);

impl RunEvents {
    /// Waits for the next event. `None` once the run has ended and every event was read.
    pub async fn next(&mut self) -> Option<RunEvent> {
        self.0.recv().await
    }
}

/// The run's side of its events.
#[derive(Clone)]
pub struct EventSender {
    sender: mpsc::UnboundedSender<RunEvent>,
    sends_records: bool,
}

impl EventSender {
    /// Sends an event. Returns false if nobody listens any more.
    pub fn send_event(&self, event: RunEvent) -> bool {
        self.sender.send(event).is_ok()
    }
}

impl HostObserver for EventSender {
    fn on_notice(&self, notice: Notice) {
        self.send_event(RunEvent::Notice(notice));
    }

    fn on_activity(&self, activity: Activity) {
        self.send_event(RunEvent::Began(activity));
    }

    fn on_record(&self, kind: RecordKind, at: &Timestamp, body: &serde_json::Value) {
        // A body can be large, and a caller that only shows progress does not read it: it is copied on request only.
        if self.sends_records {
            self.send_event(RunEvent::Record(Arc::new(RecordSeen {
                kind,
                at: at.clone(),
                body: body.clone(),
            })));
        }
    }
}

impl ProgressSink for EventSender {
    fn progress(&self, progress: Progress) {
        self.send_event(RunEvent::Progress(progress));
    }
}

/// Makes both sides of a run's events.
pub fn event_channel(sends_records: bool) -> (EventSender, RunEvents) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let sender = EventSender {
        sender,
        sends_records,
    };
    (sender, RunEvents(receiver))
}
