//! Display of a run on the terminal, from its first event to its end.
//!
//! Owns: the display of each event, and the words about a run that a signal stops. Never: does the work of a run.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use agentos_host::{
    Activity, ConsentAnswer, ConsentMode, ConsentRequested, Effect, EffectError, HostObserver, Notice,
    Outcome, OutcomeKind, RunEnd, RunEvent, RunHandle, RunSpec, RunText, RunWork, TaskSpec, block_on,
};

use super::consent::{self, ConsentScreen, PersonAnswer};
use super::progress::RunDisplay;
use super::signals::Signals;
use super::working::LongWork;
use super::{last_line, screen};
use crate::app::{App, Done};
use crate::notices::{self, PrintedNotices};
use crate::render;

/// Time after which a run that ends slowly is explained.
const SLOW_END: Duration = Duration::from_secs(1);

/// End of a run that was followed.
pub struct FollowedRun {
    /// The end.
    pub end: RunEnd,
    /// True if the person was asked, so that the change is on the screen already.
    pub was_asked: bool,
}

impl App {
    /// Shows the end of a run that lands. At a terminal, the change that landed is shown above it, unless the person saw it with a
    /// question.
    pub fn show_followed(&self, followed: FollowedRun) -> Done {
        let outcome = self.outcome_of(followed.end)?;
        if !followed.was_asked {
            self.show_landed(&outcome);
        }
        self.show_outcome(&outcome)
    }

    /// Shows the change that landed, if standard error is a terminal. Pipes and logs get what they always got.
    pub fn show_landed(&self, outcome: &Outcome) {
        let is_watched = self.streams.stderr_is_terminal && !self.printer.quiet && !self.printer.json;
        if !(is_watched && outcome.is_done() && outcome.outcome == OutcomeKind::Landed) {
            return;
        }
        // The tape holds the change, also if a tool made it. If the change cannot be read, the outcome is still shown.
        if let Ok(diff) = self
            .host
            .stories()
            .run_text(Some(outcome.run.as_str()), RunText::Diff)
        {
            let size = screen::screen_size(self.host.environment());
            last_line::print(render::diff::format_view(&diff, size).trim_end());
        }
    }
}

/// Starts a run and follows it to its end.
///
/// # Errors
/// Fails if the run cannot begin.
pub fn follow_run(app: &App, spec: RunSpec) -> Result<FollowedRun, EffectError> {
    follow_answered(app, spec, false)
}

/// Starts a run like [`follow_run`]. With `by_habit`, a change that policy allows is not asked about in a repository in which the
/// user said "always here".
///
/// # Errors
/// Fails if the run cannot begin.
pub fn follow_answered(app: &App, spec: RunSpec, by_habit: bool) -> Result<FollowedRun, EffectError> {
    let id = spec.id.clone();
    let followed = follow_to_end(app, spec, by_habit)?;
    let ended = &followed.end;
    if let Some(id) = id {
        app.signals.set_remains(format!(
            "the run has ended; `agentos evidence show {id}` shows it"
        ));
    }
    if let (Some(signal), RunEnd::Outcome(run)) = (app.signals.received(), ended)
        && run.outcome.is_done()
    {
        let note = format!(
            "{} came while the change landed, so the landing was finished",
            signal.name()
        );
        app.printer.show_note(&note);
    }
    Ok(followed)
}

fn follow_to_end(app: &App, spec: RunSpec, by_habit: bool) -> Result<FollowedRun, EffectError> {
    let asks_tool = matches!(spec.work, RunWork::Task(_) | RunWork::Question(_));
    let asks_person = matches!(spec.consent, ConsentMode::Person | ConsentMode::EveryChange);
    if asks_tool || asks_person || app.streams.stderr_is_terminal {
        let check = check_command(&spec.work);
        let handle = app.host.runs().start_run(spec)?;
        let _guard = app.signals.guard_run(handle.control());
        return block_on(show_run(app, handle, check, by_habit))?;
    }
    // A landing without a terminal takes milliseconds, so nothing is drawn.
    let (run, control) = app.host.runs().prepare_run(spec);
    let _guard = app.signals.guard_run(control);
    let end = run.finish(Arc::new(PipedRun {
        notices: PrintedNotices(app.printer),
    }))?;
    Ok(FollowedRun {
        end,
        was_asked: false,
    })
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

/// Returns the source of consent to a run like [`consent_mode`]. A person is also asked about a change that policy allows, unless
/// they chose not to be.
pub fn review_mode(app: &App, said_yes: bool, spec: &RunSpec) -> ConsentMode {
    match consent_mode(app, said_yes) {
        ConsentMode::Person => app.host.runs().person_mode(spec),
        other => other,
    }
}

async fn show_run(
    app: &App,
    mut handle: RunHandle,
    check: String,
    by_habit: bool,
) -> Result<FollowedRun, EffectError> {
    let control = handle.control();
    let mut display = RunDisplay::new(app);
    let mut slow_end = pin!(wait_slow_end(&app.signals));
    let (mut is_explained, mut was_asked) = (false, false);
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
                let known = app.host.runs().answer_by_habit(&requested).filter(|_| by_habit);
                was_asked |= known.is_none();
                // Nothing else happens in a run that waits for its answer. A signal stops the run and ends the question.
                match known.or_else(|| ask_person(app, &requested)) {
                    Some(answer) => control.answer(answer),
                    None => control.cancel(),
                }
            }
        }
    }
    display.finish_work();
    let end = handle.outcome().await?;
    Ok(FollowedRun { end, was_asked })
}

/// Waits until a run that a signal stopped takes long to end.
async fn wait_slow_end(signals: &Signals) {
    signals.wait_stop().await;
    tokio::time::sleep(SLOW_END).await;
}

/// Asks the person at the terminal. `None` if the question stays open.
fn ask_person(app: &App, requested: &ConsentRequested) -> Option<ConsentAnswer> {
    let is_allowed = requested.decision.effect() == Effect::Allow;
    let screen = ConsentScreen {
        shows_diff: !app.printer.quiet,
        offers_always: is_allowed && app.host.runs().landing_habit().offers_always(),
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
    let answer = consent::ask_consent(&screen);
    if is_allowed && matches!(answer, PersonAnswer::Yes | PersonAnswer::AlwaysHere) {
        app.host
            .runs()
            .note_landing_yes(answer == PersonAnswer::AlwaysHere);
    }
    match answer {
        PersonAnswer::Yes | PersonAnswer::AlwaysHere => {
            Some(requested.yes(app.host.person_name(), "terminal"))
        }
        PersonAnswer::Release => Some(requested.yes_releasing(app.host.person_name(), "terminal")),
        PersonAnswer::No => Some(requested.no()),
        PersonAnswer::Unanswered => None,
    }
}
