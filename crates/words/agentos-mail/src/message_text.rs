//! The text of a mail: where the diff begins, the headers inside the text, the message and its trailers.
//!
//! Owns: the rules of `git mailinfo` for a decoded body. Never: decodes one, or reads the diff.

/// The message of a mail, with what its first lines state.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct MailText {
    /// Value of a line `From:` before the text. `None` if there is none.
    pub from: Option<String>,
    /// Value of a line `Date:` before the text. `None` if there is none.
    pub date: Option<String>,
    /// Value of a line `Subject:` before the text. `None` if there is none.
    pub subject: Option<String>,
    /// The paragraphs, without trailers.
    pub text: String,
    /// The trailers in their order.
    pub trailers: Vec<(String, String)>,
}

impl MailText {
    /// Reads the part of a body that precedes the diff.
    pub(crate) fn read(body: &str) -> Self {
        let mut found = Self::default();
        let mut lines = body
            .lines()
            .map(str::trim_end)
            .skip_while(|line| line.is_empty())
            .peekable();
        while let Some((name, value)) = lines.peek().and_then(|line| line.split_once(": ")) {
            let slot = match name.to_ascii_lowercase().as_str() {
                "from" => &mut found.from,
                "date" => &mut found.date,
                "subject" => &mut found.subject,
                _ => break,
            };
            *slot = Some(value.trim().to_owned());
            lines.next();
        }
        let rest: Vec<&str> = lines.collect();
        let (text, trailers) = split_trailers(rest.join("\n").trim());
        found.text = text;
        found.trailers = trailers;
        found
    }
}

/// Splits a body into the message and the rest with the diff, at the first line that git takes for the end of the message.
pub(crate) fn split_at_diff(body: &[u8]) -> (&[u8], &[u8]) {
    let mut at = 0;
    for line in body.split_inclusive(|byte| *byte == b'\n') {
        if ends_message(line) {
            break;
        }
        at += line.len();
    }
    body.split_at(at)
}

/// Returns true for `---`, `--- a/file`, `diff -…` and `Index: …`.
fn ends_message(line: &[u8]) -> bool {
    if line.starts_with(b"diff -") || line.starts_with(b"Index: ") {
        return true;
    }
    let Some(rest) = line.strip_prefix(b"---") else {
        return false;
    };
    // `--- a/file` begins a plain diff; `--- words` with a blank after the dashes and nothing else is the separator.
    rest.iter().all(u8::is_ascii_whitespace)
        || matches!(rest, [b' ', next, ..] if !next.is_ascii_whitespace())
}

/// Returns true if one line is the header of a file in a diff.
pub(crate) fn has_diff(rest: &[u8]) -> bool {
    rest.split(|byte| *byte == b'\n').any(|line| {
        line.starts_with(b"diff --git ") || line.starts_with(b"+++ ") || line.starts_with(b"@@ -")
    })
}

/// Cleans a subject as `git am` does: no `Re:`, and no `[PATCH 1/2]` or other brackets at its beginning.
pub(crate) fn clean_subject(subject: &str) -> String {
    let mut rest = subject;
    loop {
        rest = rest.trim_start_matches([' ', '\t', ':']);
        if let Some(after) = rest
            .get(..3)
            .filter(|head| head.eq_ignore_ascii_case("re:"))
            .and_then(|head| rest.strip_prefix(head))
        {
            rest = after;
        } else if let Some((_, after)) = rest.strip_prefix('[').and_then(|inner| inner.split_once(']')) {
            rest = after;
        } else {
            break;
        }
    }
    // A header may be folded over several lines.
    rest.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Splits the last paragraph off if each of its lines is a trailer.
fn split_trailers(text: &str) -> (String, Vec<(String, String)>) {
    let (before, last) = text.rsplit_once("\n\n").unwrap_or(("", text));
    let trailers: Option<Vec<(String, String)>> = last.lines().map(parse_trailer).collect();
    match trailers {
        Some(trailers) => (before.trim_end().to_owned(), trailers),
        None => (text.to_owned(), Vec::new()),
    }
}

/// Reads a line such as `Signed-off-by: Anna <anna@example.com>`. `None` if it is another line.
fn parse_trailer(line: &str) -> Option<(String, String)> {
    let (name, value) = line.split_once(": ")?;
    // As in git's `trailer.c`: letters, digits and dashes. A dash is required here, so that the sentence
    // `Note: …` stays in the text; git decides by the share of such lines.
    let is_name = name.contains('-')
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    let is_known = matches!(
        name,
        "Fixes" | "Closes" | "Link" | "Cc" | "Refs" | "Bug" | "References"
    );
    ((is_name || is_known) && !value.trim().is_empty()).then(|| (name.to_owned(), value.trim().to_owned()))
}
