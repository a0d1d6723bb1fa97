//! `agentos pool`: pools of models, and the choice of a member.
//!
//! Owns: the meaning of the flags and the exit status. Never: chooses a model.

use agentos_host::{Cause, EffectError, PoolImportSpec, PoolMemberSpec, PoolQuery, block_on};
use serde::Serialize;

use crate::app::{App, Done, output_failed};
use crate::args::pool::{
    PoolAddArgs, PoolImportArgs, PoolNameArgs, PoolReplayArgs, PoolSelectArgs, PoolStatsArgs, PoolVerb,
};
use crate::commands::evidence::parse_since;
use crate::exit::Exit;
use crate::render::pool;
use crate::terminal::working::WorkDisplay;

/// Runs a verb of `pool`.
pub fn run_pool_verb(app: &App, verb: &PoolVerb) -> Done {
    match verb {
        PoolVerb::List => list_pools(app),
        PoolVerb::Select(args) => select_member(app, args),
        PoolVerb::Detect(args) => detect_abilities(app, args),
        PoolVerb::Stats(args) => show_statistics(app, args),
        PoolVerb::Add(args) => add_member(app, args),
        PoolVerb::Remove(args) => {
            let pools = app.host.calls().remove_pool_member(&args.pool, &args.alias)?;
            show_report(app, &pools, || pool::format_pools(&pools))
        }
        PoolVerb::Import(args) => import_pool(app, args),
        PoolVerb::Replay(args) => replay_choice(app, args),
    }
}

fn list_pools(app: &App) -> Done {
    let list = app.host.calls().list_pools()?;
    if list.pools.is_empty() && !app.printer.json {
        app.printer.show_note(
            "there is no pool of models; `agentos pool add POOL MODEL` makes one, and so does `agentos pool import FILE`",
        );
        return Ok(Exit::Done);
    }
    show_report(app, &list, || pool::format_pools(&list))
}

/// Shows the choice for a turn. That nothing fits is a failure with the whole report.
fn select_member(app: &App, args: &PoolSelectArgs) -> Done {
    let query = PoolQuery {
        needs: args.needs.clone(),
        message: args.message.clone(),
        files: args.files.clone(),
        images: usize::from(args.image),
        tools: usize::from(args.tools),
        context_chars: args.context_size,
        time: None,
    };
    let name = app.host.calls().find_pool(args.name.pool.as_deref())?;
    let choice = app.host.calls().choose_member(&name, &query)?;
    show_report(app, &choice, || pool::format_choice(&choice))?;
    if choice.alias.is_some() {
        return Ok(Exit::Done);
    }
    let message = format!("no member of the pool `{name}` meets all needs");
    fail_after_report(app, EffectError::new(Cause::Tool, "no-model-fits", message))
}

fn detect_abilities(app: &App, args: &PoolNameArgs) -> Done {
    let name = app.host.calls().find_pool(args.pool.as_deref())?;
    let seen = {
        let _working = WorkDisplay::start_on(app, "asking providers");
        block_on(
            app.signals
                .unless_stopped(app.host.calls().detect_abilities(&name)),
        )?
    };
    let Some(report) = seen else {
        return Ok(app.show_stopped("nothing was written"));
    };
    let report = report?;
    show_report(app, &report, || pool::format_abilities(&report))
}

fn show_statistics(app: &App, args: &PoolStatsArgs) -> Done {
    let name = app.host.calls().find_pool(args.name.pool.as_deref())?;
    let since = args.since.as_deref().map(parse_since).transpose()?;
    let report = app.host.calls().pool_statistics(&name, since.as_deref())?;
    show_report(app, &report, || pool::format_statistics(&report))
}

fn add_member(app: &App, args: &PoolAddArgs) -> Done {
    let pools = app.host.calls().add_pool_member(&PoolMemberSpec {
        pool: args.pool.clone(),
        model: args.model.clone(),
        alias: args.alias.clone(),
        is_default: args.default,
        allow_cloud: args.allow_cloud,
    })?;
    show_report(app, &pools, || pool::format_pools(&pools))
}

fn import_pool(app: &App, args: &PoolImportArgs) -> Done {
    let spec = PoolImportSpec {
        file: args.file.clone(),
        name: args.name.clone(),
        allow_cloud: args.allow_cloud,
        may_replace: args.replace,
        zone: args.zone,
    };
    let report = app.host.calls().import_pool(&spec)?;
    match app.printer.json {
        true => app
            .printer
            .write_json(&report)
            .map_err(|error| output_failed(&error))?,
        false => app.printer.show_note(&pool::describe_import(&report)),
    }
    if report.skipped.is_empty() {
        return Ok(Exit::Done);
    }
    let message = format!("{} of the file's entries were not taken", report.skipped.len());
    fail_after_report(app, EffectError::new(Cause::Usage, "some-not-imported", message))
}

fn replay_choice(app: &App, args: &PoolReplayArgs) -> Done {
    let report = app.host.calls().replay_choices(&args.record)?;
    show_report(app, &report, || pool::format_replay(&report))?;
    if report.differences.is_empty() {
        return Ok(Exit::Done);
    }
    let message = "the choice made again differs from the record".to_owned();
    fail_after_report(app, EffectError::new(Cause::Evidence, "replay-differs", message))
}

/// Ends a verb whose report says what failed: in JSON the report alone, so that the output is one document.
fn fail_after_report(app: &App, error: EffectError) -> Done {
    match app.printer.json {
        true => Ok(Exit::from(error.cause)),
        false => Err(error),
    }
}

fn show_report(app: &App, document: &impl Serialize, text: impl FnOnce() -> String) -> Done {
    let shown = match app.printer.json {
        true => app.printer.write_json(document),
        false => app.print_paged(&text()),
    };
    shown.map_err(|error| output_failed(&error))?;
    Ok(Exit::Done)
}
