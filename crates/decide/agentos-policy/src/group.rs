//! Reasons grouped by rule, for a person who has to agree.
//!
//! Owns: one group for each rule that matched, the rarest rule first. Never: leaves a rule out; only the list of
//! paths of one rule is shortened, and the group says how many there are.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Serialize;

use crate::{Effect, Reason};

/// Number of paths that a group names.
const NAMED_PATHS: usize = 5;

/// Rule that matched, with the paths it matched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RuleGroup<'a> {
    /// Id of the rule.
    pub rule: &'a str,
    /// Effect of the rule.
    pub effect: Effect,
    /// Purpose of the rule, in its own words.
    pub why: &'a str,
    /// Details of the matches of the named paths, as in `72 of 75 lines` or `also reached as Makefile`. Empty if the rule needs none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub found: Vec<&'a str>,
    /// Remedy, in the rule's own words. `None` if the rule names none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<&'a str>,
    /// First five paths that the rule matched, sorted. Untrusted text: escape it for a terminal.
    pub paths: Vec<&'a str>,
    /// Number of paths that the rule matched. 0 if it matched the change as a whole. An allow names one path only and
    /// counts the questions it answered.
    pub count: u64,
}

impl RuleGroup<'_> {
    /// Returns the purpose of the rule, followed by the losses that it found.
    #[must_use]
    pub fn sentence(&self) -> Cow<'_, str> {
        match self.found.as_slice() {
            [] => Cow::Borrowed(self.why),
            found => Cow::Owned(format!("{}: {}", self.why, found.join(", "))),
        }
    }
}

/// Sorts reasons so that those of one rule are adjacent: strictest first, then the rule with the fewest reasons, then
/// by layer and position. Removes duplicates.
pub(crate) fn sort_reasons(mut reasons: Vec<Reason>) -> Vec<Reason> {
    reasons.sort_by(|a, b| {
        (b.effect, a.layer, &a.source, a.line, &a.rule, &a.path)
            .cmp(&(a.effect, b.layer, &b.source, b.line, &b.rule, &b.path))
    });
    // A rule that answers two questions about one path, such as `modify` and `chmod`, gives the same reason twice.
    reasons.dedup();
    let mut groups: Vec<&[Reason]> = reasons.chunk_by(same_rule).collect();
    // The rule with the fewest reasons comes first: a rule that matched a thousand paths must not push the one that
    // matched a single path off the screen.
    groups.sort_by_key(|group| {
        let first = group.first().map(|reason| std::cmp::Reverse(reason.effect));
        (first, count_answers(group))
    });
    groups.concat()
}

/// Groups reasons by rule. The input must be in the order of [`sort_reasons`].
pub(crate) fn group_reasons(reasons: &[Reason]) -> Vec<RuleGroup<'_>> {
    reasons.chunk_by(same_rule).filter_map(build_group).collect()
}

fn build_group(reasons: &[Reason]) -> Option<RuleGroup<'_>> {
    let first = reasons.first()?;
    let paths = || reasons.iter().filter_map(|reason| reason.path.as_deref());
    let found = reasons.iter().filter_map(|reason| reason.found.as_deref());
    let further: u64 = reasons.iter().map(|reason| reason.and_more).sum();
    Some(RuleGroup {
        rule: &first.rule,
        effect: first.effect,
        why: &first.why,
        found: found.take(NAMED_PATHS).collect(),
        fix: first.fix.as_deref(),
        paths: paths().take(NAMED_PATHS).collect(),
        count: (paths().count() as u64).saturating_add(further),
    })
}

fn count_answers(group: &[Reason]) -> u64 {
    group.iter().map(|reason| reason.and_more.saturating_add(1)).sum()
}

fn same_rule(a: &Reason, b: &Reason) -> bool {
    (a.layer, &a.source, a.line, &a.rule, a.effect) == (b.layer, &b.source, b.line, &b.rule, b.effect)
}
