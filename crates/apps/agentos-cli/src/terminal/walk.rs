//! The walk through the queue of requests at the terminal.
//!
//! Owns: showing each request and carrying out what a key means. Never: decides what a key means, or lands a change that
//! the person did not see in exactly that state.

use std::io::{self, Write};
use std::path::PathBuf;

use agentos_editor::TextToEdit;
use agentos_host::{
    ApprovalMode, ConsentMode, ConsentRequested, DiffRevision, EffectError, HookRule, LARGEST_ANSWER,
    OpenRequest, PreviewedRequest, RevisedDiff, RunSpec, RunWork, SessionOptions, WalkEffect, WalkState,
};

use super::consent::ConsentScreen;
use super::editor;
use super::follow::follow_run;
use super::keyboard::{Keyboard, LineSource, TypedLine};
use super::{last_line, screen};
use crate::app::{App, Done, output_failed};
use crate::commands::log::layout_of;
use crate::escape;
use crate::exit::Exit;
use crate::printer::{paint, style};
use crate::render;

const REQUEST_KEYS: &str = "land it? [y]es, [n]ext, [d]eny (a reason may follow), [s]how, [e]xplain, choose [f]iles or [h]unks, [E]dit, [q]uit: ";
const PART_KEYS: &str = "take this part? [y]es, [n]o, [a]ll of the rest, [d]one, [q]uit: ";
/// Words for a signal or the end of the input.
const STAYS_OPEN: &str =
    "nothing was landed; the requests that were not answered stay open: `agentos approve`";

/// Continuation of the walk after a request.
enum Step {
    Next,
    End,
    Stopped,
}

/// Walks through the open requests.
pub fn walk_queue(app: &App, policies: &[PathBuf], hooks: HookRule) -> Done {
    let requests = app.host.runs().open_requests()?;
    if requests.is_empty() {
        app.printer.show_note("no run waits for consent");
        return Ok(Exit::Done);
    }
    // A signal ends the question, and not the program in the middle of a screen.
    let _guard = app.signals.guard_orderly();
    let mut keyboard = Keyboard::new(&app.signals);
    let count = requests.len();
    for (number, request) in requests.iter().enumerate() {
        let heading = format!("request {} of {count}", number + 1);
        let mut visit = RequestVisit {
            app,
            policies,
            hooks,
            request,
            revision: None,
        };
        match visit.answer(&heading, &mut keyboard)? {
            Step::Next => {}
            Step::End => break,
            Step::Stopped => return Ok(app.show_stopped(STAYS_OPEN)),
        }
    }
    Ok(Exit::Done)
}

/// Request while the person is asked about it.
struct RequestVisit<'a> {
    app: &'a App,
    policies: &'a [PathBuf],
    hooks: HookRule,
    request: &'a OpenRequest,
    /// Diff that the person made of the change. `None` if it is the requested one.
    revision: Option<RevisedDiff>,
}

