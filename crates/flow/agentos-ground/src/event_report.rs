//! Events and answers of runs in their published form.
//!
//! Owns: the conversion of a run's own values to the types of `agentos-api` and back. Never: sends one.

use agentos_api::{ConsentBinding, ConsentPrompt, ConsentReason, ConsentReply, EventBody, EventReport};
use agentos_engine::request_drift::RequestDrift;
use agentos_policy::{ApprovalHashes, Reason};
use agentos_tool::{Progress, RunId};

use crate::consent::{ConsentAnswer, ConsentRequested};
use crate::events::RunEvent;

impl RunEvent {
    /// Returns the event in its published form, as a service streams it.
    #[must_use]
    pub fn to_report(&self, run: &RunId) -> EventReport {
        EventReport {
            version: 1,
            run: run.as_str().to_owned(),
            event: self.to_body(),
        }
    }

    fn to_body(&self) -> EventBody {
        match self {
            Self::Began(activity) => EventBody::Began { activity: *activity },
            Self::Notice(notice) => EventBody::Notice {
                notice: notice.clone(),
            },
            Self::ContextFound(context) => EventBody::ContextFound {
                context: context.as_ref().clone(),
            },
            Self::Progress(Progress::Text(text)) => EventBody::AnswerText { text: text.clone() },
            Self::Progress(Progress::Note(text)) => EventBody::ToolNote { text: text.clone() },
            Self::Progress(Progress::Transcript(text)) => EventBody::ToolTranscript { text: text.clone() },
            Self::Progress(Progress::Read(read)) => EventBody::FileRead {
                path: read.path.clone(),
                bytes: read.bytes,
            },
            Self::Progress(Progress::Viewed(view)) => EventBody::ToolNote {
                text: format!("the program sees the files of {}", view.commit),
            },
            Self::Progress(Progress::Called(call)) => EventBody::ProgramCalled {
                name: call.name.clone(),
                bytes: call.result.as_ref().map_or(0, |text| text.len() as u64),
                is_error: call.is_error,
            },
            Self::Record(record) => EventBody::Record {
                record: record.kind.as_str().to_owned(),
                at: record.at.to_string(),
                body: record.body.clone(),
            },
            Self::ConsentRequested(requested) => EventBody::ConsentRequested {
                prompt: requested.to_prompt(),
            },
        }
    }
}

impl ConsentRequested {
    /// Returns the question in its published form.
    #[must_use]
    pub fn to_prompt(&self) -> ConsentPrompt {
        let files = self.change.files().iter();
        ConsentPrompt {
            paths: files.map(|file| file.path.as_str().to_owned()).collect(),
            // Only for display: the consent is bound to the hash of the exact bytes.
            diff: String::from_utf8_lossy(self.change.canonical_diff()).into_owned(),
            reasons: self.decision.deciding().map(publish_reason).collect(),
            binding: publish_hashes(&self.hashes),
            since_request: self.drift.as_ref().map(RequestDrift::describe),
        }
    }
}

impl ConsentAnswer {
    /// Makes an answer from its published form. The caller knows `who` answered; `how` is for the record, as in `web form`.
    #[must_use]
    pub fn from_reply(reply: ConsentReply, who: impl Into<String>, how: impl Into<String>) -> Self {
        let hashes = Box::new(read_binding(reply.binding));
        match reply.agrees {
            true => Self::Yes {
                hashes,
                who: who.into(),
                how: how.into(),
                // A program that answers over the events cannot release text.
                releases_withheld: false,
            },
            false => Self::No { hashes },
        }
    }
}

fn publish_reason(reason: &Reason) -> ConsentReason {
    ConsentReason {
        rule: reason.rule.clone(),
        source: reason.source.clone(),
        why: reason.sentence().into_owned(),
        fix: reason.fix.clone(),
        path: reason.path.clone(),
    }
}

// The fields are named one by one, so that a new hash in policy cannot be forgotten here.
fn publish_hashes(hashes: &ApprovalHashes) -> ConsentBinding {
    let ApprovalHashes {
        diff_sha256,
        base_commit,
        policy_sha256,
        target_ref,
        writes,
    } = hashes.clone();
    ConsentBinding {
        diff_sha256,
        base_commit,
        policy_sha256,
        target_ref,
        writes,
    }
}

fn read_binding(binding: ConsentBinding) -> ApprovalHashes {
    let ConsentBinding {
        diff_sha256,
        base_commit,
        policy_sha256,
        target_ref,
        writes,
    } = binding;
    ApprovalHashes {
        diff_sha256,
        base_commit,
        policy_sha256,
        target_ref,
        writes,
    }
}

#[cfg(test)]
mod tests;
