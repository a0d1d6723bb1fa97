//! One turn of a session on the screen: the answer as it arrives, tools, and the end.
//!
//! Owns: which stream each event goes to, and the exit status. Never: shows a byte of a model or tool unescaped on a terminal.

use std::sync::Arc;

use agentos_host::{
    ChoiceOrigin, Conversation, EffectError, FinishedTurn, Host, ProviderChoice, RunId, SessionState,
    SummaryEnd, SummarySpec, TurnEvent, TurnLimits, TurnReport, TurnSpec, WindowGauge, block_on,
    find_turn_fault,
};
use agentos_ledger::{CompressionReceipt, SessionKey, TurnEnd, sum_costs};
use agentos_model::{ChatEvent, ChatMessage, ThoughtPiece};
use agentos_tool::{ExactCost, format_dollars};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::app::{App, Done, output_failed, usage_error};
use crate::args::chat::ChatSendArgs;
use crate::commands::chat_display::{AnswerLook, ChatDisplay};
use crate::commands::question::ask_yes;
use crate::escape;
use crate::exit::Exit;
use crate::input;
use crate::printer::{paint, style};
use crate::render::chat::describe_receipt;
use crate::render::context::format_size;
use crate::terminal::live_output::LiveWrite;
use crate::terminal::working::WorkDisplay;

/// Longest arguments of a tool's call on the screen, in characters.
const LONGEST_ARGUMENTS: usize = 80;

/// Turn that was shown.
pub struct ShownTurn {
    /// The turn.
    pub turn: FinishedTurn,
    /// Tokens of the window before the last call of the model. `None` if none was called.
    pub gauge: Option<WindowGauge>,
    /// True if a part of an answer was shown.
    pub has_text: bool,
    /// True if the turn was stopped because nobody reads standard output any more.
    pub has_no_reader: bool,
}

/// Parses the name of a session. Without a name, it is the session of the repository.
///
/// # Errors
/// Fails if the name is not the name of a session.
pub fn parse_session(app: &App, name: Option<&str>) -> Result<SessionKey, EffectError> {
    match name {
        Some(name) => SessionKey::parse(name).map_err(|error| usage_error(error.to_string())),
        None => Ok(app.host.usual_session()),
    }
}

/// Sends one message in a session.
pub fn send_in_session(app: &App, args: &ChatSendArgs, session: &str) -> Done {
    let key = parse_session(app, Some(session))?;
    let mut conversation = app.host.talk().open_conversation(&key)?;
    let remembered = conversation.state().settings().model_name();
    let mut choice = args.flags.complete_choice(app, remembered.as_deref())?;
    agree_to_default(app, &conversation, &mut choice)?;
    if let Some(system) = &args.flags.system {
        conversation.set_system(Some(system))?;
    }
    let text = input::read_task(Some(&args.text))?.unwrap_or_default();
    let message = conversation.make_message(&text, &args.images)?;
    if args.tools {
        conversation.set_repository(true)?;
    }
    add_toolboxes(&mut conversation, &args.toolboxes)?;
    let shown = take_turn(
        app,
        &mut conversation,
        choice,
        message,
        AnswerLook::from_flags(&args.flags),
    )?;
    let exit = show_end(app, &key, &shown);
    if !app.printer.json {
        for run in list_waiting(&conversation, &shown) {
            let words = "waits for you: `agentos approve` shows the change and lands it";
            app.printer.show_note(&format!("run {} {words}", run.short_id()));
        }
    }
    exit
}

/// Asks the person once if a session that was answered on this machine goes on in a cloud, because the default has changed. Without a
/// terminal nothing is asked, and the turn is refused.
///
/// # Errors
/// Fails if the person says no, or the profiles cannot be read.
pub fn agree_to_default(
    app: &App,
    conversation: &Conversation,
    choice: &mut ProviderChoice,
) -> Result<(), EffectError> {
    let Some(switch) = conversation.find_default_switch(choice)? else {
        return Ok(());
    };
    if !switch.is_to_cloud || !app.streams.can_ask || app.printer.json {
        return Ok(());
    }
    let question = format!(
        "your default is `{}` now, in a cloud: send it this session, which `{}` answered on this machine?",
        escape::line(&switch.to),
        escape::line(&switch.from)
    );
    if ask_yes(app, &question)? {
        choice.origin = ChoiceOrigin::Agreed;
    }
    Ok(())
}

