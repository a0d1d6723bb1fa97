//! The committed JSON Schemas, and validation against them.
//!
//! Owns: the files in `schemas/` and their names. Never: fetches a schema, reads a file at run time, or quotes the
//! checked value in a message. The files are generated from the types; `cargo xtask schemas` writes and compares
//! them. A new schema is one file and one variant of [`SchemaName`].

mod texts;

use std::fmt;

use serde_json::Value;

pub use texts::schema_text;

/// Name of a schema, which is also the name of its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SchemaName {
    /// Output of `tool auth status`.
    AuthStatus,
    /// Output of the verbs of `chat` that change a session.
    ChatChange,
    /// Output of `chat export --format json`.
    ChatExport,
    /// Output of `chat search`.
    ChatSearch,
    /// Output of `chat send`.
    ChatReply,
    /// Output of `chat show`.
    ChatSession,
    /// Output of `chat list`.
    ChatSessions,
    /// Output of `chat send` in a session.
    ChatTurn,
    /// Output of `config list`.
    Config,
    /// Answer to the question of a run.
    ConsentReply,
    /// Output of `run --context show`.
    Context,
    /// Output of `budget set`, `budget list` and `budget remove`.
    Budgets,
    /// Output of `cost`.
    Cost,
    /// Output of `deny`.
    DeniedRequest,
    /// Output of `doctor`.
    Doctor,
    /// Failure of a verb that lands nothing.
    Error,
    /// Body of a record of an evidence tape, under the name of the record's kind.
    EvidenceBody,
    /// Output of `evidence export`.
    EvidenceExport,
    /// Output of `evidence key`.
    EvidenceKeys,
    /// Output of `evidence list`.
    EvidenceList,
    /// Output of `evidence publish`.
    EvidencePublish,
    /// Line of an evidence tape.
    EvidenceRecord,
    /// Output of `evidence replay`.
    EvidenceReplay,
    /// Output of `evidence show`.
    EvidenceRun,
    /// Output of `evidence stats`.
    EvidenceStats,
    /// Result of `evidence verify`.
    EvidenceVerify,
    /// Verdict of a gate.
    GateResults,
    /// Health of a server as a gate observed it.
    HealthSummary,
    /// Output of `init`.
    Init,
    /// Report of how an answer was read and placed.
    LandingReport,
    /// State of the machine: a line of `status --watch`.
    Machine,
    /// Server of models that was added.
    AddedServer,
    /// Output of `models load`, `models unload` and `models warmup`.
    ModelAction,
    /// Output of `models add` and `models remove`.
    ModelChange,
    /// Output of `models list` and `models show`.
    Models,
    /// File of a user's own models.
    ModelsFile,
    /// Output of `models import`.
    ModelsImport,
    /// Output of `approve` without a run.
    OpenRequests,
    /// Outcome of `apply`, `run` and `undo`.
    Outcome,
    /// Policy file.
    Policy,
    /// Output of `policy check`.
    PolicyCheck,
    /// Output of `policy explain`.
    PolicyExplain,
    /// Output of `policy lint`.
    PolicyLint,
    /// Output of `policy show`.
    PolicyShow,
    /// Output of `policy test`.
    PolicyTest,
    /// Output of `pool detect`.
    PoolAbilities,
    /// Choice of a pool's member: output of `pool select`, and part of a turn's record.
    PoolChoice,
    /// Output of `pool import`.
    PoolImport,
    /// Output of `pool list`.
    PoolList,
    /// Output of `pool replay`.
    PoolReplay,
    /// Arguments of the tool of a program that chooses for a pool.
    PoolSelector,
    /// Output of `pool stats`.
    PoolStats,
    /// Profile of a provider.
    Profile,
    /// Output of `profile show`.
    ProfileShow,
    /// Receipt of what the executor wrote.
    Receipt,
    /// Output of `recover`.
    Recover,
    /// Event of a run, as a service streams it.
    RunEvent,
    /// Output of `log`.
    RunLog,
    /// Output of `show`.
    RunStory,
    /// Output of `serve token list`.
    // Also of `serve token revoke`. There is no schema of `serve token add`, whose output is the secret alone, for a shell.
    ServiceTokens,
    /// Settings file of a user.
    Settings,
    /// Output of `agentos` without a verb.
    Status,
    /// Output of `store rebuild`.
    StoreRebuild,
    /// Output of `tool conform`.
    ToolConform,
    /// Output of `tool health`.
    ToolHealth,
    /// Output of `tool list` and `profile list`.
    ToolList,
    /// Line that a tool writes.
    ToolMessage,
    /// Line that a tool reads.
    ToolRequest,
    /// Output of `tool run`.
    ToolResult,
    /// Task of a tool.
    ToolTask,
    /// Output of `tool trust`.
    ToolTrust,
    /// Line that a toolbox writes.
    ToolboxMessage,
    /// Line that a toolbox reads.
    ToolboxRequest,
}

