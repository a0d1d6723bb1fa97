//! Arguments of `completions` and `man`.
//!
//! Owns: their names, flags and help. Never: makes a script or a page.

use clap::{Args, ValueEnum};

/// A shell that can complete.
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
    /// The name that completion scripts go by.
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
    /// Your shell
    #[arg(value_enum, value_name = "SHELL")]
    pub shell: ShellArg,
}

/// Arguments of `man`.
#[derive(Debug, Args)]
pub struct ManArgs {
    /// The verb, in as many words as it has
    #[arg(value_name = "VERB")]
    pub verb: Vec<String>,
    /// List the verbs that have a page
    #[arg(long, conflicts_with = "verb")]
    pub list: bool,
    /// Print everything as one Markdown page: verbs, exit codes, error codes
    #[arg(long, conflicts_with_all = ["verb", "list"])]
    pub reference: bool,
}
