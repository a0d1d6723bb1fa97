//! Lines that fit a terminal.
//!
//! Owns: breaking lines between words, with an indent that shows what belongs together. Never: cuts a word, a path or an id: one
//! that is longer than the line stays whole. Text for a program or a file is not wrapped at all.

/// Narrowest terminal for which lines are broken. On a narrower one, most words would stand alone.
const NARROWEST: usize = 30;

/// Breaks the lines of a text at a width. Color codes take no space.
///
/// A line of a table or with a label is continued below its last column that begins in the left half; any other line is
/// continued two columns right of its beginning.
pub fn wrap_text(text: &str, width: usize) -> String {
    if width < NARROWEST {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let (line, end) = match line.strip_suffix('\n') {
            Some(line) => (line, "\n"),
            None => (line, ""),
        };
        if count_columns(line) <= width {
            out.push_str(line);
        } else {
            out.push_str(&wrap_line(line, width));
        }
        out.push_str(end);
    }
    out
}

/// Piece of a line: a word, or what stands between words.
struct Piece<'a> {
    text: &'a str,
    is_gap: bool,
}

fn wrap_line(line: &str, width: usize) -> String {
    let indent = find_indent(line, width);
    let mut out = String::new();
    let mut used = 0;
    let mut gap = "";
    let mut is_begun = false;
    for piece in split_pieces(line, width.saturating_sub(indent)) {
        if piece.is_gap {
            gap = piece.text;
            continue;
        }
        let (between, columns) = (count_columns(gap), count_columns(piece.text));
        if is_begun && used + between + columns > width {
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', indent));
            used = indent + columns;
        } else {
            out.push_str(gap);
            used += between + columns;
        }
        out.push_str(piece.text);
        gap = "";
        // Color codes alone are no word: a break behind them would leave an empty line.
        is_begun |= columns > 0;
    }
    out
}

/// Returns the column at which the rest of a line is continued.
fn find_indent(line: &str, width: usize) -> usize {
    let plain = anstream::adapter::strip_str(line).to_string();
    let begin = plain.chars().take_while(|c| *c == ' ').count();
    let mut found = begin + 2;
    let mut blanks = 0;
    let mut column = 0;
    let mut is_text = false;
    for c in plain.chars() {
        if c == ' ' {
            blanks += 1;
        } else {
            if is_text && blanks >= 2 && column <= width / 2 {
                found = column;
            }
            (blanks, is_text) = (0, true);
        }
        column += char_columns(c);
    }
    if found <= width / 2 {
        found
    } else {
        begin.min(width / 4)
    }
}

/// Splits a line into words and the blanks between them. A command in backticks stays together if it fits into `room`.
fn split_pieces(line: &str, room: usize) -> Vec<Piece<'_>> {
    let keeps_commands = line.matches('`').count().is_multiple_of(2);
    let mut pieces = Vec::new();
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let is_gap = first == ' ';
        let length = if is_gap {
            rest.find(|c| c != ' ').unwrap_or(rest.len())
        } else {
            word_length(rest, keeps_commands.then_some(room))
        };
        let (text, after) = rest.split_at(length);
        pieces.push(Piece { text, is_gap });
        rest = after;
    }
    pieces
}

/// Returns the bytes of the word at the beginning of a text. With `room`, blanks between two backticks do not end it, unless
/// it would be wider than that.
fn word_length(text: &str, room: Option<usize>) -> usize {
    let end = |keeps: bool| {
        let mut is_inside = false;
        let mut bytes = text.char_indices().filter(|(_, c)| {
            is_inside ^= *c == '`';
            *c == ' ' && !(keeps && is_inside)
        });
        bytes.next().map_or(text.len(), |(at, _)| at)
    };
    let (plain, whole) = (end(false), end(true));
    let fits = |length: usize| {
        let word = text.get(..length).unwrap_or(text);
        room.is_some_and(|room| count_columns(word) <= room)
    };
    if fits(whole) { whole } else { plain }
}

/// Returns the columns that a text takes on a terminal.
fn count_columns(text: &str) -> usize {
    let plain = anstream::adapter::strip_str(text).to_string();
    plain.chars().map(char_columns).sum()
}

