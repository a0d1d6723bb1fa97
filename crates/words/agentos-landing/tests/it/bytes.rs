//! The byte rule, for every form and every rung: outside the placed lines no byte changes; inside, an added line is
//! the author's text, nothing changed but its line end and the one indentation shift of its hunk.
//!
//! Owns: the property. `AGENTOS_LANDING_CASES`, set when this is compiled, draws more cases. Never: requires a landing:
//! a refusal breaks no rule.

use agentos_landing::{LandError, LandOptions, land};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use serde_json::json;

use crate::memory::Memory;

/// A file, and an edit of it as its author means it.
#[derive(Debug, Clone)]
struct Edit {
    /// Lines without their ends. All differ, so that each edit has one place.
    lines: Vec<String>,
    crlf: bool,
    mark: bool,
    final_newline: bool,
    /// First line of the shown context, first changed line, first line below, end of the shown context.
    spans: [usize; 4],
    added: Vec<String>,
}

/// Line of the edit, with its mark.
type Marked = (char, String);

impl Edit {
    fn base(&self) -> Vec<u8> {
        let end = if self.crlf { "\r\n" } else { "\n" };
        let mut text = self.lines.join(end);
        if self.final_newline {
            text.push_str(end);
        }
        let mark: &[u8] = if self.mark { b"\xef\xbb\xbf" } else { b"" };
        [mark, text.as_bytes()].concat()
    }

    fn marked(&self) -> Vec<Marked> {
        let [from, change, below, to] = self.spans;
        let old = |mark: char, from: usize, to: usize| {
            self.lines[from..to].iter().map(move |line| (mark, line.clone()))
        };
        let added = self.added.iter().map(|line| ('+', line.clone()));
        old(' ', from, change)
            .chain(old('-', change, below))
            .chain(added)
            .chain(old(' ', below, to))
            .collect()
    }
}

fn line() -> impl Strategy<Value = String> {
    let indent = prop::sample::select(vec!["", "  ", "    ", "      ", "\t", "\t\t"]);
    let word = prop::sample::select(vec![
        "call",
        "a  = b",
        "say \u{201c}x\u{201d}",
        "x \u{2013} y",
        "it's",
        "let\tv",
        "\"q\"",
    ]);
    let tail = prop::sample::select(vec!["", "", "", "  ", "\t"]);
    (indent, word, tail).prop_map(|(indent, word, tail)| format!("{indent}{word}{tail}"))
}

/// Lines that all differ: each has its number behind the indentation. This share of them is blank: in the file, two
/// blank lines would give an edit two places.
fn lines(
    count: std::ops::Range<usize>,
    first: &'static str,
    blank: f64,
) -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec((line(), prop::bool::weighted(blank)), count).prop_map(move |lines| {
        let numbered = |(at, (line, blank)): (usize, (String, bool))| match blank {
            true => line.chars().take_while(|letter| letter.is_whitespace()).collect(),
            false => {
                let text = line.trim_start();
                let indent = line.split_at(line.len() - text.len()).0.to_owned();
                format!("{indent}{first}{at} {text}")
            }
        };
        lines.into_iter().enumerate().map(numbered).collect()
    })
}

fn edit() -> impl Strategy<Value = Edit> {
    let spans = (
        any::<prop::sample::Index>(),
        0..=3_usize,
        0..=3_usize,
        0..=3_usize,
    );
    (
        lines(1..16, "n", 0.0),
        any::<[bool; 3]>(),
        spans,
        lines(0..4, "+", 0.1),
    )
        .prop_map(
            |(lines, [crlf, mark, final_newline], (at, above, gone, below), added)| {
                let change = at.index(lines.len() + 1);
                let end = (change + gone).min(lines.len());
                Edit {
                    spans: [
                        change.saturating_sub(above),
                        change,
                        end,
                        (end + below).min(lines.len()),
                    ],
                    crlf,
                    mark,
                    // A last line without text and without an end is no line.
                    final_newline: final_newline
                        || [&lines, &added]
                            .iter()
                            .any(|lines| lines.last().is_none_or(|line| line.trim().is_empty())),
                    lines,
                    added,
                }
            },
        )
        .prop_filter("it changes something", |edit| {
            edit.spans[1] < edit.spans[2] || !edit.added.is_empty()
        })
}

/// Returns the line as the transport leaves it, from its mark and its text.
type LineDamage = fn(char, &str) -> String;

