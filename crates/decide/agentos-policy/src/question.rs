//! Questions about a change, or about a file to be read.
//!
//! Owns: the facts of each question. Never: answers one.

use std::collections::HashMap;
use std::marker::PhantomData;

use agentos_landing::{Change, ChangeKind, FileChange, FileMode, FileState, Findings, RepoPath, ResultFacts};
use agentos_tool::{Enforcement, ExecutionMode, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::FactsSummary;
use crate::file::{Action, FileKind, FindingKind};
use crate::loss::{FileLoss, LargestLosses};
use crate::rule::{LIMITS, Rule};
use crate::time::WeekMoment;
use crate::touch::TouchSet;

/// Result of matching a path: for each rule whether its path condition holds, and what the path belongs to.
pub(crate) struct PathMatch {
    pub(crate) hits: Vec<bool>,
    pub(crate) touches: TouchSet,
    /// Part that comes from links of the base. `None` if no link leads to the path.
    pub(crate) linked: Option<LinkedMatch>,
}

/// The part of a match that comes from other names of the path.
pub(crate) struct LinkedMatch {
    /// Match of the path's own name.
    pub(crate) own_hits: Vec<bool>,
    pub(crate) own_touches: TouchSet,
    /// Each other name with its match.
    pub(crate) names: Vec<(String, Vec<bool>, TouchSet)>,
}

impl PathMatch {
    /// Describes the other name by which a rule matches. `None` if the rule also matches the path's own name.
    pub(crate) fn describe_other_name(&self, index: usize, rule: &Rule, touches: TouchSet) -> Option<String> {
        let linked = self.linked.as_ref()?;
        let matches = |hits: &[bool], touches: TouchSet| {
            let parts = [rule.conditions.touches, rule.conditions.ecosystems];
            (!rule.needs_path || hits.get(index).copied().unwrap_or(false))
                && parts.into_iter().flatten().all(|set| set.intersects(touches))
        };
        // What the content adds belongs to every name.
        let by_content = touches.difference(self.touches);
        if matches(&linked.own_hits, linked.own_touches.union(by_content)) {
            return None;
        }
        let mut names = linked.names.iter();
        Some(
            match names.find(|(_, hits, touches)| matches(hits, touches.union(by_content))) {
                Some((name, ..)) => format!("also reached as `{name}`"),
                None => "also reached by links under many names".to_owned(),
            },
        )
    }
}

/// Tool that made the change, and the circumstances in which it did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolFacts {
    /// Provider, as in `lmstudio`; `patch` for a diff from a file.
    pub provider: String,
    /// Model. `None` if it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Place where the tool works.
    pub execution_mode: ExecutionMode,
    /// Confinement of the tool while it worked.
    pub enforcement: Enforcement,
    /// Number of the attempt; the first is 1.
    pub attempt: u32,
    /// Time of the decision.
    pub at: Timestamp,
    /// Bytes of context that were sent to the tool; 0 for a diff from a file.
    pub context_bytes: u64,
    /// Ref that the change will move, as in `refs/heads/main`; without a commit, the branch that is checked out, or
    /// `HEAD` if there is none. `None` if no target is known, which only the glob `**` matches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_ref: Option<String>,
    /// True if exactly this change passed the check that the user named, in a sandbox, on the commit it is made for.
    #[serde(default)]
    pub checked: bool,
}

impl ToolFacts {
    pub(crate) fn week_moment(&self) -> WeekMoment {
        WeekMoment::from_timestamp(&self.at)
    }
}

/// Question with all facts that rules can test.
#[derive(Debug, Clone)]
pub(crate) struct Question<'a> {
    pub(crate) action: Action,
    pub(crate) kinds: EnumSet<FileKind>,
    pub(crate) findings: EnumSet<FindingKind>,
    pub(crate) touches: TouchSet,
    pub(crate) added: u64,
    pub(crate) removed: u64,
    pub(crate) bytes: u64,
    pub(crate) files: u64,
    pub(crate) deleted: u64,
    /// Loss of the file. For the whole change: its lines before and after, and nothing else.
    pub(crate) loss: FileLoss,
    /// Number of files that the whole change takes away.
    pub(crate) lost_files: u64,
    /// Files that lose most, in words. Empty unless the question is about the whole change.
    pub(crate) largest: LargestLosses,
    pub(crate) tool: &'a ToolFacts,
}

