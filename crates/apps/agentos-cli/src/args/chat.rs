//! Arguments of `chat`.
//!
//! Owns: their names, flags and help. Never: chooses a provider.

use std::path::PathBuf;

use agentos_host::{CallNames, EffectError, ProviderChoice};
use agentos_tool::ThinkingLevel;
use clap::{Args, Subcommand, ValueEnum};

use super::tool::{OverrideFlags, parse_thinking};
use crate::app::App;

/// Examples of `chat`.
pub const TALK_EXAMPLES: &[&str] = &[
    "agentos chat -p ollama",
    "agentos chat -c review --tools --system \"You review code.\"",
    "agentos chat -c trip --tool weather",
    "agentos chat send \"What is a rebase?\"",
];

/// Examples of `chat send`.
pub const EXAMPLES: &[&str] = &[
    "agentos chat send -p ollama \"What is a rebase?\"",
    "git diff | agentos chat send -p openai/gpt-4o --system \"Review this diff.\" -",
    "agentos chat send -c review \"And the second commit?\"",
    "agentos chat send -p gemini --image screen.png --json \"What does this error mean?\"",
];

/// Examples of the verbs about sessions.
pub const SESSION_EXAMPLES: &[(&str, &[&str])] = &[
    (
        "chat list",
        &["agentos chat list", "agentos chat list -n 100 --json"],
    ),
    (
        "chat show",
        &[
            "agentos chat show",
            "agentos chat show review --json > review.json",
        ],
    ),
    (
        "chat search",
        &[
            "agentos chat search \"merge conflict\"",
            "agentos chat search rebase --json",
        ],
    ),
    (
        "chat export",
        &[
            "agentos chat export review -o review.md",
            "agentos chat export review --format json",
        ],
    ),
    (
        "chat title",
        &[
            "agentos chat title review \"The second commit\"",
            "agentos chat title default \"Questions about the parser\" --json",
        ],
    ),
    (
        "chat summarize",
        &[
            "agentos chat summarize review",
            "agentos chat summarize review -p ollama",
        ],
    ),
    (
        "chat restore",
        &[
            "agentos chat restore review",
            "agentos chat restore review --json",
        ],
    ),
    (
        "chat fork",
        &[
            "agentos chat fork review review-2",
            "agentos chat fork default other-idea",
        ],
    ),
    ("chat clear", &["agentos chat clear", "agentos chat clear review"]),
    (
        "chat drop",
        &[
            "agentos chat drop -p openai",
            "agentos chat drop review -p openai",
        ],
    ),
    (
        "chat share",
        &[
            "agentos chat share review -p openai",
            "agentos chat share review -p openai --yes",
        ],
    ),
    (
        "chat delete",
        &[
            "agentos chat delete review",
            "agentos chat delete conversation:review",
        ],
    ),
];

/// Arguments of `chat`.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Without a verb, a conversation begins or goes on: type a message, `/help` for commands, Tab to complete one, Ctrl-C to \
                  stop an answer or clear a line, Ctrl-D to leave. A message of several lines has `\\` at the end of a line, Alt-Enter, a \
                  paste, or `\"\"\"` around it. The model sees the session's messages; with `--tools`, \
                  it can read the last commit as far as policy shows it to the provider, and propose changes that wait for `/land`; \
                  with `--tool NAME`, it can call the tools of a program of yours (`agentos tool trust`)."
)]
pub struct ChatArgs {
    /// Verb. Without one, a person talks to the model.
    #[command(subcommand)]
    pub verb: Option<ChatVerb>,
    /// The conversation that begins or goes on.
    #[command(flatten)]
    pub talk: ChatTalkArgs,
}

/// Flags of a conversation and of a single message.
#[derive(Debug, Args)]
pub struct ChatFlags {
    /// Provider to ask, or provider and model as `openai/gpt-4o`; `agentos tool list` shows them all [default: that of the session,
    /// else the one that `agentos use` chose]
    #[arg(short, long, value_name = "NAME")]
    pub provider: Option<String>,
    /// Settings that override the profile.
    #[command(flatten)]
    pub over: OverrideFlags,
    /// Maximum number of tokens in an answer
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub max_output_tokens: Option<u64>,
    /// Need of each turn, by which a pool chooses; can be repeated
    #[arg(long = "require", value_name = "NAME=VALUE")]
    pub needs: Vec<String>,
    /// System prompt; that of a session holds from now on
    #[arg(long, value_name = "TEXT")]
    pub system: Option<String>,
    /// Request thinking: on, off, low or high [default: the session's]
    ///
    /// Without a level, it shows the thinking, as `--show-thinking` does.
    #[arg(long, value_name = "LEVEL", num_args = 0..=1, default_missing_value = "show", value_parser = parse_thinking_flag)]
    pub thinking: Option<ThinkingFlag>,
    /// Show the model's thinking on standard error
    #[arg(long)]
    pub show_thinking: bool,
    /// Show answers as they are, without styles for their Markdown
    #[arg(long)]
    pub plain: bool,
}

