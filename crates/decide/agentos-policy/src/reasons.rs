//! Collects the rules that matched.
//!
//! Owns: one entry for each ask and deny, one for each allowing rule however many paths it allowed. Never: drops a
//! rule that matched.

use crate::{Effect, Reason, Rule, group};

/// Reasons as they come.
#[derive(Debug, Default)]
pub(crate) struct Reasons {
    list: Vec<Reason>,
    /// For each rule, where the one entry of an allowing one is.
    allowed: Vec<Option<usize>>,
}

impl Reasons {
    pub(crate) fn add(&mut self, reason: Reason) {
        self.list.push(reason);
    }

    pub(crate) fn add_rule(&mut self, index: usize, rule: &Rule, path: Option<&str>) {
        match rule.effect {
            Effect::Ask | Effect::Deny => self.list.push(rule.reason(path)),
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
                        self.list.push(rule.reason(path));
                    }
                }
            }
        }
    }

    /// Strictest first, then by rule, the rarest first; each once.
    pub(crate) fn sorted(self) -> Vec<Reason> {
        group::order(self.list)
    }
}
