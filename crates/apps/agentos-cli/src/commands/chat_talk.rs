//! `agentos chat`: a conversation at the terminal.
//!
//! Owns: reading messages and commands, line by line. Never: decides what a turn sends, or contains a rule of a session.

use std::path::{Path, PathBuf};

use agentos_host::{
    CallNames, Cause, ChoiceOrigin, Conversation, CostFilter, CostGroup, EffectError, Host, ProviderChoice,
    SessionState, WindowGauge, find_turn_fault,
};
use agentos_ledger::TurnEnd;
use agentos_tool::{RunId, ThinkingLevel};

use crate::app::{App, Done, usage_error};
use crate::args::chat::{ChatTalkArgs, complete_choice};
use crate::args::land::UndoArgs;
use crate::args::tool::parse_thinking;
use crate::commands::chat_display::AnswerLook;
use crate::commands::chat_input::{TalkInput, TypedMessage};
use crate::commands::chat_sessions::write_export;
use crate::commands::chat_turn::{
    SummaryResult, add_toolboxes, agree_to_default, list_waiting, parse_session, show_summary, summarize,
    take_turn,
};
use crate::commands::chat_words::{CommandWord, format_help, parse_command};
use crate::commands::{approve, undo};
use crate::escape;
use crate::exit::Exit;
use crate::printer::{paint, style};
use crate::render::chat::describe_receipt;
use crate::render::cost::format_costs;
use crate::render::count_noun;
use crate::render::gauge::format_gauge;
use crate::terminal::screen;

