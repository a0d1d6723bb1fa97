//! Explains a decision: each question with its facts, the rules that matched, and the rules that nearly matched.
//!
//! Owns: the explanation. Never: decides; it asks the same questions of the same rules, and `tests/it/agree.rs`
//! compares its answers with the decision.

use agentos_landing::{Change, RepoPath, ResultFacts};
use agentos_tool::{Enforcement, ExecutionMode};
use schemars::JsonSchema;
use serde::Serialize;

use crate::file::{Action, FileKind};
use crate::question::{InspectedChange, PathMatch, Question, read_question};
use crate::set::finding_names;
use crate::{Decision, Effect, Layer, PolicySet, Rule, ToolFacts, glob};

/// Decision with every question that led to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Explanation {
    /// Decision that is explained.
    pub decision: Decision,
    /// Tool that made the change, or that would read the file.
    pub tool: ToolFacts,
    /// Questions in the order in which they were asked; the one about the whole change is last.
    pub questions: Vec<ExplainedQuestion>,
}

/// Question with its answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ExplainedQuestion {
    /// Action that is asked about.
    pub action: Action,
    /// Path that is asked about. `None` if the question is about the change as a whole.
    pub path: Option<String>,
    /// Strictest answer of the matching rules, or deny if a layer gives no answer.
    pub answer: Effect,
    /// Facts that the rules were compared with.
    pub facts: QuestionFacts,
    /// Rules whose conditions all hold, strictest first.
    pub matched: Vec<RuleRef>,
    /// Rules of which exactly one condition does not hold, strictest first.
    pub nearly: Vec<NearMiss>,
    /// Layers that must allow the action themselves and have no matching rule.
    pub unanswered: Vec<Layer>,
}

/// Facts of one question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct QuestionFacts {
    /// Kinds of the file, as in `text`.
    pub kinds: Vec<String>,
    /// Findings, as in `secret`.
    pub findings: Vec<String>,
    /// Parts of the project that the path belongs to, as in `ci`.
    pub touches: Vec<String>,
    /// Number of lines added to the file, or by the change.
    pub added: u64,
    /// Number of lines removed.
    pub removed: u64,
    /// Bytes of the new content of the file, or of all files.
    pub bytes: u64,
    /// Number of paths in the whole change.
    pub files: u64,
    /// Number of paths deleted in the whole change.
    pub deleted: u64,
    /// Number of files that the whole change takes away: deleted or emptied, and not renamed or moved.
    pub lost_files: u64,
    /// Number of lines before the change, of the file or of all files.
    pub old_lines: u64,
    /// Number of lines before the change minus the lines after it.
    pub net_removed: u64,
    /// Share of the file's old lines, in percent, that the change adds nowhere; 0 for the whole change.
    pub lost_percent: u64,
}

/// Reference to a rule, with its purpose and remedy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RuleRef {
    /// Id of the rule.
    pub rule: String,
    /// Layer of the file that holds the rule.
    pub layer: Layer,
    /// Name of the file that holds the rule.
    pub source: String,
    /// Line on which the rule begins.
    pub line: u32,
    /// Effect of the rule.
    pub effect: Effect,
    /// Purpose of the rule.
    pub why: String,
    /// Remedy. `None` if the rule names none.
    pub fix: Option<String>,
}

/// Rule that would have matched but for one condition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NearMiss {
    /// Rule that nearly matched.
    pub rule: RuleRef,
    /// Condition that does not hold.
    pub missing: String,
}

impl RuleRef {
    pub(crate) fn from_rule(rule: &Rule) -> Self {
        Self {
            rule: rule.id.clone(),
            layer: rule.layer,
            source: rule.source.clone(),
            line: rule.line,
            effect: rule.effect,
            why: rule.why.clone(),
            fix: rule.fix.clone(),
        }
    }
}

