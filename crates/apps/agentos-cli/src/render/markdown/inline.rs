//! Marks inside a line: code, bold and slanted words, links.
//!
//! Owns: which marks have a partner. Never: looks behind the text that it is given.

/// Part of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InlineToken {
    /// More of the line is needed.
    Wait,
    /// Text without a mark, and marks without a partner.
    Text {
        /// Bytes of the line.
        bytes: usize,
        /// The text.
        text: String,
    },
    /// Code.
    Code {
        /// Bytes of the line.
        bytes: usize,
        /// The code.
        text: String,
    },
    /// Text between one (slanted), two (bold) or three marks (both).
    Emphasis {
        /// Bytes of the line.
        bytes: usize,
        /// Number of marks.
        marks: usize,
        /// The text.
        inner: String,
    },
    /// A link, or an image.
    Link {
        /// Bytes of the line.
        bytes: usize,
        /// The text.
        text: String,
        /// The address.
        address: String,
        /// The title in its quotes. `None` if there is none.
        title: Option<String>,
    },
}

impl InlineToken {
    /// Returns the bytes of the line that it takes. At least 1, except for [`InlineToken::Wait`].
    pub fn len(&self) -> usize {
        match self {
            Self::Wait => 0,
            Self::Text { bytes, .. }
            | Self::Code { bytes, .. }
            | Self::Emphasis { bytes, .. }
            | Self::Link { bytes, .. } => *bytes,
        }
    }

    /// Writes what is shown behind a link's text. `None` if the text says it all.
    pub fn write_target(text: &str, address: &str, title: Option<&str>) -> Option<String> {
        match (text == address, title) {
            (true, None) => None,
            (true, Some(title)) => Some(format!(" ({title})")),
            (false, None) => Some(format!(" ({address})")),
            (false, Some(title)) => Some(format!(" ({address} {title})")),
        }
    }

    fn literal(text: &str) -> Self {
        Self::Text {
            bytes: text.len(),
            text: text.to_owned(),
        }
    }
}

/// Finds the first part of a line. `before` is the character before it, and `is_whole` is true if no more of the line comes.
pub fn find_token(line: &str, before: char, is_whole: bool) -> InlineToken {
    let Some(first) = line.chars().next() else {
        return InlineToken::Wait;
    };
    match first {
        '\\' => find_escape(line, is_whole),
        '`' => find_code(line, is_whole),
        '*' | '_' => find_emphasis(line, first, before, is_whole),
        '[' => find_link(line, 0, is_whole),
        '!' => match line.chars().nth(1) {
            None if !is_whole => InlineToken::Wait,
            Some('[') => find_link(line, 1, is_whole),
            Some(_) | None => InlineToken::literal("!"),
        },
        _ => {
            let end = line.find(['\\', '`', '*', '_', '[', '!']).unwrap_or(line.len());
            InlineToken::literal(line.get(..end).unwrap_or(line))
        }
    }
}

fn find_escape(line: &str, is_whole: bool) -> InlineToken {
    match line.chars().nth(1) {
        None if !is_whole => InlineToken::Wait,
        Some(next) if next.is_ascii_punctuation() => InlineToken::Text {
            bytes: 2,
            text: next.to_string(),
        },
        Some(_) | None => InlineToken::literal("\\"),
    }
}

/// Returns the marks at the beginning of a text.
fn take_run(text: &str, mark: char) -> &str {
    let after = text.trim_start_matches(mark);
    text.get(..text.len() - after.len()).unwrap_or_default()
}

fn find_code(line: &str, is_whole: bool) -> InlineToken {
    let run = take_run(line, '`');
    match find_code_end(line, run.len()) {
        Some((text, bytes)) if bytes < line.len() || is_whole => InlineToken::Code {
            bytes,
            text: trim_code(text).to_owned(),
        },
        Some(_) => InlineToken::Wait,
        None if is_whole => InlineToken::literal(run),
        None => InlineToken::Wait,
    }
}

/// Finds the end of code that as many marks begin. Returns the code and the bytes with both marks. `None` if it has no end.
fn find_code_end(line: &str, marks: usize) -> Option<(&str, usize)> {
    let mut at = marks;
    loop {
        let found = at + line.get(at..)?.find('`')?;
        let run = take_run(line.get(found..)?, '`').len();
        at = found + run;
        if run == marks {
            return Some((line.get(marks..found)?, at));
        }
    }
}

/// Removes one blank on both sides, which only separates the code from its marks.
fn trim_code(code: &str) -> &str {
    let inner = code.strip_prefix(' ').and_then(|code| code.strip_suffix(' '));
    inner.filter(|inner| !inner.trim().is_empty()).unwrap_or(code)
}

