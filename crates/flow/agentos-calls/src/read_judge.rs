//! Reads of earlier turns, decided again for whoever is about to be sent them.
//!
//! Owns: the decision, under the policy of the repository that was read. Never: decides by the name of a provider, by the repository of
//! now, or by what the repository calls a file today alone.
//!
//! | repository of the read | reader | answer |
//! |---|---|---|
//! | in its folder, or where the command is called, with its id | any | the policy of today's base and the policy of the read's base, each about the path of the read and about the paths that the text has today: all of them must allow it |
//! | is gone, or another one is in its folder | one to whom the read was shown | yes |
//! | the same | any other | no |
//! | the text, or the commit, is gone | as above | as above |
//! | any | one for whom a person gave a leave for this text | yes |

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::rc::Rc;

use agentos_chat::ReadLeave;
use agentos_context::IgnorePatterns;
use agentos_engine::base_files::walk_files;
use agentos_engine::ports::{ActivePolicy, EffectError, Repository as _, TargetInfo};
use agentos_ledger::{ReadText, Reader, RepositoryReads};
use agentos_policy::{Effect, ReadPolicy, ToolFacts};
use agentos_tool::FileRead;

use crate::chat_tools::open_port;
use agentos_ground::Ground;
use agentos_ground::options::SessionOptions;
use agentos_ground::proposals::ModelFacts;
use agentos_ground::read_answers::{ReadAnswers, RulesKey};
use agentos_ground::repository::to_exec_target;
use agentos_ground::repository_id::read_id;
use agentos_ground::repository_port::RepositoryPort;

/// Largest text that is read again, in bytes.
const LARGEST_TEXT: usize = 64 << 20;

/// Text that a session read, and a reader that may not have it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WithheldText {
    /// The text.
    pub text: ReadText,
    /// The reader.
    pub reader: Reader,
    /// Position of the read among the reads that were judged.
    pub position: usize,
}

/// Judge of reads for the receivers of a request.
pub struct ReadJudge<'a> {
    ground: &'a Ground,
    /// The model first, then programs to which it can send text.
    receivers: Vec<(Reader, ToolFacts)>,
    leaves: &'a [ReadLeave],
}

