//! Credentials by their form: well-known keys, private keys, passwords in addresses, and values that are both named
//! like a secret and random like one.
//!
//! Owns: documented examples and placeholders, and secrets that do not name their vendor; `shapes` and `forms` have
//! the tokens of vendors. Never: keeps or shows the text that it matched.

mod forms;
mod shapes;

use std::collections::BTreeSet;

#[cfg(test)]
pub(super) use shapes::list_starts;
pub(super) use shapes::{dashed_word as is_word_byte, is_short_start};

/// Number of lines below the header of a key that are searched for the key. Headers of an encrypted key may be between.
const KEY_REACH: usize = 6;

/// Returns the kinds of secrets in a line. `following` are the added lines below it.
pub(super) fn secret_kinds(text: &[u8], following: &[&[u8]]) -> Vec<&'static str> {
    let text = String::from_utf8_lossy(text);
    let mut kinds = Vec::new();
    for kind in shapes::prefix_kinds(&text, is_real).chain(forms::form_kinds(&text, is_real)) {
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    if is_private_key(&text, following) {
        kinds.push("private-key");
    }
    if has_password_in_address(&text) {
        kinds.push("password-in-address");
    }
    // The vaguest test runs last, so that a known token is reported by its own kind.
    if kinds.is_empty() && is_named_secret(&text) {
        kinds.push("named-secret");
    }
    kinds
}

/// Words of documented examples and placeholders.
const PLACEHOLDERS: &str = "example,placeholder,changeme,dummy,xxxx,redacted";

/// Returns true if a value is neither a documented example nor a placeholder.
fn is_real(value: &str) -> bool {
    // The first is the public key of Azure's storage emulator, which is the same for everyone.
    const WORDS: &str = "eby8vdm02xnocqflquwjpllm,change_me,sample,your_,your-,fake,notreal";
    let lower = value.to_ascii_lowercase();
    let mut words = PLACEHOLDERS.split(',').chain(WORDS.split(','));
    // A key of few different characters, as `aaaa…` or `1234123412341234`, is a placeholder.
    count_different(&lower) >= 8 && !words.any(|word| lower.contains(word))
}

fn count_different(value: &str) -> usize {
    value.bytes().collect::<BTreeSet<u8>>().len()
}

/// Returns true for a PEM header with key material behind it or on the lines below. A header alone is a text about
/// keys.
fn is_private_key(text: &str, following: &[&[u8]]) -> bool {
    let header = text
        .split_once("-----BEGIN ")
        .and_then(|(_, rest)| rest.split_once("-----"));
    let is_private = |label: &str| label.ends_with("PRIVATE KEY") || label == "PGP PRIVATE KEY BLOCK";
    let Some((_, rest)) = header.filter(|(label, _)| is_private(label)) else {
        return false;
    };
    let is_key = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=".contains(byte);
    let material = |text: &[u8]| text.split(|byte| !is_key(byte)).any(|run| run.len() >= 32);
    material(rest.as_bytes()) || following.iter().take(KEY_REACH).any(|line| material(line))
}

/// Returns true for `scheme://user:password@host` with a password that is no word of documentation.
fn has_password_in_address(text: &str) -> bool {
    text.match_indices("://").any(|(at, _)| {
        let rest = text.get(at + 3..).unwrap_or_default();
        let end = rest
            .find(|character: char| character.is_whitespace() || "\"'`<>/)".contains(character))
            .unwrap_or(rest.len());
        let authority = rest.get(..end).unwrap_or_default();
        // The last `@` ends the user part, since a password may contain one.
        let Some((user, host)) = authority.rsplit_once('@') else {
            return false;
        };
        // The host is this machine, or a service of a compose file.
        let near = !host.contains('.') || host.starts_with("127.");
        !near
            && user
                .split_once(':')
                .is_some_and(|(_, password)| looks_random(password, 8) && !password.contains('$'))
    })
}

/// Returns true for a value that is long enough, has letters and digits, and is no word that a person would put
/// there.
fn looks_random(value: &str, least: usize) -> bool {
    const WORDS: &str = "pass,secret,token,user,test,key,your";
    let lower = value.to_ascii_lowercase();
    let mut words = PLACEHOLDERS.split(',').chain(WORDS.split(','));
    value.len() >= least
        && value.bytes().any(|byte| byte.is_ascii_digit())
        && value.bytes().any(|byte| byte.is_ascii_alphabetic())
        && !value.contains(['{', '}', '<', '*', '%'])
        && !words.any(|word| lower.contains(word))
        && count_different(&lower) * 2 >= least
}

