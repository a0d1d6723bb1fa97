//! The committed JSON Schemas and validation against them.
//!
//! Owns: the files in `schemas/` and their names. Never: fetches a schema, reads a file at run time, or quotes the
//! checked value in a message. The files are generated from the types; `cargo xtask schemas` writes and compares
//! them. A new schema is one file and one variant of [`SchemaName`].

use std::fmt;

use serde_json::Value;

/// The name of a schema, which is also its file's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SchemaName {
    /// What `tool auth status` prints.
    AuthStatus,
    /// What `run --context show` prints.
    Context,
    /// What `deny` prints.
    DeniedRequest,
    /// What `doctor` prints.
    Doctor,
    /// The body of a record of an evidence tape, under the name of the record's kind.
    EvidenceBody,
    /// What `evidence export` prints.
    EvidenceExport,
    /// What `evidence key` prints.
    EvidenceKeys,
    /// What `evidence list` prints.
    EvidenceList,
    /// One line of an evidence tape.
    EvidenceRecord,
    /// What `evidence replay` prints.
    EvidenceReplay,
    /// What `evidence show` prints.
    EvidenceRun,
    /// What `evidence stats` prints.
    EvidenceStats,
    /// What `evidence verify` found.
    EvidenceVerify,
    /// The verdict of a gate.
    GateResults,
    /// What a gate saw of a server.
    HealthSummary,
    /// What `init` prints.
    Init,
    /// How an answer was read and placed.
    LandingReport,
    /// What `models list` and `models show` print.
    Models,
    /// What `approve` prints without a run.
    OpenRequests,
    /// The end of `apply`, `run` and `undo`.
    Outcome,
    /// A policy file.
    Policy,
    /// What `policy check` prints.
    PolicyCheck,
    /// What `policy explain` prints.
    PolicyExplain,
    /// What `policy lint` prints.
    PolicyLint,
    /// What `policy show` prints.
    PolicyShow,
    /// What `policy test` prints.
    PolicyTest,
    /// A provider's profile.
    Profile,
    /// What `profile show` prints.
    ProfileShow,
    /// What the executor wrote.
    Receipt,
    /// What `recover` prints.
    Recover,
    /// What `agentos` without a verb prints.
    Status,
    /// What `tool conform` prints.
    ToolConform,
    /// What `tool health` prints.
    ToolHealth,
    /// What `tool list` and `profile list` print.
    ToolList,
    /// A line that a tool writes.
    ToolMessage,
    /// The line that a tool reads.
    ToolRequest,
    /// What `tool run` prints.
    ToolResult,
    /// What a tool is asked.
    ToolTask,
}

impl SchemaName {
    /// Every shape that `agentos` itself prints or reads.
    pub const ALL: &[Self] = &[
        Self::AuthStatus,
        Self::Context,
        Self::DeniedRequest,
        Self::Doctor,
        Self::EvidenceBody,
        Self::EvidenceExport,
        Self::EvidenceKeys,
        Self::EvidenceList,
        Self::EvidenceRecord,
        Self::EvidenceReplay,
        Self::EvidenceRun,
        Self::EvidenceStats,
        Self::EvidenceVerify,
        Self::Init,
        Self::LandingReport,
        Self::Models,
        Self::OpenRequests,
        Self::Outcome,
        Self::Policy,
        Self::PolicyCheck,
        Self::PolicyExplain,
        Self::PolicyLint,
        Self::PolicyShow,
        Self::PolicyTest,
        Self::Profile,
        Self::ProfileShow,
        Self::Receipt,
        Self::Recover,
        Self::Status,
        Self::ToolConform,
        Self::ToolHealth,
        Self::ToolList,
        Self::ToolMessage,
        Self::ToolRequest,
        Self::ToolResult,
        Self::ToolTask,
    ];

    /// Every shape that the gates leave behind, which `agentos` knows nothing of.
    pub const OF_GATES: &[Self] = &[Self::GateResults, Self::HealthSummary];

    /// Both together, product first.
    pub fn every() -> impl Iterator<Item = Self> {
        Self::ALL.iter().chain(Self::OF_GATES).copied()
    }

    /// The name as it is typed.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AuthStatus => "auth-status",
            Self::Context => "context",
            Self::DeniedRequest => "denied-request",
            Self::Doctor => "doctor",
            Self::EvidenceBody => "evidence-body",
            Self::EvidenceExport => "evidence-export",
            Self::EvidenceKeys => "evidence-keys",
            Self::EvidenceList => "evidence-list",
            Self::EvidenceRecord => "evidence-record",
            Self::EvidenceReplay => "evidence-replay",
            Self::EvidenceRun => "evidence-run",
            Self::EvidenceStats => "evidence-stats",
            Self::EvidenceVerify => "evidence-verify",
            Self::GateResults => "gate-results",
            Self::HealthSummary => "health-summary",
            Self::Init => "init",
            Self::LandingReport => "landing-report",
            Self::Models => "models",
            Self::OpenRequests => "open-requests",
            Self::Outcome => "outcome",
            Self::Policy => "policy",
            Self::PolicyCheck => "policy-check",
            Self::PolicyExplain => "policy-explain",
            Self::PolicyLint => "policy-lint",
            Self::PolicyShow => "policy-show",
            Self::PolicyTest => "policy-test",
            Self::Profile => "profile",
            Self::ProfileShow => "profile-show",
            Self::Receipt => "receipt",
            Self::Recover => "recover",
            Self::Status => "status",
            Self::ToolConform => "tool-conform",
            Self::ToolHealth => "tool-health",
            Self::ToolList => "tool-list",
            Self::ToolMessage => "tool-message",
            Self::ToolRequest => "tool-request",
            Self::ToolResult => "tool-result",
            Self::ToolTask => "tool-task",
        }
    }

    /// The schema that is typed like this.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::every().find(|schema| schema.as_str() == name)
    }
}

