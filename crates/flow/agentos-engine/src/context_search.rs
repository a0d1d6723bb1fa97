//! The choice of the files that a model is shown: those that the user named, and those that the task is about.
//!
//! Owns: reading the base for the ranking, and the report about the choice. Never: reads the working tree, shows a file that
//! policy withholds from the tool, sends anything, or depends on time: one base and one task give one choice.

use std::collections::{BTreeSet, HashMap};

use agentos_api::{ContextFileReport, ContextReport, OmittedMatches, WindowSource, WithheldFile};
use agentos_context::{
    CandidateFile, ContextBudget, FileId, FileRanker, FileText, LineRange, MOST_MATCHED, PickedFile,
    PickedFiles, RankReason, RankedFile, TaskQuery, divide_window, pick_parts,
};
use agentos_landing::{Base, BaseError, EntryKind};
use agentos_policy::{Decision, Effect, PolicySet, ToolFacts};
use agentos_tool::{Adapter, EditFormat};

use crate::context::{RequestedFile, first_reason, text_of, unreadable_base};
use crate::context_budget::{count_prompt, report_budget};
use crate::context_outline::{MOST_OUTLINE, OutlineWriter, OutlinedFile};
use crate::history::EarlierTurn;
use crate::named_files::{LARGEST_FILE, NamedFiles};
use crate::ports::{Clock, ContextIndex, EffectError, Repository, TargetInfo};
use crate::tool_facts::reading_facts;

mod texts;

use texts::count_shown;

/// Bytes from which no more texts of candidates are kept for their outlines. Those that a user names can be many and large.
const MOST_KEPT: usize = 8 << 20;
/// Most commits of the history that are read.
const MOST_COMMITS: usize = 600;
/// Context window of a model whose window nobody states. Local servers report theirs, and the models of vendors have 32,768 tokens
/// and more; half of that also suits most older ones.
pub const ASSUMED_WINDOW: u64 = 16_384;
/// Bytes of source text per token, for the budget in bytes of the report.
const BYTES_PER_TOKEN: u64 = 3;

/// Size of a model's context window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelWindow {
    /// Tokens of prompt and answer together.
    pub tokens: u64,
    /// Origin of the number.
    pub source: WindowSource,
}

/// A task, and the tool that the found files would be shown to.
#[derive(Clone, Copy)]
pub struct ContextQuery<'a> {
    /// The tool.
    pub adapter: &'a dyn Adapter,
    /// The configured model. `None` if there is none.
    pub model: Option<&'a str>,
    /// The task, in the user's words.
    pub task: &'a str,
    /// Files that the user named.
    pub named: &'a NamedFiles,
    /// True if more files are searched for the task.
    pub searches: bool,
    /// The model's window. `None` if nobody states it.
    pub window: Option<ModelWindow>,
    /// The edit format in which the tool is asked to answer.
    pub edit_format: EditFormat,
    /// Most tokens of the answer. `None` if no limit is set: then the answer gets a quarter of the window.
    pub max_output_tokens: Option<u64>,
    /// Earlier tasks and answers that the tool is shown.
    pub history: &'a [EarlierTurn],
    /// Remark of the user on the last of these answers. `None` if there is none.
    pub remark: Option<&'a str>,
}

/// The files to show, and the report about them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ContextPlan {
    /// The files, named ones first.
    pub files: Vec<RequestedFile>,
    /// Files of which only the definitions are shown.
    pub outline: Vec<OutlinedFile>,
    /// The report.
    pub report: ContextReport,
}

