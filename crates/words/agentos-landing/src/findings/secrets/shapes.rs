//! Forms of tokens that show their vendor at the beginning.
//!
//! Owns: the table, and matching a line against it. The beginnings, characters and lengths are those that the vendors
//! document, or that the rules of gitleaks 8 list. Never: keeps the text that it found.

use crate::text::begins_as;

/// Form of a token that begins with fixed text: that text, or several with blanks between them, the kind, the characters that may follow it, and the minimum and
/// the maximum number of them; [`MANY`] for no limit.
type TokenShape = (&'static str, &'static str, TokenBytes, usize, usize);

/// Bytes that a token may have behind its beginning.
type TokenBytes = fn(u8) -> bool;

/// No limit.
const MANY: usize = usize::MAX;

fn word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

pub(in crate::findings) fn dashed_word(byte: u8) -> bool {
    word_byte(byte) || byte == b'-'
}

const DOTTED_WORD: TokenBytes = |byte| dashed_word(byte) || byte == b'.';
const BASE64: TokenBytes = |byte| dashed_word(byte) || matches!(byte, b'=' | b'+' | b'/');
const UPPER_OR_DIGIT: TokenBytes = |byte| byte.is_ascii_uppercase() || byte.is_ascii_digit();
const DASHED_UPPER: TokenBytes = |byte| UPPER_OR_DIGIT(byte) || byte == b'-';
const ADDRESS: TokenBytes = |byte| word_byte(byte) || byte == b'/';
const ALPHANUMERIC: TokenBytes = |byte| byte.is_ascii_alphanumeric();
const HEX_DIGIT: TokenBytes = |byte| byte.is_ascii_hexdigit();

