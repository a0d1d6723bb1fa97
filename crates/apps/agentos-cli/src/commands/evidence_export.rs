//! `agentos evidence export`: a copy of the evidence for a reviewer who has neither this repository nor this program.
//!
//! Owns: the messages and the content of the page. Never: copies files itself.

use agentos_host::{CopyCheck, ExportFacts, ExportLayout, ExportedRun, ExportedText, VerifyReport};
use agentos_landing::describe_binary;
use serde_json::Value;

use crate::app::{App, Done};
use crate::args::evidence::EvidenceExportArgs;
use crate::render::page::{self, ChangeText, RecordRow, RunPage};
use crate::render::record_line::describe_record;
use crate::terminal::working::WorkDisplay;

/// Runs the verb.
pub fn export_evidence(app: &App, args: &EvidenceExportArgs) -> Done {
    let layout = |facts: &ExportFacts, found: &VerifyReport, runs: &[ExportedRun]| {
        let pages: Vec<RunPage> = runs.iter().map(run_page).collect();
        page::render_page(facts, found, &pages)
    };
    app.signals
        .set_remains("the copy is not complete: remove its folder, and export again");
    let report = {
        let _working = WorkDisplay::start_on(app, "copying the evidence");
        let layout = ExportLayout {
            page: &layout,
            check_command: &check_command,
        };
        app.host
            .stories()
            .export_evidence(&args.out, args.redact, layout)?
    };
    if report.signed_by.is_none() {
        app.printer.show_note(
            "note: this export is not signed, so `verify --require` will refuse it; `agentos evidence key rotate` creates a key",
        );
    }
    let sentence = format!(
        "copied {} records and {} blobs to `{}`; verify the copy with `agentos evidence verify --dir {}`",
        report.records, report.blobs, report.dir, report.dir
    );
    app.report_success(&crate::escape::line(&sentence), &report)
}

/// Returns the command that verifies an export from inside its folder.
fn check_command(check: CopyCheck) -> String {
    let keys = if check.names_keys {
        // A reviewer has none of the exporter's trusted keys. The export contains them in this file.
        " --keys allowed_signers"
    } else {
        ""
    };
    let require = if check.requires_signatures {
        " --require"
    } else {
        ""
    };
    format!("agentos evidence verify --dir .{keys}{require}")
}

fn run_page(run: &ExportedRun) -> RunPage {
    let stations = run.records.iter().map(|record| RecordRow {
        time: record.ts.clone(),
        kind: record.kind,
        words: describe_record(record).1,
        blobs: list_blobs(&record.body),
    });
    let change = run.change.as_ref().map(|change| ChangeText {
        title: match change.kind {
            ExportedText::Diff => "Change",
            ExportedText::Answer => "Answer, as it came: it has no place in the repository",
        },
        text: String::from_utf8_lossy(&describe_binary(change.text.as_bytes())).into_owned(),
        is_cut: change.is_cut,
    });
    RunPage {
        run: run.run.clone(),
        logged: run.logged.clone(),
        stations: stations.collect(),
        change,
    }
}

/// Returns the blobs that the members of a body name: a word for each, and its digits.
fn list_blobs(body: &Value) -> Vec<(String, String)> {
    let named = |(name, value): (&String, &Value)| {
        let word = name.strip_suffix("_sha256")?;
        let digits = value.as_str()?.strip_prefix("sha256:")?;
        Some((word.trim_end_matches("_blob").to_owned(), digits.to_owned()))
    };
    body.as_object().into_iter().flatten().filter_map(named).collect()
}
