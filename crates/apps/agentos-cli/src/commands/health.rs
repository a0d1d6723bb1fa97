//! `agentos tool health`: every provider asked at once, and again while somebody watches.
//!
//! Owns: which are asked and the exit code. Never: waits for one before asking the next.

use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;

use agentos_engine::Cause;
use agentos_engine::ports::{Clock, EffectError};
use agentos_tool::{BoxFuture, ErrorCategory, HealthStatus, ToolHealth};

use crate::app::{App, Done, output_failed, usage};
use crate::args::tool::{HealthArgs, OverrideFlags};
use crate::clock::SystemClock;
use crate::commands::probe::{self, Probe};
use crate::commands::profile_init::save_edit_format;
use crate::commands::schema::HealthReport;
use crate::commands::tool_calls::{self, ToolCallProbe};
use crate::exit::Exit;
use crate::render;
use crate::wire::keys::{self, Keyring};
use crate::wire::tools::{Tool, Tools};
use crate::wire::working::Working;
use crate::wire::{key_checks, repository, runtime};

/// Runs the verb.
pub fn health(app: &App, args: &HealthArgs) -> Done {
    let over = &args.over;
    let overrides =
        over.base_url.is_some() || over.model.is_some() || over.timeout.is_some() || over.send_key;
    if overrides && args.providers.len() != 1 {
        return Err(usage(
            "`--base-url`, `--send-key`, `--model` and `--timeout` need exactly one `--provider`",
        )
        .hint("as in `agentos tool health -p ollama --base-url http://localhost:8080`"));
    }
    let tools = tools(app)?;
    let names = named(&tools, &args.providers)?;
    match args.watch {
        Some(seconds) => watch(app, args, &tools, &names, Duration::from_secs(seconds)),
        None => match once(app, args, &tools, &names)? {
            Some(seen) => seen?.show(app, args),
            None => Ok(Exit::Interrupted),
        },
    }
}

/// One look, unless the user presses Ctrl-C first.
fn once(
    app: &App,
    args: &HealthArgs,
    tools: &Tools,
    names: &[String],
) -> Result<Option<Result<Seen, EffectError>>, EffectError> {
    let _working = Working::on(app, if args.probe { "probing" } else { "asking providers" }, None);
    runtime::block_on(runtime::unless_interrupted(look(app, args, tools, names)))
}

/// What one look showed.
struct Seen {
    tools: Vec<ToolHealth>,
    probes: Vec<Probe>,
    tool_calls: Vec<ToolCallProbe>,
}

impl Seen {
    fn show(self, app: &App, args: &HealthArgs) -> Done {
        let good = self.is_good(args);
        if app.printer.json {
            app.printer
                .json(&HealthReport {
                    version: 1,
                    tools: self.tools,
                    probes: self.probes,
                    tool_calls: self.tool_calls,
                })
                .map_err(|error| output_failed(&error))?;
        } else {
            let text = render::health::health(&self.tools)
                + &render::health::probes(&self.probes)
                + &render::health::tool_calls(&self.tool_calls);
            app.printer.data(&text).map_err(|error| output_failed(&error))?;
        }
        Ok(if good { Exit::Done } else { Exit::ToolUnavailable })
    }

    /// A tool whose probe got no answer that can be used is as good as none, and so is one whose tool calls do not work
    /// where that was asked.
    fn is_good(&self, args: &HealthArgs) -> bool {
        let no_use = |tool: &ToolHealth| {
            let mut probes = self.probes.iter();
            let mut calls = self.tool_calls.iter();
            probes.any(|probe| probe.provider == tool.provider && probe.best.is_none())
                || calls.any(|probe| probe.provider == tool.provider && probe.is_bad())
        };
        let mut good = self.tools.iter().map(|tool| tool.is_connected() && !no_use(tool));
        if args.providers.is_empty() {
            good.any(|good| good)
        } else {
            good.all(|good| good)
        }
    }
}

