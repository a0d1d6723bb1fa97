//! What landing found out, hunk by hunk, for people, programs and models.
//!
//! Owns: the report's shape. Never: holds whole files; excerpts are short.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Refusal;

/// The edit dialects that landing reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Dialect {
    /// A git or plain unified diff.
    UnifiedDiff,
    /// Search/replace blocks.
    SearchReplace,
    /// The `*** Begin Patch` envelope.
    PatchEnvelope,
    /// Whole files.
    WholeFile,
    /// `{"edits":[…]}`.
    JsonEdits,
}

/// The rungs of the ladder, strictest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Rung {
    /// Exact, at the stated line.
    ExactStated,
    /// Exact, elsewhere.
    ExactMoved,
    /// Equal but for blanks at line ends.
    TrailingBlanks,
    /// Equal but for one indentation shift.
    Indentation,
    /// Equal but for how many blanks stand between words.
    Blanks,
    /// Equal but for typographic look-alikes.
    Typography,
    /// Carried over from the state the tool saw, by a clean three-way merge.
    Merged,
    /// The whole file is given: no place to find.
    WholeFile,
}

/// What had to be put right to read or place an edit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Repair {
    /// A stable name, as in `wrong-count` or `missing-prefix`.
    pub kind: String,
    /// One sentence.
    pub detail: String,
}

/// What became of one hunk or edit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HunkStatus {
    /// It has one place.
    Landed,
    /// Its result is there already.
    AlreadyThere,
    /// It has none, or more than one.
    Refused,
}

/// One hunk or edit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HunkReport {
    /// 1 for the first of its file in the answer.
    pub index: u32,
    /// What became of it.
    pub status: HunkStatus,
    /// The rung on which it was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rung: Option<Rung>,
    /// The line the answer names (1 is the first), where it names one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stated_line: Option<u64>,
    /// The line of the base at which it was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found_line: Option<u64>,
    /// Lines at which it would fit, when there is more than one; or likely ones, when there is none.
    pub candidates: Vec<u64>,
    /// What was repaired.
    pub repairs: Vec<Repair>,
    /// Why it does not land.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refusal: Option<Refusal>,
    /// The lines the hunk expects, at most a few, where it does not land.
    pub expected: Vec<String>,
    /// The real lines nearby, at most a few, where it does not land.
    pub actual: Vec<String>,
}

/// One file of the answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileReport {
    /// The path it was taken to mean, or the path as written where it means none.
    pub path: String,
    /// The path as written, where it differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub written_as: Option<String>,
    /// The dialect it came in.
    pub dialect: Dialect,
    /// What was repaired about the file as a whole.
    pub repairs: Vec<Repair>,
    /// Why the file as a whole is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refusal: Option<Refusal>,
    /// Its hunks or edits.
    pub hunks: Vec<HunkReport>,
}

/// The whole report. `refusal` is none if and only if the change landed, wholly or (`partial`) in part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LandingReport {
    /// Version of this shape: 1.
    pub version: u32,
    /// Why the answer as a whole is refused: the first reason in the answer's order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refusal: Option<Refusal>,
    /// File by file, in the answer's order.
    pub files: Vec<FileReport>,
    /// Things set aside: prose, fences, a second copy of a hunk; and what a partial landing leaves out.
    pub notes: Vec<String>,
    /// A part of the answer was left out, as was asked for: the files and hunks that have a `refusal`.
    #[serde(default)]
    pub partial: bool,
}
