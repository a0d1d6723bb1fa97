//! `agentos serve` and `agentos open`: the local service and its page.
//!
//! Owns: the meaning of the flags. Never: serves anything itself; the program `agentos-server` does.

use std::ffi::OsString;

use agentos_host::JoinOrder;

use crate::app::{App, Done, output_failed};
use crate::args::serve::{OpenArgs, ServeArgs};
use crate::args::service_token::ServeVerb;
use crate::commands::service_token::run_token_verb;
use crate::exit::Exit;

/// Starts the service in the place of this program.
pub fn start_service(app: &App, args: &ServeArgs) -> Done {
    if let Some(ServeVerb::Token(verb)) = &args.verb {
        return run_token_verb(app, verb);
    }
    let mut words: Vec<OsString> = Vec::new();
    if let Some(repository) = app.host.named_repository() {
        words.extend(["--repo".into(), repository.into()]);
    }
    if let Some(address) = args.listen {
        words.extend(["--listen".into(), address.to_string().into()]);
    }
    for policy in &args.policies {
        words.extend(["--policy".into(), policy.into()]);
    }
    let status = app.host.run_program("agentos-server", &words)?;
    Ok(match status {
        0 => Exit::Done,
        _ => Exit::Internal,
    })
}

/// Opens the page of the running service.
pub fn open_page(app: &App, args: &OpenArgs) -> Done {
    let link = app.host.join_service(&JoinOrder {
        folder: app.host.known_repository().map(|known| known.folder),
        policies: Vec::new(),
        all: args.all,
    })?;
    if !args.print && app.host.open_service_link(&link)? {
        app.printer.show_note(&format!(
            "the page of {} is open in your browser",
            link.repository
        ));
        return Ok(Exit::Done);
    }
    if !args.print {
        app.printer
            .show_note("no program that opens a browser was found; open this link yourself");
    }
    app.printer
        .write_data(&format!("{}\n", link.link.expose()))
        .map_err(|error| output_failed(&error))?;
    Ok(Exit::Done)
}