/// Offers the tools of these toolboxes too, from now on.
///
/// # Errors
/// Fails if the person does not trust one of them.
pub fn add_toolboxes(conversation: &mut Conversation, names: &[String]) -> Result<(), EffectError> {
    if names.is_empty() {
        return Ok(());
    }
    let known = conversation.state().settings().toolboxes.iter();
    let all: Vec<String> = known.chain(names).cloned().collect();
    conversation.set_toolboxes(&all)
}

/// Takes a turn and shows it as it happens.
///
/// # Errors
/// Fails if the provider cannot be asked, or the turn cannot be recorded.
pub fn take_turn(
    app: &App,
    conversation: &mut Conversation,
    provider: ProviderChoice,
    message: ChatMessage,
    look: AnswerLook,
) -> Result<ShownTurn, EffectError> {
    let stop = Arc::new(Notify::new());
    let _guard = app.signals.guard_turn(&stop);
    let look = AnswerLook {
        whole: app.host.calls().find_pool(Some(provider.provider.name())).is_ok(),
        ..look
    };
    let mut display = TurnDisplay::new(app, look, Arc::clone(&stop));
    let turn = {
        let mut emit = |event: TurnEvent| display.show_event(event);
        let work = conversation.take_turn(TurnSpec {
            provider,
            message,
            limits: TurnLimits::default(),
            emit: &mut emit,
            cancel: Box::pin(async move { stop.notified().await }),
        });
        block_on(work)??
    };
    Ok(display.finish(turn))
}

/// Result of a requested summary.
pub enum SummaryResult {
    /// The messages are sent as a summary from now on.
    Receipt(Box<CompressionReceipt>),
    /// There was no message to summarize.
    Unneeded,
    /// The person stopped it.
    Stopped,
}

/// Has a model summarize all messages that are sent.
///
/// # Errors
/// Fails if there is no summary, or it cannot be recorded.
pub fn summarize(
    app: &App,
    conversation: &mut Conversation,
    provider: ProviderChoice,
) -> Result<SummaryResult, EffectError> {
    let stop = Arc::new(Notify::new());
    let _guard = app.signals.guard_turn(&stop);
    let _work = WorkDisplay::start_on(app, "summarizing the conversation");
    let end = block_on(conversation.compress(SummarySpec {
        provider,
        // The receipt is shown when it is recorded.
        emit: &mut |_| {},
        cancel: Box::pin(async move { stop.notified().await }),
    }))??;
    match end {
        SummaryEnd::Compressed(receipt) => Ok(SummaryResult::Receipt(receipt)),
        SummaryEnd::Unneeded => Ok(SummaryResult::Unneeded),
        SummaryEnd::Failed(turn) => find_turn_fault(&turn).map_or(Ok(SummaryResult::Stopped), Err),
    }
}

/// Lists the proposals of a turn that wait for a person. Empty if they cannot be read; then `agentos approve` says why.
pub fn list_waiting(conversation: &Conversation, shown: &ShownTurn) -> Vec<RunId> {
    let runs = &shown.turn.record.runs;
    if runs.is_empty() {
        return Vec::new();
    }
    let open = Host::from(conversation.ground())
        .runs()
        .open_requests()
        .unwrap_or_default();
    let waits = |run: &&RunId| open.iter().any(|request| request.run == run.as_str());
    runs.iter().filter(waits).cloned().collect()
}

