//! Limits on a record's body: exact numbers only, and no secrets.
//!
//! Owns: removing keys, tokens and user names in URLs from a body before it is written. Never: changes blobs; a tool's
//! answer is stored byte for byte.

use serde_json::Value;

use crate::EvidenceError;

/// Largest integer that every reader of JSON keeps exactly: many read numbers as IEEE 754 doubles (RFC 8259, section 6).
const MAX_SAFE: u64 = (1 << 53) - 1;
const MAX_DEPTH: usize = 64;
/// Replacement for a secret.
const GONE: &str = "[redacted]";
/// Names of members whose value is never recorded. They are compared in lower case, with `_` for `-`.
const SECRET_NAMES: [&str; 14] = [
    "access_token",
    "api_key",
    "apikey",
    "auth",
    "authorization",
    "bearer",
    "cookie",
    "password",
    "private_key",
    "proxy_authorization",
    "refresh_token",
    "secret",
    "token",
    "x_api_key",
];

/// Removes secrets from a body. Every record passes through this function; JSON that becomes a blob should too.
///
/// # Errors
/// When the body is nested too deeply or holds a number that cannot be recorded exactly.
pub fn remove_secrets(mut body: Value) -> Result<Value, EvidenceError> {
    clean_value(&mut body, &BodyPath::Body, MAX_DEPTH)?;
    Ok(body)
}

/// Position of a value in the body. It becomes text only for an error message.
enum BodyPath<'a> {
    Body,
    Member(&'a BodyPath<'a>, &'a str),
}

impl std::fmt::Display for BodyPath<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Body => f.write_str("body"),
            Self::Member(above, name) => write!(f, "{above}.{name}"),
        }
    }
}

fn clean_value(value: &mut Value, at: &BodyPath<'_>, depth: usize) -> Result<(), EvidenceError> {
    let Some(depth) = depth.checked_sub(1) else {
        return Err(EvidenceError::TooDeep);
    };
    match value {
        Value::Null | Value::Bool(_) => Ok(()),
        Value::Number(number) => {
            // RFC 8785 writes numbers as doubles. A number that a double rounds would get another hash in another reader.
            let exact = match (number.as_i64(), number.as_u64(), number.as_f64()) {
                (Some(int), _, _) => int.unsigned_abs() <= MAX_SAFE,
                (None, Some(_), _) => false,
                (None, None, Some(float)) => float.abs() < 9_007_199_254_740_992.0,
                (None, None, None) => false,
            };
            if exact {
                Ok(())
            } else {
                Err(EvidenceError::NumberTooLarge { at: at.to_string() })
            }
        }
        Value::String(text) => {
            if may_hold_secret(text) {
                *text = without_user_parts(text);
            }
            Ok(())
        }
        Value::Array(items) => items.iter_mut().try_for_each(|item| clean_value(item, at, depth)),
        Value::Object(members) => members.iter_mut().try_for_each(|(name, value)| {
            if is_secret(name) && !value.is_null() && !value.is_boolean() {
                *value = Value::String(GONE.to_owned());
                return Ok(());
            }
            clean_value(value, &BodyPath::Member(at, name), depth)
        }),
    }
}

fn is_secret(name: &str) -> bool {
    // Compared byte by byte: this runs for every member of every record, and a copy in lower case is an allocation.
    let fold = |b: u8| if b == b'-' { b'_' } else { b.to_ascii_lowercase() };
    SECRET_NAMES
        .iter()
        .any(|secret| secret.len() == name.len() && secret.bytes().eq(name.bytes().map(fold)))
}

/// Returns false for a text that cannot hold a secret of the two kinds that are searched in texts.
fn may_hold_secret(text: &str) -> bool {
    // `//` is in every URL, `r ` at the end of every `Bearer `. Most texts have neither and need no copy.
    let marks = |pair: &[u8]| pair == b"//" || pair.eq_ignore_ascii_case(b"r ");
    text.as_bytes().windows(2).any(marks)
}

