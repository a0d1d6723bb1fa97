//! `agentos man`: manual pages, generated from the argument definitions.
//!
//! Owns: the choice of the page. Never: writes a file; a package redirects the output.

use agentos_host::nearest;
use clap::Command;
use clap_mangen::Man;
use serde::Serialize;

use crate::app::{App, Done, output_failed, usage};
use crate::args::command;
use crate::args::shell::ManArgs;
use crate::exit::Exit;
use crate::render;

#[derive(Serialize)]
struct PageList {
    version: u32,
    verbs: Vec<String>,
}

/// Runs the verb.
pub fn man(app: &App, args: &ManArgs) -> Done {
    let mut program = command();
    program.build();
    if args.reference {
        let page = render::reference::page(program);
        app.printer
            .bytes(page.as_bytes())
            .map_err(|error| output_failed(&error))?;
        return Ok(Exit::Done);
    }
    if args.list || app.printer.json {
        return list(app, &program);
    }
    let page = page(&program, &args.verb).ok_or_else(|| {
        usage(format!("there is no verb `{}`", args.verb.join(" ")))
            .hint(unknown(&program, &args.verb.join(" ")))
    })?;
    app.printer.data(&page).map_err(|error| output_failed(&error))?;
    Ok(Exit::Done)
}

fn unknown(program: &Command, typed: &str) -> String {
    let mut verbs = Vec::new();
    collect(program, "", &mut verbs);
    match nearest(typed, verbs.iter().map(String::as_str)) {
        Some(near) => format!("did you mean `{near}`? `agentos man --list` lists all verbs"),
        None => "`agentos man --list` lists the verbs that have a page".to_owned(),
    }
}

fn list(app: &App, program: &Command) -> Done {
    let mut verbs = Vec::new();
    collect(program, "", &mut verbs);
    if app.printer.json {
        app.printer.json(&PageList { version: 1, verbs })
    } else {
        app.printer.data(&(verbs.join("\n") + "\n"))
    }
    .map_err(|error| output_failed(&error))?;
    Ok(Exit::Done)
}

fn collect(command: &Command, above: &str, verbs: &mut Vec<String>) {
    for verb in command.get_subcommands().filter(|verb| !verb.is_hide_set()) {
        let name = format!("{above}{}", verb.get_name());
        verbs.push(name.clone());
        collect(verb, &format!("{name} "), verbs);
    }
}

/// Returns the manual page of a verb. `None` if there is no such verb.
fn page(program: &Command, words: &[String]) -> Option<String> {
    let command = words
        .iter()
        .try_fold(program, |command, word| command.find_subcommand(word))?;
    let mut page = Vec::new();
    Man::new(command.clone()).render(&mut page).ok()?;
    String::from_utf8(page).ok()
}
