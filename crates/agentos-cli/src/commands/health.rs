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
use crate::wire::tools::{REPLAY, Tool, Tools};
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
    let mut names: Vec<String> = Vec::new();
    for name in &args.providers {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    for name in &names {
        tools.known(name)?;
    }
    let all = names.is_empty();
    if all {
        // A recording is named with the task that it answers: there is nothing to ask it beforehand.
        names = tools
            .providers()
            .filter(|name| *name != REPLAY)
            .map(str::to_owned)
            .collect();
    }
    let found = asked(app, &tools, &names, over)?;
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

/// How these providers are, all asked at once.
///
/// # Errors
/// When the system refuses to wait for them.
pub fn asked(
    app: &App,
    tools: &Tools,
    names: &[String],
    over: &OverrideFlags,
) -> Result<Vec<ToolHealth>, EffectError> {
    let ready = ready(app, tools, names, over);
    let found = runtime::block_on(probe_all(names, &ready))?;
    let found = found.into_iter().zip(&ready);
    Ok(found
        .map(|(health, tool)| with_key_remarks(health, tool))
        .collect())
}

/// The tools known here: a repository's profiles count where there is one.
pub fn tools(app: &App) -> Result<Tools, EffectError> {
    let repo = repository::open(app).ok();
    Tools::read(app, repo.as_ref().and_then(|repo| repo.work_dir()))
}

/// The tools of these providers, all looked up at once: a keyring that does not answer holds up one limit, not one
/// for each provider.
fn ready(app: &App, tools: &Tools, names: &[String], over: &OverrideFlags) -> Vec<Result<Tool, EffectError>> {
    std::thread::scope(|scope| {
        let lookups: Vec<_> = names
            .iter()
            .map(|name| scope.spawn(move || tools.probe(app, name, over)))
            .collect();
        let lost = || {
            EffectError::new(
                Cause::Internal,
                "lookup",
                "looking up the profile and the key failed",
            )
        };
        lookups
            .into_iter()
            .map(|lookup| lookup.join().unwrap_or_else(|_| Err(lost())))
            .collect()
    })
}

async fn probe_all(names: &[String], ready: &[Result<Tool, EffectError>]) -> Vec<ToolHealth> {
    let probes = names
        .iter()
        .zip(ready)
        .map(|(name, tool)| -> BoxFuture<'_, ToolHealth> {
            match tool {
                Ok(tool) => tool.adapter.health_check(SystemClock.now()),
                Err(error) => Box::pin(std::future::ready(misconfigured(name, error))),
            }
        });
    together(probes.collect()).await
}

/// Says what only we know of a key that is refused: that the environment decides it.
fn with_key_remarks(mut health: ToolHealth, tool: &Result<Tool, EffectError>) -> ToolHealth {
    let variable = tool.as_ref().ok().and_then(|tool| tool.key_variable.as_ref());
    if let (HealthStatus::InvalidToken, Some(variable)) = (health.status, variable) {
        health.fix = Some(format!(
            "set the right key in `{variable}`; it wins over any stored key"
        ));
    }
    health
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
