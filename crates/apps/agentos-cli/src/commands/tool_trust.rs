//! `agentos tool trust`: shows the tools of a toolbox, and asks whether models may call them.
//!
//! Owns: the question to the person. Never: consents to anything that it has not shown.

use agentos_host::{ToolboxReview, ToolboxTrust, block_on};
use serde::Serialize;

use crate::app::{App, Done, output_failed, usage_error};
use crate::args::tool::TrustArgs;
use crate::commands::question::ask_yes;
use crate::escape;
use crate::exit::Exit;
use crate::render::toolbox::format_review;
use crate::terminal::working::WorkDisplay;

/// JSON document about a toolbox that is trusted no more.
#[derive(Serialize)]
struct ForgottenToolbox<'a> {
    version: u32,
    toolbox: &'a str,
}

/// Runs the verb.
pub fn trust_toolbox(app: &App, args: &TrustArgs) -> Done {
    let name = &args.toolbox;
    if args.forget {
        return forget_toolbox(app, name);
    }
    let review = {
        let _work = WorkDisplay::start_on(app, "asking the toolbox for its tools");
        block_on(app.host.providers().review_toolbox(name))??
    };
    if let Some(sha256) = &args.accept {
        return accept_review(app, &review, sha256);
    }
    if app.printer.json {
        // Shown, and not trusted: consent needs the hash of what was shown.
        app.printer
            .write_json(&review)
            .map_err(|error| output_failed(&error))?;
        return Ok(Exit::Done);
    }
    app.printer
        .write_report(&format_review(&review))
        .map_err(|error| output_failed(&error))?;
    if review.trust == ToolboxTrust::Trusted {
        return Ok(Exit::Done);
    }
    if !app.streams.can_ask {
        return Err(
            usage_error("nobody can be asked whether to trust these tools").hint(format!(
                "`--accept {}` trusts exactly what is shown",
                review.sha256
            )),
        );
    }
    match ask_yes(app, "let models read these texts and call these tools?")? {
        true => record_trust(app, &review),
        false => {
            app.printer
                .show_note("nothing is changed: its tools are not offered");
            Ok(Exit::Done)
        }
    }
}

fn accept_review(app: &App, review: &ToolboxReview, sha256: &str) -> Done {
    if review.sha256 != *sha256 {
        let message = format!("the toolbox has the SHA-256 {} now", review.sha256);
        return Err(usage_error(message).hint("look at it again, and accept what is shown"));
    }
    record_trust(app, review)
}

fn record_trust(app: &App, review: &ToolboxReview) -> Done {
    app.host.providers().trust_toolbox(review)?;
    let trusted = ToolboxReview {
        trust: ToolboxTrust::Trusted,
        changes: Vec::new(),
        ..review.clone()
    };
    let name = escape::line(&review.toolbox);
    let sentence = format!("you trust the tools of `{name}`; `agentos chat --tool {name}` offers them");
    app.report_success(&sentence, &trusted)
}

fn forget_toolbox(app: &App, name: &str) -> Done {
    let shown = escape::line(name);
    let sentence = match app.host.providers().forget_toolbox(name)? {
        true => format!("the tools of `{shown}` are not offered any more"),
        false => format!("you did not trust the tools of `{shown}`"),
    };
    let document = ForgottenToolbox {
        version: 1,
        toolbox: name,
    };
    app.report_success(&sentence, &document)
}