/// Runs the verb.
pub fn talk(app: &App, args: &ChatTalkArgs) -> Done {
    let mut conversation = app
        .host
        .talk()
        .open_conversation(&parse_session(app, args.session.as_deref())?)?;
    let remembered = conversation.state().settings().model_name();
    let mut talk = Talk {
        app,
        args,
        choice: args.flags.complete_choice(app, remembered.as_deref())?,
        flag_level: args.flags.thinking_level(),
        proposed: None,
        gauge: None,
        images: Vec::new(),
        landed: None,
    };
    if args.tools {
        conversation.set_repository(true)?;
    }
    add_toolboxes(&mut conversation, &args.toolboxes)?;
    if let Some(system) = &args.flags.system {
        conversation.set_system(Some(system))?;
    }
    talk.greet(&conversation);
    // While the person types.
    app.host.calls().start_preload(&talk.choice);
    app.signals.set_remains("the session stays");
    let mut input = TalkInput::open(app, &conversation);
    let mut last = Exit::Done;
    loop {
        match input.read_message(app)? {
            TypedMessage::End => return Ok(last),
            TypedMessage::Text(text) if text.trim().is_empty() => {}
            TypedMessage::Text(text) => match talk.answer(&mut conversation, &text) {
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
    /// Thinking that `--thinking` asks for. `None` if the session decides.
    flag_level: Option<ThinkingLevel>,
    /// Run of the last proposal. `None` if nothing was proposed since the conversation was opened.
    proposed: Option<RunId>,
    /// Images of the next message.
    images: Vec<PathBuf>,
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
            CommandWord::Thinking => self.set_thinking(conversation, rest)?,
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
            CommandWord::Compact => return self.compact(conversation).map(Some),
            CommandWord::Cost => self.print_cost(conversation)?,
            CommandWord::Image => self.add_image(conversation, rest)?,
            CommandWord::Export => self.export(conversation, rest)?,
            CommandWord::Retry => return self.retry(conversation).map(Some),
            CommandWord::Title => {
                let title = conversation.set_title(rest)?;
                self.note(&format!("the title is `{title}`"));
            }
            CommandWord::Clear => {
                conversation.clear()?;
                self.note("earlier messages are not sent any more");
            }
        }
        Ok(Some(Exit::Done))
    }

    fn send(&mut self, conversation: &mut Conversation, text: &str) -> Result<Exit, EffectError> {
        if self.choice.origin != ChoiceOrigin::Named {
            // The default may have changed since the last message.
            self.choice = self.args.flags.complete_choice(self.app, None)?;
            self.choice.overrides.thinking = self.flag_level;
            agree_to_default(self.app, conversation, &mut self.choice)?;
        }
        let message = conversation.make_message(text, &self.images)?;
        let shown = take_turn(
            self.app,
            conversation,
            self.choice.clone(),
            message,
            AnswerLook::from_flags(&self.args.flags),
        )?;
        if !shown.turn.record.messages.is_empty() {
            self.images.clear();
        }
        if shown.turn.record.end == TurnEnd::Cancelled {
            self.note(match (&shown.turn.cut, shown.turn.record.messages.is_empty()) {
                (Some(_), _) => "stopped; the answer so far is kept, and `go on` continues it",
                (None, true) => "stopped; the session goes on without this message",
                (None, false) => "stopped; what was said before is kept",
            });
            return Ok(Exit::Interrupted);
        }
        self.images.clear();
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

    /// Changes the provider or the model. The name of a provider is a provider; every other name is a model, as with `--model`.
    fn switch_model(&mut self, conversation: &mut Conversation, name: &str) -> Result<(), EffectError> {
        let mut over = self.args.flags.over.clone();
        let before = self.describe_choice();
        let is_provider = self.app.host.talk().is_provider(name);
        // The flag named a model for the provider of before.
        over.model = Some(name.to_owned()).filter(|_| !is_provider);
        let named = CallNames {
            provider: Some(name).filter(|_| is_provider),
            remembered: Some(&before),
        };
        let choice = complete_choice(self.app, named, &over, self.args.flags.max_output_tokens)?;
        let mut settings = conversation.state().settings().clone();
        settings.provider = Some(choice.provider.name().to_owned());
        settings.model = choice.overrides.model.clone();
        conversation.change_settings(settings)?;
        self.choice = choice;
        self.choice.overrides.thinking = self.flag_level;
        self.note(&format!(
            "{} answers from the next turn on",
            self.describe_choice()
        ));
        Ok(())
    }

    fn set_thinking(&mut self, conversation: &mut Conversation, word: &str) -> Result<(), EffectError> {
        let mut settings = conversation.state().settings().clone();
        if word.is_empty() {
            let level = self.choice.overrides.thinking.or(settings.thinking);
            self.note(&match level {
                Some(level) => format!("thinking is requested: {}", level.as_str()),
                None => "the profile decides if thinking is requested".to_owned(),
            });
            return Ok(());
        }
        settings.thinking = match word {
            "default" => None,
            word => Some(parse_thinking(word).map_err(usage_error)?),
        };
        // The command is newer than the flag.
        self.flag_level = None;
        self.choice.overrides.thinking = None;
        conversation.change_settings(settings)?;
        self.note("the level of thinking holds from the next turn on");
        Ok(())
    }

    fn switch_tools(&self, conversation: &mut Conversation, word: &str) -> Result<(), EffectError> {
        match word {
            "on" => conversation.set_repository(true)?,
            "off" => conversation.set_repository(false)?,
            "" => {}
            name => match name.strip_prefix('-') {
                Some(name) => {
                    let mut kept = conversation.state().settings().toolboxes.clone();
                    kept.retain(|known| known != name);
                    conversation.set_toolboxes(&kept)?;
                }
                None => add_toolboxes(conversation, &[name.to_owned()])?,
            },
        }
        let toolboxes = &conversation.state().settings().toolboxes;
        if !toolboxes.is_empty() {
            self.note(&format!(
                "the model is offered the tools of {}",
                toolboxes.join(", ")
            ));
        }
        match &conversation.state().settings().repository {
            Some(folder) => self.note(&format!(
                "the model can read the last commit of {folder}, and propose changes"
            )),
            None => self.note("the model cannot read this repository; `/tools on` lets it"),
        }
        Ok(())
    }

    /// Lands a proposal, after the person has seen and agreed to it.
    fn land(&mut self, conversation: &Conversation, name: &str) -> Result<Exit, EffectError> {
        let run = match (name, &self.proposed) {
            ("", _) if conversation.state().ends_cut() => {
                let error = EffectError::new(
                    Cause::Tool,
                    "unfinished-answer",
                    "the last answer was cut, and an answer that was cut never lands",
                );
                return Err(error.hint("ask for the change again in full; an earlier proposal lands by its name, as in `/land RUN`"));
            }
            ("", Some(run)) => run.to_string(),
            ("", None) => {
                let error = usage_error("nothing was proposed since this conversation was opened");
                return Err(
                    error.hint("`agentos approve --list` shows what waits; name a run, as in `/land RUN`")
                );
            }
            (name, _) => name.to_owned(),
        };
        let id = agentos_host::new_run();
        let exit = approve::land_proposal(&self.app_of(conversation), &run, &id)?;
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
            host: Host::from(conversation.ground()),
            ..self.app.clone()
        }
    }

    /// Has the model summarize all messages, and shows the receipt.
    fn compact(&self, conversation: &mut Conversation) -> Result<Exit, EffectError> {
        match summarize(self.app, conversation, self.choice.clone())? {
            SummaryResult::Receipt(receipt) => self.note(&describe_receipt(&receipt)),
            SummaryResult::Unneeded => self.note("there is nothing to summarize"),
            SummaryResult::Stopped => {
                self.note("stopped; the session is as before");
                return Ok(Exit::Interrupted);
            }
        }
        Ok(Exit::Done)
    }

    fn print_cost(&self, conversation: &Conversation) -> Result<(), EffectError> {
        let filter = CostFilter {
            session: Some(conversation.key().to_string()),
            ..CostFilter::default()
        };
        let report = self.app.host.calls().cost_report(CostGroup::Model, &filter)?;
        match report.calls {
            0 => self.note("no model was called in this session"),
            _ => self.app.printer.show_note(format_costs(&report).trim_end()),
        }
        Ok(())
    }

    /// Adds an image to the next message. It is read when the message is sent.
    fn add_image(&mut self, conversation: &Conversation, file: &str) -> Result<(), EffectError> {
        if file.is_empty() {
            return Err(usage_error("there is no file of an image").hint("type `/image FILE`"));
        }
        // Now, so that a mistake is not found after a long message.
        conversation.make_message("", &[PathBuf::from(file)])?;
        self.images.push(PathBuf::from(file));
        let count = count_noun(self.images.len() as u64, "image");
        self.note(&format!("{count} will be sent with the next message"));
        Ok(())
    }

    fn export(&self, conversation: &Conversation, file: &str) -> Result<(), EffectError> {
        let name = match file {
            "" => format!("{}.md", conversation.key().as_str().replace(':', "-")),
            file => file.to_owned(),
        };
        let export = self.app.host.talk().export_session(conversation.key())?;
        write_export(self.app, &export, Path::new(&name), None)
    }

    /// Asks the last question again. Both answers stay in the session.
    fn retry(&mut self, conversation: &mut Conversation) -> Result<Exit, EffectError> {
        match conversation.list_prompts(1)?.pop() {
            Some(text) => self.send(conversation, &text),
            None => Err(usage_error("no question was asked in this session")),
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
