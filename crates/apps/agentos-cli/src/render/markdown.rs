//! Markdown of a model as styled text, while it arrives.
//!
//! Owns: which marks become styles, and where lines break. Never: lets a control character through, waits for more than a line, or
//! drops a word: a mark without its partner is shown as it is.
//!
//! The result does not depend on how the text is cut into pieces. A decision needs at most [`WINDOW`] bytes from where it begins, so the
//! memory is bounded and the time is linear in the text.
//!
//! | part | shown when |
//! |---|---|
//! | a word | the blank after it, or a mark, has come |
//! | bold or slanted words, code, a link | its closing mark has come; without one, its marks are text |
//! | a line of a code block | its beginning cannot be the end of the block any more, then each character |
//! | a table | the line after it has begun |

mod inline;
mod layout;
mod table;

use inline::{InlineToken, find_token};
use layout::{LineLayout, LinePrefix, TextStyle};
use table::TableRows;

/// Most bytes of a text that one decision looks at.
pub const WINDOW: usize = 512;
/// Longest line around a code block, in columns.
const LONGEST_RULE: usize = 40;
/// Most marks within marks. Deeper ones are text.
const DEEPEST: usize = 6;
/// Narrowest width that lines are broken at.
const NARROWEST: usize = 20;

/// Renderer of one text.
#[derive(Debug)]
pub struct MarkdownStream {
    /// Text that is not decided yet.
    held: String,
    /// Bytes of `held` that are decided.
    at: usize,
    /// True at the beginning of a line.
    is_at_start: bool,
    /// Last character before the undecided text.
    before: char,
    /// Quotes around the current line.
    quotes: usize,
    /// Style of the current line, for a heading.
    line_style: TextStyle,
    /// Open code block. `None` outside of one.
    fence: Option<CodeFence>,
    table: TableRows,
    layout: LineLayout,
}

/// Code block.
#[derive(Debug, Clone, Copy)]
struct CodeFence {
    mark: char,
    length: usize,
    indent: usize,
    /// True behind the beginning of a line, which is not the end of the block.
    is_in_line: bool,
}

/// Beginning of a line.
enum LineStart {
    /// More text is needed.
    Wait,
    /// A code block begins.
    Fence { mark: char, length: usize, name: String },
    /// A heading of this level. The text begins behind these bytes.
    Heading { level: usize, bytes: usize },
    /// A line across the screen.
    Rule,
    /// An item of a list with its mark. The text begins behind these bytes.
    Item { mark: String, bytes: usize },
    /// A quote. The rest of the line begins behind these bytes.
    Quote { bytes: usize },
    /// A row of a table.
    Row,
    /// Anything else.
    Text,
}

impl MarkdownStream {
    /// Makes a renderer for a terminal of this many columns.
    pub fn new(width: usize) -> Self {
        Self {
            held: String::new(),
            at: 0,
            is_at_start: true,
            before: '\n',
            quotes: 0,
            line_style: TextStyle::default(),
            fence: None,
            table: TableRows::default(),
            layout: LineLayout::new(width.max(NARROWEST)),
        }
    }

    /// Takes a piece of the text, and returns what can be shown now.
    pub fn push(&mut self, piece: &str) -> String {
        self.held.push_str(piece);
        while self.take_step(false) {}
        self.held.drain(..self.at);
        self.at = 0;
        self.layout.take_output()
    }

    /// Ends the text, and returns the rest of it.
    pub fn finish(mut self) -> String {
        while self.take_step(true) {}
        self.table.flush(&mut self.layout);
        self.layout.end_text();
        self.layout.take_output()
    }

    /// Decides the next part. Returns false if there is none, or more text is needed.
    fn take_step(&mut self, is_end: bool) -> bool {
        let Some(rest) = self.held.get(self.at..).filter(|rest| !rest.is_empty()) else {
            return false;
        };
        let view = TextView::cut(rest, is_end);
        match (self.fence, self.is_at_start) {
            (Some(fence), _) => self.take_code(fence, &view),
            (None, true) => self.take_start(&view),
            (None, false) => self.take_inline(&view),
        }
    }

    /// Marks this many bytes as decided.
    fn advance(&mut self, bytes: usize) {
        let taken = self.held.get(self.at..self.at + bytes);
        self.before = taken
            .and_then(|taken| taken.chars().next_back())
            .unwrap_or(self.before);
        self.at += bytes;
    }

    fn take_inline(&mut self, view: &TextView) -> bool {
        if view.begins_with_end() {
            self.end_line(view);
            return true;
        }
        let token = find_token(&view.line, self.before, view.is_whole);
        let style = self.line_style;
        match token {
            InlineToken::Wait => return false,
            token => {
                // A token takes at least one byte, so the text always ends.
                self.advance(token.len());
                put_token(&mut self.layout, token, style, 0);
            }
        }
        true
    }

