//! What the tape says of each provider and model.
//!
//! Owns: the counting, in one pass. Never: counts what no record says; health checks leave none.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{EvidenceError, Record, RecordKind, Store};

/// One provider with one model.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProviderStats {
    /// The provider; `patch` for an answer that a person brought.
    pub provider: String,
    /// The model that was configured, if one was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Runs begun.
    pub runs: u64,
    /// Runs that landed; dry runs count too.
    pub landed: u64,
    /// Runs that ended otherwise, by code.
    pub refused: BTreeMap<String, u64>,
    /// Calls of the tool.
    pub calls: u64,
    /// Calls without an answer, by category.
    pub failed_calls: BTreeMap<String, u64>,
    /// Tokens of prompts, as far as servers said.
    pub input_tokens: u64,
    /// Tokens of answers, as far as servers said.
    pub output_tokens: u64,
    /// Milliseconds in all calls together.
    pub latency_ms: u64,
    /// Milliseconds of the slowest call.
    pub slowest_ms: u64,
}

impl Store {
    /// Every provider and model on the tape, in alphabetical order.
    ///
    /// # Errors
    /// When the tape cannot be read.
    pub fn stats(&self) -> Result<Vec<ProviderStats>, EvidenceError> {
        let mut found: BTreeMap<(String, Option<String>), ProviderStats> = BTreeMap::new();
        let mut open: BTreeMap<String, (String, Option<String>)> = BTreeMap::new();
        for record in self.records()? {
            let record = record?;
            if record.kind == RecordKind::Task {
                let text = |name: &str| record.body.get(name).and_then(Value::as_str).map(str::to_owned);
                let key = (text("provider").unwrap_or_default(), text("model"));
                open.insert(record.run.clone(), key.clone());
                let stats = found.entry(key.clone()).or_default();
                (stats.provider, stats.model) = key;
                stats.runs += 1;
            }
            if let Some(stats) = open.get(&record.run).and_then(|key| found.get_mut(key)) {
                stats.take(&record);
            }
            if record.kind == RecordKind::Checkpoint {
                open.remove(&record.run);
            }
        }
        Ok(found.into_values().collect())
    }
}

impl ProviderStats {
    fn take(&mut self, record: &Record) {
        let number = |pointer: &str| record.body.pointer(pointer).and_then(Value::as_u64).unwrap_or(0);
        let text = |pointer: &str| record.body.pointer(pointer).and_then(Value::as_str);
        match record.kind {
            RecordKind::ToolResult => {
                self.calls += 1;
                if let Some(category) = text("/result/error_category") {
                    *self.failed_calls.entry(category.to_owned()).or_default() += 1;
                }
                self.input_tokens += number("/result/usage/input_tokens");
                self.output_tokens += number("/result/usage/output_tokens");
                self.latency_ms += number("/result/latency_ms");
                self.slowest_ms = self.slowest_ms.max(number("/result/latency_ms"));
            }
            RecordKind::Receipt => self.landed += 1,
            RecordKind::Refusal => {
                let code = text("/code").or(text("/outcome")).unwrap_or("unknown");
                *self.refused.entry(code.to_owned()).or_default() += 1;
            }
            RecordKind::Task
            | RecordKind::Attempt
            | RecordKind::Answer
            | RecordKind::Boundary
            | RecordKind::Landing
            | RecordKind::Decision
            | RecordKind::Consent
            | RecordKind::Intent
            | RecordKind::Undo
            | RecordKind::Recovered
            | RecordKind::Checkpoint => {}
        }
    }
}
