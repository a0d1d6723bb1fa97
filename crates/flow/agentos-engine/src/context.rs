//! What a tool is shown: the files that were named, as the base has them, if policy lets them go.
//!
//! Owns: reading the named files and asking policy about each. Never: shows a tool the user's uncommitted
//! text, since a change is judged against the base; picks files by itself.

use std::sync::Arc;

use agentos_landing::{Base, BaseError, EntryKind, RepoPath, SeenFile};
use agentos_policy::{Decision, Effect, PolicySet, ToolFacts};
use agentos_tool::ContextFile;
use schemars::JsonSchema;
use serde::Serialize;

use crate::Cause;
use crate::ports::EffectError;

/// The context of a task, and what was left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Context {
    /// What the tool is shown.
    pub files: Vec<ContextFile>,
    /// What it is not shown, and why.
    pub withheld: Vec<Withheld>,
}

/// A file that policy keeps from a tool.
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
/// When a file is not in the base, is not text, or cannot be read.
pub fn gather(
    paths: &[String],
    base: &dyn Base,
    policy: &PolicySet,
    tool: &ToolFacts,
) -> Result<Context, EffectError> {
    let mut context = Context::default();
    let mut sent = 0;
    for path in paths {
        // By its name first: what must not be read is not opened.
        let by_name = judged(policy, path, "", sent, tool);
        let content = match by_name.effect() {
            Effect::Allow => text_of(path, base)?,
            Effect::Ask | Effect::Deny => {
                context.withhold(path, &by_name);
                continue;
            }
        };
        let decision = judged(policy, path, &content, sent, tool);
        match decision.effect() {
            Effect::Allow => {
                sent += content.len() as u64;
                context.files.push(ContextFile {
                    path: path.clone(),
                    content,
                });
            }
            Effect::Ask | Effect::Deny => context.withhold(path, &decision),
        }
    }
    Ok(context)
}

fn judged(policy: &PolicySet, path: &str, content: &str, sent: u64, tool: &ToolFacts) -> Decision {
    let tool = ToolFacts {
        context_bytes: sent + content.len() as u64,
        ..tool.clone()
    };
    policy.decide_read(path, content.as_bytes(), &tool)
}

impl Context {
    /// Bytes of text that the tool is shown.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.content.len() as u64).sum()
    }

    fn withhold(&mut self, path: &str, decision: &Decision) {
        self.withheld.push(Withheld {
            path: path.to_owned(),
            why: first_reason(decision),
        });
    }
}

fn first_reason(decision: &Decision) -> String {
    decision.deciding().next().map_or_else(
        || "no rule allows it".to_owned(),
        |reason| format!("{} ({})", reason.why, reason.rule),
    )
}

fn text_of(path: &str, base: &dyn Base) -> Result<String, EffectError> {
    let usage = |message: String| EffectError::new(Cause::Usage, "no-such-file", message);
    let entry = base.entry(path).map_err(|error| unreadable(&error))?;
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
        EntryKind::Symlink | EntryKind::Gitlink => {
            return Err(usage(format!("`{path}` is a link or a submodule, not a file")));
        }
    }
    let bytes = base.read(&entry.id).map_err(|error| unreadable(&error))?;
    String::from_utf8(bytes.to_vec()).map_err(|_| usage(format!("`{path}` is not UTF-8 text")))
}

/// Returns what a tool was shown in the form in which landing asks for it.
pub(crate) fn seen_files(files: &[ContextFile]) -> Vec<SeenFile> {
    let files = files.iter().filter_map(|file| {
        Some(SeenFile {
            path: RepoPath::new(&file.path).ok()?,
            content: Arc::from(file.content.as_bytes()),
        })
    });
    files.collect()
}

/// Makes the error of a base that cannot be read.
pub(crate) fn unreadable(error: &BaseError) -> EffectError {
    EffectError::from_error(Cause::Repository, "unreadable-base", error)
}
