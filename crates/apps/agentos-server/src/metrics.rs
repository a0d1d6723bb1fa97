//! `GET /metrics`: counts of the service, in the text form that Prometheus reads.
//!
//! Owns: the counts, since the service began. Never: has a label with a text of a request: every label is one of a few words, so that
//! nobody can make the page grow.
//!
//! Source of the form: Prometheus, "Exposition formats", version 0.0.4.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Mutex, MutexGuard, PoisonError};

use agentos_tool::{ExactCost, Usage};

/// Upper bounds of the times to the first piece, in seconds. A local model needs seconds to read a long prompt.
const FIRST_BOUNDS: [f64; 8] = [0.01, 0.05, 0.2, 0.5, 1.0, 5.0, 20.0, 60.0];

/// Counts of a running service.
#[derive(Debug, Default)]
pub struct ServiceMetrics(Mutex<MetricCounts>);

#[derive(Debug, Default)]
struct MetricCounts {
    /// Requests by group of paths and status.
    requests: BTreeMap<(&'static str, u16), u64>,
    /// Refused requests by the code of the rule.
    refusals: BTreeMap<&'static str, u64>,
    /// Answers of models by wire and end.
    answers: BTreeMap<(&'static str, &'static str), u64>,
    /// Times to the first piece, one count for each bound and one above the last.
    first: [u64; FIRST_BOUNDS.len() + 1],
    first_seconds: f64,
    input_tokens: u64,
    output_tokens: u64,
    /// Sum of the known costs, in millionths of a dollar.
    cost_micro_usd: u64,
    unknown_costs: u64,
}

/// How an answer of a model ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerEnd {
    /// Whole.
    Whole,
    /// With a failure.
    Failed,
    /// Because the client went away.
    Left,
}

impl AnswerEnd {
    fn as_str(self) -> &'static str {
        match self {
            Self::Whole => "whole",
            Self::Failed => "failed",
            Self::Left => "left",
        }
    }
}

impl ServiceMetrics {
    /// Counts an answered request.
    pub fn count_request(&self, path: &str, status: u16) {
        *self
            .lock()
            .requests
            .entry((path_group(path), status))
            .or_default() += 1;
    }

    /// Counts a refused request.
    pub fn count_refusal(&self, code: &'static str) {
        *self.lock().refusals.entry(code).or_default() += 1;
    }

    /// Counts the end of a model's answer.
    pub fn count_answer(&self, wire: &'static str, end: AnswerEnd) {
        *self.lock().answers.entry((wire, end.as_str())).or_default() += 1;
    }

    /// Counts the time to the first piece of an answer.
    pub fn count_first(&self, seconds: f64) {
        let mut counts = self.lock();
        let at = FIRST_BOUNDS.iter().position(|bound| seconds <= *bound);
        if let Some(count) = counts.first.get_mut(at.unwrap_or(FIRST_BOUNDS.len())) {
            *count += 1;
        }
        counts.first_seconds += seconds;
    }

    /// Counts the tokens and the cost of a whole answer.
    pub fn count_usage(&self, usage: Option<&Usage>, cost: Option<ExactCost>) {
        let mut counts = self.lock();
        let usage = usage.copied().unwrap_or_default();
        // A sum that wraps would show a large bill as a small one.
        let add = |sum: &mut u64, number: u64| *sum = sum.saturating_add(number);
        add(&mut counts.input_tokens, usage.input_tokens.unwrap_or(0));
        add(&mut counts.output_tokens, usage.output_tokens.unwrap_or(0));
        match cost {
            Some(cost) => add(&mut counts.cost_micro_usd, cost.micro_dollars()),
            // A sum that leaves some out must say so.
            None => counts.unknown_costs += 1,
        }
    }

    fn lock(&self) -> MutexGuard<'_, MetricCounts> {
        // Each change is one addition, so a panic elsewhere leaves no half of one.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes the page.
    pub fn write_page(&self) -> String {
        let counts = self.lock();
        let mut out = String::new();
        let requests = counts.requests.iter().map(|((group, status), count)| {
            (
                format!("{{group=\"{group}\",status=\"{status}\"}}"),
                count.to_string(),
            )
        });
        let help = "Answered requests by group of paths and status.";
        write_counter(&mut out, "agentos_requests_total", help, requests);
        let refusals = counts.refusals.iter();
        let refusals = refusals.map(|(code, count)| (format!("{{rule=\"{code}\"}}"), count.to_string()));
        let help = "Requests that the access rules refused, by rule.";
        write_counter(&mut out, "agentos_refused_total", help, refusals);
        let answers = counts
            .answers
            .iter()
            .map(|((wire, end), count)| (format!("{{wire=\"{wire}\",end=\"{end}\"}}"), count.to_string()));
        let help = "Answers of models by the client's wire and their end.";
        write_counter(&mut out, "agentos_answers_total", help, answers);
        write_first_pieces(&mut out, &counts);
        out
    }