/// Chooses the files of the target's base that a tool is shown.
///
/// # Errors
/// If the target, its base or its policy cannot be read.
pub fn find_context(
    repo: &dyn Repository,
    clock: &dyn Clock,
    query: &ContextQuery<'_>,
) -> Result<ContextPlan, EffectError> {
    let target = repo.target()?;
    let base = repo.base(&target)?;
    let policy = repo.policy(&target)?;
    let facts = ToolFacts {
        target_ref: Some(target.refname.clone()),
        ..reading_facts(query.adapter, query.model, &policy.set, clock.now())
    };
    let words = TaskQuery::from_task(query.task);
    let mut search = ContextSearch {
        base: base.as_ref(),
        policy: &policy.set,
        facts: &facts,
        ranker: FileRanker::new(&words),
        index: None,
        files: Vec::new(),
        listed: 0,
        wanted: HashMap::new(),
        read: 0,
        texts: HashMap::new(),
        withheld: Vec::new(),
    };
    let unfit = search.add_files(repo, &target, query)?;
    let candidates = search.rank_candidates()?;
    let window = query.window.unwrap_or(ModelWindow {
        tokens: ASSUMED_WINDOW,
        source: WindowSource::Assumed,
    });
    let division = divide_window(window.tokens, count_prompt(query), query.max_output_tokens);
    let whole_only = query.edit_format == EditFormat::WholeFile;
    let picked = pick_parts(
        &candidates,
        ContextBudget {
            tokens: division.context - reserve_outline(&candidates, division.context, whole_only),
            whole_only,
        },
    );
    let spare = division.spare_tokens() + division.context.saturating_sub(picked.tokens);
    let mut outline = OutlineWriter::with_limit(if whole_only { 0 } else { spare });
    search.outline_rest(&candidates, &picked, query.searches, &mut outline)?;
    let mut plan = search.make_plan(picked);
    plan.report.outlined = outline.files.iter().map(|file| file.path.clone()).collect();
    plan.outline = outline.files;
    plan.report.budget = Some(report_budget(
        &division,
        window.source,
        query,
        (plan.report_tokens(), outline.tokens),
    ));
    plan.report.budget_bytes = division.context * BYTES_PER_TOKEN;
    plan.add_unfit(unfit, &query.named.files);
    plan.report.omitted = plan.count_omitted(query.named);
    Ok(plan)
}

/// Returns the tokens to keep for the outline of a file that the user names and that does not fit.
fn reserve_outline(candidates: &[CandidateFile], context: u64, whole_only: bool) -> u64 {
    let is_cut = |candidate: &CandidateFile| {
        let is_named = matches!(candidate.file.why, RankReason::Named | RankReason::Matched);
        is_named && !candidate.is_limited && candidate.tokens > context
    };
    match candidates.iter().any(is_cut) && !whole_only {
        true => (context / 12).min(MOST_OUTLINE),
        false => 0,
    }
}

impl ContextPlan {
    fn report_tokens(&self) -> u64 {
        self.report.files.iter().map(|file| file.tokens).sum()
    }

    /// Returns the folders, patterns and names of which something is not shown.
    fn count_omitted(&self, named: &NamedFiles) -> Vec<OmittedMatches> {
        let chosen: BTreeSet<&str> = self.files.iter().map(|file| file.path.as_str()).collect();
        let matched = named.matched.iter().map(|matched| OmittedMatches {
            name: matched.typed.clone(),
            matched: matched.paths.len(),
            shown: matched
                .paths
                .iter()
                .filter(|path| chosen.contains(path.as_str()))
                .count(),
        });
        let definitions = named.omitted.iter().map(|omitted| OmittedMatches {
            name: omitted.symbol.clone(),
            matched: omitted.found,
            shown: omitted.kept,
        });
        let all = matched.chain(definitions);
        all.filter(|omitted| omitted.shown < omitted.matched).collect()
    }

    /// Adds the named files that were not chosen, so that reading them reports what is wrong, or policy's reason.
    fn add_unfit(&mut self, unfit: Vec<String>, named: &[RequestedFile]) {
        for file in named {
            let is_chosen = self.files.iter().any(|chosen| chosen.path == file.path);
            // One that does not fit at all is reported, and not sent: the server would refuse the whole prompt.
            let is_too_large = self.report.too_large.contains(&file.path);
            if unfit.contains(&file.path) || (!is_chosen && !is_too_large) {
                self.files.push(file.clone());
            }
        }
    }
}

/// State of a search through the base.
struct ContextSearch<'a> {
    base: &'a dyn Base,
    policy: &'a PolicySet,
    facts: &'a ToolFacts,
    ranker: FileRanker<'a>,
    /// Index of the texts. `None` if there is none, or the repository is so small that reading it is as fast.
    index: Option<Box<dyn ContextIndex>>,
    /// Path and object id of each file that is ranked. From an index they are not trusted.
    files: Vec<(String, String)>,
    /// Number of the files that the search listed. The others are named, and left out of a search.
    listed: usize,
    /// Lines to which the user limits a file.
    wanted: HashMap<FileId, Vec<LineRange>>,
    /// Number of files whose text was considered.
    read: usize,
    /// Texts of candidates, which policy allows. It looks for secrets in every line, and outline and report need the lines again.
    texts: HashMap<FileId, FileText>,
    withheld: Vec<WithheldFile>,
}

