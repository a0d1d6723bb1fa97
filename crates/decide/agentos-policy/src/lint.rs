//! Advice about rules that are valid and probably do not do what their author expects.
//!
//! Owns: the advice. Never: stops a load; an impossible rule is an error there.

use schemars::JsonSchema;
use serde::Serialize;

use crate::file::{Action, RuleText};
use crate::{Effect, Layer, PolicySet, Preset, Rule, RuleRef, built_in};

/// Topic of an advice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LintTopic {
    /// The rule is ignored in its layer.
    WithoutEffect,
    /// Another rule answers every question that it answers, at least as strictly.
    Shadowed,
    /// No question can meet its conditions.
    Unreachable,
    /// The rule allows everything.
    TooWide,
    /// The rule allows a change of any size.
    NoLimit,
    /// The rule has no examples.
    NoExamples,
}

impl LintTopic {
    /// Returns the word used in JSON and on the screen.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::WithoutEffect => "without-effect",
            Self::Shadowed => "shadowed",
            Self::Unreachable => "unreachable",
            Self::TooWide => "too-wide",
            Self::NoLimit => "no-limit",
            Self::NoExamples => "no-examples",
        }
    }
}

/// Advice about one rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LintAdvice {
    /// Topic of the advice.
    pub topic: LintTopic,
    /// Rule that the advice is about.
    pub rule: RuleRef,
    /// Description of the problem.
    pub message: String,
    /// Remedy.
    pub fix: String,
}

impl PolicySet {
    /// Checks the rules that people wrote. Built-in rules are skipped.
    #[must_use]
    pub fn lint(&self) -> Vec<LintAdvice> {
        let mut advice = Vec::new();
        let all: Vec<(&Rule, &RuleText)> = self.rules().iter().zip(&self.texts).collect();
        let shipped = list_shipped();
        for (index, (rule, text)) in all.iter().enumerate() {
            // Nobody can edit a built-in rule, so advice about one would only be noise.
            if rule.source.starts_with("built-in/") {
                continue;
            }
            let mut say = |topic, message: String, fix: &str| {
                advice.push(LintAdvice {
                    topic,
                    rule: RuleRef::from_rule(rule),
                    message,
                    fix: fix.to_owned(),
                });
            };
            if !rule.counts {
                say(
                    LintTopic::WithoutEffect,
                    format!(
                        "it is an allow rule, and the {} policy names no preset",
                        rule.layer.as_str()
                    ),
                    "allow rules need a preset in their layer: name one with `preset`, or remove the rule",
                );
                continue;
            }
            if let Some((field, why)) = find_unreachable(text) {
                say(
                    LintTopic::Unreachable,
                    format!("`{field}` {why}"),
                    "remove the rule or the condition",
                );
            }
            let shadow = all.iter().enumerate().find(|(other, (by, by_text))| {
                *other != index && shadows((by, by_text, *other), (rule, text, index))
            });
            if let Some((_, (by, _))) = shadow {
                say(
                    LintTopic::Shadowed,
                    format!(
                        "`{}` at {}:{} already answers every question that it answers",
                        by.id, by.source, by.line
                    ),
                    "remove one of the two, or narrow the other",
                );
            }
            // A rule of a preset as it was shipped is a decision of the preset, which the rules around it balance. Once
            // somebody edits it, it is a rule of their own.
            if shipped.contains(&format!("{text:?}")) {
                continue;
            }
            if rule.effect == Effect::Allow {
                check_wide_allow(rule, text, &mut say);
            }
            if text.examples.matching.is_empty() && text.examples.other.is_empty() {
                say(
                    LintTopic::NoExamples,
                    "it has no examples".to_owned(),
                    "add `[rule.examples]` with `match` and `no_match`; they are checked whenever the file is loaded",
                );
            }
        }
        advice
    }
}

/// Returns the rules of all presets, in a form that can be compared.
fn list_shipped() -> Vec<String> {
    let rules = Preset::WITH_RULES.into_iter().filter_map(|preset| {
        let rules = built_in::read(&preset.source_name(), built_in::preset_json(preset)).ok()?;
        Some(rules.into_iter().map(|shipped| format!("{:?}", shipped.rule)))
    });
    rules.flatten().collect()
}