    /// Writes what the answers used and cost.
    pub fn write_spending(&self) -> String {
        let counts = self.lock();
        let mut out = String::new();
        for (name, help, value) in [
            (
                "agentos_input_tokens_total",
                "Tokens of prompts.",
                counts.input_tokens.to_string(),
            ),
            (
                "agentos_output_tokens_total",
                "Tokens of answers.",
                counts.output_tokens.to_string(),
            ),
            (
                "agentos_cost_usd_total",
                "Known costs in US dollars.",
                write_dollars(counts.cost_micro_usd),
            ),
            (
                "agentos_unknown_costs_total",
                "Answers whose cost is unknown.",
                counts.unknown_costs.to_string(),
            ),
        ] {
            write_counter(&mut out, name, help, [(String::new(), value)]);
        }
        out
    }
}

/// Returns the group of a path.
fn path_group(path: &str) -> &'static str {
    match path.split('/').nth(1) {
        Some("api") => "api",
        Some("v1") => "v1",
        Some("mcp") => "mcp",
        Some("static") => "static",
        Some("metrics" | "healthz") => "health",
        Some(_) | None => "page",
    }
}

fn write_dollars(micro: u64) -> String {
    // Not by floating point, which would show digits that nobody paid.
    const MILLION: u64 = 1_000_000;
    format!("{}.{:06}", micro / MILLION, micro % MILLION)
}

/// Writes a counter: a line for each of its labels.
fn write_counter(
    out: &mut String,
    name: &str,
    help: &str,
    lines: impl IntoIterator<Item = (String, String)>,
) {
    write_head(out, name, "counter", help);
    for (labels, value) in lines {
        write_line(out, &format!("{name}{labels} {value}"));
    }
}

/// Writes the histogram of the times to the first piece.
fn write_first_pieces(out: &mut String, counts: &MetricCounts) {
    const NAME: &str = "agentos_first_piece_seconds";
    let help = "Time from a request to the first piece of its answer.";
    write_head(out, NAME, "histogram", help);
    let mut sum = 0;
    let bounds = FIRST_BOUNDS.iter().map(f64::to_string).chain(["+Inf".to_owned()]);
    for (bound, count) in bounds.zip(counts.first) {
        // Prometheus counts what is at most the bound, so each line includes the ones before it.
        sum += count;
        write_line(out, &format!("{NAME}_bucket{{le=\"{bound}\"}} {sum}"));
    }
    write_line(out, &format!("{NAME}_sum {}", counts.first_seconds));
    write_line(out, &format!("{NAME}_count {sum}"));
}

fn write_head(out: &mut String, name: &str, kind: &str, help: &str) {
    // Writing to a String cannot fail.
    let _ = write!(out, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
}

fn write_line(out: &mut String, line: &str) {
    out.push_str(line);
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    #[test]
    fn counts_are_written_as_prometheus_reads_them() {
        let metrics = ServiceMetrics::default();
        metrics.count_request("/v1/messages", 200);
        metrics.count_request("/v1/chat/completions", 200);
        metrics.count_request("/requests/made-up\"label", 404);
        metrics.count_refusal("wrong-host");
        metrics.count_answer("openai", AnswerEnd::Whole);
        metrics.count_first(0.03);
        metrics.count_first(99.0);
        let usage = Usage {
            input_tokens: Some(10),
            output_tokens: Some(2),
            ..Usage::default()
        };
        metrics.count_usage(Some(&usage), Some(ExactCost::from_pico_dollars(14_000_000)));
        metrics.count_usage(None, None);
        assert_snapshot!(metrics.write_page() + &metrics.write_spending(), @r#"
    # HELP agentos_requests_total Answered requests by group of paths and status.
    # TYPE agentos_requests_total counter
    agentos_requests_total{group="page",status="404"} 1
    agentos_requests_total{group="v1",status="200"} 2
    # HELP agentos_refused_total Requests that the access rules refused, by rule.
    # TYPE agentos_refused_total counter
    agentos_refused_total{rule="wrong-host"} 1
    # HELP agentos_answers_total Answers of models by the client's wire and their end.
    # TYPE agentos_answers_total counter
    agentos_answers_total{wire="openai",end="whole"} 1
    # HELP agentos_first_piece_seconds Time from a request to the first piece of its answer.
    # TYPE agentos_first_piece_seconds histogram
    agentos_first_piece_seconds_bucket{le="0.01"} 0
    agentos_first_piece_seconds_bucket{le="0.05"} 1
    agentos_first_piece_seconds_bucket{le="0.2"} 1
    agentos_first_piece_seconds_bucket{le="0.5"} 1
    agentos_first_piece_seconds_bucket{le="1"} 1
    agentos_first_piece_seconds_bucket{le="5"} 1
    agentos_first_piece_seconds_bucket{le="20"} 1
    agentos_first_piece_seconds_bucket{le="60"} 1
    agentos_first_piece_seconds_bucket{le="+Inf"} 2
    agentos_first_piece_seconds_sum 99.03
    agentos_first_piece_seconds_count 2
    # HELP agentos_input_tokens_total Tokens of prompts.
    # TYPE agentos_input_tokens_total counter
    agentos_input_tokens_total 10
    # HELP agentos_output_tokens_total Tokens of answers.
    # TYPE agentos_output_tokens_total counter
    agentos_output_tokens_total 2
    # HELP agentos_cost_usd_total Known costs in US dollars.
    # TYPE agentos_cost_usd_total counter
    agentos_cost_usd_total 0.000014
    # HELP agentos_unknown_costs_total Answers whose cost is unknown.
    # TYPE agentos_unknown_costs_total counter
    agentos_unknown_costs_total 1
    "#);
    }
}
