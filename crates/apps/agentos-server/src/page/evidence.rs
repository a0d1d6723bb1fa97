//! Evidence on the page: verified now, and exported for a reviewer.
//!
//! Owns: these pages, and the page of an export. Never: exports to a folder that a form names.

use agentos_host::{
    CopyCheck, EffectError, ExportFacts, ExportLayout, ExportedRun, VerifyReport, VerifySpec, new_run,
};
use askama::Template;
use axum::extract::{Extension, State};

use super::forms::SentForm;
use super::views::{PageFrame, RunRow, describe_run, render};
use super::{PageAnswer, Person, SignedIn, read_frame};
use crate::desk::{Lane, ServiceDesk, SharedDesk};
use crate::marked_text::mark;

#[derive(Template)]
#[template(path = "evidence.html")]
struct EvidencePage {
    frame: PageFrame,
    ok: bool,
    facts: Vec<(&'static str, String)>,
    findings: Vec<String>,
    more: u64,
    export: Option<ShownExport>,
}

struct ShownExport {
    folder: String,
    records: u64,
    texts: u64,
    signed: String,
    is_redacted: bool,
}

#[derive(Template)]
#[template(path = "export.html")]
struct ExportPage {
    repository: String,
    exporter: String,
    created: String,
    is_redacted: bool,
    ok: bool,
    records: u64,
    runs: Vec<RunRow>,
}

/// `GET /evidence`
pub async fn show_evidence(State(desk): State<SharedDesk>, Extension(person): Person) -> PageAnswer {
    answer(&desk, &person, None).await
}

/// `POST /evidence/export`: copies the evidence into a folder of its own.
pub async fn export(State(desk): State<SharedDesk>, Extension(person): Person, form: SentForm) -> PageAnswer {
    form.require_secret(&person.form)?;
    let is_redacted = form.text("redact") == "yes";
    let export = desk
        .call_in(Lane::Long, move |desk| copy_evidence(desk, is_redacted))
        .await?;
    answer(&desk, &person, Some(export)).await
}

async fn answer(desk: &SharedDesk, person: &SignedIn, export: Option<ShownExport>) -> PageAnswer {
    let report = desk
        .call_in(Lane::Long, |desk| {
            desk.host.stories().verify_evidence(&VerifySpec::default())
        })
        .await?;
    let (frame, _) = read_frame(desk, person, "Evidence", "evidence").await?;
    Ok(render(&EvidencePage::new(frame, &report, export)))
}

impl EvidencePage {
    fn new(frame: PageFrame, report: &VerifyReport, export: Option<ShownExport>) -> Self {
        let mut facts = vec![
            ("Records", report.records.to_string()),
            ("Texts", report.blobs.to_string()),
            ("Signed runs", report.signed.to_string()),
            ("Runs without a signature", report.unsigned.to_string()),
        ];
        facts.extend(report.commits.map(|commits| ("Commits", commits.to_string())));
        facts.extend(report.head.as_ref().map(|head| ("Last record", mark(head))));
        let findings = report.findings.iter();
        Self {
            frame,
            ok: report.ok,
            facts,
            findings: findings.map(|finding| mark(&finding.detail)).collect(),
            more: report.more_findings,
            export,
        }
    }
}

/// Copies the evidence into a new folder among the files of the service.
fn copy_evidence(desk: &ServiceDesk, is_redacted: bool) -> Result<ShownExport, EffectError> {
    let name = format!("evidence-{}", new_run().short_id());
    let folder = desk.host.service_folder()?.join("exports").join(name);
    let layout = ExportLayout {
        page: &write_page,
        check_command: &|check| word_check(check),
    };
    let report = desk
        .host
        .stories()
        .export_evidence(&folder, is_redacted, layout)?;
    Ok(ShownExport {
        folder: mark(&folder.display().to_string()),
        records: report.records,
        texts: report.blobs,
        signed: mark(report.signed_by.as_deref().unwrap_or_default()),
        is_redacted,
    })
}

/// Returns the command that verifies an export from inside its folder.
fn word_check(check: CopyCheck) -> String {
    let keys = if check.names_keys {
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

/// Lays out the page of an export: the runs in one list, for a reader who opens the folder.
fn write_page(facts: &ExportFacts, found: &VerifyReport, runs: &[ExportedRun]) -> String {
    let page = ExportPage {
        repository: mark(&facts.repository),
        exporter: mark(&facts.exporter),
        created: mark(&facts.created),
        is_redacted: facts.redacted,
        ok: found.ok,
        records: found.records,
        runs: runs
            .iter()
            .filter_map(|run| run.logged.as_ref())
            .map(describe_run)
            .collect(),
    };
    // A template writes into a text, which does not fail.
    page.render().unwrap_or_default()
}