    fn end_line(&mut self, view: &TextView) {
        self.advance(view.end_bytes);
        self.layout.end_line();
        self.is_at_start = true;
        self.line_style = TextStyle::default();
        self.quotes = 0;
    }

    fn take_start(&mut self, view: &TextView) -> bool {
        let text = view.line.trim_start_matches([' ', '\t']);
        let blanks = view.line.len() - text.len();
        let indent = count_indent(view.line.get(..blanks).unwrap_or_default());
        if text.is_empty() && !view.is_whole {
            return false;
        }
        let start = read_start(text, view);
        if !matches!(start, LineStart::Row | LineStart::Wait) {
            self.table.flush(&mut self.layout);
        }
        let mut prefix = LinePrefix::plain(self.quotes, indent);
        match start {
            LineStart::Wait => return false,
            LineStart::Row => {
                self.table.add(text, prefix, &mut self.layout);
                self.advance(view.line.len());
                self.advance(view.end_bytes);
                self.quotes = 0;
                return true;
            }
            LineStart::Fence { mark, length, name } => {
                self.layout.begin_line(prefix);
                self.layout.put_rule(&name, LONGEST_RULE);
                self.fence = Some(CodeFence {
                    mark,
                    length,
                    indent,
                    is_in_line: false,
                });
                self.advance(view.line.len());
                self.end_line(view);
                return true;
            }
            LineStart::Quote { bytes } => {
                self.quotes += 1;
                self.advance(blanks + bytes);
                return true;
            }
            LineStart::Rule => {
                self.layout.begin_line(prefix);
                self.layout.put_rule("", LONGEST_RULE);
                self.advance(view.line.len());
            }
            LineStart::Heading { level, bytes } => {
                self.line_style = TextStyle::heading(level);
                self.layout.begin_line(prefix);
                self.advance(blanks + bytes);
            }
            LineStart::Item { mark, bytes } => {
                prefix.add_mark(&mark);
                self.layout.begin_line(prefix);
                self.advance(blanks + bytes);
            }
            LineStart::Text => {
                self.layout.begin_line(prefix);
                self.advance(blanks);
            }
        }
        self.is_at_start = false;
        true
    }

    fn take_code(&mut self, mut fence: CodeFence, view: &TextView) -> bool {
        if view.begins_with_end() {
            if !fence.is_in_line {
                self.layout.begin_line(LinePrefix::plain(0, 0));
            }
            self.end_line(view);
            fence.is_in_line = false;
            self.fence = Some(fence);
            return true;
        }
        if view.line.is_empty() && !view.is_whole {
            return false;
        }
        if fence.is_in_line {
            self.layout.put_code_line(&view.line);
            self.advance(view.line.len());
            return true;
        }
        let text = view.line.trim_start_matches(' ');
        let marks = text.trim_end();
        let can_close = marks.chars().all(|c| c == fence.mark);
        if can_close && !view.is_whole {
            return false;
        }
        self.layout.begin_line(LinePrefix::plain(0, 0));
        if can_close && marks.len() >= fence.length {
            self.layout.put_rule("", LONGEST_RULE);
            self.advance(view.line.len());
            self.fence = None;
            self.is_at_start = false;
            return true;
        }
        // A block in a list is indented as its item is.
        let blanks = (view.line.len() - text.len()).min(fence.indent);
        self.advance(blanks);
        fence.is_in_line = true;
        self.fence = Some(fence);
        true
    }
}

/// Beginning of the undecided text, up to the end of the line.
struct TextView {
    line: String,
    /// True if no more of the line can come, or what comes is behind the window.
    is_whole: bool,
    /// True if the line ends here.
    has_end: bool,
    /// Bytes of the line's end behind it. 0 if it has not come.
    end_bytes: usize,
}

impl TextView {
    fn cut(rest: &str, is_end: bool) -> Self {
        let window = rest.get(..rest.floor_char_boundary(WINDOW)).unwrap_or(rest);
        // The same bytes decide, however many of them came at once.
        let is_full = window.len() == WINDOW || window.len() < rest.len();
        let (line, end_bytes) = match window.find('\n') {
            Some(end) => {
                let line = window.get(..end).unwrap_or_default();
                line.strip_suffix('\r').map_or((line, 1), |line| (line, 2))
            }
            None => (window, 0),
        };
        let next = rest.as_bytes().get(window.len());
        let is_split_end = match next {
            Some(next) => *next == b'\n',
            None => !is_end,
        };
        let line = match line.strip_suffix('\r') {
            Some(before) if end_bytes == 0 && is_split_end => before,
            _ => line,
        };
        let has_end = end_bytes > 0 || (is_end && line.len() == rest.len());
        Self {
            line: line.to_owned(),
            is_whole: has_end || is_full,
            has_end,
            end_bytes,
        }
    }

    fn begins_with_end(&self) -> bool {
        self.line.is_empty() && self.end_bytes > 0
    }
}

/// Counts the columns of blanks at the beginning of a line.
fn count_indent(blanks: &str) -> usize {
    blanks.chars().map(|c| if c == '\t' { 4 } else { 1 }).sum()
}

