//! `agentos approve` and `agentos deny`: a person's answer to a run that waits for consent.
//!
//! Owns: the list, the display and the question. Never: uses an answer for another change than the requested one.

use agentos_host::{
    ApprovalMode, Cause, ConsentMode, Effect, EffectError, OpenRequests, PreviewedRequest, RunSpec, RunWork,
    SessionOptions,
};
use agentos_tool::RunId;

use crate::app::{App, Done, output_failed};
use crate::args::land::{ApproveArgs, DenyArgs, HookFlags};
use crate::commands::log::layout_of;
use crate::escape;
use crate::exit::Exit;
use crate::render;
use crate::render::run_ids::shorten_runs;
use crate::terminal::follow::{consent_mode, follow_answered};
use crate::terminal::walk::walk_queue;

/// Lands the change of an open request, shows it, or lists all open requests.
pub fn answer_request(app: &App, args: &ApproveArgs, run: &RunId) -> Done {
    match &args.run {
        None if !args.list && !args.all && consent_mode(app, false) == ConsentMode::Person => {
            walk_queue(app, &args.policy, (&args.hooks).into())
        }
        None => list_requests(app, args.all),
        Some(id) if args.show => show_request(app, id),
        Some(id) => land_request(app, args, id, run, false),
    }
}

/// Lands a proposal of a conversation, in which the person may have said "always here".
pub fn land_proposal(app: &App, id: &str, run: &RunId) -> Done {
    let args = ApproveArgs {
        run: Some(id.to_owned()),
        list: false,
        all: false,
        show: false,
        yes: false,
        release_withheld: false,
        policy: Vec::new(),
        hooks: HookFlags {
            run_hooks: false,
            no_hooks: false,
        },
    };
    land_request(app, &args, id, run, true)
}

fn land_request(app: &App, args: &ApproveArgs, id: &str, run: &RunId, by_habit: bool) -> Done {
    let session = SessionOptions {
        // The consent is bound to the policy that asked. Without the files of the first run, the policy differs and the
        // consent is void.
        policies: args.policy.clone(),
        hooks: (&args.hooks).into(),
        ..SessionOptions::default()
    };
    // At a terminal, the person is shown the change and asked. Without a terminal `--yes` is required, because an agent with
    // a shell can name a run, too.
    let consent = consent_mode(app, false);
    let is_asked = !args.yes && consent == ConsentMode::Person;
    if !args.yes && !is_asked {
        // First, so that a run without an open request is reported as such.
        app.host.runs().open_request(id)?;
        if !(by_habit && is_allowed(app, id)) {
            return Err(unasked_error(id));
        }
    }
    let work = RunWork::Approval {
        request: id.to_owned(),
        consent: match (is_asked, args.release_withheld) {
            (true, _) => ApprovalMode::Asked,
            (false, false) => ApprovalMode::Named,
            (false, true) => ApprovalMode::NamedRelease,
        },
        revision: None,
    };
    let spec = RunSpec {
        id: Some(run.clone()),
        consent,
        ..RunSpec::new(session, work)
    };
    app.show_followed(follow_answered(app, spec, by_habit)?)
}

/// Returns true if policy allows the requested change as it would land now. In a conversation without a terminal, policy decides.
fn is_allowed(app: &App, id: &str) -> bool {
    match app.host.runs().preview_request(id, &[], None) {
        Ok(PreviewedRequest::Placed(shown)) => shown.decision.effect() == Effect::Allow,
        Ok(PreviewedRequest::Refused(_)) | Err(_) => false,
    }
}

/// Makes the failure of an approval without `--yes` and without a terminal.
fn unasked_error(run: &str) -> EffectError {
    let message = "there is no terminal to ask at, so `agentos approve` needs `--yes`; nothing was landed";
    let hint =
        format!("`agentos approve {run} --show` shows the change; `agentos approve {run} --yes` lands it");
    EffectError::new(Cause::Consent, "consent-needed", message).hint(hint)
}

fn show_request(app: &App, id: &str) -> Done {
    let (_, diff) = app.host.runs().open_request(id)?;
    // A pipe is given the exact bytes that were judged, so that they can be compared or applied elsewhere.
    let shown = if app.streams.stdout_is_terminal {
        app.print_exact(&app.format_diff(&diff, None))
    } else {
        app.printer.write_bytes(&diff)
    };
    shown.map_err(|error| output_failed(&error))?;
    Ok(Exit::Done)
}

fn list_requests(app: &App, all: bool) -> Done {
    let requests = if all {
        app.host.runs().all_requests()?
    } else {
        app.host.runs().open_requests()?
    };
    if app.printer.json {
        app.printer
            .write_json(&OpenRequests { version: 1, requests })
            .map_err(|error| output_failed(&error))?;
    } else if requests.is_empty() {
        app.printer.show_note(if all {
            "no run has requested consent"
        } else {
            "no run waits for consent"
        });
    } else {
        let layout = layout_of(app);
        let lines = requests
            .iter()
            .map(|request| render::requests::format_request(request, &layout))
            .collect::<String>();
        app.print_paged(&shorten_runs(&lines))
            .map_err(|error| output_failed(&error))?;
    }
    Ok(Exit::Done)
}

/// Closes a request permanently.
pub fn deny_request(app: &App, args: &DenyArgs) -> Done {
    let who = app.host.person_name();
    let denied = app
        .host
        .runs()
        .deny_request(&args.run, &who, args.comment.as_deref())?;
    app.report_success(
        &format!(
            "run {} was declined; nothing was landed",
            escape::line(&denied.run)
        ),
        &denied,
    )
}
