//! Forms of tokens that show their vendor in the middle, at the end, or by how they are divided.
//!
//! Owns: those forms, as the vendors document them and the rules of gitleaks 8 and detect-secrets 1.5 list them.
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

/// Returns the kinds of tokens in a text, each once.
pub(super) fn form_kinds(text: &str, is_real: fn(&str) -> bool) -> impl Iterator<Item = &'static str> {
    /// Minimum length. Shorter runs are words.
    const LEAST: usize = 30;
    // A colon and a dot divide the parts of some tokens, so they belong to the run.
    let runs: Vec<&str> = text
        .split(|mark: char| !mark.is_ascii_alphanumeric() && !"_-.:".contains(mark))
        .filter(|run| run.len() >= LEAST && is_real(run))
        .collect();
    FORMS
        .into_iter()
        .filter(move |(_, form)| runs.iter().any(|run| form(run)))
        .map(|(kind, _)| kind)
}

fn is_dashed(text: &str) -> bool {
    text.bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

/// Returns true for `sk-…T3BlbkFJ…`: the middle is `OpenAI` in base64.
fn openai(run: &str) -> bool {
    let parts = run
        .strip_prefix("sk-")
        .and_then(|rest| rest.split_once("T3BlbkFJ"));
    parts.is_some_and(|(before, behind)| before.len() >= 20 && behind.len() >= 20 && is_dashed(before))
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

/// Returns true for a Discord token: the user's number in base64, a time and a signature.
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

/// Returns true for decimal digits in base64: every three digits become four characters of these sets.
fn is_number_in_base_64(text: &str) -> bool {
    const PLACES: [&[u8]; 4] = [b"MNO", b"DTjz", b"AEIMQUYcgk", b"wxyz012345"];
    text.bytes()
        .zip(PLACES.iter().cycle())
        .all(|(byte, place)| place.contains(&byte))
}

/// Returns true for a Mailchimp key: 32 characters, and the data centre.
fn mailchimp(run: &str) -> bool {
    run.split_once("-us").is_some_and(|(key, centre)| {
        key.len() == 32
            && key.bytes().all(is_low)
            && (1..=2).contains(&centre.len())
            && centre.bytes().all(|byte| byte.is_ascii_digit())
    })
}

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
    fn each_form_is_told_from_its_neighbours() {
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
