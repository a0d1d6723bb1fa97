//! `agentos tool health`: every provider asked at once.
//!
//! Owns: which are asked and the exit code. Never: waits for one before asking the next.

use std::future::poll_fn;
use std::task::Poll;

use agentos_engine::Cause;
use agentos_engine::ports::{Clock, EffectError};
use agentos_tool::{BoxFuture, ErrorCategory, HealthStatus, ToolHealth};

use crate::app::{App, Done, output_failed, usage};
use crate::args::tool::{HealthArgs, OverrideFlags};
use crate::clock::SystemClock;
use crate::commands::schema::HealthReport;
use crate::exit::Exit;
use crate::render;
use crate::wire::tools::{Tool, Tools};
use crate::wire::{repository, runtime};

/// Runs the verb.
pub fn health(app: &App, args: &HealthArgs) -> Done {
    let over = &args.over;
    let overrides = over.base_url.is_some() || over.model.is_some() || over.timeout.is_some();
    if overrides && args.providers.len() != 1 {
        return Err(usage(
            "`--base-url`, `--model` and `--timeout` need exactly one `--provider`",
        ));
    }
    let tools = tools(app)?;
    let mut names = args.providers.clone();
    names.dedup();
    for name in &names {
        tools.known(name)?;
    }
    let all = names.is_empty();
    if all {
        names = tools.providers().map(str::to_owned).collect();
    }
    let found = runtime::block_on(probe_all(app, &tools, &names, over))?;
    let connected = found.iter().filter(|tool| tool.is_connected()).count();
    let good = if all {
        connected > 0
    } else {
        connected == found.len()
    };
    if app.printer.json {
        app.printer
            .json(&HealthReport {
                version: 1,
                tools: found,
            })
            .map_err(|error| output_failed(&error))?;
    } else {
        app.printer
            .data(&render::health::health(&found))
            .map_err(|error| output_failed(&error))?;
    }
    Ok(if good { Exit::Done } else { Exit::ToolUnavailable })
}

/// The tools known here: a repository's profiles count where there is one.
pub fn tools(app: &App) -> Result<Tools, EffectError> {
    let repo = repository::open(app).ok();
    Tools::read(app, repo.as_ref().and_then(|repo| repo.work_dir()))
}

async fn probe_all(app: &App, tools: &Tools, names: &[String], over: &OverrideFlags) -> Vec<ToolHealth> {
    let ready: Vec<(&String, Result<Tool, EffectError>)> = names
        .iter()
        .map(|name| (name, tools.probe(app, name, over)))
        .collect();
    let probes = ready.iter().map(|(name, tool)| -> BoxFuture<'_, ToolHealth> {
        match tool {
            Ok(tool) => tool.adapter.health_check(SystemClock.now()),
            Err(error) => Box::pin(std::future::ready(misconfigured(name, error))),
        }
    });
    together(probes.collect()).await
}

fn misconfigured(provider: &str, error: &EffectError) -> ToolHealth {
    let health = ToolHealth::new(
        provider,
        HealthStatus::NotConfigured,
        error.message.clone(),
        SystemClock.now(),
    )
    .with_detail(&error.code)
    .with_category(match error.cause {
        Cause::Internal => ErrorCategory::Runtime,
        _ => ErrorCategory::Config,
    });
    match &error.hint {
        Some(hint) => health.with_fix(hint),
        None => health.with_fix("see `agentos profile show`, and mend the value that is named"),
    }
}

/// All futures at once, on this thread; results in the order given.
async fn together<T>(mut futures: Vec<BoxFuture<'_, T>>) -> Vec<T> {
    let mut done: Vec<Option<T>> = futures.iter().map(|_| None).collect();
    poll_fn(|context| {
        let mut waiting = false;
        for (future, slot) in futures.iter_mut().zip(&mut done) {
            if slot.is_none() {
                match future.as_mut().poll(context) {
                    Poll::Ready(value) => *slot = Some(value),
                    Poll::Pending => waiting = true,
                }
            }
        }
        if waiting { Poll::Pending } else { Poll::Ready(()) }
    })
    .await;
    done.into_iter().flatten().collect()
}
