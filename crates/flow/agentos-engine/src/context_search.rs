//! The search for the files that a task is about, for a tool that was given none.
//!
//! Owns: reading the base for the ranking within limits of time and size, and the budget that a model's context window leaves.
//! Never: reads the working tree, shows a file that policy withholds from the tool, or sends anything.

use std::collections::HashMap;
use std::time::Duration;

use agentos_api::{ContextFileReport, ContextReport};
use agentos_context::{
    ContextBudget, FileId, FileRanker, IgnorePatterns, PickedFiles, RankReason, TaskQuery, pick_files,
};
use agentos_landing::{Base, BaseError, EntryKind};
use agentos_policy::{Effect, PolicySet, ToolFacts};
use agentos_tool::Adapter;

use crate::context::unreadable_base;
use crate::ports::{Clock, EffectError, IsOver, Repository};
use crate::request::tool_facts;

/// File of patterns whose matches are left out of the search.
const IGNORE_FILE: &str = ".agentosignore";
/// Folder of the repository's rules and profiles.
const OWN_FOLDER: &str = ".agentos";
/// Longest time for reading. A file that was not read by then is ranked by its path alone.
const LONGEST_SEARCH: Duration = Duration::from_secs(2);
/// Largest file that is ranked by its text. A larger one is data, or too large for a model.
const LARGEST_FILE: usize = 1 << 20;
/// Most files that are picked, whatever fits.
const MOST_FILES: usize = 12;
/// Context window of a model whose window is unknown: the size with which small local models are loaded.
const USUAL_WINDOW: u64 = 8192;
/// Most tokens of files. Even a very large window is not filled: what a task needs is small, and every token costs.
const MOST_TOKENS: u64 = 40_000;
/// Tokens for the instructions around the files.
const INSTRUCTION_TOKENS: u64 = 1024;
/// Bytes of source text per token, on the safe side: tokenizers need 3 to 4 bytes for one.
const BYTES_PER_TOKEN: u64 = 3;

/// A task, and the tool that the found files would be shown to.
#[derive(Clone, Copy)]
pub struct ContextQuery<'a> {
    /// The tool.
    pub adapter: &'a dyn Adapter,
    /// The configured model. `None` if there is none.
    pub model: Option<&'a str>,
    /// The task, in the user's words.
    pub task: &'a str,
    /// Most tokens of the answer. `None` if no limit is set: then the answer gets a quarter of the window.
    pub max_output_tokens: Option<u64>,
}

/// Finds the files of the target's base that a task is about.
///
/// # Errors
/// If the target, its base or its policy cannot be read.
pub fn find_context(
    repo: &dyn Repository,
    clock: &dyn Clock,
    query: &ContextQuery<'_>,
) -> Result<ContextReport, EffectError> {
    let target = repo.target()?;
    let base = repo.base(&target)?;
    let policy = repo.policy(&target)?;
    let facts = ToolFacts {
        target_ref: Some(target.refname.clone()),
        ..tool_facts(query.adapter, query.model, 1, clock.now())
    };
    let words = TaskQuery::from_task(query.task);
    let mut search = ContextSearch {
        base: base.as_ref(),
        policy: &policy.set,
        facts: &facts,
        ranker: FileRanker::new(&words),
        ids: HashMap::new(),
        sizes: HashMap::new(),
    };
    search.walk_base(&read_ignore(base.as_ref())?)?;
    search.read_texts(&clock.start_timer(LONGEST_SEARCH))?;
    let budget = context_budget(query);
    let (ranked, read) = (search.ids.len(), search.sizes.len());
    let sizes = search.sizes;
    let picked = pick_files(search.ranker.rank_files(), budget, |file| {
        sizes.get(&file.file).copied().flatten()
    });
    Ok(make_report(picked, budget, ranked, read, |file| {
        sizes.get(&file).copied().flatten().unwrap_or(0)
    }))
}

