//! `agentos models`: the known models, the user's own, and those that servers list.
//!
//! Owns: the filters and the exit status. Never: decides where a value comes from, or writes the file of the user's models.

use agentos_host::{
    AddServerSpec, AddedServer, Cause, ChangedModel, EffectError, ImportReport, ListedModel, ModelAction,
    ModelActionSpec, ModelChoice, ModelList, UserModel, block_on,
};

use crate::app::{App, Done, output_failed, usage_error};
use crate::args::models::{
    ModelMemoryArgs, ModelsAddArgs, ModelsImportArgs, ModelsListArgs, ModelsRemoveArgs, ModelsShowArgs,
};
use crate::escape;
use crate::exit::Exit;
use crate::render::machine::describe_action;
use crate::render::models::{format_limits, format_model, format_prices, format_silent, format_skipped};
use crate::terminal::working::WorkDisplay;

/// Lists models.
pub fn print_models(app: &App, args: &ModelsListArgs) -> Done {
    if args.available {
        return print_available(app, args);
    }
    let choice = match (args.disputed, args.all) {
        (true, _) => ModelChoice::Disputed,
        (false, true) => ModelChoice::All,
        (false, false) => ModelChoice::BuiltIn,
    };
    let mut list = app.host.calls().list_models(choice)?;
    let words = |of: fn(&ListedModel) -> &str| {
        let mut all: Vec<&str> = list.models.iter().map(of).collect();
        all.sort_unstable();
        all.dedup();
        all.join(", ")
    };
    let hint = format!(
        "providers are {}; API types are {}",
        words(|model| &model.provider),
        words(|model| model.api.as_str())
    );
    keep_chosen(&mut list, args);
    if list.models.is_empty() {
        return Err(usage_error("no known model matches").hint(hint));
    }
    print_list(app, args, &list)
}

/// Lists the models that servers have now.
fn print_available(app: &App, args: &ModelsListArgs) -> Done {
    let seen = {
        let _working = WorkDisplay::start_on(app, "asking providers");
        let asked = app.host.calls().list_available(args.provider.as_deref());
        block_on(app.signals.unless_stopped(asked))?
    };
    let Some(list) = seen else {
        return Ok(app.show_stopped("nothing was written"));
    };
    let mut list = list?;
    let nobody_answered = list.models.is_empty();
    keep_chosen(&mut list, args);
    if app.printer.json {
        write_models(app, &list)?;
    } else {
        if !list.models.is_empty() {
            print_list(app, args, &list)?;
        }
        if !list.silent.is_empty() {
            app.printer.show_note(&format_silent(&list.silent));
        }
    }
    if !nobody_answered {
        return Ok(Exit::Done);
    }
    let error = EffectError::new(
        Cause::Tool,
        "no-models-listed",
        "no server said which models it has",
    );
    match app.printer.json {
        true => Ok(Exit::from(error.cause)),
        false => Err(error),
    }
}

/// Removes the models that the filters leave out.
fn keep_chosen(list: &mut ModelList, args: &ModelsListArgs) {
    list.models.retain(|model| {
        let fits = |wanted: &Option<String>, own: &str| wanted.as_deref().is_none_or(|name| name == own);
        fits(&args.provider, &model.provider) && fits(&args.api, model.api.as_str())
    });
}

fn print_list(app: &App, args: &ModelsListArgs, list: &ModelList) -> Done {
    if app.printer.json {
        return write_models(app, list);
    }
    let text = match args.prices || args.disputed {
        true => format_prices(list),
        false => format_limits(&list.models),
    };
    app.print_paged(&text).map_err(|error| output_failed(&error))?;
    Ok(Exit::Done)
}

/// Shows one model.
pub fn show_model(app: &App, args: &ModelsShowArgs) -> Done {
    let Some(found) = app.host.calls().find_model(&args.model)? else {
        let hint = match app.host.calls().nearest_model(&args.model)? {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => "`agentos models list --all` shows the known models; `agentos tool health` shows a server's models"
                .to_owned(),
        };
        return Err(usage_error(format!("`{}` is not a known model", args.model)).hint(hint));
    };
    if app.printer.json {
        return write_models(app, &found);
    }
    app.printer
        .write_report(&format_model(&found))
        .map_err(|error| output_failed(&error))?;
    Ok(Exit::Done)
}

/// Adds a model.
pub fn add_model(app: &App, args: &ModelsAddArgs) -> Done {
    if args.id.contains("://") {
        return add_server(app, args);
    }
    let changed = app.host.providers().add_model(UserModel::from(args))?;
    let verb = match changed.replaced {
        true => "replaced",
        false => "added",
    };
    let done = app.report_success(&describe_change(verb, &changed), &changed)?;
    if !changed.has_provider {
        let provider = changed.model.served_by();
        app.printer.show_note(&format!(
            "note: there is no provider `{provider}` yet\n  next: agentos profile init {provider} --base-url URL"
        ));
    }
    Ok(done)
}

