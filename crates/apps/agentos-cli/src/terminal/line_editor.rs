//! Line editor of a conversation: keys, several lines, history and completion.
//!
//! Owns: what a key does to the text that a person types. Never: keeps a line in a file. Lines of earlier calls come from the session
//! itself, so that the words of a deleted session are nowhere.
//!
//! | key | effect |
//! |---|---|
//! | Enter | sends the text; after a `\`, or in a block that `"""` opened, begins a new line |
//! | Alt-Enter | begins a new line |
//! | a paste | is one text, whatever lines it has |
//! | Tab | completes a command or its argument |
//! | Ctrl-C | clears the text |
//! | Ctrl-D in an empty text | ends the input |

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustyline::completion::Completer;
use rustyline::config::{BellStyle, CompletionType, Config};
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::{DefaultHistory, History};
use rustyline::validate::Validator;
use rustyline::{
    Cmd, ConditionalEventHandler, Context, Editor, Event, EventContext, EventHandler, Helper, KeyCode,
    KeyEvent, Modifiers, RepeatCount,
};

use super::last_line;
use super::saved_mode::SavedMode;
use super::typed_text::{EnterKey, can_offer_again, choose_enter, finish_text};

/// Most texts that the history has.
const LONGEST_HISTORY: usize = 500;

/// Result of editing a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EditedText {
    /// A text that the person sent.
    Text(String),
    /// The person cleared it.
    Cleared,
    /// The input has ended.
    End,
}

/// Source of completions.
pub trait CompletionSource {
    /// Returns the position where the completed word begins, and its possible forms.
    fn complete_text(&self, before_cursor: &str) -> (usize, Vec<String>);
}

/// Line editor on standard input and output, which are a terminal.
pub struct LineEditor<S: CompletionSource> {
    editor: Editor<ChatHelper<S>, DefaultHistory>,
}

impl<S: CompletionSource> LineEditor<S> {
    /// Makes an editor with texts of earlier, the oldest first.
    ///
    /// # Errors
    /// Fails if the terminal cannot be used.
    pub fn open(source: S, earlier: Vec<String>) -> io::Result<Self> {
        let config = Config::builder()
            .max_history_size(LONGEST_HISTORY)
            .map_err(word_failure)?
            .completion_type(CompletionType::List)
            .completion_show_all_if_ambiguous(true)
            .bell_style(BellStyle::None)
            .build();
        let mut editor = Editor::with_config(config).map_err(word_failure)?;
        let is_line_wanted = Arc::new(AtomicBool::new(false));
        let enter = || EventHandler::Conditional(Box::new(EnterHandler(Arc::clone(&is_line_wanted))));
        editor.set_helper(Some(ChatHelper {
            source,
            is_line_wanted: Arc::clone(&is_line_wanted),
        }));
        editor.bind_sequence(KeyEvent(KeyCode::Enter, Modifiers::NONE), enter());
        // What is typed while an answer arrives reaches the editor with the line end of a terminal that edits lines itself.
        editor.bind_sequence(KeyEvent::ctrl('J'), enter());
        editor.bind_sequence(KeyEvent(KeyCode::Enter, Modifiers::ALT), Cmd::Newline);
        let mut opened = Self { editor };
        for text in earlier {
            opened.remember(&text);
        }
        Ok(opened)
    }

    /// Lets a person edit a text after a prompt.
    ///
    /// # Errors
    /// Fails if the terminal cannot be read.
    pub fn edit_text(&mut self, prompt: &str) -> io::Result<EditedText> {
        last_line::end_status();
        // A signal that ends the program meanwhile must leave the terminal as it was.
        let _saved = SavedMode::save();
        match self.editor.readline(prompt) {
            Ok(text) => {
                let text = finish_text(&text);
                self.remember(&text);
                Ok(EditedText::Text(text))
            }
            Err(ReadlineError::Eof) => Ok(EditedText::End),
            Err(ReadlineError::Interrupted | ReadlineError::Signal(_)) => Ok(EditedText::Cleared),
            Err(error) => Err(word_failure(error)),
        }
    }

    /// Adds a text to the history if it can be offered again, and is not equal to the last one.
    fn remember(&mut self, text: &str) {
        if can_offer_again(text) {
            // The history is in memory, where adding does not fail.
            let _ = self.editor.history_mut().add(text);
        }
    }
}

fn word_failure(error: ReadlineError) -> io::Error {
    match error {
        ReadlineError::Io(error) => error,
        other => io::Error::other(other),
    }
}

/// Link between the editor and the source of completions.
struct ChatHelper<S> {
    source: S,
    /// True if the completion is that of a backslash to a new line, and not of a word.
    is_line_wanted: Arc<AtomicBool>,
}

impl<S: CompletionSource> Completer for ChatHelper<S> {
    type Candidate = String;

    fn complete(&self, line: &str, pos: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        let before_cursor = line.get(..pos).unwrap_or_default();
        let is_line_wanted = self.is_line_wanted.swap(false, Ordering::Relaxed);
        match before_cursor.strip_suffix('\\').filter(|_| is_line_wanted) {
            Some(text) => Ok((text.len(), vec!["\n".to_owned()])),
            None => Ok(self.source.complete_text(before_cursor)),
        }
    }
}

impl<S> Hinter for ChatHelper<S> {
    type Hint = String;
}

impl<S> Highlighter for ChatHelper<S> {}
impl<S> Validator for ChatHelper<S> {}
impl<S: CompletionSource> Helper for ChatHelper<S> {}

/// Effect of the Enter key, and whether it completes a backslash to a new line.
struct EnterHandler(Arc<AtomicBool>);

impl ConditionalEventHandler for EnterHandler {
    fn handle(&self, _: &Event, _: RepeatCount, _: bool, context: &EventContext<'_>) -> Option<Cmd> {
        let text = context.line();
        Some(match choose_enter(text, context.pos() == text.len()) {
            EnterKey::Send => Cmd::AcceptOrInsertLine {
                accept_in_the_middle: true,
            },
            EnterKey::NewLine => Cmd::Newline,
            // At once, so that a backslash that was pasted or recalled is never taken for one of these. A completion is the only
            // command of the editor that replaces text and leaves the cursor behind it (`Cmd::Replace` leaves it before).
            EnterKey::Continue => {
                self.0.store(true, Ordering::Relaxed);
                Cmd::Complete
            }
        })
    }
}
