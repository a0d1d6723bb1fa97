//! `agentos profile show|validate`.
//!
//! Owns: showing where each value comes from. Never: changes a profile, or shows a key.

use std::collections::BTreeMap;

use agentos_profile::{Resolved, parse};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::app::{App, Done, output_failed};
use crate::args::tool::{OverrideFlags, ProfileShowArgs, ProfileValidateArgs};
use crate::commands::health::tools;
use crate::escape;
use crate::exit::Exit;
use crate::input;
use crate::render::columns;
use crate::wire::tools::{bad_profile, ignored_program};

/// `agentos profile show --json`.
#[derive(Serialize, JsonSchema)]
pub struct Shown {
    /// Version of this shape: 1.
    pub version: u32,
    /// The provider.
    pub provider: String,
    /// Every value there is, by its name in the file (`params.temperature`).
    pub values: BTreeMap<&'static str, ShownValue>,
}

/// One value.
#[derive(Serialize, JsonSchema)]
pub struct ShownValue {
    /// As it stands in a file.
    pub value: Value,
    /// Where it comes from: `flag`, `environment NAME`, `project file`, `user file`, `built-in` or `derived`.
    pub origin: String,
}

/// Shows one profile.
pub fn show(app: &App, args: &ProfileShowArgs) -> Done {
    let resolved = tools(app)?.resolved(app, &args.provider, &OverrideFlags::default())?;
    if let Some(notice) = ignored_program(&resolved) {
        app.printer.note(&format!("note: {notice}"));
    }
    let shown = shown(&args.provider, &resolved);
    if app.printer.json {
        app.printer.json(&shown).map_err(|error| output_failed(&error))?;
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
        .data(&columns(&rows))
        .map_err(|error| output_failed(&error))?;
    Ok(Exit::Done)
}

fn shown(provider: &str, resolved: &Resolved) -> Shown {
    let profile = &resolved.profile;
    let capabilities = serde_json::to_value(&profile.capabilities).unwrap_or_default();
    let mut values = BTreeMap::new();
    for (field, origin) in &resolved.origins {
        let value = match *field {
            "name" => profile.name.clone().into(),
            "adapter" => serde_json::to_value(profile.adapter).unwrap_or_default(),
            "base_url" => profile.base_url.as_ref().map(ToString::to_string).into(),
            "api_key_ref" => profile.api_key_ref.clone().into(),
            "requires_key" => profile.requires_key.into(),
            "model" => profile.model.clone().into(),
            "mode" => serde_json::to_value(profile.mode).unwrap_or_default(),
            "edit_format" => profile.edit_format.as_str().into(),
            "constrain" => profile.constrain.as_str().into(),
            "limit_field" => serde_json::to_value(profile.limit_field).unwrap_or_default(),
            "organization" => profile.organization.clone().into(),
            "http" => serde_json::to_value(&profile.http).unwrap_or_default(),
            "price.input" => profile.price.input.into(),
            "price.cached" => profile.price.cached.into(),
            "price.output" => profile.price.output.into(),
            "timeout_seconds" => profile.timeout_seconds.into(),
            "params.temperature" => profile.params.temperature.into(),
            "params.top_p" => profile.params.top_p.into(),
            "params.max_tokens" => profile.params.max_tokens.into(),
            "params.seed" => profile.params.seed.into(),
            "params.stop" => profile.params.stop.clone().into(),
            other => match other.strip_prefix("capabilities.") {
                Some(ability) => capabilities.get(ability).cloned().unwrap_or_default(),
                None => Value::Null,
            },
        };
        values.insert(
            *field,
            ShownValue {
                value,
                origin: origin.to_string(),
            },
        );
    }
    Shown {
        version: 1,
        provider: provider.to_owned(),
        values,
    }
}

/// What a program is told of a file that is right; one that is wrong is a failure.
#[derive(Serialize)]
struct Valid<'a> {
    version: u32,
    provider: &'a str,
}

/// Checks one file, or what all files together say of a provider.
pub fn validate(app: &App, args: &ProfileValidateArgs) -> Done {
    let name = args.file.display().to_string();
    if !app.env.cwd.join(&args.file).exists() && tools(app)?.profiled().any(|known| known == name) {
        tools(app)?.resolved(app, &name, &OverrideFlags::default())?;
        let sentence = format!("the profile of `{}` is valid", escape::line(&name));
        let valid = Valid {
            version: 1,
            provider: &name,
        };
        return app.say(&sentence, &valid);
    }
    let text = input::text_file(&app.env, &args.file, 1 << 20)?;
    let profile = parse(&name, &text).map_err(|error| bad_profile(&error))?;
    let sentence = format!(
        "`{}` is a valid profile of `{}`",
        escape::line(&name),
        escape::line(&profile.provider)
    );
    app.say(
        &sentence,
        &Valid {
            version: 1,
            provider: &profile.provider,
        },
    )
}
