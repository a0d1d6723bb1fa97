//! `agentos man`: manual pages, generated from the argument definitions.
//!
//! Owns: the choice of the page. Never: writes a file; a package redirects the output.

use agentos_host::nearest_word;
use clap::Command;
use clap_mangen::Man;
use serde::Serialize;

use crate::app::{App, Done, output_failed, usage_error};
use crate::args::full_command;
use crate::args::shell::ManArgs;
use crate::exit::Exit;
use crate::render;

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
    let page = render_page(&program, &args.verb).ok_or_else(|| {
        usage_error(format!("there is no verb `{}`", args.verb.join(" ")))
            .hint(suggest_verb(&program, &args.verb.join(" ")))
    })?;
    app.printer
        .write_data(&page)
        .map_err(|error| output_failed(&error))?;
    Ok(Exit::Done)
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

/// Returns the manual page of a verb. `None` if there is no such verb.
fn render_page(program: &Command, words: &[String]) -> Option<String> {
    let command = words
        .iter()
        .try_fold(program, |command, word| command.find_subcommand(word))?;
    let mut page = Vec::new();
    Man::new(command.clone()).render(&mut page).ok()?;
    String::from_utf8(page).ok()
}
