//! Forms of tokens that show their vendor at the beginning.
//!
//! Owns: the table, and matching a line against it. The beginnings, characters and lengths are those that the vendors
//! document, or that the rules of gitleaks 8 list. Never: keeps the text that it found.

/// Form of a token that begins with fixed text.
struct TokenShape {
    start: &'static str,
    kind: &'static str,
    /// Characters that may follow the beginning.
    allowed: fn(u8) -> bool,
    /// Minimum number of characters that follow.
    least: usize,
    /// Maximum number of them; [`MANY`] for no limit.
    most: usize,
}

/// No limit.
const MANY: usize = usize::MAX;

fn word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

pub(in crate::findings) fn dashed_word(byte: u8) -> bool {
    word_byte(byte) || byte == b'-'
}

fn dotted_word(byte: u8) -> bool {
    dashed_word(byte) || byte == b'.'
}

fn base64_byte(byte: u8) -> bool {
    dashed_word(byte) || matches!(byte, b'=' | b'+' | b'/')
}

fn upper_or_digit(byte: u8) -> bool {
    byte.is_ascii_uppercase() || byte.is_ascii_digit()
}

fn alphanumeric(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}

fn hex_digit(byte: u8) -> bool {
    byte.is_ascii_hexdigit()
}

const fn prefix(
    start: &'static str,
    kind: &'static str,
    allowed: fn(u8) -> bool,
    least: usize,
    most: usize,
) -> TokenShape {
    TokenShape {
        start,
        kind,
        allowed,
        least,
        most,
    }
}