impl fmt::Display for SchemaName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The schema's text, as committed.
#[must_use]
pub fn text(name: SchemaName) -> &'static str {
    match name {
        SchemaName::AuthStatus => include_str!("../schemas/auth-status.json"),
        SchemaName::Context => include_str!("../schemas/context.json"),
        SchemaName::DeniedRequest => include_str!("../schemas/denied-request.json"),
        SchemaName::Doctor => include_str!("../schemas/doctor.json"),
        SchemaName::EvidenceBody => include_str!("../schemas/evidence-body.json"),
        SchemaName::EvidenceExport => include_str!("../schemas/evidence-export.json"),
        SchemaName::EvidenceKeys => include_str!("../schemas/evidence-keys.json"),
        SchemaName::EvidenceList => include_str!("../schemas/evidence-list.json"),
        SchemaName::EvidenceRecord => include_str!("../schemas/evidence-record.json"),
        SchemaName::EvidenceReplay => include_str!("../schemas/evidence-replay.json"),
        SchemaName::EvidenceRun => include_str!("../schemas/evidence-run.json"),
        SchemaName::EvidenceStats => include_str!("../schemas/evidence-stats.json"),
        SchemaName::EvidenceVerify => include_str!("../schemas/evidence-verify.json"),
        SchemaName::GateResults => include_str!("../schemas/gate-results.json"),
        SchemaName::HealthSummary => include_str!("../schemas/health-summary.json"),
        SchemaName::Init => include_str!("../schemas/init.json"),
        SchemaName::LandingReport => include_str!("../schemas/landing-report.json"),
        SchemaName::Models => include_str!("../schemas/models.json"),
        SchemaName::OpenRequests => include_str!("../schemas/open-requests.json"),
        SchemaName::Outcome => include_str!("../schemas/outcome.json"),
        SchemaName::Policy => include_str!("../schemas/policy.json"),
        SchemaName::PolicyCheck => include_str!("../schemas/policy-check.json"),
        SchemaName::PolicyExplain => include_str!("../schemas/policy-explain.json"),
        SchemaName::PolicyLint => include_str!("../schemas/policy-lint.json"),
        SchemaName::PolicyShow => include_str!("../schemas/policy-show.json"),
        SchemaName::PolicyTest => include_str!("../schemas/policy-test.json"),
        SchemaName::Profile => include_str!("../schemas/profile.json"),
        SchemaName::ProfileShow => include_str!("../schemas/profile-show.json"),
        SchemaName::Receipt => include_str!("../schemas/receipt.json"),
        SchemaName::Recover => include_str!("../schemas/recover.json"),
        SchemaName::Status => include_str!("../schemas/status.json"),
        SchemaName::ToolConform => include_str!("../schemas/tool-conform.json"),
        SchemaName::ToolMessage => include_str!("../schemas/tool-message.json"),
        SchemaName::ToolRequest => include_str!("../schemas/tool-request.json"),
        SchemaName::ToolHealth => include_str!("../schemas/tool-health.json"),
        SchemaName::ToolList => include_str!("../schemas/tool-list.json"),
        SchemaName::ToolResult => include_str!("../schemas/tool-result.json"),
        SchemaName::ToolTask => include_str!("../schemas/tool-task.json"),
    }
}

/// One way in which a value does not follow its schema.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{at}: {message}", at = if pointer.is_empty() { "/" } else { pointer })]
pub struct Violation {
    /// Where, as a JSON pointer; empty for the value as a whole.
    pub pointer: String,
    /// What is wrong. Names of fields are quoted, values are not.
    pub message: String,
}

/// Checks a value against a schema. Formats (dates, addresses) are checked as well.
///
/// # Errors
/// Every violation, in the schema's order.
pub fn validate(name: SchemaName, value: &Value) -> Result<(), Vec<Violation>> {
    let schema = serde_json::from_str(text(name)).map_err(|error| broken(&error.to_string()))?;
    check(&schema, value)
}

/// Checks a value against a schema that is given as a value. References to other documents are refused.
///
/// # Errors
/// Every violation, or one at the root when the schema itself is wrong.
pub fn check(schema: &Value, value: &Value) -> Result<(), Vec<Violation>> {
    let validator = jsonschema::options()
        .should_validate_formats(true)
        .build(schema)
        .map_err(|error| broken(&error.masked().to_string()))?;
    let violations: Vec<Violation> = validator
        .iter_errors(value)
        .map(|error| Violation {
            pointer: error.instance_path().to_string(),
            message: error.masked_with("the value").to_string(),
        })
        .collect();
    if violations.is_empty() {
        Ok(())
    } else {
        Err(violations)
    }
}

fn broken(message: &str) -> Vec<Violation> {
    vec![Violation {
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
        for name in SchemaName::every() {
            let violations = validate(name, &json!([1])).unwrap_err();
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
        let mut names: Vec<String> = SchemaName::every().map(|name| format!("{name}.json")).collect();
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
        let lines: Vec<String> = check(&schema, &value)
            .unwrap_err()
            .iter()
            .map(Violation::to_string)
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
                check(&json!({ "$ref": reference }), &json!(1)).is_err(),
                "{reference}"
            );
        }
    }
}
