//! Record bodies: what the flow writes into the evidence, one small struct for each kind of record.
//!
//! Owns: the bodies. Never: holds a key, an authorization header or more of an endpoint than `host:port`.
//! Every body is a plain struct with a version of its record; nothing is flattened.

use agentos_api::{ContextReport, NextStep};
use agentos_evidence::{DeviceBody, RecordKind};
use agentos_landing::{LandingReport, Refusal};
use agentos_policy::{ApprovalHashes, Consent, Decision, ToolFacts};
use agentos_tool::{ContextFile, ExecutionMode, FileRead, FinishReason, Timestamp, ToolResult};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::context::Withheld;
use crate::ports::{CommitAuthor, Durability, EffectError, Evidence, TargetInfo};
use crate::recorded_answer::AnswerSource;
use crate::request_drift::RequestDrift;
use crate::task_options::{FollowedRun, TaskOptions};
use crate::{Cause, Outcome, OutcomeKind};

/// The body of a record by the record's kind, only for the published schema.
#[derive(JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FlowBody {
    /// The beginning of a run.
    Task(Kept<Begin<'static>>),
    /// The task and files that a tool was shown.
    Attempt(Kept<Prompted<'static>>),
    /// A tool's answer.
    Answer(Kept<Answered<'static>>),
    /// The engine's verdict on a call.
    ToolResult(Kept<Called<'static>>),
    /// How an answer was placed.
    Landing(Kept<LandingBody<'static>>),
    /// The result of the user's check.
    Check(Kept<CheckBody<'static>>),
    /// Policy's decision.
    Decision(Kept<DecisionBody<'static>>),
    /// A person's answer to a request for consent.
    Consent(Kept<ConsentBody<'static>>),
    /// A device that a person paired or revoked.
    Device(DeviceBody),
    /// The end of a run without a change, with the reason.
    Refusal(Kept<RefusalBody<'static>>),
}

/// A body as the tape keeps it.
#[derive(JsonSchema)]
// The kind of the record says which body it is, so the body needs no tag of its own.
#[serde(untagged)]
pub enum Kept<T> {
    /// Complete, in the record itself.
    Whole(T),
    /// Stored as a blob, because it is too long for a line of the tape.
    Spilled(Spilled<'static>),
}

/// The beginning of a run.
#[derive(Serialize, JsonSchema)]
pub struct Begin<'a> {
    pub verb: &'a str,
    pub provider: &'a str,
    pub model: Option<&'a str>,
    pub execution_mode: ExecutionMode,
    pub instruction: &'a str,
    pub target: &'a TargetInfo,
    pub policy_sha256: &'a str,
    /// The commit message without trailers. Absent if the run is to land nothing, and on tapes of earlier versions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<&'a str>,
    /// The author whom the answer names. Absent if the person who lands it is the author.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author: Option<&'a CommitAuthor>,
    /// Trailers of the commit, as far as they were known when the run began.
    #[serde(default, skip_serializing_if = "<[(String, String)]>::is_empty")]
    pub trailers: &'a [(String, String)],
    /// Options with which the same task can be given again. Absent if a person brought the answer, and on tapes of earlier
    /// versions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub options: Option<&'a TaskOptions>,
    /// The earlier run whose task and answer the tool is shown. Absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub follows: Option<&'a FollowedRun>,
    /// The recorded answer that the run lands. Absent if it has an answer of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<&'a AnswerSource>,
}

/// The task and files that a tool was shown.
#[derive(Serialize, JsonSchema)]
pub struct Prompted<'a> {
    pub attempt: u32,
    pub prompt_sha256: &'a str,
    pub context: Vec<&'a str>,
    /// The parts of files of which the tool was not shown the whole text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<ShownPart<'a>>,
    /// Files of which the tool was shown the definitions alone, besides these parts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outlined: Vec<&'a str>,
    pub withheld: &'a [Withheld],
    /// How the files were chosen: the window, its division, and what did not fit. Absent if nothing was chosen, and on tapes of
    /// earlier versions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub choice: Option<&'a ContextReport>,
}

/// Lines of a file that a tool was shown.
#[derive(Serialize, JsonSchema)]
pub struct ShownPart<'a> {
    pub path: &'a str,
    pub first_line: u64,
    pub last_line: u64,
    pub total_lines: u64,
}

impl<'a> ShownPart<'a> {
    /// Returns the lines of a part. `None` if the file was shown whole.
    pub fn from_file(file: &'a ContextFile) -> Option<Self> {
        let part = file.part.as_ref()?;
        Some(Self {
            path: &file.path,
            first_line: part.first_line,
            last_line: part.last_line,
            total_lines: part.total_lines,
        })
    }
}

/// A tool's answer, byte for byte.
#[derive(Serialize, JsonSchema)]
pub struct Answered<'a> {
    pub attempt: u32,
    pub answer_sha256: &'a str,
    pub bytes: usize,
}

/// The engine's verdict on a call.
#[derive(Serialize, JsonSchema)]
pub struct Called<'a> {
    pub attempt: u32,
    pub result: &'a ToolResult,
    /// How the answer ended. Absent if there is none, and on tapes of earlier versions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finish: Option<FinishReason>,
    /// The tool's output besides its answer, as a blob.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transcript_sha256: Option<&'a str>,
    /// Texts of the repository that the tool called for. Absent if it called for none, and on tapes of earlier versions.
    #[serde(default, skip_serializing_if = "<[FileRead]>::is_empty")]
    pub reads: &'a [FileRead],
    /// Calls of the user's programs. Absent if there are none, and on tapes of earlier versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<RecordedCall<'a>>,
    /// Files that the program could read, for each of its starts. Empty if the tool is no program that works in a copy; absent on
    /// tapes of earlier versions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub views: Option<Vec<RecordedView>>,
}

/// Files of a commit that a program could read: all except those that policy withheld from the program.
#[derive(Serialize, JsonSchema)]
pub struct RecordedView {
    /// The commit.
    pub commit: String,
    /// The tree of the commit.
    pub tree: String,
    /// The paths of the withheld files as a blob: a JSON list in the order of their names.
    pub withheld_sha256: String,
    /// Number of these files.
    pub withheld: u64,
}

/// Call of one of the user's programs.
#[derive(Serialize, JsonSchema)]
pub struct RecordedCall<'a> {
    /// Name of the tool, with its toolbox in front.
    pub name: &'a str,
    /// The whole call with its result as a blob (`ProgramCall`), without secrets.
    pub call_sha256: String,
    /// True if the call failed, or was stopped.
    pub is_error: bool,
}

/// Counts the bytes of the texts that a tool called for, by the record of its call.
pub(crate) fn count_read_bytes(called: &serde_json::Value) -> u64 {
    let reads = called.get("reads").and_then(serde_json::Value::as_array);
    let bytes = reads
        .into_iter()
        .flatten()
        .filter_map(|read| read.get("bytes")?.as_u64());
    bytes.fold(0, u64::saturating_add)
}

/// How an answer was placed.
#[derive(Serialize, JsonSchema)]
pub struct LandingBody<'a> {
    pub attempt: u32,
    pub base_commit: &'a str,
    pub diff_sha256: Option<&'a str>,
    /// Edits that have one place may land although others have none.
    pub partial: bool,
    /// The canonical diff, as a blob.
    pub diff_blob_sha256: Option<&'a str>,
    pub report: &'a LandingReport,
}

/// The result of the user's check.
#[derive(Serialize, JsonSchema)]
pub struct CheckBody<'a> {
    pub attempt: u32,
    pub command: &'a str,
    pub base_commit: &'a str,
    /// The change. `None` if the command ran on the base commit as it is.
    pub diff_sha256: Option<&'a str>,
    pub passed: bool,
    /// The exit code. `None` if the command was killed at its time limit.
    pub code: Option<u8>,
    /// The last part of the command's output, as a blob.
    pub output_sha256: &'a str,
    pub elapsed_ms: u64,
    /// The sandbox layers that confined the command.
    pub layers: &'a [String],
    /// The hook of the repository that this is the result of. Absent if it is the user's check.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hook: Option<&'a str>,
    /// Files that a hook changed, `.git/COMMIT_EDITMSG` for the message. What it wrote there was not taken.
    #[serde(default, skip_serializing_if = "<[String]>::is_empty")]
    pub changed: &'a [String],
}

/// Policy's decision.
#[derive(Serialize, JsonSchema)]
pub struct DecisionBody<'a> {
    pub diff_sha256: &'a str,
    pub base_commit: &'a str,
    pub target_ref: &'a str,
    /// The rules except the built-in ones, as a blob.
    pub policy_blob_sha256: &'a str,
    pub decision: &'a Decision,
}

