//! Reads what a server says when it fails, in whatever shape it says it.
//!
//! Owns: the one reader of failures for every wire: the server's words, its codes, and the class that follows from both. Never:
//! cleans the words of a key, or decides about health and retries; [`Server`](crate::Server) and `verdict` do.
//!
//! | what arrives | read by |
//! |---|---|
//! | JSON of any shape: `error`, `errors`, `detail`, `message`, a list, a document of another service | `words` |
//! | plain text, the title of a web page, an event stream with an error status | `words` |
//! | codes, types, statuses and parameters in that JSON | `codes` |
//! | the class of the failure | `class`, one table |

mod class;
mod codes;
mod numbers;
mod words;

use std::time::Duration;

use agentos_net::Response;
use serde_json::Value;

pub(crate) use class::{FailureClass, THINKING};
use codes::FailureCodes;

/// Maximum characters of the words that are searched for a class. They are untrusted and may be long.
const READ: usize = 4000;

/// Failure as the server reports it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ServerFailure {
    /// The server's words, unfiltered: they may contain the key. Empty if the server said nothing.
    pub(crate) words: String,
    codes: FailureCodes,
    /// The words in lower case, as far as they are searched.
    searched: String,
    /// True if the document is the report of a failure, whatever its status.
    is_report: bool,
    /// True if the answer is a web page.
    pub(crate) is_page: bool,
}

impl ServerFailure {
    /// Reads a complete answer. For an answer that went well, [`ServerFailure::is_report`] is false.
    pub(crate) fn of_response(response: &Response) -> Self {
        let json: Option<Value> = serde_json::from_slice(&response.body).ok();
        match json {
            Some(json) => Self::of_document(&json),
            None => Self {
                is_page: words::is_page(response),
                ..Self::of_text(&response.body)
            },
        }
    }

    /// Reads a document, or the data of an event.
    pub(crate) fn of_document(json: &Value) -> Self {
        Self {
            codes: FailureCodes::read(json),
            is_report: words::is_report(json),
            ..Self::from_words(words::of_json(json))
        }
    }

    fn of_text(body: &[u8]) -> Self {
        match words::events_of(body).find(words::is_report) {
            Some(event) => Self::of_document(&event),
            None => Self::from_words(words::of_text(body)),
        }
    }

    fn from_words(words: String) -> Self {
        let searched: String = words.chars().take(READ).collect();
        Self {
            searched: searched.to_ascii_lowercase(),
            words,
            ..Self::default()
        }
    }

    /// Returns true if the document reports a failure, whatever its status.
    pub(crate) fn is_report(&self) -> bool {
        self.is_report
    }

    /// Returns the class. `status` is the one of HTTP, or the one that the document states.
    pub(crate) fn class(&self, status: Option<u16>) -> FailureClass {
        class::classify(self, status)
    }

    /// Returns the status that the document states, as gateways do in an answer or a stream with status 200. `None` if it states none.
    pub(crate) fn stated_status(&self) -> Option<u16> {
        self.codes.status()
    }

    /// Returns the tokens of the context window that the server states. `None` if it states none.
    pub(crate) fn window(&self) -> Option<u64> {
        self.codes
            .window()
            .or_else(|| numbers::find_window(&self.searched))
    }

    /// Returns the time after which the server's words ask for another try. `None` if they state none.
    pub(crate) fn wait(&self) -> Option<Duration> {
        self.codes.wait().or_else(|| numbers::find_wait(&self.searched))
    }

    fn mentions(&self, phrase: &str) -> bool {
        self.searched.contains(phrase)
    }
}

#[cfg(test)]
mod tests;