/// Replaces `scheme://user:password@host` by `scheme://[redacted]@host`, and `Bearer x` by `Bearer [redacted]`.
fn without_user_parts(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("://") {
        out.push_str(before);
        out.push_str("://");
        // The part of a URL with user name and host ends at `/`, `?` or `#` (RFC 3986, section 3.2). In a message it may
        // also be followed by a blank or a closing quote.
        let end = after
            .find(|c: char| c.is_whitespace() || matches!(c, '/' | '?' | '#' | '"' | '\'' | '<' | '>' | '`'))
            .unwrap_or(after.len());
        // The last `@`, since a password may contain one that is not escaped.
        let authority = after.get(..end).unwrap_or(after);
        rest = match authority.rfind('@') {
            Some(sign) => {
                out.push_str(GONE);
                after.get(sign..).unwrap_or_default()
            }
            None => after,
        };
    }
    out.push_str(rest);
    without_bearer(&out)
}

fn without_bearer(text: &str) -> String {
    const MARK: &str = "bearer ";
    let lower = text.to_ascii_lowercase();
    let mut out = String::with_capacity(text.len());
    let mut copied = 0;
    for (at, _) in lower.match_indices(MARK) {
        let start = at + MARK.len();
        let after = text.get(start..).unwrap_or_default();
        let ends = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ',');
        // A shorter word is no token but a sentence such as "the bearer of news".
        let token = after.find(ends).unwrap_or(after.len());
        if token >= 8 {
            out.push_str(text.get(copied..start).unwrap_or_default());
            out.push_str(GONE);
            copied = start + token;
        }
    }
    out.push_str(text.get(copied..).unwrap_or_default());
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn secrets_do_not_reach_the_tape() {
        let cases = [
            (
                json!({ "Authorization": "Bearer abc" }),
                json!({ "Authorization": "[redacted]" }),
            ),
            (
                json!({ "headers": [{ "x-api-key": "k" }] }),
                json!({ "headers": [{ "x-api-key": "[redacted]" }] }),
            ),
            (json!({ "api_key": null }), json!({ "api_key": null })),
            (
                json!({ "u": "see http://me:pw@host:1/x" }),
                json!({ "u": "see http://[redacted]@host:1/x" }),
            ),
            (
                json!({ "u": "http://host/a@b" }),
                json!({ "u": "http://host/a@b" }),
            ),
            (
                json!({ "m": "sent Bearer 0123456789, then" }),
                json!({ "m": "sent Bearer [redacted], then" }),
            ),
            (
                json!({ "m": "bearer bearer abcdefgh Bearer ijklmnop" }),
                json!({ "m": "bearer bearer [redacted] Bearer [redacted]" }),
            ),
            (
                json!({ "m": "the bearer of news" }),
                json!({ "m": "the bearer of news" }),
            ),
            (
                json!({ "max_output_tokens": 5 }),
                json!({ "max_output_tokens": 5 }),
            ),
        ];
        for (body, expected) in cases {
            assert_eq!(remove_secrets(body).unwrap(), expected);
        }
    }

    #[test]
    fn a_number_that_readers_round_is_refused() {
        let limit = 9_007_199_254_740_991_i64;
        assert!(remove_secrets(json!([limit, -limit, 0.5, 1e15])).is_ok());
        for number in [json!(limit + 1), json!(-limit - 1), json!(u64::MAX), json!(1e300)] {
            let error = remove_secrets(json!({ "n": number })).unwrap_err();
            assert_eq!(
                error.to_string(),
                "`body.n` contains a number greater than 2^53 - 1, which cannot be recorded exactly"
            );
        }
    }

    #[test]
    fn a_bottomless_body_is_refused() {
        let deep = (0..100).fold(json!(1), |inner, _| json!([inner]));
        assert!(matches!(remove_secrets(deep), Err(EvidenceError::TooDeep)));
    }
}
