//! Marks around the reasoning of a model, and marks of other names around parts of an answer.
//!
//! Owns: the marks. Never: looks into an edit: the text of a file may contain such marks.
//!
//! An edit in the reasoning is a draft that the answer may have dropped. Marks of two classes are read, both only where
//! prose may stand, and never inside a code span:
//!
//! | marks | meaning |
//! |---|---|
//! | known marks, with any attributes, in any case, anywhere, more than once | the text between them is left out |
//! | a known opening mark without an end, or with one in the text of an edit only | the answer was cut off in its reasoning: it is refused |
//! | a known closing mark alone | the server removed the opening mark: everything above is reasoning |
//! | marks of another name, as `<answer>` and `</answer>` | no meaning, unless edits are both inside and outside of them |

use std::collections::BTreeMap;
use std::ops::Range;

use super::cursor::{CodeFence, closes_fence, parse_fence, split_margin};
use crate::Refusal;
use crate::refusal::ambiguous;
use crate::text::{TextLine, count_quotes, is_blank, is_in, trim};

/// Names of tags that models write around their reasoning. `think`: DeepSeek R1, Qwen 3, MiniMax M2, GLM 4.5. `thinking`:
/// prompts of Anthropic. `thought`: EXAONE Deep. `reasoning`: Granite 3.2, OpenRouter. `reasoning_scratchpad`: Hermes.
/// `seed:think`: Seed-OSS. `reflection`: Reflection 70B. `antthinking`: Claude's artifacts.
const NAMES: &str = "think,thinking,thought,thoughts,reasoning,reasoning_scratchpad,scratchpad,seed:think,reflection,analysis,\
    antthinking,inner_monologue";

/// Other marks, each with the marks that end it: gpt-oss (harmony), Gemma 4, Magistral, Kimi-VL, OpenThinker and Sky-T1,
/// Command A, MedGemma.
const PAIRS: [(&str, &[&str]); 7] = [
    (
        "<|channel|>analysis<|message|>",
        &["<|end|>", "<|start|>", "<|channel|>"],
    ),
    ("<|channel>thought", &["<channel|>"]),
    ("[think]", &["[/think]"]),
    ("◁think▷", &["◁/think▷"]),
    ("<|begin_of_thought|>", &["<|end_of_thought|>"]),
    ("<|start_thinking|>", &["<|end_thinking|>"]),
    ("<unused94>thought", &["<unused95>"]),
];

/// Marks in front of the answer itself (harmony): the text behind them is not reasoning.
const ANSWERS: [&str; 3] = [
    "<|start|>assistant<|channel|>final<|message|>",
    "<|channel|>final<|message|>",
    "<|channel|>commentary<|message|>",
];

/// Mark of reasoning in a line.
pub(super) struct ReasoningMark {
    /// Bytes of the line that the mark takes.
    pub place: Range<usize>,
    /// True for a mark in the middle of a sentence.
    pub is_mentioned: bool,
    pub kind: MarkKind,
}

/// Meaning of a mark.
pub(super) enum MarkKind {
    /// Reasoning begins. Holds the marks of which the first one ends it.
    Opens(Vec<String>),
    /// Reasoning ends.
    Closes,
    /// The answer begins.
    Answer,
}

/// Maximum length of a mark. Without it, each of many brackets would search the rest of a long line.
const LONGEST: usize = 200;

/// Returns the first mark of reasoning in a line of prose. Returns `None` if the line has no mark.
pub(super) fn find_mark(line: &[u8]) -> Option<ReasoningMark> {
    starts_of_marks(line).find_map(|from| {
        let (kind, length) = read_mark(line.get(from..)?)?;
        let place = from..from + length;
        let is_mentioned = is_mentioned(line, &place);
        let counts = !(is_mentioned && matches!(kind, MarkKind::Closes));
        counts.then_some(ReasoningMark {
            place,
            is_mentioned,
            kind,
        })
    })
}

