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

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::rc::Rc;

use agentos_chat::ReadLeave;
use agentos_context::IgnorePatterns;
use agentos_engine::base_files::walk_files;
use agentos_engine::ports::{ActivePolicy, EffectError, Repository as _, TargetInfo};
use agentos_ledger::{ReadText, Reader, RepositoryReads};
use agentos_policy::{Effect, PolicySet, ToolFacts};
use agentos_tool::FileRead;

use crate::chat_tools::open_port;
use crate::host::Host;
use crate::options::SessionOptions;
use crate::proposals::ModelFacts;
use crate::repository::{RepositoryPort, to_exec_target};
use crate::repository_id::read_id;

/// Largest text that is read again, in bytes.
const LARGEST_TEXT: usize = 64 << 20;

/// Text that a session read, and a reader that may not have it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WithheldText {
    /// The text.
    pub(crate) text: ReadText,
    /// The reader.
    pub(crate) reader: Reader,
    /// Position of the read among the reads that were judged.
    pub(crate) position: usize,
}

/// Judge of reads for the receivers of a request.
pub(crate) struct ReadJudge<'a> {
    host: &'a Host,
    /// The model first, then programs to which it can send text.
    receivers: Vec<(Reader, ToolFacts)>,
    leaves: &'a [ReadLeave],
}

impl<'a> ReadJudge<'a> {
    /// Makes the judge of a request.
    pub(crate) fn new<'m>(
        host: &'a Host,
        receivers: impl IntoIterator<Item = &'m ModelFacts>,
        leaves: &'a [ReadLeave],
    ) -> Self {
        let receivers = receivers
            .into_iter()
            .map(|facts| (facts.to_reader(), facts.tool_facts()));
        Self {
            host,
            receivers: receivers.collect(),
            leaves,
        }
    }

    /// Returns the receivers.
    pub(crate) fn readers(&self) -> impl Iterator<Item = &Reader> {
        self.receivers.iter().map(|(reader, _)| reader)
    }

    /// Lists the texts that one of the receivers may not have, in the order of the reads.
    ///
    /// # Errors
    /// Fails if the policy of a repository, or its base, cannot be read.
    pub(crate) fn list_withheld(&self, reads: &[&RepositoryReads]) -> Result<Vec<WithheldText>, EffectError> {
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
                Some(port) => Some(FolderRules::open(port, &of_folder)?),
                None => None,
            };
            for (position, read) in of_folder {
                found.extend(self.judge_reads(rules.as_ref(), (position, read), bytes)?);
            }
        }
        found.sort_by_key(|withheld| withheld.position);
        Ok(found)
    }

    /// Opens the repository of a read: in its folder, or where this command is called, because a folder can have moved. `None` if it is
    /// in neither place.
    fn find_repository(&self, folder: &str, id: &str) -> Option<RepositoryPort> {
        let of_read = self.host.clone().with_repository(Some(PathBuf::from(folder)));
        [&of_read, self.host].into_iter().find_map(|host| {
            let port = open_port(host, &SessionOptions::default()).ok()?;
            (read_id(port.repo()).as_deref() == Some(id)).then_some(port)
        })
    }

    fn judge_reads(
        &self,
        rules: Option<&FolderRules<'_>>,
        (position, read): (usize, &RepositoryReads),
        bytes: u64,
    ) -> Result<Vec<WithheldText>, EffectError> {
        let mut found = Vec::new();
        for (reader, facts) in &self.receivers {
            let saw_it = read.readers.contains(reader);
            // The same rules allowed the same texts to the same reader.
            if saw_it && rules.is_none_or(|rules| rules.now.set.sha256() == read.policy) {
                continue;
            }
            let facts = ToolFacts {
                context_bytes: bytes,
                ..facts.clone()
            };
            for file in &read.files {
                let text = read.name_text(file);
                let is_allowed = match rules {
                    Some(rules) => rules.allow_read(read, file, &facts)?.unwrap_or(saw_it),
                    None => saw_it,
                };
                let is_left = |leave: &ReadLeave| leave.reader == *reader && leave.texts.contains(&text);
                if !is_allowed && !self.leaves.iter().any(is_left) {
                    found.push(WithheldText {
                        text,
                        reader: reader.clone(),
                        position,
                    });
                }
            }
        }
        Ok(found)
    }
}

