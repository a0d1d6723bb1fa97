//! Lines of styled words.
//!
//! Owns: where a line breaks, and the bytes of a style. Never: lets a control character through.

use unicode_width::UnicodeWidthChar;

use crate::escape;
use crate::printer::{paint, style};

/// Most bytes of a word that are held. Some characters have no width, so the columns alone do not bound a word.
const LONGEST_WORD: usize = 512;
/// Slanted text.
const SLANTED: &str = "\u{1b}[3m";
/// Underlined text.
const UNDERLINED: &str = "\u{1b}[4m";
/// Code.
const CODE: &str = "\u{1b}[36m";

/// Style of a text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TextStyle {
    is_bold: bool,
    is_slanted: bool,
    is_underlined: bool,
    is_dim: bool,
    is_code: bool,
}

impl TextStyle {
    /// Returns the style of a heading of this level.
    pub fn heading(level: usize) -> Self {
        Self {
            is_bold: true,
            is_underlined: level == 1,
            ..Self::default()
        }
    }

    /// Adds the style of text between this many marks.
    pub fn with_emphasis(self, marks: usize) -> Self {
        Self {
            is_bold: self.is_bold || marks >= 2,
            is_slanted: self.is_slanted || marks != 2,
            ..self
        }
    }

    /// Adds the style of code.
    pub fn with_code(self) -> Self {
        Self {
            is_code: true,
            ..self
        }
    }

    /// Adds the style of a link's text.
    pub fn with_link(self) -> Self {
        Self {
            is_underlined: true,
            ..self
        }
    }

    /// Adds the style of less important text.
    pub fn with_dim(self) -> Self {
        Self { is_dim: true, ..self }
    }

    fn paint(self, text: &str) -> String {
        let codes = [
            (self.is_bold, style::BOLD),
            (self.is_dim, style::DIM),
            (self.is_slanted, SLANTED),
            (self.is_underlined, UNDERLINED),
            (self.is_code, CODE),
        ];
        let codes: String = codes
            .iter()
            .filter(|(is_on, _)| *is_on)
            .map(|(_, code)| *code)
            .collect();
        match codes.is_empty() {
            true => text.to_owned(),
            false => paint(&codes, text),
        }
    }
}

/// Beginning of a line, and of those that continue it.
#[derive(Debug, Clone, Default)]
pub struct LinePrefix {
    quotes: usize,
    indent: usize,
    /// Mark of a list's item. `None` if there is none.
    mark: Option<String>,
}

impl LinePrefix {
    /// Makes the beginning of a line in this many quotes, with this many blanks.
    pub fn plain(quotes: usize, indent: usize) -> Self {
        Self {
            quotes,
            indent,
            mark: None,
        }
    }

    /// Adds the mark of a list's item.
    pub fn add_mark(&mut self, mark: &str) {
        self.mark = Some(mark.to_owned());
    }

    /// Returns the bytes of the first line, or of one that continues it, and their columns.
    fn write(&self, is_first: bool, width: usize) -> (String, usize) {
        // A line needs half of the width for its words.
        let quotes = self.quotes.min(width / 4 / 2);
        let indent = self.indent.min(width / 4);
        let bars = "│ ".repeat(quotes);
        let mut out = match quotes {
            0 => String::new(),
            _ => paint(style::DIM, &bars),
        };
        out.push_str(&" ".repeat(indent));
        let mut columns = quotes * 2 + indent;
        if let Some(mark) = &self.mark {
            let marked = mark.chars().count() + 1;
            match is_first {
                true => {
                    out.push_str(mark);
                    out.push(' ');
                }
                false => out.push_str(&" ".repeat(marked)),
            }
            columns += marked;
        }
        (out, columns)
    }
}

/// Lines that are being written.
#[derive(Debug)]
pub struct LineLayout {
    width: usize,
    out: String,
    prefix: LinePrefix,
    /// True once a word of the line, or its beginning, was written.
    is_begun: bool,
    /// Columns of the line so far.
    column: usize,
    /// Blanks before the next word.
    gap: usize,
    word: Vec<(String, TextStyle)>,
    word_columns: usize,
    word_bytes: usize,
    /// True if the last line has its end.
    is_ended: bool,
}

