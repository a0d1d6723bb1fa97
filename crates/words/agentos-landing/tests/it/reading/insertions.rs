//! Texts that stand around an edit and are not part of it.
//!
//! Owns: the kinds of insertions, and what each may do to the result. Never: writes a draft that the answer does not
//! disclaim, because that draft is just another edit.

use serde_json::json;

use super::files::{SOURCES, Source};
use super::forms::{Edit, FORMS};
use super::good::harmless;
use crate::wide::edits::Random;

/// What an insertion may do to a good answer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// The same result.
    Same,
    /// The same result, or a refusal.
    SameOrRefused,
    /// A refusal.
    Refused,
}

/// A kind of insertion.
pub struct Kind {
    pub name: &'static str,
    pub effect: Effect,
    /// True if it may only stand above the answer.
    pub first_only: bool,
    pub write: fn(&mut Random, &[Edit]) -> String,
}

const fn kind(name: &'static str, effect: Effect, write: fn(&mut Random, &[Edit]) -> String) -> Kind {
    Kind {
        name,
        effect,
        first_only: false,
        write,
    }
}

/// Marks of reasoning whose text is dropped. The cases name these, so they must not refuse the answer either.
const KNOWN: &[(&str, &str)] = &[
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<reasoning>", "</reasoning>"),
    ("<THINK>", "</THINK>"),
    ("<Thinking>", "</Thinking>"),
    ("<think budget=\"high\">", "</think>"),
    ("\u{25c1}think\u{25b7}", "\u{25c1}/think\u{25b7}"),
    ("<REASONING_SCRATCHPAD>", "</REASONING_SCRATCHPAD>"),
];

/// Marks of reasoning that may be read or refused.
const LESS_KNOWN: &[(&str, &str)] = &[
    ("[THINK]", "[/THINK]"),
    ("<reflection>", "</reflection>"),
    ("<analysis>", "</analysis>"),
    ("<scratchpad>", "</scratchpad>"),
    (
        "<details type=\"reasoning\" done=\"true\">\n<summary>Thought for 5 s</summary>",
        "</details>",
    ),
    (
        "<|channel|>analysis<|message|>",
        "<|end|><|start|>assistant<|channel|>final<|message|>",
    ),
    ("<|channel>thought", "<channel|>"),
    ("<seed:think>", "</seed:think>"),
];

/// Marks that no model has. The files of the base have none of these words in their own marks.
const INVENTED: &[(&str, &str)] = &[
    ("<zzz>", "</zzz>"),
    ("[[draft]]", "[[/draft]]"),
    ("<|scratch|>", "<|/scratch|>"),
    ("<my_notes kind=\"a\">", "</my_notes>"),
    ("[IDEA]", "[/IDEA]"),
    ("<Attempt>", "</Attempt>"),
];

pub const KINDS: &[Kind] = &[
    kind("prose", Effect::Same, prose),
    kind("words that take back elsewhere", Effect::Same, |random, _| {
        format!("{}\n", harmless(random))
    }),
    kind("known marks around prose", Effect::Same, |random, edits| {
        let inner = prose(random, edits);
        between(random, KNOWN, &inner)
    }),
    kind("invented marks around prose", Effect::Same, |random, edits| {
        let inner = prose(random, edits);
        between(random, INVENTED, &inner)
    }),
    kind("draft in known marks", Effect::Same, |random, edits| {
        let inner = draft(random, edits);
        between(random, KNOWN, &inner)
    }),
    kind("two drafts in known marks", Effect::Same, |random, edits| {
        let (one, two) = (draft(random, edits), draft(random, edits));
        format!(
            "{}\nStill not it.\n\n{}",
            between(random, KNOWN, &one),
            between(random, KNOWN, &two)
        )
    }),
    Kind {
        name: "draft above a closing mark alone",
        effect: Effect::Same,
        first_only: true,
        write: |random, edits| {
            let end = if random.one_in(2) {
                "No, not that.</think>"
            } else {
                "No.\n</think>"
            };
            format!("{}{end}\n", draft(random, edits))
        },
    },
    kind(
        "draft in less known marks",
        Effect::SameOrRefused,
        |random, edits| {
            let inner = draft(random, edits);
            between(random, LESS_KNOWN, &inner)
        },
    ),
    kind(
        "draft below a known mark without end",
        Effect::Refused,
        |random, edits| {
            let (open, _) = KNOWN[random.below(KNOWN.len())];
            format!("{open}\n{}", draft(random, edits))
        },
    ),
    kind("draft in invented marks", Effect::Refused, |random, edits| {
        let inner = draft(random, edits);
        between(random, INVENTED, &inner)
    }),
    kind("quoted diff", Effect::SameOrRefused, |random, edits| {
        let diff = other(random, edits).diff();
        let quoted: String = diff.lines().map(|line| format!("> {line}\n")).collect();
        format!("Ana wrote:\n\n> I would do it this way:\n>\n{quoted}\nI do it another way.\n")
    }),
    kind("indented diff", Effect::SameOrRefused, |random, edits| {
        let diff = other(random, edits).diff();
        let quoted: String = diff.lines().map(|line| format!("    {line}\n")).collect();
        format!("The commit that broke it was:\n\n{quoted}\nIt is reverted already.\n")
    }),
    kind("log", Effect::SameOrRefused, |random, edits| {
        let path = other(random, edits).path;
        let log = [
            format!("error: unused variable\n --> {path}:3:1\n"),
            format!("FAILED {path}::test_one - assert 1 == 2\n1 failed in 0.1s\n"),
            format!("--- FAIL: {path} (0.00s)\n+++ got\n@@ nothing\n"),
            format!("$ git diff --stat\n {path} | 2 +-\n"),
        ];
        let lead = [
            "`P` fails without this:",
            "The log of the updated P:",
            "`P`",
            "I ran the tests of `P`:",
        ];
        let lead = lead[random.below(lead.len())].replace('P', path);
        format!("{lead}\n\n```\n{}```\n", log[random.below(log.len())])
    }),
    kind("example", Effect::SameOrRefused, |random, edits| {
        taken_back(random, edits, EXAMPLES)
    }),
    kind(
        "draft that is taken back",
        Effect::SameOrRefused,
        |random, edits| taken_back(random, edits, TAKEN_BACK),
    ),
    kind("findings", Effect::SameOrRefused, |random, edits| {
        let path = other(random, edits).path;
        let findings = json!([{"path": path, "content": "unused line", "severity": "low"}, {"path": path, "content": "no test"}]);
        let name = if random.one_in(2) { "findings" } else { "comments" };
        format!(
            "The review says:\n\n```json\n{:#}\n```\n",
            json!({name: findings})
        )
    }),
    kind("text of another file", Effect::SameOrRefused, |random, edits| {
        let source = other_source(random, edits);
        let first: Vec<&str> = source.text.lines().take(4).collect();
        let lead = [
            "`P` begins with:",
            "`P`",
            "For comparison, P:",
            "The same lines are in `P`:",
            "### P (excerpt)",
        ];
        let lead = lead[random.below(lead.len())].replace('P', source.path);
        format!("{lead}\n\n```\n{}\n```\n", first.join("\n"))
    }),
];