impl Question<'_> {
    /// Returns the numbers that limits apply to, in the order of a rule's limits.
    pub(crate) fn limited_numbers(&self) -> [u64; LIMITS] {
        [
            self.added,
            self.removed,
            self.added.saturating_add(self.removed),
            self.bytes,
            self.files,
            self.deleted,
            self.lost_files,
            self.loss.old_lines,
            self.loss.net_removed(),
            self.loss.lost_percent(),
            u64::from(self.tool.attempt),
            self.tool.context_bytes,
        ]
    }
}

impl Question<'_> {
    /// Describes the loss that a limit is about, with numbers and the files that lose most. `None` if the limit is not about a
    /// loss.
    pub(crate) fn describe_loss(&self, limit: &str) -> Option<String> {
        let name_files = |count: u64, names: &[String]| {
            let more = count.saturating_sub(names.len() as u64);
            let more = if more > 0 {
                format!(" and {more} more")
            } else {
                String::new()
            };
            format!("{}{more}", names.join(", "))
        };
        match limit {
            "lost_files" => {
                let names = name_files(self.lost_files, &self.largest.gone);
                Some(format!("{} ({names})", self.lost_files))
            }
            "net_removed" if self.largest.shorter.is_empty() => {
                Some(format!("{} lines", self.loss.net_removed()))
            }
            "net_removed" => {
                let names = self.largest.shorter.join(", ");
                Some(format!("{} lines, most in {names}", self.loss.net_removed()))
            }
            "lost_percent" => Some(format!(
                "{} of {} lines",
                self.loss.lost_lines, self.loss.old_lines
            )),
            _ => None,
        }
    }
}

/// Set of values of one of this crate's enums, as bits.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct EnumSet<T>(u32, PhantomData<T>);

impl<T> Clone for EnumSet<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for EnumSet<T> {}

impl<T> Default for EnumSet<T> {
    fn default() -> Self {
        Self(0, PhantomData)
    }
}

impl<T: Copy + EnumOrdinal> EnumSet<T> {
    pub(crate) fn from_values(values: &[T]) -> Self {
        let mut set = Self::default();
        values.iter().for_each(|value| set.insert(*value));
        set
    }

    pub(crate) fn insert(&mut self, value: T) {
        self.0 |= 1 << value.ordinal();
    }

    pub(crate) fn contains(self, value: T) -> bool {
        self.0 & (1 << value.ordinal()) != 0
    }

    pub(crate) fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    pub(crate) fn union(self, other: Self) -> Self {
        Self(self.0 | other.0, PhantomData)
    }
}

/// Position of a value in its enum.
pub(crate) trait EnumOrdinal {
    /// Returns the position, which is below 32.
    fn ordinal(self) -> u32;
}

impl EnumOrdinal for Action {
    fn ordinal(self) -> u32 {
        self as u32
    }
}

impl EnumOrdinal for FileKind {
    fn ordinal(self) -> u32 {
        self as u32
    }
}

impl EnumOrdinal for FindingKind {
    fn ordinal(self) -> u32 {
        self as u32
    }
}

/// Groups findings by path.
pub(crate) fn findings_by_path(findings: &Findings) -> HashMap<&str, EnumSet<FindingKind>> {
    let lists = [
        (FindingKind::Secret, &findings.secrets),
        (FindingKind::Bidi, &findings.bidi),
        (FindingKind::Invisible, &findings.invisible),
        (FindingKind::Nul, &findings.nul),
        (FindingKind::MaybeSecret, &findings.maybe_secrets),
        (FindingKind::DiffText, &findings.diff_texts),
    ];
    let mut by_path: HashMap<&str, EnumSet<FindingKind>> = HashMap::new();
    for (kind, list) in lists {
        for finding in list {
            by_path.entry(finding.path.as_str()).or_default().insert(kind);
        }
    }
    by_path
}

