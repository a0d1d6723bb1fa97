//! What programs of an earlier run could read, decided again for the tool that continues the run.
//!
//! A program works in a copy with every file that policy shows it, and its answer can quote any of them. So a tool sees the answer only
//! if it may read all of these files itself.
//!
//! | the run | could read |
//! |---|---|
//! | has a record of the view | all files of that commit but those that the record lists |
//! | has none, or ran a check, and its policy is the policy of its base still | all files of its base but those that policy withholds from its provider |
//! | has none, or ran a check, and its policy is another one by now | all files of its base |
//! | its base is gone, or unknown | not known: no other answer than no |
//!
//! Owns: this table. Never: trusts the list of files that an answer changes to say what its program read.

use std::collections::{BTreeMap, BTreeSet};

use agentos_landing::Base;
use agentos_policy::{Decision, Effect, PolicySet, ReadPolicy, ToolFacts};
use agentos_tool::{Enforcement, ExecutionMode};
use serde_json::Value;

use crate::base_files::walk_all_files;
use crate::context::{Withheld, first_reason, unreadable_base};
use crate::ports::{EffectError, RecordReader, Repository, TargetInfo};

/// Files that a program of an earlier run could read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EarlierView {
    /// The commit and its tree. `None` if the record has none.
    base: Option<(String, String)>,
    known: KnownView,
}

/// Knowledge about a view.
#[derive(Debug, Clone, PartialEq, Eq)]
enum KnownView {
    /// The files of the commit that were withheld.
    Withheld(BTreeSet<String>),
    /// Only the facts with which policy was asked, and the hash of the policy.
    Facts(Box<EarlierFacts>),
}

/// Facts of the beginning of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct EarlierFacts {
    provider: String,
    model: Option<String>,
    execution_mode: Option<ExecutionMode>,
    policy: String,
    base: Option<(String, String)>,
}

impl EarlierFacts {
    /// Reads the facts from the record of a run's beginning.
    pub(super) fn read(body: &Value) -> Self {
        let text = |pointer: &str| body.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        let mode = body.get("execution_mode").cloned();
        Self {
            provider: text("/provider").unwrap_or_default(),
            model: text("/model"),
            execution_mode: mode.and_then(|mode| serde_json::from_value(mode).ok()),
            policy: text("/policy_sha256").unwrap_or_default(),
            base: text("/target/base_commit").zip(text("/target/base_tree")),
        }
    }

    /// Returns the view of a check, or of a program whose view was not recorded.
    pub(super) fn to_view(&self) -> EarlierView {
        EarlierView {
            base: self.base.clone(),
            known: KnownView::Facts(Box::new(self.clone())),
        }
    }

    /// Returns the facts about the tool of that time. `None` if they are not known.
    fn to_tool(&self, now: &ToolFacts) -> Option<ToolFacts> {
        Some(ToolFacts {
            provider: self.provider.clone(),
            model: self.model.clone(),
            execution_mode: self.execution_mode?,
            // With a sandbox a tool is shown most.
            enforcement: Enforcement::Kernel,
            context_bytes: 0,
            ..now.clone()
        })
    }
}

/// Reads the views from the record of a tool's result. The views of a version that recorded none are taken from `begun`, if the tool was
/// a program.
///
/// # Errors
/// If a list of withheld files cannot be read.
pub(super) fn read_views(
    tape: &dyn RecordReader,
    body: &Value,
    begun: &EarlierFacts,
) -> Result<Vec<EarlierView>, EffectError> {
    let Some(views) = body.get("views").and_then(Value::as_array) else {
        // Only a server has an address.
        let is_server = body.pointer("/result/endpoint").is_some_and(Value::is_string);
        return Ok(if is_server {
            Vec::new()
        } else {
            vec![begun.to_view()]
        });
    };
    let read = |view: &Value| {
        let text = |name: &str| view.get(name).and_then(Value::as_str).map(str::to_owned);
        let withheld = match text("withheld_sha256") {
            Some(id) => serde_json::from_slice(&tape.load_blob(&id)?).ok(),
            None => None,
        };
        Ok(EarlierView {
            base: text("commit").zip(text("tree")),
            known: withheld.map_or_else(|| begun.to_view().known, KnownView::Withheld),
        })
    };
    views.iter().map(read).collect()
}

