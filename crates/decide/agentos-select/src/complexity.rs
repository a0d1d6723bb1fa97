//! The complexity of a task, by which the selector `complexity` chooses.
//!
//! Owns: the levels, and inferring one from the words of a task, the files that it names and the size of its conversation. Never: asks a
//! model, or reads a file: the same words give the same level on every machine.
//!
//! Each sign counts points. 0 and 1 are `simple`, 2 are `moderate`, more are `complex`.
//!
//! | sign | points |
//! |---|---|
//! | the message has more than 1,000 characters, more than 4,000 | 1, 2 |
//! | it names at least 3 files, at least 8 | 1, 2 |
//! | it lists at least 3 steps (lines that begin with `-`, `*`, `+` or a number) | 1 |
//! | it has code between fences | 1 |
//! | it has one word of hard work, as `architecture`, `concurrency` or `重构`; three of them | 1, 2 |
//! | it is about a change of code: a fix, a feature, a refactoring | 1 |
//! | the conversation has more than 8,000 tokens, more than 32,000 | 1, 2 |
//!
//! A wrong guess costs money or quality and nothing else: every member that is offered meets all needs of the turn.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{AbilityValue, PoolModel, TaskKind, TurnShape, infer_kind};

/// Level of complexity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ComplexityLevel {
    /// A model with the `tier` `small` is enough.
    Simple,
    /// A model with the `tier` `medium` is enough.
    Moderate,
    /// A model with the `tier` `large` is wanted.
    Complex,
}

/// Complexity of a task, with what speaks for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskComplexity {
    /// Level.
    pub level: ComplexityLevel,
    /// Signs that counted, in words. Empty if there was none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub signs: Vec<String>,
}

/// Words of hard work.
const HARD_WORDS: [&str; 24] = [
    "algorithm",
    "architecture",
    "async",
    "concurrency",
    "concurrent",
    "deadlock",
    "design",
    "distributed",
    "migrate",
    "migration",
    "optimize",
    "performance",
    "proof",
    "prove",
    "protocol",
    "race",
    "redesign",
    "refactor",
    "restructure",
    "rewrite",
    "security",
    "transaction",
    "unsafe",
    "vulnerability",
];
/// Chinese words of the same kind. They are looked for inside of the text, which has no spaces.
const HARD_PARTS: [&str; 7] = ["重构", "架构", "并发", "性能", "安全", "算法", "迁移"];
/// Fewest lines that are a list of steps.
const FEWEST_STEPS: usize = 3;

impl ComplexityLevel {
    /// The word used in JSON and on the screen.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Simple => "simple",
            Self::Moderate => "moderate",
            Self::Complex => "complex",
        }
    }
}

impl fmt::Display for ComplexityLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for TaskComplexity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the task is {}", self.level)?;
        match self.signs.is_empty() {
            true => Ok(()),
            false => write!(f, ": {}", self.signs.join(", ")),
        }
    }
}

impl PoolModel {
    /// Returns the level for which the model is large enough, by its ability `tier`. `None` if nobody states it, or it is another word.
    #[must_use]
    pub fn tier_level(&self) -> Option<ComplexityLevel> {
        match self.abilities.get("tier")? {
            AbilityValue::Text(tier) => match tier.as_str() {
                "small" => Some(ComplexityLevel::Simple),
                "medium" => Some(ComplexityLevel::Moderate),
                "large" => Some(ComplexityLevel::Complex),
                // Abilities are open: another word is no mistake.
                _ => None,
            },
            AbilityValue::Flag(_) | AbilityValue::Number(_) | AbilityValue::Texts(_) => None,
        }
    }
}

