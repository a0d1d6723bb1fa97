//! Arguments of `chat`.
//!
//! Owns: their names, flags and help. Never: chooses a provider.

use std::path::PathBuf;

use agentos_host::{EffectError, ProviderChoice};
use clap::{Args, Subcommand};

use super::tool::OverrideFlags;
use crate::app::App;

/// Examples of the help.
pub const EXAMPLES: &[&str] = &[
    "agentos chat send -p ollama \"What is a rebase?\"",
    "git diff | agentos chat send -p openai/gpt-4o --system \"Review this diff.\" -",
    "agentos chat send -p gemini --image screen.png --json \"What does this error mean?\"",
];

/// Verbs of `chat`.
#[derive(Debug, Subcommand)]
pub enum ChatVerb {
    /// Send one message to a model and print its answer as it arrives; needs no repository
    #[command(
        after_help = "The answer goes to standard output, everything else to standard error. \
                            The model sees the message, the system prompt and the images, and no file of a repository."
    )]
    Send(ChatSendArgs),
}

/// Arguments of `chat send`.
#[derive(Debug, Args)]
pub struct ChatSendArgs {
    /// Message to the model; `-` reads it from standard input
    #[arg(value_name = "MESSAGE")]
    pub text: String,
    /// Provider to ask, or provider and model as `openai/gpt-4o`; `agentos tool list` shows them all [default: the one that
    /// `agentos use` chose]
    #[arg(short, long, value_name = "NAME")]
    pub provider: Option<String>,
    /// Settings that override the profile.
    #[command(flatten)]
    pub over: OverrideFlags,
    /// Maximum number of tokens in the answer
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub max_output_tokens: Option<u64>,
    /// System prompt
    #[arg(long, value_name = "TEXT")]
    pub system: Option<String>,
    /// Send this image with the message (PNG, JPEG, GIF, WebP); can be repeated
    #[arg(long = "image", value_name = "FILE")]
    pub images: Vec<PathBuf>,
    /// Show the model's thinking on standard error
    #[arg(long)]
    pub thinking: bool,
}

impl ChatSendArgs {
    /// Returns the provider that is named, or that the user has chosen as the default.
    ///
    /// # Errors
    /// Fails if there is neither.
    pub fn complete_choice(&self, app: &App) -> Result<ProviderChoice, EffectError> {
        let choice = ProviderChoice {
            overrides: (&self.over).into(),
            max_output_tokens: self.max_output_tokens,
            ..ProviderChoice::default()
        };
        let settings = app.host.read_settings()?;
        settings.complete_choice(app.host.environment(), self.provider.as_deref(), choice)
    }
}
