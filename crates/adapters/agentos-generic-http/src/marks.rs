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

/// Beginning of the marks of which [`UNOPENED`] are the ends.
const OPENED: &str = "<think";
/// Most blank text before the first word in which a mark is looked for, in bytes.
const LONGEST_BLANK: usize = 4 << 10;

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

/// End of thinking without its beginning, in the line that is decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UnopenedEnd {
    /// The line has no such end.
    Missing,
    /// The text from this byte on can be one: what follows decides.
    Undecided(usize),
    /// The bytes before and behind it.
    Found(usize, usize),
}

/// Reads the text of an answer piece by piece.
#[derive(Debug)]
pub(crate) struct TextReader<'a> {
    offered: Vec<&'a str>,
    place: TextPlace,
    /// Text of which the part from byte `from` on is not decided yet.
    held: String,
    from: usize,
    line: LastLine,
    in_fence: bool,
    /// True if a word of the answer was shown.
    has_word: bool,
    /// True if an end of thinking without its beginning may still come.
    may_be_unopened: bool,
    /// True behind a mark.
    is_marked: bool,
}

/// Facts about the last line of the answer so far. A line can be as long as an answer, so it is not kept.
#[derive(Debug, Default)]
struct LastLine {
    is_begun: bool,
    /// The first three letters after blanks, which may open a fence.
    start: String,
    backticks: usize,
    /// The last bytes, in which a mark may begin.
    tail: String,
}

impl LastLine {
    /// Adds text of the line.
    fn push(&mut self, text: &str) {
        self.is_begun |= !text.is_empty();
        let missing = 3 - self.start.chars().count().min(3);
        let is_blank = self.start.is_empty();
        let letters = text
            .chars()
            .skip_while(|letter| is_blank && letter.is_whitespace());
        self.start.extend(letters.take(missing));
        self.backticks += text.matches('`').count();
        self.tail = last_bytes(&self.join(text), OPENED.len()).to_owned();
    }

    /// Returns a text with the end of the line before it.
    fn join(&self, text: &str) -> String {
        format!("{}{text}", self.tail)
    }
}

/// Returns the end of a text: at most so many bytes.
fn last_bytes(text: &str, most: usize) -> &str {
    let from = text.len().saturating_sub(most);
    let from = (from..=text.len()).find(|at| text.is_char_boundary(*at));
    text.get(from.unwrap_or(text.len())..).unwrap_or_default()
}

