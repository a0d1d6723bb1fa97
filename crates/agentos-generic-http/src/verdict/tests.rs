//! The health table row by row: everything that an HTTP answer alone can show.

use serde_json::json;

use super::*;

const PAGE: &str = "<!DOCTYPE html><html><body>It works!</body></html>";

fn response(status: u16, kind: &str, body: &str) -> Response {
    Response {
        status,
        content_type: Some(kind.to_owned()),
        retry_after: None,
        body: body.as_bytes().to_vec(),
    }
}

fn error(code: &str, kind: &str, message: &str) -> String {
    json!({"error": {"code": code, "type": kind, "message": message}}).to_string()
}

#[test]
fn status_and_body_together_decide() {
    use Reason::*;
    let plain = error("", "", "no");
    let not_found = error("", "not_found_error", "File Not Found");
    let unexpected = json!({"error": "Unexpected endpoint or method. (GET /x)"}).to_string();
    let param = json!({"error": {"type": "NotFoundError", "param": "model", "message": "no"}}).to_string();
    let cases: Vec<(u16, String, bool, Reason)> = vec![
        (301, String::new(), true, Redirect),
        (302, PAGE.to_owned(), true, Redirect),
        (401, PAGE.to_owned(), true, Html),
        (403, PAGE.to_owned(), true, Html),
        (401, plain.clone(), false, KeyRequired),
        (401, plain.clone(), true, Unauthorized),
        (
            401,
            json!({"error": "Unauthorized"}).to_string(),
            true,
            Unauthorized,
        ),
        (403, plain.clone(), true, Forbidden),
        (
            400,
            error("", "no_db_connection", "No connected db."),
            true,
            Unauthorized,
        ),
        (407, PAGE.to_owned(), true, ProxyAuth),
        (404, error("model_not_found", "", "gone"), true, UnknownModel),
        (
            404,
            error("", "not_found_error", "model: claude-0"),
            true,
            UnknownModel,
        ),
        (404, param, true, UnknownModel),
        (
            404,
            json!({"error": "model 'x' not found"}).to_string(),
            true,
            UnknownModel,
        ),
        (400, error("400", "", "model 'x' not found"), true, UnknownModel),
        (
            400,
            error("", "", "Invalid model name passed in model=x"),
            true,
            UnknownModel,
        ),
        (400, error("", "", "model is not loaded"), true, LoadingOff),
        (
            404,
            error("", "", "No models loaded. Please load a model"),
            true,
            LoadingOff,
        ),
        (404, error("", "", "Failed to load model \"x\""), true, LoadFailed),
        (404, not_found, true, WrongPath),
        (404, PAGE.to_owned(), true, WrongPath),
        (405, plain.clone(), true, WrongPath),
        (501, PAGE.to_owned(), true, Html),
        (402, plain.clone(), true, Quota),
        (429, error("insufficient_quota", "", ""), true, Quota),
        (
            429,
            error("credit_balance_exhausted", "insufficient_quota", ""),
            true,
            Quota,
        ),
        (
            429,
            error("", "", "Budget has been exceeded! Current cost: 1"),
            true,
            Quota,
        ),
        (
            429,
            error("rate_limit_exceeded", "tokens", "Request too large for x"),
            true,
            ContextLength,
        ),
        (
            429,
            error("rate_limit_exceeded", "", "slow down"),
            true,
            RateLimited,
        ),
        (408, plain.clone(), true, Timeout),
        (504, PAGE.to_owned(), true, Timeout),
        (
            503,
            error("503", "unavailable_error", "Loading model"),
            true,
            Loading,
        ),
        (503, PAGE.to_owned(), true, Overloaded),
        (529, plain.clone(), true, Overloaded),
        (500, plain.clone(), true, ServerError),
        (502, PAGE.to_owned(), true, ServerError),
        (501, plain.clone(), true, ServerError),
        (
            400,
            error("context_length_exceeded", "", "too long"),
            true,
            ContextLength,
        ),
        (
            400,
            error("400", "exceed_context_size_error", "too long"),
            true,
            ContextLength,
        ),
        (400, error("unsupported_parameter", "", "no"), true, Rejected),
        (422, plain.clone(), true, Rejected),
        (200, String::new(), true, NotJson),
        (200, "{\"data\": [".to_owned(), true, NotJson),
        (200, PAGE.to_owned(), true, Html),
        (204, String::new(), true, NotJson),
        (200, unexpected, true, ErrorIn200),
        (200, plain, true, ErrorIn200),
        (200, error("401", "", "no"), true, Unauthorized),
        (200, error("402", "", "no credits"), true, Quota),
        (200, error("502", "", "upstream"), true, ServerError),
    ];
    for (status, body, key_sent, reason) in cases {
        let found = judge(&response(status, "application/json", &body), key_sent).unwrap_err();
        assert_eq!(found.reason, reason, "{status} {body}");
    }
}

#[test]
fn a_page_is_known_by_its_type_or_its_beginning() {
    for (kind, body) in [
        ("text/html; charset=utf-8", "x"),
        ("application/octet-stream", PAGE),
        ("", " \n<html>"),
    ] {
        assert_eq!(
            judge(&response(200, kind, body), false).unwrap_err().reason,
            Reason::Html,
            "{kind}"
        );
    }
}

#[test]
fn json_without_an_error_went_well() {
    for body in [r#"{"data":[]}"#, r#"{"error":null}"#, "[1]"] {
        assert!(judge(&response(200, "text/plain", body), false).is_ok(), "{body}");
    }
}

#[test]
fn a_refused_key_is_not_repeated_and_other_words_are_cut() {
    let said = |status, message: &str| {
        judge(
            &response(status, "application/json", &error("", "", message)),
            true,
        )
        .unwrap_err()
        .said
    };
    assert_eq!(said(401, "Incorrect API key provided: sk-wr***ong"), None);
    assert_eq!(said(403, "key sk-wrong"), None);
    assert_eq!(
        said(400, "no\n\u{1b}[31mway\u{7}"),
        Some("no  [31mway".to_owned())
    );
    assert_eq!(said(500, &"x".repeat(5000)).unwrap().len(), WORDS);
    assert_eq!(said(500, " "), None);
}