/// What the transport does to a line, by the rung on which it is then found.
const DAMAGE: &[(&str, LineDamage)] = &[
    ("none", |_, text| text.to_owned()),
    ("trailing added", |_, text| format!("{text}  ")),
    ("trailing added to old lines", |mark, text| match mark {
        '+' => text.to_owned(),
        _ => format!("{text} "),
    }),
    ("trailing lost", |_, text| text.trim_end().to_owned()),
    ("deeper", |_, text| format!("  {text}")),
    ("shallower", |_, text| {
        text.strip_prefix("  ").unwrap_or(text).to_owned()
    }),
    ("tabs as blanks", |_, text| text.replace('\t', "    ")),
    ("blanks as tabs", |_, text| text.replace("    ", "\t")),
    ("collapsed context", |mark, text| match mark {
        '+' => text.to_owned(),
        _ => text.replace("  = ", " = "),
    }),
    ("plain quotes", |mark, text| match mark {
        '+' => text.to_owned(),
        _ => text
            .replace(['\u{201c}', '\u{201d}'], "\"")
            .replace('\u{2013}', "-"),
    }),
    ("curly quotes", |mark, text| match mark {
        '+' => text.to_owned(),
        _ => text.replace('\'', "\u{2019}"),
    }),
];

/// The edit in every form that has lines of its own.
fn forms(edit: &Edit, damage: LineDamage) -> Vec<(&'static str, String)> {
    let lines: Vec<Marked> = edit
        .marked()
        .into_iter()
        .map(|(mark, text)| (mark, damage(mark, &text)))
        .collect();
    let body: String = lines
        .iter()
        .map(|(mark, text)| format!("{mark}{text}\n"))
        .collect();
    let side = |out: char| -> String {
        let lines = lines.iter().filter(|(mark, _)| *mark != out);
        lines.map(|(_, text)| format!("{text}\n")).collect()
    };
    let (old, new) = (side('+'), side('-'));
    let count = |text: &str| text.lines().count();
    let start = edit.spans[0] + usize::from(!old.is_empty());
    let header = format!("@@ -{start},{} +{start},{} @@", count(&old), count(&new));
    let path = "f.txt";
    vec![
        (
            "git",
            format!("diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n{header}\n{body}"),
        ),
        ("plain", format!("--- a/{path}\n+++ b/{path}\n{header}\n{body}")),
        ("bare", format!("--- a/{path}\n+++ b/{path}\n@@ @@\n{body}")),
        (
            "fence",
            format!("Do this:\n\n```diff\n--- a/{path}\n+++ b/{path}\n{header}\n{body}```\n"),
        ),
        (
            "blocks",
            format!("{path}\n<<<<<<< SEARCH\n{old}=======\n{new}>>>>>>> REPLACE\n"),
        ),
        (
            "envelope",
            format!("*** Begin Patch\n*** Update File: {path}\n@@\n{body}*** End Patch\n"),
        ),
        (
            "json",
            json!({"edits": [{"path": path, "search": old, "replace": new}]}).to_string(),
        ),
        (
            "call",
            json!({"type": "tool_use", "name": "str_replace_based_edit_tool", "input": {
                "command": "str_replace", "path": path, "old_str": old, "new_str": new}})
            .to_string(),
        ),
    ]
}

/// Lines of a file with their ends, its byte order mark apart.
fn split(content: &[u8]) -> (bool, Vec<String>) {
    let text = String::from_utf8_lossy(content).into_owned();
    let bare = text.strip_prefix('\u{feff}');
    let lines = bare
        .unwrap_or(&text)
        .split_inclusive('\n')
        .map(str::to_owned)
        .collect();
    (bare.is_some(), lines)
}

/// Returns true if one change of the indentation makes all lines of the file from those of the author.
fn is_one_shift(pairs: &[(String, String)]) -> bool {
    let indent = |text: &str| {
        text.split_at(text.len() - text.trim_start_matches([' ', '\t']).len())
            .0
            .to_owned()
    };
    let pairs: Vec<(String, String)> = pairs
        .iter()
        .map(|(author, file)| (indent(author), indent(file)))
        .collect();
    let columns = |text: &str, width: usize| {
        text.chars().fold(0, |at, blank| {
            if blank == '\t' {
                (at / width + 1) * width
            } else {
                at + 1
            }
        })
    };
    let prefix = |pairs: &[(String, String)], turned: bool| {
        let turn = |(author, file): &(String, String)| match turned {
            true => (file.clone(), author.clone()),
            false => (author.clone(), file.clone()),
        };
        let mut extra = pairs.iter().map(|pair| {
            let (short, long) = turn(pair);
            long.strip_suffix(&*short).map(str::to_owned)
        });
        let first = extra.next().flatten();
        first.is_some() && extra.all(|extra| extra == first)
    };
    pairs.is_empty()
        || prefix(&pairs, false)
        || prefix(&pairs, true)
        || (1..=8).any(|width| {
            pairs
                .iter()
                .all(|(author, file)| columns(author, width) == columns(file, width))
        })
}

