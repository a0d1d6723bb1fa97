//! Examples beside rules: questions that a rule must, or must not, match.
//!
//! Owns: asking a rule its examples. Never: asks the other rules; an example is about one.

use agentos_tool::{Enforcement, ExecutionMode, Timestamp};

use crate::file::{Action, Example, RuleText};
use crate::question::{Bits, Question};
use crate::time::{self, Weekday};
use crate::touch::Touches;
use crate::{PolicyError, PolicySet, Rule, ToolFacts};

/// Wednesday, 1970-01-07, at midnight.
const WEDNESDAY: u64 = 6 * 24 * 3600;

/// How many examples were asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counted {
    pub(crate) matching: usize,
    pub(crate) other: usize,
}

/// Asks every rule its examples.
pub(crate) fn check(set: &PolicySet, texts: &[RuleText]) -> Result<Vec<Counted>, PolicyError> {
    let mut counts = Vec::with_capacity(texts.len());
    for (index, (rule, text)) in set.rules().iter().zip(texts).enumerate() {
        let examples = &text.examples;
        for (matched, list) in [(false, &examples.matching), (true, &examples.other)] {
            for (at, example) in list.iter().enumerate() {
                if matches(set, index, rule, text, example)? == matched {
                    return Err(PolicyError::Example {
                        source_name: rule.source.clone(),
                        line: rule.line,
                        rule: rule.id.clone(),
                        number: at + 1,
                        matched,
                    });
                }
            }
        }
        counts.push(Counted {
            matching: examples.matching.len(),
            other: examples.other.len(),
        });
    }
    Ok(counts)
}

/// Whether a rule matches an example.
fn matches(
    set: &PolicySet,
    index: usize,
    rule: &Rule,
    text: &RuleText,
    example: &Example,
) -> Result<bool, PolicyError> {
    let tool = ToolFacts {
        provider: example.provider.clone().unwrap_or_else(|| "example".to_owned()),
        model: example.model.clone(),
        execution_mode: example.execution_mode.unwrap_or(ExecutionMode::Local),
        enforcement: example.enforcement.unwrap_or(Enforcement::Kernel),
        attempt: example.attempt.unwrap_or(1),
        at: when(rule, example)?,
        context_bytes: example.context_bytes.unwrap_or(0),
    };
    let first = text.action.as_deref().and_then(<[Action]>::first).copied();
    let usual = if example.path.is_some() {
        Action::Modify
    } else {
        Action::Land
    };
    let action = example.action.or(first).unwrap_or(usual);
    let asked = example.path.as_deref().map(|path| set.ask_path(path));
    let stated: Touches = example.touches.iter().copied().collect();
    let ecosystems: Touches = example.ecosystems.iter().copied().collect();
    let by_path = asked.as_ref().map(|asked| asked.touches).unwrap_or_default();
    let question = Question {
        action,
        kinds: Bits::of(&example.kinds),
        findings: Bits::of(&example.findings),
        touches: stated.union(ecosystems).union(by_path),
        added: example.added.unwrap_or(1),
        removed: example.removed.unwrap_or(0),
        files: example.files.unwrap_or(1),
        deleted: example.deleted.unwrap_or(u64::from(action == Action::Delete)),
        tool: &tool,
    };
    let hit = asked.is_some_and(|asked| asked.hits.get(index).copied().unwrap_or(false));
    Ok(rule.may_match(&tool) && rule.matches(&question, hit))
}

fn when(rule: &Rule, example: &Example) -> Result<Timestamp, PolicyError> {
    let text = example.hour.as_deref().unwrap_or("12:00");
    let minute = time::minute(text).ok_or_else(|| PolicyError::Rule {
        source_name: rule.source.clone(),
        line: rule.line,
        rule: rule.id.clone(),
        message: format!("`{text}` in `hour` of an example is no time of day"),
        hint: Some("write it as `23:30`, in UTC".to_owned()),
    })?;
    let days: u64 = match example.weekday.unwrap_or(Weekday::Wed) {
        Weekday::Wed => 0,
        Weekday::Thu => 1,
        Weekday::Fri => 2,
        Weekday::Sat => 3,
        Weekday::Sun => 4,
        Weekday::Mon => 5,
        Weekday::Tue => 6,
    };
    Ok(Timestamp::from_unix_seconds(
        WEDNESDAY + days * 24 * 3600 + u64::from(minute) * 60,
    ))
}
