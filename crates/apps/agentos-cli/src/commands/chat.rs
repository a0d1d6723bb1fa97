//! `agentos chat send`: one message to a model, and its answer as it arrives.
//!
//! Owns: which stream each part of the answer goes to, and the exit status. Never: shows a byte of an answer unescaped on a
//! terminal.

use agentos_host::{ChatAnswer, ChatCall, ChatReport, ChatSpec, EffectError, block_on};
use agentos_model::{ChatEvent, ThoughtPiece};
use agentos_tool::{RunId, format_dollars};

use crate::app::{App, Done, output_failed, stopped_error};
use crate::args::chat::{ChatArgs, ChatFlags, ChatSendArgs, ChatVerb};
use crate::commands::{chat_sessions, chat_talk, chat_turn, chat_withheld};
use crate::escape;
use crate::exit::Exit;
use crate::input;
use crate::printer::{paint, style};
use crate::render::markdown::MarkdownStream;
use crate::render::thought_lines::ThoughtLines;
use crate::terminal::live_output::{LiveWrite, write_live};
use crate::terminal::working::{LongWork, WorkDisplay};
use crate::terminal::{last_line, screen};

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
    let mut call = app.host.prepare_chat(&spec, run)?;
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

/// Parts of an answer that a person sees.
#[derive(Debug, Clone, Copy)]
pub struct AnswerLook {
    /// True if the model's thinking is shown.
    pub thinking: bool,
    /// True if an answer is shown as it is.
    pub plain: bool,
    /// True if a pipe is given whole answers only, because another model may be asked if one breaks off.
    pub whole: bool,
}

impl AnswerLook {
    /// Reads the flags.
    pub fn from_flags(flags: &ChatFlags) -> Self {
        Self {
            thinking: flags.shows_thinking(),
            plain: flags.plain,
            whole: false,
        }
    }
}

/// Display of an answer as it arrives.
pub struct ChatDisplay {
    app: App,
    shows_thinking: bool,
    /// Text that is written at the end of the answer. `None` if it is written as it arrives.
    delayed: Option<String>,
    /// Renderer of the answer's Markdown. `None` if it is shown as it is.
    markdown: Option<MarkdownStream>,
    /// The wait for the first piece. `None` once it has come.
    work: Option<WorkDisplay>,
    /// Last character on standard output. `None` before the first.
    last: Option<char>,
    thinking: ThoughtLines,
    /// Notes that were shown.
    notes: Vec<String>,
}

/// The part of an answer that was shown before its end.
pub struct ShownAnswer {
    /// True if a part of the answer was shown.
    pub has_text: bool,
    /// Notes that were shown.
    pub notes: Vec<String>,
}

impl ChatDisplay {
    /// Begins with the wait for the first piece.
    pub fn new(app: &App, look: AnswerLook) -> Self {
        let has_styles = !look.plain && app.has_styles();
        Self {
            app: app.clone(),
            shows_thinking: look.thinking && !app.printer.json,
            delayed: (look.whole && !app.streams.stdout_is_terminal).then(String::new),
            markdown: has_styles.then(|| MarkdownStream::new(screen::output_width(app))),
            work: Some(WorkDisplay::start_run(app, LongWork::Model)),
            last: None,
            thinking: ThoughtLines::default(),
            notes: Vec::new(),
        }
    }

    /// Shows an event.
    ///
    /// # Errors
    /// Fails like [`write_live`].
    pub fn show_event(&mut self, event: &ChatEvent) -> std::io::Result<LiveWrite> {
        match event {
            ChatEvent::Note { note } => {
                let text = format!("note: {}", escape::line(note));
                self.app.printer.show_note(&text);
                self.notes.push(note.clone());
            }
            ChatEvent::Thinking(piece) => {
                if self.shows_thinking && !piece.text.is_empty() {
                    self.work = None;
                    print_thoughts(self.thinking.push(&piece.text));
                } else if let Some(work) = &self.work {
                    work.count_step();
                }
            }
            ChatEvent::Text { text } => return self.show_text(text),
            ChatEvent::TextWasThinking => return self.take_text_back(),
            // No tool was offered, and the end is shown when everything has been read.
            ChatEvent::ToolCall(_) | ChatEvent::Usage(_) | ChatEvent::Finish(_) => {}
        }
        Ok(LiveWrite::Whole)
    }

