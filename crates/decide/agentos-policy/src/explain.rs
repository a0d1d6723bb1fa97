//! A decision as a tree: each question with its facts, the rules that matched, and those that nearly did.
//!
//! Owns: saying why. Never: decides; it asks the same questions of the same rules, and a test holds the two together.

use agentos_landing::{Change, RepoPath, ResultFacts};
use agentos_tool::{Enforcement, ExecutionMode};
use schemars::JsonSchema;
use serde::Serialize;

use crate::file::{Action, Kind};
use crate::question::Question;
use crate::set::{Found, finding_words, read_question};
use crate::{Decision, Effect, Layer, PolicySet, Rule, ToolFacts, glob};

/// A decision and how it came about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Explanation {
    /// The decision.
    pub decision: Decision,
    /// Who made the change, or is to read.
    pub tool: ToolFacts,
    /// Every question, the one about the whole change last.
    pub questions: Vec<Explained>,
}

/// One question and its answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Explained {
    /// What is asked.
    pub action: Action,
    /// Of which path; none: of the change as a whole.
    pub path: Option<String>,
    /// The strictest answer.
    pub answer: Effect,
    /// What it was made on.
    pub facts: QuestionFacts,
    /// Rules whose conditions all hold, the strictest first.
    pub matched: Vec<RuleRef>,
    /// Rules of which one condition does not hold, the strictest first.
    pub nearly: Vec<Near>,
    /// Layers that would have to allow it themselves, and say nothing.
    pub unanswered: Vec<Layer>,
}

/// The facts of one question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct QuestionFacts {
    /// Kinds of the file, as in `text`.
    pub kinds: Vec<String>,
    /// What was found, as in `secret`.
    pub findings: Vec<String>,
    /// What the path belongs to, as in `ci`.
    pub touches: Vec<String>,
    /// Lines added; of the file, or of the change.
    pub added: u64,
    /// Lines removed.
    pub removed: u64,
    /// Paths in the whole change.
    pub files: u64,
    /// Paths deleted in the whole change.
    pub deleted: u64,
}

/// Which rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RuleRef {
    /// Its id.
    pub rule: String,
    /// Where its file stands.
    pub layer: Layer,
    /// The file it is in.
    pub source: String,
    /// The line on which it begins.
    pub line: u32,
    /// What it answers.
    pub effect: Effect,
    /// Why it is there.
    pub why: String,
    /// What to do about it.
    pub fix: Option<String>,
}

/// A rule that would have matched but for one condition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Near {
    /// Which rule.
    pub rule: RuleRef,
    /// The condition that does not hold.
    pub missing: String,
}

