//! Answers that are mails: each becomes a commit of its own, as with `git am`.
//!
//! Owns: which runs an answer becomes, and the commit's author, message and trailers from a mail. Never: parses a mail;
//! `agentos-mail` does.

use agentos_api::{Cause, Notice};
use agentos_engine::Outcome;
use agentos_engine::ports::{CommitAuthor, EffectError};
use agentos_executor::{Authorship, CommitTime, Identity};
use agentos_mail::{PatchMail, read_mails};

use crate::Ground;
use crate::answer_spec::AnswerSpec;
use crate::error::usage_error;

/// Prefix of the trailers that the executor writes.
const OWN_TRAILERS: &str = "agentos-";

/// Splits an answer into those that become one commit each: the mails of a mailbox, or the answer itself if it is no mail.
///
/// A landing without a commit is not split: its diffs land together or not at all.
///
/// # Errors
/// If a mail names no author or no subject, or one message is given for several mails.
pub fn split_answer(
    whole: AnswerSpec,
    message: Option<&str>,
    commits: bool,
) -> Result<Vec<AnswerSpec>, EffectError> {
    if !commits {
        return Ok(vec![whole]);
    }
    let mails = read_mails(&whole.answer)
        .map_err(|error| EffectError::from_error(Cause::Landing, "bad-mail", &error))?;
    let Some(mails) = mails else {
        return Ok(vec![whole]);
    };
    if message.is_some() && mails.len() > 1 {
        let error = format!("the file has {} mails, and each has its own message", mails.len());
        return Err(usage_error(error).hint("leave out the message"));
    }
    Ok(mails
        .into_iter()
        .map(|mail| mail_answer(mail, &whole, message))
        .collect())
}

/// Makes the answer of one mail.
fn mail_answer(mail: PatchMail, whole: &AnswerSpec, message: Option<&str>) -> AnswerSpec {
    AnswerSpec {
        message: Some(message.map_or_else(|| mail.message(), str::to_owned)),
        author: Some(CommitAuthor {
            name: mail.author_name,
            email: mail.author_email,
            unix_seconds: mail.date.map(|date| date.unix_seconds),
            utc_offset_minutes: mail.date.map_or(0, |date| date.utc_offset_minutes),
        }),
        // A commit that this product made brings its own trailers when it is mailed. A second run must not claim the first
        // one's evidence.
        trailers: mail
            .trailers
            .into_iter()
            .filter(|(name, _)| !name.to_ascii_lowercase().starts_with(OWN_TRAILERS))
            .collect(),
        instruction: mail.subject,
        answer: mail.diff,
        verb: whole.verb.clone(),
        partial: whole.partial,
    }
}

/// Announces whose name the commit will have, to the person who lands the mail.
pub fn announce_author(ground: &Ground, answer: &AnswerSpec) {
    if let Some(CommitAuthor { name, email, .. }) = &answer.author {
        let text = format!("the commit's author is {name} <{email}>, as the mail says");
        ground.notify(Notice::new("mail-author", text));
    }
}

/// Makes the person whom the proposal names the author of the commit. Who lands it stays the committer, whose key signs it.
pub fn name_author(by: Authorship, author: &CommitAuthor) -> Authorship {
    Authorship {
        author: Identity {
            name: author.name.clone(),
            email: author.email.clone(),
        },
        written: author.unix_seconds.map(|unix_seconds| CommitTime {
            unix_seconds,
            utc_offset_minutes: author.utc_offset_minutes,
        }),
        ..by
    }
}

/// Adds to the message of an outcome which mail of a series it is about. Returns true if the next mail is to be landed: each
/// builds on those before. With `allow_empty`, a mail that the repository has already is passed over.
pub fn continue_series(
    outcome: &mut Outcome,
    subject: &str,
    (number, of): (usize, usize),
    allow_empty: bool,
) -> bool {
    if of > 1 {
        outcome.message = format!("mail {number} of {of}, `{subject}`: {}", outcome.message);
    }
    let goes_on = outcome.is_done() || (allow_empty && outcome.code.as_deref() == Some("empty"));
    if !goes_on && number < of {
        outcome
            .message
            .push_str(&format!("; {} not tried", describe_rest(of - number)));
    }
    goes_on
}

fn describe_rest(count: usize) -> String {
    match count {
        1 => "the mail after it was".to_owned(),
        _ => format!("the {count} mails after it were"),
    }
}