impl RequestVisit<'_> {
    /// Shows the request and asks until it is answered or left.
    fn answer(&mut self, heading: &str, keys: &mut dyn LineSource) -> Result<Step, EffectError> {
        let about = render::requests::format_request(self.request, &layout_of(self.app));
        last_line::print(&format!("{}\n{}", paint(style::BOLD, heading), about.trim_end()));
        loop {
            let revision = self.revision.as_ref();
            let preview = self
                .app
                .host
                .runs()
                .preview_request(&self.request.run, self.policies, revision);
            match preview {
                Ok(PreviewedRequest::Placed(shown)) => {
                    if let Some(step) = self.ask_about(&shown, keys)? {
                        return Ok(step);
                    }
                }
                Ok(PreviewedRequest::Refused(why)) if self.revision.take().is_some() => {
                    let why = escape::line(&why);
                    self.app.printer.show_error(&format!(
                        "this does not land, so the change stays as it was: {why}"
                    ));
                }
                // This run finds the same, and records that the request is void.
                Ok(PreviewedRequest::Refused(_)) => {
                    self.land(ApprovalMode::Named)?;
                    return Ok(Step::Next);
                }
                // One request that cannot be answered now must not hide the others.
                Err(error) => {
                    self.app.show_failure(None, &error);
                    return Ok(Step::Next);
                }
            }
        }
    }

    /// Asks about a change in one state. `None` if the person made another change of it, which is to be shown first.
    fn ask_about(
        &mut self,
        shown: &ConsentRequested,
        keys: &mut dyn LineSource,
    ) -> Result<Option<Step>, EffectError> {
        let diff = shown.change.canonical_diff();
        let screen = make_screen(self.app, shown);
        last_line::print(screen.format_summary().trim_end());
        let mut state = WalkState::Request;
        loop {
            let prompt = match &state {
                WalkState::Request => REQUEST_KEYS,
                WalkState::Part { .. } => PART_KEYS,
            };
            let key = ask_key(prompt, keys).map_err(|error| output_failed(&error))?;
            let Some(key) = key else {
                return Ok(Some(Step::Stopped));
            };
            let (next, effect, text) = state.press(&key, diff);
            state = next;
            match effect {
                WalkEffect::Land => {
                    let who = self.app.host.person_name();
                    self.show_problem(self.land(ApprovalMode::Seen(shown.yes(who, "terminal"))));
                    return Ok(Some(Step::Next));
                }
                WalkEffect::Deny => {
                    self.show_problem(self.deny(&String::from_utf8_lossy(&text)));
                    return Ok(Some(Step::Next));
                }
                WalkEffect::Skip => return Ok(Some(Step::Next)),
                WalkEffect::End => return Ok(Some(Step::End)),
                WalkEffect::ShowDiff => screen.show_diff(keys).map_err(|error| output_failed(&error))?,
                WalkEffect::Explain => screen
                    .show_explanation(keys)
                    .map_err(|error| output_failed(&error))?,
                WalkEffect::AskPart => self.show_part(&state),
                WalkEffect::KeepChange => last_line::print("the change stays as it is"),
                WalkEffect::ShowKeys => last_line::print("answer with one of the letters in brackets"),
                WalkEffect::UseChosen => {
                    self.revise(DiffRevision::Chosen, text);
                    return Ok(None);
                }
                WalkEffect::Edit => {
                    if self.edit_diff(diff) {
                        return Ok(None);
                    }
                }
            }
        }
    }

    fn revise(&mut self, revision: DiffRevision, text: Vec<u8>) {
        // Parts of an edited diff are not the tool's own any more.
        let is_edited = self
            .revision
            .as_ref()
            .is_some_and(|earlier| earlier.revision == DiffRevision::Edited);
        let revision = if is_edited { DiffRevision::Edited } else { revision };
        self.revision = Some(RevisedDiff { revision, text });
    }

    fn deny(&self, reason: &str) -> Result<(), EffectError> {
        let who = self.app.host.person_name();
        self.app
            .host
            .runs()
            .deny_request(&self.request.run, &who, Some(reason))?;
        self.app.printer.show_note("denied; nothing was landed");
        Ok(())
    }

    /// Shows why a request was not answered. It must not hide the others.
    fn show_problem(&self, answered: Result<(), EffectError>) {
        if let Err(error) = answered {
            self.app.show_failure(None, &error);
        }
    }

    /// Lands what is shown, and shows the outcome.
    fn land(&self, consent: ApprovalMode) -> Result<(), EffectError> {
        let session = SessionOptions {
            policies: self.policies.to_vec(),
            hooks: self.hooks,
            ..SessionOptions::default()
        };
        let work = RunWork::Approval {
            request: self.request.run.clone(),
            consent,
            revision: self.revision.clone(),
        };
        let spec = RunSpec {
            consent: ConsentMode::Nobody,
            ..RunSpec::new(session, work)
        };
        // Not an end of the walk: the outcome of one request says nothing about the next.
        self.app.show_end(follow_run(self.app, spec)?.end).map(drop)
    }

    /// Lets the person edit the diff. Returns false if it stays as it is.
    fn edit_diff(&mut self, diff: &[u8]) -> bool {
        let Ok(text) = std::str::from_utf8(diff) else {
            self.app
                .printer
                .show_error("the change is not UTF-8, so it cannot be edited");
            return false;
        };
        let text = TextToEdit {
            file_name: "change.diff",
            text,
            limit: usize::try_from(LARGEST_ANSWER).unwrap_or(usize::MAX),
        };
        match editor::edit_text(self.app, text) {
            Ok(edited) if edited.as_bytes() == diff || edited.trim().is_empty() => {
                self.app.printer.show_note("the change stays as it is");
                false
            }
            Ok(edited) => {
                self.revise(DiffRevision::Edited, edited.into_bytes());
                true
            }
            Err(error) => {
                self.app.show_failure(None, &error);
                false
            }
        }
    }

    fn show_part(&self, state: &WalkState) {
        let WalkState::Part { parts, at, .. } = state else {
            return;
        };
        let Some(part) = parts.get(*at) else { return };
        let text = self.app.format_diff(&part.text, None);
        last_line::print(&format!(
            "part {} of {}\n{}",
            at + 1,
            parts.len(),
            text.trim_end()
        ));
    }
}

fn make_screen<'a>(app: &'a App, shown: &'a ConsentRequested) -> ConsentScreen<'a> {
    ConsentScreen {
        change: &shown.change,
        decision: &shown.decision,
        target: &shown.hashes.target_ref,
        writes: &shown.hashes.writes,
        drift: shown.drift.as_ref(),
        shows_diff: !app.printer.quiet,
        offers_always: false,
        size: screen::screen_size(app.host.environment()),
        signals: &app.signals,
        // A missing pager is no reason not to ask: the text is shown page by page.
        pager: screen::find_pager(app).ok().flatten(),
    }
}

/// Asks for a line. `None` at the end of the input, and after a signal.
fn ask_key(prompt: &str, keys: &mut dyn LineSource) -> io::Result<Option<String>> {
    last_line::end_status();
    let mut out = anstream::stderr();
    out.write_all(prompt.as_bytes())?;
    out.flush()?;
    match keys.read_line()? {
        TypedLine::Line(line) => Ok(Some(line)),
        TypedLine::End | TypedLine::Stopped => {
            out.write_all(b"\n")?;
            Ok(None)
        }
    }
}
