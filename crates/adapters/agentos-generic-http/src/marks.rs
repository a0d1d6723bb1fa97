//! Separates what a model writes into its text: the answer, its thinking between marks, and calls as text.
//!
//! Owns: the marks of thinking, and the order in which pieces of text are decided. Never: looks inside a fence, changes a text
//! without marks, or reads the answer to an edit task: landing has rules of its own for it.

use agentos_model::{ChatPiece, ThoughtPiece};

use crate::spoken::{CALL_MARKS, read_calls};

/// Pairs of marks around thinking at the beginning of an answer.
const THOUGHTS: [(&str, &str); 13] = [
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<reasoning>", "</reasoning>"),
    ("<seed:think>", "</seed:think>"),
    ("<REASONING_SCRATCHPAD>", "</REASONING_SCRATCHPAD>"),
    // Magistral, Kimi, Gemma.
    ("[THINK]", "[/THINK]"),
    ("◁think▷", "◁/think▷"),
    ("<|channel>thought", "<channel|>"),
    // gpt-oss: thinking, and words to the user between calls.
    ("<|channel|>analysis<|message|>", "<|end|>"),
    ("<|start|>assistant<|channel|>analysis<|message|>", "<|end|>"),
    ("<|channel|>commentary<|message|>", "<|end|>"),
    ("<|start|>assistant<|channel|>commentary<|message|>", "<|end|>"),
];

/// Marks that begin the answer itself and are no part of it.
const ANSWERS: [&str; 2] = [
    "<|start|>assistant<|channel|>final<|message|>",
    "<|channel|>final<|message|>",
];

/// Ends of thinking whose beginning was a part of the prompt, as in the templates of DeepSeek and Qwen.
const UNOPENED: [&str; 2] = ["</think>", "</thinking>"];

/// Place in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TextPlace {
    /// Before the first word, or behind thinking.
    Start,
    /// In thinking that ends with this mark.
    Thinking(&'static str),
    /// In the answer.
    Text,
    /// In what may be a call. It is decided at the end of the answer.
    Call,
}

/// Part of a text, decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TextPart {
    /// A piece of the answer.
    Piece(ChatPiece),
    /// The text so far was thinking.
    WasThinking,
}

/// Reads the text of an answer piece by piece.
#[derive(Debug)]
pub(crate) struct TextReader<'a> {
    offered: Vec<&'a str>,
    place: TextPlace,
    /// Text that is not decided yet.
    held: String,
    /// The last line of the answer so far.
    line: String,
    in_fence: bool,
    /// True if an end of thinking without its beginning may still come.
    may_be_unopened: bool,
    /// True behind a mark.
    is_marked: bool,
}

impl<'a> TextReader<'a> {
    /// Makes a reader for an answer in which calls of these tools may be written as text.
    pub(crate) fn new(offered: Vec<&'a str>) -> Self {
        Self {
            offered,
            place: TextPlace::Start,
            held: String::new(),
            line: String::new(),
            in_fence: false,
            may_be_unopened: true,
            is_marked: false,
        }
    }

    /// Adds a piece, and returns what is decided.
    pub(crate) fn add_piece(&mut self, piece: ChatPiece) -> Vec<TextPart> {
        // A server that reports thinking or calls itself has read the marks of its template.
        if !piece.thoughts.is_empty() || !piece.calls.is_empty() {
            self.may_be_unopened = false;
        }
        let ChatPiece {
            text,
            thoughts,
            calls,
        } = piece;
        let mut parts = Vec::new();
        if !thoughts.is_empty() {
            parts.push(TextPart::Piece(ChatPiece {
                thoughts,
                ..ChatPiece::default()
            }));
        }
        self.held.push_str(&text);
        while self.decide(&mut parts) {}
        if !calls.is_empty() {
            self.release(&mut parts);
            parts.push(TextPart::Piece(ChatPiece {
                calls,
                ..ChatPiece::default()
            }));
        }
        parts
    }

    /// Returns what is left at the end of the answer.
    pub(crate) fn finish(&mut self) -> Vec<TextPart> {
        let mut parts = Vec::new();
        if self.place == TextPlace::Call
            && let Some(calls) = read_calls(&self.held, &self.offered)
        {
            self.held.clear();
            parts.push(TextPart::Piece(ChatPiece {
                calls,
                ..ChatPiece::default()
            }));
            return parts;
        }
        self.release(&mut parts);
        parts
    }

    /// Shows the text that is not decided yet as its place says.
    fn release(&mut self, parts: &mut Vec<TextPart>) {
        let held = std::mem::take(&mut self.held);
        match self.place {
            TextPlace::Thinking(_) => parts.extend(thinking(&held)),
            TextPlace::Start | TextPlace::Text | TextPlace::Call => self.show(&held, parts),
        }
    }

    /// Decides the next part of the held text. Returns false if nothing more can be decided yet.
    fn decide(&mut self, parts: &mut Vec<TextPart>) -> bool {
        if self.held.is_empty() {
            return false;
        }
        match self.place {
            TextPlace::Start => self.decide_start(),
            TextPlace::Thinking(end) => self.decide_thinking(end, parts),
            TextPlace::Text => self.decide_text(parts),
            TextPlace::Call => false,
        }
    }

