//! `agentos profile init`: creates a profile file in the user's settings.
//!
//! Owns: the questions to the person. Never: contacts a server, or writes a key.

use agentos_host::{EffectError, NewProfile};
use serde::Serialize;

use crate::app::{App, Done, output_failed, stopped_error, usage_error};
use crate::args::tool::ProfileInitArgs;
use crate::escape;
use crate::exit::Exit;
use crate::terminal::keyboard::{Keyboard, LineSource, TypedLine};
use crate::terminal::last_line;

/// JSON document about a new profile.
#[derive(Serialize)]
struct CreatedProfile<'a> {
    version: u32,
    provider: &'a str,
    file: String,
}

/// Runs the verb.
pub fn create_profile(app: &App, args: &ProfileInitArgs) -> Done {
    let provider = &args.provider;
    let path = app
        .host
        .providers()
        .new_profile_path(provider, args.force || args.print)?;
    // Everything is composed before anything is written, so that a wrong value leaves no file.
    let text = app
        .host
        .providers()
        .compose_profile(&collect_values(app, args)?)?;
    if args.print {
        app.printer
            .write_data(&text)
            .map_err(|error| output_failed(&error))?;
        return Ok(Exit::Done);
    }
    app.host.providers().save_profile(&path, &text)?;
    let shown = path.display().to_string();
    let sentence = format!(
        "created {}\n  next: agentos tool health -p {provider}",
        escape::line(&shown)
    );
    app.report_success(
        &sentence,
        &CreatedProfile {
            version: 1,
            provider,
            file: shown,
        },
    )
}

/// Combines the flags with answers from the person at the terminal to what the flags leave open.
fn collect_values(app: &App, args: &ProfileInitArgs) -> Result<NewProfile, EffectError> {
    let usual = app.host.providers().profile_defaults(&args.provider)?;
    let base_url = match (&args.base_url, &usual.base_url) {
        (Some(url), _) => Some(url.clone()),
        (None, usual) => ask_value(app, "address of the service", usual.as_deref())?,
    };
    let has_address = base_url.is_some() || usual.base_url.is_some();
    let model = match &args.model {
        Some(model) => Some(model.clone()),
        // Without an address no profile can be created, so the question for the model is skipped.
        None if !has_address => None,
        None => ask_value(app, "model", usual.model.as_deref())?,
    };
    Ok(NewProfile {
        provider: args.provider.clone(),
        base_url,
        model,
        adapter: args.adapter.map(Into::into),
        api_key_ref: args.api_key_ref.clone(),
        capabilities: None,
        price: None,
    })
}

/// Asks the person for one line. `None` if there is no terminal, or the line is empty.
fn ask_value(app: &App, what: &str, usual: Option<&str>) -> Result<Option<String>, EffectError> {
    if !app.streams.can_ask || app.printer.json {
        return Ok(None);
    }
    let usual = usual.map(|usual| format!(" [{usual}]")).unwrap_or_default();
    let failed = |error: std::io::Error| usage_error(format!("cannot read the answer: {error}"));
    // The question goes to standard error, because with `--print` standard output is the file.
    last_line::print_prompt(&format!("{what}{usual}: "));
    match Keyboard::new(&app.signals).read_line().map_err(failed)? {
        TypedLine::Line(line) => Ok(Some(line.trim().to_owned()).filter(|line| !line.is_empty())),
        TypedLine::End => Ok(None),
        TypedLine::Stopped => Err(stopped_error()),
    }
}
