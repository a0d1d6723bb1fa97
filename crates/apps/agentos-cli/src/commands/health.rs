//! `agentos tool health`: checks all providers at once, and repeatedly with `--watch`.
//!
//! Owns: the meaning of the flags, the screen of `--watch` and the exit status. Never: contacts a provider itself.

use std::time::Duration;

use agentos_host::{EffectError, HealthReport, HealthSpec, HealthWatch, block_on};

use crate::app::{App, Done, output_failed, usage_error};
use crate::args::tool::HealthArgs;
use crate::exit::Exit;
use crate::render::{self, next_step::word_health};
use crate::terminal::watch::WatchScreen;
use crate::terminal::working::WorkDisplay;

/// Runs the verb.
pub fn check_health(app: &App, args: &HealthArgs) -> Done {
    let over = &args.over;
    // With several providers, `--base-url` and `--send-key` would send the keys of all of them to one address.
    let timeouts = [
        over.timeout,
        over.connect_timeout,
        over.first_byte_timeout,
        over.idle_timeout,
        over.total_timeout,
    ];
    let overrides = over.base_url.is_some()
        || over.model.is_some()
        || over.send_key
        || timeouts.iter().any(Option::is_some);
    if overrides && args.providers.len() != 1 {
        return Err(usage_error(
            "`--base-url`, `--send-key`, `--model` and time limits need exactly one `--provider`",
        )
        .hint("for example `agentos tool health -p ollama --base-url http://localhost:8080`"));
    }
    let spec = HealthSpec {
        providers: args.providers.clone(),
        overrides: over.into(),
        probes_edits: args.probe,
        probes_tools: args.probe_tools,
        saves: args.save,
    };
    let providers = app.host.calls().watch_health(spec.clone())?;
    match args.watch {
        Some(seconds) => watch_health(app, &spec, &providers, Duration::from_secs(seconds)),
        None => match check_once(app, args, &providers)? {
            Some(seen) => show_health(app, &spec, &seen?),
            None => Ok(app.show_stopped("nothing was written")),
        },
    }
}

/// Checks once. `None` if a signal came first.
fn check_once(
    app: &App,
    args: &HealthArgs,
    providers: &HealthWatch,
) -> Result<Option<Result<HealthReport, EffectError>>, EffectError> {
    let _working = WorkDisplay::start_on(app, if args.probe { "probing" } else { "asking providers" });
    let seen = block_on(app.signals.unless_stopped(providers.check_once()))?;
    Ok(seen.map(|seen| seen.map(word_report)))
}

fn word_report(mut seen: HealthReport) -> HealthReport {
    word_health(&mut seen.tools);
    seen
}

fn show_health(app: &App, spec: &HealthSpec, seen: &HealthReport) -> Done {
    if app.printer.json {
        app.printer
            .write_json(seen)
            .map_err(|error| output_failed(&error))?;
    } else {
        let text = format_tools(spec, seen)
            + &render::health::format_probes(&seen.probes)
            + &render::health::format_tool_calls(&seen.tool_calls);
        app.printer
            .write_report(&text)
            .map_err(|error| output_failed(&error))?;
    }
    Ok(if seen.is_good(spec) {
        Exit::Done
    } else {
        Exit::ToolUnavailable
    })
}

/// Formats every named provider, or an overview of all.
fn format_tools(spec: &HealthSpec, seen: &HealthReport) -> String {
    if spec.providers.is_empty() {
        render::health::format_overview(seen)
    } else {
        render::health::format_health(&seen.tools)
    }
}

/// Repeats the check. On a terminal, redraws the table in place.
fn watch_health(app: &App, spec: &HealthSpec, providers: &HealthWatch, pause: Duration) -> Done {
    let mut screen = WatchScreen::default();
    loop {
        let Some(seen) = block_on(app.signals.unless_stopped(providers.check_once()))? else {
            return Ok(app.show_stopped("nothing was written"));
        };
        let seen = word_report(seen?);
        if app.streams.stdout_is_terminal && !app.printer.json {
            screen
                .draw(app, &format_tools(spec, &seen), pause)
                .map_err(|error| output_failed(&error))?;
        } else {
            show_health(app, spec, &seen)?;
        }
        // A tokio timer can only be created inside the runtime.
        let waited = app
            .signals
            .unless_stopped(async { tokio::time::sleep(pause).await });
        if block_on(waited)?.is_none() {
            return Ok(app.show_stopped("nothing was written"));
        }
    }
}
