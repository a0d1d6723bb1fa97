//! The base commit as a tool of a conversation sees it: every file decided by policy.
//!
//! Owns: opening the base, and the question whether a file may be shown. Never: opens a file before its name is allowed.

use std::path::Path;
use std::sync::{Arc, PoisonError};

use agentos_chain::hash_bytes;
use agentos_context::PathPattern;
use agentos_engine::base_files::{read_ignore, walk_files};
use agentos_engine::context::unreadable_base;
use agentos_engine::ports::{EffectError, Repository as _, TargetInfo};
use agentos_executor::Repository;
use agentos_landing::Base;
use agentos_ledger::RepositoryReads;
use agentos_policy::{Effect, PolicySet, ToolFacts};
use agentos_tool::FileRead;

use super::moved_files::HiddenTexts;
use super::{ShownTexts, ToolContext};
use agentos_ground::Ground;
use agentos_ground::options::SessionOptions;
use agentos_ground::policy;
use agentos_ground::proposals::ModelFacts;
use agentos_ground::repository;
use agentos_ground::repository_id::{KnownRepository, identify};
use agentos_ground::repository_port::RepositoryPort;

/// Open base with the rules of the conversation.
pub(super) struct BaseReader<'a> {
    pub(super) repo: &'a Repository,
    pub(super) base: &'a dyn Base,
    pub(super) policy: &'a PolicySet,
    pub(super) target: &'a TargetInfo,
    context: &'a ToolContext,
    /// The base and the readers, without a text.
    record: RepositoryReads,
}

/// Text of a file that the model is about to be shown.
pub(super) struct ShownText<'a> {
    pub(super) by: &'static str,
    pub(super) path: &'a str,
    /// First and last lines. Empty for the difference of a commit.
    pub(super) lines: Vec<(u64, u64)>,
    /// Commit whose difference it is. `None` for a file of the base.
    pub(super) commit: Option<&'a str>,
    /// Git's ids of the complete texts that it is a part of.
    pub(super) blobs: Vec<String>,
    pub(super) text: &'a [u8],
}

/// Opens the base for one call. Each call sees the branch as it is then.
pub(super) fn with_base<T>(
    context: &ToolContext,
    read: impl FnOnce(&BaseReader<'_>) -> Result<T, EffectError>,
) -> Result<T, EffectError> {
    let port = open_port(&context.ground, &context.spec.session)?;
    let target = match &context.attempt {
        // A run is judged against one base, so nothing else is shown to its tool.
        Some(attempt) => attempt.target.clone(),
        None => port.target()?,
    };
    let base = port.base(&target)?;
    let active = port.policy(&target)?;
    read(&BaseReader {
        repo: port.repo(),
        base: base.as_ref(),
        policy: &active.set,
        target: &target,
        context,
        record: describe_base(context, port.repo(), &target, &active.set),
    })
}

/// Describes the base and the readers of a call.
fn describe_base(
    context: &ToolContext,
    repo: &Repository,
    target: &TargetInfo,
    policy: &PolicySet,
) -> RepositoryReads {
    let known = match &context.attempt {
        // The reads of a run are on the tape of their repository.
        Some(_) => KnownRepository::default(),
        None => identify(&context.ground, repo),
    };
    let readers = std::iter::once(&context.spec.author).chain(&context.spec.receivers);
    RepositoryReads {
        repository: known.id,
        folder: known.folder.display().to_string(),
        commit: target.base_commit.clone(),
        policy: policy.sha256().to_owned(),
        readers: readers.map(ModelFacts::to_reader).collect(),
        files: Vec::new(),
    }
}

/// Opens the repository for reading the base of a session.
pub(crate) fn open_port(ground: &Ground, options: &SessionOptions) -> Result<RepositoryPort, EffectError> {
    // HEAD can be read in states in which nothing can land, such as in the middle of a merge.
    let look_only = options.branch.is_none();
    let options = SessionOptions {
        look_only,
        ..options.clone()
    };
    let layers = policy::outer_layers(ground, &options.policies)?;
    let repo = repository::open(ground)?;
    Ok(RepositoryPort::new(ground, repo, options.target_spec(), layers))
}

/// Finds the base that the tools of a session read now.
pub(super) fn find_target(ground: &Ground, options: &SessionOptions) -> Result<TargetInfo, EffectError> {
    open_port(ground, options)?.target()
}

impl ShownTexts {
    /// Adds texts to the record of their base.
    fn add_reads(&mut self, reads: RepositoryReads) {
        match self.reads.iter_mut().find(|known| known.is_same_base(&reads)) {
            Some(known) => known.files.extend(reads.files),
            None => self.reads.push(reads),
        }
    }
}

/// Returns a path of the repository, as a model writes it: after `./` as in a shell, or after the folder of the working tree as on
/// disk.
fn strip_root<'p>(given: &'p str, work_dir: Option<&Path>) -> &'p str {
    let in_folder = work_dir.and_then(Path::to_str).and_then(|folder| {
        let rest = given.strip_prefix(folder.trim_end_matches('/'))?;
        rest.strip_prefix('/')
    });
    let mut path = in_folder.unwrap_or(given);
    while let Some(rest) = path.strip_prefix("./") {
        path = rest;
    }
    path
}

