//! `agentos chat send`: one message to a model, and its answer as it arrives.
//!
//! Owns: which stream each part of the answer goes to, and the exit status. Never: shows a byte of an answer unescaped on a
//! terminal.

use agentos_host::{ChatAnswer, ChatCall, ChatReport, ChatSpec, EffectError, block_on};
use agentos_tool::{RunId, format_dollars};

use crate::app::{App, Done, output_failed, stopped_error};
use crate::args::chat::{ChatArgs, ChatSendArgs, ChatVerb};
use crate::commands::chat_display::{AnswerLook, ChatDisplay};
use crate::commands::{chat_sessions, chat_talk, chat_turn, chat_withheld};
use crate::escape;
use crate::exit::Exit;
use crate::input;
use crate::printer::{paint, style};
use crate::terminal::live_output::LiveWrite;

/// How reading an answer ended.
enum ReadEnd {
    /// The last event was read.
    Whole,
    /// A signal stopped it.
    Stopped,
    /// Nobody reads standard output any more.
    NoReader,
}

/// Runs `chat` and its verbs.
pub fn run_chat(app: &App, args: &ChatArgs, run: &RunId) -> Done {
    match &args.verb {
        None => chat_talk::talk(app, &args.talk),
        Some(ChatVerb::Send(args)) => match &args.session {
            Some(session) => chat_turn::send_in_session(app, args, session),
            None => send_message(app, args, run),
        },
        Some(ChatVerb::List(args)) => chat_sessions::list_sessions(app, args),
        Some(ChatVerb::Show(args)) => chat_sessions::show_session(app, args),
        Some(ChatVerb::Search(args)) => chat_sessions::search_sessions(app, args),
        Some(ChatVerb::Export(args)) => chat_sessions::export_session(app, args),
        Some(ChatVerb::Title(args)) => chat_sessions::title_session(app, args),
        Some(ChatVerb::Summarize(args)) => chat_sessions::summarize_session(app, args),
        Some(ChatVerb::Restore(args)) => chat_sessions::restore_session(app, args),
        Some(ChatVerb::Fork(args)) => chat_sessions::fork_session(app, args),
        Some(ChatVerb::Clear(args)) => chat_sessions::clear_session(app, args),
        Some(ChatVerb::Drop(args)) => chat_withheld::drop_reads(app, args),
        Some(ChatVerb::Share(args)) => chat_withheld::share_reads(app, args),
        Some(ChatVerb::Delete(args)) => chat_sessions::delete_session(app, args),
    }
}

/// Sends one message without a session.
fn send_message(app: &App, args: &ChatSendArgs, run: &RunId) -> Done {
    let spec = ChatSpec {
        // First, so that a missing provider is reported before standard input is waited for.
        provider: args.flags.complete_choice(app, None)?,
        text: input::read_task(Some(&args.text))?.unwrap_or_default(),
        system: args.flags.system.clone(),
        images: args.images.clone(),
    };
    let mut call = app.host.calls().prepare_chat(&spec, run)?;
    // From here on a signal never ends the program before the cost of the call is on the ledger, also while a write waits.
    let _guard = app.signals.guard_orderly();
    let look = AnswerLook {
        whole: call.has_pool(),
        ..AnswerLook::from_flags(&args.flags)
    };
    loop {
        match show_answer(app, &call, look) {
            Ok(done) => return done,
            Err(failure) => {
                // Another member of a pool may answer. All others end here.
                let next = call.follow_failure(&failure)?;
                call = next.ok_or(failure)?;
            }
        }
    }
}