/// Reads the beginning of a line behind its blanks.
fn read_start(text: &str, view: &TextView) -> LineStart {
    let Some(first) = text.chars().next() else {
        return LineStart::Text;
    };
    let run = text.chars().take_while(|c| *c == first).count();
    // All of these marks are ASCII where their bytes are counted.
    let after = text.get(run * first.len_utf8()..).unwrap_or_default();
    let is_open = after.is_empty() && !view.is_whole;
    match first {
        '`' | '~' if is_open => LineStart::Wait,
        '`' | '~' if run >= 3 => read_fence(first, run, after, view),
        '#' if run <= 6 && is_open => LineStart::Wait,
        '#' if run <= 6 && (after.is_empty() || after.starts_with(' ')) => {
            let blanks = after.len() - after.trim_start_matches(' ').len();
            LineStart::Heading {
                level: run,
                bytes: run + blanks,
            }
        }
        '-' | '*' | '_' if is_open => LineStart::Wait,
        '-' | '*' | '_' if run >= 3 && after.trim_end().is_empty() && view.has_end => LineStart::Rule,
        '-' | '*' | '_' if run >= 3 && after.trim_end().is_empty() && !view.is_whole => LineStart::Wait,
        '-' | '*' | '+' if run == 1 && after.starts_with([' ', '\t']) => LineStart::Item {
            mark: "•".to_owned(),
            bytes: 2,
        },
        '+' if is_open => LineStart::Wait,
        '>' => read_quote(text, view),
        '|' if view.has_end => LineStart::Row,
        '|' if !view.is_whole => LineStart::Wait,
        '0'..='9' => read_number(text, view),
        _ => LineStart::Text,
    }
}

fn read_fence(mark: char, length: usize, after: &str, view: &TextView) -> LineStart {
    if !view.is_whole {
        return LineStart::Wait;
    }
    let name = after.trim();
    // Such a line is code within a text, as in ```` ```a``` ````.
    match view.has_end && !name.contains('`') {
        true => LineStart::Fence {
            mark,
            length,
            name: name.to_owned(),
        },
        false => LineStart::Text,
    }
}

fn read_quote(text: &str, view: &TextView) -> LineStart {
    match text.chars().nth(1) {
        None if !view.is_whole => LineStart::Wait,
        Some(' ') => LineStart::Quote { bytes: 2 },
        Some(_) | None => LineStart::Quote { bytes: 1 },
    }
}

fn read_number(text: &str, view: &TextView) -> LineStart {
    let digits = text.chars().take_while(char::is_ascii_digit).count();
    let mut after = text.chars().skip(digits);
    match (after.next(), after.next()) {
        _ if digits > 9 => LineStart::Text,
        (None, _) | (Some('.' | ')'), None) if !view.is_whole => LineStart::Wait,
        // An item without a text would show no number where the answer ends behind it.
        (Some('.' | ')'), Some(' ')) if is_blank_after(text, digits + 2) => match view.is_whole {
            true => LineStart::Text,
            false => LineStart::Wait,
        },
        (Some('.' | ')'), Some(' ')) => LineStart::Item {
            mark: text.get(..=digits).unwrap_or_default().to_owned(),
            bytes: digits + 2,
        },
        _ => LineStart::Text,
    }
}

fn is_blank_after(text: &str, bytes: usize) -> bool {
    text.get(bytes..).is_none_or(|rest| rest.trim().is_empty())
}

/// Puts a part of a line with its style.
fn put_token(layout: &mut LineLayout, token: InlineToken, style: TextStyle, depth: usize) {
    match token {
        InlineToken::Wait => {}
        InlineToken::Text { text, .. } => layout.put_text(&text, style),
        InlineToken::Code { text, .. } => layout.put_text(&text, style.with_code()),
        InlineToken::Emphasis { marks, inner, .. } => {
            put_inner(layout, &inner, style.with_emphasis(marks), depth);
        }
        InlineToken::Link {
            text, address, title, ..
        } => {
            match text == address {
                true => layout.put_text(&address, style.with_link()),
                false => put_inner(layout, &text, style.with_link(), depth),
            }
            if let Some(target) = InlineToken::write_target(&text, &address, title.as_deref()) {
                layout.put_text(&target, style.with_dim());
            }
        }
    }
}

/// Puts the text between two marks, which may have marks of its own.
fn put_inner(layout: &mut LineLayout, inner: &str, style: TextStyle, depth: usize) {
    if depth >= DEEPEST {
        layout.put_text(inner, style);
        return;
    }
    let (mut rest, mut before) = (inner, ' ');
    while !rest.is_empty() {
        let token = find_token(rest, before, true);
        let (done, after) = rest.split_at_checked(token.len()).unwrap_or((rest, ""));
        before = done.chars().next_back().unwrap_or(before);
        put_token(layout, token, style, depth + 1);
        rest = after;
    }
}

#[cfg(test)]
mod tests;
