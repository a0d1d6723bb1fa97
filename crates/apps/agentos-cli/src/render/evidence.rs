//! Evidence as text for people: the records of one run, statistics, the verification.
//!
//! Owns: tables and the order of their lines. Never: relies on what a tape says; text from it is escaped.

use agentos_host::{ProviderStats, Record, Tampering, VerifyReport};
use agentos_tool::format_dollars;

use super::record_line::describe_record;
use super::{count_noun, format_columns};
use crate::escape;
use crate::printer::{paint, style};

/// Returns the records of one run, one line each.
pub fn format_records(records: &[Record]) -> String {
    let mut out = String::new();
    for record in records {
        // Only the time of day: the records of one run are seconds apart, and the list of runs shows the date.
        let time = record.ts.get(11..23).unwrap_or(&record.ts);
        let (mark, words) = describe_record(record);
        out.push_str(&format!(
            "{} {} {}\n",
            paint(style::DIM, &escape::line(time)),
            paint(mark, &format!("{:11}", record.kind.as_str().replace('_', " "))),
            escape::line(&words)
        ));
    }
    if let (Some(first), Some(last)) = (records.first(), records.last()) {
        let hash = last.hash.get(..23).unwrap_or(&last.hash);
        out.push_str(&paint(
            style::DIM,
            &format!(
                "records {} to {}, head {}\n",
                first.seq,
                last.seq,
                escape::line(hash)
            ),
        ));
    }
    out
}

/// Place of the evidence that was verified, for the advice about a broken tape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EvidencePlace {
    /// The repository's own.
    Repository,
    /// The user's ledger.
    Ledger,
    /// A folder that was copied or exported: nothing here can repair it.
    Copy,
}

/// Returns the result of a verification.
pub fn format_verification(report: &VerifyReport, place: EvidencePlace) -> String {
    let mut out = String::new();
    // A clone brings the commits of landed runs but not their evidence. That is not tampering, so it has a text of its
    // own.
    let only_commits = report
        .findings
        .iter()
        .all(|finding| finding.tampering == Tampering::CommitWithoutRecord);
    if report.records == 0 && report.tapes.is_empty() && only_commits {
        out.push_str(&no_tape(report));
    } else if report.ok {
        let commits = report
            .commits
            .map(|count| format!(", {}", count_noun(count, "commit")))
            .unwrap_or_default();
        out.push_str(&format!(
            "{} {}, {}{commits}: the chain is whole\n",
            paint(style::GOOD, "verified"),
            count_noun(report.records, "record"),
            count_noun(report.blobs, "blob"),
        ));
        out.push_str(&format_signatures(report));
    } else {
        out.push_str(&format!(
            "{} {} in {}\n",
            paint(style::BAD, "broken"),
            count_noun(report.findings.len() as u64 + report.more_findings, "fault"),
            count_noun(report.records, "record"),
        ));
        // A damaged tape can have a finding for every record. The count above covers all of them.
        for finding in report.findings.iter().take(MOST_LINES) {
            let line = finding
                .line
                .map(|line| format!("line {line}: "))
                .unwrap_or_default();
            out.push_str(&format!(
                "  {} {line}{}\n",
                paint(style::BAD, tampering_word(finding)),
                escape::line(&finding.detail)
            ));
        }
        out.push_str(&left_out(report.findings.len() as u64 + report.more_findings));
        let unknown = |finding: &agentos_host::Finding| finding.tampering == Tampering::KeyUnknown;
        if report.findings.iter().any(unknown) {
            out.push_str("  if you know whose key it is: `agentos evidence key trust KEY --name NAME`\n");
        }
        if report.findings.iter().any(|found| found.tampering.is_of_tape()) {
            out.push_str(&advise_new_tape(place));
        }
    }
    for note in report.notes.iter().take(MOST_LINES) {
        out.push_str(&paint(style::DIM, &format!("  note: {}\n", escape::line(note))));
    }
    out.push_str(&left_out(report.notes.len() as u64));
    out
}

/// Returns what to do about a broken tape.
fn advise_new_tape(place: EvidencePlace) -> String {
    let advice = match place {
        EvidencePlace::Repository => {
            "run `agentos recover`, then rename the folder to keep it for inspection, as in `mv .git/agentos .git/agentos.broken`: new runs \
             then begin a new tape, and what landed before has no evidence here"
        }
        EvidencePlace::Ledger => {
            "rename the folder `ledger` in your state folder, usually `~/.local/state/agentos`, to keep it for inspection: the next call of a \
             model then begins a new ledger, and costs and sessions before it are not listed any more"
        }
        EvidencePlace::Copy => return String::new(),
    };
    format!("  {} {advice}\n", paint(style::BOLD, "next:"))
}

/// Most findings, and most notes, that are printed.
const MOST_LINES: usize = 20;

/// Says how many lines of a list were not printed. Returns nothing if all were.
fn left_out(count: u64) -> String {
    let more = count.saturating_sub(MOST_LINES as u64);
    if more == 0 {
        return String::new();
    }
    paint(
        style::DIM,
        &format!("  … and {more} more: `agentos evidence verify --json` lists them\n"),
    )
}

