//! The approver: answers when policy asks for a person's consent.
//!
//! Owns: answers that were given before the question, and how long a question stays open. Never: takes silence for a yes.

use std::future::ready;

use agentos_engine::ports::{Answer, ConsentFuture, ConsentPort, ConsentQuestion};

use crate::Providers;
use agentos_ground::Ground;
use agentos_ground::consent::{PersonAsker, consent_of};

/// A source of consent for one session.
pub struct Approver {
    source: ConsentSource,
    /// Host with the settings of the user. `None` if the session leaves no request.
    ground: Option<Ground>,
}

/// A source of consent.
pub enum ConsentSource {
    /// The caller consented beforehand to every question.
    Consenting {
        /// Name of the person, for the record.
        who: String,
        /// Way of consenting, for the record, such as `--yes`.
        how: String,
    },
    /// A person whom the front end asks.
    Person(PersonAsker),
    /// A person whom the front end asks, also about a change that policy allows.
    Reviewer(PersonAsker),
    /// Nobody.
    Nobody,
    /// Nobody now, and a person later, also for a change that policy allows.
    Later,
    /// Nobody now, and a person later, with the time of a run's request.
    Queue,
}

impl Approver {
    /// Makes the approver of a run. Its requests stay open as long as the user's settings say.
    pub fn new(ground: &Ground, source: ConsentSource) -> Self {
        Self {
            source,
            ground: Some(ground.clone()),
        }
    }

    /// Makes the approver of a session that asks nothing.
    pub fn nobody() -> Self {
        Self {
            source: ConsentSource::Nobody,
            ground: None,
        }
    }
}

impl ConsentPort for Approver {
    fn ask<'a>(&'a mut self, question: ConsentQuestion<'a>) -> ConsentFuture<'a> {
        let answer = match &mut self.source {
            ConsentSource::Nobody | ConsentSource::Later | ConsentSource::Queue => Answer::Nobody,
            ConsentSource::Consenting { who, how } => Answer::Yes(consent_of(who, how, question.hashes)),
            ConsentSource::Person(person) | ConsentSource::Reviewer(person) => return person.ask(question),
        };
        Box::pin(ready(answer))
    }

    fn asks_always(&self) -> bool {
        match self.source {
            ConsentSource::Later | ConsentSource::Queue | ConsentSource::Reviewer(_) => true,
            ConsentSource::Consenting { .. } | ConsentSource::Person(_) | ConsentSource::Nobody => false,
        }
    }

    fn open_seconds(&self) -> Option<u64> {
        let settings = self
            .ground
            .as_ref()
            .map(|ground| Providers::of(ground).read_settings());
        // A mistake in the settings is reported by the verbs that need them. A request is never open for longer because of one.
        let settings = settings.and_then(Result::ok).unwrap_or_default();
        let key = match self.source {
            // In a conversation a person sits there. A change that was proposed an hour ago is not the one they think of.
            ConsentSource::Later => "proposal_time",
            // The agent of another program works on while its user does something else.
            ConsentSource::Queue
            | ConsentSource::Consenting { .. }
            | ConsentSource::Person(_)
            | ConsentSource::Reviewer(_)
            | ConsentSource::Nobody => "request_time",
        };
        match settings.number_or_usual(key) {
            0 => None,
            seconds => Some(seconds),
        }
    }
}
