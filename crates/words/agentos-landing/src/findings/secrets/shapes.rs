//! The forms of tokens that say by their beginning whose they are.
//!
//! Owns: the table, and finding what of a line has one of its forms. The beginnings, characters and lengths are those
//! that the vendors document, or that the rules of gitleaks 8 list. Never: keeps what it found.

/// A token that begins with fixed text.
struct Shape {
    start: &'static str,
    kind: &'static str,
    /// Characters that may follow.
    allowed: fn(u8) -> bool,
    /// How many must follow at least.
    least: usize,
    /// How many may at most; [`MANY`] where there is no end.
    most: usize,
}

/// Any number.
const MANY: usize = usize::MAX;

fn word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn dashed(byte: u8) -> bool {
    word(byte) || byte == b'-'
}

fn dotted(byte: u8) -> bool {
    dashed(byte) || byte == b'.'
}

fn padded(byte: u8) -> bool {
    dashed(byte) || matches!(byte, b'=' | b'+' | b'/')
}

fn upper(byte: u8) -> bool {
    byte.is_ascii_uppercase() || byte.is_ascii_digit()
}

fn letters(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}

fn hex(byte: u8) -> bool {
    byte.is_ascii_hexdigit()
}

const fn shape(
    start: &'static str,
    kind: &'static str,
    allowed: fn(u8) -> bool,
    least: usize,
    most: usize,
) -> Shape {
    Shape {
        start,
        kind,
        allowed,
        least,
        most,
    }
}

