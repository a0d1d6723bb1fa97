//! Decides for many files at once whether one tool may read them.
//!
//! Owns: the answer of [`PolicySet::decide_read`] without its reasons, usually at the cost of matching the name.
//! Never: looks at content that cannot change the answer.

use std::collections::BTreeSet;

use agentos_landing::RepoPath;

use crate::digest::hash_parts;
use crate::file::{Action, FindingKind};
use crate::glob::fold_name;
use crate::loss::{FileLoss, LargestLosses};
use crate::question::{EnumSet, Question, read_question};
use crate::set::PolicySet;
use crate::touch::TouchSet;
use crate::{Effect, Rule, ToolFacts};

/// Findings that are possible in a file that is only read; the other kinds are about changes.
const IN_A_FILE: [FindingKind; 5] = [
    FindingKind::Bidi,
    FindingKind::Invisible,
    FindingKind::MaybeSecret,
    FindingKind::Nul,
    FindingKind::Secret,
];

/// Rules about reading that apply to one tool at one time, selected once for many files.
#[derive(Debug)]
pub struct ReadPolicy<'p> {
    set: &'p PolicySet,
    open: Vec<usize>,
    /// True if one of the rules asks which part of a project a file is. Looking a name up costs ten times as much as the rest.
    asks_parts: bool,
    tool: &'p ToolFacts,
}

impl PolicySet {
    /// Selects the rules that apply when `tool` reads a file.
    #[must_use]
    pub fn read_policy<'p>(&'p self, tool: &'p ToolFacts) -> ReadPolicy<'p> {
        let mut open = self.active_indices(tool);
        open.retain(|index| self.rules().get(*index).is_some_and(Rule::is_about_reading));
        let mut rules = open.iter().filter_map(|index| self.rules().get(*index));
        ReadPolicy {
            set: self,
            asks_parts: rules.any(Rule::asks_parts),
            open,
            tool,
        }
    }

    /// Returns the files whose readers alone may read the file at `path`, besides those whom the rules about `path` name: a copy of a copy has
    /// the readers of the first text too.
    pub(crate) fn same_readers_of(&self, path: &str) -> Vec<&RepoPath> {
        let mut found: Vec<&RepoPath> = Vec::new();
        if self.same_readers.is_empty() {
            return found;
        }
        // Files can be copies of each other, so each name is followed once.
        let (mut seen, mut next) = (BTreeSet::new(), vec![fold_name(path)]);
        while let Some(name) = next.pop() {
            let of = self.same_readers.get(&name).into_iter().flatten();
            if seen.insert(name) {
                found.extend(of.clone());
                next.extend(of.map(|of| fold_name(of.as_str())));
            }
        }
        found
    }

    pub(crate) fn has_same_readers(&self) -> bool {
        !self.same_readers.is_empty()
    }
}

impl ReadPolicy<'_> {
    /// Returns the answer of [`PolicySet::decide_read`] about a file. `content` is called only if the content can
    /// change the answer.
    pub fn read_effect(&self, path: &str, content: impl FnOnce() -> Vec<u8>) -> Effect {
        let Ok(path) = RepoPath::of_shown(path) else {
            return Effect::Deny;
        };
        let of = self.set.same_readers_of(path.as_str());
        if of.is_empty() {
            return self.effect_of(&path, content);
        }
        let content = content();
        let others = of.iter().map(|of| self.effect_of(of, || content.clone())).max();
        self.effect_of(&path, || content.clone())
            .max(others.unwrap_or(Effect::Allow))
    }

    /// Returns true if a rule withholds the file by its name, whatever its content is.
    #[must_use]
    pub fn withholds_name(&self, path: &str) -> bool {
        self.read_effect(path, Vec::new) != Effect::Allow
    }

    /// Returns true if some rule withholds files by their names. Without such a rule no name need be asked about.
    #[must_use]
    pub fn may_withhold_names(&self) -> bool {
        let rules = || self.open.iter().filter_map(|index| self.set.rules().get(*index));
        // A layer that builds on a preset denies what none of its rules allows.
        let is_open = self.set.layer_presets().iter().all(|standing| {
            let mut of_layer = rules().filter(|rule| rule.layer == standing.layer);
            of_layer.any(Rule::allows_every_read)
        });
        !is_open || self.set.has_same_readers() || rules().any(Rule::withholds_names)
    }

    fn effect_of(&self, path: &RepoPath, content: impl FnOnce() -> Vec<u8>) -> Effect {
        let asked = match self.asks_parts {
            true => self.set.match_path(path.as_str()),
            false => self.set.match_globs(path.as_str()),
        };
        let bare = self.question(EnumSet::default(), asked.touches);
        let full = self.question(EnumSet::from_values(&IN_A_FILE), asked.touches);
        let of = |question| self.set.strictest_effect(&self.open, question, &asked.hits);
        // A finding only adds rules that match. If the answer is allow without any finding and with all of them, it
        // is allow whatever the content is, and the file need not be read.
        if of(&bare) == Effect::Allow && of(&full) == Effect::Allow {
            return Effect::Allow;
        }
        of(&read_question(path, &content(), asked.touches, self.tool))
    }

    /// Returns a key under which answers may be cached: two values with the same key answer alike for every file.
    #[must_use]
    pub fn cache_key(&self) -> String {
        let open: Vec<String> = self.open.iter().map(ToString::to_string).collect();
        let mut rules = self.open.iter().filter_map(|index| self.set.rules().get(*index));
        // Numbers that a rule limits, which the selection of rules does not reflect. They change with each turn, so only where they count.
        let numbers = match rules.any(Rule::has_limits) {
            true => format!("{} {}", self.tool.attempt, self.tool.context_bytes),
            false => String::new(),
        };
        hash_parts(["agentos reading 3", self.set.sha256(), &open.join(" "), &numbers])
    }

    fn question(&self, findings: EnumSet<FindingKind>, touches: TouchSet) -> Question<'_> {
        Question {
            action: Action::Read,
            kinds: EnumSet::default(),
            findings,
            touches,
            added: 0,
            removed: 0,
            bytes: 0,
            files: 1,
            deleted: 0,
            loss: FileLoss::default(),
            lost_files: 0,
            largest: LargestLosses::default(),
            tool: self.tool,
        }
    }
}
