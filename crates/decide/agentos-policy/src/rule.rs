//! A rule that has been checked and compiled.
//!
//! Owns: the answer of one rule to one question. Never: knows the other rules.

use agentos_landing::RefusalCode;
use agentos_tool::{Enforcement, ExecutionMode};
use globset::GlobSet;

use crate::fault::RuleFault;
use crate::file::{Action, FileKind, FindingKind, RuleText};
use crate::question::{EnumSet, Question};
use crate::time::{HourRange, Weekday};
use crate::touch::TouchSet;
use crate::{Effect, Layer, PolicyError, PolicySource, Reason, RuleRef, ToolFacts, glob};

mod check;

/// Number of facts that a rule can limit.
pub(crate) const LIMITS: usize = 12;

/// Checked rule of a policy set.
#[derive(Debug, Clone)]
pub struct Rule {
    pub(crate) id: String,
    pub(crate) layer: Layer,
    pub(crate) source: String,
    pub(crate) line: u32,
    pub(crate) effect: Effect,
    pub(crate) why: String,
    pub(crate) fix: Option<String>,
    pub(crate) code: RefusalCode,
    /// False for an allow in a layer that names no preset: such a layer only asks and denies.
    pub(crate) counts: bool,
    /// True if the rule matches only paths that its globs accept.
    pub(crate) needs_path: bool,
    pub(crate) conditions: RuleConditions,
}

/// Conditions of a rule, all of which must hold. A condition that is `None` always holds.
#[derive(Debug, Clone)]
pub(crate) struct RuleConditions {
    pub(crate) action: Option<EnumSet<Action>>,
    pub(crate) kinds: Option<EnumSet<FileKind>>,
    pub(crate) provider: Option<GlobSet>,
    pub(crate) model: Option<GlobSet>,
    pub(crate) execution_mode: Option<ExecutionMode>,
    pub(crate) enforcement: Option<Enforcement>,
    pub(crate) checked: Option<bool>,
    target_ref: Option<GlobSet>,
    except_target_ref: Option<GlobSet>,
    pub(crate) findings: Option<EnumSet<FindingKind>>,
    pub(crate) touches: Option<TouchSet>,
    pub(crate) ecosystems: Option<TouchSet>,
    pub(crate) hours: Option<Vec<HourRange>>,
    pub(crate) weekdays: Option<Vec<Weekday>>,
    pub(crate) limits: [NumberLimit; LIMITS],
    /// True if at least one of `limits` is stated. Most rules state none, and their comparisons are skipped.
    limited: bool,
}

/// Bounds on a number: more than `over` and at most `max`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NumberLimit {
    pub(crate) name: &'static str,
    /// Name of the field that states `max`.
    pub(crate) max_name: &'static str,
    pub(crate) over: Option<u64>,
    pub(crate) max: Option<u64>,
}

impl NumberLimit {
    pub(crate) fn accepts(self, number: u64) -> bool {
        self.over.is_none_or(|over| number > over) && self.max.is_none_or(|max| number <= max)
    }

    pub(crate) fn is_stated(self) -> bool {
        self.over.is_some() || self.max.is_some()
    }
}

impl RuleConditions {
    /// Returns true if the target ref is one of the rule's. Case is ignored because two refs that differ only in case
    /// are the same file on a case-insensitive file system.
    pub(crate) fn holds_for_target(&self, tool: &ToolFacts) -> bool {
        if self.target_ref.is_none() && self.except_target_ref.is_none() {
            return true;
        }
        // Without a known target no rule that names one may match: only `**` accepts the empty name.
        let target = glob::fold_name(tool.target_ref.as_deref().unwrap_or_default());
        let hits = |globs: &GlobSet| globs.is_match(&target);
        self.target_ref.as_ref().is_none_or(hits) && !self.except_target_ref.as_ref().is_some_and(hits)
    }
}

impl Rule {
    /// Returns the rule's id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the layer of the file that holds the rule.
    #[must_use]
    pub fn layer(&self) -> Layer {
        self.layer
    }