impl PolicySet {
    /// Decides as [`PolicySet::decide`] does, and explains every question.
    #[must_use]
    pub fn explain(&self, change: &Change, facts: &ResultFacts, tool: &ToolFacts) -> Explanation {
        let findings = agentos_landing::scan_change(change);
        let found = InspectedChange::new(change, facts, &findings);
        let mut questions = Vec::new();
        self.ask_questions(found, tool, &mut |question, path| {
            questions.push(self.explain_question(question, path));
        });
        Explanation {
            // The decision comes from the code that decides for real, and is not derived from the explanation.
            decision: self.decide_inspected(found, tool),
            tool: tool.clone(),
            questions,
        }
    }

    /// Decides as [`PolicySet::decide_read`] does, and explains the question. An unsafe path has no question.
    #[must_use]
    pub fn explain_read(&self, path: &str, content: &[u8], tool: &ToolFacts) -> Explanation {
        let question = RepoPath::of_shown(path).ok().map(|path| {
            let asked = self.match_path(path.as_str());
            let question = read_question(&path, content, asked.touches, tool);
            self.explain_question(&question, Some((path.as_str(), &asked)))
        });
        Explanation {
            decision: self.decide_read(path, content, tool),
            tool: tool.clone(),
            questions: question.into_iter().collect(),
        }
    }

    fn explain_question(
        &self,
        question: &Question<'_>,
        path: Option<(&str, &PathMatch)>,
    ) -> ExplainedQuestion {
        let mut matched = Vec::new();
        let mut nearly = Vec::new();
        for (index, rule) in self.rules().iter().enumerate().filter(|(_, rule)| rule.counts) {
            let hit = path.is_some_and(|(_, asked)| asked.hits.get(index).copied().unwrap_or(false));
            let mut failing = failing_conditions(rule, question, hit).into_iter();
            // Near means that exactly one condition fails. With two, most rules of a policy would be near.
            match (failing.next(), failing.next()) {
                (None, _) => matched.push(RuleRef::from_rule(rule)),
                (Some((true, missing)), None) => nearly.push(NearMiss {
                    rule: RuleRef::from_rule(rule),
                    missing,
                }),
                (Some(_), _) => {}
            }
        }
        matched.sort_by_key(|rule| std::cmp::Reverse(rule.effect));
        nearly.sort_by_key(|near| std::cmp::Reverse(near.rule.effect));
        let unanswered: Vec<Layer> = self
            .layer_presets()
            .iter()
            .map(|standing| standing.layer)
            // A layer counts as silent only if none of its rules matched, whatever their effect: `decide` counts
            // answers the same way.
            .filter(|layer| !matched.iter().any(|rule| rule.layer == *layer))
            .collect();
        let strictest = matched
            .iter()
            .map(|rule| rule.effect)
            .max()
            .unwrap_or(Effect::Deny);
        ExplainedQuestion {
            action: question.action,
            path: path.map(|(path, _)| path.to_owned()),
            answer: if unanswered.is_empty() {
                strictest
            } else {
                Effect::Deny
            },
            facts: question_facts(question),
            matched,
            nearly,
            unanswered,
        }
    }
}

fn question_facts(question: &Question<'_>) -> QuestionFacts {
    let kinds = FileKind::ALL
        .into_iter()
        .filter(|kind| question.kinds.contains(*kind));
    QuestionFacts {
        kinds: kinds.map(|kind| kind.as_str().to_owned()).collect(),
        findings: finding_names(question.findings),
        touches: question.touches.part_names(),
        added: question.added,
        removed: question.removed,
        bytes: question.bytes,
        files: question.files,
        deleted: question.deleted,
        lost_files: question.lost_files,
        old_lines: question.loss.old_lines,
        net_removed: question.loss.net_removed(),
        lost_percent: question.loss.lost_percent(),
    }
}