/// A change that waits for a person's consent. Everything that is needed to land it is on the tape.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConsentRequest {
    /// The hashes to which a consent will be bound.
    pub hashes: ApprovalHashes,
    /// The target of the change.
    pub target: TargetInfo,
    /// The canonical diff, as a blob of the tape. The answer as it came, if it has not been placed.
    pub diff_blob_sha256: String,
    /// True if the answer could not be placed and waits all the same: it is about a file that policy withholds from its proposer, who must
    /// not learn from a refusal what is in it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_unplaced: bool,
    /// Facts about the tool that made the change.
    pub tool: ToolFacts,
    /// The model that the answer itself names. `None` if it names none.
    pub reported_model: Option<String>,
    /// Commit message without trailers.
    pub message: String,
    /// Trailers besides run and evidence.
    pub trailers: Vec<(String, String)>,
    /// The author whom the answer names. `None` if the person who lands it is the author.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<CommitAuthor>,
    /// Time after which the request cannot be answered.
    pub expires: Timestamp,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes fields by reference"
)]
fn is_false(flag: &bool) -> bool {
    !*flag
}

/// A person's answer to a request for consent.
#[derive(Serialize, JsonSchema)]
pub struct ConsentBody<'a> {
    pub given: bool,
    pub hashes: &'a ApprovalHashes,
    pub consent: Option<&'a Consent>,
    /// The request that a person may still answer. `None` if somebody was asked, or nothing is to be written.
    pub request: Option<&'a ConsentRequest>,
    /// The run whose request this answers. `None` if the run asked itself.
    pub answers: Option<&'a str>,
    /// Differences between that request and the state that was asked about. Left out if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drift: Option<&'a RequestDrift>,
    /// Why the request can no longer be answered. Left out if it can.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub void: Option<&'a str>,
    /// Reason that the person gave who declined. Left out if none was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comment: Option<&'a str>,
}