/// Shows the end of a turn, and returns the exit status.
fn show_end(app: &App, key: &SessionKey, shown: &ShownTurn) -> Done {
    let fault = find_turn_fault(&shown.turn);
    if app.printer.json {
        let report = TurnReport {
            version: 1,
            session: key.clone(),
            answer: shown.turn.answer.clone(),
            cut_answer: shown.turn.cut.clone(),
            turn: shown.turn.record.clone(),
            gauge: shown.gauge,
            message: match shown.turn.record.end {
                TurnEnd::Cancelled => Some("you stopped it".to_owned()),
                TurnEnd::Answered | TurnEnd::Limited { .. } | TurnEnd::Failed { .. } => {
                    fault.as_ref().map(|fault| fault.message.clone())
                }
            },
        };
        app.printer
            .write_json(&report)
            .map_err(|error| output_failed(&error))?;
        return match (fault, &shown.turn.record.end) {
            (Some(fault), _) => Ok(fault.cause.into()),
            (None, TurnEnd::Cancelled) => Ok(Exit::Interrupted),
            (None, TurnEnd::Answered | TurnEnd::Limited { .. } | TurnEnd::Failed { .. }) => Ok(Exit::Done),
        };
    }
    if shown.has_no_reader {
        // As for every program whose output nobody reads any more, this is no failure.
        return Ok(Exit::Done);
    }
    if shown.turn.record.end == TurnEnd::Cancelled {
        return Ok(app.show_stopped(match (&shown.turn.cut, shown.has_text) {
            (Some(_), _) => "the answer so far is kept; `go on` continues it",
            (None, true) => "the answer is incomplete, and not part of the session",
            (None, false) => "there is no answer",
        }));
    }
    show_summary(app, shown, None);
    fault.map_or(Ok(Exit::Done), Err)
}

/// Shows the models, tokens, cost and time of a turn in one line, with the cost of the session so far if its state is passed.
pub fn show_summary(app: &App, shown: &ShownTurn, state: Option<&SessionState>) {
    app.printer
        .show_note(&paint(style::DIM, &summarize_turn(shown, state)));
}

fn summarize_turn(shown: &ShownTurn, state: Option<&SessionState>) -> String {
    let calls = &shown.turn.record.calls;
    let mut parts: Vec<String> = Vec::new();
    if let Some(call) = calls.last() {
        parts.push(escape::line(call.answering_model()));
    }
    if calls.len() > 1 {
        parts.push(format!("{} calls", calls.len()));
    }
    // Checked: whoever answered may have stated any number.
    let sum = |count: fn(&agentos_tool::Usage) -> Option<u64>| {
        let mut counts = calls.iter().map(|call| call.usage.as_ref().and_then(count));
        counts.try_fold(0_u64, |sum, count| sum.checked_add(count?))
    };
    parts.extend(sum(|usage| usage.input_tokens).map(|tokens| format!("{tokens} tokens in")));
    parts.extend(sum(|usage| usage.output_tokens).map(|tokens| format!("{tokens} out")));
    parts.extend(
        sum_costs(calls)
            .filter(|_| !calls.is_empty())
            .map(ExactCost::micro_dollars)
            .map(format_dollars),
    );
    parts.extend(state.map(|state| {
        let totals = state.totals();
        let known = totals.cost_usd.micro_dollars();
        match (known, totals.calls_without_cost) {
            // Rounded like the cost of the turn: two roundings of one amount look like two amounts.
            (_, 0) => format!("session {}", format_dollars(known)),
            (0, _) => "session cost unknown".to_owned(),
            (_, _) => format!("session {}+", format_dollars(known)),
        }
    }));
    let tenths = calls
        .iter()
        .map(|call| call.latency_ms)
        .sum::<u64>()
        .div_ceil(100);
    parts.push(format!("{}.{} s", tenths / 10, tenths % 10));
    parts.extend(
        shown
            .gauge
            .map(|gauge| format!("window {} % full", gauge.filled_percent())),
    );
    parts.join(", ")
}

/// Display of a turn as it happens.
struct TurnDisplay {
    app: App,
    look: AnswerLook,
    stop: Arc<Notify>,
    /// Calls of tools that run, with their id, their words and their beginning.
    running: Vec<(String, String, Instant)>,
    /// The status line while tools run. `None` if none runs.
    work: Option<WorkDisplay>,
    /// The answer of the current call of the model. `None` between calls.
    answer: Option<ChatDisplay>,
    gauge: Option<WindowGauge>,
    has_text: bool,
    has_no_reader: bool,
}

impl TurnDisplay {
    fn new(app: &App, look: AnswerLook, stop: Arc<Notify>) -> Self {
        Self {
            app: app.clone(),
            look,
            stop,
            running: Vec::new(),
            work: None,
            answer: None,
            gauge: None,
            has_text: false,
            has_no_reader: false,
        }
    }