/// Checks an allow that permits more than its author may expect.
fn check_wide_allow(rule: &Rule, text: &RuleText, say: &mut impl FnMut(LintTopic, String, &str)) {
    let edits = |actions: &[Action]| {
        actions.iter().any(|action| {
            matches!(
                action,
                Action::Create | Action::Modify | Action::Delete | Action::Rename
            )
        })
    };
    if is_unconditional(rule, text) {
        say(
            LintTopic::TooWide,
            "it allows everything, including reading by any model and changes of executable bits".to_owned(),
            "state `action`, and `paths` or `touches`",
        );
    }
    let limited = [
        text.max_added,
        text.max_removed,
        text.max_lines,
        text.max_bytes,
        text.max_files,
        text.max_deleted,
        text.max_lost_files,
        text.max_net_removed,
        text.max_lost_percent,
    ];
    let sized = text
        .action
        .as_deref()
        .is_none_or(|actions| edits(actions) || actions.contains(&Action::Land));
    if sized && limited.iter().all(Option::is_none) {
        say(
            LintTopic::NoLimit,
            "it allows a change of any size".to_owned(),
            "add `max_lines` or `max_files`, or a rule that asks above such a limit",
        );
    }
}

/// Returns true if the rule states no condition.
fn is_unconditional(rule: &Rule, text: &RuleText) -> bool {
    let lists = [
        text.action.is_some(),
        text.kinds.is_some(),
        text.provider.is_some(),
        text.model.is_some(),
        text.execution_mode.is_some(),
        text.enforcement.is_some(),
        text.checked.is_some(),
        text.target_ref.is_some(),
        text.except_target_ref.is_some(),
        text.findings.is_some(),
        text.touches.is_some(),
        text.ecosystems.is_some(),
        text.hours.is_some(),
        text.weekdays.is_some(),
    ];
    !rule.needs_path
        && !lists.contains(&true)
        && !rule.conditions.limits.iter().any(|limit| limit.is_stated())
}

/// Finds a condition that can never hold together with the rule's actions. `None` if there is none.
fn find_unreachable(text: &RuleText) -> Option<(&'static str, &'static str)> {
    let only = |allowed: &[Action]| {
        text.action
            .as_deref()
            .is_some_and(|actions| actions.iter().all(|action| allowed.contains(action)))
    };
    if text.kinds.is_some() && only(&[Action::Read]) {
        return Some(("kinds", "is not known for a file that is to be read"));
    }
    if text.findings.is_some() && only(&[Action::Delete, Action::Chmod]) {
        return Some(("findings", "are looked for in added text, and nothing is added"));
    }
    if text.max_files == Some(0) {
        return Some(("max_files", "is 0, and every change has a file"));
    }
    None
}

/// Returns true if the first rule answers every question that the second one answers, at least as strictly. Of two
/// equal rules the earlier one does.
fn shadows(
    (by, by_text, by_index): (&Rule, &RuleText, usize),
    (of, text, index): (&Rule, &RuleText, usize),
) -> bool {
    if !by.counts || by.effect < of.effect {
        return false;
    }
    // An allow counts for its own layer only, so that an equal allow of another layer is still needed.
    if of.effect == Effect::Allow && by.effect == Effect::Allow && by.layer != of.layer {
        return false;
    }
    if of.effect == Effect::Allow && by.effect > Effect::Allow && by.layer != of.layer {
        return false;
    }
    // A milder answer to the same question changes nothing; an equal one only repeats it.
    let covered = covers(by_text, text);
    let equal = covered && covers(text, by_text) && by.effect == of.effect;
    covered && (!equal || (by.layer, by_index) < (of.layer, index)) && by.layer != Layer::Floor
}