/// The executor's plan, before anything is written.
#[derive(Serialize)]
pub(crate) struct IntentBody<'a> {
    pub plan: Value,
    pub hashes: &'a ApprovalHashes,
}

/// The end of a run that did not land.
#[derive(Serialize, JsonSchema)]
pub struct RefusalBody<'a> {
    pub outcome: OutcomeKind,
    pub cause: Cause,
    pub code: Option<&'a str>,
    pub message: &'a str,
    pub hint: Option<&'a str>,
    #[serde(default, skip_serializing_if = "<[NextStep]>::is_empty")]
    pub next: &'a [NextStep],
    #[serde(default, skip_serializing_if = "<[String]>::is_empty")]
    pub causes: &'a [String],
    pub diff_sha256: Option<&'a str>,
}

impl<'a> RefusalBody<'a> {
    /// Makes the body from an outcome, without report, decision and verdict, which have records of their own.
    pub(crate) fn from_outcome(outcome: &'a Outcome) -> Self {
        Self {
            outcome: outcome.outcome,
            cause: outcome.cause,
            code: outcome.code.as_deref(),
            message: &outcome.message,
            hint: outcome.hint.as_deref(),
            next: &outcome.next,
            causes: &outcome.causes,
            diff_sha256: outcome.diff_sha256.as_deref(),
        }
    }
}

/// Reference to a body that is too long for a line of the tape.
#[derive(Serialize, JsonSchema)]
pub struct Spilled<'a> {
    body_sha256: &'a str,
    body_bytes: usize,
    /// Commit and tree of a receipt or an intent stay on the tape: they link it to the history even if the blob is lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tree: Option<&'a str>,
}

/// Longest body that stays in the record; a longer one becomes a blob. Well under the tape's limit for a line.
const LONGEST_BODY: usize = 256 << 10;

/// Records a step that is durable when this returns, and returns its hash.
pub(crate) fn record_now<T: Serialize>(
    evidence: &mut dyn Evidence,
    kind: RecordKind,
    record: &T,
) -> Result<String, EffectError> {
    place_record(evidence, kind, record, Durability::Now)
}

/// Records a step that is durable once the evidence is synced, and returns its hash.
pub(crate) fn record_at_sync<T: Serialize>(
    evidence: &mut dyn Evidence,
    kind: RecordKind,
    record: &T,
) -> Result<String, EffectError> {
    place_record(evidence, kind, record, Durability::AtSync)
}