    /// Returns the name of the rule's file and the line on which the rule begins.
    #[must_use]
    pub fn place(&self) -> (&str, u32) {
        (&self.source, self.line)
    }

    /// Returns the rule's effect.
    #[must_use]
    pub fn effect(&self) -> Effect {
        self.effect
    }

    /// Returns the purpose of the rule.
    #[must_use]
    pub fn why(&self) -> &str {
        &self.why
    }

    /// Returns the remedy. `None` if the rule names none.
    #[must_use]
    pub fn fix(&self) -> Option<&str> {
        self.fix.as_deref()
    }

    /// Returns a serialisable reference to the rule.
    #[must_use]
    pub fn to_rule_ref(&self) -> RuleRef {
        RuleRef::from_rule(self)
    }

    /// Returns true if the rule is applied. An allow in a layer that names no preset is not.
    #[must_use]
    pub fn counts(&self) -> bool {
        self.counts
    }

    pub(crate) fn new(source: &PolicySource, line: u32, text: &RuleText) -> Result<Self, PolicyError> {
        let fault = |fault: RuleFault| fault.into_error(source, line, &text.id);
        check::check_rule(text).map_err(fault)?;
        let limits = number_limits(text);
        Ok(Self {
            id: text.id.clone(),
            layer: source.layer,
            source: source.name.clone(),
            line,
            effect: text.effect,
            why: text.why.trim().to_owned(),
            fix: text.fix.clone(),
            code: text.code.unwrap_or(RefusalCode::ProtectedPath),
            counts: true,
            needs_path: text.paths.is_some() || text.except_paths.is_some(),
            conditions: RuleConditions {
                action: text.action.as_deref().map(EnumSet::from_values),
                kinds: text.kinds.as_deref().map(EnumSet::from_values),
                provider: compile_name_globs("provider", text.provider.as_deref()).map_err(fault)?,
                model: compile_name_globs("model", text.model.as_deref()).map_err(fault)?,
                execution_mode: text.execution_mode,
                enforcement: text.enforcement,
                checked: text.checked,
                target_ref: compile_ref_globs("target_ref", text.target_ref.as_deref()).map_err(fault)?,
                except_target_ref: compile_ref_globs("except_target_ref", text.except_target_ref.as_deref())
                    .map_err(fault)?,
                findings: text.findings.as_deref().map(EnumSet::from_values),
                touches: text.touches.as_ref().map(|list| list.iter().copied().collect()),
                ecosystems: text
                    .ecosystems
                    .as_ref()
                    .map(|list| list.iter().copied().collect()),
                hours: text
                    .hours
                    .as_ref()
                    .map(|list| list.iter().filter_map(|one| HourRange::parse(one)).collect()),
                weekdays: text.weekdays.clone(),
                limited: limits.iter().any(|limit| limit.is_stated()),
                limits,
            },
        })
    }

    /// Returns true if the conditions on the tool and the time hold. They are the same for every question of a
    /// decision, so they are tested once.
    pub(crate) fn matches_tool(&self, tool: &ToolFacts) -> bool {
        self.matches_moment(tool) && self.matches_caller(tool)
    }

    /// Returns true if the rule can withhold a file of a commit by its name alone. A commit has no files of git.
    pub(crate) fn withholds_names(&self) -> bool {
        self.effect != Effect::Allow
            && self.is_about_reading()
            && self.conditions.findings.is_none()
            && self.code != RefusalCode::GitDir
    }

    /// Returns true if the rule lets its tools read every file.
    pub(crate) fn allows_every_read(&self) -> bool {
        let conditions = &self.conditions;
        self.effect == Effect::Allow
            && self.is_about_reading()
            && !self.needs_path
            && !conditions.limited
            && conditions.kinds.is_none()
            && conditions.findings.is_none()
            && !self.asks_parts()
    }

    /// Returns true if the rule can match when a file is read.
    pub(crate) fn is_about_reading(&self) -> bool {
        self.conditions.action.is_none_or(|of| of.contains(Action::Read))
    }