/// Forms, sorted by the first byte of their beginnings.
const SHAPES: [TokenShape; 123] = [
    prefix(
        "A3-",
        "1password-key",
        |byte| upper_or_digit(byte) || byte == b'-',
        30,
        40,
    ),
    prefix("A3T", "aws-access-key", upper_or_digit, 17, 17),
    prefix("ABIA", "aws-access-key", upper_or_digit, 16, 16),
    prefix("ABSK", "aws-bedrock-key", base64_byte, 109, MANY),
    prefix("ACCA", "aws-access-key", upper_or_digit, 16, 16),
    prefix("AGE-SECRET-KEY-1", "age-secret-key", upper_or_digit, 58, 58),
    prefix("AIza", "google-key", dashed_word, 35, 35),
    prefix("AKCp", "artifactory-key", alphanumeric, 69, 69),
    prefix("AKIA", "aws-access-key", upper_or_digit, 16, 16),
    prefix("AQVN", "yandex-key", dashed_word, 35, 38),
    prefix("ASIA", "aws-access-key", upper_or_digit, 16, 16),
    prefix("ATATT3", "atlassian-token", base64_byte, 180, 255),
    prefix("AccountKey=", "azure-storage-key", base64_byte, 88, 88),
    prefix("CLOJARS_", "clojars-token", alphanumeric, 60, 60),
    prefix("EZAK", "easypost-key", alphanumeric, 54, 54),
    prefix("FLWPUBK_TEST-", "flutterwave-key", alphanumeric, 32, 34),
    prefix("FLWSECK-", "flutterwave-key", alphanumeric, 32, 34),
    prefix("FLWSECK_TEST-", "flutterwave-key", alphanumeric, 12, 34),
    prefix("GOCSPX-", "google-oauth-secret", dashed_word, 28, 28),
    prefix("GR1348941", "gitlab-token", dashed_word, 20, 60),
    prefix("HRKU-AA", "heroku-key", dashed_word, 58, 58),
    prefix("LTAI", "alibaba-key", alphanumeric, 20, 20),
    prefix("NRAK-", "newrelic-key", alphanumeric, 27, 27),
    prefix("NRII-", "newrelic-key", dashed_word, 32, 32),
    prefix("PMAK-", "postman-key", dashed_word, 59, 59),
    prefix("SG.", "sendgrid-key", dotted_word, 60, 80),
    prefix("api_org_", "huggingface-token", alphanumeric, 34, 34),
    prefix("atlasv1.", "terraform-token", dashed_word, 60, 70),
    prefix("bkua_", "buildkite-token", alphanumeric, 40, 40),
    prefix("cmVmd", "artifactory-token", alphanumeric, 59, 59),
    prefix("csk-", "cerebras-key", alphanumeric, 40, 60),
    prefix("dapi", "databricks-token", hex_digit, 32, 32),
    prefix("dckr_pat_", "docker-token", dashed_word, 27, 32),
    prefix("dnkey-", "defined-networking-token", base64_byte, 79, 79),
    prefix("doo_v1_", "digitalocean-token", hex_digit, 64, 64),
    prefix("dop_v1_", "digitalocean-token", hex_digit, 64, 64),
    prefix("dor_v1_", "digitalocean-token", hex_digit, 64, 64),
    prefix("dp.ct.", "doppler-token", alphanumeric, 40, 44),
    prefix("dp.pt.", "doppler-token", alphanumeric, 43, 43),
    prefix("dp.st.", "doppler-token", dotted_word, 40, 80),
    prefix("dt0c01.", "dynatrace-token", dotted_word, 89, 89),
    prefix("duffel_live_", "duffel-token", base64_byte, 43, 43),
    prefix("fig_pat_", "figma-token", dashed_word, 40, 60),
    prefix("figd_", "figma-token", dashed_word, 38, 60),
    prefix("fio-u-", "frameio-token", base64_byte, 64, 64),
    prefix("fm1r_", "flyio-token", base64_byte, 100, MANY),
    prefix("fm2_", "flyio-token", base64_byte, 100, MANY),
    prefix("fo1_", "flyio-token", dashed_word, 43, 43),
    prefix("gho_", "github-token", word_byte, 36, 255),
    prefix("ghp_", "github-token", word_byte, 36, 255),
    prefix("ghr_", "github-token", word_byte, 36, 255),
    prefix("ghs_", "github-token", word_byte, 36, 255),
    prefix("ghu_", "github-token", word_byte, 36, 255),
    prefix("github_pat_", "github-token", word_byte, 60, 255),
    prefix("glagent-", "gitlab-token", dashed_word, 50, 255),
    prefix("glc_", "grafana-token", base64_byte, 32, MANY),
    prefix("glcbt-", "gitlab-token", dashed_word, 20, 255),
    prefix("gldt-", "gitlab-token", dashed_word, 20, 255),
    prefix("glffct-", "gitlab-token", dashed_word, 20, 255),
    prefix("glft-", "gitlab-token", dashed_word, 20, 255),
    prefix("glimt-", "gitlab-token", dashed_word, 25, 255),
    prefix("gloas-", "gitlab-token", dashed_word, 64, 255),
    prefix("glpat-", "gitlab-token", dotted_word, 20, 255),
    prefix("glptt-", "gitlab-token", dashed_word, 40, 255),
    prefix("glrt-", "gitlab-token", dotted_word, 20, 255),
    prefix("glsa_", "grafana-token", word_byte, 41, 41),
    prefix("glsoat-", "gitlab-token", dashed_word, 20, 255),
    prefix("gsk_", "groq-key", alphanumeric, 52, 52),
    prefix("hf_", "huggingface-token", word_byte, 34, 40),
    prefix(
        "hooks.slack.com/services/",
        "slack-webhook",
        |byte| word_byte(byte) || byte == b'/',
        40,
        60,
    ),
    prefix("hvb.", "vault-token", dashed_word, 138, 300),
    prefix("hvs.", "vault-token", dashed_word, 24, 255),
    prefix("ico-", "infracost-token", alphanumeric, 32, 32),
    prefix("lin_api_", "linear-key", alphanumeric, 40, 40),
    prefix("lsv2_pt_", "langsmith-key", word_byte, 43, 43),
    prefix("lsv2_sk_", "langsmith-key", word_byte, 43, 43),
    prefix("nfp_", "netlify-token", alphanumeric, 36, 40),
    prefix("npm_", "npm-token", word_byte, 36, 36),
    prefix("ntn_", "notion-token", alphanumeric, 46, 46),
    prefix("ops_eyJ", "1password-token", base64_byte, 250, MANY),
    prefix("p8e-", "adobe-secret", alphanumeric, 32, 32),
    prefix("pnu_", "prefect-token", alphanumeric, 36, 36),
    prefix("pplx-", "perplexity-key", alphanumeric, 48, 48),
    prefix("pscale_oauth_", "planetscale-token", dotted_word, 32, 64),
    prefix("pscale_pw_", "planetscale-token", dotted_word, 32, 64),
    prefix("pscale_tkn_", "planetscale-token", dotted_word, 32, 64),
    prefix("pul-", "pulumi-token", hex_digit, 40, 40),
    prefix("pypi-AgE", "pypi-token", dashed_word, 50, MANY),
    prefix("r8_", "replicate-token", dashed_word, 37, 40),
    prefix("rdme_", "readme-token", alphanumeric, 70, 70),
    prefix("rk_live_", "stripe-key", word_byte, 16, 255),
    prefix("rubygems_", "rubygems-key", hex_digit, 48, 48),
    prefix("s-s4t2af-", "intra42-secret", hex_digit, 64, 64),
    prefix("s-s4t2ud-", "intra42-secret", hex_digit, 64, 64),
    prefix("sbp_", "supabase-token", hex_digit, 40, 40),
    prefix("secret_", "notion-token", alphanumeric, 43, 43),
    prefix("sha256~", "openshift-token", dashed_word, 43, 43),
    prefix("shippo_live_", "shippo-token", hex_digit, 40, 40),
    prefix("shpat_", "shopify-token", hex_digit, 32, 32),
    prefix("shpca_", "shopify-token", hex_digit, 32, 32),
    prefix("shppa_", "shopify-token", hex_digit, 32, 32),
    prefix("shpss_", "shopify-token", hex_digit, 32, 32),
    prefix("sk-", "openai-key", word_byte, 40, 255),
    prefix("sk-ant-", "anthropic-key", dashed_word, 32, 255),
    prefix("sk-or-v1-", "openrouter-key", hex_digit, 64, 64),
    prefix("sk-proj-", "openai-key", dashed_word, 32, 255),
    prefix("sk-svcacct-", "openai-key", dashed_word, 32, 255),
    prefix("sk_live_", "stripe-key", word_byte, 16, 255),
    prefix("sntrys_eyJ", "sentry-token", base64_byte, 100, MANY),
    prefix("sntryu_", "sentry-token", hex_digit, 64, 64),
    prefix("sq0atp-", "square-token", dashed_word, 22, 60),
    prefix("sq0csp-", "square-token", dashed_word, 43, 43),
    prefix("tk-us-", "scalingo-token", dashed_word, 48, 48),
    prefix("tskey-", "tailscale-key", dashed_word, 20, 80),
    prefix("xai-", "xai-key", alphanumeric, 70, 90),
    prefix("xapp-1-", "slack-token", dashed_word, 20, MANY),
    prefix("xkeysib-", "sendinblue-token", dashed_word, 81, 81),
    prefix("xoxa-", "slack-token", dashed_word, 20, MANY),
    prefix("xoxb-", "slack-token", dashed_word, 20, MANY),
    prefix("xoxe-", "slack-token", dashed_word, 20, MANY),
    prefix("xoxp-", "slack-token", dashed_word, 20, MANY),
    prefix("xoxr-", "slack-token", dashed_word, 20, MANY),
    prefix("xoxs-", "slack-token", dashed_word, 20, MANY),
];