    fn decide_start(&mut self) -> bool {
        let start = self.held.trim_start();
        let found = THOUGHTS.iter().find(|(open, _)| start.starts_with(open));
        if let Some((open, end)) = found {
            self.held = start.get(open.len()..).unwrap_or_default().to_owned();
            self.place = TextPlace::Thinking(end);
            self.is_marked = true;
            self.may_be_unopened = false;
            return true;
        }
        if let Some(mark) = ANSWERS.iter().find(|mark| start.starts_with(**mark)) {
            self.held = start.get(mark.len()..).unwrap_or_default().to_owned();
            self.place = TextPlace::Text;
            self.is_marked = true;
            self.may_be_unopened = false;
            return true;
        }
        let may_call = !self.offered.is_empty();
        let marks = THOUGHTS
            .iter()
            .map(|(open, _)| open)
            .chain(&ANSWERS)
            .chain(&CALL_MARKS);
        let mut marks = marks.filter(|mark| may_call || !CALL_MARKS.contains(mark));
        if start.is_empty() || marks.any(|mark| mark.len() > start.len() && mark.starts_with(start)) {
            return false;
        }
        if may_call
            && (start.starts_with(['{', '[']) || CALL_MARKS.iter().any(|mark| start.starts_with(mark)))
        {
            self.place = TextPlace::Call;
            return false;
        }
        // Blank lines between thinking and answer belong to the marks.
        if self.is_marked {
            self.held = start.to_owned();
        }
        self.place = TextPlace::Text;
        true
    }

    fn decide_thinking(&mut self, end: &str, parts: &mut Vec<TextPart>) -> bool {
        if let Some((inside, after)) = self.held.split_once(end) {
            parts.extend(thinking(inside));
            self.held = after.trim_start().to_owned();
            self.place = TextPlace::Start;
            return true;
        }
        let kept = partial_end(&self.held, &[end]);
        let shown = self.held.len() - kept;
        let rest = self.held.split_off(shown);
        let inside = std::mem::replace(&mut self.held, rest);
        parts.extend(thinking(&inside));
        false
    }

    /// Decides the text up to the end of its line.
    fn decide_text(&mut self, parts: &mut Vec<TextPart>) -> bool {
        let at_line_start = self.line.is_empty();
        if at_line_start && !self.in_fence && !self.offered.is_empty() {
            if CALL_MARKS.iter().any(|mark| self.held.starts_with(mark)) {
                self.place = TextPlace::Call;
                return false;
            }
            if CALL_MARKS.iter().any(|mark| mark.starts_with(self.held.as_str())) {
                return false;
            }
        }
        if let Some((before, after)) = self.find_unopened() {
            self.held = after;
            self.is_marked = true;
            self.line.clear();
            self.may_be_unopened = false;
            self.place = TextPlace::Start;
            parts.push(TextPart::WasThinking);
            parts.extend(thinking(&before));
            return true;
        }
        let line_end = self.held.find('\n').map_or(self.held.len(), |at| at + 1);
        let kept = match self.may_be_unopened && line_end == self.held.len() {
            true => partial_end(&self.held, &UNOPENED),
            false => 0,
        };
        let rest = self.held.split_off(line_end - kept);
        let shown = std::mem::replace(&mut self.held, rest);
        self.show(&shown, parts);
        kept == 0
    }

    /// Returns the text before and behind an end of thinking whose beginning was a part of the prompt.
    fn find_unopened(&self) -> Option<(String, String)> {
        if !self.may_be_unopened || self.in_fence {
            return None;
        }
        let line = self.held.split('\n').next()?;
        let (mark, at) = UNOPENED.iter().find_map(|mark| Some((mark, line.find(mark)?)))?;
        let before = format!("{}{}", self.line, line.get(..at)?);
        // In quotes the mark is what the sentence is about.
        let is_quoted = before.matches('`').count() % 2 == 1 || before.ends_with(['"', '\'']);
        let after = self.held.get(at + mark.len()..)?;
        let is_opened = before.contains("<think");
        (!is_quoted && !is_opened).then(|| {
            (
                line.get(..at).unwrap_or_default().to_owned(),
                after.trim_start().to_owned(),
            )
        })
    }

    /// Shows a piece of the answer, and follows its lines and fences.
    fn show(&mut self, text: &str, parts: &mut Vec<TextPart>) {
        for piece in text.split_inclusive('\n') {
            self.line.push_str(piece);
            // An end has its beginning in the text then, and both are what the text is about.
            self.may_be_unopened &= !self.line.contains("<think");
            if self.line.ends_with('\n') {
                let line = self.line.trim_start();
                self.in_fence ^= line.starts_with("```") || line.starts_with("~~~");
                self.line.clear();
            }
        }
        if !text.is_empty() {
            parts.push(TextPart::Piece(ChatPiece::from_text(text)));
        }
    }
}

fn thinking(text: &str) -> Option<TextPart> {
    (!text.is_empty()).then(|| {
        TextPart::Piece(ChatPiece {
            thoughts: vec![ThoughtPiece {
                text: text.to_owned(),
                ..ThoughtPiece::default()
            }],
            ..ChatPiece::default()
        })
    })
}

/// Returns the bytes at the end of a text that may be the beginning of a mark.
fn partial_end(text: &str, marks: &[&str]) -> usize {
    let starts = marks
        .iter()
        .flat_map(|mark| mark.char_indices().skip(1).filter_map(|(at, _)| mark.get(..at)));
    starts
        .filter(|start| text.ends_with(start))
        .map(str::len)
        .max()
        .unwrap_or(0)
}

#[cfg(test)]
mod tests;
