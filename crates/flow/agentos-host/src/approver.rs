//! Who answers when policy asks for a person's consent.
//!
//! Owns: the answers that are known beforehand. Never: takes silence for a yes.

use std::future::ready;

use agentos_engine::ports::{Answer, ConsentFuture, ConsentPort, ConsentQuestion};

use crate::consent::{PersonAsker, consent_of};

/// Who can be asked for consent in one session.
pub enum Approver {
    /// The caller consented beforehand to whatever is asked.
    Consenting {
        /// Who that is.
        who: String,
        /// How, for the record.
        how: String,
    },
    /// A person whom the front end asks.
    Person(PersonAsker),
    /// Nobody.
    Nobody,
}

impl ConsentPort for Approver {
    fn ask<'a>(&'a mut self, question: ConsentQuestion<'a>) -> ConsentFuture<'a> {
        let answer = match self {
            Self::Nobody => Answer::Nobody,
            Self::Consenting { who, how } => Answer::Yes(consent_of(who, how, question.hashes)),
            Self::Person(person) => return person.ask(question),
        };
        Box::pin(ready(answer))
    }
}