/// Returns the columns of a character: 2 for the wide ones of East Asia and for pictures.
fn char_columns(c: char) -> usize {
    match c {
        '\u{1100}'..='\u{115f}'
        | '\u{2e80}'..='\u{a4cf}'
        | '\u{ac00}'..='\u{d7a3}'
        | '\u{f900}'..='\u{faff}'
        | '\u{fe30}'..='\u{fe6f}'
        | '\u{ff00}'..='\u{ff60}'
        | '\u{1f300}'..='\u{1faff}' => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: &str = "error [missing-provider] no provider is named, and none is set as the default\n  next: name a provider with `-p NAME` (`agentos tool list` shows them), or set a default with `agentos use NAME`\nbranch      main at 1234567890, which another work tree has checked out as well\nconnect_timeout  30   ~/.config/agentos/config.toml:4  seconds for connecting to a server\n  20261123T041534-0a1b2c3d4e5f60718293a4b5c6d7e8f9 waits: `agentos approve 0a1b2c3d` or deny it\n";

    #[test]
    fn lines_break_between_words_at_40_60_80_and_120_columns() {
        let mut seen = String::new();
        for width in [40, 60, 80, 120] {
            let text = wrap_text(SAMPLE, width);
            let widest = text.lines().map(count_columns).max().unwrap();
            // The one word that is longer than the narrowest line stays whole.
            assert!(widest <= width.max(50), "{width}: {text}");
            let words = |text: &str| -> Vec<String> { text.split_whitespace().map(str::to_owned).collect() };
            assert_eq!(words(&text), words(SAMPLE));
            seen.push_str(&format!("-- {width}\n{text}"));
        }
        insta::assert_snapshot!(seen, @r"
        -- 40
        error [missing-provider] no provider is
          named, and none is set as the default
          next: name a provider with `-p NAME`
            (`agentos tool list` shows them), or
            set a default with
            `agentos use NAME`
        branch      main at 1234567890, which
                    another work tree has
                    checked out as well
        connect_timeout  30
                         ~/.config/agentos/config.toml:4
                         seconds for connecting
                         to a server
          20261123T041534-0a1b2c3d4e5f60718293a4b5c6d7e8f9
            waits: `agentos approve 0a1b2c3d` or
            deny it
        -- 60
        error [missing-provider] no provider is named, and none is
          set as the default
          next: name a provider with `-p NAME` (`agentos tool list`
            shows them), or set a default with `agentos use NAME`
        branch      main at 1234567890, which another work tree has
                    checked out as well
        connect_timeout  30   ~/.config/agentos/config.toml:4
                              seconds for connecting to a server
          20261123T041534-0a1b2c3d4e5f60718293a4b5c6d7e8f9 waits:
            `agentos approve 0a1b2c3d` or deny it
        -- 80
        error [missing-provider] no provider is named, and none is set as the default
          next: name a provider with `-p NAME` (`agentos tool list` shows them), or set
            a default with `agentos use NAME`
        branch      main at 1234567890, which another work tree has checked out as well
        connect_timeout  30   ~/.config/agentos/config.toml:4  seconds for connecting to
                              a server
          20261123T041534-0a1b2c3d4e5f60718293a4b5c6d7e8f9 waits:
            `agentos approve 0a1b2c3d` or deny it
        -- 120
        error [missing-provider] no provider is named, and none is set as the default
          next: name a provider with `-p NAME` (`agentos tool list` shows them), or set a default with `agentos use NAME`
        branch      main at 1234567890, which another work tree has checked out as well
        connect_timeout  30   ~/.config/agentos/config.toml:4  seconds for connecting to a server
          20261123T041534-0a1b2c3d4e5f60718293a4b5c6d7e8f9 waits: `agentos approve 0a1b2c3d` or deny it
        ");
    }

    #[test]
    fn a_text_that_fits_is_left_as_it_is_and_colors_take_no_space() {
        for (text, width, expected) in [
            ("a  b\n", 40, "a  b\n"),
            ("", 40, ""),
            (
                "0123456789 0123456789 0123456789",
                10,
                "0123456789 0123456789 0123456789",
            ),
            (
                "\u{1b}[31m0123456789 0123456789\u{1b}[0m 0123456789",
                32,
                "\u{1b}[31m0123456789 0123456789\u{1b}[0m 0123456789",
            ),
            (
                "0123456789 0123456789 0123456789 x",
                32,
                "0123456789 0123456789 0123456789\n  x",
            ),
            (
                "0123456789012345678901234567890123456789",
                30,
                "0123456789012345678901234567890123456789",
            ),
        ] {
            assert_eq!(wrap_text(text, width), expected);
        }
    }
}