/// Says who signed, how many runs nobody signed, and when an export was made.
fn format_signatures(report: &VerifyReport) -> String {
    let mut out = String::new();
    if let Some(export) = &report.export {
        let created = export.created.as_deref().unwrap_or("an earlier version");
        let whose = if export.trusted {
            "trusted"
        } else {
            "not known here"
        };
        let signed = match &export.signed_by {
            Some(key) => format!("signed by {} ({whose})", escape::line(key)),
            None => "not signed".to_owned(),
        };
        out.push_str(&format!("  export of {}, {signed}\n", escape::line(created)));
    }
    for key in &report.keys {
        let whose = if key.trusted { "trusted" } else { "not known here" };
        let runs = count_noun(key.signed, "run");
        out.push_str(&format!(
            "  {runs} signed by {} ({whose})\n",
            escape::line(&key.id)
        ));
    }
    if report.redacted > 0 {
        let count = count_noun(report.redacted, "record");
        out.push_str(&format!("  redacted: the content of {count} is left out\n"));
    }
    if report.unsigned > 0 {
        out.push_str(&format!("  {} not signed\n", count_noun(report.unsigned, "run")));
    }
    out
}

/// Returns a table with a line for each provider and model.
pub fn format_stats(providers: &[ProviderStats]) -> String {
    let head = [
        "PROVIDER",
        "MODEL",
        "RUNS",
        "LANDED",
        "CALLS",
        "ANSWERED",
        "TOKENS IN/OUT",
        "COST",
        "MEAN",
        "SLOWEST",
        "REFUSED",
    ];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for stats in providers {
        let refused: Vec<String> = stats
            .refused
            .iter()
            .map(|(code, count)| format!("{code} {count}"))
            .collect();
        let failed: Vec<String> = stats
            .failed_calls
            .iter()
            .map(|(category, count)| format!("{category} {count}"))
            .collect();
        let percent = |share: Option<f64>| {
            share.map_or_else(|| "-".to_owned(), |share| format!("{:.0} %", share * 100.0))
        };
        let answered = match failed.as_slice() {
            [] => percent(stats.health),
            _ => format!("{} ({})", percent(stats.health), escape::line(&failed.join(", "))),
        };
        let cost = stats.cost_micro_usd.map(format_dollars);
        let cost = match stats.calls == stats.priced_calls {
            true => cost,
            // Some calls have no price.
            false => cost.map(|cost| format!("{cost} or more")),
        };
        let seconds = |ms: u64| format!("{}.{:01} s", ms / 1000, ms % 1000 / 100);
        let mean = stats.latency_ms.checked_div(stats.calls);
        rows.push(vec![
            escape::line(&stats.provider),
            escape::line(stats.model.as_deref().unwrap_or("-")),
            stats.runs.to_string(),
            format!("{} ({})", stats.landed, percent(stats.landing_rate)),
            stats.calls.to_string(),
            answered,
            format!("{}/{}", stats.input_tokens, stats.output_tokens),
            cost.unwrap_or_else(|| "-".to_owned()),
            mean.map_or_else(|| "-".to_owned(), seconds),
            mean.map_or_else(|| "-".to_owned(), |_| seconds(stats.slowest_ms)),
            escape::line(&refused.join(", ")),
        ]);
    }
    format_columns(&rows)
}

/// There is nothing to verify: no runs yet, or commits whose evidence is elsewhere.
fn no_tape(report: &VerifyReport) -> String {
    match report.findings.len() as u64 {
        0 => format!(
            "{} no run has left evidence here yet\n",
            paint(style::DIM, "nothing to verify:")
        ),
        commits => format!(
            "{} {} on a branch without evidence\n  evidence stays in the repository in which a change was landed. \
             Run `agentos evidence publish` there, push its ref, and fetch it here: \
             `git fetch origin 'refs/agentos/*:refs/agentos/*'`; or verify an export\n",
            paint(style::BAD, "no evidence here:"),
            count_noun(commits, "commit"),
        ),
    }
}

fn tampering_word(finding: &agentos_host::Finding) -> &'static str {
    match finding.tampering {
        Tampering::Mutated => "changed",
        Tampering::Dropped => "dropped",
        Tampering::Reordered => "reordered",
        Tampering::Duplicated => "duplicated",
        Tampering::Spliced => "spliced",
        Tampering::CutOff => "cut off",
        Tampering::TornTail => "torn",
        Tampering::HeadChanged => "head changed",
        Tampering::BlobMissing => "blob missing",
        Tampering::BlobChanged => "blob changed",
        Tampering::CostWrong => "cost wrong",
        Tampering::CommitWithoutRecord => "commit without record",
        Tampering::RecordWithoutCommit => "record without commit",
        Tampering::CommitRewritten => "commit rewritten",
        Tampering::CommitWithoutEvidence => "commit without evidence",
        Tampering::SignatureInvalid => "signature invalid",
        Tampering::KeyUnknown => "key unknown",
        Tampering::DeviceUnknown => "device unknown",
        Tampering::RunUnsigned => "not signed",
        Tampering::FormDowngraded => "older form",
        Tampering::RecordUnproved => "not proved",
        Tampering::ExportUnsigned => "export not signed",
        Tampering::PublicationInvalid => "publication invalid",
        Tampering::ExportChanged => "export changed",
    }
}
