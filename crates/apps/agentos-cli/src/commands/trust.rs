//! `agentos trust`: shows the policy of the repository, and asks whether its preset may replace the default.
//!
//! Owns: the question to the person. Never: agrees to anything that it has not shown.

use agentos_host::{PolicyReview, PolicyTrust, TrustedPolicy};
use serde::Serialize;

use crate::app::{App, Done, output_failed, usage_error};
use crate::args::policy::TrustPolicyArgs;
use crate::commands::question::ask_yes;
use crate::escape;
use crate::exit::Exit;

/// JSON document of `--list`.
#[derive(Serialize)]
struct TrustedPolicies {
    version: u32,
    policies: Vec<TrustedPolicy>,
}

/// JSON document of `--clear`.
#[derive(Serialize)]
struct ClearedPolicy {
    version: u32,
    cleared: bool,
}

/// Runs the verb.
pub fn trust_policy(app: &App, args: &TrustPolicyArgs) -> Done {
    if args.list {
        return list_policies(app);
    }
    if args.clear {
        return clear_policy(app);
    }
    let review = app.host.review_policy()?;
    if app.printer.json && !args.yes {
        app.printer
            .write_json(&review)
            .map_err(|error| output_failed(&error))?;
        return Ok(Exit::Done);
    }
    match review.trust {
        PolicyTrust::Agreed => {
            return app.report_success("you agreed to this policy of the repository", &review);
        }
        PolicyTrust::NotNeeded => {
            let sentence =
                "nothing to agree to: the repository's policy names no preset that could replace `default`";
            return app.report_success(sentence, &review);
        }
        PolicyTrust::New | PolicyTrust::Changed => {}
    }
    if !app.printer.json {
        app.printer
            .write_report(&format_review(&review))
            .map_err(|error| output_failed(&error))?;
    }
    if !args.yes && !app.streams.can_ask {
        return Err(usage_error("there is no terminal for the question")
            .hint("`agentos trust --yes` agrees to exactly what is shown"));
    }
    if !args.yes
        && !ask_yes(
            app,
            "let this policy replace the preset `default` in this repository?",
        )?
    {
        app.printer
            .show_note("nothing is changed: the preset `default` stays active");
        return Ok(Exit::Done);
    }
    app.host.agree_to_policy(&review)?;
    let mut agreed = review;
    agreed.trust = PolicyTrust::Agreed;
    app.report_success("this policy of the repository is active as it is", &agreed)
}

/// Formats the policy as a person is asked about it.
fn format_review(review: &PolicyReview) -> String {
    let head = match review.trust {
        PolicyTrust::Changed => "changed since you agreed to it:",
        PolicyTrust::New | PolicyTrust::Agreed | PolicyTrust::NotNeeded => "the policy of this repository:",
    };
    let sha256 = review.sha256.as_deref().unwrap_or("-");
    format!("{head}\n{}sha256 {sha256}\n", escape::block(&review.diff))
}

fn list_policies(app: &App) -> Done {
    let policies = app.host.list_agreed_policies()?;
    if app.printer.json {
        let document = TrustedPolicies { version: 1, policies };
        app.printer
            .write_json(&document)
            .map_err(|error| output_failed(&error))?;
    } else if policies.is_empty() {
        app.printer.show_note("you agreed to the policy of no repository");
    } else {
        let line = |policy: &TrustedPolicy| {
            let newest = policy.sha256.last().map_or("-", String::as_str);
            format!("{newest}  {}\n", escape::line(&policy.repository))
        };
        let text: String = policies.iter().map(line).collect();
        app.printer
            .write_report(&text)
            .map_err(|error| output_failed(&error))?;
    }
    Ok(Exit::Done)
}

fn clear_policy(app: &App) -> Done {
    let cleared = app.host.clear_agreed_policy()?;
    let sentence = if cleared {
        "the preset `default` is active again, besides the policy of this repository"
    } else {
        "you did not agree to the policy of this repository"
    };
    app.report_success(sentence, &ClearedPolicy { version: 1, cleared })
}
