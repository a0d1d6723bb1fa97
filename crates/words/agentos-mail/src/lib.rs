//! Patches that were sent as mail: who wrote each, when, with which message, and its diff.
//!
//! Owns: telling a mail from other text, the mails of a mailbox, and what git takes from a mail for a commit. Never: reads a
//! diff, or trusts a name: whoever lands a mail sees its author first.
//!
//! The rules are those of `git mailsplit` and `git mailinfo` (git's `builtin/mailsplit.c`, `mailinfo.c`), which `git am` runs:
//!
//! | part | taken from |
//! |---|---|
//! | author | `From:`; a line `From:` at the beginning of the text is preferred, for mails that somebody else forwards |
//! | date | `Date:`, in the same way; only a date that is valid |
//! | subject | `Subject:`, in the same way, without `Re:` and without `[…]` at its beginning |
//! | text | the body up to a line `---`, `diff -…` or `Index: …` |
//! | trailers | the last paragraph of the text, if all its lines are trailers such as `Signed-off-by: …` |
//! | diff | everything from there, byte for byte; only base64 and quoted-printable are decoded |
//!
//! Start at [`read_mails`].

mod message_text;
mod split;

use std::borrow::Cow;

use mail_parser::decoders::{base64::base64_decode, quoted_printable::quoted_printable_decode};
use mail_parser::{Address, DateTime, Encoding, Message, MessageParser, MessagePart, MimeHeaders as _};

use crate::message_text::MailText;

/// Largest number of mails in one mailbox.
pub const MAX_MAILS: usize = 1_000;

/// A patch from a mail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatchMail {
    /// Name of the author. Not trusted: anybody can write any name.
    pub author_name: String,
    /// Address of the author.
    pub author_email: String,
    /// Time at which the author wrote the change. `None` if the mail has no valid date.
    pub date: Option<MailDate>,
    /// Subject, cleaned as `git am` does.
    pub subject: String,
    /// The paragraphs after the subject, without trailers. Empty if there are none.
    pub text: String,
    /// Trailers in their order, such as `Signed-off-by`.
    pub trailers: Vec<(String, String)>,
    /// The diff, and the lines that git writes around it.
    pub diff: Vec<u8>,
}

impl PatchMail {
    /// Returns subject and text as a commit message without trailers.
    #[must_use]
    pub fn message(&self) -> String {
        match self.text.is_empty() {
            true => self.subject.clone(),
            false => format!("{}\n\n{}", self.subject, self.text),
        }
    }
}

/// A point in time as a mail gives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MailDate {
    /// Seconds since 1970, UTC.
    pub unix_seconds: i64,
    /// Minutes that the author's clock was ahead of UTC.
    pub utc_offset_minutes: i32,
}

/// Reason why a mail cannot become a commit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MailError {
    /// There is no author.
    #[error("mail {number} does not say who wrote it: its `From:` has no name and address")]
    NoAuthor {
        /// Number of the mail in the mailbox; 1 is the first.
        number: usize,
    },
    /// There is no subject.
    #[error("mail {number} has no subject, which would be the first line of its commit message")]
    NoSubject {
        /// Number of the mail in the mailbox; 1 is the first.
        number: usize,
    },
    /// The mail cannot be read.
    #[error("mail {number} cannot be read: {reason}")]
    Unreadable {
        /// Number of the mail in the mailbox; 1 is the first.
        number: usize,
        /// The reason.
        reason: &'static str,
    },
    /// There are too many mails.
    #[error("the file has more than {MAX_MAILS} mails")]
    TooMany,
}

/// Reads a mail, or a mailbox as `git format-patch --stdout` writes it. `None` if the bytes are no mail with a subject and a
/// diff: a reply of a model, or a diff alone.
///
/// Mails without a diff, such as the cover letter of a series, are left out.
///
/// # Errors
/// If there are mails with a diff, and one of them names no author or cannot be decoded.
pub fn read_mails(bytes: &[u8]) -> Result<Option<Vec<PatchMail>>, MailError> {
    let mails = split::split_mailbox(bytes);
    if mails.len() > MAX_MAILS {
        return Err(MailError::TooMany);
    }
    if !mails.iter().any(|mail| split::has_mail_headers(mail)) {
        return Ok(None);
    }
    let mut patches = Vec::new();
    for (at, mail) in mails.iter().enumerate() {
        patches.extend(read_mail(mail, at + 1)?);
    }
    Ok((!patches.is_empty()).then_some(patches))
}

