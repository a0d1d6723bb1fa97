//! Events of a run, as a service streams them.
//!
//! Owns: the shape of each event. Never: the end of a run; that is its outcome.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Activity, ConsentPrompt, ContextReport, Notice};

/// One event of a run. Events are sent in the order in which they happen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EventReport {
    /// Version of this shape: 1.
    pub version: u32,
    /// The run.
    pub run: String,
    /// What happened.
    pub event: EventBody,
}

/// What happened in a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum EventBody {
    /// Something that takes a while has begun.
    Began {
        /// The work.
        activity: Activity,
    },
    /// Something is worth reporting, although nothing failed.
    Notice {
        /// The notice.
        notice: Notice,
    },
    /// Files were found for the task.
    ContextFound {
        /// The files.
        context: ContextReport,
    },
    /// A piece of the tool's answer has arrived.
    AnswerText {
        /// The piece. Untrusted text.
        text: String,
    },
    /// The tool's adapter has something to report.
    ToolNote {
        /// One sentence.
        text: String,
    },
    /// The tool said something besides its answer.
    ToolTranscript {
        /// The text as it came. Untrusted.
        text: String,
    },
    /// A record goes on the tape. Sent only to a caller that asked for records.
    Record {
        /// Kind of the record, as in `decision`; its schema in `evidence-body` is the one of this name.
        record: String,
        /// Time at which it was made, as in `2026-01-02T03:04:05.000Z`.
        at: String,
        /// Body without secrets; of a long one, the reference that stands for it on the tape.
        body: Value,
    },
    /// A person is asked for consent. A reply with the same binding answers.
    ConsentRequested {
        /// The question.
        prompt: ConsentPrompt,
    },
}
