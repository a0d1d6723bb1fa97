//! An answer on its way to a commit, and the effects that this needs.
//!
//! Owns: the data types. Never: runs a station; `settle` does.

use agentos_landing::SeenFile;
use agentos_policy::ToolFacts;
use agentos_tool::RunId;

use crate::ports::{
    Clock, CommitAuthor, CommitHooks, ConsentPort, Evidence, RecordReader, Repository, TargetInfo,
};
use crate::recorded_answer::AnswerSource;
use crate::request_drift::AnsweredRequest;

/// The effects a flow needs.
pub struct RunEffects<'a> {
    /// The repository and its target.
    pub repo: &'a dyn Repository,
    /// The tape.
    pub evidence: &'a mut dyn Evidence,
    /// A person, or nobody.
    pub consent: &'a mut dyn ConsentPort,
    /// The time.
    pub clock: &'a dyn Clock,
    /// The repository's commit hooks. `None` if they are not to run.
    pub hooks: Option<&'a dyn CommitHooks>,
    /// The tape of every run: no other run may answer the same request before the change lands, and earlier runs may have had text of
    /// withheld files. `None` if neither matters to the run.
    pub requests: Option<&'a dyn RecordReader>,
}

/// An untrusted answer and what is known about where it came from.
#[derive(Debug, Clone)]
pub struct Proposal<'a> {
    /// The run.
    pub run: &'a RunId,
    /// The answer's bytes.
    pub answer: &'a [u8],
    /// Files that the tool was shown.
    pub seen: Vec<SeenFile>,
    /// Facts about the tool that answered, for policy.
    pub tool: ToolFacts,
    /// The model that the answer itself names. `None` if it names none.
    pub reported_model: Option<String>,
    /// Commit message without trailers.
    pub message: String,
    /// Trailers besides run and evidence, which the executor adds.
    pub trailers: Vec<(String, String)>,
    /// The author whom the answer names. `None` if the person who lands it is the author.
    pub author: Option<CommitAuthor>,
    /// 1 for the first answer of a run.
    pub attempt: u32,
    /// Land the edits that have one place, although others have none. The report names the parts left out.
    pub partial: bool,
    /// The request for consent that this answers. `None` if it answers none.
    pub answers: Option<AnsweredRequest>,
    /// The recorded answer that this is. `None` if the answer is new.
    pub source: Option<AnswerSource>,
    /// The change that passed the user's check; only this one may land. `None` if nothing was checked.
    pub proved: Option<CheckedChange>,
}

impl Proposal<'_> {
    /// Returns the facts about the tool for policy. Rules can test the target, which is known only when the answer is placed.
    pub(crate) fn tool_at(&self, target: &TargetInfo) -> ToolFacts {
        ToolFacts {
            target_ref: Some(target.refname.clone()),
            ..self.tool.clone()
        }
    }
}

/// Returns the trailer that names the tool and the model of an answer.
#[must_use]
pub fn assisted_by(provider: &str, model: Option<&str>) -> (String, String) {
    // A model's name comes from the server: it must not be able to begin a trailer of its own.
    let model = model.unwrap_or("unknown").chars().filter(|c| !c.is_control());
    let model: String = model.take(100).collect();
    ("Assisted-by".to_owned(), format!("{provider}:{model}"))
}

/// A change that passed the user's check, and the commit it was checked on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedChange {
    /// The commit it was checked on.
    pub base_commit: String,
    /// SHA-256 of its canonical diff.
    pub diff_sha256: String,
}
