//! The context: files that a tool is shown, as the base has them, if policy lets the tool read them.
//!
//! Owns: reading the named files and asking policy about each. Never: shows a tool the user's uncommitted
//! text, since a change is judged against the base; or picks files by itself.

use std::sync::Arc;

use agentos_api::NextStep;
use agentos_landing::{Base, BaseError, EntryKind, RepoPath, SeenFile};
use agentos_policy::{Decision, Effect, PolicySet, ToolFacts};
use agentos_tool::{ContextFile, PastTurn};
use schemars::JsonSchema;
use serde::Serialize;

use crate::Cause;
use crate::ports::EffectError;

/// The files for a task, shown and withheld.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Context {
    /// Files that the tool is shown.
    pub files: Vec<ContextFile>,
    /// Earlier tasks and answers that the tool is shown.
    pub history: Vec<PastTurn>,
    /// Files that policy withholds, with the reasons.
    pub withheld: Vec<Withheld>,
}

/// A file that policy withholds from a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Withheld {
    /// The path.
    pub path: String,
    /// The rule and its reason.
    pub why: String,
}

/// Reads the named files from the base.
///
/// # Errors
/// If a file is not in the base, is not text, or cannot be read.
pub fn gather_files(
    paths: &[String],
    base: &dyn Base,
    policy: &PolicySet,
    tool: &ToolFacts,
) -> Result<Context, EffectError> {
    let mut context = Context::default();
    let mut sent = 0;
    for path in paths {
        // Policy sees the name alone first: a file that must not be read is not even opened.
        let by_name = decide_read(policy, path, "", sent, tool);
        let content = match by_name.effect() {
            Effect::Allow => text_of(path, base)?,
            Effect::Ask | Effect::Deny => {
                context.add_withheld(path, &by_name);
                continue;
            }
        };
        // Now with the text: a rule may withhold a file for a secret in it, or for the size of all files together.
        let decision = decide_read(policy, path, &content, sent, tool);
        match decision.effect() {
            Effect::Allow => {
                sent += content.len() as u64;
                context.files.push(ContextFile {
                    path: path.clone(),
                    content,
                });
            }
            Effect::Ask | Effect::Deny => context.add_withheld(path, &decision),
        }
    }
    Ok(context)
}

/// Asks policy about a read, as if the file were sent after `sent` bytes of others.
fn decide_read(policy: &PolicySet, path: &str, content: &str, sent: u64, tool: &ToolFacts) -> Decision {
    let tool = ToolFacts {
        context_bytes: sent + content.len() as u64,
        ..tool.clone()
    };
    policy.decide_read(path, content.as_bytes(), &tool)
}

impl Context {
    /// Counts the bytes of text that the tool is shown.
    #[must_use]
    pub fn count_bytes(&self) -> u64 {
        let files = self.files.iter().map(|file| file.content.len() as u64);
        let history = self.history.iter().map(|turn| turn.count_bytes() as u64);
        files.chain(history).sum()
    }

    fn add_withheld(&mut self, path: &str, decision: &Decision) {
        self.withheld.push(Withheld {
            path: path.to_owned(),
            why: first_reason(decision),
        });
    }
}

pub(crate) fn first_reason(decision: &Decision) -> String {
    decision.deciding().next().map_or_else(
        || "no rule allows it".to_owned(),
        |reason| format!("{} ({})", reason.why, reason.rule),
    )
}

/// Reads a file of the base as text.
fn text_of(path: &str, base: &dyn Base) -> Result<String, EffectError> {
    let usage = |message: String| EffectError::new(Cause::Usage, "no-such-file", message);
    let entry = base.entry(path).map_err(|error| unreadable_base(&error))?;
    let Some(entry) = entry else {
        return Err(usage(format!(
            "`{path}` is not in the commit that the change would be made on"
        ))
        .hint("name a committed file; paths are relative to the folder you are in"));
    };
    match entry.kind {
        EntryKind::File(_) => {}
        EntryKind::Directory => {
            return Err(usage(format!("`{path}` is a folder")).hint("name its files one by one"));
        }
        // The content of a link is a path and that of a submodule a commit id: neither is text to edit.
        EntryKind::Symlink | EntryKind::Gitlink => {
            return Err(usage(format!("`{path}` is a link or a submodule, not a file")));
        }
    }
    let bytes = base.read(&entry.id).map_err(|error| unreadable_base(&error))?;
    String::from_utf8(bytes.to_vec()).map_err(|_| usage(format!("`{path}` is not UTF-8 text")))
}

/// Returns the shown files in the form that landing needs.
pub(crate) fn seen_files(files: &[ContextFile]) -> Vec<SeenFile> {
    let files = files.iter().filter_map(|file| {
        Some(SeenFile {
            path: RepoPath::new(&file.path).ok()?,
            content: Arc::from(file.content.as_bytes()),
        })
    });
    files.collect()
}

/// Converts the error of a base that cannot be read to an `EffectError`.
pub fn unreadable_base(error: &BaseError) -> EffectError {
    match error {
        BaseError::Unreadable(_) => EffectError::from_error(Cause::Repository, "unreadable-base", error),
        // Any git command that reads the object fetches it.
        BaseError::NotFetched { id, .. } => EffectError::from_error(Cause::Repository, "not-fetched", error)
            .suggest_steps([NextStep::RunGit {
                command: format!("git cat-file -e {id}"),
            }]),
    }
}