/// Lists the conditions that do not hold, in words. The flag says whether a rule that fails this condition alone is
/// reported as a near miss: a rule about another action, another path or a finding that is absent is not.
fn failing_conditions(rule: &Rule, question: &Question<'_>, hit: bool) -> Vec<(bool, String)> {
    let mut failing = Vec::new();
    let mut check = |holds: bool, near: bool, missing: String| {
        if !holds {
            failing.push((near, missing));
        }
    };
    let conditions = &rule.conditions;
    check(
        conditions.action.is_none_or(|set| set.contains(question.action)),
        false,
        "it answers other questions".to_owned(),
    );
    check(
        !rule.needs_path || hit,
        // The question about the whole change has no path, so that every rule with paths would look near.
        question.action != Action::Land,
        "its `paths` do not include this path".to_owned(),
    );
    check(
        conditions
            .touches
            .is_none_or(|set| set.intersects(question.touches)),
        false,
        "this path is not part of what it `touches`".to_owned(),
    );
    check(
        conditions
            .ecosystems
            .is_none_or(|set| set.intersects(question.touches)),
        true,
        "this path belongs to none of its `ecosystems`".to_owned(),
    );
    check(
        conditions.kinds.is_none_or(|set| set.intersects(question.kinds)),
        true,
        "the file has none of its `kinds`".to_owned(),
    );
    check(
        conditions
            .findings
            .is_none_or(|set| set.intersects(question.findings)),
        false,
        "none of its `findings` was found".to_owned(),
    );
    for (limit, number) in conditions.limits.iter().zip(question.limited_numbers()) {
        let bound = match (limit.over, limit.max) {
            (Some(over), _) if number <= over => {
                format!("`over_{}` is {over}, and this is {number}", limit.name)
            }
            (_, Some(max)) if number > max => format!("`max_{}` is {max}, and this is {number}", limit.name),
            (Some(_) | None, Some(_) | None) => continue,
        };
        check(limit.accepts(number), true, bound);
    }
    failing.extend(failing_tool_conditions(rule, question.tool));
    failing
}

/// Lists the failing conditions on the tool and the time.
fn failing_tool_conditions(rule: &Rule, tool: &ToolFacts) -> Vec<(bool, String)> {
    let conditions = &rule.conditions;
    let moment = tool.week_moment();
    let mode = match tool.execution_mode {
        ExecutionMode::Local => "local",
        ExecutionMode::Cloud => "cloud",
    };
    let held = match tool.enforcement {
        Enforcement::Kernel => "kernel",
        Enforcement::Observed => "observed",
    };
    let model = tool.model.as_deref().unwrap_or_default();
    let target = tool.target_ref.as_deref().unwrap_or("no ref");
    let checks = [
        (
            conditions
                .execution_mode
                .is_none_or(|mode| mode == tool.execution_mode),
            format!("`execution_mode` does not match: this is {mode}"),
        ),
        (
            conditions.enforcement.is_none_or(|held| held == tool.enforcement),
            format!("`enforcement` does not match: this is {held}"),
        ),
        (
            conditions.checked.is_none_or(|checked| checked == tool.checked),
            format!("`checked` does not match: this is {}", tool.checked),
        ),
        (
            conditions
                .provider
                .as_ref()
                .is_none_or(|globs| globs.is_match(glob::fold_name(&tool.provider))),
            format!("`provider` does not match: this is `{}`", tool.provider),
        ),
        (
            conditions
                .model
                .as_ref()
                .is_none_or(|globs| globs.is_match(glob::fold_name(model))),
            format!("`model` does not match: this is `{model}`"),
        ),
        (
            conditions.holds_for_target(tool),
            format!("the target ref does not match: this is `{target}`"),
        ),
        (
            conditions
                .hours
                .as_ref()
                .is_none_or(|hours| hours.iter().any(|hours| hours.contains(moment.minute))),
            format!(
                "`hours` do not include the current time, {} UTC",
                moment.clock_text()
            ),
        ),
        (
            conditions
                .weekdays
                .as_ref()
                .is_none_or(|days| days.contains(&moment.weekday)),
            "`weekdays` do not include today".to_owned(),
        ),
    ];
    checks
        .into_iter()
        .filter(|(holds, _)| !holds)
        .map(|(_, missing)| (true, missing))
        .collect()
}
