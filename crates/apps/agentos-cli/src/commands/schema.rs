//! `agentos schema`: the JSON Schemas of the published shapes, generated from the types themselves.
//!
//! Owns: the list of published shapes. Never: reads the committed copies; they are made from this.

use agentos_engine::{FlowBody, Kept, Outcome};
use agentos_evidence::{Checkpoint, Record, VerifyReport};
use agentos_executor::{Intent, Receipt, Recovered};
use agentos_landing::LandingReport;
use agentos_policy::Hashes;
use agentos_profile::nearest;
use agentos_tool::{ToolHealth, ToolMessage, ToolRequest, ToolResult, ToolTask};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde::Serialize;

use crate::app::{App, Done, output_failed, usage};
use crate::args::evidence::SchemaArgs;
use crate::commands::approve::{DeniedRequest, OpenRequests};
use crate::commands::auth::AuthStatus;
use crate::commands::doctor::DoctorReport;
use crate::commands::evidence::{RunList, RunRecords, StatsReport};
use crate::commands::evidence_export::ExportReport;
use crate::commands::evidence_key::KeyReport;
use crate::commands::evidence_replay::ReplayReport;
use crate::commands::init::InitReport;
use crate::commands::models::ModelList;
use crate::commands::policy::{PolicyCheck, PolicyExplain, PolicyLint, PolicyShow, PolicyTest};
use crate::commands::probe::Probe;
use crate::commands::profile::Shown;
use crate::commands::recover::RecoverReport;
use crate::commands::status::StatusReport;
use crate::commands::tool_calls::ToolCallProbe;
use crate::commands::tool_conform::ToolConform;
use crate::commands::tool_list::ToolList;
use crate::exit::Exit;
use crate::wire::context::ContextReport;

/// `agentos tool health --json`.
#[derive(Serialize, JsonSchema)]
pub struct HealthReport {
    /// Version of this shape: 1.
    pub version: u32,
    /// One for each provider asked.
    pub tools: Vec<ToolHealth>,
    /// What connected ones made of a tiny edit, with `--probe`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub probes: Vec<Probe>,
    /// What connected ones made of a tool that they were offered, with `--probe-tools`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCallProbe>,
}

/// The body of a record under the name of the record's kind.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "it is there for its schema alone")]
enum RecordBody {
    /// Of what the flow says.
    Flow(FlowBody),
    /// Of what the executor did, and of a run's end.
    Effect(EffectBody),
}

/// The bodies of records that say what was written.
#[derive(JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(dead_code, reason = "it is there for its schema alone")]
enum EffectBody {
    /// What is about to be written; its hash is in the commit.
    Intent(Kept<IntentBody>),
    /// What was written.
    Receipt(Kept<Receipt>),
    /// What a crash left behind, and what became of it.
    Recovered(Kept<Recovered>),
    /// The head of the tape at the end of a run, signed.
    Checkpoint(Checkpoint),
}

/// What is about to be written, and what consent to it is bound to.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "it is there for its schema alone")]
struct IntentBody {
    plan: Intent,
    hashes: Hashes,
}

#[derive(Serialize)]
struct Names {
    version: u32,
    schemas: Vec<&'static str>,
}

type Generator = fn() -> Schema;

/// Every published shape, by the name of its file.
const SHAPES: &[(&str, Generator)] = &[
    ("auth-status", generate::<AuthStatus>),
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
    ("profile-show", generate::<Shown>),
    ("receipt", generate::<Receipt>),
    ("recover", generate::<RecoverReport>),
    ("status", generate::<StatusReport>),
    ("tool-conform", generate::<ToolConform>),
    ("tool-health", generate::<HealthReport>),
    ("tool-list", generate::<ToolList>),
    ("tool-message", generate::<ToolMessage>),
    ("tool-request", generate::<ToolRequest>),
    ("tool-result", generate::<ToolResult>),
    ("tool-task", generate::<ToolTask>),
];

/// Runs the verb.
pub fn schema(app: &App, args: &SchemaArgs) -> Done {
    let text = match (&args.name, args.list) {
        (Some(name), false) => {
            let shape = SHAPES.iter().find(|(known, _)| known == name).ok_or_else(|| {
                let near = nearest(name, SHAPES.iter().map(|(known, _)| *known));
                let near = near.map_or_else(String::new, |near| format!("did you mean `{near}`? "));
                usage(format!("there is no schema `{name}`"))
                    .hint(format!("{near}`agentos schema --list` names them all"))
            })?;
            printed(shape.1)
        }
        (Some(_) | None, _) if app.printer.json => {
            let names = SHAPES.iter().map(|(name, _)| *name).collect();
            app.printer
                .json(&Names {
                    version: 1,
                    schemas: names,
                })
                .map_err(|error| output_failed(&error))?;
            return Ok(Exit::Done);
        }
        (Some(_) | None, _) => SHAPES.iter().map(|(name, _)| format!("{name}\n")).collect(),
    };
    app.page(&text).map_err(|error| output_failed(&error))?;
    Ok(Exit::Done)
}

/// The text of a published schema; empty where there is none of this name.
pub fn text(name: &str) -> String {
    let shape = SHAPES.iter().find(|(known, _)| *known == name);
    shape
        .map(|(_, generator)| printed(*generator))
        .unwrap_or_default()
}

fn printed(generator: Generator) -> String {
    serde_json::to_string_pretty(&generator()).unwrap_or_default() + "\n"
}

fn generate<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12()
        .into_generator()
        .into_root_schema_for::<T>()
}
