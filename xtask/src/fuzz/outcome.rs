//! The outcome of a run of a fuzz target: read from the fuzzer's log, shown as a table, stored as lines of JSON.
//!
//! Owns: those three forms. Never: counts anything itself.

use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Result;
use serde::Serialize;
use xshell::Shell;

use super::OUTPUT;

/// The outcome of one run of one target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FuzzOutcome {
    pub target: String,
    /// Duration of the run.
    pub seconds: u64,
    /// Number of inputs that were tried.
    pub executions: u64,
    pub executions_per_second: u64,
    /// Number of inputs in the corpus at the end; each covers something that no other covers.
    pub corpus: u64,
    /// Largest resident memory in bytes.
    pub peak_memory: u64,
    /// 1 if the fuzzer stopped at a finding, otherwise 0.
    pub findings: u64,
}

impl FuzzOutcome {
    /// Parses the log of a run.
    pub fn read(target: &str, seconds: u64, log: &str, is_well: bool) -> Self {
        let number = |name: &str| {
            // From the end, because a log can contain output of the parser that looks like a statistic.
            let line = log.lines().rev().find_map(|line| line.strip_prefix(name));
            line.and_then(|rest| rest.trim().parse().ok()).unwrap_or(0)
        };
        let corpus = log.lines().rev().find_map(|line| {
            let after = line.split(" corp: ").nth(1)?;
            after.split('/').next()?.parse().ok()
        });
        let executions = number("stat::number_of_executed_units:");
        Self {
            target: target.to_owned(),
            seconds,
            executions,
            executions_per_second: executions / seconds.max(1),
            corpus: corpus.unwrap_or(0),
            peak_memory: number("stat::peak_rss_mb:") << 20,
            // The fuzzer prints statistics only at the end of a run, so a run without them was killed.
            findings: u64::from(!is_well || executions == 0),
        }
    }

    /// Formats the outcome as one line for people.
    pub fn format_line(&self) -> String {
        let Self {
            target,
            executions,
            executions_per_second,
            corpus,
            peak_memory,
            findings,
            ..
        } = self;
        let mib = peak_memory >> 20;
        format!("{target:<14} {executions:>12} {executions_per_second:>9} {corpus:>7} {mib:>6} {findings:>8}")
    }
}

/// Formats the table that is printed at the end.
pub fn format_table(outcomes: &[FuzzOutcome]) -> String {
    let [a, b, c, d, e, f] = ["target", "executions", "each s", "corpus", "MiB", "findings"];
    let mut all = vec![format!("\n{a:<14} {b:>12} {c:>9} {d:>7} {e:>6} {f:>8}")];
    all.extend(outcomes.iter().map(FuzzOutcome::format_line));
    let total: u64 = outcomes.iter().map(|outcome| outcome.executions).sum();
    let findings: u64 = outcomes.iter().map(|outcome| outcome.findings).sum();
    all.push(format!(
        "{} targets, {total} executions, {findings} findings",
        outcomes.len()
    ));
    all.join("\n")
}

/// Appends a line of JSON for each run to `runs.jsonl`.
///
/// # Errors
/// When the file cannot be written.
pub fn write(sh: &Shell, outcomes: &[FuzzOutcome]) -> Result<()> {
    #[derive(Serialize)]
    struct Line<'a> {
        /// Seconds since 1970.
        ended: u64,
        #[serde(flatten)]
        outcome: &'a FuzzOutcome,
    }
    let path = format!("{OUTPUT}/runs.jsonl");
    let ended = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_secs();
    // Before the first run there is no file.
    let mut text = sh.read_file(&path).unwrap_or_default();
    for outcome in outcomes {
        text.push_str(&(serde_json::to_string(&Line { ended, outcome })? + "\n"));
    }
    Ok(sh.write_file(&path, text)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "\
INFO: Running with entropic power schedule
#1024	pulse  cov: 80 ft: 90 corp: 20/400b lim: 11 exec/s: 512 rss: 40Mb
#4096	DONE   cov: 100 ft: 120 corp: 31/840b lim: 33 exec/s: 2048 rss: 44Mb
stat::number_of_executed_units: 4096
stat::average_exec_per_sec:     2048
stat::peak_rss_mb:              44
";

    #[test]
    fn a_log_is_read() {
        let outcome = FuzzOutcome::read("tape", 2, LOG, true);
        let expected = FuzzOutcome {
            target: "tape".to_owned(),
            seconds: 2,
            executions: 4096,
            executions_per_second: 2048,
            corpus: 31,
            peak_memory: 44 << 20,
            findings: 0,
        };
        assert_eq!(outcome, expected);
        assert_eq!(FuzzOutcome::read("tape", 2, LOG, false).findings, 1);
        assert_eq!(FuzzOutcome::read("tape", 2, "killed", true).findings, 1);
    }

    #[test]
    fn the_table_has_a_row_for_each_target() {
        let outcomes = [
            FuzzOutcome::read("tape", 2, LOG, true),
            FuzzOutcome::read("acp", 0, "", false),
        ];
        let expected = "
target           executions    each s  corpus    MiB findings
tape                   4096      2048      31     44        0
acp                       0         0       0      0        1
2 targets, 4096 executions, 1 findings";
        assert_eq!(format_table(&outcomes), expected);
    }
}
