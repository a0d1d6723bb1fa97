//! Differences between a request for consent and the change that would land now.
//!
//! Owns: the comparison, its record and its words. Never: decides about a consent; it only states what differs.
//!
//! A request is bound to the exact state of one moment. Until a person answers, the branch may move and rules may change.
//! The recorded diff is then placed and decided again, and the person is asked about the new state.

use agentos_landing::{Change, DiffDifference, compare_diffs};
use agentos_policy::{ApprovalHashes, Decision, Reason};
use agentos_tool::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Most moved hunks that are listed. A change with more is read as a diff.
const MOST_HUNKS: usize = 100;

/// Request of an earlier run that is answered now.
#[derive(Debug, Clone)]
pub struct AnsweredRequest {
    /// The run that asked.
    pub run: String,
    /// The hashes to which the request was bound.
    pub hashes: ApprovalHashes,
    /// The canonical diff that the request was about.
    pub diff: Vec<u8>,
    /// The reasons that decided then. `None` if their record is not on the tape.
    pub reasons: Option<Vec<Reason>>,
    /// Time after which the request cannot be answered.
    pub expires: Timestamp,
    /// How a person changed the diff before answering. `None` if it is the requested one.
    pub revision: Option<DiffRevision>,
    /// True if `diff` is the answer as it came, which had not been placed.
    pub is_unplaced: bool,
}

/// How a person changed a requested diff.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DiffRevision {
    /// The person chose some of its files or hunks.
    Chosen,
    /// The person edited its text.
    Edited,
}

/// Differences between a request and the state in which its change would land.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RequestDrift {
    /// The hashes to which the request was bound.
    pub request: ApprovalHashes,
    /// Number of commits by which the base moved. `None` if the old base does not lead to the new one.
    pub commits: Option<u64>,
    /// How the change differs.
    pub change: ChangeDrift,
    /// Hunks that are at other lines, at most the first 100. Only if that is the difference.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub moved: Vec<HunkMove>,
    /// How the rules that decide differ.
    pub rules: RuleDrift,
}

/// How a change differs from the requested one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeDrift {
    /// Every byte of the diff is equal.
    Identical,
    /// Equal lines change, at other line numbers or next to other parts of the file.
    LineNumbers,
    /// Other lines change, or the lines around them are others.
    Different,
    /// A person chose a part of it.
    Chosen,
    /// A person edited it.
    Edited,
}

/// Hunk that is at another line than in the request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HunkMove {
    /// Path of the file.
    pub path: String,
    /// First line in the base of the request.
    pub from: u64,
    /// First line in the base now.
    pub to: u64,
}

/// How the rules that decide differ from those of the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RuleDrift {
    /// Equal: the same rules decide for the same reasons.
    Same,
    /// Other rules decide, or for other reasons.
    Other,
    /// The rules of the request are not on the tape.
    Unknown,
}

impl AnsweredRequest {
    /// Compares the request with the change that would land now. `None` if nothing differs.
    pub(crate) fn find_drift(
        &self,
        change: &Change,
        decision: &Decision,
        hashes: &ApprovalHashes,
        count_commits: impl FnOnce(&str, &str) -> Option<u64>,
    ) -> Option<RequestDrift> {
        let asked = ApprovalHashes {
            // A request for an answer was made for whatever change it is on this base.
            diff_sha256: match self.is_unplaced {
                true => hashes.diff_sha256.clone(),
                false => self.hashes.diff_sha256.clone(),
            },
            ..self.hashes.clone()
        };
        if asked == *hashes && self.revision.is_none() {
            return None;
        }
        let (change_drift, moved) = match (self.revision, compare_diffs(&self.diff, change.canonical_diff()))
        {
            (Some(DiffRevision::Chosen), _) => (ChangeDrift::Chosen, Vec::new()),
            (Some(DiffRevision::Edited), _) => (ChangeDrift::Edited, Vec::new()),
            (None, DiffDifference::None) => (ChangeDrift::Identical, Vec::new()),
            (None, DiffDifference::LineNumbers(moved)) => {
                let path = |file: usize| change.files().get(file).map(|file| file.path.to_string());
                let moves = moved.into_iter().take(MOST_HUNKS).map(|hunk| HunkMove {
                    path: path(hunk.file).unwrap_or_default(),
                    from: hunk.from,
                    to: hunk.to,
                });
                (ChangeDrift::LineNumbers, moves.collect())
            }
            (None, DiffDifference::Lines) => (ChangeDrift::Different, Vec::new()),
        };
        Some(RequestDrift {
            request: self.hashes.clone(),
            commits: count_commits(&self.hashes.base_commit, &hashes.base_commit),
            change: change_drift,
            moved,
            rules: compare_reasons(self.reasons.as_deref(), decision),
        })
    }
}