/// Returns true if the conditions of the first rule hold wherever those of the second do. False negatives are
/// possible: globs are compared as text.
fn covers(by: &RuleText, of: &RuleText) -> bool {
    fn list_covers<T: PartialEq>(by: Option<&Vec<T>>, of: Option<&Vec<T>>) -> bool {
        match (by, of) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(by), Some(of)) => of.iter().all(|one| by.contains(one)),
        }
    }
    fn value_covers<T: PartialEq>(by: Option<&T>, of: Option<&T>) -> bool {
        by.is_none() || by == of
    }
    let max = |by: Option<u64>, of: Option<u64>| by.is_none_or(|by| of.is_some_and(|of| of <= by));
    let over = |by: Option<u64>, of: Option<u64>| by.is_none_or(|by| of.is_some_and(|of| of >= by));
    let everything = |paths: &Option<Vec<String>>| {
        paths
            .as_ref()
            .is_some_and(|paths| paths.iter().any(|one| one == "**"))
    };
    list_covers(by.action.as_ref(), of.action.as_ref())
        // Globs are compared as text, except `**`: whether one glob covers another in general is not decided here,
        // and a missed advice does no harm.
        && (list_covers(by.paths.as_ref(), of.paths.as_ref()) || (everything(&by.paths) && of.paths.is_some()))
        && excludes_no_more(by.except_paths.as_ref(), of.except_paths.as_ref())
        && list_covers(by.target_ref.as_ref(), of.target_ref.as_ref())
        && excludes_no_more(by.except_target_ref.as_ref(), of.except_target_ref.as_ref())
        && list_covers(by.kinds.as_ref(), of.kinds.as_ref())
        && list_covers(by.provider.as_ref(), of.provider.as_ref())
        && list_covers(by.model.as_ref(), of.model.as_ref())
        && value_covers(by.execution_mode.as_ref(), of.execution_mode.as_ref())
        && value_covers(by.enforcement.as_ref(), of.enforcement.as_ref())
        && value_covers(by.checked.as_ref(), of.checked.as_ref())
        && list_covers(by.findings.as_ref(), of.findings.as_ref())
        && list_covers(by.touches.as_ref(), of.touches.as_ref())
        && list_covers(by.ecosystems.as_ref(), of.ecosystems.as_ref())
        && value_covers(by.hours.as_ref(), of.hours.as_ref())
        && list_covers(by.weekdays.as_ref(), of.weekdays.as_ref())
        && limits_cover(by, of, max, over)
}

/// Returns true if the second rule excludes everything that the first one excludes.
fn excludes_no_more(by: Option<&Vec<String>>, of: Option<&Vec<String>>) -> bool {
    by.is_none_or(|excluded| of.is_some_and(|also| excluded.iter().all(|one| also.contains(one))))
}

fn limits_cover(
    by: &RuleText,
    of: &RuleText,
    max: impl Fn(Option<u64>, Option<u64>) -> bool,
    over: impl Fn(Option<u64>, Option<u64>) -> bool,
) -> bool {
    [
        (by.max_added, of.max_added),
        (by.max_removed, of.max_removed),
        (by.max_lines, of.max_lines),
        (by.max_bytes, of.max_bytes),
        (by.max_files, of.max_files),
        (by.max_deleted, of.max_deleted),
        (by.max_lost_files, of.max_lost_files),
        (by.max_old_lines, of.max_old_lines),
        (by.max_net_removed, of.max_net_removed),
        (by.max_lost_percent, of.max_lost_percent),
        (by.max_attempt, of.max_attempt),
        (by.max_context_bytes, of.max_context_bytes),
    ]
    .into_iter()
    .all(|(by, of)| max(by, of))
        && [
            (by.over_added, of.over_added),
            (by.over_removed, of.over_removed),
            (by.over_lines, of.over_lines),
            (by.over_bytes, of.over_bytes),
            (by.over_files, of.over_files),
            (by.over_deleted, of.over_deleted),
            (by.over_lost_files, of.over_lost_files),
            (by.over_old_lines, of.over_old_lines),
            (by.over_net_removed, of.over_net_removed),
            (by.over_lost_percent, of.over_lost_percent),
            (by.over_attempt, of.over_attempt),
            (by.over_context_bytes, of.over_context_bytes),
        ]
        .into_iter()
        .all(|(by, of)| over(by, of))
}
