//! The context: files that a tool is shown, as the base has them, if policy lets the tool read them.
//!
//! Owns: reading the named files and asking policy about each. Never: shows a tool the user's uncommitted
//! text, since a change is judged against the base; or picks files by itself.

use std::sync::Arc;

use agentos_api::NextStep;
use agentos_context::cut_text;
use agentos_landing::{Base, BaseError, EntryKind, RepoPath, SeenFile};
use agentos_policy::{Decision, Effect, PolicySet, ToolFacts};
use agentos_tool::{ContextFile, FileOutline, FilePart, PastTurn};
use schemars::JsonSchema;
use serde::Serialize;

use crate::Cause;
pub use crate::context_outline::OutlinedFile;
use crate::ports::EffectError;

/// The files for a task, shown and withheld.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Context {
    /// Files and parts of files that the tool is shown.
    pub files: Vec<ContextFile>,
    /// Definitions of files that the tool is not shown as a whole.
    pub outline: Vec<FileOutline>,
    /// Earlier tasks and answers that the tool is shown.
    pub history: Vec<PastTurn>,
    /// Shown files in the form that landing needs, each whole.
    pub seen: Vec<SeenFile>,
    /// Files that policy withholds, with the reasons.
    pub withheld: Vec<Withheld>,
}

/// A file to show, whole or in parts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestedFile {
    /// Path inside the repository.
    pub path: String,
    /// Lines to show, as first and last line counted from 1, in the order of the file. Empty if the whole file is shown.
    pub lines: Vec<(u64, u64)>,
}

impl RequestedFile {
    /// Requests a whole file.
    #[must_use]
    pub fn whole(path: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            lines: Vec::new(),
        }
    }
}

/// A file that policy withholds from a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Withheld {
    /// The path.
    pub path: String,
    /// The rule and its reason.
    pub why: String,
}

/// Reads the named files from the base. Policy counts them together with the bytes that `tool` says it was sent before.
///
/// # Errors
/// If a file is not in the base, is not text, or cannot be read.
pub fn gather_files(
    files: &[RequestedFile],
    base: &dyn Base,
    policy: &PolicySet,
    tool: &ToolFacts,
) -> Result<Context, EffectError> {
    let mut context = Context::default();
    // A conversation has been sent files before. All other callers begin with 0.
    let mut sent = tool.context_bytes;
    for file in files {
        let path = &file.path;
        // Policy sees the name alone first: a file that must not be read is not even opened.
        let by_name = decide_read(policy, path, "", sent, tool);
        let (blob, content) = match by_name.effect() {
            Effect::Allow => text_of(path, base)?,
            Effect::Ask | Effect::Deny => {
                context.add_withheld(path, &by_name);
                continue;
            }
        };
        let shown = show_file(file, &blob, &content);
        let bytes: u64 = shown.iter().map(|file| file.content.len() as u64).sum();
        // Now with the text: a rule may withhold a file for a secret in it, or for the size of all files together. The whole
        // text is judged even if only a part of it is shown, because a part alone may not look like a secret.
        let decision = decide_text(policy, path, &content, sent + bytes, tool);
        match decision.effect() {
            Effect::Allow => {
                sent += bytes;
                context.files.extend(shown);
                context.add_seen(file, &content);
            }
            Effect::Ask | Effect::Deny => context.add_withheld(path, &decision),
        }
    }
    Ok(context)
}

/// Cuts the requested lines out of a text. Lines that the file does not have any more are left out: the branch may have moved
/// since they were chosen.
fn show_file(file: &RequestedFile, blob: &str, content: &str) -> Vec<ContextFile> {
    if file.lines.is_empty() {
        return vec![ContextFile::whole(&file.path, content)];
    }
    let lines: Vec<&str> = content.split_inclusive('\n').collect();
    let parts = cut_text(&file.path, content);
    let total = lines.len() as u64;
    let mut shown = Vec::new();
    for (first, last) in &file.lines {
        let (first, last) = ((*first).max(1), (*last).min(total));
        let start = usize::try_from(first - 1).unwrap_or(usize::MAX);
        let end = usize::try_from(last).unwrap_or(usize::MAX);
        let Some(text) = lines.get(start..end).filter(|text| !text.is_empty()) else {
            continue;
        };
        let around = parts.iter().find(|part| part.last_line > start);
        let headers = around.map_or(&[][..], |part| part.headers.as_slice());
        let inside = headers.iter().filter(|line| **line <= start);
        shown.push(ContextFile {
            path: file.path.clone(),
            content: text.concat(),
            part: Some(FilePart {
                first_line: first,
                last_line: last,
                total_lines: total,
                inside: inside
                    .filter_map(|line| lines.get(line - 1))
                    .map(|line| line.trim().to_owned())
                    .collect(),
                blob: blob.to_owned(),
            }),
        });
    }
    // A requested file is never left out in silence.
    if shown.is_empty() {
        shown.push(ContextFile::whole(&file.path, content));
    }
    shown
}

/// Asks policy about a read, as if the file were sent after `sent` bytes of others.
fn decide_read(policy: &PolicySet, path: &str, content: &str, sent: u64, tool: &ToolFacts) -> Decision {
    decide_text(policy, path, content, sent + content.len() as u64, tool)
}

/// Asks policy about a read of a text, if `context_bytes` bytes are sent with it altogether.
pub(crate) fn decide_text(
    policy: &PolicySet,
    path: &str,
    content: &str,
    context_bytes: u64,
    tool: &ToolFacts,
) -> Decision {
    let tool = ToolFacts {
        context_bytes,
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
        let outlines = self.outline.iter().map(FileOutline::count_bytes);
        files.chain(outlines).chain(history).sum()
    }

    fn add_seen(&mut self, file: &RequestedFile, content: &str) {
        if let Ok(path) = RepoPath::new(&file.path) {
            self.seen.push(SeenFile {
                path,
                content: Arc::from(content.as_bytes()),
                lines: file.lines.clone(),
            });
        }
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
        |reason| format!("{} ({})", reason.sentence(), reason.rule),
    )
}

/// Reads a file of the base as text, with the id of its blob.
pub(crate) fn text_of(path: &str, base: &dyn Base) -> Result<(String, String), EffectError> {
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
    let text = String::from_utf8(bytes.to_vec());
    text.map(|text| (entry.id, text))
        .map_err(|_| usage(format!("`{path}` is not UTF-8 text")))
}

/// Returns the shown files in the form that landing needs. A recorded task contains the id of a file that was shown in parts,
/// and `read` returns its text; `None` if it is not there any more.
pub(crate) fn seen_files(
    files: &[ContextFile],
    mut read: impl FnMut(&str) -> Option<Arc<[u8]>>,
) -> Vec<SeenFile> {
    let mut seen: Vec<SeenFile> = Vec::new();
    for file in files {
        let Ok(path) = RepoPath::new(&file.path) else {
            continue;
        };
        let lines = file.part.as_ref().map(|part| (part.first_line, part.last_line));
        let known = seen.iter_mut().find(|known| known.path == path);
        match (known, &file.part) {
            (Some(known), _) => known.lines.extend(lines),
            (None, Some(part)) => {
                let Some(content) = read(&part.blob) else { continue };
                let lines = lines.into_iter().collect();
                seen.push(SeenFile { path, content, lines });
            }
            (None, None) => seen.push(SeenFile {
                path,
                content: Arc::from(file.content.as_bytes()),
                lines: Vec::new(),
            }),
        }
    }
    seen
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