/// Shows an answer to its end, whatever the end is.
///
/// # Errors
/// Fails with the reason why there is no whole answer. What was shown of it is marked as incomplete.
fn show_answer(app: &App, call: &ChatCall, look: AnswerLook) -> Result<Done, EffectError> {
    let mut answer = call.start();
    let mut display = ChatDisplay::new(app, look);
    let read = block_on(read_answer(app, &mut answer, &mut display))?;
    if read.is_err() && call.has_pool() {
        let is_unwritten = display.withdraw();
        if display.finish().has_text && !is_unwritten {
            app.printer
                .show_note("the answer above is incomplete and is not kept");
        }
        return read.map(|_| Ok(Exit::Done));
    }
    let shown = display.finish();
    Ok(match read? {
        ReadEnd::Whole => show_end(app, &block_on(answer.finish_report())??, &shown.notes),
        ReadEnd::NoReader => Ok(Exit::Done),
        ReadEnd::Stopped => {
            // Ends the generation and records the call before standard error is written: nobody may read that either.
            drop(answer);
            if app.printer.json {
                return Ok(Err(stopped_error()));
            }
            Ok(app.show_stopped(match shown.has_text {
                true => "the answer is incomplete",
                false => "there is no answer",
            }))
        }
    })
}

/// Reads the answer to its end, and shows each event.
///
/// # Errors
/// Fails if there is no complete answer, or standard output cannot be written.
async fn read_answer(
    app: &App,
    answer: &mut ChatAnswer<'_>,
    display: &mut ChatDisplay,
) -> Result<ReadEnd, EffectError> {
    loop {
        let Some(event) = app.signals.unless_stopped(answer.next_event()).await else {
            return Ok(ReadEnd::Stopped);
        };
        let Some(event) = event? else {
            return Ok(ReadEnd::Whole);
        };
        let shown = display
            .show_event(&event)
            .map_err(|error| output_failed(&error))?;
        match shown {
            LiveWrite::Whole => {}
            LiveWrite::NoReader => return Ok(ReadEnd::NoReader),
            LiveWrite::Stopped => return Ok(ReadEnd::Stopped),
        }
    }
}

/// Shows the end of a complete answer after these notes, and returns the exit status.
fn show_end(app: &App, report: &ChatReport, notes: &[String]) -> Done {
    let fault = report.find_fault();
    if app.printer.json {
        app.printer
            .write_json(report)
            .map_err(|error| output_failed(&error))?;
        return Ok(fault.map_or(Exit::Done, |fault| fault.cause.into()));
    }
    // The report has the notes as well, for programs that read it alone.
    for warning in report.warnings.iter().filter(|warning| !notes.contains(warning)) {
        app.printer
            .show_note(&format!("warning: {}", escape::line(warning)));
    }
    app.printer
        .show_note(&paint(style::DIM, &summarize_report(report)));
    // The answer was printed, so a fault of it is reported as an error after it.
    fault.map_or(Ok(Exit::Done), Err)
}

/// Describes an answer in one line: the model, its tokens, its cost and its time.
fn summarize_report(report: &ChatReport) -> String {
    let model = report.model_id.as_deref().unwrap_or(&report.provider);
    let mut parts = vec![escape::line(model)];
    let usage = report.usage.unwrap_or_default();
    if let Some(tokens) = usage.input_tokens {
        let cached = usage.cached_tokens.filter(|cached| *cached > 0);
        let written = usage.cache_write_tokens.filter(|written| *written > 0);
        let cache = [(cached, "cached"), (written, "written to the cache")];
        let cache = cache
            .iter()
            .filter_map(|(tokens, word)| Some(format!("{} {word}", (*tokens)?)));
        let cache: Vec<String> = cache.collect();
        let cache = match cache.is_empty() {
            true => String::new(),
            false => format!(" ({})", cache.join(", ")),
        };
        parts.push(format!("{tokens} tokens in{cache}"));
    }
    if let Some(tokens) = usage.output_tokens {
        let thinking = usage.reasoning_tokens.filter(|tokens| *tokens > 0);
        let thinking = thinking.map_or_else(String::new, |tokens| format!(" ({tokens} of thinking)"));
        parts.push(format!("{tokens} out{thinking}"));
    }
    parts.extend(report.cost_micro_usd.map(format_dollars));
    let tenths = report.latency_ms.div_ceil(100);
    parts.push(format!("{}.{} s", tenths / 10, tenths % 10));
    parts.join(", ")
}
