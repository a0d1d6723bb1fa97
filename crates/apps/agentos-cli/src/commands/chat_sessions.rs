//! `agentos chat list|show|search|export|title|fork|summarize|restore|clear|delete`: sessions of the ledger.
//!
//! Owns: the meaning of the flags. Never: understands an answer.

use std::path::Path;

use agentos_host::{CallNames, EffectError, SessionChange, SessionChangeKind, SessionExport};
use serde::Serialize;

use crate::app::{App, Done, output_failed, usage_error};
use crate::args::chat::{
    ChatDeleteArgs, ChatExportArgs, ChatForkArgs, ChatListArgs, ChatSearchArgs, ChatShowArgs,
    ChatSummarizeArgs, ChatTitleArgs, ExportFormat, SessionArg, complete_choice,
};
use crate::commands::chat_turn::{SummaryResult, parse_session, summarize};
use crate::commands::log::layout_of;
use crate::escape;
use crate::exit::Exit;
use crate::render;
use crate::render::chat::{describe_receipt, format_found, format_sessions, format_story};
use crate::render::chat_export::format_export;

/// Lists the sessions.
pub fn list_sessions(app: &App, args: &ChatListArgs) -> Done {
    let list = app.host.talk().list_sessions(args.limit as usize)?;
    if !app.printer.json && list.sessions.is_empty() {
        app.printer
            .show_note("there are no sessions yet; `agentos chat` begins one");
        return Ok(Exit::Done);
    }
    print(app, &list, || format_sessions(&list, &layout_of(app)))
}

/// Shows a session.
pub fn show_session(app: &App, args: &ChatShowArgs) -> Done {
    let mut story = app
        .host
        .talk()
        .show_session(&parse_session(app, args.session.as_deref())?)?;
    if args.dropped {
        story.messages.retain(|message| message.is_summarized);
        if !app.printer.json && story.messages.is_empty() {
            app.printer.show_note("no message is replaced by a summary");
            return Ok(Exit::Done);
        }
    }
    print(app, &story, || format_story(&story))
}

/// Finds turns.
pub fn search_sessions(app: &App, args: &ChatSearchArgs) -> Done {
    let search = app.host.talk().search_sessions(&args.text, args.limit as usize)?;
    if !app.printer.json && search.found.is_empty() {
        app.printer.show_note("no turn contains all of these words");
        return Ok(Exit::Done);
    }
    print(app, &search, || format_found(&search.found))
}

/// Begins a session with the turns of another one.
pub fn fork_session(app: &App, args: &ChatForkArgs) -> Done {
    let (from, to) = (
        parse_session(app, Some(&args.from))?,
        parse_session(app, Some(&args.to))?,
    );
    let change = app.host.talk().fork_session(&from, &to)?;
    report_change(app, &change)
}

/// Begins a session's window again.
pub fn clear_session(app: &App, args: &SessionArg) -> Done {
    let change = app
        .host
        .talk()
        .clear_session(&parse_session(app, args.session.as_deref())?)?;
    report_change(app, &change)
}

/// Deletes a session.
pub fn delete_session(app: &App, args: &ChatDeleteArgs) -> Done {
    let change = app
        .host
        .talk()
        .delete_session(&parse_session(app, Some(&args.session))?)?;
    report_change(app, &change)
}

/// Sets the title of a session.
pub fn title_session(app: &App, args: &ChatTitleArgs) -> Done {
    let change = app
        .host
        .talk()
        .title_session(&parse_session(app, Some(&args.session))?, &args.title.join(" "))?;
    report_change(app, &change)
}

/// Takes the last summary of a session back.
pub fn restore_session(app: &App, args: &SessionArg) -> Done {
    let change = app
        .host
        .talk()
        .restore_session(&parse_session(app, args.session.as_deref())?)?;
    report_change(app, &change)
}

