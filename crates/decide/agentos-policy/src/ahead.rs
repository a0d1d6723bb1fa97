//! Decides before there is a change: finds the deny that no change can avoid.
//!
//! A call of a tool costs time and money, and its answer is lost if policy denies every change that the tool could make. Before
//! the call only a part of each question is known, so a rule matches it in one of three ways:
//!
//! | Condition of the rule | Known before the call | The rule matches |
//! |---|---|---|
//! | provider, model, mode, confinement, checked, target, action, attempt | yes | always or never |
//! | `paths`, `except_paths` | for a named path | always or never |
//! | `touches`, `ecosystems` | what a named path belongs to by its name; content can only add to it | always or maybe |
//! | `hours`, `weekdays` | no: the decision comes later than the call | maybe, if the rest matches |
//! | kinds, findings, counts of lines and files, bytes of context | no | maybe |
//!
//! A deny that always matches is final, and so is a layer with a preset none of whose rules can match: reasons only add up.
//!
//! Owns: the answer that is certain. Never: allows anything; a change is judged as a whole once it exists.

use crate::file::Action;
use crate::reasons::{ReasonList, no_rule_reason};
use crate::set::PolicySet;
use crate::touch::TouchSet;
use crate::{Decision, Effect, FactsSummary, Rule, ToolFacts};

/// Actions that a task about an existing file may need. A rename deletes the file at its old path. A change of the executable bit
/// alone is left out: nobody shows a tool a file's text for that.
const ON_A_FILE: [Action; 2] = [Action::Modify, Action::Delete];

/// The extent to which a condition is known to hold. Ordered, so that the minimum is the answer to several conditions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum MatchCertainty {
    Never,
    Maybe,
    Always,
}

impl MatchCertainty {
    fn of_known(holds: bool) -> Self {
        if holds { Self::Always } else { Self::Never }
    }

    fn of_unknown(is_stated: bool) -> Self {
        if is_stated { Self::Maybe } else { Self::Always }
    }
}

/// The known part of a question.
struct KnownQuestion<'a> {
    action: Action,
    /// The path. `None` for the change as a whole.
    path: Option<&'a str>,
    /// For each rule whether its globs accept the path. Empty for the change as a whole.
    hits: &'a [bool],
    /// Parts of the project that the change certainly touches.
    touches: TouchSet,
    tool: &'a ToolFacts,
}

impl PolicySet {
    /// Returns the deny that no change can avoid, from what is known before the tool is called. `None` if there may be a change
    /// that is not denied.
    ///
    /// `paths` are the existing files that the change is to be about; empty if they are not known. They decide only if every
    /// one of them may neither be modified nor deleted.
    #[must_use]
    pub fn deny_ahead(&self, paths: &[&str], tool: &ToolFacts) -> Option<Decision> {
        let whole = KnownQuestion {
            action: Action::Land,
            path: None,
            hits: &[],
            touches: TouchSet::default(),
            tool,
        };
        let mut reasons = ReasonList::default();
        let is_denied = self.add_certain_denies(&whole, &mut reasons)
            || self.denies_every_path(paths, tool, &mut reasons);
        if !is_denied {
            return None;
        }
        let decision = Decision::new(
            reasons.into_sorted(),
            FactsSummary::default(),
            None,
            self.sha256().to_owned(),
        );
        Some(decision)
    }

    /// Returns true if every action on every path is certainly denied, and adds the reasons for the first action on each.
    fn denies_every_path(&self, paths: &[&str], tool: &ToolFacts, reasons: &mut ReasonList) -> bool {
        let mut found = ReasonList::default();
        for path in paths {
            let asked = self.match_path(path);
            for (at, action) in ON_A_FILE.into_iter().enumerate() {
                let question = KnownQuestion {
                    action,
                    path: Some(path),
                    hits: &asked.hits,
                    touches: asked.touches,
                    tool,
                };
                let mut others = ReasonList::default();
                // The reasons for the other actions say the same again, or speak of an action that nobody wanted.
                let list = if at == 0 { &mut found } else { &mut others };
                if !self.add_certain_denies(&question, list) {
                    return false;
                }
            }
        }
        if paths.is_empty() {
            return false;
        }
        *reasons = found;
        true
    }

    /// Adds the denies that the question certainly meets. Returns true if there is one.
    fn add_certain_denies(&self, question: &KnownQuestion<'_>, reasons: &mut ReasonList) -> bool {
        // One bit for each layer with a preset; there are six layers.
        let (mut may_answer, mut is_denied) = (0_u32, false);
        for (index, (rule, layer)) in self.rules_with_layers().enumerate() {
            let hit = question.hits.get(index).copied().unwrap_or(false);
            match match_rule(rule, question, hit) {
                MatchCertainty::Never => continue,
                MatchCertainty::Always if rule.effect() == Effect::Deny => {
                    is_denied = true;
                    // A rule that certainly matches limits no loss.
                    reasons.add_rule(index, rule, question.path, None);
                }
                MatchCertainty::Maybe | MatchCertainty::Always => {}
            }
            if let Some(layer) = layer {
                may_answer |= 1 << layer;
            }
        }
        for (at, standing) in self.layer_presets().iter().enumerate() {
            if may_answer & (1 << at) == 0 {
                is_denied = true;
                reasons.add_reason(no_rule_reason(standing.layer, question.path));
            }
        }
        is_denied
    }
}

/// Returns how certainly a rule matches. `hit` says whether its globs accept the path.
fn match_rule(rule: &Rule, question: &KnownQuestion<'_>, hit: bool) -> MatchCertainty {
    let conditions = &rule.conditions;
    let is_known = rule.counts
        && rule.matches_caller(question.tool)
        && (!rule.needs_path || hit)
        && conditions.action.is_none_or(|set| set.contains(question.action));
    let parts = [conditions.touches, conditions.ecosystems];
    let touches = parts.into_iter().flatten().map(|set| {
        if set.intersects(question.touches) {
            MatchCertainty::Always
        } else {
            MatchCertainty::Maybe
        }
    });
    let limits = conditions.limits.iter().map(|limit| match limit.name {
        // The only number that is known before the call.
        "attempt" => MatchCertainty::of_known(limit.accepts(u64::from(question.tool.attempt))),
        _ => MatchCertainty::of_unknown(limit.is_stated()),
    });
    let unknown = [
        MatchCertainty::of_known(is_known),
        MatchCertainty::of_unknown(rule.tests_moment()),
        MatchCertainty::of_unknown(conditions.kinds.is_some()),
        MatchCertainty::of_unknown(conditions.findings.is_some()),
    ];
    // Every condition must hold, so the least certain one decides.
    let all = unknown.into_iter().chain(touches).chain(limits);
    all.min().unwrap_or(MatchCertainty::Never)
}