/// Returns the positions in a line at which a mark may begin: outside of code spans.
fn starts_of_marks(line: &[u8]) -> impl Iterator<Item = usize> {
    let mut in_code = false;
    let mut ticks = line.iter().filter(|byte| **byte == b'`').count();
    line.iter().enumerate().filter_map(move |(at, byte)| match byte {
        b'`' => {
            ticks -= 1;
            // A tick without a partner is a character as any other.
            in_code = !in_code && ticks > 0;
            None
        }
        // `◁` begins with this byte.
        b'<' | b'[' | 0xe2 if !in_code => Some(at),
        _ => None,
    })
}

fn read_mark(text: &[u8]) -> Option<(MarkKind, usize)> {
    for (open, ends) in PAIRS {
        if begins_with(text, open) {
            let ends = ends.iter().map(|end| (*end).to_owned()).collect();
            return Some((MarkKind::Opens(ends), open.len()));
        }
        // `<|end|>` and its like end other parts, too.
        if let [end] = ends
            && begins_with(text, end)
        {
            return Some((MarkKind::Closes, end.len()));
        }
    }
    if let Some(mark) = ANSWERS.iter().find(|mark| begins_with(text, mark)) {
        return Some((MarkKind::Answer, mark.len()));
    }
    let inner = text.strip_prefix(b"<")?;
    let inner = inner.get(..inner.len().min(LONGEST))?;
    let inner = inner.get(..inner.iter().position(|byte| *byte == b'>')?)?;
    let lower = String::from_utf8_lossy(inner).to_lowercase();
    let length = inner.len() + 2;
    if let Some(name) = lower.strip_prefix('/') {
        return is_in(NAMES, name.trim()).then_some((MarkKind::Closes, length));
    }
    let (name, attributes) = lower.split_once([' ', '\t']).unwrap_or((&lower, ""));
    // Open WebUI keeps reasoning in a `details` element.
    let is_known = is_in(NAMES, name) || (name == "details" && attributes.contains("reasoning"));
    is_known.then(|| (MarkKind::Opens(vec![format!("</{name}>")]), length))
}

fn begins_with(text: &[u8], mark: &str) -> bool {
    text.get(..mark.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(mark.as_bytes()))
}

/// Returns true for a mark in the middle of a sentence: `the </think> tag`.
fn is_mentioned(line: &[u8], place: &Range<usize>) -> bool {
    let before = line.get(..place.start).unwrap_or_default();
    let behind = line.get(place.end..).unwrap_or_default();
    let is_apart = before.last().is_some_and(|byte| is_blank(*byte))
        && behind.first().is_some_and(|byte| is_blank(*byte));
    is_apart && !trim(before).is_empty() && !trim(behind).is_empty()
}

