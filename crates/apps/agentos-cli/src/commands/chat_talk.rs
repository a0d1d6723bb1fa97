//! `agentos chat`: a conversation at the terminal.
//!
//! Owns: reading messages and commands, line by line. Never: decides what a turn sends, or contains a rule of a session.

use agentos_host::{Conversation, EffectError, ProviderChoice, SessionState, WindowGauge, find_turn_fault};
use agentos_ledger::TurnEnd;
use agentos_tool::RunId;

use crate::app::{App, Done, output_failed, usage_error};
use crate::args::chat::{ChatTalkArgs, complete_choice};
use crate::args::land::{ApproveArgs, HookFlags, UndoArgs};
use crate::commands::chat::AnswerLook;
#[cfg(unix)]
use crate::commands::chat_complete::ChatCompletions;
use crate::commands::chat_turn::{list_waiting, parse_session, remembered_provider, show_summary, take_turn};
use crate::commands::chat_words::{CommandWord, format_help, parse_command};
use crate::commands::{approve, undo};
use crate::escape;
use crate::exit::Exit;
use crate::printer::{paint, style};
use crate::render::gauge::format_gauge;
use crate::terminal::keyboard::{Keyboard, LineSource, TypedLine};
#[cfg(unix)]
use crate::terminal::line_editor::{EditedText, LineEditor};
use crate::terminal::{last_line, screen};

/// Line that a person presses Ctrl-C in is cleared. These words say how to leave.
const CLEARED: &str = "cleared; Ctrl-D or `/exit` leaves";
/// Most messages of earlier that the line editor offers again.
const EARLIER: usize = 200;

/// How reading a message ended.
enum Typed {
    /// A message or command.
    Text(String),
    /// The input has ended, or a signal came.
    End,
}

/// Input of a conversation.
enum TalkInput {
    /// Lines as they come: a pipe, or a terminal that cannot move its cursor.
    Lines(Keyboard),
    /// A line editor on a terminal.
    #[cfg(unix)]
    Editor(Box<LineEditor<ChatCompletions>>),
}

impl TalkInput {
    #[cfg(unix)]
    fn open(app: &App, conversation: &Conversation) -> Self {
        let is_terminal = app.streams.can_ask && app.streams.stdout_is_terminal && app.can_redraw();
        if is_terminal {
            let earlier = conversation.list_prompts(EARLIER).unwrap_or_default();
            let source = ChatCompletions::new(conversation.host());
            // Without an editor, the terminal's own lines are enough to go on.
            if let Ok(editor) = LineEditor::open(source, earlier) {
                return Self::Editor(Box::new(editor));
            }
        }
        Self::Lines(Keyboard::new(&app.signals))
    }

    #[cfg(not(unix))]
    fn open(app: &App, _: &Conversation) -> Self {
        Self::Lines(Keyboard::new(&app.signals))
    }
}

/// Runs the verb.
pub fn talk(app: &App, args: &ChatTalkArgs) -> Done {
    let mut conversation = app.host.open_conversation(&parse_session(&args.session)?)?;
    let remembered = remembered_provider(&conversation);
    let mut talk = Talk {
        app,
        args,
        choice: args.flags.complete_choice(app, remembered.as_deref())?,
        proposed: None,
        gauge: None,
        landed: None,
    };
    if args.tools {
        conversation.set_repository(true)?;
    }
    if let Some(system) = &args.flags.system {
        conversation.set_system(Some(system))?;
    }
    talk.greet(&conversation);
    app.signals.set_remains("the session stays");
    let mut input = TalkInput::open(app, &conversation);
    let mut last = Exit::Done;
    loop {
        match talk.read_message(&mut input)? {
            Typed::End => return Ok(last),
            Typed::Text(text) if text.trim().is_empty() => {}
            Typed::Text(text) => match talk.answer(&mut conversation, &text) {
                Ok(Some(exit)) => last = exit,
                Ok(None) => return Ok(last),
                // A person sees why and goes on; a script gets the status of its last message.
                Err(error) => last = app.show_failure(None, &error),
            },
        }
    }
}

/// A conversation at the terminal.
struct Talk<'a> {
    app: &'a App,
    args: &'a ChatTalkArgs,
    choice: ProviderChoice,
    /// Run of the last proposal. `None` if nothing was proposed since the conversation was opened.
    proposed: Option<RunId>,
    /// The window before the last call of a model. `None` before the first.
    gauge: Option<WindowGauge>,
    /// Run of the last landing. `None` if nothing was landed since then.
    landed: Option<RunId>,
}