impl RequestDrift {
    /// Returns whether a consent to the request, given without another look, may count for the state now: the same lines
    /// change, and either the same rules decide for the same reasons, or the rules of now `allow` the change without a person.
    #[must_use]
    pub fn is_same_act(&self, allows: bool) -> bool {
        let same_lines = match self.change {
            ChangeDrift::Identical | ChangeDrift::LineNumbers => true,
            ChangeDrift::Different | ChangeDrift::Chosen | ChangeDrift::Edited => false,
        };
        same_lines && (allows || self.rules == RuleDrift::Same)
    }

    /// Describes the differences in one sentence without a full stop. It quotes no untrusted text but paths.
    #[must_use]
    pub fn describe(&self) -> String {
        let base = match self.commits {
            Some(0) => None,
            Some(1) => Some("the base moved by 1 commit".to_owned()),
            Some(commits) => Some(format!("the base moved by {commits} commits")),
            None => Some("the base was replaced, as by a rebase".to_owned()),
        };
        let change = match self.change {
            ChangeDrift::Identical => "the change is the same".to_owned(),
            ChangeDrift::LineNumbers if self.moved.is_empty() => {
                "the same lines change, at the same places".to_owned()
            }
            ChangeDrift::LineNumbers => {
                format!("the same lines change, at other places: {}", self.list_moves())
            }
            ChangeDrift::Different => "the change is another on the new base".to_owned(),
            ChangeDrift::Chosen => "a part of the change was chosen".to_owned(),
            ChangeDrift::Edited => "the change was edited".to_owned(),
        };
        let rules = match self.rules {
            RuleDrift::Same => "the same rules decide",
            RuleDrift::Other => "the decision is another",
            RuleDrift::Unknown => "the rules of the request are not recorded",
        };
        let parts = base.into_iter().chain([change, rules.to_owned()]);
        parts.collect::<Vec<_>>().join("; ")
    }

    /// Lists the first moved hunks.
    fn list_moves(&self) -> String {
        let shown = self.moved.iter().take(3);
        let mut words: Vec<String> = shown
            .map(|hunk| format!("`{}` line {} is {} now", hunk.path, hunk.from, hunk.to))
            .collect();
        let more = self.moved.len().saturating_sub(3);
        if more > 0 {
            words.push(format!("and {more} more"));
        }
        words.join(", ")
    }
}

/// Compares the reasons that decided with those that decide now.
fn compare_reasons(then: Option<&[Reason]>, now: &Decision) -> RuleDrift {
    let Some(then) = then else {
        return RuleDrift::Unknown;
    };
    // Not the line of a rule, which moves with every edit above it, nor `and_more`, which only counts.
    let is_same = |one: &Reason, other: &Reason| {
        (&one.rule, one.layer, &one.source, one.effect, &one.why, &one.path)
            == (
                &other.rule,
                other.layer,
                &other.source,
                other.effect,
                &other.why,
                &other.path,
            )
    };
    let mut now = now.deciding();
    let all_same = then
        .iter()
        .all(|one| now.next().is_some_and(|other| is_same(one, other)));
    if all_same && now.next().is_none() {
        RuleDrift::Same
    } else {
        RuleDrift::Other
    }
}
