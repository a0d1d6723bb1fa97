//! The JSON Schemas of the published shapes, generated from the types themselves.
//!
//! Owns: the list of published shapes. Never: reads the committed copies; they are made from this.

use agentos_api::{
    AuthStatus, ConsentReply, ContextReport, DoctorReport, EventReport, ExportReport, KeyReport, PolicyTest,
    ProfileReport, ReplayReport, ToolConform,
};
use agentos_engine::{FlowBody, Kept, Outcome};
use agentos_evidence::{Checkpoint, Record, VerifyReport};
use agentos_executor::{Intent, Receipt, Recovered};
use agentos_landing::LandingReport;
use agentos_policy::ApprovalHashes;
use agentos_profile::nearest;
use agentos_tool::{ToolMessage, ToolRequest, ToolResult, ToolTask};
use schemars::{JsonSchema, Schema};

use crate::evidence::{RunList, RunRecords, StatsReport};
use crate::health::HealthReport;
use crate::init::InitReport;
use crate::models::ModelList;
use crate::providers::ToolList;
use crate::requests::{DeniedRequest, OpenRequests};
use crate::rules::{PolicyCheck, PolicyExplain, PolicyLint, PolicyShow};
use crate::schema_text::{generate, printed};
use crate::session::RecoverReport;
use crate::status::StatusReport;

/// The body of a record under the name of the record's kind.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "it is there for its schema alone")]
enum RecordBody {
    /// A record of the flow.
    Flow(FlowBody),
    /// A record of the executor, or of a run's end.
    Effect(EffectBody),
}

/// The bodies of records about writes.
#[derive(JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(dead_code, reason = "it is there for its schema alone")]
enum EffectBody {
    /// The plan before anything is written; the commit contains the record's hash.
    Intent(Kept<IntentBody>),
    /// The receipt of a landing.
    Receipt(Kept<Receipt>),
    /// An interrupted landing that was finished or rolled back.
    Recovered(Kept<Recovered>),
    /// The head of the tape at the end of a run, signed.
    Checkpoint(Checkpoint),
}

/// The plan of a landing, and the hashes to which its consent is bound.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "it is there for its schema alone")]
struct IntentBody {
    plan: Intent,
    hashes: ApprovalHashes,
}

type Generator = fn() -> Schema;

/// Every published shape, by the name of its file.
const SHAPES: &[(&str, Generator)] = &[
    ("auth-status", generate::<AuthStatus>),
    ("consent-reply", generate::<ConsentReply>),
    ("context", generate::<ContextReport>),
    ("denied-request", generate::<DeniedRequest>),
    ("doctor", generate::<DoctorReport>),
    ("evidence-body", generate::<RecordBody>),
    ("evidence-export", generate::<ExportReport>),
    ("evidence-keys", generate::<KeyReport>),
    ("evidence-list", generate::<RunList<'static>>),
    ("evidence-record", generate::<Record>),
    ("evidence-replay", generate::<ReplayReport>),
    ("evidence-run", generate::<RunRecords<'static>>),
    ("evidence-stats", generate::<StatsReport>),
    ("evidence-verify", generate::<VerifyReport>),
    ("init", generate::<InitReport>),
    ("landing-report", generate::<LandingReport>),
    ("models", generate::<ModelList>),
    ("open-requests", generate::<OpenRequests>),
    ("outcome", generate::<Outcome>),
    ("policy", generate::<agentos_policy::PolicyFile>),
    ("policy-check", generate::<PolicyCheck>),
    ("policy-explain", generate::<PolicyExplain>),
    ("policy-lint", generate::<PolicyLint>),
    ("policy-show", generate::<PolicyShow>),
    ("policy-test", generate::<PolicyTest>),
    ("profile", generate::<agentos_profile::ProfileFile>),
    ("profile-show", generate::<ProfileReport>),
    ("receipt", generate::<Receipt>),
    ("recover", generate::<RecoverReport>),
    ("run-event", generate::<EventReport>),
    ("status", generate::<StatusReport>),
    ("tool-conform", generate::<ToolConform>),
    ("tool-health", generate::<HealthReport>),
    ("tool-list", generate::<ToolList>),
    ("tool-message", generate::<ToolMessage>),
    ("tool-request", generate::<ToolRequest>),
    ("tool-result", generate::<ToolResult>),
    ("tool-task", generate::<ToolTask>),
];

/// Lists the names of the published shapes, sorted.
#[must_use]
pub fn schema_names() -> Vec<&'static str> {
    SHAPES.iter().map(|(name, _)| *name).collect()
}

/// Returns the schema of a published shape as text. `None` if there is none of this name.
#[must_use]
pub fn schema_text(name: &str) -> Option<String> {
    let shape = SHAPES.iter().find(|(known, _)| *known == name);
    shape.map(|(_, generator)| printed(&generator()))
}

/// Returns the name of a published shape that is similar to this one. `None` if none is.
#[must_use]
pub fn nearest_schema(name: &str) -> Option<String> {
    nearest(name, SHAPES.iter().map(|(known, _)| *known)).map(Into::into)
}
