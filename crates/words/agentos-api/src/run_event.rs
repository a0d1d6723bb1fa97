//! Events of a run, as a service streams them.
//!
//! Owns: the shape of each event. Never: reports the end of a run; that is its outcome.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Activity, ConsentPrompt, ContextReport, Notice};

/// Event of a run. Events are sent in the order in which they happen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EventReport {
    /// Version of this shape: 1.
    pub version: u32,
    /// Id of the run.
    pub run: String,
    /// Content of the event.
    pub event: EventBody,
}

/// Content of an event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
// Tagged inside the object, so that a page can select by `event.kind` without knowing every kind.
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum EventBody {
    /// An activity that may take long has begun.
    Began {
        /// Activity that began.
        activity: Activity,
    },
    /// A notice, although nothing failed.
    Notice {
        /// The notice.
        notice: Notice,
    },
    /// Files were selected as context for the task.
    ContextFound {
        /// The files.
        context: ContextReport,
    },
    /// A piece of the tool's answer arrived.
    AnswerText {
        /// The piece. Untrusted text.
        text: String,
    },
    /// The tool's adapter reports something.
    ToolNote {
        /// Note in one sentence.
        text: String,
    },
    /// The tool wrote something that is not part of its answer.
    ToolTranscript {
        /// Text as the tool wrote it. Untrusted.
        text: String,
    },
    /// The tool was shown a text of the repository that it called for.
    FileRead {
        /// Path in the repository.
        path: String,
        /// Bytes of the text.
        bytes: u64,
    },
    /// The tool called one of the user's programs.
    ProgramCalled {
        /// Name of the tool, with its toolbox in front.
        name: String,
        /// Bytes of the result. 0 if there is none.
        bytes: u64,
        /// True if the call failed, or was stopped.
        is_error: bool,
    },
    /// A record is appended to the tape. Sent only to callers that subscribed to records.
    Record {
        /// Kind of the record, as in `decision`. The definition of this name in the schema `evidence-body` describes its body.
        record: String,
        /// Time of the record, as in `2026-01-02T03:04:05.000Z`.
        at: String,
        /// Body with secrets removed. A long body is replaced by its reference, as on the tape.
        // Untyped, because the bodies of records are defined by the kernel, and a front end in another process
        // depends on words alone.
        body: Value,
    },
    /// A person's consent is requested. A reply with the same binding answers it.
    ConsentRequested {
        /// Request for consent.
        prompt: ConsentPrompt,
    },
}