    /// Returns true if the rule limits a number.
    pub(crate) fn has_limits(&self) -> bool {
        self.conditions.limited
    }

    /// Returns true if the rule asks which part of a project a file is.
    pub(crate) fn asks_parts(&self) -> bool {
        self.conditions.touches.is_some() || self.conditions.ecosystems.is_some()
    }

    /// Returns true if the rule depends on the hour or the day.
    pub(crate) fn tests_moment(&self) -> bool {
        self.conditions.hours.is_some() || self.conditions.weekdays.is_some()
    }

    /// Returns true if the conditions on the hour and the day hold.
    fn matches_moment(&self, tool: &ToolFacts) -> bool {
        let conditions = &self.conditions;
        let moment = tool.week_moment();
        conditions
            .hours
            .as_ref()
            .is_none_or(|hours| hours.iter().any(|hours| hours.contains(moment.minute)))
            && conditions
                .weekdays
                .as_ref()
                .is_none_or(|days| days.contains(&moment.weekday))
    }

    /// Returns true if the conditions on the tool and the target hold: those that stay the same from the call of a tool to
    /// the decision about its change.
    pub(crate) fn matches_caller(&self, tool: &ToolFacts) -> bool {
        let conditions = &self.conditions;
        conditions
            .execution_mode
            .is_none_or(|mode| mode == tool.execution_mode)
            && conditions.enforcement.is_none_or(|held| held == tool.enforcement)
            && conditions.checked.is_none_or(|checked| checked == tool.checked)
            && conditions.holds_for_target(tool)
            && conditions
                .provider
                .as_ref()
                .is_none_or(|globs| globs.is_match(glob::fold_name(&tool.provider)))
            && conditions.model.as_ref().is_none_or(|globs| {
                globs.is_match(glob::fold_name(tool.model.as_deref().unwrap_or_default()))
            })
    }

    /// Returns true if the remaining conditions hold. `path_hit` says whether the rule's globs accept the path.
    pub(crate) fn matches_question(&self, question: &Question<'_>, path_hit: bool) -> bool {
        let conditions = &self.conditions;
        (!self.needs_path || path_hit)
            && conditions.action.is_none_or(|set| set.contains(question.action))
            && conditions
                .touches
                .is_none_or(|set| set.intersects(question.touches))
            && conditions.kinds.is_none_or(|set| set.intersects(question.kinds))
            && conditions
                .findings
                .is_none_or(|set| set.intersects(question.findings))
            && conditions
                .ecosystems
                .is_none_or(|set| set.intersects(question.touches))
            && (!conditions.limited
                || conditions
                    .limits
                    .iter()
                    .zip(question.limited_numbers())
                    .all(|(limit, number)| limit.accepts(number)))
    }

    /// Describes the loss that the rule limits, as in `72 of 75 lines`. `None` if the rule limits no loss, or allows.
    pub(crate) fn describe_loss(&self, question: &Question<'_>) -> Option<String> {
        if !self.conditions.limited || self.effect == Effect::Allow {
            return None;
        }
        let limits = self.conditions.limits.iter().filter(|limit| limit.is_stated());
        let words: Vec<String> = limits
            .filter_map(|limit| question.describe_loss(limit.name))
            .collect();
        (!words.is_empty()).then(|| words.join("; "))
    }

    /// Makes the reason that this rule gives. `found` describes the loss that it limits.
    pub(crate) fn to_reason(&self, path: Option<&str>, found: Option<String>) -> Reason {
        Reason {
            rule: self.id.clone(),
            layer: self.layer,
            source: self.source.clone(),
            line: Some(self.line),
            effect: self.effect,
            why: self.why.clone(),
            found,
            fix: self.fix.clone(),
            path: path.map(str::to_owned),
            and_more: 0,
            code: self.code,
        }
    }
}

