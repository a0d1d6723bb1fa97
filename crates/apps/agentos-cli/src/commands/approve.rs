//! `agentos approve` and `agentos deny`: a person's answer to a run that waits for consent.
//!
//! Owns: the list, the display and the question. Never: uses an answer for another change than the requested one.

use agentos_host::{ConsentMode, OpenRequests, RunSpec, RunWork, SessionOptions};
use agentos_tool::RunId;

use crate::app::{App, Done, output_failed};
use crate::args::land::{ApproveArgs, DenyArgs};
use crate::exit::Exit;
use crate::render;
use crate::terminal::follow::{consent_mode, follow};

/// Lands the change of an open request, shows it, or lists all open requests.
pub fn approve(app: &App, args: &ApproveArgs, run: &RunId) -> Done {
    match &args.run {
        None => list(app),
        Some(id) if args.show => show(app, id),
        Some(id) => land(app, args, id, run),
    }
}

fn land(app: &App, args: &ApproveArgs, id: &str, run: &RunId) -> Done {
    let session = SessionOptions {
        policies: args.policy.clone(),
        ..SessionOptions::default()
    };
    // At a terminal, the person is shown the change and asked. Without one, naming the run's id is the consent.
    let consent = consent_mode(app, false);
    let consents = args.yes || consent != ConsentMode::Person;
    let work = RunWork::Approval {
        request: id.to_owned(),
        consents,
    };
    let spec = RunSpec {
        id: Some(run.clone()),
        consent,
        ..RunSpec::new(session, work)
    };
    app.show_end(follow(app, spec)?)
}

fn show(app: &App, id: &str) -> Done {
    let (_, diff) = app.host.open_request(id)?;
    let shown = if app.streams.stdout_is_terminal {
        app.page(&app.format_diff(&diff, None))
    } else {
        app.printer.bytes(&diff)
    };
    shown.map_err(|error| output_failed(&error))?;
    Ok(Exit::Done)
}

fn list(app: &App) -> Done {
    let requests = app.host.open_requests()?;
    if app.printer.json {
        app.printer
            .json(&OpenRequests { version: 1, requests })
            .map_err(|error| output_failed(&error))?;
    } else if requests.is_empty() {
        app.printer.note("no run waits for consent");
    } else {
        let lines = requests.iter().map(render::outcome::request).collect::<String>();
        app.page(&lines).map_err(|error| output_failed(&error))?;
    }
    Ok(Exit::Done)
}

/// Closes a request permanently.
pub fn deny(app: &App, args: &DenyArgs) -> Done {
    let denied = app.host.deny_request(&args.run, &app.host.environment().user())?;
    app.report_success(
        &format!("run {} was declined; nothing was landed", args.run),
        &denied,
    )
}