/// Forms, sorted by the first byte of their beginnings, which all beginnings of one form share.
const SHAPES: [TokenShape; 96] = [
    ("A3-", "1password-key", DASHED_UPPER, 30, 40),
    ("A3T", "aws-access-key", UPPER_OR_DIGIT, 17, 17),
    ("ABIA ACCA AKIA ASIA", "aws-access-key", UPPER_OR_DIGIT, 16, 16),
    ("ABSK", "aws-bedrock-key", BASE64, 109, MANY),
    ("AGE-SECRET-KEY-1", "age-secret-key", UPPER_OR_DIGIT, 58, 58),
    ("AIza", "google-key", dashed_word, 35, 35),
    ("AKCp", "artifactory-key", ALPHANUMERIC, 69, 69),
    ("AQVN", "yandex-key", dashed_word, 35, 38),
    ("ATATT3", "atlassian-token", BASE64, 180, 255),
    ("AccountKey=", "azure-storage-key", BASE64, 88, 88),
    ("CLOJARS_", "clojars-token", ALPHANUMERIC, 60, 60),
    ("EZAK", "easypost-key", ALPHANUMERIC, 54, 54),
    ("FLWPUBK_TEST- FLWSECK-", "flutterwave-key", ALPHANUMERIC, 32, 34),
    ("FLWSECK_TEST-", "flutterwave-key", ALPHANUMERIC, 12, 34),
    ("GOCSPX-", "google-oauth-secret", dashed_word, 28, 28),
    ("GR1348941", "gitlab-token", dashed_word, 20, 60),
    ("HRKU-AA", "heroku-key", dashed_word, 58, 58),
    ("LTAI", "alibaba-key", ALPHANUMERIC, 20, 20),
    ("NRAK-", "newrelic-key", ALPHANUMERIC, 27, 27),
    ("NRII-", "newrelic-key", dashed_word, 32, 32),
    ("PMAK-", "postman-key", dashed_word, 59, 59),
    ("SG.", "sendgrid-key", DOTTED_WORD, 60, 80),
    ("api_org_", "huggingface-token", ALPHANUMERIC, 34, 34),
    ("atlasv1.", "terraform-token", dashed_word, 60, 70),
    ("bkua_", "buildkite-token", ALPHANUMERIC, 40, 40),
    ("cmVmd", "artifactory-token", ALPHANUMERIC, 59, 59),
    ("csk-", "cerebras-key", ALPHANUMERIC, 40, 60),
    ("dapi", "databricks-token", HEX_DIGIT, 32, 32),
    ("dckr_pat_", "docker-token", dashed_word, 27, 32),
    ("dnkey-", "defined-networking-token", BASE64, 79, 79),
    ("doo_v1_ dop_v1_ dor_v1_", "digitalocean-token", HEX_DIGIT, 64, 64),
    ("dp.ct.", "doppler-token", ALPHANUMERIC, 40, 44),
    ("dp.pt.", "doppler-token", ALPHANUMERIC, 43, 43),
    ("dp.st.", "doppler-token", DOTTED_WORD, 40, 80),
    ("dt0c01.", "dynatrace-token", DOTTED_WORD, 89, 89),
    ("duffel_live_", "duffel-token", BASE64, 43, 43),
    ("fig_pat_", "figma-token", dashed_word, 40, 60),
    ("figd_", "figma-token", dashed_word, 38, 60),
    ("fio-u-", "frameio-token", BASE64, 64, 64),
    ("fm1r_ fm2_", "flyio-token", BASE64, 100, MANY),
    ("fo1_", "flyio-token", dashed_word, 43, 43),
    ("gho_ ghp_ ghr_ ghs_ ghu_", "github-token", word_byte, 36, 255),
    ("github_pat_", "github-token", word_byte, 60, 255),
    ("glagent-", "gitlab-token", dashed_word, 50, 255),
    ("glc_", "grafana-token", BASE64, 32, MANY),
    ("glcbt- gldt- glffct-", "gitlab-token", dashed_word, 20, 255),
    ("glft- glsoat-", "gitlab-token", dashed_word, 20, 255),
    ("glimt-", "gitlab-token", dashed_word, 25, 255),
    ("gloas-", "gitlab-token", dashed_word, 64, 255),
    ("glpat- glrt-", "gitlab-token", DOTTED_WORD, 20, 255),
    ("glptt-", "gitlab-token", dashed_word, 40, 255),
    ("glsa_", "grafana-token", word_byte, 41, 41),
    ("gsk_", "groq-key", ALPHANUMERIC, 52, 52),
    ("hf_", "huggingface-token", word_byte, 34, 40),
    ("hooks.slack.com/services/", "slack-webhook", ADDRESS, 40, 60),
    ("hvb.", "vault-token", dashed_word, 138, 300),
    ("hvs.", "vault-token", dashed_word, 24, 255),
    ("ico-", "infracost-token", ALPHANUMERIC, 32, 32),
    ("lin_api_", "linear-key", ALPHANUMERIC, 40, 40),
    ("lsv2_pt_ lsv2_sk_", "langsmith-key", word_byte, 43, 43),
    ("nfp_", "netlify-token", ALPHANUMERIC, 36, 40),
    ("npm_", "npm-token", word_byte, 36, 36),
    ("ntn_", "notion-token", ALPHANUMERIC, 46, 46),
    ("ops_eyJ", "1password-token", BASE64, 250, MANY),
    ("p8e-", "adobe-secret", ALPHANUMERIC, 32, 32),
    ("pnu_", "prefect-token", ALPHANUMERIC, 36, 36),
    ("pplx-", "perplexity-key", ALPHANUMERIC, 48, 48),
    ("pscale_oauth_", "planetscale-token", DOTTED_WORD, 32, 64),
    ("pscale_pw_ pscale_tkn_", "planetscale-token", DOTTED_WORD, 32, 64),
    ("pul-", "pulumi-token", HEX_DIGIT, 40, 40),
    ("pypi-AgE", "pypi-token", dashed_word, 50, MANY),
    ("r8_", "replicate-token", dashed_word, 37, 40),
    ("rdme_", "readme-token", ALPHANUMERIC, 70, 70),
    ("rk_live_", "stripe-key", word_byte, 16, 255),
    ("rubygems_", "rubygems-key", HEX_DIGIT, 48, 48),
    ("s-s4t2af- s-s4t2ud-", "intra42-secret", HEX_DIGIT, 64, 64),
    ("sbp_", "supabase-token", HEX_DIGIT, 40, 40),
    ("secret_", "notion-token", ALPHANUMERIC, 43, 43),
    ("sha256~", "openshift-token", dashed_word, 43, 43),
    ("shippo_live_", "shippo-token", HEX_DIGIT, 40, 40),
    ("shpat_ shpca_ shppa_ shpss_", "shopify-token", HEX_DIGIT, 32, 32),
    ("sk-", "openai-key", word_byte, 40, 255),
    ("sk-ant-", "anthropic-key", dashed_word, 32, 255),
    ("sk-or-v1-", "openrouter-key", HEX_DIGIT, 64, 64),
    ("sk-proj- sk-svcacct-", "openai-key", dashed_word, 32, 255),
    ("sk_live_", "stripe-key", word_byte, 16, 255),
    ("sntrys_eyJ", "sentry-token", BASE64, 100, MANY),
    ("sntryu_", "sentry-token", HEX_DIGIT, 64, 64),
    ("sq0atp-", "square-token", dashed_word, 22, 60),
    ("sq0csp-", "square-token", dashed_word, 43, 43),
    ("tk-us-", "scalingo-token", dashed_word, 48, 48),
    ("tskey-", "tailscale-key", dashed_word, 20, 80),
    ("xai-", "xai-key", ALPHANUMERIC, 70, 90),
    ("xapp-1- xoxa- xoxb- xoxe-", "slack-token", dashed_word, 20, MANY),
    ("xoxp- xoxr- xoxs-", "slack-token", dashed_word, 20, MANY),
    ("xkeysib-", "sendinblue-token", dashed_word, 81, 81),
];

/// Number of characters from which a token has a digit: of so many random characters one is a digit, and words joined by dashes
/// have none.
const LEAST_WITH_DIGIT: usize = 20;

/// Beginnings without a digit that so few characters may follow that none of them must be a digit.
const SHORT_STARTS: &str = "ABIA;ACCA;AKIA;ASIA;FLWSECK_TEST-;rk_live_;sk_live_";

/// Returns true if a text begins as a token that may be without any digit.
pub(in crate::findings) fn is_short_start(text: &[u8]) -> bool {
    begins_as(SHORT_STARTS, text)
}