impl<'a> ReadJudge<'a> {
    /// Makes the judge of a request.
    pub fn new<'m>(
        ground: &'a Ground,
        receivers: impl IntoIterator<Item = &'m ModelFacts>,
        leaves: &'a [ReadLeave],
    ) -> Self {
        let receivers = receivers
            .into_iter()
            .map(|facts| (facts.to_reader(), facts.tool_facts()));
        Self {
            ground,
            receivers: receivers.collect(),
            leaves,
        }
    }

    /// Returns the receivers.
    pub fn readers(&self) -> impl Iterator<Item = &Reader> {
        self.receivers.iter().map(|(reader, _)| reader)
    }

    /// Lists the texts that one of the receivers may not have, in the order of the reads.
    ///
    /// # Errors
    /// Fails if the policy of a repository, or its base, cannot be read.
    pub fn list_withheld(&self, reads: &[&RepositoryReads]) -> Result<Vec<WithheldText>, EffectError> {
        let bytes = reads
            .iter()
            .flat_map(|read| &read.files)
            .fold(0_u64, |sum, file| sum.saturating_add(file.bytes));
        let mut folders: BTreeMap<(&str, &str), Vec<usize>> = BTreeMap::new();
        let with_text = |(_, read): &(usize, &&RepositoryReads)| !read.files.is_empty();
        for (position, read) in reads.iter().enumerate().filter(with_text) {
            let place = (read.folder.as_str(), read.repository.as_str());
            folders.entry(place).or_default().push(position);
        }
        let mut found = Vec::new();
        for ((folder, id), positions) in folders {
            let of_folder = positions.iter().filter_map(|at| Some((*at, *reads.get(*at)?)));
            let of_folder: Vec<(usize, &RepositoryReads)> = of_folder.collect();
            let port = self.find_repository(folder, id);
            let rules = match &port {
                Some(port) => Some(FolderRules::open(port)?),
                None => None,
            };
            for (reader, facts) in &self.receivers {
                let facts = ToolFacts {
                    context_bytes: bytes,
                    ..facts.clone()
                };
                found.extend(self.judge_reads(rules.as_ref(), (reader, facts), &of_folder)?);
            }
        }
        found.sort_by_key(|withheld| withheld.position);
        Ok(found)
    }

    /// Opens the repository of a read: in its folder, or where this command is called, because a folder can have moved. `None` if it is
    /// in neither place.
    fn find_repository(&self, folder: &str, id: &str) -> Option<RepositoryPort> {
        let of_read = self.ground.clone().with_repository(Some(PathBuf::from(folder)));
        [&of_read, self.ground].into_iter().find_map(|ground| {
            let port = open_port(ground, &SessionOptions::default()).ok()?;
            (read_id(port.repo()).as_deref() == Some(id)).then_some(port)
        })
    }

    /// Judges the reads of one repository for one reader.
    fn judge_reads(
        &self,
        rules: Option<&FolderRules<'_>>,
        (reader, facts): (&Reader, ToolFacts),
        reads: &[(usize, &RepositoryReads)],
    ) -> Result<Vec<WithheldText>, EffectError> {
        let facts = ToolFacts {
            target_ref: rules.map_or(facts.target_ref, |rules| Some(rules.target.refname.clone())),
            ..facts
        };
        let mut reading: Option<ReaderRules<'_>> = None;
        let mut found = Vec::new();
        for (position, read) in reads {
            let saw_it = read.readers.contains(reader);
            // The same rules allowed the same texts to the same reader.
            if saw_it && rules.is_none_or(|rules| rules.now.set.sha256() == read.policy) {
                continue;
            }
            if let (Some(rules), None) = (rules, &reading) {
                let past = rules.read_past(reads)?;
                reading = Some(ReaderRules::new(
                    (rules, past),
                    &facts,
                    self.ground.read_answers(),
                ));
            }
            for file in &read.files {
                let text = read.name_text(file);
                let allowed = reading
                    .as_ref()
                    .and_then(|reading| reading.allow_read(read, file));
                let is_allowed = allowed.unwrap_or(saw_it);
                let is_left = |leave: &ReadLeave| leave.reader == *reader && leave.texts.contains(&text);
                if !is_allowed && !self.leaves.iter().any(is_left) {
                    found.push(WithheldText {
                        text,
                        reader: reader.clone(),
                        position: *position,
                    });
                }
            }
        }
        Ok(found)
    }
}

/// Rules of one repository.
struct FolderRules<'p> {
    port: &'p RepositoryPort,
    target: TargetInfo,
    /// Rules of today's base.
    now: Rc<ActivePolicy>,
    /// Facts of the bases that were read, once a read needs them: most turns are of the reader that saw everything.
    past: OnceCell<FolderPast>,
}

/// Facts of the bases that were read.
#[derive(Default)]
struct FolderPast {
    /// Rules of the bases that were read, by commit. `None` for the rules of today's base, which are the same there.
    then: BTreeMap<String, Option<Rc<ActivePolicy>>>,
    /// Commits that are gone.
    lost: BTreeSet<String>,
    /// Paths that the texts have in today's base, by the id of the text.
    paths: BTreeMap<String, Vec<String>>,
}

impl<'p> FolderRules<'p> {
    fn open(port: &'p RepositoryPort) -> Result<Self, EffectError> {
        let target = port.target()?;
        Ok(Self {
            port,
            now: port.policy(&target)?,
            past: OnceCell::new(),
            target,
        })
    }

    /// Reads the facts of the bases that were read, once.
    fn read_past(&self, reads: &[(usize, &RepositoryReads)]) -> Result<&FolderPast, EffectError> {
        if let Some(past) = self.past.get() {
            return Ok(past);
        }
        let files_now = list_rules(self.port, &self.target);
        let mut past = FolderPast::default();
        let commits: BTreeSet<&str> = reads.iter().map(|(_, read)| read.commit.as_str()).collect();
        for commit in &commits {
            let at = TargetInfo {
                base_commit: (*commit).to_owned(),
                ..self.target.clone()
            };
            // Compiling rules costs more than comparing their texts, and most commits do not change them.
            match list_rules(self.port, &at) {
                None => drop(past.lost.insert((*commit).to_owned())),
                files if files == files_now => drop(past.then.insert((*commit).to_owned(), None)),
                Some(_) => drop(
                    past.then
                        .insert((*commit).to_owned(), Some(self.port.policy(&at)?)),
                ),
            }
        }
        // In the base that was read, a text has the path of the read.
        if commits.iter().any(|commit| *commit != self.target.base_commit) {
            past.paths = self.find_paths(reads)?;
        }
        Ok(self.past.get_or_init(|| past))
    }