/// Rules of one repository: of today's base, and of the bases that were read.
struct FolderRules<'p> {
    port: &'p RepositoryPort,
    target: TargetInfo,
    now: Rc<ActivePolicy>,
    /// Rules of the bases that were read, by commit. `None` for the rules of today's base, which are the same there.
    then: BTreeMap<String, Option<Rc<ActivePolicy>>>,
    /// Commits that are gone.
    lost: BTreeSet<String>,
    /// Paths that the texts have in today's base, by the id of the text.
    paths: BTreeMap<String, Vec<String>>,
}

impl<'p> FolderRules<'p> {
    fn open(port: &'p RepositoryPort, reads: &[(usize, &RepositoryReads)]) -> Result<Self, EffectError> {
        let target = port.target()?;
        let now = port.policy(&target)?;
        let files_now = list_rules(port, &target);
        let (mut then, mut lost) = (BTreeMap::new(), BTreeSet::new());
        let commits: BTreeSet<&str> = reads.iter().map(|(_, read)| read.commit.as_str()).collect();
        for commit in &commits {
            let at = TargetInfo {
                base_commit: (*commit).to_owned(),
                ..target.clone()
            };
            // Compiling rules costs more than comparing their texts, and most commits do not change them.
            match list_rules(port, &at) {
                None => drop(lost.insert((*commit).to_owned())),
                files if files == files_now => drop(then.insert((*commit).to_owned(), None)),
                Some(_) => drop(then.insert((*commit).to_owned(), Some(port.policy(&at)?))),
            }
        }
        let mut rules = Self {
            port,
            now,
            then,
            lost,
            paths: BTreeMap::new(),
            target,
        };
        // In the base that was read, a text has the path of the read.
        if commits.iter().any(|commit| *commit != rules.target.base_commit) {
            rules.find_paths(reads)?;
        }
        Ok(rules)
    }

    /// Finds the paths that the texts have in today's base: a file can have become a withheld one since.
    fn find_paths(&mut self, reads: &[(usize, &RepositoryReads)]) -> Result<(), EffectError> {
        let files = reads.iter().flat_map(|(_, read)| &read.files);
        let sought: BTreeSet<&str> = files.flat_map(|file| &file.blobs).map(String::as_str).collect();
        if sought.is_empty() {
            return Ok(());
        }
        let base = self.port.base(&self.target)?;
        let paths = &mut self.paths;
        walk_files(base.as_ref(), &IgnorePatterns::default(), |path, id| {
            if sought.contains(id.as_str()) {
                paths.entry(id).or_default().push(path);
            }
        })
    }

    /// Returns true if the rules let a reader have a text. `None` if the text or its rules are gone.
    fn allow_read(
        &self,
        read: &RepositoryReads,
        file: &FileRead,
        facts: &ToolFacts,
    ) -> Result<Option<bool>, EffectError> {
        if self.lost.contains(&read.commit) {
            return Ok(None);
        }
        let facts = ToolFacts {
            target_ref: Some(self.target.refname.clone()),
            ..facts.clone()
        };
        let then = self.then.get(&read.commit).and_then(Option::as_ref);
        let sets = std::iter::once(&self.now).chain(then);
        let today = file.blobs.iter().filter_map(|id| self.paths.get(id)).flatten();
        let paths: BTreeSet<&str> = std::iter::once(&file.path)
            .chain(today)
            .map(String::as_str)
            .collect();
        let mut is_gone = file.blobs.is_empty();
        for active in sets {
            for path in &paths {
                for id in &file.blobs {
                    match self.allow_text(&active.set, path, id, &facts) {
                        Some(true) => {}
                        Some(false) => return Ok(Some(false)),
                        None => is_gone = true,
                    }
                }
            }
        }
        Ok((!is_gone).then_some(true))
    }

    /// Returns true if a set of rules lets a reader have a text under a path. `None` if the text is needed for the answer, and gone.
    fn allow_text(&self, set: &PolicySet, path: &str, id: &str, facts: &ToolFacts) -> Option<bool> {
        let mut is_gone = false;
        let effect = set.read_policy(facts).read_effect(path, || {
            let text = self.port.repo().blob_content(id, LARGEST_TEXT);
            is_gone = text.is_none();
            text.unwrap_or_default()
        });
        match (effect, is_gone) {
            (Effect::Allow, true) => None,
            (effect, _) => Some(effect == Effect::Allow),
        }
    }
}

/// Lists the rule files of a commit. `None` if the commit is gone.
fn list_rules(port: &RepositoryPort, target: &TargetInfo) -> Option<Vec<(String, String)>> {
    port.repo().policy_files(&to_exec_target(target)).ok()
}

#[cfg(test)]
mod tests;
