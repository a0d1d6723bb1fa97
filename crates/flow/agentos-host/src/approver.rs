//! Who answers when policy asks for a person's consent.
//!
//! Owns: the answers that are known beforehand. Never: takes silence for a yes.

use std::future::ready;

use agentos_engine::ports::{Answer, Clock, ConsentFuture, ConsentPort, ConsentQuestion};
use agentos_policy::{Consent, Hashes};

use crate::clock::SystemClock;
use crate::run::PersonAsker;

/// Who can be asked for consent in one session.
pub enum Approver {
    /// The caller consented beforehand to whatever is asked.
    Consenting {
        /// Who that is.
        who: String,
        /// How, for the record.
        how: String,
    },
    /// The caller consented to exactly this, which an earlier run asked for.
    Given(Box<Consent>),
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
            Self::Given(consent) => Answer::Yes((**consent).clone()),
            Self::Person(person) => return person.ask(question),
        };
        Box::pin(ready(answer))
    }
}

/// Writes down a person's consent to exactly these hashes, given now.
#[must_use]
pub fn consent_of(who: &str, how: &str, hashes: &Hashes) -> Consent {
    Consent {
        who: who.to_owned(),
        when: SystemClock.now(),
        how: how.to_owned(),
        hashes: hashes.clone(),
    }
}
