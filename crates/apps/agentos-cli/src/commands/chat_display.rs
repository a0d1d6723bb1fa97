//! An answer as it arrives.
//!
//! Owns: which stream each part of the answer goes to. Never: shows a byte of an answer unescaped on a terminal.

use agentos_model::{ChatEvent, ThoughtPiece};

use crate::app::App;
use crate::args::chat::ChatFlags;
use crate::escape;
use crate::printer::{paint, style};
use crate::render::markdown::MarkdownStream;
use crate::render::thought_lines::ThoughtLines;
use crate::terminal::live_output::{LiveWrite, write_live};
use crate::terminal::working::{LongWork, WorkDisplay};
use crate::terminal::{last_line, screen};

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
