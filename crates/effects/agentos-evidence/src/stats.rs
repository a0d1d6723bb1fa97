//! Statistics of each provider and model, from the tape.
//!
//! Owns: the counting, in one pass. Never: counts anything that no record contains. Health is the share of calls that were
//! answered, since a health check leaves no record; and the cost of a call without a known price is not 0, but unknown.

use std::collections::BTreeMap;

use agentos_api::normalize_code;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{EvidenceError, Record, RecordKind, Store};

/// Statistics of one provider with one model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProviderStats {
    /// Provider; `patch` for an answer that a person supplied.
    pub provider: String,
    /// Model that answered; the configured one if none did. Left out if neither is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Number of runs that began.
    pub runs: u64,
    /// Number of runs that landed; dry runs count too.
    pub landed: u64,
    /// Share of runs that landed, from 0 to 1. Left out without any run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub landing_rate: Option<f64>,
    /// Number of runs that ended in another way, by code.
    pub refused: BTreeMap<String, u64>,
    /// Number of calls of the tool.
    pub calls: u64,
    /// Share of calls that were answered, from 0 to 1. Left out without any call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub health: Option<f64>,
    /// Time of the last call that was answered, RFC 3339. Left out if there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_answer: Option<String>,
    /// Time of the last call that failed, RFC 3339. Left out if there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_failure: Option<String>,
    /// Number of calls without an answer, by category.
    pub failed_calls: BTreeMap<String, u64>,
    /// Tokens of prompts, as far as servers reported them.
    pub input_tokens: u64,
    /// Tokens of answers, as far as servers reported them.
    pub output_tokens: u64,
    /// Cost of all calls with a known price, in millionths of a US dollar. Left out if no price is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_micro_usd: Option<u64>,
    /// Number of calls with a known price.
    pub priced_calls: u64,
    /// Duration of all calls together, in milliseconds.
    pub latency_ms: u64,
    /// Duration of the slowest call, in milliseconds.
    pub slowest_ms: u64,
}

impl Store {
    /// Counts the runs and calls of every provider and model on the tape, in alphabetical order.
    ///
    /// # Errors
    /// When the tape cannot be read.
    pub fn stats(&self) -> Result<Vec<ProviderStats>, EvidenceError> {
        let mut found: BTreeMap<(String, Option<String>), ProviderStats> = BTreeMap::new();
        let mut open: BTreeMap<String, OpenRun> = BTreeMap::new();
        for record in self.records()? {
            let record = record?;
            if record.kind == RecordKind::Task {
                let text = |name: &str| record.body.get(name).and_then(Value::as_str).map(str::to_owned);
                let key = (text("provider").unwrap_or_default(), text("model"));
                let begun = OpenRun {
                    key: key.clone(),
                    has_answer: false,
                };
                open.insert(record.run.clone(), begun);
                let stats = found.entry(key.clone()).or_default();
                (stats.provider, stats.model) = key;
                stats.runs += 1;
            }
            // Before the record is counted: tokens, time and cost of the call belong to the model that answered it.
            if let (Some(begun), Some(model)) = (open.get_mut(&record.run), answering_model(&record)) {
                move_run(&mut found, &mut begun.key, model);
            }
            if let Some(begun) = open.get_mut(&record.run)
                && let Some(stats) = found.get_mut(&begun.key)
            {
                stats.add_record(&record, begun.has_answer);
                match record.kind {
                    RecordKind::Attempt | RecordKind::ToolResult => begun.has_answer = false,
                    RecordKind::Answer => begun.has_answer = true,
                    _ => {}
                }
            }
            // No record of the run follows its checkpoint, so memory grows with open runs only.
            if record.kind == RecordKind::Checkpoint {
                open.remove(&record.run);
            }
        }
        let mut all: Vec<ProviderStats> = found.into_values().collect();
        for stats in &mut all {
            let failed: u64 = stats.failed_calls.values().sum();
            stats.landing_rate = share_of(stats.landed, stats.runs);
            stats.health = share_of(stats.calls.saturating_sub(failed), stats.calls);
        }
        Ok(all)
    }
}

