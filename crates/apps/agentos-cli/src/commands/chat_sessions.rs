//! `agentos chat list|show|search|fork|clear|delete`: sessions of the ledger.
//!
//! Owns: the meaning of the flags. Never: calls a model.

use serde::Serialize;

use crate::app::{App, Done, output_failed};
use crate::args::chat::{ChatDeleteArgs, ChatForkArgs, ChatListArgs, ChatSearchArgs, SessionArg};
use crate::commands::chat_turn::parse_session;
use crate::commands::log::layout_of;
use crate::exit::Exit;
use crate::render;
use crate::render::chat::{format_found, format_sessions, format_story};

/// Lists the sessions.
pub fn list_sessions(app: &App, args: &ChatListArgs) -> Done {
    let list = app.host.list_sessions(args.limit as usize)?;
    if !app.printer.json && list.sessions.is_empty() {
        app.printer
            .show_note("there are no sessions yet; `agentos chat` begins one");
        return Ok(Exit::Done);
    }
    print(app, &list, || format_sessions(&list, &layout_of(app)))
}

/// Shows a session.
pub fn show_session(app: &App, args: &SessionArg) -> Done {
    let story = app.host.show_session(&parse_session(&args.session)?)?;
    print(app, &story, || format_story(&story))
}

/// Finds turns.
pub fn search_sessions(app: &App, args: &ChatSearchArgs) -> Done {
    let search = app.host.search_sessions(&args.text, args.limit as usize)?;
    if !app.printer.json && search.found.is_empty() {
        app.printer.show_note("no turn contains all of these words");
        return Ok(Exit::Done);
    }
    print(app, &search, || format_found(&search.found))
}

/// Begins a session with the turns of another one.
pub fn fork_session(app: &App, args: &ChatForkArgs) -> Done {
    let (from, to) = (parse_session(&args.from)?, parse_session(&args.to)?);
    app.host.fork_session(&from, &to)?;
    let document = serde_json::json!({ "version": 1, "session": to, "fork": from });
    app.report_success(&format!("`{to}` begins with the turns of `{from}`"), &document)
}

/// Begins a session's window again.
pub fn clear_session(app: &App, args: &SessionArg) -> Done {
    let key = parse_session(&args.session)?;
    app.host.clear_session(&key)?;
    let document = serde_json::json!({ "version": 1, "session": key });
    app.report_success(
        &format!("earlier messages of `{key}` are not sent any more"),
        &document,
    )
}

/// Deletes a session.
pub fn delete_session(app: &App, args: &ChatDeleteArgs) -> Done {
    let deleted = app.host.delete_session(&parse_session(&args.session)?)?;
    let texts = render::count_noun(deleted.removed as u64, "text");
    app.report_success(
        &format!("deleted `{}`, and removed {texts}", deleted.session),
        &deleted,
    )
}

fn print(app: &App, document: &impl Serialize, text: impl FnOnce() -> String) -> Done {
    match app.printer.json {
        true => app.printer.write_json(document),
        false => app.print_paged(&text()),
    }
    .map_err(|error| output_failed(&error))?;
    Ok(Exit::Done)
}