fn find_emphasis(line: &str, mark: char, before: char, is_whole: bool) -> InlineToken {
    let run = take_run(line, mark);
    let next = line.get(run.len()..).and_then(|after| after.chars().next());
    let Some(next) = next else {
        return match is_whole {
            true => InlineToken::literal(run),
            false => InlineToken::Wait,
        };
    };
    // `2 * 3` and `snake_case` have no emphasis.
    let can_open = !next.is_whitespace() && (mark == '*' || !before.is_alphanumeric()) && run.len() <= 3;
    if !can_open {
        return InlineToken::literal(run);
    }
    match find_emphasis_end(line, mark, run.len(), is_whole) {
        MarkEnd::At(end) => InlineToken::Emphasis {
            bytes: end + run.len(),
            marks: run.len(),
            inner: line.get(run.len()..end).unwrap_or_default().to_owned(),
        },
        MarkEnd::Wait => InlineToken::Wait,
        MarkEnd::Nowhere => InlineToken::literal(run),
    }
}

/// End of a part that a mark begins.
enum MarkEnd {
    /// At this byte.
    At(usize),
    /// More of the line is needed.
    Wait,
    /// No end exists.
    Nowhere,
}

fn find_emphasis_end(line: &str, mark: char, marks: usize, is_whole: bool) -> MarkEnd {
    let missing = match is_whole {
        true => MarkEnd::Nowhere,
        false => MarkEnd::Wait,
    };
    let mut at = marks;
    let mut last = mark;
    while let Some(rest) = line.get(at..).filter(|rest| !rest.is_empty()) {
        let first = rest.chars().next().unwrap_or(mark);
        if first == mark {
            let run = take_run(rest, mark).len();
            let after = rest.get(run..).and_then(|after| after.chars().next());
            if after.is_none() && !is_whole {
                return MarkEnd::Wait;
            }
            let is_word = mark == '_' && after.is_some_and(char::is_alphanumeric);
            if run == marks && !last.is_whitespace() && !is_word {
                return MarkEnd::At(at);
            }
            at += run;
        } else if first == '\\' {
            at += 1 + rest.chars().nth(1).map_or(0, char::len_utf8);
        } else if first == '`' {
            let run = take_run(rest, '`').len();
            match find_code_end(rest, run) {
                Some((_, bytes)) => at += bytes,
                // The code may end later, and its marks count then.
                None if !is_whole => return MarkEnd::Wait,
                None => at += run,
            }
        } else {
            at += first.len_utf8();
        }
        last = first;
    }
    missing
}

/// Finds a link, whose text begins behind `skip` bytes of a mark for images.
fn find_link(line: &str, skip: usize, is_whole: bool) -> InlineToken {
    let literal = || InlineToken::literal(line.get(..=skip).unwrap_or("["));
    let missing = || match is_whole {
        true => literal(),
        false => InlineToken::Wait,
    };
    let Some((text, after)) = line.get(skip + 1..).and_then(|rest| rest.split_once(']')) else {
        return missing();
    };
    let Some(target) = after.strip_prefix('(') else {
        return match after.is_empty() {
            true => missing(),
            false => literal(),
        };
    };
    let Some(end) = find_address_end(target) else {
        return missing();
    };
    let Some((address, title)) = split_target(target.get(..end).unwrap_or_default()) else {
        return literal();
    };
    if text.is_empty() {
        return literal();
    }
    InlineToken::Link {
        bytes: line.len() - target.len() + end + 1,
        text: text.to_owned(),
        address: address.to_owned(),
        title: title.map(str::to_owned),
    }
}

/// Splits the text between the brackets of a link into the address and, if there is one, a title in quotes. `None` if the text is
/// anything else, as in `f[i](the index of i)`.
fn split_target(inner: &str) -> Option<(&str, Option<&str>)> {
    let inner = inner.trim();
    let (address, rest) = inner.split_once(char::is_whitespace).unwrap_or((inner, ""));
    let address = address.trim_start_matches('<').trim_end_matches('>');
    let title = rest.trim_start();
    let is_quoted = ['"', '\'']
        .iter()
        .any(|quote| title.len() > 1 && title.starts_with(*quote) && title.ends_with(*quote));
    match (address.is_empty(), title.is_empty()) {
        (true, _) => None,
        (false, true) => Some((address, None)),
        (false, false) => is_quoted.then_some((address, Some(title))),
    }
}

/// Returns the position of the bracket that ends an address. `None` if there is none.
fn find_address_end(target: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, c) in target.char_indices() {
        match c {
            '(' => depth += 1,
            ')' if depth == 0 => return Some(at),
            ')' => depth -= 1,
            _ => {}
        }
    }
    None
}
