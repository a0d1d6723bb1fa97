//! The JSON Schemas of the published shapes, generated from the types themselves.
//!
//! Owns: the list of published shapes. Never: reads the committed copies; they are made from this.

use agentos_api::{
    AuthStatus, ConsentReply, ContextReport, DoctorReport, ErrorReport, EventReport, ExportReport, KeyReport,
    PolicyTest, ProfileReport, PublishReport, ReplayReport, ToolConform,
};
use agentos_catalog::ModelsFile;
use agentos_engine::{FlowBody, Kept, Outcome};
use agentos_evidence::{Checkpoint, Record, VerifyReport};
use agentos_executor::{Intent, Receipt, Recovered};
use agentos_landing::LandingReport;
use agentos_ledger::{SessionRecord, TurnRecord};
use agentos_policy::ApprovalHashes;
use agentos_pool::{ChoiceReplay, PoolChoice};
use agentos_profile::nearest_word;
use agentos_select::SelectorRequest;
use agentos_tool::{ToolMessage, ToolRequest, ToolResult, ToolTask, ToolboxMessage, ToolboxRequest};
use schemars::{JsonSchema, Schema};

use agentos_calls::budgets::BudgetReport;
use agentos_calls::chat_report::ChatReport;
use agentos_calls::costs::{CostReport, RebuildReport};
use agentos_calls::health::HealthReport;
use agentos_calls::machine::MachineReport;
use agentos_calls::model_memory::ModelActionReport;
use agentos_calls::models::ModelList;
use agentos_calls::pools::{PoolAbilities, PoolImport, PoolList, PoolStatistics};
use agentos_calls::provider_list::ToolList;
use agentos_ground::schema_text::{format_schema, generate_schema};
use agentos_ground::service_tokens::TokenList;
use agentos_providers::added_server::AddedServer;
use agentos_providers::settings::{SettingsReport, settings_schema};
use agentos_providers::toolboxes::ToolboxReview;
use agentos_providers::user_models::{ChangedModel, ImportReport};
use agentos_runs::init::InitReport;
use agentos_runs::recover::RecoverReport;
use agentos_runs::requests::{DeniedRequest, OpenRequests};
use agentos_runs::rules::{PolicyCheck, PolicyExplain, PolicyLint, PolicyShow};
use agentos_stories::evidence::{RunList, RunRecords, StatsReport};
use agentos_stories::run_log::RunLog;
use agentos_stories::run_story::RunStory;
use agentos_stories::status::StatusReport;
use agentos_talk::conversation::TurnReport;
use agentos_talk::session_export::SessionExport;
use agentos_talk::sessions::{SessionChange, SessionList, SessionSearch, SessionStory};

/// The body of a record under the name of the record's kind.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "it is there for its schema alone")]
enum RecordBody {
    /// A record of the flow.
    Flow(FlowBody),
    /// A record of the executor, or of a run's end.
    Effect(Box<EffectBody>),
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
    /// A turn, on the user's tape.
    Turn(TurnRecord),
    /// An event of a session, on the user's tape.
    Session(SessionRecord),
    /// Texts of conversations that were removed.
    Removed(RemovedBody),
}

/// The plan of a landing, and the hashes to which its consent is bound.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "it is there for its schema alone")]
struct IntentBody {
    plan: Intent,
    hashes: ApprovalHashes,
}

/// The blobs that were removed, by their digests.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "it is there for its schema alone")]
struct RemovedBody {
    blobs: Vec<String>,
}

type Generator = fn() -> Schema;