/// Number of characters from which a token has a digit: of so many random characters one is a digit, and words joined by dashes
/// have none.
const LEAST_WITH_DIGIT: usize = 20;

/// Beginnings without a digit that so few characters may follow that none of them must be a digit.
const SHORT_STARTS: [&[u8]; 7] = [
    b"ABIA",
    b"ACCA",
    b"AKIA",
    b"ASIA",
    b"FLWSECK_TEST-",
    b"rk_live_",
    b"sk_live_",
];

/// Returns true if a text begins as a token that may be without any digit.
pub(in crate::findings) fn is_short_start(text: &[u8]) -> bool {
    SHORT_STARTS.iter().any(|start| text.starts_with(start))
}

/// Lists the beginnings of all tokens.
#[cfg(test)]
pub(in crate::findings) fn list_starts() -> impl Iterator<Item = &'static str> {
    SHAPES.iter().map(|shape| shape.start)
}

/// Returns the kinds of all tokens in a text, each once, in the order of the table. `is_real` returns false for the
/// text of a placeholder.
pub(super) fn prefix_kinds(text: &str, is_real: fn(&str) -> bool) -> Vec<&'static str> {
    let bytes = text.as_bytes();
    let mut found = [false; SHAPES.len()];
    let mut before = None;
    for (at, byte) in bytes.iter().enumerate() {
        // A token begins where a word begins. Directly after the name of a digest, the letters are random.
        if before.replace(*byte).is_some_and(dashed_word) || is_digest(bytes.get(..at).unwrap_or_default()) {
            continue;
        }
        // The table is sorted by first byte, so that a position is compared with the few forms that can begin there.
        let from = SHAPES.partition_point(|shape| shape.start.as_bytes().first() < Some(byte));
        let alike = SHAPES.iter().zip(&mut found).skip(from);
        for (shape, found) in alike.take_while(|(shape, _)| shape.start.as_bytes().first() == Some(byte)) {
            *found |= matches_at(text, at, shape, is_real);
        }
    }
    let mut kinds: Vec<&'static str> = Vec::new();
    for (shape, found) in SHAPES.iter().zip(found) {
        if found && !kinds.contains(&shape.kind) {
            kinds.push(shape.kind);
        }
    }
    kinds
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
    let Some(rest) = text.get(at..).and_then(|rest| rest.strip_prefix(shape.start)) else {
        return false;
    };
    // Counted no further than needed: the next beginning may be a few characters on, and a line full of beginnings
    // would take quadratic time.
    let enough = if shape.most == MANY {
        shape.least
    } else {
        shape.most + 1
    };
    let length = rest
        .bytes()
        .take(enough)
        .take_while(|byte| (shape.allowed)(*byte))
        .count();
    let value = rest.get(..length).unwrap_or_default();
    let random = shape.least < LEAST_WITH_DIGIT || value.bytes().any(|byte| byte.is_ascii_digit());
    (shape.least..=shape.most).contains(&length) && random && is_real(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_order_and_asks_for_enough() {
        assert!(SHAPES.is_sorted_by(|a, b| a.start.as_bytes().first() <= b.start.as_bytes().first()));
        for shape in &SHAPES {
            assert!(shape.least <= shape.most, "{}", shape.start);
            assert!(
                shape.start.len() + shape.least >= 20,
                "{}: too short to be told from a word",
                shape.start
            );
        }
    }

    #[test]
    fn the_beginnings_without_a_digit_are_listed() {
        let without = SHAPES.iter().filter(|shape| {
            shape.least < LEAST_WITH_DIGIT && !shape.start.bytes().any(|byte| byte.is_ascii_digit())
        });
        let without: Vec<&[u8]> = without.map(|shape| shape.start.as_bytes()).collect();
        assert_eq!(without, SHORT_STARTS);
    }

    #[test]
    fn every_form_is_found_where_it_stands_free() {
        for shape in &SHAPES {
            let letters = b"7Ac9Ef2b8D4e6a1F3C5d0B";
            let upper: Vec<u8> = letters.to_ascii_uppercase();
            let from = if (shape.allowed)(b'a') {
                letters.as_slice()
            } else {
                &upper
            };
            let value: String = from
                .iter()
                .cycle()
                .take(shape.least)
                .map(|byte| char::from(*byte))
                .collect();
            let token = format!("{}{value}", shape.start);
            let free = prefix_kinds(&format!("x = \"{token}\""), |_| true);
            let digest = prefix_kinds(&format!("f.py,sha256={token}"), |_| true);
            assert!(!digest.contains(&shape.kind), "{token}");
            assert!(free.contains(&shape.kind), "{token}: {free:?}");
            assert!(
                !prefix_kinds(&format!("x{token}"), |_| true).contains(&shape.kind),
                "{token}"
            );
        }
    }
}