/// Run that has begun and not ended.
struct OpenRun {
    /// Provider and model that it is counted under.
    key: (String, Option<String>),
    /// True if the current call was answered. Its result may still say why the answer was of no use.
    has_answer: bool,
}

/// Returns the model that a call's result names. `None` if the record is another, or names none.
fn answering_model(record: &Record) -> Option<&str> {
    let model = record.body.pointer("/result/model_id")?.as_str()?;
    (record.kind == RecordKind::ToolResult).then_some(model)
}

/// Counts a run under the model that answered. A configured name such as `local-model` may stand for any of a server's models,
/// and a server with one model ignores the name.
fn move_run(
    found: &mut BTreeMap<(String, Option<String>), ProviderStats>,
    key: &mut (String, Option<String>),
    model: &str,
) {
    if key.1.as_deref() == Some(model) {
        return;
    }
    if let Some(stats) = found.get_mut(key) {
        stats.runs = stats.runs.saturating_sub(1);
        // The entry was created for the configured name when the run began. Empty, it would show a model that was never used.
        if stats.runs == 0 && stats.calls == 0 {
            found.remove(key);
        }
    }
    key.1 = Some(model.to_owned());
    let stats = found.entry(key.clone()).or_default();
    (stats.provider, stats.model) = key.clone();
    stats.runs += 1;
}

/// Returns a part of a whole, rounded to thousandths. `None` if the whole is 0.
fn share_of(part: u64, whole: u64) -> Option<f64> {
    let thousandths = part
        .saturating_mul(1000)
        .saturating_add(whole / 2)
        .checked_div(whole)?;
    Some(f64::from(u32::try_from(thousandths).ok()?) / 1000.0)
}

impl ProviderStats {
    fn add_record(&mut self, record: &Record, has_answer: bool) {
        let number = |pointer: &str| record.body.pointer(pointer).and_then(Value::as_u64).unwrap_or(0);
        let text = |pointer: &str| record.body.pointer(pointer).and_then(Value::as_str);
        match record.kind {
            RecordKind::ToolResult => {
                self.calls += 1;
                // An answer that does not land has a category too. It came all the same, and the refusals count it.
                let failure = text("/result/error_category").filter(|_| !has_answer);
                let last = match failure {
                    Some(category) => {
                        *self.failed_calls.entry(category.to_owned()).or_default() += 1;
                        &mut self.last_failure
                    }
                    None => &mut self.last_answer,
                };
                *last = Some(record.ts.clone());
                if let Some(cost) = record
                    .body
                    .pointer("/result/cost_micro_usd")
                    .and_then(Value::as_u64)
                {
                    self.priced_calls += 1;
                    self.cost_micro_usd = Some(self.cost_micro_usd.unwrap_or(0).saturating_add(cost));
                }
                let add = |sum: &mut u64, name: &str| *sum = sum.saturating_add(number(name));
                add(&mut self.input_tokens, "/result/usage/input_tokens");
                add(&mut self.output_tokens, "/result/usage/output_tokens");
                add(&mut self.latency_ms, "/result/latency_ms");
                self.slowest_ms = self.slowest_ms.max(number("/result/latency_ms"));
            }
            RecordKind::Receipt => self.landed += 1,
            RecordKind::Refusal => {
                // Earlier versions spelt some codes with `_`; both spellings are counted together.
                let code = text("/code").or(text("/outcome")).unwrap_or("unknown");
                *self.refused.entry(normalize_code(code).into_owned()).or_default() += 1;
            }
            RecordKind::Task
            | RecordKind::Attempt
            | RecordKind::Answer
            | RecordKind::Boundary
            | RecordKind::Check
            | RecordKind::Landing
            | RecordKind::Decision
            | RecordKind::Consent
            | RecordKind::Intent
            | RecordKind::Undo
            | RecordKind::Recovered
            | RecordKind::Turn
            | RecordKind::Session
            | RecordKind::Removed
            | RecordKind::Checkpoint => {}
        }
    }
}
