//! Jupyter notebooks, seen as the text of their cells.
//!
//! Owns: the lines of the cells, and writing edited lines back into the JSON. Never: changes a byte of the notebook
//! outside of the lines that an edit changes.
//!
//! A notebook is JSON, and the text of a cell is a list of strings in it, one for each line. Whoever sees the notebook
//! in a browser writes `x = "a"` where the file has `"x = \"a\"\n",`. So the lines of all cells are put below each
//! other, with a line between two cells that no edit can match, and edits are placed there as in any file.

use std::ops::Range;

use serde::de::{Deserialize, IgnoredAny};

use crate::inline::overlapping_matches;
use crate::parse::TextReplacement;
use crate::splice::LineSplice;
use crate::text::{LineEnding, count_quotes, split_lines, split_run};

/// Lines of all cells of a notebook.
pub(super) struct NotebookText<'n> {
    content: &'n [u8],
    /// Lines of the cells. A line with a zero byte ends each cell.
    pub text: Vec<u8>,
    cells: Vec<CellSource>,
    /// Source of every cell, in any form.
    sources: Vec<Range<usize>>,
    /// True if the notebook has escapes instead of characters outside ASCII. Jupyter writes UTF-8; a tool that escapes it
    /// leaves an ASCII file.
    escapes: bool,
}

/// Source of a cell, as a list with a string for each line.
struct CellSource {
    /// Id of the cell, with its quotes. `None` in notebooks of versions without ids.
    id: Option<Range<usize>>,
    /// First of its lines in the text of all cells.
    first: usize,
    /// Each string of the list, with its quotes.
    strings: Vec<Range<usize>>,
    /// True if the last line ends in a line feed.
    ends_in_newline: bool,
}

impl<'n> NotebookText<'n> {
    /// Reads a notebook. Returns `None` if it is none. Its text is empty if no cell has a list of lines.
    pub(super) fn read(content: &'n [u8]) -> Option<Self> {
        let mut scanner = JsonScanner { content, at: 0 };
        let mut sources = Vec::new();
        scanner.scan_object(&mut |scanner, key| match key {
            "cells" => scanner.scan_list(&mut |scanner| {
                let (mut id, mut source) = (None, None);
                scanner.scan_object(&mut |scanner, key| {
                    let value = scanner.skip_value()?;
                    match key {
                        "id" => id = Some(value),
                        "source" => source = Some(value),
                        _ => {}
                    }
                    Some(())
                })?;
                sources.extend(source.map(|source| (source, id)));
                Some(())
            }),
            _ => scanner.skip_value().map(|_| ()),
        })?;
        let mut view = Self {
            content,
            text: Vec::new(),
            cells: Vec::new(),
            sources: Vec::new(),
            escapes: content.is_ascii() && content.windows(2).any(|pair| pair == b"\\u"),
        };
        let mut lines = 0;
        for (source, id) in &sources {
            // A cell in another form stays out of the text, so an edit of it finds no place.
            if let Some(count) = view.add_cell(source.clone(), id.clone(), lines) {
                lines += count;
            }
        }
        view.sources = sources.into_iter().map(|(source, _)| source).collect();
        Some(view)
    }

    /// Returns true if nothing shows whether the edit is written as JSON or as the text of a cell: its place is inside
    /// of a string of a source, and it has a character that JSON escapes, or begins within an escape.
    pub(super) fn may_be_unescaped(&self, edit: &TextReplacement) -> bool {
        let Ok(content) = std::str::from_utf8(self.content) else {
            // The edits of such a file are compared by lines, and a line of the file has the quotes of its strings.
            return false;
        };
        let mut texts = edit.search.bytes().chain(edit.replace.bytes());
        let is_escaped = texts.any(|byte| matches!(byte, b'\\' | b'"'));
        /// Maximum number of occurrences that are looked at: each costs a walk through its cell.
        const LOOKED_AT: usize = 16;
        let mut places = overlapping_matches(content, &edit.search).enumerate();
        places.any(|(index, from)| {
            let above = from.checked_sub(1).and_then(|at| self.content.get(at));
            index >= LOOKED_AT
                || ((is_escaped || above == Some(&b'\\'))
                    && self.is_in_source(from..from + edit.search.len()))
        })
    }

