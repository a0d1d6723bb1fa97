//! `agentos use` and `agentos config`: the user's own settings.
//!
//! Owns: the messages and the table. Never: reads or writes the settings file; `agentos-host` does.

use agentos_host::{DefaultProvider, SettingsReport};
use serde::Serialize;

use crate::app::{App, Done, output_failed};
use crate::args::config::{
    ConfigArgs, ConfigGetArgs, ConfigListArgs, ConfigSetArgs, ConfigUnsetArgs, ConfigVerb, UseArgs,
};
use crate::exit::Exit;
use crate::{escape, render};

/// JSON document about the default provider.
#[derive(Serialize)]
struct UsedProvider {
    version: u32,
    default_provider: Option<DefaultProvider>,
}

/// JSON document about the settings file.
#[derive(Serialize)]
struct SettingsFile {
    version: u32,
    file: String,
}

/// Runs `agentos use`.
pub fn use_provider(app: &App, args: &UseArgs) -> Done {
    choose_default(app, args.provider.as_deref(), args.model.as_deref())
}

/// Chooses the provider and the model of tasks that name none. Without a name, shows the present ones.
pub fn choose_default(app: &App, name: Option<&str>, model: Option<&str>) -> Done {
    let Some(name) = name else {
        return show_default(app);
    };
    let chosen = app.host.providers().use_provider(name, model)?;
    let sentence = format!(
        "tasks that name no provider now use {}",
        escape::line(&render::config::describe_default(&chosen))
    );
    let done = app.report_success(
        &sentence,
        &UsedProvider {
            version: 1,
            default_provider: Some(chosen.clone()),
        },
    )?;
    // A variable of the shell takes precedence over the file, so the command would seem to have no effect.
    let active = app.host.providers().read_settings()?.default_provider();
    if let Some(active) = active.filter(|active| *active != chosen) {
        let text = render::config::describe_default(&active);
        app.printer
            .show_note(&format!("note: here, {} takes precedence", escape::line(&text)));
    }
    Ok(done)
}

fn show_default(app: &App) -> Done {
    let chosen = app.host.providers().read_settings()?.default_provider();
    let sentence = match &chosen {
        Some(chosen) => render::config::describe_default(chosen),
        None => {
            "no default provider is set\n  next: agentos use NAME; `agentos tool list` shows the providers"
                .to_owned()
        }
    };
    if !app.printer.json
        && let Some(chosen) = &chosen
    {
        let line = escape::line(&render::config::describe_default(chosen));
        app.printer
            .write_data(&format!("{line}\n"))
            .map_err(|error| output_failed(&error))?;
        return Ok(Exit::Done);
    }
    app.report_success(
        &sentence,
        &UsedProvider {
            version: 1,
            default_provider: chosen,
        },
    )
}

/// Runs `agentos config`.
pub fn edit_settings(app: &App, args: &ConfigArgs) -> Done {
    match &args.verb {
        None => list_settings(app, &args.list),
        Some(ConfigVerb::List(list)) => list_settings(app, list),
        Some(ConfigVerb::Get(get)) => get_setting(app, get),
        Some(ConfigVerb::Set(set)) => set_setting(app, set),
        Some(ConfigVerb::Unset(unset)) => unset_setting(app, unset),
        Some(ConfigVerb::Path) => print_path(app),
    }
}

fn list_settings(app: &App, args: &ConfigListArgs) -> Done {
    let report = app.host.providers().settings_report(None)?;
    if app.printer.json {
        return print_report(app, &report);
    }
    app.print_paged(&render::config::format_settings(&report, args.origin))
        .map_err(|error| output_failed(&error))?;
    Ok(Exit::Done)
}

fn get_setting(app: &App, args: &ConfigGetArgs) -> Done {
    let report = app.host.providers().settings_report(Some(&args.key))?;
    if app.printer.json {
        return print_report(app, &report);
    }
    let Some(set) = report.settings.first().filter(|set| set.value.is_some()) else {
        // As `git config --get`: a script distinguishes an unset value from an empty one by the status.
        app.printer.show_note(&format!("`{}` is not set", args.key));
        return Ok(Exit::Usage);
    };
    let value = set.value.as_ref().map(ToString::to_string).unwrap_or_default();
    let origin = match &set.origin {
        Some(origin) if args.origin => format!("\t{}", escape::line(origin)),
        Some(_) | None => String::new(),
    };
    app.printer
        .write_data(&format!("{}{origin}\n", escape::line(&value)))
        .map_err(|error| output_failed(&error))?;
    Ok(Exit::Done)
}

fn set_setting(app: &App, args: &ConfigSetArgs) -> Done {
    app.host.providers().set_setting(&args.key, &args.value)?;
    let report = app.host.providers().settings_report(Some(&args.key))?;
    let origin = report.settings.first().and_then(|set| set.origin.clone());
    let origin = origin.unwrap_or_default();
    let sentence = format!("set `{}` ({})", args.key, escape::line(&origin));
    app.report_success(&sentence, &report)
}

fn unset_setting(app: &App, args: &ConfigUnsetArgs) -> Done {
    let was_set = app.host.providers().unset_setting(&args.key)?;
    let sentence = if was_set {
        format!("removed `{}` from your settings", args.key)
    } else {
        format!("`{}` was not set in your settings file", args.key)
    };
    app.report_success(&sentence, &app.host.providers().settings_report(Some(&args.key))?)
}

fn print_path(app: &App) -> Done {
    let file = app.host.providers().settings_path()?.display().to_string();
    if app.printer.json {
        app.printer.write_json(&SettingsFile { version: 1, file })
    } else {
        app.printer.write_data(&format!("{}\n", escape::line(&file)))
    }
    .map_err(|error| output_failed(&error))?;
    Ok(Exit::Done)
}

fn print_report(app: &App, report: &SettingsReport) -> Done {
    app.printer
        .write_json(report)
        .map_err(|error| output_failed(&error))?;
    Ok(Exit::Done)
}
