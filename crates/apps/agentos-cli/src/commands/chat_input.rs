//! Input of a conversation: messages and commands that a person types, or that a pipe contains.
//!
//! Owns: which way they are read. Never: understands a command.

use agentos_host::{Conversation, EffectError, Host};

use crate::app::{App, output_failed};
#[cfg(unix)]
use crate::commands::chat_complete::ChatCompletions;
#[cfg(unix)]
use crate::printer::{paint, style};
use crate::terminal::keyboard::{Keyboard, LineSource, TypedLine};
use crate::terminal::last_line;
#[cfg(unix)]
use crate::terminal::line_editor::{EditedText, LineEditor};

/// Line that a person presses Ctrl-C in is cleared. These words say how to leave.
#[cfg(unix)]
const CLEARED: &str = "cleared; Ctrl-D or `/exit` leaves";
/// Most messages of earlier that the line editor offers again.
#[cfg(unix)]
const EARLIER: usize = 200;

/// Result of waiting for a message.
pub enum TypedMessage {
    /// A message or command.
    Text(String),
    /// The input has ended, or a signal came.
    End,
}

/// Input of a conversation.
pub enum TalkInput {
    /// Lines as they come: a pipe, or a terminal that cannot move its cursor.
    Lines(Keyboard),
    /// A line editor on a terminal.
    #[cfg(unix)]
    Editor {
        /// The editor.
        editor: Box<LineEditor<ChatCompletions>>,
        /// True before the first message.
        is_first: bool,
    },
}

impl TalkInput {
    /// Opens the input that the standard streams allow.
    #[cfg(unix)]
    pub fn open(app: &App, conversation: &Conversation) -> Self {
        let is_terminal = app.streams.can_ask && app.streams.stdout_is_terminal && app.can_redraw();
        if is_terminal {
            let earlier = conversation.list_prompts(EARLIER).unwrap_or_default();
            let source = ChatCompletions::new(&Host::from(conversation.ground()));
            // Without an editor, the terminal's own lines are enough to go on.
            if let Ok(editor) = LineEditor::open(source, earlier) {
                return Self::Editor {
                    editor: Box::new(editor),
                    is_first: true,
                };
            }
        }
        Self::Lines(Keyboard::new(&app.signals))
    }

    /// Opens the input that the standard streams allow.
    #[cfg(not(unix))]
    pub fn open(app: &App, _: &Conversation) -> Self {
        Self::Lines(Keyboard::new(&app.signals))
    }

    /// Reads a message.
    ///
    /// # Errors
    /// Fails if the input cannot be read.
    pub fn read_message(&mut self, app: &App) -> Result<TypedMessage, EffectError> {
        match self {
            Self::Lines(keyboard) => read_lines(app, keyboard),
            #[cfg(unix)]
            Self::Editor { editor, is_first } => {
                if !std::mem::take(is_first) {
                    // Without it, a question is hard to find between answers.
                    last_line::print("");
                }
                edit_message(app, editor)
            }
        }
    }
}

#[cfg(unix)]
fn edit_message(app: &App, editor: &mut LineEditor<ChatCompletions>) -> Result<TypedMessage, EffectError> {
    loop {
        // The signal that ended an answer ends the conversation too. The editor would not notice it, and the next line be sent.
        if app.signals.received().is_some() {
            return Ok(TypedMessage::End);
        }
        match editor.edit_text("> ").map_err(|error| output_failed(&error))? {
            EditedText::Text(text) => return Ok(TypedMessage::Text(text)),
            EditedText::Cleared => app.printer.show_note(&paint(style::DIM, CLEARED)),
            EditedText::End => return Ok(TypedMessage::End),
        }
    }
}

/// Reads a message from lines as they come. A line that ends with a backslash goes on in the next one.
fn read_lines(app: &App, keyboard: &mut dyn LineSource) -> Result<TypedMessage, EffectError> {
    let mut text = String::new();
    loop {
        if app.streams.can_ask {
            last_line::print_prompt(if text.is_empty() { "> " } else { ". " });
        }
        match keyboard.read_line().map_err(|error| output_failed(&error))? {
            TypedLine::Line(line) => match line.strip_suffix('\\') {
                Some(part) => {
                    text.push_str(part);
                    text.push('\n');
                }
                None => return Ok(TypedMessage::Text(text + &line)),
            },
            TypedLine::End if text.is_empty() => return Ok(TypedMessage::End),
            TypedLine::End => return Ok(TypedMessage::Text(text)),
            TypedLine::Stopped => return Ok(TypedMessage::End),
        }
    }
}