impl SchemaName {
    /// Schemas that `agentos` itself prints or reads.
    pub const ALL: &[Self] = &[
        Self::AuthStatus,
        Self::ChatChange,
        Self::ChatExport,
        Self::ChatReply,
        Self::ChatSearch,
        Self::ChatSession,
        Self::ChatSessions,
        Self::ChatTurn,
        Self::Config,
        Self::ConsentReply,
        Self::Context,
        Self::Budgets,
        Self::Cost,
        Self::DeniedRequest,
        Self::Doctor,
        Self::Error,
        Self::EvidenceBody,
        Self::EvidenceExport,
        Self::EvidenceKeys,
        Self::EvidenceList,
        Self::EvidencePublish,
        Self::EvidenceRecord,
        Self::EvidenceReplay,
        Self::EvidenceRun,
        Self::EvidenceStats,
        Self::EvidenceVerify,
        Self::Init,
        Self::LandingReport,
        Self::Machine,
        Self::AddedServer,
        Self::ModelAction,
        Self::ModelChange,
        Self::Models,
        Self::ModelsFile,
        Self::ModelsImport,
        Self::OpenRequests,
        Self::Outcome,
        Self::Policy,
        Self::PolicyCheck,
        Self::PolicyExplain,
        Self::PolicyLint,
        Self::PolicyShow,
        Self::PolicyTest,
        Self::PoolAbilities,
        Self::PoolChoice,
        Self::PoolImport,
        Self::PoolList,
        Self::PoolReplay,
        Self::PoolSelector,
        Self::PoolStats,
        Self::Profile,
        Self::ProfileShow,
        Self::Receipt,
        Self::Recover,
        Self::RunEvent,
        Self::RunLog,
        Self::RunStory,
        Self::ServiceTokens,
        Self::Settings,
        Self::Status,
        Self::StoreRebuild,
        Self::ToolConform,
        Self::ToolHealth,
        Self::ToolList,
        Self::ToolMessage,
        Self::ToolRequest,
        Self::ToolResult,
        Self::ToolTask,
        Self::ToolTrust,
        Self::ToolboxMessage,
        Self::ToolboxRequest,
    ];

    /// Schemas of files that the gates write, which `agentos` does not know.
    pub const OF_GATES: &[Self] = &[Self::GateResults, Self::HealthSummary];

    /// Returns all schemas, those of the product first.
    pub fn list_all() -> impl Iterator<Item = Self> {
        Self::ALL.iter().chain(Self::OF_GATES).copied()
    }

    /// Returns the name as it is typed.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AuthStatus => "auth-status",
            Self::ChatChange => "chat-change",
            Self::ChatExport => "chat-export",
            Self::ChatReply => "chat-reply",
            Self::ChatSearch => "chat-search",
            Self::ChatSession => "chat-session",
            Self::ChatSessions => "chat-sessions",
            Self::ChatTurn => "chat-turn",
            Self::Config => "config",
            Self::ConsentReply => "consent-reply",
            Self::Context => "context",
            Self::Budgets => "budgets",
            Self::Cost => "cost",
            Self::DeniedRequest => "denied-request",
            Self::Doctor => "doctor",
            Self::Error => "error",
            Self::EvidenceBody => "evidence-body",
            Self::EvidenceExport => "evidence-export",
            Self::EvidenceKeys => "evidence-keys",
            Self::EvidenceList => "evidence-list",
            Self::EvidencePublish => "evidence-publish",
            Self::EvidenceRecord => "evidence-record",
            Self::EvidenceReplay => "evidence-replay",
            Self::EvidenceRun => "evidence-run",
            Self::EvidenceStats => "evidence-stats",
            Self::EvidenceVerify => "evidence-verify",
            Self::GateResults => "gate-results",
            Self::HealthSummary => "health-summary",
            Self::Init => "init",
            Self::LandingReport => "landing-report",
            Self::Machine => "machine",
            Self::AddedServer => "added-server",
            Self::ModelAction => "model-action",
            Self::ModelChange => "model-change",
            Self::Models => "models",
            Self::ModelsFile => "models-file",
            Self::ModelsImport => "models-import",
            Self::OpenRequests => "open-requests",
            Self::Outcome => "outcome",
            Self::Policy => "policy",
            Self::PolicyCheck => "policy-check",
            Self::PolicyExplain => "policy-explain",
            Self::PolicyLint => "policy-lint",
            Self::PolicyShow => "policy-show",
            Self::PolicyTest => "policy-test",
            Self::PoolAbilities => "pool-abilities",
            Self::PoolChoice => "pool-choice",
            Self::PoolImport => "pool-import",
            Self::PoolList => "pool-list",
            Self::PoolReplay => "pool-replay",
            Self::PoolSelector => "pool-selector",
            Self::PoolStats => "pool-stats",
            Self::Profile => "profile",
            Self::ProfileShow => "profile-show",
            Self::Receipt => "receipt",
            Self::Recover => "recover",
            Self::RunEvent => "run-event",
            Self::RunLog => "run-log",
            Self::RunStory => "run-story",
            Self::ServiceTokens => "service-tokens",
            Self::Settings => "settings",
            Self::Status => "status",
            Self::StoreRebuild => "store-rebuild",
            Self::ToolConform => "tool-conform",
            Self::ToolHealth => "tool-health",
            Self::ToolList => "tool-list",
            Self::ToolMessage => "tool-message",
            Self::ToolRequest => "tool-request",
            Self::ToolResult => "tool-result",
            Self::ToolTask => "tool-task",
            Self::ToolTrust => "tool-trust",
            Self::ToolboxMessage => "toolbox-message",
            Self::ToolboxRequest => "toolbox-request",
        }
    }

    /// Returns the schema with this name. Returns `None` if there is none.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::list_all().find(|schema| schema.as_str() == name)
    }
}

