//! Completions inside a conversation: commands and their arguments.
//!
//! Owns: what Tab offers. Never: reports an error: nothing is completed instead.

use std::cell::OnceCell;
use std::ffi::OsStr;

use agentos_host::{Host, known_models};

use crate::commands::chat_words::list_commands;
use crate::terminal::complete::complete_file;
use crate::terminal::line_editor::CompletionSource;

/// Completions of a conversation's line.
pub struct ChatCompletions {
    host: Host,
    /// Providers and models. Empty until the first argument that needs them.
    models: OnceCell<Vec<String>>,
}

impl ChatCompletions {
    /// Makes the source for a host.
    pub fn new(host: &Host) -> Self {
        Self {
            host: host.clone(),
            models: OnceCell::new(),
        }
    }

    /// Returns the position where the completed word begins, and its possible forms.
    pub fn complete_words(&self, before_cursor: &str) -> (usize, Vec<String>) {
        let Some(typed) = before_cursor.strip_prefix('/') else {
            return (0, Vec::new());
        };
        let Some((name, argument)) = typed.split_once(' ') else {
            let names = list_commands().filter(|command| command.name.starts_with(typed));
            let words = names.map(|command| match command.args {
                "" => format!("/{}", command.name),
                _ => format!("/{} ", command.name),
            });
            return (0, words.collect());
        };
        let begin = before_cursor.len() - argument.len();
        let words = match name {
            "model" | "switch" => match_words(self.list_models().iter().map(String::as_str), argument),
            "tools" => match_words(["on", "off"].into_iter(), argument),
            "image" | "export" => complete_file(OsStr::new(argument)),
            _ => Vec::new(),
        };
        (begin, words)
    }

    fn list_models(&self) -> &[String] {
        self.models.get_or_init(|| {
            let mut names = self.host.providers().provider_names().unwrap_or_default();
            names.extend(self.host.providers().own_model_ids().unwrap_or_default());
            names.extend(known_models().iter().map(|model| model.id.to_owned()));
            names.sort_unstable();
            names.dedup();
            names
        })
    }
}

impl CompletionSource for ChatCompletions {
    fn complete_text(&self, before_cursor: &str) -> (usize, Vec<String>) {
        self.complete_words(before_cursor)
    }
}

fn match_words<'a>(words: impl Iterator<Item = &'a str>, begin: &str) -> Vec<String> {
    words
        .filter(|word| word.starts_with(begin))
        .map(str::to_owned)
        .collect()
}