fn number_limits(text: &RuleText) -> [NumberLimit; LIMITS] {
    let limit = |max_name: &'static str, over, max| NumberLimit {
        name: max_name.trim_start_matches("max_"),
        max_name,
        over,
        max,
    };
    [
        limit("max_added", text.over_added, text.max_added),
        limit("max_removed", text.over_removed, text.max_removed),
        limit("max_lines", text.over_lines, text.max_lines),
        limit("max_bytes", text.over_bytes, text.max_bytes),
        limit("max_files", text.over_files, text.max_files),
        limit("max_deleted", text.over_deleted, text.max_deleted),
        limit("max_lost_files", text.over_lost_files, text.max_lost_files),
        limit("max_old_lines", text.over_old_lines, text.max_old_lines),
        limit("max_net_removed", text.over_net_removed, text.max_net_removed),
        limit("max_lost_percent", text.over_lost_percent, text.max_lost_percent),
        limit("max_attempt", text.over_attempt, text.max_attempt),
        limit(
            "max_context_bytes",
            text.over_context_bytes,
            text.max_context_bytes,
        ),
    ]
}

/// Compiles globs of refs. As in globs of paths, `*` does not match a slash.
fn compile_ref_globs(field: &'static str, patterns: Option<&[String]>) -> Result<Option<GlobSet>, RuleFault> {
    let Some(patterns) = patterns else {
        return Ok(None);
    };
    let mut set = GlobSet::builder();
    for pattern in patterns {
        let wrong = |what: String| {
            RuleFault::new(field, format!("`{pattern}` in `{field}` {what}")).at_entry(pattern)
        };
        let folded = glob::fold_name(pattern);
        let names_a_ref = folded.starts_with("refs/") || matches!(folded.as_str(), "**" | "head");
        // A full-width `＊` folds to `*`, so that the compiled pattern would not be the written one.
        if glob::hides_meta_character(pattern) {
            return Err(wrong("has a full-width form of a glob character".to_owned()));
        }
        // `main` alone would compile and never match, and a rule that protects a branch would silently do nothing.
        if !names_a_ref {
            let hint = format!("write `refs/heads/{}`", pattern.trim_start_matches('/'));
            return Err(wrong("is not the name of a ref".to_owned()).with_hint(hint));
        }
        let globs = glob::compile_glob(pattern);
        for glob in globs.map_err(|error| wrong(format!("is not a glob: {}", error.kind())))? {
            set.add(glob);
        }
    }
    set.build()
        .map(Some)
        .map_err(|error| RuleFault::new(field, format!("`{field}` cannot be compiled: {}", error.kind())))
}

fn compile_name_globs(
    field: &'static str,
    patterns: Option<&[String]>,
) -> Result<Option<GlobSet>, RuleFault> {
    let Some(patterns) = patterns else {
        return Ok(None);
    };
    let mut set = GlobSet::builder();
    for pattern in patterns {
        let wrong = |what: String| {
            RuleFault::new(field, format!("`{pattern}` in `{field}` {what}")).at_entry(pattern)
        };
        if glob::hides_meta_character(pattern) {
            return Err(wrong("has a full-width form of a glob character".to_owned()));
        }
        // Names of models contain slashes, such as `openai/gpt-oss-20b`, and `*` has to match those too.
        let glob = globset::GlobBuilder::new(&glob::fold_name(pattern))
            .backslash_escape(false)
            .build()
            .map_err(|error| wrong(format!("is not a glob: {}", error.kind())))?;
        set.add(glob);
    }
    set.build()
        .map(Some)
        .map_err(|error| RuleFault::new(field, format!("`{field}` cannot be compiled: {}", error.kind())))
}
/// Returns the file that holds a rule; its text is empty if it is not among the sources.
pub(crate) fn source_of(rule: &Rule, sources: &[PolicySource]) -> PolicySource {
    let holds = |source: &&PolicySource| source.layer == rule.layer && source.name == rule.source;
    sources
        .iter()
        .find(holds)
        .cloned()
        .unwrap_or_else(|| PolicySource {
            layer: rule.layer,
            name: rule.source.clone(),
            text: String::new(),
        })
}