/// Returns the line and the byte behind the first of these closing marks, from a byte of the first line on. Returns
/// `None` if there is none before line `to`.
///
/// A mark in a fence, or in an edit, is text of a file: a draft may quote a file with such marks, and so may an edit below
/// reasoning that has no end. `edit_end` returns the line and the byte behind an edit that begins at a line.
pub(super) fn find_end(
    lines: &[TextLine<'_>],
    (first, from): (usize, usize),
    to: usize,
    ends: &[String],
    mut edit_end: impl FnMut(usize) -> Option<(usize, usize)>,
) -> Option<(usize, usize)> {
    let mut fence: Option<CodeFence<'_>> = None;
    let (mut at, mut from) = (first, from);
    while at < to {
        if from == 0
            && fence.is_none()
            && let Some(end) = edit_end(at).filter(|end| *end > (at, 0))
        {
            (at, from) = end;
            continue;
        }
        let text = lines.get(at)?.text.get(from..).unwrap_or_default();
        let bare = split_margin(text).1;
        match (&fence, parse_fence(bare)) {
            (Some(open), _) if closes_fence(open, bare) => fence = None,
            (None, Some(opened)) => fence = Some(opened),
            (None, None) => {
                if let Some(behind) = behind_mark(text, ends) {
                    return Some((at, from + behind));
                }
            }
            (Some(_), _) => {}
        }
        (at, from) = (at + 1, 0);
    }
    None
}

/// Returns the byte behind the first of these marks in a text, outside of the strings of JSON.
fn behind_mark(text: &[u8], ends: &[String]) -> Option<usize> {
    let is_json = trim(text).starts_with(b"{");
    let quotes = |place: usize| count_quotes(text.get(..place).unwrap_or_default());
    let found = ends.iter().filter_map(|end| {
        let is_end = |window: &[u8]| window.eq_ignore_ascii_case(end.as_bytes());
        let place = text.windows(end.len()).position(is_end)?;
        // A mark that begins another part is read once more.
        let begins_another = ["<|start|>", "<|channel|>"].contains(&end.as_str());
        let is_quoted = is_json && quotes(place) % 2 == 1;
        (!is_quoted).then_some(place + if begins_another { 0 } else { end.len() })
    });
    found.min()
}

/// Mark of an unknown name, outside of fences and code spans.
pub(super) struct PairMark {
    line: usize,
    name: String,
    closes: bool,
}

/// Names of tags that carry edits, so they never mark a draft.
const CARRIERS: &str = "apply_diff,apply_patch,args,change,changes,content,diff,edit,edits,file,files,function_calls,patch,path,\
    replace_in_file,tool_call,tool_calls";

/// Returns the marks of unknown names in a line of prose: `<name …>`, `[name]`, `<|name|>` and what closes them.
pub(super) fn pair_marks(line: &[u8], at: usize) -> Vec<PairMark> {
    let marks = starts_of_marks(line).filter_map(|from| {
        let text = line.get(from..)?;
        let text = text.get(..text.len().min(LONGEST))?;
        let ends: &[u8] = if text.starts_with(b"<") { b">" } else { b"]" };
        let inner = text.get(1..text.iter().position(|byte| ends.contains(byte))?)?;
        let inner = String::from_utf8_lossy(inner).to_lowercase();
        let inner = inner.trim_matches(|mark: char| "<[|".contains(mark));
        let (bare, closes) = match inner.strip_prefix('/') {
            Some(bare) => (bare, true),
            None => (inner, inner.starts_with("end")),
        };
        let name = bare.split([' ', '\t']).next().unwrap_or_default();
        let name = ["begin_of_", "end_of_", "begin_", "start_", "end_"]
            .iter()
            .find_map(|prefix| name.strip_prefix(prefix))
            .unwrap_or(if ["begin", "start", "end"].contains(&name) {
                "begin"
            } else {
                name
            });
        let is_name = name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_-:.".contains(&byte));
        (!name.is_empty() && is_name && !is_in(CARRIERS, name)).then(|| PairMark {
            line: at,
            name: name.to_owned(),
            closes,
        })
    });
    marks.collect()
}

/// Refuses edits both inside and outside of marks of one unknown name: the ones inside may be a draft. `edits` are the
/// first lines of the parts with edits.
///
/// # Errors
/// Fails with `ambiguous`, and names the mark.
pub(super) fn check_pairs(marks: &[PairMark], edits: &[usize]) -> Result<(), Refusal> {
    let mut open: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    let mut pairs: BTreeMap<&str, Vec<(usize, usize)>> = BTreeMap::new();
    for mark in marks {
        let stack = open.entry(&mark.name).or_default();
        if !mark.closes {
            stack.push(mark.line);
        } else if let Some(from) = stack.pop() {
            pairs.entry(&mark.name).or_default().push((from, mark.line));
        }
    }
    let is_split = |places: &Vec<(usize, usize)>| {
        // Sorted by their beginnings; few pairs of one name nest, so the one that begins last above an edit decides.
        let inside = |at: &&usize| {
            let above = places.partition_point(|(from, _)| from <= *at);
            places
                .get(above.saturating_sub(8)..above)
                .unwrap_or_default()
                .iter()
                .any(|(_, to)| to >= *at)
        };
        let count = edits.iter().filter(inside).count();
        count > 0 && count < edits.len()
    };
    pairs.values_mut().for_each(|places| places.sort_unstable());
    match pairs.iter().find(|(_, places)| is_split(places)) {
        Some((name, _)) => Err(ambiguous(format!(
            "edits are both inside and outside of the marks `{name}`: those inside may be a draft"
        ))
        .hint("give the edits alone, without the text of the reasoning")),
        None => Ok(()),
    }
}
