//! Commands of a conversation: their names and meanings.
//!
//! Owns: the table of commands. Never: does what a command says.

use agentos_host::{EffectError, nearest_word};

use crate::app::usage_error;

/// Commands, as a conversation matches them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandWord {
    /// Changes the model.
    Model,
    /// Sets or shows the system prompt.
    System,
    /// Sets the thinking that is requested of models.
    Thinking,
    /// Pins a text.
    Pin,
    /// Adds an image to the next message.
    Image,
    /// Asks the last question again.
    Retry,
    /// Sets the title.
    Title,
    /// Summarizes the messages.
    Compact,
    /// Begins with an empty window.
    Clear,
    /// Writes the session to a file.
    Export,
    /// Leaves.
    Exit,
    /// Switches the tools of the repository.
    Tools,
    /// Lands a proposal.
    Land,
    /// Undoes a landing.
    Undo,
    /// Shows the session.
    Status,
    /// Shows the cost by model.
    Cost,
    /// Shows the window by part.
    Context,
    /// Shows the commands.
    Help,
}

/// Command with its words for people.
#[derive(Debug)]
pub struct ChatCommand {
    /// The command.
    pub word: CommandWord,
    /// Name without its `/`.
    pub name: &'static str,
    /// Arguments, as shown to people. Empty if there are none.
    pub args: &'static str,
    /// Meaning in one sentence.
    pub meaning: &'static str,
}

const fn command(
    word: CommandWord,
    name: &'static str,
    args: &'static str,
    meaning: &'static str,
) -> ChatCommand {
    ChatCommand {
        word,
        name,
        args,
        meaning,
    }
}

/// Groups of commands with their titles.
pub const GROUPS: &[(&str, &[ChatCommand])] = &[
    (
        "Conversation",
        &[
            command(
                CommandWord::Model,
                "model",
                "NAME",
                "answer with another model or provider, as in `/model openai/gpt-4o`",
            ),
            command(
                CommandWord::System,
                "system",
                "TEXT",
                "set the system prompt; without a text, show it",
            ),
            command(
                CommandWord::Thinking,
                "thinking",
                "LEVEL",
                "ask models to think: `on`, `off`, `low`, `high`, or `default` for what the profile says",
            ),
            command(
                CommandWord::Pin,
                "pin",
                "TEXT",
                "send this text word for word in every turn",
            ),
            command(
                CommandWord::Image,
                "image",
                "FILE",
                "send this image with the next message",
            ),
            command(
                CommandWord::Retry,
                "retry",
                "",
                "ask the last question again; both answers stay",
            ),
            command(
                CommandWord::Compact,
                "compact",
                "",
                "have the model summarize all messages, to free the window",
            ),
            command(
                CommandWord::Clear,
                "clear",
                "",
                "begin with an empty window; earlier messages stay readable",
            ),
            command(CommandWord::Title, "title", "TEXT", "give the session a title"),
            command(
                CommandWord::Export,
                "export",
                "[FILE]",
                "write the session as Markdown, or JSON if the name ends in `.json`",
            ),
            command(CommandWord::Exit, "exit", "", "leave; the session stays"),
        ],
    ),
    (
        "Repository",
        &[
            command(
                CommandWord::Tools,
                "tools",
                "on|off",
                "let the model read this repository and propose changes, or not; `/tools NAME` offers a toolbox, `/tools -NAME` no more",
            ),
            command(
                CommandWord::Land,
                "land",
                "[RUN]",
                "show the proposed change, and land it if you agree",
            ),
            command(
                CommandWord::Undo,
                "undo",
                "",
                "undo the change that `/land` landed last",
            ),
        ],
    ),
    (
        "Numbers",
        &[
            command(
                CommandWord::Status,
                "status",
                "",
                "show the session: model, messages, pins, tokens and cost",
            ),
            command(
                CommandWord::Cost,
                "cost",
                "",
                "show what the session cost, by model",
            ),
            command(
                CommandWord::Context,
                "context",
                "",
                "show how the model's window is filled",
            ),
            command(CommandWord::Help, "help", "", "show these commands"),
        ],
    ),
];

