//! The files of a repository that a task is about, for a tool that was given none.
//!
//! Owns: reading the base for the ranking within a time and a size, and the budget that a model's window leaves. Never:
//! reads the work tree, shows a file that policy keeps from the tool, or sends anything.

use std::collections::HashMap;
use std::time::Duration;

use agentos_context::{Budget, FileId, Ignore, Picked, Query, Ranker, Why, pick};
use agentos_engine::Cause;
use agentos_engine::ports::{Clock, EffectError, Repository as _};
use agentos_landing::{Base, BaseError, EntryKind};
use agentos_net::Deadline;
use agentos_policy::{Effect, PolicySet, ToolFacts};

use crate::clock::SystemClock;
use crate::context_report::{ContextFileReport, ContextReport};
use crate::session::Session;
use crate::tools::Tool;

/// The file of patterns that are left out of the search.
const IGNORE_FILE: &str = ".agentosignore";
/// The folder of rules and profiles.
const OWN_FOLDER: &str = ".agentos";
/// A search takes no longer; what was not read by then counts by its path alone.
const LONGEST_SEARCH: Duration = Duration::from_secs(2);
/// A larger file is data, or too much for a model.
const LARGEST_FILE: usize = 1 << 20;
/// No more files than these, whatever fits.
const MOST_FILES: usize = 12;
/// A window of which nothing is known: what small local models are loaded with.
const USUAL_WINDOW: u64 = 8192;
/// Even a very large window is not filled: what a task needs is small, and every token costs.
const MOST_TOKENS: u64 = 40_000;
/// Tokens for the instructions around the files.
const AROUND: u64 = 1024;
/// Bytes of source text in a token, on the safe side: tokenizers make 3 to 4 of them.
const BYTES_PER_TOKEN: u64 = 3;

/// Finds them.
///
/// # Errors
/// When the base or its policy cannot be read.
pub fn find(
    session: &Session,
    tool: &Tool,
    task: &str,
    max_output_tokens: Option<u64>,
) -> Result<ContextReport, EffectError> {
    let target = session.port().target()?;
    let base = session.port().base(&target)?;
    let policy = session.port().policy(&target)?;
    let facts = facts(tool, &target.refname);
    let query = Query::of(task);
    let mut search = Search {
        base: base.as_ref(),
        policy: &policy.set,
        facts: &facts,
        ranker: Ranker::new(&query),
        ids: HashMap::new(),
        sizes: HashMap::new(),
    };
    let ignore = ignore(base.as_ref())?;
    search.walk(&ignore)?;
    search.read(Deadline::after(LONGEST_SEARCH))?;
    let budget = budget(tool, max_output_tokens);
    let (ranked, read) = (search.ids.len(), search.sizes.len());
    let sizes = search.sizes;
    let picked = pick(search.ranker.finish(), budget, |file| {
        sizes.get(&file.file).copied().flatten()
    });
    Ok(report(picked, budget, ranked, read, |file| {
        sizes.get(&file).copied().flatten().unwrap_or(0)
    }))
}

fn report(
    picked: Picked,
    budget: Budget,
    ranked: usize,
    read: usize,
    size: impl Fn(FileId) -> u64,
) -> ContextReport {
    let files = picked.files.into_iter().map(|file| {
        let (named, words) = match file.why {
            Why::Named => (true, Vec::new()),
            Why::Words(words) => (false, words),
        };
        ContextFileReport {
            path: file.path,
            bytes: size(file.file),
            named,
            words,
        }
    });
    ContextReport {
        version: 1,
        files: files.collect(),
        bytes: picked.bytes,
        budget_bytes: budget.bytes,
        too_large: picked.too_large,
        ranked,
        read,
    }
}

/// One search through the base.
struct Search<'a> {
    base: &'a dyn Base,
    policy: &'a PolicySet,
    facts: &'a ToolFacts,
    ranker: Ranker<'a>,
    ids: HashMap<FileId, (String, String)>,
    /// The length of each file that was looked at; none where it cannot be sent.
    sizes: HashMap<FileId, Option<u64>>,
}

impl Search<'_> {
    /// Every file of the base by its path, but what is left out.
    fn walk(&mut self, ignore: &Ignore) -> Result<(), EffectError> {
        let mut folders = vec![String::new()];
        while let Some(folder) = folders.pop() {
            for found in self.base.list(&folder).map_err(|error| unreadable(&error))? {
                // A name that is no text cannot be told to a tool.
                let Ok(name) = String::from_utf8(found.name) else {
                    continue;
                };
                let path = if folder.is_empty() {
                    name
                } else {
                    format!("{folder}/{name}")
                };
                match found.entry.kind {
                    // Our own settings are about no task but one that names them with `--file`.
                    EntryKind::Directory if path == OWN_FOLDER => {}
                    EntryKind::Directory => folders.push(path),
                    EntryKind::File(_) if !ignore.leaves_out(&path) => {
                        let id = self.ranker.path(&path);
                        self.ids.insert(id, (path, found.entry.id));
                    }
                    EntryKind::File(_) | EntryKind::Symlink | EntryKind::Gitlink => {}
                }
            }
        }
        Ok(())
    }

    /// As many texts as the time allows, the best by path first.
    fn read(&mut self, deadline: Deadline) -> Result<(), EffectError> {
        for id in self.ranker.reading_order() {
            if deadline.remaining().is_zero() {
                break;
            }
            let Some((path, object)) = self.ids.get(&id) else {
                continue;
            };
            // What must not be shown is not even opened.
            if self.policy.decide_read(path, b"", self.facts).effect() != Effect::Allow {
                self.sizes.insert(id, None);
                continue;
            }
            let bytes = self.base.read(object).map_err(|error| unreadable(&error))?;
            let is_text = bytes.len() <= LARGEST_FILE && std::str::from_utf8(&bytes).is_ok();
            if is_text {
                self.ranker.text(id, &bytes);
            }
            self.sizes.insert(id, is_text.then_some(bytes.len() as u64));
        }
        Ok(())
    }
}

fn ignore(base: &dyn Base) -> Result<Ignore, EffectError> {
    let entry = base.entry(IGNORE_FILE).map_err(|error| unreadable(&error))?;
    let Some(entry) = entry.filter(|entry| matches!(entry.kind, EntryKind::File(_))) else {
        return Ok(Ignore::default());
    };
    let text = base.read(&entry.id).map_err(|error| unreadable(&error))?;
    Ok(Ignore::parse(&String::from_utf8_lossy(&text)))
}

fn facts(tool: &Tool, refname: &str) -> ToolFacts {
    ToolFacts {
        provider: tool.adapter.provider().to_owned(),
        model: tool.model.clone(),
        execution_mode: tool.adapter.supports().execution_mode,
        enforcement: tool.adapter.confinement().enforcement,
        attempt: 1,
        at: SystemClock.now(),
        context_bytes: 0,
        target_ref: Some(refname.to_owned()),
        checked: false,
    }
}

/// What the window leaves beside the instructions and an answer, which is given a quarter where nothing is said.
fn budget(tool: &Tool, max_output_tokens: Option<u64>) -> Budget {
    let window = tool.adapter.supports().context_window.unwrap_or(USUAL_WINDOW);
    let answer = max_output_tokens.unwrap_or(window / 4);
    let left = window.saturating_sub(answer).saturating_sub(AROUND);
    Budget {
        bytes: left.min(MOST_TOKENS) * BYTES_PER_TOKEN,
        files: MOST_FILES,
    }
}

fn unreadable(error: &BaseError) -> EffectError {
    EffectError::new(Cause::Repository, "unreadable-base", error.to_string())
}
