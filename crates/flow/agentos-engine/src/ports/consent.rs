//! The port to a person who consents to a change, or does not.
//!
//! Owns: the question and its answers. Never: takes silence for a yes.

use std::pin::Pin;

use agentos_landing::Change;
use agentos_policy::{ApprovalHashes, Consent, Decision};

use crate::request_drift::RequestDrift;

/// Seconds of a week.
const WEEK: u64 = 7 * 24 * 3600;

/// Asks a person, or speaks for one who said yes beforehand.
pub trait ConsentPort {
    /// Asks the question and waits for the answer. Dropping the future withdraws the question.
    fn ask<'a>(&'a mut self, question: ConsentQuestion<'a>) -> ConsentFuture<'a>;

    /// Returns true if a person decides about every change, also about one that policy allows: in a conversation, a person says
    /// when a change lands.
    fn asks_always(&self) -> bool {
        false
    }

    /// Returns the seconds for which a request that nobody answers stays open. `None` if it stays open until somebody answers.
    fn open_seconds(&self) -> Option<u64> {
        Some(WEEK)
    }
}

/// Waits for a person's answer. It lives on the thread of its run.
pub type ConsentFuture<'a> = Pin<Box<dyn Future<Output = Answer> + 'a>>;

/// The question whether a person consents to a change.
#[derive(Debug, Clone, Copy)]
pub struct ConsentQuestion<'a> {
    /// The change.
    pub change: &'a Change,
    /// The decision, with the rules that ask and their reasons.
    pub decision: &'a Decision,
    /// The hashes to which an answer is bound.
    pub hashes: &'a ApprovalHashes,
    /// Differences from the request of an earlier run that is answered. `None` if there are none, or the run asks for
    /// itself.
    pub drift: Option<&'a RequestDrift>,
}

/// A person's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "a run has one answer at a time")]
pub enum Answer {
    /// Yes, by whom, when and how.
    Yes(Consent),
    /// No.
    No,
    /// Nobody could be asked.
    Nobody,
}
