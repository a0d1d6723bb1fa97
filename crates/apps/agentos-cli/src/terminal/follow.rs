//! Display of a run on the terminal, from its first event to its end.
//!
//! Owns: the display of each event, and Ctrl-C during the run. Never: does the work of a run.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use agentos_host::{
    Activity, ConsentAnswer, ConsentMode, ConsentRequested, EffectError, HostObserver, Notice, RunControl,
    RunEnd, RunEvent, RunHandle, RunSpec, RunWork, block_on,
};

use super::consent::{self, ConsentScreen};
use super::interrupt::{InterruptKey, on_interrupt};
use super::progress::RunDisplay;
use super::screen;
use super::working::WorkDisplay;
use crate::app::App;
use crate::notices::{self, PrintedNotices};
use crate::render;

/// Starts a run and follows it to its end.
///
/// # Errors
/// Fails if the run cannot begin.
pub fn follow_run(app: &App, spec: RunSpec) -> Result<RunEnd, EffectError> {
    let display = RunDisplay::new(app);
    let asks_tool = matches!(spec.work, RunWork::Task(_) | RunWork::Question(_));
    let asks_person = spec.consent == ConsentMode::Person;
    if asks_tool || asks_person || matches!(display, RunDisplay::Terminal(_)) {
        let handle = app.host.start_run(spec)?;
        return block_on(show_run(app, handle, display))?;
    }
    // A landing without a terminal takes milliseconds, so nothing is drawn, and Ctrl-C may end the process as usual until a
    // signing program starts.
    let (run, control) = app.host.prepare_run(spec);
    run.finish(Arc::new(PipedRun {
        notices: PrintedNotices(app.printer),
        control,
    }))
}

/// Observer of a run without a terminal, on the caller's thread.
struct PipedRun {
    notices: PrintedNotices,
    control: RunControl,
}

impl HostObserver for PipedRun {
    fn on_notice(&self, notice: Notice) {
        self.notices.on_notice(notice);
    }

    fn on_activity(&self, activity: Activity) {
        match activity {
            // A signing program may wait for a passphrase or a card, so from here on Ctrl-C must end the run in order
            // and not this process alone.
            Activity::SigningCommit => {
                let control = self.control.clone();
                on_interrupt(move || control.cancel());
            }
            Activity::SearchingContext | Activity::AskingTool => {}
        }
    }
}

/// Returns the source of consent: `--yes`, a person at the terminal, or nobody.
pub fn consent_mode(app: &App, said_yes: bool) -> ConsentMode {
    // With `--json` the caller is a program, even if a terminal is attached.
    let can_ask = app.streams.can_ask && !app.printer.json;
    match (said_yes, can_ask) {
        (true, _) => ConsentMode::Beforehand {
            who: app.host.environment().user_name(),
            how: "--yes".to_owned(),
        },
        (false, true) => ConsentMode::Person,
        (false, false) => ConsentMode::Nobody,
    }
}

async fn show_run(app: &App, mut handle: RunHandle, mut display: RunDisplay) -> Result<RunEnd, EffectError> {
    let control = handle.control();
    let mut key = InterruptKey::new();
    let mut searching = None;
    let mut is_stopped = false;
    loop {
        let event = tokio::select! {
            // The key is polled first: a tool that streams fast always has an event ready.
            biased;
            // The run is asked to stop and followed to its end, because it still has to record the refusal and remove
            // its copy.
            () = key.wait_pressed(), if !is_stopped => {
                is_stopped = true;
                control.cancel();
                continue;
            }
            event = handle.events().next() => event,
        };
        let Some(event) = event else { break };
        // Records are written while the search goes on. Any other event means that it has ended, so its status line is
        // removed before the next text.
        searching = searching.filter(|_| matches!(event, RunEvent::Record(_)));
        match event {
            RunEvent::Began(Activity::SearchingContext) => {
                searching = Some(WorkDisplay::start_on(app, "searching the repository"));
            }
            RunEvent::Began(Activity::AskingTool) => display.start_answer(),
            RunEvent::Began(Activity::SigningCommit) => {}
            RunEvent::Notice(notice) => {
                display.print_above(|| notices::print_notice(app.printer, &notice));
            }
            RunEvent::ContextFound(found) => {
                app.printer.show_note(&render::context::summarize_context(&found))
            }
            RunEvent::Progress(progress) => display.show_progress(progress),
            RunEvent::Record(_) => {}
            RunEvent::ConsentRequested(requested) => {
                // The status line is redrawn by a timer and would overwrite the question.
                display.finish_answer();
                match put_question(app, requested, &mut key).await {
                    Some(answer) => control.answer(answer),
                    None => {
                        is_stopped = true;
                        control.cancel();
                    }
                }
            }
        }
    }
    display.finish_answer();
    handle.outcome().await
}

/// Asks the person at the terminal. `None` if the person pressed Ctrl-C instead of answering. In a pager, the pager handles
/// the key.
async fn put_question(
    app: &App,
    requested: Arc<ConsentRequested>,
    key: &mut InterruptKey,
) -> Option<ConsentAnswer> {
    let is_paging = Arc::new(AtomicBool::new(false));
    let (asker, paging) = (app.clone(), Arc::clone(&is_paging));
    // Reading standard input cannot be cancelled, so a thread waits for the line. It ends with the process.
    let mut answer = tokio::task::spawn_blocking(move || ask_person(&asker, &requested, &paging));
    loop {
        tokio::select! {
            answered = &mut answer => return answered.ok(),
            () = key.wait_pressed() => if !is_paging.load(Ordering::SeqCst) {
                // The terminal has shown `^C` in the middle of the question, so the next text needs a new line.
                app.printer.show_error("");
                return None;
            }
        }
    }
}

fn ask_person(app: &App, requested: &ConsentRequested, is_paging: &AtomicBool) -> ConsentAnswer {
    let screen = ConsentScreen {
        is_paging,
        change: &requested.change,
        decision: &requested.decision,
        target: &requested.hashes.target_ref,
        writes: &requested.hashes.writes,
        size: screen::screen_size(app.host.environment()),
        // A missing pager is reported when long output needs it. The question can be asked without one.
        pager: screen::find_pager(app).ok().flatten(),
    };
    let hashes = Box::new(requested.hashes.clone());
    if consent::ask_consent(&screen) {
        ConsentAnswer::Yes {
            hashes,
            who: app.host.environment().user_name(),
            how: "terminal".to_owned(),
        }
    } else {
        ConsentAnswer::No { hashes }
    }
}