/// Infers the complexity of a task from its turn and the files that it names.
#[must_use]
pub fn infer_complexity<'a>(
    turn: &TurnShape<'_>,
    files: impl IntoIterator<Item = &'a str>,
) -> TaskComplexity {
    let files: Vec<&str> = files.into_iter().collect();
    let mut signs = Signs::default();
    let chars = turn.message.chars().count();
    signs.count_above(chars, [1_000, 4_000], |chars| format!("{chars} characters"));
    signs.count_above(files.len(), [2, 7], |files| format!("{files} files"));
    let steps = turn.message.lines().filter(|line| is_step(line)).count();
    signs.count_if(steps >= FEWEST_STEPS, || format!("{steps} steps"));
    signs.count_if(turn.message.contains("```"), || "code".to_owned());
    let hard = list_hard_words(turn.message);
    signs.count_above(hard.len(), [0, 2], |_| format!("`{}`", hard.join("`, `")));
    let kind = infer_kind(turn.message, files.iter().copied());
    let is_change = matches!(kind, TaskKind::Fix | TaskKind::Feature | TaskKind::Refactor);
    signs.count_if(is_change, || format!("a task of the kind `{kind}`"));
    let tokens = usize::try_from(turn.context_tokens).unwrap_or(usize::MAX);
    signs.count_above(tokens, [8_000, 32_000], |tokens| {
        format!("{tokens} tokens of conversation")
    });
    TaskComplexity {
        level: match signs.points {
            0 | 1 => ComplexityLevel::Simple,
            2 => ComplexityLevel::Moderate,
            _ => ComplexityLevel::Complex,
        },
        signs: signs.words,
    }
}

/// Signs that were found, with their points.
#[derive(Debug, Default)]
struct Signs {
    points: u32,
    words: Vec<String>,
}

impl Signs {
    fn count_if(&mut self, is_there: bool, describe: impl FnOnce() -> String) {
        if is_there {
            self.points += 1;
            self.words.push(describe());
        }
    }

    /// Counts a point for each bound that a number exceeds.
    fn count_above(&mut self, number: usize, bounds: [usize; 2], describe: impl FnOnce(usize) -> String) {
        let points = bounds
            .into_iter()
            .map(|bound| u32::from(number > bound))
            .sum::<u32>();
        if points > 0 {
            self.points += points;
            self.words.push(describe(number));
        }
    }
}

/// Returns whether a line of a message is a step of a list.
fn is_step(line: &str) -> bool {
    let line = line.trim_start();
    let number = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_numbered = number.len() < line.len() && number.starts_with(['.', ')']);
    is_numbered || ["- ", "* ", "+ "].iter().any(|mark| line.starts_with(mark))
}

/// Lists the words of hard work in a message, each once, in their order in the tables.
fn list_hard_words(message: &str) -> Vec<&'static str> {
    let text = message.to_lowercase();
    let words: Vec<&str> = text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    // Whole words: `embrace` is no race.
    let whole = HARD_WORDS.into_iter().filter(|hard| words.contains(hard));
    whole
        .chain(HARD_PARTS.into_iter().filter(|part| text.contains(part)))
        .collect()
}

#[cfg(test)]
mod tests {
    use agentos_tool::{TokenPrice, TokenPrices};

    use super::*;
    use crate::{SelectionInput, SelectorKind, select_model};

    fn infer(message: &str, files: &[&str], context_tokens: u64) -> TaskComplexity {
        let turn = TurnShape {
            message,
            context_tokens,
            ..TurnShape::default()
        };
        infer_complexity(&turn, files.iter().copied())
    }

