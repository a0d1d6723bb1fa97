//! The answers that a run lands without asking a model.
//!
//! Owns: what a caller says about an answer. Never: lands it.

use agentos_engine::ports::CommitAuthor;

/// An answer that the caller brings.
#[derive(Debug, Clone)]
pub struct AnswerSpec {
    /// The verb that the record names, such as `apply`.
    pub verb: String,
    /// The answer's bytes.
    pub answer: Vec<u8>,
    /// Description of the answer for the record: never more than a file name.
    pub instruction: String,
    /// The commit message. `None` if the names of the changed files are to be the subject.
    pub message: Option<String>,
    /// Land the edits that have a place, although other edits of the answer do not.
    pub partial: bool,
    /// The author whom the answer names, as a mail does. `None` if the person who lands it is the author.
    pub author: Option<CommitAuthor>,
    /// The trailers that the answer brings, such as `Signed-off-by` of a mail.
    pub trailers: Vec<(String, String)>,
}

/// The order to land a recorded answer.
#[derive(Debug, Clone)]
pub struct RelandSpec {
    /// The run that recorded it, as a person names it.
    pub run: String,
    /// True if it may land although it landed before.
    pub again: bool,
    /// The commit message. `None` takes the message of the run.
    pub message: Option<String>,
    /// Land the edits that have a place, although other edits of the answer do not.
    pub partial: bool,
    /// True if it may land although it did not pass the check of its run.
    pub unchecked: bool,
}
