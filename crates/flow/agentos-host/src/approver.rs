//! The approver: answers when policy asks for a person's consent.
//!
//! Owns: answers that were given before the question. Never: takes silence for a yes.

use std::future::ready;

use agentos_engine::ports::{Answer, ConsentFuture, ConsentPort, ConsentQuestion};

use crate::consent::{PersonAsker, consent_of};

/// A source of consent for one session.
pub enum Approver {
    /// The caller consented beforehand to every question.
    Consenting {
        /// Name of the person, for the record.
        who: String,
        /// Way of consenting, for the record, such as `--yes`.
        how: String,
    },
    /// A person whom the front end asks.
    Person(PersonAsker),
    /// Nobody.
    Nobody,
    /// Nobody now, and a person later, also for a change that policy allows.
    Later,
}

impl ConsentPort for Approver {
    fn ask<'a>(&'a mut self, question: ConsentQuestion<'a>) -> ConsentFuture<'a> {
        let answer = match self {
            Self::Nobody | Self::Later => Answer::Nobody,
            Self::Consenting { who, how } => Answer::Yes(consent_of(who, how, question.hashes)),
            Self::Person(person) => return person.ask(question),
        };
        Box::pin(ready(answer))
    }

    fn asks_always(&self) -> bool {
        matches!(self, Self::Later)
    }
}
