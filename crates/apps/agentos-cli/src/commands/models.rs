//! `agentos models list|show`: the known models, without contacting a server.
//!
//! Owns: the filters and the table. Never: claims that a server has a model; `tool health` asks the server.

use agentos_host::{KnownModel, ModelList, known_model, known_models, nearest_model};
use agentos_tool::Ability;

use crate::app::{App, Done, output_failed, usage_error};
use crate::args::tool::{ModelsListArgs, ModelsShowArgs};
use crate::escape;
use crate::exit::Exit;
use crate::render::format_columns;

/// Lists the known models.
pub fn list_models(app: &App, args: &ModelsListArgs) -> Done {
    let fits = |model: &&KnownModel| {
        args.provider
            .as_deref()
            .is_none_or(|provider| model.provider == provider)
            && args.api.as_deref().is_none_or(|api| model.api.as_str() == api)
    };
    let models: Vec<&'static KnownModel> = known_models().iter().filter(fits).collect();
    if models.is_empty() {
        let words = |of: fn(&KnownModel) -> &'static str| {
            let mut all: Vec<&str> = known_models().iter().map(of).collect();
            all.dedup();
            all.join(", ")
        };
        return Err(usage_error("no known model matches").hint(format!(
            "providers are {}; API types are {}",
            words(|model| model.provider),
            words(|model| model.api.as_str())
        )));
    }
    if app.printer.json {
        return print_models(app, models);
    }
    let mut rows = vec![
        ["MODEL", "API", "CONTEXT", "ANSWER", "CAN"]
            .map(str::to_owned)
            .to_vec(),
    ];
    rows.extend(models.iter().map(|model| {
        vec![
            model.id.to_owned(),
            model.api.as_str().to_owned(),
            model.context_window.to_string(),
            model
                .max_output
                .map_or_else(|| "-".to_owned(), |most| most.to_string()),
            sure_abilities(model),
        ]
    }));
    app.print_paged(&format_columns(&rows))
        .map_err(|error| output_failed(&error))?;
    Ok(Exit::Done)
}

/// Shows one model.
pub fn show_model(app: &App, args: &ModelsShowArgs) -> Done {
    let model = known_model(&args.model).ok_or_else(|| {
        let hint = match nearest_model(&args.model) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => {
                "`agentos models list` shows the known models; `agentos tool health` shows a server's models"
                    .to_owned()
            }
        };
        usage_error(format!("`{}` is not a known model", args.model)).hint(hint)
    })?;
    if app.printer.json {
        return print_models(app, vec![model]);
    }
    let most = model
        .max_output
        .map_or_else(|| "the server's own".to_owned(), |most| most.to_string());
    let mut rows = vec![
        ("id", model.id.to_owned()),
        ("provider", model.provider.to_owned()),
        ("model name", model.name.to_owned()),
        ("api", model.api.as_str().to_owned()),
        ("context", format!("{} tokens", model.context_window)),
        ("longest answer", most),
    ];
    for (name, ability) in all_abilities(model) {
        let word = match ability {
            Ability::Yes => "yes",
            Ability::No => "no",
            Ability::Unknown => "unknown",
        };
        rows.push((name, word.to_owned()));
    }
    let rows: Vec<Vec<String>> = rows
        .into_iter()
        .map(|(name, value)| vec![name.to_owned(), escape::line(&value)])
        .collect();
    app.printer
        .write_report(&format_columns(&rows))
        .map_err(|error| output_failed(&error))?;
    Ok(Exit::Done)
}

fn print_models(app: &App, models: Vec<&'static KnownModel>) -> Done {
    app.printer
        .write_json(&ModelList { version: 1, models })
        .map_err(|error| output_failed(&error))?;
    Ok(Exit::Done)
}

fn all_abilities(model: &KnownModel) -> [(&'static str, Ability); 4] {
    [
        ("tools", model.tools),
        ("vision", model.vision),
        ("json", model.json_mode),
        ("reasoning", model.reasoning),
    ]
}

/// Returns the names of the capabilities that the model certainly has.
fn sure_abilities(model: &KnownModel) -> String {
    let sure = all_abilities(model)
        .into_iter()
        .filter(|(_, ability)| *ability == Ability::Yes);
    let names: Vec<&str> = sure.map(|(name, _)| name).collect();
    names.join(", ")
}
