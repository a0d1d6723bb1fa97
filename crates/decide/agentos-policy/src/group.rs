//! Reasons gathered for a person who has to agree.
//!
//! Owns: one group for each rule that matched, the rarest first. Never: leaves a rule out; it shortens only the
//! paths of one rule, and says how many there are.

use schemars::JsonSchema;
use serde::Serialize;

use crate::{Effect, Reason};

/// How many paths of one rule are named.
const NAMED_PATHS: usize = 5;

/// One rule that matched, with what it matched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Group<'a> {
    /// The rule's id.
    pub rule: &'a str,
    /// What it answers.
    pub effect: Effect,
    /// Why it is there, in the rule's words.
    pub why: &'a str,
    /// What to do about it, in the rule's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<&'a str>,
    /// The first five of the paths it matched, sorted; untrusted text, escape it for a terminal.
    pub paths: Vec<&'a str>,
    /// How many paths it matched; 0 when it matched the change as a whole. An allow names one path only and counts
    /// the questions it answered.
    pub count: u64,
}

/// Puts the reasons of one rule next to each other: the strictest first, then the rule with the fewest reasons, so
/// that many of one rule never hide another; then by layer and place. Each reason once.
pub(crate) fn order(mut reasons: Vec<Reason>) -> Vec<Reason> {
    reasons.sort_by(|a, b| {
        (b.effect, a.layer, &a.source, a.line, &a.rule, &a.path)
            .cmp(&(a.effect, b.layer, &b.source, b.line, &b.rule, &b.path))
    });
    // A rule may answer two questions about one path.
    reasons.dedup();
    let mut groups: Vec<&[Reason]> = reasons.chunk_by(same_rule).collect();
    groups.sort_by_key(|group| {
        let first = group.first().map(|reason| std::cmp::Reverse(reason.effect));
        (first, size(group))
    });
    groups.concat()
}

/// One group for each rule. The reasons must come as [`order`] leaves them.
pub(crate) fn groups(reasons: &[Reason]) -> Vec<Group<'_>> {
    reasons.chunk_by(same_rule).filter_map(group).collect()
}

fn group(reasons: &[Reason]) -> Option<Group<'_>> {
    let first = reasons.first()?;
    let paths = || reasons.iter().filter_map(|reason| reason.path.as_deref());
    let further: u64 = reasons.iter().map(|reason| reason.and_more).sum();
    Some(Group {
        rule: &first.rule,
        effect: first.effect,
        why: &first.why,
        fix: first.fix.as_deref(),
        paths: paths().take(NAMED_PATHS).collect(),
        count: (paths().count() as u64).saturating_add(further),
    })
}

fn size(group: &[Reason]) -> u64 {
    group.iter().map(|reason| reason.and_more.saturating_add(1)).sum()
}

fn same_rule(a: &Reason, b: &Reason) -> bool {
    (a.layer, &a.source, a.line, &a.rule, a.effect) == (b.layer, &b.source, b.line, &b.rule, b.effect)
}