impl fmt::Display for SchemaName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Violation of a schema by a value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{at}: {message}", at = if pointer.is_empty() { "/" } else { pointer })]
pub struct SchemaViolation {
    /// Place of the violation as a JSON pointer; empty for the value as a whole.
    pub pointer: String,
    /// Description of the violation. Names of fields are quoted, values are not.
    pub message: String,
}

/// Checks a value against a schema. Formats (dates, addresses) are checked as well.
///
/// # Errors
/// Returns every violation, in the order of the schema.
pub fn validate_value(name: SchemaName, value: &Value) -> Result<(), Vec<SchemaViolation>> {
    let schema =
        serde_json::from_str(schema_text(name)).map_err(|error| broken_schema(&error.to_string()))?;
    check_value(&schema, value)
}

/// Checks a value against a schema that is given as a value. References to other documents are refused.
///
/// # Errors
/// Returns every violation, or one at the root if the schema itself is wrong.
pub fn check_value(schema: &Value, value: &Value) -> Result<(), Vec<SchemaViolation>> {
    let validator = compile_schema(schema)?;
    let violations: Vec<SchemaViolation> = validator
        .iter_errors(value)
        .map(|error| SchemaViolation {
            pointer: error.instance_path().to_string(),
            // Without this, a key in the wrong field of a profile would be printed by its own error message, and end
            // in a log.
            message: error.masked_with("the value").to_string(),
        })
        .collect();
    if violations.is_empty() {
        Ok(())
    } else {
        Err(violations)
    }
}

/// Checks that values can be checked against a schema. References to other documents are refused.
///
/// # Errors
/// Returns one violation at the root, with the reason.
pub fn check_schema(schema: &Value) -> Result<(), Vec<SchemaViolation>> {
    compile_schema(schema).map(drop)
}

fn compile_schema(schema: &Value) -> Result<jsonschema::Validator, Vec<SchemaViolation>> {
    // The crate is built without its resolvers for files and addresses (see the manifest), so a `$ref` to another
    // document is an error here and nothing is fetched.
    jsonschema::options()
        .should_validate_formats(true)
        .build(schema)
        // Masked: an error of the library quotes the value, which may be a secret.
        .map_err(|error| broken_schema(&error.masked().to_string()))
}

fn broken_schema(message: &str) -> Vec<SchemaViolation> {
    vec![SchemaViolation {
        // The schema is wrong, not a part of the value, so there is no place to name.
        pointer: String::new(),
        message: format!("the schema itself cannot be used: {message}"),
    }]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_committed_schema_compiles_and_refuses_what_is_not_an_object() {
        for name in SchemaName::list_all() {
            let violations = validate_value(name, &json!([1])).unwrap_err();
            assert!(
                violations.iter().all(|v| !v.message.contains("schema itself")),
                "{name}: {violations:?}"
            );
            assert_eq!(SchemaName::parse(name.as_str()), Some(name));
        }
        assert_eq!(SchemaName::parse("nothing"), None);
    }

    #[test]
    fn every_file_is_a_schema_and_every_schema_a_file() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        files.sort();
        let mut names: Vec<String> = SchemaName::list_all()
            .map(|name| format!("{name}.json"))
            .collect();
        names.sort();
        assert_eq!(files, names);
    }

    #[test]
    fn a_violation_says_where_and_never_quotes_the_value() {
        let schema = json!({
            "type": "object",
            "properties": { "key": { "type": "integer" }, "when": { "type": "string", "format": "date-time" } },
            "required": ["name"],
            "additionalProperties": false,
        });
        let value = json!({ "key": "canary-0123456789", "when": "yesterday canary", "nmae": "canary" });
        let lines: Vec<String> = check_value(&schema, &value)
            .unwrap_err()
            .iter()
            .map(SchemaViolation::to_string)
            .collect();
        assert!(!lines.concat().contains("canary"));
        insta::assert_snapshot!(lines.join("\n"), @r#"
        /key: the value is not of type "integer"
        /when: the value is not a "date-time"
        /: Additional properties are not allowed ('nmae' was unexpected)
        /: "name" is a required property
        "#);
    }

    #[test]
    fn another_document_is_never_fetched() {
        for reference in ["http://127.0.0.1:9/x.json", "file:///etc/hostname"] {
            assert!(
                check_value(&json!({ "$ref": reference }), &json!(1)).is_err(),
                "{reference}"
            );
        }
    }
}