    /// Returns true if these bytes are inside of one string of the source of a cell, without its quotes.
    fn is_in_source(&self, place: Range<usize>) -> bool {
        let inside = |source: &&Range<usize>| source.start < place.start && place.end < source.end;
        self.sources.iter().find(inside).is_some_and(|source| {
            let quotes = |end: usize| count_quotes(self.content.get(source.start..end).unwrap_or_default());
            let before = quotes(place.start);
            before % 2 == 1 && before == quotes(place.end)
        })
    }

    /// Adds the lines of a cell. Returns their number, with the line that ends the cell, or `None` if the source is no
    /// list of lines.
    fn add_cell(&mut self, source: Range<usize>, id: Option<Range<usize>>, first: usize) -> Option<usize> {
        let mut scanner = JsonScanner {
            content: self.content.get(..source.end)?,
            at: source.start,
        };
        let (mut strings, mut lines) = (Vec::new(), Vec::<String>::new());
        scanner.scan_list(&mut |scanner| {
            scanner.skip_blanks();
            let from = scanner.at;
            lines.push(scanner.take::<String>()?);
            strings.push(from..scanner.at);
            Some(())
        })?;
        let (last, above) = lines.split_last()?;
        let is_line = |line: &String| line.find('\n').is_some_and(|at| at + 1 == line.len());
        let ends_in_newline = last.ends_with('\n');
        if !above.iter().all(is_line) || (last.contains('\n') && !is_line(last)) {
            return None;
        }
        self.text.extend(lines.concat().bytes());
        if !ends_in_newline {
            self.text.push(b'\n');
        }
        self.text.extend_from_slice(b"\0\n");
        let count = strings.len() + 1;
        self.cells.push(CellSource {
            id,
            first,
            strings,
            ends_in_newline,
        });
        Some(count)
    }

    /// Returns the notebook with another text in the cell of this id. Returns `None` if no cell or several have the id.
    pub(super) fn replace_cell(&self, id: &str, text: &[u8]) -> Option<Vec<u8>> {
        let has_id = |cell: &&CellSource| {
            let quoted = cell.id.clone().and_then(|range| self.content.get(range));
            quoted.is_some_and(|quoted| serde_json::from_slice::<String>(quoted).is_ok_and(|own| own == id))
        };
        let mut cells = self.cells.iter().filter(has_id);
        let (Some(cell), None) = (cells.next(), cells.next()) else {
            return None;
        };
        self.write_back(&[LineSplice {
            start: cell.first,
            end: cell.first + cell.strings.len(),
            bytes: text.to_vec(),
        }])
    }

    /// Returns the notebook with edited lines. Returns `None` if an edit is not inside one cell, or if the lists are not
    /// written alike, so that nothing shows how a new line is written.
    pub(super) fn write_back(&self, splices: &[LineSplice]) -> Option<Vec<u8>> {
        let mut out = Vec::with_capacity(self.content.len());
        let (mut done, mut rest) = (0, splices);
        for cell in &self.cells {
            let last = cell.first + cell.strings.len();
            let inside = |splice: &&LineSplice| splice.start >= cell.first && splice.end <= last;
            let count = rest.iter().take_while(inside).count();
            let (own, others) = rest.split_at_checked(count)?;
            rest = others;
            if own.is_empty() {
                continue;
            }
            let (from, to) = (cell.strings.first()?.start, cell.strings.last()?.end);
            out.extend_from_slice(self.content.get(done..from)?);
            out.extend_from_slice(&self.write_cell(cell, own)?);
            done = to;
        }
        out.extend_from_slice(self.content.get(done..)?);
        let is_json = serde_json::from_slice::<IgnoredAny>(&out).is_ok();
        (rest.is_empty() && is_json).then_some(out)
    }

    /// Returns the strings of an edited cell with what is between them.
    fn write_cell(&self, cell: &CellSource, splices: &[LineSplice]) -> Option<Vec<u8>> {
        let kept = |from: usize, to: usize| -> Option<Vec<Vec<u8>>> {
            let strings = cell.strings.get(from - cell.first..to - cell.first)?;
            strings
                .iter()
                .map(|range| Some(self.content.get(range.clone())?.to_vec()))
                .collect()
        };
        let mut strings = Vec::new();
        let mut at = cell.first;
        for splice in splices {
            strings.extend(kept(at, splice.start)?);
            for line in split_lines(&splice.bytes) {
                let text = std::str::from_utf8(line.full).ok();
                let text = text.filter(|text| !text.contains('\0'))?;
                // A last line without an ending of its own loses this one below, unless another line follows.
                let ending = if line.eol == LineEnding::Missing { "\n" } else { "" };
                strings.push(self.quote(&format!("{text}{ending}"))?);
            }
            at = splice.end;
        }
        strings.extend(kept(at, cell.first + cell.strings.len())?);
        let end = strings.len().checked_sub(1)?;
        for (index, string) in strings.iter_mut().enumerate() {
            set_newline(string, index < end || cell.ends_in_newline)?;
        }
        Some(strings.join(self.separator(cell)?.as_slice()))
    }

