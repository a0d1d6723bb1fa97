//! Display of a run on the terminal, from its first event to its end.
//!
//! Owns: the display of each event, and the words about a run that a signal stops. Never: does the work of a run.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use agentos_host::{
    Activity, ConsentAnswer, ConsentMode, ConsentRequested, EffectError, HostObserver, Notice, RunEnd,
    RunEvent, RunHandle, RunSpec, RunWork, TaskSpec, block_on,
};

use super::consent::{self, ConsentScreen, PersonAnswer};
use super::progress::RunDisplay;
use super::screen;
use super::signals::Signals;
use super::working::LongWork;
use crate::app::App;
use crate::notices::{self, PrintedNotices};
use crate::render;

/// Time after which a run that ends slowly is explained.
const SLOW_END: Duration = Duration::from_secs(1);

/// Starts a run and follows it to its end.
///
/// # Errors
/// Fails if the run cannot begin.
pub fn follow_run(app: &App, spec: RunSpec) -> Result<RunEnd, EffectError> {
    let id = spec.id.clone();
    let ended = follow_to_end(app, spec)?;
    if let Some(id) = id {
        app.signals.set_remains(format!(
            "the run has ended; `agentos evidence show {id}` shows it"
        ));
    }
    if let (Some(signal), RunEnd::Outcome(run)) = (app.signals.received(), &ended)
        && run.outcome.is_done()
    {
        let note = format!(
            "{} came while the change landed, so the landing was finished",
            signal.name()
        );
        app.printer.show_note(&note);
    }
    Ok(ended)
}

fn follow_to_end(app: &App, spec: RunSpec) -> Result<RunEnd, EffectError> {
    let asks_tool = matches!(spec.work, RunWork::Task(_) | RunWork::Question(_));
    let asks_person = spec.consent == ConsentMode::Person;
    if asks_tool || asks_person || app.streams.stderr_is_terminal {
        let check = check_command(&spec.work);
        let handle = app.host.start_run(spec)?;
        let _guard = app.signals.guard_run(handle.control());
        return block_on(show_run(app, handle, check))?;
    }
    // A landing without a terminal takes milliseconds, so nothing is drawn.
    let (run, control) = app.host.prepare_run(spec);
    let _guard = app.signals.guard_run(control);
    run.finish(Arc::new(PipedRun {
        notices: PrintedNotices(app.printer),
    }))
}

/// Returns the command of the user's check. Empty if there is none.
fn check_command(work: &RunWork) -> String {
    let check = match work {
        RunWork::Task(TaskSpec { check, .. }) => check.as_ref(),
        RunWork::Question(_)
        | RunWork::Answer(_)
        | RunWork::Proposal(_)
        | RunWork::Approval { .. }
        | RunWork::Recorded(_)
        | RunWork::Undo { .. } => None,
    };
    check.map(|check| check.command.clone()).unwrap_or_default()
}

/// Observer of a run without a terminal, on the caller's thread.
struct PipedRun {
    notices: PrintedNotices,
}

impl HostObserver for PipedRun {
    fn on_notice(&self, notice: Notice) {
        self.notices.on_notice(notice);
    }
}

/// Returns the source of consent: `--yes`, a person at the terminal, or nobody.
pub fn consent_mode(app: &App, said_yes: bool) -> ConsentMode {
    // With `--json` the caller is a program, even if a terminal is attached.
    let can_ask = app.streams.can_ask && !app.printer.json;
    match (said_yes, can_ask) {
        (true, _) => ConsentMode::Beforehand {
            who: app.host.person_name(),
            how: "--yes".to_owned(),
        },
        (false, true) => ConsentMode::Person,
        (false, false) => ConsentMode::Nobody,
    }
}

async fn show_run(app: &App, mut handle: RunHandle, check: String) -> Result<RunEnd, EffectError> {
    let control = handle.control();
    let mut display = RunDisplay::new(app);
    let mut slow_end = pin!(wait_slow_end(&app.signals));
    let mut is_explained = false;
    loop {
        let event = tokio::select! {
            event = handle.events().next() => event,
            () = &mut slow_end, if !is_explained => {
                is_explained = true;
                app.printer
                    .show_note("stopping; what has begun is finished or taken back. A second Ctrl-C ends at once");
                continue;
            }
        };
        let Some(event) = event else { break };
        match event {
            RunEvent::Began(activity) => match activity {
                Activity::SearchingContext => display.start_work(LongWork::Other("searching the repository")),
                Activity::AskingTool => display.start_work(LongWork::Model),
                Activity::RunningProgram => display.start_work(LongWork::Program),
                Activity::RunningCheck => display.start_work(LongWork::Check(check.clone())),
                Activity::RunningHooks => display.start_work(LongWork::Other("running the hooks")),
                // A signing program may ask for a passphrase on the terminal.
                Activity::SigningCommit => display.finish_work(),
            },
            RunEvent::Notice(notice) => notices::print_notice(app.printer, &notice),
            RunEvent::ContextFound(found) => {
                display.finish_work();
                app.printer.show_note(&render::context::summarize_context(&found));
            }
            RunEvent::Progress(progress) => display.show_progress(progress),
            RunEvent::Record(_) => {}
            RunEvent::ConsentRequested(requested) => {
                display.finish_work();
                // Nothing else happens in a run that waits for its answer. A signal stops the run and ends the question.
                match ask_person(app, &requested) {
                    Some(answer) => control.answer(answer),
                    None => control.cancel(),
                }
            }
        }
    }
    display.finish_work();
    handle.outcome().await
}

/// Waits until a run that a signal stopped takes long to end.
async fn wait_slow_end(signals: &Signals) {
    signals.wait_stop().await;
    tokio::time::sleep(SLOW_END).await;
}

/// Asks the person at the terminal. `None` if the question stays open.
fn ask_person(app: &App, requested: &ConsentRequested) -> Option<ConsentAnswer> {
    let screen = ConsentScreen {
        signals: &app.signals,
        change: &requested.change,
        decision: &requested.decision,
        target: &requested.hashes.target_ref,
        writes: &requested.hashes.writes,
        drift: requested.drift.as_ref(),
        size: screen::screen_size(app.host.environment()),
        // A missing pager is reported when long output needs it. The question can be asked without one.
        pager: screen::find_pager(app).ok().flatten(),
    };
    match consent::ask_consent(&screen) {
        PersonAnswer::Yes => Some(requested.yes(app.host.person_name(), "terminal")),
        PersonAnswer::No => Some(requested.no()),
        PersonAnswer::Unanswered => None,
    }
}
