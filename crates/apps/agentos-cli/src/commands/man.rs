//! `agentos man`: manual pages, generated from the argument definitions.
//!
//! Owns: the choice of the page. Never: writes a file; a package redirects the output.

use agentos_host::nearest_word;
use clap::Command;
use serde::Serialize;

use crate::app::{App, Done, output_failed, usage_error};
use crate::args::full_command;
use crate::args::shell::ManArgs;
use crate::exit::Exit;
use crate::render;
use crate::terminal::screen;

#[derive(Serialize)]
struct PageList {
    version: u32,
    verbs: Vec<String>,
}

/// Runs the verb.
pub fn print_manual(app: &App, args: &ManArgs) -> Done {
    let mut program = full_command();
    // clap fills in inherited flags and full names of verbs only when the command is built, and a page without them
    // would be incomplete.
    program.build();
    if args.reference {
        let page = render::reference::render_reference(program);
        app.printer
            .write_bytes(page.as_bytes())
            .map_err(|error| output_failed(&error))?;
        return Ok(Exit::Done);
    }
    if args.list || app.printer.json {
        return list_pages(app, &program);
    }
    let found = find_verb(&program, &args.verb).ok_or_else(|| {
        usage_error(format!("there is no verb `{}`", args.verb.join(" ")))
            .hint(suggest_verb(&program, &args.verb.join(" ")))
    })?;
    let name = format!("agentos {}", args.verb.join(" "));
    let page = render::manual::render_manual(found, name.trim()).map_err(|error| output_failed(&error))?;
    if app.streams.stdout_is_terminal {
        return show_page(app, found, &page);
    }
    app.printer
        .write_data(&page)
        .map_err(|error| output_failed(&error))?;
    Ok(Exit::Done)
}

/// Shows a page on a terminal: formatted by `man`, or the help text if there is no `man` or no pager is wanted.
fn show_page(app: &App, verb: &Command, page: &str) -> Done {
    let is_shown = screen::find_manual_viewer(app)
        .is_some_and(|viewer| screen::show_in_pager(&app.signals, &viewer, page).is_ok());
    if !is_shown {
        let help = verb.clone().render_long_help().to_string();
        app.print_paged(&help).map_err(|error| output_failed(&error))?;
    }
    Ok(Exit::Done)
}

/// Finds a verb by its words. `None` if there is no such verb.
fn find_verb<'a>(program: &'a Command, words: &[String]) -> Option<&'a Command> {
    words
        .iter()
        .try_fold(program, |command, word| command.find_subcommand(word))
}

fn suggest_verb(program: &Command, typed: &str) -> String {
    let mut verbs = Vec::new();
    collect_verbs(program, "", &mut verbs);
    match nearest_word(typed, verbs.iter().map(String::as_str)) {
        Some(near) => format!("did you mean `{near}`? `agentos man --list` lists all verbs"),
        None => "`agentos man --list` lists the verbs that have a page".to_owned(),
    }
}

fn list_pages(app: &App, program: &Command) -> Done {
    let mut verbs = Vec::new();
    collect_verbs(program, "", &mut verbs);
    if app.printer.json {
        app.printer.write_json(&PageList { version: 1, verbs })
    } else {
        app.printer.write_data(&(verbs.join("\n") + "\n"))
    }
    .map_err(|error| output_failed(&error))?;
    Ok(Exit::Done)
}

fn collect_verbs(command: &Command, above: &str, verbs: &mut Vec<String>) {
    for verb in command.get_subcommands().filter(|verb| !verb.is_hide_set()) {
        let name = format!("{above}{}", verb.get_name());
        verbs.push(name.clone());
        collect_verbs(verb, &format!("{name} "), verbs);
    }
}
