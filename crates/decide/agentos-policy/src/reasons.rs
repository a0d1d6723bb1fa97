//! Collects the rules that matched.
//!
//! Owns: one entry for each ask and deny, one for each allowing rule however many paths it allowed. Never: drops a
//! rule that matched.

use agentos_landing::RefusalCode;

use crate::{Effect, Layer, Reason, Rule, TakenText, group};

/// Rule of a change that has text of a file that policy withholds from its proposer.
pub const WITHHELD_TEXT: &str = "withheld-text";
/// Rule of any change of such a proposer, after several that had such text.
pub const WITHHELD_OFTEN: &str = "withheld-often";

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

    pub(crate) fn add_rule(&mut self, index: usize, rule: &Rule, path: Option<&str>, found: Option<String>) {
        match rule.effect {
            Effect::Ask | Effect::Deny => self.list.push(rule.to_reason(path, found)),
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
                        self.list.push(rule.to_reason(path, found));
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

/// Makes the reason of a layer without a rule that matches.
pub(crate) fn no_rule_reason(layer: Layer, path: Option<&str>) -> Reason {
    Reason {
        rule: "no-rule".to_owned(),
        layer,
        source: format!("{} policy", layer.as_str()),
        line: None,
        effect: Effect::Deny,
        why: "no rule allows this".to_owned(),
        found: None,
        fix: Some(format!(
            "add a rule that allows it to the {} policy",
            layer.as_str()
        )),
        path: path.map(str::to_owned),
        and_more: 0,
        code: RefusalCode::ProtectedPath,
    }
}

/// Makes the reason of a path that cannot be safe.
pub(crate) fn unsafe_path_reason(path: &str, code: RefusalCode, message: &str) -> Reason {
    Reason {
        rule: "safe-path".to_owned(),
        why: message.to_owned(),
        fix: None,
        code,
        ..no_rule_reason(Layer::Floor, Some(path))
    }
}

/// Makes the reason of a change that adds text of a file which policy withholds from `reader`. `None` stands for models of a cloud.
#[must_use]
pub fn taken_reason(taken: &TakenText, reader: Option<&str>) -> Reason {
    let reader = reader.map_or_else(|| "models of a cloud".to_owned(), |name| format!("`{name}`"));
    let why = format!(
        "takes lines of `{}`, which policy withholds from {reader}",
        taken.from
    );
    withheld_reason(WITHHELD_TEXT, why, Some(&taken.path))
}

/// Makes the reason of a change for which a file was opened that policy withholds from `reader`.
#[must_use]
pub fn opened_reason(path: &str, reader: &str) -> Reason {
    let why = format!("changes or copies a file that policy withholds from `{reader}`");
    withheld_reason(WITHHELD_TEXT, why, Some(path))
}

/// Makes the reason of a change of a proposer from whom files are withheld, after several changes that had text of such files.
#[must_use]
pub fn often_reason(changes: usize) -> Reason {
    let why = format!("{changes} changes of the last day have text of withheld files, so each change waits");
    withheld_reason(WITHHELD_OFTEN, why, None)
}

fn withheld_reason(rule: &str, why: String, path: Option<&str>) -> Reason {
    Reason {
        rule: rule.to_owned(),
        source: "built-in".to_owned(),
        effect: Effect::Ask,
        why,
        fix: None,
        ..no_rule_reason(Layer::Floor, path)
    }
}
