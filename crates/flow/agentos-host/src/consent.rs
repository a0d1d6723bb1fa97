//! A person's consent as a question and an answer between a run and its front end.
//!
//! Owns: both as values, and the wait between them. Never: takes an answer to another question for one to this.

use std::sync::Arc;

use agentos_engine::ports::{Answer, Clock, ConsentFuture, ConsentPort, ConsentQuestion};
use agentos_landing::Change;
use agentos_policy::{ApprovalHashes, Consent, Decision};
use tokio::sync::mpsc;

use crate::clock::SystemClock;
use crate::events::{EventSender, RunEvent};

/// What a person is asked to consent to.
#[derive(Debug, Clone)]
pub struct ConsentRequested {
    /// The change.
    pub change: Change,
    /// Which rules ask, and why.
    pub decision: Decision,
    /// What an answer is bound to.
    pub hashes: ApprovalHashes,
}

impl ConsentRequested {
    /// Makes a yes to exactly this; `who` says so, and `how` is for the record, as in `terminal`.
    #[must_use]
    pub fn yes(&self, who: impl Into<String>, how: impl Into<String>) -> ConsentAnswer {
        ConsentAnswer::Yes {
            hashes: Box::new(self.hashes.clone()),
            who: who.into(),
            how: how.into(),
        }
    }

    /// Makes a no to exactly this.
    #[must_use]
    pub fn no(&self) -> ConsentAnswer {
        ConsentAnswer::No {
            hashes: Box::new(self.hashes.clone()),
        }
    }
}

/// A person's answer to one question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConsentAnswer {
    /// Yes, to exactly these hashes.
    Yes {
        /// The question's hashes.
        hashes: Box<ApprovalHashes>,
        /// Who says so.
        who: String,
        /// How, for the record, as in `terminal`.
        how: String,
    },
    /// No.
    No {
        /// The question's hashes.
        hashes: Box<ApprovalHashes>,
    },
}

impl ConsentAnswer {
    /// Returns the hashes that the answer is bound to.
    fn hashes(&self) -> &ApprovalHashes {
        match self {
            Self::Yes { hashes, .. } | Self::No { hashes } => hashes,
        }
    }
}

/// Asks the person behind a run's handle.
pub struct PersonAsker {
    events: EventSender,
    answers: mpsc::UnboundedReceiver<ConsentAnswer>,
}

impl PersonAsker {
    pub(crate) fn new(events: EventSender, answers: mpsc::UnboundedReceiver<ConsentAnswer>) -> Self {
        Self { events, answers }
    }
}

impl ConsentPort for PersonAsker {
    fn ask<'a>(&'a mut self, question: ConsentQuestion<'a>) -> ConsentFuture<'a> {
        Box::pin(async move {
            let requested = Arc::new(ConsentRequested {
                change: question.change.clone(),
                decision: question.decision.clone(),
                hashes: question.hashes.clone(),
            });
            if !self.events.send(RunEvent::ConsentRequested(requested)) {
                return Answer::Nobody;
            }
            loop {
                let answer = match self.answers.recv().await {
                    // Nobody is left who could answer.
                    None => return Answer::Nobody,
                    Some(answer) => answer,
                };
                if answer.hashes() != question.hashes {
                    continue;
                }
                return match answer {
                    ConsentAnswer::No { .. } => Answer::No,
                    ConsentAnswer::Yes { who, how, .. } => {
                        Answer::Yes(consent_of(&who, &how, question.hashes))
                    }
                };
            }
        })
    }
}

/// Writes down a person's consent to exactly these hashes, given now.
#[must_use]
pub fn consent_of(who: &str, how: &str, hashes: &ApprovalHashes) -> Consent {
    Consent {
        who: who.to_owned(),
        when: SystemClock.now(),
        how: how.to_owned(),
        hashes: hashes.clone(),
    }
}
