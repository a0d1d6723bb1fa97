//! Collects the rules that matched.
//!
//! Owns: one entry for each ask and deny, one for each allowing rule however many paths it allowed. Never: drops a
//! rule that matched.

use crate::{Effect, Reason, Rule, group};

/// Reasons in the order in which rules matched.
#[derive(Debug, Default)]
pub(crate) struct ReasonList {
    list: Vec<Reason>,
    /// Index in `list` of the single entry of an allowing rule, by rule.
    allowed: Vec<Option<usize>>,
}

impl ReasonList {
    pub(crate) fn add_reason(&mut self, reason: Reason) {
        self.list.push(reason);
    }

    pub(crate) fn add_rule(&mut self, index: usize, rule: &Rule, path: Option<&str>) {
        match rule.effect {
            Effect::Ask | Effect::Deny => self.list.push(rule.to_reason(path)),
            // Every path of a change is allowed by some rule. One entry per rule keeps the report short; asks and
            // denies are listed one by one because a person has to see each.
            Effect::Allow => {
                if self.allowed.len() <= index {
                    self.allowed.resize(index + 1, None);
                }
                let Some(place) = self.allowed.get_mut(index) else {
                    return;
                };
                match place.and_then(|at| self.list.get_mut(at)) {
                    Some(reason) => reason.and_more += 1,
                    None => {
                        *place = Some(self.list.len());
                        self.list.push(rule.to_reason(path));
                    }
                }
            }
        }
    }

    /// Returns the reasons, each once: strictest first, then by rule, the rarest rule first.
    pub(crate) fn into_sorted(self) -> Vec<Reason> {
        group::sort_reasons(self.list)
    }
}
