//! The mails of a mailbox, and the signs of a mail.
//!
//! Owns: where a mail begins. Never: decodes one.

/// Splits a mailbox at its lines `From … <date>`. A text without such a line is one mail.
pub(crate) fn split_mailbox(bytes: &[u8]) -> Vec<&[u8]> {
    let mut mails = Vec::new();
    // The beginning of the current mail, after its separator.
    let (mut begin, mut at) = (0, 0);
    let mut after_blank = true;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        if after_blank && is_separator(line) {
            mails.extend(bytes.get(begin..at).filter(|mail| !is_blank(mail)));
            begin = at + line.len();
        }
        after_blank = is_blank(line);
        at += line.len();
    }
    mails.extend(bytes.get(begin..).filter(|mail| !is_blank(mail)));
    mails
}

/// Returns true if the text begins with headers, with an author and a subject among them.
///
/// A model's reply may begin with a line such as `Note: …`, and then it is no mail.
pub(crate) fn has_mail_headers(mail: &[u8]) -> bool {
    let (mut has_from, mut has_subject) = (false, false);
    for (at, line) in mail.split(|byte| *byte == b'\n').enumerate() {
        let is_continued = at > 0 && matches!(line.first(), Some(b' ' | b'\t'));
        if is_continued && !is_blank(line) {
            continue;
        }
        if is_blank(line) {
            break;
        }
        let Some(colon) = line.iter().position(|byte| *byte == b':') else {
            return false;
        };
        let (name, _) = line.split_at(colon);
        // The characters of a header's name: RFC 5322, section 2.2, printable ASCII without the colon.
        if name.is_empty() || !name.iter().all(|byte| byte.is_ascii_graphic()) {
            return false;
        }
        has_from |= name.eq_ignore_ascii_case(b"from");
        has_subject |= name.eq_ignore_ascii_case(b"subject");
    }
    has_from && has_subject
}

/// Returns true for a line `From someone Mon Sep 17 00:00:00 2001`. As in git, the time and the year decide, because a sentence
/// of a message may begin with "From".
fn is_separator(line: &[u8]) -> bool {
    let Some(rest) = line.strip_prefix(b"From ") else {
        return false;
    };
    let text = String::from_utf8_lossy(rest);
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_time = |word: &&str| {
        let parts: Vec<&str> = word.split(':').collect();
        matches!(parts.len(), 2 | 3)
            && parts
                .iter()
                .all(|part| part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let is_year = |word: &&str| word.len() == 4 && word.parse::<u16>().is_ok_and(|year| year > 1990);
    words.iter().any(is_time) && words.iter().any(is_year)
}

fn is_blank(line: &[u8]) -> bool {
    line.iter().all(u8::is_ascii_whitespace)
}
