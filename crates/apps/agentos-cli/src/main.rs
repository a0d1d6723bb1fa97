//! The agentos command line: parses, wires real effects into the engine, runs one verb, ends with its code.
//!
//! Owns: nothing but the order of these steps. Never: holds logic of its own; see `commands` and `wire`.

mod app;
mod args;
mod clock;
mod codes;
mod commands;
mod env;
mod escape;
mod exit;
mod input;
mod printer;
mod render;
mod wire;

use std::process::ExitCode;

use crate::app::App;
use crate::args::Cli;
use crate::exit::Exit;
use crate::printer::Printer;

fn main() -> ExitCode {
    // The helper of confined tools has one thread and no settings: it comes before everything else.
    if let Some(code) = agentos_sandbox::stage::run(std::env::args_os().skip(1)) {
        return ExitCode::from(code);
    }
    if let Some(code) = wire::hosted::serve(std::env::args_os().skip(1)) {
        return code;
    }
    keep_freed_memory();
    let env = env::Env::read();
    if let Ok(env) = &env
        && env.get(wire::complete::VARIABLE).is_some()
    {
        return complete(env);
    }
    let read = Cli::of_process();
    let common = match &read {
        Ok(cli) => cli.common.clone(),
        Err(wrong) => wrong.common.clone(),
    };
    let printer = Printer {
        quiet: common.quiet,
        json: common.json,
    };
    let env = match env {
        Ok(env) => env,
        Err(error) => {
            printer.error(&format!("error: cannot read the current folder: {error}"));
            return Exit::Usage.into();
        }
    };
    start_log(&env, common.verbose);
    let app = App { env, printer, common };
    match read {
        Ok(cli) => commands::run(&app, cli.verb.as_ref()).into(),
        Err(wrong) => app.fail(None, &wrong.error).into(),
    }
}

/// What libgit2 takes to write an object, a quarter of a megabyte, it gives back after each, and the GNU library hands it
/// to the system every time. It lets twice as much lie as the largest block that was given back so far (mallopt(3), the
/// dynamic threshold); this one is never written to, so it takes no memory.
fn keep_freed_memory() {
    drop(std::hint::black_box(Vec::<u8>::with_capacity(4 << 20)));
}

/// Answers a shell; nothing else may be printed then.
fn complete(env: &env::Env) -> ExitCode {
    match wire::complete::answer(env, std::env::args_os().collect()) {
        Ok(_) => Exit::Done.into(),
        Err(_) => Exit::Usage.into(),
    }
}

/// Diagnostics go to standard error; `AGENTOS_LOG` takes a filter as `tracing` writes it.
fn start_log(env: &env::Env, verbose: u8) {
    let filter = match (env.get("AGENTOS_LOG"), verbose) {
        (Some(filter), _) => filter.to_owned(),
        (None, 0 | 1) => return,
        (None, _) => "agentos=debug".to_owned(),
    };
    let filter = tracing_subscriber::EnvFilter::try_new(filter).unwrap_or_default();
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .init();
}