/// Returns the actions that are asked about for one path. Each is asked separately, so that a rule that allows one
/// does not allow another.
pub(crate) fn file_actions(file: &FileChange) -> Vec<Action> {
    let mut actions = Vec::with_capacity(2);
    actions.push(match file.kind() {
        ChangeKind::Create => Action::Create,
        ChangeKind::Modify => Action::Modify,
        ChangeKind::Delete => Action::Delete,
        ChangeKind::Chmod => Action::Chmod,
    });
    if file.renamed_from.is_some() {
        actions.push(Action::Rename);
    }
    let mode_differs = file
        .old
        .as_ref()
        .zip(file.new.as_ref())
        .is_some_and(|(old, new)| old.mode != new.mode);
    // A change of the mode alone has the kind `Chmod` already.
    if file.kind() == ChangeKind::Modify && mode_differs {
        actions.push(Action::Chmod);
    }
    actions
}

/// Returns the kinds of a file. A file that is binary or a link on either side is one: the diff shows both sides.
pub(crate) fn file_kinds(file: &FileChange) -> EnumSet<FileKind> {
    let mut kinds = EnumSet::default();
    let sides = || [&file.old, &file.new].into_iter().flatten();
    // A change of the mode alone shows no content.
    let is_shown = file.kind() != ChangeKind::Chmod;
    kinds.insert(if is_shown && sides().any(FileState::is_binary) {
        FileKind::Binary
    } else {
        FileKind::Text
    });
    if sides().any(|state| state.mode == FileMode::Symlink) {
        kinds.insert(FileKind::Symlink);
    }
    let leads_out = |new: &FileState| {
        new.mode == FileMode::Symlink && agentos_landing::check_link(&file.path, &new.content).is_err()
    };
    if file.new.as_ref().is_some_and(leads_out) {
        kinds.insert(FileKind::OutsideLink);
    }
    let executable = |state: &Option<FileState>| {
        state
            .as_ref()
            .is_some_and(|state| state.mode == FileMode::Executable)
    };
    if executable(&file.new) {
        kinds.insert(FileKind::Executable);
        if !executable(&file.old) {
            kinds.insert(FileKind::NewExecutable);
        }
    }
    kinds
}

/// Counts what a change does. The decision fills in what the change touches and what was found.
pub(crate) fn count_change(change: &Change) -> FactsSummary {
    let count = |kind: ChangeKind| change.files().iter().filter(|file| file.kind() == kind).count() as u64;
    let stats = change.stats();
    FactsSummary {
        files: change.files().len() as u64,
        added: stats.added,
        removed: stats.removed,
        created: count(ChangeKind::Create),
        deleted: count(ChangeKind::Delete),
        touches: Vec::new(),
        findings: Vec::new(),
    }
}

/// Change together with what was found in it and in the tree that results from it.
#[derive(Clone, Copy)]
pub(crate) struct InspectedChange<'a> {
    pub(crate) change: &'a Change,
    pub(crate) facts: &'a ResultFacts,
    pub(crate) findings: &'a Findings,
}

impl<'a> InspectedChange<'a> {
    pub(crate) fn new(change: &'a Change, facts: &'a ResultFacts, findings: &'a Findings) -> Self {
        Self {
            change,
            facts,
            findings,
        }
    }
}

/// Receives a question. The second argument is the path with its match; `None` for the whole change.
pub(crate) type QuestionSink<'p, 't> = &'p mut dyn FnMut(&Question<'t>, Option<(&str, &PathMatch)>);

/// Builds the question about a file to be read, from its name and from the findings in its whole content.
pub(crate) fn read_question<'t>(
    path: &RepoPath,
    content: &[u8],
    touches: TouchSet,
    tool: &'t ToolFacts,
) -> Question<'t> {
    let findings = agentos_landing::scan_file(path, content);
    Question {
        action: Action::Read,
        kinds: EnumSet::default(),
        findings: findings_by_path(&findings)
            .get(path.as_str())
            .copied()
            .unwrap_or_default(),
        touches,
        added: 0,
        removed: 0,
        bytes: 0,
        files: 1,
        deleted: 0,
        loss: FileLoss::default(),
        lost_files: 0,
        largest: LargestLosses::default(),
        tool,
    }
}
