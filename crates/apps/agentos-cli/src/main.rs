//! Command line of AgentOS: parses the arguments, creates the host, runs one verb, exits with its status.
//!
//! Owns: nothing but the order of these steps. Never: contains logic of its own; see `commands` and `agentos-host`.

mod app;
mod args;
mod codes;
mod commands;
mod escape;
mod exit;
mod input;
mod notices;
mod printer;
mod render;
mod terminal;

use std::process::ExitCode;
use std::sync::Arc;

use agentos_host::{Environment, Host};

use crate::app::App;
use crate::args::Cli;
use crate::exit::Exit;
use crate::notices::PrintedNotices;
use crate::printer::Printer;
use crate::terminal::signals::Signals;
use crate::terminal::{Streams, complete};

fn main() -> ExitCode {
    // The sandbox helper must have exactly one thread and read no settings, so this check comes before everything else.
    if let Some(code) = agentos_host::reexec_hook() {
        return code;
    }
    keep_freed_memory();
    let environment = Environment::read();
    // A shell sends the unfinished command line, which the parser of the whole program would refuse, so completions are
    // answered before anything is parsed.
    if let Ok(environment) = &environment
        && environment.get(complete::VARIABLE).is_some()
    {
        return answer_shell(environment);
    }
    let read = Cli::of_process();
    let common = match &read {
        Ok(cli) => cli.common.clone(),
        // A caller that requests JSON gets JSON for a wrong command line too, so the flags are taken from it as far as
        // they were understood.
        Err(wrong) => wrong.common.clone(),
    };
    let mut printer = Printer {
        quiet: common.quiet,
        json: common.json,
        out_width: None,
        err_width: None,
    };
    let environment = match environment {
        Ok(environment) => environment,
        // Only a current folder that was deleted or cannot be read leads here. Relative paths would then mean nothing.
        Err(error) => {
            printer.show_error(&format!("error: cannot read the current folder: {error}"));
            return Exit::Usage.into();
        }
    };
    start_log(&environment, common.verbose);
    let streams = Streams::of_process();
    let width = terminal::screen::screen_size(&environment).width;
    printer.out_width = streams.stdout_is_terminal.then_some(width);
    printer.err_width = streams.stderr_is_terminal.then_some(width);
    let host = Host::new(environment)
        .with_repository(common.repo.clone())
        .with_observer(Arc::new(PrintedNotices(printer)))
        .with_person(streams.can_ask);
    terminal::screen::choose_color(&host);
    let signals = Signals::new();
    let app = App {
        host,
        streams,
        printer,
        signals: signals.clone(),
        common,
    };
    match read {
        Ok(cli) => signals
            .run_verb(move || commands::run_verb(&app, cli.verb.as_ref()))
            .into(),
        Err(wrong) => app.show_failure(None, &wrong.error).into(),
    }
}

/// Makes glibc keep freed memory instead of returning it to the operating system.
///
/// libgit2 allocates a quarter of a megabyte for each object that it writes and frees it again, and glibc returns it to
/// the system every time. After a large block is freed, glibc keeps up to twice its size (mallopt(3), the dynamic
/// threshold). The block that is freed here is never written to, so it costs no memory.
fn keep_freed_memory() {
    drop(std::hint::black_box(Vec::<u8>::with_capacity(4 << 20)));
}

/// Answers a shell's request for completions. Prints nothing else, because the shell would show it as a completion.
fn answer_shell(environment: &Environment) -> ExitCode {
    match complete::complete_line(environment, std::env::args_os().collect()) {
        Ok(_) => Exit::Done.into(),
        Err(_) => Exit::Usage.into(),
    }
}

/// Starts logging to standard error. `AGENTOS_LOG` may contain a filter in the syntax of `tracing`.
fn start_log(environment: &Environment, verbose: u8) {
    let filter = match (environment.get("AGENTOS_LOG"), verbose) {
        (Some(filter), _) => filter.to_owned(),
        // One `-v` adds details to the output of a verb. Only two of them start the log.
        (None, 0 | 1) => return,
        (None, _) => "agentos=debug".to_owned(),
    };
    // A mistyped filter must not stop the command that it was meant to observe, so it falls back to the default.
    let filter = tracing_subscriber::EnvFilter::try_new(filter).unwrap_or_default();
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        // Standard output belongs to data: a log line in it would break a pipe or a JSON document.
        .with_writer(std::io::stderr)
        .init();
}