impl BaseReader<'_> {
    /// Returns a path or a pattern from the top of the repository.
    pub(super) fn path_from_root<'p>(&self, given: &'p str) -> &'p str {
        strip_root(given, self.repo.work_dir())
    }

    /// Returns the facts for policy about everybody who a text can reach, with the bytes that were sent before: the model first.
    pub(super) fn list_facts(&self) -> Vec<ToolFacts> {
        let context_bytes = self.context.lock_shown().bytes;
        self.list_facts_with(context_bytes)
    }

    fn list_facts_with(&self, context_bytes: u64) -> Vec<ToolFacts> {
        let model = match &self.context.attempt {
            Some(attempt) => attempt.facts.clone(),
            None => self.context.spec.author.tool_facts(),
        };
        let receivers = self.context.spec.receivers.iter().map(ModelFacts::tool_facts);
        let all = std::iter::once(model).chain(receivers);
        all.map(|facts| ToolFacts {
            target_ref: Some(self.target.refname.clone()),
            context_bytes,
            ..facts
        })
        .collect()
    }

    /// Returns true if policy lets the model and every receiver see a file of this name, as far as the name decides.
    pub(super) fn allows_name(&self, path: &str) -> bool {
        self.allows_text(path, b"")
    }

    /// Returns true if policy lets the model and every receiver see a file with this text.
    pub(super) fn allows_text(&self, path: &str, text: &[u8]) -> bool {
        self.decides_allow(path, text, self.context.lock_shown().bytes)
    }

    fn decides_allow(&self, path: &str, text: &[u8], context_bytes: u64) -> bool {
        // A question cannot be asked in the middle of a call, so a file about which policy asks is withheld, as in a task.
        self.list_facts_with(context_bytes)
            .iter()
            .all(|facts| self.policy.decide_read(path, text, facts).effect() == Effect::Allow)
    }

    /// Records that the model is shown a text of a file that [`Self::allows_text`] allows, if policy allows that many bytes. Returns false if it does not.
    pub(super) fn admit_text(&self, shown: ShownText<'_>) -> bool {
        let bytes = u64::try_from(shown.text.len()).unwrap_or(u64::MAX);
        // Held while policy decides: several calls of one answer run at once, and must not each take the last bytes.
        let mut texts = self.context.lock_shown();
        let total = texts.bytes.saturating_add(bytes);
        // By name and bytes alone: the whole texts were judged before, and the form in which they are shown may look like a secret, such
        // as the ids of blobs in a diff.
        if !self.decides_allow(shown.path, b"", total) {
            return false;
        }
        let read = FileRead {
            by: shown.by.to_owned(),
            path: shown.path.to_owned(),
            lines: shown.lines,
            commit: shown.commit.map(str::to_owned),
            blobs: shown.blobs,
            text_hash: hash_bytes(shown.text),
            bytes,
        };
        texts.bytes = total;
        texts.add_reads(RepositoryReads {
            files: vec![read],
            ..self.record.clone()
        });
        true
    }

    /// Returns the texts that withheld files have or had. They are searched once for each base.
    pub(super) fn hidden_texts(
        &self,
        find: impl FnOnce(&Self) -> Result<HiddenTexts, EffectError>,
    ) -> Result<Arc<HiddenTexts>, EffectError> {
        let mut kept = self.context.hidden.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((base, hidden)) = &*kept
            && *base == self.target.base_commit
        {
            return Ok(Arc::clone(hidden));
        }
        let hidden = Arc::new(find(self)?);
        *kept = Some((self.target.base_commit.clone(), Arc::clone(&hidden)));
        Ok(hidden)
    }

    /// Lists the paths and object ids of all files that match a pattern, sorted by path.
    pub(super) fn list_paths(&self, pattern: Option<&str>) -> Result<Vec<(String, String)>, EffectError> {
        let ignore = read_ignore(self.base)?;
        // As in `.gitignore`: models write `*.rs` and mean the files of all folders.
        let pattern = pattern.map(|pattern| self.path_from_root(pattern));
        let pattern = pattern.map(|pattern| match pattern.contains('/') {
            true => PathPattern::parse(pattern),
            false => PathPattern::parse(&format!("**/{pattern}")),
        });
        let mut paths = Vec::new();
        walk_files(self.base, &ignore, |path, id| {
            if pattern.as_ref().is_none_or(|pattern| pattern.matches_path(&path)) {
                paths.push((path, id));
            }
        })?;
        paths.sort_unstable();
        Ok(paths)
    }

    /// Finds the id of a file of the base. Empty if the base has no such file.
    pub(super) fn find_blob(&self, path: &str) -> Result<Vec<String>, EffectError> {
        let entry = self.base.entry(path).map_err(|error| unreadable_base(&error))?;
        Ok(entry.into_iter().map(|entry| entry.id).collect())
    }

    /// Reads a text of the base. `None` if it is too long, or not UTF-8.
    pub(super) fn read_text(&self, id: &str, most: u64) -> Result<Option<String>, EffectError> {
        if self.base.size(id).is_some_and(|size| size > most) {
            return Ok(None);
        }
        let bytes = self.base.read(id).map_err(|error| unreadable_base(&error))?;
        Ok(String::from_utf8(bytes.to_vec()).ok())
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::strip_root;

    #[test]
    fn paths_of_a_shell_and_of_the_disk_name_the_same_file() {
        let cases = [
            ("src/a.py", "src/a.py"),
            ("./src/a.py", "src/a.py"),
            (".//src/a.py", "/src/a.py"),
            ("/home/me/shop/src/a.py", "src/a.py"),
            ("/home/me/shop/./src/a.py", "src/a.py"),
            ("/home/me/shopping/a.py", "/home/me/shopping/a.py"),
            ("/etc/passwd", "/etc/passwd"),
            ("../a.py", "../a.py"),
        ];
        for (given, expected) in cases {
            assert_eq!(
                strip_root(given, Some(Path::new("/home/me/shop/"))),
                expected,
                "{given}"
            );
        }
        assert_eq!(strip_root("/a/b", None), "/a/b");
    }
}