impl ContextSearch<'_> {
    /// Adds the files that the user names, and those of the search if there is one. Returns the named files that cannot be shown.
    ///
    /// # Errors
    /// If the base cannot be read.
    fn add_files(
        &mut self,
        repo: &dyn Repository,
        target: &TargetInfo,
        query: &ContextQuery<'_>,
    ) -> Result<Vec<String>, EffectError> {
        if query.searches {
            self.index = repo.open_index();
            self.list_files(&target.base_tree)?;
        }
        let unfit = self.add_named(&query.named.files);
        let matched = query.named.matched_paths();
        self.add_matched(&matched)?;
        if query.searches {
            self.count_texts(&target.base_tree)?;
            let history = repo.list_changed_paths(target, MOST_COMMITS);
            self.ranker.add_history(&history);
        } else if !matched.is_empty() {
            // Of the files of a pattern alone, only those that can be shown are read.
            self.read_first(MOST_MATCHED)?;
        }
        Ok(unfit)
    }

    fn add_file(&mut self, path: String, object: String) -> FileId {
        let id = self.ranker.add_path(&path);
        self.files.push((path, object));
        id
    }

    /// Adds the files that the user named, also those that a search leaves out. Returns the paths of those that cannot be
    /// shown.
    fn add_named(&mut self, named: &[RequestedFile]) -> Vec<String> {
        let mut unfit = Vec::new();
        for file in named {
            let id = match self.ranker.find_path(&file.path) {
                Some(id) => id,
                None => match text_of(&file.path, self.base) {
                    Ok((object, _)) => self.add_file(file.path.clone(), object),
                    // Reading it for the task reports the reason.
                    Err(_) => {
                        unfit.push(file.path.clone());
                        continue;
                    }
                },
            };
            self.ranker.mark_named(id);
            let lines = file.lines.iter().filter_map(|(first, last)| {
                Some(LineRange {
                    first: usize::try_from(*first).ok()?,
                    last: usize::try_from(*last).ok()?,
                })
            });
            self.wanted.entry(id).or_default().extend(lines);
        }
        unfit
    }

    /// Adds the files of folders and patterns.
    fn add_matched(&mut self, matched: &[String]) -> Result<(), EffectError> {
        if matched.is_empty() {
            return Ok(());
        }
        let known = self.files.iter().zip(self.ranker.list_ids());
        let known: HashMap<String, FileId> = known.map(|((path, _), id)| (path.clone(), id)).collect();
        for path in matched {
            let id = match known.get(path) {
                Some(id) => *id,
                None => {
                    let entry = self.base.entry(path).map_err(|error| unreadable_base(&error))?;
                    let Some(entry) = entry else { continue };
                    self.add_file(path.clone(), entry.id)
                }
            };
            self.ranker.mark_matched(id);
        }
        Ok(())
    }

    /// Reads the best files again and ranks their parts.
    fn rank_candidates(&mut self) -> Result<Vec<CandidateFile>, EffectError> {
        let mut withheld = Vec::new();
        let mut failed = None;
        let (mut texts, mut kept) = (HashMap::new(), 0);
        let candidates = self.ranker.rank_parts(|file| match self.read_candidate(file) {
            Ok(CandidateText::Shown(source)) => {
                if kept < MOST_KEPT {
                    kept += source.text.len();
                    texts.insert(file.file, source.clone());
                }
                Some(source)
            }
            Ok(CandidateText::Withheld(why)) => {
                withheld.push(WithheldFile {
                    path: file.path.clone(),
                    why,
                });
                None
            }
            Ok(CandidateText::Unfit) => None,
            Err(error) => {
                failed = Some(error);
                None
            }
        });
        self.withheld = withheld;
        self.texts = texts;
        failed.map_or(Ok(candidates), Err)
    }

    /// Reads a file that may be shown, if policy allows it with its text.
    fn read_candidate(&self, file: &RankedFile) -> Result<CandidateText, EffectError> {
        let path = file.path.as_str();
        // Asked of the base, although the ranking has an id: an index that somebody changed could name another content.
        let entry = self.base.entry(path).map_err(|error| unreadable_base(&error))?;
        let Some(entry) = entry.filter(|entry| matches!(entry.kind, EntryKind::File(_))) else {
            return Ok(CandidateText::Unfit);
        };
        let by_name = self.policy.decide_read(path, b"", self.facts);
        if by_name.effect() != Effect::Allow {
            return Ok(CandidateText::withheld(&by_name));
        }
        let is_named = file.why == RankReason::Named;
        let is_too_large = |size: u64| size > LARGEST_FILE as u64 && !is_named;
        if self.base.size(&entry.id).is_some_and(is_too_large) {
            return Ok(CandidateText::Unfit);
        }
        let bytes = match self.base.read(&entry.id) {
            Ok(bytes) => bytes,
            Err(BaseError::NotFetched { .. }) => return Ok(CandidateText::Unfit),
            Err(error @ BaseError::Unreadable(_)) => return Err(unreadable_base(&error)),
        };
        if is_too_large(bytes.len() as u64) {
            return Ok(CandidateText::Unfit);
        }
        let decision = self.policy.decide_read(path, &bytes, self.facts);
        if decision.effect() != Effect::Allow {
            return Ok(CandidateText::withheld(&decision));
        }
        Ok(match std::str::from_utf8(&bytes) {
            Ok(text) => CandidateText::Shown(FileText::measure(
                text,
                self.wanted.get(&file.file).cloned().unwrap_or_default(),
            )),
            Err(_) => CandidateText::Unfit,
        })
    }

    /// Writes the outlines of the files that are not shown as a whole, the best first. Without a search, only those of the files
    /// that the user means.
    fn outline_rest(
        &self,
        candidates: &[CandidateFile],
        picked: &PickedFiles,
        searches: bool,
        outline: &mut OutlineWriter,
    ) -> Result<(), EffectError> {
        for candidate in candidates {
            if outline.is_full() {
                break;
            }
            let is_meant = matches!(candidate.file.why, RankReason::Named | RankReason::Matched);
            let shown = picked.files.iter().find(|file| file.file == candidate.file.file);
            let is_whole = shown.is_some_and(|file| file.ranges.is_empty());
            if is_whole || candidate.is_limited || !(searches || is_meant) {
                continue;
            }
            let read;
            let source = match self.texts.get(&candidate.file.file) {
                Some(kept) => kept,
                None => match self.read_candidate(&candidate.file)? {
                    CandidateText::Shown(source) => {
                        read = source;
                        &read
                    }
                    CandidateText::Withheld(_) | CandidateText::Unfit => continue,
                },
            };
            let ranges = shown.map_or(&[][..], |file| file.ranges.as_slice());
            let ranges: Vec<(u64, u64)> = ranges
                .iter()
                .map(|range| (range.first as u64, range.last as u64))
                .collect();
            let text = (&*source.text, &*source.shape);
            outline.add_file(&candidate.file.path, text, &ranges, is_meant);
        }
        Ok(())
    }

    /// Makes the plan and its report.
    fn make_plan(self, picked: PickedFiles) -> ContextPlan {
        let mut plan = ContextPlan::default();
        for file in picked.files {
            let lines = file
                .ranges
                .iter()
                .map(|range| (range.first as u64, range.last as u64));
            let lines: Vec<(u64, u64)> = lines.collect();
            plan.report.files.push(self.report_file(&file, &lines));
            plan.files.push(RequestedFile {
                path: file.path,
                lines,
            });
        }
        plan.report.version = 1;
        plan.report.bytes = plan.report.files.iter().map(|file| file.bytes).sum();
        plan.report.too_large = picked.too_large;
        plan.report.ranked = self.files.len();
        plan.report.read = self.read.max(plan.files.len());
        plan.report.withheld = self.withheld;
        plan
    }

    fn report_file(&self, file: &PickedFile, lines: &[(u64, u64)]) -> ContextFileReport {
        let (named, words, near) = match &file.why {
            RankReason::Named | RankReason::Matched => (true, Vec::new(), None),
            RankReason::Words(words) => (false, words.clone(), None),
            RankReason::Near(path) => (false, Vec::new(), Some(path.clone())),
            RankReason::History => (false, Vec::new(), None),
        };
        ContextFileReport {
            path: file.path.clone(),
            bytes: self.count_bytes(file),
            named,
            words,
            near,
            ranges: lines.to_vec(),
            lines: file.lines as u64,
            tokens: file.tokens,
            read_by: Vec::new(),
            commit: None,
        }
    }

    /// Counts the bytes of the lines that are shown.
    fn count_bytes(&self, file: &PickedFile) -> u64 {
        let Some(source) = self.texts.get(&file.file) else {
            return self
                .read_again(file)
                .map_or(0, |source| count_shown(file, &source));
        };
        count_shown(file, source)
    }

    /// Reads a picked file whose text was not kept. `None` if it cannot be read any more.
    fn read_again(&self, file: &PickedFile) -> Option<FileText> {
        let entry = self.base.entry(&file.path).ok().flatten()?;
        let bytes = self.base.read(&entry.id).ok()?;
        let text = std::str::from_utf8(&bytes).ok()?;
        Some(FileText::measure(text, Vec::new()))
    }
}

/// Text of a file that may be shown.
enum CandidateText {
    Shown(FileText),
    /// Policy withholds the file, with the reason.
    Withheld(String),
    /// The file is no text, too large or not there.
    Unfit,
}

impl CandidateText {
    fn withheld(decision: &Decision) -> Self {
        Self::Withheld(first_reason(decision))
    }
}

#[cfg(test)]
mod tests;