/// Arguments of `chat` without a verb.
#[derive(Debug, Args)]
pub struct ChatTalkArgs {
    /// Flags that a single message has too.
    #[command(flatten)]
    pub flags: ChatFlags,
    /// Session to go on with [default: the repository's own]
    ///
    /// Outside of a repository, the default is `conversation:default`.
    #[arg(short = 'c', long, value_name = "SESSION")]
    pub session: Option<String>,
    /// Let the model read this repository and propose changes
    #[arg(long)]
    pub tools: bool,
    /// Offer the model the tools of this toolbox; can be repeated
    #[arg(long = "tool", value_name = "NAME")]
    pub toolboxes: Vec<String>,
}

/// Verbs of `chat`.
#[derive(Debug, Subcommand)]
pub enum ChatVerb {
    /// Send one message to a model and print its answer as it arrives; needs no repository
    #[command(
        after_help = "The answer goes to standard output, everything else to standard error. \
                            The model sees the message, the system prompt and the images, and no file of a repository; with \
                            `--session`, the earlier messages of the session too."
    )]
    Send(Box<ChatSendArgs>),
    /// List sessions, the last used first
    List(ChatListArgs),
    /// Show a session: settings, messages and cost
    Show(ChatShowArgs),
    /// Find turns of all sessions that contain all of these words, the newest first
    Search(ChatSearchArgs),
    /// Print a session as one document, or write it to a file that only you can read
    Export(ChatExportArgs),
    /// Give a session a title; without one, lists show the beginning of its first message
    Title(ChatTitleArgs),
    /// Have a model summarize all messages of a session, to free its window
    Summarize(Box<ChatSummarizeArgs>),
    /// Take the last summary back: the messages that it replaces are sent again
    Restore(SessionArg),
    /// Begin a session with the turns of another one
    Fork(ChatForkArgs),
    /// Begin with an empty window: earlier messages are not sent any more, and stay readable
    Clear(SessionArg),
    /// Leave out the turns since the first one that read what a provider may not see
    Drop(ChatReaderArgs),
    /// Let a provider see what a session read and policy withholds from it
    Share(ChatShareArgs),
    /// Delete a session and its texts; their hashes stay in the ledger
    Delete(ChatDeleteArgs),
}

/// Arguments of verbs about a session and a provider that is to be sent it.
#[derive(Debug, Args)]
pub struct ChatReaderArgs {
    /// Session, as in `review` or `conversation:review` [default: the one of this repository, or `default` outside of a repository]
    #[arg(value_name = "SESSION")]
    pub session: Option<String>,
    /// Provider that is to be asked, or provider and model as `openai/gpt-4o`
    #[arg(short, long, value_name = "NAME")]
    pub provider: String,
    /// Settings that override the profile.
    #[command(flatten)]
    pub over: OverrideFlags,
}

/// Arguments of `chat share`.
#[derive(Debug, Args)]
pub struct ChatShareArgs {
    /// The session and the provider.
    #[command(flatten)]
    pub reader: ChatReaderArgs,
    /// Do not ask; needed without a terminal
    #[arg(long)]
    pub yes: bool,
}

/// Arguments of `chat list`.
#[derive(Debug, Args)]
pub struct ChatListArgs {
    /// Show at most this many sessions
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: u32,
}

/// Arguments of verbs about one session.
#[derive(Debug, Args)]
pub struct SessionArg {
    /// Session, as in `review` or `conversation:review` [default: the one of this repository, or `default` outside of a repository]
    #[arg(value_name = "SESSION")]
    pub session: Option<String>,
}

/// Arguments of `chat show`.
#[derive(Debug, Args)]
pub struct ChatShowArgs {
    /// Session, as in `review` or `conversation:review` [default: the one of this repository, or `default` outside of a repository]
    #[arg(value_name = "SESSION")]
    pub session: Option<String>,
    /// Show only the messages that a summary replaces
    #[arg(long)]
    pub dropped: bool,
}

/// Form of an exported session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// For people
    Markdown,
    /// For programs, with the schema `chat-export`
    Json,
}

