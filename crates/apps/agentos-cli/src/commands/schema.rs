//! `agentos schema`: the JSON Schemas of the published shapes.
//!
//! Owns: the display. Never: generates a schema.

use agentos_host::{nearest_schema, schema_names, schema_text};
use serde::Serialize;

use crate::app::{App, Done, output_failed, usage_error};
use crate::args::evidence::SchemaArgs;
use crate::exit::Exit;

#[derive(Serialize)]
struct SchemaNames {
    version: u32,
    schemas: Vec<&'static str>,
}

/// Runs the verb.
pub fn print_schema(app: &App, args: &SchemaArgs) -> Done {
    let text = match (&args.name, args.list) {
        (Some(name), false) => schema_text(name).ok_or_else(|| {
            let near = nearest_schema(name);
            let near = near.map_or_else(String::new, |near| format!("did you mean `{near}`? "));
            usage_error(format!("there is no schema `{name}`"))
                .hint(format!("{near}`agentos schema --list` lists all schemas"))
        })?,
        (Some(_) | None, _) if app.printer.json => {
            app.printer
                .write_json(&SchemaNames {
                    version: 1,
                    schemas: schema_names(),
                })
                .map_err(|error| output_failed(&error))?;
            return Ok(Exit::Done);
        }
        (Some(_) | None, _) => schema_names().iter().map(|name| format!("{name}\n")).collect(),
    };
    app.print_exact(&text).map_err(|error| output_failed(&error))?;
    Ok(Exit::Done)
}
