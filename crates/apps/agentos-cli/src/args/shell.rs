//! Arguments of `completions` and `man`.
//!
//! Owns: their names, flags and help. Never: generates a script or a page.

use clap::{Args, ValueEnum};

/// Shell with support for completion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ShellArg {
    /// GNU Bash
    Bash,
    /// Elvish
    Elvish,
    /// fish
    Fish,
    /// `PowerShell`
    Powershell,
    /// Zsh
    Zsh,
}

impl ShellArg {
    /// Returns the shell's name as completion scripts use it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bash => "bash",
            Self::Elvish => "elvish",
            Self::Fish => "fish",
            Self::Powershell => "powershell",
            Self::Zsh => "zsh",
        }
    }
}

/// Arguments of `completions`.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// Name of your shell
    #[arg(value_enum, value_name = "SHELL")]
    pub shell: ShellArg,
}

/// Arguments of `man`.
#[derive(Debug, Args)]
pub struct ManArgs {
    /// Verb, which may have several words, as in `tool auth set`
    #[arg(value_name = "VERB")]
    pub verb: Vec<String>,
    /// List the verbs that have a page
    #[arg(long, conflicts_with = "verb")]
    pub list: bool,
    /// Print everything as one Markdown page: verbs, exit codes, error codes
    #[arg(long, conflicts_with_all = ["verb", "list"])]
    pub reference: bool,
}
