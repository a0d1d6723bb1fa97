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

fn check(cases: &[(u16, &str, Reason)]) {
    for (status, body, reason) in cases {
        let found = judge_response(&response(*status, "application/json", body), true).unwrap_err();
        assert_eq!(found.reason, *reason, "{status} {body}");
    }
}

#[test]
fn a_key_is_refused_missing_or_not_the_matter() {
    let plain = error("", "", "no");
    check(&[
        (301, "", Reason::Redirect),
        (302, PAGE, Reason::Redirect),
        (401, PAGE, Reason::Html),
        (403, PAGE, Reason::Html),
        (401, &plain, Reason::Unauthorized),
        (401, r#"{"error":"Unauthorized"}"#, Reason::Unauthorized),
        (403, &plain, Reason::Forbidden),
        (
            400,
            &error("", "no_db_connection", "No connected db."),
            Reason::Unauthorized,
        ),
        (407, PAGE, Reason::ProxyAuth),
    ]);
    let unsent = judge_response(&response(401, "application/json", &plain), false).unwrap_err();
    assert_eq!(unsent.reason, Reason::KeyRequired);
}

#[test]
fn a_missing_model_is_told_from_a_wrong_path() {
    let param = r#"{"error":{"type":"NotFoundError","param":"model","message":"no"}}"#;
    check(&[
        (404, &error("model_not_found", "", "gone"), Reason::UnknownModel),
        (
            404,
            &error("", "not_found_error", "model: claude-0"),
            Reason::UnknownModel,
        ),
        (404, param, Reason::UnknownModel),
        (404, r#"{"error":"model 'x' not found"}"#, Reason::UnknownModel),
        (
            400,
            &error("400", "", "model 'x' not found"),
            Reason::UnknownModel,
        ),
        (
            404,
            &error("", "", "Model \"x\" not found. Please specify a valid model."),
            Reason::UnknownModel,
        ),
        (
            404,
            &error(
                "",
                "",
                "The model `x` does not exist or you do not have access to it.",
            ),
            Reason::UnknownModel,
        ),
        (
            404,
            r#"{"error":"model qwen3:4b not found"}"#,
            Reason::UnknownModel,
        ),
        (404, r#"{"error":"Model not found"}"#, Reason::UnknownModel),
        (404, r#"{"error":"model is not found"}"#, Reason::UnknownModel),
        (
            400,
            &error("", "", "Invalid model name passed in model=x"),
            Reason::UnknownModel,
        ),
        (400, &error("", "", "model is not loaded"), Reason::LoadingOff),
        (
            404,
            &error("", "", "No models loaded. Please load a model"),
            Reason::LoadingOff,
        ),
        (
            404,
            &error("", "", "Failed to load model \"x\""),
            Reason::LoadFailed,
        ),
        (
            404,
            &error("", "not_found_error", "File Not Found"),
            Reason::WrongPath,
        ),
        (404, PAGE, Reason::WrongPath),
        (404, &error("", "", "path /models not found"), Reason::WrongPath),
        (
            404,
            &error("", "", "model route /v1/models not found"),
            Reason::WrongPath,
        ),
        (404, r#"{"error":"GET /v1/model/x not found"}"#, Reason::WrongPath),
        (
            404,
            &error("", "", "the models endpoint does not exist"),
            Reason::WrongPath,
        ),
        (
            400,
            &error("", "", "no model was asked for: field `x` not found"),
            Reason::Rejected,
        ),
        (405, &error("", "", "no"), Reason::WrongPath),
    ]);
}

#[test]
fn limits_and_failures_are_told_apart() {
    let plain = error("", "", "no");
    check(&[
        (501, PAGE, Reason::Html),
        (402, &plain, Reason::Quota),
        (429, &error("insufficient_quota", "", ""), Reason::Quota),
        (
            429,
            &error("credit_balance_exhausted", "insufficient_quota", ""),
            Reason::Quota,
        ),
        (
            429,
            &error("", "", "Budget has been exceeded! Current cost: 1"),
            Reason::Quota,
        ),
        (
            429,
            &error("rate_limit_exceeded", "", "Request too large for x"),
            Reason::ContextLength,
        ),
        (
            429,
            &error("rate_limit_exceeded", "", "slow down"),
            Reason::RateLimited,
        ),
        (408, &plain, Reason::Timeout),
        (409, &plain, Reason::Conflict),
        (504, PAGE, Reason::Timeout),
        (
            503,
            &error("503", "unavailable_error", "Loading model"),
            Reason::Loading,
        ),
        (503, PAGE, Reason::Overloaded),
        (529, &plain, Reason::Overloaded),
        (500, &plain, Reason::ServerError),
        (502, PAGE, Reason::ServerError),
        (501, &plain, Reason::ServerError),
        (
            400,
            &error("context_length_exceeded", "", "too long"),
            Reason::ContextLength,
        ),
        (
            400,
            &error("400", "exceed_context_size_error", "too long"),
            Reason::ContextLength,
        ),
        (400, &error("unsupported_parameter", "", "no"), Reason::Rejected),
        (422, &plain, Reason::Rejected),
    ]);
}

#[test]
fn words_decide_where_codes_do_not() {
    check(&[
        (
            429,
            &error("429", "internal_server_error", "crossed budget: Exceeded budget"),
            Reason::Quota,
        ),
        (
            500,
            &error("500", "server_error", "model name=x failed to load"),
            Reason::LoadFailed,
        ),
        (
            400,
            &error("400", "BadRequestError", "the maximum context length is 1"),
            Reason::ContextLength,
        ),
    ]);
}

#[test]
fn status_200_is_not_yet_a_good_answer() {
    check(&[
        (200, "", Reason::NotJson),
        (200, "{\"data\": [", Reason::NotJson),
        (200, PAGE, Reason::Html),
        (204, "", Reason::NotJson),
        (
            200,
            r#"{"error":"Unexpected endpoint or method. (GET /x)"}"#,
            Reason::ErrorIn200,
        ),
        (200, &error("", "", "no"), Reason::ErrorIn200),
        (200, &error("401", "", "no"), Reason::Unauthorized),
        (200, &error("402", "", "no credits"), Reason::Quota),
        (200, &error("502", "", "upstream"), Reason::ServerError),
    ]);
}

#[test]
fn a_page_is_known_by_its_type_or_its_beginning() {
    for (kind, body) in [
        ("text/html; charset=utf-8", "x"),
        ("application/octet-stream", PAGE),
        ("", " \n<html>"),
    ] {
        assert_eq!(
            judge_response(&response(200, kind, body), false)
                .unwrap_err()
                .reason,
            Reason::Html,
            "{kind}"
        );
    }
}

#[test]
fn json_without_an_error_went_well() {
    for body in [r#"{"data":[]}"#, r#"{"error":null}"#, "[1]"] {
        assert!(
            judge_response(&response(200, "text/plain", body), false).is_ok(),
            "{body}"
        );
    }
}

#[test]
fn the_words_of_every_refusal_are_kept() {
    let said = |status, message: &str| {
        judge_response(
            &response(status, "application/json", &error("", "", message)),
            true,
        )
        .unwrap_err()
        .said
    };
    let region = "Country, region, or territory not supported";
    assert_eq!(said(401, "invalid key").as_deref(), Some("invalid key"));
    assert_eq!(said(403, region).as_deref(), Some(region));
    assert_eq!(said(400, "no way"), Some("no way".to_owned()));
    assert_eq!(said(500, " "), None);
}

#[test]
fn an_error_after_the_first_words_breaks_the_stream_unless_a_person_has_to_act() {
    let cases = [
        (r#"{"choices":[]}"#, None),
        (r#"{"error":null}"#, None),
        (
            r#"{"error":{"message":"no sk-1","code":401}}"#,
            Some(Reason::Unauthorized),
        ),
        (
            r#"{"error":{"message":"no","code":"401"}}"#,
            Some(Reason::Unauthorized),
        ),
        (
            r#"{"error":{"message":"no","code":"invalid_api_key"}}"#,
            Some(Reason::Unauthorized),
        ),
        (
            r#"{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}"#,
            Some(Reason::Unauthorized),
        ),
        (
            r#"{"error":{"code":400,"message":"API key not valid","details":[{"reason":"API_KEY_INVALID"}]}}"#,
            Some(Reason::Unauthorized),
        ),
        (
            r#"{"error":{"message":"no","code":403}}"#,
            Some(Reason::Forbidden),
        ),
        (
            r#"{"error":{"type":"permission_error","message":"no"}}"#,
            Some(Reason::Forbidden),
        ),
        (
            r#"{"error":{"type":"overloaded_error","message":"busy"}}"#,
            Some(Reason::BrokenStream),
        ),
        (
            r#"{"error":{"message":"no","code":500}}"#,
            Some(Reason::BrokenStream),
        ),
        (r#"{"error":"gone"}"#, Some(Reason::BrokenStream)),
    ];
    for (event, wanted) in cases {
        let fault = judge_event(&serde_json::from_str(event).unwrap(), true);
        assert_eq!(fault.as_ref().map(|fault| fault.reason), wanted, "{event}");
    }
}

#[test]
fn an_error_before_the_first_words_is_judged_by_its_status() {
    let cases = [
        (
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            Reason::Overloaded,
        ),
        (r#"{"error":{"message":"no","code":500}}"#, Reason::ServerError),
        (r#"{"error":{"message":"no","code":"429"}}"#, Reason::RateLimited),
        (
            r#"{"error":{"message":"no","type":"server_error","code":null}}"#,
            Reason::ServerError,
        ),
        (
            r#"{"error":{"message":"no","status":"UNAVAILABLE"}}"#,
            Reason::Overloaded,
        ),
        (
            r#"{"type":"response.failed","response":{"error":{"code":"rate_limit_exceeded","message":"no"}}}"#,
            Reason::RateLimited,
        ),
        (r#"{"error":"gone"}"#, Reason::BrokenStream),
        (r#"{"error":{"message":"no","code":400}}"#, Reason::BrokenStream),
    ];
    for (event, wanted) in cases {
        let fault = judge_event(&serde_json::from_str(event).unwrap(), false).unwrap();
        assert_eq!(fault.reason, wanted, "{event}");
    }
}