/// Finds a file that an earlier program could read and that policy does not let a tool read. `None` if the tool may read all of them.
///
/// # Errors
/// If today's base or policy cannot be read.
pub(super) fn find_unreadable_view(
    views: &[EarlierView],
    repo: &dyn Repository,
    target: &TargetInfo,
    tool: &ToolFacts,
) -> Result<Option<Withheld>, EffectError> {
    if views.is_empty() {
        return Ok(None);
    }
    let now = repo.policy(target)?;
    let today = find_paths(repo.base(target)?.as_ref())?;
    for view in views {
        let at = view.base.clone().map(|(base_commit, base_tree)| TargetInfo {
            base_commit,
            base_tree,
            ..target.clone()
        });
        let opened = at.and_then(|at| Some((repo.base(&at).ok()?, repo.policy(&at).ok()?)));
        let Some((base, then)) = opened else {
            return Ok(Some(unknown_view(view)));
        };
        let sets = [&now.set, &then.set];
        // Rules that are the same are asked once.
        let sets = if now.set.sha256() == then.set.sha256() {
            &sets[..1]
        } else {
            &sets[..]
        };
        let shown = view.list_shown(base.as_ref(), &then.set, tool)?;
        for (path, id) in shown {
            let paths = today.get(&id).into_iter().flatten().chain([&path]);
            if let Some(found) = find_refusal(paths, &id, base.as_ref(), sets, tool)? {
                return Ok(Some(found));
            }
        }
    }
    Ok(None)
}

impl EarlierView {
    /// Lists the files that the program could read, with the ids of their texts.
    fn list_shown(
        &self,
        base: &dyn Base,
        then: &PolicySet,
        now: &ToolFacts,
    ) -> Result<Vec<(String, String)>, EffectError> {
        let mut files = Vec::new();
        walk_all_files(base, |path, id| files.push((path, id)))?;
        match &self.known {
            KnownView::Withheld(withheld) => files.retain(|(path, _)| !withheld.contains(path)),
            KnownView::Facts(facts) if facts.policy == then.sha256() => {
                if let Some(tool) = facts.to_tool(now) {
                    let reading = then.read_policy(&tool);
                    let mut failed = None;
                    files.retain(|(path, id)| match is_allowed(&reading, path, id, base) {
                        Ok(is_allowed) => is_allowed,
                        Err(error) => {
                            failed = Some(error);
                            true
                        }
                    });
                    failed.map_or(Ok(()), Err)?;
                }
            }
            KnownView::Facts(_) => {}
        }
        Ok(files)
    }
}

/// Lists the paths of each text of a base.
fn find_paths(base: &dyn Base) -> Result<BTreeMap<String, Vec<String>>, EffectError> {
    let mut paths: BTreeMap<String, Vec<String>> = BTreeMap::new();
    walk_all_files(base, |path, id| {
        paths.entry(id).or_default().push(path);
    })?;
    Ok(paths)
}

/// Finds a path of a text under which one of the policies withholds it. `None` if all of them allow it.
fn find_refusal<'p>(
    paths: impl Iterator<Item = &'p String>,
    id: &str,
    base: &dyn Base,
    sets: &[&PolicySet],
    tool: &ToolFacts,
) -> Result<Option<Withheld>, EffectError> {
    for path in paths {
        for set in sets {
            if !is_allowed(&set.read_policy(tool), path, id, base)? {
                let text = base.read(id).map_err(|error| unreadable_base(&error))?;
                return Ok(Some(word_refusal(path, &set.decide_read(path, &text, tool))));
            }
        }
    }
    Ok(None)
}

fn is_allowed(reading: &ReadPolicy<'_>, path: &str, id: &str, base: &dyn Base) -> Result<bool, EffectError> {
    let mut failed = None;
    let effect = reading.read_effect(path, || match base.read(id) {
        Ok(text) => text.to_vec(),
        Err(error) => {
            failed = Some(unreadable_base(&error));
            Vec::new()
        }
    });
    failed.map_or(Ok(effect == Effect::Allow), Err)
}

fn word_refusal(path: &str, decision: &Decision) -> Withheld {
    Withheld {
        path: path.to_owned(),
        why: format!("an earlier program could read it: {}", first_reason(decision)),
    }
}

fn unknown_view(view: &EarlierView) -> Withheld {
    let path = view
        .base
        .as_ref()
        .map_or("the files of the earlier run", |(commit, _)| commit);
    Withheld {
        path: path.to_owned(),
        why: "an earlier program could read its files, and they are not known any more".to_owned(),
    }
}