/// Sentences that say that the block below is an example.
const EXAMPLES: &[&str] = &[
    "For example:",
    "An example of such a change (not for this repository):",
    "E.g.:",
];

/// Sentences that take the block below back.
const TAKEN_BACK: &[&str] = &[
    "Do not apply this:",
    "This was wrong:",
    "My first attempt, which you should ignore:",
    "Don't use the following diff:",
];

const PROSE: &[&str] = &[
    "I change one line.",
    "The list is a `Vec<String>`, and its rows are a Map<String, List<T>>.",
    "A page needs <br> at the end of a line, and <p> has no end here.",
    "I looked at `src/cart.rs` and docs/guide.md first.",
    "## What changes\n\n- the limit\n- the name",
    "| file | change |\n|---|---|\n| src/cart.rs | limit |",
    "<qqq> is only a word.",
    "if a < b and c > d, the row counts.",
    "The prompt of the model has `<think>` in it.",
    "1. open the file\n2. change the line",
    "Run `cargo test` to see it.",
    "**Summary:** the limit is higher now.",
    "See https://shop.example/a?b=1 for more.",
    "---",
    "It is done!",
];

fn prose(random: &mut Random, _: &[Edit]) -> String {
    let count = 1 + random.below(3);
    let text: Vec<&str> = (0..count).map(|_| PROSE[random.below(PROSE.len())]).collect();
    text.join("\n\n") + "\n"
}

fn between(random: &mut Random, marks: &[(&str, &str)], inner: &str) -> String {
    let (open, close) = marks[random.below(marks.len())];
    match random.below(3) {
        0 => format!("{open}Let me see.\n{inner}That is one way.{close}\n"),
        1 => format!("First a thought.\n\n{open}\n\n{inner}\n{close}\n"),
        _ => format!("{open}\n{inner}{close}\n"),
    }
}

/// A file that the answer does not edit. Its text has no mark of reasoning.
fn other_source(random: &mut Random, edits: &[Edit]) -> &'static Source {
    loop {
        let source = &SOURCES[random.below(SOURCES.len())];
        let has_marks = source.text.contains("think");
        if !has_marks && edits.iter().all(|edit| edit.path != source.path) {
            return source;
        }
    }
}

/// An edit of a file that the answer does not edit.
fn other(random: &mut Random, edits: &[Edit]) -> Edit {
    Edit::of(
        other_source(random, edits),
        random.below(4),
        1_000 + random.below(9_000),
    )
}

/// A draft: another edit of a file of the answer, or an edit of another file, in any dialect.
fn draft(random: &mut Random, edits: &[Edit]) -> String {
    let edit = &edits[random.below(edits.len())];
    let same = SOURCES
        .iter()
        .find(|source| source.path == edit.path && !source.text.contains("think"));
    let edit = match same {
        Some(source) if random.one_in(2) => Edit::of(source, random.below(4), 1_000 + random.below(9_000)),
        _ => other(random, edits),
    };
    let (_, write) = FORMS[random.below(FORMS.len())];
    format!("Maybe so:\n\n{}\nNo, that is not it.\n", write(&edit))
}

/// A draft in one fence, with the sentence directly above it.
fn taken_back(random: &mut Random, edits: &[Edit], sentences: &[&str]) -> String {
    let fenced: Vec<_> = FORMS
        .iter()
        .filter(|(name, _)| name.contains("in a fence"))
        .collect();
    // The path of these blocks stands above the fence, so the sentence is not directly above the block.
    let fenced: Vec<_> = fenced
        .into_iter()
        .filter(|(name, _)| !name.starts_with("blocks"))
        .collect();
    let (_, write) = fenced[random.below(fenced.len())];
    let gap = if random.one_in(2) { "\n" } else { "\n\n" };
    format!(
        "{}{gap}{}",
        sentences[random.below(sentences.len())],
        write(&other(random, edits))
    )
}
