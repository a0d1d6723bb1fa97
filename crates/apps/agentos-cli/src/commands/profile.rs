//! `agentos profile show|validate`: display and validation of profiles.
//!
//! Owns: the display of values with their origins. Never: changes a profile, or shows a key.

use serde::Serialize;

use crate::app::{App, Done, output_failed};
use crate::args::tool::{ProfileShowArgs, ProfileValidateArgs};
use crate::escape;
use crate::exit::Exit;
use crate::render::format_columns;

/// Shows one profile.
pub fn show_profile(app: &App, args: &ProfileShowArgs) -> Done {
    let shown = app.host.providers().show_profile(&args.provider)?;
    if app.printer.json {
        app.printer
            .write_json(&shown)
            .map_err(|error| output_failed(&error))?;
        return Ok(Exit::Done);
    }
    let rows: Vec<Vec<String>> = shown
        .values
        .iter()
        .map(|(field, value)| {
            let text = value
                .value
                .as_str()
                .map_or_else(|| value.value.to_string(), str::to_owned);
            let origin = args.origin.then(|| value.origin.clone());
            let row = [(*field).to_owned(), escape::line(&text)];
            row.into_iter().chain(origin).collect()
        })
        .collect();
    app.printer
        .write_report(&format_columns(&rows))
        .map_err(|error| output_failed(&error))?;
    Ok(Exit::Done)
}

/// JSON document about a valid profile. An invalid one is a failure.
#[derive(Serialize)]
struct ValidProfile<'a> {
    version: u32,
    provider: &'a str,
}

/// Validates one file, or all files of a provider together.
pub fn validate_profile(app: &App, args: &ProfileValidateArgs) -> Done {
    let (provider, is_file) = app.host.providers().validate_profile(&args.file)?;
    let shown = escape::line(&provider);
    let sentence = if is_file {
        let name = escape::line(&args.file.display().to_string());
        format!("`{name}` is a valid profile of `{shown}`")
    } else {
        format!("the profile of `{shown}` is valid")
    };
    let valid = ValidProfile {
        version: 1,
        provider: &provider,
    };
    app.report_success(&sentence, &valid)
}
