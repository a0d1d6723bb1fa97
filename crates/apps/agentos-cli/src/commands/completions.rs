//! `agentos completions`: the script that lets a shell request completions from this program.
//!
//! Owns: the registration script. Never: answers the shell; `terminal::complete` does.

use clap_complete::env::Shells;

use crate::app::{App, Done, output_failed, usage_error};
use crate::args::shell::CompletionsArgs;
use crate::exit::Exit;
use crate::terminal::complete::{PROGRAM, VARIABLE};

/// Runs the verb.
pub fn print_script(app: &App, args: &CompletionsArgs) -> Done {
    let shells = Shells::builtins();
    let name = args.shell.name();
    let shell = shells
        .completer(name)
        .ok_or_else(|| usage_error(format!("there is no completion script for the shell `{name}`")))?;
    let mut script = Vec::new();
    shell
        .write_registration(VARIABLE, PROGRAM, PROGRAM, PROGRAM, &mut script)
        .map_err(|error| output_failed(&error))?;
    app.printer
        .write_bytes(&script)
        .map_err(|error| output_failed(&error))?;
    Ok(Exit::Done)
}