impl RuleRef {
    pub(crate) fn of(rule: &Rule) -> Self {
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
    /// As [`PolicySet::decide`], with the way to the decision.
    #[must_use]
    pub fn explain(&self, change: &Change, facts: &ResultFacts, tool: &ToolFacts) -> Explanation {
        let findings = agentos_landing::findings(change);
        let found = Found::new(change, facts, &findings);
        let mut questions = Vec::new();
        self.ask(found, tool, &mut |question, path| {
            questions.push(self.explained(question, path));
        });
        Explanation {
            decision: self.decide_found(found, tool),
            tool: tool.clone(),
            questions,
        }
    }

    /// As [`PolicySet::decide_read`], with the way to the decision. A path that is none has no question.
    #[must_use]
    pub fn explain_read(&self, path: &str, content: &[u8], tool: &ToolFacts) -> Explanation {
        let question = RepoPath::new(path).ok().map(|path| {
            let asked = self.ask_path(path.as_str());
            let question = read_question(&path, content, asked.touches, tool);
            self.explained(&question, Some((path.as_str(), &asked.hits)))
        });
        Explanation {
            decision: self.decide_read(path, content, tool),
            tool: tool.clone(),
            questions: question.into_iter().collect(),
        }
    }

    fn explained(&self, question: &Question<'_>, path: Option<(&str, &[bool])>) -> Explained {
        let mut matched = Vec::new();
        let mut nearly = Vec::new();
        for (index, rule) in self.rules().iter().enumerate().filter(|(_, rule)| rule.counts) {
            let hit = path.is_some_and(|(_, hits)| hits.get(index).copied().unwrap_or(false));
            let mut failing = failing(rule, question, hit).into_iter();
            match (failing.next(), failing.next()) {
                (None, _) => matched.push(RuleRef::of(rule)),
                (Some((true, missing)), None) => nearly.push(Near {
                    rule: RuleRef::of(rule),
                    missing,
                }),
                (Some(_), _) => {}
            }
        }
        matched.sort_by_key(|rule| std::cmp::Reverse(rule.effect));
        nearly.sort_by_key(|near| std::cmp::Reverse(near.rule.effect));
        let unanswered: Vec<Layer> = self
            .standings()
            .iter()
            .map(|standing| standing.layer)
            .filter(|layer| !matched.iter().any(|rule| rule.layer == *layer))
            .collect();
        let strictest = matched
            .iter()
            .map(|rule| rule.effect)
            .max()
            .unwrap_or(Effect::Deny);
        Explained {
            action: question.action,
            path: path.map(|(path, _)| path.to_owned()),
            answer: if unanswered.is_empty() {
                strictest
            } else {
                Effect::Deny
            },
            facts: facts(question),
            matched,
            nearly,
            unanswered,
        }
    }
}

fn facts(question: &Question<'_>) -> QuestionFacts {
    let kinds = Kind::ALL.into_iter().filter(|kind| question.kinds.has(*kind));
    QuestionFacts {
        kinds: kinds.map(|kind| kind.as_str().to_owned()).collect(),
        findings: finding_words(question.findings),
        touches: question.touches.words(),
        added: question.added,
        removed: question.removed,
        files: question.files,
        deleted: question.deleted,
    }
}

/// The conditions that do not hold, in words; each with whether it can be called near. A rule about another question,
/// or about a path that is not there, is not.
fn failing(rule: &Rule, question: &Question<'_>, hit: bool) -> Vec<(bool, String)> {
    let mut failing = Vec::new();
    let mut check = |holds: bool, near: bool, missing: String| {
        if !holds {
            failing.push((near, missing));
        }
    };
    let conditions = &rule.conditions;
    check(
        conditions.action.is_none_or(|set| set.has(question.action)),
        false,
        "it answers other questions".to_owned(),
    );
    check(
        !rule.needs_path || hit,
        question.action != Action::Land,
        "none of its paths is this one".to_owned(),
    );
    check(
        conditions.touches.is_none_or(|set| set.meets(question.touches)),
        false,
        "this path is not part of what it `touches`".to_owned(),
    );
    check(
        conditions
            .ecosystems
            .is_none_or(|set| set.meets(question.touches)),
        true,
        "this path is of none of its `ecosystems`".to_owned(),
    );
    check(
        conditions.kinds.is_none_or(|set| set.meets(question.kinds)),
        true,
        "the file is of none of its `kinds`".to_owned(),
    );
    check(
        conditions.findings.is_none_or(|set| set.meets(question.findings)),
        false,
        "nothing of its `findings` was found".to_owned(),
    );
    for (limit, number) in conditions.limits.iter().zip(question.numbers()) {
        let bound = match (limit.over, limit.max) {
            (Some(over), _) if number <= over => {
                format!("`over_{}` is {over}, and this is {number}", limit.name)
            }
            (_, Some(max)) if number > max => format!("`max_{}` is {max}, and this is {number}", limit.name),
            (Some(_) | None, Some(_) | None) => continue,
        };
        check(limit.holds(number), true, bound);
    }
    failing.extend(failing_tool(rule, question.tool));
    failing
}

/// The same for the conditions on the tool and the time.
fn failing_tool(rule: &Rule, tool: &ToolFacts) -> Vec<(bool, String)> {
    let conditions = &rule.conditions;
    let moment = tool.moment();
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
            format!("`execution_mode` is another; this is {mode}"),
        ),
        (
            conditions.enforcement.is_none_or(|held| held == tool.enforcement),
            format!("`enforcement` is another; this is {held}"),
        ),
        (
            conditions.checked.is_none_or(|checked| checked == tool.checked),
            format!("`checked` is another; this is {}", tool.checked),
        ),
        (
            conditions
                .provider
                .as_ref()
                .is_none_or(|globs| globs.is_match(glob::fold(&tool.provider))),
            format!("`provider` is another; this is `{}`", tool.provider),
        ),
        (
            conditions
                .model
                .as_ref()
                .is_none_or(|globs| globs.is_match(glob::fold(model))),
            format!("`model` is another; this is `{model}`"),
        ),
        (
            conditions.holds_for_target(tool),
            format!("the target is another; this is `{target}`"),
        ),
        (
            conditions
                .hours
                .as_ref()
                .is_none_or(|hours| hours.iter().any(|hours| hours.holds(moment.minute))),
            format!("`hours` are others; it is {} UTC", moment.clock()),
        ),
        (
            conditions
                .weekdays
                .as_ref()
                .is_none_or(|days| days.contains(&moment.weekday)),
            "`weekdays` are others".to_owned(),
        ),
    ];
    checks
        .into_iter()
        .filter(|(holds, _)| !holds)
        .map(|(_, missing)| (true, missing))
        .collect()
}