impl LineLayout {
    /// Makes a layout for this many columns.
    pub fn new(width: usize) -> Self {
        Self {
            width,
            out: String::new(),
            prefix: LinePrefix::default(),
            is_begun: false,
            column: 0,
            gap: 0,
            word: Vec::new(),
            word_columns: 0,
            word_bytes: 0,
            is_ended: true,
        }
    }

    /// Returns the columns of the screen.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Takes what was written.
    pub fn take_output(&mut self) -> String {
        std::mem::take(&mut self.out)
    }

    /// Begins a line.
    pub fn begin_line(&mut self, prefix: LinePrefix) {
        self.prefix = prefix;
        self.is_begun = false;
        self.gap = 0;
    }

    /// Adds text, which breaks between words.
    pub fn put_text(&mut self, text: &str, style: TextStyle) {
        for c in text.chars() {
            match c {
                ' ' | '\t' => {
                    self.flush_word();
                    self.gap += 1;
                }
                c => self.put_char(c, style),
            }
        }
    }

    fn put_char(&mut self, c: char, style: TextStyle) {
        let shown = escape::line(c.encode_utf8(&mut [0; 4]));
        let columns = count_columns(&shown);
        // Languages with wide characters have no blanks between words.
        let is_wide = columns == 2 && shown.chars().count() == 1;
        let (_, begin) = self.prefix.write(false, self.width);
        let is_too_long =
            begin + self.word_columns + columns > self.width || self.word_bytes + shown.len() > LONGEST_WORD;
        let bytes = shown.len();
        if is_wide || is_too_long {
            self.flush_word();
        }
        match self.word.last_mut() {
            Some((text, last)) if *last == style => text.push_str(&shown),
            _ => self.word.push((shown, style)),
        }
        self.word_columns += columns;
        self.word_bytes += bytes;
        if is_wide {
            self.flush_word();
        }
    }

    /// Writes the word that is complete, in a new line if it does not fit.
    fn flush_word(&mut self) {
        if self.word.is_empty() {
            return;
        }
        if self.is_begun && self.column + self.gap + self.word_columns > self.width {
            self.out.push('\n');
            self.write_prefix(false);
        } else if self.is_begun {
            self.out.push_str(&" ".repeat(self.gap));
            self.column += self.gap;
        } else {
            self.write_prefix(true);
        }
        for (text, style) in std::mem::take(&mut self.word) {
            self.out.push_str(&style.paint(&text));
        }
        self.column += self.word_columns;
        (self.word_columns, self.word_bytes, self.gap) = (0, 0, 0);
    }

    fn write_prefix(&mut self, is_first: bool) {
        let (text, columns) = self.prefix.write(is_first, self.width);
        self.out.push_str(&text);
        self.column = columns;
        self.is_begun = true;
        self.is_ended = false;
        self.gap = 0;
    }

    /// Adds code, which is not broken.
    pub fn put_code_line(&mut self, code: &str) {
        self.is_begun = true;
        self.is_ended = false;
        self.out
            .push_str(&TextStyle::default().with_code().paint(&escape::block(code)));
    }

    /// Adds a line across the screen with a name at its beginning.
    pub fn put_rule(&mut self, name: &str, longest: usize) {
        self.write_prefix(true);
        let room = self.width.saturating_sub(self.column).min(longest);
        let mut rule = match name {
            "" => String::new(),
            name => format!("── {} ", escape::line(name)),
        };
        let used = count_columns(&rule);
        rule.push_str(&"─".repeat(room.saturating_sub(used)));
        self.out.push_str(&paint(style::DIM, &rule));
    }

    /// Adds a line that is not broken.
    pub fn put_whole_line(&mut self, prefix: &LinePrefix, line: &str) {
        self.begin_line(prefix.clone());
        self.write_prefix(true);
        self.out.push_str(line);
        self.end_line();
    }

    /// Ends the line.
    pub fn end_line(&mut self) {
        self.flush_word();
        if !self.is_begun && self.prefix.quotes > 0 {
            self.write_prefix(true);
        }
        self.out.push('\n');
        self.begin_line(LinePrefix::default());
        self.is_ended = true;
    }

    /// Ends the text.
    pub fn end_text(&mut self) {
        self.flush_word();
        if !self.is_ended {
            self.out.push('\n');
            self.is_ended = true;
        }
    }
}

/// Counts the columns of a text without styles.
pub fn count_columns(text: &str) -> usize {
    text.chars().map(|c| c.width().unwrap_or(0)).sum()
}
