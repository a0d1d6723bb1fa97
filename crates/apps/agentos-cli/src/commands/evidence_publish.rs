//! `agentos evidence publish`: the evidence as a git ref.
//!
//! Owns: the messages. Never: pushes.

use agentos_host::PublishSpec;

use crate::app::{App, Done};
use crate::args::evidence::EvidencePublishArgs;
use crate::terminal::working::WorkDisplay;

/// Runs the verb.
pub fn publish_evidence(app: &App, args: &EvidencePublishArgs) -> Done {
    let report = {
        let _working = WorkDisplay::start_on(app, "publishing the evidence");
        let spec = PublishSpec {
            remote: args.remote.clone(),
            has_texts: args.full,
        };
        app.host.stories().publish_evidence(&spec)?
    };
    if report.signed_by.is_none() {
        app.printer.show_note(
            "note: this publication is not signed, so `verify --require` will refuse it; `agentos evidence key rotate` creates a key",
        );
    }
    let done = match report.changed {
        true => "wrote",
        false => "nothing new: there are already",
    };
    let texts = match report.redacted {
        true => "without the texts of tasks, answers and decisions",
        false => "with all texts",
    };
    let sentence = format!(
        "{done} {} records and {} blobs in `{}`, {texts}; push them with `git push {} {}`",
        report.records, report.blobs, report.refname, args.remote, report.refname
    );
    app.report_success(&crate::escape::line(&sentence), &report)
}
