//! `agentos tool auth sign-in`: signs in at a server of tools with the user's browser.
//!
//! Owns: the words while it waits. Never: prints a token.

use std::time::Duration;

use agentos_host::{SignInAttempt, SignInSpec, SignInStatus, block_on};
use serde::Serialize;

use crate::app::{App, Done, stopped_error};
use crate::args::tool::AuthSignInArgs;
use crate::commands::auth::describe_sign_in;
use crate::escape;
use crate::terminal::last_line;

/// JSON document about a new sign-in.
#[derive(Serialize)]
struct SignInDone<'a> {
    version: u32,
    provider: &'a str,
    signed_in: &'a SignInStatus,
}

/// Describes what the user is about to agree to: the server chooses all of it.
fn describe_attempt(attempt: &SignInAttempt) -> String {
    let scopes = match attempt.scopes() {
        "" => "no scope is named".to_owned(),
        scopes => format!("the scopes are `{}`", escape::line(scopes)),
    };
    format!(
        "sign in at {}, on a page of {}, for {}; {scopes}\nif no browser opens, open this address on this machine:",
        escape::line(attempt.issuer()),
        escape::line(attempt.page_host()),
        escape::line(attempt.server()),
    )
}

/// Runs the verb.
pub fn sign_in(app: &App, args: &AuthSignInArgs) -> Done {
    let spec = SignInSpec {
        provider: args.provider.clone(),
        scopes: args.scopes.clone(),
        store: args.store.into(),
        limit: Duration::from_secs(args.timeout),
    };
    let work = async {
        let mut attempt = app.host.providers().begin_sign_in(spec).await?;
        app.printer.show_note(&describe_attempt(&attempt));
        // Even with `--quiet`, and in one line: without the address nobody could go on.
        last_line::print(&escape::line(attempt.address().expose()));
        if !args.no_browser {
            app.host.providers().open_sign_in(&mut attempt)?;
        }
        app.host.providers().finish_sign_in(attempt).await
    };
    let done = block_on(app.signals.unless_stopped(work))?;
    // Dropping the work has closed the port and removed the page.
    let status = done.ok_or_else(stopped_error)??;
    let sentence = format!(
        "{}; its token is sent to {} alone",
        escape::line(&describe_sign_in(&status)),
        escape::line(&status.server)
    );
    app.report_success(
        &sentence,
        &SignInDone {
            version: 1,
            provider: &args.provider,
            signed_in: &status,
        },
    )
}
