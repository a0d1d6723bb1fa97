//! Examples of a rule: questions that it must match, or must not match.
//!
//! Owns: comparing a rule with its examples. Never: compares them with other rules; an example is about one rule.

use agentos_tool::{Enforcement, ExecutionMode, Timestamp};

use crate::fault::RuleFault;
use crate::file::{Action, RuleExample, RuleText};
use crate::loss::{FileLoss, LargestLosses};
use crate::question::{EnumSet, PathMatch, Question};
use crate::rule::source_of;
use crate::time::{self, Weekday};
use crate::touch::TouchSet;
use crate::{PolicyError, PolicySource, Rule, ToolFacts};

/// Midnight of Wednesday, 1970-01-07.
const WEDNESDAY: u64 = 6 * 24 * 3600;

/// Number of examples of a rule.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ExampleCounts {
    pub(crate) matching: usize,
    pub(crate) other: usize,
}

/// Checks the examples of the rules that are marked, and counts the examples of all rules. `match_path` matches a path
/// against the globs of all rules.
///
/// # Errors
/// If a rule fails one of its examples, or an example names an impossible time.
pub(crate) fn check_examples<'r>(
    rules: impl Iterator<Item = ((&'r Rule, &'r RuleText), bool)>,
    sources: &[PolicySource],
    match_path: &dyn Fn(&str) -> PathMatch,
) -> Result<Vec<ExampleCounts>, PolicyError> {
    let mut counts = Vec::new();
    for (index, ((rule, text), is_asked)) in rules.enumerate() {
        let examples = &text.examples;
        let lists = [
            (false, "match", &examples.matching),
            (true, "no_match", &examples.other),
        ];
        for (matched, name, list) in lists.into_iter().filter(|_| is_asked) {
            for (at, example) in list.iter().enumerate() {
                let fault = |message: String| RuleFault::new("examples", message).at_field(name).at_index(at);
                // The time of an example is fixed: a check that reads the clock would pass on some days only.
                let Some(when) = example_time(example) else {
                    let hour = example.hour.as_deref().unwrap_or_default();
                    let fault = fault(format!("`{hour}` in `hour` of an example is not a time of day"));
                    let fault = fault.at_field("hour").with_hint("write it as `23:30`, in UTC");
                    return Err(fault.into_error(&source_of(rule, sources), rule.line, &rule.id));
                };
                if matches_example(match_path, index, (rule, text), example, when) == matched {
                    let (line, column) = fault(String::new()).position(&source_of(rule, sources), rule.line);
                    return Err(PolicyError::Example {
                        source_name: rule.source.clone(),
                        line,
                        column,
                        rule: rule.id.clone(),
                        number: at + 1,
                        matched,
                    });
                }
            }
        }
        counts.push(ExampleCounts {
            matching: examples.matching.len(),
            other: examples.other.len(),
        });
    }
    Ok(counts)
}

/// Returns true if a rule matches an example.
fn matches_example(
    match_path: &dyn Fn(&str) -> PathMatch,
    index: usize,
    (rule, text): (&Rule, &RuleText),
    example: &RuleExample,
    at: Timestamp,
) -> bool {
    let tool = ToolFacts {
        provider: example.provider.clone().unwrap_or_else(|| "example".to_owned()),
        model: example.model.clone(),
        execution_mode: example.execution_mode.unwrap_or(ExecutionMode::Local),
        enforcement: example.enforcement.unwrap_or(Enforcement::Kernel),
        attempt: example.attempt.unwrap_or(1),
        at,
        context_bytes: example.context_bytes.unwrap_or(0),
        target_ref: Some(
            example
                .target_ref
                .clone()
                .unwrap_or_else(|| "refs/heads/topic".to_owned()),
        ),
        checked: example.checked.unwrap_or(false),
    };
    let first = text.action.as_deref().and_then(<[Action]>::first).copied();
    // An example states only what matters to its rule. Everything else is what an ordinary change has.
    let usual = if example.path.is_some() {
        Action::Modify
    } else {
        Action::Land
    };
    let action = example.action.or(first).unwrap_or(usual);
    let asked = example.path.as_deref().map(match_path);
    let stated: TouchSet = example.touches.iter().copied().collect();
    let ecosystems: TouchSet = example.ecosystems.iter().copied().collect();
    // An example of `land` has no path, so it states directly what the change touches.
    let by_path = asked.as_ref().map(|asked| asked.touches).unwrap_or_default();
    let question = Question {
        action,
        kinds: EnumSet::from_values(&example.kinds),
        findings: EnumSet::from_values(&example.findings),
        touches: stated.union(ecosystems).union(by_path),
        added: example.added.unwrap_or(1),
        removed: example.removed.unwrap_or(0),
        bytes: example.bytes.unwrap_or(1),
        files: example.files.unwrap_or(1),
        deleted: example.deleted.unwrap_or(u64::from(action == Action::Delete)),
        loss: example_loss(example),
        lost_files: example.lost_files.unwrap_or(0),
        largest: LargestLosses::default(),
        tool: &tool,
    };
    let hit = asked.is_some_and(|asked| asked.hits.get(index).copied().unwrap_or(false));
    rule.matches_tool(&tool) && rule.matches_question(&question, hit)
}

/// Returns a loss that has the numbers of the example.
fn example_loss(example: &RuleExample) -> FileLoss {
    let net = example.net_removed.unwrap_or(0);
    let old_lines = example.old_lines.unwrap_or(1).max(net);
    FileLoss {
        old_lines,
        new_lines: old_lines - net,
        lost_lines: example.lost_percent.unwrap_or(0).saturating_mul(old_lines) / 100,
        is_lost: false,
    }
}

fn example_time(example: &RuleExample) -> Option<Timestamp> {
    let minute = time::parse_minute(example.hour.as_deref().unwrap_or("12:00"))?;
    let days: u64 = match example.weekday.unwrap_or(Weekday::Wed) {
        Weekday::Wed => 0,
        Weekday::Thu => 1,
        Weekday::Fri => 2,
        Weekday::Sat => 3,
        Weekday::Sun => 4,
        Weekday::Mon => 5,
        Weekday::Tue => 6,
    };
    Some(Timestamp::from_unix_seconds(
        WEDNESDAY + days * 24 * 3600 + u64::from(minute) * 60,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Layer, PolicySet, PolicySource, Preset};

    #[test]
    fn every_rule_that_comes_with_the_program_matches_its_examples() {
        for preset in Preset::WITH_RULES {
            let source = PolicySource {
                layer: Layer::Repository,
                name: "names.toml".to_owned(),
                text: format!("version = 1\npreset = \"{}\"\n", preset.as_str()),
            };
            let set = PolicySet::load(&[source]).unwrap();
            let rules = set.rules().iter().zip(&set.texts).zip(std::iter::repeat(true));
            let counted = check_examples(rules, &[], &|path| set.match_path(path)).unwrap();
            let all: usize = counted.iter().map(|rule| rule.matching + rule.other).sum();
            assert!(all > 20, "{}: {all}", preset.as_str());
        }
    }
}