    /// Finds the paths that the texts have in today's base: a file can have become a withheld one since.
    fn find_paths(
        &self,
        reads: &[(usize, &RepositoryReads)],
    ) -> Result<BTreeMap<String, Vec<String>>, EffectError> {
        let mut paths: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let files = reads.iter().flat_map(|(_, read)| &read.files);
        let sought: BTreeSet<&str> = files.flat_map(|file| &file.blobs).map(String::as_str).collect();
        if sought.is_empty() {
            return Ok(paths);
        }
        let base = self.port.base(&self.target)?;
        walk_files(base.as_ref(), &IgnorePatterns::default(), |path, id| {
            if sought.contains(id.as_str()) {
                paths.entry(id).or_default().push(path);
            }
        })?;
        Ok(paths)
    }
}

/// Rules of one repository for one reader, selected once for all reads.
struct ReaderRules<'r> {
    port: &'r RepositoryPort,
    past: &'r FolderPast,
    now: ReadPolicy<'r>,
    /// Rules of the bases that were read, by commit, where they are not the rules of today's base, and the key of both.
    then: BTreeMap<&'r str, (ReadPolicy<'r>, RulesKey)>,
    /// Key of today's rules alone.
    key: RulesKey,
    answers: &'r ReadAnswers,
}

impl<'r> ReaderRules<'r> {
    fn new(
        (rules, past): (&'r FolderRules<'r>, &'r FolderPast),
        facts: &'r ToolFacts,
        answers: &'r ReadAnswers,
    ) -> Self {
        let now = rules.now.set.read_policy(facts);
        let then = past.then.iter().filter_map(|(commit, active)| {
            let reading = active.as_ref()?.set.read_policy(facts);
            let key = RulesKey::new(&now, Some(&reading));
            Some((commit.as_str(), (reading, key)))
        });
        Self {
            then: then.collect(),
            port: rules.port,
            key: RulesKey::new(&now, None),
            past,
            now,
            answers,
        }
    }

    /// Returns true if the rules let the reader have a text. `None` if the text or its rules are gone.
    fn allow_read(&self, read: &RepositoryReads, file: &FileRead) -> Option<bool> {
        if self.past.lost.contains(&read.commit) {
            return None;
        }
        let today = file
            .blobs
            .iter()
            .filter_map(|id| self.past.paths.get(id))
            .flatten();
        let paths: BTreeSet<&str> = std::iter::once(&file.path)
            .chain(today)
            .map(String::as_str)
            .collect();
        let mut is_gone = file.blobs.is_empty();
        for path in paths {
            for id in &file.blobs {
                match self.allow_text(&read.commit, path, id) {
                    Some(true) => {}
                    Some(false) => return Some(false),
                    None => is_gone = true,
                }
            }
        }
        (!is_gone).then_some(true)
    }

    /// Returns true if the rules of today and of the commit that was read let the reader have a text under a path. `None` if the text is
    /// needed for the answer, and gone.
    fn allow_text(&self, commit: &str, path: &str, id: &str) -> Option<bool> {
        let then = self.then.get(commit);
        let key = then.map_or(&self.key, |(_, key)| key);
        // The id names the text, so the same rules say the same about it in any turn.
        if let Some(answer) = self.answers.find(key, path, id) {
            return Some(answer);
        }
        let mut is_missing = false;
        let readings = std::iter::once(&self.now).chain(then.map(|(reading, _)| reading));
        let is_allowed = readings.into_iter().all(|reading| {
            let effect = reading.read_effect(path, || {
                let text = self.port.repo().blob_content(id, LARGEST_TEXT);
                is_missing |= text.is_none();
                text.unwrap_or_default()
            });
            effect == Effect::Allow
        });
        match (is_allowed, is_missing) {
            (true, true) => return None,
            // A rule may say something else about the text than about no text.
            (false, true) => {}
            (_, false) => self.answers.keep(key, path, id, is_allowed),
        }
        Some(is_allowed)
    }
}

/// Lists the rule files of a commit. `None` if the commit is gone.
fn list_rules(port: &RepositoryPort, target: &TargetInfo) -> Option<Vec<(String, String)>> {
    port.repo().policy_files(&to_exec_target(target)).ok()
}

#[cfg(test)]
mod tests;