    fn show_text(&mut self, text: &str) -> std::io::Result<LiveWrite> {
        let printer = self.app.printer;
        if printer.json {
            if let Some(work) = &self.work {
                work.count_step();
            }
            return Ok(LiveWrite::Whole);
        }
        self.work = None;
        self.end_thinking();
        self.last = text.chars().last().or(self.last);
        if let Some(delayed) = &mut self.delayed {
            delayed.push_str(text);
            return Ok(LiveWrite::Whole);
        }
        if let Some(markdown) = &mut self.markdown {
            let shown = markdown.push(text);
            return write_live(&self.app.signals, shown.as_bytes());
        }
        // A pipe is given the bytes as they come; only the end of the last line is added.
        if self.app.streams.stdout_is_terminal {
            return write_live(&self.app.signals, escape::block(text).as_bytes());
        }
        write_live(&self.app.signals, text.as_bytes())
    }

    fn end_thinking(&mut self) {
        print_thoughts(self.thinking.finish());
    }

    /// Takes back the text so far, because it was thinking. What was written stays, and a note says what it was.
    fn take_text_back(&mut self) -> std::io::Result<LiveWrite> {
        if self.app.printer.json || self.last.is_none() {
            return Ok(LiveWrite::Whole);
        }
        if let Some(delayed) = &mut self.delayed {
            let thinking = std::mem::take(delayed);
            self.last = None;
            return self.show_event(&ChatEvent::Thinking(ThoughtPiece {
                text: thinking,
                ..ThoughtPiece::default()
            }));
        }
        let fresh = MarkdownStream::new(screen::output_width(&self.app));
        let shown = self
            .markdown
            .as_mut()
            .map(|markdown| std::mem::replace(markdown, fresh));
        let rest = shown.map(MarkdownStream::finish).unwrap_or_default();
        let written = write_live(&self.app.signals, format!("{rest}\n").as_bytes())?;
        self.app
            .printer
            .show_note("note: the text above is the model's thinking, not its answer");
        Ok(written)
    }

    /// Forgets the text that was not written yet. Returns false if all of it was written as it arrived.
    pub fn withdraw(&mut self) -> bool {
        let is_delayed = self.delayed.is_some();
        if is_delayed {
            self.delayed = Some(String::new());
            self.last = None;
        }
        is_delayed
    }

    /// Ends the display, with a line end after an answer without one.
    pub fn finish(mut self) -> ShownAnswer {
        self.work = None;
        self.end_thinking();
        if let Some(text) = self.delayed.take().filter(|text| !text.is_empty()) {
            // Ignored: nobody reads it any more, or a signal has ended the wait for the reader.
            let _ = write_live(&self.app.signals, text.as_bytes());
        }
        if let Some(markdown) = self.markdown.take() {
            let rest = markdown.finish();
            if !rest.is_empty() {
                // Ignored: the answer itself was written, and a failure of that was reported.
                let _ = write_live(&self.app.signals, rest.as_bytes());
            }
        } else if self.last.is_some_and(|last| last != '\n') {
            // Ignored: the answer itself was written, and a failure of that was reported.
            let _ = write_live(&self.app.signals, b"\n");
        }
        ShownAnswer {
            has_text: self.last.is_some(),
            notes: self.notes,
        }
    }
}

fn print_thoughts(lines: impl IntoIterator<Item = String>) {
    for line in lines {
        last_line::print(&paint(style::DIM, &escape::block(&line)));
    }
}