/// In the order of their beginnings.
const SHAPES: [Shape; 123] = [
    shape("A3-", "1password-key", |byte| upper(byte) || byte == b'-', 30, 40),
    shape("A3T", "aws-access-key", upper, 17, 17),
    shape("ABIA", "aws-access-key", upper, 16, 16),
    shape("ABSK", "aws-bedrock-key", padded, 109, MANY),
    shape("ACCA", "aws-access-key", upper, 16, 16),
    shape("AGE-SECRET-KEY-1", "age-secret-key", upper, 58, 58),
    shape("AIza", "google-key", dashed, 35, 35),
    shape("AKCp", "artifactory-key", letters, 69, 69),
    shape("AKIA", "aws-access-key", upper, 16, 16),
    shape("AQVN", "yandex-key", dashed, 35, 38),
    shape("ASIA", "aws-access-key", upper, 16, 16),
    shape("ATATT3", "atlassian-token", padded, 180, 255),
    shape("AccountKey=", "azure-storage-key", padded, 88, 88),
    shape("CLOJARS_", "clojars-token", letters, 60, 60),
    shape("EZAK", "easypost-key", letters, 54, 54),
    shape("FLWPUBK_TEST-", "flutterwave-key", letters, 32, 34),
    shape("FLWSECK-", "flutterwave-key", letters, 32, 34),
    shape("FLWSECK_TEST-", "flutterwave-key", letters, 12, 34),
    shape("GOCSPX-", "google-oauth-secret", dashed, 28, 28),
    shape("GR1348941", "gitlab-token", dashed, 20, 60),
    shape("HRKU-AA", "heroku-key", dashed, 58, 58),
    shape("LTAI", "alibaba-key", letters, 20, 20),
    shape("NRAK-", "newrelic-key", letters, 27, 27),
    shape("NRII-", "newrelic-key", dashed, 32, 32),
    shape("PMAK-", "postman-key", dashed, 59, 59),
    shape("SG.", "sendgrid-key", dotted, 60, 80),
    shape("api_org_", "huggingface-token", letters, 34, 34),
    shape("atlasv1.", "terraform-token", dashed, 60, 70),
    shape("bkua_", "buildkite-token", letters, 40, 40),
    shape("cmVmd", "artifactory-token", letters, 59, 59),
    shape("csk-", "cerebras-key", letters, 40, 60),
    shape("dapi", "databricks-token", hex, 32, 32),
    shape("dckr_pat_", "docker-token", dashed, 27, 32),
    shape("dnkey-", "defined-networking-token", padded, 79, 79),
    shape("doo_v1_", "digitalocean-token", hex, 64, 64),
    shape("dop_v1_", "digitalocean-token", hex, 64, 64),
    shape("dor_v1_", "digitalocean-token", hex, 64, 64),
    shape("dp.ct.", "doppler-token", letters, 40, 44),
    shape("dp.pt.", "doppler-token", letters, 43, 43),
    shape("dp.st.", "doppler-token", dotted, 40, 80),
    shape("dt0c01.", "dynatrace-token", dotted, 89, 89),
    shape("duffel_live_", "duffel-token", padded, 43, 43),
    shape("fig_pat_", "figma-token", dashed, 40, 60),
    shape("figd_", "figma-token", dashed, 38, 60),
    shape("fio-u-", "frameio-token", padded, 64, 64),
    shape("fm1r_", "flyio-token", padded, 100, MANY),
    shape("fm2_", "flyio-token", padded, 100, MANY),
    shape("fo1_", "flyio-token", dashed, 43, 43),
    shape("gho_", "github-token", word, 36, 255),
    shape("ghp_", "github-token", word, 36, 255),
    shape("ghr_", "github-token", word, 36, 255),
    shape("ghs_", "github-token", word, 36, 255),
    shape("ghu_", "github-token", word, 36, 255),
    shape("github_pat_", "github-token", word, 60, 255),
    shape("glagent-", "gitlab-token", dashed, 50, 255),
    shape("glc_", "grafana-token", padded, 32, MANY),
    shape("glcbt-", "gitlab-token", dashed, 20, 255),
    shape("gldt-", "gitlab-token", dashed, 20, 255),
    shape("glffct-", "gitlab-token", dashed, 20, 255),
    shape("glft-", "gitlab-token", dashed, 20, 255),
    shape("glimt-", "gitlab-token", dashed, 25, 255),
    shape("gloas-", "gitlab-token", dashed, 64, 255),
    shape("glpat-", "gitlab-token", dotted, 20, 255),
    shape("glptt-", "gitlab-token", dashed, 40, 255),
    shape("glrt-", "gitlab-token", dotted, 20, 255),
    shape("glsa_", "grafana-token", word, 41, 41),
    shape("glsoat-", "gitlab-token", dashed, 20, 255),
    shape("gsk_", "groq-key", letters, 52, 52),
    shape("hf_", "huggingface-token", word, 34, 40),
    shape(
        "hooks.slack.com/services/",
        "slack-webhook",
        |byte| word(byte) || byte == b'/',
        40,
        60,
    ),
    shape("hvb.", "vault-token", dashed, 138, 300),
    shape("hvs.", "vault-token", dashed, 24, 255),
    shape("ico-", "infracost-token", letters, 32, 32),
    shape("lin_api_", "linear-key", letters, 40, 40),
    shape("lsv2_pt_", "langsmith-key", word, 43, 43),
    shape("lsv2_sk_", "langsmith-key", word, 43, 43),
    shape("nfp_", "netlify-token", letters, 36, 40),
    shape("npm_", "npm-token", word, 36, 36),
    shape("ntn_", "notion-token", letters, 46, 46),
    shape("ops_eyJ", "1password-token", padded, 250, MANY),
    shape("p8e-", "adobe-secret", letters, 32, 32),
    shape("pnu_", "prefect-token", letters, 36, 36),
    shape("pplx-", "perplexity-key", letters, 48, 48),
    shape("pscale_oauth_", "planetscale-token", dotted, 32, 64),
    shape("pscale_pw_", "planetscale-token", dotted, 32, 64),
    shape("pscale_tkn_", "planetscale-token", dotted, 32, 64),
    shape("pul-", "pulumi-token", hex, 40, 40),
    shape("pypi-AgE", "pypi-token", dashed, 50, MANY),
    shape("r8_", "replicate-token", dashed, 37, 40),
    shape("rdme_", "readme-token", letters, 70, 70),
    shape("rk_live_", "stripe-key", word, 16, 255),
    shape("rubygems_", "rubygems-key", hex, 48, 48),
    shape("s-s4t2af-", "intra42-secret", hex, 64, 64),
    shape("s-s4t2ud-", "intra42-secret", hex, 64, 64),
    shape("sbp_", "supabase-token", hex, 40, 40),
    shape("secret_", "notion-token", letters, 43, 43),
    shape("sha256~", "openshift-token", dashed, 43, 43),
    shape("shippo_live_", "shippo-token", hex, 40, 40),
    shape("shpat_", "shopify-token", hex, 32, 32),
    shape("shpca_", "shopify-token", hex, 32, 32),
    shape("shppa_", "shopify-token", hex, 32, 32),
    shape("shpss_", "shopify-token", hex, 32, 32),
    shape("sk-", "openai-key", word, 40, 255),
    shape("sk-ant-", "anthropic-key", dashed, 32, 255),
    shape("sk-or-v1-", "openrouter-key", hex, 64, 64),
    shape("sk-proj-", "openai-key", dashed, 32, 255),
    shape("sk-svcacct-", "openai-key", dashed, 32, 255),
    shape("sk_live_", "stripe-key", word, 16, 255),
    shape("sntrys_eyJ", "sentry-token", padded, 100, MANY),
    shape("sntryu_", "sentry-token", hex, 64, 64),
    shape("sq0atp-", "square-token", dashed, 22, 60),
    shape("sq0csp-", "square-token", dashed, 43, 43),
    shape("tk-us-", "scalingo-token", dashed, 48, 48),
    shape("tskey-", "tailscale-key", dashed, 20, 80),
    shape("xai-", "xai-key", letters, 70, 90),
    shape("xapp-1-", "slack-token", dashed, 20, MANY),
    shape("xkeysib-", "sendinblue-token", dashed, 81, 81),
    shape("xoxa-", "slack-token", dashed, 20, MANY),
    shape("xoxb-", "slack-token", dashed, 20, MANY),
    shape("xoxe-", "slack-token", dashed, 20, MANY),
    shape("xoxp-", "slack-token", dashed, 20, MANY),
    shape("xoxr-", "slack-token", dashed, 20, MANY),
    shape("xoxs-", "slack-token", dashed, 20, MANY),
];

