//! Recognises the tokens of vendors that a prefix alone does not identify: by a mark in the middle or at the end, or by
//! the lengths of their parts. `shapes` recognises the tokens that begin with a prefix of their vendor.
//!
//! Owns: these forms, as the vendors document them and the rules of gitleaks 8 and detect-secrets 1.5 list them.
//! Never: keeps the text that it found.

/// Returns true if a whole run of token characters has the form.
type TokenForm = fn(&str) -> bool;

const FORMS: [(&str, TokenForm); 5] = [
    ("openai-key", openai),
    ("telegram-token", telegram),
    ("discord-token", discord),
    ("mailchimp-key", mailchimp),
    ("twilio-key", twilio),
];

/// Returns the kinds of tokens in a text, each once. `is_real` returns false for placeholders and documented examples.
pub(super) fn form_kinds(text: &str, is_real: fn(&str) -> bool) -> impl Iterator<Item = &'static str> {
    /// Minimum length of a run, in bytes. Every form is longer, so shorter runs need no test.
    const LEAST: usize = 30;
    // A run is a sequence of characters that tokens consist of. Some tokens have a colon or a dot between their parts.
    let runs: Vec<&str> = text
        .split(|mark: char| !mark.is_ascii_alphanumeric() && !"_-.:".contains(mark))
        .filter(|run| run.len() >= LEAST && is_real(run))
        .collect();
    FORMS
        .into_iter()
        .filter(move |(_, form)| runs.iter().any(|run| form(run)))
        .map(|(kind, _)| kind)
}

/// Returns true for letters, digits, `_` and `-` only: the alphabet of base64url.
fn is_dashed(text: &str) -> bool {
    text.bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

/// Returns true for an OpenAI key, `sk-…T3BlbkFJ…`: the middle is `OpenAI` in base64.
fn openai(run: &str) -> bool {
    let parts = run
        .strip_prefix("sk-")
        .and_then(|rest| rest.split_once("T3BlbkFJ"));
    parts.is_some_and(|(before, after)| before.len() >= 20 && after.len() >= 20 && is_dashed(before))
}

/// Returns true for a Telegram token: the bot's number, a colon and 35 characters.
fn telegram(run: &str) -> bool {
    run.split_once(':').is_some_and(|(number, rest)| {
        (8..=10).contains(&number.len())
            && number.bytes().all(|byte| byte.is_ascii_digit())
            && rest.len() == 35
            && is_dashed(rest)
    })
}

/// Returns true for a Discord token: the user's number in base64, a time and a signature, divided by dots.
fn discord(run: &str) -> bool {
    let parts: Vec<&str> = run.split('.').collect();
    match parts.as_slice() {
        [user, time, signature] => {
            (24..=26).contains(&user.len())
                && is_number_in_base_64(user)
                && time.len() == 6
                && (27..=38).contains(&signature.len())
                && parts.iter().all(|part| is_dashed(part))
        }
        _ => false,
    }
}

/// Returns true for decimal digits in base64. Base64 writes three bytes as four characters, and for digits each of the four
/// positions has only these possible characters. So a dotted identifier is not taken for a token.
fn is_number_in_base_64(text: &str) -> bool {
    const POSITIONS: [&[u8]; 4] = [b"MNO", b"DTjz", b"AEIMQUYcgk", b"wxyz012345"];
    text.bytes()
        .zip(POSITIONS.iter().cycle())
        .all(|(byte, possible)| possible.contains(&byte))
}

/// Returns true for a Mailchimp key: 32 characters and the name of a data centre, such as `-us12`.
fn mailchimp(run: &str) -> bool {
    run.split_once("-us").is_some_and(|(key, centre)| {
        key.len() == 32
            && key.bytes().all(is_low)
            && (1..=2).contains(&centre.len())
            && centre.bytes().all(|byte| byte.is_ascii_digit())
    })
}

/// Returns true for a Twilio key: `SK` and 32 characters.
fn twilio(run: &str) -> bool {
    run.strip_prefix("SK")
        .is_some_and(|key| key.len() == 32 && key.bytes().all(is_low))
}

fn is_low(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_is_distinguished_from_similar_text() {
        let low = "7c9ef2b8d4e6a1f3c5d0b7c9ef2b8d4e6";
        let low = low.split_at(32).0;
        let long = "q7Rk2mWx9Lp4vNs6Jd8fGc3Yt5aZ1uT0bV";
        let user = "MTIzNDU2Nzg5MDEyMzQ1Njc4";
        let cases = [
            (format!("sk-{long}T3BlbkFJ{long}"), Some("openai-key")),
            (format!("sk-{long}"), None),
            (format!("123456789:{long}x"), Some("telegram-token")),
            (format!("123456789:{long}xy"), None),
            (format!("{user}.abcDE1.{long}"), Some("discord-token")),
            (
                "NotificationHubsManagement.Models.NotificationHubAuthorizationRule".to_owned(),
                None,
            ),
            (format!("{low}-us12"), Some("mailchimp-key")),
            (format!("{low}-user"), None),
            (format!("SK{low}"), Some("twilio-key")),
            (format!("SK{low}0"), None),
        ];
        for (token, kind) in cases {
            let found: Vec<&str> = form_kinds(&format!("key = \"{token}\""), |_| true).collect();
            assert_eq!(found, Vec::from_iter(kind), "{token}");
        }
    }
}