    #[test]
    fn a_level_follows_from_the_signs() {
        let steps = "Add paging:\n1. the query\n2. the page\n3. the tests\n";
        let cases: [(&str, &[&str], u64); 10] = [
            ("hello", &[], 0),
            ("What is a monad?", &[], 0),
            ("fix the typo", &[], 0),
            ("Prove it and embrace the result", &[], 0),
            ("fix the race in the queue", &["src/queue.rs"], 0),
            (steps, &[], 0),
            (steps, &["a.rs", "b.rs", "c.rs"], 9_000),
            ("Fix the race: redesign the protocol for concurrency", &[], 0),
            ("重构解析器的架构", &[], 0),
            ("go on", &[], 40_000),
        ];
        let shown = cases.map(|(message, files, tokens)| {
            let first = message.lines().next().unwrap_or_default();
            format!("{first} | {}", infer(message, files, tokens))
        });
        insta::assert_snapshot!(shown.join("\n"), @"
        hello | the task is simple
        What is a monad? | the task is simple
        fix the typo | the task is simple: a task of the kind `fix`
        Prove it and embrace the result | the task is simple: `prove`
        fix the race in the queue | the task is moderate: `race`, a task of the kind `fix`
        Add paging: | the task is simple: 3 steps
        Add paging: | the task is complex: 3 files, 3 steps, 9000 tokens of conversation
        Fix the race: redesign the protocol for concurrency | the task is complex: `concurrency`, `protocol`, `race`, `redesign`, a task of the kind `fix`
        重构解析器的架构 | the task is moderate: `重构`, `架构`, a task of the kind `refactor`
        go on | the task is moderate: 40000 tokens of conversation
        ");
        let long = infer(&"word ".repeat(1_000), &["x"; 9], 0);
        assert_eq!(long.to_string(), "the task is complex: 5000 characters, 9 files");
    }

    #[test]
    fn more_of_a_sign_never_makes_a_task_simpler() {
        let mut last = ComplexityLevel::Simple;
        for size in 0..10 {
            let message = format!("fix it\n{}", "- step ```x```\n".repeat(size * 200));
            let files = vec!["src/a.rs"; size];
            let level = infer(&message, &files, 5_000 * size as u64).level;
            assert!(level >= last, "{size}");
            last = level;
        }
        assert_eq!(last, ComplexityLevel::Complex);
    }

    #[test]
    fn the_smallest_tier_that_a_task_wants_is_chosen() {
        // (alias, tier, price)
        let pool = [
            ("plain", None, 0.1),
            ("large", Some("large"), 9.0),
            ("small", Some("small"), 1.0),
            ("medium-dear", Some("medium"), 5.0),
            ("medium", Some("medium"), 4.0),
        ];
        let choose = |message: &str, left_out: &[&str]| {
            let models = pool.iter().filter(|(alias, ..)| !left_out.contains(alias));
            let models = models.map(|(alias, tier, price)| {
                let price = TokenPrice::from_number(*price);
                let tier = tier.map(|tier| ("tier".to_owned(), AbilityValue::Text(tier.to_owned())));
                PoolModel {
                    alias: (*alias).to_owned(),
                    provider: "p".to_owned(),
                    model: None,
                    abilities: tier.into_iter().collect(),
                    prices: TokenPrices {
                        input: price,
                        output: price,
                        ..TokenPrices::default()
                    },
                    latency_ms: None,
                    memory_bytes: None,
                }
            });
            let input = SelectionInput {
                models: models.collect(),
                selector: SelectorKind::Complexity,
                complexity: Some(infer(message, &[], 0)),
                input_tokens: 100,
                output_tokens: 100,
                ..SelectionInput::default()
            };
            let chosen = select_model(&input).unwrap();
            format!("{}: {}", chosen.alias, chosen.reason)
        };
        let hard = "Fix the race: redesign the protocol for concurrency";
        let shown = [
            choose("hello", &[]),
            choose("fix the race", &[]),
            choose(hard, &[]),
            choose(hard, &["large"]),
            choose("hello", &["small", "medium"]),
            choose(hard, &["large", "small", "medium", "medium-dear"]),
        ];
        insta::assert_snapshot!(shown.join("\n"), @"
        small: the task is simple; the smallest `tier` for it
        medium: the task is moderate: `race`, a task of the kind `fix`; the smallest `tier` for it
        large: the task is complex: `concurrency`, `protocol`, `race`, `redesign`, a task of the kind `fix`; the smallest `tier` for it
        medium: the task is complex: `concurrency`, `protocol`, `race`, `redesign`, a task of the kind `fix`; no larger `tier` fits
        medium-dear: the task is simple; the smallest `tier` for it
        plain: the task is complex: `concurrency`, `protocol`, `race`, `redesign`, a task of the kind `fix`, and no member that fits states its `tier`; the pool's default model
        ");
    }
}