/// Every published shape, by the name of its file.
const SHAPES: &[(&str, Generator)] = &[
    ("auth-status", generate_schema::<AuthStatus>),
    ("chat-change", generate_schema::<SessionChange>),
    ("chat-export", generate_schema::<SessionExport>),
    ("chat-reply", generate_schema::<ChatReport>),
    ("chat-search", generate_schema::<SessionSearch>),
    ("chat-session", generate_schema::<SessionStory>),
    ("chat-sessions", generate_schema::<SessionList>),
    ("chat-turn", generate_schema::<TurnReport>),
    ("config", generate_schema::<SettingsReport>),
    ("consent-reply", generate_schema::<ConsentReply>),
    ("context", generate_schema::<ContextReport>),
    ("budgets", generate_schema::<BudgetReport>),
    ("cost", generate_schema::<CostReport>),
    ("denied-request", generate_schema::<DeniedRequest>),
    ("doctor", generate_schema::<DoctorReport>),
    ("error", generate_schema::<ErrorReport>),
    ("evidence-body", generate_schema::<RecordBody>),
    ("evidence-export", generate_schema::<ExportReport>),
    ("evidence-keys", generate_schema::<KeyReport>),
    ("evidence-list", generate_schema::<RunList<'static>>),
    ("evidence-publish", generate_schema::<PublishReport>),
    ("evidence-record", generate_schema::<Record>),
    ("evidence-replay", generate_schema::<ReplayReport>),
    ("evidence-run", generate_schema::<RunRecords<'static>>),
    ("evidence-stats", generate_schema::<StatsReport>),
    ("evidence-verify", generate_schema::<VerifyReport>),
    ("init", generate_schema::<InitReport>),
    ("landing-report", generate_schema::<LandingReport>),
    ("machine", generate_schema::<MachineReport>),
    ("added-server", generate_schema::<AddedServer>),
    ("model-action", generate_schema::<ModelActionReport>),
    ("model-change", generate_schema::<ChangedModel>),
    ("models", generate_schema::<ModelList>),
    ("models-file", generate_schema::<ModelsFile>),
    ("models-import", generate_schema::<ImportReport>),
    ("open-requests", generate_schema::<OpenRequests>),
    ("outcome", generate_schema::<Outcome>),
    ("policy", generate_schema::<agentos_policy::PolicyFile>),
    ("policy-check", generate_schema::<PolicyCheck>),
    ("policy-explain", generate_schema::<PolicyExplain>),
    ("policy-lint", generate_schema::<PolicyLint>),
    ("policy-show", generate_schema::<PolicyShow>),
    ("policy-test", generate_schema::<PolicyTest>),
    ("pool-abilities", generate_schema::<PoolAbilities>),
    ("pool-choice", generate_schema::<PoolChoice>),
    ("pool-import", generate_schema::<PoolImport>),
    ("pool-list", generate_schema::<PoolList>),
    ("pool-replay", generate_schema::<ChoiceReplay>),
    ("pool-selector", generate_schema::<SelectorRequest>),
    ("pool-stats", generate_schema::<PoolStatistics>),
    ("profile", generate_schema::<agentos_profile::ProfileFile>),
    ("profile-show", generate_schema::<ProfileReport>),
    ("receipt", generate_schema::<Receipt>),
    ("recover", generate_schema::<RecoverReport>),
    ("run-event", generate_schema::<EventReport>),
    ("run-log", generate_schema::<RunLog>),
    ("run-story", generate_schema::<RunStory>),
    ("service-tokens", generate_schema::<TokenList>),
    ("settings", settings_schema),
    ("status", generate_schema::<StatusReport>),
    ("store-rebuild", generate_schema::<RebuildReport>),
    ("tool-conform", generate_schema::<ToolConform>),
    ("tool-health", generate_schema::<HealthReport>),
    ("tool-list", generate_schema::<ToolList>),
    ("tool-message", generate_schema::<ToolMessage>),
    ("tool-request", generate_schema::<ToolRequest>),
    ("tool-result", generate_schema::<ToolResult>),
    ("tool-task", generate_schema::<ToolTask>),
    ("tool-trust", generate_schema::<ToolboxReview>),
    ("toolbox-message", generate_schema::<ToolboxMessage>),
    ("toolbox-request", generate_schema::<ToolboxRequest>),
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
    shape.map(|(_, generator)| format_schema(&generator()))
}

/// Returns the name of a published shape that is similar to this one. `None` if none is.
#[must_use]
pub fn nearest_schema(name: &str) -> Option<String> {
    nearest_word(name, SHAPES.iter().map(|(known, _)| *known)).map(Into::into)
}
