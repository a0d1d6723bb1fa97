//! A person's consent as a question and an answer between a run and its front end.
//!
//! Owns: both as values, and the wait between them. Never: accepts an answer to another question.

use std::sync::Arc;

use agentos_engine::ports::{Answer, Clock, ConsentFuture, ConsentPort, ConsentQuestion};
use agentos_engine::request_drift::RequestDrift;
use agentos_landing::Change;
use agentos_policy::{ApprovalHashes, Consent, Decision};
use tokio::sync::mpsc;

use crate::clock::SystemClock;
use crate::events::{EventSender, RunEvent};

/// A question to a person: the change that needs consent.
#[derive(Debug, Clone)]
pub struct ConsentRequested {
    /// The change.
    pub change: Change,
    /// The decision, with the rules that ask and their reasons.
    pub decision: Decision,
    /// The hashes to which an answer is bound.
    pub hashes: ApprovalHashes,
    /// Differences from the request of an earlier run that is answered. `None` if there are none, or the run asks for
    /// itself.
    pub drift: Option<RequestDrift>,
}

impl ConsentRequested {
    /// Makes a yes of the person `who` to exactly this change. `how` is for the record, as in `terminal`.
    #[must_use]
    pub fn yes(&self, who: impl Into<String>, how: impl Into<String>) -> ConsentAnswer {
        ConsentAnswer::Yes {
            hashes: Box::new(self.hashes.clone()),
            who: who.into(),
            how: how.into(),
            releases_withheld: false,
        }
    }

    /// Makes a yes that also releases the text of withheld files that the change has.
    #[must_use]
    pub fn yes_releasing(&self, who: impl Into<String>, how: impl Into<String>) -> ConsentAnswer {
        ConsentAnswer::Yes {
            hashes: Box::new(self.hashes.clone()),
            who: who.into(),
            how: how.into(),
            releases_withheld: true,
        }
    }

    /// Makes a no to exactly this change.
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
        /// Name of the person.
        who: String,
        /// Way of answering, for the record, such as `terminal`.
        how: String,
        /// True if the person releases text of withheld files that the change has.
        releases_withheld: bool,
    },
    /// No.
    No {
        /// The question's hashes.
        hashes: Box<ApprovalHashes>,
    },
}

impl ConsentAnswer {
    /// Returns the hashes that the answer is bound to.
    fn bound_hashes(&self) -> &ApprovalHashes {
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
    /// Makes the asker of a run from the ends of its two channels.
    pub fn new(events: EventSender, answers: mpsc::UnboundedReceiver<ConsentAnswer>) -> Self {
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
                drift: question.drift.cloned(),
            });
            if !self.events.send_event(RunEvent::ConsentRequested(requested)) {
                // The caller dropped its events, so no person can see the question.
                return Answer::Nobody;
            }
            loop {
                let answer = match self.answers.recv().await {
                    // Every control of the run was dropped, so nobody can answer any more.
                    None => return Answer::Nobody,
                    Some(answer) => answer,
                };
                // An answer to an earlier question, as when the change was placed again on a branch that moved.
                if answer.bound_hashes() != question.hashes {
                    continue;
                }
                return match answer {
                    ConsentAnswer::No { .. } => Answer::No,
                    ConsentAnswer::Yes {
                        who,
                        how,
                        releases_withheld,
                        ..
                    } => Answer::Yes(Consent {
                        releases_withheld,
                        ..consent_of(&who, &how, question.hashes)
                    }),
                };
            }
        })
    }
}

/// Makes a person's consent to exactly these hashes, with the current time.
#[must_use]
pub fn consent_of(who: &str, how: &str, hashes: &ApprovalHashes) -> Consent {
    Consent {
        who: who.to_owned(),
        when: SystemClock.now(),
        how: how.to_owned(),
        hashes: hashes.clone(),
        proof: None,
        releases_withheld: false,
    }
}