/// The providers that are meant, each once.
fn named(tools: &Tools, given: &[String]) -> Result<Vec<String>, EffectError> {
    let mut names: Vec<String> = Vec::new();
    for name in given {
        tools.known(name)?;
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    if names.is_empty() {
        names = tools.profiled().map(str::to_owned).collect();
    }
    Ok(names)
}

/// One look at all of them.
async fn look(app: &App, args: &HealthArgs, tools: &Tools, names: &[String]) -> Result<Seen, EffectError> {
    let ready = ready(app, tools, names, &args.over);
    let found: Vec<ToolHealth> = probe_all(names, &ready)
        .await
        .into_iter()
        .zip(&ready)
        .map(|(health, tool)| with_key_remarks(health, tool))
        .collect();
    let found = where_to_keep(app, found);
    let answered = found.iter().zip(&ready);
    let answered: Vec<(&ToolHealth, &Tool)> = answered
        .filter_map(|(health, tool)| Some((health, tool.as_ref().ok()?)))
        .collect();
    key_checks::remember(app, &answered);
    let connected = answered.iter().filter(|(health, _)| health.is_connected());
    let mut probes = Vec::new();
    if args.probe {
        let edits = connected.clone();
        let edits = edits.map(|(_, tool)| -> BoxFuture<'_, Probe> { Box::pin(probe::probe(tool)) });
        probes = together(edits.collect()).await;
    }
    let mut calls = Vec::new();
    if args.probe_tools {
        let offers =
            connected.map(|(_, tool)| -> BoxFuture<'_, ToolCallProbe> { Box::pin(tool_calls::probe(tool)) });
        calls = together(offers.collect()).await;
    }
    if args.save {
        for probe in &mut probes {
            let Some(best) = probe.best else { continue };
            let user = tools.user_file(&probe.provider)?;
            let path = save_edit_format(app, &probe.provider, user, best)?;
            probe.saved = Some(path.display().to_string());
        }
    }
    Ok(Seen {
        tools: found,
        probes,
        tool_calls: calls,
    })
}

/// Looks again and again; on a terminal in the same place.
fn watch(app: &App, args: &HealthArgs, tools: &Tools, names: &[String], pause: Duration) -> Done {
    const HOME: &str = "\u{1b}[H";
    const CLEAR: &str = "\u{1b}[2J";
    const CLEAR_LINE: &str = "\u{1b}[K";
    const CLEAR_BELOW: &str = "\u{1b}[J";
    let in_place = app.env.stdout_is_terminal && !app.printer.json;
    let mut first = true;
    loop {
        let look = runtime::unless_interrupted(look(app, args, tools, names));
        let Some(seen) = runtime::block_on(look)? else {
            return Ok(Exit::Interrupted);
        };
        let seen = seen?;
        if in_place {
            let now = SystemClock.now();
            let text = format!(
                "{now}, every {} s; Ctrl-C ends it\n\n{}",
                pause.as_secs(),
                render::health::health(&seen.tools)
            );
            let begin = if first { CLEAR } else { "" };
            let lines = text.replace('\n', &format!("{CLEAR_LINE}\n"));
            app.printer
                .data(&format!("{begin}{HOME}{lines}{CLEAR_BELOW}"))
                .map_err(|error| output_failed(&error))?;
        } else {
            seen.show(app, args)?;
        }
        first = false;
        // The clock of a sleep is the runtime's: it is begun inside.
        let waited = runtime::unless_interrupted(async { tokio::time::sleep(pause).await });
        if runtime::block_on(waited)?.is_none() {
            return Ok(Exit::Interrupted);
        }
    }
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
    let _working = Working::on(app, "asking providers", None);
    let ready = ready(app, tools, names, over);
    let found = runtime::block_on(probe_all(names, &ready))?;
    let found = found.into_iter().zip(&ready);
    let found = found.map(|(health, tool)| with_key_remarks(health, tool));
    Ok(where_to_keep(app, found.collect()))
}

/// Where there is no keyring, what proposes to keep a key names the store that is there.
fn where_to_keep(app: &App, mut found: Vec<ToolHealth>) -> Vec<ToolHealth> {
    const KEEP: &str = "agentos tool auth set ";
    let proposed = |tool: &ToolHealth| tool.fix.as_ref().is_some_and(|fix| fix.contains(KEEP));
    if !found.iter().any(proposed) || keys::keyring(app) != Keyring::None {
        return found;
    }
    for fix in found.iter_mut().filter_map(|tool| tool.fix.as_mut()) {
        *fix = fix.replace(KEEP, &format!("{KEEP}--store file "));
    }
    found
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
    let key = tool.as_ref().ok().and_then(|tool| tool.key.as_ref());
    let variable = key.and_then(|key| key.variable.as_ref());
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