/// Lists the beginnings of all tokens.
#[cfg(test)]
pub(in crate::findings) fn list_starts() -> impl Iterator<Item = &'static str> {
    SHAPES.iter().flat_map(|(starts, ..)| starts.split(' '))
}

/// Returns the kinds of all tokens in a text, each once, in the order of the table. `is_real` returns false for the
/// text of a placeholder.
pub(super) fn prefix_kinds(text: &str, is_real: fn(&str) -> bool) -> impl Iterator<Item = &'static str> {
    let bytes = text.as_bytes();
    let mut found = [false; SHAPES.len()];
    let mut before = None;
    for (at, byte) in bytes.iter().enumerate() {
        // A token begins where a word begins. Directly after the name of a digest, the letters are random.
        if before.replace(*byte).is_some_and(dashed_word) || is_digest(bytes.get(..at).unwrap_or_default()) {
            continue;
        }
        // The table is sorted by first byte, so that a position is compared with the few forms that can begin there.
        let first = |shape: &TokenShape| shape.0.bytes().next();
        let from = SHAPES.partition_point(|shape| first(shape) < Some(*byte));
        let alike = SHAPES.iter().zip(&mut found).skip(from);
        for (shape, found) in alike.take_while(|(shape, _)| first(shape) == Some(*byte)) {
            *found |= matches_at(text, at, shape, is_real);
        }
    }
    let shapes = SHAPES.iter().zip(found).filter(|(_, found)| *found);
    shapes.map(|((_, kind, ..), _)| *kind)
}

/// Returns true after `sha256=`, `sha512:` and the like: a digest follows, whose letters are random.
fn is_digest(before: &[u8]) -> bool {
    const DIGESTS: [&[u8]; 4] = [b"sha1", b"sha256", b"sha384", b"sha512"];
    before
        .strip_suffix(b"=")
        .or_else(|| before.strip_suffix(b":"))
        .is_some_and(|name| DIGESTS.iter().any(|digest| name.ends_with(digest)))
}

/// Returns true if the text has this form from here on.
fn matches_at(text: &str, at: usize, shape: &TokenShape, is_real: fn(&str) -> bool) -> bool {
    let (starts, _, allowed, least, most) = *shape;
    let here = text.get(at..).unwrap_or_default();
    let Some(rest) = starts.split(' ').find_map(|start| here.strip_prefix(start)) else {
        return false;
    };
    // Counted no further than needed: the next beginning may be a few characters on, and a line full of beginnings
    // would take quadratic time.
    let enough = if most == MANY { least } else { most + 1 };
    let characters = rest.bytes().take(enough);
    let length = characters.take_while(|byte| allowed(*byte)).count();
    let value = rest.get(..length).unwrap_or_default();
    let random = least < LEAST_WITH_DIGIT || value.bytes().any(|byte| byte.is_ascii_digit());
    (least..=most).contains(&length) && random && is_real(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns each beginning with its form.
    fn each_start() -> impl Iterator<Item = (&'static str, TokenShape)> {
        SHAPES
            .into_iter()
            .flat_map(|shape| shape.0.split(' ').map(move |start| (start, shape)))
    }

    #[test]
    fn the_table_is_in_order_and_asks_for_enough() {
        let first = |start: &str| start.bytes().next();
        assert!(SHAPES.is_sorted_by_key(|(starts, ..)| first(starts)));
        for (start, (starts, _, _, least, most)) in each_start() {
            assert_eq!(first(start), first(starts), "{starts}");
            assert!(least <= most, "{}", start);
            assert!(
                start.len() + least >= 20,
                "{}: too short to be told from a word",
                start
            );
        }
    }

    #[test]
    fn the_beginnings_without_a_digit_are_listed() {
        let without = each_start().filter(|(start, (_, _, _, least, _))| {
            *least < LEAST_WITH_DIGIT && !start.bytes().any(|byte| byte.is_ascii_digit())
        });
        let without: Vec<&str> = without.map(|(start, _)| start).collect();
        assert_eq!(without, SHORT_STARTS.split(';').collect::<Vec<_>>());
    }

    #[test]
    fn every_form_is_found_where_it_stands_free() {
        for (start, (_, kind, allowed, least, _)) in each_start() {
            let letters = b"7Ac9Ef2b8D4e6a1F3C5d0B";
            let upper: Vec<u8> = letters.to_ascii_uppercase();
            let from = if allowed(b'a') { letters.as_slice() } else { &upper };
            let value: String = from
                .iter()
                .cycle()
                .take(least)
                .map(|byte| char::from(*byte))
                .collect();
            let token = format!("{}{value}", start);
            let kinds = |text: String| prefix_kinds(&text, |_| true).collect::<Vec<_>>();
            let free = kinds(format!("x = \"{token}\""));
            let digest = kinds(format!("f.py,sha256={token}"));
            assert!(!digest.contains(&kind), "{token}");
            assert!(free.contains(&kind), "{token}: {free:?}");
            assert!(!kinds(format!("x{token}")).contains(&kind), "{token}");
        }
    }
}