    fn show_event(&mut self, event: TurnEvent) {
        match event {
            TurnEvent::Gauge(gauge) => {
                self.gauge = Some(gauge);
                self.end_answer();
                self.answer = Some(ChatDisplay::new(&self.app, self.look));
            }
            TurnEvent::Text { text } => self.show_piece(&ChatEvent::Text { text }),
            TurnEvent::Thinking { text } => self.show_piece(&ChatEvent::Thinking(ThoughtPiece {
                text,
                ..ThoughtPiece::default()
            })),
            TurnEvent::TextWasThinking => self.show_piece(&ChatEvent::TextWasThinking),
            TurnEvent::Note { note } => self.show_piece(&ChatEvent::Note { note }),
            TurnEvent::Discarded { reason } => {
                if let Some(answer) = &mut self.answer {
                    answer.withdraw();
                }
                // Nothing has to be taken back if nothing was shown.
                if self.end_answer() {
                    self.show_step(&format!(
                        "the answer above is incomplete and is not kept ({})",
                        escape::line(&reason)
                    ));
                }
            }
            TurnEvent::Cut { reason } => {
                self.end_answer();
                self.show_step(&format!(
                    "the answer was cut ({}); the text so far is kept",
                    escape::line(&reason)
                ));
            }
            TurnEvent::ToolBegun { id, name, arguments } => self.begin_tool(id, &name, &arguments),
            TurnEvent::ToolEnded {
                id, is_error, bytes, ..
            } => self.end_tool(&id, is_error, bytes),
            TurnEvent::Compressed(receipt) => {
                self.show_step(&describe_receipt(&receipt));
            }
            TurnEvent::Usage(_) => {}
        }
    }

    /// Shows a piece of an answer. Ends the turn if nobody reads standard output any more.
    fn show_piece(&mut self, event: &ChatEvent) {
        let display = self
            .answer
            .get_or_insert_with(|| ChatDisplay::new(&self.app, self.look));
        match display.show_event(event) {
            // A signal has ended the turn already.
            Ok(LiveWrite::Whole | LiveWrite::Stopped) => {}
            Ok(LiveWrite::NoReader) | Err(_) => {
                self.has_no_reader = true;
                self.stop.notify_one();
            }
        }
    }

    fn begin_tool(&mut self, id: String, name: &str, arguments: &serde_json::Value) {
        self.end_answer();
        let arguments: String = arguments.to_string().chars().take(LONGEST_ARGUMENTS).collect();
        let words = format!("{} {}", escape::line(name), escape::line(&arguments));
        self.running.push((id, words, Instant::now()));
        if self.work.is_none() && !self.app.printer.json {
            self.work = Some(WorkDisplay::start_on(&self.app, "running tools"));
        }
    }

    /// Shows a call that ended in one line: the call, the size of its result, and its time.
    fn end_tool(&mut self, id: &str, is_error: bool, bytes: u64) {
        let Some(at) = self.running.iter().position(|(running, _, _)| running == id) else {
            return;
        };
        let (_, words, began) = self.running.swap_remove(at);
        if self.running.is_empty() {
            self.work = None;
        }
        let tenths = began.elapsed().as_millis().div_ceil(100);
        let outcome = match is_error {
            true => "failed".to_owned(),
            false => format_size(bytes),
        };
        self.show_step(&format!("{words}: {outcome}, {}.{} s", tenths / 10, tenths % 10));
    }

    fn show_step(&mut self, words: &str) {
        self.end_answer();
        if !self.app.printer.json {
            self.app.printer.show_note(&paint(style::DIM, words));
        }
    }

    /// Ends the display of the current call's answer. Returns true if a part of it was shown.
    fn end_answer(&mut self) -> bool {
        let shown = self.answer.take().is_some_and(|answer| answer.finish().has_text);
        self.has_text |= shown;
        shown
    }

    fn finish(mut self, turn: FinishedTurn) -> ShownTurn {
        self.work = None;
        self.end_answer();
        ShownTurn {
            turn,
            gauge: self.gauge,
            has_text: self.has_text,
            has_no_reader: self.has_no_reader,
        }
    }
}