/// Returns true for `name = "value"` with the name of a secret and a value of mixed characters without any order.
fn is_named_secret(text: &str) -> bool {
    const NAMES: &str = "password,passwd,secret,token,api_key,apikey,api-key,access_key,private_key,_auth";
    let Some(at) = text.find(['=', ':']) else {
        return false;
    };
    let (name, value) = text.split_at_checked(at).unwrap_or((text, ""));
    let name = name.to_ascii_lowercase();
    if !NAMES.split(',').any(|wanted| name.contains(wanted)) {
        return false;
    }
    let value = value
        .trim_start_matches(['=', ':', ' ', '\t', '>'])
        .trim_start_matches(['"', '\'', '`']);
    let length = value
        .bytes()
        .take_while(|byte| byte.is_ascii_alphanumeric() || b"+/=_-".contains(byte))
        .count();
    let value = value.get(..length).unwrap_or_default();
    /// Minimum length. Shorter values are words more often than keys.
    const LEAST: usize = 20;
    value.bytes().any(|byte| byte.is_ascii_uppercase())
        && value.bytes().any(|byte| byte.is_ascii_lowercase())
        // A name in camel case with one digit, as `AccessTokenResponse2`, is no key.
        && value.bytes().filter(u8::is_ascii_digit).count() >= 2
        && value.len() >= LEAST
        && is_real(value)
        && looks_random(value, LEAST)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Put together here, so that no key-shaped text is in the file.
    fn key(start: &str, length: usize) -> String {
        let letters = "Zq7RkT2mWx9LpB4vNs6JdH8fGc3YtE5a".as_bytes();
        let rest: String = (0..length)
            .map(|at| char::from(letters[at * 7 % letters.len()]))
            .collect();
        format!("{start}{rest}")
    }

    #[test]
    fn credentials_are_found_by_their_shape() {
        let cases = [
            ("github-token", format!("token: {}", key("ghp_", 36))),
            (
                "aws-access-key",
                format!("id = {}", key("AKIA", 16).to_uppercase()),
            ),
            ("anthropic-key", key("sk-ant-api03-", 60)),
            ("google-key", format!("\"{}\"", key("AIza", 35))),
            (
                "password-in-address",
                format!("postgres://app:{}@db.internal/x", key("", 12)),
            ),
            ("named-secret", format!("client_secret = \"{}\"", key("", 40))),
        ];
        for (kind, line) in cases {
            assert_eq!(secret_kinds(line.as_bytes(), &[]), [kind], "{line}");
        }
        let pem = format!("-----BEGIN {} KEY-----", "RSA PRIVATE");
        assert_eq!(
            secret_kinds(pem.as_bytes(), &[key("MII", 60).as_bytes()]),
            ["private-key"]
        );
        assert!(
            secret_kinds(pem.as_bytes(), &[b"..."]).is_empty(),
            "a header alone is only a word"
        );
    }

    #[test]
    fn documented_examples_placeholders_and_digests_are_fine() {
        let lines = [
            "aws_access_key_id = AKIAIOSFODNN7EXAMPLE",
            "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
            "api_key = \"YOUR_API_KEY_HERE\"",
            "password = os.environ[\"DB_PASSWORD\"]",
            "sha256 = 2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae",
            "token = 7d444840-9dc0-11d1-b245-5ffdce74fad2",
            "postgres://user:password@localhost/db",
            "https://$USER:$TOKEN@host/x",
            "postgres://postgres:postgres123@localhost:5432/db",
            "redis://app:s3cretpa55@cache:6379",
            "process.env.npm_config_sharp_libvips_local_prebuilds",
            "icon = \"xapp-favorites-app-symbolic\"",
            "from x import hf_convert_state_dict_from_original_repo",
            "jsonschema/_keywords.py,sha256=r8_DrqAfn6QKA1yUbVqvJ4BeJtnHPmTlBt3jAYbIjSg,14937",
            "export GITHUB_TOKEN=ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
            "let tokens: HashMap<String, AccessTokenResponse> = HashMap::new();",
            "fn token_for_request_with_long_name_2() -> TokenForRequest2 {",
        ];
        for line in lines {
            assert!(
                secret_kinds(line.as_bytes(), &[]).is_empty(),
                "{line}: {:?}",
                secret_kinds(line.as_bytes(), &[])
            );
        }
    }
}
