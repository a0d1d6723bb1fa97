//! What is a secret among the files, and what is left of one in a text.

use agentos_testkit::repo::write_file;
use agentos_tool::Secret;

use super::*;

const KEY: &str = "sk-ant-api03-0123456789abcdef";

fn secrets(values: &[&str]) -> SecretValues {
    let values: Vec<_> = values.iter().map(|value| value.as_bytes().to_vec()).collect();
    SecretValues::new(&values)
}

fn known(look: fn(&[u8], &mut Vec<Vec<u8>>), file: &str) -> Vec<String> {
    let mut values = Vec::new();
    look(file.as_bytes(), &mut values);
    let text = |value: Vec<u8>| String::from_utf8(value).unwrap();
    values.into_iter().map(text).collect()
}

#[test]
fn a_secret_is_hidden_in_the_causes_of_an_error_too() {
    let error = ToolError {
        causes: vec![format!("it said {KEY}")],
        ..AgentError::NoProgram {
            program: KEY.to_owned(),
            install_command: None,
        }
        .into_tool_error(0)
    };
    let hidden = secrets(&[KEY]).hide_in(error);
    assert_eq!(
        hidden.message,
        "program `[redacted]` not found on the search path"
    );
    assert_eq!(hidden.causes, ["it said [redacted]"]);
}

#[test]
fn every_long_value_of_a_sign_in_file_is_a_secret() {
    let cases: [(&str, &[&str]); 5] = [
        (
            r#"{"a": {"token": "aaaaaaaaaaaaaaaaaaaa"}, "b": ["bbbbbbbbbbbbbbbb"], "type": "Bearer", "until": 1234567890}"#,
            &["aaaaaaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbb"],
        ),
        (
            r#"{"pem": "-----BEGIN\nMIIEvQIBADANBgkq\nhkiG9w0BAQEFAASC\n"}"#,
            &["MIIEvQIBADANBgkq", "hkiG9w0BAQEFAASC"],
        ),
        (
            "OPENAI_API_KEY: 'sk-0123456789abcdef'\n",
            &["sk-0123456789abcdef"],
        ),
        ("{}", &[]),
        ("", &[]),
    ];
    for (file, expected) in cases {
        assert_eq!(known(collect_from_sign_in, file), expected, "{file}");
    }
}

#[test]
fn of_settings_only_what_is_named_a_key_is_a_secret() {
    let cases: [(&str, &[&str]); 4] = [
        (
            r#"{"model": "claude-sonnet-4-20250514", "primaryApiKey": "sk-0123456789abcdef", "deep": [{"authToken": "0123456789abcdef"}]}"#,
            &["0123456789abcdef", "sk-0123456789abcdef"],
        ),
        (r#"{"apiKeyHelper": "/home/me/bin/fetch-a-key"}"#, &[]),
        (
            "model: claude-sonnet-4-20250514\nopenai-api-key: sk-0123456789abcdef\n",
            &["sk-0123456789abcdef"],
        ),
        ("env_key = \"OPENROUTER_API_KEY\"\n", &[]),
    ];
    for (file, expected) in cases {
        let mut found = known(collect_from_settings, file);
        found.sort();
        found.dedup();
        assert_eq!(found, expected, "{file}");
    }
}

#[test]
fn a_stream_is_told_without_the_key_wherever_it_is_cut() {
    let (short, all) = ("sk-ant-api03-012", secrets(&[KEY, "sk-ant-api03-012"]));
    let text = format!("invalid {KEY}{KEY}, or {short}; sk-ant is no key\n");
    let expected = "invalid [redacted][redacted], or [redacted]; sk-ant is no key\n";
    assert_eq!(all.hide(&text), expected);
    for cut in 0..text.len() {
        let (one, two) = text.split_at(cut);
        let (mut held, mut told) = (SecretStream::default(), Vec::new());
        for bytes in [one, two] {
            told.extend(all.redact_part(&mut held, bytes.as_bytes()));
        }
        told.extend(all.redact_rest(&mut held));
        assert_eq!(String::from_utf8(told).unwrap(), expected, "cut at {cut}");
    }
    // A program that is ended in the middle of a key, and one that only seems to begin one.
    assert_eq!(
        secrets(&[KEY]).hide(KEY.strip_suffix("abcdef").unwrap()),
        "[redacted]"
    );
    assert_eq!(secrets(&[KEY]).hide("see sk-ant"), "see sk-ant");
    assert_eq!(secrets(&[]).hide(&text), text);
}

#[test]
fn a_diff_brings_a_secret_in_by_what_it_adds_and_not_by_what_stood_there() {
    let all = secrets(&[KEY]);
    for (diff, brings) in [
        (
            format!("--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n {KEY}\n-a\n+b\n"),
            false,
        ),
        (format!("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-{KEY}\n+b\n"), false),
        (format!("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+key = {KEY}\n"), true),
        (format!("--- /dev/null\n+++ b/{KEY}\n@@ -0,0 +1 @@\n+a\n"), true),
        (
            "--- a/x\n+++ b/x\n@@ -1 +1,3 @@\n+sk-ant-api03-\n a\n+0123456789abcdef\n".to_owned(),
            true,
        ),
    ] {
        assert_eq!(all.are_added_by(&diff), brings, "{diff}");
    }
}

#[test]
fn the_files_that_are_read_are_those_that_are_placed() {
    let (home, own) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write_file(&home.path().join("auth.json"), format!("{{\"token\":\"{KEY}\"}}"));
    let mut program = Program::new("x", "x", &[]);
    program.key = Some(("X_KEY".to_owned(), Secret::new("none")));
    program.sign_in = Some(vec!["auth.json".into(), "not-there".into()]);
    let places = Places {
        home: Some(home.path().to_owned()),
        ..Places::default()
    };
    let handed = ProgramInputs::read_inputs(&program, &places).unwrap();
    handed.write_files(own.path()).unwrap();
    let placed = agentos_beneath::OpenFolder::open_root(own.path()).unwrap();
    assert_eq!(placed.read_names(9).unwrap(), ["auth.json"]);
    // A word that stands for a key is none.
    assert_eq!(handed.secrets.hide(&format!("none {KEY}")), "none [redacted]");
}