/// Checks the rule; `written` has the added lines as the answer has them. Returns the words for what is broken, or `None`.
fn broken(form: &str, edit: &Edit, written: &[String], before: &[u8], after: &[u8]) -> Option<String> {
    let ((mark, old), (new_mark, new)) = (split(before), split(after));
    let [_, change, below, _] = edit.spans;
    if mark != new_mark && !new.is_empty() {
        return Some("the byte order mark".to_owned());
    }
    let ends = |lines: &[String]| lines.last().is_none_or(|line| line.ends_with('\n'));
    if ends(&old) != ends(&new) && !new.is_empty() {
        return Some("the final newline".to_owned());
    }
    let added = new.len().checked_sub(change + old.len() - below)?;
    // Only the end of the last line of a file may differ: it gets one where lines come below it, and the reverse.
    let same = |old: &[String], new: &[String]| {
        old.iter().zip(new).all(|(old, new)| {
            old == new
                || ((!old.ends_with('\n') || !new.ends_with('\n'))
                    && old.trim_end_matches(['\r', '\n']) == new.trim_end_matches(['\r', '\n']))
        })
    };
    if added != edit.added.len() {
        return Some(format!("{added} added lines instead of {}", edit.added.len()));
    }
    if !same(&old[..change], &new[..change]) || !same(&old[below..], &new[change + added..]) {
        return Some("a line outside".to_owned());
    }
    let end = if edit.crlf { "\r\n" } else { "\n" };
    let here = &new[change..change + added];
    if here
        .iter()
        .any(|line| line.ends_with('\n') && (line.ends_with("\r\n") != edit.crlf) && old.len() > 1)
    {
        return Some(format!("a line end that is not {end:?}"));
    }
    let plain = |line: &String| line.trim_end_matches(['\r', '\n']).to_owned();
    let pairs: Vec<(String, String)> = written.iter().cloned().zip(here.iter().map(plain)).collect();
    // Blanks that the transport put at the end of every line may go, at every line.
    let tail = |(author, file): &(String, String)| -> Option<String> {
        let tail = author.trim_start().strip_prefix(file.trim_start())?;
        tail.trim().is_empty().then(|| tail.to_owned())
    };
    let said: Vec<(String, String)> = pairs
        .iter()
        .filter(|(author, _)| !author.trim().is_empty())
        .cloned()
        .collect();
    let blank = pairs.iter().filter(|(author, _)| author.trim().is_empty());
    let tails: Vec<Option<String>> = said.iter().map(tail).collect();
    if tails.iter().any(Option::is_none)
        || tails.windows(2).any(|pair| pair[0] != pair[1])
        || blank.into_iter().any(|(_, file)| !file.trim().is_empty())
    {
        return Some(format!("the text of an added line: {pairs:?}"));
    }
    // A JSON edit replaces a part of a line: what is in front of it stays, and the lines below are the author's.
    let literal = said
        .get(1..)
        .unwrap_or_default()
        .iter()
        .all(|(author, file)| author.trim_end() == file.trim_end());
    if matches!(form, "json" | "call") && literal {
        return None;
    }
    (!is_one_shift(&said)).then(|| format!("the indentation: {said:?}"))
}

/// Returns the settings of the property: the same cases in every run of the suite, others where more are searched. A rare case is
/// then found by those who search, and not in somebody's merge.
fn settings() -> ProptestConfig {
    let more = option_env!("AGENTOS_LANDING_CASES").and_then(|cases| cases.parse().ok());
    ProptestConfig {
        cases: more.unwrap_or(80),
        rng_seed: if more.is_some() {
            RngSeed::Random
        } else {
            RngSeed::Fixed(1)
        },
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(settings())]

    #[test]
    fn outside_the_placed_lines_no_byte_changes_and_added_lines_are_the_authors(edit in edit()) {
        let content = edit.base();
        let base = Memory::of(&[("f.txt", &content)]);
        for (name, damage) in DAMAGE {
            let written: Vec<String> = edit.added.iter().map(|line| damage('+', line)).collect();
            for (form, answer) in forms(&edit, *damage) {
                match land(answer.as_bytes(), &base, &LandOptions::default()) {
                    Ok(landed) => {
                        let after = base.after(&landed.change);
                        let after = after.get("f.txt").map(|(_, content)| content.to_vec()).unwrap_or_default();
                        let broken = broken(form, &edit, &written, &content, &after);
                        prop_assert!(broken.is_none(), "{name}, {form}: {broken:?}\n{answer}\nBASE\n{}\nGOT\n{}",
                            String::from_utf8_lossy(&content), String::from_utf8_lossy(&after));
                    }
                    Err(LandError::Refused(_)) => {}
                    Err(LandError::Base(error)) => prop_assert!(false, "{error}"),
                }
            }
        }
    }
}