/// Has a model summarize a session.
pub fn summarize_session(app: &App, args: &ChatSummarizeArgs) -> Done {
    let key = parse_session(app, args.session.as_deref())?;
    let mut conversation = app.host.talk().open_existing_conversation(&key)?;
    let remembered = conversation.state().settings().model_name();
    let named = CallNames {
        provider: args.provider.as_deref(),
        remembered: remembered.as_deref(),
    };
    let choice = complete_choice(app, named, &args.over, None)?;
    match summarize(app, &mut conversation, choice)? {
        SummaryResult::Receipt(receipt) => report_change(
            app,
            &SessionChange::new(&key, SessionChangeKind::Summarized { receipt }),
        ),
        SummaryResult::Unneeded => Err(usage_error(format!("`{key}` has no messages to summarize"))),
        SummaryResult::Stopped => Ok(app.show_stopped("the session is as before")),
    }
}

/// Prints a session as one document, or writes it to a file.
pub fn export_session(app: &App, args: &ChatExportArgs) -> Done {
    let export = app
        .host
        .talk()
        .export_session(&parse_session(app, args.session.as_deref())?)?;
    match (&args.out, args.format) {
        (Some(file), format) => write_export(app, &export, file, format)?,
        (None, Some(ExportFormat::Json)) => app
            .printer
            .write_json(&export)
            .map_err(|error| output_failed(&error))?,
        (None, _) if app.printer.json => app
            .printer
            .write_json(&export)
            .map_err(|error| output_failed(&error))?,
        (None, Some(ExportFormat::Markdown) | None) => {
            let text = format_export(&export);
            let text = match app.streams.stdout_is_terminal {
                true => escape::block(&text),
                false => text,
            };
            app.printer
                .write_bytes(text.as_bytes())
                .map_err(|error| output_failed(&error))?;
        }
    }
    Ok(Exit::Done)
}

/// Writes a session to a file. Without a format, the end of its name decides.
///
/// # Errors
/// Fails if the file cannot be written.
pub fn write_export(
    app: &App,
    export: &SessionExport,
    file: &Path,
    format: Option<ExportFormat>,
) -> Result<(), EffectError> {
    let is_json = match format {
        Some(format) => format == ExportFormat::Json,
        None => file.extension().is_some_and(|end| end == "json"),
    };
    let text = match is_json {
        true => serde_json::to_string_pretty(export).map_err(|error| output_failed(&error.into()))? + "\n",
        false => format_export(export),
    };
    app.host.talk().write_export(file, &text)?;
    let name = escape::line(&file.display().to_string());
    app.printer
        .show_note(&format!("wrote `{name}`, which only you can read"));
    Ok(())
}

/// Reports a change of a session.
pub fn report_change(app: &App, report: &SessionChange) -> Done {
    let key = &report.session;
    let words = match &report.change {
        SessionChangeKind::Forked { fork } => format!("`{key}` begins with the turns of `{fork}`"),
        SessionChangeKind::Cleared => format!("earlier messages of `{key}` are not sent any more"),
        SessionChangeKind::Titled { title } => format!("`{key}` has the title `{}`", escape::line(title)),
        SessionChangeKind::Summarized { receipt } => format!("`{key}`: {}", describe_receipt(receipt)),
        SessionChangeKind::Restored { receipt } => {
            let count = render::count_noun(receipt.replaced.len() as u64, "message");
            format!("{count} of `{key}` are sent again in place of their summary")
        }
        SessionChangeKind::Dropped { turn } => {
            format!(
                "the turn {} of `{key}` and all later ones are not sent any more",
                turn.short_id()
            )
        }
        SessionChangeKind::Shared { provider, texts } => {
            let count = render::count_noun(texts.len() as u64, "text");
            format!("`{}` may see {count} that `{key}` read", escape::line(provider))
        }
        SessionChangeKind::Deleted { removed } => {
            let texts = render::count_noun(*removed as u64, "text");
            format!("deleted `{key}`, and removed {texts}")
        }
    };
    app.report_success(&words, report)
}

fn print(app: &App, document: &impl Serialize, text: impl FnOnce() -> String) -> Done {
    match app.printer.json {
        true => app.printer.write_json(document),
        false => app.print_paged(&text()),
    }
    .map_err(|error| output_failed(&error))?;
    Ok(Exit::Done)
}