/// Adds a server by its address.
fn add_server(app: &App, args: &ModelsAddArgs) -> Done {
    let states_more = args.context_window.is_some()
        || args.output_limit.is_some()
        || UserModel::from(args).price.is_some()
        || !args.abilities.is_empty();
    if states_more {
        let error = usage_error("with the address of a server, no limits, prices or abilities can be stated");
        return Err(
            error.hint("add the server first, then `agentos models add PROVIDER/MODEL` with the values")
        );
    }
    let spec = AddServerSpec {
        url: args.id.clone(),
        provider: args.provider.clone(),
        model: args.name.clone(),
    };
    let asked = {
        let _working = WorkDisplay::start_on(app, "asking the server");
        let added = app.host.providers().add_server(&spec);
        block_on(app.signals.unless_stopped(added))?
    };
    let Some(added) = asked else {
        return Ok(app.show_stopped("nothing was written"));
    };
    let added = added?;
    app.report_success(&describe_server(&added), &added)
}

/// Describes a server that was added, in one line.
pub fn describe_server(added: &AddedServer) -> String {
    let model = match (&added.model, added.context_window) {
        (Some(model), Some(window)) => format!("model {model}, window of {window} tokens"),
        (Some(model), None) => format!("model {model}, window not stated"),
        (None, _) => "no model is there yet".to_owned(),
    };
    let grammar = match added.takes_grammar {
        true => ", takes grammars",
        false => "",
    };
    let default = match added.is_default {
        true => "it is your default now: tasks that name no provider use it".to_owned(),
        false => format!("`agentos use {}` makes it your default", added.provider),
    };
    let line = format!(
        "added {}: {} at {}, {model}{grammar}; {default} ({})",
        added.provider, added.server, added.base_url, added.file
    );
    escape::line(&line)
}

/// Removes a model that the user added.
pub fn remove_model(app: &App, args: &ModelsRemoveArgs) -> Done {
    let changed = app.host.providers().remove_model(&args.id)?;
    app.report_success(&describe_change("removed", &changed), &changed)
}

fn describe_change(verb: &str, changed: &ChangedModel) -> String {
    format!(
        "{verb} {} ({})",
        escape::line(&changed.model.id),
        escape::line(&changed.file)
    )
}

/// Imports a table of models.
pub fn import_models(app: &App, args: &ModelsImportArgs) -> Done {
    let report = app
        .host
        .providers()
        .import_models(&args.file, args.provider.as_deref())?;
    if app.printer.json {
        app.printer
            .write_json(&report)
            .map_err(|error| output_failed(&error))?;
    } else {
        app.printer.show_note(&describe_import(&report));
        if !report.skipped.is_empty() {
            app.printer.show_note(&format_skipped(&report.skipped));
        }
    }
    if report.skipped.is_empty() {
        return Ok(Exit::Done);
    }
    let message = format!("{} of the table's entries contain mistakes", report.skipped.len());
    let error = EffectError::new(Cause::Usage, "some-not-imported", message);
    match app.printer.json {
        true => Ok(Exit::from(error.cause)),
        false => Err(error),
    }
}

fn describe_import(report: &ImportReport) -> String {
    let others = match report.other_kinds {
        0 => String::new(),
        count => format!("; {count} of its entries are no models for conversations"),
    };
    format!(
        "{} models of {} are in {}{others}",
        report.taken.len(),
        escape::line(&report.source),
        escape::line(&report.file)
    )
}

/// Loads, unloads or warms up a model.
pub fn change_memory(app: &App, args: &ModelMemoryArgs, action: ModelAction) -> Done {
    let spec = ModelActionSpec {
        model: args.model.clone(),
        provider: args.provider.clone(),
        action,
        limit: std::time::Duration::from_secs(args.timeout),
    };
    let done = {
        let _working = WorkDisplay::start_on(app, "waiting for the server");
        block_on(app.signals.unless_stopped(app.host.calls().change_model(&spec)))?
    };
    let Some(report) = done else {
        return Ok(app.show_stopped("the server may go on with what was requested"));
    };
    let report = report?;
    app.report_success(&describe_action(&report), &report)
}

fn write_models(app: &App, list: &ModelList) -> Done {
    app.printer
        .write_json(list)
        .map_err(|error| output_failed(&error))?;
    Ok(Exit::Done)
}
