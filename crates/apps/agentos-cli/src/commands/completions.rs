//! `agentos completions`: the lines that make a shell ask this program what could come next.
//!
//! Owns: the registration script. Never: answers the shell; see `wire::complete`.

use clap_complete::env::Shells;

use crate::app::{App, Done, output_failed, usage};
use crate::args::shell::CompletionsArgs;
use crate::exit::Exit;
use crate::terminal::complete::{PROGRAM, VARIABLE};

/// Runs the verb.
pub fn completions(app: &App, args: &CompletionsArgs) -> Done {
    let shells = Shells::builtins();
    let name = args.shell.name();
    let shell = shells
        .completer(name)
        .ok_or_else(|| usage(format!("`{name}` cannot be completed")))?;
    let mut script = Vec::new();
    shell
        .write_registration(VARIABLE, PROGRAM, PROGRAM, PROGRAM, &mut script)
        .map_err(|error| output_failed(&error))?;
    app.printer
        .bytes(&script)
        .map_err(|error| output_failed(&error))?;
    Ok(Exit::Done)
}