/// Records a step that becomes durable with the next one.
pub(crate) fn record_with_next<T: Serialize>(
    evidence: &mut dyn Evidence,
    kind: RecordKind,
    record: &T,
) -> Result<(), EffectError> {
    let body = tape_body(evidence, record)?;
    log_record(kind, &body);
    evidence.record(kind, body, Durability::WithNext).map(drop)
}

fn place_record<T: Serialize>(
    evidence: &mut dyn Evidence,
    kind: RecordKind,
    record: &T,
    durability: Durability,
) -> Result<String, EffectError> {
    let body = tape_body(evidence, record)?;
    log_record(kind, &body);
    let hash = evidence.record(kind, body, durability)?;
    let missing = || EffectError::new(Cause::Internal, "record", "a record was placed without a hash");
    // Only `WithNext` has no hash yet, and this function is not called with it.
    hash.ok_or_else(missing)
}

/// Logs a step, so that `-vv` shows what was asked and answered as it happens. The body contains no secrets any more, and as JSON
/// no control characters.
fn log_record(kind: RecordKind, body: &Value) {
    // Longer ones hold diffs and file lists, which the evidence shows better.
    const LONGEST_LINE: usize = 2_000;
    if tracing::enabled!(tracing::Level::DEBUG) {
        let text = body.to_string();
        let shown: String = text.chars().take(LONGEST_LINE).collect();
        tracing::debug!(?kind, bytes = text.len(), body = %shown, "record");
    }
}

/// Returns a record's body as the tape keeps it.
fn tape_body<T: Serialize>(evidence: &mut dyn Evidence, record: &T) -> Result<Value, EffectError> {
    let whole = clean_value(record)?;
    // Measured after secrets were removed: that is the text that would be on the line.
    let text = whole.to_string();
    if text.len() <= LONGEST_BODY {
        return Ok(whole);
    }
    let body_sha256 = evidence.store_blob(text.as_bytes())?;
    // A receipt has commit and tree at the top; an intent has them one level deeper, in the plan.
    let fact = |name: &str| {
        let parts = [Some(&whole), whole.get("plan")];
        parts
            .into_iter()
            .flatten()
            .find_map(|part| part.get(name)?.as_str())
    };
    let spilled = to_json(&Spilled {
        body_sha256: &body_sha256,
        body_bytes: text.len(),
        commit: fact("commit"),
        tree: fact("tree"),
    })?;
    parse_json(&spilled)
}

/// Returns a record as JSON text without secrets, for a blob.
pub(crate) fn clean_json<T: Serialize>(record: &T) -> Result<String, EffectError> {
    Ok(clean_value(record)?.to_string())
}

/// Returns lines of text without secrets.
pub(crate) fn clean_lines(lines: &[String]) -> Result<Vec<String>, EffectError> {
    serde_json::from_value(clean_value(&lines)?).map_err(|error| no_json_error(&error))
}

/// Returns a record as JSON without secrets.
fn clean_value<T: Serialize>(record: &T) -> Result<Value, EffectError> {
    agentos_evidence::remove_secrets(parse_json(&to_json(record)?)?)
        .map_err(|error| EffectError::from_error(Cause::Internal, "record", &error))
}

/// Returns a record as JSON text. A record that has none is a bug, not a failure of the user's.
fn to_json<T: Serialize>(record: &T) -> Result<String, EffectError> {
    serde_json::to_string(record).map_err(|error| no_json_error(&error))
}

fn parse_json(text: &str) -> Result<Value, EffectError> {
    serde_json::from_str(text).map_err(|error| no_json_error(&error))
}

fn no_json_error(error: &serde_json::Error) -> EffectError {
    let message = format!("a record cannot be written as JSON: {error}");
    EffectError::from_source(Cause::Internal, "record", message, error)
}

/// Returns the refusal of a report; a general one if the report has none.
pub(crate) fn refusal_of(report: &LandingReport) -> Refusal {
    // Landing gives every refused report a refusal. Without one, the run must still end with a code.
    report.refusal.clone().unwrap_or_else(|| {
        Refusal::new(
            agentos_landing::RefusalCode::Malformed,
            "the answer does not land",
        )
    })
}
