//! Report of a landing, hunk by hunk, for people, programs and models.
//!
//! Owns: the shape of the report. Never: contains whole files; excerpts are short.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Refusal;

/// Edit dialect in which a part of an answer is written.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Dialect {
    /// Unified diff, with or without git's header lines.
    #[default]
    UnifiedDiff,
    /// Search/replace blocks.
    SearchReplace,
    /// The `*** Begin Patch` envelope.
    PatchEnvelope,
    /// The whole new text of a file.
    WholeFile,
    /// JSON edits: `{"edits":[…]}`.
    JsonEdits,
}

/// Rung of the ladder on which a hunk was found, strictest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Rung {
    /// The lines are equal, at the stated line.
    ExactStated,
    /// The lines are equal, at another line than stated.
    ExactMoved,
    /// The lines are equal except for blanks at their ends.
    TrailingBlanks,
    /// The lines are equal except for one indentation shift that all of them share.
    Indentation,
    /// The lines are equal except for the number of blanks between words.
    Blanks,
    /// The lines are equal except for typographic look-alikes, such as curly quotes.
    Typography,
    /// Carried over from the file state that the tool saw, by a clean three-way merge.
    Merged,
    /// The whole file is given, so there is no place to find.
    WholeFile,
}

/// Repair that was needed to read or place an edit.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Repair {
    /// Stable name of the repair, such as `wrong-count` or `missing-prefix`.
    pub kind: String,
    /// Sentence that describes the repair.
    pub detail: String,
}

/// Status of one hunk or edit after landing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HunkStatus {
    /// The hunk has exactly one place.
    Landed,
    /// The file already contains the result of the hunk.
    AlreadyThere,
    /// The hunk has no place, or more than one.
    #[default]
    Refused,
}

/// Report of one hunk or edit.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HunkReport {
    /// Number of the hunk within its file in the answer; the first is 1.
    pub index: u32,
    /// Status of the hunk.
    pub status: HunkStatus,
    /// Rung on which the hunk was found. `None` if it was not found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rung: Option<Rung>,
    /// Line that the answer states; the first is 1. `None` if it states none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stated_line: Option<u64>,
    /// Line of the base at which the hunk was found. `None` if it was not found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found_line: Option<u64>,
    /// Lines at which the hunk would fit, if there are several; likely lines, if there is none.
    pub candidates: Vec<u64>,
    /// Repairs that were needed to read or place the hunk.
    pub repairs: Vec<Repair>,
    /// Reason why the hunk does not land. `None` if it lands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refusal: Option<Refusal>,
    /// First lines that the hunk expects, if it does not land.
    pub expected: Vec<String>,
    /// First lines of the file at the likely place, if the hunk does not land.
    pub actual: Vec<String>,
}

/// Report of one file of the answer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileReport {
    /// Path that the name was resolved to, or the name as written if it could not be resolved.
    pub path: String,
    /// Name as written. `None` if it equals the path apart from a prefix such as `a/`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub written_as: Option<String>,
    /// Dialect of the file's edits.
    pub dialect: Dialect,
    /// Repairs that concern the file as a whole.
    pub repairs: Vec<Repair>,
    /// Reason why the file as a whole is refused. `None` if it lands, or if the reasons are given by hunk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refusal: Option<Refusal>,
    /// Reports of its hunks or edits.
    pub hunks: Vec<HunkReport>,
}

impl FileReport {
    /// Returns true if the file as a whole, or a hunk of it, does not land.
    pub(crate) fn has_refusal(&self) -> bool {
        self.refusal.is_some() || self.hunks.iter().any(|hunk| hunk.refusal.is_some())
    }
}

/// Report of a whole landing. `refusal` is `None` if and only if the change landed, wholly or (`partial`) in part.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LandingReport {
    /// Version of this JSON shape: 1.
    pub version: u32,
    /// Reason why the answer as a whole is refused: the first one in the order of the answer. `None` if it landed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refusal: Option<Refusal>,
    /// Reports of the files, in the order of the answer.
    pub files: Vec<FileReport>,
    /// Notes: text that was skipped (prose, examples, a second copy of a hunk), and what a partial landing leaves
    /// out.
    pub notes: Vec<String>,
    /// True if a part of the answer was left out because a partial landing was requested. The files and hunks left
    /// out have a `refusal`.
    #[serde(default)]
    pub partial: bool,
}