    /// Returns the text between two strings of the list. Returns `None` if it is not the same everywhere.
    fn separator(&self, cell: &CellSource) -> Option<Vec<u8>> {
        let pairs = cell.strings.array_windows();
        let mut pairs = pairs.map(|[above, below]| self.content.get(above.end..below.start));
        if let Some(first) = pairs.next() {
            return first
                .filter(|_| pairs.all(|other| other == first))
                .map(<[u8]>::to_vec);
        }
        // One string alone: the next one is written as this one is below its bracket.
        let above = self.content.get(..cell.strings.first()?.start)?;
        let bracket = above.iter().rposition(|byte| *byte == b'[')?;
        Some([b",", above.get(bracket + 1..)?].concat())
    }

    /// Writes a line as a string of JSON, with escapes outside ASCII if the notebook has no other bytes.
    fn quote(&self, line: &str) -> Option<Vec<u8>> {
        let quoted = serde_json::to_string(line).ok()?;
        if quoted.is_ascii() || !self.escapes {
            return Some(quoted.into_bytes());
        }
        let mut out = String::new();
        for character in quoted.chars() {
            let mut units = [0; 2];
            if character.is_ascii() {
                out.push(character);
                continue;
            }
            for unit in character.encode_utf16(&mut units) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        }
        Some(out.into_bytes())
    }
}

/// Adds the line feed at the end of a quoted line, or removes it. Returns `None` if it is written in another way.
fn set_newline(quoted: &mut Vec<u8>, wanted: bool) -> Option<()> {
    let ends = serde_json::from_slice::<String>(quoted).ok()?.ends_with('\n');
    if ends == wanted {
        return Some(());
    }
    let text = quoted.strip_suffix(if wanted { b"\"".as_slice() } else { b"\\n\"" })?;
    *quoted = [text, if wanted { b"\\n\"" } else { b"\"" }].concat();
    Some(())
}

/// Position in a JSON text. Values are skipped by the parser of JSON, which says where they end.
struct JsonScanner<'j> {
    content: &'j [u8],
    at: usize,
}

impl<'j> JsonScanner<'j> {
    fn skip_blanks(&mut self) {
        let rest = self.content.get(self.at..).unwrap_or_default();
        self.at += split_run(rest, |byte| byte.is_ascii_whitespace()).0.len();
    }

    /// Reads a value. Returns `None` if there is none of this type.
    fn take<T: Deserialize<'j>>(&mut self) -> Option<T> {
        let mut stream = serde_json::Deserializer::from_slice(self.content.get(self.at..)?).into_iter::<T>();
        let value = stream.next()?.ok()?;
        self.at += stream.byte_offset();
        Some(value)
    }

    fn skip_value(&mut self) -> Option<Range<usize>> {
        self.skip_blanks();
        let from = self.at;
        self.take::<IgnoredAny>()?;
        Some(from..self.at)
    }

    fn take_mark(&mut self, mark: u8) -> Option<()> {
        self.skip_blanks();
        (self.content.get(self.at) == Some(&mark)).then(|| self.at += 1)
    }

    /// Reads an object, each value by `read`.
    fn scan_object(&mut self, read: &mut dyn FnMut(&mut Self, &str) -> Option<()>) -> Option<()> {
        self.take_mark(b'{')?;
        self.scan_items(b'}', &mut |scanner| {
            let key = scanner.take::<String>()?;
            scanner.take_mark(b':')?;
            read(scanner, &key)
        })
    }

    /// Reads a list, each value by `read`.
    fn scan_list(&mut self, read: &mut dyn FnMut(&mut Self) -> Option<()>) -> Option<()> {
        self.take_mark(b'[')?;
        self.scan_items(b']', read)
    }

    fn scan_items(&mut self, end: u8, read: &mut dyn FnMut(&mut Self) -> Option<()>) -> Option<()> {
        if self.take_mark(end).is_some() {
            return Some(());
        }
        loop {
            read(self)?;
            if self.take_mark(end).is_some() {
                return Some(());
            }
            self.take_mark(b',')?;
        }
    }
}