impl<'a> TextReader<'a> {
    /// Makes a reader for an answer in which calls of these tools may be written as text.
    pub(crate) fn new(offered: Vec<&'a str>) -> Self {
        Self {
            offered,
            place: TextPlace::Start,
            held: String::new(),
            from: 0,
            line: LastLine::default(),
            in_fence: false,
            has_word: false,
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
        // Once for all that was decided: each time, a text of many lines would be moved as often as it has lines.
        self.held.drain(..self.from);
        self.from = 0;
        if !calls.is_empty() {
            self.release(&mut parts);
            parts.push(TextPart::Piece(ChatPiece {
                calls,
                ..ChatPiece::default()
            }));
        }
        parts
    }

    /// Returns the text that is not decided yet.
    fn rest(&self) -> &str {
        self.held.get(self.from..).unwrap_or_default()
    }

    /// Returns what is left at the end of the answer.
    pub(crate) fn finish(&mut self) -> Vec<TextPart> {
        let mut parts = Vec::new();
        if self.place == TextPlace::Call
            && let Some(calls) = read_calls(self.rest(), &self.offered)
        {
            self.held.clear();
            parts.push(TextPart::Piece(ChatPiece {
                calls,
                ..ChatPiece::default()
            }));
            return parts;
        }
        if self.place == TextPlace::Text && matches!(self.find_unopened(), UnopenedEnd::Undecided(_)) {
            // Nothing follows the end of thinking.
            self.held.clear();
            self.from = 0;
            parts.push(TextPart::WasThinking);
            return parts;
        }
        self.release(&mut parts);
        parts
    }

    /// Shows the text that is not decided yet as its place says.
    fn release(&mut self, parts: &mut Vec<TextPart>) {
        let held = self.rest().to_owned();
        self.held.clear();
        self.from = 0;
        match self.place {
            TextPlace::Thinking(_) => parts.extend(thinking(&held)),
            TextPlace::Start | TextPlace::Text | TextPlace::Call => self.show(&held, parts),
        }
    }

    /// Decides the next part of the held text. Returns false if nothing more can be decided yet.
    fn decide(&mut self, parts: &mut Vec<TextPart>) -> bool {
        if self.rest().is_empty() {
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
        let start = self.rest().trim_start();
        let from = self.held.len() - start.len();
        let thought = THOUGHTS.iter().find(|(open, _)| start.starts_with(open));
        let thought = thought.map(|(open, end)| (open.len(), TextPlace::Thinking(end)));
        let answer = ANSWERS.iter().find(|mark| start.starts_with(**mark));
        let answer = answer.map(|mark| (mark.len(), TextPlace::Text));
        if let Some((length, place)) = thought.or(answer) {
            self.from = from + length;
            self.place = place;
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
        let may_begin = start.is_empty() && self.rest().len() < LONGEST_BLANK;
        if may_begin
            || marks.any(|mark| !start.is_empty() && mark.len() > start.len() && mark.starts_with(start))
        {
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
            self.from = from;
        }
        self.place = TextPlace::Text;
        true
    }

    fn decide_thinking(&mut self, end: &str, parts: &mut Vec<TextPart>) -> bool {
        if let Some((inside, after)) = self.rest().split_once(end) {
            let (inside, left) = (thinking(inside), after.trim_start().len());
            parts.extend(inside);
            self.from = self.held.len() - left;
            self.place = TextPlace::Start;
            return true;
        }
        let shown = self.rest().len() - partial_end(self.rest(), &[end]);
        parts.extend(self.rest().get(..shown).and_then(thinking));
        self.from += shown;
        false
    }

    /// Decides the text up to the end of its line.
    fn decide_text(&mut self, parts: &mut Vec<TextPart>) -> bool {
        if !self.line.is_begun && !self.in_fence && !self.offered.is_empty() {
            if CALL_MARKS.iter().any(|mark| self.rest().starts_with(mark)) {
                self.place = TextPlace::Call;
                return false;
            }
            if CALL_MARKS.iter().any(|mark| mark.starts_with(self.rest())) {
                return false;
            }
        }
        let end = self.find_unopened();
        if let UnopenedEnd::Undecided(at) = end {
            let before = self.rest().get(..at).unwrap_or_default().to_owned();
            self.from += before.len();
            self.show(&before, parts);
            return false;
        }
        if let UnopenedEnd::Found(at, behind) = end {
            let before = self.rest().get(..at).unwrap_or_default().to_owned();
            let left = self.rest().get(behind..).unwrap_or_default().trim_start().len();
            // As text first: the key is looked for in what was shown and in this together.
            self.show(&before, parts);
            parts.push(TextPart::WasThinking);
            self.from = self.held.len() - left;
            self.is_marked = true;
            self.line = LastLine::default();
            self.may_be_unopened = false;
            self.place = TextPlace::Start;
            return true;
        }
        let rest = self.rest();
        let line_end = rest.find('\n').map_or(rest.len(), |at| at + 1);
        let kept = if self.may_be_unopened && line_end == rest.len() {
            partial_end(rest, &UNOPENED)
        } else {
            0
        };
        let shown = rest.get(..line_end - kept).unwrap_or_default().to_owned();
        self.from += shown.len();
        self.show(&shown, parts);
        kept == 0
    }

    /// Finds an end of thinking whose beginning was a part of the prompt.
    ///
    /// A sentence about the mark has blanks around it. The end of thinking begins the text or a line, or follows the last word directly, and
    /// the answer follows it directly or on the next line.
    fn find_unopened(&self) -> UnopenedEnd {
        if !self.may_be_unopened || self.in_fence {
            return UnopenedEnd::Missing;
        }
        let line = self.rest().split('\n').next().unwrap_or_default();
        let found = UNOPENED.iter().find_map(|mark| Some((mark, line.find(mark)?)));
        let Some((mark, at)) = found else {
            return UnopenedEnd::Missing;
        };
        let text = line.get(..at).unwrap_or_default();
        let before = self.line.join(text);
        // In quotes the mark is what the sentence is about.
        let backticks = self.line.backticks + text.matches('`').count();
        let is_quoted = backticks % 2 == 1 || before.ends_with(['"', '\'']);
        let begins_line = self.line.start.is_empty() && text.trim().is_empty();
        if is_quoted || before.contains(OPENED) || (!begins_line && before.ends_with(char::is_whitespace)) {
            return UnopenedEnd::Missing;
        }
        let behind = at + mark.len();
        let after = self.rest().get(behind..).unwrap_or_default();
        if after.trim_start_matches([' ', '\t']).is_empty() {
            return UnopenedEnd::Undecided(at);
        }
        let goes_on =
            after.starts_with([' ', '\t']) && !line.get(behind..).unwrap_or_default().trim().is_empty();
        match goes_on && (self.has_word || !begins_line) {
            true => UnopenedEnd::Missing,
            false => UnopenedEnd::Found(at, behind),
        }
    }

    /// Shows a piece of the answer, and follows its lines and fences.
    fn show(&mut self, text: &str, parts: &mut Vec<TextPart>) {
        self.has_word |= !text.trim().is_empty();
        for piece in text.split_inclusive('\n') {
            // An end has its beginning in the text then, and both are what the text is about.
            self.may_be_unopened = self.may_be_unopened && !self.line.join(piece).contains(OPENED);
            self.line.push(piece);
            if piece.ends_with('\n') {
                let line = std::mem::take(&mut self.line);
                self.in_fence ^= matches!(line.start.as_str(), "```" | "~~~");
            }
        }
        match parts.last_mut() {
            // One part for all lines that are decided together.
            Some(TextPart::Piece(last)) if last.thoughts.is_empty() && last.calls.is_empty() => {
                last.text.push_str(text);
            }
            _ if text.is_empty() => {}
            _ => parts.push(TextPart::Piece(ChatPiece::from_text(text))),
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