/// Arguments of `chat export`.
#[derive(Debug, Args)]
pub struct ChatExportArgs {
    /// Session, as in `review` or `conversation:review` [default: the one of this repository, or `default` outside of a repository]
    #[arg(value_name = "SESSION")]
    pub session: Option<String>,
    /// Form of the document [default: markdown, or json if the file's name ends in `.json`]
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<ExportFormat>,
    /// Write to this file instead of standard output
    #[arg(short, long = "out", value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// Arguments of `chat title`.
#[derive(Debug, Args)]
pub struct ChatTitleArgs {
    /// Session, as in `review` or `conversation:review`
    #[arg(value_name = "SESSION")]
    pub session: String,
    /// Title
    #[arg(value_name = "TITLE", required = true)]
    pub title: Vec<String>,
}

/// Arguments of `chat summarize`.
#[derive(Debug, Args)]
pub struct ChatSummarizeArgs {
    /// Session, as in `review` or `conversation:review` [default: the one of this repository, or `default` outside of a repository]
    #[arg(value_name = "SESSION")]
    pub session: Option<String>,
    /// Provider that writes the summary, or provider and model as `openai/gpt-4o` [default: that of the session]
    #[arg(short, long, value_name = "NAME")]
    pub provider: Option<String>,
    /// Settings that override the profile.
    #[command(flatten)]
    pub over: OverrideFlags,
}

/// Arguments of `chat delete`.
#[derive(Debug, Args)]
pub struct ChatDeleteArgs {
    /// Session, as in `review` or `conversation:review`
    #[arg(value_name = "SESSION")]
    pub session: String,
}

/// Arguments of `chat search`.
#[derive(Debug, Args)]
pub struct ChatSearchArgs {
    /// Words that a turn must contain
    #[arg(value_name = "WORDS")]
    pub text: String,
    /// Show at most this many turns
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: u32,
}

/// Arguments of `chat fork`.
#[derive(Debug, Args)]
pub struct ChatForkArgs {
    /// Session whose turns the new one begins with
    #[arg(value_name = "SESSION")]
    pub from: String,
    /// Name of the new session
    #[arg(value_name = "NEW")]
    pub to: String,
}

/// Arguments of `chat send`.
#[derive(Debug, Args)]
pub struct ChatSendArgs {
    /// Message to the model; `-` reads it from standard input
    #[arg(value_name = "MESSAGE")]
    pub text: String,
    /// Flags that a conversation has too.
    #[command(flatten)]
    pub flags: ChatFlags,
    /// Send this image with the message (PNG, JPEG, GIF, WebP); can be repeated
    #[arg(long = "image", value_name = "FILE")]
    pub images: Vec<PathBuf>,
    /// Send the message in this session, which keeps it; without it, no text is kept
    #[arg(short = 'c', long, value_name = "SESSION")]
    pub session: Option<String>,
    /// Let the model read this repository and propose changes
    #[arg(long, requires = "session")]
    pub tools: bool,
    /// Offer the model the tools of this toolbox; can be repeated
    #[arg(long = "tool", value_name = "NAME", requires = "session")]
    pub toolboxes: Vec<String>,
}

/// Value of `--thinking`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThinkingFlag {
    /// The thinking that is requested.
    Level(ThinkingLevel),
    /// The flag without a value, which was the name of `--show-thinking`.
    Show,
}

fn parse_thinking_flag(text: &str) -> Result<ThinkingFlag, String> {
    if text == "show" {
        return Ok(ThinkingFlag::Show);
    }
    parse_thinking(text)
        .map(ThinkingFlag::Level)
        .map_err(|levels| format!("{levels}; `--show-thinking` shows the thinking"))
}

impl ChatFlags {
    /// Returns true if the model's thinking is shown.
    #[must_use]
    pub fn shows_thinking(&self) -> bool {
        self.show_thinking || self.thinking == Some(ThinkingFlag::Show)
    }

    /// Returns the provider of the flags, else this one, else the one that the user has chosen as the default.
    ///
    /// # Errors
    /// Fails if there is none.
    pub fn complete_choice(
        &self,
        app: &App,
        remembered: Option<&str>,
    ) -> Result<ProviderChoice, EffectError> {
        let named = CallNames {
            provider: self.provider.as_deref(),
            remembered,
        };
        let choice = complete_choice(app, named, &self.over, self.max_output_tokens)?;
        let mut choice = ProviderChoice {
            needs: self.needs.clone(),
            ..choice
        };
        choice.overrides.thinking = self.thinking_level();
        Ok(choice)
    }

    /// Returns the level of thinking that is requested. `None` if the flag names no level.
    #[must_use]
    pub fn thinking_level(&self) -> Option<ThinkingLevel> {
        match self.thinking? {
            ThinkingFlag::Level(level) => Some(level),
            ThinkingFlag::Show => None,
        }
    }
}

/// Returns the provider that is named, or that the user has chosen as the default.
///
/// # Errors
/// Fails if there is neither.
pub fn complete_choice(
    app: &App,
    named: CallNames<'_>,
    over: &OverrideFlags,
    max_output_tokens: Option<u64>,
) -> Result<ProviderChoice, EffectError> {
    let choice = ProviderChoice {
        overrides: over.into(),
        max_output_tokens,
        ..ProviderChoice::default()
    };
    app.host
        .providers()
        .read_settings()?
        .complete_for(&app.host, named, choice)
}