/// Reads one mail. `None` if it has no diff.
fn read_mail(raw: &[u8], number: usize) -> Result<Option<PatchMail>, MailError> {
    let unreadable = |reason| MailError::Unreadable { number, reason };
    let mail = MessageParser::new()
        .with_mime_headers()
        .with_date_headers()
        .with_address_headers()
        .default_header_text()
        .parse(raw)
        .ok_or_else(|| unreadable("its headers are not valid"))?;
    let body = read_body(&mail, raw).map_err(unreadable)?;
    let (text, diff) = message_text::split_at_diff(&body);
    if !message_text::has_diff(diff) {
        return Ok(None);
    }
    let text = MailText::read(&String::from_utf8_lossy(text));
    let (author_name, author_email) = text
        .from
        .as_deref()
        .and_then(parse_author)
        .or_else(|| mail.from().and_then(first_author))
        .ok_or(MailError::NoAuthor { number })?;
    let subject = text.subject.as_deref().or_else(|| mail.subject());
    let subject = message_text::clean_subject(subject.unwrap_or_default());
    if subject.is_empty() {
        return Err(MailError::NoSubject { number });
    }
    let inner_date = text.date.as_deref().and_then(DateTime::parse_rfc822);
    Ok(Some(PatchMail {
        author_name,
        author_email,
        date: inner_date.as_ref().or_else(|| mail.date()).and_then(read_date),
        subject,
        text: text.text,
        trailers: text.trailers,
        diff: diff.to_vec(),
    }))
}

/// Joins the texts of a mail, as git does: the message may be one part and the diff an attachment. Message and diff stay in
/// the bytes that were sent, because a diff can contain lines in the encoding of its file.
///
/// # Errors
/// The reason, if a part cannot be decoded.
fn read_body(mail: &Message<'_>, raw: &[u8]) -> Result<Vec<u8>, &'static str> {
    let mut body: Vec<u8> = Vec::new();
    for part in &mail.parts {
        let is_text = part.is_text() && !part.is_text_html();
        let is_patch = part.is_binary() && is_patch_type(part);
        if part.is_multipart() || !(is_text || is_patch) {
            continue;
        }
        if body.last().is_some_and(|last| *last != b'\n') {
            body.push(b'\n');
        }
        body.extend_from_slice(&decode_part(part, raw)?);
    }
    Ok(body)
}

/// Returns true for an attachment whose type says that it is a patch.
fn is_patch_type(part: &MessagePart<'_>) -> bool {
    part.content_type()
        .is_some_and(|kind| matches!(kind.subtype(), Some("x-patch" | "x-diff" | "patch" | "diff")))
}

fn decode_part<'mail>(part: &MessagePart<'_>, raw: &'mail [u8]) -> Result<Cow<'mail, [u8]>, &'static str> {
    let range = part.offset_body as usize..part.offset_end as usize;
    let bytes = raw.get(range).ok_or("a part of it ends before it begins")?;
    match part.encoding {
        Encoding::None => Ok(Cow::Borrowed(bytes)),
        Encoding::QuotedPrintable => quoted_printable_decode(bytes)
            .map(Cow::Owned)
            .ok_or("its quoted-printable text is not valid"),
        Encoding::Base64 => base64_decode(bytes)
            .map(Cow::Owned)
            .ok_or("its base64 text is not valid"),
    }
}

/// Reads the author from a line `From:` of the text.
fn parse_author(line: &str) -> Option<(String, String)> {
    let header = format!("From: {line}\n\n");
    let mail = MessageParser::new()
        .with_address_headers()
        .parse(header.as_bytes())?;
    mail.from().and_then(first_author)
}

/// Returns name and address of the first author. The address is the name if there is none, as in git.
fn first_author(from: &Address<'_>) -> Option<(String, String)> {
    let first = from.first()?;
    let email = first.address()?.trim();
    let name = first.name().map(str::trim).filter(|name| !name.is_empty());
    // The name goes to commits and terminals, where a control character could be an escape sequence.
    let is_usable =
        |text: &str| !text.is_empty() && !text.contains(|c: char| c.is_control() || matches!(c, '<' | '>'));
    let name = name.unwrap_or(email);
    (is_usable(email) && is_usable(name)).then(|| (name.to_owned(), email.to_owned()))
}

/// Converts a date. `None` if it is not valid, or before 1970, which a commit cannot state.
fn read_date(date: &DateTime) -> Option<MailDate> {
    let minutes = i32::from(date.tz_hour) * 60 + i32::from(date.tz_minute);
    let unix_seconds = date.to_timestamp();
    (date.is_valid() && unix_seconds >= 0).then_some(MailDate {
        unix_seconds,
        utc_offset_minutes: if date.tz_before_gmt { -minutes } else { minutes },
    })
}

#[cfg(test)]
mod tests;