/// Other names of commands.
const OTHER_NAMES: &[(&str, &str)] = &[("switch", "model"), ("quit", "exit")];

/// Returns the command and the rest of a line. `None` if the line is a message.
///
/// # Errors
/// Fails if there is no such command.
pub fn parse_command(text: &str) -> Result<Option<(CommandWord, &str)>, EffectError> {
    // A path such as `/etc/hosts` may begin a message, so unknown words are refused and not sent.
    let Some(typed) = text.strip_prefix('/') else {
        return Ok(None);
    };
    let (word, rest) = typed.split_once(char::is_whitespace).unwrap_or((typed, ""));
    let other = OTHER_NAMES.iter().find(|(name, _)| *name == word);
    let word = other.map_or(word, |(_, meant)| *meant);
    match list_commands().find(|command| command.name == word) {
        Some(command) => Ok(Some((command.word, rest.trim()))),
        None => Err(unknown_command(word)),
    }
}

fn unknown_command(word: &str) -> EffectError {
    let error = usage_error(format!("there is no command `/{word}`"));
    let near = nearest_word(word, list_commands().map(|command| command.name));
    let near = near.map_or_else(String::new, |near| format!("did you mean `/{near}`? "));
    error.hint(format!(
        "{near}`/help` shows the commands; put a blank before a message that begins with `/`"
    ))
}

/// Lists all commands.
pub fn list_commands() -> impl Iterator<Item = &'static ChatCommand> {
    GROUPS.iter().flat_map(|(_, commands)| commands.iter())
}

/// Returns the lines of `/help`.
pub fn format_help() -> Vec<String> {
    let widest = list_commands().map(|command| command.name.len() + command.args.len());
    let width = widest.max().unwrap_or(0) + 2;
    let mut lines = Vec::new();
    for (title, commands) in GROUPS {
        lines.push((*title).to_owned());
        lines.extend(commands.iter().map(|command| {
            let typed = format!("/{} {}", command.name, command.args);
            format!("  {typed:width$}  {}", command.meaning)
        }));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_message_a_command_or_a_mistake() {
        let parse = |text| parse_command(text).map_err(|error| error.hint.unwrap_or_default());
        for (text, expected) in [
            ("Hello", None),
            (" /help", None),
            ("/help", Some((CommandWord::Help, ""))),
            (
                "/switch  openai/gpt-4o ",
                Some((CommandWord::Model, "openai/gpt-4o")),
            ),
            (
                "/system You\nare kind.",
                Some((CommandWord::System, "You\nare kind.")),
            ),
        ] {
            assert_eq!(parse(text), Ok(expected), "{text}");
        }
        for (text, near) in [("/modle x", Some("/model")), ("/etc/hosts", None)] {
            let hint = parse(text).err();
            let shown = near.is_none_or(|near| {
                hint.as_ref()
                    .is_some_and(|hint| hint.contains(&format!("did you mean `{near}`?")))
            });
            assert!(shown && hint.is_some(), "{text}: {hint:?}");
        }
    }

    #[test]
    fn the_help_has_all_commands_in_groups() {
        insta::assert_snapshot!(format_help().join("\n"), @r"
        Conversation
          /model NAME      answer with another model or provider, as in `/model openai/gpt-4o`
          /system TEXT     set the system prompt; without a text, show it
          /thinking LEVEL  ask models to think: `on`, `off`, `low`, `high`, or `default` for what the profile says
          /pin TEXT        send this text word for word in every turn
          /image FILE      send this image with the next message
          /retry           ask the last question again; both answers stay
          /compact         have the model summarize all messages, to free the window
          /clear           begin with an empty window; earlier messages stay readable
          /title TEXT      give the session a title
          /export [FILE]   write the session as Markdown, or JSON if the name ends in `.json`
          /exit            leave; the session stays
        Repository
          /tools on|off    let the model read this repository and propose changes, or not; `/tools NAME` offers a toolbox, `/tools -NAME` no more
          /land [RUN]      show the proposed change, and land it if you agree
          /undo            undo the change that `/land` landed last
        Numbers
          /status          show the session: model, messages, pins, tokens and cost
          /cost            show what the session cost, by model
          /context         show how the model's window is filled
          /help            show these commands
        ");
    }
}
