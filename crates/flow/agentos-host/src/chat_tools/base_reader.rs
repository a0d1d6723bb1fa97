//! The base commit as a tool of a conversation sees it: every file decided by policy.
//!
//! Owns: opening the base, and the question whether a file may be shown. Never: opens a file before its name is allowed.

use std::sync::atomic::Ordering;

use agentos_context::PathPattern;
use agentos_engine::base_files::{read_ignore, walk_files};
use agentos_engine::context::unreadable_base;
use agentos_engine::ports::{EffectError, Repository as _, TargetInfo};
use agentos_executor::Repository;
use agentos_landing::Base;
use agentos_policy::{Effect, PolicySet, ToolFacts};

use super::ToolContext;
use crate::options::SessionOptions;
use crate::policy;
use crate::repository::{self, RepositoryPort};

/// Open base with the rules of the conversation.
pub(super) struct BaseReader<'a> {
    pub(super) repo: &'a Repository,
    pub(super) base: &'a dyn Base,
    pub(super) policy: &'a PolicySet,
    pub(super) target: &'a TargetInfo,
    context: &'a ToolContext,
}

/// Opens the base for one call. Each call sees the branch as it is then.
pub(super) fn with_base<T>(
    context: &ToolContext,
    read: impl FnOnce(&BaseReader<'_>) -> Result<T, EffectError>,
) -> Result<T, EffectError> {
    let host = &context.host;
    let options = &context.spec.session;
    // HEAD can be read in states in which nothing can land, such as in the middle of a merge.
    let look_only = options.branch.is_none();
    let options = SessionOptions {
        look_only,
        ..options.clone()
    };
    let layers = policy::outer_layers(host, &options.policies)?;
    let repo = repository::open(host)?;
    let port = RepositoryPort::new(host, repo, options.target_spec(), layers);
    let target = port.target()?;
    let base = port.base(&target)?;
    let active = port.policy(&target)?;
    read(&BaseReader {
        repo: port.repo(),
        base: base.as_ref(),
        policy: &active.set,
        target: &target,
        context,
    })
}

impl BaseReader<'_> {
    /// Returns the facts for policy, with the bytes that were sent before.
    pub(super) fn tool_facts(&self) -> ToolFacts {
        ToolFacts {
            target_ref: Some(self.target.refname.clone()),
            context_bytes: self.context.sent.load(Ordering::SeqCst),
            ..self.context.spec.author.tool_facts()
        }
    }

    /// Returns true if policy lets the provider see a file of this name, as far as the name decides.
    pub(super) fn allows_name(&self, path: &str) -> bool {
        self.allows_text(path, b"", 0)
    }

    /// Returns true if policy lets the provider see a file with this text, of which so many bytes are shown.
    pub(super) fn allows_text(&self, path: &str, text: &[u8], shown: usize) -> bool {
        let mut facts = self.tool_facts();
        facts.context_bytes = facts
            .context_bytes
            .saturating_add(u64::try_from(shown).unwrap_or(u64::MAX));
        // A question cannot be asked in the middle of a call, so a file about which policy asks is withheld, as in a task.
        self.policy.decide_read(path, text, &facts).effect() == Effect::Allow
    }

    /// Counts bytes of files that the model is sent.
    pub(super) fn count_sent(&self, bytes: usize) {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        self.context.sent.fetch_add(bytes, Ordering::SeqCst);
    }

    /// Lists the paths and object ids of all files that match a pattern, sorted by path.
    pub(super) fn list_paths(&self, pattern: Option<&str>) -> Result<Vec<(String, String)>, EffectError> {
        let ignore = read_ignore(self.base)?;
        // As in `.gitignore`: models write `*.rs` and mean the files of all folders.
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

    /// Reads a text of the base. `None` if it is too long, or not UTF-8.
    pub(super) fn read_text(&self, id: &str, most: u64) -> Result<Option<String>, EffectError> {
        if self.base.size(id).is_some_and(|size| size > most) {
            return Ok(None);
        }
        let bytes = self.base.read(id).map_err(|error| unreadable_base(&error))?;
        Ok(String::from_utf8(bytes.to_vec()).ok())
    }
}