/// The kinds of all tokens of a text, each once, in the order of the table. `is_real` says of what follows a
/// beginning whether it may be one, and no placeholder.
pub(super) fn kinds(text: &str, is_real: fn(&str) -> bool) -> Vec<&'static str> {
    let bytes = text.as_bytes();
    let mut found = [false; SHAPES.len()];
    let mut before = None;
    for (at, byte) in bytes.iter().enumerate() {
        // A beginning in the middle of a word is none, and none directly behind the name of a digest.
        if before.replace(*byte).is_some_and(dashed) || is_digest(bytes.get(..at).unwrap_or_default()) {
            continue;
        }
        let from = SHAPES.partition_point(|shape| shape.start.as_bytes().first() < Some(byte));
        let alike = SHAPES.iter().zip(&mut found).skip(from);
        for (shape, found) in alike.take_while(|(shape, _)| shape.start.as_bytes().first() == Some(byte)) {
            *found |= begins(text, at, shape, is_real);
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

/// `sha256=`, `sha512:`: what follows is a digest, whose letters are of chance.
fn is_digest(before: &[u8]) -> bool {
    const DIGESTS: [&[u8]; 4] = [b"sha1", b"sha256", b"sha384", b"sha512"];
    before
        .strip_suffix(b"=")
        .or_else(|| before.strip_suffix(b":"))
        .is_some_and(|name| DIGESTS.iter().any(|digest| name.ends_with(digest)))
}

/// The text has this form from here on.
fn begins(text: &str, at: usize, shape: &Shape, is_real: fn(&str) -> bool) -> bool {
    let Some(rest) = text.get(at..).and_then(|rest| rest.strip_prefix(shape.start)) else {
        return false;
    };
    // No further than needed, since the next one may begin a few characters on.
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
    // Of so many random characters one is a digit; words joined by dashes have none.
    let random = shape.least < 20 || value.bytes().any(|byte| byte.is_ascii_digit());
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
            let free = kinds(&format!("x = \"{token}\""), |_| true);
            let digest = kinds(&format!("f.py,sha256={token}"), |_| true);
            assert!(!digest.contains(&shape.kind), "{token}");
            assert!(free.contains(&shape.kind), "{token}: {free:?}");
            assert!(
                !kinds(&format!("x{token}"), |_| true).contains(&shape.kind),
                "{token}"
            );
        }
    }
}
