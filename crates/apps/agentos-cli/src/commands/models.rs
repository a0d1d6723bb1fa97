//! `agentos models list|show`: the known models, without contacting a server.
//!
//! Owns: the filters and the exit status. Never: claims that a server has a model; `tool health` asks the server.

use agentos_host::{ListedModel, ModelChoice, ModelList, find_model, list_models, nearest_model};

use crate::app::{App, Done, output_failed, usage_error};
use crate::args::tool::{ModelsListArgs, ModelsShowArgs};
use crate::exit::Exit;
use crate::render::models::{format_limits, format_model, format_prices};

/// Lists the known models.
pub fn print_models(app: &App, args: &ModelsListArgs) -> Done {
    let choice = match (args.disputed, args.all) {
        (true, _) => ModelChoice::Disputed,
        (false, true) => ModelChoice::All,
        (false, false) => ModelChoice::BuiltIn,
    };
    let mut list = list_models(choice)?;
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
    list.models.retain(|model| {
        let fits = |wanted: &Option<String>, own: &str| wanted.as_deref().is_none_or(|name| name == own);
        fits(&args.provider, &model.provider) && fits(&args.api, model.api.as_str())
    });
    if list.models.is_empty() {
        return Err(usage_error("no known model matches").hint(hint));
    }
    if app.printer.json {
        return write_models(app, &list);
    }
    let text = match args.prices || args.disputed {
        true => format_prices(&list),
        false => format_limits(&list.models),
    };
    app.print_paged(&text).map_err(|error| output_failed(&error))?;
    Ok(Exit::Done)
}

/// Shows one model.
pub fn show_model(app: &App, args: &ModelsShowArgs) -> Done {
    let Some(found) = find_model(&args.model)? else {
        let hint = match nearest_model(&args.model)? {
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

fn write_models(app: &App, list: &ModelList) -> Done {
    app.printer
        .write_json(list)
        .map_err(|error| output_failed(&error))?;
    Ok(Exit::Done)
}