/// Makes the published report.
fn make_report(
    picked: PickedFiles,
    budget: ContextBudget,
    ranked: usize,
    read: usize,
    size: impl Fn(FileId) -> u64,
) -> ContextReport {
    let files = picked.files.into_iter().map(|file| {
        let (named, words) = match file.why {
            RankReason::Named => (true, Vec::new()),
            RankReason::Words(words) => (false, words),
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

/// State of a search through the base.
struct ContextSearch<'a> {
    base: &'a dyn Base,
    policy: &'a PolicySet,
    facts: &'a ToolFacts,
    ranker: FileRanker<'a>,
    /// Path and object id of each file that is ranked.
    ids: HashMap<FileId, (String, String)>,
    /// Length of each file that was looked at. `None` if it cannot be sent.
    sizes: HashMap<FileId, Option<u64>>,
}

impl ContextSearch<'_> {
    /// Ranks every file of the base by its path, except those that are left out.
    fn walk_base(&mut self, ignore: &IgnorePatterns) -> Result<(), EffectError> {
        // A list instead of recursion: the depth of the folders comes from untrusted content.
        let mut folders = vec![String::new()];
        while let Some(folder) = folders.pop() {
            for found in self.base.list(&folder).map_err(|error| unreadable_base(&error))? {
                // A tool is given paths as text, so a name that is not UTF-8 cannot be shown.
                let Ok(name) = String::from_utf8(found.name) else {
                    continue;
                };
                let path = if folder.is_empty() {
                    name
                } else {
                    format!("{folder}/{name}")
                };
                match found.entry.kind {
                    // Our own settings are part of a task only if the user names them as files to show.
                    EntryKind::Directory if path == OWN_FOLDER => {}
                    EntryKind::Directory => folders.push(path),
                    EntryKind::File(_) if !ignore.leaves_out(&path) => {
                        let id = self.ranker.add_path(&path);
                        self.ids.insert(id, (path, found.entry.id));
                    }
                    EntryKind::File(_) | EntryKind::Symlink | EntryKind::Gitlink => {}
                }
            }
        }
        Ok(())
    }

    /// Reads as many texts as the time allows, the best by path first.
    fn read_texts(&mut self, is_over: &IsOver) -> Result<(), EffectError> {
        for id in self.ranker.reading_order() {
            if is_over() {
                break;
            }
            let Some((path, object)) = self.ids.get(&id) else {
                continue;
            };
            // A file that must not be shown is not even opened.
            if self.policy.decide_read(path, b"", self.facts).effect() != Effect::Allow {
                self.sizes.insert(id, None);
                continue;
            }
            let bytes = match self.base.read(object) {
                Ok(bytes) => bytes,
                // The search reads many files that the task is not about. In a partial clone those are not worth a fetch.
                Err(BaseError::NotFetched { .. }) => {
                    self.sizes.insert(id, None);
                    continue;
                }
                Err(error @ BaseError::Unreadable(_)) => return Err(unreadable_base(&error)),
            };
            let is_text = bytes.len() <= LARGEST_FILE && std::str::from_utf8(&bytes).is_ok();
            if is_text {
                self.ranker.add_text(id, &bytes);
            }
            self.sizes.insert(id, is_text.then_some(bytes.len() as u64));
        }
        Ok(())
    }
}

/// Reads the patterns of files to leave out; there are none without the file.
fn read_ignore(base: &dyn Base) -> Result<IgnorePatterns, EffectError> {
    let entry = base.entry(IGNORE_FILE).map_err(|error| unreadable_base(&error))?;
    // A link would be a path as text, whose words would be taken for patterns.
    let Some(entry) = entry.filter(|entry| matches!(entry.kind, EntryKind::File(_))) else {
        return Ok(IgnorePatterns::default());
    };
    let text = base.read(&entry.id).map_err(|error| unreadable_base(&error))?;
    Ok(IgnorePatterns::parse(&String::from_utf8_lossy(&text)))
}

/// Returns the budget that the context window leaves after the instructions and the answer.
fn context_budget(query: &ContextQuery<'_>) -> ContextBudget {
    let window = query.adapter.supports().context_window.unwrap_or(USUAL_WINDOW);
    // Prompt and answer share the window.
    let answer = query.max_output_tokens.unwrap_or(window / 4);
    let left = window.saturating_sub(answer).saturating_sub(INSTRUCTION_TOKENS);
    ContextBudget {
        bytes: left.min(MOST_TOKENS) * BYTES_PER_TOKEN,
        files: MOST_FILES,
    }
}

#[cfg(test)]
mod tests;