impl Talk<'_> {
    fn is_attended(&self) -> bool {
        self.app.streams.can_ask
    }

    fn greet(&self, conversation: &Conversation) {
        if !self.is_attended() {
            return;
        }
        let turns = conversation.state().totals().turns;
        let words = match turns {
            0 => "new session".to_owned(),
            turns => format!("goes on after {}", crate::render::count_noun(turns, "turn")),
        };
        let text = format!(
            "{} with {}, {words}; /help shows commands",
            conversation.key(),
            self.describe_choice()
        );
        self.app
            .printer
            .show_note(&paint(style::DIM, &escape::line(&text)));
    }

    fn describe_choice(&self) -> String {
        let provider = self.choice.provider.name();
        match &self.choice.overrides.model {
            Some(model) => format!("{provider}/{model}"),
            None => provider.to_owned(),
        }
    }

    /// Reads a message.
    fn read_message(&self, input: &mut TalkInput) -> Result<Typed, EffectError> {
        match input {
            TalkInput::Lines(keyboard) => self.read_lines(keyboard),
            #[cfg(unix)]
            TalkInput::Editor(editor) => self.edit_message(editor),
        }
    }

    #[cfg(unix)]
    fn edit_message(&self, editor: &mut LineEditor<ChatCompletions>) -> Result<Typed, EffectError> {
        loop {
            match editor.edit_text("> ").map_err(|error| output_failed(&error))? {
                EditedText::Text(text) => return Ok(Typed::Text(text)),
                EditedText::Cleared => self.app.printer.show_note(&paint(style::DIM, CLEARED)),
                EditedText::End => return Ok(Typed::End),
            }
        }
    }

    /// Reads a message from lines as they come. A line that ends with a backslash goes on in the next one.
    fn read_lines(&self, keyboard: &mut dyn LineSource) -> Result<Typed, EffectError> {
        let mut text = String::new();
        loop {
            if self.is_attended() {
                last_line::print_prompt(if text.is_empty() { "> " } else { ". " });
            }
            match keyboard.read_line().map_err(|error| output_failed(&error))? {
                TypedLine::Line(line) => match line.strip_suffix('\\') {
                    Some(part) => {
                        text.push_str(part);
                        text.push('\n');
                    }
                    None => return Ok(Typed::Text(text + &line)),
                },
                TypedLine::End if text.is_empty() => return Ok(Typed::End),
                TypedLine::End => return Ok(Typed::Text(text)),
                TypedLine::Stopped => return Ok(Typed::End),
            }
        }
    }

    /// Answers a message or command. `None` if the person leaves.
    fn answer(&mut self, conversation: &mut Conversation, text: &str) -> Result<Option<Exit>, EffectError> {
        let Some((word, rest)) = parse_command(text)? else {
            return self.send(conversation, text).map(Some);
        };
        match word {
            CommandWord::Exit => return Ok(None),
            CommandWord::Help => self.print_help(),
            CommandWord::Context => self.print_context(),
            CommandWord::Status => self.print_status(conversation.state()),
            CommandWord::Model if rest.is_empty() => self.note(&self.describe_choice()),
            CommandWord::Model => self.switch_model(conversation, rest)?,
            CommandWord::System if rest.is_empty() => self.print_system(conversation)?,
            CommandWord::System => {
                conversation.set_system(Some(rest))?;
                self.note("the system prompt holds from the next turn on");
            }
            CommandWord::Pin if rest.is_empty() => {
                return Err(usage_error("there is no text to pin").hint("type `/pin TEXT`"));
            }
            CommandWord::Pin => {
                conversation.pin_text(rest)?;
                self.note("pinned: the text is sent word for word in every turn");
            }
            CommandWord::Tools => self.switch_tools(conversation, rest)?,
            CommandWord::Land => return self.land(conversation, rest).map(Some),
            CommandWord::Undo => return self.undo(conversation).map(Some),
            CommandWord::Clear => {
                conversation.clear()?;
                self.note("earlier messages are not sent any more");
            }
        }
        Ok(Some(Exit::Done))
    }

    fn send(&mut self, conversation: &mut Conversation, text: &str) -> Result<Exit, EffectError> {
        let message = conversation.make_message(text, &[])?;
        let shown = take_turn(
            self.app,
            conversation,
            self.choice.clone(),
            message,
            AnswerLook::from_flags(&self.args.flags),
        )?;
        if shown.turn.record.end == TurnEnd::Cancelled {
            self.note(match shown.turn.record.messages.is_empty() {
                true => "stopped; the session goes on without this message",
                false => "stopped; what was said before is kept",
            });
            return Ok(Exit::Interrupted);
        }
        self.gauge = shown.gauge.or(self.gauge);
        show_summary(self.app, &shown, Some(conversation.state()));
        if let Some(run) = list_waiting(conversation, &shown).pop() {
            self.note(&format!(
                "run {} waits for you: `/land` shows the change and lands it",
                run.short_id()
            ));
            self.proposed = Some(run);
        }
        find_turn_fault(&shown.turn).map_or(Ok(Exit::Done), Err)
    }

    /// Changes the provider or the model. A name without a slash that is a provider is one; every other is a model of this provider.
    fn switch_model(&mut self, conversation: &mut Conversation, name: &str) -> Result<(), EffectError> {
        let is_provider = name.contains('/') || self.app.host.is_provider(name);
        let named = match is_provider {
            true => name.to_owned(),
            false => format!("{}/{name}", self.choice.provider.name()),
        };
        let provider = named.split('/').next().unwrap_or_default();
        if !self.app.host.is_provider(provider) {
            let error = usage_error(format!("there is no provider `{provider}`"));
            return Err(error.hint("`agentos tool list` shows them"));
        }
        let mut over = self.args.flags.over.clone();
        // The flag named a model for the provider of before.
        over.model = None;
        let choice = complete_choice(self.app, Some(&named), &over, self.args.flags.max_output_tokens)?;
        let mut settings = conversation.state().settings().clone();
        settings.provider = Some(choice.provider.name().to_owned());
        settings.model = choice.overrides.model.clone();
        conversation.change_settings(settings)?;
        self.choice = choice;
        self.note(&format!(
            "{} answers from the next turn on",
            self.describe_choice()
        ));
        Ok(())
    }

    fn switch_tools(&self, conversation: &mut Conversation, word: &str) -> Result<(), EffectError> {
        match word {
            "on" => conversation.set_repository(true)?,
            "off" => conversation.set_repository(false)?,
            "" => {}
            _ => return Err(usage_error(format!("`{word}` is neither `on` nor `off`"))),
        }
        match &conversation.state().settings().repository {
            Some(folder) => self.note(&format!(
                "the model can read the last commit of {folder}, and propose changes"
            )),
            None => self.note("the model has no tools; `/tools on` lets it read this repository"),
        }
        Ok(())
    }

    /// Lands a proposal, after the person has seen and agreed to it.
    fn land(&mut self, conversation: &Conversation, name: &str) -> Result<Exit, EffectError> {
        let run = match (name, &self.proposed) {
            ("", Some(run)) => run.to_string(),
            ("", None) => {
                let error = usage_error("nothing was proposed since this conversation was opened");
                return Err(
                    error.hint("`agentos approve --list` shows what waits; name a run, as in `/land RUN`")
                );
            }
            (name, _) => name.to_owned(),
        };
        let args = ApproveArgs {
            run: Some(run),
            list: false,
            all: false,
            show: false,
            yes: false,
            policy: Vec::new(),
            hooks: HookFlags {
                run_hooks: false,
                no_hooks: false,
            },
        };
        let id = agentos_host::new_run();
        let exit = approve::answer_request(&self.app_of(conversation), &args, &id)?;
        if exit == Exit::Done {
            self.landed = Some(id);
        }
        Ok(exit)
    }

    /// Undoes the last landing of this conversation.
    fn undo(&mut self, conversation: &Conversation) -> Result<Exit, EffectError> {
        let Some(run) = &self.landed else {
            let error = usage_error("nothing was landed since this conversation was opened");
            return Err(error.hint("`agentos log --landed` shows what can be undone with `agentos undo RUN`"));
        };
        let args = UndoArgs {
            policy: Vec::new(),
            run: Some(run.to_string()),
            yes: false,
            dry_run: false,
        };
        undo::undo_run(&self.app_of(conversation), &args, &agentos_host::new_run())
    }

    /// Returns the context of a verb about the session's repository.
    fn app_of(&self, conversation: &Conversation) -> App {
        App {
            host: conversation.host().clone(),
            ..self.app.clone()
        }
    }

    fn print_help(&self) {
        for line in format_help() {
            self.note(&line);
        }
    }

    fn print_context(&self) {
        let Some(gauge) = &self.gauge else {
            self.note("the window is measured with the first message");
            return;
        };
        let width = screen::error_width(self.app);
        for line in format_gauge(gauge, width) {
            self.note(&line);
        }
    }

    fn print_system(&self, conversation: &Conversation) -> Result<(), EffectError> {
        let words = match &conversation.state().settings().system_sha256 {
            Some(hash) => escape::block(&conversation.load_text(hash)?),
            None => "there is no system prompt".to_owned(),
        };
        self.app.printer.show_note(&words);
        Ok(())
    }

    fn print_status(&self, state: &SessionState) {
        for line in crate::render::chat::describe_state(state, &self.describe_choice()) {
            self.note(&line);
        }
    }

    fn note(&self, words: &str) {
        self.app.printer.show_note(&escape::line(words));
    }
}
