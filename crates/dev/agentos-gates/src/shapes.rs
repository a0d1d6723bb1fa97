//! The JSON Schemas of what a gate writes, generated from the types themselves.
//!
//! Owns: which type has which schema. Never: reads the committed copies; they are made from this.

use agentos_schema::SchemaName;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};

use crate::error::GateError;
use crate::results::{GateResults, HealthSummary};

/// The schema of one of the shapes that gates write, as text.
pub(crate) fn schema(name: SchemaName) -> Result<String, GateError> {
    let schema = match name {
        SchemaName::GateResults => generate::<GateResults>(),
        SchemaName::HealthSummary => generate::<HealthSummary>(),
        SchemaName::AuthStatus
        | SchemaName::EvidenceBody
        | SchemaName::EvidenceExport
        | SchemaName::EvidenceKeys
        | SchemaName::EvidenceList
        | SchemaName::EvidenceRecord
        | SchemaName::EvidenceReplay
        | SchemaName::EvidenceRun
        | SchemaName::EvidenceStats
        | SchemaName::EvidenceVerify
        | SchemaName::LandingReport
        | SchemaName::Outcome
        | SchemaName::Policy
        | SchemaName::Profile
        | SchemaName::Receipt
        | SchemaName::Recover
        | SchemaName::Context
        | SchemaName::DeniedRequest
        | SchemaName::Doctor
        | SchemaName::Init
        | SchemaName::Status
        | SchemaName::OpenRequests
        | SchemaName::PolicyCheck
        | SchemaName::PolicyExplain
        | SchemaName::PolicyLint
        | SchemaName::PolicyShow
        | SchemaName::PolicyTest
        | SchemaName::Models
        | SchemaName::ProfileShow
        | SchemaName::ToolConform
        | SchemaName::ToolHealth
        | SchemaName::ToolList
        | SchemaName::ToolMessage
        | SchemaName::ToolRequest
        | SchemaName::ToolResult
        | SchemaName::ToolTask => {
            return Err(GateError::Usage(format!(
                "`agentos schema {name}` prints that schema"
            )));
        }
    };
    Ok(serde_json::to_string_pretty(&schema)? + "\n")
}

fn generate<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12()
        .into_generator()
        .into_root_schema_for::<T>()
}
